"""What surrounds every call of one app: its lifespan, its hooks, its memory of answers.

In: what the author registered. Out: for one operation, whether anything surrounds its calls, and
what. An app that registers nothing of the kind has no weave, and its calls take the short way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kuniumi.core.around import Hook
    from kuniumi.core.life import Life
    from kuniumi.core.operation import Operation


class Weave:
    """The lifespan and the hooks of one app, in one process."""

    def __init__(self) -> None:
        self.life: Life | None = None
        self.hooks: list[Hook] = []  # the first registered is the outermost
        self.remembering: Hook | None = None  # inside all others, for functions with `cache=`

    def surrounds(self, operation: Operation) -> bool:
        """Whether there is anything to do around a call of this operation now."""
        life = self.life
        return bool(self.hooks or operation.policy.cache or (life is not None and not life.is_open))

    def concerns(self, operation: Operation) -> bool:
        """Whether a call of this operation has to know of this: where its loop is, at least."""
        return self.surrounds(operation) or (self.life is not None and self.life.loop is not None)

    def hooks_of(self, operation: Operation) -> list[Hook]:
        """Give the hooks around an operation, the outermost first."""
        if operation.policy.cache is None or self.remembering is None:
            return self.hooks
        return [*self.hooks, self.remembering]

    @property
    def state(self) -> Any:
        """What the lifespan has opened."""
        return self.life.state if self.life is not None else None

    def afresh(self) -> Weave:
        """Give the same weave with its lifespan closed: for another process, or for one test."""
        fresh = Weave()
        fresh.hooks = self.hooks
        fresh.remembering = self.remembering
        if self.life is not None:
            fresh.life = type(self.life)(self.life.lifespan)
        return fresh
