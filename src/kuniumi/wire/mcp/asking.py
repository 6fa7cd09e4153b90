"""MCP as a client speaks it: the parameters and headers of its requests, and what it reads of replies.

In: what is to be asked, and in which revision; results as plain data. Out: parameters, headers, and
the few facts that steer a conversation. Servers send what they like: nothing here raises on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.wire.mcp import headers as repeated
from kuniumi.wire.mcp.messages import CAPABILITIES, CLIENT_INFO, SERVER_INFO, VERSION
from kuniumi.wire.mcp.revisions import LATEST, LATEST_WITH_HANDSHAKE, REVISIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kuniumi.wire.jsonrpc import RpcError
    from kuniumi.wire.mcp.headers import Mirror
    from kuniumi.wire.mcp.revisions import Revision

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Speaker(Struct, frozen=True):
    """Who asks, and what it can do for a server."""

    name: str
    version: str
    capabilities: dict[str, Any] = {}

    @property
    def info(self) -> dict[str, str]:
        """The speaker as MCP names it."""
        return {"name": self.name, "version": self.version}


class Greeting(Struct, frozen=True):
    """What a server said of itself, by either way of beginning."""

    revision: Revision
    name: str = ""
    version: str = ""
    capabilities: dict[str, Any] = {}
    instructions: str = ""

    @property
    def tells_of_changes(self) -> bool:
        """Whether the server tells when its list of tools has changed."""
        tools = self.capabilities.get("tools")
        return isinstance(tools, dict) and tools.get("listChanged") is True


class Page(Struct, frozen=True):
    """One page of a list of tools."""

    tools: list[Any]
    cursor: str | None = None
    ttl: float | None = None  # seconds


def params_of(
    speaker: Speaker, revision: Revision, fields: dict[str, Any], token: int | None = None
) -> dict[str, Any]:
    """Give the parameters of a request, with all that the revision wants said beside them."""
    meta: dict[str, Any] = {}
    if revision.stateless:
        meta = {
            VERSION: revision.name,
            CLIENT_INFO: speaker.info,
            CAPABILITIES: speaker.capabilities,
        }
    if token is not None:
        meta["progressToken"] = token
    return {**fields, "_meta": meta} if meta else fields


def initialize_params(speaker: Speaker, wanted: Revision) -> dict[str, Any]:
    """Give the parameters of a handshake."""
    return {
        "protocolVersion": wanted.name,
        "capabilities": speaker.capabilities,
        "clientInfo": speaker.info,
    }


def headers_of(
    revision: Revision,
    method: str,
    params: Mapping[str, Any],
    mirrors: tuple[Mirror, ...] = (),
) -> dict[str, str]:
    """Give the headers that repeat what a request says, in revisions that want them."""
    if method == "initialize":
        return {}
    headers = {"MCP-Protocol-Version": revision.name}
    if revision.stateless:
        headers["Mcp-Method"] = method
        named = params.get(_NAMED.get(method, ""))
        if isinstance(named, str):
            headers["Mcp-Name"] = repeated.encode(named)
        if mirrors:
            headers |= repeated.mirrored(mirrors, params.get("arguments") or {})
    return headers


# ---- what replies say ------------------------------------------------------------------------------


def read_discovery(result: Any) -> Greeting | Revision | None:
    """Read the answer to `server/discover`: a greeting, or the revision to shake hands in."""
    if not isinstance(result, dict):
        return None
    supported = result.get("supportedVersions")
    revision = choose(supported if isinstance(supported, list) else ())
    if revision is None or not revision.stateless:
        return revision
    meta = result.get("_meta")
    info = meta.get(SERVER_INFO) if isinstance(meta, dict) else None
    return _greeting(revision, info, result)


def read_handshake(result: Any) -> Greeting | None:
    """Read the answer to `initialize`; nothing if it settles on a revision that is not known."""
    if not isinstance(result, dict):
        return None
    revision = REVISIONS.get(str(result.get("protocolVersion")))
    if revision is None or revision.stateless:
        return None
    return _greeting(revision, result.get("serverInfo"), result)


def read_page(result: Any) -> Page | None:
    """Read one page of tools."""
    if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
        return None
    cursor, ttl = result.get("nextCursor"), result.get("ttlMs")
    seconds = ttl / 1000 if isinstance(ttl, (int, float)) and ttl >= 0 else None
    return Page(
        result["tools"],
        cursor if isinstance(cursor, str) else None,
        seconds,
    )


def supported_by(error: RpcError) -> Revision | None:
    """Give the revision to speak with a server that refused another and named those it knows."""
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    return choose(supported) if isinstance(supported, list) else None


def choose(supported: Iterable[Any]) -> Revision | None:
    """Give the best revision of those that a server knows."""
    names = {name for name in supported if isinstance(name, str)}
    if LATEST.name in names:
        return LATEST
    if LATEST_WITH_HANDSHAKE.name in names:
        return LATEST_WITH_HANDSHAKE
    return REVISIONS[max(names & REVISIONS.keys())] if names & REVISIONS.keys() else None


def _greeting(revision: Revision, info: Any, result: dict[str, Any]) -> Greeting:
    said = info if isinstance(info, dict) else {}
    capabilities, instructions = result.get("capabilities"), result.get("instructions")
    return Greeting(
        revision,
        said["name"] if isinstance(said.get("name"), str) else "",
        said["version"] if isinstance(said.get("version"), str) else "",
        capabilities if isinstance(capabilities, dict) else {},
        instructions if isinstance(instructions, str) else "",
    )
