"""What a model is sent of an answer, on each of four wires."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kuniumi import agent
from tests.agent import cases
from tests.agent.cases import PDF, PNG, WAV, blocks, image, text
from tests.agent.conftest import Validate

SOUND = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}
REPORT = {
    "type": "resource",
    "resource": {"uri": "file:///r/report.pdf", "mimeType": "application/pdf", "blob": PDF},
}
PICTURE = "[image: image/png, 70 bytes]"


def everywhere(answer: agent.Answer, **how: Any) -> dict[str, list[dict[str, Any]]]:
    return {
        "openai": answer.for_openai("call_1", **how),
        "openai_chat": answer.for_openai_chat("call_1", **how),
        "anthropic": answer.for_anthropic("call_1", **how),
        "gemini": answer.for_gemini("call_1", "Add", **how),
    }


def test_every_case_is_valid_for_every_provider(wrong_with: Validate) -> None:
    answers = [agent.read(case["raw"]) for case in cases.load()]
    answers += [
        agent.read(blocks(image(), SOUND, REPORT, isError=failed)) for failed in (True, False)
    ]
    ways: list[dict[str, Any]] = [{}, {"max_chars": 10}, {"media": False}, {"neutralise": True}]
    sent = [
        (provider, messages)
        for answer in answers
        for how in ways
        for provider, messages in everywhere(answer, **how).items()
    ]
    assert wrong_with(sent) == []


def test_text() -> None:
    assert everywhere(agent.read(text("hi"))) == {
        "openai": [{"type": "function_call_output", "call_id": "call_1", "output": "hi"}],
        "openai_chat": [{"role": "tool", "tool_call_id": "call_1", "content": "hi"}],
        "anthropic": [
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "hi"}],
            }
        ],
        "gemini": [
            {
                "role": "user",
                "parts": [
                    {
                        "function_response": {
                            "name": "Add",
                            "id": "call_1",
                            "response": {"output": "hi"},
                        }
                    }
                ],
            }
        ],
    }


def test_a_picture_goes_where_each_wire_wants_it() -> None:
    sent = everywhere(agent.read(blocks({"type": "text", "text": "before"}, image())))
    url = f"data:image/png;base64,{PNG}"
    assert sent["openai"][0]["output"] == [
        {"type": "input_text", "text": "before"},
        {"type": "input_image", "image_url": url, "detail": "auto"},
    ]
    tool, shown = sent["openai_chat"]
    assert tool["content"] == f"before\n{PICTURE}"
    assert shown["role"] == "user"
    assert shown["content"][1] == {"type": "image_url", "image_url": {"url": url}}
    assert sent["anthropic"][0]["content"][0]["content"][1] == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
    }
    response = sent["gemini"][0]["parts"][0]["function_response"]
    assert response["response"] == {"output": f"before\n{PICTURE}"}
    assert response["parts"] == [{"inline_data": {"mime_type": "image/png", "data": PNG}}]


def test_a_sound_is_named_where_it_cannot_be_heard() -> None:
    sent = everywhere(agent.read(blocks(SOUND)))
    named = "[audio: audio/wav, 44 bytes]"
    assert sent["openai"][0]["output"] == named
    assert sent["openai_chat"][1]["content"][1] == {
        "type": "input_audio",
        "input_audio": {"data": WAV, "format": "wav"},
    }
    assert sent["anthropic"][0]["content"][0]["content"] == named
    assert sent["gemini"][0]["parts"][0]["function_response"]["response"] == {"output": named}


def test_a_document_goes_as_a_file() -> None:
    sent = everywhere(agent.read(blocks(REPORT)))
    url = f"data:application/pdf;base64,{PDF}"
    assert sent["openai"][0]["output"] == [
        {"type": "input_file", "filename": "report.pdf", "file_data": url}
    ]
    assert sent["openai_chat"][1]["content"][1] == {
        "type": "file",
        "file": {"filename": "report.pdf", "file_data": url},
    }
    assert sent["anthropic"][0]["content"][0]["content"][0]["type"] == "document"
    assert sent["gemini"][0]["parts"][0]["function_response"]["parts"]


def test_an_error_says_so_on_every_wire() -> None:
    sent = everywhere(agent.read(text("no such city", isError=True)))
    assert sent["openai"][0]["output"] == "Error: no such city"
    assert sent["openai_chat"][0]["content"] == "Error: no such city"
    result = sent["anthropic"][0]["content"][0]
    assert (result["content"], result["is_error"]) == ("no such city", True)
    response = sent["gemini"][0]["parts"][0]["function_response"]["response"]
    assert response == {"error": "no such city"}


@pytest.mark.parametrize(
    "said", ["Error: x", "MCP error -32602: x", '{"error":"x"}', "error executing it"]
)
def test_an_error_that_says_so_itself_is_not_told_twice(said: str) -> None:
    assert agent.read(text(said, isError=True)).for_openai("c")[0]["output"] == said


def test_a_suspected_error_is_the_model_s_to_judge() -> None:
    sent = everywhere(agent.read(text("Failed: x")))
    assert sent["openai"][0]["output"] == "Failed: x"
    assert "is_error" not in sent["anthropic"][0]["content"][0]


def test_an_error_with_a_picture_names_it_to_anthropic() -> None:
    answer = agent.read(blocks({"type": "text", "text": "no"}, image(), isError=True))
    result = answer.for_anthropic("c")[0]["content"][0]
    assert (result["is_error"], result["content"]) == (True, f"no\n{PICTURE}")


@pytest.mark.parametrize("raw", [None, text(""), blocks(), text("  \n ")])
def test_nothing_is_told_as_nothing(raw: Any) -> None:
    for messages in everywhere(agent.read(raw)).values():
        assert "[no content]" in json.dumps(messages)


def test_what_is_for_the_user_is_not_sent() -> None:
    secret = {"type": "text", "text": "secret", "annotations": {"audience": ["user"]}}
    picture = image(annotations={"audience": ["user"]})
    for messages in everywhere(agent.read(blocks(secret, picture))).values():
        sent = json.dumps(messages)
        assert "secret" not in sent
        assert PNG not in sent
        assert "shown to the user" in sent


def test_data_goes_to_gemini_as_data() -> None:
    def output(raw: Any, **how: Any) -> Any:
        sent = agent.read(raw).for_gemini(name="f", **how)
        return sent[0]["parts"][0]["function_response"]["response"]["output"]

    assert output({"a": [1, None, 2.5]}) == {"a": [1, None, 2.5]}
    assert output(text('{"a":1}')) == {"a": 1}
    assert output(text("words", structuredContent={"a": 1})) == 'words\n{"a":1}'
    assert output({"id": 12345678901234567890}) == '{"id":12345678901234567890}'
    assert output({"$ref": "#/a"}) == '{"$ref":"#/a"}'
    assert output([1]) == "[1]"
    assert output({"a": "x" * 100}, max_chars=80) != {"a": "x" * 100}


def test_a_long_answer_is_cut_in_the_middle() -> None:
    answer = agent.read(text("a" * 500 + "b" * 500))
    for messages in everywhere(answer, max_chars=200).values():
        sent = json.dumps(messages, ensure_ascii=False)
        assert "of 1,000 characters left out" in sent
        assert "aaaaaaaaaa" in sent
        assert "bbbbbbbbbb" in sent
    output = answer.for_openai("c", max_chars=200)[0]["output"]
    assert 195 <= len(output) <= 200
    left_out = int(output.partition("[… ")[2].partition(" of")[0])
    assert left_out == 1000 - output.partition("\n")[0].count("a") - output.rpartition("\n")[
        2
    ].count("b")
    assert len(answer.for_openai("c", max_chars=5)[0]["output"]) == 5
    assert answer.for_openai("c", max_chars=1000)[0]["output"] == answer.text


def test_a_budget_holds_for_errors() -> None:
    answer = agent.read(text("x" * 1000, isError=True))
    for provider in (answer.for_openai, answer.for_openai_chat):
        (message,) = provider("c", max_chars=100)
        said = message.get("output") or message["content"]
        assert said.startswith("Error: x")
        assert len(said) <= 100


def test_a_budget_cuts_words_not_pictures() -> None:
    answer = agent.read(blocks({"type": "text", "text": "x" * 1000}, image()))
    words, picture = answer.for_openai("c", max_chars=100)[0]["output"]
    assert 95 <= len(words["text"]) <= 100
    assert picture["type"] == "input_image"


def words_in(sent: Any) -> list[str]:
    """Give what a model reads of messages, and not what it is shown or hears."""
    if isinstance(sent, str):
        return [sent]
    if isinstance(sent, list):
        return [word for each in sent for word in words_in(each)]
    told = []
    for key, item in sent.items():
        if key in {"output", "error"} and isinstance(item, dict):  # data, as data
            told.append(json.dumps(item, ensure_ascii=False, separators=(",", ":")))
        elif key in _WORDS:
            told += words_in(item)
    return told


_WORDS = {"content", "output", "error", "text", "parts", "function_response", "response"}


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 40, 60, 100])
@pytest.mark.parametrize("failed", [True, False])
def test_a_budget_holds_on_every_wire_beside_pictures(limit: int, failed: bool) -> None:
    said = {"type": "text", "text": "x" * 1000}
    answer = agent.read(blocks(said, image(), SOUND, said, isError=failed))
    for provider, messages in everywhere(answer, max_chars=limit).items():
        told = words_in(messages[:1])
        assert 0 < sum(map(len, told)) <= max(limit, 1), provider
        assert any("…" in each for each in told), provider


def test_nothing_left_of_an_answer_is_not_called_nothing() -> None:
    for messages in everywhere(agent.read(text("hi")), max_chars=0).values():
        assert words_in(messages) == ["…"]


@pytest.mark.parametrize("piece", ["e\u0301", "👍🏽", "👩\u200d🚀", "क\u093f"])
def test_what_is_read_as_one_character_is_not_torn_apart(piece: str) -> None:
    answer = agent.read(text(piece * 400))
    for limit in range(60, 60 + 2 * len(piece)):
        head, _, tail = answer.for_openai("c", max_chars=limit)[0]["output"].partition("\n[… ")
        tail = tail.partition(" …]\n")[2]
        assert head == piece * (len(head) // len(piece))
        assert tail == piece * (len(tail) // len(piece))
        assert head
        assert tail


def test_the_end_of_a_line_is_not_torn_apart() -> None:
    answer = agent.read(text("." + "\r\n" * 400))
    for limit in range(60, 64):
        head, _, tail = answer.for_openai("c", max_chars=limit)[0]["output"].partition("\n[… ")
        assert not head.endswith("\r")
        assert tail.endswith("…]\n" + "\r\n" * (tail.count("\n") - 1))


def test_a_pile_of_accents_without_an_end_is_cut_all_the_same() -> None:
    output = agent.read(text("e" + "\u0301" * 9999)).for_openai("c", max_chars=100)[0]["output"]
    assert len(output) <= 100


def test_names_of_files_are_made_visible_too() -> None:
    report = {"uri": "file:///r/a\u202efdp.pdf", "mimeType": "application/pdf", "blob": PDF}
    answer = agent.read(blocks({"type": "resource", "resource": report}))
    for messages in everywhere(answer, neutralise=True).values():
        assert "\u202e" not in json.dumps(messages, ensure_ascii=False)


def test_invisible_characters_can_be_made_visible() -> None:
    answer = agent.read(text("a\u202eb\x1b[31m\u200b\U000e0041\tc\n"))
    for messages in everywhere(answer, neutralise=True).values():
        assert json.dumps(messages, ensure_ascii=True).count("\\\\u202eb\\\\u001b[31m") == 1
    assert answer.for_openai("c")[0]["output"] == answer.text


def test_a_picture_too_large_is_named() -> None:
    head = PNG[:64]
    answer = agent.read(blocks(image(head + "A" * 6_000_000)))
    assert answer.for_anthropic("c")[0]["content"][0]["content"].startswith("[image: image/png, 4,")
    assert answer.for_openai("c")[0]["output"][0]["type"] == "input_image"


def test_several_answers_make_one_turn() -> None:
    from kuniumi.agent.providers import anthropic, gemini, openai

    turns = [(f"call_{n}", "f", agent.read(blocks(image()))) for n in range(2)]
    how = openai.Rendering()
    assert [message["role"] for message in openai.respond_chat(turns, how)] == [
        "tool",
        "tool",
        "user",
    ]
    assert len(openai.respond(turns, how)) == 2
    assert len(anthropic.respond(turns, how)[0]["content"]) == 2
    assert len(gemini.respond(turns, how)[0]["parts"]) == 2
    assert anthropic.respond([], how) == gemini.respond([], how) == []
