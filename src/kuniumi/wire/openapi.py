"""OpenAPI 3.1 of an app: one operation a function, under the function's own operation id.

In: a service. Out: the document as plain data. Types that several operations share, or that are
recursive, stand under `components`; all others where they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kuniumi.core.describe import describe_input, describe_output, words_of
from kuniumi.core.fault import Fault, Kind
from kuniumi.core.schema import (
    ERROR_SCHEMA,
    arguments_schema,
    envelope_schema,
    input_group,
    output_group,
    schemas_of,
)
from kuniumi.wire.status import http_status, reason

if TYPE_CHECKING:
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service

    Document = dict[str, Any]

_REF = "#/components/schemas/{name}"
_ALWAYS = (Kind.MALFORMED, Kind.TOO_LARGE, Kind.WRONG_TYPE, Kind.CRASHED)


def openapi(service: Service, root_path: str = "") -> Document:
    """Write the document."""
    operations = list(service.registry)
    groups = [input_group(op) for op in operations] + [output_group(op) for op in operations]
    schemas, definitions = schemas_of(groups, _REF, for_openapi=True)
    inputs, outputs = schemas[: len(operations)], schemas[len(operations) :]
    paths: Document = {}
    for operation, parameters, results in zip(operations, inputs, outputs, strict=True):
        arguments = describe_input(operation, arguments_schema(operation, parameters))
        envelope = describe_output(operation, envelope_schema(operation, results))
        path = operation.path or f"/functions/{operation.name}"
        paths[path] = {"post": _post(service, operation, arguments, envelope)}
    about = service.registry.about
    return {
        "openapi": "3.1.0",
        "info": {
            "title": about.name,
            "version": about.version,
            **({"description": about.description} if about.description else {}),
        },
        "servers": [{"url": root_path or "/"}],
        "paths": paths,
        **({"components": {"schemas": definitions}} if definitions else {}),
    }


def _post(
    service: Service, operation: Operation, arguments: Document, envelope: Document
) -> Document:
    words = words_of(operation)
    return {
        "operationId": operation.operation_id,
        **({"summary": words.summary} if words.summary else {}),
        **({"description": words.description} if words.description else {}),
        "tags": list(operation.wording.tags) or [service.registry.about.name],
        **({"deprecated": True} if operation.wording.deprecated else {}),
        "requestBody": {
            "required": any(parameter.required for parameter in operation.parameters),
            "content": {"application/json": {"schema": arguments, **_example(arguments)}},
        },
        "responses": {
            "200": _success(service, operation, envelope),
            **_failures(service, operation),
        },
    }


def _example(arguments: Document) -> Document:
    """Give an example of the arguments, where defaults and examples say enough for one."""
    example = {}
    for name, schema in arguments["properties"].items():
        if schema.get("examples"):
            example[name] = schema["examples"][0]
        elif "default" in schema:
            example[name] = schema["default"]
        elif name in arguments.get("required", ()):
            return {}
    return {"example": example} if example else {}


def _success(service: Service, operation: Operation, envelope: Document) -> Document:
    described = words_of(operation).returns or "Success"
    schema = _tool_result(envelope) if service.http_format == "tool-result" else envelope
    response = _json(described, schema)
    if operation.result.layout == "stream":
        response["content"]["text/event-stream"] = {"schema": {"type": "string"}}
    return response


def _tool_result(envelope: Document) -> Document:
    block = {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}
    return {
        "type": "object",
        "properties": {
            "content": {"type": "array", "items": block},
            "structuredContent": envelope,
            "isError": {"type": "boolean"},
        },
        "required": ["content", "isError"],
    }


def _failures(service: Service, operation: Operation) -> Document:
    """Describe the failures that can happen here, and no others.

    A tool result tells of a call's own failure with status 200: only a request that never became
    a call has another status there.
    """
    statuses = {_status(kind): reason(_status(kind)) for kind in _ALWAYS}
    if service.http_format == "json":
        if service.limit(operation):
            statuses[_status(Kind.TIMED_OUT)] = reason(_status(Kind.TIMED_OUT))
        statuses.update(operation.wording.errors)
    limited = service.limit_concurrency or operation.policy.concurrency
    if limited:
        statuses.setdefault(_status(Kind.OVERLOADED), reason(_status(Kind.OVERLOADED)))
    responses = {str(status): _json(statuses[status], ERROR_SCHEMA) for status in sorted(statuses)}
    if limited:
        seconds = {"description": "Seconds to wait", "schema": {"type": "integer"}}
        responses[str(_status(Kind.OVERLOADED))]["headers"] = {"Retry-After": seconds}
    return responses


def _status(kind: Kind) -> int:
    return http_status(Fault(kind, ""))


def _json(description: str, schema: Document) -> Document:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
