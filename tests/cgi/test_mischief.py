"""Whatever a function does, its caller gets one well-formed answer and the process ends well."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

if TYPE_CHECKING:
    from tests.cgi.conftest import Cgi

MISCHIEF = Path(__file__).parent / "apps" / "mischief.py"
OVERSTAYING = MISCHIEF.with_name("overstaying.py")


@pytest.mark.parametrize("name", ["Print", "WriteDescriptor", "StartProgram"])
def test_what_a_function_prints_never_lands_in_the_answer(cgi: Cgi, name: str) -> None:
    answer = cgi(f"/{name}", app=MISCHIEF)
    assert answer.raw == (
        b"Status: 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n"
        b'{"result":1}'
    )
    assert b"printed while the file was loaded" in answer.stderr
    assert answer.exit == 0


def test_what_was_printed_is_for_the_log(cgi: Cgi) -> None:
    assert b"Status: 500 Printed" in cgi("/Print", app=MISCHIEF).stderr
    late = cgi("/StartProgram", app=MISCHIEF)
    assert b"echoed by a child" in late.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Leave", "SystemExit: 3"),
        ("Interrupt", "KeyboardInterrupt"),
        ("EndGenerator", "GeneratorExit"),
        ("Crash", "ValueError: first\r\nX-Injected: yes\r\n\r\nbody"),
    ],
)
def test_an_exception_is_the_answer_500(cgi: Cgi, name: str, said: str) -> None:
    answer = cgi(f"/{name}", app=MISCHIEF)
    assert answer.status == "500 Internal Server Error"
    assert set(answer.headers) == {"Status", "Content-Type", "Content-Length"}
    assert answer.envelope == {"error": said}
    assert answer.exit == 0


def test_a_failure_has_its_own_status_and_no_header_of_its_own(cgi: Cgi) -> None:
    message = "full\r\nX-Injected: yes\nSet-Cookie: a=b\r\n\r\n"
    body = msgspec.json.encode({"message": message, "status": 507})
    answer = cgi("/Fail", body, app=MISCHIEF)
    assert answer.status == "507 Insufficient Storage"
    assert set(answer.headers) == {"Status", "Content-Type", "Content-Length"}
    assert answer.envelope == {"error": message}
    assert cgi("/Fail", b'{"message":"","status":499}', app=MISCHIEF).status[:4] == "499 "
    assert cgi("/Fail", b'{"message":"","status":599}', app=MISCHIEF).status == "599 Server Error"


@pytest.mark.parametrize("name", ["Loop", "SleepLong"])
def test_a_function_that_overstays_is_504(cgi: Cgi, name: str) -> None:
    answer = cgi(f"/{name}", app=MISCHIEF)
    assert answer.status == "504 Gateway Timeout"
    assert answer.envelope == {"error": "Timed out after 0.2 seconds"}
    assert answer.exit == 0


@pytest.mark.parametrize(
    "name", ["SwallowAll", "AnswerTooLate", "CleanUpForEver", "AwaitThread", "NeverAwait"]
)
def test_a_function_that_ignores_the_end_of_its_time_is_504_all_the_same(
    cgi: Cgi, name: str
) -> None:
    answer = cgi(f"/{name}", app=OVERSTAYING)  # which waits for the process for 20 seconds
    assert answer.status == "504 Gateway Timeout"
    assert answer.envelope == {"error": "Timed out after 0.2 seconds"}
    assert (answer.exit, answer.stderr) == (0, b"")


def test_a_function_may_clean_up_when_its_time_is_up(cgi: Cgi) -> None:
    answer = cgi("/CleanUp", app=OVERSTAYING)
    assert answer.status == "504 Gateway Timeout"
    assert answer.stderr == b"cleaned up\n"


@pytest.mark.parametrize("name", ["LeaveTask", "LeaveThread"])
def test_what_a_coroutine_leaves_behind_is_not_waited_for(cgi: Cgi, name: str) -> None:
    answer = cgi(f"/{name}", app=OVERSTAYING)
    assert (answer.envelope, answer.exit, answer.stderr) == ({"result": 1}, 0, b"")


def test_coroutines_and_generators_are_called_like_functions(cgi: Cgi) -> None:
    assert cgi("/Later", b'{"x":5}', app=MISCHIEF).envelope == {"result": 5}
    for name in ("Items", "AsyncItems"):
        answer = cgi(f"/{name}", b'{"count":3}', app=MISCHIEF, HTTP_ACCEPT="text/event-stream")
        assert answer.envelope == {"result": [0, 1, 2]}


def test_a_visitors_proxy_header_reaches_no_function(cgi: Cgi) -> None:
    assert cgi("/Proxy", app=MISCHIEF, HTTP_PROXY="http://evil.example").envelope == {"result": []}


def test_a_function_sees_managed_variables_only(cgi: Cgi) -> None:
    assert cgi("/Env", app=MISCHIEF).envelope == {"result": {"KNOWN": "yes"}}


def test_the_process_ends_as_python_ends(cgi: Cgi, tmp_path: Path) -> None:
    """Threads are waited for, `finally` runs, open files are flushed: only teardown is skipped."""
    kept, written = tmp_path / "kept", tmp_path / "written"
    answer = cgi("/LeaveOpen", app=MISCHIEF, LEFT_OPEN=str(kept))
    assert answer.envelope == {"result": 22}
    assert kept.read_text() == "not flushed by anybody"
    assert b"finally" in answer.stderr
    cgi("/StartThread", msgspec.json.encode({"path": str(written)}), app=MISCHIEF)
    assert written.read_text() == "a thread was waited for"
