"""The headers in which a request over HTTP repeats what its body says, so that others can route it.

In: headers, and what the body says. Out: an `RpcError` where the two differ. Both directions: a
server checks what a client writes.
"""

from __future__ import annotations

import base64
import binascii
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from kuniumi.core.schema import input_schema
from kuniumi.errors import DefinitionError
from kuniumi.wire.jsonrpc import RpcError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from msgspec import Raw

    from kuniumi.core.operation import Operation

    Headers = Mapping[bytes, bytes]

MISMATCH = -32020
MISSING_CAPABILITY = -32021
NO_SUCH_REVISION = -32022

MARK = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?\Z")
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")
_START, _END = "=?base64?", "?="
_PRIMITIVES = {"integer", "string", "boolean"}


def mismatch(said: str) -> RpcError:
    """Give the error of a header that does not say what the body says."""
    return RpcError(MISMATCH, f"Header mismatch: {said}")


def check_method(headers: Headers, method: str) -> RpcError | None:
    """Compare the header of the method with what the body says; it is never encoded."""
    found = headers.get(b"mcp-method")
    if found == method.encode():
        return None
    if found is None:
        return mismatch(f"the header Mcp-Method is missing, and has to be {method!r}")
    said = found.decode("latin-1")
    return mismatch(f"the header Mcp-Method is {said!r}, but the body says {method!r}")


def check_name(headers: Headers, name: str) -> RpcError | None:
    """Compare the header of what is called or read with what the body says."""
    found = headers.get(b"mcp-name")
    if found == name.encode():
        return None
    if found is None:
        return mismatch(f"the header Mcp-Name is missing, and has to be {name!r}")
    said = decode(found)
    if said is None:
        return mismatch("the header Mcp-Name holds what no header may hold")
    if said != name:
        return mismatch(f"the header Mcp-Name is {said!r}, but the body says {name!r}")
    return None


def encode(value: str) -> str:
    """Write a value as a header may hold it."""
    if _PLAIN.match(value) and not (value.startswith(_START) and value.endswith(_END)):
        return value
    return _START + base64.b64encode(value.encode()).decode() + _END


def decode(raw: bytes) -> str | None:
    """Read a header's value, or nothing if it is not one."""
    try:
        value = raw.decode("ascii")
        if value.startswith(_START) and value.endswith(_END):
            inner = value[len(_START) : -len(_END)]
            return base64.b64decode(inner, validate=True).decode()
    except (UnicodeDecodeError, binascii.Error, ValueError):
        return None
    return value if not value or _PLAIN.match(value) else None


# ---- parameters that are repeated ------------------------------------------------------------------

Mirror = tuple[tuple[str, ...], str, str]
"""The path of a parameter, its header, and the type of its value."""

_mirrors: WeakKeyDictionary[Operation, tuple[Mirror, ...]] = WeakKeyDictionary()


def mirrors_of(operation: Operation) -> tuple[Mirror, ...]:
    """Give the parameters of an operation that are repeated in headers."""
    found = _mirrors.get(operation)
    if found is None:
        try:
            found = tuple(_gather(operation))
        except DefinitionError:  # a mark deep in a type, where nobody looked: no client repeats it
            found = ()
        _mirrors[operation] = found
    return found


def check_mirrors(headers: Headers, operation: Operation, arguments: Raw) -> RpcError | None:
    """Compare the headers that repeat arguments with the arguments."""
    mirrors = mirrors_of(operation)
    if not mirrors:
        return None
    try:
        given = msgspec.json.decode(bytes(arguments) or b"{}")
    except msgspec.DecodeError:
        return None  # it is told when the arguments are read
    for path, header, kind in mirrors:
        error = _check_mirror(headers, f"Mcp-Param-{header}", _at(path, given), kind)
        if error is not None:
            return error
    return None


def _at(path: tuple[str, ...], given: Any) -> Any:
    for step in path:
        given = given.get(step) if isinstance(given, dict) else None
    return given


def _written(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _check_mirror(headers: Headers, name: str, value: Any, kind: str) -> RpcError | None:
    raw = headers.get(name.lower().encode())
    if value is None:
        if raw is not None:
            return mismatch(f"the header {name} is there, but the body has no such argument")
        return None
    if raw is None:
        return mismatch(f"the header {name} is missing, but the body has the argument")
    said = decode(raw)
    if said is None:
        return mismatch(f"the header {name} holds what no header may hold")
    written = _written(value)
    if said == written or (kind == "integer" and _number(said) == _number(written)):
        return None
    return mismatch(f"the header {name} is {said!r}, but the body says {written!r}")


def _number(text: str) -> Decimal | str:
    """Read a number to its last digit: two that are nearly the same are not."""
    return Decimal(text) if _NUMBER.fullmatch(text) else text


def check_marks(operation: Operation) -> None:
    """Raise if a parameter can't be repeated in the header its author gave it."""
    for _ in _gather(operation):
        pass


def _gather(operation: Operation) -> Iterator[Mirror]:
    schema = input_schema(operation)
    where = f"function {operation.name!r}"
    taken: set[str] = set()
    marked = [
        ((name,), header, schema["properties"][name])
        for name, header in operation.wording.headers.items()
    ]
    told = operation.wording.schema or schema
    if _has_stray_mark(told):
        msg = f"{where}: {_STRAY}: mark a parameter, or a field of one"
        raise DefinitionError(msg)
    for path, header, part in [*marked, *_marked(told, ())]:
        dotted = ".".join(path)
        if not isinstance(header, str) or not _TOKEN.match(header):
            msg = f"{where}: the header {header!r} of {dotted!r} is no name: write letters, digits, '-'"
            raise DefinitionError(msg)
        if part.get("type") not in _PRIMITIVES:
            msg = (
                f"{where}: {dotted!r} can't be repeated in a header: "
                f"make it a text, an integer or a bool"
            )
            raise DefinitionError(msg)
        if header.lower() in taken:
            msg = f"{where}: two parameters are to be repeated in {header!r}: name another header"
            raise DefinitionError(msg)
        taken.add(header.lower())
        yield path, header, part["type"]


def _marked(
    schema: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any, dict[str, Any]]]:
    for name, part in schema.get("properties", {}).items():
        if MARK in part:
            yield (*path, name), part[MARK], part
        yield from _marked(part, (*path, name))


_STRAY = f"its schema has {MARK!r} where it marks no property"
_DEEPEST = 20
_NOT_SCHEMAS = {"default", "const", "enum", "examples"}
_BY_NAME = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}


def _has_stray_mark(schema: Mapping[str, Any], depth: int = 0, *, reached: bool = True) -> bool:
    """Whether something is marked to which no chain of properties leads from the root."""
    if depth == 0 and MARK in schema:
        return True
    for keyword, value in schema.items():
        if keyword in _NOT_SCHEMAS or depth > 2 * _DEEPEST:
            continue
        on_the_way = reached and keyword == "properties"
        by_name = keyword in _BY_NAME and isinstance(value, dict)
        parts = value.values() if by_name else value if isinstance(value, list) else (value,)
        for part in parts:
            if isinstance(part, dict) and (
                (MARK in part and not on_the_way)
                or _has_stray_mark(part, depth + 1, reached=on_the_way)
            ):
                return True
    return False


# ---- the client's direction ------------------------------------------------------------------------


def read_mirrors(schema: Mapping[str, Any]) -> tuple[Mirror, ...] | str:
    """Give the parameters that a tool's schema wants repeated, or why no header can hold them.

    A client must not call a tool whose schema marks what cannot be repeated.
    """
    if _has_stray_mark(schema):
        return _STRAY
    found: list[Mirror] = []
    taken: set[str] = set()
    for path, header, part in _marks_in(schema, ()):
        dotted = ".".join(path)
        if not isinstance(header, str) or not _TOKEN.match(header):
            return f"the header {header!r} of {dotted!r} is no name of a header"
        if part.get("type") not in _PRIMITIVES:
            return f"{dotted!r} cannot be repeated in a header: it is no text, integer or bool"
        if header.lower() in taken:
            return f"two parameters are to be repeated in the header {header!r}"
        taken.add(header.lower())
        found.append((path, header, part["type"]))
    return tuple(found)


def mirrored(mirrors: tuple[Mirror, ...], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Give the headers that repeat these arguments; what is absent or null has none."""
    values = ((header, _at(path, arguments)) for path, header, _ in mirrors)
    return {
        f"Mcp-Param-{header}": encode(_written(value))
        for header, value in values
        if value is not None
    }


def _marks_in(
    schema: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any, dict[str, Any]]]:
    """Find the marks of a schema that others wrote, which may be anything."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or len(path) >= _DEEPEST:
        return
    for name, part in properties.items():
        if isinstance(part, dict):
            if MARK in part:
                yield (*path, name), part[MARK], part
            yield from _marks_in(part, (*path, name))
