"""What a function can't do: reach anything but what it was given, in whatever words it tries."""

from __future__ import annotations

import gc
import os
import resource
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kuniumi.env.environment import Environment

EVERY_USE: dict[str, Callable[[Environment, str], Any]] = {
    "read": lambda env, path: env.read_file(path),
    "write": lambda env, path: env.write_file(path, b"x"),
    "append": lambda env, path: env.write_file(path, b"x", append=True),
    "rewrite": lambda env, path: env.rewrite_file(path, 0, b"x"),
    "copy from": lambda env, path: env.copy_file(path, "/data/copied"),
    "copy to": lambda env, path: env.copy_file("/data/a.txt", path),
    "chmod": lambda env, path: env.chmod(path, 0o600),
    "list": lambda env, path: env.list_files(path),
    "find": lambda env, path: env.find_files(path),
    "chdir": lambda env, path: env.chdir(path),
    "open": lambda env, path: env.open(path).close(),
    "open to write": lambda env, path: env.open(path, "w").close(),
    "open to update": lambda env, path: env.open(path, "r+").close(),
    "open to make": lambda env, path: env.open(path, "x").close(),
    "stat": lambda env, path: env.path(path).stat(),
    "touch": lambda env, path: env.path(path).touch(),
    "iterate": lambda env, path: list(env.path(path).iterdir()),
}
CHANGES: dict[str, Callable[[Environment, str], Any]] = {
    **{
        use: EVERY_USE[use]
        for use in ("write", "append", "rewrite", "copy to", "chmod", "open to write", "touch")
    },
    "open to update": EVERY_USE["open to update"],
    "remove": lambda env, path: env.remove_file(path),
    "mkdir": lambda env, path: env.path(path).with_name("new").mkdir(),
    "rmdir": lambda env, path: env.path(path).with_name("sub").rmdir(),
    "rename": lambda env, path: env.path(path).rename("/ro/other"),
    "rename to": lambda env, path: env.path("/data/a.txt").rename(path),
}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/data/a.txt", b"a"),
        ("data/a.txt", b"a"),
        ("./data/./a.txt", b"a"),
        ("//data///a.txt", b"a"),
        ("/data/a.txt/", b"a"),
        ("/data/nowhere/../a.txt", b"a"),
        ("/data/../data/a.txt", b"a"),
        ("/../../../data/a.txt", b"a"),
        ("/data/to-folder/../a.txt", b"a"),
        ("/data/to-file", b"bb"),
        ("/data/to-link", b"bb"),
        ("/data/to-folder/b.txt", b"bb"),
        ("/data/to-folder/up", b"a"),
        ("/data/round", b"bb"),
        ("/data/self/self/self/a.txt", b"a"),
        ("/data/back\\slash", b"backslash"),
        ("/data/..dots", b"dots"),
        ("/ro/a.txt", b"a"),
    ],
)
def test_a_path_means_what_its_text_says(env: Environment, path: str, content: bytes) -> None:
    assert env.read_file(path) == content


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/secret", FileNotFoundError),
        ("/data/../secret", FileNotFoundError),
        ("/data/../../secret", FileNotFoundError),
        ("/data/sub/../../secret", FileNotFoundError),
        ("/data/../", IsADirectoryError),
        ("/data..", FileNotFoundError),
        ("/data../secret", FileNotFoundError),
        ("/database", FileNotFoundError),
        ("/database/secret", FileNotFoundError),
        ("/data/..\\secret", FileNotFoundError),
        ("\\data\\a.txt", FileNotFoundError),
        ("/DATA/a.txt", FileNotFoundError),
        ("/data/%2e%2e/secret", FileNotFoundError),
        ("/etc/passwd", FileNotFoundError),
        ("file:///etc/passwd", FileNotFoundError),
        ("~/.bashrc", FileNotFoundError),
        ("", FileNotFoundError),
        (".", IsADirectoryError),
        ("/", IsADirectoryError),
        ("/data", IsADirectoryError),
        ("/data/sub", IsADirectoryError),
        ("/data/self", IsADirectoryError),
        ("/data/a.txt/b", NotADirectoryError),
        ("/data/a.txt\0", OSError),
        ("\0", OSError),
        ("/data/\ud800", OSError),
        ("/data/" + "n" * 256, OSError),
        ("/data/" + "n/" * 3000, OSError),
        ("/data/" + "ä/" * 2000, OSError),
        ("/data/ring", OSError),
        ("/data/dangling", FileNotFoundError),
        ("/data/out", PermissionError),
        ("/data/out-folder/secret", PermissionError),
        ("/data/far-out", PermissionError),
        ("/data/out-and-in", PermissionError),
        ("/data/absolute", PermissionError),
        ("/data/absolute-in", PermissionError),
        ("/data/pipe", PermissionError),
        ("/data/to-pipe", PermissionError),
    ],
)
def test_what_is_not_to_be_read_is_an_ordinary_error_with_the_virtual_path(
    env: Environment, host: Path, path: str, error: type[OSError]
) -> None:
    with pytest.raises(OSError, match=r"\[Errno") as caught:
        env.read_file(path)
    assert type(caught.value) is error
    assert str(host) not in repr(caught.value)
    assert caught.value.filename.startswith(("/", "")) or not path


@pytest.mark.parametrize("use", EVERY_USE)
@pytest.mark.parametrize(
    "path",
    [
        *("/data/out", "/data/out-folder", "/data/out-folder/secret", "/data/out-folder/new"),
        *("/data/dangling-out", "/data/absolute", "/data/absolute-in", "/data/out-and-in"),
        *("/secret", "/data/../secret", "/data../secret", "/database/secret", "/database"),
    ],
)
def test_no_use_leads_out(env: Environment, host: Path, path: str, use: str) -> None:
    with pytest.raises(OSError, match=r"\[Errno") as caught:
        EVERY_USE[use](env, path)
    assert str(host) not in f"{caught.value!r} {caught.value.filename} {caught.value.filename2}"


@pytest.mark.parametrize(
    "use",
    [
        *("read", "write", "append", "rewrite", "copy from", "copy to", "chmod", "open"),
        *("open to write", "open to update", "touch"),
    ],
)
@pytest.mark.parametrize("kind", ["pipe", "to-pipe", "socket", "device"])
def test_what_is_no_file_is_refused_at_once(
    env: Environment, host: Path, use: str, kind: str
) -> None:
    if kind == "socket":
        listening = socket.socket(socket.AF_UNIX)
        before = os.getcwd()
        os.chdir(host / "data")  # a socket's path is short
        listening.bind("socket")
        os.chdir(before)
        listening.close()
    if kind == "device":
        try:
            os.mknod(host / "data" / "device", 0o600 | 0o020000, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
    with pytest.raises(PermissionError, match="neither a file nor a directory"):
        EVERY_USE[use](env, f"/data/{kind}")


def test_a_pipe_can_still_be_seen_and_removed(env: Environment, host: Path) -> None:
    assert "pipe" in env.list_files("/data")
    assert env.path("/data/pipe").exists()
    assert not env.path("/data/pipe").is_file()
    env.remove_file("/data/pipe")
    assert not (host / "data" / "pipe").exists()


@pytest.mark.parametrize("use", CHANGES)
def test_a_read_only_mount_stays_as_it_is(env: Environment, host: Path, use: str) -> None:
    before = _everything(host)
    with pytest.raises(PermissionError, match="Read-only file system: '/ro/"):
        CHANGES[use](env, "/ro/a.txt")
    assert _everything(host) == before


def _everything(host: Path) -> list[tuple[str, int, str]]:
    return [
        (str(path), path.lstat().st_mode, path.read_text() if path.is_file() else "")
        for path in sorted(host.rglob("*"))
        if not path.is_symlink()
    ]


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o1777, 0o6777, 0o7000, 0o10777, 2**70, -1])
def test_nobody_takes_on_anothers_rights(env: Environment, host: Path, mode: int) -> None:
    with pytest.raises(PermissionError):
        env.chmod("/data/a.txt", mode)
    with pytest.raises(PermissionError):
        env.path("/data/new").mkdir(mode)
    assert (host / "data" / "a.txt").stat().st_mode & 0o7000 == 0
    assert not (host / "data" / "new").exists()


def test_copying_takes_no_special_rights_along(env: Environment, host: Path) -> None:
    (host / "data" / "a.txt").chmod(0o4751)
    env.copy_file("/data/a.txt", "/data/copied")
    assert (host / "data" / "copied").stat().st_mode & 0o7777 == 0o751


@pytest.mark.parametrize(
    "change",
    [
        *("write", "append", "rewrite", "copy to", "open to write", "open to update", "touch"),
    ],
)
def test_what_is_changed_takes_on_nobodys_rights_any_more(
    env: Environment, host: Path, change: str
) -> None:
    target = host / "data" / "sub" / "b.txt"
    target.chmod(0o6755)
    EVERY_USE["read"](env, "/data/sub/b.txt")
    assert target.stat().st_mode & 0o7000 == 0o6000
    EVERY_USE[change](env, "/data/sub/b.txt")
    assert target.stat().st_mode & 0o7000 == 0


def test_a_dangling_link_inside_is_written_through(env: Environment, host: Path) -> None:
    env.write_file("/data/dangling", "made")
    assert (host / "data" / "sub" / "not-yet").read_text() == "made"
    with pytest.raises(FileExistsError):
        env.open("/data/dangling", "x")


def test_removing_or_renaming_a_link_leaves_what_it_leads_to(env: Environment, host: Path) -> None:
    env.remove_file("/data/out")
    env.path("/data/absolute").rename("/data/sub/renamed")
    assert not (host / "data" / "out").is_symlink()
    assert (host / "data" / "sub" / "renamed").is_symlink()
    with pytest.raises(PermissionError):
        env.read_file("/data/sub/renamed")


def test_a_link_that_is_moved_leads_nowhere_else(env: Environment) -> None:
    env.path("/data/sub/up").rename("/data/up")  # ../a.txt, from one directory further up
    with pytest.raises(PermissionError):
        env.read_file("/data/up")


def test_magic_links_of_proc_lead_nowhere() -> None:
    env = Environment({}, ["/proc:/proc"])
    for path in ("self/root/etc/passwd", "self/cwd", "self/exe", "self/fd/0", "1/root"):
        with pytest.raises(OSError, match=r"\[Errno"):
            env.read_file(f"/proc/{path}")
        with pytest.raises(OSError, match=r"\[Errno"):
            env.list_files(f"/proc/{path}")
    assert b"Name:" in env.read_file("/proc/self/status")  # it says it has no size


def test_what_is_behind_another_mount_is_hidden_from_links_too(host: Path, tmp_path: Path) -> None:
    (tmp_path / "cover").mkdir()
    (tmp_path / "cover" / "b.txt").write_text("cover")
    env = Environment({}, [f"{host}/data:/data", f"{tmp_path}/cover:/data/sub:ro"])
    assert env.read_file("/data/sub/b.txt") == b"cover"
    assert env.read_file("/data/a.txt") == b"a"
    assert env.read_file("/data/self/a.txt") == b"a"  # other links go on working
    for path in ("to-folder/b.txt", "to-file", "self/sub/b.txt", "round"):
        with pytest.raises(PermissionError):
            env.read_file(f"/data/{path}")
        with pytest.raises(PermissionError):
            env.write_file(f"/data/{path}", b"x")
    with pytest.raises(PermissionError):
        env.path("/data/to-folder/b.txt").unlink()
    with pytest.raises(PermissionError):
        env.list_files("/data/to-folder")
    assert (host / "data" / "sub" / "b.txt").read_text() == "bb"


def test_a_place_that_leads_to_a_mount_stays_where_it_is(host: Path) -> None:
    env = Environment({}, [f"{host}/data:/", f"{host}/database:/sub/deep"])
    moves: list[Callable[[], object]] = [
        lambda: env.path("/sub").rename("/other"),
        lambda: env.path("/sub/deep").rename("/other"),
        lambda: env.path("/a.txt").rename("/sub"),
        lambda: env.path("/sub").rmdir(),
        lambda: env.path("/sub/deep").rmdir(),
        lambda: env.path("/").rename("/other"),
    ]
    for move in moves:
        with pytest.raises(OSError, match="Something is mounted here"):
            move()


def test_what_is_open_is_known_by_its_virtual_name(env: Environment) -> None:
    with env.open("data/a.txt") as file, env.open("/data/new", "wb", buffering=0) as raw:
        assert (file.name, raw.name) == ("/data/a.txt", "/data/new")


def test_a_host_that_is_missing_is_told_without_its_name(tmp_path: Path) -> None:
    env = Environment({}, [f"{tmp_path}/missing:/data"])
    with pytest.raises(FileNotFoundError, match="missing on the host: '/data/a'") as caught:
        env.read_file("/data/a")
    error: BaseException | None = caught.value
    while error is not None:
        assert str(tmp_path) not in f"{error!r} {getattr(error, 'filename', '')}"
        error = error.__cause__ or error.__context__
    (tmp_path / "missing").mkdir()
    (tmp_path / "missing" / "a").write_text("it came")
    assert env.read_file("/data/a") == b"it came"


def test_descriptors_are_given_back(env: Environment) -> None:
    def use_everything() -> None:
        for path in ("/data/a.txt", "/data/out", "/data/pipe", "/data/ring", "/data/to-folder/up"):
            for use in EVERY_USE.values():
                try:
                    use(env, path)
                except OSError:
                    continue

    use_everything()
    before = _open_descriptors()
    for _ in range(20):
        use_everything()
    assert _open_descriptors() == before


def test_a_directory_is_closed_with_its_last_environment(host: Path) -> None:
    before = _open_descriptors()
    for _ in range(50):
        Environment({}, [f"{host}/data:/data"]).read_file("/data/a.txt")
    assert _open_descriptors() == before


def _open_descriptors() -> int:
    gc.collect()  # of what other tests left behind
    return len(os.listdir("/proc/self/fd"))


def test_a_deep_path_takes_no_more_descriptors_than_a_short_one(tmp_path: Path) -> None:
    depth = 300
    way = "d/" * depth
    (tmp_path / way).mkdir(parents=True)
    (tmp_path / way / "file").write_text("deep down")
    env = Environment({}, [f"{tmp_path}:/deep"])
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (depth, before[1]))
    try:
        assert env.read_file(f"/deep/{way}file") == b"deep down"
        assert env.find_files("/deep") == [f"/deep/{way}file"]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
