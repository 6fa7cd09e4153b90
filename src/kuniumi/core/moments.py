"""Telling that text is a moment: msgspec says `date-time` only where an offset is demanded.

In: what msgspec knows of a type, and the schema it made of it. Out: the same schema, which says so
of every datetime; the two are walked side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import inspect

if TYPE_CHECKING:
    from collections.abc import Iterator

    Schema = dict[str, Any]

_OBJECTS = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)


def tell_moments(kind: inspect.Type, schema: Schema, pages: dict[str, Schema]) -> None:
    """Add the format to every datetime in the schema and in the pages it refers to."""
    waiting = [(kind, schema)]
    seen = set()
    while waiting:
        kind, schema = waiting.pop()
        while isinstance(kind, inspect.Metadata):
            kind = kind.type
        if "$ref" in schema:
            if schema["$ref"] in seen:
                continue
            seen.add(schema["$ref"])
            schema = pages.get(schema["$ref"], {})
        if isinstance(kind, inspect.DateTimeType):
            schema.setdefault("format", "date-time")
        waiting.extend(_parts(kind, schema))


def _parts(kind: Any, schema: Schema) -> Iterator[tuple[inspect.Type, Schema]]:
    """Give the types that this one is made of, each with its own schema."""
    if isinstance(kind, inspect.CollectionType):
        yield kind.item_type, schema.get("items", {})
    elif isinstance(kind, inspect.TupleType):
        yield from zip(kind.item_types, schema.get("prefixItems", ()), strict=False)
    elif isinstance(kind, inspect.DictType):
        yield kind.value_type, schema.get("additionalProperties", {})
    elif isinstance(kind, inspect.UnionType):
        yield from zip(_arms(kind), _flat(schema), strict=False)
    elif "prefixItems" in schema and hasattr(kind, "fields"):
        yield from zip((item.type for item in kind.fields), schema["prefixItems"], strict=False)
    elif isinstance(kind, _OBJECTS):
        properties = schema.get("properties", {})
        yield from ((item.type, properties.get(item.encode_name, {})) for item in kind.fields)


def _arms(union: inspect.UnionType) -> list[inspect.Type]:
    """Give the arms in the order in which msgspec writes them: the tagged ones come last."""
    plain: list[inspect.Type] = []
    tagged: list[inspect.Type] = []
    for arm in union.types:
        bare = arm
        while isinstance(bare, inspect.Metadata):
            bare = bare.type
        if isinstance(bare, inspect.StructType) and not bare.array_like:
            tagged.append(bare)
        elif not isinstance(bare, inspect.NoneType):
            plain.append(arm)
    return plain + tagged


def _flat(schema: Schema) -> Iterator[Schema]:
    for arm in schema.get("anyOf", ()):
        if "anyOf" in arm:
            yield from _flat(arm)
        else:
            yield arm
