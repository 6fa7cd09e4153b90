"""Telling a client of MCP how to start an app: the configuration of Claude, Cursor and VS Code.

In: how this app was started, a client, a name. Out: that client's own file, with one entry more or
one renewed. Whatever else stands in it stays as it is, to the letter; a file that can't be read is
left alone. The command is a list of words, which no shell ever reads.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tempfile
from contextlib import suppress
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.errors import UsageError
from kuniumi.wire import jsonc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WITH_PATHS = {"--mount", "--env-file"}
_BOM = b"\xef\xbb\xbf"


class Client(Struct, frozen=True, kw_only=True):
    """A program that starts servers, and how it wants to be told of them."""

    title: str
    key: str = "mcpServers"  # under which the file lists servers
    says_type: bool = True  # whether an entry says that it is spoken to on stdin and stdout
    comments: bool = False  # whether its files may have comments and trailing commas
    project: str = ""  # its file in the folder of a project, if there is such
    afterwards: str  # what a person does next


CLIENTS: dict[str, Client] = {
    "claude-desktop": Client(
        title="Claude Desktop", says_type=False, afterwards="Quit Claude Desktop and start it again"
    ),
    "claude-code": Client(
        title="Claude Code", project=".mcp.json", afterwards="Begin a new session; /mcp shows it"
    ),
    "cursor": Client(
        title="Cursor",
        comments=True,
        project=".cursor/mcp.json",
        afterwards="Switch it on in Cursor's settings, under MCP",
    ),
    "vscode": Client(
        title="VS Code",
        key="servers",
        comments=True,
        project=".vscode/mcp.json",
        afterwards="Run 'MCP: List Servers' in VS Code, and start it",
    ),
}


class Start(Struct, frozen=True):
    """How a client starts an app: a program, its words, and variables where it can't do without."""

    command: str
    args: tuple[str, ...]
    env: dict[str, str] = {}

    def entry(self, client: Client) -> dict[str, Any]:
        """Write it as a client reads it."""
        said: dict[str, Any] = {"type": "stdio"} if client.says_type else {}
        said |= {"command": self.command, "args": list(self.args)}
        return {**said, "env": self.env} if self.env else said


# ---- where a client keeps its configuration ----------------------------------------------------------


def own_file(client: str, platform: str, home: str, variables: Mapping[str, str]) -> PurePath:
    """Give the file that is a person's own, on a platform as `sys.platform` names it."""
    pure = PureWindowsPath if platform == "win32" else PurePosixPath
    if client == "cursor":
        return pure(home, ".cursor", "mcp.json")
    if client == "claude-code":
        return pure(variables.get("CLAUDE_CONFIG_DIR") or home, ".claude.json")
    if platform == "win32":
        settings = pure(variables.get("APPDATA") or pure(home, "AppData", "Roaming"))
    elif platform == "darwin":
        settings = pure(home, "Library", "Application Support")
    else:
        settings = pure(variables.get("XDG_CONFIG_HOME") or pure(home, ".config"))
    if client == "claude-desktop":
        return settings / "Claude" / "claude_desktop_config.json"
    return settings / "Code" / "User" / "mcp.json"


def find_file(client: str, *, scope: str, given: str = "") -> Path:
    """Give the file to write: the one given, or that of the person or the project."""
    if given:
        return Path(given).expanduser()
    if scope == "project":
        place = CLIENTS[client].project
        if not place:
            msg = f"{CLIENTS[client].title} has no configuration by project: leave --scope out"
            raise UsageError(msg)
        return Path.cwd() / place
    return Path(own_file(client, sys.platform, str(Path.home()), os.environ))


# ---- how this app is started -------------------------------------------------------------------------


def find_start(reference: str, words: Sequence[str]) -> Start:
    """Give the way to start this app anew, from any folder.

    The reference is what `kuniumi` was given; nothing means that the app's own file was run.
    """
    if not sys.executable:
        msg = "nobody knows which Python this is, so no client could start it"
        raise UsageError(msg)
    if reference:
        place, colon, name = reference.rpartition(":")
        if not colon or not name.isidentifier():
            place, colon, name = reference, "", ""
        if place.endswith(".py") or "/" in place:
            found = f"{Path(place).absolute()}{colon}{name}"
            return Start(sys.executable, ("-m", "kuniumi", "mcp", found, *words))
        env = _path_to(place)
        return Start(sys.executable, ("-m", "kuniumi", "mcp", reference, *words), env)
    main = sys.modules["__main__"]
    module = getattr(main.__spec__, "name", "")
    if module:  # `python -m package.module`
        return Start(sys.executable, ("-m", module, "mcp", *words), _path_to(module))
    file = getattr(main, "__file__", None)
    if not file:
        msg = "this app was not started from a file, so no client could start it"
        raise UsageError(msg)
    return Start(sys.executable, (str(Path(file).absolute()), "mcp", *words))


def _path_to(module: str) -> dict[str, str]:
    """Give the variable without which a module would be found from this folder only."""
    here = Path.cwd()
    found = importlib.util.find_spec(module.partition(".")[0])
    places = [found.origin] if found is not None and found.origin else []
    if found is not None and not places:  # a package without an __init__
        places = list(found.submodule_search_locations or ())
    local = any(
        Path(place).is_relative_to(here) and "site-packages" not in Path(place).parts
        for place in places
    )
    return {"PYTHONPATH": str(here)} if local else {}


def carried(flags: Mapping[str, Sequence[str]]) -> list[str]:
    """Give the app's own flags as words for another folder, where relative paths lead nowhere."""
    return [
        word
        for flag, values in flags.items()
        for value in values
        for word in (flag, _absolute(value) if flag in _WITH_PATHS else value)
    ]


def _absolute(value: str) -> str:
    if "://" in value:  # a store elsewhere
        return value
    host, colon, rest = value.partition(":")
    return f"{Path(host).expanduser().absolute()}{colon}{rest}"


# ---- what is written ---------------------------------------------------------------------------------


def name_for(app: str, start: Start) -> str:
    """Make a name that every client takes out of the app's own."""
    file = next((word for word in start.args if word.endswith(".py")), "")
    for text in (app, Path(file).stem):
        name = re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-")[:64]
        if name:
            return name
    return "kuniumi"


def check_name(name: str) -> str:
    """Refuse a name that some client would not take."""
    if not _NAME.fullmatch(name):
        msg = f"--name {name!r}: clients take 1 to 64 of A-Z a-z 0-9 '_' '-'"
        raise UsageError(msg)
    return name


def shown(client: Client, name: str, start: Start) -> dict[str, Any]:
    """Give the configuration as it stands in a file that holds nothing else."""
    return {client.key: {name: start.entry(client)}}


def write(client: Client, file: Path, name: str, start: Start) -> None:
    """Put the entry into the client's file."""
    try:
        target = file.resolve()  # it may be a link to where a person keeps such files
        raw = target.read_bytes() if target.exists() else b""
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        text = raw.removeprefix(_BOM).decode()
        path = (client.key, name)
        before = jsonc.get(text, path, comments=client.comments)
        entry = _merged(before, start, client)
        if entry == before:
            return
        changed = jsonc.put(text, path, entry, comments=client.comments)
        data = (_BOM if raw.startswith(_BOM) else b"") + changed.encode()
        _replace(target, data, mode)
    except (UnicodeDecodeError, jsonc.BrokenError) as error:
        msg = f"{file} is no JSON that can be added to, and was left as it is: {error}"
        raise UsageError(msg) from error
    except UnicodeEncodeError as error:
        msg = "the words of the command are not UTF-8, so no client could read them"
        raise UsageError(msg) from error
    except _TakenError as error:
        msg = f"{file} has another server named {name!r}: choose another name with --name"
        raise UsageError(msg) from error
    except OSError as error:
        msg = f"{file} can't be written: {error.strerror or error}"
        raise UsageError(msg) from error
    except RuntimeError as error:  # what some Pythons make of links that go round in a circle
        msg = f"{file} can't be written: it is a link that leads to itself"
        raise UsageError(msg) from error


class _TakenError(Exception):
    """The name stands for something else."""


def _merged(before: Any, start: Start, client: Client) -> dict[str, Any]:
    """Renew an entry of this app; what a person has added to it stays."""
    entry = start.entry(client)
    if before is None:
        return entry
    words = before.get("args") if isinstance(before, dict) else None
    if not isinstance(words, list) or _what(words) != _what(start.args):
        raise _TakenError
    if isinstance(before.get("env"), dict) and start.env:
        entry["env"] = {**before["env"], **start.env}
    return {**before, **entry}


def _what(words: Sequence[Any]) -> list[Any]:
    """Give the words of a command that say which app it starts."""
    leading = list(words[: words.index("mcp") + 1]) if "mcp" in words else list(words)
    if leading[:2] == ["-m", "kuniumi"]:
        leading += words[len(leading) : len(leading) + 1]
    return leading


def _replace(target: Path, data: bytes, mode: int | None) -> None:
    """Write a file so that whoever reads it finds the old or the new one, whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            Path(beside).chmod(mode)
        Path(beside).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(beside).unlink()
        raise
