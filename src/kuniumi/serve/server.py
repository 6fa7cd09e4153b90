"""Running an app on Granian: the settings of `serve`, and what its workers load.

In: a service, or where to find one, and settings. It returns when the server was told to stop and
every call it had received was answered.
"""

from __future__ import annotations

import multiprocessing
import sys
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.errors import UsageError
from kuniumi.serve.loading import load

if TYPE_CHECKING:
    from kuniumi.core.service import Service
    from kuniumi.serve.asgi import AsgiApp


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of one server."""

    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    reload: bool = False
    log_level: str = "warning"
    max_body: int = 4 * 1024 * 1024
    body_timeout: float = 30.0
    header_timeout: float = 30.0
    drain_timeout: int = 30
    limit_concurrency: int | None = None
    timeout: float | None = None
    root_path: str = ""
    cors: tuple[str, ...] = ()


class Loader:
    """What a worker calls to get its application: inherited by a fork, loaded afresh otherwise."""

    def __init__(self, service: Service, reference: str, settings: Settings) -> None:
        self.service: Service | None = service
        self.reference = reference
        self.settings = settings

    def __getstate__(self) -> dict[str, Any]:
        """Leave the service behind: only where to find it crosses to another process."""
        return {"service": None, "reference": self.reference, "settings": self.settings}

    def __call__(self) -> AsgiApp:
        """Make the ASGI application, in the worker."""
        from kuniumi.serve.asgi import AsgiApp  # noqa: PLC0415 - asyncio belongs to the worker

        settings = self.settings
        service = self.service
        if service is None or settings.reload:
            service = load(self.reference)
        apply(settings, service)
        return AsgiApp(
            service,
            max_body=settings.max_body,
            body_timeout=settings.body_timeout,
            root_path=settings.root_path,
            cors=settings.cors,
        )


def apply(settings: Settings, service: Service) -> None:
    """Let the command line overrule what the app itself says."""
    if settings.timeout is not None:
        service.timeout = settings.timeout or None
    if settings.limit_concurrency is not None:
        service.limit_concurrency = settings.limit_concurrency


def serve(service: Service, reference: str, settings: Settings, greeting: str) -> None:
    """Serve until told to stop."""
    from granian import Granian  # noqa: PLC0415 - only this command needs a server
    from granian.constants import Interfaces  # noqa: PLC0415
    from granian.http import HTTP1Settings  # noqa: PLC0415
    from granian.log import LOGGING_CONFIG, LogLevels  # noqa: PLC0415

    if multiprocessing.get_start_method() != "fork" and not reference:
        msg = "this app was not started from a file, so its workers can't load it"
        raise UsageError(msg)
    level = settings.log_level.upper()
    ours = {"handlers": ["console"], "level": level, "propagate": False}
    logging: dict[str, Any] = deepcopy(LOGGING_CONFIG)
    logging["handlers"]["console"]["stream"] = "ext://sys.stderr"
    logging["loggers"]["kuniumi"] = ours
    server = Granian(
        reference or "app",
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        workers=settings.workers,
        websockets=False,
        reload=settings.reload,
        log_level=LogLevels(settings.log_level),
        log_dictconfig=logging,
        workers_kill_timeout=settings.drain_timeout,
        http1_settings=HTTP1Settings(header_read_timeout=int(settings.header_timeout * 1000)),
    )
    server.on_startup(lambda: print(greeting, flush=True))  # noqa: T201 - it is for a person
    try:
        server.serve(target_loader=Loader(service, reference, settings), wrap_loader=False)
    except OSError as error:
        msg = (
            f"can't listen on {settings.host}:{settings.port} ({error.strerror or error}): "
            f"choose another with --host or --port"
        )
        raise UsageError(msg) from error


def main_file() -> str:
    """Give the file this process was started with, or nothing."""
    return str(getattr(sys.modules.get("__main__"), "__file__", "") or "")
