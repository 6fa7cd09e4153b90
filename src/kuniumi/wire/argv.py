"""The shell's grammar: words on a command line, read as one call's arguments.

In: an operation and words. Out: the JSON object any other surface would have received. Which words
become text and which become JSON is decided by the operation's schema, once, here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.codec import dumps
from kuniumi.core.coerce import resolved
from kuniumi.core.schema import input_schema
from kuniumi.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kuniumi.core.operation import Operation
    from kuniumi.core.schema import Schema

GLOBAL_FLAGS = ("--env",)
"""Flags of the app, not of a command: they may stand before or after it."""


def take_globals(words: list[str], own: frozenset[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Take the global flags out of the words; those in `own` belong to the function called."""
    taken: dict[str, list[str]] = {flag: [] for flag in GLOBAL_FLAGS}
    rest: list[str] = []
    waiting = iter(words)
    for word in waiting:
        flag, equals, value = word.partition("=")
        if flag not in taken or flag in own:
            rest.append(word)
        elif equals:
            taken[flag].append(value)
        else:
            following = next(waiting, None)
            if following is None:
                msg = f"{flag} needs a value: {flag} KEY=VALUE"
                raise UsageError(msg)
            taken[flag].append(following)
    return taken, rest


def read_arguments(operation: Operation, words: list[str]) -> bytes:
    """Read `--x 7 --y 3`, `7 3`, `'{"x":7}'` or a mixture as one JSON object."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return words[0].encode("utf-8", "surrogateescape")
    schema = input_schema(operation)
    properties: dict[str, Schema] = schema["properties"]
    given: dict[str, Any] = {}
    unfilled = iter(properties)
    for name, text in _pairs(words, properties, schema):
        if name is not None:
            _add(given, name, text, resolved(properties.get(name, {}), schema), schema)
        elif text is not None and text.lstrip().startswith("{") and not given:
            given.update(_object(text))
        elif text is not None:
            name = next((free for free in unfilled if free not in given), None)
            if name is None:
                msg = (
                    f"{text!r} is one value too many: {operation.name} takes {_listed(properties)}"
                )
                raise UsageError(msg)
            _add(given, name, text, resolved(properties[name], schema), schema)
    return dumps(given)


def _pairs(
    words: list[str], properties: dict[str, Schema], root: Schema
) -> Iterator[tuple[str | None, str | None]]:
    """Give names with their text; no name for a bare value, no text for a bare flag."""
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if not word.startswith("--") or len(word) == 2:  # noqa: PLR2004
            yield None, word
            continue
        flag, equals, value = word[2:].partition("=")
        name = _parameter(flag, properties)
        if equals:
            yield name, value
        elif name not in properties and (off := _negated(flag, properties)):
            yield off, "false"
        elif _is_flag(resolved(properties.get(name, {}), root)) and (
            not waiting or waiting[-1].lower() not in {"true", "false"}
        ):
            yield name, "true"
        elif waiting:
            yield name, waiting.pop()
        else:
            msg = f"--{flag} needs a value"
            raise UsageError(msg)


def _parameter(flag: str, properties: dict[str, Schema]) -> str:
    underscored = flag.replace("-", "_")
    return underscored if flag not in properties and underscored in properties else flag


def _negated(flag: str, properties: dict[str, Schema]) -> str:
    name = _parameter(flag.removeprefix("no-"), properties)
    return name if flag.startswith("no-") and name in properties else ""


def _is_flag(schema: Schema) -> bool:
    return schema.get("type") == "boolean"


def _add(given: dict[str, Any], name: str, text: str | None, schema: Schema, root: Schema) -> None:
    if text is None:
        return
    if _takes(schema, "array", root) and not text.lstrip().startswith("["):
        items = resolved(schema.get("items") or {}, root)
        before = given.get(name, [])
        given[name] = [*before, _value(text, items, root)]
        return
    given[name] = _value(text, schema, root)


def _value(text: str, schema: Schema, root: Schema) -> Any:
    """Read one word: as text where text is wanted, else as JSON if it is JSON."""
    if _takes(schema, "string", root):
        return text
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text  # validation will say what was expected instead
    return msgspec.Raw(text.encode())


def _takes(schema: Schema, kind: str, root: Schema) -> bool:
    schema = resolved(schema, root)
    arms = schema.get("anyOf") or schema.get("oneOf")
    if arms:
        return any(_takes(arm, kind, root) for arm in arms)
    if "enum" in schema:
        return kind == "string" and all(isinstance(choice, str) for choice in schema["enum"])
    kinds = schema.get("type")
    return kind in kinds if isinstance(kinds, list) else kinds == kind


def _object(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        msg = f"{text!r} is not a JSON object: {error}"
        raise UsageError(msg) from error


def _listed(properties: dict[str, Schema]) -> str:
    return ", ".join(properties) or "no arguments"
