"""Where the kernel does not know openat2, or a container forbids it, paths are walked instead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.env.conftest import SECRET
from tests.http.server import ROOT

FORBIDDEN = ["ENOSYS", "EPERM"]  # an older kernel; a filter, as docker has them


@pytest.fixture(autouse=True)
def way() -> str:
    """Take whatever way there is: this happens in other processes."""
    return "whatever there is"


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("error", FORBIDDEN)
def test_what_is_forbidden_is_done_without(host: Path, error: str, *, late: bool) -> None:
    code = f"""
import sys
from kuniumi.env import beneath
from kuniumi.env.environment import Environment
from tests.env.without_openat2 import forbid

env = Environment({{}}, [{str(host / "data")!r} + ":/data"])
if {late}:  # it was there when it was tried
    assert env.read_file("/data/a.txt") == b"a"
    assert beneath.kernel() is not None
forbid({error!r})
assert (beneath.kernel() is None) is not {late}
assert env.read_file("/data/to-link") == b"bb"
env.write_file("/data/sub/new", "new")
assert env.list_files("/data/to-folder") == ["b.txt", "deep", "new", "up"]
for path in ("out", "out-folder/secret", "absolute", "far-out", "out-and-in"):
    try:
        env.read_file("/data/" + path)
    except PermissionError:
        continue
    sys.exit(path)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)
    assert (host / "data" / "sub" / "new").read_text() == "new"
    assert (host / "secret").read_text() == SECRET
