"""Sessions over HTTP, from outside: what they are for, how they end, whichever worker is asked."""

from __future__ import annotations

import http.client
import os
import signal
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.server import CALCULATOR, Server, eventually, serving
from tests.mcp.posting import NEW, OLD, Client, Events, in_session, new_mark, serving_chatty

if TYPE_CHECKING:
    from collections.abc import Iterator

WITH_HANDSHAKE = ["2025-03-26", "2025-06-18", OLD]


@pytest.fixture(scope="module", params=["1", "4"], ids=["one worker", "four workers"])
def chatty(request: pytest.FixtureRequest) -> Iterator[Server]:
    with serving_chatty("--workers", request.param, KEPT="5") as server:
        yield server
        assert server.stop() == 0
        assert server.errors() == ""


# ---- when there is one ---------------------------------------------------------------------------


def test_a_client_that_needs_no_session_gets_none() -> None:
    with serving(CALCULATOR) as server:
        client = Client(server, OLD, able={})
        assert client.shake_hands().status == 200
        assert client.session == ""
        called = client.request("tools/call", name="functions.Add", arguments={"x": 7, "y": 3})
        assert called.json["result"]["structuredContent"] == {"result": 10}


def test_requests_in_a_session_are_answered_by_the_worker_that_has_it(chatty: Server) -> None:
    pids = set()
    for _ in range(4):
        client = in_session(chatty)
        own = {client.result("Pid") for _ in range(8)}
        assert len(own) == 1
        pids |= own
    assert pids <= set(chatty.workers())


@pytest.mark.parametrize("session", ["nonsense", "0.nonsense", "../../x.y", "a.b" * 300, "é.é"])
def test_a_session_that_is_not_there_is_not_found(chatty: Server, session: str) -> None:
    client = Client(chatty, OLD)
    client.session = session
    asked = client.message("ping")
    first = client.send(asked)
    assert first.json["id"] == asked["id"]
    refusals = (first, client.notify("notifications/initialized"), client.end())
    for reply in refusals:
        assert reply.status == 404
        assert "begin another" in reply.json["error"]["message"]
    with client.listening() as events:
        assert events.status == 404


def test_the_latest_revision_knows_no_sessions(chatty: Server) -> None:
    client = Client(chatty, NEW)
    client.session = "0.nonsense"
    assert client.result("Echo", text="hello") == "hello"
    assert client.end().status == 405
    with client.listening() as events:
        assert events.status == 405


BEGINNING = """
from kuniumi import App, Context
app = App(name="Beginning", version="1.0.0")
@app.prompt
async def Begin(ctx: Context) -> str:
    ctx.log.info("it begins")
    return await ctx.ask("About what?")
app.run()
"""


def test_a_prompt_that_converses_is_reason_enough_for_a_session(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(BEGINNING)
    with serving(app) as server:
        client = Client(server, OLD)
        greeting = client.shake_hands()
        assert greeting.json["result"]["capabilities"]["logging"] == {}
        with client.begin_with(client.message("prompts/get", name="Begin")) as events:
            told, asked = events.next_message(), events.next_message()
            assert (told["method"], asked["method"]) == (
                "notifications/message",
                "elicitation/create",
            )
            said = {"action": "accept", "content": {"value": "tea"}}
            assert client.answer(asked, **said).status == 202
            content = events.next_message()["result"]["messages"][0]["content"]
        assert content == {"type": "text", "text": "tea"}


def test_a_session_ends_when_its_client_says_so(chatty: Server) -> None:
    client, other = in_session(chatty), in_session(chatty)
    mark = new_mark()
    with client.listening() as listening, client.begin("Ask", mark=mark) as asking:
        eventually(lambda: f"{mark} began" in chatty.notes())
        assert client.end().status == 200
        assert listening.rest() == []
        asking.messages()
    eventually(lambda: f"{mark} was cancelled" in chatty.notes())
    assert client.request("ping").status == 404
    assert client.end().status == 404
    assert other.request("ping").json["result"] == {}


def test_other_methods_are_refused(chatty: Server) -> None:
    client = in_session(chatty)
    refused = client.open("PUT", {}, client.headers()).reply()
    assert refused.status == 405
    assert refused.headers["allow"] == "GET, POST, DELETE, OPTIONS"
    with client.listening() as events:
        assert events.status == 200
    assert client.open("GET", None, client.headers(Accept="text/html")).reply().status == 406
    client.session = ""
    assert client.open("GET", None, client.headers()).reply().status == 405


def test_a_browsers_page_can_read_what_another_worker_answers(chatty: Server) -> None:
    client = in_session(chatty)
    page = f"http://localhost:{chatty.port}"
    for _ in range(8):
        reply = client.send(client.message("ping"), Origin=page)
        assert reply.headers["access-control-allow-origin"] == page


def test_large_messages_reach_another_worker_and_come_back(chatty: Server) -> None:
    client = in_session(chatty)
    text = "x" * 3_000_000
    for _ in range(4):
        assert client.result("Echo", text=text) == text


def test_a_call_may_speak_of_the_marks_of_other_revisions(chatty: Server) -> None:
    text = "io.modelcontextprotocol/protocolVersion"
    assert in_session(chatty).result("Echo", text=text) == text
    assert Client(chatty, OLD).result("Echo", text=text) == text


# ---- questions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ["2025-06-18", OLD])
def test_a_question_is_answered_over_any_connection(chatty: Server, revision: str) -> None:
    client = in_session(chatty, revision)
    for name in ("Ada", "Grace", "Barbara", "Radia"):
        with client.begin("Ask", mark="m") as asking:
            question = asking.next_message()
            assert question["method"] == "elicitation/create"
            content = {"name": name}
            assert client.answer(question, action="accept", content=content).status == 202
            assert client.answer(question, action="accept", content=content).status == 400
            result = asking.messages()[-1]["result"]
            assert result["structuredContent"] == {"result": f"m: {name}"}


def test_nobody_elses_answer_is_taken(chatty: Server) -> None:
    client = in_session(chatty)
    with client.begin("Ask", mark="m") as asking:
        question = asking.next_message()
        assert in_session(chatty).answer(question, action="decline").status == 400
        assert client.answer(question, action="decline").status == 202
        assert asking.messages()[-1]["result"]["structuredContent"] == {"result": "m: decline"}


def test_a_client_that_can_not_answer_says_so(chatty: Server) -> None:
    client = in_session(chatty)
    with client.begin("Ask", mark="m") as asking:
        error = {"code": -1, "message": "nobody at home"}
        client.send({"jsonrpc": "2.0", "id": asking.next_message()["id"], "error": error})
        result = asking.messages()[-1]["result"]
    assert result["isError"]
    assert "nobody at home" in result["content"][0]["text"]


def test_a_question_that_can_not_be_written_ends_its_call() -> None:
    with serving_chatty() as server:
        for client in (in_session(server), Client(server)):
            with client.begin("Break") as asking:
                answer = asking.messages()[-1] if asking.is_stream else asking.reply().json
            assert "never" not in str(answer)
            assert answer["result"]["isError"]


# ---- what no request asked for -------------------------------------------------------------------


def test_a_client_hears_of_what_it_subscribed_to(chatty: Server) -> None:
    client, anybody = in_session(chatty), Client(chatty)
    with client.listening() as listening:
        client.request("resources/subscribe", uri="news://today")
        anybody.result("Report", uri="news://yesterday")
        anybody.result("Report", uri="news://today")
        assert listening.next_message() == {
            "jsonrpc": "2.0",
            "method": "notifications/resources/updated",
            "params": {"uri": "news://today"},
        }
        client.request("resources/unsubscribe", uri="news://today")
        anybody.result("Report", uri="news://today")
        anybody.result("Toggle")
        assert listening.next_message()["method"] == "notifications/tools/list_changed"


def test_who_listens_again_takes_the_place_of_who_listened_before(chatty: Server) -> None:
    client = in_session(chatty)
    with client.listening() as first, client.listening() as second:
        assert first.rest() == []
        Client(chatty).result("Toggle")
        assert second.next_message()["method"] == "notifications/tools/list_changed"


def test_who_went_away_and_listens_again_hears_what_is_new(chatty: Server) -> None:
    client = in_session(chatty)
    for _ in range(3):
        with client.listening() as listening:
            Client(chatty).result("Toggle")
            assert listening.next_message()["method"] == "notifications/tools/list_changed"


# ---- leaving, and coming back --------------------------------------------------------------------


@pytest.mark.parametrize("revision", WITH_HANDSHAKE)
def test_a_client_that_was_cut_off_gets_the_rest(chatty: Server, revision: str) -> None:
    client, mark = in_session(chatty, revision), new_mark()
    with client.begin("Talk", mark=mark, steps=20, pause=0.02) as before:
        seen = [event for event in (before.next() for _ in range(4)) if event]
    assert not any("result" in (event.message or {}) for event in seen)
    with client.listening(last=seen[-1].id) as after:
        seen += after.rest()
    steps = [event.message["params"]["progress"] for event in seen if _is_progress(event.message)]
    assert steps == list(range(1, 21))
    assert seen[-1].message["result"]["content"][0]["text"] == f'{{"result":"{mark}"}}'
    assert f"{mark} ended" in chatty.notes()
    assert (seen[0].message is None) == (revision == OLD), "only one revision knows of pauses"


def test_what_was_read_may_be_read_again(chatty: Server) -> None:
    client = in_session(chatty)
    with client.begin("Talk", mark="again", steps=5, pause=0) as events:
        told = events.rest()
    for _ in range(2):
        with client.listening(last=told[2].id) as events:
            assert events.rest() == told[3:]


def test_of_two_who_read_one_stream_only_the_later_gets_anything(chatty: Server) -> None:
    client, mark = in_session(chatty), new_mark()
    with client.begin("Talk", mark=mark, steps=30, pause=0.02) as first:
        seen = [first.next(), first.next()]
        assert seen[1]
        with client.listening(last=seen[1].id) as second:
            later = second.rest()
            missed = first.rest()
    assert later[-1].message["result"]["structuredContent"] == {"result": mark}
    assert not any(event.message and "result" in event.message for event in missed)


def test_a_function_lets_its_caller_hang_up(chatty: Server) -> None:
    client, mark = in_session(chatty), new_mark()
    with client.begin("Rest", mark=mark) as before:
        only, *more = before.rest()
    assert only.message is None
    assert more == []
    with client.listening(last=only.id) as after:
        assert [event.message["result"]["structuredContent"] for event in after.rest()] == [
            {"result": mark}
        ]


def test_nothing_is_kept_of_what_was_never_left(chatty: Server) -> None:
    client = in_session(chatty)
    with client.begin("Talk", mark="theirs", steps=2, pause=0) as events:
        told = events.rest()
    with in_session(chatty).listening(last=told[0].id) as elsewhere:
        assert elsewhere.reply().status == 400
    for last in ("nonsense", "nonsense-1", "-", f"x-{'9' * 4000}"):
        with client.listening(last=last) as events:
            refused = events.reply()
            assert refused.status == 400
            assert "Nothing is kept" in refused.json["error"]["message"]


def test_the_end_of_a_stream_is_kept_for_a_while() -> None:
    with serving_chatty(KEPT="0.3") as server:
        client = in_session(server)
        with client.begin("Talk", mark="m", steps=2, pause=0) as events:
            told = events.rest()
        eventually(lambda: _status_after(client, told[0].id) == 400, seconds=5)


def _status_after(client: Client, last: str) -> int:
    with client.listening(last=last) as events:
        return events.status


def test_a_long_story_is_told_to_its_end(chatty: Server) -> None:
    client = in_session(chatty)
    steps = 5000
    with client.begin("Talk", mark="long", steps=steps, pause=0) as events:
        told = events.messages()
    heard = [message["params"]["progress"] for message in told if _is_progress(message)]
    assert heard == sorted(set(heard))
    assert heard[-1] > steps * 0.9, "what is dropped, if it must be, is never all that comes later"
    assert told[-1]["result"]["structuredContent"] == {"result": "long"}


# ---- giving up -----------------------------------------------------------------------------------


def test_what_a_client_gives_up_ends_without_another_word(chatty: Server) -> None:
    client, mark = in_session(chatty), new_mark()
    message = client.call_message("Talk", {"mark": mark, "steps": 600, "pause": 0.1})
    with client.begin_with(message) as talking:
        talking.next()
        client.notify("notifications/cancelled", requestId=message["id"])
        assert not any("result" in message for message in talking.messages())
    eventually(lambda: f"{mark} was cancelled" in chatty.notes())


@pytest.mark.parametrize("name", ["Wait", "Muse"])
def test_what_said_nothing_yet_ends_with_an_empty_answer(chatty: Server, name: str) -> None:
    client, mark = in_session(chatty), new_mark()
    message = client.call_message(name, {"mark": mark, "seconds": 60})
    held = client.post_and_hold(message)
    eventually(lambda: f"{mark} began" in chatty.notes())
    client.notify("notifications/cancelled", requestId=message["id"])
    answer = held.getresponse()
    assert (answer.status, answer.read()) == (202, b"")
    held.close()
    eventually(lambda: f"{mark} was cancelled" in chatty.notes())


def test_nobody_gives_up_what_is_anothers(chatty: Server) -> None:
    client, mark = in_session(chatty), new_mark()
    message = client.call_message("Wait", {"mark": mark, "seconds": 0.3})
    held = client.post_and_hold(message)
    eventually(lambda: f"{mark} began" in chatty.notes())
    in_session(chatty).notify("notifications/cancelled", requestId=message["id"])
    assert held.getresponse().status == 200
    held.close()
    assert f"{mark} ended" in chatty.notes()


def test_in_a_session_a_call_goes_on_when_its_client_leaves(chatty: Server) -> None:
    for name in ("Wait", "Muse"):
        client, mark = in_session(chatty), new_mark()
        held = client.post_and_hold(client.call_message(name, {"mark": mark, "seconds": 0.3}))
        eventually(lambda mark=mark: f"{mark} began" in chatty.notes())  # type: ignore[misc]
        held.close()
        eventually(lambda mark=mark: f"{mark} ended" in chatty.notes())  # type: ignore[misc]


# ---- bounds --------------------------------------------------------------------------------------


def test_a_session_nobody_uses_is_closed() -> None:
    with serving_chatty(IDLE="0.4") as server:
        idle, listens, works, left = (in_session(server) for _ in range(4))
        with listens.listening():
            held = works.post_and_hold(works.call_message("Wait", {"mark": "w", "seconds": 1.5}))
            with left.begin("Ask", mark="left") as asking:
                asking.next()
            eventually(lambda: "left was cancelled" in server.notes(), seconds=5)
            for gone in (idle, left):
                assert gone.request("ping").status == 404
            assert held.getresponse().status == 200
            held.close()
            assert listens.request("ping").status == 200
        eventually(lambda: server.call("Tasks").json["result"] <= 3)
        time.sleep(0.9)  # both were in use, and are so no longer
        assert [client.request("ping").status for client in (listens, works)] == [404, 404]


def test_of_too_many_sessions_the_one_unused_longest_is_closed() -> None:
    with serving_chatty(MOST="3") as server:
        first, second, third = (in_session(server) for _ in range(3))
        with first.listening():
            third.request("ping")
            second.request("ping")
            in_session(server)
            assert [client.request("ping").status for client in (first, second, third)] == [
                200,
                200,
                404,
            ]


def test_sessions_in_use_make_no_room() -> None:
    with serving_chatty(MOST="2") as server:
        first, second = in_session(server), in_session(server)
        with first.listening(), second.listening():
            refused = Client(server, OLD).shake_hands()
            assert refused.status == 503
            assert refused.headers["retry-after"] == "1"
            assert Client(server).result("Echo", text="new") == "new"
        eventually(lambda: Client(server, OLD).shake_hands().status == 200)


def test_one_session_has_only_so_much_at_work() -> None:
    with serving_chatty(MOST_AT_WORK="2") as server:
        client = in_session(server)
        for mark in ("a", "b"):
            held = client.post_and_hold(client.call_message("Muse", {"mark": mark, "seconds": 0.5}))
            eventually(lambda mark=mark: f"{mark} began" in server.notes())  # type: ignore[misc]
            held.close()  # which ends nothing
        assert client.request("ping").status == 503
        assert in_session(server).request("ping").status == 200
        eventually(lambda: client.request("ping").status == 200)


def test_a_call_that_waits_for_its_client_leaves_room_for_the_answer() -> None:
    with serving_chatty("--limit-concurrency", "1") as server:
        client = in_session(server)
        with client.begin("Ask", mark="m") as asking:
            question = asking.next_message()
            for other in (client, Client(server), Client(server, OLD)):
                refused = other.call("Echo", text="x")
                assert refused.status == 503
                assert refused.headers["retry-after"] == "1"
            assert client.request("ping").json["result"] == {}
            assert client.answer(question, action="decline").status == 202
            assert asking.messages()[-1]["result"]["structuredContent"] == {"result": "m: decline"}
        assert client.result("Echo", text="x") == "x"


def test_a_place_comes_back_when_its_call_is_given_up() -> None:
    with serving_chatty("--limit-concurrency", "1") as server:
        client = in_session(server)
        for name in ("Wait", "Muse", "Look"):
            arguments = {"mark": name} if name == "Look" else {"mark": name, "seconds": 60}
            message = client.call_message(name, arguments)
            held = client.post_and_hold(message)
            eventually(lambda name=name: f"{name} began" in server.notes())  # type: ignore[misc]
            assert client.call("Echo", text="x").status == 503
            client.notify("notifications/cancelled", requestId=message["id"])
            eventually(lambda: client.call("Echo", text="x").status == 200)
            held.close()


def test_what_goes_on_without_its_client_keeps_its_place() -> None:
    with serving_chatty("--limit-concurrency", "1") as server:
        client = in_session(server)
        arguments = {"mark": "m", "seconds": 0.5}
        held = client.post_and_hold(client.call_message("Muse", arguments))
        eventually(lambda: "m began" in server.notes())
        held.close()
        assert client.call("Echo", text="x").status == 503
        assert "m ended" not in server.notes()
        eventually(lambda: client.call("Echo", text="x").status == 200)
        assert "m ended" in server.notes()


def test_who_listens_takes_nobodys_place() -> None:
    with serving_chatty("--limit-concurrency", "1", MOST_LISTENING="2") as server:
        client = in_session(server)
        with (
            Client(server).listen(toolsListChanged=True),
            Client(server).listen(toolsListChanged=True),
            client.listening(),
        ):
            assert client.result("Echo", text="x") == "x"
            with Client(server).listen(toolsListChanged=True) as refused:
                assert refused.reply().status == 503
        eventually(lambda: _listens(server))


def _listens(server: Server) -> bool:
    with Client(server).listen(toolsListChanged=True) as events:
        return events.status == 200


def test_a_silent_call_shows_signs_of_life() -> None:
    with serving_chatty(SILENCE="0.1") as server:
        for client in (in_session(server), Client(server)):
            with client.begin("Muse", mark="m", seconds=0.5) as events:
                assert events.is_stream
                assert events.messages()[-1]["result"]["structuredContent"] == {"result": "m"}
                assert events.signs_of_life >= 3


def test_workers_meet_wherever_temporary_files_are(tmp_path: Path) -> None:
    deep = tmp_path / ("deep" * 20)
    deep.mkdir()
    with serving_chatty("--workers", "2", TMPDIR=str(deep)) as server:
        for _ in range(4):
            client = in_session(server)
            assert len({client.result("Pid") for _ in range(6)}) == 1


# ---- workers that end ----------------------------------------------------------------------------


def test_a_session_whose_worker_died_is_over() -> None:
    with serving_chatty("--workers", "4") as server:
        clients = [in_session(server) for _ in range(8)]
        homes = [client.result("Pid") for client in clients]
        lost, pid = clients[0], homes[0]
        with lost.begin("Talk", mark="m", steps=600, pause=0.1) as talking:
            talking.next()
            held = [
                lost.post_and_hold(lost.call_message("Wait", {"mark": f"w{n}", "seconds": 60}))
                for n in range(6)
            ]
            eventually(lambda: all(f"w{n} began" in server.notes() for n in range(6)))
            os.kill(pid, signal.SIGKILL)
            _read_to_the_end(talking)
            assert {_status_or_cut(connection) for connection in held} <= {404, None}
        eventually(lambda: lost.request("ping").status == 404)
        for client, home in zip(clients, homes, strict=True):
            if home != pid:
                assert client.result("Pid") == home
        eventually(lambda: len(server.workers()) == 4)
        assert in_session(server).request("ping").status == 200


def _read_to_the_end(events: Events) -> None:
    with suppress(http.client.HTTPException, OSError):  # it may be this very worker's connection
        events.rest()


def _status_or_cut(connection: http.client.HTTPConnection) -> int | None:
    with closing(connection), suppress(http.client.HTTPException, OSError):
        return connection.getresponse().status
    return None


def _is_progress(message: Any) -> bool:
    return message is not None and message.get("method") == "notifications/progress"
