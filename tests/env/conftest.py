"""A host with mounts and a secret beside them; every test sees it by the kernel and by a walk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kuniumi.env import beneath
from kuniumi.env.environment import Environment

SECRET = "the host's own secret"


@pytest.fixture(params=["kernel", "walk"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Resolve paths by openat2, or do without it."""
    if request.param == "walk":
        monkeypatch.setattr(beneath, "_known", [None])
    else:
        assert beneath.kernel() is not None, "this kernel has no openat2"
    return str(request.param)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Make a folder with something of everything, beside others that are nobody's business."""
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "database").mkdir()
    (tmp_path / "database" / "secret").write_text(SECRET)
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.txt").write_text("a")
    (data / "sub" / "deep").mkdir(parents=True)
    (data / "sub" / "b.txt").write_text("bb")
    (data / "sub" / "deep" / "c.csv").write_text("ccc")
    (data / "back\\slash").write_text("backslash")
    (data / "..dots").write_text("dots")
    os.mkfifo(data / "pipe")
    for name, target in LINKS.items():
        (data / name).symlink_to(target.replace("HOST", str(tmp_path)))
    return tmp_path


LINKS = {
    "to-file": "sub/b.txt",
    "to-folder": "sub",
    "to-link": "to-file",
    "sub/up": "../a.txt",
    "round": "sub/../sub/./deep/../b.txt",
    "self": ".",
    "ring": "gnir",
    "gnir": "ring",
    "dangling": "sub/not-yet",
    "out": "../secret",
    "out-folder": "../database",
    "far-out": "../../../../../../../../etc/passwd",
    "out-and-in": "../data/a.txt",
    "dangling-out": "../made-outside",
    "absolute": "/etc/passwd",
    "absolute-in": "HOST/data/a.txt",
    "to-pipe": "pipe",
}


@pytest.fixture
def env(host: Path) -> Iterator[Environment]:
    """Mount it at /data, and once more, only to be read, at /ro."""
    yield Environment({}, [f"{host}/data:/data", f"{host}/data:/ro:ro"])
    assert (host / "secret").read_text() == SECRET
    assert {path.name for path in host.iterdir()} == {"secret", "database", "data"}
    assert os.listdir(host / "database") == ["secret"]
