"""Coercion: what callers send for what they mean. `"10"` for 10, `"{…}"` for an object.

In: plain JSON data and the schema it should fit. Out: the data, coerced where it can be without
losing anything, and the first place where it can't. It only ever sees what validation refused.

A value is looked at in three ways, each only where the one before found nothing: as it stands, as
mathematics has it (1.0 is an integer), and as callers write it (`"10"`). So what fits already is
never changed, not even inside of something that has to be.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Raw, Struct

from kuniumi.core.forms import DECIMAL, TIME

Schema = dict[str, Any]

EXACT, MATHEMATICAL, LOOSE = range(3)
"""How freely a value is read."""

_NUMBER = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?\Z")
_FORMS: dict[str, type] = {
    "date-time": datetime,
    "date": date,
    "time": time,
    "duration": timedelta,
    "uuid": UUID,
}
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_KINDS = {
    str: "string",
    bool: "boolean",
    int: "integer",
    Raw: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
_DEEPEST = 200
_MOST_TRIES = 500_000
_TOO_MUCH = "values as their types have them (there are too many ways to read these)"
_LONGEST_INTEGER = 4300  # digits, as Python has it


class Misfit(Struct, frozen=True):
    """The place where a value does not fit, what was expected there, and what was found."""

    path: str
    expected: str
    found: Any
    choices: tuple[Any, ...] = ()


MISSING = object()
"""What a `Misfit` found where there was nothing."""

parse = msgspec.json.Decoder(float_hook=lambda text: Raw(text.encode())).decode
"""Read JSON as plain data, with fractions still as they were written: nothing is rounded."""


def fit(
    value: Any, schema: Schema, root: Schema, path: str, *, coerce: bool
) -> tuple[Any, Misfit | None]:
    """Give the value as the schema wants it, or as it came together with where it misfits."""
    try:
        return _Fitter(root).fit(value, schema, path, LOOSE if coerce else MATHEMATICAL, 0)
    except _TooMuchError:
        return value, Misfit(path, _TOO_MUCH, value)


def resolved(schema: Schema, root: Schema) -> Schema:
    """Follow a `$ref` into the root's definitions."""
    seen = set()
    while "$ref" in schema and schema["$ref"] not in seen:
        seen.add(schema["$ref"])
        schema = root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {})
    return schema


class _TooMuchError(Exception):
    """A value that may be read in so many ways that they can't all be tried."""


class _Fitter:
    """One walk over one value.

    Its length is the value's own, but for what is within a union: that is walked over once for
    each arm and each reading, and unions within unions multiply. So only those steps are counted.
    """

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.unions = 0  # those around the value at hand
        self.tries = 0

    def fit(
        self, value: Any, schema: Schema, path: str, freedom: int, depth: int
    ) -> tuple[Any, Misfit | None]:
        schema = resolved(schema, self.root)
        if depth > _DEEPEST:
            return value, None  # the decoder has the last word anyway
        if self.unions:
            self._count(1)
        arms = _arms(schema)
        if arms:
            arms = [resolved(arm, self.root) for arm in arms]
            self.unions += 1
            try:
                return self._fit_any(value, arms, path, freedom, depth)
            finally:
                self.unions -= 1
        if "enum" in schema or "const" in schema:
            return _fit_choice(value, schema, path, freedom)
        kind = schema.get("type")
        if kind is None:
            return value, None
        value = _as_kind(value, kind, schema, freedom)
        if not _is_kind(value, kind):
            return value, Misfit(path, expectation(schema), value)
        if kind == "object":
            return self._fit_object(value, schema, path, freedom, depth)
        if kind == "array":
            return self._fit_array(value, schema, path, freedom, depth)
        return value, None

    def _count(self, steps: int) -> None:
        if self.unions:
            self.tries += steps
            if self.tries > _MOST_TRIES:
                raise _TooMuchError

    def _fit_any(
        self, value: Any, arms: list[Schema], path: str, freedom: int, depth: int
    ) -> tuple[Any, Misfit | None]:
        if isinstance(value, str):
            if any(_takes_any_text(arm) for arm in arms):
                return value, None
            value = _as_container(value, arms) if freedom >= LOOSE else value
        if isinstance(value, dict):
            arms = _tagged_first(value, arms)
        inside: Misfit | None = None
        for reading, how in _readings(value, freedom):
            inside = None
            for arm in arms:
                fitted, misfit = self.fit(reading, arm, path, how, depth + 1)
                if misfit is None and _has_its_form(fitted, arm):
                    return fitted, None
                if misfit is not None and misfit.path != path:
                    inside = inside or misfit  # it fits on the outside: this arm was meant
        misfit = _wrong_tag(value, arms, path) or inside
        if misfit is None:
            choices = tuple(choice for arm in arms for choice in _choices(arm))
            misfit = Misfit(path, _either(arms), value, choices)
        return value, misfit

    def _fit_object(
        self, value: dict[str, Any], schema: Schema, path: str, freedom: int, depth: int
    ) -> tuple[Any, Misfit | None]:
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        others = schema.get("additionalProperties", True)
        names = schema.get("propertyNames", {})
        fitted: dict[str, Any] = {}
        for name, item in value.items():
            if names and not _has_its_form(name, names):
                return value, Misfit(path, f"{expectation(names)} as a key", name)
            there = f"{path}.{name}"
            expected = properties.get(name, others)
            if expected is False:
                return value, Misfit(there, "", item, tuple(properties))
            if expected is True:
                fitted[name] = item
                continue
            part, misfit = self.fit(item, expected, there, freedom, depth + 1)
            if misfit is None:
                fitted[name] = part
            elif item is not None or freedom < LOOSE or name in required or name not in properties:
                return value, misfit
            # else: null for what has a default means the default
        for name in required:
            if name not in value:
                expected = resolved(properties.get(name, {}), self.root)
                return value, Misfit(f"{path}.{name}", expectation(expected), MISSING)
        return fitted, None

    def _fit_array(
        self, value: list[Any], schema: Schema, path: str, freedom: int, depth: int
    ) -> tuple[Any, Misfit | None]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", len(value))
        if not least <= len(value) <= most:
            return value, Misfit(path, expectation(schema), value)
        first = schema.get("prefixItems", ())
        rest = schema.get("items", {})
        if not first and isinstance(rest, dict) and _is_scalar(rest):
            return self._fit_scalars(value, rest, path, freedom)
        fitted = []
        for index, item in enumerate(value):
            expected = first[index] if index < len(first) else rest
            if not isinstance(expected, dict):
                fitted.append(item)
                continue
            part, misfit = self.fit(item, expected, f"{path}[{index}]", freedom, depth + 1)
            if misfit is not None:
                return value, misfit
            fitted.append(part)
        return fitted, None

    def _fit_scalars(
        self, value: list[Any], schema: Schema, path: str, freedom: int
    ) -> tuple[Any, Misfit | None]:
        """Do as `_fit_array` does, where there may be very many items with little to each."""
        kind = schema["type"]
        fitted = []
        for index, item in enumerate(value):
            part = _as_kind(item, kind, schema, freedom)
            if not _is_kind(part, kind):
                self._count(index)
                return value, Misfit(f"{path}[{index}]", expectation(schema), part)
            fitted.append(part)
        self._count(len(value))
        return fitted, None


# ---- one scalar ----------------------------------------------------------------------------------


def _as_kind(value: Any, kind: str, schema: Schema, freedom: int) -> Any:
    """Read a value as this kind, if nothing is lost by it; else give it as it came."""
    if kind == "integer" and isinstance(value, Raw) and freedom >= MATHEMATICAL:
        return _whole(bytes(value).decode(), value)
    if freedom < LOOSE or not isinstance(value, str):
        return value
    text = value.strip()
    if kind == "integer":
        return _whole(text, value)
    if kind == "number":
        return _number(text, value)
    if kind == "boolean":
        return _BOOLEANS.get(text.lower(), value)
    if kind == "null":
        return None if text.lower() in {"null", "none"} else value
    if kind == "string":
        return _formatted(text, schema, value)
    return _json(text, kind, value)


def _whole(text: str, otherwise: Any) -> Any:
    """Read text as an integer, exactly: `"10"`, `"1e3"` and `"10.0"` are some, `"1.5"` is not."""
    if text.isdecimal() and text.isascii() and len(text) <= _LONGEST_INTEGER:
        return int(text)
    found = _NUMBER.match(text)
    if found is None or len(text) > _LONGEST_INTEGER:
        return otherwise
    if not text.lstrip("+-").isdigit() and not isfinite(float(text)):
        return otherwise
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else otherwise


def _number(text: str, otherwise: Any) -> Any:
    """Read text as a number, and write it as JSON does: no plus sign, no leading zeros, no `.5`."""
    found = _NUMBER.match(text)
    if found is None or not isfinite(float(text)):
        return otherwise
    sign, whole, fraction, only_fraction, exponent = found.groups()
    whole = (whole or "").lstrip("0") or "0"
    fraction = fraction or only_fraction
    written = ("-" if sign == "-" else "") + whole
    written += (f".{fraction}" if fraction else "") + (f"e{exponent}" if exponent else "")
    return Raw(written.encode())


def _formatted(text: str, schema: Schema, otherwise: str) -> str:
    """Read text that has a form, as a date has: without the space around it, times in full."""
    if not _has_form(schema):
        return otherwise
    if form_of(schema) != "date-time":
        return text
    if not _has_its_form(text, schema):
        try:
            return datetime.fromisoformat(text).isoformat()
        except ValueError:
            return text
    return text


def _json(text: str, kind: str, otherwise: Any) -> Any:
    """Read text as the JSON object or array it holds."""
    if text[:1] != ("{" if kind == "object" else "["):
        return otherwise
    try:
        return parse(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return otherwise


def _readings(value: Any, freedom: int) -> list[tuple[Any, int]]:
    """Give the ways to read a value that may be of several kinds, the closest to the letter first.

    Text is first read as the JSON it may hold, so that `"1"` for a bool or an int is 1.
    """
    readings = [(value, how) for how in range(freedom + 1)]
    if freedom == LOOSE and isinstance(value, str):
        text = value.strip()
        number = _number(text, None)
        literal = {"true": True, "false": False, "null": None}.get(text, number)
        if literal is not None or text == "null":
            is_whole = isinstance(literal, Raw) and bytes(literal).lstrip(b"-").isdigit()
            readings.insert(1, (_whole(text, literal) if is_whole else literal, EXACT))
    return readings


def _as_container(text: str, arms: list[Schema]) -> Any:
    """Read text as JSON if it holds what one of these is, an object or an array."""
    for kind in ("object", "array"):
        if any(arm.get("type") == kind for arm in arms):
            read = _as_kind(text, kind, {}, LOOSE)
            if _is_kind(read, kind):
                return read
    return text


def _is_scalar(schema: Schema) -> bool:
    kind = schema.get("type")
    return isinstance(kind, str) and kind not in {"object", "array"} and not _choices(schema)


def _is_kind(value: Any, kind: str) -> bool:
    own = _KINDS.get(type(value), "")
    return own == kind or (own == "integer" and kind == "number")


# ---- choices and arms ----------------------------------------------------------------------------


def _fit_choice(value: Any, schema: Schema, path: str, freedom: int) -> tuple[Any, Misfit | None]:
    choices = _choices(schema)
    if any(_same(choice, value) for choice in choices):
        return value, None
    for choice in choices:
        kind = _KINDS.get(type(choice), "number")
        if kind != "string" and _same(choice, _as_kind(value, kind, {}, freedom)):
            return choice, None
    return value, Misfit(path, expectation(schema), value, choices)


def _choices(schema: Schema) -> tuple[Any, ...]:
    if "const" in schema:
        return (schema["const"],)
    return tuple(schema.get("enum", ()))


def _same(choice: Any, value: Any) -> bool:
    if isinstance(choice, float) and isinstance(value, Raw):
        return choice == float(bytes(value))
    return type(choice) is type(value) and bool(choice == value)


def _arms(schema: Schema) -> list[Schema]:
    arms: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
    kinds = schema.get("type")
    if not arms and isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds]
    return arms


def _tags(arm: Schema) -> dict[str, tuple[Any, ...]]:
    """Give the properties of an object that can only have certain values: one may be its tag."""
    properties = arm.get("properties", {})
    return {name: _choices(part) for name, part in properties.items() if _choices(part)}


def _tagged_first(value: dict[str, Any], arms: list[Schema]) -> list[Schema]:
    """Put those arms first whose tags are the value's."""

    def is_tagged(arm: Schema) -> bool:
        tags = _tags(arm)
        return bool(tags) and all(
            any(_same(tag, value.get(name)) for tag in tags[name]) for name in tags
        )

    return sorted(arms, key=is_tagged, reverse=True)


def _wrong_tag(value: Any, arms: list[Schema], path: str) -> Misfit | None:
    """Explain an object whose tag names none of the arms."""
    tags = [_tags(arm) for arm in arms if arm.get("type") == "object"]
    if not isinstance(value, dict) or len(tags) < 2:
        return None
    for name in set.intersection(*(set(names) for names in tags)):
        choices = tuple(choice for names in tags for choice in names[name])
        found = value.get(name, MISSING)
        if not any(_same(choice, found) for choice in choices):
            return Misfit(f"{path}.{name}", expectation({"enum": choices}), found, choices)
    return None


def _has_its_form(value: Any, schema: Schema) -> bool:
    """Whether text is the date, say, that it should be: else another arm may be meant."""
    if not isinstance(value, str):
        return True
    name = form_of(schema)
    if name == "decimal":
        return re.fullmatch(DECIMAL, value) is not None
    form = _FORMS.get(name)
    if form is None:
        return True
    try:
        msgspec.convert(value, form)
    except msgspec.ValidationError:
        return False
    return True


def _takes_any_text(schema: Schema) -> bool:
    if not schema:
        return True
    return schema.get("type") == "string" and not _choices(schema) and not _has_form(schema)


def _has_form(schema: Schema) -> bool:
    return bool(form_of(schema)) or "contentEncoding" in schema


def form_of(schema: Schema) -> str:
    """Give the name of the form that text has to have; a time may be told by its pattern."""
    return str(schema.get("format", "time" if schema.get("pattern") == TIME else ""))


# ---- words ---------------------------------------------------------------------------------------

_FORMATS = {
    "date": "a date like 2026-01-31",
    "date-time": "a date and time like 2026-01-31T12:00:00Z",
    "time": "a time like 12:00:00",
    "duration": "a duration like PT1H30M",
    "uuid": "a UUID",
    "decimal": "a decimal number",
}
_NOUNS = {
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
    "string": "a string",
}
_MOST_CHOICES = 20


def expectation(schema: Schema) -> str:
    """Say in words what a schema asks for."""
    choices = _choices(schema)
    if choices:
        shown = [msgspec.json.encode(choice).decode() for choice in choices[:_MOST_CHOICES]]
        shown += ["…"] if len(choices) > _MOST_CHOICES else []
        return f"one of {', '.join(shown)}" if len(choices) > 1 else shown[0]
    kind = schema.get("type")
    if kind == "string":
        if schema.get("contentEncoding") == "base64":
            return "base64 text"
        return _FORMATS.get(form_of(schema), "a string")
    if kind == "array":
        return "an array" + _count(schema.get("minItems"), schema.get("maxItems"))
    arms = _arms(schema)
    return _either(arms) if arms else _NOUNS.get(kind or "", "another value")


def _either(arms: list[Schema]) -> str:
    words = dict.fromkeys(expectation(arm) for arm in arms)
    if _FORMATS["decimal"] in words:
        words.pop(_NOUNS["number"], None)
    return " or ".join(words)


def _count(least: int | None, most: int | None) -> str:
    if most is None:
        return f" of at least {least} items" if least else ""
    if least == most:
        return f" of {most} item{'' if most == 1 else 's'}"
    return f" of {least} to {most} items" if least else f" of at most {most} items"
