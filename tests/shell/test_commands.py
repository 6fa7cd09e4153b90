"""The other commands, for people and for scripts; and the `kuniumi` program for any file."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

import kuniumi

if TYPE_CHECKING:
    from tests.shell.conftest import Shell, Terminal

HERE = Path(__file__).parent
WORDS = HERE / "apps" / "words.py"
ROOT = HERE.parents[1]
CALCULATOR = ROOT / "examples" / "calculator" / "app.py"
KUNIUMI = Path(sys.executable).with_name("kuniumi")


def test_help_names_the_app_and_what_it_is_based_on(shell: Shell) -> None:
    ended = shell("--help")
    assert (ended.code, ended.err) == (0, "")
    first = ended.out.split("\n\n")[1]
    assert first.startswith(f"Calculator v1.0.0 (based on kuniumi {kuniumi.__version__}")
    assert first.endswith(")")
    for command in ("serve", "cgi", "call", "list", "describe", "openapi", "completion"):
        assert f"    {command}" in ended.out
    assert shell("--version").out == f"{first}\n"


def test_without_a_command_the_help_is_an_error(shell: Shell) -> None:
    """Nothing was done, so a script that forgot its command must not go on."""
    ended = shell()
    assert (ended.out, ended.code) == ("", 2)
    assert "Calculator v1.0.0" in ended.err


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("lst", "did you mean 'list'?"),
        ("Add", "did you mean 'call Add'?"),
        ("x", "there are serve"),
    ],
)
def test_an_unknown_command_is_explained(shell: Shell, word: str, hint: str) -> None:
    ended = shell(word)
    assert (ended.out, ended.code) == ("", 2)
    assert f"app.py: {word!r} is no command: {hint}" in ended.err


@pytest.mark.parametrize(
    "words",
    [
        ["serve", "--port", "eighty"],
        ["serve", "--port", "70000"],
        ["serve", "--workers", "0"],
        ["serve", "--timeout", "-1"],
        ["serve", "--timeout", "nan"],
        ["serve", "--max-body", "4X"],
        ["serve", "--max-body", "0"],
        ["serve", "--limit-concurrency", "-1"],
        ["serve", "--nonsense"],
        ["list", "--jso"],
        ["describe"],
        ["completion", "powershell"],
    ],
    ids=" ".join,
)
def test_a_wrong_option_is_a_mistake_without_a_traceback(shell: Shell, words: list[str]) -> None:
    ended = shell(*words)
    assert (ended.out, ended.code) == ("", 2)
    assert "error: " in ended.err
    assert "Traceback" not in ended.err


def test_the_list_has_a_line_for_each_function(shell: Shell) -> None:
    lines = shell("list").out.splitlines()
    assert lines[0].split(maxsplit=2) == ["Add", "functions.Add", "Adds two integers together"]
    assert len(lines) == 6


def test_everything_a_person_reads_a_program_can_read_as_json(shell: Shell) -> None:
    listed = shell("list", "--json").answer
    assert [function["name"] for function in listed["functions"]][:2] == ["Add", "Divide"]
    described = shell("describe", "Add", "--json").answer
    assert described == listed["functions"][0]
    assert described["inputSchema"]["properties"]["x"]["description"] == "First integer to add"
    document = shell("openapi").answer
    assert document["info"] == {
        "title": "Calculator",
        "version": "1.0.0",
        "description": "Sums, quotients and a little patience.",
    }
    assert shell("openapi", "--json").answer == document
    assert "  title: Calculator\n" in shell("openapi", "--yaml").out


def test_help_for_a_call_is_made_from_the_same_descriptions(shell: Shell) -> None:
    help_text = shell("call", "Add", "--help").out
    assert "Adds two integers together" in help_text
    assert "--x  integer  required  First integer to add" in help_text
    assert "result  integer  Sum of x and y" in help_text
    assert shell("call", "Add", "-h").out == help_text
    assert shell("describe", "Add").out == help_text
    assert shell("describe", "functions.Add").out == help_text
    defaults = shell("call", "Countdown", "--help").out
    assert "default 3" in defaults


def test_help_for_a_call_is_given_as_json(shell: Shell) -> None:
    described = shell("describe", "Add", "--json").answer
    assert shell("call", "Add", "--help", "--json").answer == described
    assert shell("call", "Add", "--json", "--help").answer == described


def test_the_example_in_a_functions_help_can_be_called(shell: Shell) -> None:
    for name in ("Add", "Midpoint", "Countdown", "SlowSum"):
        example = shell("describe", name).out.splitlines()[-1]
        assert shell(*shlex.split(example)).answer["result"] is not None


def test_help_for_call_itself_lists_the_functions(shell: Shell) -> None:
    ended = shell("call", "--help")
    assert ended.code == 0
    assert "Usage: call NAME" in ended.out
    assert "Midpoint" in ended.out
    assert shell("call").code == 2


def test_describing_nothing_is_not_found(shell: Shell) -> None:
    ended = shell("describe", "Nope")
    assert (ended.error, ended.code) == ("Function not found: Nope", 2)


# ---- on a terminal ---------------------------------------------------------------------------------


def test_tables_and_colours_are_for_a_terminal_only(shell: Shell, terminal: Terminal) -> None:
    seen = terminal("list")
    assert "\x1b[" in seen.screen
    assert "Operation id" in seen.screen
    assert "\x1b[" not in shell("list").out
    assert "Operation id" not in shell("list").out


def test_no_color_means_no_colour(terminal: Terminal) -> None:
    seen = terminal("list", NO_COLOR="1")
    assert "Operation id" in seen.screen
    assert "\x1b[3" not in seen.screen  # bold is no colour


def test_json_stays_json_on_a_terminal(terminal: Terminal) -> None:
    assert msgspec.json.decode(terminal("list", "--json").screen)["name"] == "Calculator"


def test_progress_is_shown_on_stderr_on_a_terminal_only(shell: Shell, terminal: Terminal) -> None:
    words = ("call", "SlowSum", '{"numbers":[1,2,3],"delay":0.1}')
    seen = terminal(*words, pipe_out=True)
    assert seen.out == '{"result":6}\n'
    assert "added 3" in seen.screen
    assert seen.code == 0
    ended = shell(*words)
    assert (ended.out, ended.err) == ('{"result":6}\n', "")


def test_a_failure_on_a_terminal_is_the_same_line(terminal: Terminal) -> None:
    seen = terminal("call", "Add", "7")
    assert seen.screen == '{"error":"Missing argument \'y\' (an integer)"}\r\n'
    assert seen.code == 2


# ---- any file --------------------------------------------------------------------------------------

APP = """
from kuniumi import App
{name} = App(name="{name}", version="1.0.0")
@{name}.function
def Hello(name: str) -> str:
    return f"Hello, {{name}}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder of files, some of which hold apps."""
    place = tmp_path / "a folder"
    place.mkdir()
    (place / "one app.py").write_text(APP.format(name="one"))
    (place / "two.py").write_text(APP.format(name="first") + APP.format(name="second"))
    (place / "types.py").write_text(APP.format(name="app"))
    (place / "none.py").write_text("x = 1\n")
    (place / "broken.py").write_text("x = 1\nraise RuntimeError('no database')\n")
    (place / "syntax.py").write_text("def (:\n")
    (place / "exits.py").write_text(APP.format(name="app") + "\napp.run()\n")
    bad = "\n@app.function\ndef Bad(*args: int) -> int:\n    return 1\n"
    (place / "defined.py").write_text(APP.format(name="app") + bad)
    package = place / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text(APP.format(name="app"))
    return place


@pytest.mark.parametrize(
    "reference",
    [
        "one app.py",
        "./one app.py",
        "one app.py:one",
        "two.py:second",
        "types.py",
        "package.inner",
        "package.inner:app",
        "package/inner.py",
    ],
)
def test_any_file_or_module_is_an_app(shell: Shell, folder: Path, reference: str) -> None:
    ended = shell("call", reference, "Hello", "you", program=KUNIUMI, cwd=folder)
    assert ended.answer == {"result": "Hello, you"}


def test_a_file_is_found_from_anywhere(shell: Shell, folder: Path, tmp_path: Path) -> None:
    path = folder / "one app.py"
    ended = shell("call", path, "Hello", "you", program=KUNIUMI, cwd=tmp_path)
    assert ended.answer == {"result": "Hello, you"}
    copy = tmp_path / "copy of app.py"
    shutil.copy(CALCULATOR, copy)
    copied = shell("call", "Add", "7", "3", app=copy, cwd=Path("/"))
    assert copied.answer == {"result": 10}


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("nowhere.py", "nowhere.py: there is no such file"),
        (
            "nowhere",
            "nowhere: there is no such module; a file is written with its ending: nowhere.py",
        ),
        ("none.py", 'none.py: there is no app in it: write app = App(name="…")'),
        ("two.py", "two.py: there are 2 apps in it: say two.py:first or two.py:second"),
        ("two.py:third", "two.py: there is no app named 'third', but first and second"),
        ("broken.py", "broken.py:2: loading it raised RuntimeError: no database"),
        (
            "syntax.py",
            "syntax.py: loading it raised SyntaxError: invalid syntax (syntax.py, line 1)",
        ),
        ("exits.py", 'put app.run() beneath `if __name__ == "__main__":`'),
        ("defined.py", "defined.py:8: function 'Bad': '*args' has no name a caller could use"),
    ],
)
def test_a_file_that_holds_no_app_is_explained(
    shell: Shell, folder: Path, reference: str, said: str
) -> None:
    ended = shell("list", reference, program=KUNIUMI, cwd=folder)
    assert (ended.out, ended.code) == ("", 2)
    assert said in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Usage: kuniumi COMMAND FILE.py"),
        (["call"], "kuniumi call: which file? Write it like: kuniumi call app.py"),
        (["app.py"], "what shall be done with app.py? For example: kuniumi list app.py"),
        (["cal", "app.py"], "'cal' is no command"),
        (["--nonsense"], "'--nonsense' is no command"),
    ],
)
def test_a_wrong_use_of_the_program_is_explained(shell: Shell, words: list[str], said: str) -> None:
    ended = shell(*words, program=KUNIUMI)
    assert (ended.out, ended.code) == ("", 2)
    assert said in ended.err


def test_the_program_tells_its_version_and_its_use(shell: Shell) -> None:
    assert shell("--version", program=KUNIUMI).out.startswith(f"kuniumi {kuniumi.__version__}")
    for flag in ("--help", "-h", "help"):
        ended = shell(flag, program=KUNIUMI)
        assert ended.code == 0
        assert f"based on kuniumi {kuniumi.__version__}" in ended.out


def test_variables_and_options_may_stand_before_the_file(shell: Shell) -> None:
    for words in (
        ["--env", "URL=http://x:y", "call", WORDS, "Env"],
        ["call", "--env", "URL=http://x:y", WORDS, "Env"],
        ["call", WORDS, "--env", "URL=http://x:y", "Env"],
    ):
        assert shell(*words, program=KUNIUMI).answer == {"result": {"URL": "http://x:y"}}
    assert shell("openapi", "--yaml", CALCULATOR, program=KUNIUMI).out.startswith("openapi:")


def test_the_help_of_a_file_names_the_program(shell: Shell) -> None:
    ended = shell("list", CALCULATOR, "--help", program=KUNIUMI)
    assert ended.code == 0
    assert ended.out.startswith(f"usage: kuniumi {CALCULATOR} list")


def test_on_a_terminal_what_a_model_sees_is_a_table(terminal: Terminal) -> None:
    seen = terminal("mcp", "inspect")
    assert seen.code == 0
    assert "Calculator v1.0.0, as MCP 2026-07-28 shows it" in seen.screen
    for head in ("Tool", "Takes", "Gives", "Hints", "Description"):
        assert head in seen.screen
    assert "\x1b[" in seen.screen


@pytest.mark.parametrize("words", [["mcp"], ["mcp", "install"], ["mcp", "inspect"]], ids=str)
def test_help_of_mcp_tells_what_there_is(shell: Shell, words: list[str]) -> None:
    ended = shell(*words, "--help")
    assert (ended.code, ended.err) == (0, "")
    wanted = {
        1: ("--max-message", "--allow-host", "install", "inspect"),
        2: ("--client", "--print") if words[-1] == "install" else ("--revision", "--json"),
    }
    for flag in wanted[len(words)]:
        assert flag in ended.out
