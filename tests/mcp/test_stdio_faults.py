"""What a client on stdio may do wrong, and how calls end: cancelled, cut off, drained."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.server import eventually
from tests.mcp.official import REVISIONS, STATELESS
from tests.mcp.senders import (
    BOTH,
    CALCULATOR,
    EVERYTHING,
    HANDSHAKE,
    MISCHIEF,
    PATIENCE,
    Message,
    Pipe,
    call,
    elapsed,
    encoded,
    lines_in,
    meta,
    piped,
    request,
)

both = pytest.mark.parametrize("revision", BOTH)
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


@pytest.fixture(scope="module")
def pipe() -> Iterator[Pipe]:
    """Give a server that outlives whatever is said to it in these tests."""
    with piped() as pipe:
        yield pipe
        assert pipe.is_well()
        assert pipe.end() == []


@pytest.fixture(scope="module", params=BOTH)
def either(request: pytest.FixtureRequest) -> Iterator[Pipe]:
    """Give such a server in each way of speaking."""
    with piped(revision=request.param) as pipe:
        yield pipe
        assert pipe.is_well()
        assert pipe.end() == []


# ---- the plain way -----------------------------------------------------------------------------------

RIGHT = '{"x":7,"y":3}'
WRONG = '{"x":"not_a_number","y":3}'


def piped_in(*lines: bytes) -> list[Message]:
    """Start the calculator with its whole input at once; give all that it says."""
    words = [sys.executable, str(CALCULATOR), "mcp"]
    done = subprocess.run(words, input=b"\n".join(lines), capture_output=True, check=True)
    assert done.stderr == b""
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("said", ["", f'"_meta":{json.dumps(meta())},'], ids=["bare", "stateless"])
def test_a_lone_call_that_is_piped_in_is_answered(said: str) -> None:
    def line(arguments: str) -> bytes:
        params = f'{{{said}"name":"functions.Add","arguments":{arguments}}}'
        return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'.encode()

    (answer,) = piped_in(line(RIGHT))
    result = answer["result"]
    assert result["isError"] is False
    assert result["content"] == [{"type": "text", "text": '{"result":10}'}]
    assert result["structuredContent"] == {"result": 10}

    (answer,) = piped_in(line(WRONG))
    result = answer["result"]
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert list(json.loads(result["content"][0]["text"])) == ["error"]


def test_tools_and_openapi_say_the_same_ids() -> None:
    listed = piped_in(encoded(request("tools/list")))[0]["result"]["tools"]
    words = [sys.executable, str(CALCULATOR), "openapi"]
    document = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    ids = [
        each["operationId"]
        for path in document["paths"].values()
        for each in path.values()
        if "operationId" in each
    ]
    assert "functions.Add" in ids
    assert sorted(tool["name"] for tool in listed) == sorted(ids)


@pytest.mark.parametrize("wanted", [*REVISIONS[:-1], STATELESS, "2099-01-01", "", "x" * 10_000])
def test_a_handshake_settles_on_what_both_know(pipe: Pipe, wanted: str) -> None:
    info = {"name": "x", "version": "1"}
    said = {"protocolVersion": wanted, "capabilities": {}, "clientInfo": info}
    greeted = pipe.ask(request("initialize", 2, revision=HANDSHAKE, **said))
    known = wanted in REVISIONS[:-1]
    assert greeted["result"]["protocolVersion"] == (wanted if known else HANDSHAKE)


# ---- what is no message ------------------------------------------------------------------------------

BAD: list[tuple[bytes, int]] = [
    (b"[]", -32600),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
    (b"null", -32600),
    (b"1", -32600),
    (b'"ping"', -32600),
    (b"true", -32600),
    (b"{}", -32600),
    (b'{"id":1}', -32600),
    (b'{"jsonrpc":"2.0"}', -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    (b'{"jsonrpc":2.0,"id":1,"method":"ping"}', -32600),
    (b'{"id":1,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":""}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":null}', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1e3,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":"' + b"x" * 5000 + b'","method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', -32600),
    (b"{", -32700),
    (b"}", -32700),
    (b"ping", -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"', -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"}}', -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"} {}', -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', -32700),
    (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
    (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', -32700),
    (b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}', -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"\xed\xa0\x80"}', -32700),
    (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', -32700),
    (b"\x00", -32700),
    (b"\xff\xfe" * 100, -32700),
    (b"GET / HTTP/1.1\r", -32700),
    (b"Content-Length: 5\r", -32700),
    (b"[" * 100_000, -32700),
    (b'{"a":' * 100_000, -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","x":' + b"[" * 99_999 + b"]" * 99_999 + b"}", -32700),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code"), BAD, ids=[f"{line[:60]!r}" for line, _ in BAD])
def test_what_is_no_message_is_told_so_and_the_next_is_answered(
    pipe: Pipe, line: bytes, code: int
) -> None:
    began = time.monotonic()
    pipe.send(line)
    answer = pipe.hear()
    assert elapsed(began) < 1
    assert answer["error"]["code"] == code, answer
    assert answer.get("id", 1) == 1
    assert pipe.is_well()


def test_empty_lines_and_windows_lines_are_no_mistakes(pipe: Pipe) -> None:
    pipe.send(b"", b"   ", b"\r", b"\t\r")
    pipe.send(call("Add", 5, x=7, y=3), end=b"\r\n")
    assert pipe.answer_to(5)["result"]["structuredContent"] == {"result": 10}


def test_a_line_that_comes_byte_by_byte_is_one(pipe: Pipe) -> None:
    assert pipe.process.stdin is not None
    asked = call("Add", 6, x=7, y=3)
    for byte in encoded(asked) + b"\n":
        pipe.process.stdin.write(bytes([byte]))
        pipe.process.stdin.flush()
    assert pipe.hear()["result"]["structuredContent"] == {"result": 10}


def test_a_line_over_the_limit_is_an_error_and_the_server_lives() -> None:
    with piped(Path(__file__).parent / "apps" / "hostile.py", "--max-message", "10K") as pipe:
        for size in (10_241, 100_000, 5_000_000):
            pipe.send(b"x" * size)
            error = pipe.hear()["error"]
            assert error["code"] == -32600
            assert "10240" in error["message"]
            assert pipe.is_well()


# ---- what is no request that could be answered -------------------------------------------------------


def changed(message: Message, said: dict[str, Any]) -> Message:
    """Replace what a request says of itself."""
    message["params"]["_meta"] = said
    return message


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({VERSION: STATELESS}, -32602),
        ({VERSION: 7, CAPABILITIES: {}}, -32602),
        ({VERSION: None, CAPABILITIES: {}}, -32602),
        ({VERSION: STATELESS, CAPABILITIES: None}, -32602),
        ({VERSION: STATELESS, CAPABILITIES: []}, -32602),
        ({VERSION: STATELESS, CAPABILITIES: {"elicitation": 1}}, -32602),
        ({VERSION: STATELESS, CAPABILITIES: {}, "progressToken": 1.5}, -32602),
        ({VERSION: STATELESS, CAPABILITIES: {}, "io.modelcontextprotocol/logLevel": "x"}, -32602),
        ({VERSION: "2099-01-01", CAPABILITIES: {}}, -32022),
        ({VERSION: "", CAPABILITIES: {}}, -32022),
        ({VERSION: HANDSHAKE, CAPABILITIES: {}}, -32022),
        ({VERSION: "x" * 100_000, CAPABILITIES: {}}, -32022),
    ],
)
def test_what_a_request_says_of_itself_has_to_be_right(
    pipe: Pipe, said: dict[str, Any], code: int
) -> None:
    answer = pipe.ask(changed(call("Add", 1, x=7, y=3), said))
    assert answer["error"]["code"] == code, answer
    if code == -32022:
        assert answer["error"]["data"]["requested"] == said[VERSION]
        assert answer["error"]["data"]["supported"] == list(reversed(REVISIONS))


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("nothing/like/it", {}, -32601),
        ("tools/call/", {}, -32601),
        ("notifications/cancelled", {}, -32601),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": 7}, -32602),
        ("tools/call", {"name": "functions.None"}, -32602),
        ("tools/call", {"name": "functions.Add", "arguments": []}, -32602),
        ("tools/call", {"name": "functions.Add", "arguments": "{}"}, -32602),
        ("tools/list", {"cursor": "x"}, -32602),
        ("tools/list", {"cursor": "-1"}, -32602),
        ("tools/list", {"cursor": 7}, -32602),
        ("resources/read", {}, -32602),
        ("prompts/get", {"name": "none"}, -32602),
        ("completion/complete", {"ref": {"type": "x"}}, -32602),
    ],
)
def test_what_nobody_offers_is_an_error(
    either: Pipe, method: str, params: dict[str, Any], code: int
) -> None:
    answer = either.ask(request(method, 9, revision=either.revision, **params))
    assert answer["error"]["code"] == code, answer
    assert either.is_well()


@pytest.mark.parametrize(
    "params", [b"[]", b"null", b'"x"', b"7", b'{"_meta":[]}', b'{"_meta":null}', b'{"name":1}']
)
def test_parameters_that_are_no_object_are_invalid(pipe: Pipe, params: bytes) -> None:
    pipe.send(b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":%b}' % params)
    assert pipe.answer_to(3)["error"]["code"] == -32602


@both
def test_what_wants_no_answer_gets_none(revision: str) -> None:
    with piped(revision=revision) as pipe:
        for method in ("notifications/initialized", "notifications/x", "tools/call", "x"):
            pipe.send({"jsonrpc": "2.0", "method": method})
            pipe.send({"jsonrpc": "2.0", "method": method, "params": {"requestId": {}}})
        pipe.send({"jsonrpc": "2.0", "id": 1, "result": {}})
        pipe.send({"jsonrpc": "2.0", "id": "ask-1", "error": {"code": 1, "message": "x"}})
        assert pipe.is_well()
        assert pipe.end() == []


ARGUMENTS: list[tuple[bytes, str]] = [
    (b'{"x":' + b"9" * 5000 + b',"y":3}', "error"),
    (b'{"x":1e400,"y":3}', "error"),
    (b'{"x":NaN,"y":3}', "no json"),
    (b'{"x":-Infinity,"y":3}', "no json"),
    (b'{"x":"\\ud800","y":3}', "no json"),
    (b'{"x":"\xff","y":3}', "no json"),
    (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "no json"),
    (b'{"x":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b',"y":3}', "error"),
    (b'{"x":9223372036854775807,"y":1}', "result"),
    (b'{"x":9223372036854775808,"y":-1}', "result"),
    (b'{"x":1.5,"y":3}', "error"),
    (b'{"x":true,"y":3}', "error"),
    (b'{"x":null,"y":3}', "error"),
    (b'{"x":7,"y":3,"z":1}', "error"),
    (b'{"x":7}', "error"),
    (b'{"x":"7","y":" 3 "}', "result"),
    (b'{"x":7,"x":8,"y":3}', "result"),
    (b'{"x":7,"y":3,"__proto__":{}}', "error"),
    (b"null", "error"),
]


@pytest.mark.parametrize(
    ("arguments", "expected"), ARGUMENTS, ids=[f"{given[:30]!r}" for given, _ in ARGUMENTS]
)
def test_odd_arguments_have_one_well_formed_answer(
    pipe: Pipe, arguments: bytes, expected: str
) -> None:
    said = json.dumps(meta()).encode()
    params = b'{"_meta":%b,"name":"functions.Add","arguments":%b}' % (said, arguments)
    began = time.monotonic()
    pipe.send(b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":%b}' % params)
    answer = pipe.hear()
    assert elapsed(began) < 1
    if expected == "no json":
        assert answer["error"]["code"] == -32700
        return
    (text,) = answer["result"]["content"]
    assert list(json.loads(text["text"])) == [expected], text
    assert answer["result"]["isError"] is (expected == "error")


def test_who_cannot_be_asked_is_told_what_is_missing() -> None:
    with piped(EVERYTHING) as pipe:
        error = pipe.ask(call("test_missing_capability", 1))["error"]
        assert error["code"] == -32021
        assert error["data"] == {"requiredCapabilities": {"sampling": {}}}
    with piped(EVERYTHING, revision=HANDSHAKE) as pipe:
        answer = pipe.ask(call("test_missing_capability", 1, revision=HANDSHAKE))
        assert answer["result"]["isError"] is True
        assert "sampling" in answer["result"]["content"][0]["text"]


# ---- ids ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [0, -1, 2**53, "", "0", '\u00fc\n"', -(2**63), 2**63])
def test_an_id_comes_back_as_it_went(either: Pipe, key: int | str) -> None:
    answer = either.ask(either.call_of("Add", key, x=7, y=3))
    assert answer["id"] == key
    assert type(answer["id"]) is type(key)


def test_an_id_that_is_still_at_work_is_refused_and_the_first_is_answered(either: Pipe) -> None:
    either.send(either.call_of("Wait", 5, seconds=0.2), either.call_of("Add", 5, x=1, y=1))
    refused, answered = either.hear(), either.hear()
    assert refused["error"]["code"] == -32600
    assert answered["result"]["structuredContent"] == {"result": 0.2}
    assert either.ask(either.call_of("Add", 5, x=1, y=1))["result"]["isError"] is False


def test_a_number_and_its_text_are_two_ids(pipe: Pipe) -> None:
    pipe.send(call("Wait", 5, seconds=0.1), call("Wait", "5", seconds=0.2))
    assert [pipe.hear()["id"] for _ in range(2)] == [5, "5"]


# ---- cancelling --------------------------------------------------------------------------------------


def cancel(key: Any) -> Message:
    params = {"requestId": key, "reason": "changed my mind"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


@both
@pytest.mark.parametrize("name", ["NoteCancelled", "NotePolled"])
def test_what_is_cancelled_learns_of_it_and_says_nothing_more(
    revision: str, name: str, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    with piped(revision=revision, notes=notes) as pipe:
        asked = pipe.call_of(name, 7, mark="x")
        asked["params"]["_meta"] = {**asked["params"].get("_meta", {}), "progressToken": 1}
        pipe.send(asked)
        eventually(lambda: lines_in(notes) == ["x began"])
        pipe.send(cancel(7))
        eventually(lambda: "x was cancelled: True" in lines_in(notes))
        assert pipe.is_well()
        assert pipe.end() == []


@both
def test_a_cancellation_before_after_or_of_nothing_does_nothing(revision: str) -> None:
    with piped(revision=revision) as pipe:
        pipe.send(cancel(7), cancel("no such request"), cancel(None), cancel([1]), cancel(1.5))
        pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
        assert pipe.ask(pipe.call_of("Add", 7, x=7, y=3))["result"]["isError"] is False
        pipe.send(cancel(7), cancel(7), cancel("7"))
        assert pipe.is_well()
        assert pipe.end() == []


def test_what_ends_as_it_is_cancelled_is_answered_once_or_not_at_all() -> None:
    with piped() as pipe:
        for key in range(200):
            pipe.send(call("Add", key, x=7, y=3), cancel(key))
            pipe.send(call("Block", f"{key}b", seconds=0), cancel(f"{key}b"))
        assert pipe.ask(call("Add", "last", x=7, y=3))["result"]["isError"] is False
        answered = [message["id"] for message in [*pipe.told, *pipe.end()]]
        assert len(answered) == len(set(answered))


# ---- progress ----------------------------------------------------------------------------------------


@both
def test_progress_only_grows_and_ends_with_the_result(revision: str, tmp_path: Path) -> None:
    steps = [1, 1, 0.5, 2, -3, 2.5, 2.5, 1e300, 7]
    notes = tmp_path / "notes"
    with piped(revision=revision, notes=notes) as pipe:
        asked = pipe.call_of("Report", 8, steps=steps)
        asked["params"]["_meta"] = {**asked["params"].get("_meta", {}), "progressToken": "here"}
        result = pipe.ask(asked)["result"]
        assert result["structuredContent"] == {"result": len(steps)}
        params = [
            told["params"] for told in pipe.told if told["method"] == "notifications/progress"
        ]
        told = [each["progress"] for each in params]
        assert told == sorted(set(told))
        assert told == [1, 2, 2.5, 1e300]
        assert {each["progressToken"] for each in params} == {"here"}
        eventually(lambda: "reported late" in lines_in(notes))
        pipe.told.clear()
        assert pipe.is_well()


@both
def test_who_gave_no_token_hears_of_no_progress(revision: str) -> None:
    with piped(revision=revision) as pipe:
        pipe.ask(pipe.call_of("Report", 8, steps=[1, 2]))
        assert pipe.told == []


# ---- the end -----------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("name", ["Wait", "Block"])
def test_the_end_of_input_during_a_call_ends_the_process_within_a_second(
    revision: str, name: str, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    with piped(revision=revision, notes=notes) as pipe:
        pipe.send(pipe.call_of(name, 1, seconds=30))
        eventually(lambda: lines_in(notes))
        began = time.monotonic()
        assert pipe.end() == []
        assert elapsed(began) < 1.5  # a second, and what a busy machine takes to notice


def test_what_ends_soon_after_the_input_is_still_answered() -> None:
    with piped() as pipe:
        pipe.send(call("Wait", 1, seconds=0.3), call("Block", 2, seconds=0.3))
        assert sorted(said["id"] for said in pipe.end()) == [1, 2]


@both
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_calls_finish(revision: str, number: int, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with piped(revision=revision, notes=notes) as pipe:
        calls = [pipe.call_of("Wait", 1, seconds=1.2), pipe.call_of("Block", 2, seconds=1.2)]
        pipe.send(*calls)
        eventually(lambda: len(lines_in(notes)) == 2)
        pipe.process.send_signal(number)
        answers = pipe.rest()
        assert sorted(said["id"] for said in answers) == [1, 2]
        assert all(said["result"]["isError"] is False for said in answers)


def test_a_drain_ends_when_its_time_is_up(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    app = Path(__file__).parent / "apps" / "hostile.py"
    with piped(app, "--drain-timeout", "1", notes=notes) as pipe:
        pipe.send(call("Wait", 1, seconds=30))
        eventually(lambda: lines_in(notes))
        began = time.monotonic()
        pipe.process.send_signal(signal.SIGTERM)
        assert pipe.rest() == []
        assert elapsed(began) < 3


def test_thousands_of_calls_on_one_stream_are_each_answered_once() -> None:
    with piped() as pipe:
        count = 5_000
        pipe.send(*(call("Add", number, x=number, y=1) for number in range(count)))
        answers = [pipe.hear() for _ in range(count)]
        found = {each["id"]: each["result"]["structuredContent"]["result"] for each in answers}
        assert found == {number: number + 1 for number in range(count)}


# ---- what would go on for ever -----------------------------------------------------------------------


def listen(key: Any) -> Message:
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["test://watched-resource"]}
    return request("subscriptions/listen", key, notifications=wanted)


def ends_with(pipe: Pipe, said: list[Message]) -> None:
    """Check that the last word is the end of the subscription."""
    assert [each["id"] for each in said] == ["here"]
    meta = said[0]["result"]["_meta"]
    assert meta["io.modelcontextprotocol/subscriptionId"] == "here"
    assert pipe.process.returncode == 0


@pytest.mark.parametrize("way", ["signal", "end of input"])
def test_a_subscription_keeps_no_process_alive(way: str) -> None:
    with piped() as pipe:
        pipe.send(listen("here"))
        assert pipe.hear()["method"] == "notifications/subscriptions/acknowledged"
        began = time.monotonic()
        if way == "signal":
            pipe.process.send_signal(signal.SIGTERM)
        said = pipe.rest() if way == "signal" else pipe.end()
        assert elapsed(began) < 1.5
        ends_with(pipe, said)


def test_a_subscription_that_is_cancelled_tells_nothing_more() -> None:
    with piped(EVERYTHING) as pipe:
        pipe.send(listen("here"))
        assert pipe.hear()["method"] == "notifications/subscriptions/acknowledged"
        pipe.ask(call("test_update_resource", 1))
        pipe.ask(call("test_trigger_tool_change", 2))
        while len(pipe.told) < 3:
            pipe.told.append(pipe.hear())
        told = [each["method"] for each in pipe.told]
        assert told.count("notifications/resources/updated") == 1
        assert told.count("notifications/tools/list_changed") == 2
        pipe.told.clear()
        pipe.send(cancel("here"))
        pipe.ask(call("test_update_resource", 3))
        pipe.ask(call("test_trigger_tool_change", 4))
        assert pipe.told == []
        assert pipe.end() == []


@pytest.mark.parametrize("way", ["signal", "end of input"])
def test_a_function_that_holds_up_the_loop_keeps_no_process_alive(way: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with piped(MISCHIEF, "--drain-timeout", "1", notes=notes) as pipe:
        pipe.send(pipe.call_of("Hold", 5, seconds=60))
        eventually(lambda: "holds 60" in lines_in(notes))
        began = time.monotonic()
        if way == "signal":
            pipe.process.send_signal(signal.SIGTERM)
        else:
            assert pipe.process.stdin is not None
            pipe.process.stdin.close()
        assert pipe.process.wait(PATIENCE) == 1
        assert elapsed(began) < 10


def test_a_function_that_holds_up_the_loop_for_a_while_is_answered(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with piped(MISCHIEF, notes=notes) as pipe:
        pipe.send(pipe.call_of("Hold", 5, seconds=1))
        eventually(lambda: "holds 1" in lines_in(notes))
        (answer,) = pipe.end()
        assert answer["result"]["structuredContent"] == {"result": 1.0}


@pytest.mark.parametrize("way", ["signal", "end of input"])
def test_a_question_nobody_will_answer_keeps_no_process_alive(way: str) -> None:
    with piped(EVERYTHING, revision=HANDSHAKE) as pipe:
        pipe.shake_hands(sampling={})
        pipe.send(call("test_sampling", 5, revision=HANDSHAKE, prompt="Are you there?"))
        assert pipe.hear()["method"] == "sampling/createMessage"
        began = time.monotonic()
        if way == "signal":
            pipe.process.send_signal(signal.SIGTERM)
        (answer,) = pipe.rest() if way == "signal" else pipe.end()
        assert elapsed(began) < 1.5
        assert answer["result"]["isError"] is True


def test_an_answer_is_taken_once_and_only_if_somebody_asked() -> None:
    with piped(EVERYTHING, revision=HANDSHAKE) as pipe:
        pipe.shake_hands(sampling={})
        pipe.send(call("test_sampling", 5, revision=HANDSHAKE, prompt="Are you there?"))
        asked = pipe.hear()
        reply = {"role": "assistant", "content": {"type": "text", "text": "Yes"}, "model": "m"}
        for key in ("another", None, 7, asked["id"], asked["id"]):
            pipe.send({"jsonrpc": "2.0", "id": key, "result": reply})
        said = [pipe.hear(), pipe.hear()]
        assert [each["error"]["code"] for each in said if "error" in each] == [-32600]  # of `null`
        (answer,) = (each for each in said if "result" in each)
        assert answer["result"]["content"][0]["text"] == "LLM response: Yes"
        assert pipe.end() == []


@pytest.mark.parametrize(
    "answer",
    [
        {"result": None},
        {"result": []},
        {"result": {}},
        {"result": {"role": "assistant", "content": 7, "model": "m"}},
        {"error": None},
        {"error": "no"},
        {"error": {}},
        {"error": {"code": 1, "message": "no"}},
        {"error": {"code": 1, "message": None}},
    ],
)
def test_an_answer_that_is_none_fails_its_call_only(sampled: Pipe, answer: dict[str, Any]) -> None:
    sampled.send(call("test_sampling", 5, revision=HANDSHAKE, prompt="Are you there?"))
    sampled.send({"jsonrpc": "2.0", "id": sampled.hear()["id"], **answer})
    failed = sampled.answer_to(5)
    assert failed["result"]["isError"] is True
    assert "Traceback" not in failed["result"]["content"][0]["text"]
    assert sampled.told == []


@pytest.fixture(scope="module")
def sampled() -> Iterator[Pipe]:
    """Give a server whose client has a model."""
    with piped(EVERYTHING, revision=HANDSHAKE) as pipe:
        pipe.shake_hands(sampling={})
        yield pipe
        assert pipe.end() == []
