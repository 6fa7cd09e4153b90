"""What a surface is given: the operations, and what their calls may see of the world.

It turns an operation and bytes into a `Call`; how the call is run is the executors' affair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from kuniumi.core.call import Call
from kuniumi.core.caller import NOBODY
from kuniumi.core.context import Context
from kuniumi.core.operation import check_choice, check_timeout
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from kuniumi.core.caller import Caller
    from kuniumi.core.operation import Operation
    from kuniumi.core.registry import Registry


class Service(Struct):
    """One app, as its surfaces see it."""

    registry: Registry
    environment: Any
    state: Any = None
    timeout: float | None = None  # for operations that set none themselves
    limit_concurrency: int = 0  # calls at once in one process; 0 for no limit
    http_format: Literal["json", "tool-result"] = "json"

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

    def call(self, operation: Operation, arguments: bytes, caller: Caller = NOBODY) -> Call:
        """Make the call; only a function that asks for its context pays for one."""
        if not operation.wants_context:
            return Call(operation.operation_id, arguments)
        context = Context(operation.operation_id, self.environment, state=self.state, caller=caller)
        return Call(operation.operation_id, arguments, context)

    def limit(self, operation: Operation) -> float | None:
        """Give the seconds a call may take, if there is such a limit."""
        return operation.policy.timeout or self.timeout
