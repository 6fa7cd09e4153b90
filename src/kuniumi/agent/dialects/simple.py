"""The simple dialect: a schema in the few keywords that Gemini knows.

In: a schema whose root is an object, without references. Out: the same in those keywords; what they
cannot say is told in words, in the description.
"""

from __future__ import annotations

from typing import Any

from kuniumi.agent.dialects.parts import (
    EVERYWHERE,
    TOLD,
    Schema,
    add_note,
    as_dict,
    as_list,
    is_text,
    map_children,
)
from kuniumi.agent.json_text import write

_GEMINI_KEEPS = EVERYWHERE | frozenset(
    [
        "anyOf",
        "format",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "additionalProperties",
    ]
)
_GEMINI_FORMATS = frozenset({"date-time", "date", "time", "int32", "int64", "float", "double"})


def simplify(node: Any) -> Any:
    """Give a schema in the few keywords that Gemini knows."""
    if not isinstance(node, dict):
        return node
    arms = as_list(node.get("allOf"))
    if arms:
        node = _merged(node, arms)
    if None in as_list(node.get("enum")) and len(node["enum"]) > 1:
        node = _null_apart(node)
    kept, words = _in_gemini_s_words(node)
    if "required" in kept:
        kept["required"] = [each for each in kept["required"] if each in kept.get("properties", {})]
    if all(isinstance(each, str) for each in kept.get("enum", [None])):
        kept.setdefault("type", "string")
    if words:
        kept = add_note(kept, f"({', '.join(words)})")
    return map_children(kept, simplify)


def _in_gemini_s_words(node: Schema) -> tuple[Schema, list[str]]:
    """Give the keywords that Gemini knows, and in words what the others say."""
    kept: Schema = {}
    words = []
    for key, item in node.items():
        if key in {"oneOf", "anyOf"}:
            kept["anyOf"] = [*kept.get("anyOf", []), *as_list(item)]
        elif key in _GEMINI_KEEPS and _knows(key, item):
            kept[key] = item
        elif key == "const" and _is_choice(item):
            kept["enum"] = [item]
        elif key in TOLD or key == "enum":
            words.append(f"{key}: {write(item, [])[1]}")
    return kept, words


def _null_apart(node: Schema) -> Schema:
    """Give a choice between null and the rest of what a schema names: `enum` may not name null."""
    described: Schema = {key: node[key] for key in ("description", "title") if key in node}
    rest = {key: item for key, item in node.items() if key not in described}
    rest["enum"] = [each for each in node["enum"] if each is not None]
    if isinstance(rest.get("type"), list):
        kinds = [kind for kind in rest["type"] if kind != "null"]
        rest["type"] = kinds[0] if len(kinds) == 1 else kinds
    return {**described, "anyOf": [rest, {"type": "null"}]}


def _knows(key: str, item: Any) -> bool:
    """Whether Gemini knows this value of a keyword that it knows."""
    if key == "enum":
        return all(map(_is_choice, item))
    return key != "format" or item in _GEMINI_FORMATS


def _is_choice(found: Any) -> bool:
    """Whether a value may be named in Gemini's `enum`: words that are not empty, and numbers."""
    if isinstance(found, str):
        return bool(found)
    return isinstance(found, (int, float)) and not isinstance(found, bool)


def _merged(node: Schema, arms: list[Any]) -> Schema:
    """Give what all of these and the node itself ask for, as far as one schema can say it."""
    merged = {key: item for key, item in node.items() if key != "allOf"}
    for arm in arms:
        for key, item in arm.items() if isinstance(arm, dict) else ():
            if key == "properties" and isinstance(item, dict):
                merged[key] = {**item, **as_dict(merged.get(key))}
            elif key == "required" and isinstance(item, list):
                merged[key] = list(
                    dict.fromkeys([*as_list(merged.get(key)), *filter(is_text, item)])
                )
            else:
                merged.setdefault(key, item)
    return merged
