"""Questions a function puts to its caller, and the answers read back as typed values.

In: a message and a type, a conversation, a request for folders. Out: frozen questions, which a
surface carries as its protocol can; then what came back, checked. It must not know the protocol.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, get_origin

import msgspec
from msgspec import Struct, field

from kuniumi.core.codec import decoder, explain
from kuniumi.core.content import Block, Text
from kuniumi.core.definitions import Book
from kuniumi.core.types import adapt, has_fields, is_pydantic, unwrap
from kuniumi.errors import CannotAskError, DeclinedError, DefinitionError, FunctionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kuniumi.core.caller import Caller

Schema = dict[str, Any]

VALUE = "value"
"""The only field of a form that asks for a single value."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[!-~]+")
_PRIMITIVES = {"string", "number", "integer", "boolean"}
_FORMATS = {"email", "uri", "date", "date-time"}
_KNOWN: dict[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "format"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "boolean": (),
    "enum": ("enum",),
    "array": ("items", "minItems", "maxItems"),
}


class Form(Struct, frozen=True, kw_only=True, tag="form"):
    """A few fields for a person to fill in."""

    message: str
    schema: Schema
    key: str = ""


class Visit(Struct, frozen=True, kw_only=True, tag="visit"):
    """A page for a person to open."""

    message: str
    url: str
    key: str = ""


class Message(Struct, frozen=True):
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    content: Block


class Sampling(Struct, frozen=True, kw_only=True, tag="sampling"):
    """A conversation for the caller's model to continue."""

    messages: tuple[Message, ...]
    max_tokens: int
    system: str = ""
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    key: str = ""


class Roots(Struct, frozen=True, kw_only=True, tag="roots"):
    """Which folders the caller works in."""

    key: str = ""


Question = Form | Visit | Sampling | Roots


class Reply(Struct, frozen=True):
    """What the caller's model said."""

    content: tuple[Block, ...]
    model: str = ""
    stop_reason: str = ""

    @property
    def text(self) -> str:
        """All its words."""
        return "".join(block.text for block in self.content if isinstance(block, Text))


class Root(Struct, frozen=True):
    """A folder the caller works in."""

    uri: str
    name: str = ""


NEEDS: dict[type[Any], str] = {
    Form: "elicitation",
    Visit: "elicitation.url",
    Sampling: "sampling",
    Roots: "roots",
}
"""What a caller must be able to do for each kind of question."""


async def put(caller: Caller, question: Question) -> Mapping[str, Any]:
    """Put a question to the caller; give the answer as data."""
    if caller.ask is None:
        raise CannotAskError(what_is_asked(question), NEEDS[type(question)])
    return await caller.ask(question)


def what_is_asked(question: Question) -> str:
    """Say in words what is asked for."""
    if isinstance(question, (Form, Visit)):
        return f"this function asks its caller: {question.message}"
    what = "a model" if isinstance(question, Sampling) else "the caller's folders"
    return f"this function asks its caller for {what}"


def page(message: str, url: str, key: str = "") -> Visit:
    """Make the question that has a page opened."""
    if not _ADDRESS.fullmatch(url):
        raise DefinitionError(
            f"ctx.visit(…, {url!r}): a page has an address like https://example.com/in"
        )
    return Visit(message=message, url=url, key=key)


# ---- forms -----------------------------------------------------------------------------------------


def form(message: str, expected: Any, key: str = "") -> Form:
    """Make the form that asks for a value of a type, or for what a schema describes."""
    if isinstance(expected, dict):
        return Form(message=message, schema=expected, key=key)
    where = f"ctx.ask({message!r}, …)"
    schema = _describe(adapt(expected, where, incoming=True))
    if not _is_object(expected):
        schema = {"type": "object", "properties": {VALUE: schema}, "required": [VALUE]}
    properties = {
        name: _flat(_resolved(part, schema), f"{where}: {name!r}")
        for name, part in schema["properties"].items()
    }
    required = schema.get("required", [])
    flat = {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
    }
    return Form(message=message, schema=flat, key=key)


def read_form(question: Form, answer: Mapping[str, Any], expected: Any) -> Any:
    """Give what a person filled in, as the type that was asked for."""
    read_action(answer)
    content = answer.get("content") or {}
    if not isinstance(content, dict):
        msg = f"the answer to {question.message!r} is of no use: its content is no object"
        raise FunctionError(msg, status=422)
    if isinstance(expected, dict):
        return content
    wanted = adapt(expected, f"ctx.ask({question.message!r}, …)", incoming=True)
    value = content if _is_object(expected) else content.get(VALUE)
    try:
        return decoder(wanted).decode(msgspec.json.encode(value))
    except msgspec.MsgspecError as error:
        place, said = explain(error, "")
        msg = f"the answer to {question.message!r} is of no use: {said}" + (
            f", at {place}" if place else ""
        )
        raise FunctionError(msg, status=422) from error


def read_action(answer: Mapping[str, Any]) -> None:
    """Raise unless the person agreed."""
    action = answer.get("action")
    if action != "accept":
        raise DeclinedError("cancel" if action == "cancel" else "decline")


def _is_object(expected: Any) -> bool:
    cls = get_origin(unwrap(expected)) or unwrap(expected)
    return isinstance(cls, type) and (has_fields(cls) or is_pydantic(cls))


def _describe(annotation: Any) -> Schema:
    book = Book(for_openapi=False)
    ((schema,),), definitions = book.finish(
        [[book.describe(annotation, "validation")]], "#/$defs/{name}"
    )
    return {**schema, "$defs": definitions} if definitions else schema


def _resolved(schema: Schema, root: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    name = schema["$ref"].rpartition("/")[2]
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**root.get("$defs", {}).get(name, {}), **rest}


def _flat(schema: Schema, where: str) -> Schema:
    """Give the schema of one field as forms know them: text, a number, a choice, or choices."""
    if "anyOf" in schema:  # `str | None`: a field that may be left empty
        arms = [arm for arm in schema["anyOf"] if arm.get("type") != "null"]
        if len(arms) == 1:
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            schema = {**arms[0], **rest}
    schema = {
        key: value for key, value in schema.items() if not (key == "default" and value is None)
    }
    if "enum" in schema and all(isinstance(choice, str) for choice in schema["enum"]):
        return _only({"type": "string", **schema}, "enum")
    if schema.get("type") == "array" and "enum" in schema.get("items", {}):
        items = _only({"type": "string", **schema["items"]}, "enum")
        return _only({**schema, "items": items}, "array")
    if schema.get("type") not in _PRIMITIVES:
        msg = (
            f"{where} is nothing that a form can ask for: "
            f"take text, a number, a bool, a Literal of texts, or a list of such a Literal"
        )
        raise TypeError(msg)
    if schema.get("type") == "integer" and "exclusiveMinimum" in schema:
        schema = {**schema, "minimum": schema["exclusiveMinimum"] + 1}
    if schema.get("format", "email") not in _FORMATS:
        schema = {key: value for key, value in schema.items() if key != "format"}
    return _only(schema, schema["type"])


def _only(schema: Schema, kind: str) -> Schema:
    """Leave out what forms don't know; the answer is held to it all the same."""
    known = ("type", "title", "description", "default", *_KNOWN[kind])
    return {key: value for key, value in schema.items() if key in known}


# ---- models and folders ----------------------------------------------------------------------------


def as_messages(messages: str | Sequence[str | Message]) -> tuple[Message, ...]:
    """Give a conversation as messages: a string is what the user says."""
    parts = (messages,) if isinstance(messages, str) else messages
    return tuple(Message("user", Text(part)) if isinstance(part, str) else part for part in parts)


def read_reply(answer: Mapping[str, Any]) -> Reply:
    """Give what the caller's model said."""
    try:
        said = msgspec.convert(answer, _Spoken)
        blocks = said.content if isinstance(said.content, list) else [said.content]
        content = tuple(msgspec.convert(block, Block) for block in blocks)
    except msgspec.ValidationError as error:
        msg = f"the caller's model gave an answer of no use: {error}"
        raise FunctionError(msg, status=422) from error
    return Reply(content, said.model, said.stop_reason)


class _Spoken(Struct):
    content: Any
    model: str = ""
    stop_reason: str = field(default="", name="stopReason")


class _Listed(Struct):
    roots: list[Root]


def read_roots(answer: Mapping[str, Any]) -> list[Root]:
    """Give the folders the caller named."""
    try:
        return msgspec.convert(answer, _Listed).roots
    except msgspec.ValidationError as error:
        msg = f"the caller named its folders in no way that can be read: {error}"
        raise FunctionError(msg, status=422) from error
