"""Completion for bash, zsh and fish: the shell asks the program itself what could come next.

In: the words typed so far. Out: the candidates, one a line. Nothing means: a file, perhaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kuniumi.errors import KuniumiError, UsageError
from kuniumi.wire import argv

if TYPE_CHECKING:
    from argparse import Action, ArgumentParser
    from collections.abc import Iterable, Sequence

    from kuniumi.core.service import Service

_SCRIPTS = {
    "bash": """\
{function}() {{
    local IFS=$'\\n'
    COMPREPLY=($("${{COMP_WORDS[0]}}" __complete "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null))
}}
complete -o default -F {function} {program}
""",
    "zsh": """\
#compdef {program}
{function}() {{
    local -a candidates
    candidates=(${{(f)"$("${{words[1]}}" __complete "${{(@)words[2,CURRENT]}}" 2>/dev/null)"}})
    if (( $#candidates )); then compadd -a candidates; else _files; fi
}}
compdef {function} {program}
""",
    "fish": """\
function {function}
    set -l words (commandline -opc)
    set -l candidates ($words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null)
    if test (count $candidates) -gt 0
        printf '%s\\n' $candidates
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c {program} -f -a '({function})'
""",
}


def script(shell: str, program: str) -> str:
    """Give the script that a person puts into the shell's configuration."""
    if shell not in _SCRIPTS:
        msg = f"there is no completion for {shell!r}: it is made for {', '.join(_SCRIPTS)}"
        raise UsageError(msg)
    function = "".join(char if char.isalnum() else "_" for char in f"_complete_{program}")
    return _SCRIPTS[shell].format(function=function, program=program)


def complete(service: Service, words: Sequence[str]) -> int:
    """Print what could stand where the last word is being typed."""
    *before, current = words or [""]
    return _print(candidates(service, list(before)), current)


def complete_program(commands: Sequence[str], words: Sequence[str]) -> int:
    """Print the same for the `kuniumi` program, whose second word names a file."""
    *before, current = words or [""]
    try:
        _, before = argv.take_globals(before, leading=True)
    except UsageError:  # the value of a global flag is being typed
        return 0
    if not before:
        return _print([*commands, "--help", "--version"], current)
    command, *rest = before
    if not rest:
        return _print(["bash", "zsh", "fish"] if command == "completion" else [], current)
    from kuniumi.serve.loading import load  # noqa: PLC0415 - only where a file is named

    try:
        service = load(rest[0])
    except KuniumiError:
        return 0
    return _print(candidates(service, [command, *rest[1:]]), current)


def candidates(service: Service, before: list[str]) -> list[str]:
    """Give all that could come after these words."""
    from kuniumi.serve.commands import SHELLS, make_parser  # noqa: PLC0415

    _, commands = make_parser(service, "")
    try:
        _, before = argv.take_globals(before, leading=True)
        if before[:1] == ["call"]:
            return _after_call(service, before[1:])
        _, before = argv.take_globals(before)
    except UsageError:  # the value of a global flag is being typed
        return []
    if not before:
        return [*commands, "--help", "--version", *argv.GLOBAL_FLAGS]
    command, *rest = before
    if command == "describe" and not rest:
        return [operation.name for operation in service.registry]
    if command == "completion":
        return [] if rest else list(SHELLS)
    return _after_words(commands[command], rest) if command in commands else []


def _after_words(parser: ArgumentParser, words: list[str]) -> list[str]:
    """Give what a parser takes after these words: the choices of a flag, or commands and flags."""
    commands, flags = _doors(parser)
    for at, word in enumerate(words):
        if word in commands:
            return _after_words(commands[word], words[at + 1 :])
    choices = flags[words[-1]].choices if words and words[-1] in flags else None
    if choices is not None:
        return [str(choice) for choice in choices]
    return [*commands, *(flag for flag in flags if flag.startswith("--"))]


def _doors(parser: ArgumentParser) -> tuple[dict[str, ArgumentParser], dict[str, Action]]:
    """Give the commands and the flags of a parser, for which it has no names of its own."""
    commands = parser._subparsers  # noqa: SLF001 - …
    found: dict[str, ArgumentParser] = {}
    for action in commands._group_actions if commands is not None else ():  # noqa: SLF001 - …
        found.update(action.choices or {})
    return found, parser._option_string_actions  # noqa: SLF001 - …


def _after_call(service: Service, words: list[str]) -> list[str]:
    _, words = argv.take_globals(words, leading=True)
    if not words:
        return [operation.name for operation in service.registry]
    operation = service.registry.find(words[0])
    if operation is None:
        return []
    _, words = argv.take_globals(words[1:], own=argv.own_flags(operation))
    return argv.next_words(operation, words)


def _print(words: Iterable[str], current: str) -> int:
    for word in words:
        if word.startswith(current):
            print(word)
    return 0
