"""Whatever way a test starts a server of MCP, and whoever speaks to it: what is wrong is noticed."""

from __future__ import annotations

import ast
import asyncio
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kuniumi import App
from kuniumi.agent import Server, Toolbox
from kuniumi.testing import connect
from tests.http.server import serving, serving_by, serving_on_uvicorn
from tests.mcp.overheard import Overheard
from tests.mcp.senders import HANDSHAKE, ROOT, Poster, call, encoded, piped

WRONG = Path(__file__).parent / "apps" / "wrong.py"  # not imported: it would spoil this process
LINE = encoded(call("Add", x=7, y=3))


def _posted(poster: Poster) -> None:
    poster.ask(poster.call_of("Add", x=7, y=3))


def on_stdio() -> None:
    with piped(WRONG) as pipe:
        pipe.ask(pipe.call_of("Add", x=7, y=3))


def after_a_handshake() -> None:
    with piped(WRONG, revision=HANDSHAKE) as pipe:
        pipe.ask(pipe.call_of("Add", x=7, y=3))


def without_variables() -> None:
    subprocess.run([sys.executable, WRONG, "mcp"], input=LINE, env={}, check=True, stdout=-3)


def by_the_program() -> None:
    program = Path(sys.executable).with_name("kuniumi")
    subprocess.run([program, "mcp", WRONG], input=LINE, env={}, check=True, stdout=-3)


def over_http() -> None:
    with serving(WRONG) as server:
        _posted(Poster(server))


def with_workers() -> None:
    with serving(WRONG, "--workers", "2") as server:
        _posted(Poster(server, HANDSHAKE))


def by_mcp_over_http() -> None:
    with serving_by(WRONG, "mcp", "--http") as server:
        _posted(Poster(server))


def on_uvicorn() -> None:
    with serving_on_uvicorn("tests.mcp.apps.wrong:app.asgi") as server:
        _posted(Poster(server))


def with_our_own_agent() -> None:
    async def speak() -> None:
        async with Toolbox(Server(where=[sys.executable, str(WRONG), "mcp"])) as tools:
            await tools.call("functions.Add", {"x": 7, "y": 3})

    asyncio.run(speak())


@pytest.mark.parametrize(
    "speak",
    [
        on_stdio,
        after_a_handshake,
        without_variables,
        by_the_program,
        over_http,
        with_workers,
        by_mcp_over_http,
        on_uvicorn,
        with_our_own_agent,
    ],
    ids=lambda speak: speak.__name__.replace("_", " "),
)
def test_what_a_server_says_wrong_is_overheard(
    overheard: Overheard, speak: Callable[[], None]
) -> None:
    speak()
    check_wrong(overheard)


@pytest.mark.parametrize("surface", ["mcp-stdio", "mcp-http"])
def test_what_is_wrong_in_the_process_of_the_tests_is_overheard(
    overheard: Overheard, surface: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App(name="Wrong", version="1.0.0")
    app.function(_add)
    wrong = b'{"resultType":"complete","content":[{"type":"text"}]}'
    monkeypatch.setattr("kuniumi.serve.mcp.desk.write_tool_result", lambda *_: wrong)
    with connect(app, surface) as door:
        door.call("_add", {"x": 7, "y": 3})
    check_wrong(overheard)


def _add(x: int, y: int) -> int:
    return x + y


def check_wrong(overheard: Overheard) -> None:
    found = overheard.wrong()
    assert any("{'type': 'text'} is not valid" in problem for problem in found), found


def test_what_is_right_is_right(overheard: Overheard) -> None:
    with piped(ROOT / "examples" / "calculator" / "app.py") as pipe:
        assert pipe.is_well()
    assert overheard.wrong() == []


# ---- how tests start programs ------------------------------------------------------------------------

_PROGRAM = re.compile(r"(^|/)(python3?(\.\d+)?|kuniumi|uvicorn|granian)$")
_STARTS = re.compile(r"run|Popen|call|check_\w+|exec\w*|spawn\w*|create_subprocess_\w+|Server")
_IN_OTHER_ENVIRONMENTS = {  # which hold no part of the project: what is started there is no server of it
    "tests/agent/conftest.py",
    "tests/agent/test_toolbox.py",
    "tests/examples/test_workshop.py",
    "tests/openapi/test_generated_client.py",
    "tests/openapi/test_schemas_hold.py",
}


def _started_by_name(code: str) -> Iterator[str]:
    """Give the programs that code starts by their names: whichever is found, nobody overhears it."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if _STARTS.fullmatch(name):
                words = (word for given in node.args for word in ast.walk(given))
                for word in words:
                    said = getattr(word, "value", None)
                    if isinstance(said, str) and (said == "-S" or _PROGRAM.search(said)):
                        yield said


def test_no_test_starts_a_server_that_is_not_overheard() -> None:
    found = {
        name: programs
        for file in (ROOT / "tests").rglob("*.py")
        if (name := str(file.relative_to(ROOT))) not in _IN_OTHER_ENVIRONMENTS
        and (programs := [*_started_by_name(file.read_text())])
    }
    assert found == {}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("subprocess.run(['python', app, 'mcp'])", ["python"]),
        ("Popen([f'{folder}/bin/python3.12', app])", ["/bin/python3.12"]),
        ("Server(where=1); Server(['kuniumi', 'mcp', app])", ["kuniumi"]),
        ("subprocess.run([sys.executable, '-S', app, 'mcp'])", ["-S"]),
        ("subprocess.run([sys.executable, app, 'mcp'])", []),
        ("program = Path(sys.executable).with_name('kuniumi')", []),
    ],
)
def test_a_program_that_is_started_by_its_name_is_found(code: str, found: list[str]) -> None:
    assert [*_started_by_name(code)] == found
