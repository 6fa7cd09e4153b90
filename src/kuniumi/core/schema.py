"""JSON Schema 2020-12 of arguments and results, from the very types that decode and check them.

In: annotations. Out: schemas. A named type is written in place; it moves to the definitions only
where it is recursive or used twice. It must not know which document the schema ends up in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from kuniumi.core.codec import decoder, dumps
from kuniumi.core.definitions import Book
from kuniumi.core.result import BadResultError, refuse_infinities

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kuniumi.core.operation import Operation
    from kuniumi.core.signature import Parameter

Schema = dict[str, Any]

ERROR_SCHEMA: Schema = {
    "type": "object",
    "properties": {"error": {"type": "string"}},
    "required": ["error"],
}
"""What every failure looks like."""


class Group(Struct, frozen=True):
    """Types to be described together: what somebody sends, or what somebody gets."""

    types: tuple[Any, ...]
    mode: Literal["validation", "serialization"]


_inputs: WeakKeyDictionary[Operation, Schema] = WeakKeyDictionary()


def input_schema(operation: Operation) -> Schema:
    """Describe the arguments as one self-contained schema; made once, so leave it as it is."""
    found = _inputs.get(operation)
    if found is None:
        (schemas,), definitions = schemas_of([input_group(operation)])
        schema = _with_definitions(arguments_schema(operation, schemas), definitions)
        found = _inputs[operation] = schema
    return found


def output_schema(operation: Operation) -> Schema:
    """Describe the envelope of a success as one self-contained schema."""
    (schemas,), definitions = schemas_of([output_group(operation)])
    return _with_definitions(envelope_schema(operation, schemas), definitions)


def input_group(operation: Operation) -> Group:
    """Give the types of the parameters a caller fills in."""
    types = tuple(parameter.annotation for parameter in operation.parameters)
    return Group(types, "validation")


def output_group(operation: Operation) -> Group:
    """Give the types of what a caller gets."""
    return Group(operation.result.types, "serialization")


def arguments_schema(operation: Operation, parameter_schemas: list[Schema]) -> Schema:
    """Put the parameters' schemas together: the object a caller sends."""
    properties: Schema = {}
    for parameter, schema in zip(operation.parameters, parameter_schemas, strict=True):
        properties[parameter.name] = _with_default(schema, parameter)
    required = [parameter.name for parameter in operation.parameters if parameter.required]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def envelope_schema(operation: Operation, result_schemas: list[Schema]) -> Schema:
    """Put the results' schemas together: the object a caller gets."""
    layout = operation.result.layout
    if layout == "bare":
        return result_schemas[0]
    if layout == "values":
        names = [f"result{index}" for index in range(len(result_schemas))]
    else:
        names = ["result"] if result_schemas else []
    if layout == "stream":
        result_schemas = [{"type": "array", "items": result_schemas[0]}]
    return {
        "type": "object",
        "properties": dict(zip(names, result_schemas, strict=True)),
        **({"required": names} if names and layout != "anything" else {}),
    }


def schemas_of(
    groups: list[Group], ref_template: str = "#/$defs/{name}", *, for_openapi: bool = False
) -> tuple[list[list[Schema]], dict[str, Schema]]:
    """Describe groups of types at once, so that they share their definitions.

    Gives a list of schemas for each group, and the definitions that had to stay named.
    OpenAPI knows discriminators, which mean nothing to JSON Schema.
    """
    book = Book(for_openapi=for_openapi)
    written = [
        [book.describe(annotation, group.mode) for annotation in group.types] for group in groups
    ]
    return book.finish(written, ref_template)


def _with_default(schema: Schema, parameter: Parameter) -> Schema:
    """Show the default, if a caller could send it: `x: int = None` just makes `x` optional."""
    if parameter.required:
        return schema
    try:
        refuse_infinities(parameter.default)
        default = dumps(parameter.default)
        decoder(parameter.annotation).decode(default)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError, BadResultError):
        return schema
    return {**schema, "default": msgspec.json.decode(default)}


def _with_definitions(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    return {**schema, "$defs": definitions} if definitions else schema


def merge_descriptions(schema: Schema, descriptions: Iterable[tuple[str, str]]) -> Schema:
    """Give the object schema with descriptions added to those properties that have none."""
    properties = dict(schema.get("properties", {}))
    for name, description in descriptions:
        if description and name in properties:
            properties[name] = {**properties[name], "description": description}
    return {**schema, "properties": properties}
