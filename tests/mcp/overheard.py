"""What servers said while tests ran, held to the official schema of its revision.

In: the file that `overhear.py` writes to. Out: each message that is not as it should be, and why.
A message is judged by what it answers, as its server knew it: the request, and the revision that was
stated, or agreed on in a handshake. Where two requests of one id are at work, or two revisions are
spoken on one stream, it has to be right for one of them.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kuniumi.wire.sse import EventReader
from tests.mcp.official import REVISIONS, STATELESS, is_id, problems, revision_of

Message = dict[str, Any]

_ON_STDIO = "2025-11-25"  # what a line speaks that neither says so nor followed a handshake
_OVER_HTTP = "2025-03-26"  # and what a request over HTTP does
_LONGEST_ID = 1000  # a server need not repeat more
_OFTEN = 4096  # what is longer is hardly said twice


def asked_in(message: bytes | Any) -> Message | None:
    """Give the request that a message is, or would be, if an answer may name its id."""
    if isinstance(message, bytes):
        try:
            message = json.loads(message, parse_int=_number)
        except (ValueError, RecursionError):
            return None
    if not isinstance(message, dict) or "result" in message or "error" in message:
        return None
    key = message.get("id")
    return message if is_id(key) and len(str(key)) < _LONGEST_ID else None


def _number(digits: str) -> float:
    return int(digits) if len(digits) < _LONGEST_ID else float(digits)


class Overheard:
    """Reads on where it stopped, and remembers what was wrong."""

    def __init__(self, file: Path) -> None:
        self.count = 0  # messages of servers
        self._file = file
        self._position = 0
        self._wrong: list[str] = []
        self._lines: dict[str, _Line] = {}
        self._exchanges: dict[str, _Exchange] = {}
        self._sessions: dict[str, _Line] = {}

    def wrong(self) -> list[str]:
        """Give what was wrong with what was said since this was last asked."""
        for key, what, said in self._news():
            if key.startswith("stdio"):
                self._take_line(self._lines.setdefault(key, _Line(_ON_STDIO)), what, said)
            else:
                self._take_part(key, what, said)
        found, self._wrong = self._wrong, []
        return found

    def _news(self) -> Iterator[tuple[str, str, Any]]:
        if not self._file.exists() or self._file.stat().st_size == self._position:
            return
        with self._file.open("rb") as file:
            file.seek(self._position)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it is just being written
                self._position += len(line)
                key, what, said = json.loads(line)
                yield key, what, base64.b64decode(said) if isinstance(said, str) else said

    # ---- on stdio -------------------------------------------------------------------------------

    def _take_line(self, line: _Line, what: str, said: bytes) -> None:
        if what == "asked":
            line.hear(asked_in(said))
            return
        message = self._message(said)
        if message is None:
            return
        if "method" in message or "id" not in message:
            self._judge(said, [(None, revision) for revision in line.revisions])
        else:
            asked = line.asked.get(repr(message["id"]), [])
            self._judge(said, [(each, _of(each, old)) for each in asked for old in line.agreed])
        line.settle(message)

    # ---- over HTTP ------------------------------------------------------------------------------

    def _take_part(self, key: str, what: str, said: Any) -> None:
        if what == "headers":
            self._exchanges[key] = _Exchange(*said)
            return
        exchange = self._exchanges[key]
        if what == "asked":
            exchange.asked = asked_in(said)
            session = self._sessions.get(exchange.session)
            if session is not None:
                session.hear(exchange.asked)
        elif what == "status":
            exchange.status, exchange.kind, exchange.opened = said
        elif exchange.kind == "text/event-stream":
            for event in exchange.events.feed(said):
                if event.data:
                    self._take_answer(exchange, event.data)
        else:
            self._take_answer(exchange, said)

    def _take_answer(self, exchange: _Exchange, said: bytes) -> None:
        message = self._message(said)
        if message is None:
            return
        asked, session = exchange.asked, self._sessions.get(exchange.session)
        revision = _of(asked, session.agreed[-1] if session else exchange.stated)
        if exchange.opened and "result" in message:
            session = self._sessions[exchange.opened] = _Line(message["result"]["protocolVersion"])
            revision = session.agreed[-1]
        elif asked is not None and asked.get("method") == "initialize" and "result" in message:
            revision = message["result"]["protocolVersion"]
        code = message["error"].get("code") if isinstance(message.get("error"), dict) else None
        # A message that is no JSON has no id that could be told, nor has one that nobody read.
        unread = "id" not in message and (code == -32700 or exchange.status not in {200, 400, 404})
        if "method" in message or unread:
            self._judge(said, [(None, revision)])
        elif asked is not None:
            self._judge(said, [(asked, revision)])
        elif session is not None:  # the answer to what was asked on another stream
            known = session.asked.get(repr(message.get("id")), [None])
            self._judge(said, [(each, revision) for each in known])
        else:
            self._judge(said, [(None, revision)])

    # ---- judging --------------------------------------------------------------------------------

    def _message(self, said: bytes) -> Message | None:
        self.count += 1
        try:
            message = json.loads(said)
        except ValueError as error:
            self._wrong.append(f"it is no JSON: {error}, in {said!r:.600}")
            return None
        if isinstance(message, dict):
            return message
        self._wrong.append(f"a message is one object, and not {said!r:.600}")
        return None

    def _judge(self, said: bytes, ways: list[tuple[Message | None, str]]) -> None:
        """Hold a message to what it may be: right in one way is right."""
        found: tuple[str, ...] = ("nobody asked",)
        for asked, revision in ways:
            judge = _problems if len(said) < _OFTEN else _problems.__wrapped__
            found = judge(said, json.dumps(asked), revision)
            if not found:
                return
        self._wrong += [f"{problem}, in {said!r:.600}" for problem in found]


class _Line:
    """A client and its server, as far as their conversation has come."""

    def __init__(self, revision: str) -> None:
        self.agreed = [revision]
        self.asked: dict[str, list[Message]] = {}
        self._states = False  # whether a request has stated its own revision

    @property
    def revisions(self) -> list[str]:
        """The revisions that are spoken."""
        return [*reversed(self.agreed), *([STATELESS] if self._states else [])]

    def hear(self, request: Message | None) -> None:
        """Note what may be answered."""
        if request is not None:
            known = self.asked.setdefault(repr(request["id"]), [])
            if request not in known:
                known.append(request)
            self._states |= revision_of(request, _ON_STDIO) == STATELESS

    def settle(self, message: Message) -> None:
        """Note the revision that a handshake agrees on."""
        result = message.get("result")
        if isinstance(result, dict) and "protocolVersion" in result:
            self.agreed.append(result["protocolVersion"])


class _Exchange:
    """A request over HTTP, and its answer, as far as it has come."""

    def __init__(self, stated: str, session: str) -> None:
        self.stated = stated if stated in REVISIONS else _OVER_HTTP
        self.session = session
        self.asked: Message | None = None
        self.status = 0
        self.kind = ""
        self.opened = ""  # the session that its answer opens
        self.events = EventReader()


def _of(request: Message | None, agreed: str) -> str:
    return agreed if request is None else revision_of(request, agreed)


@functools.lru_cache(20_000)
def _problems(said: bytes, asked: str, revision: str) -> tuple[str, ...]:
    """Judge once what is said often."""
    return tuple(problems(said, revision, answers=json.loads(asked)))
