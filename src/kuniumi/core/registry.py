"""The operations of one app, and what the app says about itself.

In: operations. Out: look-ups by name, by operation id, by path, all of constant cost. `version`
grows with every change, so that whoever built a list knows when to build it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kuniumi.core.operation import check_text
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kuniumi.core.operation import Operation

RESERVED_PATHS = frozenset({"/", "/functions", "/health", "/mcp", "/openapi.json", "/openapi.yaml"})
"""Paths the house serves itself."""


class About(Struct, frozen=True):
    """What an app says about itself."""

    name: str
    version: str
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse what no page could show."""
        for option in self.__struct_fields__:
            check_text("the app", option, getattr(self, option))


class Registry:
    """The operations of one app, in the order they were registered."""

    def __init__(self, about: About) -> None:
        self.about = about
        self.version = 0
        self.by_name: dict[str, Operation] = {}
        self.by_id: dict[str, Operation] = {}
        self.by_path: dict[str, Operation] = {}

    def add(self, operation: Operation) -> None:
        """Add an operation; its name, id and path must be its own."""
        for taken in (self.by_name, self.by_id):  # whoever calls may give either
            self._check_free("name", operation.name, taken)
            self._check_free("operation id", operation.operation_id, taken)
        if operation.path:
            self._check_free("path", operation.path, self.by_path)
            if operation.path in RESERVED_PATHS or operation.path.startswith("/functions/"):
                msg = (
                    f"function {operation.name!r}: path {operation.path!r} belongs to the app "
                    f"itself: choose another path=…"
                )
                raise DefinitionError(msg)
            self.by_path[operation.path] = operation
        self.by_name[operation.name] = operation
        self.by_id[operation.operation_id] = operation
        self.version += 1

    def find(self, name: str) -> Operation | None:
        """Give the function of this name, or of this operation id."""
        return self.by_name.get(name) or self.by_id.get(name)

    def __iter__(self) -> Iterator[Operation]:
        """Give the operations in the order they were registered."""
        return iter(self.by_name.values())

    def __len__(self) -> int:
        """Count the operations."""
        return len(self.by_name)

    @staticmethod
    def _check_free(what: str, key: str, taken: dict[str, Operation]) -> None:
        if key in taken:
            other = taken[key].function
            msg = (
                f"{what} {key!r} is taken by the function registered from "
                f"{getattr(other, '__module__', '?')}.{getattr(other, '__qualname__', other)}: "
                f"give one of them another name=… or operation_id=… or path=…"
            )
            raise DefinitionError(msg)
