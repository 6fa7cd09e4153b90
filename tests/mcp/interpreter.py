"""A Python like the one that runs the tests, whose every program is overheard (`overhear.py`).

In: a folder. Out: the interpreter, a virtual environment of its own over the same packages. Tests
start programs by `sys.executable`, or by what lies beside it: who they leave to start a server, and
with which variables, makes no difference then.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

HEARD = "heard.jsonl"


def make(folder: Path) -> Path:
    """Make the environment; what its programs say comes to be in `HEARD`, in the same folder."""
    before = Path(sys.executable).parent
    programs = folder / "bin"
    packages = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    for path in (programs, packages):
        path.mkdir(parents=True)
    base = Path(os.path.realpath(sys.executable))
    (folder / "pyvenv.cfg").write_text(
        f"home = {base.parent}\ninclude-system-site-packages = false\n"
    )
    for program in before.iterdir():
        _place(program, programs / program.name, str(before), str(programs))
    here, begin = str(Path(__file__).parent), [str(folder / HEARD), sysconfig.get_path("purelib")]
    (packages / "overhear.pth").write_text(
        f"import sys; sys.path.append({here!r}); import overhear; sys.path.pop(); "
        f"overhear.begin(*{begin!r})\n"
    )
    return programs / Path(sys.executable).name


def _place(program: Path, beside: Path, before: str, after: str) -> None:
    """Put a program there that runs in the new environment, if it is one of Python's."""
    if program.is_symlink():  # an interpreter
        beside.symlink_to(os.path.realpath(program))
        return
    text = program.read_bytes()
    if text.startswith(b"#!" + before.encode()):
        beside.write_bytes(text.replace(before.encode(), after.encode(), 1))
        beside.chmod(0o755)
    elif not text.startswith(b"#!") and os.access(program, os.X_OK):
        beside.symlink_to(program)
