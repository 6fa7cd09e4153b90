"""What the providers' packages hand out, as the plain data that went over the wire.

In: an object of such a package, or data. Out: dicts and lists that JSON can carry, under the names of
the wire, without what was never sent. Bytes become base64, which is how the wire has them.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

from kuniumi.agent.plain import make_plain


def dump(found: Any) -> Any:
    """Give the data that an object stands for."""
    dump_model = getattr(found, "model_dump", None)
    if dump_model is not None and not isinstance(found, (dict, type)):
        # google-genai's own messages have Python's names; the aliases of the others are the wire's.
        by_alias = not type(found).__module__.startswith("google.")
        try:
            return dump_model(mode="json", exclude_none=True, warnings=False, by_alias=by_alias)
        except Exception:  # noqa: BLE001, S110 - somebody else's code, and there is another way
            pass
    return _encoded(make_plain(found, [], keep_bytes=True))


def _encoded(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _encoded(item) for key, item in found.items()}
    if isinstance(found, list):
        return [_encoded(item) for item in found]
    return urlsafe_b64encode(found).decode() if isinstance(found, bytes) else found
