"""The grammar of MCP against what its specification publishes: examples, definitions, and rows."""

from __future__ import annotations

import base64
import json
import re
import time
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Raw, Struct, structs

from kuniumi import App, Audio, Contents, EmbeddedResource, Image, Message, ResourceLink, Text
from kuniumi.core.call import Envelope
from kuniumi.core.codec import dumps
from kuniumi.core.content import Block
from kuniumi.core.fault import Fault, Kind
from kuniumi.core.operation import Operation
from kuniumi.core.questions import Form, Question, Roots, Sampling, Visit
from kuniumi.errors import DefinitionError
from kuniumi.wire.jsonrpc import INVALID_PARAMS, Notification, Request, RpcError, read
from kuniumi.wire.mcp import headers, messages, state
from kuniumi.wire.mcp.listing import Lists
from kuniumi.wire.mcp.results import (
    question_method,
    question_params,
    stamp,
    told,
    write_caching,
    write_contents,
    write_input_required,
    write_prompt,
    write_tool_result,
)
from kuniumi.wire.mcp.revisions import LATEST, LATEST_WITH_HANDSHAKE, REVISIONS, Revision, agree
from tests.mcp.official import definitions, examples, fits

everywhere = pytest.mark.parametrize("revision", REVISIONS.values(), ids=REVISIONS)

PNG = b"\x89PNG\r\n\x1a\n"

# ---- the table of revisions --------------------------------------------------------------------------


@everywhere
def test_the_table_says_what_the_official_schemas_say(revision: Revision) -> None:
    known = definitions(revision.name)
    content = json.dumps(known["PromptMessage"]["properties"]["content"])
    content += json.dumps(known.get("ContentBlock", {}))
    blocks = {
        known[name]["properties"]["type"]["const"] for name in re.findall(r"/(\w+)\"", content)
        if "type" in known[name].get("properties", {})
    }  # fmt: skip
    assert revision.blocks == blocks
    assert revision.stateless == ("DiscoverRequest" in known)
    assert revision.annotations == ("ToolAnnotations" in known)
    assert revision.structured == ("structuredContent" in known["CallToolResult"]["properties"])
    assert revision.icons == ("Icon" in known)
    assert revision.forms == ("ElicitRequest" in known)
    assert revision.visits == ("ElicitRequestURLParams" in known)


@pytest.mark.parametrize(
    ("wanted", "settled"),
    [
        *((name, name) for name, row in REVISIONS.items() if not row.stateless),
        (LATEST.name, LATEST_WITH_HANDSHAKE.name),
        ("2099-01-01", LATEST_WITH_HANDSHAKE.name),
        ("", LATEST_WITH_HANDSHAKE.name),
    ],
)
def test_a_handshake_settles_on_what_is_wanted_or_the_latest_there_is(
    wanted: str, settled: str
) -> None:
    assert agree(wanted).name == settled


# ---- requests ----------------------------------------------------------------------------------------

TYPES: dict[str, type[Struct]] = {
    "CallToolRequest": messages.CallTool,
    "GetPromptRequest": messages.GetPrompt,
    "ReadResourceRequest": messages.ReadResource,
    "CompleteRequest": messages.Complete,
    "ListToolsRequest": messages.ListPage,
    "ListPromptsRequest": messages.ListPage,
    "ListResourcesRequest": messages.ListPage,
    "ListResourceTemplatesRequest": messages.ListPage,
    "SubscriptionsListenRequest": messages.Listen,
    "DiscoverRequest": messages.Plain,
}
PARAMS: dict[str, type[Struct]] = {
    "CallToolRequestParams": messages.CallTool,
    "CompleteRequestParams": messages.Complete,
    "GetPromptRequestParams": messages.GetPrompt,
    "PaginatedRequestParams": messages.ListPage,
    "CancelledNotificationParams": messages.Cancelled,
    "ClientCapabilities": messages.Capabilities,
}


def examples_of(names: Any) -> list[Any]:
    return [
        pytest.param(name, example, id=title)
        for name in names
        for title, example in examples().get(name, {}).items()
    ]


@pytest.mark.parametrize(("name", "example"), examples_of(TYPES))
def test_the_requests_of_the_specification_are_read(name: str, example: Any) -> None:
    found = read(json.dumps(example).encode())
    assert isinstance(found, Request)
    assert found.key == example["id"]
    params = messages.read_request(found, stateless=True)
    assert type(params) is TYPES[name]
    assert not isinstance(params, RpcError)
    assert params.meta.version == LATEST.name
    assert params.meta.capabilities is not None


@pytest.mark.parametrize(("name", "example"), examples_of(PARAMS))
def test_the_parameters_of_the_specification_are_read(name: str, example: Any) -> None:
    raw = json.dumps(example).encode()
    found = messages.read_params(Raw(raw), PARAMS[name])
    assert isinstance(found, PARAMS[name]), found
    assert messages.read_params(Raw(dumps(found)), PARAMS[name]) == found


@pytest.mark.parametrize(
    ("name", "example"), examples_of(n for n in examples() if n.endswith("Notification"))
)
def test_the_notifications_of_the_specification_are_read(name: str, example: Any) -> None:
    found = read(json.dumps(example).encode())
    assert isinstance(found, Notification)
    assert found.method == example["method"]


@pytest.mark.parametrize(
    ("method", "params", "place"),
    [
        ("tools/call", b"{}", "name"),
        ("tools/call", b'{"name":1}', "name"),
        ("tools/call", b'{"name":"x","_meta":1}', "_meta"),
        ("tools/call", b'{"name":"x","requestState":1}', "requestState"),
        ("tools/call", b'{"name":"x","inputResponses":{"a":1}}', "inputResponses"),
        ("tools/list", b'{"cursor":1}', "cursor"),
        ("resources/read", b"{}", "uri"),
        ("prompts/get", b"{}", "name"),
        ("completion/complete", b'{"ref":{"type":"ref/x"}}', "ref"),
        ("subscriptions/listen", b"{}", "notifications"),
        ("x", b"[]", "object"),
        ("x", b"1", "object"),
    ],
)
def test_wrong_parameters_are_told_by_their_place(method: str, params: bytes, place: str) -> None:
    found = messages.read_request(Request(b"1", method, Raw(params)), stateless=True)
    assert isinstance(found, RpcError)
    assert found.code == INVALID_PARAMS
    assert place in found.message


@pytest.mark.parametrize(
    ("said", "able"),
    [
        (b"{}", set()),
        (b'{"elicitation":{}}', {"elicitation"}),
        (b'{"elicitation":{"form":{}}}', {"elicitation"}),
        (b'{"elicitation":{"url":{}}}', {"elicitation.url"}),
        (b'{"elicitation":{"form":{},"url":{}}}', {"elicitation", "elicitation.url"}),
        (b'{"sampling":{"tools":{}},"roots":{"listChanged":true}}', {"sampling", "roots"}),
        (b'{"experimental":{"x":{}},"extensions":{}}', set()),
    ],
)
def test_what_a_client_can_be_asked(said: bytes, able: set[str]) -> None:
    assert msgspec.json.decode(said, type=messages.Capabilities).names == able


# ---- results -----------------------------------------------------------------------------------------

BLOCKS: list[Block] = [
    Text("words"),
    Image(PNG),
    Audio(b"RIFF"),
    ResourceLink("test://x", "x", title="X", description="an X", mime_type="text/plain", size=1),
    EmbeddedResource(Contents("test://x", text="x", mime_type="text/plain")),
    EmbeddedResource(Contents("test://x", blob=b"x")),
]


def envelope(content: bytes = b"", *, for_people: bool = False, fault: Fault | None = None) -> Any:
    body = b'{"error":"no"}' if fault else b'{"result":10}'
    return Envelope(body, fault, content, for_people=for_people)


@everywhere
@pytest.mark.parametrize("content", [[], BLOCKS])
@pytest.mark.parametrize("for_people", [False, True])
def test_the_result_of_a_call_is_one_of_its_revision(
    revision: Revision, content: Any, *, for_people: bool
) -> None:
    found = envelope(dumps(content) if content else b"", for_people=for_people and bool(content))
    written = json.loads(
        write_tool_result(found, revision, stamp(App().service.registry.about, revision))
    )
    assert fits(written, revision.name, "CallToolResult") == []
    assert len(written["content"]) == max(1, len(content))  # nothing is dropped
    structured = revision.structured and not (for_people and content)
    assert ("structuredContent" in written) is structured


@everywhere
def test_a_failure_has_no_structured_content(revision: Revision) -> None:
    found = envelope(fault=Fault(Kind.FAILED, "no"))
    written = json.loads(
        write_tool_result(found, revision, stamp(App().service.registry.about, revision))
    )
    assert fits(written, revision.name, "CallToolResult") == []
    assert written["isError"] is True
    assert "structuredContent" not in written


@everywhere
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_every_block_is_told_in_words_of_the_revision(revision: Revision, block: Any) -> None:
    written = json.loads(dumps(told(block, revision)))
    assert written["type"] in revision.blocks
    message = {"role": "user", "content": written}
    assert fits(message, revision.name, "PromptMessage") == []


@everywhere
def test_prompts_and_contents_are_those_of_the_revision(revision: Revision) -> None:
    stamped = stamp(App().service.registry.about, revision)
    said = dumps([Message("user", block) for block in BLOCKS])
    prompt = json.loads(write_prompt(said, "a beginning", revision, stamped))
    assert fits(prompt, revision.name, "GetPromptResult") == []
    parts = dumps([Contents(text="x"), Contents("test://y", blob=b"y")])
    caching = write_caching(revision, 1.5, private=True)
    contents = json.loads(write_contents(parts, "test://x", caching, revision, stamped))
    assert fits(contents, revision.name, "ReadResourceResult") == []
    assert [part["uri"] for part in contents["contents"]] == ["test://x", "test://y"]


QUESTIONS: list[Question] = [
    Form(message="Who?", schema={"type": "object", "properties": {"name": {"type": "string"}}}),
    Visit(message="Sign in", url="https://example.com/in"),
    Sampling(messages=(Message("user", Text("Hello")),), max_tokens=10),
    Sampling(
        messages=tuple(Message("user", block) for block in BLOCKS),
        max_tokens=10,
        system="Be brief",
        temperature=0.0,
        stop=("x",),
        models=("a", "b"),
    ),
    Roots(),
]
_DEFINITIONS = {
    "elicitation/create": "ElicitRequest",
    "sampling/createMessage": "CreateMessageRequest",
    "roots/list": "ListRootsRequest",
}


@everywhere
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_every_question_is_one_of_the_revision(revision: Revision, question: Any) -> None:
    if (isinstance(question, Form) and not revision.forms) or (
        isinstance(question, Visit) and not revision.visits
    ):
        return  # its clients are never asked
    method = question_method(question)
    asked = json.loads(
        dumps({"method": method, "params": question_params(question, revision, "1")})
    )
    if revision.name == LATEST_WITH_HANDSHAKE.name:
        asked |= {"jsonrpc": "2.0", "id": 1}
    assert fits(asked, revision.name, _DEFINITIONS[method]) == []


def test_questions_that_go_out_together_are_an_input_required_result() -> None:
    asked = {f"q{number}": question for number, question in enumerate(QUESTIONS)}
    stamped = stamp(App().service.registry.about, LATEST)
    written = json.loads(write_input_required(asked, "state", LATEST, stamped))
    assert fits(written, LATEST.name, "InputRequiredResult") == []
    assert list(written["inputRequests"]) == list(asked)


# ---- lists -------------------------------------------------------------------------------------------


def many(count: int) -> App:
    app = App()
    for number in range(count):
        app.register(lambda x: x, name=f"F{number}")
    return app


@everywhere
@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 20, 25])
def test_pages_hold_everything_once_and_in_order(revision: Revision, count: int) -> None:
    registry = many(count).service.registry
    lists, stamped = Lists(registry, page=10), stamp(registry.about, revision)
    names: list[str] = []
    cursor: str | None = None
    while True:
        page = lists.page("tools", cursor, revision, stamped)
        assert page is not None
        listed = json.loads(page)
        assert fits(listed, revision.name, "ListToolsResult") == []
        names += [tool["name"] for tool in listed["tools"]]
        cursor = listed.get("nextCursor")
        if cursor is None:
            break
    assert names == [f"functions.F{number}" for number in range(count)]


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1", "9", "25", "30", "1e1", "٣", "9" * 5000])
def test_a_cursor_that_was_never_given_stands_for_no_page(cursor: str) -> None:
    registry = many(25).service.registry
    lists = Lists(registry, page=10)
    assert lists.page("tools", cursor, LATEST, stamp(registry.about, LATEST)) is None


# ---- headers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("functions.Add", "functions.Add"),
        ("a b", "a b"),
        ("a\tb", "a\tb"),
        ("", "=?base64??="),
        (" a", "=?base64?IGE=?="),
        ("a ", "=?base64?YSA=?="),
        ("ü", "=?base64?w7w=?="),
        ("a\r\nX: y", "=?base64?YQ0KWDogeQ==?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
    ],
)
def test_a_value_is_written_as_a_header_may_hold_it(value: str, written: str) -> None:
    assert headers.encode(value) == written
    assert headers.decode(written.encode()) == value


@pytest.mark.parametrize(
    "raw", [b"\xff", b"a\0", b" a", b"a ", b"=?base64?!?=", b"=?base64?/w==?=", b"=?base64?YQ?="]
)
def test_what_no_header_may_hold_is_no_value(raw: bytes) -> None:
    assert headers.decode(raw) is None


@given(st.text())
def test_every_text_goes_into_a_header_and_comes_back(text: str) -> None:
    written = headers.encode(text)
    assert written.isascii()
    assert not set(written) & set("\r\n\0")
    assert headers.decode(written.encode()) == text


def located() -> Any:
    app = App()

    @app.function(headers={"region": "Region", "number": "Number", "sure": "Sure"})
    def Where(region: str, number: int = 0, sure: bool = False) -> str:
        return region

    return app.service.registry.by_name["Where"]


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ({}, {}),
        ({"region": "eu"}, {"Mcp-Param-Region": "eu"}),
        ({"region": ""}, {"Mcp-Param-Region": "=?base64??="}),
        ({"region": None, "number": 7}, {"Mcp-Param-Number": "7"}),
        ({"sure": True, "number": -1}, {"Mcp-Param-Number": "-1", "Mcp-Param-Sure": "true"}),
        ([], {}),
    ],
)
def test_arguments_are_repeated_and_found_to_be_the_same(arguments: Any, written: Any) -> None:
    operation, raw = located(), dumps(arguments)
    found = headers.mirrored(headers.mirrors_of(operation), arguments)
    assert found == written
    sent = {name.lower().encode(): value.encode() for name, value in found.items()}
    assert headers.check_mirrors(sent, operation, Raw(raw)) is None
    for name, value in sent.items():
        less = {key: sent[key] for key in sent if key != name}
        assert headers.check_mirrors(less, operation, Raw(raw)) is not None
        other = {**sent, name: value + b"1"}
        assert headers.check_mirrors(other, operation, Raw(raw)) is not None


@pytest.mark.parametrize(
    ("sent", "arguments", "is_same"),
    [
        ("42.0", b'{"number":42}', True),
        ("4.2e1", b'{"number":42}', True),
        ("9007199254740993", b'{"number":9007199254740993}', True),
        ("9007199254740992", b'{"number":9007199254740993}', False),  # as floats, they are one
        ("1_0", b'{"number":10}', False),
        ("nan", b'{"number":10}', False),
        (" 10", b'{"number":10}', False),
    ],
)
def test_numbers_in_headers_are_compared_to_the_last_digit(
    sent: str, arguments: bytes, is_same: bool
) -> None:
    found = headers.check_mirrors({b"mcp-param-number": sent.encode()}, located(), Raw(arguments))
    assert (found is None) == is_same


STRAY: list[dict[str, Any]] = [
    {"type": "object", "x-mcp-header": "A"},
    {"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}},
    {"properties": {"a": {"anyOf": [{"type": "string", "x-mcp-header": "A"}]}}},
    {"$defs": {"A": {"properties": {"b": {"type": "string", "x-mcp-header": "A"}}}}},
    {"if": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}},
]
REACHED: list[dict[str, Any]] = [
    {"properties": {"a": {"properties": {"b": {"type": "string", "x-mcp-header": "A"}}}}},
    {"properties": {"x-mcp-header": {"type": "string"}}},
    {"properties": {"a": {"default": {"x-mcp-header": "A"}, "enum": [{"x-mcp-header": "A"}]}}},
]


@pytest.mark.parametrize("schema", STRAY, ids=str)
def test_what_no_chain_of_properties_leads_to_cannot_be_marked(schema: dict[str, Any]) -> None:
    assert isinstance(headers.read_mirrors(schema), str)
    with pytest.raises(DefinitionError, match="marks no property"):
        headers.check_marks(with_schema(schema))


@pytest.mark.parametrize("schema", REACHED, ids=str)
def test_what_a_chain_of_properties_leads_to_can_be_marked(schema: dict[str, Any]) -> None:
    assert not isinstance(headers.read_mirrors(schema), str)
    headers.check_marks(with_schema(schema))


def test_a_mark_deep_in_a_type_that_no_header_can_follow_fails_no_call() -> None:
    app = App(name="Deep", version="1.0.0")

    class Place(Struct):
        region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})]

    def Where(places: list[Place]) -> int:
        return len(places)

    operation = app.register(Where)
    assert headers.mirrors_of(operation) == ()
    assert headers.check_mirrors({}, operation, Raw(b'{"places":[{"region":"eu"}]}')) is None


def with_schema(schema: dict[str, Any]) -> Operation:
    """Make an operation whose author wrote its schema."""
    app = App(name="Marked", version="1.0.0")

    @app.function
    def Marked(a: Any = None) -> None: ...

    operation = app.service.registry.by_name["Marked"]
    wording = structs.replace(operation.wording, schema={"type": "object", **schema})
    return structs.replace(operation, wording=wording)


# ---- what is remembered ------------------------------------------------------------------------------


def test_what_is_sealed_can_be_opened_by_who_has_the_secret_and_the_request() -> None:
    seal, about = state.Seal(b"secret"), state.digest(b"tools/call", b"functions.Add", b"{}")
    answers = {"q": {"action": "accept", "content": {"name": "Ada"}}}
    sealed = seal.close(answers, about)
    assert seal.open(sealed, about) == answers
    assert state.Seal(b"secret").open(sealed, about) == answers
    assert state.Seal(b"another").open(sealed, about) is None
    assert seal.open(sealed, state.digest(b"tools/call", b"functions.Sub", b"{}")) is None


def test_whatever_is_changed_in_it_is_noticed() -> None:
    seal, about = state.Seal(b"secret"), b"about"
    sealed = seal.close({"q": {"ok": True}}, about)
    for at, letter in enumerate(sealed):
        other = "A" if letter != "A" else "B"
        changed = sealed[:at] + other + sealed[at + 1 :]
        assert seal.open(changed, about) in (
            None,
            {"q": {"ok": True}} if _same(changed, sealed) else None,
        )
        assert seal.open(sealed[:at], about) is None


def _same(one: str, other: str) -> bool:
    """Whether two spellings are the same bytes: the last letter may hold bits that nobody reads."""
    try:
        return base64.urlsafe_b64decode(one) == base64.urlsafe_b64decode(other)
    except ValueError:
        return False


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_what_nobody_sealed_opens_nothing(text: str) -> None:
    assert state.Seal(b"secret").open(text, b"about") is None


def test_it_opens_nothing_when_it_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    seal = state.Seal(b"secret")
    sealed = seal.close({}, b"about")
    now = time.time()
    monkeypatch.setattr(state, "time", lambda: now + state.LIFETIME - 1)
    assert seal.open(sealed, b"about") == {}
    monkeypatch.setattr(state, "time", lambda: now + state.LIFETIME + 1)
    assert seal.open(sealed, b"about") is None
