"""What differs between the revisions of MCP: one row each, and nothing about it anywhere else.

In: the name of a revision. Out: its row.
"""

from __future__ import annotations

from msgspec import Struct

_TEXT_AND_PICTURES = frozenset({"text", "image", "resource"})


class Revision(Struct, frozen=True, kw_only=True):
    """What one revision knows."""

    name: str
    stateless: bool = False  # every request says for itself who asks; every result, what it is
    blocks: frozenset[str] = _TEXT_AND_PICTURES | {"audio", "resource_link"}
    annotations: bool = True  # hints on tools; `message` in progress; the completions capability
    structured: bool = True  # structuredContent, outputSchema, titles, `_meta`, dates
    icons: bool = True  # and the description and website of a server
    forms: bool = True  # questions to a person
    visits: bool = True  # … about a page to open
    choices: bool = True  # several at once in a form, titles of them, and what is filled in already
    pauses: bool = False  # a stream may be left and taken up again
    no_resource: int = -32002  # the code for an address where nothing is


REVISIONS: dict[str, Revision] = {
    row.name: row
    for row in (
        Revision(
            name="2024-11-05",
            blocks=_TEXT_AND_PICTURES,
            annotations=False,
            structured=False,
            icons=False,
            forms=False,
            visits=False,
            choices=False,
        ),
        Revision(
            name="2025-03-26",
            blocks=_TEXT_AND_PICTURES | {"audio"},
            structured=False,
            icons=False,
            forms=False,
            visits=False,
            choices=False,
        ),
        Revision(name="2025-06-18", icons=False, visits=False, choices=False),
        Revision(name="2025-11-25", pauses=True),
        Revision(name="2026-07-28", stateless=True, no_resource=-32602),
    )
}

LATEST = REVISIONS["2026-07-28"]
LATEST_WITH_HANDSHAKE = REVISIONS["2025-11-25"]
UNSAID = REVISIONS["2025-03-26"]
"""What a request over HTTP speaks that neither says so nor followed a handshake."""


def agree(wanted: str) -> Revision:
    """Give the revision that a handshake settles on: the one wanted, or the latest we have."""
    found = REVISIONS.get(wanted)
    return LATEST_WITH_HANDSHAKE if found is None or found.stateless else found
