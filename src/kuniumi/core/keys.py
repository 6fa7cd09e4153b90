"""Keys of what an author says to programs beside a value: which are theirs, and which are not.

In: a key. Out: why it can't be used, or nothing.
"""

from __future__ import annotations

import re

_KEY = re.compile(
    r"([A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*/)?"
    r"([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?"
)
_RESERVED = re.compile(r"(?i)([a-z0-9-]+\.)*(modelcontextprotocol|mcp)(\.[a-z0-9-]+)*/")


def misused(key: str) -> str:
    """Tell why a key can't be used."""
    if _RESERVED.match(key):
        return f"{key!r}, which is for the protocol itself"
    if not _KEY.fullmatch(key):
        return f"{key!r}, which is no key like 'example.com/owner'"
    return ""
