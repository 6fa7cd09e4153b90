"""Arguments written as an HTTP request, as an OpenAPI document says: path, query, headers, body.

In: an operation and its arguments. Out: a target, headers and bytes. Pure; everything is
percent-encoded, and nothing a model says can lead to another path than the operation's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from kuniumi.core.codec import dumps
from kuniumi.errors import ServerError

if TYPE_CHECKING:
    from kuniumi.agent.servers.openapi import Operation, Parameter

# What may stay as it is in a query; not what ends it, or begins another parameter.
_RESERVED = ":/?@!$'()*,;="
_SEPARATORS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
_HEADER = re.compile(r"[\x20-\x7e\t]*\Z")
_MOST_BOUNDARIES = 100


class Prepared(NamedTuple):
    """A request, but for the server it goes to."""

    method: str
    target: str  # the path and the query, encoded
    headers: dict[str, str]
    body: bytes | None


def prepare(operation: Operation, arguments: dict[str, Any]) -> Prepared:
    """Write a call of an operation; `ServerError` says which argument cannot be written."""
    given = dict(arguments)
    path, query = operation.path, []
    headers = {"Accept": "application/json, */*;q=0.5"}
    cookies = []
    for parameter in operation.parameters:
        value = given.pop(parameter.argument, None)
        if value is None:
            if parameter.required:
                raise ServerError(f"the argument {parameter.argument!r} is missing")
            continue
        if parameter.as_json:
            value = dumps(value).decode()
        if parameter.place == "path":
            path = path.replace(f"{{{parameter.name}}}", _in_path(parameter, value))
        elif parameter.place == "query":
            query += _pairs(parameter, value)
        elif parameter.place == "cookie":
            cookies += _pairs(parameter, value)
        else:
            headers[parameter.name] = _in_header(parameter, value)
    if any(segment in {".", ".."} for segment in path.split("/")):
        raise ServerError("the arguments lead to another address")
    if cookies:
        headers["Cookie"] = "; ".join(cookies)
    body = _write_body(operation, given, headers)
    return Prepared(operation.method, f"{path}?{'&'.join(query)}" if query else path, headers, body)


# ---- parameters ------------------------------------------------------------------------------------


def _in_path(parameter: Parameter, value: Any) -> str:
    items = _flat(value, joins=parameter.explode)
    if parameter.style == "label":
        return "." + (".".join(items) if parameter.explode else ",".join(items))
    if parameter.style == "matrix":
        name = quote(parameter.name, safe="")
        if isinstance(value, dict) and parameter.explode:
            return "".join(f";{item}" for item in items)
        if isinstance(value, list) and parameter.explode:
            return "".join(f";{name}={item}" for item in items)
        return f";{name}={','.join(items)}"
    written = ",".join(items)
    if written in {"", ".", ".."}:
        raise ServerError(
            f"the argument {parameter.argument!r} cannot be {written!r} in an address"
        )
    return written


def _pairs(parameter: Parameter, value: Any) -> list[str]:
    """Write a query's parameter, or a cookie."""
    safe = _RESERVED if parameter.reserved else ""
    name = quote(parameter.name, safe="")
    if isinstance(value, dict):
        if parameter.style == "deepObject":
            return [
                f"{name}%5B{quote(str(key), safe='')}%5D={_encode(item, safe)}"
                for key, item in value.items()
                if item is not None
            ]
        if parameter.explode:
            return _flat(value, joins=True, safe=safe)
        return [f"{name}={','.join(_flat(value, joins=False, safe=safe))}"]
    if isinstance(value, list):
        items = [_encode(item, safe) for item in value]
        if parameter.explode:
            return [f"{name}={item}" for item in items]
        return [f"{name}={_SEPARATORS.get(parameter.style, ',').join(items)}"]
    return [f"{name}={_encode(value, safe)}"]


def _in_header(parameter: Parameter, value: Any) -> str:
    if isinstance(value, dict):
        joint = "=" if parameter.explode else ","
        written = ",".join(f"{key}{joint}{_plain(item)}" for key, item in value.items())
    elif isinstance(value, list):
        written = ",".join(map(_plain, value))
    else:
        written = _plain(value)
    if not _HEADER.match(written):
        raise ServerError(f"the argument {parameter.argument!r} holds what no header can hold")
    return written


def _flat(value: Any, *, joins: bool, safe: str = "") -> list[str]:
    """Give the encoded parts of a value: one, an item each, or names with their values."""
    if isinstance(value, dict):
        pairs = [(quote(str(key), safe=""), _encode(item, safe)) for key, item in value.items()]
        if joins:
            return [f"{key}={item}" for key, item in pairs]
        return [part for pair in pairs for part in pair]
    if isinstance(value, list):
        return [_encode(item, safe) for item in value]
    return [_encode(value, safe)]


def _encode(value: Any, safe: str = "") -> str:
    return quote(_plain(value), safe=safe)


def _plain(value: Any) -> str:
    """Write a value as text, as JSON writes it."""
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value).decode()


# ---- bodies ----------------------------------------------------------------------------------------


def _write_body(
    operation: Operation, given: dict[str, Any], headers: dict[str, str]
) -> bytes | None:
    if operation.body:
        if operation.body not in given:
            return None
        content = given.pop(operation.body)
    else:
        content = {name: given.pop(name) for name in operation.fields if name in given}
    if given:
        raise ServerError(f"the argument {next(iter(given))!r} is not known")
    if operation.coding == "none":
        return None
    headers["Content-Type"] = operation.media_type
    if operation.coding == "json":
        return dumps(content)
    if operation.coding == "form":
        return "&".join(_form(content)).encode()
    if operation.coding == "multipart":
        return _multipart(content, headers)
    if operation.media_type == "*/*":
        headers["Content-Type"] = "text/plain; charset=utf-8"
    return _plain(content).encode()


def _form(content: Any) -> list[str]:
    fields = content if isinstance(content, dict) else {}
    return [
        f"{quote(str(name), safe='')}={_encode(item)}"
        for name, value in fields.items()
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]


def _multipart(content: Any, headers: dict[str, str]) -> bytes:
    """Write the parts of a form, each with its name; data is text here, as models write it."""
    fields = content if isinstance(content, dict) else {}
    parts = [
        (str(name).replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A"), _plain(item))
        for name, value in fields.items()
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]
    whole = "".join(text for _, text in parts)
    boundary = next(
        mark for n in range(_MOST_BOUNDARIES + len(whole)) if (mark := f"part-{n:08}") not in whole
    )
    headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
    written = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'
        for name, text in parts
    ]
    return "".join([*written, f"--{boundary}--\r\n"]).encode()
