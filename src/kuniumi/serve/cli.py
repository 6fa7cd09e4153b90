"""The shell surface: commands for people and scripts, answers on stdout, errors on stderr.

In: a service and words. Out: an exit code. What a call's words mean is `wire.argv`'s affair, what
its failure is called `wire.status`'s. A call is made here, and needs no command-line parser; all
other commands are in `serve.commands`.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from kuniumi.core.caller import Caller
from kuniumi.core.fault import Fault, Kind, not_found
from kuniumi.core.invoke import refuse
from kuniumi.errors import UsageError
from kuniumi.serve.streams import end_process, spared_stdout
from kuniumi.wire import argv
from kuniumi.wire.status import exit_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kuniumi.core.call import Envelope
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service
    from kuniumi.serve.given import Given
    from kuniumi.wire.argv import Flags

_INTERRUPTED = 130


def main() -> NoReturn:
    """Run `kuniumi COMMAND FILE.py[:APP] …`."""
    from kuniumi.serve.entry import guarded  # noqa: PLC0415 - an app's own file comes in by it
    from kuniumi.serve.program import run_program  # noqa: PLC0415

    sys.exit(guarded(lambda: run_program(sys.argv[1:])))


def run(
    service: Service,
    words: Sequence[str],
    *,
    program: str = "",
    reference: str = "",
    alone: bool = False,
) -> int:
    """Run one command of an app; give the exit code.

    `alone` says that the process has nothing else to do, and may end with the answer to a call.
    """
    flags, rest = argv.take_globals(words, leading=True)
    if rest[:1] == ["call"]:
        return _call(service, rest[1:], flags, alone=alone)
    if rest[:1] == ["__complete"]:
        from kuniumi.serve.completion import complete  # noqa: PLC0415 - few press Tab

        return complete(service, rest[1:])
    from kuniumi.serve.commands import run_command  # noqa: PLC0415 - a call needs none of them

    more, rest = argv.take_globals(rest)
    given = read_given(argv.joined(flags, more))
    named = program or sys.argv[0].rpartition("/")[2]
    return run_command(with_given(service, given), rest, named, reference, given)


def read_given(flags: Flags) -> Given | None:
    """Read what the functions are given by flags; most often that is nothing."""
    if not any(flags.values()):
        return None
    from kuniumi.serve.given import read  # noqa: PLC0415 - few calls have any

    return read(flags)


def with_given(service: Service, given: Given | None) -> Service:
    """Give the service with what flags say added to what the app itself says."""
    if given is None:
        return service
    from msgspec.structs import replace  # noqa: PLC0415 - few calls have any

    environment = service.environment.extended(given.variables, given.mounts)
    changed = replace(service, environment=environment)
    for executor in changed.executors:
        executor.serve(changed)
    return changed


def finish(envelope: Envelope) -> int:
    """Write an answer to stdout, or an error to stderr; give the exit code."""
    stream = sys.stdout if envelope.fault is None else sys.stderr
    stream.flush()
    stream.buffer.write(envelope.body + b"\n")
    stream.buffer.flush()
    return exit_code(envelope.fault)


# ---- calling ---------------------------------------------------------------------------------------


def _call(service: Service, words: list[str], leading: Flags, *, alone: bool) -> int:
    try:
        flags, rest = argv.take_globals(words, leading=True)
        leading = argv.joined(leading, flags)
        if not rest or rest[0] in {"--help", "-h"}:
            from kuniumi.serve.console import explain_call  # noqa: PLC0415 - for people only

            explain_call(service)
            return 0 if rest else 2
        operation = service.registry.find(rest[0])
        if operation is None:
            return finish(refuse(not_found(rest[0])))
        own = argv.own_flags(operation)
        flags, rest = argv.take_globals(rest[1:], own=own)
        if argv.asks_for_help(operation, rest):
            from kuniumi.serve.console import show_function  # noqa: PLC0415 - for people only

            show_function(operation, as_json="--json" in rest and "--json" not in own)
            return 0
        service = with_given(service, read_given(argv.joined(leading, flags)))
        raw = sys.stdin.buffer.read() if rest == ["-"] else argv.read_arguments(operation, rest)
    except UsageError as error:
        return finish(refuse(Fault(Kind.BAD_ARGUMENTS, str(error))))
    try:
        return finish(_answer(service, operation, raw, _leave if alone else None))
    finally:
        if alone:
            _close(service)


def _close(service: Service) -> None:
    from kuniumi.execute.alone import close  # noqa: PLC0415 - not for help

    with spared_stdout():
        close(service)


def _leave(envelope: Envelope) -> NoReturn:
    """Write an error to stderr past its buffer, which may be in use, and end the process."""
    with suppress(OSError):
        os.write(2, envelope.body + b"\n")
    end_process(exit_code(envelope.fault))


def _answer(
    service: Service,
    operation: Operation,
    raw: bytes,
    leave: Callable[[Envelope], NoReturn] | None,
) -> Envelope:
    from kuniumi.execute.alone import answer_alone  # noqa: PLC0415 - not for help
    from kuniumi.serve.console import progress  # noqa: PLC0415

    interrupted = refuse(Fault(Kind.CANCELLED, "Interrupted"))
    with _interruptible() as interruptions:
        try:
            with spared_stdout(), progress(operation) as report:
                call = service.call(operation, raw, Caller(report=report))
                limit = service.limit(operation)
                envelope = answer_alone(operation, call, limit, log=_logs(), leave=leave)
        except KeyboardInterrupt:
            return interrupted
    return interrupted if interruptions and envelope.fault is not None else envelope


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Count how often Ctrl-C was pressed meanwhile: the second time ends the process at once.

    A function may catch the KeyboardInterrupt, to clean up or to give what it has; it may also
    raise one of its own, which then is a failure like any other.
    """
    import signal  # noqa: PLC0415 - only while a call runs

    pressed: list[int] = []

    def note(number: int, _frame: object) -> None:
        if pressed:
            os._exit(_INTERRUPTED)
        pressed.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread: nobody's Ctrl-C comes here
        yield pressed
        return
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _logs() -> bool:
    """Whether the app has said where logs go: a person in a shell sees the error anyway.

    What the answer hides behind an incident's number is logged in any case.
    """
    logging = sys.modules.get("logging")
    return logging is not None and logging.getLogger("kuniumi.call").hasHandlers()
