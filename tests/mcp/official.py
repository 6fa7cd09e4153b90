"""What the specification says a server may say: messages against the official schema of a revision.

In: a message of a server, the revision it belongs to, and the request it answers. Out: what is wrong
with it, in words; nothing where all is well.

    assert problems(answer, "2026-07-28", answers=request) == []

The schemas' own unions are loose: a result of any form is a `Result`. Here a message is held to the
one definition that its place calls for: the result of `tools/call` to `CallToolResult`, or to
`InputRequiredResult` where it says to be one; an error to the definition of its code. Names that the
revision does not know are a problem, too, wherever the schema doesn't say that there may be others.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

Data = Mapping[str, Any]

SCHEMAS = Path(__file__).resolve().parent / "schemas"
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
STATELESS = "2026-07-28"

_VERSION = "io.modelcontextprotocol/protocolVersion"

_RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}
_ONLY_WITH_HANDSHAKE = {
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
}
_ONLY_STATELESS = {"server/discover", "subscriptions/listen"}
_MAY_ASK = {"tools/call", "resources/read", "prompts/get"}
_ERRORS = {
    -32020: "HeaderMismatchError",
    -32021: "MissingRequiredClientCapabilityError",
    -32022: "UnsupportedProtocolVersionError",
}
_RESERVED = range(-32099, -32019)  # codes that only the specification gives away

# ---- messages --------------------------------------------------------------------------------------


def problems(
    message: bytes | Data, revision: str, *, answers: bytes | Data | None = None
) -> list[str]:
    """Tell what is wrong with a message of a server.

    `answers` is the request that it answers; for what answers nothing (a notification, a question of
    the server's own, an error about something unreadable), leave it out.
    """
    if isinstance(message, bytes):
        try:
            message = cast("Data", json.loads(message, parse_constant=_no_constant))
        except ValueError as error:
            return [f"it is no JSON: {error}"]
    if not isinstance(message, Mapping):
        return [f"a message is one object, and not {message!r}"]
    if isinstance(answers, bytes):
        answers = cast("Data", json.loads(answers))
    if "method" in message:
        found = _said(message, revision) if "id" not in message else _asked(message, revision)
    elif "error" in message:
        found = _refused(message, revision, answers)
    elif answers is None:
        found = ["it is the answer to no request"]
    else:
        found = _answered(message, revision, answers)
    return found


def revision_of(request: Data, agreed: str = "") -> str:
    """Give the revision a request belongs to: the one it states, or the one agreed on."""
    params = request.get("params")
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    said = meta.get(_VERSION) if isinstance(meta, Mapping) else None
    if said is not None:
        return STATELESS  # whatever it states, it is the latest that knows how to state it
    return agreed or STATELESS


@functools.cache
def definitions(revision: str) -> Mapping[str, Any]:
    """Give all definitions of a revision, as they were published."""
    schema = json.loads((SCHEMAS / f"{revision}.json").read_text())
    return cast("Mapping[str, Any]", schema.get("$defs") or schema["definitions"])


def fits(value: Any, revision: str, definition: str) -> list[str]:
    """Tell what keeps a value from being what a definition describes."""
    found = validator(revision, definition).iter_errors(value)
    return [f"{definition}: {error.message[:500]}, at {error.json_path}" for error in found]


def _answered(message: Data, revision: str, request: Data) -> list[str]:
    found = _same_id(message, request)
    whole = "JSONRPCResultResponse" if revision >= "2025-11-25" else "JSONRPCResponse"
    found += fits(message, revision, whole)
    method, result = request.get("method"), message.get("result")
    elsewhere = _ONLY_WITH_HANDSHAKE if revision == STATELESS else _ONLY_STATELESS
    if not isinstance(method, str) or method not in _RESULTS or method in elsewhere:
        return [*found, f"{method} is no method of {revision}, and has no result"]
    kind = result.get("resultType") if isinstance(result, Mapping) else None
    if revision == STATELESS and kind == "input_required":
        if method not in _MAY_ASK:
            found.append(f"{method} can't be answered with questions")
        return found + fits(result, revision, "InputRequiredResult")
    if revision == STATELESS and kind != "complete":
        found.append(f"resultType is {kind!r}")
    found += fits(result, revision, _RESULTS[method])
    if method == "tools/list" and not found:
        found += _no_schemas(cast("Data", result))
    return found


def _refused(message: Data, revision: str, request: Data | None) -> list[str]:
    found = _same_id(message, request) if request is not None else []
    if "id" not in message:
        if request is not None and is_id(request.get("id")):
            found.append("it does not tell which request it is about")
        # The older schemas know no error without an id, and JSON-RPC's `null` is none for them.
        found += fits(message, max(revision, "2025-11-25"), "JSONRPCErrorResponse")
        return found
    if request is None:
        found.append(f"it is about {message['id']!r}, which nobody asked")
    code = message["error"].get("code") if isinstance(message["error"], Mapping) else None
    whole = "JSONRPCErrorResponse" if revision >= "2025-11-25" else "JSONRPCError"
    found += fits(message, revision, whole)
    if code in _RESERVED:
        if revision == STATELESS and code in _ERRORS:
            found += fits(message, revision, _ERRORS[code])
        elif not (revision != STATELESS and code == -32022):  # a revision that is not spoken
            found.append(f"{code} is no code of {revision}")
    return found


def _said(message: Data, revision: str) -> list[str]:
    return fits(message, revision, "JSONRPCNotification") + _one_of(
        message, revision, "ServerNotification"
    )


def _asked(message: Data, revision: str) -> list[str]:
    if revision == STATELESS:
        return [f"a server asks nothing by itself in {revision}: {message['method']}"]
    return fits(message, revision, "JSONRPCRequest") + _one_of(message, revision, "ServerRequest")


def _one_of(message: Data, revision: str, union: str) -> list[str]:
    """Hold a message to the one member of a union that has its method."""
    known = definitions(revision)
    for member in known[union]["anyOf"]:
        name = member["$ref"].rpartition("/")[2]
        if known[name]["properties"]["method"]["const"] == message["method"]:
            # The older schemas leave the frame of JSON-RPC to a definition of its own.
            framed = "jsonrpc" in known[name]["properties"]
            frame = set() if framed else {"jsonrpc", "id"}
            inner = {key: value for key, value in message.items() if key not in frame}
            return fits(inner, revision, name)
    return [f"{message['method']!r} is no {union} of {revision}"]


def _same_id(message: Data, request: Data) -> list[str]:
    asked, answered = request.get("id"), message.get("id")
    if "id" not in message or (asked == answered and type(asked) is type(answered)):
        return []
    return [f"it answers {answered!r}, and {asked!r} was asked"]


def is_id(value: Any) -> bool:
    """Tell whether a value can be the id of a request."""
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _no_schemas(result: Data) -> list[str]:
    """Tell which schemas of tools are none."""
    found = []
    for tool in result["tools"]:
        for key in ("inputSchema", "outputSchema"):
            try:
                Draft202012Validator.check_schema(tool.get(key, True))
            except SchemaError as error:
                found.append(f"the {key} of {tool['name']} is no schema: {error.message[:500]}")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


# ---- schemas ---------------------------------------------------------------------------------------

# Where others may be free to say more: schemas of users, and what is theirs to fill.
_OPEN = {"inputSchema", "outputSchema", "requestedSchema", "_meta", "data", "experimental"}


@functools.cache
def validator(revision: str, definition: str) -> Validator:
    """Give what checks values against one definition, with the names it knows and no others."""
    reference = {"$ref": f"urn:mcp:{revision}#/$defs/{definition}"}
    return Draft202012Validator(reference, registry=_registry(revision), format_checker=_formats)


@functools.cache
def _registry(revision: str) -> Registry[Any]:
    text = json.dumps(definitions(revision)).replace("#/definitions/", "#/$defs/")
    closed = {
        name: definition if name.endswith(("Schema", "MetaObject")) else _closed(definition)
        for name, definition in json.loads(text).items()
    }
    resource = DRAFT202012.create_resource({"$defs": closed})
    found: Registry[Any] = Registry().with_resource(f"urn:mcp:{revision}", resource)
    return found


def _closed(schema: Any) -> Any:
    """Allow no names but those a schema gives, unless it says that there may be others."""
    if not isinstance(schema, dict):
        return schema
    closed = dict(schema)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            closed[key] = [_closed(part) for part in schema[key]]
    if "items" in schema:
        closed["items"] = _closed(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        closed["additionalProperties"] = _closed(schema["additionalProperties"])
    if schema.get("properties"):
        closed["properties"] = {
            name: part if name in _OPEN else _closed(part)
            for name, part in schema["properties"].items()
        }
        closed.setdefault("additionalProperties", False)
    return closed


_formats = FormatChecker(formats=())


@_formats.checks("byte", raises=binascii.Error)
def _is_base64(value: object) -> bool:
    if isinstance(value, str):
        base64.b64decode(value, validate=True)
    return True


@_formats.checks("uri", raises=ValueError)
def _is_uri(value: object) -> bool:
    return not isinstance(value, str) or (bool(urlsplit(value).scheme) and _is_printable(value))


@_formats.checks("uri-template")
def _is_template(value: object) -> bool:
    return not isinstance(value, str) or _is_printable(re.sub(r"\{[^{}]+\}", "x", value))


def _is_printable(value: str) -> bool:
    return re.fullmatch(r"[!-~]+", value) is not None and "{" not in value


# ---- examples --------------------------------------------------------------------------------------


def examples() -> Mapping[str, Mapping[str, Any]]:
    """Give the specification's own examples of 2026-07-28, by definition and name."""
    found = (SCHEMAS / f"{STATELESS}-examples.json").read_bytes()
    return msgspec.json.decode(found, type=dict[str, dict[str, Any]])
