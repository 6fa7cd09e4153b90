"""What runs calls elsewhere: worker processes here; a cluster can be another.

In: an operation's id, raw argument bytes, and the context of whoever waits. Out: the envelope, as
`settle` made it over there. Who awaits it may be cancelled at any moment: then the function is told,
or ended, and its place is free again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kuniumi.core.call import Envelope
    from kuniumi.core.context import Context
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service


class Work(Struct, frozen=True):
    """One call, as it travels."""

    operation: Operation
    arguments: bytes
    context: Context | None


class Executor(Protocol):
    """A place where calls run that is not this process."""

    def add(self, operation: Operation) -> None:
        """Take note of an operation whose calls will be run."""
        ...

    def serve(self, service: Service) -> None:
        """Run calls from now on as this service has them: its variables, its state."""
        ...

    def open(self) -> None:
        """Get ready, while this process has no other thread. Calls do so themselves if need be."""
        ...

    async def run(self, work: Work) -> Envelope:
        """Run a call to its end."""
        ...

    def stream(self, work: Work) -> AsyncGenerator[bytes, None]:
        """Run a call whose items are wanted as they come, each encoded; raise what ends it early."""
        ...
