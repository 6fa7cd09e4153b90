"""Files of variables: what counts as one, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuniumi import UsageError
from kuniumi.env.env_file import read_variables


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("", {}),
        ("\n\n  \n# only words\n", {}),
        ("A=1", {"A": "1"}),
        ("A=1\nB=2\n", {"A": "1", "B": "2"}),
        ("A=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("\ufeffA=1", {"A": "1"}),
        ("A=", {"A": ""}),
        ("A=\nB=2", {"A": "", "B": "2"}),
        ("A=''\nB=\"\"", {"A": "", "B": ""}),
        ("  A = 1 \n", {"A": "1"}),
        ("export A=1", {"A": "1"}),
        ("A=b=c,d", {"A": "b=c,d"}),
        ("A=http://host/?a=b#part", {"A": "http://host/?a=b#part"}),
        ("A=one two # three", {"A": "one two"}),
        ("A=it's", {"A": "it's"}),
        ("A='one # two'  # three", {"A": "one # two"}),
        ("A='C:\\new'", {"A": "C:\\new"}),
        ("A=C:\\new", {"A": "C:\\new"}),
        ('A="one\\ntwo\\t\\"three\\" \\\\ \\$HOME"', {"A": 'one\ntwo\t"three" \\ $HOME'}),
        ('A="one\ntwo"\nB=3', {"A": "one\ntwo", "B": "3"}),
        ("A='one\ntwo'\nB=3", {"A": "one\ntwo", "B": "3"}),
        ("A=$HOME", {"A": "$HOME"}),
        ("A=1\nA=2", {"A": "2"}),
        ("A=ä", {"A": "ä"}),
        ("a.b-c=1", {"a.b-c": "1"}),
    ],
)
def test_what_a_file_says(tmp_path: Path, text: str, variables: dict[str, str]) -> None:
    file = tmp_path / ".env"
    file.write_bytes(text.encode())
    assert read_variables([str(file)]) == variables


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("A", 1),
        ("A=1\nB\n", 2),
        ("=1", 1),
        ("1A=1", 1),
        ("A B=1", 1),
        ('A="open', 1),
        ("A='open", 1),
        ('\n\nA="closed" and more', 3),
    ],
)
def test_a_line_that_can_not_be_read_is_named(tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / ".env"
    file.write_text(text)
    with pytest.raises(UsageError, match=rf"--env-file .*/\.env, line {line}: expected KEY=VALUE"):
        read_variables([str(file)])


def test_files_that_can_not_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"A=\xff")
    for name, words in (("bad", "not UTF-8"), ("none", "No such file"), ("", "Is a directory")):
        with pytest.raises(UsageError, match=words):
            read_variables([str(tmp_path / name)])


def test_the_last_file_counts(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("A=1\nB=1")
    (tmp_path / "two").write_text("B=2")
    files = [str(tmp_path / "one"), str(tmp_path / "two")]
    assert read_variables(files) == {"A": "1", "B": "2"}
