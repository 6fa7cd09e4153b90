"""Opening and closing what an app's lifespan opens, where no event loop runs: CGI, the shell, a script.

In: a service. Out: its lifespan, open; or a `StartError`. A plain one is opened right here. An async
one gets a loop in a thread of its own, since what it opens belongs to a loop, and stays open from
call to call.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kuniumi.core.life import Life
    from kuniumi.core.service import Service
    from kuniumi.errors import StartError


def open_alone(life: Life, environment: Any) -> None:
    """Open it, if it is not open. What nobody closes before is closed when the process ends."""
    with life.lock:
        if life.is_open:
            return
        try:
            if life.lifespan.is_async:
                from kuniumi.execute.home import open_at_home  # noqa: PLC0415 - loads asyncio

                open_at_home(life, environment)
            else:
                manager = life.lifespan.manager(environment)
                state = manager.__enter__()
                life.opened(state, partial(manager.__exit__, None, None, None))
        except (Exception, SystemExit) as error:
            raise life.failed(error) from error
    import atexit  # noqa: PLC0415 - most apps open nothing

    atexit.register(close_life, life)


def close_alone(service: Service) -> None:
    """Close what a service has open, if it has; a failure is logged."""
    weave = service.weave
    if weave is not None and weave.life is not None:
        close_life(weave.life)


def close_life(life: Life) -> None:
    """Close it, if it is open and no event loop sees to that."""
    if life.close_awaits:  # a server has opened it, and closes it
        return
    closing = life.closing()
    if closing is None:
        return
    try:
        closing()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the calls were answered
        report_closing(life, error)


def report_opening(error: StartError) -> None:
    """Log that opening failed, and where."""
    import logging  # noqa: PLC0415 - as below

    logging.getLogger("kuniumi.life").error("%s", error, exc_info=error.__cause__)


def report_closing(life: Life, error: BaseException) -> None:
    """Log that closing failed."""
    import logging  # noqa: PLC0415 - a cold start rarely fails

    logging.getLogger("kuniumi.life").error(
        "lifespan %r failed to close", life.lifespan.name, exc_info=error
    )
