"""The operations of one app, what else it offers, and what it says about itself.

In: operations, resources, prompts. Out: look-ups by name, by operation id, by path, all of constant
cost. `version` grows with every change, so that whoever built a list knows when to build it again;
who listens is told what changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from kuniumi.core.operation import check_icons, check_text
from kuniumi.errors import DefinitionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kuniumi.core.content import Icon
    from kuniumi.core.offers import Prompt, Resource
    from kuniumi.core.operation import Operation
    from kuniumi.core.provide import Instead

RESERVED_PATHS = frozenset({"/", "/functions", "/health", "/mcp", "/openapi.json", "/openapi.yaml"})
"""Paths the house serves itself."""


class About(Struct, frozen=True):
    """What an app says about itself."""

    name: str
    version: str
    description: str = ""
    title: str = ""
    instructions: str = ""  # for a model: how the functions go together
    website: str = ""
    icons: tuple[Icon, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no page could show."""
        for option in ("name", "version", "description", "title", "instructions", "website"):
            check_text("the app", option, getattr(self, option))
        if self.icons != ():
            check_icons("the app", self.icons)


class Change(Struct, frozen=True):
    """Something that became different while the app runs."""

    what: Literal["functions", "resources", "prompts", "contents"]
    uri: str = ""  # of the resource whose contents changed
    name: str = ""  # of the function that was enabled or disabled
    enabled: bool = True
    heard: bool = False  # from another process, which told all others as well


class Registry:
    """The operations of one app, in the order they were registered."""

    def __init__(self, about: About) -> None:
        self.about = about
        self.version = 0
        self.by_name: dict[str, Operation] = {}
        self.by_id: dict[str, Operation] = {}
        self.by_path: dict[str, Operation] = {}
        self.resources: dict[str, Resource] = {}  # by address
        self.prompts: dict[str, Prompt] = {}
        self._all: dict[str, Operation] = {}  # the disabled ones as well
        self._disabled: set[str] = set()
        self._listeners: list[Callable[[Change], None]] = []

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
        self._all[operation.name] = operation
        self.by_name[operation.name] = operation
        self.by_id[operation.operation_id] = operation
        self.changed(Change("functions"))

    def with_providers(self, instead: Instead) -> Registry:
        """Give a copy in which other providers take the places of some, for a test."""
        from kuniumi.core.provide import replaced  # noqa: PLC0415 - only tests do this

        copy = Registry(self.about)
        for operation in self:
            copy.add(replaced(operation, instead))
        for resource in self.resources.values():
            operation = replaced(resource.operation, instead)
            copy.add_resource(msgspec.structs.replace(resource, operation=operation))
        for prompt in self.prompts.values():
            operation = replaced(prompt.operation, instead)
            copy.add_prompt(msgspec.structs.replace(prompt, operation=operation))
        return copy

    def add_resource(self, resource: Resource) -> None:
        """Add a resource; its address must be its own."""
        if resource.uri in self.resources:
            msg = f"resource {resource.uri!r} is registered twice: give one another address"
            raise DefinitionError(msg)
        self.resources[resource.uri] = resource
        self.changed(Change("resources"))

    def add_prompt(self, prompt: Prompt) -> None:
        """Add a prompt; its name must be its own."""
        if prompt.name in self.prompts:
            msg = f"prompt {prompt.name!r} is registered twice: give one of them another name=…"
            raise DefinitionError(msg)
        self.prompts[prompt.name] = prompt
        self.changed(Change("prompts"))

    def switch(self, name: str, *, enabled: bool, heard: bool = False) -> None:
        """Enable or disable a function for every surface."""
        operation = self._all.get(name) or next(
            (each for each in self._all.values() if each.operation_id == name), None
        )
        if operation is None:
            msg = f"there is no function {name!r} to be {'enabled' if enabled else 'disabled'}"
            raise UsageError(msg)
        if enabled is (operation.name not in self._disabled):
            return
        self._disabled ^= {operation.name}
        offered = [each for each in self._all.values() if each.name not in self._disabled]
        self.by_name = {each.name: each for each in offered}
        self.by_id = {each.operation_id: each for each in offered}
        self.by_path = {each.path: each for each in offered if each.path}
        self.changed(Change("functions", name=operation.name, enabled=enabled, heard=heard))

    def changed(self, change: Change) -> None:
        """Tell whoever listens that something became different."""
        if change.what != "contents":
            self.version += 1
        for tell in tuple(self._listeners):
            tell(change)

    def listen(self, tell: Callable[[Change], None]) -> None:
        """Have `tell` called with every change, in whatever thread makes it."""
        self._listeners.append(tell)

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
