"""On which terms a request comes: what it says of itself, or what a handshake agreed on.

In: a request, and its parameters. Out: `Terms`, or the `RpcError` that says why there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

from kuniumi.wire.jsonrpc import INVALID_PARAMS, RpcError
from kuniumi.wire.mcp import messages
from kuniumi.wire.mcp.headers import NO_SUCH_REVISION
from kuniumi.wire.mcp.revisions import REVISIONS, Revision, agree

if TYPE_CHECKING:
    from kuniumi.wire.jsonrpc import Request

INFO = 20

_MARK = messages.VERSION.encode()
_NOTHING = messages.Capabilities()


class _Mark(Struct):
    version: Raw = msgspec.field(default=Raw(b""), name=messages.VERSION)


class _Marked(Struct):
    meta: _Mark = msgspec.field(default_factory=_Mark, name="_meta")


_marked = msgspec.json.Decoder(_Marked).decode  # arguments may speak of the mark, too


class Terms(Struct, frozen=True):
    """On which terms a client speaks: said once in a handshake, or with every request."""

    revision: Revision
    capabilities: messages.Capabilities = _NOTHING
    log_level: int | None = INFO  # what it wants to hear of the log; `None` for nothing
    pushes: bool = False  # whether it can be told of changes at any time

    @property
    def able(self) -> frozenset[str]:
        """Which questions the client takes (`core.questions.NEEDS`)."""
        able = self.capabilities.names
        if not self.revision.forms:
            able -= {"elicitation"}
        return able if self.revision.visits else able - {"elicitation.url"}


def is_stateless(request: Request) -> bool:
    """Whether a request says of itself on which terms it comes."""
    if _MARK not in bytes(request.params):  # as in nearly all that do not
        return False
    try:
        return bool(bytes(_marked(request.params).meta.version))
    except msgspec.DecodeError:
        return True  # it may well have tried to


def stated(meta: messages.Meta) -> Terms | RpcError:
    """Give the terms that a request states itself."""
    if meta.version is None:
        return _missing(messages.VERSION)
    revision = REVISIONS.get(meta.version)
    if revision is None or not revision.stateless:
        return no_such_revision(meta.version)
    if meta.capabilities is None:
        return _missing(messages.CAPABILITIES)
    level = None if meta.log_level is None else messages.LEVELS[meta.log_level]
    return Terms(revision, meta.capabilities, level, True)  # noqa: FBT003 - the fastest way


def agreed(params: messages.Initialize, *, pushes: bool) -> Terms:
    """Give the terms that a handshake settles on."""
    return Terms(agree(params.protocol_version), params.capabilities, pushes=pushes)


def no_such_revision(wanted: str) -> RpcError:
    """Give the error of a revision that is not spoken here, or not in this way."""
    return RpcError(
        NO_SUCH_REVISION,
        f"Unsupported protocol version: {wanted}",
        {"supported": supported(), "requested": wanted},
    )


def supported() -> list[str]:
    """Name all revisions that are spoken here, the latest first."""
    return list(reversed(REVISIONS))


def _missing(key: str) -> RpcError:
    return RpcError(INVALID_PARAMS, f"Invalid params: _meta lacks {key!r}")
