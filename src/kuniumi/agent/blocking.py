"""The toolbox for code that does not await: the same one, on an event loop in a thread of its own.

In: a toolbox. Out: its methods, as plain ones. Callbacks run in that thread.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kuniumi.agent.client import UNSET
from kuniumi.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping, Sequence

    from kuniumi.agent.answer import Answer
    from kuniumi.agent.client import Toolbox, Unset
    from kuniumi.agent.running import Run
    from kuniumi.agent.servers.source import OnProgress
    from kuniumi.agent.stats import Stats
    from kuniumi.agent.tools import Tool, Tools

T = TypeVar("T")


class BlockingToolbox:
    """What `with Toolbox(…) as tools:` gives; several threads may use it."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def open(self) -> Self:
        """Start the loop, and open the toolbox on it."""
        self._thread.start()
        try:
            self._wait(self._toolbox.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def close(self) -> None:
        """Close the toolbox, and end the loop."""
        try:
            self._wait(self._toolbox.close())
        finally:
            self._stop()

    @property
    def tools(self) -> Tools:
        """The tools as they were found last."""
        return self._toolbox.tools

    @property
    def stats(self) -> Stats:
        """What the answers were like."""
        return self._toolbox.stats

    @property
    def servers(self) -> Mapping[str, str]:
        """The servers by name, and what is wrong with each."""
        return self._toolbox.servers

    def __iter__(self) -> Iterator[Tool]:
        """Go through the tools."""
        return iter(self._toolbox)

    def __len__(self) -> int:
        return len(self._toolbox)

    def __contains__(self, name: object) -> bool:
        return name in self._toolbox

    def find(self, name: str) -> Tool | None:
        """Give the tool that `call` would call by this name."""
        return self._toolbox.find(name)

    def for_openai(self, *, strict: bool = True) -> list[dict[str, Any]]:
        """Give the tools for OpenAI's Responses API."""
        return self._toolbox.for_openai(strict=strict)

    def for_openai_chat(self, *, strict: bool = True) -> list[dict[str, Any]]:
        """Give the tools for OpenAI's Chat Completions API."""
        return self._toolbox.for_openai_chat(strict=strict)

    def for_anthropic(self, *, strict: bool = False) -> list[dict[str, Any]]:
        """Give the tools for Anthropic's Messages API."""
        return self._toolbox.for_anthropic(strict=strict)

    def for_gemini(self) -> list[dict[str, Any]]:
        """Give the tools for the Gemini API."""
        return self._toolbox.for_gemini()

    def refresh(self) -> None:
        """Ask every server for its tools again."""
        self._wait(self._toolbox.refresh())

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | Unset | None = UNSET,
        on_progress: OnProgress | None = None,
        call_id: str = "",
    ) -> Answer:
        """Call a tool; whatever happens, there is an answer."""
        return self._wait(
            self._toolbox.call(
                name, arguments, timeout=timeout, on_progress=on_progress, call_id=call_id
            )
        )

    def reply(
        self,
        response: Any,
        *,
        max_chars: int | None = None,
        media: bool = True,
        neutralise: bool = False,
        timeout: float | Unset | None = UNSET,
    ) -> list[dict[str, Any]]:
        """Run every tool call in a model's response; give the messages to append."""
        return self._wait(
            self._toolbox.reply(
                response,
                max_chars=max_chars,
                media=media,
                neutralise=neutralise,
                timeout=timeout,
            )
        )

    def run(self, client: Any, model: str, messages: Sequence[Any] | str, **options: Any) -> Run:
        """Hold a whole conversation, with the options of `agent.run`."""
        from kuniumi.agent.running import run  # noqa: PLC0415 - few need it

        return self._wait(run(client, model, messages, self._toolbox, **options))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for what runs on the loop; who stops waiting stops it."""
        if self._loop.is_closed():
            work.close()
            raise UsageError("the toolbox is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
