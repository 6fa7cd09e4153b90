"""What the figures were measured on: processor, Python, versions of everything involved."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.contenders import peers_python

OURS = ("kuniumi", "granian", "msgspec", "uvloop")
THEIRS = (
    "granian",
    "uvloop",
    "starlette",
    "fastapi",
    "pydantic",
    "litestar",
    "msgspec",
    "blacksheep",
    "robyn",
)
QUIET = 0.5

_ASK = """
import json, platform, sys
from importlib import metadata
def version(name):
    try: return metadata.version(name)
    except metadata.PackageNotFoundError: return None
print(json.dumps({"python": platform.python_version()} | {name: version(name) for name in sys.argv[1:]}))
"""


def describe() -> dict[str, Any]:
    """The machine, and the versions in the project's and the peers' environment."""
    found: dict[str, Any] = {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load": os.getloadavg()[0],
        "project": _versions(sys.executable, OURS),
    }
    if python := peers_python():
        found["peers"] = _versions(python, THEIRS)
    return found


def render(machine: dict[str, Any]) -> str:
    """The same in two or three lines, with a warning where two environments differ."""
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}, load {machine['load']:.2f}"
    ]
    if machine["load"] > QUIET:
        lines.append("WARNING: the machine is busy with other work, so the figures are noisy")
    project = machine["project"]
    lines.append("project: " + _listed(project))
    if peers := machine.get("peers"):
        lines.append("peers:   " + _listed(peers))
        differ = [
            name
            for name in project
            if name in peers and name != "uvloop" and project[name] != peers[name]
        ]
        lines += [
            f"WARNING: {name} differs between the two, so the comparison is unfair"
            for name in differ
        ]
    return "\n".join(lines) + "\n"


def _listed(versions: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'absent'}" for name, version in versions.items())


def _versions(python: str, names: tuple[str, ...]) -> dict[str, str | None]:
    ended = subprocess.run([python, "-c", _ASK, *names], capture_output=True, text=True, check=True)
    found: dict[str, str | None] = json.loads(ended.stdout)
    return found


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
