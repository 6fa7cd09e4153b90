"""The `kuniumi` program: any command, for the app in any file.

    kuniumi COMMAND FILE.py[:APP] …        kuniumi COMMAND package.module[:APP] …

In: words. Out: an exit code. What the command then does is the app's own command line.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from kuniumi.errors import UsageError
from kuniumi.wire import argv

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMANDS = ("serve", "call", "list", "describe", "openapi", "mcp", "cgi", "completion")
_WITHOUT_APP = ("read", "tools", "ask")
_TWO_WORDS = ("mcp install", "mcp inspect")
"""Commands after whose second word the file may stand as well."""

_USAGE = """\
Usage: kuniumi COMMAND FILE.py[:APP] ...      ({based_on})

  kuniumi serve app.py --port 8080            kuniumi call app.py Add --x 7 --y 3
  kuniumi list app.py                         kuniumi describe app.py Add
  kuniumi openapi app.py                      kuniumi completion bash
  kuniumi mcp app.py                          for a model, on stdin and stdout
  kuniumi mcp app.py install --client cursor  so that a client of MCP starts it
  kuniumi read < answer.json                  what a tool answered, as models see it
  kuniumi tools http://host/mcp               what servers offer models
  kuniumi ask http://host/mcp Add --x 7       a call of one of their tools

COMMAND is one of {commands}. `kuniumi COMMAND FILE.py --help` tells more.
FILE.py may also be the name of a module. APP is the variable that holds the
app; it is needed where a file has several.
"""


def run_program(words: Sequence[str]) -> int:
    """Run one command for the app that the words name."""
    flags, rest = argv.take_globals(words, leading=True)
    if "GATEWAY_INTERFACE" in os.environ:
        rest = _of_web_server(rest)
    done = _without_app(rest)
    if done is not None:
        return done
    command, *others = rest
    more, others = argv.take_globals(others, leading=True)
    reference, others = _take_reference(command, others)
    from kuniumi.serve.cli import run  # noqa: PLC0415 - not for a mistake
    from kuniumi.serve.loading import load  # noqa: PLC0415
    from kuniumi.serve.streams import spared_stdout  # noqa: PLC0415

    with spared_stdout() if command == "mcp" else nullcontext():  # it carries messages only
        service = load(reference)
    return run(
        service,
        [*argv.as_words(argv.joined(flags, more)), command, *others],
        program=f"kuniumi {reference}",
        reference=reference,
        alone=True,
    )


def _of_web_server(words: list[str]) -> list[str]:
    """Leave only what the script's first line says, `#!/…/kuniumi cgi`, and the script's name.

    What follows comes from a visitor (RFC 3875 §4.4).
    """
    if words[:1] != ["cgi"]:
        msg = "a web server may only start `kuniumi cgi FILE.py`"
        raise UsageError(msg)
    return words[:2]


def _without_app(words: list[str]) -> int | None:
    """Do what needs no app, and explain what is no command; None for all else."""
    from kuniumi.serve.about import based_on  # noqa: PLC0415 - most commands name an app

    if not words or words[0] in {"--help", "-h", "help"}:
        said = _USAGE.format(based_on=based_on(), commands=", ".join(_COMMANDS))
        (sys.stdout if words else sys.stderr).write(said)
        return 0 if words else 2
    if words[0] == "--version":
        sys.stdout.write(based_on().removeprefix("based on ") + "\n")
        return 0
    if words[0] == "__complete":
        from kuniumi.serve.completion import complete_program  # noqa: PLC0415 - few press Tab

        return complete_program((*_COMMANDS, *_WITHOUT_APP), words[1:])
    if words[0] == "completion" and len(words) == 2 and not _is_reference(words[1]):
        from kuniumi.serve.completion import script  # noqa: PLC0415

        sys.stdout.write(script(words[1], "kuniumi"))
        return 0
    if words[0] == "read":
        from kuniumi.serve.reading import run_read  # noqa: PLC0415 - it needs no app, nor its rooms

        return run_read(words[1:])
    if words[0] in {"tools", "ask"}:
        from kuniumi.serve import asking  # noqa: PLC0415 - the same

        return (asking.run_tools if words[0] == "tools" else asking.run_ask)(words[1:])
    if words[0] not in _COMMANDS:
        if _is_reference(words[0]):
            msg = f"what shall be done with {words[0]}? For example: kuniumi list {words[0]}"
        else:
            msg = f"{words[0]!r} is no command: there are {', '.join((*_COMMANDS, *_WITHOUT_APP))}"
        raise UsageError(msg)
    return None


def _take_reference(command: str, words: list[str]) -> tuple[str, list[str]]:
    """Give the file or module, which comes after the command or after some of its options."""
    second = words[0] if words else "-"
    if not second.startswith("-") and f"{command} {second}" not in _TWO_WORDS:
        return words[0], words[1:]
    for index, word in enumerate(words):
        if _is_reference(word):
            return word, words[:index] + words[index + 1 :]
    msg = f"kuniumi {command}: which file? Write it like: kuniumi {command} app.py"
    raise UsageError(msg)


def _is_reference(word: str) -> bool:
    place, colon, name = word.rpartition(":")
    return word.endswith(".py") or bool(colon and place.endswith(".py") and name.isidentifier())
