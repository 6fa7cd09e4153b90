"""The shell's grammar: words on a command line, read as one call's arguments.

    call Add 7 --y 3                      values by position and by name
    call Tag --word a --word b --loud     a list, one item a time; a flag that is true
    call Tag '{"word": ["a", "b"]}'       or all of it as JSON

In: an operation and words. Out: the JSON object any other surface would have received; and back,
for examples. Words are text; what they stand for is decided by the operation's schema, with the very rules by which other
callers' text is coerced. A word that begins with `--` is never a value: `--word=--x` is how one is
given, and after a lone `--` every word is a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.codec import dumps
from kuniumi.core.coerce import fit, resolved
from kuniumi.core.schema import input_schema
from kuniumi.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kuniumi.core.operation import Operation
    from kuniumi.core.schema import Schema

    Flags = dict[str, list[str]]

GLOBAL_FLAGS = {"--env": "KEY=VALUE", "--env-file": "FILE", "--mount": "HOST:VIRTUAL[:ro]"}
"""Flags of the app, not of a command, and their values: they may stand before or after it."""

_KINDS = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def take_globals(
    words: Sequence[str], *, own: Collection[str] = (), leading: bool = False
) -> tuple[Flags, list[str]]:
    """Take the global flags out of the words; those in `own` belong to the function called.

    With `leading`, only those are taken that stand before the first other word.
    """
    taken: Flags = {flag: [] for flag in GLOBAL_FLAGS}
    rest: list[str] = []
    waiting = iter(words)
    for word in waiting:
        flag, equals, value = word.partition("=")
        if word == "--" or (leading and flag not in taken):
            rest += [word, *waiting]
        elif flag not in taken or flag in own:
            rest.append(word)
        elif equals:
            taken[flag].append(value)
        else:
            following = next(waiting, None)
            if following is None:
                msg = f"{flag} needs a value: {flag} {GLOBAL_FLAGS[flag]}"
                raise UsageError(msg)
            taken[flag].append(following)
    return taken, rest


def joined(first: Flags, second: Flags) -> Flags:
    """Join what was taken in two places."""
    return {flag: first[flag] + second[flag] for flag in GLOBAL_FLAGS}


def as_words(flags: Flags) -> list[str]:
    """Write flags as the words they were taken from."""
    return [word for flag, values in flags.items() for value in values for word in (flag, value)]


def own_flags(operation: Operation) -> set[str]:
    """Give the flags that name a function's own parameters."""
    names = [parameter.name for parameter in operation.parameters]
    return {f"--{flag}" for name in names for flag in (name, name.replace("_", "-"))}


def asks_for_help(operation: Operation, words: list[str]) -> bool:
    """Whether these words are no call, but a question how to make one."""
    flags = words[: words.index("--")] if "--" in words else words
    own = any(parameter.name == "help" for parameter in operation.parameters)
    return words[:1] == ["-h"] or ("--help" in flags and not own)


def read_arguments(operation: Operation, words: list[str]) -> bytes:
    """Read `--x 7 --y 3`, `7 3`, `'{"x":7}'` or a mixture as one JSON object."""
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        msg = "The arguments are not UTF-8"
        raise UsageError(msg) from None
    return _read(_Reader(operation.name, input_schema(operation)), words)


def read_arguments_of(owner: str, schema: Schema, words: list[str]) -> bytes:
    """Read words as the arguments of a function that others describe, by whatever schema."""
    described = schema.get("properties")
    properties = described if isinstance(described, dict) else {}
    known = {name: part for name, part in properties.items() if isinstance(part, dict)}
    try:
        found = _read(_Reader(owner, {**schema, "properties": known}), words)
        msgspec.json.decode(found, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError):
        msg = f"The arguments of {owner} are no JSON object"
        raise UsageError(msg) from None
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        msg = f"{owner} is described in no way that can be understood: send one JSON object"
        raise UsageError(msg) from None
    return found


def _read(reader: _Reader, words: list[str]) -> bytes:
    if len(words) == 1 and reader.is_document(words[0]):
        return words[0].encode()
    return reader.read(words)


def next_words(operation: Operation, words: list[str]) -> list[str]:
    """Give what could come after these words: flags, or the choices where a value belongs.

    Nothing means: a value of which no more is known.
    """
    if "--" in words:
        return []
    reader = _Reader(operation.name, input_schema(operation))
    waiting = reader.waiting_parameter(words)
    if waiting is not None:
        return _choices(reader.properties.get(waiting, {}), reader.root)
    return reader.open_flags(words)


def write_arguments(operation: Operation, arguments: bytes) -> list[str]:
    """Write a JSON object as words that are read as the very same; as one word, if need be."""
    named: list[str] = []
    for name, raw in msgspec.json.decode(arguments, type=dict[str, msgspec.Raw]).items():
        value = msgspec.json.decode(raw)
        text = value if isinstance(value, str) else bytes(raw).decode()
        if isinstance(value, bool):
            named.append(f"--{name}" if value else f"--no-{name}")
        elif text.startswith("--"):
            named.append(f"--{name}={text}")
        else:
            named += [f"--{name}", text]
    try:
        same = _normal(read_arguments(operation, named)) == _normal(arguments)
    except UsageError:
        same = False
    return named if same else [arguments.decode().strip()]


def _normal(document: bytes) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(document), order="deterministic")


class _Reader:
    """One walk over one call's words."""

    def __init__(self, owner: str, root: Schema) -> None:
        self.owner = owner
        self.root = root
        self.properties: dict[str, Schema] = self.root["properties"]

    def is_document(self, word: str) -> bool:
        """Whether this word is the arguments as JSON, and not an object for the first of them."""
        if word.lstrip()[:1] != "{":
            return False
        first = next(iter(self.properties.values()), {})
        if not _kinds(first, self.root) & {"object", "any"}:
            return True
        return _kind_of_json(word) != "object" or set(_parts(word)) <= set(self.properties)

    def read(self, words: list[str]) -> bytes:
        """Sort the words by parameter, then read each parameter's."""
        document, named, bare = self._sorted(words)
        given: dict[str, Any] = _parts(document) if document else {}
        unfilled = [name for name in self.properties if name not in named and name not in given]
        if len(bare) > len(unfilled):
            msg = f"{bare[len(unfilled)]!r} is one value too many: {self._usage()}"
            raise UsageError(msg)
        for name, text in zip(unfilled, bare, strict=False):
            named[name] = [text]
        for name, texts in named.items():
            given[name] = self._argument(name, texts)
        return dumps(given)

    def waiting_parameter(self, words: list[str]) -> str | None:
        """Give the parameter whose flag is the last word, if its value must follow."""
        last = words[-1] if words else ""
        if not last.startswith("--") or "=" in last:
            return None
        name = self._parameter(last[2:])
        return name if name in self.properties and not self._is_flag(name) else None

    def open_flags(self, words: list[str]) -> list[str]:
        """Give the flags that may still be given: once each, but those of a list."""
        flags = [word[2:].partition("=")[0] for word in words if word.startswith("--")]
        given = {self._parameter(flag) for flag in flags}
        given |= {self._parameter(flag[3:]) for flag in flags if flag.startswith("no-")}
        names = [
            name
            for name, schema in self.properties.items()
            if name not in given or self._items_of(schema) is not None
        ]
        off = [f"--no-{name}" for name in names if self._is_flag(name)]
        return [*(f"--{name}" for name in names), *off, "--help"]

    def _sorted(self, words: list[str]) -> tuple[str, dict[str, list[str]], list[str]]:
        document, named, bare = "", dict[str, list[str]](), list[str]()
        waiting = list(reversed(words))
        while waiting:
            word = waiting.pop()
            if word == "--":
                bare += reversed(waiting)
                break
            if word.startswith("--"):
                name, text = self._named(word[2:], waiting)
                named.setdefault(name, []).append(text)
            elif not document and not bare and self.is_document(word):
                document = word
            else:
                bare.append(word)
        return document, named, bare

    def _named(self, word: str, waiting: list[str]) -> tuple[str, str]:
        """Read `x=7`, or `x` and the word after it, or a flag that needs none."""
        flag, equals, text = word.partition("=")
        name = self._parameter(flag)
        if equals:
            return name, text
        if name not in self.properties and flag.startswith("no-"):
            negated = self._parameter(flag.removeprefix("no-"))
            if self._is_flag(negated):
                return negated, "false"
        following = waiting[-1] if waiting and not waiting[-1].startswith("--") else None
        if self._is_flag(name):
            said = following is not None and following.lower() in {"true", "false"}
            return name, waiting.pop() if said else "true"
        if following is not None:
            return name, waiting.pop()
        if name not in self.properties:
            return name, ""  # it is unknown: validation says so, and what is close
        msg = f"--{flag} needs a value: {self._usage()}"
        raise UsageError(msg)

    def _parameter(self, flag: str) -> str:
        """Give the parameter that a flag names: `--dry-run` is `dry_run`."""
        underscored = flag.replace("-", "_")
        known = flag not in self.properties and underscored in self.properties
        return underscored if known else flag

    def _is_flag(self, name: str) -> bool:
        return _kinds(self.properties.get(name, {}), self.root) - {"null"} == {"boolean"}

    def _argument(self, name: str, texts: list[str]) -> Any:
        schema = resolved(self.properties.get(name, {}), self.root)
        items = self._items_of(schema)
        takes_text = "string" in _kinds(schema, self.root)
        if items is not None and (len(texts) > 1 or not takes_text):
            if len(texts) == 1 and self._is_whole(texts[0], schema):
                return self._value(texts[0], schema, name)
            return [self._value(text, items, name) for text in texts]
        if len(texts) > 1 and name in self.properties:
            msg = f"--{name} is given {len(texts)} times, and takes one value"
            raise UsageError(msg)
        return self._value(texts[0], schema, name)

    def _items_of(self, schema: Schema) -> Schema | None:
        """Give the schema of the items, if this takes a list of them."""
        for arm in _arms(schema, self.root):
            if arm.get("type") == "array":
                items = arm.get("items")
                prefix = arm.get("prefixItems")
                return items if isinstance(items, dict) else {"anyOf": prefix} if prefix else {}
        return None

    def _is_whole(self, text: str, schema: Schema) -> bool:
        """Whether one word is the whole value of a parameter that takes a list, not an item."""
        kinds = _kinds(schema, self.root)
        kind = _kind_of_json(text)
        return kind == "array" or (kind in kinds and kind not in {"", "string"})

    def _value(self, text: str, schema: Schema, name: str) -> Any:
        """Read one word as what the schema wants; validation explains what can't be read so."""
        kinds = _kinds(schema, self.root)
        if "string" in kinds:
            return text
        kind = _kind_of_json(text)
        if kind and ("any" in kinds or kind in {"object", "array"}):
            return msgspec.Raw(text.encode())
        fitted, misfit = fit(text, schema, self.root, name, coerce=True)
        return text if misfit is not None else fitted

    def _usage(self) -> str:
        return f"{self.owner} takes {', '.join(self.properties) or 'no arguments'}"


def _arms(schema: Schema, root: Schema) -> list[Schema]:
    """Give the alternatives of a schema, each with one type at most."""
    schema = resolved(schema, root)
    arms = schema.get("anyOf") or schema.get("oneOf")
    if arms:
        return [leaf for arm in arms for leaf in _arms(arm, root)]
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds]
    return [schema]


def _choices(schema: Schema, root: Schema) -> list[str]:
    """Give the texts that a schema names one by one, or that its items do."""
    found: list[str] = []
    for arm in _arms(schema, root):
        items = arm.get("items")
        if isinstance(items, dict):
            found += _choices(items, root)
        named = arm.get("enum", [arm["const"]] if "const" in arm else [])
        found += [str(choice) for choice in named if isinstance(choice, (str, int))]
    return found


def _kinds(schema: Schema, root: Schema) -> set[str]:
    """Say what a schema takes: JSON's kinds, `choice` for an enumeration, `any` for anything."""
    found = set()
    for arm in _arms(schema, root):
        if "enum" in arm or "const" in arm:
            found.add("choice")
        else:
            found.add(str(arm.get("type", "any")))
    return found


def _kind_of_json(text: str) -> str:
    """Say which of JSON's kinds this text is; nothing if it is no JSON."""
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    return _KINDS[type(data)]


def _parts(document: str) -> dict[str, Any]:
    try:
        return dict(msgspec.json.decode(document, type=dict[str, msgspec.Raw]))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        msg = f"{document!r} is not a JSON object: {error}"
        raise UsageError(msg) from error
