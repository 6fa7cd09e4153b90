"""Completion for bash, zsh and fish: the shell asks the program itself what could come next.

In: the words typed so far. Out: the candidates, one a line. Nothing means: a file, perhaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kuniumi.errors import KuniumiError, UsageError

if TYPE_CHECKING:
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
    from kuniumi.serve.commands import LOG_LEVELS, SHELLS, make_parser  # noqa: PLC0415

    _, commands = make_parser(service, "")
    if not before:
        return [*commands, "--help", "--version", "--env"]
    command, *rest = before
    if command in {"call", "describe"} and not rest:
        return [operation.name for operation in service.registry]
    if command == "call":
        return _flags_of_call(service, rest)
    if before[-1] == "--log-level":
        return list(LOG_LEVELS)
    if command == "completion":
        return [] if rest else list(SHELLS)
    if command not in commands:
        return []
    return [flag for flag in commands[command]._option_string_actions if flag.startswith("--")]  # noqa: SLF001 - the parser has no door to its own flags


def _flags_of_call(service: Service, rest: list[str]) -> list[str]:
    from kuniumi.core.schema import input_schema  # noqa: PLC0415

    operation = service.registry.find(rest[0])
    if operation is None:
        return []
    properties = input_schema(operation)["properties"]
    last = properties.get(rest[-1].removeprefix("--").replace("-", "_"), {})
    if rest[-1].startswith("--") and "enum" in last:
        return [choice for choice in last["enum"] if isinstance(choice, str)]
    flags = [f"--{name}" for name in properties if f"--{name}" not in rest]
    off = [f"--no-{name}" for name, schema in properties.items() if schema.get("type") == "boolean"]
    return [*flags, *off, "--help"]


def _print(words: Iterable[str], current: str) -> int:
    for word in words:
        if word.startswith(current):
            print(word)
    return 0
