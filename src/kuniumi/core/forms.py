"""The forms of text: what msgspec's schema leaves out, or says otherwise than it is.

In: what msgspec knows of a type, and the schema it made of it. Out: the same schema, which now
holds for what is taken (`validation`) or for what is given (`serialization`); the two are walked
side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import inspect

if TYPE_CHECKING:
    from collections.abc import Iterator

    Schema = dict[str, Any]

_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?"
_OFFSET = r"([Zz]|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])"
TIME = f"^{_CLOCK}{_OFFSET}?$"
"""Every time that is taken: `format: time` would demand an offset, and allow a leap second."""

DECIMAL = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,17})?$"
"""Every text that is taken for a decimal; a number is taken too."""

_WRITTEN_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?$"
WRITTEN_TIME = f"^{_WRITTEN_CLOCK}"
WRITTEN_MOMENT = f"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T{_WRITTEN_CLOCK}"
"""What goes out for a datetime that may have no offset: then it is no `format: date-time`."""

_INTEGER = "^-?(0|[1-9][0-9]*)$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_OBJECTS = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)
_SETS = (inspect.SetType, inspect.FrozenSetType)


def tell_forms(kind: inspect.Type, schema: Schema, pages: dict[str, Schema], mode: str) -> None:
    """Mend the schema, and the pages it refers to, so that it says what is so in this mode."""
    waiting = [(kind, schema)]
    seen = set()
    while waiting:
        kind, schema = waiting.pop()
        kind = _bare(kind)
        if "$ref" in schema:
            if schema["$ref"] in seen:
                continue
            seen.add(schema["$ref"])
            schema = pages.get(schema["$ref"], {})
        waiting.extend(_parts(kind, schema))  # the parts are found by how msgspec put them
        _tell(kind, schema, mode)


def _bare(kind: inspect.Type) -> inspect.Type:
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    return kind


def _tell(kind: inspect.Type, schema: Schema, mode: str) -> None:
    """Mend what one schema says of its own type."""
    if isinstance(kind, (inspect.DateTimeType, inspect.TimeType)):
        for key, value in _form(kind, mode).items():
            schema.setdefault(key, value)
    elif isinstance(kind, inspect.DictType):
        names = _names(kind.key_type, mode)
        if names:
            schema["propertyNames"] = names
    elif mode != "validation":
        return
    elif isinstance(kind, inspect.DecimalType):
        schema.pop("type")
        schema.pop("format")
        schema["anyOf"] = [{"type": "string", **_form(kind, mode)}, {"type": "number"}]
    elif isinstance(kind, _SETS) and (kind.min_length or 0) < 2:
        schema.pop("uniqueItems", None)  # doubles are taken, and are one


def _form(kind: inspect.Type, mode: str) -> Schema:
    """Tell text of this type from other text."""
    incoming = mode == "validation"
    if isinstance(kind, inspect.DateTimeType):
        return {"format": "date-time"} if incoming or kind.tz else {"pattern": WRITTEN_MOMENT}
    if isinstance(kind, inspect.TimeType):
        form = {"format": "time"} if kind.tz else {}
        if incoming:
            return {**form, "pattern": f"^{_CLOCK}{_OFFSET}$" if kind.tz else TIME}
        return form or {"pattern": WRITTEN_TIME}
    if isinstance(kind, inspect.DecimalType):
        return {"format": "decimal", **({"pattern": DECIMAL} if incoming else {})}
    return {}


_KEYS: dict[type, Schema] = {
    inspect.IntType: {"pattern": _INTEGER},
    inspect.FloatType: {"pattern": _NUMBER},
    inspect.DateType: {"format": "date"},
    inspect.TimeDeltaType: {"format": "duration"},
    inspect.UUIDType: {"format": "uuid"},
    inspect.BytesType: {"contentEncoding": "base64"},
}


def _names(kind: inspect.Type, mode: str) -> Schema:
    """Describe the keys of an object; nothing where msgspec did, or any will do."""
    kind = _bare(kind)
    if isinstance(kind, inspect.UnionType):
        arms = [_names(arm, mode) for arm in kind.types]
        return {"anyOf": arms} if all(arms) else {}
    if isinstance(kind, inspect.LiteralType):
        return {"enum": [str(choice) for choice in kind.values]}
    if isinstance(kind, inspect.EnumType):
        return {"enum": sorted(str(member.value) for member in kind.cls)}
    form = _KEYS.get(type(kind)) or _form(kind, mode)
    return {"type": "string", **form} if form else {}


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
        bare = _bare(arm)
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
