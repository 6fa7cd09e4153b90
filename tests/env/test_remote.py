"""Mounts of remote stores: the same uses, the same checks, and nothing of the store in an error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from kuniumi import Mount, UsageError
from kuniumi.env.environment import Environment
from kuniumi.env.mounts import parse_mounts


@pytest.fixture
def store() -> Iterator[Any]:
    """Give the memory that `memory://` stands for, with a secret beside what is mounted."""
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]
    memory.pipe("/secret", b"the store's own secret")
    memory.pipe("/x/a.txt", b"a")
    memory.pipe("/x/sub/b.txt", b"bb")
    memory.pipe("/xy", b"a neighbour")
    yield memory
    assert memory.cat("/secret") == b"the store's own secret"
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


@pytest.fixture
def remote(store: Any) -> Environment:
    """Mount a part of it, and once more, only to be read."""
    return Environment({}, ["memory://x:/m", "memory://x:/ro:ro"])


def test_every_use(remote: Environment, store: Any) -> None:
    assert remote.read_file("/m/a.txt") == b"a"
    remote.write_file("/m/new", "0123456789")
    assert remote.read_file("/m/new", 3, 4) == b"3456"
    assert remote.read_file("/m/new", 8, 100) == b"89"
    assert remote.read_file("/m/new", 100) == b""
    remote.write_file("/m/new", b"!", append=True)
    remote.rewrite_file("/m/new", 1, b"abc")
    assert store.cat("/x/new") == b"0abc456789!"
    with pytest.raises(OSError, match="before the offset 12"):
        remote.rewrite_file("/m/new", 12, b"x")
    remote.copy_file("/m/new", "/m/sub/copied")
    assert store.cat("/x/sub/copied") == b"0abc456789!"
    remote.remove_file("/m/new")
    assert remote.list_files("/m") == ["a.txt", "sub"]
    assert remote.find_files("/m") == ["/m/a.txt", "/m/sub/b.txt", "/m/sub/copied"]
    remote.chdir("/m/sub")
    assert remote.read_file("b.txt") == b"bb"
    path = remote.path("b.txt")
    assert path.is_file()
    assert path.stat().st_size == 2
    assert path.stat().st_mtime > 0
    assert str(path.rename("c.txt")) == "/m/sub/c.txt"
    assert remote.list_files() == ["c.txt", "copied"]
    (remote.path("/m") / "made").mkdir()
    assert remote.path("/m/made").is_dir()
    remote.path("/m/made").rmdir()
    assert not remote.path("/m/made").exists()
    remote.path("/m/touched").touch()
    assert remote.read_file("/m/touched") == b""


def test_files_are_opened_as_python_does(remote: Environment) -> None:
    with remote.open("/m/text", "w") as file:
        assert file.name == "/m/text"
        file.write("one ä\ntwo\n")
    with remote.open("/m/text", "a") as file:
        file.write("three")
    with remote.open("/m/text") as file:
        assert file.readlines() == ["one ä\n", "two\n", "three"]
    with remote.open("/m/text", "rb") as file:
        file.seek(-5, 2)
        assert file.read() == b"three"
    with remote.open("/m/text", "rb", buffering=0) as file:
        assert file.read(3) == b"one"
    with pytest.raises(FileExistsError):
        remote.open("/m/text", "x")
    with pytest.raises(OSError, match="read or written, not both"):
        remote.open("/m/text", "r+")
    for mode in ("z", "rw", "rbt", ""):
        with pytest.raises(ValueError, match="invalid mode"):
            remote.open("/m/text", mode)


@pytest.mark.parametrize(
    "path",
    [
        *("/m/../secret", "/secret", "/m/%2e%2e/secret", "/m/%2E%2E%2Fsecret", "/m/..\\secret"),
        *("/m/%252e%252e/secret", "/m/sub/%2e%2e%5c%2e%2e/secret", "/my", "/m\0", "/m/\ud800"),
        *("/m/missing", "/m", "/m/sub", "/m/*.txt/x", ""),
    ],
)
def test_no_path_leads_out_of_the_store(remote: Environment, path: str) -> None:
    with pytest.raises(OSError, match=r"\[Errno") as caught:
        remote.read_file(path)
    assert "x/" not in str(caught.value)
    with pytest.raises(OSError, match=r"\[Errno"):
        remote.remove_file(path)


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/m/missing", FileNotFoundError),
        ("/m/sub", IsADirectoryError),
        ("/m", IsADirectoryError),
        ("/m/%2e%2e/secret", PermissionError),
    ],
)
def test_errors_are_ordinary_and_virtual(
    remote: Environment, path: str, error: type[OSError]
) -> None:
    with pytest.raises(error) as caught:
        remote.read_file(path)
    assert caught.value.filename == path
    assert "/x" not in str(caught.value)


def test_a_store_that_is_only_read_stays_as_it_is(remote: Environment) -> None:
    for change in (
        lambda: remote.write_file("/ro/a.txt", b"x"),
        lambda: remote.remove_file("/ro/a.txt"),
        lambda: remote.open("/ro/a.txt", "a"),
        lambda: remote.path("/ro/a.txt").rename("/ro/b"),
        lambda: remote.path("/ro/new").mkdir(),
        lambda: remote.chmod("/ro/a.txt", 0o600),
    ):
        with pytest.raises(PermissionError, match="Read-only"):
            change()


def test_what_a_store_can_not_do_it_says(remote: Environment) -> None:
    with pytest.raises(OSError, match=r"no permissions to change: '/m/a\.txt'"):
        remote.chmod("/m/a.txt", 0o600)
    with pytest.raises(OSError, match="can't be renamed"):
        remote.path("/m/sub").rename("/m/other")
    with pytest.raises(OSError, match="not empty"):
        remote.path("/m/sub").rmdir()
    with pytest.raises(NotADirectoryError):
        remote.list_files("/m/a.txt")
    with pytest.raises(FileExistsError):
        remote.path("/m/sub").mkdir()


def test_whatever_a_driver_raises_is_an_error_without_its_words(
    remote: Environment, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class DriverError(Exception):
        pass

    def fail(*_given: Any, **_options: Any) -> None:
        raise DriverError("https://user:password@store.example/x/a.txt is tired")

    expected = r"^\[Errno 5\] Input/output error: '/m/a.txt'$"
    with monkeypatch.context() as patch:
        patch.setattr(type(store), "cat_file", fail)
        with pytest.raises(OSError, match=expected) as caught:
            remote.read_file("/m/a.txt")
    assert isinstance(caught.value.__cause__, DriverError)  # for the log


def test_files_are_copied_between_a_store_and_the_host(env: Environment, store: Any) -> None:
    both = env.extended(mounts=["memory://x:/m"])
    both.copy_file("/data/a.txt", "/m/from-host")
    both.copy_file("/m/sub/b.txt", "/data/from-store")
    assert store.cat("/x/from-host") == b"a"
    assert both.read_file("/data/from-store") == b"bb"


def test_an_empty_store_is_an_empty_directory(store: Any) -> None:
    env = Environment({}, ["memory://new:/m"])
    assert env.list_files("/m") == []
    env.write_file("/m/a", b"x")
    assert store.cat("/new/a") == b"x"


def test_options_reach_the_driver(store: Any) -> None:
    mount = Mount("dir::memory://", "/m", options={"dir": {"path": "/x/sub"}})
    assert Environment({}, [mount]).read_file("/m/b.txt") == b"bb"


@pytest.mark.parametrize("cache", ["simplecache", "filecache"])
def test_a_store_is_read_through_a_cache(store: Any, cache: str, tmp_path: Path) -> None:
    options = {cache: {"cache_storage": str(tmp_path)}}
    env = Environment({}, [Mount(f"{cache}::memory://x", "/m", options=options)])
    assert env.read_file("/m/a.txt") == b"a"
    assert env.list_files("/m") == ["a.txt", "sub"]


@pytest.mark.parametrize(
    "address", ["simplecache::file://HOST", "filecache::local://HOST", "dir::file://HOST"]
)
def test_files_of_the_host_are_not_reached_by_way_of_a_driver(host: Path, address: str) -> None:
    env = Environment({}, [f"{address.replace('HOST', str(host / 'data'))}:/m"])
    for use in (env.list_files, env.read_file):
        with pytest.raises(OSError, match="no remote store: '/m"):
            use("/m")


def test_a_driver_that_fails_to_begin_says_nothing_of_its_address() -> None:
    env = Environment({}, ["reference://user:password@store.example/x:/m"])
    with pytest.raises(
        OSError, match=r"^\[Errno 19\] What is mounted here can't be reached: '/m/a'$"
    ):
        env.read_file("/m/a")


def test_a_file_copied_onto_itself_by_way_of_another_mount_is_left_as_it_is(store: Any) -> None:
    env = Environment({}, ["memory://x:/m", "memory://x/sub:/s"])
    with pytest.raises(OSError, match="the same file: '/m/sub/b"):
        env.copy_file("/m/sub/b.txt", "/s/b.txt")
    assert store.cat("/x/sub/b.txt") == b"bb"


@pytest.mark.parametrize("address", ["nowhere://x", "s3://bucket"])
def test_a_store_without_a_driver_is_told_when_it_is_used(address: str) -> None:
    env = Environment({}, [f"{address}:/m"])
    with pytest.raises(OSError, match="driver that is not installed: '/m/a'"):
        env.read_file("/m/a")


def test_a_mount_of_a_store_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UsageError, match=r"needs fsspec: pip install kuniumi\[files\]"):
        parse_mounts(["memory://x:/m"])
