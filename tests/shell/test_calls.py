"""`call`: words in, one line of JSON out, and an exit code that says what happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.shell.conftest import Shell

HERE = Path(__file__).parent
WORDS = HERE / "apps" / "words.py"
STRICT = f"{WORDS}:strict"
CALCULATOR = HERE.parents[1] / "examples" / "calculator" / "app.py"
OVERSTAYING = HERE.parent / "cgi" / "apps" / "overstaying.py"
KUNIUMI = Path(sys.executable).with_name("kuniumi")


@pytest.mark.parametrize(
    "words",
    [
        ["--x", "7", "--y", "3"],
        ["--x=7", "--y=3"],
        ["7", "3"],
        ["--y", "3", "7"],
        ["7", "--y=3"],
        ['{"x":7,"y":3}'],
        ['{"x":"7","y":"3"}'],
        ['{"x":7}', "--y", "3"],
        ["--y", "3", ' {"x":7}'],
        ["--", "7", "3"],
        ["--x", "7", "--", "3"],
        ["--x", "+7", "--y", "3.0"],
    ],
    ids=" ".join,
)
def test_arguments_are_given_by_name_by_position_or_as_json(shell: Shell, words: list[str]) -> None:
    assert shell("call", "Add", *words).out == '{"result":10}\n'


def test_a_function_is_also_called_by_its_operation_id(shell: Shell) -> None:
    assert shell("call", "functions.Add", "7", "3").answer == {"result": 10}


def test_a_single_dash_reads_the_arguments_from_stdin(shell: Shell) -> None:
    assert shell("call", "Add", "-", stdin=b'{"x":7,\n"y":3}\n').answer == {"result": 10}
    assert shell("call", "Countdown", "-").answer == {"result": [3, 2, 1, 0]}
    assert shell("call", "Add", "-", stdin=b"\xff").error == "Invalid JSON body"


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["Text", "-3"], "-3"),
        (["Text", "-"], None),  # stdin: see above
        (["Text", "--text=-"], "-"),
        (["Text", "--text", "-"], "-"),
        (["Text", "--text=--text"], "--text"),
        (["Text", "--", "--text"], "--text"),
        (["Text", "--", "--"], "--"),
        (["Text", "--", "--env"], "--env"),
        (["Text", "--text="], ""),
        (["Text", ""], ""),
        (["Text", "--text", "a=b"], "a=b"),
        (["Text", "--text", "{not json"], "{not json"),
        (["Text", "7"], "7"),
        (["Text", "null"], "null"),
        (["Text", "ü\n☃"], "ü\n☃"),
        (["Flags"], [False, True, None]),
        (["Flags", "--dry-run"], [True, True, None]),
        (["Flags", "--dry_run", "--no-loud", "--maybe"], [True, False, True]),
        (["Flags", "--no-maybe"], [False, True, False]),
        (["Flags", "--maybe", "null", "--dry-run"], None),
        (["Flags", "--maybe=null"], [False, True, None]),
        (["Flags", "--dry-run", "false", "--loud=FALSE"], [False, False, None]),
        (["Tags", "--tag", "a", "--tag", "b"], [["a", "b"], None]),
        (["Tags", "--tag", '["a","b"]'], [["a", "b"], None]),
        (["Tags", "--tag", "[a]"], [["[a]"], None]),
        (["Tags", "--tag", "7", "--tag", "8"], [["7", "8"], None]),
        (["Tags", "a", "--number", "1", "--number", "2"], [["a"], [1, 2]]),
        (["Tags", "a", "--number", "1"], [["a"], [1]]),
        (["Tags", "a", "--number", "null"], [["a"], None]),
        (["Tags", "[]"], [[], None]),
        (["Points", '[{"x":1}]'], [[{"x": 1, "y": 0}], None]),
        (
            ["Points", "--points", '{"x":1}', "--points", '{"x":"2"}', "--origin", '{"x":3}'],
            [[{"x": 1, "y": 0}, {"x": 2, "y": 0}], {"x": 3, "y": 0}],
        ),
        (["Corner", '{"x":1}', '{"x":2}'], [1, 2]),
        (["Corner", '{"x":1}', "--b", '{"x":2}'], [1, 2]),
        (["Corner", '{"a":{"x":1},"b":{"x":2}}'], [1, 2]),
        (["Mixed", "7"], ["7", None, "a"]),
        (["Mixed", '{"either":7}'], [7, None, "a"]),
        (["Mixed", "b", "7", "1"], ["b", 7, 1]),
        (["Mixed", "b", "text", "a"], ["b", "text", "a"]),
        (["Mixed", "b", '{"a":[null]}'], ["b", {"a": [None]}, "a"]),
        (["Day", "2026-01-31", "large"], ["2026-01-31", "large"]),
        (["OwnHelp", "--help", "me"], "me"),
    ],
    ids=str,
)
def test_words_mean_what_the_schema_says(shell: Shell, words: list[str], result: Any) -> None:
    ended = shell("call", *words, app=WORDS)
    if result is None:
        assert ended.code == 2
    else:
        assert ended.answer == {"result": result}


def test_words_are_typed_even_where_nothing_is_coerced(shell: Shell) -> None:
    words = ["call", STRICT, "Typed", "--count", "7", "--ratio=1.5", "--on"]
    ended = shell(*words, "--point", '{"x":1}', program=KUNIUMI)
    assert ended.answer == {"result": [7, 1.5, True, {"x": 1, "y": 0}]}
    inner = shell(*words, "--point", '{"x":"1"}', program=KUNIUMI)
    assert "point.x" in inner.error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Add", "--x", "7"], "Missing argument 'y' (an integer)"),
        (["Add", "--x", "--y", "3"], "--x needs a value: Add takes x, y"),
        (["Add", "--x"], "--x needs a value: Add takes x, y"),
        (["Add", "1", "2", "3"], "'3' is one value too many: Add takes x, y"),
        (["Add", "1", "2", "--x", "3"], "'2' is one value too many: Add takes x, y"),
        (["Add", "--x", "1", "--x", "2"], "--x is given 2 times, and takes one value"),
        (["Add", "abc", "1"], "Argument 'x': expected an integer, got \"abc\""),
        (["Add", '{"x":'], "Invalid JSON body"),
        (["Countdown", "--strat", "3"], "Unknown argument 'strat': did you mean 'start'?"),
        (["Countdown", "--strat"], "Unknown argument 'strat': did you mean 'start'?"),
        (["Nope"], "Function not found: Nope"),
    ],
    ids=str,
)
def test_a_mistake_is_explained_on_stderr(shell: Shell, words: list[str], said: str) -> None:
    ended = shell("call", *words)
    assert (ended.error, ended.code) == (said, 2)


def test_words_that_are_not_utf8_are_a_mistake() -> None:
    command: list[str | bytes] = [sys.executable, str(CALCULATOR), "call", "Add", b"--x=\xff"]
    ended = subprocess.run(command, capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr == b'{"error":"The arguments are not UTF-8"}\n'


@pytest.mark.parametrize(
    ("name", "said", "code"),
    [
        ("Fail", "as expected", 1),
        ("Crash", "ValueError: unexpected", 1),
        ("Leave", "SystemExit: 5", 1),
        ("Interrupted", "KeyboardInterrupt", 1),
        ("Overstay", "Timed out after 0.2 seconds", 124),
    ],
)
def test_a_failure_is_an_error_on_stderr_and_an_exit_code(
    shell: Shell, name: str, said: str, code: int
) -> None:
    ended = shell("call", name, app=WORDS)
    assert (ended.error, ended.code) == (said, code)


@pytest.mark.parametrize(
    "name", ["SwallowAll", "AnswerTooLate", "CleanUpForEver", "AwaitThread", "NeverAwait"]
)
@pytest.mark.parametrize("program", [None, KUNIUMI])
def test_a_function_that_ignores_the_end_of_its_time_is_ended_all_the_same(
    shell: Shell, name: str, program: Path | None
) -> None:
    began = time.monotonic()
    words = ["call", OVERSTAYING, name] if program else ["call", name]
    ended = shell(*words, app=OVERSTAYING, program=program)
    assert (ended.error, ended.code) == ("Timed out after 0.2 seconds", 124)
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("name", ["LeaveTask", "LeaveThread"])
def test_what_a_coroutine_leaves_behind_is_not_waited_for(shell: Shell, name: str) -> None:
    began = time.monotonic()
    assert shell("call", name, app=OVERSTAYING).answer == {"result": 1}
    assert time.monotonic() - began < 15


def test_an_incident_that_the_answer_names_is_in_the_log(shell: Shell) -> None:
    ended = shell("call", "Masked", app=WORDS)
    *log, said = ended.err.splitlines()
    number = said.removeprefix('{"error":"Internal error (incident ').removesuffix(')"}')
    assert number.isalnum()
    assert log[0] == f"functions.Masked failed (incident {number})"
    assert log[-1] == "ValueError: secret"
    assert (ended.out, ended.code) == ("", 1)


def test_nothing_is_an_empty_object(shell: Shell) -> None:
    assert shell("call", "Nothing", app=WORDS).out == "{}\n"


def test_what_a_function_prints_goes_to_stderr_so_that_stdout_is_the_answer(shell: Shell) -> None:
    ended = shell("call", "Speak", app=WORDS)
    assert (ended.out, ended.code) == ('{"result":1}\n', 0)
    assert ended.err.split("\n") == ["said in passing", "echoed", ""]


# ---- variables -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["--env", "A=1", "call", "Env"],
        ["--env=A=1", "call", "Env"],
        ["call", "--env", "A=1", "Env"],
        ["call", "Env", "--env", "A=1"],
        ["call", "Env", "--env=A=1"],
        ["call", "Env", "{}", "--env=A=1"],
    ],
    ids=" ".join,
)
def test_variables_are_given_anywhere(shell: Shell, words: list[str]) -> None:
    assert shell(*words, app=WORDS, HOME="/home/host").answer == {"result": {"A": "1"}}


def test_a_variables_value_may_hold_anything(shell: Shell) -> None:
    given = {"URL": "http://h/?a=b,c=d", "LINES": "one\ntwo", "EMPTY": "", "DASH": "--env"}
    words = [word for name, value in given.items() for word in ("--env", f"{name}={value}")]
    assert shell("call", "Env", *words, app=WORDS).answer == {"result": given}


def test_the_last_of_two_variables_of_one_name_counts(shell: Shell) -> None:
    ended = shell("--env", "A=1", "call", "Env", "--env", "A=2", app=WORDS)
    assert ended.answer == {"result": {"A": "2"}}


@pytest.mark.parametrize("wrong", ["A", "=1", ""])
def test_a_malformed_variable_is_a_mistake(shell: Shell, wrong: str) -> None:
    ended = shell("call", "Env", "--env", wrong, app=WORDS)
    assert (ended.error, ended.code) == (f"--env {wrong!r}: expected KEY=VALUE", 2)
    assert shell("--env", wrong, "list", app=WORDS).code == 2
    assert shell("call", "Env", "--env", app=WORDS).error == "--env needs a value: --env KEY=VALUE"


def test_a_function_keeps_a_parameter_called_env(shell: Shell) -> None:
    ended = shell("--env", "A=1", "call", "OwnEnv", "--env", "prod", app=WORDS)
    assert ended.answer == {"result": ["prod", {"A": "1"}]}


# ---- Ctrl-C and closed pipes -----------------------------------------------------------------------


def _interrupt(name: str, times: int = 1) -> tuple[str, str, int, float]:
    with subprocess.Popen(
        [sys.executable, WORDS, "call", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said == "waiting\n"
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        if times > 1:
            assert process.stderr.readline() == "waiting on\n"
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
        return out, err, process.returncode, time.monotonic() - began


@pytest.mark.parametrize("name", ["Wait", "WaitAsync"])
def test_ctrl_c_ends_a_call_at_once_and_without_a_traceback(name: str) -> None:
    out, err, code, seconds = _interrupt(name)
    assert (out, err, code) == ("", '{"error":"Interrupted"}\n', 130)
    assert seconds < 8


def test_a_function_may_answer_ctrl_c_with_what_it_has() -> None:
    out, err, code, _ = _interrupt("Careful")
    assert (out, err, code) == ('{"result":"what there was so far"}\n', "", 0)


def test_ctrl_c_twice_ends_whatever_does_not_listen() -> None:
    _, _, code, seconds = _interrupt("Stubborn", times=2)
    assert code == 130
    assert seconds < 8


def test_a_stream_that_was_never_opened_harms_nobody() -> None:
    for closed, out in (("<&-", b'{"result":3}\n'), (">&-", b""), ("2>&-", b'{"result":3}\n')):
        command = f"{sys.executable} {CALCULATOR} call Add 1 2 {closed}"
        ended = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
        assert (ended.stdout, ended.stderr, ended.returncode) == (out, b"", 0)


@pytest.mark.parametrize("words", ["openapi --yaml", "list", "--help", "call Countdown 1000"])
def test_a_reader_that_has_seen_enough_causes_no_traceback(words: str) -> None:
    command = f"{sys.executable} {CALCULATOR} {words} | true; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run(
        ["bash", "-c", command], capture_output=True, env={"PATH": os.environ["PATH"]}, check=False
    )
    assert ended.stderr == b""
    assert ended.returncode in {0, 141}
