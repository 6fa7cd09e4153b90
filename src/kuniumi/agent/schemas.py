"""A tool's input schema in the dialect that a provider takes, and a model's arguments back from it.

In: any JSON schema, from a server that nobody vouches for. Out: a new schema whose root is an
object; what the dialect has no keyword for is told in words, in the description. And for the
arguments that a model then gives, the ones that were meant.
"""

from __future__ import annotations

from typing import Any

from kuniumi.agent.checking import check, resolve
from kuniumi.agent.dialects.names import rename
from kuniumi.agent.dialects.names import restore as restore_names
from kuniumi.agent.dialects.parts import MAX_DEPTH, Schema, as_dict, as_list, map_children, may_be
from kuniumi.agent.dialects.root import prepare
from kuniumi.agent.dialects.simple import simplify
from kuniumi.agent.dialects.strict import ANTHROPIC, OPENAI, tighten


def for_openai(schema: Any, *, strict: bool) -> tuple[Schema, bool]:
    """Give the schema for OpenAI, and whether it is in the strict dialect."""
    made, is_strict = tighten(prepare(schema), OPENAI if strict else None)
    return (made if is_strict else _with_items(made)), is_strict


def for_anthropic(schema: Any, *, strict: bool) -> tuple[Schema, bool]:
    """Give the schema for Anthropic, and whether it is in the strict dialect."""
    return tighten(rename(prepare(schema)), ANTHROPIC if strict else None)


def for_gemini(schema: Any) -> Schema:
    """Give the schema for Gemini, without references and without keywords it does not know."""
    made: Schema = _with_items(simplify(prepare(schema, everything=True)))
    return made


def restore_arguments(arguments: Any, schema: Any) -> Any:
    """Give the arguments that were meant, by their own names.

    The nulls are dropped that a strict schema made a model send for what is optional and cannot be
    null.
    """
    root = prepare(schema)
    return _restore(restore_names(arguments, root), root, root, 0)


def _restore(arguments: Any, schema: Any, root: Schema, depth: int) -> Any:
    schema = _target(schema, root)
    if depth > MAX_DEPTH or not isinstance(schema, dict):
        return arguments
    if isinstance(arguments, dict):
        properties = as_dict(schema.get("properties"))
        required = as_list(schema.get("required"))
        return {
            name: _restore(item, properties.get(name), root, depth + 1)
            for name, item in arguments.items()
            if item is not None
            or name in required
            or name not in properties
            or _takes_null(properties[name], root)
        }
    if isinstance(arguments, list) and isinstance(schema.get("items"), dict):
        return [_restore(item, schema["items"], root, depth + 1) for item in arguments]
    return arguments


def _target(schema: Any, root: Schema) -> Any:
    """Follow references, and the only arm that is not null."""
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, dict):
            break
        if isinstance(schema.get("$ref"), str):
            schema = root if schema["$ref"] == "#" else resolve(root, schema["$ref"])
            continue
        arms = as_list(schema.get("anyOf")) or as_list(schema.get("oneOf"))
        arms = [arm for arm in arms if not (isinstance(arm, dict) and arm.get("type") == "null")]
        if len(arms) != 1:
            break
        schema = arms[0]
    return schema


def _takes_null(schema: Any, root: Schema) -> bool:
    if isinstance(schema, dict) and "$defs" in root:
        schema = {**schema, "$defs": root["$defs"]}
    return not check(None, schema)


def _with_items(node: Any) -> Any:
    """Give the schema with something said of the items of every array: some ask for that."""
    made = map_children(node, _with_items) if isinstance(node, dict) else node
    if isinstance(made, dict) and may_be(made, "array") and not isinstance(made.get("items"), dict):
        made["items"] = {}
    return made
