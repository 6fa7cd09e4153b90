"""Whatever is sent: reading raises nothing, loses nothing, and says the same every time."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import make_dataclass
from typing import Any

import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kuniumi import agent
from tests.agent.cases import PDF, PNG, WAV
from tests.agent.conftest import Validate
from tests.agent.test_renderings import words_in

_text = st.text(max_size=12) | st.text(
    st.characters(categories=["Cs", "Cc", "Cf", "Lu"]), max_size=6
)
_said = _text | st.sampled_from(
    [
        '{"a":1}',
        '{"error":"x"}',
        "Error: Mcp error: -32602: x (Code: -32603)",
        '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}',
        '{"content":[{"type":"text","text":"{\\"content\\":[]}"}],"isError":true}',
        '{"$ref":"#"}',
        "\ufeff[]",
    ]
)
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | _said
_keys = _text | st.sampled_from(
    [
        "content",
        "type",
        "text",
        "isError",
        "structuredContent",
        "result",
        "error",
        "code",
        "message",
        "jsonrpc",
        "id",
        "data",
        "resource",
        "mimeType",
        "uri",
        "annotations",
        "audience",
        "resultType",
        "inputRequests",
        "_meta",
        "$ref",
    ]
)
_json = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=8,
)
_data = st.sampled_from([PNG, WAV, PDF]) | st.binary(min_size=48, max_size=80).map(
    lambda raw: base64.b64encode(raw).decode()
)
_types = st.sampled_from(
    ["image/png", "image/jpeg", "audio/wav", "application/pdf", "video/mp4", "x"]
)
_annotations = st.fixed_dictionaries({}, optional={"annotations": _json | st.fixed_dictionaries({"audience": st.lists(st.sampled_from(["user", "assistant"]))})})  # fmt: skip


def _block(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda one, two: {**one, **two}, st.fixed_dictionaries(fields), _annotations)


_blocks = st.one_of(
    _block(type=st.just("text"), text=_said),
    _block(type=st.sampled_from(["image", "audio", "video"]), data=_data, mimeType=_types),
    _block(type=st.just("image"), data=_json, mimeType=_json),
    _block(type=st.just("resource"), resource=st.fixed_dictionaries({"uri": _text}, optional={"text": _said, "blob": _data, "mimeType": _types})),
    _block(type=st.just("resource_link"), uri=_text, name=_text, size=_json),
    _block(type=_said, text=_json),
)  # fmt: skip
_results = st.fixed_dictionaries(
    {"content": st.lists(_blocks | _json, max_size=4)},
    optional={
        "structuredContent": _json,
        "isError": st.booleans() | _json,
        "resultType": st.sampled_from(["complete", "input_required"]) | _json,
        "inputRequests": _json,
        "_meta": _json,
    },
)
_messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")}, optional={"result": _results | _json, "error": _json}
)


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")

    content: Any = None
    structured_content: Any = pydantic.Field(default=None, alias="structuredContent")
    is_error: Any = pydantic.Field(default=False, alias="isError")


Record = make_dataclass("Record", ["content", "structured_content", "is_error"])


def _as_object(result: dict[str, Any]) -> Any:
    return Model.model_construct(_fields_set=set(result), **result)


def _as_record(result: dict[str, Any]) -> Any:
    return Record(result["content"], result.get("structuredContent"), result.get("isError"))


_anything = st.one_of(
    _json,
    _results,
    _messages,
    _results.map(_as_object),
    _results.map(_as_record),
    _json.map(lambda sent: json.dumps(sent).encode()),
    _results.map(json.dumps),
    st.binary(max_size=20),
    st.lists(_blocks, max_size=3),
    _results.map(lambda result: {"content": [{"type": "text", "text": json.dumps(result)}]}),
)


def renderings(answer: agent.Answer, **how: Any) -> list[tuple[str, Any]]:
    return [
        ("openai", answer.for_openai("call_1", **how)),
        ("openai_chat", answer.for_openai_chat("call_1", **how)),
        ("anthropic", answer.for_anthropic("call_1", **how)),
        ("gemini", answer.for_gemini("call_1", "Add", **how)),
    ]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_anything)
def test_reading_raises_nothing_and_says_the_same_every_time(raw: Any) -> None:
    answer = agent.read(raw)
    assert not any("cannot be read" in warning for warning in answer.warnings)
    answer.text.encode()
    json.dumps(answer.as_dict(), allow_nan=False)
    again = agent.read(raw)
    for name in ("kind", "text", "warnings", "declared_error", "suspected_error"):
        assert getattr(again, name) == getattr(answer, name)
    for provider, messages in renderings(answer):
        sent = json.dumps(messages, ensure_ascii=False, allow_nan=False).encode()
        assert sent == json.dumps(dict(renderings(again))[provider], ensure_ascii=False).encode()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_results)
def test_every_block_is_kept_and_no_base64_is_text(result: dict[str, Any]) -> None:
    answer = agent.read(result)
    assert [block.raw for block in answer.blocks] == result["content"] or answer.kind == "empty"
    assert len(answer.blocks) == len(result["content"])
    carried = [block.data for block in answer.blocks if len(block.data) >= 48]
    for data in carried:
        assert data not in answer.text
        for _, messages in renderings(answer, media=False):
            assert data not in json.dumps(messages)
        for _, messages in renderings(answer):
            assert not any(data in words for words in words_in(messages))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_anything, st.integers(-1, 80), st.booleans())
def test_a_model_reads_no_more_than_its_budget_and_never_nothing(
    raw: Any, limit: int, neutralise: bool
) -> None:
    answer = agent.read(raw)
    for _, messages in renderings(answer, max_chars=limit, neutralise=neutralise):
        for message in messages:
            told = words_in(message)
            if message.get("role") != "user" or "parts" in message:
                assert sum(map(len, told)) <= max(limit, 1)
            assert told or b"base64" in json.dumps(message).encode()
            assert all(word.strip() for word in told)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "JVBERi0", ""]),
    st.binary(min_size=48, max_size=2000),
    st.sampled_from(["", "see ", '{"a":"', "data:image/png;base64,", "data:;base64,"]),
    st.sampled_from(["", " and more", '"}']),
)
def test_an_encoded_file_is_no_text_wherever_it_stands(
    sign: str, raw: bytes, before: str, after: str
) -> None:
    data = sign + base64.b64encode(raw).decode()
    if not sign and "base64" not in before and len(data) < 1000:
        return  # words may look like it
    for sent in (
        before + data + after,
        json.dumps({"a": before + data + after}).replace("/", "\\/"),
        {"content": [], "structuredContent": {"a": [before + data + after]}},
        {"content": [{"type": "text", "text": before + data + after}], "isError": True},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": before + data + after}},
    ):
        assert data[:40] not in agent.read(sent).text.replace("\\/", "/")


def test_every_rendering_is_valid_for_its_provider(wrong_with: Validate) -> None:
    sent: list[tuple[str, Any]] = []

    @settings(
        max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(
        _anything,
        st.fixed_dictionaries(
            {},
            optional={
                "max_chars": st.integers(0, 60),
                "media": st.booleans(),
                "neutralise": st.booleans(),
            },
        ),
    )
    def collect(raw: Any, how: dict[str, Any]) -> None:
        sent.extend(renderings(agent.read(raw), **how))

    collect()
    assert wrong_with(sent) == []


_schemas = st.recursive(
    _json,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array", "string", "null", "integer", ["string", "null"]]) | _json,
            "properties": st.dictionaries(_text, inner, max_size=3),
            "required": st.lists(_text, max_size=2),
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
            "oneOf": st.lists(inner, max_size=2),
            "allOf": st.lists(inner, max_size=2),
            "$ref": st.sampled_from(["#", "#/$defs/a", "#/definitions/b", "#/properties", "x:y"]),
            "$defs": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "definitions": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "additionalProperties": inner | st.booleans(),
            "enum": st.lists(_scalars, max_size=2),
            "default": _json,
            "description": _text,
        },
    ),
    max_leaves=10,
)  # fmt: skip


_KEYWORDS = [
    *("type", "items", "required", "enum", "const", "minimum", "exclusiveMinimum", "multipleOf"),
    *("minLength", "uniqueItems", "properties", "anyOf", "not", "if", "$ref", "$defs", "pattern"),
    *(
        "definitions",
        "additionalProperties",
        "examples",
        "dependentRequired",
        "title",
        "prefixItems",
    ),
    *("description", "propertyNames", "deprecated", "contains"),
]
_garbage = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False)
    | st.sampled_from(["string", "object", "array", "any", "#", "#/$defs/a", "x"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(_KEYWORDS) | st.text(max_size=3), inner, max_size=4),
    max_leaves=15,
)  # fmt: skip
_DRAFT = Draft202012Validator(Draft202012Validator.META_SCHEMA)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(_garbage | _schemas)
def test_what_a_model_is_told_is_a_schema_whatever_a_server_sent(schema: Any) -> None:
    tools = agent.Tools([{"name": "t", "inputSchema": schema}])
    for told in (
        tools.for_openai()[0]["parameters"],
        tools.for_openai(strict=False)[0]["parameters"],
        tools.for_anthropic()[0]["input_schema"],
        tools.for_gemini()[0]["function_declarations"][0]["parameters_json_schema"],
    ):
        assert _DRAFT.is_valid(told)
        assert told["type"] == "object"


def test_tools_of_any_schema_are_valid_for_every_provider(wrong_with: Validate) -> None:
    sent: list[tuple[str, Any]] = []

    @settings(
        max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(_schemas, st.text(min_size=1, max_size=9), _json)
    def collect(schema: Any, name: str, arguments: Any) -> None:
        tools = agent.Tools([{"name": name, "inputSchema": schema}])
        sent.extend(
            [
                ("openai_tools", tools.for_openai()),
                ("openai_chat_tools", tools.for_openai_chat()),
                ("anthropic_tools", tools.for_anthropic()),
                ("anthropic_tools", tools.for_anthropic(strict=True)),
                ("gemini_tools", tools.for_gemini()),
            ]
        )
        assert tools.restore(next(iter(tools.names)), arguments) is not None

    collect()
    assert wrong_with(sent) == []


@settings(max_examples=200, deadline=None)
@given(_json, _schemas | _garbage)
def test_checking_raises_nothing(value: Any, schema: Any) -> None:
    agent.read({"content": [], "structuredContent": value}).check(schema)


@pytest.mark.parametrize(
    "make",
    [
        lambda size: {"content": [{"type": "text", "text": "x" * size}]},
        lambda size: {
            "content": [{"type": "text", "text": "Error: " + "x" * size}],
            "isError": True,
        },
        lambda size: {"content": [{"type": "text", "text": json.dumps(list(range(size // 8)))}]},
        lambda size: {"content": [], "structuredContent": {"a": ["xxxx"] * (size // 8)}},
        lambda size: {"content": [{"type": "image", "data": "A" * size}]},
        lambda size: {"content": [{"type": "text", "text": "data:a;base64," * (size // 14)}]},
        lambda size: {"content": [{"type": "text", "text": "iVBORw0KGgo " * (size // 12)}]},
        lambda size: ("{" * (size // 2)).encode(),
    ],
)
def test_the_time_it_takes_grows_with_the_size_and_no_faster(make: Any) -> None:
    def cost(size: int) -> float:
        raw = make(size)
        best = 1e9
        for _ in range(3):
            started = time.process_time()
            agent.read(raw)
            best = min(best, time.process_time() - started)
        return best

    assert cost(2_000_000) < 40 * max(cost(200_000), 0.0005)
