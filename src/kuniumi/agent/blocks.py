"""One block of content, understood: what it is, what it carries, how it is told in words.

In: a block as it was sent, which may be anything. Out: a `Block`, with notes on what was odd. What
is not understood keeps its place, as a block that says so.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING, Any

from kuniumi.agent.answer import Block
from kuniumi.agent.json_text import write
from kuniumi.agent.words import clean, leave_out_base64, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_OTHER_NAMES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "audio/mp3": "audio/mpeg",
    "audio/x-mp3": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "application/x-pdf": "application/pdf",
}
_RECOGNISED = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_TEXT_TYPES = ("application/json", "application/xml", "application/yaml", "application/javascript")


def read_block(sent: Any, notes: list[str]) -> Block:
    """Understand one block; whatever it is, a block comes back."""
    if type(sent) is dict:
        kind = sent.get("type")
        if kind == "text" and type(sent.get("text")) is str and len(sent) == 2:
            return Block("text", clean(sent["text"]), raw=sent)
        reader = _READERS.get(kind) if isinstance(kind, str) else None
        if reader is not None:
            return reader(sent, notes)
        return _read_unknown(sent, notes)
    if isinstance(sent, str):
        notes.append("a block is bare text")
        return Block("text", clean(sent), raw=sent)
    notes.append(f"a block is no object but of type {type(sent).__name__}")
    if isinstance(sent, (bool, int, float)):
        return Block("text", write(sent, notes)[1], raw=sent)
    return Block("unknown", raw=sent)


def describe(block: Block) -> str:
    """Tell in words what a model cannot be shown, or what a link leads to."""
    facts = [block.mime_type] if block.mime_type else []
    if block.data:
        facts.append(_count(byte_count(block.data)))
    elif block.size is not None:
        facts.append(_count(block.size))
    what = {"resource": "file", "resource_link": "link"}.get(block.type, block.type)
    named = " ".join(part for part in (block.name, f"<{block.uri}>" if block.uri else "") if part)
    told = ", ".join([named, *facts] if named else facts)
    described = f": {block.description}" if block.description else ""
    return f"[{what}: {told}{described}]" if told or described else f"[{what}]"


def words_of(block: Block) -> str:
    """Give what a block says in words; a text resource has its address above it."""
    if block.type == "text":
        return block.text
    if block.text:
        return f"{describe(block)}\n{block.text}"
    return describe(block)


def byte_count(data: str) -> int:
    """Give how many bytes sound base64 stands for."""
    return len(data) * 3 // 4 - data.count("=", -2)


def read_media_type(sent: Any) -> str:
    """Give a media type in its usual spelling, without parameters."""
    if not isinstance(sent, str):
        return ""
    named = one_line(clean(sent).partition(";")[0].strip().lower(), 100)
    return _OTHER_NAMES.get(named, named)


# ---- one reader a type -----------------------------------------------------------------------------


def _read_text(sent: dict[str, Any], notes: list[str]) -> Block:
    text = sent.get("text")
    if text is None:
        notes.append("a text block has no text")
        text = ""
    elif not isinstance(text, str):
        notes.append(f"the text of a block is of type {type(text).__name__}")
        text = write(text, notes)[1]
    return Block("text", clean(text), audience=_audience(sent), raw=sent)


def _read_media(sent: dict[str, Any], notes: list[str]) -> Block:
    kind = sent["type"]
    sent, raw = _flattened(sent), sent
    declared = read_media_type(_either(sent, "mimeType", "mime_type"))
    data, found = _read_data(sent.get("data"), declared, kind, notes)
    return Block(
        kind,
        data=data,
        mime_type=found,
        uri=_line(sent, "uri", "url"),
        name=_line(sent, "name"),
        audience=_audience(sent),
        raw=raw,
    )


def _flattened(sent: dict[str, Any]) -> dict[str, Any]:
    """Give a block whose data is in a `source`, as models' messages have it, in MCP's form."""
    source = sent.get("source")
    if "data" in sent or not isinstance(source, dict):
        return sent
    named = {"data": source.get("data"), "mimeType": source.get("media_type")}
    return {**named, "url": source.get("url"), **sent}


def _read_link(sent: dict[str, Any], notes: list[str]) -> Block:
    uri = _line(sent, "uri")
    if not uri:
        notes.append("a link has no address")
    size = sent.get("size")
    return Block(
        "resource_link",
        mime_type=read_media_type(_either(sent, "mimeType", "mime_type")),
        uri=uri,
        name=_line(sent, "title") or _line(sent, "name"),
        description=_line(sent, "description"),
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
        audience=_audience(sent),
        raw=sent,
    )


def _read_resource(sent: dict[str, Any], notes: list[str]) -> Block:
    inner = sent.get("resource", sent)  # some leave out the layer between
    if not isinstance(inner, dict):
        inner = {}
    declared = read_media_type(_either(inner, "mimeType", "mime_type"))
    text, data, found = inner.get("text"), "", declared
    if not isinstance(text, str):
        text = ""
        if inner.get("blob"):
            data, found = _read_data(inner["blob"], declared, "resource", notes)
        elif inner.get("blob") is None:
            notes.append("a resource has neither text nor a blob")
    elif inner.get("blob") is not None:
        notes.append("a resource has both text and a blob: its text was taken")
    if data and _is_text(found):
        text, data = _decode_text(data), ""
    return Block(
        "resource",
        text=clean(text),
        data=data,
        mime_type=found,
        uri=_line(inner, "uri"),
        name=_line(inner, "title") or _line(inner, "name"),
        audience=_audience(sent),
        raw=sent,
    )


def _read_unknown(sent: dict[str, Any], notes: list[str]) -> Block:
    """Keep a block of a type that is not known: what can be named or read of it is."""
    kind = sent.get("type")
    kind = one_line(clean(kind), 50) if isinstance(kind, str) and kind else "unknown"
    notes.append(f"a block is of an unknown type: {kind}")
    sent, raw = _flattened(sent), sent
    text = sent.get("text")
    text = clean(text) if isinstance(text, str) else _words_inside(sent.get("content"))
    declared = read_media_type(_either(sent, "mimeType", "mime_type"))
    data = ""
    if isinstance(sent.get("data"), (str, bytes)):
        data, declared = _read_data(sent["data"], declared, kind, notes)
    return Block(
        kind,
        text=text,
        data=data,
        mime_type=declared,
        uri=_line(sent, "uri", "url"),
        name=_line(sent, "name", "title"),
        audience=_audience(sent),
        raw=raw,
    )


def _words_inside(content: Any) -> str:
    """Give the words of blocks inside another, like a result among a model's messages."""
    if isinstance(content, str):
        return clean(content)
    if not isinstance(content, list):
        return ""
    kinds = [each.get("type") if isinstance(each, dict) else None for each in content]
    known = [isinstance(kind, str) and kind in _READERS for kind in kinds]
    blocks = [read_block(each, []) for each, read in zip(content, known, strict=True) if read]
    return "\n".join(words_of(block) for block in blocks if block.for_model)


_READERS: dict[str, Callable[[dict[str, Any], list[str]], Block]] = {
    "text": _read_text,
    "image": _read_media,
    "audio": _read_media,
    "resource_link": _read_link,
    "resource": _read_resource,
}


# ---- what blocks are made of -----------------------------------------------------------------------


def _read_data(sent: Any, declared: str, what: str, notes: list[str]) -> tuple[str, str]:
    """Give sound base64, empty if there is none, and the type that the bytes really have."""
    data = _read_base64(sent)
    if not data:
        notes.append(f"the data of a block ({what}) is no base64")
        return "", declared
    from kuniumi.core.content import recognise  # noqa: PLC0415 - most answers are words

    found = recognise(b64decode(data[:32]))
    if not found and declared in _RECOGNISED:
        notes.append(f"a block says it is {declared}, and does not start like one")
    if not found or found == declared:
        return data, declared or found or "application/octet-stream"
    if declared.partition("/")[0] not in {"image", "audio", ""} and declared != "application/pdf":
        return data, declared  # a type of its own may start like one that is known
    if declared:
        notes.append(f"a block says it is {declared}, and is {found}")
    return data, found


def _read_base64(sent: Any) -> str:
    """Give base64 in its strict form: no line breaks, the usual alphabet, padded."""
    if isinstance(sent, (bytes, bytearray, memoryview)):
        return b64encode(sent).decode()
    if not isinstance(sent, str) or not sent.isascii():
        return ""
    if sent.startswith("data:"):
        sent = sent.partition(",")[2]
    raw = sent.encode()
    if raw.translate(None, _ALPHABET) not in {b"", b"=", b"=="} or len(raw) % 4:
        raw = b"".join(raw.split()).translate(bytes.maketrans(b"-_", b"+/"))
        raw = raw.rstrip(b"=")
        raw += b"=" * (-len(raw) % 4)
        if raw.translate(None, _ALPHABET) not in {b"", b"=", b"=="}:
            return ""
    padding = raw.translate(None, _ALPHABET)
    return raw.decode() if raw.endswith(padding) else ""


def _is_text(media_type: str) -> bool:
    return (
        media_type.startswith("text/")
        or media_type in _TEXT_TYPES
        or media_type.endswith(("+json", "+xml"))
    )


def _decode_text(data: str) -> str:
    try:
        return b64decode(data).decode("utf-8-sig", "replace")
    except Base64Error:
        return ""


def _audience(sent: dict[str, Any]) -> tuple[str, ...]:
    """Give whom the block is for; roles that do not exist say nothing."""
    annotations = sent.get("annotations")
    if not isinstance(annotations, dict):
        return ()
    named = annotations.get("audience")
    named = [named] if isinstance(named, str) else named
    if not isinstance(named, (list, tuple)):
        return ()
    return tuple(role for role in ("user", "assistant") if role in named)


def _either(sent: dict[str, Any], name: str, other: str) -> Any:
    found = sent.get(name)
    return sent.get(other) if found is None else found


def _line(sent: dict[str, Any], *names: str) -> str:
    """Give the first of these that is text, on one line and free of encoded data."""
    for name in names:
        found = sent.get(name)
        if isinstance(found, str) and found:
            return one_line(leave_out_base64(clean(found)), 2000 if name in {"uri", "url"} else 300)
    return ""


def _count(size: int) -> str:
    return "1 byte" if size == 1 else f"{size:,} bytes"
