"""Runs an app as it stands, but strict, and briskly.

strictly.py APP.py serve --port 8080
"""

from __future__ import annotations

import runpy
from functools import partial
from pathlib import Path

import kuniumi

kuniumi.App = partial(kuniumi.App, strict=True)  # type: ignore[misc, assignment]
runpy.run_path(str(Path(__file__).with_name("briskly.py")), run_name="__main__")
