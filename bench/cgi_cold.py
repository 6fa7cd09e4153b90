"""CGI: from the start of a process to its answer, beside Python itself and a script by hand."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from bench.cold import CPU, WALL, Program, measure
from bench.contenders import APPS, BODY, peers_python
from bench.report import Budget, Section

PASS, BY_HAND, KUNIUMI = "python -c pass", "msgspec by hand", "kuniumi"

BUDGETS = (Budget(KUNIUMI, PASS, times=3.5), Budget(KUNIUMI, BY_HAND, times=1.25))


def calls(runs: int, wanted: Callable[[str], bool]) -> Section:
    """One POST of Add per process."""
    programs = [
        _python(PASS, _plain_python(), "-c", "pass"),
        _python("import msgspec", _plain_python(), "-c", "import msgspec"),
        _script(BY_HAND, "cgi_by_hand.py"),
        _script(KUNIUMI, "cgi_kuniumi.py"),
    ]
    if python := peers_python():
        programs.append(_python("import fastapi", python, "-c", "import fastapi"))
    rows = measure([each for each in programs if wanted(each.name)], runs)
    return Section("CGI, cold", (CPU, WALL), PASS, rows, BUDGETS)


def _plain_python() -> str:
    """The interpreter of an environment with what users install, and nothing else.

    The developer's own holds typing_extensions, which `import msgspec` imports where it can, and
    which takes as long again.
    """
    folder = os.environ.get("KUNIUMI_PLAIN")
    return str(Path(folder) / "python") if folder else sys.executable


def _script(name: str, script: str) -> Program:
    request = {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SCRIPT_NAME": f"/cgi-bin/{script}",
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/Add",
        "QUERY_STRING": "",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(BODY)),
    }
    return Program(
        name,
        (_plain_python(), str(APPS / script)),
        _environment() | request,
        stdin=BODY.encode(),
        # RFC 3875 lets a script leave out a status of 200.
        starts=(b"Status: 200", b"Content-Type: application/json"),
        ends=b'\r\n\r\n{"result":10}',
    )


def _python(name: str, *command: str) -> Program:
    return Program(name, command, _environment())


def _environment() -> dict[str, str]:
    """What a web server would hand on of its own, and where the project's source is."""
    source = str(Path(__file__).parents[1] / "src")
    return {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ} | {
        "PYTHONPATH": source
    }
