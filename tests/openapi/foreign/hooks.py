"""Loaded by schemathesis, in its own environment: what the REST tool protocol adds to its checks."""

from __future__ import annotations

from typing import Any

import schemathesis  # type: ignore[import-not-found]


@schemathesis.check  # type: ignore[untyped-decorator]
def wrong_arguments_are_answered_with_an_error(_context: Any, response: Any, case: Any) -> None:
    """See that what the document forbids is refused: by its status, or by `isError`."""
    meta = case.meta
    if meta is None or not meta.generation.mode.is_negative or response.request.method != "POST":
        return
    if response.status_code == 200:
        assert response.json()["isError"] is True
    else:
        assert 400 <= response.status_code < 500
