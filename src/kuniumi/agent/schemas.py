"""A tool's input schema in the dialect that a provider takes.

In: any JSON schema, from a server that nobody vouches for. Out: a new schema whose root is an
object; what the dialect has no keyword for is told in words, in the description. References are
resolved within the schema only; what refers to itself is cut where a dialect knows no references,
and the work is bounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from kuniumi.agent.checking import check, resolve
from kuniumi.agent.json_text import write
from kuniumi.agent.mending import TYPES, mend
from kuniumi.agent.plain import make_plain
from kuniumi.agent.property_names import rename
from kuniumi.agent.property_names import restore as restore_names

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLES = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("additionalItems", "unevaluatedProperties", "unevaluatedItems"),
)
_MAX_NODES = 20_000
_MANY_CHOICES = 250
_MAX_SPELLED_OF_MANY = 15_000
_LOOKS_AROUND = re.compile(r"\(\?(?!:)|\\[1-9]")  # what patterns may not do where they are enforced
_MAX_DEPTH = 60
_LEFT_OUT = (
    *("$schema", "$id", "$comment", "$vocabulary", "$anchor", "$dynamicAnchor"),
    "definitions",  # those of the root are its $defs by now
)
_TOLD = (
    *("default", "examples", "pattern", "format", "minLength", "maxLength", "minimum", "maximum"),
    *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems"),
    *("minProperties", "maxProperties", "contentEncoding", "contentMediaType", "const"),
)
_EVERYWHERE = frozenset({"type", "enum", "description", "title", "properties", "required", "items"})


class _NotStrictError(Exception):
    """The schema has no form in the strict dialect."""


class _Strict(NamedTuple):
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
_OPENAI = _Strict(
    keeps=_EVERYWHERE
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
_ANTHROPIC = _Strict(
    keeps=_EVERYWHERE
    | frozenset(["const", "anyOf", "$ref", "$defs", "format", "additionalProperties", "default"]),
    formats=_FORMATS | {"uri"},
    all_required=False,
    recursion=False,
    max_depth=30,
    max_properties=5_000,
    max_choices=1_000,
    max_spelled=120_000,
)
_GEMINI_KEEPS = _EVERYWHERE | frozenset(
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
_NOT_AT_ROOT = frozenset({"anyOf", "oneOf", "allOf", "enum", "const", "not", "items"})
_NOT_STRICT = (
    *("allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "prefixItems"),
    *("patternProperties", "contains", "propertyNames", "unevaluatedProperties", "dependencies"),
    *("unevaluatedItems", "minContains", "additionalItems", "$dynamicRef", "$recursiveRef"),
)


def for_openai(schema: Any, *, strict: bool) -> tuple[Schema, bool]:
    """Give the schema for OpenAI, and whether it is in the strict dialect."""
    made, is_strict = _maybe_strict(_prepare(schema), _OPENAI if strict else None)
    return (made if is_strict else _with_items(made)), is_strict


def for_anthropic(schema: Any, *, strict: bool) -> tuple[Schema, bool]:
    """Give the schema for Anthropic, and whether it is in the strict dialect."""
    return _maybe_strict(rename(_prepare(schema)), _ANTHROPIC if strict else None)


def for_gemini(schema: Any) -> Schema:
    """Give the schema for Gemini, without references and without keywords it does not know."""
    made: Schema = _with_items(_simplify(_prepare(schema, everything=True)))
    return made


def restore_arguments(arguments: Any, schema: Any) -> Any:
    """Give the arguments that were meant, by their own names.

    The nulls are dropped that a strict schema made a model send for what is optional and cannot be
    null.
    """
    root = _prepare(schema)
    return _restore(restore_names(arguments, root), root, root, 0)


# ---- the root, and the references ------------------------------------------------------------------


def _prepare(schema: Any, *, everything: bool = False) -> Schema:
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
        if not isinstance(node, dict) or depth > _MAX_DEPTH:
            return node
        moved: Schema = _map_children(node, lambda child: go(child, depth + 1))
        ref = moved.get("$ref")
        if isinstance(ref, str) and ref.startswith("#/definitions/"):
            moved["$ref"] = "#/$defs/" + ref.removeprefix("#/definitions/")
        return moved

    merged = {**schema["definitions"], **_dict(schema.get("$defs"))}
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
        if self.nodes > _MAX_NODES or depth > _MAX_DEPTH:
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
        return _map_children(node, lambda child: self.go(child, inside, depth + 1))

    def follow(self, node: Schema, ref: Any, inside: tuple[str, ...], depth: int) -> Schema:
        others = {key: item for key, item in node.items() if key != "$ref"}
        target = None
        if isinstance(ref, str) and ref.startswith("#"):
            target = self.root if ref == "#" else resolve(self.root, ref)
        if not isinstance(target, dict):
            note = f"(described elsewhere: {str(ref)[:100]})"
            return self.children(_described(others, note), inside, depth)
        named = isinstance(ref, str) and ref.startswith("#/$defs/") and "/" not in ref[8:]
        if not self.everything and (named or ref == "#"):
            return {**self.children(others, inside, depth), "$ref": ref}
        if ref in inside:
            kept = {key: target[key] for key in ("type", "description") if key in target}
            cut = _described({**kept, **others}, "(nested, of the same form)")
            return self.children(cut, inside, depth)
        whole = {**{key: item for key, item in target.items() if key != "$defs"}, **others}
        made: Schema = self.go(whole, (*inside, ref), depth + 1)
        return made


def _as_object(root: Schema) -> Schema:
    """Give a root that is an object and nothing else: no provider takes a choice there."""
    merged = {key: item for key, item in root.items() if key not in _NOT_AT_ROOT}
    properties = dict(_dict(root.get("properties")))
    required = [name for name in _list(root.get("required")) if isinstance(name, str)]
    for keyword in ("allOf", "anyOf", "oneOf"):
        arms = []
        for arm in _list(root.get(keyword)):
            ref = arm.get("$ref") if isinstance(arm, dict) else None
            target = resolve(root, ref) if isinstance(ref, str) and ref.startswith("#/") else arm
            if isinstance(target, dict):
                arms.append(target)
        for arm in arms:
            for name, each in _dict(arm.get("properties")).items():
                properties.setdefault(name, each)
        needed = [set(filter(_is_text, _list(arm.get("required")))) for arm in arms]
        if needed:
            common = set.union(*needed) if keyword == "allOf" else set.intersection(*needed)
            required.extend(sorted(common - set(required)))
        if len(arms) > 1 and keyword != "allOf" and any(needed):
            ways = " or ".join(", ".join(sorted(names)) or "nothing" for names in needed)
            merged = _described(merged, f"(needs {ways})")
    merged["type"] = "object"
    merged["properties"] = properties
    merged.pop("required", None)
    if required:
        merged["required"] = [name for name in dict.fromkeys(required) if name in properties]
    return merged


# ---- strict dialects -------------------------------------------------------------------------------


def _maybe_strict(root: Schema, strict: _Strict | None) -> tuple[Schema, bool]:
    if strict is None:
        return root, False
    try:
        made = _Tightener(root, strict).whole()
    except (_NotStrictError, RecursionError):
        return root, False
    return made, True


class _Tightener:
    """Makes one schema strict, or finds that it cannot be."""

    def __init__(self, root: Schema, strict: _Strict) -> None:
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
        choices = _list(node.get("enum"))
        if len(choices) > _MANY_CHOICES and _spelled(choices) > _MAX_SPELLED_OF_MANY:
            raise _NotStrictError
        names = [*_dict(node.get("properties")), *_dict(node.get("$defs"))]
        self.properties += len(_dict(node.get("properties")))
        self.choices += len(choices)
        self.spelled += _spelled([*names, *choices, node.get("const")])

    def go(self, node: Any, depth: int) -> Schema:
        self.nodes += 1
        if not isinstance(node, dict) or depth > _MAX_DEPTH or self.nodes > _MAX_NODES:
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
        if "properties" in node or _may_be(node, "object"):
            node = self.closed(node)
        if _may_be(node, "array") and not isinstance(node.get("items"), dict):
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
            elif key in _TOLD:
                words.append(f"{key}: {write(item, [])[1]}")
        return _described(kept, f"({', '.join(words)})") if words else kept

    def closed(self, node: Schema) -> Schema:
        """Give an object that has these properties and no others."""
        properties = node.get("properties")
        others = node.get("additionalProperties")
        if others not in (None, False) or (not isinstance(properties, dict)):
            raise _NotStrictError
        if not properties and others is None:
            raise _NotStrictError  # any object at all
        required = [name for name in _list(node.get("required")) if name in properties]
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


# ---- the simple dialect ----------------------------------------------------------------------------


def _simplify(node: Any) -> Any:
    """Give a schema in the few keywords that Gemini knows."""
    if not isinstance(node, dict):
        return node
    arms = _list(node.get("allOf"))
    if arms:
        node = _merged(node, arms)
    if None in _list(node.get("enum")) and len(node["enum"]) > 1:
        node = _null_apart(node)
    kept, words = _in_gemini_s_words(node)
    if "required" in kept:
        kept["required"] = [each for each in kept["required"] if each in kept.get("properties", {})]
    if all(isinstance(each, str) for each in kept.get("enum", [None])):
        kept.setdefault("type", "string")
    if words:
        kept = _described(kept, f"({', '.join(words)})")
    return _map_children(kept, _simplify)


def _in_gemini_s_words(node: Schema) -> tuple[Schema, list[str]]:
    """Give the keywords that Gemini knows, and in words what the others say."""
    kept: Schema = {}
    words = []
    for key, item in node.items():
        if key in {"oneOf", "anyOf"}:
            kept["anyOf"] = [*kept.get("anyOf", []), *_list(item)]
        elif key in _GEMINI_KEEPS and _knows(key, item):
            kept[key] = item
        elif key == "const" and _is_choice(item):
            kept["enum"] = [item]
        elif key in _TOLD or key == "enum":
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
                merged[key] = {**item, **_dict(merged.get(key))}
            elif key == "required" and isinstance(item, list):
                merged[key] = list(
                    dict.fromkeys([*_list(merged.get(key)), *filter(_is_text, item)])
                )
            else:
                merged.setdefault(key, item)
    return merged


# ---- arguments on their way back -------------------------------------------------------------------


def _restore(arguments: Any, schema: Any, root: Schema, depth: int) -> Any:
    schema = _target(schema, root)
    if depth > _MAX_DEPTH or not isinstance(schema, dict):
        return arguments
    if isinstance(arguments, dict):
        properties = _dict(schema.get("properties"))
        required = _list(schema.get("required"))
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
    for _ in range(_MAX_DEPTH):
        if not isinstance(schema, dict):
            break
        if isinstance(schema.get("$ref"), str):
            schema = root if schema["$ref"] == "#" else resolve(root, schema["$ref"])
            continue
        arms = _list(schema.get("anyOf")) or _list(schema.get("oneOf"))
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
    made = _map_children(node, _with_items) if isinstance(node, dict) else node
    if (
        isinstance(made, dict)
        and _may_be(made, "array")
        and not isinstance(made.get("items"), dict)
    ):
        made["items"] = {}
    return made


def _spelled(values: list[Any]) -> int:
    return sum(len(each) for each in values if isinstance(each, str))


# ---- what schemas are made of ----------------------------------------------------------------------


def _map_children(node: Schema, act: Callable[[Any], Any]) -> Schema:
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
            _map_children(each, go)
        return each

    go(node)
    return found


def _described(schema: Schema, note: str) -> Schema:
    """Add a note to the description."""
    described = schema.get("description")
    text = f"{described} {note}" if isinstance(described, str) and described else note
    return {**schema, "description": text}


def _may_be(node: Schema, kind: str) -> bool:
    named = node.get("type")
    return kind in named if isinstance(named, list) else named == kind


def _is_text(found: Any) -> bool:
    return isinstance(found, str)


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _dict(found: Any) -> Schema:
    return found if isinstance(found, dict) else {}
