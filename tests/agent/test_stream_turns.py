"""A stream's turn, answered: what has to be sent back is all there, and half a turn is no turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuniumi import App, Text, agent
from kuniumi.agent import Piece, Stream, StreamError, Toolbox
from kuniumi.agent.turns import read_turn
from tests.agent.services import standin
from tests.agent.test_conversations import APIS, PROVIDERS, QUESTIONS

app = App(name="Weather", version="1.0.0")
calls: list[str] = []


@app.function
async def Weather(location: str = "nowhere") -> Text:
    """Tells the weather."""
    calls.append(location)
    return Text(f"fine in {location}")


def reply(response: Any) -> list[dict[str, Any]]:
    calls.clear()

    async def main() -> list[dict[str, Any]]:
        async with Toolbox(app) as tools:
            return await tools.reply(response() if callable(response) else response)

    return asyncio.run(main())


def streamed(*events: Any) -> Stream:
    stream = Stream()
    list(stream.read(events))
    return stream


def told(provider: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Give a response that thinks and makes two calls, and the events of its stream."""
    api, asked = standin.APIS[APIS[provider]], json.loads(json.dumps(QUESTIONS[provider]))
    renamed = json.loads(json.dumps(asked).replace('"Weather"', '"functions_Weather"'))
    whole = api.answer(renamed)
    return whole, list(api.stream(whole, renamed))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_stream_comes_to_the_response_that_was_not_streamed(provider: str) -> None:
    whole, events = told(provider)
    stream = streamed(*events)
    assert stream.is_done
    assert read_turn(stream.response) == read_turn(whole)
    assert stream.response is not None
    for key in ("usage", "usageMetadata", "model", "id"):
        assert stream.response.get(key) == whole.get(key)
    assert [call.parsed() for call in stream.tool_calls] == [
        {"location": "Oslo"},
        {"location": "Kyoto"},
    ]


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_however_small_the_pieces(
    provider: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = standin.pieces
    monkeypatch.setattr(standin, "pieces", lambda text: pieces(text, size))
    whole, events = told(provider)
    assert read_turn(streamed(*events).response) == read_turn(whole)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_streams_calls_are_run_and_answered(provider: str) -> None:
    whole, events = told(provider)
    assert reply(streamed(*events)) == reply(whole)
    assert sorted(calls) == ["Kyoto", "Oslo"]


async def later(events: list[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event


def at_once(events: list[Any]) -> Iterator[Any]:
    yield from events


@pytest.mark.parametrize("how", [at_once, later])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_who_only_wants_the_calls_answered_gives_the_events_themselves(
    provider: str, how: Callable[[list[Any]], Any]
) -> None:
    whole, events = told(provider)
    assert reply(lambda: how(events)) == reply(whole)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_half_a_turn_is_no_turn(provider: str) -> None:
    _, events = told(provider)
    # Anthropic says why it stopped, then that it did: either will do. A chat says last what it cost.
    # Gemini's calls come whole, and may be run without a word that they were the last.
    last = len(events) - {"openai": 1}.get(provider, 2)
    for end in range(len(events)):
        stream = streamed(*events[:end])
        assert stream.is_done is (end > last), end
        if not stream.is_done:
            assert stream.response is None
            with pytest.raises(StreamError, match="ended before the model was done"):
                reply(stream)
            assert calls == []


@pytest.mark.parametrize(
    ("event", "provider"),
    [
        ({"type": "error", "code": "busy", "message": "too many", "param": None}, "openai"),
        (
            {
                "type": "response.failed",
                "response": {"error": {"code": "x", "message": "too many"}},
            },
            "openai",
        ),
        ({"error": {"message": "too many", "code": 503}}, "openai-chat"),
        (
            {
                "error": {"message": "too many"},
                "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}],
            },
            "openai-chat",
        ),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "too many"}},
            "anthropic",
        ),
        ({"error": {"message": "too many", "code": 503, "status": "UNAVAILABLE"}}, "gemini"),
    ],
)
def test_what_the_service_says_went_wrong_is_told(event: dict[str, Any], provider: str) -> None:
    _, events = told(provider)
    stream = streamed(*events[:5], event)
    assert (stream.trouble, stream.is_done) == ("too many", False)
    assert "too many" not in stream.content
    with pytest.raises(StreamError, match=r"^too many$"):
        reply(stream)


def test_a_message_that_stops_without_a_reason_is_done() -> None:
    _, events = told("anthropic")
    stream = streamed(*(event for event in events if event["type"] != "message_delta"))
    assert (stream.is_done, stream.finish_reason) == (True, "")


def test_words_of_gemini_that_end_without_a_reason_are_not_done() -> None:
    stream = streamed(parts({"text": "Let me"}))
    assert not stream.is_done
    made = {"functionCall": {"name": "functions_Weather", "args": {}}}
    stream.feed(parts(made))
    assert stream.is_done


def test_events_that_came_up_later_are_no_words() -> None:
    _, events = told("anthropic")
    stream = streamed(*events[:3], {"type": "keepalive", "at": 3}, *events[3:])
    assert stream.content == ""
    assert stream.is_done


# ---- what has to come back as it was ---------------------------------------------------------------


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    place = {"index": index}
    return [
        {"type": "content_block_start", **place, "content_block": start},
        *({"type": "content_block_delta", **place, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", **place},
    ]


def json_delta(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


def end_of(stop_reason: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {}}


def test_every_kind_of_block_of_anthropics_comes_back() -> None:
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]}
    cited = {"type": "char_location", "cited_text": "c"}
    events = [
        *block(0, {"type": "redacted_thinking", "data": "xyz"}),
        *block(
            1,
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            json_delta('{"query": "no'),
            json_delta('rway"}'),
        ),
        *block(2, found),
        *block(
            3,
            {"type": "text", "text": "", "citations": None},
            {"type": "text_delta", "text": "It "},
            {"type": "citations_delta", "citation": cited},
            {"type": "text_delta", "text": "rains."},
        ),
        end_of("end_turn"),
    ]
    turn = read_turn(streamed(*events).response)
    (message,) = turn.messages
    assert message["content"] == [
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "norway"}},
        found,
        {"type": "text", "text": "It rains.", "citations": [cited]},
    ]
    assert (turn.calls, turn.text) == ([], "It rains.")


def test_blocks_that_grow_in_turns_stay_apart() -> None:
    one, two = (
        block(
            index,
            {"type": "tool_use", "id": f"t{index}", "name": "functions_Weather", "input": {}},
            json_delta('{"location": '),
            json_delta(f'"{city}"}}'),
        )
        for index, city in enumerate(["Oslo", "Kyoto"])
    )
    mixed = [each for pair in zip(one, two, strict=True) for each in pair]
    said, answered = reply(streamed(*mixed, end_of("tool_use")))
    assert [each["input"] for each in said["content"]] == [
        {"location": "Oslo"},
        {"location": "Kyoto"},
    ]
    assert [each["content"] for each in answered["content"]] == ["fine in Oslo", "fine in Kyoto"]


@pytest.mark.parametrize("sent", [[], ['{"loc']])
def test_a_call_that_was_cut_off_is_not_made(sent: list[str]) -> None:
    used = {"type": "tool_use", "id": "t", "name": "functions_Weather", "input": {}}
    events = [*block(0, used, *map(json_delta, sent)), end_of("max_tokens")]
    said, answered = reply(streamed(*events))
    assert said["content"] == [used]
    assert "no JSON object" in answered["content"][0]["content"]
    assert calls == []


def item(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": fields}


MADE = {"type": "function_call", "id": "f", "call_id": "c", "name": "functions_Weather"}


def test_items_that_the_last_event_leaves_out_come_back() -> None:
    thought = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "xyz"}
    events = [
        item(1, "done", **MADE, arguments='{"location":"Oslo"}'),
        item(0, "done", **thought, status=None),
        {"type": "response.completed", "response": {"id": "x", "output": []}},
    ]
    first, second, answer = reply(streamed(*events))
    assert first == thought
    assert second == {**MADE, "arguments": '{"location":"Oslo"}'}
    assert answer["output"] == "fine in Oslo"


def test_an_item_that_was_never_said_to_be_done_has_what_came_of_it() -> None:
    growing = {"type": "response.function_call_arguments.delta", "item_id": "f", "output_index": 0}
    events = [
        item(0, "added", **MADE, arguments=""),
        {**growing, "delta": '{"location"'},
        {**growing, "delta": ':"Oslo"}'},
        {"type": "response.completed", "response": {}},
    ]
    said, answer = reply(streamed(*events))
    assert said["arguments"] == '{"location":"Oslo"}'
    assert answer["output"] == "fine in Oslo"


def test_an_item_that_is_not_complete_is_not_run() -> None:
    events = [
        item(0, "done", **MADE, arguments="", status="incomplete"),
        {"type": "response.incomplete", "response": {"status": "incomplete"}},
    ]
    _, answer = reply(streamed(*events))
    assert "no JSON object" in answer["output"]
    assert calls == []


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_what_those_who_imitate_chats_want_back_comes_back() -> None:
    signed = {"google": {"thought_signature": "sig"}}
    start = {"name": "functions_Weather", "arguments": ""}
    events = [
        chunk(role="assistant", content="", reasoning_content="Let me "),
        chunk(reasoning_content="see", reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "Let "}]),
        chunk(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "me", "signature": "s"}]),
        chunk(tool_calls=[{"index": 0, "id": "c", "type": "function", "function": start, "extra_content": signed}]),
        chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "functions_Weather", "arguments": '{"location"'}}]),
        chunk(tool_calls=[{"index": 0, "id": "c", "function": {"arguments": ':"Oslo"}'}}]),
        chunk("tool_calls"),
    ]  # fmt: skip
    message, answer = reply(streamed(*events))
    assert message == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "Let me see",
        "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "Let me", "signature": "s"}
        ],
        "tool_calls": [
            {
                "id": "c",
                "type": "function",
                "function": {"name": "functions_Weather", "arguments": '{"location":"Oslo"}'},
                "extra_content": signed,
            }
        ],
    }
    assert answer == {"role": "tool", "tool_call_id": "c", "content": "fine in Oslo"}


def test_envelopes_are_answered_as_a_chat() -> None:
    made = {"id": "c", "function": {"name": "functions_Weather", "arguments": {"location": "Oslo"}}}
    stream = streamed('{"content": "Let me ', 'see."}', {"tool_calls": [made]})
    message, answer = reply(stream)
    assert (message["role"], message["content"]) == ("assistant", "Let me see.")
    assert message["tool_calls"][0]["function"]["arguments"] == '{"location":"Oslo"}'
    assert answer == {"role": "tool", "tool_call_id": "c", "content": "fine in Oslo"}
    assert stream.response == stream.response


def test_envelopes_are_not_answered_before_their_end() -> None:
    stream = Stream()
    stream.feed({"content": "Let me"})
    assert not stream.is_done
    with pytest.raises(StreamError):
        reply(stream)


def parts(*sent: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(sent)}, "finishReason": finish}
    return {"candidates": [candidate]}


def test_words_of_gemini_are_put_together_and_signatures_stay_where_they_were() -> None:
    made = {"functionCall": {"name": "functions_Weather", "args": {}}, "thoughtSignature": "sig1"}
    stream = streamed(
        parts({"text": "hm", "thought": True}),
        parts({"text": "m", "thought": True}),
        parts({"text": "Let "}),
        parts({"text": "me"}, {"text": ""}),
        parts({"text": "", "thoughtSignature": "sig0"}),
        parts(made),
        parts({"functionCall": {"name": "functions_Weather", "args": {}}}, finish="STOP"),
        {"usageMetadata": {"totalTokenCount": 3}},
    )
    message, answered = reply(stream)
    assert message["parts"] == [
        {"text": "hmm", "thought": True},
        {"text": "Let me"},
        {"text": "", "thoughtSignature": "sig0"},
        made,
        {"functionCall": {"name": "functions_Weather", "args": {}}},
    ]
    assert len(answered["parts"]) == 2
    assert stream.response is not None
    assert stream.response["usageMetadata"] == {"totalTokenCount": 3}


def test_bytes_of_a_signature_become_base64() -> None:
    made = {"function_call": {"name": "f", "args": {}}, "thought_signature": b"\xfb\xff\xbfsig"}
    turn = read_turn(streamed(parts(made, finish="STOP")).response)
    assert turn.messages[0]["parts"][0]["thought_signature"] == "-_-_c2ln"
    assert read_turn(parts(made)).messages == turn.messages


def partial(*pieces: dict[str, Any], more: bool = True, **fields: Any) -> dict[str, Any]:
    return {"functionCall": {**fields, "partialArgs": list(pieces), "willContinue": more}}


def test_arguments_of_gemini_in_pieces_are_put_in_their_places() -> None:
    stream = Stream()
    pieces: list[Piece] = []
    for event in (
        parts({**partial(name="f", id="x"), "thoughtSignature": "sig"}),
        parts(partial({"jsonPath": "$.city", "stringValue": "Os", "willContinue": True})),
        parts(partial({"jsonPath": "$.city", "stringValue": "lo"})),
        parts(partial({"jsonPath": "$.days[0].at", "numberValue": 3.0})),
        parts(partial({"jsonPath": "$.days[1].at", "numberValue": 4.5})),
        parts(partial({"jsonPath": "$['a b']", "boolValue": False})),
        parts(partial({"jsonPath": "$.nothing", "nullValue": "NULL_VALUE"})),
        parts({"functionCall": {}}, finish="STOP"),
    ):
        pieces += stream.feed(event)
    wanted = {
        "city": "Oslo",
        "days": [{"at": 3}, {"at": 4.5}],
        "a b": False,
        "nothing": None,
    }
    (call,) = stream.tool_calls
    assert (call.id, call.name, call.parsed()) == ("x", "f", wanted)
    assert [piece.name for piece in pieces] == ["f"]
    (message,) = read_turn(stream.response).messages
    made = {"name": "f", "id": "x", "args": wanted}
    assert message["parts"] == [{"functionCall": made, "thoughtSignature": "sig"}]


@pytest.mark.parametrize(
    "path", ["", "city", "$", "$[0]", "$.a[99999999]", "$.city.of", "$.days.x", None, 5]
)
def test_a_path_that_leads_nowhere_is_left_out(path: Any) -> None:
    stream = streamed(
        parts(partial({"jsonPath": "$.city", "stringValue": "Oslo"}, name="f")),
        parts(partial({"jsonPath": "$.days[0]", "numberValue": 1})),
        parts(partial({"jsonPath": path, "numberValue": 2}, more=False), finish="STOP"),
    )
    (call,) = stream.tool_calls
    found = call.parsed()
    assert found is not None
    assert found["days"] == [1] or path == "$.days.x"
    assert len(call.arguments) < 100


def test_a_question_that_gemini_will_not_answer_is_done() -> None:
    stream = streamed({"promptFeedback": {"blockReason": "SAFETY"}})
    assert (stream.is_done, stream.finish_reason) == (True, "SAFETY")
    assert reply(stream) == []


class Parsed:
    """As a package's object: it has more fields than were sent, and says them all."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self.fields


def test_an_argument_may_be_called_like_what_a_helper_adds() -> None:
    used = {"type": "tool_use", "id": "t", "name": "f", "input": {"parsed": 1, "index": None}}
    words = {"type": "text", "text": "hi", "parsed_output": {"a": 1}}
    (message,) = read_turn(Parsed({"content": [words, used]})).messages
    assert message["content"] == [{"type": "text", "text": "hi"}, used]


@pytest.mark.parametrize(
    "said",
    [
        {"type": "signature", "signature": "xyz"},
        {"type": "content.done", "content": "Let me see"},
        {"type": "refusal.done", "refusal": "no"},
        {"type": "tool_calls.function.arguments.done", "name": "f", "index": 0, "arguments": "{}"},
        {"type": "logprobs.refusal.done", "refusal": []},
    ],
)
def test_what_a_helper_says_again_is_not_said_twice(said: dict[str, Any]) -> None:
    stream = streamed(said)
    assert (stream.content, stream.tool_calls) == ("", ())


def test_the_first_piece_of_a_call_names_its_tool() -> None:
    _, events = told("openai")
    stream = Stream()
    pieces = [piece for piece in stream.read(events) if piece.kind == "tool_call"]
    assert [piece.name for piece in pieces if piece.name] == ["functions_Weather"] * 2
    assert "".join(piece.text for piece in pieces if piece.index == 1) == '{"location": "Kyoto"}'


# ---- whatever comes ---------------------------------------------------------------------------------

_leaf = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3) | st.floats()
_keys = [
    *("type", "index", "delta", "content_block", "message", "usage", "choices", "candidates"),
    *("content", "parts", "functionCall", "partialArgs", "willContinue", "jsonPath", "text"),
    *("item", "output_index", "response", "output", "error", "tool_calls", "function", "id"),
    *("citation", "partial_json", "stop_reason", "finish_reason", "reasoning_details", "args"),
]
_types = [
    *("message_start", "content_block_start", "content_block_delta", "message_delta", "ping"),
    *("input_json_delta", "citations_delta", "text_delta", "x_delta", "tool_use", "error"),
    *("response.output_item.done", "response.completed", "response.failed", "$.a[0]", "$.b.c"),
]
_odd = st.recursive(
    _leaf | st.sampled_from(_types),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_keys), inner | st.sampled_from(_types), max_size=5)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(_keys), _odd, max_size=5), max_size=6))
def test_no_event_is_too_odd(events: list[Any]) -> None:
    stream = agent.Stream()
    list(stream.read(events))
    assert "a chunk of type" not in stream.content
    response = stream.response
    if response is not None:
        json.dumps(response).encode()
        read_turn(response)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_events_in_any_order_raise_nothing(data: st.DataObject) -> None:
    known = [event for provider in PROVIDERS for event in told(provider)[1]]
    stream = streamed(*data.draw(st.lists(st.sampled_from(known), max_size=30)))
    assert "a chunk of type" not in stream.content
    response = stream.response
    if response is not None:
        json.dumps(read_turn(response).messages).encode()
