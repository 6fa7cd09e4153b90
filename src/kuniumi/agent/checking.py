"""A value held against a JSON schema that nobody vouches for.

In: plain data and a schema (2020-12, and what older drafts spell otherwise). Out: `Problem`s, none
if the value fits. Neither is trusted: steps and depth are bounded, a `$ref` is followed only within
the schema, and a pattern that might take for ever is reported instead of run.
"""

from __future__ import annotations

import re
import sys
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.agent.facts import covers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_STEPS = 1_000_000
_MAX_DEPTH = 100
_MAX_PROBLEMS = 50
_MAX_PATTERN_WORK = 10_000_000


class Problem(Struct, frozen=True):
    """One thing that is wrong with a value: where, and what."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


NO_VALUE = Problem("$", "the answer has no value")


def check(value: Any, schema: Any) -> tuple[Problem, ...]:
    """Give what is wrong with the value; nothing if it fits the schema."""
    judge = _Judge(schema)
    try:
        return tuple(judge.first(judge.judge(value, schema, "$", 0)))
    except RecursionError:
        return (Problem("$", "nested too deep to be checked"),)


class _TooMuchError(Exception):
    """The steps are used up."""


class _Judge:
    """One check of one value."""

    __slots__ = ("anchors", "root", "steps")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.steps = 0
        self.anchors: dict[str, Any] | None = None

    def first(self, problems: Iterator[Problem]) -> list[Problem]:
        found: list[Problem] = []
        try:
            for problem in problems:
                found.append(problem)
                if len(found) >= _MAX_PROBLEMS:
                    break
        except _TooMuchError:
            found.append(Problem("$", "too large to be checked to its end"))
        return found

    def fits(self, value: Any, schema: Any, path: str, depth: int) -> bool:
        return next(self.judge(value, schema, path, depth), None) is None

    def judge(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[Problem]:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise _TooMuchError
        if schema is False:
            yield Problem(path, "must not be there")
        if not isinstance(schema, dict):
            return
        if depth > _MAX_DEPTH:
            yield Problem(path, "nested too deep to be checked")
            return
        if "$ref" in schema:
            yield from self.follow(value, schema["$ref"], path, depth)
        for keyword in ("$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                yield Problem(path, f"{keyword} is not followed: not checked")
        for keywords, judged in _KEYWORDS:
            if not keywords.isdisjoint(schema):
                yield from judged(self, value, schema, path, depth)

    def follow(self, value: Any, ref: Any, path: str, depth: int) -> Iterator[Problem]:
        target = self.find(ref)
        if target is None:
            yield Problem(
                path, f"the schema refers to {str(ref)[:200]!r}, which is not in it: not checked"
            )
            return
        yield from self.judge(value, target, path, depth + 1)

    def find(self, ref: Any) -> Any:
        """Give what a `$ref` names within the schema; None for what would have to be fetched."""
        if not isinstance(ref, str) or not ref.startswith("#"):
            return None
        if ref == "#":
            return self.root
        if not ref.startswith("#/"):
            if self.anchors is None:
                self.anchors = dict(_anchors(self.root))
            return self.anchors.get(ref[1:])
        return resolve(self.root, ref)

    # ---- keywords ----

    def type(self, value: Any, schema: Any, path: str, _depth: int) -> Iterator[Problem]:
        wanted = schema["type"]
        names = [wanted] if isinstance(wanted, str) else wanted
        if isinstance(names, list) and not any(_is_of(value, name) for name in names):
            yield Problem(path, f"must be {' or '.join(map(str, names))}, and is {_name(value)}")

    def enum(self, value: Any, schema: Any, path: str, _depth: int) -> Iterator[Problem]:
        allowed = schema["enum"]
        if isinstance(allowed, list) and not any(_same(value, each) for each in allowed):
            yield Problem(path, "is none of the values allowed")

    def const(self, value: Any, schema: Any, path: str, _depth: int) -> Iterator[Problem]:
        if not _same(value, schema["const"]):
            yield Problem(path, "is not the one value allowed")

    def all_of(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[Problem]:
        for each in _list(schema["allOf"]):
            yield from self.judge(value, each, path, depth + 1)

    def any_of(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[Problem]:
        arms = _list(schema["anyOf"])
        if arms and not any(self.fits(value, each, path, depth + 1) for each in arms):
            yield Problem(path, "fits none of what is allowed")

    def one_of(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[Problem]:
        arms = _list(schema["oneOf"])
        fitting = sum(self.fits(value, each, path, depth + 1) for each in arms)
        if arms and fitting != 1:
            yield Problem(path, f"fits {fitting or 'none'} of what is allowed, and must fit one")

    def none_of(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[Problem]:
        if self.fits(value, schema["not"], path, depth + 1):
            yield Problem(path, "is what it must not be")

    def condition(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[Problem]:
        branch = "then" if self.fits(value, schema["if"], path, depth + 1) else "else"
        if branch in schema:
            yield from self.judge(value, schema[branch], path, depth + 1)

    def members(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[Problem]:
        """Check `properties`, `patternProperties`, `additionalProperties`: they share the keys."""
        if not isinstance(value, dict):
            return
        named = _dict(schema.get("properties"))
        patterns = _dict(schema.get("patternProperties"))
        others = schema.get("additionalProperties", True)
        for key, item in value.items():
            inside = f"{path}.{key}"
            known = key in named
            if known:
                yield from self.judge(item, named[key], inside, depth + 1)
            for pattern, each in patterns.items():
                found = matches(pattern, key)
                if found is None:
                    yield Problem(inside, "a pattern of the schema is too costly: not checked")
                elif found:
                    known = True
                    yield from self.judge(item, each, inside, depth + 1)
            if not known and others is not True:
                if others is False:
                    yield Problem(inside, "is not known to the schema")
                else:
                    yield from self.judge(item, others, inside, depth + 1)

    def required(self, value: Any, schema: Any, path: str, _depth: int) -> Iterator[Problem]:
        if isinstance(value, dict):
            for name in _list(schema["required"]):
                if isinstance(name, str) and name not in value:
                    yield Problem(path, f"lacks {name!r}")

    def names(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[Problem]:
        if isinstance(value, dict):
            for key in value:
                yield from self.judge(key, schema["propertyNames"], f"{path}.{key}", depth + 1)

    def dependent(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[Problem]:
        if not isinstance(value, dict):
            return
        for name, needed in _dict(schema.get("dependentRequired")).items():
            for other in _list(needed) if name in value else ():
                if isinstance(other, str) and other not in value:
                    yield Problem(path, f"has {name!r} but lacks {other!r}")
        for name, each in _dict(schema.get("dependentSchemas")).items():
            if name in value:
                yield from self.judge(value, each, path, depth + 1)

    def items(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[Problem]:
        """Check `prefixItems` and `items`, which drafts before 2020-12 spelt another way."""
        if not isinstance(value, list):
            return
        first, rest = schema.get("prefixItems", []), schema.get("items", True)
        if isinstance(rest, list):
            first, rest = rest, schema.get("additionalItems", True)
        first = _list(first)
        for index, item in enumerate(value):
            each = first[index] if index < len(first) else rest
            if each is not True:
                yield from self.judge(item, each, f"{path}[{index}]", depth + 1)

    def contains(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[Problem]:
        if not isinstance(value, list):
            return
        found = sum(self.fits(item, schema["contains"], path, depth + 1) for item in value)
        least, most = _number(schema.get("minContains", 1)), _number(schema.get("maxContains"))
        if (least is not None and found < least) or (most is not None and found > most):
            yield Problem(path, f"contains {found} of what it must contain")

    def unique(self, value: Any, schema: Any, path: str, _depth: int) -> Iterator[Problem]:
        if schema["uniqueItems"] is not True or not isinstance(value, list):
            return
        seen: dict[str, list[Any]] = {}
        for item in value:
            alike = seen.setdefault(_key(item), [])
            self.steps += len(alike)
            if self.steps > _MAX_STEPS:
                raise _TooMuchError
            if any(_same(item, other) for other in alike):
                yield Problem(path, "has the same item twice")
                return
            alike.append(item)

    def pattern(self, value: Any, schema: Any, path: str, _depth: int) -> Iterator[Problem]:
        if not isinstance(value, str):
            return
        found = matches(schema["pattern"], value)
        if found is None:
            yield Problem(path, "the pattern of the schema is too costly: not checked")
        elif not found:
            yield Problem(path, f"does not match {str(schema['pattern'])[:200]!r}")


def resolve(root: Any, ref: str) -> Any:
    """Give what a JSON pointer (`#/$defs/Node`) names in a schema; None if there is nothing."""
    target = root
    for word in ref[2:].split("/"):
        name = re.sub(r"%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), word)
        name = name.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and name in target:
            target = target[name]
        elif (
            isinstance(target, list)
            and name.isascii()
            and name.isdigit()
            and int(name) < len(target)
        ):
            target = target[int(name)]
        else:
            return None
    return target


def matches(pattern: Any, text: str) -> bool | None:
    """Whether a pattern is found in the text; None if to look could take for ever."""
    work = _work_of(pattern) if isinstance(pattern, str) else None
    if work is None or (len(text) + 1) ** (work + 1) > _MAX_PATTERN_WORK:
        return None
    return re.search(pattern, text) is not None


def _work_of(pattern: str) -> int | None:
    """Count the open-ended repeats of a pattern; None if one is in another, or it is none at all."""
    if len(pattern) > 1000:
        return None
    parser = sys.modules.get("re._parser")
    if parser is None:
        return None
    try:
        return _repeats(parser.parse(pattern), inside=False)
    except (re.error, RecursionError, OverflowError):
        return None


def _repeats(parsed: Any, *, inside: bool) -> int | None:
    total = 0
    for code, argument in parsed:
        name = str(code)
        if name in {"GROUPREF", "GROUPREF_EXISTS"} or (inside and name == "BRANCH"):
            return None
        repeats = name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"} and argument[1] > 1
        if repeats and inside:
            return None
        parts = list(_parts(argument))
        if repeats:
            total += 1
        for part in parts:
            found = _repeats(part, inside=inside or repeats)
            if found is None:
                return None
            total += found
    return total


def _parts(argument: Any) -> Iterator[Any]:
    """Give the patterns within an operation of a parsed pattern."""
    if isinstance(argument, (list, tuple)):
        for each in argument:
            if type(each).__name__ == "SubPattern":
                yield each
            elif isinstance(each, (list, tuple)):
                yield from _parts(each)


def _anchors(root: Any) -> Iterator[tuple[str, Any]]:
    waiting, left = [root], _MAX_STEPS
    while waiting and left:
        left -= 1
        each = waiting.pop()
        if isinstance(each, dict):
            if isinstance(each.get("$anchor"), str):
                yield each["$anchor"], each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)


def _bound(
    keyword: str, measure: Callable[[Any], Any], fits: Callable[[Any, Any], bool], said: str
) -> Any:
    """Make the check of a keyword that compares one measure of a value with a number."""

    def judged(
        _judge: _Judge, value: Any, schema: Any, path: str, _depth: int
    ) -> Iterator[Problem]:
        limit, measured = schema[keyword], measure(value)
        if measured is None or isinstance(limit, bool) or not isinstance(limit, (int, float)):
            return
        if not fits(measured, limit):
            yield Problem(path, f"{said} {limit}")

    return judged


def _number(value: Any) -> Any:
    return None if isinstance(value, bool) or not isinstance(value, (int, float)) else value


def _length_of(kind: type[Any]) -> Callable[[Any], Any]:
    def measure(value: Any) -> Any:
        sized: Any = value
        return len(sized) if isinstance(value, kind) else None

    return measure


def _is_multiple(value: float, step: float) -> bool:
    if not step:
        return True
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    try:
        quotient = value / step
    except OverflowError:
        return True  # no float is as large
    return abs(quotient - round(quotient)) < 1e-9 if abs(quotient) < 1e15 else True


_KEYWORDS: tuple[tuple[frozenset[str], Any], ...] = tuple(
    (frozenset(keywords.split()), judged)
    for keywords, judged in (
        ("type", _Judge.type),
        ("enum", _Judge.enum),
        ("const", _Judge.const),
        ("properties patternProperties additionalProperties", _Judge.members),
        ("required", _Judge.required),
        ("propertyNames", _Judge.names),
        ("dependentRequired dependentSchemas", _Judge.dependent),
        ("minProperties", _bound("minProperties", _length_of(dict), ge, "must have at least")),
        ("maxProperties", _bound("maxProperties", _length_of(dict), le, "must have at most")),
        ("prefixItems items", _Judge.items),
        ("contains", _Judge.contains),
        ("uniqueItems", _Judge.unique),
        ("minItems", _bound("minItems", _length_of(list), ge, "must be at least this long:")),
        ("maxItems", _bound("maxItems", _length_of(list), le, "must be at most this long:")),
        ("minLength", _bound("minLength", _length_of(str), ge, "must be at least this long:")),
        ("maxLength", _bound("maxLength", _length_of(str), le, "must be at most this long:")),
        ("pattern", _Judge.pattern),
        ("minimum", _bound("minimum", _number, ge, "must be at least")),
        ("maximum", _bound("maximum", _number, le, "must be at most")),
        ("exclusiveMinimum", _bound("exclusiveMinimum", _number, gt, "must be more than")),
        ("exclusiveMaximum", _bound("exclusiveMaximum", _number, lt, "must be less than")),
        ("multipleOf", _bound("multipleOf", _number, _is_multiple, "must be a multiple of")),
        ("allOf", _Judge.all_of),
        ("anyOf", _Judge.any_of),
        ("oneOf", _Judge.one_of),
        ("not", _Judge.none_of),
        ("if", _Judge.condition),
    )
)


def _is_of(value: Any, name: Any) -> bool:
    match name:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return _number(value) is not None and value == value // 1
        case "number":
            return _number(value) is not None
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
    return True  # no type that JSON schema knows


def _name(value: Any) -> str:
    for name in ("null", "boolean", "integer", "number", "string", "array", "object"):
        if _is_of(value, name):
            return name
    return type(value).__name__


def _same(one: Any, other: Any) -> bool:
    return covers(one, other) and covers(other, one)


def _key(item: Any) -> str:
    """Give something cheap that equal items share."""
    if isinstance(item, (dict, list)):
        return f"{type(item).__name__}{len(item)}"
    return f"{_name(item) == 'boolean'}{hash(item)}"


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _dict(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
