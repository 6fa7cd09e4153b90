"""`ctx.env.path(…)`: as in pathlib, of virtual paths."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from kuniumi.env.environment import Environment


def test_paths_are_put_together_as_text(env: Environment) -> None:
    path = env.path("/data") / "sub" / "../x.tar.gz"
    assert str(path) == "/data/x.tar.gz"
    assert (path.name, path.stem, path.suffix, path.suffixes) == (
        *("x.tar.gz", "x.tar", ".gz"),
        [".tar", ".gz"],
    )
    assert path.parts == ("/", "data", "x.tar.gz")
    assert [str(parent) for parent in path.parents] == ["/data", "/"]
    assert str(path.with_name("y")) == "/data/y"
    assert str(path.with_suffix(".zip")) == "/data/x.tar.zip"
    assert path.relative_to("/data") == "x.tar.gz"
    assert path.is_relative_to(env.path("/data"))
    assert not path.is_relative_to("/da")
    assert path.match("*.gz")
    assert str(path.joinpath("/ro", "a", "..", "b")) == "/ro/b"
    assert repr(path) == "Path('/data/x.tar.gz')"
    assert {path, env.path("data", "x.tar.gz")} == {path}
    assert path != "/data/x.tar.gz"
    assert min([path, env.path("/a")]) == env.path("/a")
    assert str(env.path("/").parent) == "/"


def test_a_path_stays_where_it_was_made(env: Environment) -> None:
    env.chdir("/data")
    path = env.path("a.txt")
    env.chdir("/ro")
    assert path.read_text() == "a"
    assert str(path) == "/data/a.txt"
    assert str(env.path()) == "/ro"


def test_pythons_own_open_does_not_take_one(env: Environment) -> None:
    with pytest.raises(TypeError):
        open(env.path("/data/a.txt"))  # type: ignore[call-overload]  # noqa: SIM115
    with pytest.raises(TypeError):
        Path(env.path("/data/a.txt"))  # type: ignore[arg-type]


def test_what_is_there(env: Environment) -> None:
    data = env.path("/data")
    kinds = {
        path.name: (path.exists(), path.is_file(), path.is_dir(), path.is_symlink())
        for path in data.iterdir()
    }
    assert kinds["a.txt"] == (True, True, False, False)
    assert kinds["sub"] == (True, False, True, False)
    assert kinds["to-file"] == (True, True, False, True)
    assert kinds["to-folder"] == (True, False, True, True)
    assert kinds["out"] == (False, False, False, True)
    assert kinds["ring"] == (False, False, False, True)
    assert kinds["pipe"] == (True, False, False, False)
    assert not (data / "nowhere").exists()
    assert stat.S_ISREG((data / "to-file").stat().st_mode)
    assert stat.S_ISLNK((data / "to-file").lstat().st_mode)
    assert (data / "to-file").stat().st_size == 2
    assert str(next(env.path("/").iterdir())) == "/data"


def test_reading_and_writing(env: Environment) -> None:
    path = env.path("/data/new")
    assert path.write_text("ä\n") == 2
    assert path.read_text() == "ä\n"
    assert path.read_bytes() == "ä\n".encode()
    assert path.write_text("ä", encoding="latin-1") == 1
    assert path.read_text(encoding="latin-1") == "ä"
    assert path.read_text(errors="replace") == "\ufffd"
    assert path.write_bytes(b"bytes") == 5
    with path.open("ab") as file:
        file.write(b"!")
    assert path.read_bytes() == b"bytes!"


def test_making_and_removing(env: Environment, host: Path) -> None:
    folder = env.path("/data/x/y/z")
    with pytest.raises(FileNotFoundError):
        folder.mkdir()
    folder.mkdir(parents=True)
    with pytest.raises(FileExistsError):
        folder.mkdir(parents=True)
    folder.mkdir(exist_ok=True)
    with pytest.raises(FileExistsError):
        env.path("/data/a.txt").mkdir(exist_ok=True)
    (folder / "file").touch()
    os.utime(host / "data/x/y/z/file", (0, 0))
    (folder / "file").touch()
    assert (folder / "file").stat().st_mtime > 0
    with pytest.raises(FileExistsError):
        (folder / "file").touch(exist_ok=False)
    with pytest.raises(OSError, match="not empty"):
        folder.rmdir()
    moved = (folder / "file").rename("/data/x/moved")
    assert str(moved) == "/data/x/moved"
    assert moved.exists()
    folder.rmdir()
    moved.unlink()
    moved.unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        moved.unlink()
    (env.path("/data/x/y")).replace("/data/renamed")
    assert env.path("/data/renamed").is_dir()


def test_globbing(env: Environment) -> None:
    data = env.path("/data")
    assert [str(path) for path in data.glob("*.txt")] == ["/data/a.txt"]
    assert [path.name for path in data.rglob("*.txt")] == ["a.txt", "b.txt"]
    assert [path.name for path in data.glob("sub/*/*.csv")] == ["c.csv"]
