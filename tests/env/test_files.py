"""Reading, writing and finding files, as a function does it."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from kuniumi.env.environment import Environment


@pytest.mark.parametrize(
    ("offset", "length", "content"),
    [
        (0, None, b"0123456789"),
        (3, None, b"3456789"),
        (0, 4, b"0123"),
        (3, 4, b"3456"),
        (8, 100, b"89"),
        (10, None, b""),
        (1000, None, b""),
        (1000, 5, b""),
        (4, 0, b""),
        (2, 10**15, b"23456789"),
        (2, 2**80, b"23456789"),
        (2**63 - 1, None, b""),
        (2**63, None, b""),
        (2**80, 5, b""),
    ],
)
def test_a_part_of_a_file_is_read(
    env: Environment, offset: int, length: int | None, content: bytes
) -> None:
    env.write_file("/data/digits", "0123456789")
    assert env.read_file("/data/digits", offset, length) == content


@pytest.mark.parametrize(("offset", "length"), [(-1, None), (0, -1), (-1, -1)])
def test_there_is_nothing_before_a_file(env: Environment, offset: int, length: int | None) -> None:
    with pytest.raises(OSError, match="may be negative") as caught:
        env.read_file("/data/a.txt", offset, length)
    assert caught.value.errno == errno.EINVAL


def test_a_large_file_comes_back_whole(env: Environment) -> None:
    large = os.urandom(5_000_001)
    env.write_file("/data/large", large)
    assert env.read_file("/data/large") == large
    assert env.read_file("/data/large", 1_999_999, 2_500_000) == large[1_999_999:4_499_999]
    env.copy_file("/data/large", "/data/copied")
    assert env.read_file("/data/copied") == large


def test_a_file_is_written_anew_or_on(env: Environment) -> None:
    env.write_file("/data/log", "one ä\n")
    env.write_file("/data/log", b"two\n", append=True)
    assert env.read_file("/data/log") == "one ä\ntwo\n".encode()
    env.write_file("/data/log", bytearray(b"three"))
    assert env.read_file("/data/log") == b"three"


@pytest.mark.parametrize("what", [None, 5, [1], {"a": 1}, object()])
def test_what_can_not_be_written_costs_nothing_that_was_there(env: Environment, what: Any) -> None:
    for write in (
        lambda path: env.write_file(path, what),
        lambda path: env.write_file(path, what, append=True),
        lambda path: env.rewrite_file(path, 0, what),
        lambda path: env.path(path).write_bytes(what),
    ):
        with pytest.raises(TypeError, match="what is written is bytes or text, not"):
            write("/data/a.txt")
        with pytest.raises(TypeError):
            write("/data/never")
    assert env.read_file("/data/a.txt") == b"a"
    assert not env.path("/data/never").exists()


def test_a_file_is_rewritten_in_place(env: Environment, host: Path) -> None:
    env.write_file("/data/file", b"0123456789")
    number = (host / "data" / "file").stat().st_ino
    env.rewrite_file("/data/file", 3, b"abc")
    assert env.read_file("/data/file") == b"012abc6789"
    env.rewrite_file("/data/file", 8, b"xyz")
    env.rewrite_file("/data/file", 11, b"!")
    assert env.read_file("/data/file") == b"012abc67xyz!"
    assert (host / "data" / "file").stat().st_ino == number
    with pytest.raises(OSError, match="before the offset 13"):
        env.rewrite_file("/data/file", 13, b"x")
    with pytest.raises(OSError, match="negative"):
        env.rewrite_file("/data/file", -1, b"x")
    with pytest.raises(FileNotFoundError):
        env.rewrite_file("/data/missing", 0, b"x")


def test_a_copy_has_the_same_bytes_and_permissions(env: Environment, host: Path) -> None:
    env.chmod("/data/a.txt", 0o640)
    env.copy_file("/ro/a.txt", "/data/sub/copied")
    assert env.read_file("/data/sub/copied") == b"a"
    assert (host / "data" / "sub" / "copied").stat().st_mode & 0o777 == 0o640
    env.copy_file("/data/sub/b.txt", "/data/sub/copied")
    assert env.read_file("/data/sub/copied") == b"bb"


@pytest.mark.parametrize("target", ["/data/a.txt", "data/./a.txt", "/data/self/a.txt"])
def test_a_file_copied_onto_itself_is_left_as_it_is(env: Environment, target: str) -> None:
    with pytest.raises(OSError, match="the same file"):
        env.copy_file("/data/a.txt", target)
    assert env.read_file("/data/a.txt") == b"a"


def test_permissions_are_changed_even_of_what_may_not_be_read(env: Environment, host: Path) -> None:
    env.chmod("/data/a.txt", 0)
    env.chmod("/data/a.txt", 0o604)
    env.chmod("/data/sub", 0o750)
    assert (host / "data" / "a.txt").stat().st_mode & 0o7777 == 0o604
    assert (host / "data" / "sub").stat().st_mode & 0o7777 == 0o750


def test_removing(env: Environment) -> None:
    env.remove_file("/data/a.txt")
    with pytest.raises(FileNotFoundError):
        env.remove_file("/data/a.txt")
    with pytest.raises(IsADirectoryError):
        env.remove_file("/data/sub")


def test_a_directory_is_listed_in_order(env: Environment) -> None:
    assert env.list_files("/data/sub") == ["b.txt", "deep", "up"]
    assert env.list_files("/") == ["data", "ro"]
    assert env.list_files() == ["data", "ro"]
    with pytest.raises(NotADirectoryError):
        env.list_files("/data/a.txt")


@pytest.mark.parametrize(
    ("pattern", "recursive", "found"),
    [
        ("*.txt", True, ["/data/a.txt", "/data/sub/b.txt"]),
        ("*.txt", False, ["/data/a.txt"]),
        ("?.[ct]*", True, ["/data/a.txt", "/data/sub/b.txt", "/data/sub/deep/c.csv"]),
        ("sub/*", True, ["/data/sub/b.txt", "/data/sub/up"]),
        ("sub/**/*.csv", True, ["/data/sub/deep/c.csv"]),
        ("sub/**/b.txt", False, ["/data/sub/b.txt"]),
        ("**/c.csv", False, ["/data/sub/deep/c.csv"]),
        ("to-*", True, ["/data/to-file", "/data/to-link"]),
        ("*out*", True, []),
        ("pipe", True, []),
        ("nothing", True, []),
        ("../secret", True, []),
        ("", True, []),
        ("[", True, []),
    ],
)
def test_files_are_found_by_pattern(
    env: Environment, pattern: str, recursive: bool, found: list[str]
) -> None:
    assert env.find_files("/data", pattern, recursive) == found


def test_a_search_goes_through_all_mounts(env: Environment) -> None:
    assert env.find_files("/", "c.csv") == ["/data/sub/deep/c.csv", "/ro/sub/deep/c.csv"]
    assert env.find_files("/", "c.csv", recursive=False) == []
    with pytest.raises(FileNotFoundError):
        env.find_files("/nowhere")


def test_a_pattern_made_to_be_slow_is_not(env: Environment) -> None:
    env.write_file("/data/" + "a" * 200, b"")
    assert env.find_files("/data", "*a" * 50 + "b") == []
    assert env.find_files("/data", "**/" * 200 + "nothing") == []


def test_relative_paths_begin_at_the_working_directory(env: Environment) -> None:
    assert env.cwd == "/"
    env.chdir("data")
    env.chdir("sub/../to-folder")
    assert env.cwd == "/data/to-folder"
    assert env.read_file("b.txt") == b"bb"
    assert env.read_file("../a.txt") == b"a"
    assert env.find_files(pattern="c.csv") == ["/data/to-folder/deep/c.csv"]
    with pytest.raises(NotADirectoryError):
        env.chdir("b.txt")
    with pytest.raises(FileNotFoundError):
        env.chdir("nowhere")
    assert env.cwd == "/data/to-folder"
    env.chdir("/")
    env.chdir("..")
    assert env.cwd == "/"


def test_each_call_begins_at_the_root(env: Environment) -> None:
    env.chdir("/data")
    other = env.for_call()
    other.chdir("/ro")
    assert (env.cwd, other.cwd, other.for_call().cwd) == ("/data", "/ro", "/")


def test_files_are_opened_as_python_does(env: Environment) -> None:
    with env.open("/data/new", "w") as file:
        file.write("one\ntwo ä\n")
    with env.open("/data/new", "a", newline="\r\n") as file:
        file.write("three\n")
    with env.open("/data/new", "rb") as file:
        assert file.read() == "one\ntwo ä\nthree\r\n".encode()
    with env.open("/data/new", "r+") as file:
        assert file.readline() == "one\n"
        file.seek(0)
        file.write("ONE")
    with env.open("/data/new", encoding="latin-1") as file:
        assert file.readlines()[:2] == ["ONE\n", "two Ã¤\n"]
    with pytest.raises(FileExistsError):
        env.open("/data/new", "x")
    with pytest.raises(ValueError, match="mode"):
        env.open("/data/new", "z")


def test_a_path_may_be_one_of_pathlib_and_not_bytes(env: Environment) -> None:
    assert env.read_file(PurePosixPath("/data/a.txt")) == b"a"
    with pytest.raises(TypeError, match="a path is a text"):
        env.read_file(b"/data/a.txt")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        env.read_file(7)  # type: ignore[arg-type]


def test_names_that_are_no_utf8_are_found_and_read(env: Environment, host: Path) -> None:
    (host / "data" / os.fsdecode(b"odd\xff")).write_text("odd")
    (found,) = env.find_files("/data", "odd*")
    assert env.read_file(found) == b"odd"


def test_an_environment_crosses_to_another_process(env: Environment) -> None:
    env.chdir("/data")
    env.read_file("a.txt")
    other = pickle.loads(pickle.dumps(env))  # noqa: S301 - our own
    assert other.read_file("a.txt") == b"a"
    with pytest.raises(PermissionError):
        other.write_file("/ro/a.txt", b"x")


def test_without_mounts_there_is_an_empty_root() -> None:
    env = Environment()
    assert env.list_files() == []
    assert env.find_files() == []
    assert env.path("/").is_dir()
    with pytest.raises(PermissionError, match="Read-only"):
        env.write_file("/x", b"")
    with pytest.raises(PermissionError, match="Read-only"):
        env.path("/x").mkdir()
    with pytest.raises(FileNotFoundError):
        env.write_file("/x/y", b"")
