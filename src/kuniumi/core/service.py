"""What a surface is given: the operations, and what their calls may see of the world.

It turns an operation and bytes into a `Call`; how the call is run is the executors' affair.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from kuniumi.core.call import Call
from kuniumi.core.caller import NOBODY
from kuniumi.core.context import Context
from kuniumi.core.operation import check_choice, check_timeout
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kuniumi.core.caller import Caller
    from kuniumi.core.operation import Operation
    from kuniumi.core.registry import Registry
    from kuniumi.core.weave import Weave


_HOST = r"\*|\[[0-9A-Fa-f:.]+\](:\d{1,5})?|[^\s/:@\[\]*]+(:\d{1,5})?"
_ORIGIN = r"\*|null|[A-Za-z][A-Za-z0-9+.-]*://[^\s/@*]+/?"


def is_host(text: str) -> bool:
    """Whether this is a name as a request gives it, with or without a port, or `*`."""
    return re.fullmatch(_HOST, text) is not None


def is_origin(text: str) -> bool:
    """Whether this is an origin as a browser gives it, or `*`."""
    return re.fullmatch(_ORIGIN, text) is not None


class Service(Struct):
    """One app, as its surfaces see it."""

    registry: Registry
    environment: Any
    weave: Weave | None = None  # what surrounds the calls; None for most apps
    timeout: float | None = None  # for operations that set none themselves
    limit_concurrency: int = 0  # calls at once in one process; 0 for no limit
    http_format: Literal["json", "tool-result"] = "json"
    allow_hosts: tuple[str, ...] = ()  # names by which it is reached, as behind a proxy
    allow_origins: tuple[str, ...] = ()  # web pages that may use what only programs use else
    executors: list[Any] = []  # where calls run that don't run in this process

    def __post_init__(self) -> None:
        """Refuse options that no call could be made with."""
        check_timeout("the app", self.timeout)
        check_choice("the app", "http_format", self.http_format, ("json", "tool-result"))
        limit = self.limit_concurrency
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            msg = (
                f"the app: limit_concurrency={limit!r} must be a number of calls, or 0 for no limit"
            )
            raise DefinitionError(msg)
        self.allow_hosts = _checked("allow_hosts", self.allow_hosts, is_host, "api.example.com")
        self.allow_origins = _checked(
            "allow_origins", self.allow_origins, is_origin, "https://example.com"
        )

    def call(self, operation: Operation, arguments: bytes, caller: Caller = NOBODY) -> Call:
        """Make the call; only a function that asks for its context, and a hook, pays for one."""
        weave = self.weave
        if weave is not None and not weave.concerns(operation):
            weave = None
        if weave is None and not operation.wants_context:
            return Call(operation.operation_id, arguments)
        environment = self.environment.for_call()
        context = Context(operation.operation_id, environment, state=self.state, caller=caller)
        return Call(operation.operation_id, arguments, context, weave)

    @property
    def state(self) -> Any:
        """What the app's lifespan has opened in this process: `ctx.state`."""
        return self.weave.state if self.weave is not None else None

    def open(self) -> None:
        """Get ready for calls: whoever serves does this while the process has no other thread."""
        for executor in self.executors:
            executor.open()

    def limit(self, operation: Operation) -> float | None:
        """Give the seconds a call may take, if there is such a limit."""
        return operation.policy.timeout or self.timeout


def _checked(
    option: str, given: Any, is_right: Callable[[str], bool], example: str
) -> tuple[str, ...]:
    texts: list[Any] = list(given) if isinstance(given, (list, tuple, set, frozenset)) else [None]
    if not all(isinstance(text, str) and is_right(text) for text in texts):
        msg = f"the app: {option}={given!r} must be a list of such as {example!r}, or of '*'"
        raise DefinitionError(msg)
    return tuple(texts)
