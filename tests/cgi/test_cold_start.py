"""What one answer by CGI, or by `call`, must not load: a cold start pays for every import.

The list stands here with its reasons. What `import msgspec` itself brings is not ours to forbid.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FORBIDDEN = {
    "asyncio": "no coroutine is awaited",
    "concurrent.futures": "there is one call, in one thread",
    "threading": "the same",
    "multiprocessing": "the same",
    "granian": "there is no server",
    "socket": "nor a connection",
    "ssl": "nor an encrypted one",
    "selectors": "nor many of them",
    "http": "statuses have a table of their own",
    "httpx": "nobody is asked anything",
    "urllib": "nor is any address taken apart",
    "email": "headers are lines",
    "subprocess": "no program is started",
    "logging": "nothing went wrong",
    "traceback": "the same",
    "docstring_parser": "words are for those who ask for them",
    "weakref": "words are kept elsewhere",
    "rich": "nobody looks",
    "argparse": "a call has a grammar of its own",
    "difflib": "no name was mistaken",
    "pydantic": "no argument is a model",
    "dataclasses": "no argument is one",
    "json": "msgspec reads and writes JSON",
    "tempfile": "nothing is kept",
    "pathlib": "no file is read",
    "importlib.metadata": "no version is shown",
    "kuniumi.core.schema": "right arguments need no schema",
    "kuniumi.core.coerce": "nor coercion",
    "kuniumi.core.describe": "nor a description",
    "kuniumi.wire.pages": "nothing is read but an answer",
    "kuniumi.wire.openapi": "the same",
    "kuniumi.serve.cli": "a web server types no commands",
    "kuniumi.serve.console": "nor reads tables",
}
SHELL_MAY = {
    "kuniumi.serve.cli",
    "kuniumi.serve.console",  # it shows progress
    "kuniumi.core.schema",  # words are read by the schema
    "weakref",  # which is remembered
    "kuniumi.core.coerce",
}

APP = """
import sys
import msgspec
from kuniumi import App

before = set(sys.modules)
app = App(name="Cold", version="1.0.0")

@app.function
def Add(x: int, y: int) -> int:
    return x + y

try:
    app.run()
finally:
    print("\\n".join(sys.modules), file=sys.stderr)
"""


def _modules(command: list[str], **run: object) -> set[str]:
    answer = subprocess.run(command, capture_output=True, text=True, check=True, **run)  # type: ignore[call-overload]
    assert answer.stdout.endswith('{"result":10}' if run else '{"result":10}\n')
    return set(answer.stderr.split())


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cold") / "app.py"
    path.write_text(APP)
    return path


@pytest.fixture(scope="module")
def unavoidable() -> set[str]:
    """What Python and msgspec load by themselves."""
    code = "import sys, msgspec; print('\\n'.join(sys.modules), file=sys.stderr); print('{\"result\":10}')"
    return _modules([sys.executable, "-c", code])


def test_cgi_loads_nothing_it_does_not_need(app: Path, unavoidable: set[str]) -> None:
    loaded = _modules(
        [sys.executable, str(app)],
        input='{"x":7,"y":3}',
        env={"GATEWAY_INTERFACE": "CGI/1.1", "PATH_INFO": "/Add", "CONTENT_LENGTH": "13"},
    )
    assert "kuniumi.serve.cgi" in loaded
    assert sorted((loaded - unavoidable) & set(FORBIDDEN)) == []


def test_a_call_from_the_shell_loads_nothing_it_does_not_need(
    app: Path, unavoidable: set[str]
) -> None:
    loaded = _modules([sys.executable, str(app), "call", "Add", "--x", "7", "--y", "3"])
    assert "kuniumi.serve.cli" in loaded
    assert sorted((loaded - unavoidable) & (set(FORBIDDEN) - SHELL_MAY)) == []


MCP_MAY_NOT = {
    *("granian", "httpx", "rich", "pydantic", "docstring_parser", "difflib", "importlib.metadata"),
    *("kuniumi.core.reconsider", "kuniumi.wire.openapi", "kuniumi.wire.http"),
}


def test_a_first_answer_by_mcp_loads_nothing_it_does_not_need(app: Path) -> None:
    call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Add","arguments":{"x":7,"y":3}}}'
    answer = subprocess.run(
        [sys.executable, "-X", "importtime", str(app), "mcp"],
        input=call,
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"structuredContent":{"result":10}' in answer.stdout
    loaded = {line.rpartition("|")[2].strip() for line in answer.stderr.splitlines()}
    assert "kuniumi.serve.mcp.stdio" in loaded
    assert sorted(loaded & MCP_MAY_NOT) == []
