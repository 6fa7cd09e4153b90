"""The named types of one document: which are written in place, and what the others are called.

In: annotations. Out: schemas, and the definitions they refer to. It must not know what stands
around them: arguments, envelopes, OpenAPI's paths.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.codec import dumps
from kuniumi.core.forms import tell_forms
from kuniumi.core.types import is_made_of_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Schema = dict[str, Any]


class Book:
    """The named types of one document, first as they come, then each once and under its name.

    Each annotation is described by itself, with references of its own. Only then is it decided
    which of them say the same, which are written in place, and what the others are called: so
    it does not matter which library described a type, nor what classes share a name.
    """

    def __init__(self, *, for_openapi: bool) -> None:
        self.for_openapi = for_openapi
        self.pages: dict[str, Schema] = {}  # reference → definition
        self.names: dict[str, str] = {}  # reference → the name it would like
        self.modes: dict[str, str] = {}  # reference → whether it is sent or gotten
        self._count = 0

    # ---- describing ----------------------------------------------------------------------------

    def describe(self, annotation: Any, mode: str) -> Schema:
        """Write down one annotation, and the named types it is made of."""
        if mode == "serialization" and is_made_of_models(annotation):
            return self._model(annotation, mode)
        template = self._template()
        (schema,), definitions = msgspec.json.schema_components(
            (annotation,),
            schema_hook=lambda model: self._model(model, mode),
            ref_template=template,
        )
        pages = {template.format(name=name): page for name, page in definitions.items()}
        tell_forms(msgspec.inspect.type_info(annotation), schema, pages, mode)
        self._add(definitions, template, mode)
        return self._cleaned(schema)

    def _model(self, annotation: Any, mode: str) -> Schema:
        from kuniumi.core.models import model_schema  # noqa: PLC0415 - pydantic is the user's choice

        template = self._template()
        schema, definitions = model_schema(annotation, mode, template)
        self._add(definitions, template, mode)
        return self._cleaned(schema)

    def _template(self) -> str:
        self._count += 1
        return f"#/{self._count}/{{name}}"

    def _add(self, definitions: dict[str, Schema], template: str, mode: str) -> None:
        for name, schema in definitions.items():
            ref = template.format(name=name)
            self.pages[ref] = self._cleaned(schema)
            self.names[ref] = _plain_name(str(schema.get("title", name))) or _plain_name(name)
            self.modes[ref] = mode

    def _cleaned(self, schema: Schema) -> Schema:
        """Take out what this document can't say."""

        def clean(part: Schema) -> Schema:
            if not self.for_openapi:
                part.pop("discriminator", None)
            elif _says_its_length_twice(part):
                del part["items"]
            if "anyOf" in part:
                part["anyOf"] = _flat(part["anyOf"])
            default = part.get("default")
            if isinstance(default, float) and not isfinite(default):
                del part["default"]
            return part

        cleaned: Schema = _rebuilt(schema, clean)
        return cleaned

    # ---- finishing -----------------------------------------------------------------------------

    def finish(
        self, written: list[list[Schema]], ref_template: str
    ) -> tuple[list[list[Schema]], dict[str, Schema]]:
        """Give what was written, and the definitions that stay, with their final references."""
        same = self._same()
        pages = {ref: _with_refs(self.pages[ref], same) for ref in dict.fromkeys(same.values())}
        written = [[_with_refs(schema, same) for schema in group] for group in written]
        uses = dict.fromkeys(pages, 0)
        for schema in [*(schema for group in written for schema in group), *pages.values()]:
            for ref in _refs(schema):
                if ref in uses:
                    uses[ref] += 1
        single = {ref for ref in pages if uses[ref] == 1 and not _reaches_itself(ref, pages)}

        def expand(part: Schema) -> Schema:
            ref = part.get("$ref")
            if ref not in single:
                return part
            beside = {key: value for key, value in part.items() if key != "$ref"}
            return {**_rebuilt(pages[ref], expand), **beside}

        final: dict[str, str] = {}
        kept: dict[str, Schema] = {}
        for ref, page in pages.items():
            if ref not in single and uses[ref]:
                name = _free(self.names[ref], self.modes[ref], kept)
                kept[name] = _rebuilt(page, expand)
                if "title" in page:  # generators of clients go by it
                    kept[name]["title"] = name
                final[ref] = ref_template.format(name=name)
        schemas = [
            [_with_refs(_rebuilt(schema, expand), final) for schema in group] for group in written
        ]
        return schemas, {name: _with_refs(schema, final) for name, schema in kept.items()}

    def _same(self) -> dict[str, str]:
        """Find the definitions that say the same: each reference → the first one that says it.

        At first all of one name count as the same. Whoever differs, or refers to what differs,
        is taken out, until nothing changes any more: recursive types need no special care.
        """
        same = dict(self.names)
        while True:
            first: dict[tuple[str, bytes], str] = {}
            finer = {
                ref: first.setdefault((same[ref], dumps(_with_refs(page, same))), ref)
                for ref, page in self.pages.items()
            }
            if len(first) == len(set(same.values())):
                return finer
            same = finer


def _plain_name(name: str) -> str:
    """Give a name that every document can hold: `Box[int]` becomes `Box_int`."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def _free(name: str, mode: str, taken: dict[str, Any]) -> str:
    name = name or "Type"
    if name in taken and mode == "serialization":
        name = f"{name}Output"
    numbered = (f"{name}{number}" for number in range(2, len(taken) + 3))
    return next(free for free in (name, *numbered) if free not in taken)


def _flat(arms: list[Any]) -> list[Any]:
    """Put the arms of a bare union within a union beside the others."""
    return [
        inner
        for arm in arms
        for inner in (arm["anyOf"] if isinstance(arm, dict) and arm.keys() == {"anyOf"} else [arm])
    ]


def _says_its_length_twice(schema: Schema) -> bool:
    """Whether `items: false` adds nothing; generators of clients stumble over such a schema."""
    first: Any = schema.get("prefixItems")
    return schema.get("items") is False and bool(first) and schema.get("maxItems") == len(first)


def _reaches_itself(start: str, pages: dict[str, Schema]) -> bool:
    waiting, seen = [start], set()
    while waiting:
        for ref in _refs(pages[waiting.pop()]):
            if ref == start:
                return True
            if ref in pages and ref not in seen:
                seen.add(ref)
                waiting.append(ref)
    return False


# ---- walking through schemas ---------------------------------------------------------------------

_VALUES = frozenset({"default", "const", "enum", "examples", "example", "required"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})


def _rebuilt(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """Copy a schema, with each schema in it changed, the innermost first.

    Values are left alone, and a property may be called `$ref`.
    """
    if isinstance(schema, list):
        return [_rebuilt(item, change) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy: Schema = {}
    for key, value in schema.items():
        if key in _VALUES or key == "discriminator":
            copy[key] = value
        elif key in _NAMED:
            copy[key] = {name: _rebuilt(part, change) for name, part in value.items()}
        else:
            copy[key] = _rebuilt(value, change)
    return change(copy)


def _with_refs(schema: Schema, refs: dict[str, str]) -> Schema:
    """Copy a schema with its references exchanged; one that its author wrote is left alone."""

    def change(part: Schema) -> Schema:
        if "$ref" in part:
            part["$ref"] = refs.get(part["$ref"], part["$ref"])
        mapping = part.get("discriminator", {}).get("mapping")
        if mapping:
            mapping = {value: refs.get(ref, ref) for value, ref in mapping.items()}
            part["discriminator"] = {**part["discriminator"], "mapping": mapping}
        return part

    changed: Schema = _rebuilt(schema, change)
    return changed


def _refs(schema: Schema) -> Iterator[str]:
    """Give the references in a schema, each as often as it stands there."""
    found: list[str] = []

    def look(part: Schema) -> Schema:
        if "$ref" in part:
            found.append(part["$ref"])
        found.extend(part.get("discriminator", {}).get("mapping", {}).values())
        return part

    _rebuilt(schema, look)
    return iter(found)
