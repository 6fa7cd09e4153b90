"""What a model says in pieces, put together."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuniumi import agent
from tests.agent.conftest import StreamThere


def run(*chunks: Any) -> agent.Stream:
    stream = agent.Stream()
    pieces = list(stream.read(chunks))
    assert "".join(piece.text for piece in pieces if piece.kind == "content") == stream.content
    assert "".join(piece.text for piece in pieces if piece.kind == "thinking") == stream.thinking
    return stream


@pytest.mark.parametrize(
    ("chunks", "content", "thinking"),
    [
        ([], "", ""),
        (["hello ", "world"], "hello world", ""),
        (['{"content":"Hel"}', '{"content":"lo"}'], "Hello", ""),
        (['{"thinking":"hm"}', '{"content":"yes"}'], "yes", "hm"),
        (['{"content":"a"}{"content":"b"}'], "ab", ""),
        (['{"content":"a"}\n{"content":"b"}\n'], "ab", ""),
        (['{"content":"a"}', "\n", '{"content":"b"}', "\n"], "ab", ""),
        (['{"cont', 'ent":"a\\', '"b{"', "}"], 'a"b{', ""),
        (["{", '"content"', ":", '"a"', "}"], "a", ""),
        (["42"], "42", ""),
        (["null"], "null", ""),
        (["true", " ", '"x"'], 'true "x"', ""),
        (['{"foo":1}'], '{"foo":1}', ""),
        (['{"foo":1}\n', '{"content":"a"}'], '{"foo":1}\na', ""),
        (["hello", ' {"content":"you"}'], "hello you", ""),
        (["hello", " ", '{"content":"you"}'], "hello you", ""),
        (["hello", "\n", '{"thinking":"hm"}\n', '{"content":"you"}'], "hello\nyou", "hm"),
        (["[1,2]"], "[1,2]", ""),
        (['see {"content":"a"}'], 'see {"content":"a"}', ""),
        (['{"content":'], '{"content":', ""),
        (['{"content":"a"} and'], "a and", ""),
        (["if (x) ", "{", " y }"], "if (x) { y }", ""),
        (["{", "}"], "{}", ""),
        (["  ", "x"], "  x", ""),
        (["\n"], "\n", ""),
        (['{"content":NaN}'], '{"content":NaN}', ""),
        (['{"content":null}'], "", ""),
        (['{"content":42}'], "42", ""),
        (['{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}'], "ab", ""),
        (['{"reasoning_content":"hm"}'], "", "hm"),
        ([b"caf\xc3", b"\xa9"], "café", ""),
        ([b"caf\xc3"], "caf\ufffd", ""),
        (["\ud83d", "\ude00"], "😀", ""),
        (["\ud83d", "x"], "\ufffdx", ""),
        (["\ud83d"], "\ufffd", ""),
        ([{"content": "a"}, {"foo": 1}, {"thinking": "b"}], 'a{"foo":1}', "b"),
        ([None, 42, True, None], "42true", ""),
        (['{"a', {"content": "b"}], '{"ab', ""),
        ([float("nan")], "null", ""),
        ([[1]], "[1]", ""),
    ],
)
def test_pieces_are_put_together(chunks: list[Any], content: str, thinking: str) -> None:
    stream = run(*chunks)
    assert (stream.content, stream.thinking, stream.tool_calls) == (content, thinking, ())


def test_what_else_is_in_an_envelope_is_kept() -> None:
    stream = run('{"content":"a","usage":{"tokens":3}}', '{"content":"b","model":"m"}')
    assert stream.extras == {"usage": {"tokens": 3}, "model": "m"}


@pytest.mark.parametrize(
    "chunks",
    [
        ['{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\\"x\\":1}"}}]}'],
        ['{"tool_calls":[{"id":"a","name":"f","arguments":{"x":1}}]}'],
        ['{"tool_calls":{"id":"a","name":"f","args":{"x":1}}}'],
        [
            {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"x"'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]},
        ],
        [
            {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"x"'}}]},
            {"tool_calls": [{"id": "a", "function": {"arguments": ":1}"}}]},
        ],
        [{"tool_calls": [{"id": "a", "name": "f", "arguments": {"x": 1}}]}] * 3,
        [
            {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"x"'}}]},
            {"tool_calls": [{"function": {"arguments": ":1}"}}]},
        ],
    ],
)
def test_calls_are_put_together(chunks: list[Any]) -> None:
    (call,) = run(*chunks).tool_calls
    assert (call.id, call.name, call.arguments) == ("a", "f", '{"x":1}')
    assert call.parsed() == {"x": 1}


def test_calls_that_share_a_place_are_told_apart_by_their_ids() -> None:
    def delta(arguments: str, **fields: str) -> dict[str, Any]:
        call = {"index": 0, **fields, "function": {"name": "f", "arguments": arguments}}
        return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}

    stream = run(delta('{"x":1}', id="a"), delta('{"x"', id="b"), delta(":2}"))
    assert [(call.id, call.parsed()) for call in stream.tool_calls] == [
        ("a", {"x": 1}),
        ("b", {"x": 2}),
    ]


@pytest.mark.parametrize(("arguments", "parsed"), [("", {}), ('{"x', None), ("[1]", None)])
def test_the_arguments_of_a_call(arguments: str, parsed: Any) -> None:
    assert agent.ToolCall("a", "f", arguments).parsed() == parsed


class Reason(StrEnum):  # as google-genai has it
    STOP = "STOP"


@dataclass
class Event:
    """An SDK's object, as far as the stream can see."""

    type: str
    index: int = 0
    delta: Any = None
    content_block: Any = None


ANTHROPIC: list[Any] = [
    {"type": "message_start", "message": {"content": []}},
    {"type": "ping"},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "hm"},
    },
    {"type": "thinking", "thinking": "hm", "snapshot": "hm"},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "s"},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Let me "}},
    {"type": "text", "text": "Let me ", "snapshot": "Let me "},
    Event("content_block_delta", 1, {"type": "text_delta", "text": "see."}),
    Event(
        "content_block_start", 2, None, {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    ),
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"x"'},
    },
    {"type": "input_json", "partial_json": '{"x"', "snapshot": {}},
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": ":1}"},
    },
    {
        "type": "content_block_start",
        "index": 3,
        "content_block": {"type": "tool_use", "id": "b", "name": "g", "input": {}},
    },
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
]
RESPONSES: list[Any] = [
    {"type": "response.created", "response": {}},
    {
        "type": "response.reasoning_summary_text.delta",
        "delta": "hm",
        "item_id": "r",
        "output_index": 0,
    },
    {"type": "response.output_text.delta", "delta": "Let me ", "item_id": "m", "output_index": 1},
    {"type": "response.output_text.delta", "delta": "see.", "item_id": "m", "output_index": 1},
    {"type": "response.output_text.done", "text": "Let me see.", "item_id": "m", "output_index": 1},
    {
        "type": "response.output_item.added",
        "output_index": 2,
        "item": {"type": "function_call", "id": "i", "call_id": "a", "name": "f", "arguments": ""},
    },
    {
        "type": "response.function_call_arguments.delta",
        "delta": '{"x"',
        "item_id": "i",
        "output_index": 2,
    },
    {
        "type": "response.function_call_arguments.delta",
        "delta": ":1}",
        "item_id": "i",
        "output_index": 2,
    },
    {
        "type": "response.function_call_arguments.done",
        "arguments": '{"x":1}',
        "item_id": "i",
        "output_index": 2,
    },
    {
        "type": "response.output_item.done",
        "output_index": 2,
        "item": {
            "type": "function_call",
            "id": "i",
            "call_id": "a",
            "name": "f",
            "arguments": '{"x":1}',
        },
    },
    {
        "type": "response.output_item.done",
        "output_index": 3,
        "item": {"type": "function_call", "id": "j", "call_id": "b", "name": "g", "arguments": ""},
    },
    {"type": "response.completed", "response": {"output": []}},
]
CHAT: list[Any] = [
    {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}],
    },
    {"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]},
    {"choices": [{"index": 0, "delta": {"content": "Let me "}}]},
    {"choices": [{"index": 1, "delta": {"content": "another answer"}}]},
    {"choices": [{"index": 0, "delta": {"content": "see."}}]},
    {
        "choices": [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "a",
                            "type": "function",
                            "function": {"name": "f", "arguments": ""},
                        }
                    ]
                },
            }
        ]
    },
    {
        "choices": [
            {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"x"'}}]}}
        ]
    },
    {
        "choices": [
            {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}}
        ]
    },
    {
        "choices": [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [
                        {"index": 1, "id": "b", "function": {"name": "g", "arguments": ""}}
                    ]
                },
            }
        ]
    },
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"total_tokens": 3}},
]
GEMINI: list[Any] = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "hm", "thought": True}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "Let me "}]}}], "usage_metadata": {}},
    {"candidates": [{"content": {"parts": [{"text": "see."}, {"function_call": {"id": "a", "name": "f", "args": {"x": 1}}}]}}]},
    {"candidates": [{"content": {"parts": [{"functionCall": {"id": "b", "name": "g", "args": {}}}]}}]},
    {"candidates": [{"content": None, "finish_reason": Reason.STOP}]},
    {"usage_metadata": {"total_token_count": 3}},
]  # fmt: skip


@pytest.mark.parametrize(
    ("events", "finish"),
    [(ANTHROPIC, "tool_use"), (RESPONSES, "completed"), (CHAT, "tool_calls"), (GEMINI, "STOP")],
    ids=["anthropic", "responses", "chat", "gemini"],
)
def test_the_events_of_every_provider_come_to_the_same(events: list[Any], finish: str) -> None:
    stream = run(*events)
    assert (stream.thinking, stream.content, stream.finish_reason) == ("hm", "Let me see.", finish)
    found = [(call.id, call.name, call.parsed()) for call in stream.tool_calls]
    assert found == [("a", "f", {"x": 1}), ("b", "g", {})]
    assert stream.extras == {}


def test_the_packages_own_objects_come_to_the_same(stream_there: StreamThere) -> None:
    streams = {"anthropic": ANTHROPIC, "responses": RESPONSES, "chat": CHAT, "gemini": GEMINI}
    # What a package's helper tells beside the events is made by the helper alone.
    plain = {
        name: [vars(each) if isinstance(each, Event) else each for each in events]
        for name, events in streams.items()
    }
    for name, found in stream_there(
        {
            name: [each for each in events if "snapshot" not in each]
            for name, events in plain.items()
        }
    ).items():
        assert found["objects"], name
        assert (found["thinking"], found["content"]) == ("hm", "Let me see."), name
        assert found["calls"] == [["a", "f", {"x": 1}], ["b", "g", {}]], name
        assert found["finish"], name
        assert found["extras"] == {}, name


def test_calls_of_gemini_without_ids_are_calls_of_their_own() -> None:
    part = {"function_call": {"name": "f", "args": {"x": 1}}}
    stream = run({"candidates": [{"content": {"parts": [part, part]}}]})
    assert len(stream.tool_calls) == 2


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_wherever_a_stream_is_cut_it_comes_to_the_same(data: st.DataObject) -> None:
    words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    envelopes = st.fixed_dictionaries({}, optional={"content": words, "thinking": words})
    sent = data.draw(st.lists(envelopes.filter(bool), max_size=5))
    whole = "\n".join(json.dumps(each, ensure_ascii=data.draw(st.booleans())) for each in sent)
    raw = whole.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    chunks = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    stream = run(*chunks)
    assert stream.content == "".join(each.get("content", "") for each in sent)
    assert stream.thinking == "".join(each.get("thinking", "") for each in sent)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text('{}[]":, ax1\n\\', max_size=6), max_size=8))
def test_text_that_is_no_envelope_comes_out_as_it_went_in(chunks: list[str]) -> None:
    assert run(*chunks).content == "".join(chunks)


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "delta", "choices", "content", "tool_calls", "candidates", "index", "id", "item"])
        | st.text(max_size=3),
        inner | st.sampled_from(["content_block_start", "response.output_item.added"]),
        max_size=4,
    ),
    max_leaves=9,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(_anything | st.binary(max_size=9), max_size=5))
def test_nothing_raises(chunks: list[Any]) -> None:
    stream = run(*chunks)
    stream.content.encode()
    for call in stream.tool_calls:
        call.parsed()


def test_an_object_in_many_pieces_takes_no_long_time() -> None:
    stream = agent.Stream()
    stream.feed('{"content":"')
    for _ in range(100_000):
        stream.feed("x")
    stream.feed('"}')
    assert len(stream.content) == 100_000
