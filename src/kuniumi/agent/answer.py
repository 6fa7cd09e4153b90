"""What a tool answered: frozen data that every part of the agent's side agrees on.

In: what `read` found out. Out: an `Answer`, its plain form, a typed value, and messages for any
model. It must not know where an answer came from; how a provider wants it is told in `providers/`,
which load when they are asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kuniumi.agent.checking import Problem

T = TypeVar("T")

Kind = Literal["json", "text", "media", "mixed", "error", "empty", "input_required"]
KINDS: tuple[Kind, ...] = ("json", "text", "media", "mixed", "error", "empty", "input_required")


class Failure(Struct, frozen=True):
    """What an error says of itself, whether it was declared or only looks like one.

    `code` is the innermost MCP code, the cause; `outer_code` the outermost, where that is another.
    `tool` is the tool that the message names; `data` what came with the error.
    """

    message: str
    code: int | None = None
    outer_code: int | None = None
    tool: str | None = None
    data: Any = None


class Block(Struct, frozen=True):
    """One block of content as it was understood; `raw` is the block as it was sent.

    `data` is sound base64, or empty: what could not be decoded is only in `raw`.
    """

    type: str
    text: str = ""
    data: str = ""
    mime_type: str = ""
    uri: str = ""
    name: str = ""
    description: str = ""
    size: int | None = None
    audience: tuple[str, ...] = ()
    raw: Any = None

    @property
    def for_model(self) -> bool:
        """Whether a model may see it: some blocks are meant for the person alone."""
        return not self.audience or "assistant" in self.audience


class Answer(Struct, frozen=True, kw_only=True):
    """A tool's answer, read: what kind it is, what it is worth, what a model should see of it.

    `text` says each fact once. `parts` is the same with the pictures and sounds in their places.
    `blocks` are all that was sent, in order, and `raw` is the answer itself.
    """

    kind: Kind
    declared_error: bool = False
    suspected_error: bool = False
    error: Failure | None = None
    value: Any = None
    has_value: bool = False
    text: str = ""
    parts: tuple[str | Block, ...] = ()
    blocks: tuple[Block, ...] = ()
    warnings: tuple[str, ...] = ()
    input_requests: Mapping[str, Any] = {}
    request_state: str | None = None
    meta: Mapping[str, Any] = {}
    raw: Any = None

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> Any:
        """Give the plain form: the JSON itself, or an object whose `type` says what it is."""
        if self.error is not None and (self.declared_error or not self.has_value):
            return {
                "type": "mcp_error",
                "error": self.error.message,
                "code": self.error.code,
                "originalText": self.text,
            }
        if self.has_value and self.kind == "json":
            return self.value
        if self.kind == "input_required":
            return {
                "type": "input_required",
                "inputRequests": dict(self.input_requests),
                "requestState": self.request_state,
            }
        if self.kind in {"media", "mixed"}:
            found = {"type": self.kind, "text": self.text, "media": self._list_media()}
            return {**found, "value": self.value} if self.has_value else found
        return {"type": "text", "text": self.text}

    def check(self, schema: Any) -> tuple[Problem, ...]:
        """Hold the value against an output schema; give what is wrong, nothing if it fits.

        Work is bounded, whatever the schema; no `$ref` is ever fetched.
        """
        from kuniumi.agent.checking import NO_VALUE, check  # noqa: PLC0415 - few answers need it

        return check(self.value, schema) if self.has_value else (NO_VALUE,)

    def as_type(self, expected: type[T]) -> T:
        """Give the value as this type; `AnswerError` says why where it is none.

        The envelopes `{"result": …}` and `{"result0": …, "result1": …}` are opened where the type
        is that of what they hold.
        """
        from kuniumi.agent.typed import as_type  # noqa: PLC0415 - few answers need it

        value: T = as_type(self, expected)
        return value

    def for_openai(
        self,
        call_id: str,
        *,
        max_chars: int | None = None,
        media: bool = True,
        neutralise: bool = False,
    ) -> list[dict[str, Any]]:
        """Give the input items for OpenAI's Responses API."""
        from kuniumi.agent.providers import openai  # noqa: PLC0415 - one provider an agent

        how = openai.Rendering(max_chars, media, neutralise)
        return openai.respond([(call_id, "", self)], how)

    def for_openai_chat(
        self,
        call_id: str,
        *,
        max_chars: int | None = None,
        media: bool = True,
        neutralise: bool = False,
    ) -> list[dict[str, Any]]:
        """Give the messages for OpenAI's Chat Completions API, and those that speak like it."""
        from kuniumi.agent.providers import openai  # noqa: PLC0415

        how = openai.Rendering(max_chars, media, neutralise)
        return openai.respond_chat([(call_id, "", self)], how)

    def for_anthropic(
        self,
        tool_use_id: str,
        *,
        max_chars: int | None = None,
        media: bool = True,
        neutralise: bool = False,
    ) -> list[dict[str, Any]]:
        """Give the message for Anthropic's Messages API."""
        from kuniumi.agent.providers import anthropic  # noqa: PLC0415

        how = anthropic.Rendering(max_chars, media, neutralise)
        return anthropic.respond([(tool_use_id, "", self)], how)

    def for_gemini(
        self,
        call_id: str | None = None,
        name: str = "",
        *,
        max_chars: int | None = None,
        media: bool = True,
        neutralise: bool = False,
    ) -> list[dict[str, Any]]:
        """Give the content for the Gemini API, which knows a call by the function's name.

        Models before Gemini 3 take no pictures here: give them `media=False`.
        """
        from kuniumi.agent.providers import gemini  # noqa: PLC0415

        how = gemini.Rendering(max_chars, media, neutralise)
        return gemini.respond([(call_id, name, self)], how)

    def _list_media(self) -> list[dict[str, Any]]:
        from kuniumi.agent.blocks import byte_count  # noqa: PLC0415 - blocks are made of this

        return [
            {"type": part.type, "mimeType": part.mime_type, "bytes": byte_count(part.data)}
            for part in self.parts
            if isinstance(part, Block)
        ]
