"""Whoever renames directories and links under our feet gets nobody out of the mount."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kuniumi.env.environment import Environment

SECONDS = float(os.environ.get("KUNIUMI_RACE_SECONDS", "60")) / 2
LONG = float(os.environ.get("KUNIUMI_RACE_SECONDS", "3600")) / 2
"""For each of the two ways to resolve a path: a minute in all, and an hour."""

SECRET = "the host's own secret"


def test_nobody_escapes_while_others_rename(tmp_path: Path) -> None:
    seen = _race(tmp_path, SECONDS)
    # It was a race: both were met, what was inside and what led out.
    assert seen["inside"] > 100
    assert seen["PermissionError"] > 10


@pytest.mark.fuzz
def test_nobody_escapes_in_a_long_time(tmp_path: Path) -> None:
    _race(tmp_path, LONG)


def _race(place: Path, seconds: float) -> Counter[str]:
    _lay_out(place)
    before = _everything(place / "outside"), _everything(place / "f")
    env = Environment({}, [f"{place}/mount:/m"])
    seen: Counter[str] = Counter()
    failures: list[BaseException] = []
    ends = time.monotonic() + seconds

    def run() -> None:
        try:
            while time.monotonic() < ends:
                for use in USES:
                    seen[_outcome(use, env)] += 1
        except BaseException as error:  # noqa: BLE001 - the test tells of it
            failures.append(error)

    with _adversary(place):
        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures, failures
    assert (_everything(place / "outside"), _everything(place / "f")) == before
    return seen


def _lay_out(place: Path) -> None:
    outside, mount = place / "outside", place / "mount"
    outside.mkdir()
    (outside / "f").write_text(SECRET)
    (outside / "treasure").write_text(SECRET)
    (outside / "folder").mkdir()
    (place / "f").write_text(SECRET)
    for name in ("spare", "door", "door/folder", "deep", "deep/one"):
        (mount / name).mkdir(parents=True, exist_ok=True)
    for name in ("f", "file", "door/f"):
        (mount / name).write_text("inside")
    (mount / "spare" / "door-link").symlink_to("../outside")
    (mount / "spare" / "file-link").symlink_to(f"{outside}/f")
    (mount / "deep" / "one" / "up").symlink_to("../../f")


@contextmanager
def _adversary(place: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("adversary.py")), str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"started\n"
        try:
            yield
        finally:
            process.stdin.close()
            assert process.stdout.readline() == b"done\n"


def _outcome(use: Callable[[Environment], Any], env: Environment) -> str:
    try:
        found = use(env)
    except OSError as error:
        return type(error).__name__
    assert SECRET not in str(found), found
    assert "treasure" not in str(found), found
    return "inside"


def _text(path: str) -> Callable[[Environment], str]:
    return lambda env: env.read_file(path).decode()


USES: list[Callable[[Environment], Any]] = [
    *map(_text, ("/m/door/f", "/m/file", "/m/deep/one/up", "/m/one/up")),
    lambda env: env.write_file("/m/door/new", "mine"),
    lambda env: env.write_file("/m/door/f", "inside"),
    lambda env: env.write_file("/m/file", "inside"),
    lambda env: env.rewrite_file("/m/file", 0, "inside"),
    lambda env: env.copy_file("/m/door/f", "/m/copied"),
    lambda env: env.read_file("/m/copied").decode(),
    lambda env: env.copy_file("/m/f", "/m/door/copied"),
    lambda env: env.chmod("/m/door/f", 0o600),
    lambda env: env.chmod("/m/file", 0o600),
    lambda env: env.chmod("/m/door", 0o711),
    lambda env: env.list_files("/m/door"),
    lambda env: env.find_files("/m"),
    lambda env: env.path("/m/door/made").mkdir(),
    lambda env: env.path("/m/door/new").rename("/m/door/newer"),
    lambda env: env.path("/m/door/f").stat().st_size == len(SECRET) and SECRET,
    lambda env: env.path("/m/door/made").rmdir(),
    lambda env: env.path("/m/door/folder").rename("/m/door/moved"),
    lambda env: env.path("/m/door/moved").rename("/m/door/folder"),
    lambda env: env.path("/m/door/touched").touch(),
    lambda env: env.remove_file("/m/door/newer"),
    lambda env: env.remove_file("/m/door/treasure"),
]


def _everything(path: Path) -> list[tuple[str, int, str]]:
    return [
        (str(one), one.stat().st_mode, one.read_text() if one.is_file() else "")
        for one in sorted([path, *path.rglob("*")])
    ]
