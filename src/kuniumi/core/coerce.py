"""Coercion: what callers send for what they mean. `"10"` for 10, `"{…}"` for an object.

In: plain JSON data and the schema it should fit. Out: the data, coerced where it can be without
losing anything, and the first place where it can't. It only ever sees what validation refused.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

import msgspec
from msgspec import Raw, Struct

Schema = dict[str, Any]

_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_KINDS = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
_DEEPEST = 200


class Misfit(Struct, frozen=True):
    """The place where a value does not fit, what was expected there, and what was found."""

    path: str
    expected: str
    found: Any
    choices: tuple[Any, ...] = ()


def fit(
    value: Any, schema: Schema, root: Schema, path: str, *, coerce: bool
) -> tuple[Any, Misfit | None]:
    """Give the value as the schema wants it, or as it came together with where it misfits."""
    return _Fitter(root, coerce=coerce).fit(value, schema, path, 0)


def resolved(schema: Schema, root: Schema) -> Schema:
    """Follow a `$ref` into the root's definitions."""
    seen = set()
    while "$ref" in schema and schema["$ref"] not in seen:
        seen.add(schema["$ref"])
        schema = root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {})
    return schema


class _Fitter:
    """One walk over one value."""

    def __init__(self, root: Schema, *, coerce: bool) -> None:
        self.root = root
        self.coerce = coerce

    def fit(self, value: Any, schema: Schema, path: str, depth: int) -> tuple[Any, Misfit | None]:
        schema = self._resolved(schema)
        if depth > _DEEPEST:
            return value, None  # the decoder has the last word anyway
        arms = schema.get("anyOf") or schema.get("oneOf")
        if arms:
            return self._fit_any(value, [self._resolved(arm) for arm in arms], path, depth)
        if "enum" in schema or "const" in schema:
            return self._fit_choice(value, schema, path)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            arms = [{**schema, "type": kind} for kind in kinds]
            return self._fit_any(value, arms, path, depth)
        if kinds is None:
            return value, None
        value = self._as_kind(value, kinds)
        if not _is_kind(value, kinds):
            return value, Misfit(path, expectation(schema), value)
        if kinds == "object":
            return self._fit_object(value, schema, path, depth)
        if kinds == "array":
            return self._fit_array(value, schema, path, depth)
        return value, None

    def _resolved(self, schema: Schema) -> Schema:
        return resolved(schema, self.root)

    def _as_kind(self, value: Any, kind: str) -> Any:
        """Coerce one scalar, or text that holds JSON, if nothing is lost by it."""
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)  # 1.0 is an integer to JSON Schema: no coercion at all
        if not self.coerce or not isinstance(value, str):
            return value
        text = value.strip()
        if kind == "integer" and _INTEGER.match(text):
            return Raw(_plain_integer(text))
        if kind in {"integer", "number"} and _NUMBER.match(text) and isfinite(float(text)):
            number = float(text)
            if kind == "integer":
                return int(number) if number.is_integer() else value
            return number
        if kind == "boolean":
            return _BOOLEANS.get(text.lower(), value)
        if kind == "null" and text.lower() in {"null", "none"}:
            return None
        if kind in {"object", "array"} and text[:1] in {"{", "["}:
            try:
                parsed = msgspec.json.decode(text)
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                return value
            return parsed if _is_kind(parsed, kind) else value
        return value

    def _fit_any(
        self, value: Any, arms: list[Schema], path: str, depth: int
    ) -> tuple[Any, Misfit | None]:
        if isinstance(value, str) and any(_takes_any_text(arm) for arm in arms):
            return value, None
        misfits = []
        for arm in arms:
            fitted, misfit = self.fit(value, arm, path, depth + 1)
            if misfit is None:
                return fitted, None
            if misfit.path != path:
                misfits.append(misfit)  # it fits on the outside: this arm was meant
        if misfits:
            return value, misfits[0]
        choices = tuple(choice for arm in arms for choice in _choices(arm))
        expected = " or ".join(dict.fromkeys(expectation(arm) for arm in arms))
        return value, Misfit(path, expected, value, choices)

    def _fit_choice(self, value: Any, schema: Schema, path: str) -> tuple[Any, Misfit | None]:
        choices = _choices(schema)
        for choice in choices:
            if _same(choice, value):
                return value, None
        for choice in choices:
            fitted = self._as_kind(value, _KINDS[type(choice)])
            if isinstance(fitted, Raw):
                fitted = msgspec.json.decode(fitted)
            if _same(choice, fitted):
                return fitted, None
        return value, Misfit(path, expectation(schema), value, choices)

    def _fit_object(
        self, value: dict[str, Any], schema: Schema, path: str, depth: int
    ) -> tuple[Any, Misfit | None]:
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        others = schema.get("additionalProperties", True)
        fitted: dict[str, Any] = {}
        for name, item in value.items():
            there = f"{path}.{name}" if path else name
            if name in properties:
                if item is None and self.coerce and name not in required:
                    part, misfit = self.fit(item, properties[name], there, depth + 1)
                    if misfit is not None:
                        continue  # null for what has a default means the default
                else:
                    part, misfit = self.fit(item, properties[name], there, depth + 1)
            elif isinstance(others, dict):
                part, misfit = self.fit(item, others, there, depth + 1)
            elif others is False:
                return value, Misfit(there, "", item, tuple(properties))
            else:
                part, misfit = item, None
            if misfit is not None:
                return value, misfit
            fitted[name] = part
        for name in required:
            if name not in value:
                there = f"{path}.{name}" if path else name
                return value, Misfit(there, expectation(self._resolved(properties[name])), MISSING)
        return fitted, None

    def _fit_array(
        self, value: list[Any], schema: Schema, path: str, depth: int
    ) -> tuple[Any, Misfit | None]:
        first = schema.get("prefixItems", [])
        rest = schema.get("items", {})
        fitted = []
        for index, item in enumerate(value):
            expected = first[index] if index < len(first) else rest
            if not isinstance(expected, dict):
                return value, Misfit(path, f"an array of at most {len(first)} items", value)
            part, misfit = self.fit(item, expected, f"{path}[{index}]", depth + 1)
            if misfit is not None:
                return value, misfit
            fitted.append(part)
        return fitted, None


MISSING = object()
"""What a `Misfit` found where there was nothing."""


def _is_kind(value: Any, kind: str) -> bool:
    if isinstance(value, Raw):  # an integer of any size
        return kind in {"integer", "number"}
    own = _KINDS.get(type(value), "")
    return own == kind or (own == "integer" and kind == "number")


def _takes_any_text(schema: Schema) -> bool:
    plain = schema.get("type") == "string" and "enum" not in schema and "const" not in schema
    return (plain and "format" not in schema and "contentEncoding" not in schema) or not schema


def _choices(schema: Schema) -> tuple[Any, ...]:
    if "const" in schema:
        return (schema["const"],)
    return tuple(schema.get("enum", ()))


def _same(left: Any, right: Any) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _plain_integer(text: str) -> bytes:
    """Write an integer as JSON does: no plus sign, no leading zeros, of any length."""
    sign = "-" if text.startswith("-") else ""
    return (sign + (text.lstrip("+-").lstrip("0") or "0")).encode()


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


def expectation(schema: Schema) -> str:
    """Say in words what a schema asks for."""
    choices = _choices(schema)
    if choices:
        shown = ", ".join(msgspec.json.encode(choice).decode() for choice in choices[:20])
        return f"one of {shown}" if len(choices) > 1 else shown
    if schema.get("type") == "string":
        if schema.get("contentEncoding") == "base64":
            return "base64 text"
        return _FORMATS.get(schema.get("format", ""), "a string")
    arms = schema.get("anyOf") or schema.get("oneOf")
    if arms:
        return " or ".join(dict.fromkeys(expectation(arm) for arm in arms))
    return _NOUNS.get(schema.get("type", ""), "another value")
