"""A schema whose root is an object, with references that lead somewhere.

In: any JSON schema, from a server that nobody vouches for. Out: a new one whose root is an object and
no choice, with references to its `$defs` only, or with none. They are followed within the schema
only; what refers to itself is cut where there may be none, and the work is bounded.
"""

from __future__ import annotations

from typing import Any

from kuniumi.agent.checking import resolve
from kuniumi.agent.dialects.mending import mend
from kuniumi.agent.dialects.parts import (
    MAX_DEPTH,
    MAX_NODES,
    Schema,
    add_note,
    as_dict,
    as_list,
    is_text,
    map_children,
)
from kuniumi.agent.plain import make_plain

_LEFT_OUT = (
    *("$schema", "$id", "$comment", "$vocabulary", "$anchor", "$dynamicAnchor"),
    "definitions",  # those of the root are its $defs by now
)
_NOT_AT_ROOT = frozenset({"anyOf", "oneOf", "allOf", "enum", "const", "not", "items"})


def prepare(schema: Any, *, everything: bool = False) -> Schema:
    """Give a schema whose root is an object, with references to `$defs` only, or with none."""
    sent = mend(make_plain(schema, [])) if isinstance(schema, dict) else {}
    inliner = _Inliner(_one_kind_of_definitions(sent), everything=everything)
    root = inliner.go(inliner.root, (), 0)
    if "$ref" in root:  # the root is one of its definitions
        target = resolve(root, root["$ref"]) if isinstance(root["$ref"], str) else None
        definitions = root.get("$defs", {})
        root = {**(target if isinstance(target, dict) else {}), "$defs": definitions}
    root = _as_object(root)
    if everything:
        root.pop("$defs", None)
    return root


def _one_kind_of_definitions(schema: Schema) -> Schema:
    """Move `definitions`, as older drafts call them, to `$defs`, with all that refers to them."""
    if not isinstance(schema.get("definitions"), dict):
        return schema

    def go(node: Any, depth: int) -> Any:
        if not isinstance(node, dict) or depth > MAX_DEPTH:
            return node
        moved: Schema = map_children(node, lambda child: go(child, depth + 1))
        ref = moved.get("$ref")
        if isinstance(ref, str) and ref.startswith("#/definitions/"):
            moved["$ref"] = "#/$defs/" + ref.removeprefix("#/definitions/")
        return moved

    merged = {**schema["definitions"], **as_dict(schema.get("$defs"))}
    rest = {key: item for key, item in schema.items() if key != "definitions"}
    moved: Schema = go({**rest, "$defs": merged}, 0)
    return moved


class _Inliner:
    """Puts in place what is referred to, as far as it must be, and cuts what would never end."""

    def __init__(self, root: Schema, *, everything: bool) -> None:
        self.root = root
        self.everything = everything
        self.nodes = 0

    def go(self, node: Any, inside: tuple[str, ...], depth: int) -> Any:
        if not isinstance(node, dict):
            return node if isinstance(node, bool) and not self.everything else {}
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            return {"description": "(not described further)"}
        ref = node.get("$ref")
        if ref is not None:
            return self.follow(node, ref, inside, depth)
        return self.children(node, inside, depth)

    def children(self, node: Schema, inside: tuple[str, ...], depth: int) -> Schema:
        if self.everything and "$defs" in node:
            node = {key: item for key, item in node.items() if key != "$defs"}
        node = mend(node)
        if any(word in node for word in _LEFT_OUT):
            node = {key: item for key, item in node.items() if key not in _LEFT_OUT}
        return map_children(node, lambda child: self.go(child, inside, depth + 1))

    def follow(self, node: Schema, ref: Any, inside: tuple[str, ...], depth: int) -> Schema:
        others = {key: item for key, item in node.items() if key != "$ref"}
        target = None
        if isinstance(ref, str) and ref.startswith("#"):
            target = self.root if ref == "#" else resolve(self.root, ref)
        if not isinstance(target, dict):
            note = f"(described elsewhere: {str(ref)[:100]})"
            return self.children(add_note(others, note), inside, depth)
        named = isinstance(ref, str) and ref.startswith("#/$defs/") and "/" not in ref[8:]
        if not self.everything and (named or ref == "#"):
            return {**self.children(others, inside, depth), "$ref": ref}
        if ref in inside:
            kept = {key: target[key] for key in ("type", "description") if key in target}
            cut = add_note({**kept, **others}, "(nested, of the same form)")
            return self.children(cut, inside, depth)
        whole = {**{key: item for key, item in target.items() if key != "$defs"}, **others}
        made: Schema = self.go(whole, (*inside, ref), depth + 1)
        return made


def _as_object(root: Schema) -> Schema:
    """Give a root that is an object and nothing else: no provider takes a choice there."""
    merged = {key: item for key, item in root.items() if key not in _NOT_AT_ROOT}
    properties = dict(as_dict(root.get("properties")))
    required = [name for name in as_list(root.get("required")) if isinstance(name, str)]
    for keyword in ("allOf", "anyOf", "oneOf"):
        arms = []
        for arm in as_list(root.get(keyword)):
            ref = arm.get("$ref") if isinstance(arm, dict) else None
            target = resolve(root, ref) if isinstance(ref, str) and ref.startswith("#/") else arm
            if isinstance(target, dict):
                arms.append(target)
        for arm in arms:
            for name, each in as_dict(arm.get("properties")).items():
                properties.setdefault(name, each)
        needed = [set(filter(is_text, as_list(arm.get("required")))) for arm in arms]
        if needed:
            common = set.union(*needed) if keyword == "allOf" else set.intersection(*needed)
            required.extend(sorted(common - set(required)))
        if len(arms) > 1 and keyword != "allOf" and any(needed):
            ways = " or ".join(", ".join(sorted(names)) or "nothing" for names in needed)
            merged = add_note(merged, f"(needs {ways})")
    merged["type"] = "object"
    merged["properties"] = properties
    merged.pop("required", None)
    if required:
        merged["required"] = [name for name in dict.fromkeys(required) if name in properties]
    return merged
