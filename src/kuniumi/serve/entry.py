"""Where `app.run()` begins: the shortest way from a command line to the surface it names.

In: an app and words. Out: the end of the process. CGI is told apart here, before anything that
only people need (help, tables, completion) is loaded.

A process that a web server started is CGI, whatever its words are: they may come from a visitor
(RFC 3875 §4.4 makes a request for `/app.py?serve` start `app.py serve`), so none of them is read.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from kuniumi.errors import KuniumiError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from kuniumi.core.service import Service

_INTERRUPTED = 130
_BROKEN_PIPE = 141  # as a shell says it of a program that SIGPIPE ended


def run(service: Service, argv: Sequence[str] | None) -> NoReturn:
    """Do what the words say, and exit."""
    if argv is None and "GATEWAY_INTERFACE" in os.environ:
        words = ["cgi"]
    else:
        words = list(sys.argv[1:] if argv is None else argv)
    if words == ["cgi"]:
        from kuniumi.serve import cgi  # noqa: PLC0415 - one surface a process

        cgi.run(service)
        if _nothing_follows():
            _skip_teardown()
        sys.exit(0)
    from kuniumi.serve import cli  # noqa: PLC0415

    sys.exit(guarded(lambda: cli.run(service, words, alone=True)))


def guarded(command: Callable[[], int]) -> int:
    """Run a command; end without a traceback where a mistake, a person or a pipe ended it."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # this process was started without it
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: PTH123, SIM115 - open to the end
    try:
        code = command()
        sys.stdout.flush()
    except KuniumiError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # `… | head -1` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes once more at its end
        return _BROKEN_PIPE
    return code


# ---- the end of a process that answered one request ------------------------------------------------


def _nothing_follows() -> bool:
    """Whether the last line of the file that was started called `app.run()`."""
    try:
        caller = sys._getframe(3)  # noqa: SLF001 - past this function, `run` and `App.run`
    except ValueError:
        return False
    return caller.f_back is None and caller.f_globals.get("__name__") == "__main__"


def _skip_teardown() -> None:
    """Let the process end once its threads have ended and its `atexit` functions have run.

    Python would then take every module and object apart, one by one: a fifth of the time that a
    CGI process takes in all. Files that are still open are flushed, as it would have done.
    """
    import atexit  # noqa: PLC0415 - only here

    def leave() -> None:
        atexit.unregister(leave)
        atexit._run_exitfuncs()  # noqa: SLF001 - this one was registered last, so it runs first
        _flush_files()
        os._exit(0)

    atexit.register(leave)


def _flush_files() -> None:
    import gc  # noqa: PLC0415 - only here
    from io import IOBase  # noqa: PLC0415

    kind: Any = IOBase.__mro__[1]  # the plain class beneath: asking it is ten times as quick
    for thing in gc.get_objects():
        if isinstance(thing, kind):
            try:
                thing.flush()
            except (OSError, ValueError):  # it is closed, or nobody reads it any more
                continue
