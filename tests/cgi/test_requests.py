"""One request, one process, one well-formed answer: RFC 3875 as the calculator sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kuniumi
from kuniumi.serve.cgi import handle

if TYPE_CHECKING:
    from tests.cgi.conftest import Cgi

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CALCULATOR = ROOT / "examples" / "calculator" / "app.py"
WEATHER = ROOT / "examples" / "weather" / "app.py"
HASTY = HERE / "apps" / "hasty.py"
SUM = b'{"x":10,"y":20}'


@pytest.mark.parametrize("path", ["/Add", "/functions/Add"])
def test_a_function_is_called_by_its_name(cgi: Cgi, path: str) -> None:
    answer = cgi(path, SUM)
    assert answer.raw == (
        b"Status: 200 OK\r\n"
        b"Content-Type: application/json\r\n"
        b"Content-Length: 13\r\n"
        b"\r\n"
        b'{"result":30}'
    )
    assert (answer.exit, answer.stderr) == (0, b"")


def test_strings_become_numbers(cgi: Cgi) -> None:
    assert cgi("/Add", b'{"x":"10","y":"20"}').body == b'{"result":30}'


def test_an_unknown_function_is_404(cgi: Cgi) -> None:
    answer = cgi("/NonExistent", b"{}")
    assert answer.status == "404 Not Found"
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.body == b'{"error":"Function not found: NonExistent"}'
    assert answer.exit == 0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"not json", "Invalid JSON body"),
        (b"[]", "Invalid JSON body"),
        (b"\x00\xff\xfe\r\n\r\n", "Invalid JSON body"),
        (b'{"x":"abc","y":1}', "Argument 'x': expected an integer, got \"abc\""),
        (b'{"x":1}', "Missing argument 'y' (an integer)"),
    ],
)
def test_bad_arguments_are_400(cgi: Cgi, body: bytes, said: str) -> None:
    answer = cgi("/Add", body)
    assert (answer.status, answer.envelope) == ("400 Bad Request", {"error": said})


def test_the_openapi_document_names_the_script_as_its_server(cgi: Cgi) -> None:
    answer = cgi("/openapi.json", REQUEST_METHOD="GET", SCRIPT_NAME="/cgi-bin/my app.py")
    assert answer.status == "200 OK"
    assert answer.envelope["servers"] == [{"url": "/cgi-bin/my%20app.py"}]
    assert answer.envelope["paths"]["/functions/Add"]["post"]["operationId"] == "functions.Add"


@pytest.mark.parametrize("path", ["", "/", "/functions", "/health", "/openapi.yaml", "/Add"])
def test_pages_can_be_read_and_asked_for_their_head(cgi: Cgi, path: str) -> None:
    got = cgi(path, REQUEST_METHOD="GET")
    head = cgi(path, REQUEST_METHOD="HEAD")
    assert got.status == head.status == "200 OK"
    assert got.body
    assert head.lines == got.lines
    assert head.body == b""


def test_a_wrong_method_is_405_and_says_which_are_right(cgi: Cgi) -> None:
    answer = cgi("/weather", app=WEATHER, REQUEST_METHOD="GET")
    assert answer.status == "405 Method Not Allowed"
    assert answer.headers["Allow"] == "POST, OPTIONS"
    head = cgi("/weather", app=WEATHER, REQUEST_METHOD="HEAD")
    assert (head.status, head.body) == (answer.status, b"")
    deleted = cgi("/Add", REQUEST_METHOD="DELETE")
    assert deleted.headers["Allow"] == "GET, HEAD, POST, OPTIONS"


def test_options_says_what_is_allowed(cgi: Cgi) -> None:
    answer = cgi("/Add", REQUEST_METHOD="OPTIONS")
    assert answer.headers == {"Status": "204 No Content", "Allow": "POST, OPTIONS"}
    assert answer.body == b""


@pytest.mark.parametrize("sent", ["text/plain", "application/x-www-form-urlencoded", "x\tz"])
def test_another_content_type_is_415(cgi: Cgi, sent: str) -> None:
    answer = cgi("/Add", SUM, CONTENT_TYPE=sent)
    assert answer.status == "415 Unsupported Media Type"
    assert "application/json" in answer.envelope["error"]


def test_a_page_of_a_foreign_origin_has_to_name_its_type(cgi: Cgi) -> None:
    foreign = {"HTTP_ORIGIN": "https://evil.example", "HTTP_HOST": "127.0.0.1"}
    assert cgi("/Add", SUM, CONTENT_TYPE=None, **foreign).status == "415 Unsupported Media Type"
    cross = cgi("/Add", SUM, CONTENT_TYPE=None, HTTP_SEC_FETCH_SITE="cross-site")
    assert cross.status == "415 Unsupported Media Type"
    own = {"HTTP_ORIGIN": "http://127.0.0.1", "HTTP_HOST": "127.0.0.1"}
    assert cgi("/Add", SUM, CONTENT_TYPE=None, **own).body == b'{"result":30}'


def test_the_plain_tool_protocol_answers_in_its_own_form(cgi: Cgi) -> None:
    answer = cgi("/weather", b'{"location":"Atlantis"}', app=WEATHER)
    assert (answer.status, answer.envelope["isError"]) == ("200 OK", True)


# ---- variables that are missing or wrong -----------------------------------------------------------


@pytest.mark.parametrize(
    "missing",
    [
        *("SERVER_PROTOCOL", "SERVER_SOFTWARE", "SERVER_NAME", "SERVER_PORT", "REMOTE_ADDR"),
        *("REQUEST_METHOD", "SCRIPT_NAME", "QUERY_STRING", "CONTENT_TYPE", "PATH"),
    ],
)
def test_a_call_needs_none_of_these_variables(cgi: Cgi, missing: str) -> None:
    assert cgi("/Add", SUM, **{missing: None}).body == b'{"result":30}'


def test_without_a_path_the_index_is_shown(cgi: Cgi) -> None:
    answer = cgi("/Add", REQUEST_METHOD="GET", PATH_INFO=None)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    posted = cgi("/Add", SUM, PATH_INFO=None)
    assert posted.status == "405 Method Not Allowed"


@pytest.mark.parametrize("length", [None, "", "0"])
def test_without_a_length_there_is_no_body_and_nobody_waits_for_one(
    cgi: Cgi, length: str | None
) -> None:
    answer = cgi("/Add", SUM, CONTENT_LENGTH=length, keep_open=True)
    assert answer.status == "400 Bad Request"
    assert answer.envelope["error"].startswith("Missing argument 'x'")


@pytest.mark.parametrize(
    "length", ["-1", "ten", "1.5", "0x10", "+15", " 15", "\u0661", "9" * 20, "1e1"]
)
def test_a_length_that_is_no_number_is_400(cgi: Cgi, length: str) -> None:
    answer = cgi("/Add", SUM, CONTENT_LENGTH=length, keep_open=True)
    assert answer.status == "400 Bad Request"
    assert answer.envelope == {"error": "CONTENT_LENGTH is not a number of bytes"}


@pytest.mark.parametrize("length", ["4194305", "1000000000000"])
def test_a_length_over_the_limit_is_413_before_anything_is_read(cgi: Cgi, length: str) -> None:
    answer = cgi("/Add", SUM, CONTENT_LENGTH=length, keep_open=True)
    assert answer.status == "413 Content Too Large"


def test_a_body_as_large_as_the_limit_is_read() -> None:
    text = b'{"text":"%b"}' % (b"a" * (4 * 1024 * 1024 - 11))
    assert len(text) == 4 * 1024 * 1024
    answer = subprocess.run(
        [sys.executable, HERE / "apps" / "mischief.py"],
        input=text,
        env={
            "GATEWAY_INTERFACE": "CGI/1.1",
            "PATH_INFO": "/Size",
            "CONTENT_LENGTH": str(len(text)),
        },
        capture_output=True,
        check=True,
    )
    assert answer.stdout.endswith(b'{"result":4194293}')


def test_a_body_that_is_cut_short_is_400(cgi: Cgi) -> None:
    answer = cgi("/Add", SUM, CONTENT_LENGTH="100")
    assert (answer.status, answer.envelope) == ("400 Bad Request", {"error": "Invalid JSON body"})


def test_a_body_that_does_not_arrive_is_408(cgi: Cgi) -> None:
    answer = cgi("/Size", b'{"text":', app=HASTY, CONTENT_LENGTH="100", keep_open=True)
    assert answer.status == "408 Request Timeout"
    assert answer.envelope == {"error": "Body too slow: it has to arrive within 0.3 seconds"}


def test_not_a_byte_after_the_body_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, SUM + b" and the next request")
    os.close(writing)
    answer = subprocess.run(
        [sys.executable, CALCULATOR],
        stdin=reading,
        env={
            "GATEWAY_INTERFACE": "CGI/1.1",
            "PATH_INFO": "/Add",
            "CONTENT_LENGTH": str(len(SUM)),
        },
        capture_output=True,
        check=True,
    )
    assert answer.stdout.endswith(b'{"result":30}')
    assert os.read(reading, 100) == b" and the next request"
    os.close(reading)


def test_a_body_in_chunks_ends_where_stdin_ends(cgi: Cgi) -> None:
    chunked = {"CONTENT_LENGTH": None, "HTTP_TRANSFER_ENCODING": "chunked"}
    assert cgi("/Add", SUM, **chunked).body == b'{"result":30}'
    late = cgi("/Size", b'{"text":"a"}', app=HASTY, keep_open=True, **chunked)
    assert late.status == "408 Request Timeout"
    large = cgi("/Size", b'{"text":"%b"}' % (b"a" * 2000), app=HASTY, keep_open=True, **chunked)
    assert large.status == "413 Content Too Large"


@pytest.mark.parametrize(
    "path",
    [
        "/../Add",
        "/functions/../Add",
        "//Add",
        "/functions//Add",
        "/Add/",
        "/Add/..",
        "/add",
        "/%41dd",
        "/Add;x",
        "/Add?x=1",
        "/functions/",
        "/.",
        "/Add\\",
        "/Add\r\nX: y",
        "/Ädd",
        "Add/x",
    ],
)
def test_a_path_that_is_not_exactly_a_function_is_404(cgi: Cgi, path: str) -> None:
    answer = cgi(path, SUM)
    assert answer.status == "404 Not Found"
    assert set(answer.headers) == {"Status", "Content-Type", "Content-Length"}
    assert list(answer.envelope) == ["error"]


def test_a_nul_in_the_path_is_404() -> None:
    """A process can't be given one; another way in might."""
    app = kuniumi.App()
    app.register(lambda: 1, name="One")
    variables = {"GATEWAY_INTERFACE": "CGI/1.1", "PATH_INFO": "/One\0", "REQUEST_METHOD": "POST"}
    assert handle(app.service, variables, None).startswith(b"Status: 404 Not Found\r\n")


def test_an_encoded_slash_separates_nothing(cgi: Cgi) -> None:
    uri = "/cgi-bin/app.py/functions%2FAdd?x=1"
    answer = cgi("/functions/Add", SUM, REQUEST_URI=uri)
    assert answer.status == "404 Not Found"
    assert cgi("/functions/Add", SUM, REQUEST_URI="/cgi-bin/app.py/functions/Add?a=%2F").exit == 0


# ---- how the process was started -------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [["serve"], ["call", "Add", "1", "2"], ["--help"], ["openapi"], ["cgi", "--max-body", "1"]],
)
def test_a_web_server_can_start_nothing_but_cgi(cgi: Cgi, words: list[str]) -> None:
    """RFC 3875 §4.4: `/app.py/Add?serve` makes `serve` a word of the command line."""
    assert cgi("/Add", SUM, *words).body == b'{"result":30}'


def test_a_person_pipes_a_body_in_without_a_web_server() -> None:
    for length in ({}, {"CONTENT_LENGTH": "16"}):
        answer = subprocess.run(
            [sys.executable, CALCULATOR, "cgi"],
            input=SUM + b"\n",
            env={"PATH_INFO": "/Add", **length},
            capture_output=True,
            check=True,
        )
        assert answer.stdout.startswith(b"Status: 200 OK\r\n")
        assert answer.stdout.endswith(b'\r\n\r\n{"result":30}')


def test_a_person_reads_a_page_without_saying_get() -> None:
    answer = subprocess.run(
        [sys.executable, CALCULATOR, "cgi"],
        stdin=subprocess.DEVNULL,
        env={"PATH_INFO": "/openapi.json"},
        capture_output=True,
        check=True,
    )
    assert b'"servers":[{"url":"/"}]' in answer.stdout


def test_a_program_may_give_its_own_limits_and_variables(cgi: Cgi) -> None:
    body = b'{"text":"%b"}' % (b"a" * 1100)
    assert cgi("/Size", body, app=HASTY).status == "413 Content Too Large"
    assert cgi("/Variable", b'{"name":"A"}', app=HASTY).body == b'{"result":"b=c"}'


def test_the_kuniumi_program_serves_any_file_by_cgi(cgi: Cgi, tmp_path: Path) -> None:
    script = tmp_path / "app.cgi.py"
    kuniumi_program = Path(sys.executable).with_name("kuniumi")
    script.write_text(f"#!{kuniumi_program} cgi\n{HASTY.read_text()}")
    script.chmod(0o755)
    variables = {"GATEWAY_INTERFACE": "CGI/1.1", "PATH_INFO": "/Size", "CONTENT_LENGTH": "12"}
    for visitor in ([], ["serve"]):
        answer = subprocess.run(
            [script, *visitor],
            input=b'{"text":"a"}',
            env=variables,
            capture_output=True,
            check=True,
        )
        assert answer.stdout.endswith(b'{"result":1}')


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-", ">&-", ">&- 2>&- <&-"])
def test_a_stream_that_was_never_opened_harms_nobody(closed: str) -> None:
    command = f"exec {sys.executable} {CALCULATOR} {closed}"
    answer = subprocess.run(
        ["sh", "-c", command],
        input=SUM,
        env={
            "GATEWAY_INTERFACE": "CGI/1.1",
            "PATH_INFO": "/Add",
            "CONTENT_LENGTH": str(len(SUM)),
        },
        capture_output=True,
        check=False,
    )
    assert answer.returncode == 0
    assert b"Traceback" not in answer.stderr
    if "2>&-" in closed and ">&- 2" not in closed and "<&-" not in closed:
        assert answer.stdout.endswith(b'{"result":30}')


def test_a_web_server_that_went_away_is_no_error() -> None:
    command = f"{sys.executable} {CALCULATOR} | true; sleep 0.1"
    answer = subprocess.run(
        ["bash", "-c", command],
        env={"GATEWAY_INTERFACE": "CGI/1.1", "PATH_INFO": "/openapi.json", "REQUEST_METHOD": "GET"},
        capture_output=True,
        check=True,
    )
    assert answer.stderr == b""
