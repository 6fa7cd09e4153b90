"""Reading a tool's answer, whatever it is and whoever sent it.

In: a tool result as a dict or an SDK's object, a JSON-RPC message, an HTTP body or response, text,
an exception, nothing. Out: an `Answer`. It is pure, and raises on nothing that was sent; what was
odd is in the answer's warnings.

What is not obvious:

- A result that was wrapped once more, as the text of another, is unwrapped. What the inner one
  declared is then only a suspicion: the server that was asked did not declare it. An error of
  JSON-RPC in a text stays what it is: data that looks like an error.
- A tool result dumped from an SDK's object with all its defaults has `structuredContent: null`
  beside `_meta: null`. No server sends the latter, so the former is then no value.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from kuniumi.agent.answer import Answer, Block
from kuniumi.agent.blocks import read_block
from kuniumi.agent.conclude import conclude, conclude_error, conclude_failed
from kuniumi.agent.failures import explain, explain_value, is_failure, read_code
from kuniumi.agent.json_text import ABSENT, parse, write
from kuniumi.agent.plain import fields_of, is_plain, make_plain
from kuniumi.agent.words import clean, leave_out_base64

_MAX_WRAPPINGS = 5
_BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})
_NEEDED: dict[str, frozenset[str]] = {
    "text": frozenset({"text"}),
    "image": frozenset({"data", "mimeType"}),
    "audio": frozenset({"data", "mimeType"}),
    "resource": frozenset({"resource"}),
    "resource_link": frozenset({"uri", "name"}),
}
_BLOCK_KEYS = frozenset(
    [
        *("type", "text", "data", "mimeType", "annotations", "_meta", "meta", "resource"),
        *("uri", "name", "title", "description", "size", "icons"),
    ]
)
_BARE_KEYS = frozenset({"content", "_meta", "meta", "resultType", "result_type"})
_STREAM = re.compile(r"\ufeff?(?:data|event|id|retry)?:")
_MARKS = ("isError", "structuredContent", "is_error", "structured_content")
_RESULT_KEYS = frozenset(
    [
        "content",
        "structuredContent",
        "isError",
        "resultType",
        "_meta",
        "structured_content",
        "is_error",
        "result_type",
        "meta",
        "inputRequests",
        "requestState",
        "input_requests",
        "request_state",
        "data",
        "ttlMs",
        "cacheScope",
    ]
)
_FALSE_WORDS = frozenset({"", "false", "no", "0", "null", "none", "off"})


def read(raw: Any) -> Answer:
    """Read any answer of a tool."""
    notes: list[str] = []
    try:
        return _read(raw, raw, notes, 0)
    except Exception as error:  # noqa: BLE001 - an object may run code of its own, and that may fail
        notes.append(
            f"an object of type {type(raw).__name__} cannot be read: {type(error).__name__}"
        )
        text = f"[an object of type {type(raw).__name__} that cannot be read]"
        return Answer(kind="text", text=text, parts=(text,), warnings=tuple(notes), raw=raw)


def _read(sent: Any, raw: Any, notes: list[str], wrapped: int) -> Answer:
    """Tell the kinds of things apart that may have been sent."""
    if isinstance(sent, dict):
        return _read_object(sent, raw, notes, wrapped)
    if isinstance(sent, str):
        return _read_string(sent, raw, notes, wrapped)
    if sent is None:
        return Answer(kind="empty", raw=raw)
    if isinstance(sent, (bytes, bytearray, memoryview)):
        return _read_body(bytes(sent), raw, notes, wrapped)
    if isinstance(sent, (list, tuple)):
        return _read_list(sent, raw, notes, wrapped)
    if isinstance(sent, (bool, int, float)):
        return conclude(raw, notes, (), sent)
    if isinstance(sent, BaseException):
        return _read_exception(sent, raw, notes)
    if isinstance(getattr(sent, "status_code", None), int):
        return _read_response(sent, raw, notes)
    return _read_foreign(sent, raw, notes, wrapped)


# ---- the ways in -----------------------------------------------------------------------------------


def _read_object(sent: dict[str, Any], raw: Any, notes: list[str], wrapped: int) -> Answer:
    if "jsonrpc" in sent:
        return _read_message(sent, raw, notes, wrapped)
    if _is_result(sent):
        return _read_result(sent, raw, notes, wrapped)
    if _is_block(sent):
        return _read_content([sent], ABSENT, raw, notes, wrapped)
    if sent.keys() <= {"error", "id", "result"} and is_failure(sent.get("error")):
        return conclude_error(raw, notes, sent, explain_value(sent))
    inner = sent.get("result")
    if isinstance(inner, dict) and sent.keys() <= {"result", "id", "error"} and _is_result(inner):
        return _read(inner, raw, notes, wrapped + 1)
    if sent.keys() == {"toolResult"}:  # as the first revisions of MCP had it
        return conclude(raw, notes, (), sent["toolResult"])
    return conclude(raw, notes, (), sent)


def _read_message(sent: dict[str, Any], raw: Any, notes: list[str], wrapped: int) -> Answer:
    """Read a JSON-RPC message: what it carries is the answer."""
    error = sent.get("error")
    if error is not None and (error or "result" not in sent):
        if not isinstance(error, dict):
            notes.append("a JSON-RPC error is no object")
            error = {"message": error if isinstance(error, str) else write(error, notes)[1]}
        failure = explain_value({"error": error})
        code = read_code(error.get("code"))
        if failure.code is None and code is not None and not 100 <= code <= 599:
            failure = replace(failure, code=code)
        return conclude_error(raw, notes, error, failure)
    if "result" in sent:
        inner = sent["result"]
        if isinstance(inner, dict) and wrapped < _MAX_WRAPPINGS:
            return _read_object(inner, raw, notes, wrapped + 1)
        return conclude(raw, notes, (), inner)
    notes.append("a JSON-RPC message is no response")
    return conclude(raw, notes, (), sent)


def _read_string(sent: str, raw: Any, notes: list[str], wrapped: int) -> Answer:
    """Read text, which may be a whole message or result that nobody has parsed yet."""
    value = parse(sent)
    if isinstance(value, dict) and _is_whole(value):
        return _read_object(value, raw, notes, wrapped + 1)
    if isinstance(value, list) and (answer := _only_answer(value)) is not None:
        return _read_message(answer, raw, notes, wrapped + 1)
    if value is ABSENT and (told := _last_event(sent)) is not None:
        return _read(told, raw, notes, wrapped + 1)
    return _read_blocks((Block("text", clean(sent), raw=sent),), ABSENT, raw, notes, wrapped)


def _read_body(sent: bytes, raw: Any, notes: list[str], wrapped: int) -> Answer:
    """Read the body of an HTTP response: JSON, events, text, or the bytes of a file."""
    encoding = "utf-16" if sent[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        text = sent.decode(encoding)
    except UnicodeDecodeError:
        from kuniumi.core.content import recognise  # noqa: PLC0415 - most bodies are text

        if found := recognise(sent) or (b"\0" in sent and "application/octet-stream"):
            block = read_block({"type": found.partition("/")[0], "data": sent}, notes)
            if found.startswith("application/"):
                block = replace(block, type="resource")
            notes.clear()  # a file is no block of unknown type
            return _read_blocks((replace(block, raw=sent),), ABSENT, raw, notes, wrapped)
        notes.append("a body is not UTF-8: what could not be decoded was replaced")
        text = sent.decode(encoding, "replace")
    value = parse(text)
    if value is ABSENT:
        value = _last_event(text)
        if value is None:
            block = Block("text", clean(text), raw=text)
            return _read_blocks((block,), ABSENT, raw, notes, wrapped)
    return _read(value, raw, notes, wrapped)


def _last_event(sent: str) -> Any:
    """Give what a stream of events came to; None if it is no such stream.

    It is the last response of JSON-RPC, or what an event says that is called `result` or `error`,
    as Kuniumi's own streams end.
    """
    if not _STREAM.match(sent) or "data:" not in sent:
        return None
    from kuniumi.wire.sse import EventReader  # noqa: PLC0415 - most texts are none

    try:
        events = EventReader().feed(sent.encode(errors="replace") + b"\n\n")
    except ValueError:
        return None
    found = None
    for event in events:
        message = parse(event.data.decode(errors="replace"))
        if not isinstance(message, dict):
            continue
        if "jsonrpc" in message:
            answers = "result" in message or "error" in message
            found = message if answers or found is None else found
        elif event.name in {b"result", b"error"}:
            found = message
    return found


def _read_list(sent: Any, raw: Any, notes: list[str], wrapped: int) -> Answer:
    """Read a list: blocks, a batch of one answer, the pair that some SDKs give, or just data."""
    if isinstance(sent, tuple) and len(sent) == 2 and _are_blocks(sent[0]):
        structured = ABSENT if sent[1] is None else make_plain(sent[1], notes)
        return _read_content(sent[0], structured, raw, notes, wrapped)
    if _are_blocks(sent):
        return _read_content(sent, ABSENT, raw, notes, wrapped)
    answer = _only_answer(sent)
    if answer is not None:
        return _read_message(answer, raw, notes, wrapped)
    return conclude(raw, notes, (), list(sent))


def _only_answer(sent: Any) -> dict[str, Any] | None:
    """Give the one response in a batch of messages; None if it is none, or has several."""
    if not all(isinstance(each, dict) and "jsonrpc" in each for each in sent):
        return None
    answers: list[dict[str, Any]] = [each for each in sent if "result" in each or "error" in each]
    return answers[0] if len(answers) == 1 else None


def _read_exception(sent: BaseException, raw: Any, notes: list[str]) -> Answer:
    """Read what a client raised: it stands for an answer that says as much."""
    error = getattr(sent, "error", None)
    if error is not None and not isinstance(error, (str, BaseException)):
        error = make_plain(error, notes)
    if isinstance(error, dict) and "message" in error:
        return conclude_error(raw, notes, error, explain_value({"error": error}))
    text = clean(str(sent)) or type(sent).__name__
    return conclude_error(raw, notes, text, explain(text))


def _read_response(sent: Any, raw: Any, notes: list[str]) -> Answer:
    """Read an HTTP client's response, whose status declares an error, too."""
    body = sent.content
    answer = _read_body(bytes(body) if body else b"", raw, notes, 0)
    if sent.status_code < 400 or answer.declared_error:
        return answer
    text = answer.text or f"HTTP {sent.status_code}"
    failure = answer.error or (
        explain_value(answer.value) if isinstance(answer.value, dict) else explain(text)
    )
    if not failure.message:
        failure = replace(failure, message=text)
    return replace(
        answer,
        kind="error",
        declared_error=True,
        suspected_error=False,
        error=failure,
        text=text,
        parts=answer.parts or (text,),
    )


def _read_foreign(sent: Any, raw: Any, notes: list[str], wrapped: int) -> Answer:
    """Read an object of some SDK by its fields."""
    if _is_own_result(sent):
        found = {"content": list(sent.content)}
        if sent.value is not None or not sent.content:
            found["structuredContent"] = sent.value
        return _read_result(make_plain(found, notes, keep_bytes=True), raw, notes, wrapped)
    if getattr(type(sent), "__pydantic_root_model__", False):
        return _read(sent.root, raw, notes, wrapped)
    fields = fields_of(sent)
    if fields is None:
        notes.append(f"an answer is an object of type {type(sent).__name__}")
        block = Block("text", str(make_plain(sent, [])), raw=sent)
        return _read_blocks((block,), ABSENT, raw, notes, wrapped)
    if fields.get("type") in _BLOCK_TYPES:
        return _read_content([sent], ABSENT, raw, notes, wrapped)
    content = fields.pop("content", ABSENT)
    plain = {
        name: item if is_plain(item) else make_plain(item, notes) for name, item in fields.items()
    }
    if content is not ABSENT:
        plain["content"] = make_plain(
            content, notes, keep_bytes=True
        )  # a block's data may be bytes
    _drop_what_nobody_set(plain)
    if content is not ABSENT and not _is_result(plain):
        plain["content"] = make_plain(content, notes)
    return _read_object(plain, raw, notes, wrapped)


def _is_own_result(sent: Any) -> bool:
    return type(sent).__name__ == "ToolResult" and type(sent).__module__ == "kuniumi.core.content"


def _drop_what_nobody_set(plain: dict[str, Any]) -> None:
    """Drop a structured value that is None, unless null may be one in the object's revision."""
    for name in ("structuredContent", "structured_content"):
        if plain.get(name, ABSENT) is None and "resultType" not in plain:
            del plain[name]


# ---- what was sent is a result ---------------------------------------------------------------------


def _is_whole(value: dict[str, Any]) -> bool:
    """Whether JSON in a text is a message or a result as it came off the wire."""
    if value.get("jsonrpc") == "2.0":
        return "result" in value or isinstance(value.get("error"), dict)
    return (
        isinstance(value.get("content"), list)
        and value.keys() <= _RESULT_KEYS
        and (_are_blocks(value["content"]) or "isError" in value)
    )


def _is_result(sent: dict[str, Any]) -> bool:
    content = sent.get("content", ABSENT)
    if isinstance(content, (list, tuple)):
        return (
            sent.keys() <= _RESULT_KEYS
            or any(map(sent.__contains__, _MARKS))
            or _are_blocks(content)
        )
    if any(map(sent.__contains__, _MARKS)):
        return True
    if content is not ABSENT and sent.keys() <= _BARE_KEYS:  # nothing else could be meant
        return content is None or isinstance(content, str) or _is_block(content)
    kind = _either(sent, "resultType", "result_type")
    if not isinstance(kind, str):
        return False
    return kind == "input_required" or (kind == "complete" and sent.keys() <= _RESULT_KEYS)


def _is_block(sent: Any) -> bool:
    """Whether an object is one block, whole, and nothing beside."""
    if not isinstance(sent, dict):
        return False
    kind = sent.get("type")
    needed = _NEEDED.get(kind) if isinstance(kind, str) else None
    if needed is None or not needed <= sent.keys() <= _BLOCK_KEYS:
        return False
    if kind == "resource":
        return isinstance(sent["resource"], dict) and "uri" in sent["resource"]
    return all(isinstance(sent[key], (str, bytes)) for key in needed)


def _are_blocks(content: Any) -> bool:
    """Whether a list holds blocks of types that are known, and nothing else."""
    if not isinstance(content, (list, tuple)) or not content:
        return False
    for each in content:
        kind: Any = each.get("type") if isinstance(each, dict) else getattr(each, "type", None)
        if not isinstance(kind, str) or kind not in _BLOCK_TYPES:
            return type(each).__module__ == "kuniumi.core.content"
    return True


def _read_result(sent: dict[str, Any], raw: Any, notes: list[str], wrapped: int) -> Answer:
    get = sent.get
    meta = get("_meta")
    if meta is None:
        meta = get("meta")
    structured = get("structuredContent", ABSENT)
    if structured is ABSENT:
        structured = get("structured_content", ABSENT)
    if structured is None and (get("_meta", ABSENT) is None or get("meta", ABSENT) is None):
        structured = ABSENT  # an SDK's object, dumped with its defaults
    kind = _either(sent, "resultType", "result_type")
    declared = _read_flag(_either(sent, "isError", "is_error"), notes)
    content = get("content", ABSENT)
    if content is ABSENT and structured is ABSENT and kind != "input_required":
        others = {key: item for key, item in sent.items() if key not in _RESULT_KEYS}
        if others:  # it is data, that says of itself whether it went well
            structured = sent
    if kind == "input_required":
        answer = _ask(sent, content, raw, notes)
    elif declared:
        blocks = _list_blocks(content, notes)
        answer = conclude_failed(raw, notes, blocks, structured)
    else:
        answer = _read_content(content, structured, raw, notes, wrapped)
        if kind is not None and kind != "complete":
            note = f"the result is of an unknown type: {clean(str(kind))[:50]}"
            answer = replace(answer, warnings=(*answer.warnings, note))
    return replace(answer, meta=meta) if isinstance(meta, dict) and meta else answer


def _ask(sent: dict[str, Any], content: Any, raw: Any, notes: list[str]) -> Answer:
    """Read a result that is a question: the call goes on once it is answered."""
    requests = _either(sent, "inputRequests", "input_requests")
    if not isinstance(requests, dict):
        if requests is not None:
            notes.append("inputRequests is no object")
        requests = {}
    state = _either(sent, "requestState", "request_state")
    questions = [_question(request) for request in requests.values()]
    text = "\n".join(["[the tool needs an answer before it can go on]", *filter(None, questions)])
    text = leave_out_base64(clean(text))
    return Answer(
        kind="input_required",
        text=text,
        parts=(text,),
        blocks=_list_blocks(content, notes),
        input_requests=requests,
        request_state=state if isinstance(state, str) else None,
        warnings=tuple(notes),
        raw=raw,
    )


def _question(request: Any) -> str:
    params = request.get("params") if isinstance(request, dict) else None
    message = params.get("message") if isinstance(params, dict) else None
    return message if isinstance(message, str) else ""


def _read_flag(flag: Any, notes: list[str]) -> bool:
    if flag is None or isinstance(flag, bool):
        return bool(flag)
    notes.append(f"isError is no boolean but of type {type(flag).__name__}")
    return flag.strip().lower() not in _FALSE_WORDS if isinstance(flag, str) else bool(flag)


def _list_blocks(content: Any, notes: list[str]) -> tuple[Block, ...]:
    if content is ABSENT or content is None:
        return ()
    if isinstance(content, (dict, str)):
        notes.append("content is no list")
        content = [content]
    elif not isinstance(content, (list, tuple)):
        notes.append(f"content is no list but of type {type(content).__name__}")
        content = [content]
    return tuple([_read_one(each, notes) for each in content])


def _read_one(sent: Any, notes: list[str]) -> Block:
    if sent is None or isinstance(sent, (dict, str, bool, int, float, list, tuple, bytes)):
        return read_block(sent, notes)
    return replace(read_block(make_plain(sent, notes, keep_bytes=True), notes), raw=sent)


def _read_content(
    content: Any, structured: Any, raw: Any, notes: list[str], wrapped: int
) -> Answer:
    return _read_blocks(_list_blocks(content, notes), structured, raw, notes, wrapped)


def _read_blocks(
    blocks: tuple[Block, ...], structured: Any, raw: Any, notes: list[str], wrapped: int
) -> Answer:
    """Read blocks that nobody declared an error; JSON in the only text is a value."""
    if structured is not ABSENT:
        return conclude(raw, notes, blocks, structured)
    texts = [block for block in blocks if block.type == "text" and block.text]
    value = parse(texts[0].text) if len(texts) == 1 else ABSENT
    if value is ABSENT:
        return conclude(raw, notes, blocks, ABSENT)
    whole = len(blocks) == 1 and isinstance(value, dict) and _is_whole(value)
    if whole and not value.get("error"):
        return _unwrap(value, blocks, raw, notes, wrapped)
    return conclude(raw, notes, blocks, value, in_text=True)


def _unwrap(
    value: dict[str, Any], blocks: tuple[Block, ...], raw: Any, notes: list[str], wrapped: int
) -> Answer:
    """Read the result that is the text of another."""
    if wrapped >= _MAX_WRAPPINGS:
        return conclude(raw, notes, blocks, value, in_text=True)
    if not any(note.startswith("a result is wrapped") for note in notes):
        notes.append("a result is wrapped in the text of another")
    inner = _read_object(value, raw, notes, wrapped + 1)
    kind = inner.kind
    if inner.declared_error:
        kind = "json" if inner.has_value else "text"
    return replace(
        inner,
        kind=kind,
        declared_error=False,
        suspected_error=inner.declared_error or inner.suspected_error,
        blocks=blocks,
    )


def _either(sent: dict[str, Any], name: str, other: str) -> Any:
    found = sent.get(name)
    return sent.get(other) if found is None else found
