"""Copies of this process: a function may fork, and what comes back of it must not come back in here.

A copy that returned to the server would answer its callers once more, on their connections. So
whoever runs functions notes `made` before, and compares it afterwards: in a copy it is another.
"""

from __future__ import annotations

import os

made = 0
"""How many forks lead from the process that loaded this to the one that looks."""


def _count() -> None:
    global made  # noqa: PLW0603 - it is this process's own, in each copy
    made += 1


def end_here() -> None:
    """End this copy: nobody asked it."""
    os._exit(0)


os.register_at_fork(after_in_child=_count)
