"""On which terms a request comes: what it says of itself, or what a handshake agreed on.

In: a request. Out: `Terms`, or the `RpcError` that says why there are none.
"""

from __future__ import annotations

from kuniumi.serve.mcp.desk import Terms, supported
from kuniumi.wire.jsonrpc import INVALID_PARAMS, Request, RpcError
from kuniumi.wire.mcp import messages
from kuniumi.wire.mcp.headers import NO_SUCH_REVISION
from kuniumi.wire.mcp.revisions import REVISIONS, agree

_MARK = messages.VERSION.encode()


def stated(request: Request, *, pushes: bool, must: bool = False) -> Terms | RpcError | None:
    """Give the terms that a request states itself; nothing if it does not have to."""
    if not must and _MARK not in bytes(request.params):
        return None
    params = messages.read_params(request.params, messages.Plain)
    if isinstance(params, RpcError):
        return params
    meta = params.meta
    if meta.version is None:
        return _missing(messages.VERSION) if must else None
    revision = REVISIONS.get(meta.version)
    if revision is None or not revision.stateless:
        return no_such_revision(meta.version)
    if meta.capabilities is None:
        return _missing(messages.CAPABILITIES)
    level = None if meta.log_level is None else messages.LEVELS[meta.log_level]
    return Terms(revision=revision, able=meta.capabilities.names, log_level=level, pushes=pushes)


def agreed(request: Request, *, pushes: bool) -> Terms | RpcError:
    """Give the terms that a handshake settles on."""
    params = messages.read_params(request.params, messages.Initialize)
    if isinstance(params, RpcError):
        return params
    revision = agree(params.protocol_version)
    able = params.capabilities.names
    if not revision.forms:
        able -= {"elicitation"}
    if not revision.visits:
        able -= {"elicitation.url"}
    return Terms(revision=revision, able=able, pushes=pushes)


def no_such_revision(wanted: str) -> RpcError:
    """Give the error of a revision that is not spoken here, or not in this way."""
    return RpcError(
        NO_SUCH_REVISION,
        f"Unsupported protocol version: {wanted}",
        {"supported": supported(), "requested": wanted},
    )


def _missing(key: str) -> RpcError:
    return RpcError(INVALID_PARAMS, f"Invalid params: _meta lacks {key!r}")
