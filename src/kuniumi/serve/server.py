"""Running an app on Granian: the settings of `serve`, and what its workers load.

In: a service, or where to find one, and settings. It returns when the server was told to stop and
every call it had received was answered.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from kuniumi.errors import KuniumiError, UsageError
from kuniumi.execute.inline import GRACE
from kuniumi.execute.life import report_opening
from kuniumi.serve.loading import load
from kuniumi.serve.streams import end_process

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

    from kuniumi.core.service import Service
    from kuniumi.errors import StartError
    from kuniumi.serve.asgi import AsgiApp
    from kuniumi.serve.given import Given


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of one server."""

    host: str = "127.0.0.1"
    port: int = 8080  # 0 for any that is free
    workers: int = 1
    reload: bool = False
    log_level: str = "warning"
    max_body: int = 4 * 1024 * 1024
    body_timeout: float = 30.0  # 0 for no bound, here and below
    header_timeout: float = 30.0
    drain_timeout: int = 30
    limit_concurrency: int | None = None
    timeout: float | None = None
    root_path: str = ""
    given: Given | None = None  # to the functions, over what the app itself gives them
    cors: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()  # names by which MCP may be reached
    origins: tuple[str, ...] = ()  # web pages that may use it
    secret: bytes = b""  # shared by all workers
    meeting: str = ""  # the folder where workers find each other, if there are several
    scheduling: str = "batch"  # or "normal": how the kernel switches between a worker's threads


_DAY = 24 * 60 * 60
_LONGEST_PLACE = 60


FAREWELL = 0.2
"""Seconds between SIGTERM and the closing of what listens.

What clients have sent by then is read, and every answer asks its client to send no more on that
connection. Granian closes a connection on which it has read nothing yet, even if there is something
to read.
"""


LAST_CALL = 0.8
"""Seconds before the end of all patience at which calls that still run are ended."""


class Loader:
    """What a worker calls to get its application: inherited by a fork, loaded afresh otherwise."""

    def __init__(
        self,
        service: Service,
        reference: str,
        settings: Settings,
        greeting: str,
        starting: Any,
        hopeless: Any,
    ) -> None:
        self.service: Service | None = service
        self.reference = reference
        self.settings = settings
        self.greeting = greeting
        self.starting = starting  # how many workers have yet to start, counted by all of them
        self.hopeless = hopeless  # an event for all of them: the app can't start
        self.server: Any = None  # in a fork: the parent's, as it was

    def __getstate__(self) -> dict[str, Any]:
        """Leave the service behind: only where to find it crosses to another process."""
        return {**self.__dict__, "service": None, "server": None}

    def __call__(self) -> AsgiApp:
        """Make the ASGI application, in the worker."""
        from kuniumi.serve.asgi import AsgiApp  # noqa: PLC0415 - asyncio belongs to the worker

        settings = self.settings
        if settings.scheduling == "batch":
            _take_turns()
        service = self.service
        if service is None or settings.reload:
            service = self._load()
        apply(settings, service)
        if service.weave is not None:
            service.weave = service.weave.afresh()  # what a parent has open is its own
        service.open()
        app = AsgiApp(
            service,
            max_body=settings.max_body,
            body_timeout=settings.body_timeout,
            root_path=settings.root_path,
            cors=settings.cors,
            hosts=settings.hosts,
            origins=settings.origins,
            secret=settings.secret,
            meeting=settings.meeting,
            opening=lambda: _stop_while_opening(service),
            started=lambda: self.started(app),
            failed=self.failed,
        )
        return app

    def _load(self) -> Service:
        if self.settings.reload:
            _forget_modules(_watched(self.reference))
        try:
            return load(self.reference)
        except KuniumiError as error:
            sys.stderr.write(f"{error}\n")
            sys.exit(1)

    def started(self, app: AsgiApp) -> None:
        """Take part in the server's start, in the worker, once Granian's signal handlers stand."""
        from asyncio import get_running_loop  # noqa: PLC0415 - asyncio belongs to the worker

        loop = get_running_loop()
        _outlive_exits(loop, self.greet)
        patience = self.settings.drain_timeout
        loop.add_signal_handler(signal.SIGTERM, _stop_softly, loop, app, patience)
        if self.server is not None and self.server.interrupt_signal:
            os.kill(os.getpid(), signal.SIGTERM)  # it came before there was a handler for it

    def failed(self, error: StartError) -> str:
        """Say, for all workers once, that the app can't start, and have the server end."""
        with self.starting.get_lock():
            first, served = not self.hopeless.is_set(), self.starting.value <= 0
            if not served and not self.settings.reload:  # a mistake is mended by the next change
                self.hopeless.set()
                os.kill(os.getppid(), signal.SIGTERM)
        if first:
            report_opening(error)
            sys.stderr.write(f"{error}\n")
            sys.stderr.flush()
        return ""

    def greet(self) -> None:
        """Say that the app is served: the last of the workers to listen does, once."""
        with self.starting.get_lock():
            self.starting.value -= 1
            last = self.starting.value == 0
        if last:
            try:
                print(self.greeting, flush=True)
            except OSError:
                return  # the person has closed the pipe

    def greet_again(self) -> None:
        """Prepare for new workers, in the process that starts them."""
        changed = " has changed, and" if self.settings.reload else ""  # otherwise: SIGHUP
        self.greeting = f"{self.reference or 'the app'}{changed} is served anew"
        self.starting.value = self.settings.workers


def _take_turns() -> None:
    """Keep this worker's threads from breaking in on one another each time one of them wakes.

    A request goes through three threads: Granian's two, and the interpreter's. Each wakes the next
    while it is itself not done, and mostly while it holds what the next one waits for: switching at
    once costs as much as answering. As a batch process the worker keeps its share of the processor,
    but whoever wakes waits until the one that runs has to wait. Threads inherit it, and there are
    no others yet. Where somebody has chosen another policy for the process, that one stays.
    """
    with suppress(AttributeError, OSError):  # not on Linux, or not allowed
        if os.sched_getscheduler(0) == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _stop_while_opening(service: Service) -> None:
    """Have SIGTERM end this worker, which has received nothing yet, and break off what it opens."""
    from asyncio import get_running_loop  # noqa: PLC0415 - asyncio belongs to the worker

    from kuniumi.execute.woven import close_service  # noqa: PLC0415 - few apps open anything

    loop = get_running_loop()

    async def end() -> None:
        await close_service(service, GRACE)
        end_process(0)

    ending = []
    loop.add_signal_handler(signal.SIGTERM, lambda: ending.append(loop.create_task(end())))


def _stop_softly(loop: AbstractEventLoop, app: AsgiApp, patience: float) -> None:
    app.drain()
    from kuniumi.execute.loop import stop_all  # noqa: PLC0415 - asyncio belongs to the worker

    loop.call_later(max(patience - LAST_CALL, 0.75 * patience), stop_all)
    loop.call_later(FAREWELL, os.kill, os.getpid(), signal.SIGINT)  # Granian takes it for SIGTERM


def _outlive_exits(loop: AbstractEventLoop, begun: Callable[[], None]) -> None:
    """Keep a loop running whatever a task raises, and tell when it begins to run for good.

    `sys.exit()` in a task that a function started would end the worker, and everybody's calls; so
    would `stop()`, which is for whoever runs the loop.
    """
    run, run_to_end = loop.run_forever, loop.run_until_complete
    waiting = [begun]

    def run_forever() -> None:
        while waiting:  # the server listens by now
            loop.call_soon(waiting.pop())
        while True:
            try:
                run()
            except (SystemExit, KeyboardInterrupt):
                continue
            return

    def run_until_complete(main: Any) -> Any:
        main = loop.create_task(main)
        while True:
            try:
                return run_to_end(main)
            except RuntimeError:
                if main.done():
                    raise

    loop.run_forever = run_forever  # type: ignore[method-assign]
    loop.run_until_complete = run_until_complete  # type: ignore[method-assign, assignment]


def apply(settings: Settings, service: Service) -> None:
    """Let the command line overrule what the app itself says."""
    if settings.timeout is not None:
        service.timeout = settings.timeout or None
    if settings.limit_concurrency is not None:
        service.limit_concurrency = settings.limit_concurrency
    given = settings.given
    if given is not None:
        service.environment = service.environment.extended(given.variables, given.mounts)


def serve(
    service: Service, reference: str, settings: Settings, greeting: Callable[[int], str]
) -> int:
    """Serve until told to stop; give the exit code.

    `greeting` makes, for the port, what is said once it answers.
    """
    from granian import Granian  # noqa: PLC0415 - only this command needs a server
    from granian.constants import HTTPModes, Interfaces, Loops  # noqa: PLC0415
    from granian.http import HTTP1Settings  # noqa: PLC0415
    from granian.log import LogLevels  # noqa: PLC0415

    forks = multiprocessing.get_start_method() == "fork"
    if not reference and (not forks or settings.reload):
        msg = "this app was not started from a file, so its workers can't load it"
        raise UsageError(msg)
    meeting = _meeting_place() if settings.workers > 1 else ""
    settings = structs.replace(settings, secret=_shared_secret(), meeting=meeting)
    address, port, reserved = _reserve(settings.host, settings.port)
    processes = multiprocessing.get_context("fork" if forks else "spawn")
    starting, hopeless = processes.Value("i", settings.workers), processes.Event()
    loader = Loader(service, reference, settings, greeting(port), starting, hopeless)
    server = Granian(
        reference or "app",
        address=address,
        port=port,
        interface=Interfaces.ASGI,
        workers=settings.workers,
        loop=Loops.asyncio,  # the one that can be made to outlive an exit
        http=HTTPModes.http1,  # in its others Granian waits for ever for a first word
        http1_settings=HTTP1Settings(
            header_read_timeout=int((settings.header_timeout or _DAY) * 1000)
        ),
        websockets=False,
        log_level=LogLevels(settings.log_level),
        log_dictconfig=_logging(settings.log_level),
        workers_kill_timeout=settings.drain_timeout,
        respawn_failed_workers=True,
        **_reloading(settings, reference),
    )
    loader.server = server
    server.on_reload(loader.greet_again)
    try:
        server.serve(target_loader=loader, wrap_loader=False)
    except OSError as error:
        raise _cannot_listen(settings.host, settings.port, error) from error
    finally:
        reserved.close()
        if meeting:
            shutil.rmtree(meeting, ignore_errors=True)
    return 1 if hopeless.is_set() else 0


def _meeting_place() -> str:
    """Make the folder in which workers find each other's sockets, whose paths have to be short."""
    place = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix="kuniumi-", dir=place if len(place) < _LONGEST_PLACE else "/tmp")  # noqa: S108 - nobody else may enter it


def _shared_secret() -> bytes:
    """Give what the workers seal with: that of the servers beside this one, if there is such."""
    return os.environ.get("KUNIUMI_SECRET", "").encode() or secrets.token_bytes(32)


def _reserve(host: str, port: int) -> tuple[str, int, socket.socket]:
    """Find the address and the port to listen on, and hold them until the workers do.

    Granian's sockets share a port with whoever shares it too, be it another app of this user: so a
    socket that does not share asks first.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, socket.SOCK_STREAM) as asking:
            asking.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            asking.bind(address)
        holding = socket.socket(family, socket.SOCK_STREAM)
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holding.bind(address)
    except OSError as error:
        raise _cannot_listen(host, port, error) from error
    return str(address[0]), int(holding.getsockname()[1]), holding


def _cannot_listen(host: str, port: int, error: OSError) -> UsageError:
    return UsageError(
        f"can't listen on {host}:{port} ({error.strerror or error}): "
        f"choose another with --host or --port"
    )


def _logging(log_level: str) -> dict[str, Any]:
    from granian.log import LOGGING_CONFIG  # noqa: PLC0415 - only this command needs a server

    logging: dict[str, Any] = deepcopy(LOGGING_CONFIG)
    logging["handlers"]["console"]["stream"] = "ext://sys.stderr"
    logging["loggers"]["kuniumi"] = {
        "handlers": ["console"],
        "level": log_level.upper(),
        "propagate": False,
    }
    return logging


# ---- reloading -----------------------------------------------------------------------------------


def _reloading(settings: Settings, reference: str) -> dict[str, Any]:
    if not settings.reload:
        return {}
    if find_spec("watchfiles") is None:
        msg = "--reload needs watchfiles: pip install kuniumi[reload]"
        raise UsageError(msg)
    from watchfiles import PythonFilter  # noqa: PLC0415 - only reloading needs it

    return {
        "reload": True,
        "reload_paths": [_watched(reference)],
        "reload_filter": PythonFilter,
        "reload_ignore_worker_failure": True,  # a mistake is mended by the next change
    }


def _watched(reference: str) -> Path:
    """Give the folder whose files are watched: the current one, if the app lies below it."""
    here = Path.cwd()
    place = reference.rpartition(":")[0] or reference
    if not place.endswith(".py"):
        return here
    folder = Path(place).resolve().parent
    return here if folder.is_relative_to(here) else folder


def _forget_modules(folder: Path) -> None:
    """Forget what was imported from a folder, so that it is read again: all but installed code."""
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "/")
        installed = "site-packages" in file.parts or name.partition(".")[0] == "kuniumi"
        if file.is_relative_to(folder) and not installed and name != "__main__":
            del sys.modules[name]


def main_file() -> str:
    """Give the file this process was started with, or nothing."""
    return str(getattr(sys.modules.get("__main__"), "__file__", "") or "")
