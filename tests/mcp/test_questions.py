"""Questions to the caller: written once, asked in the way each revision has for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kuniumi.testing import connect
from tests.mcp.apps.questions import app as questions
from tests.mcp.official import REVISIONS, STATELESS
from tests.mcp.senders import piped, request
from tests.mcp.speaking import Client, FailedError, speaking

QUESTIONS = Path(__file__).parent / "apps" / "questions.py"
WITH_FORMS = [revision for revision in REVISIONS if revision >= "2025-06-18"]
WITH_VISITS = [revision for revision in REVISIONS if revision >= "2025-11-25"]


class Person:
    """Who answers: with what a test says next."""

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []

    def __call__(self, _method: str, _params: dict[str, Any]) -> dict[str, Any]:
        return self.answers.pop(0)

    def accepts(self, *contents: Any) -> None:
        self.answers = [{"action": "accept", "content": content} for content in contents]


PERSON = Person()


@pytest.fixture(scope="module", params=WITH_FORMS)
def client(request: pytest.FixtureRequest) -> Any:
    with speaking(QUESTIONS, revision=request.param, answer=PERSON) as client:
        yield client


@pytest.fixture(autouse=True)
def _nobody_asked(request: pytest.FixtureRequest) -> None:
    PERSON.answers = []
    if "client" in request.fixturenames:
        request.getfixturevalue("client").asked.clear()


def value(result: dict[str, Any]) -> Any:
    assert result["isError"] is False, result
    return result["structuredContent"]["result"]


def error(result: dict[str, Any]) -> str:
    assert result["isError"] is True, result
    return str(json.loads(result["content"][0]["text"])["error"])


# ---- forms -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "asked", "answer", "got"),
    [
        ("str", {"value": {"type": "string"}}, {"value": "yes"}, "'yes'"),
        ("int", {"value": {"type": "integer"}}, {"value": 7}, "7"),
        ("bool", {"value": {"type": "boolean"}}, {"value": False}, "False"),
        (
            "choice",
            {"value": {"type": "string", "enum": ["blue", "red"]}},
            {"value": "red"},
            "'red'",
        ),
        ("schema", {"n": {"type": "integer"}}, {"n": 5}, "{'n': 5}"),
    ],
)
def test_a_type_becomes_a_form_and_the_answer_a_value(
    client: Client, kind: str, asked: dict[str, Any], answer: dict[str, Any], got: str
) -> None:
    PERSON.accepts(answer)
    assert value(client.call("functions.Ask", kind=kind)) == got
    (question,) = client.asked
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "Please?"
    assert question["params"]["requestedSchema"]["properties"] == asked
    assert question["params"].get("mode") == ("form" if client.revision >= "2025-11-25" else None)


def test_a_class_becomes_a_form_of_its_fields(client: Client) -> None:
    PERSON.accepts({"street": "Main", "number": 5, "tags": ["b"]})
    got = value(client.call("functions.Ask", kind="address"))
    assert got.startswith("Address(street='Main', number=5, kind='home', stars=None, mail=True, ")
    schema = client.asked[0]["params"]["requestedSchema"]
    assert schema["required"] == ["street", "number"]
    assert schema["properties"]["number"] == {"type": "integer", "minimum": 1}
    fields = schema["properties"]
    assert fields["stars"] == {"type": "number"}
    assert fields["mail"] == {"type": "boolean", "default": True}
    kind = {"type": "string", "enum": ["home", "work"]}
    if client.revision == "2025-06-18":  # its forms know neither lists nor what is filled in
        assert fields["kind"] == kind
        assert "tags" not in fields
    else:
        assert fields["kind"] == {**kind, "default": "home"}
        assert fields["tags"]["items"] == {"type": "string", "enum": ["a", "b"]}


def test_what_forms_have_no_words_for_is_left_to_the_check_of_the_answer(client: Client) -> None:
    PERSON.accepts({"code": "AB", "share": 0.5, "count": 1})
    assert value(client.call("functions.Ask", kind="exact"))
    fields = client.asked[0]["params"]["requestedSchema"]["properties"]
    assert fields["code"] == {"type": "string", "maxLength": 5}
    assert fields["share"] == {"type": "number", "maximum": 1}
    assert fields["count"] == {"type": "integer", "minimum": 1}
    PERSON.accepts({"code": "12", "share": 0.5, "count": 1})
    assert "of no use" in error(client.call("functions.Ask", kind="exact"))


def test_a_list_of_choices_that_a_client_cannot_show_is_not_asked_for() -> None:
    with speaking(QUESTIONS, revision="2025-06-18", answer=PERSON) as client:
        said = error(client.call("functions.Ask", kind="choices"))
        assert "that needs a client that knows lists of choices" in said


@pytest.mark.parametrize("kind", ["deep", "list"])
def test_what_no_form_can_ask_for_is_told(client: Client, kind: str) -> None:
    said = error(client.call("functions.Ask", kind=kind))
    assert "ctx.ask('Please?', …)" in said
    assert "is nothing that a form can ask for: take text, a number" in said
    assert client.asked == []


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("int", {"value": "many"}),
        ("int", {"value": None}),
        ("int", {}),
        ("choice", {"value": "green"}),
        ("address", {"street": "Main", "number": 0}),
        ("address", {"street": "Main"}),
    ],
)
def test_an_answer_of_no_use_is_told(client: Client, kind: str, answer: dict[str, Any]) -> None:
    PERSON.accepts(answer)
    said = error(client.call("functions.Ask", kind=kind))
    assert said.startswith("the answer to 'Please?' is of no use: ")


def test_an_answer_that_is_no_object_is_told(client: Client) -> None:
    PERSON.accepts([1])
    assert "its content is no object" in error(client.call("functions.Ask", kind="int"))


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_need_not_answer(client: Client, action: str) -> None:
    PERSON.answers = [{"action": action}, {"action": action}]
    said = value(client.call("functions.Declined"))
    assert said.startswith(f"{action}: The question was {action}")
    assert "The question was" in error(client.call("functions.Ask", kind="str"))


def test_one_question_may_follow_from_another(client: Client) -> None:
    PERSON.accepts({"value": "Ann"}, {"value": 33})
    assert value(client.call("functions.Twice")) == {"name": "Ann", "age": 33}
    assert [asked["params"]["message"] for asked in client.asked] == ["Name?", "Age of Ann?"]


def test_questions_side_by_side_are_all_asked(client: Client) -> None:
    PERSON.accepts({"value": "1"}, {"value": "2"})
    assert value(client.call("functions.Both")) == ["1", "2"]
    assert [asked["params"]["message"] for asked in client.asked] == ["One?", "Two?"]


# ---- other questions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", WITH_VISITS)
def test_a_person_is_asked_to_open_a_page(revision: str) -> None:
    with speaking(QUESTIONS, revision=revision, answer=PERSON) as client:
        PERSON.answers = [{"action": "accept"}, {"action": "accept"}]
        for _ in range(2):
            assert value(client.call("functions.Visit")) == "signed in"
        asked = [question["params"] for question in client.asked]
        for params in asked:
            assert (params["mode"], params["url"]) == ("url", "https://example.com/in")
        if revision != STATELESS:
            assert asked[0]["elicitationId"] != asked[1]["elicitationId"]


@pytest.mark.parametrize("revision", [each for each in WITH_FORMS if each != STATELESS])
def test_a_question_is_taken_back_when_nobody_waits_for_the_answer(revision: str) -> None:
    with piped(QUESTIONS, revision=revision) as pipe:
        pipe.shake_hands(elicitation={})
        pipe.send(pipe.call_of("Impatient", 5))
        asked, taken_back, answer = pipe.hear(), pipe.hear(), pipe.hear()
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == asked["id"]
        assert answer["result"]["structuredContent"] == {"result": "too late"}


def test_no_question_is_taken_back_from_a_client_that_has_given_up_the_call() -> None:
    with piped(QUESTIONS, revision=WITH_FORMS[0]) as pipe:
        pipe.shake_hands(elicitation={})
        pipe.send(pipe.call_of("Twice", 5))
        assert pipe.hear()["method"] == "elicitation/create"
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        pipe.send({**cancelled, "params": {"requestId": 5}})
        assert pipe.ask(request("ping", 6, revision=pipe.revision))["result"] == {}
        assert pipe.end() == []
        assert pipe.told == []


def test_what_is_no_address_of_a_page_is_opened_by_nobody(client: Client) -> None:
    said = error(client.call("functions.Lost"))
    assert "ctx.visit(…, 'javascript:alert(1)'): a page has an address like https://" in said
    assert client.asked == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_callers_model_goes_on(revision: str) -> None:
    with speaking(QUESTIONS, revision=revision, answer=PERSON) as client:
        text = {"type": "text", "text": "Fine."}
        said = {"role": "assistant", "content": text, "model": "m", "stopReason": "endTurn"}
        PERSON.answers = [said]
        result = client.call("functions.Sample")
        assert result["content"][0]["text"] == '{"result":"Fine. (m, endTurn)"}'
        assert client.asked[0]["method"] == "sampling/createMessage"
        assert client.asked[0]["params"] == {
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "Hello"}},
                {"role": "assistant", "content": {"type": "text", "text": "Hello!"}},
                {"role": "user", "content": {"type": "text", "text": "How are you?"}},
            ],
            "maxTokens": 50,
            "systemPrompt": "Be brief",
            "temperature": 0,
            "stopSequences": ["\n"],
            "modelPreferences": {"hints": [{"name": "small"}]},
        }
        PERSON.answers = [{"role": "assistant", "content": 5, "model": "m"}]
        assert "the caller's model gave an answer of no use" in error(
            client.call("functions.Sample")
        )


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_callers_folders_are_told(revision: str) -> None:
    with speaking(QUESTIONS, revision=revision, answer=PERSON) as client:
        PERSON.answers = [{"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}]
        result = client.call("functions.Roots")
        assert result["content"][0]["text"] == '{"result":["A=file:///a","=file:///b"]}'
        PERSON.answers = [{"roots": 5}]
        assert "in no way that can be read" in error(client.call("functions.Roots"))


# ---- nobody to ask -----------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_client_that_cannot_be_asked_is_not_asked(revision: str) -> None:
    with speaking(QUESTIONS, revision=revision, capabilities={}) as client:
        result = client.call("functions.Optional")
        assert result["content"][0]["text"] == '{"result":"nobody"}'
        for name, needs in (
            ("Ask", {"elicitation": {}}),
            ("Sample", {"sampling": {}}),
            ("Roots", {"roots": {}}),
            ("Visit", {"elicitation": {"url": {}}}),
        ):
            arguments = {"kind": "str"} if name == "Ask" else {}
            if revision == STATELESS:
                with pytest.raises(FailedError) as failed:
                    client.call(f"functions.{name}", **arguments)
                assert failed.value.code == -32021
                assert failed.value.data == {"requiredCapabilities": needs}
            else:
                said = error(client.call(f"functions.{name}", **arguments))
                assert "nobody can be asked here: that needs" in said


@pytest.mark.parametrize("surface", ["in-process", "http", "cgi", "shell"])
def test_other_surfaces_have_nobody_to_ask(surface: str) -> None:
    with connect(questions, surface) as door:
        reply = door.call("Ask", kind="str")
        assert reply.failed
        assert reply.envelope["error"].startswith("this function asks its caller: Please?")
        assert door.call("Optional").envelope == {"result": "nobody"}


# ---- what is remembered between the rounds -------------------------------------------------------------


def _round(client: Client, **more: Any) -> dict[str, Any]:
    """Make one round of a call that asks, without answering by itself."""
    params = {"name": "functions.Twice", "arguments": {}, "_meta": client._stated(), **more}
    client._id += 1
    message = {"jsonrpc": "2.0", "id": client._id, "method": "tools/call", "params": params}
    client.send(json.dumps(message).encode())
    return client.hear()


def test_every_round_brings_the_answers_so_far() -> None:
    with speaking(QUESTIONS) as client:
        first = _round(client)["result"]
        assert first["resultType"] == "input_required"
        (key,) = first["inputRequests"]
        answer = {key: {"action": "accept", "content": {"value": "Ann"}}}
        second = _round(client, inputResponses=answer, requestState=first["requestState"])["result"]
        (key2,) = second["inputRequests"]
        assert key2 != key
        answer = {key2: {"action": "accept", "content": {"value": 33}}}
        last = _round(client, inputResponses=answer, requestState=second["requestState"])["result"]
        assert last["structuredContent"] == {"result": {"name": "Ann", "age": 33}}


@pytest.mark.parametrize("change", ["flip", "cut", "empty", "garbage", "other arguments"])
def test_what_is_remembered_cannot_be_changed(change: str) -> None:
    with speaking(QUESTIONS) as client:
        first = _round(client)["result"]
        (key,) = first["inputRequests"]
        state = first["requestState"]
        middle = len(state) // 2
        flipped = "A" if state[middle] != "A" else "B"
        changed = {
            "flip": state[:middle] + flipped + state[middle + 1 :],
            "cut": state[:-4],
            "empty": "",
            "garbage": "no state at all!",
            "other arguments": state,
        }[change]
        more: dict[str, Any] = {"requestState": changed}
        if change == "other arguments":
            more["arguments"] = {"x": 1}
        more["inputResponses"] = {key: {"action": "accept", "content": {"value": "Ann"}}}
        found = _round(client, **more)["error"]
        assert found["code"] == -32602
        assert "requestState was changed, is too old, or is another request's" in found["message"]
