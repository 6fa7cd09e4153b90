"""What a toolbox knows of a server, whatever kind it is.

In: how a person names a server. Out: `Server`, which says so as data; `Source`, what can be done with
it; `Question`, what a server may ask a person.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from kuniumi.agent.tools import Tool

Kind = Literal["auto", "mcp", "sse", "openapi", "rest"]

OnProgress = Callable[[float, float | None, str], Any]
"""Hears of progress: how much is done, of how much if that is known, and a message."""

OnQuestion = Callable[["Question"], Any]
"""Answers questions of servers, at once or as a coroutine.

A dict accepts, with what was filled in; True accepts a page that was opened; None and False decline.
"""

MAX_BYTES = 16 * 1024 * 1024
MAX_TOOLS = 100_000


class Server(Struct, frozen=True, kw_only=True):
    """One server, where it takes more than an address to say which, or how to speak with it.

    `where` is an app, an address, a command as text or as a list of words, or another library's
    client. A process gets the variables in `env` and a few harmless ones, not those of this process.
    """

    where: Any
    name: str = ""
    kind: Kind = "auto"
    headers: dict[str, str] = {}
    auth: Any = None  # any httpx.Auth, or what httpx makes one of
    http: Any = None  # an httpx.AsyncClient of your own: proxies, certificates
    revision: str = ""  # of MCP, to shake hands in, where the server's latest is not to be spoken
    base_url: str = ""  # of an OpenAPI document whose own is not to be trusted, or is missing
    env: dict[str, str] = {}
    cwd: str | None = None
    timeout: float | None = None  # of a call, in place of the toolbox's
    start_timeout: float = 30.0
    max_bytes: int = MAX_BYTES  # of one answer
    optional: bool = False  # whether the toolbox opens without it


class Question(Struct, frozen=True):
    """What a server wants to know of a person before it goes on."""

    server: str
    message: str
    mode: Literal["form", "url"] = "form"
    schema: dict[str, Any] = {}
    url: str = ""
    raw: dict[str, Any] = {}


class Found(Struct, frozen=True):
    """The tools of a server, and for how many seconds the list holds, if it says so."""

    tools: list[Tool]
    ttl: float | None = None


class Trace(Struct):
    """What whoever watches a call wants passed on, and what is found out on the way."""

    carrier: dict[str, str] = {}  # for the server, so that what it tells is told as part of ours
    facts: dict[str, Any] = {}
    seconds: list[float] = []  # of each request


class Source(Protocol):
    """A server of tools. What goes wrong is a `ServerError`; an answer is whatever `read` reads."""

    @property
    def name(self) -> str:
        """What the server calls itself."""
        ...

    async def open(self) -> None:
        """Get into touch."""
        ...

    async def list_tools(self) -> Found:
        """Give all tools."""
        ...

    async def call(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        on_progress: OnProgress | None,
        trace: Trace | None = None,
    ) -> Any:
        """Call a tool; what comes back is for `read`."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...


class Hearer(Struct, frozen=True):
    """What a source tells the toolbox, and asks it."""

    changed: Callable[[], None]
    """The list of tools is another now."""
    ask: Callable[[Question], Awaitable[Any]] | None = None


def is_idempotent(tool: Tool) -> bool:
    """Whether calling the tool twice does no more than calling it once."""
    hints = tool.annotations
    return hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True
