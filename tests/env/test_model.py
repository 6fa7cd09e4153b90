"""Drawn hosts, mounts, links and paths: the environment and a plain model of it say the same."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kuniumi.env.environment import Environment
from kuniumi.env.path import Path as VirtualPath
from tests.env import model

SECONDS = float(os.environ.get("KUNIUMI_FUZZ_SECONDS", "60")) / 2
"""For each of the two ways to resolve a path: a minute in all."""

PATHS = int(os.environ.get("KUNIUMI_FUZZ_PATHS", "10_000_000"))
"""For each of the two ways."""

USES: dict[str, tuple[Callable[[Environment, str], Any], Callable[..., Any]]] = {
    "read": (lambda env, path: env.read_file(path), model.reading),
    "list": (lambda env, path: env.list_files(path), model.listing),
    "kind": (lambda env, path: _kind(env.path(path)), model.kind),
}


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.randoms(use_true_random=False))
def test_reading_gives_what_the_model_says(random: Random) -> None:
    with tempfile.TemporaryDirectory() as place:
        _compare(random, Path(place), 15)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.randoms(use_true_random=False))
def test_writing_changes_what_the_model_says_and_nothing_else(random: Random) -> None:
    host = model.draw_host(random)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        env = Environment({}, host.lay_out(place))
        before = _everything(place)
        path = model.draw_path(random)
        there = model.plain(path)
        point = model.mount_of(host, there)
        refused = _answer(lambda env, path: env.write_file(path, b"written"), env, path) or ""
        after = _everything(place)
        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        if refused or point is None:
            assert refused, path
            assert not changed, path
            _check_that_it_had_to_be_refused(host, path, refused)
            return
        assert point not in host.read_only
        (written,) = changed
        assert written.startswith(f"{host.mounts[point]}/"), path
        assert after[written] == b"written"
        assert env.read_file(path) == b"written"


def _check_that_it_had_to_be_refused(host: model.Host, path: str, refused: str) -> None:
    there = model.plain(path)
    point = model.mount_of(host, there)
    if point is None or point in host.read_only or model.leads_to_mounts(host, there):
        return
    expected = _expected(model.reading, host, path)
    # Where nothing is to be read, some directory may be missing, or a link ends in a slash.
    assert expected in {refused, "FileNotFoundError"}, path


def test_many_paths_mean_what_the_model_says(tmp_path: Path) -> None:
    ends = time.monotonic() + SECONDS
    seed = 0
    while time.monotonic() < ends:
        seed += 1
        _compare_in(seed, tmp_path / str(seed), 500)


@pytest.mark.fuzz
def test_ten_million_paths_mean_what_the_model_says(tmp_path: Path) -> None:
    each = 2_000
    for seed in range(PATHS // each):
        _compare_in(1_000_000 + seed, tmp_path / str(seed), each)


def _compare_in(seed: int, place: Path, count: int) -> None:
    place.mkdir()
    try:
        _compare(Random(seed), place, count)  # noqa: S311 - it must be the same again
    except AssertionError as error:
        error.add_note(f"seed {seed}")
        raise
    shutil.rmtree(place)


def _compare(random: Random, place: Path, count: int) -> None:
    host = model.draw_host(random)
    shared = Environment({}, host.lay_out(place))
    for _ in range(count):
        env = shared.for_call()
        path, cwd = model.draw_path(random), ()
        if random.random() < 0.2:
            start = model.draw_path(random)
            if model.kind(host, start) == "directory":
                env.chdir(start)
                cwd = model.plain(start)  # type: ignore[assignment]
        use = random.choice(list(USES))
        act, expected = USES[use]
        said = _answer(act, env, path)
        wanted = _expected(expected, host, path, cwd)
        assert said == wanted, f"{use} {path!r} in {env.cwd!r} of {host}"


def _answer(act: Callable[[Environment, str], Any], env: Environment, path: str) -> Any:
    try:
        return act(env, path)
    except OSError as error:
        return type(error).__name__


def _expected(act: Callable[..., Any], *given: Any) -> Any:
    try:
        return act(*given)
    except model.Refused as error:
        return str(error)


def _kind(there: VirtualPath) -> str:
    return "directory" if there.is_dir() else "file" if there.is_file() else ""


def _everything(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for folder, folders, files in os.walk(place):
        for name in (*folders, *files):
            path = Path(folder) / name
            key = str(path.relative_to(place))
            if path.is_symlink():
                found[key] = os.readlink(path)
            else:
                found[key] = path.read_bytes() if path.is_file() else None
    return found
