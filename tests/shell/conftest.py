"""Run programs as a person at a shell does: through pipes, and on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).parents[2]
CALCULATOR = ROOT / "examples" / "calculator" / "app.py"
KUNIUMI = Path(sys.executable).with_name("kuniumi")


@dataclass(frozen=True)
class Ended:
    """What a program wrote, and how it ended."""

    out: str
    err: str
    code: int

    @property
    def answer(self) -> Any:
        """The one line of JSON on stdout, of a program that said nothing else."""
        assert (self.code, self.err) == (0, "")
        return msgspec.json.decode(self.out)

    @property
    def error(self) -> str:
        """The message in the one line of JSON on stderr, of a program that failed."""
        assert self.code != 0
        assert self.out == ""
        assert self.err.count("\n") == 1
        envelope = msgspec.json.decode(self.err)
        assert list(envelope) == ["error"]
        return str(envelope["error"])


Shell = Callable[..., Ended]


@pytest.fixture
def shell() -> Shell:
    """Run an app, or a program, with words: `shell("call", "Add", "7", "3")`."""

    def run(
        *words: str | Path,
        app: Path = CALCULATOR,
        program: Path | None = None,
        stdin: bytes = b"",
        cwd: Path | None = None,
        **variables: str,
    ) -> Ended:
        start = [program] if program else [sys.executable, app]
        ended = subprocess.run(
            [*start, *words],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env={"PATH": os.environ["PATH"], **variables},
            timeout=30,
            check=False,
        )
        return Ended(ended.stdout.decode(), ended.stderr.decode(), ended.returncode)

    return run


@dataclass(frozen=True)
class Seen:
    """What a terminal showed: everything, or only what was not piped elsewhere."""

    screen: str
    out: str
    code: int


Terminal = Callable[..., Seen]


@pytest.fixture
def terminal() -> Terminal:
    """Run an app on a terminal; with `pipe_out`, stdout goes into a pipe instead."""

    def run(*words: str, app: Path = CALCULATOR, pipe_out: bool = False, **variables: str) -> Seen:
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [sys.executable, app, *words],
            stdin=theirs,
            stdout=subprocess.PIPE if pipe_out else theirs,
            stderr=theirs,
            env={
                "PATH": os.environ["PATH"],
                "TERM": "xterm-256color",
                "COLUMNS": "100",
                **variables,
            },
        ) as process:
            os.close(theirs)
            screen = _read_to_the_end(ours)
            out = process.stdout.read().decode() if process.stdout else ""
            code = process.wait(20)
        os.close(ours)
        return Seen(screen, out, code)

    return run


def _read_to_the_end(terminal: int) -> str:
    parts = []
    deadline = time.monotonic() + 20
    while select.select([terminal], [], [], max(deadline - time.monotonic(), 0))[0]:
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # nobody holds the other side any more
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts).decode()
