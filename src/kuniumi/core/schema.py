"""JSON Schema 2020-12 of arguments and results, from the very types that decode and check them.

In: annotations. Out: schemas. A named type is written in place; it moves to the definitions only
where it is recursive or used twice. It must not know which document the schema ends up in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
from msgspec import Struct

from kuniumi.core.codec import builtins
from kuniumi.core.types import is_pydantic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kuniumi.core.operation import Operation
    from kuniumi.core.signature import Parameter

Schema = dict[str, Any]

ERROR_SCHEMA: Schema = {
    "type": "object",
    "properties": {"error": {"type": "string"}},
    "required": ["error"],
}
"""What every failure looks like."""

_REF = "#/$defs/{name}"


class Group(Struct, frozen=True):
    """Types to be described together: what somebody sends, or what somebody gets."""

    types: tuple[Any, ...]
    mode: Literal["validation", "serialization"]


def input_schema(operation: Operation) -> Schema:
    """Describe the arguments as one self-contained schema."""
    (schemas,), definitions = schemas_of([input_group(operation)], _REF)
    return _with_definitions(arguments_schema(operation, schemas), definitions)


def output_schema(operation: Operation) -> Schema:
    """Describe the envelope of a success as one self-contained schema."""
    (schemas,), definitions = schemas_of([output_group(operation)], _REF)
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
    groups: list[Group], ref_template: str
) -> tuple[list[list[Schema]], dict[str, Schema]]:
    """Describe groups of types at once, so that they share their definitions.

    Gives a list of schemas for each group, and the definitions that had to stay named.
    """
    schemas, definitions = _generate(groups, ref_template)
    kept = _inline(schemas, definitions, ref_template)
    parts = iter(schemas)
    return [[next(parts) for _ in group.types] for group in groups], kept


def _generate(groups: list[Group], ref_template: str) -> tuple[list[Schema], dict[str, Schema]]:
    flat = [(annotation, group.mode) for group in groups for annotation in group.types]
    models: dict[str, Schema] = {}

    def describe_model(annotation: Any, mode: str = "validation") -> Schema:
        from kuniumi.core.models import model_schema  # noqa: PLC0415 - pydantic is the user's choice

        for suffix in ("", *range(2, 1000)):
            found = model_schema(annotation, mode, ref_template, str(suffix))
            if all(models.get(name, schema) == schema for name, schema in found[1].items()):
                break  # no other type has taken one of these names
        models.update(found[1])
        return found[0]

    made, definitions = msgspec.json.schema_components(
        [annotation for annotation, _ in flat],
        schema_hook=describe_model,
        ref_template=ref_template,
    )
    schemas = [
        describe_model(annotation, mode)
        if mode == "serialization" and _is_made_of_models(annotation)
        else schema
        for schema, (annotation, mode) in zip(made, flat, strict=True)
    ]
    return schemas, {**models, **definitions}


def _is_made_of_models(annotation: Any) -> bool:
    return is_pydantic(annotation) or any(_is_made_of_models(arg) for arg in get_args(annotation))


def _inline(
    schemas: list[Schema], definitions: dict[str, Schema], ref_template: str
) -> dict[str, Schema]:
    """Write every definition in place that is used once and not recursive; give the others."""
    by_ref = {ref_template.format(name=name): name for name in definitions}
    uses = dict.fromkeys(definitions, 0)
    for schema in [*schemas, *definitions.values()]:
        for ref in _refs(schema):
            if ref in by_ref:
                uses[by_ref[ref]] += 1
    recursive = {name for name in definitions if _reaches_itself(name, definitions, by_ref)}
    single = {name for name, count in uses.items() if count == 1 and name not in recursive}

    def expand(part: Any) -> Any:
        if isinstance(part, list):
            return [expand(item) for item in part]
        if not isinstance(part, dict):
            return part
        name = by_ref.get(part.get("$ref", ""))
        if name in single:
            beside = {key: expand(value) for key, value in part.items() if key != "$ref"}
            return {**expand(definitions[name]), **beside}
        return {key: expand(value) for key, value in part.items()}

    schemas[:] = [expand(schema) for schema in schemas]
    return {
        name: expand(schema)
        for name, schema in definitions.items()
        if name not in single and uses[name]
    }


def _reaches_itself(name: str, definitions: dict[str, Schema], by_ref: dict[str, str]) -> bool:
    waiting, seen = [name], set()
    while waiting:
        for ref in _refs(definitions[waiting.pop()]):
            target = by_ref.get(ref)
            if target == name:
                return True
            if target is not None and target not in seen:
                seen.add(target)
                waiting.append(target)
    return False


def _refs(part: Any) -> Iterator[str]:
    waiting = [part]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            ref = part.get("$ref")
            if isinstance(ref, str):
                yield ref
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _with_default(schema: Schema, parameter: Parameter) -> Schema:
    if parameter.required:
        return schema
    try:
        default = builtins(parameter.default)
        msgspec.json.encode(default)
    except (TypeError, ValueError, RecursionError):
        return schema  # a default that JSON can't show: the parameter is optional all the same
    return {**schema, "default": default}


def _with_definitions(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    return {**schema, "$defs": definitions} if definitions else schema


def merge_descriptions(schema: Schema, descriptions: Iterable[tuple[str, str]]) -> Schema:
    """Give the object schema with descriptions added to those properties that have none."""
    properties = dict(schema.get("properties", {}))
    for name, description in descriptions:
        if description and name in properties:
            properties[name] = {**properties[name], "description": description}
    return {**schema, "properties": properties}
