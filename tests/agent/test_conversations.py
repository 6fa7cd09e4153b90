"""Conversations with tools through the providers' own packages, as they are: at once and in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from tests.agent.conftest import ConverseThere, Validate
from tests.agent.services import Service, serving, standin

PROVIDERS = ["openai", "openai-chat", "anthropic", "gemini"]
SYNC = [False, True]
BY_HAND = ["stream", "iterator", "helper", "helper, read", "helper, drained"]
FAULTS = ["break", "end", "error", "garbage", "stall", "flood"]

Held = dict[tuple[Any, ...], dict[str, Any]]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def held(converse_there: ConverseThere, service: Service) -> Held:
    """Hold every conversation that goes well: with each package, each client, each way to read."""
    ways = list(product(PROVIDERS, SYNC, ["at once", "streaming", *BY_HAND]))
    # google-genai has no helper for streams.
    ways = [way for way in ways if way[0] != "gemini" or not way[2].startswith("helper")]
    asked = [
        {"provider": way[0], "sync": way[1], "how": way[2], "url": service.url} for way in ways
    ]
    return dict(zip(ways, converse_there(asked), strict=True))


@pytest.fixture(scope="module")
def failed(converse_there: ConverseThere, service: Service) -> Held:
    """Hold every conversation whose second answer breaks off after a few pieces."""
    limits = {"flood": {"max_size": 20_000}, "stall": {"timeout": 1.5}}
    ways = list(product(PROVIDERS, SYNC, FAULTS))
    asked: list[dict[str, Any]] = [
        {
            "provider": provider,
            "sync": sync,
            "how": "streaming",
            "url": f"{service.url}/{name(provider, sync=sync, fault=fault)}",
            "question": "How is the weather in Oslo and Atlantis?",
            "options": limits.get(fault, {}),
        }
        for provider, sync, fault in ways
    ]
    for each, (provider, sync, fault) in zip(asked, ways, strict=True):
        # The stream of google-genai's plain client is in nobody's reach: it ends with its patience.
        if fault == "stall" and (provider, sync) != ("gemini", True):
            each["left"] = each["url"]
    return dict(zip(ways, converse_there(asked), strict=True))


def name(provider: str, *, sync: bool, fault: str) -> str:
    """Name a fault, after as many pieces as it takes until words have come."""
    pieces = {"openai": 16, "openai-chat": 4, "anthropic": 14, "gemini": 8}
    return f"{fault}-{pieces[provider]}-{provider.replace('-', '')}{sync:d}"


def well(*hows: str) -> pytest.MarkDecorator:
    ways = [
        way
        for way in product(PROVIDERS, SYNC, hows)
        if way[0] != "gemini" or way[2] in {"at once", "streaming", *BY_HAND[:2]}
    ]
    return pytest.mark.parametrize(("provider", "sync", "how"), ways)


@well("at once", "streaming")
def test_a_conversation_comes_to_its_end(provider: str, sync: bool, how: str, held: Held) -> None:
    went = held[provider, sync, how]
    assert (went["stopped"], went["rounds"], went["error"]) == ("done", 4, None)
    oslo, atlantis, nairobi, kyoto = went["text"].split(" | ")
    assert (oslo, kyoto) == ("5 degrees in Oslo", "5 degrees in Kyoto")
    assert "Location not found: Atlantis" in atlantis
    shown = {"openai": "[input_image]", "anthropic": "[image]"}
    assert nairobi == shown.get(provider, "[image: image/png, 69 bytes]")


@well("streaming", *BY_HAND)
def test_however_it_is_read_the_same_is_sent_back(
    provider: str, sync: bool, how: str, held: Held
) -> None:
    at_once = held[provider, sync, "at once"]["messages"]
    read = held[provider, sync, how]["messages"]
    # The last turn calls no tool: who goes on by hand has nothing to append then.
    last = {"openai": 2}.get(provider, 1)
    assert len(read) >= len(at_once) - last
    assert read[: len(at_once) - last] == at_once[:-last]
    if how in {"stream", "helper, read"}:
        assert held[provider, sync, how]["text"] == held[provider, sync, "at once"]["text"]


@pytest.mark.parametrize("sync", SYNC)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_pieces_are_told_as_they_come(provider: str, sync: bool, held: Held) -> None:
    went = held[provider, sync, "streaming"]
    words = [text for kind, text, *_ in went["pieces"] if kind == "content" and text]
    assert "".join(words) == went["text"]
    assert len(words) > 5
    begun = [(name, index) for kind, _, name, index in went["pieces"] if name]
    assert (
        begun
        == [("functions_Weather", 0), ("functions_Weather", 1)] + [("functions_Weather", 0)] * 2
    )
    thoughts = "".join(text for kind, text, *_ in went["pieces"] if kind == "thinking")
    wanted = [standin.reason(["x"] * told) for told in (0, 2, 3, 4)]
    assert thoughts == ("" if provider == "openai-chat" else "".join(wanted))


def test_what_is_sent_back_is_valid_by_the_packages_types(held: Held, wrong_with: Validate) -> None:
    sent = [(f"{way[0]}_conversation", went["messages"]) for way, went in held.items()]
    assert wrong_with(sent) == []


def test_what_the_stand_in_sends_is_valid_by_the_packages_types(wrong_with: Validate) -> None:
    told = []
    for provider, asked in QUESTIONS.items():
        api = standin.APIS[APIS[provider]]
        for each in (asked, {**asked, "tools": []}):
            whole = api.answer(each)
            told.append((f"{provider}_told", [whole, *api.stream(whole, each)]))
    assert wrong_with(told) == []


def test_words_that_are_no_message_are_found_wrong(wrong_with: Validate) -> None:
    """What holds messages against types looks into every block."""
    bad: dict[str, Any] = {
        "openai": {"role": "assistant", "type": "message", "content": [{"type": "bogus"}]},
        "openai-chat": {"role": "assistant", "tool_calls": [{"id": "a", "type": "bogus"}]},
        "anthropic": {"role": "user", "content": [{"type": "bogus"}]},
        "gemini": {"role": "user", "parts": [{"bogus": 1}]},
    }
    found = wrong_with((f"{provider}_conversation", [each]) for provider, each in bad.items())
    assert len(found) == len(bad)


# ---- what the stand-in minds -----------------------------------------------------------------------

APIS = {
    "openai": "responses",
    "openai-chat": "completions",
    "anthropic": "messages",
    "gemini": "generateContent",
}
TOOL = {"name": "Weather"}
ASKED = {"role": "user", "content": "Oslo and Kyoto?"}
QUESTIONS: dict[str, dict[str, Any]] = {
    "openai": {
        "model": "m",
        "input": [ASKED],
        "tools": [TOOL],
        "include": ["reasoning.encrypted_content"],
    },
    "openai-chat": {
        "model": "m",
        "messages": [ASKED],
        "tools": [{"function": TOOL}],
        "stream_options": {"include_usage": True},
    },
    "anthropic": {
        "model": "m",
        "messages": [ASKED],
        "tools": [TOOL],
        "thinking": {"type": "enabled"},
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "Oslo and Kyoto?"}]}],
        "tools": [{"functionDeclarations": [TOOL]}],
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
    },
}
MESSAGES = {"openai": "input", "gemini": "contents"}


@pytest.mark.parametrize(
    ("lost", "provider", "said"),
    [
        ("encrypted_content", "openai", "could not be verified"),
        ("signature", "anthropic", "Invalid `signature`"),
        ("thoughtSignature", "gemini", "missing a thought_signature"),
    ],
)
def test_the_stand_in_minds_that_thoughts_come_back(lost: str, provider: str, said: str) -> None:
    sent = answered(provider)
    text = json.dumps(sent)
    standin.APIS[APIS[provider]].answer(json.loads(text))
    changed = json.loads(
        text, object_hook=lambda item: {**item, lost: ""} if lost in item else item
    )
    with pytest.raises(standin.Refused, match=said):
        standin.APIS[APIS[provider]].answer(changed)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_stand_in_minds_that_every_call_has_its_answer(provider: str) -> None:
    sent = answered(provider)
    standin.APIS[APIS[provider]].answer(sent)
    sent[MESSAGES.get(provider, "messages")].pop()
    with pytest.raises(standin.Refused):
        standin.APIS[APIS[provider]].answer(sent)


def answered(provider: str) -> dict[str, Any]:
    """Give a second request: the stand-in's first answer, and answers to its calls."""
    from kuniumi import agent
    from kuniumi.agent.providers.rendering import Rendering
    from kuniumi.agent.turns import read_turn, respond

    asked: dict[str, Any] = json.loads(json.dumps(QUESTIONS[provider]))
    turn = read_turn(standin.APIS[APIS[provider]].answer(asked))
    answers = [(call.id or None, call.name, agent.read("fine")) for call in turn.calls]
    new = [*turn.messages, *respond(turn, answers, Rendering())]
    wired = json.loads(json.dumps(new).replace("function_response", "functionResponse"))
    asked[MESSAGES.get(provider, "messages")] += wired
    return asked


# ---- streams that break off ------------------------------------------------------------------------


def faults(*which: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("provider", "sync", "fault"), list(product(PROVIDERS, SYNC, which))
    )


@faults("break", "end", "error", "garbage")
def test_a_stream_that_breaks_off_ends_the_conversation(
    provider: str, sync: bool, fault: str, failed: Held
) -> None:
    went = failed[provider, sync, fault]
    assert (went["stopped"], went["rounds"]) == ("broken", 2)
    assert went["text"].startswith("5 degre")  # what had come
    assert "Atlantis" not in went["text"]
    wanted = {"end": "StreamError: the stream ended", "error": "too many people ask"}
    assert wanted.get(fault, "") in went["error"]
    assert_whole_turns_only(went["messages"])


@faults("stall")
def test_a_stream_that_says_no_more_ends_with_the_time(
    provider: str, sync: bool, fault: str, failed: Held
) -> None:
    went = failed[provider, sync, fault]
    assert (went["stopped"], went["rounds"], went["error"]) == ("timeout", 1, None)
    assert went["text"].startswith("5 degre")  # what had come
    assert "Atlantis" not in went["text"]
    assert went["seconds"] < 20
    assert_whole_turns_only(went["messages"])
    assert went.get("left", True)


@faults("flood")
def test_a_stream_that_never_ends_meets_the_limit_of_size(
    provider: str, sync: bool, fault: str, failed: Held
) -> None:
    went = failed[provider, sync, fault]
    assert (went["stopped"], went["rounds"], went["error"]) == ("size", 2, None)
    assert 19_000 < len(went["text"]) < 21_000
    assert_whole_turns_only(went["messages"])


def assert_whole_turns_only(messages: list[Any]) -> None:
    """The question, the calls of the first turn, and their answers: what another run can go on with."""
    text = json.dumps(messages)
    assert text.count("Location not found: Atlantis") == 1
    assert text.count('"model"') + text.count('"assistant"') <= 1
    assert messages[-1].get("role") != "assistant"


def test_who_answers_by_hand_is_told_that_a_stream_broke_off(
    converse_there: ConverseThere, service: Service
) -> None:
    ways = [
        (*way, how)
        for way in product(PROVIDERS, SYNC, ["break", "end"])
        for how in ("iterator", "helper", "stream")
        if (how != "helper" or way[0] != "gemini") and (how, way[2]) != ("stream", "break")
    ]
    asked = [
        {
            "provider": provider,
            "sync": sync,
            "how": how,
            "url": f"{service.url}/{name(provider, sync=sync, fault=fault)}{how}",
        }
        for provider, sync, fault, how in ways
    ]
    told = [went.get("raised") for went in converse_there(asked)]
    assert dict(zip(ways, told, strict=True)) == dict.fromkeys(ways, "StreamError")


@pytest.mark.parametrize("how", ["at once", "streaming"])
def test_what_a_package_raises_before_anything_came_is_raised(
    how: str, converse_there: ConverseThere
) -> None:
    nowhere = "http://127.0.0.1:9"
    asked = [
        {"provider": provider, "sync": sync, "how": how, "url": nowhere}
        for provider, sync in product(PROVIDERS, SYNC)
    ]
    raised = [went.get("raised") for went in converse_there(asked)]
    assert raised == ["APIConnectionError"] * 6 + ["ConnectError"] * 2
