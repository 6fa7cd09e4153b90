"""What the environment should do, said once more and plainly: trees are dicts, paths are tuples.

`Host` draws a few directories with files and links, mounts them, and lays them out on a disk.
`answer` says what a path means there. Nothing here is taken from the code under test.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

SECRET = b"the host's own secret"
NAMES = ("a", "b", "data", "sub", "..a", "data..", "ä", "x y", "back\\slash")
POINTS = ("/", "/data", "/data/sub", "/data/sub/a", "/database", "/a/b", "/b")
MOST_LINKS = 40


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


Tree = dict[str, Any]
"""Names, and what they stand for: a `Tree`, a `Link`, or the bytes of a file."""


class Refused(Exception):  # noqa: N818 - it is an answer
    """The error that is expected, by its class's name."""


@dataclass
class Host:
    """Directories of a host, and where some of them are mounted."""

    folders: dict[str, Tree]
    mounts: dict[str, str]  # virtual path → folder
    read_only: set[str] = field(default_factory=set)  # virtual paths

    def lay_out(self, place: Path) -> list[str]:
        """Make all of it on a disk; give the mounts as flags."""
        for name, tree in {**self.folders, "outside": {"secret": SECRET, "a": SECRET}}.items():
            _lay_out(tree, place / name, place)
        (place / "secret").write_bytes(SECRET)
        return [
            f"{place}/{folder}:{virtual}" + (":ro" if virtual in self.read_only else "")
            for virtual, folder in self.mounts.items()
        ]


def draw_host(random: Random) -> Host:
    """Draw one to four mounts, each of a directory of its own."""
    points = random.sample(POINTS, random.randint(1, 4))
    folders = {f"m{index}": _draw_tree(random, f"m{index}", 0) for index in range(len(points))}
    mounts = dict(zip(points, folders, strict=True))
    return Host(folders, mounts, {point for point in points if random.random() < 0.25})


def draw_path(random: Random) -> str:
    """Draw a path: names that may be there, and what may be tried instead of names."""
    steps = [
        random.choice(NAMES)
        if random.random() < 0.75
        else random.choice(
            ("..", ".", "", "...", "/", "\\..", "../", "%2e%2e", "secret", "outside")
        )
        for _ in range(random.randint(1, 6))
    ]
    text = random.choice(("/", "/", "/data/", "/data/sub/", "", "//", "../")) + "/".join(steps)
    return (text + random.choice(("", "", "", "/", "/.", "/.."))) or "."


def _draw_tree(random: Random, place: str, depth: int) -> Tree:
    tree: Tree = {}
    for name in random.sample(NAMES, random.randint(1, 5)):
        kind = random.random()
        if kind < 0.35 and depth < 3:
            tree[name] = _draw_tree(random, f"{place}/{name}", depth + 1)
        elif kind < 0.7:
            tree[name] = Link(_draw_target(random))
        else:
            tree[name] = f"{place}/{name}".encode()
    return tree


def _draw_target(random: Random) -> str:
    if random.random() < 0.1:
        return random.choice(("/", "/etc/passwd", "PLACE/m0", "PLACE/secret", "PLACE/outside/a"))
    steps = [
        random.choice(("..", "..", ".", "m0", "m1", "outside", "secret"))
        if random.random() < 0.35
        else random.choice(NAMES)
        for _ in range(random.randint(1, 4))
    ]
    return "/".join(steps) + random.choice(("", "", "", "/", "/."))


def _lay_out(tree: Tree, folder: Path, place: Path) -> None:
    folder.mkdir()
    for name, what in tree.items():
        path = folder / name
        if isinstance(what, dict):
            _lay_out(what, path, place)
        elif isinstance(what, Link):
            os.symlink(what.target.replace("PLACE", str(place)), path)
        else:
            path.write_bytes(what)


# ---- what a path means ---------------------------------------------------------------------------


def plain(path: str, cwd: Sequence[str] = ()) -> tuple[str, ...]:
    """Resolve the text of a path."""
    names: list[str] = [] if path.startswith("/") else list(cwd)
    for name in path.split("/"):
        if name == "..":
            names = names[:-1]
        elif name and name != ".":
            names.append(name)
    return tuple(names)


def names_of(virtual: str) -> tuple[str, ...]:
    """Take a plain path apart."""
    return tuple(name for name in virtual.split("/") if name)


def mount_of(host: Host, path: tuple[str, ...]) -> str | None:
    """Find the mount with the most names in common."""
    known = [point for point in host.mounts if path[: len(names_of(point))] == names_of(point)]
    return max(known, key=lambda point: len(names_of(point)), default=None)


def leads_to_mounts(host: Host, path: tuple[str, ...]) -> set[str]:
    """Give the names in a directory that are there for the mounts' sake."""
    deeper = [names_of(point) for point in host.mounts]
    return {
        point[len(path)]
        for point in deeper
        if len(point) > len(path) and point[: len(path)] == path
    }


def look(host: Host, path: tuple[str, ...]) -> Any:
    """Give what is at a path, links followed: bytes or a `Tree`; or raise what is expected."""
    point = mount_of(host, path)
    if point is None:
        raise Refused("FileNotFoundError")
    inside = names_of(point)
    hidden = {
        names_of(other)[len(inside) :]
        for other in host.mounts
        if other != point and names_of(other)[: len(inside)] == inside
    }
    tree = host.folders[host.mounts[point]]
    return _get(tree, _real(tree, (), list(path[len(inside) :]), hidden, [0]))


def _real(
    tree: Tree,
    start: tuple[str, ...],
    steps: Sequence[str],
    hidden: set[tuple[str, ...]],
    links: list[int],
) -> tuple[str, ...]:
    here = start
    for step in steps:
        if not isinstance(_get(tree, here), dict):
            raise Refused("NotADirectoryError")
        if step == ".." and not here:
            raise Refused("PermissionError")
        if step == "..":
            here = here[:-1]
        elif step not in {"", "."}:
            here = _inside(tree, here, step, hidden, links)
    return here


def _inside(
    tree: Tree,
    here: tuple[str, ...],
    name: str,
    hidden: set[tuple[str, ...]],
    links: list[int],
) -> tuple[str, ...]:
    if (*here, name) in hidden:
        raise Refused("PermissionError")
    folder = _get(tree, here)
    if name not in folder:
        raise Refused("FileNotFoundError")
    there = folder[name]
    if not isinstance(there, Link):
        return (*here, name)
    links[0] += 1
    if links[0] > MOST_LINKS:
        raise Refused("OSError")
    if there.target.startswith(("/", "PLACE")):
        raise Refused("PermissionError")
    return _real(tree, here, there.target.split("/"), hidden, links)


def _get(tree: Tree, path: tuple[str, ...]) -> Any:
    found: Any = tree
    for name in path:
        found = found[name]
    return found


# ---- what is to be answered ----------------------------------------------------------------------


def reading(host: Host, path: str, cwd: Sequence[str] = ()) -> Any:
    """Say what reading a file gives."""
    there = plain(path, cwd)
    if mount_of(host, there) is None:
        raise Refused("IsADirectoryError" if _is_passage(host, there) else "FileNotFoundError")
    found = look(host, there)
    if isinstance(found, dict):
        raise Refused("IsADirectoryError")
    return found


def listing(host: Host, path: str, cwd: Sequence[str] = ()) -> Any:
    """Say what listing a directory gives."""
    there = plain(path, cwd)
    try:
        found = look(host, there)
    except Refused:
        if not _is_passage(host, there):
            raise
        found = {}
    if not isinstance(found, dict):
        if not _is_passage(host, there):
            raise Refused("NotADirectoryError")
        found = {}
    return sorted({*found, *leads_to_mounts(host, there)})


def kind(host: Host, path: str, cwd: Sequence[str] = ()) -> Any:
    """Say whether there is a file, a directory, or nothing to be had."""
    there = plain(path, cwd)
    if _is_passage(host, there):
        return "directory"
    try:
        return "directory" if isinstance(look(host, there), dict) else "file"
    except Refused:
        return ""


def _is_passage(host: Host, path: tuple[str, ...]) -> bool:
    return bool(leads_to_mounts(host, path)) or not path
