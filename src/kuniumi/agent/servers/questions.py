"""Questions of servers: read out of MCP's requests, put to a callback, answered in MCP's words.

In: a request's method and parameters. Out: the result to send, or nothing for what cannot be asked
here. The callback is somebody else's code: whatever it raises puts the question away.
"""

from __future__ import annotations

import logging
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from kuniumi.agent.servers.source import Question

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kuniumi.agent.servers.source import OnQuestion

_log = logging.getLogger("kuniumi.agent")

CAPABILITIES: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
"""What a client with a callback can do for a server."""


def read_question(server: str, method: Any, params: Any) -> Question | None:
    """Read a question; nothing if it is of no kind that a callback could answer."""
    if method != "elicitation/create":
        return None
    asked = params if isinstance(params, dict) else {}
    schema, url, message = (asked.get(key) for key in ("requestedSchema", "url", "message"))
    return Question(
        server,
        message if isinstance(message, str) else "",
        "url" if asked.get("mode") == "url" else "form",
        schema if isinstance(schema, dict) else {},
        url if isinstance(url, str) else "",
        asked,
    )


def read_visits(server: str, data: Any) -> list[Question]:
    """Read the pages that an error says have to be visited before the call is made again."""
    listed = data.get("elicitations") if isinstance(data, dict) else None
    sent = [{**each, "mode": "url"} for each in listed or () if isinstance(each, dict)]
    found = (read_question(server, "elicitation/create", each) for each in sent)
    return [question for question in found if question is not None and question.url]


async def put(question: Question, ask: Callable[[Question], Awaitable[Any]]) -> dict[str, Any]:
    """Put a question, and give the result that says how it was answered."""
    try:
        said = await ask(question)
    except Exception:  # noqa: BLE001 - somebody else's code, which may raise anything
        _log.warning("the callback for questions failed: it was put away", exc_info=True)
        return {"action": "cancel"}
    if question.mode == "url":  # there is nothing to fill in
        return {"action": "accept" if said is True or isinstance(said, dict) else "decline"}
    if said is True:
        said = {}
    if not isinstance(said, dict):
        return {"action": "decline"}
    return {"action": "accept", "content": _fill_in(said, question.schema)}


def waiting_for(on_question: OnQuestion) -> Callable[[Question], Awaitable[Any]]:
    """Let a callback be a plain function or a coroutine's."""

    async def ask(question: Question) -> Any:
        said = on_question(question)
        return await said if isawaitable(said) else said

    return ask


def _fill_in(said: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Add what the form had filled in already and the answer left out."""
    properties = schema.get("properties")
    given = dict(said)
    for name, part in properties.items() if isinstance(properties, dict) else ():
        if isinstance(part, dict) and "default" in part:
            given.setdefault(name, part["default"])
    return given
