"""Completion: what a shell is told, and what real shells make of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.shell.conftest import Shell

HERE = Path(__file__).parent
CALCULATOR = HERE.parents[1] / "examples" / "calculator" / "app.py"
WORDS = HERE / "apps" / "words.py"
KUNIUMI = Path(sys.executable).with_name("kuniumi")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["c"], ["cgi", "call", "completion"]),
        (["call", "Di"], ["Divide", "DivMod"]),
        (["describe", "A"], ["Add"]),
        (["call", "Add", "--"], ["--x", "--y", "--help"]),
        (["call", "Add", "--x", "7", "--"], ["--y", "--help"]),
        (["call", "Nope", "--"], []),
        (["serve", "--p"], ["--port"]),
        (["serve", "--log-level", "w"], ["warning"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["list", "--"], ["--help", "--json"]),
        (["nonsense", ""], []),
    ],
    ids=str,
)
def test_the_program_says_what_could_come_next(
    shell: Shell, typed: list[str], offered: list[str]
) -> None:
    assert shell("__complete", *typed).out.split() == offered


def test_choices_and_negations_are_offered(shell: Shell) -> None:
    offered = shell("__complete", "call", "Day", "--size", "", app=WORDS).out.split()
    assert offered == ["large", "small"]
    flags = shell("__complete", "call", "Flags", "--no", app=WORDS).out.split()
    assert "--no-loud" in flags


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["--size", ""], ["large", "small"]),  # an enum that is used several times
        (["--other", ""], ["large", "small"]),
        (["--mode", ""], ["fast", "slow"]),
        (["--several", "s"], ["small"]),
        (["--several", "small", "--several", ""], ["large", "small"]),
        (["--count", ""], []),  # any number, and no flag
        (["--env", ""], []),
        (["--env", "A=b", "--mode", "f"], ["fast"]),
        (["--no"], ["--no-loud"]),
        (["--loud", "--co"], ["--count"]),
        (["--no-loud", "--l"], []),
        (["--several=small", "--s"], ["--size", "--several"]),
        (["--", ""], []),
    ],
    ids=str,
)
def test_where_a_value_belongs_its_choices_are_offered(
    shell: Shell, typed: list[str], offered: list[str]
) -> None:
    assert shell("__complete", "call", "Choose", *typed, app=WORDS).out.split() == offered


def test_a_variable_changes_nothing_of_what_is_offered(shell: Shell) -> None:
    for before in (["--env", "A=b"], ["--env=A=b"]):
        assert shell("__complete", *before, "call", "Ad").out == "Add\n"
        assert shell("__complete", *before, "li").out == "list\n"
        assert shell("__complete", "call", *before, "Ad").out == "Add\n"
        assert shell("__complete", "serve", *before, "--po").out == "--port\n"
        ended = shell("__complete", *before, "call", CALCULATOR, "Ad", program=KUNIUMI)
        assert ended.out == "Add\n"
    assert shell("__complete", "call", "OwnEnv", "--env", "x", "--e", app=WORDS).out == ""
    assert shell("__complete", "--env", "").out == ""


def test_the_kuniumi_program_completes_the_app_in_a_file(shell: Shell) -> None:
    assert shell("__complete", "li", program=KUNIUMI).out == "list\n"
    assert shell("__complete", "call", "x", program=KUNIUMI).out == ""  # a file
    ended = shell("__complete", "call", CALCULATOR, "Ad", program=KUNIUMI)
    assert ended.out == "Add\n"
    assert shell("__complete", "call", "no.py", "Ad", program=KUNIUMI).out == ""
    assert shell("completion", "bash", program=KUNIUMI).out.count("kuniumi") == 3


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Put the calculator on the PATH, as `calc`."""
    path = tmp_path / "calc"
    path.write_text(f"#!{sys.executable}\n{CALCULATOR.read_text()}")
    path.chmod(0o755)
    return path


def _ask(shell: str, script: str, program: Path) -> list[str]:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    options = {"zsh": ["-f"], "fish": ["--no-config"], "bash": ["--norc"]}[shell]
    home = {"HOME": str(program.parent), "XDG_CONFIG_HOME": str(program.parent)}
    path = {"PATH": f"{program.parent}:{os.environ['PATH']}", "TERM": "dumb"}
    ended = subprocess.run(
        [found, *options, "-c", script], capture_output=True, text=True, env=home | path, check=True
    )
    return ended.stdout.split()


def test_bash_completes(program: Path) -> None:
    script = """
    eval "$(calc completion bash)"
    COMP_WORDS=(calc call Di) COMP_CWORD=2
    _complete_calc
    printf '%s\\n' "${COMPREPLY[@]}"
    complete -p calc
    """
    offered = _ask("bash", script, program)
    assert offered[:2] == ["Divide", "DivMod"]
    assert " ".join(offered[2:]) == "complete -o default -F _complete_calc calc"


def test_zsh_completes(program: Path) -> None:
    script = """
    compdef() { print registered $2 }
    compadd() { print -l $candidates }
    eval "$(calc completion zsh)"
    words=(calc call Di) CURRENT=3
    _complete_calc
    """
    assert _ask("zsh", script, program) == ["registered", "calc", "Divide", "DivMod"]


def test_fish_completes(program: Path) -> None:
    script = "calc completion fish | source; complete --do-complete 'calc call Di'"
    assert _ask("fish", script, program) == ["Divide", "DivMod"]
    script = "calc completion fish | source; complete --do-complete 'calc call Add '"
    assert "--x" in _ask("fish", script + "; complete --do-complete 'calc call Add --'", program)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["mcp", "ins"], ["install", "inspect"]),
        (["mcp", "--max-m"], ["--max-message"]),
        (["mcp", "install", "--cl"], ["--client"]),
        (["mcp", "install", "--client", "c"], ["claude-desktop", "claude-code", "cursor"]),
        (["mcp", "install", "--client", "cursor", "--scope", ""], ["user", "project"]),
        (["mcp", "inspect", "--revision", "2025"], ["2025-03-26", "2025-06-18", "2025-11-25"]),
        (["mcp", "--log-level", "w"], ["warning"]),
    ],
    ids=str,
)
def test_commands_within_a_command_are_completed(
    shell: Shell, typed: list[str], offered: list[str]
) -> None:
    assert shell("__complete", *typed).out.split() == offered
