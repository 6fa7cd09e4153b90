"""The strict dialects: a schema that a provider holds a model to, word for word.

In: a schema whose root is an object. Out: the same in the dialect, or as it was if it has no form
there. What the dialect has no keyword for is told in words, in the description.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from kuniumi.agent.checking import check, resolve
from kuniumi.agent.dialects.mending import TYPES
from kuniumi.agent.dialects.parts import (
    EVERYWHERE,
    MAX_DEPTH,
    MAX_NODES,
    TOLD,
    Schema,
    add_note,
    as_dict,
    as_list,
    map_children,
    may_be,
)
from kuniumi.agent.json_text import write

_MANY_CHOICES = 250
_MAX_SPELLED_OF_MANY = 15_000
_LOOKS_AROUND = re.compile(r"\(\?(?!:)|\\[1-9]")  # what patterns may not do where they are enforced
_NOT_STRICT = (
    *("allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "prefixItems"),
    *("patternProperties", "contains", "propertyNames", "unevaluatedProperties", "dependencies"),
    *("unevaluatedItems", "minContains", "additionalItems", "$dynamicRef", "$recursiveRef"),
)


class _NotStrictError(Exception):
    """The schema has no form in the strict dialect."""


class Strict(NamedTuple):
    """What a provider's strict mode takes."""

    keeps: frozenset[str]
    formats: frozenset[str]
    all_required: bool
    recursion: bool
    max_depth: int
    max_properties: int
    max_choices: int
    max_spelled: int


_FORMATS = frozenset(
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]
)


OPENAI = Strict(
    keeps=EVERYWHERE
    | frozenset(
        [
            "const",
            "anyOf",
            "$ref",
            "$defs",
            "pattern",
            "format",
            "additionalProperties",
            "minItems",
            "maxItems",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ]
    ),
    formats=_FORMATS,
    all_required=True,
    recursion=True,
    max_depth=10,
    max_properties=5_000,
    max_choices=1_000,
    max_spelled=120_000,
)


ANTHROPIC = Strict(
    keeps=EVERYWHERE
    | frozenset(["const", "anyOf", "$ref", "$defs", "format", "additionalProperties", "default"]),
    formats=_FORMATS | {"uri"},
    all_required=False,
    recursion=False,
    max_depth=30,
    max_properties=5_000,
    max_choices=1_000,
    max_spelled=120_000,
)


def tighten(root: Schema, strict: Strict | None) -> tuple[Schema, bool]:
    """Give the schema in a strict dialect, and whether it has a form there; else as it was."""
    if strict is None:
        return root, False
    try:
        made = _Tightener(root, strict).whole()
    except (_NotStrictError, RecursionError):
        return root, False
    return made, True


class _Tightener:
    """Makes one schema strict, or finds that it cannot be."""

    def __init__(self, root: Schema, strict: Strict) -> None:
        self.root = root
        self.strict = strict
        self.nodes = 0
        self.properties = 0
        self.choices = 0
        self.spelled = 0  # the characters of all names and choices
        self.depths: dict[str, int] = {}

    def whole(self) -> Schema:
        root = {"additionalProperties": False, **self.root}
        made = self.go(root, 0)
        strict = self.strict
        if (
            self.depth(made, made, ()) > strict.max_depth
            or self.properties > strict.max_properties
            or self.choices > strict.max_choices
            or self.spelled > strict.max_spelled
        ):
            raise _NotStrictError
        return made

    def count(self, node: Schema) -> None:
        """Count what a provider limits in the whole schema."""
        choices = as_list(node.get("enum"))
        if len(choices) > _MANY_CHOICES and _spelled(choices) > _MAX_SPELLED_OF_MANY:
            raise _NotStrictError
        names = [*as_dict(node.get("properties")), *as_dict(node.get("$defs"))]
        self.properties += len(as_dict(node.get("properties")))
        self.choices += len(choices)
        self.spelled += _spelled([*names, *choices, node.get("const")])

    def go(self, node: Any, depth: int) -> Schema:
        self.nodes += 1
        if not isinstance(node, dict) or depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise _NotStrictError
        arms = node.get("allOf")
        if isinstance(arms, list) and len(arms) == 1 and isinstance(arms[0], dict):
            rest = {key: item for key, item in node.items() if key != "allOf"}
            return self.go({**arms[0], **rest}, depth)
        if any(keyword in node for keyword in _NOT_STRICT) or not _is_well_formed(node):
            raise _NotStrictError
        if "oneOf" in node:
            if "anyOf" in node:
                raise _NotStrictError
            node = {"anyOf" if key == "oneOf" else key: item for key, item in node.items()}
        if "$ref" in node and len(node) > 1:
            node = self.beside(node)
        node = self.told(node)
        self.count(node)
        if not node.keys() & {"type", "enum", "const", "anyOf", "$ref"}:
            raise _NotStrictError  # it takes anything
        if "properties" in node or may_be(node, "object"):
            node = self.closed(node)
        if may_be(node, "array") and not isinstance(node.get("items"), dict):
            raise _NotStrictError
        return self.within(node, depth)

    def beside(self, node: Schema) -> Schema:
        """Give a reference that has words beside it: only alone may one stand."""
        target = resolve(self.root, node["$ref"]) if node["$ref"] != "#" else None
        definitions = {"$defs": node["$defs"]} if "$defs" in node else {}
        if not isinstance(target, dict) or self.refers_to_itself(node["$ref"]):
            return {"$ref": node["$ref"], **definitions}
        others = {key: item for key, item in node.items() if key != "$ref"}
        return {**target, **others}

    def refers_to_itself(self, ref: str) -> bool:
        seen, waiting = set(), [ref]
        while waiting:
            target = resolve(self.root, waiting.pop())
            for each in _refs_in(target):
                if each in {ref, "#"}:
                    return True
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return False

    def told(self, node: Schema) -> Schema:
        """Tell in words what the dialect has no keyword for."""
        kept, words = {}, []
        for key, item in node.items():
            odd = (key == "format" and item not in self.strict.formats) or (
                key == "pattern" and _LOOKS_AROUND.search(item)
            )
            if key in self.strict.keeps and not odd:
                kept[key] = item
            elif key in TOLD:
                words.append(f"{key}: {write(item, [])[1]}")
        return add_note(kept, f"({', '.join(words)})") if words else kept

    def closed(self, node: Schema) -> Schema:
        """Give an object that has these properties and no others."""
        properties = node.get("properties")
        others = node.get("additionalProperties")
        if others not in (None, False) or (not isinstance(properties, dict)):
            raise _NotStrictError
        if not properties and others is None:
            raise _NotStrictError  # any object at all
        required = [name for name in as_list(node.get("required")) if name in properties]
        if self.strict.all_required:
            optional = properties.keys() - set(required)
            properties = {
                name: _or_null(each) if name in optional else each
                for name, each in properties.items()
            }
            required = list(properties)
        return {
            **node,
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    def within(self, node: Schema, depth: int) -> Schema:
        made = dict(node)
        for keyword in ("properties", "$defs"):
            if isinstance(made.get(keyword), dict):
                made[keyword] = {
                    name: self.go(each, depth + 1) for name, each in made[keyword].items()
                }
        if isinstance(made.get("anyOf"), list):
            made["anyOf"] = [self.go(each, depth + 1) for each in made["anyOf"]]
        if isinstance(made.get("items"), dict):
            made["items"] = self.go(made["items"], depth + 1)
        return made

    def depth(self, node: Any, root: Schema, inside: tuple[str, ...]) -> int:
        """Count the levels of nesting; a reference counts as what it refers to, once."""
        ref = node.get("$ref")
        if ref is not None:
            if ref in inside or ref == "#":
                if not self.strict.recursion:
                    raise _NotStrictError
                return 0
            target = resolve(root, ref)
            if isinstance(target, dict) and target.get("$ref") == ref:
                raise _NotStrictError  # it says nothing but itself
            if ref not in self.depths and isinstance(target, dict):
                self.depths[ref] = self.depth(target, root, (*inside, ref))
            return self.depths.get(ref, 0)
        below = [*node.get("properties", {}).values(), *node.get("anyOf", [])]
        if "items" in node:
            below.append(node["items"])
        nested = int("properties" in node or "items" in node)
        return nested + max((self.depth(each, root, inside) for each in below), default=0)


def _or_null(schema: Any) -> Any:
    """Give the schema of something optional where nothing may be left out: null stands for it."""
    if not isinstance(schema, dict) or (not check(None, schema) and "$ref" not in schema):
        return schema
    kind = schema.get("type")
    simple = isinstance(kind, str) and kind not in {"object", "array"} and "anyOf" not in schema
    if simple and "const" not in schema and "oneOf" not in schema and "allOf" not in schema:
        made = {**schema, "type": [kind, "null"]}
        if isinstance(made.get("enum"), list):
            made["enum"] = [*made["enum"], None]
        return made
    if isinstance(schema.get("anyOf"), list) and "type" not in schema and "enum" not in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    described = {key: schema[key] for key in ("description", "title") if key in schema}
    rest = {key: item for key, item in schema.items() if key not in described}
    return {**described, "anyOf": [rest, {"type": "null"}]}


def _is_well_formed(node: Schema) -> bool:
    """Whether the keywords that a strict dialect relies on have values that mean something."""
    kind = node.get("type", "null")
    kinds = kind if isinstance(kind, list) else [kind]
    choices = [node[keyword] for keyword in ("anyOf", "oneOf", "enum") if keyword in node]
    maps = [node[keyword] for keyword in ("properties", "$defs", "items") if keyword in node]
    return (
        bool(kinds)
        and all(isinstance(each, str) and each in TYPES for each in kinds)
        and all(isinstance(each, list) and each for each in choices)
        and all(isinstance(each, dict) for each in maps)
        and isinstance(node.get("$ref", ""), str)
        and isinstance(node.get("description", ""), str)
    )


def _refs_in(node: Any) -> list[str]:
    found: list[str] = []

    def go(each: Any) -> Any:
        if isinstance(each, dict):
            if isinstance(each.get("$ref"), str):
                found.append(each["$ref"])
            map_children(each, go)
        return each

    go(node)
    return found


def _spelled(values: list[Any]) -> int:
    return sum(len(each) for each in values if isinstance(each, str))
