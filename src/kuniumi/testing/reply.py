"""What a call gave, on any surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping


class Reply(Struct, frozen=True):
    """One answer: how it ended, the envelope's bytes, headers where there are any.

    `status` is an HTTP status, or the shell's exit code. Of MCP it is 0 for a result, 1 for one with
    `isError`, and the code of a JSON-RPC error where there is no result.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    message: bytes = (
        b""  # around the envelope, where a protocol has more to say: all of MCP's answer
    )

    @property
    def envelope(self) -> Any:
        """The body as data."""
        return msgspec.json.decode(self.body)

    @property
    def failed(self) -> bool:
        """Whether this surface calls the answer a failure."""
        return self.status not in {0, 200}
