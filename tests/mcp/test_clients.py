"""Clients that others wrote play one story, on stdio and over HTTP, and see what they should.

Each client is a script in `clients/`, run in an environment of its own: one process for the whole
story on one transport.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from tests.http.server import serving
from tests.mcp.proxy import Connection, Proxy, recording
from tests.mcp.story import STORY, expected, shown
from tests.mcp.traffic import Exchange, exchanges_of

HERE = Path(__file__).resolve().parent
APP = HERE / "apps/story.py"
STDIO = "on stdio"
HTTP = "over HTTP"
FOUR = "over HTTP with 4 workers"

Without = dict[str, str]

OTHERS: Without = {
    "nobody to ask": "it can be asked",
    "objects": "only FastMCP makes objects of output schemas",
    "missing": "it tells codes: see errors",
}


class Client(NamedTuple):
    """A client, how it speaks, where it plays, and what it has to leave out, for what reason."""

    name: str
    script: str
    environment: str  # the variable that says where its programs are
    era: Literal["modern", "legacy"]
    places: tuple[str, ...]
    without: Without


_FAST = {step: why for step, why in OTHERS.items() if step != "objects"}
_DEAF = {"changes": "it has no way to listen since there is no handshake"}
_ALONE = "it has a process of its own for each step: nothing can happen meanwhile"
_DEAR = "a process for each step is dear, and it plays others of the same kind"
_INSPECTOR = {
    **dict.fromkeys(("call with text for a number", "wrong argument"), "it makes numbers of text"),
    **dict.fromkeys(("exception", "exit", "noise", "two values", "words and data"), _DEAR),
    "errors": "it shows no codes: see missing",
    **dict.fromkeys(("progress", "log", "cancel", "changes", "still there"), _ALONE),
    **dict.fromkeys(("ask", "ask twice", "sample", "roots"), "nobody is there to be asked"),
    "complete": "it has no such command",
    "objects": OTHERS["objects"],
}
_PY, _OLD_PY, _JS = "KUNIUMI_CLIENTS", "KUNIUMI_OLD_CLIENTS", "KUNIUMI_FOREIGN"
_BOTH, _ALL = (STDIO, HTTP), (STDIO, HTTP, FOUR)

CLIENTS = (
    Client("Python SDK 2", "python_sdk.py", _PY, "modern", _ALL, OTHERS),
    Client("Python SDK 2", "python_sdk.py", _PY, "legacy", _ALL, OTHERS),
    Client("Python SDK 1", "old_python_sdk.py", _OLD_PY, "legacy", _BOTH, OTHERS),
    Client("FastMCP", "fastmcp_client.py", _PY, "modern", _BOTH, {**_FAST, **_DEAF}),
    Client("FastMCP", "fastmcp_client.py", _PY, "legacy", _BOTH, _FAST),
    Client("TypeScript SDK 2", "typescript_sdk.mjs", _JS, "modern", _ALL, OTHERS),
    Client("TypeScript SDK 2", "typescript_sdk.mjs", _JS, "legacy", _ALL, OTHERS),
    Client("TypeScript SDK 1", "old_typescript_sdk.mjs", _JS, "legacy", _ALL, OTHERS),
    Client("Inspector", "inspector.mjs", _JS, "legacy", (STDIO,), _INSPECTOR),
    Client("Inspector", "inspector.mjs", _JS, "modern", (HTTP,), _INSPECTOR),
)


class Play(NamedTuple):
    """A client plays the story somewhere."""

    client: Client
    place: str

    def __str__(self) -> str:
        return f"{self.client.name}, {self.client.era}, {self.place}"

    @property
    def steps(self) -> list[str]:
        """The steps it plays."""
        return [step for step in STORY if step not in self.client.without]


class Story(NamedTuple):
    """What a client saw of the story, and what went over HTTP."""

    saw: dict[str, Any]
    failed: dict[str, str]
    errors: str
    record: list[Connection]

    @property
    def exchanges(self) -> list[Exchange]:
        """All requests over HTTP, and their answers."""
        return [exchange for each in self.record for exchange in exchanges_of(each)]


PLAYS = [Play(client, place) for client in CLIENTS for place in client.places]


class Stage:
    """Where clients play: servers that are started once, and stories that are played once."""

    def __init__(self, folder: Path, ends: ExitStack) -> None:
        self._folder = folder
        self._ends = ends
        self._servers: dict[str, Proxy] = {}
        self._stories: dict[str, Story] = {}

    def story(self, play: Play) -> Story:
        """Give the story of a client, which plays it now unless it has."""
        if str(play) not in self._stories:
            try:
                self._stories[str(play)] = self._play(play)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                self._stories[str(play)] = Story({}, {}, str(error), [])  # it would not end better
        return self._stories[str(play)]

    def _play(self, play: Play) -> Story:
        notes = self._folder / f"notes {play.place}"
        notes.unlink(missing_ok=True)
        if play.place == STDIO:
            command = [sys.executable, str(APP), "mcp"]
            target = {"command": command, "env": {"STORY_NOTES": str(notes)}}
            return Story(*_run(play, target), [])
        proxy = self._server(play.place, notes)
        proxy.take_record()
        told = _run(play, {"url": proxy.url})
        return Story(*told, proxy.take_record())

    def _server(self, place: str, notes: Path) -> Proxy:
        if place not in self._servers:
            # Fewer at once than each client gives up: what is given up has to make room.
            flags = ["--workers", "4" if place == FOUR else "1", "--limit-concurrency", "8"]
            server = self._ends.enter_context(serving(APP, *flags, STORY_NOTES=str(notes)))
            self._servers[place] = self._ends.enter_context(recording(server.port))
        return self._servers[place]


def _run(play: Play, target: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str], str]:
    """Have a client play; give what it saw at each step, or how that failed, and its last words."""
    folder = os.environ.get(play.client.environment)
    if not folder or "KUNIUMI_NPM" not in os.environ:
        pytest.skip(f"{play.client.environment} or KUNIUMI_NPM is not set: ./dev test sets them")
    script = HERE / "clients" / play.client.script
    program = "node" if script.suffix == ".mjs" else "python"
    words = [json.dumps(target), play.client.era, json.dumps([*play.client.without])]
    done = subprocess.run(
        [f"{folder}/{program}", script, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    saw = {line["step"]: line["saw"] for line in told if "saw" in line}
    failed = {line["step"]: line["failed"] for line in told if "failed" in line}
    return saw, failed, done.stderr if done.returncode else ""


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with ExitStack() as ends:
        yield Stage(tmp_path_factory.mktemp("stage"), ends)


@pytest.mark.parametrize(
    ("play", "step"), [(play, step) for play in PLAYS for step in play.steps], ids=str
)
def test_a_client_sees_what_it_should(stage: Stage, play: Play, step: str) -> None:
    story, client = stage.story(play), play.client
    assert step in story.saw, story.failed.get(step, story.errors)
    saw, wanted = shown(story.saw[step], expected(step, client.name, client.era))
    assert saw == wanted


@pytest.mark.parametrize("play", PLAYS, ids=str)
def test_a_client_plays_every_step_that_it_does_not_say_it_leaves_out(
    stage: Stage, play: Play
) -> None:
    story = stage.story(play)
    assert not story.errors, story.errors
    assert sorted([*story.saw, *story.failed]) == sorted(play.steps)


def over_http(era: str) -> list[Play]:
    return [play for play in PLAYS if play.client.era == era and play.place != STDIO]


@pytest.mark.parametrize("play", over_http("modern"), ids=str)
def test_without_a_handshake_there_is_no_session_and_headers_repeat_arguments(
    stage: Stage, play: Play
) -> None:
    exchanges = stage.story(play).exchanges
    assert not any("mcp-session-id" in exchange.answer_headers for exchange in exchanges)
    assert any("mcp-param-region" in exchange.headers for exchange in exchanges)
    assert {exchange.method for exchange in exchanges} == {"POST"}


@pytest.mark.parametrize("play", over_http("legacy"), ids=str)
def test_a_client_that_shook_hands_keeps_one_session_and_ends_it(stage: Stage, play: Play) -> None:
    first, *others = stage.story(play).exchanges
    session = first.answer_headers["mcp-session-id"]
    assert {exchange.session for exchange in others} == {session}
    assert [exchange.status for exchange in others if exchange.method == "DELETE"] == [200]
