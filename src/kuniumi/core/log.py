"""The logger of one call: what is logged goes where the app's logs go, and to a caller who listens.

In: a name and a caller. Out: a `logging.Logger`. Loaded when a function logs.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kuniumi.core.caller import Caller, Log


def logger_for(name: str, caller: Caller) -> logging.Logger:
    """Give the logger of this name, or one of this call's own that passes on to it."""
    common = logging.getLogger(name)
    if caller.log is None:
        return common
    level = min(caller.log_level, common.getEffectiveLevel())
    own = logging.Logger(name, level)  # noqa: LOG001 - it ends with the call, and nobody else gets it
    own.propagate = False
    own.addHandler(_Forked(common, caller.log, caller.log_level))
    return own


class _Forked(logging.Handler):
    """Hands a record to the app's logger, and its words to the caller."""

    def __init__(self, common: logging.Logger, tell: Log, level: int) -> None:
        super().__init__()
        self._common = common
        self._tell = tell
        self._told_from = level

    def emit(self, record: logging.LogRecord) -> None:
        if self._common.isEnabledFor(record.levelno):
            self._common.handle(record)
        if record.levelno >= self._told_from:
            try:
                self._tell(record.levelno, record.name, record.getMessage())
            except Exception:  # noqa: BLE001 - a log line must not end the call
                self.handleError(record)
