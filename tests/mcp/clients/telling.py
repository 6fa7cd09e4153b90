"""The story, as all Python clients play it: the steps, their order, and how they tell what they saw.

A script for a client says how that client does things (`Client`), and plays. It is run with a target
as JSON (`{"command": […], "env": {…}}` or `{"url": …}`), an era (`modern` or `legacy`), and a JSON list
of the steps that this client has no way to play. It prints a line of JSON for every other step: what
it saw, or how it failed. Nothing here may need more than the standard library: each script has an
environment of its own. `telling.mjs` is the same in JavaScript.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol

TARGET: dict[str, Any] = json.loads(sys.argv[1])
LEGACY = sys.argv[2] == "legacy"
LEFT_OUT: list[str] = json.loads(sys.argv[3])
PATIENCE = 20.0
TIMES = 4
"""How often each kind of call is given up: more often in all than the server takes at once."""

ADD = {"x": 7, "y": 3}
META = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "example.org/note": "to whom it concerns",
}
ROOT = "file:///home/ada"
PAGE = "story://page"
SECRET = "functions.Secret"

Data = dict[str, Any]


class Client(Protocol):
    """How a client does what the story asks for. Results are as they came over the wire."""

    async def connect(self) -> Data: ...
    async def tools(self) -> dict[str, Data]: ...
    async def call(
        self,
        name: str,
        arguments: Data,
        *,
        meta: Data | None = None,
        progress: Callable[[float, float | None, str | None], Awaitable[None]] | None = None,
    ) -> Data: ...
    def begin(self, name: str, arguments: Data) -> Callable[[], Awaitable[None]]:
        """Begin a call, and give what gives it up."""
        ...

    async def want_log(self) -> Data | None:
        """Ask for the log, from `info` on; give what has to go with a request for that."""
        ...

    async def resources(self) -> list[Data]:
        """Give all of them, from all pages."""
        ...

    async def templates(self) -> list[Data]: ...
    async def read(self, uri: str) -> list[Data]: ...
    async def prompts(self) -> list[Data]: ...
    async def prompt(self, name: str, arguments: dict[str, str]) -> list[Data]: ...
    async def complete(self, kind: str, of: str, argument: str, typed: str) -> list[str]: ...
    def watching(self, uri: str) -> AbstractAsyncContextManager[object]:
        """Note in `heard` what changes, while this lasts."""
        ...

    def code_of(self, error: Exception) -> int | None:
        """Give the code, if this is an error that the server told."""
        ...


# ---- what clients are asked, and hear --------------------------------------------------------------

ANSWERS: dict[str, list[tuple[str, Data | None]]] = {
    "Who is there?": [("accept", {"name": "Ada", "age": 36}), ("decline", None), ("cancel", None)],
    "Which color?": [("accept", {"value": "red"})],
    "Is red final?": [("accept", {"value": True})],
}
"""What the person says to each question: the first time, the second time …"""

asked: list[Data] = []
logged: list[list[Any]] = []
heard: list[str] = []


def answer(message: str, schema: Data) -> tuple[str, Data | None]:
    """Answer a question as a person does who has all answers ready."""
    turn: int = sum(message == earlier["message"] for earlier in asked)
    asked.append({"message": message, "schema": schema})
    return ANSWERS[message][turn]


def model_says(system: str, prompt: str) -> str:
    """Continue a conversation as a very small model does."""
    return f"{system}, {prompt}? Indeed."


# ---- telling ---------------------------------------------------------------------------------------


def dumped(model: Any) -> Any:
    """Give a model of pydantic as it would go over the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


_RESULT = ("content", "structuredContent", "isError")


def result_of(model: Any) -> Data:
    """Give what counts of the result of a tool."""
    whole = dumped(model)
    return {name: whole[name] for name in _RESULT if name in whole}


async def tell(step: str, seen: Coroutine[Any, Any, Any]) -> None:
    """Tell what a step saw, or how it failed; the story goes on either way."""
    if step in LEFT_OUT:
        seen.close()
        return
    try:
        said = {"step": step, "saw": await asyncio.wait_for(seen, PATIENCE)}
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the step saw
        traceback.print_exc()
        said = {"step": step, "failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(said), flush=True)  # noqa: T201 - this is how it tells


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition holds; the step's patience is the limit."""
    while not await condition():  # noqa: ASYNC110 - it comes about in another process
        await asyncio.sleep(0.02)


# ---- the story -------------------------------------------------------------------------------------


async def play(client: Client) -> None:
    """Play the story to its end."""

    def call(name: str, /, **arguments: Any) -> Coroutine[Any, Any, Data]:
        return client.call(f"functions.{name}", arguments)

    await tell("connect", client.connect())
    await tell("tools", client.tools())
    await tell("call", call("Add", **ADD))
    await tell("call with text for a number", call("Add", x="7", y=3))
    await tell("wrong argument", call("Add", x="not_a_number", y=3))
    await tell("wrong kind of argument", call("Add", x=[7], y=3))
    await tell("function error", call("Divide", x=1, y=0))
    await tell("exception", call("Burst"))
    await tell("exit", call("Vanish"))
    await tell("errors", errors(client))
    await tell("structured", call("Locate", name="Hill"))
    await tell("two values", call("Split", text="word"))
    await tell("blocks", call("Gallery"))
    await tell("words and data", call("Weigh", thing="feather"))
    await tell("noise", call("Chatter"))
    await tell("header", call("Route", region="süd west"))
    await tell("meta", client.call("functions.Meta", {}, meta=META))
    await tell("progress", progress(client))
    await tell("log", log(client))
    await tell("cancel", cancel(client))
    await tell("ask", ask(client))
    await tell("ask twice", call("Quiz"))
    await tell("sample", call("Muse", topic="rain"))
    await tell("roots", call("Folders"))
    await tell("resources", resources(client))
    await tell("templates", client.templates())
    await tell("read text", client.read("story://title"))
    await tell("read bytes", client.read("story://cover"))
    await tell("read template", client.read("story://chapter/7"))
    await tell("prompts", client.prompts())
    await tell("prompt", client.prompt("greeting", {"name": "Ada", "tone": "cool"}))
    await tell("prompt with a picture", client.prompt("critique", {}))
    await tell("complete", complete(client))
    await tell("changes", changes(client))
    await tell("still there", call("Add", **ADD))


async def errors(client: Client) -> Any:
    """Ask for what there is not."""
    codes = {}
    for what, failing in {
        "tool": client.call("nothing", {}),
        "resource": client.read("story://nothing"),
        "chapter": client.read("story://chapter/99"),
        "prompt": client.prompt("nothing", {}),
        "prompt without its argument": client.prompt("greeting", {}),
    }.items():
        try:
            await failing
        except Exception as error:  # noqa: BLE001 - clients have errors of their own
            codes[what] = client.code_of(error) or f"{type(error).__name__}: {error}"
        else:
            codes[what] = "no error"
    return codes


async def progress(client: Client) -> Any:
    """See how far a call has come."""
    steps: list[list[Any]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        steps.append([done, total, message])

    await client.call("functions.Climb", {"steps": 3}, progress=note)
    return steps


async def log(client: Client) -> Any:
    """See what a function logs."""
    await client.call("functions.Diary", {}, meta=await client.want_log())

    async def is_all() -> bool:
        return len(logged) >= 2  # a client may hand them on after the result

    await until(is_all)
    return logged


async def cancel(client: Client) -> Any:
    """Begin calls of each kind, give each up once it is at work, and see what its function noted."""

    async def noted(mark: str) -> list[str]:
        answered = await client.call("functions.Noted", {"mark": mark})
        events: list[str] = answered["structuredContent"]["result"]
        return events

    seen: dict[str, list[list[str]]] = {}
    for tool in ("Wait", "Doze", "Grind"):
        for turn in range(TIMES):
            mark = f"{tool}-{turn}"
            give_up = client.begin(f"functions.{tool}", {"mark": mark})

            async def has_noted(events: int, mark: str = mark) -> bool:
                return len(await noted(mark)) == events

            await until(lambda: has_noted(1))
            await give_up()
            await until(lambda: has_noted(2))
            seen.setdefault(tool, []).append(await noted(mark))
    return seen


async def giving_up(task: asyncio.Future[Any]) -> None:
    """Cancel a call as a program in asyncio does."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def ask(client: Client) -> Any:
    """Be asked: once to answer, once to decline, once to turn away."""
    said = [
        (await client.call("functions.Introduce", {}))["structuredContent"]["result"]
        for _ in range(3)
    ]
    return {"said": said, "asked": asked[0]}


async def resources(client: Client) -> Any:
    """List what can be read, page by page."""
    listed = await client.resources()
    return {
        "count": len({resource["uri"] for resource in listed}),
        "cover": next(each for each in listed if each["name"] == "cover"),
    }


async def complete(client: Client) -> Any:
    """Complete what a person types."""
    return {
        "name": await client.complete("prompt", "greeting", "name", "ad"),
        "tone": await client.complete("prompt", "greeting", "tone", ""),
        "number": await client.complete("resource", "story://chapter/{number}", "number", "1"),
    }


async def changes(client: Client) -> Any:
    """Hear of changes, and see them."""
    seen = []
    async with client.watching(PAGE):

        async def hears_of_page() -> bool:
            # Again and again: over HTTP, an old client opens its stream for such news when it likes.
            await client.call("functions.TurnPage", {})
            await asyncio.sleep(0.02)
            return f"updated {PAGE}" in heard

        await until(hears_of_page)
        seen.append(heard[0])
        for trigger, there in (("Hide", False), ("Show", True)):
            heard.clear()
            await client.call(f"functions.{trigger}", {})

            async def hears_of_tools() -> bool:
                return "tools" in heard

            async def shows(there: bool = there) -> bool:
                return (SECRET in await client.tools()) is there

            await until(hears_of_tools)
            await until(shows)
            seen.append(f"tools, {'with' if there else 'without'} the secret")
    return seen
