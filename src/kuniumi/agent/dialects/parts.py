"""What schemas are made of, for all who change them.

In: schemas, or pieces of them. Out: other ones; nothing is changed in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]


MAX_NODES = 20_000
MAX_DEPTH = 60
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLES = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("additionalItems", "unevaluatedProperties", "unevaluatedItems"),
)
TOLD = (
    *("default", "examples", "pattern", "format", "minLength", "maxLength", "minimum", "maximum"),
    *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems"),
    *("minProperties", "maxProperties", "contentEncoding", "contentMediaType", "const"),
)
EVERYWHERE = frozenset({"type", "enum", "description", "title", "properties", "required", "items"})


def map_children(node: Schema, act: Callable[[Any], Any]) -> Schema:
    """Give the schema with every schema in it replaced; data in it stays as it is."""
    made = dict(node)
    for keyword in _MAPS:
        if isinstance(made.get(keyword), dict):
            made[keyword] = {name: act(each) for name, each in made[keyword].items()}
    for keyword in (*_LISTS, "items"):
        if isinstance(made.get(keyword), list):
            made[keyword] = [act(each) for each in made[keyword]]
    for keyword in _SINGLES:
        if isinstance(made.get(keyword), dict):
            made[keyword] = act(made[keyword])
    return made


def add_note(schema: Schema, note: str) -> Schema:
    """Add a note to the description."""
    described = schema.get("description")
    text = f"{described} {note}" if isinstance(described, str) and described else note
    return {**schema, "description": text}


def may_be(node: Schema, kind: str) -> bool:
    """Whether a schema names this type among those it takes."""
    named = node.get("type")
    return kind in named if isinstance(named, list) else named == kind


def is_text(found: Any) -> bool:
    """Whether this is text."""
    return isinstance(found, str)


def as_list(found: Any) -> list[Any]:
    """Give a list, or an empty one for what is none."""
    return found if isinstance(found, list) else []


def as_dict(found: Any) -> Schema:
    """Give an object, or an empty one for what is none."""
    return found if isinstance(found, dict) else {}
