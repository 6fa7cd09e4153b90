"""What an app offers beside functions: resources to read, and prompts to begin a conversation with.

In: a function and the words of its author. Out: frozen offers. Each holds an operation, so that
arguments are decoded, functions run and failures told as everywhere; only what becomes of the value
differs. It must not know how a protocol writes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from kuniumi.core.codec import dumps, explain
from kuniumi.core.content import BLOCKS, Annotations, Contents, as_blocks, is_valid
from kuniumi.core.operation import Operation, Policy, Wording, check_choice, define
from kuniumi.core.questions import Message
from kuniumi.core.result import BadResultError, Result
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    Completer = Callable[[str, Mapping[str, str]], Sequence[str] | Awaitable[Sequence[str]]]
    Completions = Mapping[str, Sequence[str] | Completer]

_PLACEHOLDER = re.compile(r"\{([?+&]?)([A-Za-z_][A-Za-z0-9_]*(?:,[A-Za-z_][A-Za-z0-9_]*)*)\}")
_FIXED = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_MIME_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(;[ -~]*)?")
_LONGEST = 10 * 365 * 86_400
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


_read_contents = msgspec.json.Decoder(list[Contents]).decode
_read_messages = msgspec.json.Decoder(list[Message]).decode


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
    check_address(uri)
    where = f"resource {uri!r}"
    _check_name(where, name)
    _check_facts(where, mime_type, size, annotations, ttl, private=private)
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
        completions=_checked(completions, named, where),
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
    _check_name(f"prompt {name!r}", name)
    result = Result((Any,), _encode_messages, "value")
    operation = define(function, name=name, policy=policy, wording=wording, result=result)
    named = [parameter.name for parameter in operation.parameters]
    where = f"prompt {operation.name!r}"
    return Prompt(operation.name, operation, _checked(completions, named, where))


# ---- what is refused ---------------------------------------------------------------------------------


def check_address(uri: Any) -> None:
    """Refuse what is no address, nor a pattern of addresses."""
    if not isinstance(uri, str):
        shown = f"the function {uri.__name__!r}" if hasattr(uri, "__name__") else repr(uri)
        msg = f"@app.resource takes an address, not {shown}: write @app.resource('notes://{{id}}')"
        raise DefinitionError(msg)
    where = f"resource {uri!r}"
    if not _SCHEME.match(uri):
        msg = f"{where}: an address begins with a scheme: write it like 'notes://{{id}}'"
        raise DefinitionError(msg)
    fixed = _PLACEHOLDER.split(uri)[::3]
    if set("{}") & set("".join(fixed)):
        msg = f"{where}: what stands in braces is a name: '{{id}}', '{{+path}}' or '{{?page}}'"
        raise DefinitionError(msg)
    if not all(map(_FIXED.fullmatch, fixed)):
        msg = f"{where}: an address has no blanks and is ASCII: percent-encode all else, like %20"
        raise DefinitionError(msg)
    names = _placeholders(uri)
    for name in names:
        if names.count(name) > 1:
            msg = f"{where}: {{{name}}} stands there twice: give one of them another name"
            raise DefinitionError(msg)
    operators = [found[1] for found in _PLACEHOLDER.finditer(uri)]
    path = [operator for operator in operators if operator not in {"?", "&"}]
    query = operators[len(path) :]
    if operators != path + query or query[1:] or (query and fixed[-1]):
        msg = f"{where}: what a query holds stands at the end, in one: '{{?page,size}}'"
        raise DefinitionError(msg)
    if query == ["&"] and "?" not in "".join(fixed):
        msg = f"{where}: '{{&…}}' goes on with a query: begin it with '{{?…}}'"
        raise DefinitionError(msg)
    if not all(fixed[1 : len(path)]):
        msg = f"{where}: nobody can tell where one of the names ends: write something between them"
        raise DefinitionError(msg)


def _check_name(where: str, name: Any) -> None:
    if name and not (isinstance(name, str) and _NAME.fullmatch(name)):
        msg = (
            f"{where}: name={name!r} is for programs, and may hold ASCII letters, digits, '_', '-' "
            f"and '.' only: write words for people into title=…"
        )
        raise DefinitionError(msg)


def _check_facts(
    where: str, mime_type: Any, size: Any, annotations: Any, ttl: Any, *, private: Any
) -> None:
    check_choice(where, "private", private, (True, False))
    checks = {
        "mime_type": (
            mime_type == "" or (isinstance(mime_type, str) and _MIME_TYPE.fullmatch(mime_type)),
            "a type like 'text/plain'",
        ),
        "size": (size is None or (type(size) is int and size >= 0), "a number of bytes"),
        "ttl": (type(ttl) in {int, float} and 0 <= ttl < _LONGEST, "a number of seconds"),
        "annotations": (
            annotations is None
            or (isinstance(annotations, Annotations) and is_valid(annotations, Annotations)),
            "Annotations(audience=('user',), priority=0.5)",
        ),
    }
    given = {"mime_type": mime_type, "size": size, "ttl": ttl, "annotations": annotations}
    for option, (is_right, wanted) in checks.items():
        if not is_right:
            msg = f"{where}: {option}={given[option]!r} must be {wanted}"
            raise DefinitionError(msg)


def _checked(completions: Any, named: Sequence[str], where: str) -> Completions:
    if completions is None:
        return {}
    if not isinstance(completions, Mapping):
        msg = f"{where}: complete={completions!r} must be a dict, like {{'id': ['1', '2']}}"
        raise DefinitionError(msg)
    for name, choices in completions.items():
        if name not in named:
            msg = (
                f"{where}: complete names {name!r}, but there are only {', '.join(named) or 'none'}"
            )
            raise DefinitionError(msg)
        listed = isinstance(choices, (list, tuple)) and all(isinstance(x, str) for x in choices)
        if not listed and not callable(choices):
            msg = f"{where}: complete={{{name!r}: …}} takes a list of texts, or a function"
            raise DefinitionError(msg)
    return dict(completions)


# ---- addresses -------------------------------------------------------------------------------------


def _placeholders(uri: str) -> list[str]:
    return [name for _, names in _PLACEHOLDER.findall(uri) for name in names.split(",")]


def _matcher(uri: str) -> Callable[[str], dict[str, str] | None]:
    """Give what reads the open parts off an address (RFC 6570: `{x}`, `{+x}`, `{?x,y}`).

    Each part is read with the fixed text that follows it, for good: `{x}` ends as soon as it can,
    `{+x}`, which may hold slashes, as late as it can. Nothing is tried twice, so that no address,
    however long, takes long to be refused.
    """
    opened = list(_PLACEHOLDER.finditer(uri))
    query = opened.pop() if opened and opened[-1][1] in {"?", "&"} else None
    in_query = query[2].split(",") if query else []
    pattern = re.escape(_PLACEHOLDER.split(uri, maxsplit=1)[0])
    tail = rf"(?:{re.escape(query[1])}(?P<_query>[^#]*))?" if query else ""
    wide = "[^?#]+" if query else ".+"
    for found, following in zip(opened, [*opened[1:], query], strict=False):
        fixed = re.escape(uri[found.end() : following.start() if following else None])
        *others, last = found[2].split(",")
        kind = wide if found[1] == "+" else "[^/?#]+?"
        pattern += "".join(f"(?>(?P<{name}>{kind}),)" for name in others)
        ending = rf"{tail}\Z" if found is opened[-1] else ""
        pattern += f"(?>(?P<{last}>{kind}){fixed}{ending})"
    compiled = re.compile(pattern if opened else pattern + tail, re.DOTALL)

    def match(address: str) -> dict[str, str] | None:
        found = compiled.fullmatch(address)
        if found is None:
            return None
        raw = {name: value for name, value in found.groupdict().items() if value}
        pairs = raw.pop("_query", "").split("&") if in_query else []
        split = (pair.partition("=") for pair in pairs)
        raw |= {name: value for name, _, value in split if name in in_query}
        try:
            return {name: unquote(value, errors="strict") for name, value in raw.items()}
        except UnicodeDecodeError:  # such bytes are no text, and stand for nothing
            return None

    return match


# ---- what becomes of a value -----------------------------------------------------------------------


def _encode_contents(value: Any, mime_type: str) -> bytes:
    """Write what a resource holds: text, bytes, contents as they are, or data as JSON."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(x, Contents) for x in value):
        return _valid(dumps(value), _read_contents)
    return _valid(dumps([_contents(value, mime_type)]), _read_contents)


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
        written = dumps([_message(part) for part in parts])
    except (TypeError, ValueError, RecursionError) as error:
        raise BadResultError(str(error)) from None
    return _valid(written, _read_messages)


def _valid(written: bytes, read: Callable[[bytes], object]) -> bytes:
    """Refuse frozen data whose fields hold what they don't promise."""
    try:
        read(written)
    except msgspec.DecodeError as error:
        place, said = explain(error, "the value")
        msg = f"what can't be told: {said}, at {place}"
        raise BadResultError(msg) from None
    return written


def _message(part: Any) -> Message:
    return part if isinstance(part, Message) else Message("user", as_blocks(part)[0])


def choices_of(operation: Operation, name: str) -> tuple[str, ...]:
    """Give the values a parameter may have, where its type lists them."""
    annotation = next(p.annotation for p in operation.parameters if p.name == name)
    return tuple(dict.fromkeys(_choices(msgspec.inspect.type_info(annotation))))


def _choices(kind: msgspec.inspect.Type) -> list[str]:
    if isinstance(kind, msgspec.inspect.Metadata):
        return _choices(kind.type)
    if isinstance(kind, msgspec.inspect.UnionType):
        return [choice for arm in kind.types for choice in _choices(arm)]
    if isinstance(kind, msgspec.inspect.LiteralType):
        return [str(value) for value in kind.values]
    if isinstance(kind, msgspec.inspect.EnumType):
        return [str(member.value) for member in kind.cls]
    return ["true", "false"] if isinstance(kind, msgspec.inspect.BoolType) else []
