"""The grammar of words, in process: whatever can be said in JSON can be said in words."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta

from kuniumi import App, UsageError
from kuniumi.core.operation import Operation
from kuniumi.wire.argv import read_arguments, take_globals, write_arguments

NONE: dict[str, list[str]] = {"--env": [], "--env-file": [], "--mount": []}


class Colour(enum.Enum):
    RED = "red"
    TRUE = "true"


@dataclass
class Point:
    x: int
    label: str = ""


text = st.text(max_size=8) | st.sampled_from(
    ["--", "--x", "-", "{", "[1]", "7", "true", "null", ""]
)
whole = st.integers(-(2**63), 2**63 - 1)
real = st.floats(allow_nan=False, allow_infinity=False)
anything = st.recursive(
    st.none() | st.booleans() | whole | real | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=5,
)
point = st.builds(Point, whole, text)

KINDS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, whole),
    (float, real),
    (bool, st.booleans()),
    (str, text),
    (Any, anything),
    (int | None, st.none() | whole),
    (str | None, st.none() | text),
    (bool | None, st.none() | st.booleans()),
    (int | str, whole | text),
    (list[int], st.lists(whole, max_size=3)),
    (list[str], st.lists(text, max_size=3)),
    (list[list[int]], st.lists(st.lists(whole, max_size=2), max_size=3)),
    (list[str] | str, text | st.lists(text, max_size=3)),
    (list[bool] | None, st.none() | st.lists(st.booleans(), max_size=3)),
    (tuple[int, str], st.tuples(whole, text)),
    (dict[str, int], st.dictionaries(text, whole, max_size=3)),
    (Point, point),
    (list[Point], st.lists(point, max_size=2)),
    (Point | None, st.none() | point),
    (Colour, st.sampled_from(Colour)),
    (Literal["a", "1", 1] | None, st.sampled_from(["a", "1", 1, None])),
    (datetime.date, st.dates()),
    (Annotated[int, Meta(ge=0)], st.integers(0, 9)),
]
NAMES = ["x", "dry_run", "no_x", "env", "help", "list_", "n1"]


@st.composite
def calls(draw: st.DrawFn) -> tuple[Operation, bytes]:
    """Draw an operation, and arguments that fit it."""
    names = draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True))
    kinds = [draw(st.sampled_from(KINDS)) for _ in names]

    fields = make_dataclass("Fields", [(n, k) for n, (k, _) in zip(names, kinds, strict=True)])
    hints = get_type_hints(fields, include_extras=True)
    source = f"def F({', '.join(names)}): ..."
    scope: dict[str, Any] = {}
    exec(source, scope)  # noqa: S102 - the names are ours
    function = scope["F"]
    function.__annotations__ = hints
    operation = App(strict=draw(st.booleans())).register(function)
    values = {name: draw(values) for name, (_, values) in zip(names, kinds, strict=True)}
    return operation, msgspec.json.encode(values)


@settings(max_examples=300, deadline=None)
@given(calls())
def test_arguments_written_as_words_are_read_as_the_same(call: tuple[Operation, bytes]) -> None:
    operation, arguments = call
    words = write_arguments(operation, arguments)
    assert all(isinstance(word, str) for word in words)
    read = read_arguments(operation, words)
    assert msgspec.json.decode(read) == msgspec.json.decode(arguments)
    assert repr(operation.decode(read)) == repr(operation.decode(arguments))


@settings(max_examples=300, deadline=None)
@given(
    calls(), st.lists(text | st.sampled_from(["--x", "--no-x", "--dry-run=", "--env"]), max_size=5)
)
def test_any_words_are_read_or_refused(call: tuple[Operation, bytes], words: list[str]) -> None:
    operation, _ = call
    try:
        msgspec.json.decode(read_arguments(operation, words))
    except UsageError:
        pass
    except msgspec.DecodeError:
        assert len(words) == 1  # a document of one's own, which validation will refuse
        assert words[0].lstrip()[:1] == "{"


@given(st.text(max_size=20))
def test_text_is_never_anything_but_text(given_text: str) -> None:
    def F(text: str) -> str:
        return text

    operation = App().register(F)
    expected = msgspec.json.encode({"text": given_text})
    assert read_arguments(operation, [f"--text={given_text}"]) == expected
    assert read_arguments(operation, ["--", given_text]) == expected


@pytest.mark.parametrize(
    ("words", "taken", "rest"),
    [
        (["--env", "A=1", "list"], ["A=1"], ["list"]),
        (["list", "--env=A=1"], ["A=1"], ["list"]),
        (["list", "--env", "--env"], ["--env"], ["list"]),
        (["call", "F", "--", "--env", "A=1"], [], ["call", "F", "--", "--env", "A=1"]),
        (["--environment", "A"], [], ["--environment", "A"]),
    ],
)
def test_global_flags_are_taken_out(words: list[str], taken: list[str], rest: list[str]) -> None:
    assert take_globals(words) == ({**NONE, "--env": taken}, rest)


def test_leading_global_flags_end_at_the_first_other_word() -> None:
    words = ["--env", "A=1", "call", "--env", "B=2"]
    assert take_globals(words, leading=True) == (
        {**NONE, "--env": ["A=1"]},
        ["call", "--env", "B=2"],
    )
    assert take_globals(words, own={"--env"}) == (NONE, words)
