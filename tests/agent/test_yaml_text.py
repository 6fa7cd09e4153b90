"""OpenAPI documents in YAML: read as the JSON they could have been, and within bounds."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kuniumi.agent import ServerError
from kuniumi.agent.servers.yaml_text import read_yaml
from kuniumi.wire.yaml import to_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("NO", "NO"),
        ("on", "on"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("12:30:00", "12:30:00"),
        ("1_000", "1_000"),
        ("00501", "00501"),
        ("0x1f", "0x1f"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("9" * 5000, "9" * 5000),
        ("=", "="),
        (".", "."),
        ("e3", "e3"),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
        (".01", 0.01),
        ("-7", -7),
        ("0", 0),
        (str(2**80), 2**80),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("''", ""),
        ("'1'", "1"),
        ('"true"', "true"),
        ("|-\n  1", "1"),
        ("!!str 5", "5"),
        ('!!int "5"', 5),
        ("!!python/name:os.system x", "x"),
        ("!Ref 5", 5),
    ],
)
def test_a_value_is_what_json_would_make_of_it(text: str, value: Any) -> None:
    found = read_yaml(f"key: {text}\n".encode())["key"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("key", ["200", "no", "true", "null", "2024-01-01", "1.0", "''", "'200'"])
def test_a_key_is_a_string(key: str) -> None:
    assert read_yaml(f"{key}: [{{}}]".encode()) == {key.strip("'"): [{}]}


def test_aliases_and_merged_keys_are_what_they_stand_for() -> None:
    text = b"""
    base: &base {a: 1, b: 2}
    word: &word limit
    same: *base
    own: {b: 3, <<: *base}
    both: {<<: [{a: 0}, *base], c: 4}
    *word : 5
    plain: {<<: words}
    """
    assert read_yaml(text) == {
        "base": {"a": 1, "b": 2},
        "word": "limit",
        "same": {"a": 1, "b": 2},
        "own": {"a": 1, "b": 3},
        "both": {"a": 0, "b": 2, "c": 4},
        "limit": 5,
        "plain": {"<<": "words"},
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [*a]", "stands for nothing, or for itself"),
        ("a: &a 1\nb: &a {c: *a}", "stands for nothing, or for itself"),
        ("*a", "stands for nothing"),
        ("? [1]\n: 2", "a key of an object is no string"),
        ("a: &a [1]\n*a : 2", "a key of an object is no string"),
        ("a: [", "line 2"),
        ("a: \x00", "control characters"),
        ("[" * 100_000, "more than 100 deep"),
        ("- " * 1000, "more than 100 deep"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, said: str) -> None:
    with pytest.raises(ServerError, match=said):
        read_yaml(text.encode())


def test_a_few_lines_cannot_stand_for_endless_data() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    started = time.process_time()
    with pytest.raises(ServerError, match="more than 2,000,000 values"):
        read_yaml("\n".join(lines).encode())
    deep = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200))]
    with pytest.raises(ServerError, match="more than 100 deep"):
        read_yaml("\n".join(deep).encode())
    assert time.process_time() - started < 1


def test_only_the_first_document_counts() -> None:
    assert read_yaml(b"a: 1\n---\nb: 2\n") == {"a": 1}
    assert read_yaml(b"") is None


def test_without_its_library_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ServerError, match=r"pip install kuniumi\[yaml\]"):
        read_yaml(b"a: 1")


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_JSON = st.recursive(
    _LEAVES.filter(lambda leaf: leaf not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_JSON)
@settings(deadline=None)
def test_what_json_can_say_comes_back_whichever_way_it_was_written(data: Any) -> None:
    assert read_yaml(to_yaml(data).encode()) == data
    assert read_yaml(yaml.safe_dump(data).encode()) == data


@given(st.binary(max_size=200) | st.text(alphabet="&*ab: -[]{}<,\n'\"|!?#%1.", max_size=60))
@settings(deadline=None)
def test_whatever_comes_is_data_or_an_error_in_words(sent: bytes | str) -> None:
    try:
        found = read_yaml(sent.encode() if isinstance(sent, str) else sent)
    except ServerError:
        return
    json.dumps(found, allow_nan=False)
