"""A call that may talk with its client: progress, log lines, and questions, in both ways of asking.

In: an operation, its arguments, terms and a line. Out: an envelope, or the result that says which
answers are wanted first. Where every request stands for itself, a question ends the call; with the
answer it comes again, from the beginning, and gets as far as the next question.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

from kuniumi.core.call import Ready
from kuniumi.core.caller import Caller
from kuniumi.core.codec import dumps
from kuniumi.core.invoke import prepare, refuse, settle
from kuniumi.core.questions import NEEDS, what_is_asked
from kuniumi.errors import CannotAskError
from kuniumi.execute.loop import outcome_of, perform
from kuniumi.execute.report import report
from kuniumi.execute.woven import Way
from kuniumi.wire.jsonrpc import INVALID_PARAMS, RpcError, write_notification
from kuniumi.wire.mcp.messages import LEVELS, whole_meta
from kuniumi.wire.mcp.results import question_method, question_params, write_input_required
from kuniumi.wire.mcp.state import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kuniumi.core.call import Envelope
    from kuniumi.core.operation import Operation
    from kuniumi.core.questions import Question
    from kuniumi.serve.mcp.desk import Desk, Line
    from kuniumi.serve.mcp.terms import Terms
    from kuniumi.wire.jsonrpc import Request
    from kuniumi.wire.mcp.messages import CallTool, GetPrompt, ReadResource

    Answers = dict[str, dict[str, Any]]


class Unanswered(BaseException):
    """Ends a function that has asked: it begins anew once there is an answer."""


async def converse(
    desk: Desk,
    operation: Operation,
    arguments: bytes,
    request: Request,
    params: CallTool | GetPrompt | ReadResource,
    terms: Terms,
    line: Line,
) -> Envelope | bytes | RpcError:
    """Run an operation, with a caller that takes what it can."""
    revision = terms.revision
    about = digest(request.method.encode(), operation.operation_id.encode(), arguments)
    asking: _Again | _Direct
    if revision.stateless:
        answers = _known(desk, params, about)
        if isinstance(answers, RpcError):
            return answers
        asking = _Again(terms, answers)
    else:
        asking = _Direct(terms, line)
    told = _Told(line, params, terms)
    caller = Caller(
        report=told.report,
        log=told.log,
        log_level=terms.log_level or 0,
        ask=asking.ask,
        release=line.release,
        meta=whole_meta(request.params),
    )
    call = desk.service.call(operation, arguments, caller)
    limit = desk.service.limit(operation)
    way = Way(operation, call, limit, line.gone)
    try:
        early = await way.begin()
        if early is not None:
            return await way.end(early)
        ready = prepare(operation, call)
        if not isinstance(ready, Ready):
            return await way.end(report(operation, refuse(ready)))
        outcome = await outcome_of(perform(ready, call, limit, line.gone))
        if isinstance(asking, _Again) and asking.open and _is_unanswered(outcome.error):
            state = desk.seal.close(asking.answers, about)
            return write_input_required(asking.open, state, revision, desk.stamp(revision))
        return await way.end(report(operation, settle(operation, outcome)))
    finally:
        await way.leave()


def _known(
    desk: Desk, params: CallTool | GetPrompt | ReadResource, about: bytes
) -> Answers | RpcError:
    """Give the answers that a request brings: those sealed in its state, and new ones."""
    answers: Answers = {}
    if params.request_state is not None:
        sealed = desk.seal.open(params.request_state, about)
        if sealed is None:
            msg = "Invalid params: requestState was changed, is too old, or is another request's"
            return RpcError(INVALID_PARAMS, msg)
        answers = sealed
    return {**answers, **(params.input_responses or {})}


def _is_unanswered(error: object) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(Unanswered) is not None
    return isinstance(error, Unanswered)


class _Told:
    """What a client hears of a call while it runs."""

    def __init__(
        self, line: Line, params: CallTool | GetPrompt | ReadResource, terms: Terms
    ) -> None:
        token = params.meta.progress_token
        wanted = terms.log_level if not terms.revision.stateless else params.meta.log_level
        self._tell = line.tell
        self._token = dumps(token) if token is not None else b""
        self._with_words = terms.revision.annotations
        self.report = self._report if line.tell is not None and self._token else None
        self.log = self._log if line.tell is not None and wanted is not None else None

    def _report(self, done: float, total: float | None, message: str | None) -> None:
        said: dict[str, Any] = {"progress": done}
        if total is not None:
            said["total"] = total
        if message is not None and self._with_words:
            said["message"] = message
        params = b'{"progressToken":%b,%b' % (self._token, dumps(said)[1:])
        self._say("notifications/progress", params)

    def _log(self, level: int, logger: str, message: str) -> None:
        name = max(
            (n for n in LEVELS if LEVELS[n] <= level), key=LEVELS.__getitem__, default="debug"
        )
        said = {"level": name, "logger": logger, "data": message}
        self._say("notifications/message", dumps(said))

    def _say(self, method: str, params: bytes) -> None:
        if self._tell is not None:
            self._tell(write_notification(method, params))


class _Direct:
    """Asks the client at once, and waits: it has a line for questions."""

    def __init__(self, terms: Terms, line: Line) -> None:
        self._terms = terms
        self._line = line

    async def ask(self, question: Question) -> Mapping[str, Any]:
        ask = self._line.ask
        if ask is None or NEEDS[type(question)] not in self._terms.able:
            raise CannotAskError(what_is_asked(question), NEEDS[type(question)])
        params = question_params(question, self._terms.revision, secrets.token_urlsafe(12))
        return await ask(question_method(question), params)


class _Again:
    """Gives the answers that came with the request, and notes what is still asked."""

    def __init__(self, terms: Terms, answers: Answers) -> None:
        self.answers = answers
        self.open: dict[str, Question] = {}
        self._terms = terms
        self._count: dict[str, int] = {}

    async def ask(self, question: Question) -> Mapping[str, Any]:
        if NEEDS[type(question)] not in self._terms.able:
            raise CannotAskError(what_is_asked(question), NEEDS[type(question)])
        key = question.key or self._next_key(question)
        found = self.answers.get(key)
        if found is not None:
            return found
        dumps(question_params(question, self._terms.revision))  # what can't be written fails here
        self.open[key] = question
        for _ in range(2):  # questions that are asked side by side go out together
            await asyncio.sleep(0)
        raise Unanswered

    def _next_key(self, question: Question) -> str:
        kind = str(question.__struct_config__.tag)
        self._count[kind] = self._count.get(kind, 0) + 1
        return f"{kind}_{self._count[kind]}"
