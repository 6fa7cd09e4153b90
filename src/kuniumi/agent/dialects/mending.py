"""One place in a JSON schema, mended where it is no schema of draft 2020-12.

In: one schema object, of any draft and from anybody. Out: the same in the words of draft 2020-12;
what means nothing there is left out. Providers hold tools against that draft's own schema, and one
that does not fit makes them refuse the whole request. It does not go into the schemas inside.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})

_STRINGS = ("title", "description", "format", "pattern", "contentEncoding", "contentMediaType")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS = (
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minContains", "maxContains"),
)
_FLAGS = ("uniqueItems", "readOnly", "writeOnly", "deprecated")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "enum")
_SCHEMAS = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedProperties", "unevaluatedItems"),
)


def mend(node: dict[str, Any]) -> dict[str, Any]:
    """Give one schema object in the words of draft 2020-12."""
    if all(_IS_SOUND[key](item) for key, item in node.items() if key in _IS_SOUND):
        return node
    node = _reword(node)
    return {key: item for key, item in node.items() if key not in _IS_SOUND or _IS_SOUND[key](item)}


def _reword(node: dict[str, Any]) -> dict[str, Any]:
    """Put what older drafts, and their users, meant in the words of this one."""
    made = dict(node)
    if isinstance(node.get("items"), list):  # a tuple, once
        made["prefixItems"] = made.pop("items")
        if "additionalItems" in made:
            made["items"] = made.pop("additionalItems")
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(node.get(exclusive), bool):  # whether the bound itself is out
            del made[exclusive]
            if node[exclusive] and _is_number(node.get(bound)):
                made[exclusive] = made.pop(bound)
    kind = node.get("type")
    if isinstance(kind, list):
        made["type"] = list(dict.fromkeys(each for each in kind if _is_type(each)))
    if isinstance(node.get("required"), list):
        names = [name for name in node["required"] if isinstance(name, str)]
        made["required"] = list(dict.fromkeys(names))
    if isinstance(node.get("examples"), dict):
        made["examples"] = list(node["examples"].values())
    return made


def _is_type(found: Any) -> bool:
    return isinstance(found, str) and found in TYPES


def _is_kind(found: Any) -> bool:
    if isinstance(found, list):
        return bool(found) and all(map(_is_type, found)) and len(set(found)) == len(found)
    return _is_type(found)


def _is_number(found: Any) -> bool:
    return isinstance(found, (int, float)) and not isinstance(found, bool) and isfinite(found)


def _is_count(found: Any) -> bool:
    return _is_number(found) and found >= 0 and found == int(found)


def _is_factor(found: Any) -> bool:
    return _is_number(found) and found > 0


def _is_schema(found: Any) -> bool:
    return isinstance(found, (dict, bool))


def _are_names(found: Any) -> bool:
    return (
        isinstance(found, list)
        and all(isinstance(name, str) for name in found)
        and len(set(found)) == len(found)
    )


def _are_needs(found: Any) -> bool:
    return isinstance(found, dict) and all(map(_are_names, found.values()))


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda found: isinstance(found, kinds)


def _is_full_list(found: Any) -> bool:
    return isinstance(found, list) and bool(found)


_IS_SOUND: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_STRINGS, _is(str)),
    **dict.fromkeys(_NUMBERS, _is_number),
    **dict.fromkeys(_COUNTS, _is_count),
    **dict.fromkeys(_FLAGS, _is(bool)),
    **dict.fromkeys(_MAPS, _is(dict)),
    **dict.fromkeys(_LISTS, _is_full_list),
    **dict.fromkeys(_SCHEMAS, _is_schema),
    "type": _is_kind,
    "multipleOf": _is_factor,
    "required": _are_names,
    "examples": _is(list),
    "dependentRequired": _are_needs,
    "$ref": _is(str),
}
