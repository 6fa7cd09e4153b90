"""What a client would see: the app's own answers to the questions that every client begins with.

In: a service and the name of a revision. Out: data. No answer is made up here: the desk gives them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from kuniumi.core.codec import dumps
from kuniumi.serve.mcp.desk import Desk
from kuniumi.serve.mcp.terms import Terms
from kuniumi.wire.jsonrpc import Request, RpcError
from kuniumi.wire.mcp import messages
from kuniumi.wire.mcp.revisions import REVISIONS

if TYPE_CHECKING:
    from kuniumi.core.service import Service
    from kuniumi.wire.mcp.messages import AnyParams

_ABLE = messages.Capabilities(
    elicitation=messages.Elicitation(form={}, url={}), sampling={}, roots={}
)
_LISTS = {
    "tools": "tools/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "prompts": "prompts/list",
}


def look(service: Service, revision: str) -> dict[str, Any]:
    """Ask an app all that a client asks which can do everything."""
    return asyncio.run(_look(service, Terms(REVISIONS[revision], _ABLE, pushes=True)))


async def _look(service: Service, terms: Terms) -> dict[str, Any]:
    desk = Desk(service, b"")

    async def ask(method: str, params: AnyParams) -> dict[str, Any]:
        request = Request(b"1", method, Raw(dumps(params)))
        answer = await desk.answer(request, params, terms)
        assert not isinstance(answer, RpcError)  # noqa: S101 - these are always answered
        found: dict[str, Any] = msgspec.json.decode(answer)
        return found

    if terms.revision.stateless:
        greeting = await ask("server/discover", messages.Plain())
        server = greeting["_meta"][messages.SERVER_INFO]
    else:
        greeting = msgspec.json.decode(desk.greet(terms))
        server = greeting["serverInfo"]
    seen: dict[str, Any] = {
        "revision": terms.revision.name,
        "server": server,
        "capabilities": greeting["capabilities"],
    }
    if "instructions" in greeting:
        seen["instructions"] = greeting["instructions"]
    for key, method in _LISTS.items():
        seen[key] = []
        cursor: str | None = None
        while True:
            page = await ask(method, messages.ListPage(cursor=cursor))
            seen[key] += page[key]
            cursor = page.get("nextCursor")
            if cursor is None:
                break
    return seen
