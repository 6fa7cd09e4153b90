"""What is written as YAML is read back as the same data."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kuniumi.wire.yaml import to_yaml

TRAPS = [
    *("", " ", "~", "null", "True", "yes", "No", "on", "y", "=", "<<", "*a", "&a", "!a", "|", ">"),
    *("- a", "a: b", "a #b", "#a", "? a", "a ", " a", "---", "...", "%a", "@a", "`a", "'", '"'),
    *("1", "1.5", "1e5", "0x1f", "0o7", "1_000", "12:30:45", "2020-01-01", ".inf", ".nan", "nan"),
    *(
        "a\nb",
        "a\tb",
        "a\x00b",
        "\x7f",
        "\x85",
        "\u2028",
        "\ufeff",
        "\ufffe",
        "\uffff",
        "\U0001f600",
    ),
    *("$ref", "#/components/schemas/Node", "/functions/Add", "é", "x" * 2000),
]
json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text() | st.sampled_from(TRAPS),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text() | st.sampled_from(TRAPS), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(json_data)
def test_any_data_is_read_back_unchanged(data: Any) -> None:
    assert _same(yaml.safe_load(to_yaml(data)), data)


@pytest.mark.parametrize("text", TRAPS)
def test_text_that_yaml_might_misread_is_quoted(text: str) -> None:
    data = {text: text, "list": [text, [text], {text: {text: []}}]}
    assert yaml.safe_load(to_yaml(data)) == data


@pytest.mark.parametrize("number", [1e-7, 1.5e-7, 1e100, -2.5e300, 5e-324, -0.0, 10**400])
def test_numbers_stay_numbers(number: float) -> None:
    assert _same(yaml.safe_load(to_yaml(number)), number)


def test_it_reads_like_a_person_wrote_it() -> None:
    assert to_yaml({"info": {"title": "A b"}, "tags": ["x", "y"], "empty": {}}) == (
        'info:\n  title: A b\ntags:\n  - x\n  - "y"\nempty: {}\n'
    )


def _same(read: Any, written: Any) -> bool:
    if isinstance(written, dict):
        return read.keys() == written.keys() and all(
            _same(read[key], written[key]) for key in written
        )
    if isinstance(written, list):
        return len(read) == len(written) and all(map(_same, read, written))
    if isinstance(written, float):
        return type(read) is float and read == written and _sign(read) == _sign(written)
    return type(read) is type(written) and bool(read == written)


def _sign(number: float) -> float:
    return math.copysign(1, number)
