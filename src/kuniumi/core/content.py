"""Content blocks: what a function may say to people and models beside, or instead of, its data.

In: text, bytes, links. Out: frozen data that encodes itself in the one form all tool protocols
share. It must not know which of them is asked, nor in which revision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin

from msgspec import Meta, MsgspecError, Struct, field, json
from msgspec.structs import force_setattr

from kuniumi.core.types import is_union, unwrap

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
)


class Annotations(Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """Whom a block is for, and how much it matters."""

    audience: tuple[Literal["user", "assistant"], ...] = ()
    priority: Annotated[float, Meta(ge=0, le=1)] | None = None
    last_modified: str | None = None  # ISO 8601


class Text(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="text"):
    """Words, as they stand."""

    text: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Image(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="image"):
    """A picture: its bytes, and their type, which is read off them where it is not given."""

    data: bytes
    mime_type: str = field(default="", name="mimeType")
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        """Name the type of the bytes."""
        _name_type(self, "image/png")


class Audio(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="audio"):
    """A sound: its bytes, and their type, which is read off them where it is not given."""

    data: bytes
    mime_type: str = field(default="", name="mimeType")
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        """Name the type of the bytes."""
        _name_type(self, "audio/wav")


class Icon(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A small picture that stands for something in a list."""

    src: str
    mime_type: str = ""
    sizes: tuple[str, ...] = ()
    theme: Literal["", "light", "dark"] = ""


class ResourceLink(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="resource_link"):
    """Where to read more: the address of a resource, of this server or of the web."""

    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = field(default="", name="mimeType")
    size: int | None = None
    icons: tuple[Icon, ...] = ()
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class Contents(Struct, frozen=True, omit_defaults=True):
    """What is in a resource: text, or bytes. Without an address it has that which was asked for."""

    uri: str = ""
    text: str | None = None
    blob: bytes | None = None
    mime_type: str = field(default="", name="mimeType")
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        """Hold on to one of the two."""
        if (self.text is None) == (self.blob is None):
            msg = "the contents of a resource are either text or blob: give one of them"
            raise ValueError(msg)


class EmbeddedResource(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="resource"):
    """A resource right here in the answer."""

    resource: Contents
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


Block = Text | Image | Audio | ResourceLink | EmbeddedResource
BLOCKS: tuple[type[Struct], ...] = (Text, Image, Audio, ResourceLink, EmbeddedResource)


class ToolResult(Generic[T]):
    """A value for programs, and the words for people that go with it.

    `-> ToolResult[Forecast]` promises a `Forecast`, as `-> Forecast` does. Surfaces that know only
    data answer with the value alone. `meta` is for the program that calls.
    """

    __slots__ = ("content", "meta", "value")

    def __init__(
        self,
        value: T = None,  # type: ignore[assignment]
        content: Sequence[Block | str] | Block | str = (),
        *,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.value = value
        self.content = as_blocks(content)
        self.meta = meta


def as_blocks(content: Sequence[Block | str] | Block | str) -> tuple[Block, ...]:
    """Give content as blocks: a string is a block of text, and one block is a list of one."""
    parts: Any = [content] if isinstance(content, (str, *BLOCKS)) else content
    if not isinstance(parts, (list, tuple)):
        msg = f"content is a value of type {type(content).__name__}: give text, a block, or a list"
        raise TypeError(msg)
    blocks = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    for block in blocks:
        if not isinstance(block, BLOCKS):
            msg = f"content holds a value of type {type(block).__name__}: give text, or a block"
            raise TypeError(msg)
    return blocks


def read_blocks(content: bytes) -> list[Block]:
    """Read blocks as they were written."""
    return json.decode(content, type=list[Block])


def is_valid(given: Any, kind: Any) -> bool:
    """Whether frozen data of these kinds holds what its fields promise: nobody has looked so far."""
    try:
        json.decode(json.encode(given), type=kind)
    except (MsgspecError, TypeError, ValueError, RecursionError):
        return False
    return True


def is_content(annotation: Any) -> bool:
    """Whether a type is nothing but content blocks: one of them, or a list of them."""
    annotation = unwrap(annotation)
    if get_origin(annotation) in {list, tuple}:
        parts = [part for part in get_args(annotation) if part is not Ellipsis]
        return bool(parts) and all(map(_is_block, parts))
    return _is_block(annotation)


def _is_block(annotation: Any) -> bool:
    annotation = unwrap(annotation)
    if is_union(annotation):
        return all(map(_is_block, get_args(annotation)))
    return annotation in BLOCKS


def recognise(data: bytes) -> str:
    """Give the type of a picture, a sound or a document by how its bytes start; "" if unknown."""
    found = (kind for at, start, kind in _SIGNATURES if data.startswith(start, at))
    return next(found, "")


def _name_type(block: Image | Audio, usual: str) -> None:
    data: Any = block.data
    if not isinstance(data, (bytes, bytearray, memoryview)):
        name = type(block).__name__
        msg = f"{name}({type(data).__name__}): give the bytes themselves, like {name}(path.read_bytes())"
        raise TypeError(msg)
    if not isinstance(data, bytes):
        data = bytes(data)
        force_setattr(block, "data", data)
    if not block.mime_type:
        force_setattr(block, "mime_type", recognise(data) or usual)
