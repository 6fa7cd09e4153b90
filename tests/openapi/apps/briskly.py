"""Runs an app as it stands, but it rests only a thousandth of its time.

briskly.py APP.py serve --port 8080
"""

from __future__ import annotations

import runpy
import sys
import time

_sleep = time.sleep


def _doze(seconds: float) -> None:
    _sleep(seconds / 1000)


time.sleep = _doze  # type: ignore[assignment]
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
