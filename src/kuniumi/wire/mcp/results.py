"""The results of MCP's requests, in the words of each revision.

In: envelopes, contents, conversations. Out: the bytes of a result. What a revision does not know is
left out or told in a form that it does know; nothing is dropped.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, structs

from kuniumi.core.codec import dumps
from kuniumi.core.content import (
    Annotations,
    Audio,
    Block,
    Contents,
    EmbeddedResource,
    Image,
    ResourceLink,
    Text,
    read_blocks,
)
from kuniumi.core.questions import Form, Message, Roots, Sampling, Visit, what_is_asked
from kuniumi.errors import CannotAskError
from kuniumi.wire.mcp.messages import SERVER_INFO
from kuniumi.wire.tool_result import tool_result_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kuniumi.core.call import Envelope
    from kuniumi.core.questions import Question
    from kuniumi.core.registry import About
    from kuniumi.wire.mcp.revisions import Revision

_messages = msgspec.json.Decoder(list[Message])
_contents = msgspec.json.Decoder(list[Contents])


def implementation(about: About, revision: Revision) -> dict[str, Any]:
    """Say who serves."""
    said: dict[str, Any] = {"name": about.name, "version": about.version}
    if revision.structured and about.title:
        said["title"] = about.title
    if revision.icons:
        said |= {"description": about.description} if about.description else {}
        said |= {"websiteUrl": about.website} if about.website else {}
        said |= {"icons": about.icons} if about.icons else {}
    return said


class Stamp(Struct, frozen=True):
    """What stands in every result of a revision, and of this app."""

    start: bytes  # `"resultType":"complete",`
    end: bytes  # `,"_meta":{…}`

    def around(self, fields: bytes) -> bytes:
        """Write a result of these fields."""
        return b"{%b%b%b}" % (self.start, fields, self.end if fields else self.end[1:])

    def beside(self, meta: bytes) -> Stamp:
        """Give the stamp of a result that has metadata of its own."""
        end = b"," + self.end[len(b',"_meta":{') :] if self.end else b"}"
        return Stamp(self.start, b',"_meta":%b%b' % (meta[:-1], end))


def stamp(about: About, revision: Revision) -> Stamp:
    """Make the stamp of an app's results."""
    if not revision.stateless:
        return Stamp(b"", b"")
    meta = dumps({SERVER_INFO: implementation(about, revision)})
    return Stamp(b'"resultType":"complete",', b',"_meta":' + meta)


def write_tool_result(envelope: Envelope, revision: Revision, stamped: Stamp) -> bytes:
    """Write how a call of a tool ended."""
    content = envelope.content
    if content and (not revision.structured or (not revision.icons and b'"icons"' in content)):
        content = dumps([told(block, revision) for block in read_blocks(content)])
    fields = tool_result_fields(envelope, content, structured=revision.structured)
    return (stamped.beside(envelope.meta) if envelope.meta else stamped).around(fields)


def write_prompt(body: bytes, description: str, revision: Revision, stamped: Stamp) -> bytes:
    """Write the beginning of a conversation."""
    if not revision.structured:
        known = [
            structs.replace(message, content=told(message.content, revision))
            for message in _messages.decode(body)
        ]
        body = dumps(known)
    about = b'"description":%b,' % dumps(description) if description else b""
    return stamped.around(b'%b"messages":%b' % (about, body))


def write_contents(
    body: bytes, uri: str, caching: bytes, revision: Revision, stamped: Stamp
) -> bytes:
    """Write what is at an address."""
    contents = [
        structs.replace(part, uri=part.uri or uri, meta=part.meta if revision.structured else None)
        for part in _contents.decode(body)
    ]
    return stamped.around(b'"contents":%b%b' % (dumps(contents), caching))


def write_caching(revision: Revision, seconds: float, *, private: bool = False) -> bytes:
    """Write how long a result may be kept, and by whom; only the latest revision knows."""
    if not revision.stateless:
        return b""
    scope = b"private" if private else b"public"
    return b',"ttlMs":%d,"cacheScope":"%b"' % (round(seconds * 1000), scope)


def told(block: Block, revision: Revision) -> Block:
    """Give a block in a form that the revision knows."""
    if not revision.structured:
        block = structs.replace(
            block, meta=None, annotations=known_annotations(block.annotations, revision)
        )
        if isinstance(block, EmbeddedResource) and block.resource.meta:
            block = structs.replace(block, resource=structs.replace(block.resource, meta=None))
    if isinstance(block, ResourceLink) and block.icons and not revision.icons:
        block = structs.replace(block, icons=())
    if block.__struct_config__.tag in revision.blocks:
        return block
    if isinstance(block, ResourceLink):
        return _in_words(block)
    assert isinstance(block, Audio)  # noqa: S101 - the only other kind that was ever unknown
    uri = _data_uri(block.data, block.mime_type)
    return EmbeddedResource(
        Contents(uri, blob=block.data, mime_type=block.mime_type), block.annotations
    )


def told_to_model(block: Block, revision: Revision) -> Block:
    """Give a block in a form that a message to a client's model may have: none has resources."""
    if isinstance(block, Audio) and "audio" not in revision.blocks:
        return Text(_data_uri(block.data, block.mime_type))
    block = told(block, revision)
    if isinstance(block, ResourceLink):
        return _in_words(block)
    if not isinstance(block, EmbeddedResource):
        return block
    found = block.resource
    if found.text is not None:
        return Text(found.text, block.annotations)
    data = found.blob or b""
    if found.mime_type.startswith("image/"):
        return Image(data, found.mime_type, block.annotations)
    return Text(_data_uri(data, found.mime_type), block.annotations)


def known_annotations(annotations: Annotations | None, revision: Revision) -> Annotations | None:
    """Give annotations as far as the revision knows them."""
    if annotations is None or revision.structured:
        return annotations
    return structs.replace(annotations, last_modified=None)


def _in_words(link: ResourceLink) -> Text:
    said = f"{link.title or link.name}: {link.uri}"
    said += f" ({link.description})" if link.description else ""
    return Text(said, link.annotations)


def _data_uri(data: bytes, mime_type: str) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(data).decode()}"


# ---- questions -------------------------------------------------------------------------------------


def question_method(question: Question) -> str:
    """Name the request that puts a question to a client."""
    if isinstance(question, Sampling):
        return "sampling/createMessage"
    return "roots/list" if isinstance(question, Roots) else "elicitation/create"


def question_params(question: Question, revision: Revision, number: str = "") -> dict[str, Any]:
    """Write the parameters of that request."""
    if isinstance(question, Form):
        mode = {"mode": "form"} if revision.visits else {}
        schema = question.schema if revision.choices else _known_form(question)
        return {**mode, "message": question.message, "requestedSchema": schema}
    if isinstance(question, Visit):
        named = {} if revision.stateless else {"elicitationId": number}
        return {"mode": "url", **named, "message": question.message, "url": question.url}
    if isinstance(question, Sampling):
        return _sampling(question, revision)
    return {}


def _known_form(question: Form) -> dict[str, Any]:
    """Give a form without what the revisions before 2025-11-25 don't know."""
    fields = question.schema.get("properties", {})
    several = {name for name, part in fields.items() if part.get("type") == "array"}
    if several & set(question.schema.get("required", ())):
        raise CannotAskError(what_is_asked(question), "a client that knows lists of choices")
    known = {name: _known_field(part) for name, part in fields.items() if name not in several}
    return {**question.schema, "properties": known}


def _known_field(field: Mapping[str, Any]) -> dict[str, Any]:
    only = {key: value for key, value in field.items() if key not in {"default", "oneOf"}}
    if field.get("type") == "boolean" and "default" in field:
        only["default"] = field["default"]
    if "oneOf" in field:
        only["enum"] = [choice["const"] for choice in field["oneOf"]]
        only["enumNames"] = [choice.get("title", choice["const"]) for choice in field["oneOf"]]
    return only


def _sampling(question: Sampling, revision: Revision) -> dict[str, Any]:
    optional = {
        "systemPrompt": question.system,
        "temperature": question.temperature,
        "stopSequences": question.stop,
        "modelPreferences": {"hints": [{"name": name} for name in question.models]}
        if question.models
        else None,
    }
    return {
        "messages": [
            structs.replace(message, content=told_to_model(message.content, revision))
            for message in question.messages
        ],
        "maxTokens": question.max_tokens,
        **{name: value for name, value in optional.items() if value or value == 0},
    }


def write_input_required(
    questions: Mapping[str, Question], state: str, revision: Revision, stamped: Stamp
) -> bytes:
    """Write that answers are wanted before there can be a result."""
    requests = {
        key: {"method": question_method(question), "params": question_params(question, revision)}
        for key, question in questions.items()
    }
    fields = b'"inputRequests":%b,"requestState":%b' % (dumps(requests), dumps(state))
    return b'{"resultType":"input_required",%b%b}' % (fields, stamped.end)
