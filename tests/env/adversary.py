"""Renames things in a mount to and fro, as fast as it can, until stdin ends.

    python adversary.py FOLDER

In FOLDER/mount, `door` and `file` are now what they seem and now links to what is outside, and
`deep/one`, which holds a link `up` to `../../f`, is now two directories down and now one.
"""

from __future__ import annotations

import os
import select
import sys


def main() -> None:
    """Rename until told to stop."""
    os.chdir(f"{sys.argv[1]}/mount")
    sys.stdout.write("started\n")
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(100):
            _turn()
    sys.stdout.write("done\n")


def _turn() -> None:
    for name in ("door", "file"):
        os.rename(name, f"spare/{name}")
        os.rename(f"spare/{name}-link", name)
        os.rename(name, f"spare/{name}-link")
        os.rename(f"spare/{name}", name)
    os.rename("deep/one", "one")
    os.rename("one", "deep/one")


if __name__ == "__main__":
    main()
