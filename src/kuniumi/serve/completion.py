"""Completion for bash, zsh and fish: the shell asks the program itself what could come next.

In: the words typed so far. Out: the candidates, one a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kuniumi.core.service import Service

COMMANDS = ("serve", "cgi", "call", "list", "describe", "openapi", "completion")
_SERVE = (
    *("--host", "--port", "--workers", "--reload", "--log-level", "--max-body"),
    *("--limit-concurrency", "--timeout", "--body-timeout", "--header-timeout"),
    *("--drain-timeout", "--root-path", "--cors"),
)
_OPTIONS = {
    "serve": _SERVE,
    "list": ("--json",),
    "describe": ("--json",),
    "openapi": ("--yaml", "--json"),
    "completion": ("bash", "zsh", "fish"),
}

_SCRIPTS = {
    "bash": """\
_{function}() {{
    local IFS=$'\\n'
    COMPREPLY=($("${{COMP_WORDS[0]}}" __complete "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null))
}}
complete -F _{function} {program}
""",
    "zsh": """\
#compdef {program}
_{function}() {{
    local -a candidates
    candidates=("${{(@f)$("${{words[1]}}" __complete "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
    compadd -a candidates
}}
compdef _{function} {program}
""",
    "fish": """\
function __{function}
    set -l words (commandline -opc) (commandline -ct)
    command $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c {program} -f -a '(__{function})'
""",
}


def script(shell: str, program: str) -> str:
    """Give the script that a person puts into the shell's configuration."""
    function = "".join(char if char.isalnum() else "_" for char in f"{program}_completion")
    return _SCRIPTS[shell].format(function=function, program=program)


def complete(service: Service, words: Sequence[str]) -> int:
    """Print what could stand where the last word is being typed."""
    *before, current = words or [""]
    for candidate in candidates(service, list(before)):
        if candidate.startswith(current):
            print(candidate)
    return 0


def candidates(service: Service, before: list[str]) -> list[str]:
    """Give all that could come after these words."""
    if not before:
        return [*COMMANDS, "--help", "--version"]
    command, *rest = before
    if command in {"call", "describe"} and not rest:
        return [operation.name for operation in service.registry]
    if command == "call":
        operation = service.registry.find(rest[0])
        parameters = operation.parameters if operation else ()
        flags = [f"--{parameter.name}" for parameter in parameters]
        return [*(flag for flag in flags if flag not in rest), "--help"]
    return list(_OPTIONS.get(command, ()))
