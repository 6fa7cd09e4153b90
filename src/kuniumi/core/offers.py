"""What an app offers beside functions: resources to read, and prompts to begin a conversation with.

In: a function and the words of its author. Out: frozen offers. Each holds an operation, so that
arguments are decoded, functions run and failures told as everywhere; only what becomes of the value
differs. It must not know how a protocol writes them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from kuniumi.core.codec import dumps
from kuniumi.core.content import BLOCKS, Contents, as_blocks
from kuniumi.core.operation import Operation, Policy, Wording, define
from kuniumi.core.questions import Message
from kuniumi.core.result import BadResultError, Result
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from kuniumi.core.content import Annotations

    Completer = Callable[[str, Mapping[str, str]], Sequence[str] | Awaitable[Sequence[str]]]
    Completions = Mapping[str, Sequence[str] | Completer]

_PLACEHOLDER = re.compile(r"\{([?+&]?)([A-Za-z_][A-Za-z0-9_]*(?:,[A-Za-z_][A-Za-z0-9_]*)*)\}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Resource(Struct, frozen=True, eq=False):
    """Something to read at an address, or at all addresses of a pattern."""

    uri: str
    operation: Operation
    match: Callable[[str], dict[str, str] | None]
    is_template: bool
    mime_type: str = ""
    size: int | None = None
    annotations: Annotations | None = None
    ttl: float = 0
    private: bool = False  # what it holds depends on who reads it
    completions: Completions = {}


class Prompt(Struct, frozen=True, eq=False):
    """The beginning of a conversation, made from a few words."""

    name: str
    operation: Operation
    completions: Completions = {}


def define_resource(
    uri: str,
    function: Callable[..., Any],
    *,
    name: str = "",
    mime_type: str = "",
    size: int | None = None,
    annotations: Annotations | None = None,
    ttl: float = 0,
    private: bool = False,
    completions: Completions | None = None,
    policy: Policy,
    wording: Wording,
) -> Resource:
    """Make a resource of a function: its parameters are what the address leaves open."""
    if not _SCHEME.match(uri):
        msg = f"resource {uri!r}: an address begins with a scheme: write it like 'notes://{{id}}'"
        raise DefinitionError(msg)
    if set("{}") & set(_PLACEHOLDER.sub("", uri)):
        msg = f"resource {uri!r}: what stands in braces is a name: '{{id}}', '{{+path}}' or '{{?page}}'"
        raise DefinitionError(msg)
    result = Result((Any,), lambda value: _encode_contents(value, mime_type), "value")
    operation = define(function, name=name, policy=policy, wording=wording, result=result)
    named = _placeholders(uri)
    taken = {parameter.name: parameter for parameter in operation.parameters}
    for missing in [name for name in named if name not in taken]:
        msg = f"resource {uri!r}: {{{missing}}} is no parameter of {operation.name!r}: add it"
        raise DefinitionError(msg)
    for parameter in taken.values():
        if parameter.required and parameter.name not in named:
            msg = (
                f"resource {uri!r}: the address does not say what {parameter.name!r} of "
                f"{operation.name!r} is: write {{{parameter.name}}} into it, or give a default"
            )
            raise DefinitionError(msg)
    return Resource(
        uri=uri,
        operation=operation,
        match=_matcher(uri),
        is_template=bool(named),
        mime_type=mime_type,
        size=size,
        annotations=annotations,
        ttl=ttl,
        private=private,
        completions=_checked(completions or {}, named, f"resource {uri!r}"),
    )


def define_prompt(
    function: Callable[..., Any],
    *,
    name: str = "",
    completions: Completions | None = None,
    policy: Policy,
    wording: Wording,
) -> Prompt:
    """Make a prompt of a function: its parameters are what a person fills in."""
    result = Result((Any,), _encode_messages, "value")
    operation = define(function, name=name, policy=policy, wording=wording, result=result)
    named = [parameter.name for parameter in operation.parameters]
    where = f"prompt {operation.name!r}"
    return Prompt(operation.name, operation, _checked(completions or {}, named, where))


def _checked(completions: Completions, named: Sequence[str], where: str) -> Completions:
    for name, choices in completions.items():
        if name not in named:
            msg = (
                f"{where}: complete names {name!r}, but there are only {', '.join(named) or 'none'}"
            )
            raise DefinitionError(msg)
        if not callable(choices) and isinstance(choices, str):
            msg = f"{where}: complete={{{name!r}: …}} takes a list of texts, or a function"
            raise DefinitionError(msg)
    return completions


# ---- addresses -------------------------------------------------------------------------------------


def _placeholders(uri: str) -> list[str]:
    return [name for _, names in _PLACEHOLDER.findall(uri) for name in names.split(",")]


def _matcher(uri: str) -> Callable[[str], dict[str, str] | None]:
    """Give what reads the open parts off an address (RFC 6570: `{x}`, `{+x}`, `{?x,y}`)."""
    pattern, at = "", 0
    in_query: list[str] = []
    for found in _PLACEHOLDER.finditer(uri):
        pattern += re.escape(uri[at : found.start()])
        at = found.end()
        operator, names = found[1], found[2].split(",")
        if operator in {"?", "&"}:
            in_query += names
        else:
            part = ".+" if operator == "+" else "[^/?#]+"
            pattern += ",".join(f"(?P<{name}>{part})" for name in names)
    pattern += re.escape(uri[at:])
    query = r"(?:\?(?P<_query>[^#]*))?" if in_query else ""
    compiled = re.compile(pattern + query)

    def match(address: str) -> dict[str, str] | None:
        found = compiled.fullmatch(address)
        if found is None:
            return None
        values = {name: unquote(value) for name, value in found.groupdict().items() if value}
        pairs = values.pop("_query", "").split("&") if in_query else []
        for name, _, value in (pair.partition("=") for pair in pairs):
            if name in in_query:
                values[name] = unquote(value)
        return values

    return match


# ---- what becomes of a value -----------------------------------------------------------------------


def _encode_contents(value: Any, mime_type: str) -> bytes:
    """Write what a resource holds: text, bytes, contents as they are, or data as JSON."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(x, Contents) for x in value):
        return dumps(value)
    return dumps([_contents(value, mime_type)])


def _contents(value: Any, mime_type: str) -> Contents:
    if isinstance(value, Contents):
        return value
    if isinstance(value, str):
        return Contents(text=value, mime_type=mime_type or "text/plain")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Contents(blob=bytes(value), mime_type=mime_type or "application/octet-stream")
    try:
        text = dumps(value).decode()
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"a value that is neither text nor bytes, nor can be written as JSON: {error}"
        raise BadResultError(msg) from None
    return Contents(text=text, mime_type=mime_type or "application/json")


def _encode_messages(value: Any) -> bytes:
    """Write a conversation: messages as they are; text and blocks are what the user says."""
    parts = [value] if isinstance(value, (str, Message, *BLOCKS)) else value
    if not isinstance(parts, (list, tuple)):
        msg = f"a value of type {type(value).__name__} where text or messages were promised"
        raise BadResultError(msg)
    try:
        return dumps([_message(part) for part in parts])
    except TypeError as error:
        raise BadResultError(str(error)) from None


def _message(part: Any) -> Message:
    return part if isinstance(part, Message) else Message("user", as_blocks(part)[0])


def choices_of(operation: Operation, name: str) -> tuple[str, ...]:
    """Give the values a parameter may have, where its type lists them."""
    annotation = next(p.annotation for p in operation.parameters if p.name == name)
    kind = msgspec.inspect.type_info(annotation)
    while isinstance(kind, msgspec.inspect.Metadata):
        kind = kind.type
    if isinstance(kind, msgspec.inspect.LiteralType):
        return tuple(map(str, kind.values))
    if isinstance(kind, msgspec.inspect.EnumType):
        return tuple(str(member.value) for member in kind.cls)
    return ()
