"""What an app offers: how it is defined, listed, found, completed, switched on and off."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kuniumi import Annotations, App, DefinitionError, Icon, UsageError
from kuniumi.core.offers import _matcher
from tests.http.server import Reply, Server, serving
from tests.mcp.official import REVISIONS, STATELESS
from tests.mcp.speaking import Client, FailedError, speaking

OFFERS = Path(__file__).parent / "apps" / "offers.py"
ICON = {
    "src": "https://example.com/i.png",
    "mimeType": "image/png",
    "sizes": ["48x48"],
    "theme": "dark",
}


@pytest.fixture(scope="module", params=REVISIONS)
def client(request: pytest.FixtureRequest) -> Any:
    """Speak every revision with the same app."""
    with speaking(OFFERS, revision=request.param) as client:
        yield client


def listed(client: Client, method: str, key: str, name: str) -> dict[str, Any]:
    entries = client.request(method)[key]
    return next(entry for entry in entries if entry["name"] == name)


# ---- lists -------------------------------------------------------------------------------------------


def test_a_tool_is_described_in_the_words_of_the_revision(client: Client) -> None:
    tool = listed(client, "tools/list", "tools", "functions.Find")
    assert tool["description"] == "Finds notes."
    assert tool["inputSchema"]["properties"]["words"]["description"] == "What they are about"
    hints = {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    meta = {"tags": ["search", "notes"], "example.com/cost": {"unit": "cent", "value": 3}}
    said = (tool.get("annotations"), tool.get("title"), tool.get("_meta"), tool.get("icons"))
    structured = client.revision >= "2025-06-18"
    titled = {"title": "Look it up", **hints}  # before tools had one of their own
    assert said == (
        {"2024-11-05": None, "2025-03-26": titled}.get(client.revision, hints),
        "Look it up" if structured else None,
        meta if structured else None,
        [ICON] if client.revision >= "2025-11-25" else None,
    )
    assert ("outputSchema" in tool) is structured


def test_what_nobody_said_is_not_told(client: Client) -> None:
    tool = listed(client, "tools/list", "tools", "functions.Grow")
    assert set(tool) <= {"name", "description", "inputSchema", "outputSchema"}


def test_a_resource_is_described_in_the_words_of_the_revision(client: Client) -> None:
    found = listed(client, "resources/list", "resources", "index")
    told: dict[str, Any] = {
        "uri": "notes://index",
        "name": "index",
        "description": "What there is",
        "mimeType": "text/markdown",
        "size": 7,
        "annotations": {"audience": ["user"], "priority": 0.5},
    }
    if client.revision >= "2025-06-18":
        told |= {"title": "All notes", "_meta": {"example.com/kept": True}}
        told["annotations"]["lastModified"] = "2026-01-01T00:00:00Z"
    if client.revision >= "2025-11-25":
        told |= {"icons": [ICON]}
    assert found == told


def test_templates_have_a_list_of_their_own(client: Client) -> None:
    plain = {entry["uri"] for entry in client.request("resources/list")["resources"]}
    templates = client.request("resources/templates/list")["resourceTemplates"]
    assert "notes://picture" in plain
    assert [entry["uriTemplate"] for entry in templates] == [
        "notes://by/{author}/{number}",
        "notes://in/{color}{?page,size}",
        "notes://file/{+path}",
    ]
    assert not [uri for uri in plain if "{" in uri]


def test_a_prompt_tells_its_arguments(client: Client) -> None:
    prompt = listed(client, "prompts/list", "prompts", "Greet")
    assert prompt["arguments"] == [
        {"name": "who", "description": "Whom to greet", "required": True},
        {"name": "how", "required": False},
        {"name": "why", "required": False},
        {"name": "mood", "required": False},
    ]
    assert prompt.get("title") == ("Greet somebody" if client.revision >= "2025-06-18" else None)


def test_the_app_says_who_it_is() -> None:
    with speaking(OFFERS) as latest:
        found = latest.request("server/discover")
    assert found["instructions"] == "Look at notes://index first."
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"] == {
        "name": "offers",
        "version": "1.2.3",
        "title": "The Shop of Everything",
        "description": "A shop of everything",
        "websiteUrl": "https://example.com",
        "icons": [ICON],
    }


def test_a_long_list_comes_in_pages(tmp_path: Path) -> None:
    app = tmp_path / "many.py"
    app.write_text(
        "from kuniumi import App\n"
        "app = App(name='Many')\n"
        "def Give() -> None: ...\n"
        "for number in range(2_001): app.register(Give, name=f'Give{number}')\n"
        "app.run()\n"
    )
    with speaking(app) as client:
        names: list[str] = []
        sizes = []
        page = client.request("tools/list")
        while True:
            names += [tool["name"] for tool in page["tools"]]
            sizes.append(len(page["tools"]))
            if "nextCursor" not in page:
                break
            page = client.request("tools/list", cursor=page["nextCursor"])
        assert names == [f"functions.Give{number}" for number in range(2_001)]
        assert sizes == [1000, 1000, 1]
        for cursor in ("", "7", "-1", "3000", "nonsense", "٣"):
            with pytest.raises(FailedError, match="-32602: Invalid params: no page begins at"):
                client.request("tools/list", cursor=cursor)


# ---- resources ---------------------------------------------------------------------------------------


def read(client: Client, uri: str) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = client.request("resources/read", uri=uri)["contents"]
    return contents


@pytest.mark.parametrize(
    ("uri", "contents"),
    [
        ("notes://index", [{"text": "# Notes", "mimeType": "text/markdown"}]),
        ("notes://mine", [{"text": '{"notes":3}', "mimeType": "application/json"}]),
        (
            "notes://picture",
            [{"blob": "iVBORw0KGgoA", "mimeType": "application/octet-stream"}],
        ),
        (
            "notes://many",
            [
                {"uri": "notes://a", "text": "a"},
                {"blob": base64.b64encode(b"b").decode(), "mimeType": "x/y"},
            ],
        ),
        ("notes://by/ann/41", [{"text": "ann 42", "mimeType": "text/plain"}]),
        ("notes://by/J%C3%BCrgen%20M%2F/1", [{"text": "Jürgen M/ 2", "mimeType": "text/plain"}]),
        ("notes://in/red", [{"text": "red 1 10", "mimeType": "text/plain"}]),
        ("notes://in/blue?size=5&page=2&x=1", [{"text": "blue 2 5", "mimeType": "text/plain"}]),
        ("notes://file/a/b/../c.txt", [{"text": "a/b/../c.txt", "mimeType": "text/plain"}]),
    ],
)
def test_resources_are_read(client: Client, uri: str, contents: list[dict[str, Any]]) -> None:
    assert read(client, uri) == [{"uri": uri, **part} for part in contents]


@pytest.mark.parametrize(
    "uri",
    [
        *("notes://nowhere", "notes://by/ann", "notes://by/ann/1/2", "notes://by//1", ""),
        *("notes://by/{author}/{number}", "notes://by/ann/nonsense", "notes://in/green"),
        *("notes://gone", "NOTES://index", "notes://index/"),
    ],
)
def test_where_nothing_is_the_answer_says_so(client: Client, uri: str) -> None:
    with pytest.raises(FailedError, match="Resource not found: ") as failed:
        read(client, uri)
    assert failed.value.code == (-32602 if client.revision == STATELESS else -32002)
    assert failed.value.data == {"uri": uri}


@pytest.mark.parametrize(
    ("uri", "said"), [("notes://locked", "The key is lost"), ("notes://broken", "uri")]
)
def test_what_fails_is_told(client: Client, uri: str, said: str) -> None:
    with pytest.raises(FailedError, match="-32603: ") as failed:
        read(client, uri)
    assert said in failed.value.message


@pytest.mark.parametrize(
    ("uri", "ttl", "scope"),
    [
        ("notes://index", 1500, "public"),
        ("notes://mine", 60_000, "private"),
        ("notes://picture", 0, "public"),
    ],
)
def test_the_latest_revision_tells_how_long_it_may_be_kept(uri: str, ttl: int, scope: str) -> None:
    with speaking(OFFERS) as client:
        result = client.request("resources/read", uri=uri)
        assert (result["ttlMs"], result["cacheScope"]) == (ttl, scope)


@pytest.mark.parametrize(
    ("pattern", "address", "values"),
    [
        ("n://{id}", "n://a%2Fb", {"id": "a/b"}),
        ("n://{id}", "n://a/b", None),
        ("n://{id}", "n://", None),
        ("n://{id}", "n://a?b", None),
        ("n://{+path}/raw", "n://a/raw/b/raw", {"path": "a/raw/b"}),
        ("n://{+folder}/{name}", "n://a/b/c", {"folder": "a/b", "name": "c"}),
        ("n://{+folder}/{name}", "n://a", None),
        ("n://{y}-{m}-{d}", "n://2026-01-02", {"y": "2026", "m": "01", "d": "02"}),
        ("n://{y}-{m}", "n://a-b-c", {"y": "a", "m": "b-c"}),
        ("n://{x,y}.z", "n://1,2.z", {"x": "1", "y": "2"}),
        ("n://a{?x,y}", "n://a", {}),
        ("n://a{?x,y}", "n://a?y=1%26&x=", {"y": "1&", "x": ""}),
        ("n://a?k=1{&x}", "n://a?k=1&x=2", {"x": "2"}),
        ("n://a?k=1{&x}", "n://a?k=1", {}),
        ("n://{+p}{?x}", "n://a/b?x=1", {"p": "a/b", "x": "1"}),
        ("n://a.b", "n://axb", None),
        ("n://{id}", "n://%ff", None),  # no text is written so
        ("n://a{?x}", "n://a?x=%C3", None),
    ],
)
def test_addresses_are_read(pattern: str, address: str, values: dict[str, str] | None) -> None:
    assert _matcher(pattern)(address) == values


@pytest.mark.parametrize("pattern", ["n://{+a}/{+b}/{+c}!", "n://{a}-{b}-{c}-{d}!", "n://{a,b,c}!"])
@pytest.mark.parametrize("char", "/-,a")
def test_no_address_takes_long_to_be_refused(pattern: str, char: str) -> None:
    """A pattern that tries every way to read an address would need hours for these."""
    assert _matcher(pattern)("n://" + char * 1_000_000) is None


# ---- prompts -----------------------------------------------------------------------------------------


def test_a_prompt_is_filled_in(client: Client) -> None:
    begun = client.request("prompts/get", name="Greet", arguments={"who": "Ann", "mood": "glad"})
    assert begun["description"] == "Begins with a greeting."
    assert begun["messages"] == [
        {"role": "user", "content": {"type": "text", "text": "Say hello to Ann glad"}}
    ]


def test_arguments_of_prompts_are_texts_that_become_what_the_types_say(client: Client) -> None:
    given = {"number": "41", "color": "blue", "loud": "true"}
    begun = client.request("prompts/get", name="Count", arguments=given)
    assert [message["role"] for message in begun["messages"]] == ["user", "assistant"]
    assert begun["messages"][0]["content"]["text"] == "42 blue True"


def test_a_prompt_may_hold_any_block(client: Client) -> None:
    (message,) = client.request("prompts/get", name="Show")["messages"]
    assert message["content"] == {
        "type": "resource",
        "resource": {"uri": "notes://a", "text": "words"},
    }


@pytest.mark.parametrize(
    ("name", "arguments", "code", "said"),
    [
        ("Nothing", {}, -32602, "Prompt not found: Nothing"),
        ("Greet", {}, -32602, "Missing argument 'who'"),
        ("Greet", {"who": "Ann", "whom": "Bob"}, -32602, "did you mean 'who'?"),
        ("Count", {"number": "many"}, -32602, "Argument 'number'"),
        ("Wrong", {}, -32603, "role"),
    ],
)
def test_what_is_wrong_with_a_prompt_is_told(
    client: Client, name: str, arguments: dict[str, str], code: int, said: str
) -> None:
    with pytest.raises(FailedError) as failed:
        client.request("prompts/get", name=name, arguments=arguments)
    assert failed.value.code == code
    assert said in failed.value.message


# ---- completion --------------------------------------------------------------------------------------


def complete(
    client: Client, ref: dict[str, str], name: str, typed: str, **given: str
) -> dict[str, Any]:
    params: dict[str, Any] = {"ref": ref, "argument": {"name": name, "value": typed}}
    if given:
        params["context"] = {"arguments": given}
    completion: dict[str, Any] = client.request("completion/complete", **params)["completion"]
    return completion


GREET = {"type": "ref/prompt", "name": "Greet"}
COUNT = {"type": "ref/prompt", "name": "Count"}
NOTE = {"type": "ref/resource", "uri": "notes://by/{author}/{number}"}
COLORED = {"type": "ref/resource", "uri": "notes://in/{color}{?page,size}"}


@pytest.mark.parametrize(
    ("ref", "name", "typed", "values"),
    [
        (NOTE, "author", "an", ["ann", "anna"]),
        (NOTE, "author", "N", ["ann", "anna"]),  # anywhere in it
        (NOTE, "author", "", ["ann", "bob", "anna"]),
        (NOTE, "number", "1", []),  # nobody knows
        (COLORED, "color", "", ["red", "blue"]),  # an enum says it itself
        (GREET, "mood", "s", ["sad"]),  # as does a Literal, with None beside it
        (COUNT, "loud", "t", ["true"]),
        (GREET, "who", "x", ["x!"]),
    ],
)
def test_arguments_are_completed(
    client: Client, ref: dict[str, str], name: str, typed: str, values: list[str]
) -> None:
    found = complete(client, ref, name, typed)
    assert found == {"values": values, "total": len(values), "hasMore": False}


def test_the_arguments_that_are_known_help_to_complete(client: Client) -> None:
    if client.revision >= "2025-06-18":  # the revisions before have no place for them
        assert complete(client, GREET, "who", "x", how="b", why="a")["values"] == ["x!", "a", "b"]


def test_of_many_choices_the_first_hundred_are_told(client: Client) -> None:
    found = complete(client, GREET, "how", "n")
    assert found == {"values": [f"n{n}" for n in range(100)], "total": 150, "hasMore": True}


@pytest.mark.parametrize(
    ("ref", "name", "typed", "code", "said"),
    [
        (GREET, "whom", "", -32602, "it has no argument 'whom'"),
        ({"type": "ref/prompt", "name": "No"}, "x", "", -32602, "nothing called 'No'"),
        ({"type": "ref/resource", "uri": "no://x"}, "x", "", -32602, "nothing called 'no://x'"),
        (GREET, "why", "x", -32603, "LookupError: x"),
        (GREET, "why", "exit", -32603, "SystemExit"),
        (GREET, "why", "text", -32603, "a value of type str, and no list of texts"),
    ],
)
def test_what_keeps_from_completing_is_told(
    client: Client, ref: dict[str, str], name: str, typed: str, code: int, said: str
) -> None:
    with pytest.raises(FailedError) as failed:
        complete(client, ref, name, typed)
    assert failed.value.code == code
    assert said in failed.value.message
    assert client.request("tools/list")["tools"]  # it goes on


def test_where_errors_are_masked_so_are_those_of_choices(tmp_path: Path) -> None:
    app = tmp_path / "masked.py"
    app.write_text(
        "from kuniumi import App\n"
        "app = App(name='Masked', mask_errors=True)\n"
        "@app.prompt(complete={'x': lambda typed, given: 1 / 0})\n"
        "def Ask(x: str) -> str: return x\n"
        "app.run()\n"
    )
    with speaking(app) as client:
        with pytest.raises(FailedError, match="-32603: the choices can't be told"):
            complete(client, {"type": "ref/prompt", "name": "Ask"}, "x", "")
        assert "ZeroDivisionError" in client.errors()


# ---- what changes while it runs ----------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_is_disabled_is_neither_listed_nor_called(revision: str) -> None:
    with speaking(OFFERS, revision=revision) as client:
        if revision == STATELESS:
            _listen(client, toolsListChanged=True)
        client.call("functions.Switch", name="Find", on=False)
        client.wait_to_be_told("notifications/tools/list_changed")
        names = [tool["name"] for tool in client.request("tools/list")["tools"]]
        assert "functions.Find" not in names
        with pytest.raises(FailedError, match="-32602: Function not found"):
            client.call("functions.Find", words="x")
        client.told.clear()
        client.call("functions.Switch", name="functions.Find", on=True)
        client.wait_to_be_told("notifications/tools/list_changed")
        assert client.call("functions.Find", words="x")["isError"] is False
        client.told.clear()
        client.call("functions.Grow", name="Grown")
        client.wait_to_be_told("notifications/tools/list_changed")
        assert client.call("functions.Grown")["isError"] is False
        result = client.call("functions.Switch", name="Nothing", on=True)
        assert result["isError"] is True
        assert "there is no function 'Nothing' to be enabled" in result["content"][0]["text"]


def _listen(client: Client, **wanted: Any) -> None:
    meta = client._stated()
    params = {"notifications": wanted, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params}
    client.send(json.dumps(message).encode())
    client.wait_to_be_told("notifications/subscriptions/acknowledged")


@pytest.mark.parametrize("revision", REVISIONS)
def test_who_subscribed_to_a_resource_is_told_of_changes(revision: str) -> None:
    with speaking(OFFERS, revision=revision) as client:
        if revision == STATELESS:
            _listen(client, resourceSubscriptions=["notes://index"])
        else:
            client.request("resources/subscribe", uri="notes://index")
        client.call("functions.Touch", uri="notes://mine")
        client.call("functions.Touch", uri="notes://index")
        told = client.wait_to_be_told("notifications/resources/updated")
        assert told["params"]["uri"] == "notes://index"


# ---- what is told beside the result ------------------------------------------------------------------


def test_progress_grows_and_is_told_to_who_wants_it(client: Client) -> None:
    client.told.clear()
    client.call("functions.Work")
    assert not [told for told in client.told if told["method"] == "notifications/progress"]
    params = {"name": "functions.Work", "arguments": {}, "_meta": {"progressToken": "p"}}
    client.request("tools/call", **params)
    told = [told["params"] for told in client.told if told["method"] == "notifications/progress"]
    assert [said["progress"] for said in told] == [1, 2, 3]
    assert {(said["progressToken"], said["total"]) for said in told} == {("p", 3)}
    words = ["step 1", "step 2", "step 3"] if client.revision >= "2025-03-26" else [None] * 3
    assert [said.get("message") for said in told] == words


def test_the_log_is_told_from_the_level_that_is_wanted(client: Client) -> None:
    client.told.clear()
    if client.revision == STATELESS:
        meta = {"io.modelcontextprotocol/logLevel": "info"}
        client.request("tools/call", name="functions.Work", arguments={}, _meta=meta)
    else:
        client.request("logging/setLevel", level="info")
        client.call("functions.Work")
    told = [told["params"] for told in client.told if told["method"] == "notifications/message"]
    assert [(said["level"], said["data"]) for said in told] == [
        ("info", "loud words"),
        ("error", "louder"),
    ]
    assert {said["logger"] for said in told} == {"kuniumi.call.functions.Work"}


def test_a_function_sees_what_came_beside_the_arguments(client: Client) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    meta = {"traceparent": trace, "example.com/tenant": "t1"}
    params = {"name": "functions.Trace", "arguments": {}, "_meta": meta}
    text = client.request("tools/call", **params)["content"][0]["text"]
    assert json.loads(text) == {"result": {"traceparent": trace, "tenant": "t1"}}


# ---- headers that repeat arguments -------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Any:
    with serving(OFFERS) as server:
        yield server


def post(server: Server, name: str, arguments: dict[str, Any], **headers: str) -> Reply:
    meta = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": arguments, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return server.request(
        "POST",
        "/mcp",
        json.dumps(body).encode(),
        {
            "Content-Type": "application/json",
            "MCP-Protocol-Version": STATELESS,
            "Mcp-Method": "tools/call",
            "Mcp-Name": name,
            **{f"Mcp-Param-{key}": value for key, value in headers.items()},
        },
    )


def test_parameters_that_are_repeated_are_marked(client: Client) -> None:
    tools = {tool["name"]: tool["inputSchema"] for tool in client.request("tools/list")["tools"]}
    route = tools["functions.Route"]["properties"]
    marks = {name: part["x-mcp-header"] for name, part in route.items()}
    assert marks == {"region": "Region", "count": "Count", "fast": "Fast"}
    assert tools["functions.Marked"]["properties"]["tenant"]["x-mcp-header"] == "Tenant"


@pytest.mark.parametrize(
    ("arguments", "headers", "status"),
    [
        ({"region": "eu"}, {"Region": "eu"}, 200),
        (
            {"region": "eu", "count": 7, "fast": True},
            {"Region": "eu", "Count": "7", "Fast": "true"},
            200,
        ),
        ({"region": "日本"}, {"Region": "=?base64?5pel5pys?="}, 200),
        ({"region": "eu"}, {}, 400),
        ({"region": "eu"}, {"Region": "us"}, 400),
        ({"region": "eu"}, {"Region": "eu", "Count": "7"}, 400),
        ({"region": "eu", "fast": True}, {"Region": "eu", "Fast": "false"}, 400),
        ({"region": "eu"}, {"Region": "=?base64?!?="}, 400),
    ],
)
def test_headers_have_to_say_what_the_arguments_say(
    server: Server, arguments: dict[str, Any], headers: dict[str, str], status: int
) -> None:
    reply = post(server, "functions.Route", arguments, **headers)
    assert reply.status == status
    if status == 400:
        assert reply.json["error"]["code"] == -32020


def test_a_mark_in_the_type_counts_as_well(server: Server) -> None:
    assert post(server, "functions.Marked", {"tenant": "a"}, Tenant="a").status == 200
    assert post(server, "functions.Marked", {"tenant": "a"}, Tenant="b").status == 400


# ---- mistakes in definitions -------------------------------------------------------------------------


def Plain(x: int = 1, y: str = "", z: float = 0, o: str | None = None) -> int:
    return x


def Read(id: str) -> str:  # noqa: A002 - the address's word
    return id


def Still() -> str:
    return ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"title": 5}, "title=5 must be text"),
        ({"icons": ["a.png"]}, "icons=['a.png'] must be a list like [Icon("),
        ({"icons": Icon("a.png")}, "must be a list like [Icon("),
        ({"icons": [Icon(5)]}, "must be a list like [Icon("),  # type: ignore[arg-type]
        ({"icons": [Icon("javascript:alert(1)")]}, "must be a list like [Icon('https://"),
        ({"meta": {"a": object()}}, "must be a dict that JSON can hold"),
        (
            {"meta": {"io.modelcontextprotocol/x": 1}},
            "'io.modelcontextprotocol/x', which is for the",
        ),
        ({"meta": {"a key": 1}}, "meta has 'a key', which is no key like 'example.com/owner'"),
        ({"meta": [1]}, "meta=[1] must be a dict"),
        ({"tags": "one"}, "tags='one' must be a list of texts"),
        ({"read_only": "yes"}, "read_only='yes' must be True or False"),
        ({"read_only": True, "destructive": True}, "contradict each other: drop one"),
        ({"headers": ["x"]}, "headers=['x'] must be a dict, like {'region': 'Region'}"),
        ({"headers": {"q": "Q"}}, "headers names 'q', which is no parameter of it"),
        ({"headers": {"x": "a b"}}, "'a b' of 'x' is no name: write letters, digits, '-'"),
        ({"headers": {"x": "H", "y": "h"}}, "two parameters are to be repeated in 'h'"),
        ({"headers": {"z": "Z"}}, "'z' can't be repeated in a header: make it a text, an integer"),
        ({"headers": {"o": "O"}}, "'o' can't be repeated in a header"),
        ({"input_schema": "x"}, "input_schema='x' must be a dict"),
        ({"input_schema": {"type": "array"}}, "its type must be 'object'"),
        ({"input_schema": {"type": "object", "properties": {"q": {}}}}, "has 'q', which is no"),
        (
            {"input_schema": {"type": "object"}, "headers": {"x": "X"}},
            "headers names 'x', which input_schema leaves out",
        ),
        ({"params": {"q": "?"}}, "params names 'q', which is no parameter of it"),
    ],
)
def test_a_mistake_about_a_tool_names_the_function_and_the_remedy(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(DefinitionError) as found:
        App().register(Plain, **options)
    assert str(found.value).startswith("function 'Plain': ")
    assert said in str(found.value)


@pytest.mark.parametrize(
    ("uri", "function", "options", "said"),
    [
        ("notes/{id}", Read, {}, "begins with a scheme: write it like 'notes://{id}'"),
        ("n://{id", Read, {}, "what stands in braces is a name"),
        ("n://{}", Read, {}, "what stands in braces is a name"),
        ("n://{id}/{id}", Read, {}, "{id} stands there twice"),
        ("n://{id}{+x}", Read, {}, "write something between them"),
        ("n://{?id}/x", Read, {}, "stands at the end, in one: '{?page,size}'"),
        ("n://a{?id}{?x}", Read, {}, "stands at the end, in one"),
        ("n://a{&id}", Read, {}, "begin it with '{?…}'"),
        ("n://ä/{id}", Read, {}, "percent-encode all else"),
        ("n://a b/{id}", Read, {}, "percent-encode all else"),
        ("n://{other}", Read, {}, "{other} is no parameter of 'Read': add it"),
        ("n://a", Read, {}, "what 'id' of 'Read' is: write {id} into it, or give a default"),
        ("n://a", Still, {"mime_type": "text"}, "mime_type='text' must be a type like"),
        ("n://a", Still, {"mime_type": "text/plain\r\nX: y"}, "must be a type like"),
        ("n://a", Still, {"size": -1}, "size=-1 must be a number of bytes"),
        ("n://a", Still, {"size": True}, "size=True must be a number of bytes"),
        ("n://a", Still, {"ttl": -1}, "ttl=-1 must be a number of seconds"),
        ("n://a", Still, {"ttl": float("inf")}, "ttl=inf must be a number of seconds"),
        ("n://a", Still, {"private": "no"}, "private='no' must be True or False"),
        ("n://a", Still, {"annotations": {"priority": 1}}, "must be Annotations("),
        ("n://a", Still, {"annotations": Annotations(priority=2)}, "must be Annotations("),
        ("n://a", Still, {"name": "My notes"}, "write words for people into title=…"),
        ("n://{id}", Read, {"complete": ["id"]}, "must be a dict, like {'id': ['1', '2']}"),
        ("n://{id}", Read, {"complete": {"x": []}}, "complete names 'x', but there are only id"),
        ("n://{id}", Read, {"complete": {"id": "abc"}}, "takes a list of texts, or a function"),
        ("n://{id}", Read, {"complete": {"id": [1]}}, "takes a list of texts, or a function"),
    ],
)
def test_a_mistake_about_a_resource_names_its_address_and_the_remedy(
    uri: str, function: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(DefinitionError) as found:
        App().resource(uri, **options)(function)
    assert str(found.value).startswith(f"resource {uri!r}: ")
    assert said in str(found.value)


def test_a_resource_without_an_address_is_refused_where_it_stands() -> None:
    with pytest.raises(DefinitionError, match="takes an address, not the function 'Still'"):
        App().resource(Still)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "my prompt"}, "prompt 'my prompt': name='my prompt' is for programs"),
        ({"title": 5}, "title=5 must be text"),
        ({"timeout": -1}, "timeout=-1 must be a positive number of seconds"),
        ({"complete": {"x": []}}, "prompt 'Read': complete names 'x', but there are only id"),
        ({"params": 5}, "params=5 must be a dict"),
        ({"icons": 5}, "icons=5 must be a list like [Icon("),
    ],
)
def test_a_mistake_about_a_prompt_is_told(options: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError) as found:
        App().prompt(**options)(Read)
    assert said in str(found.value)


def test_nothing_is_registered_twice() -> None:
    app = App()
    app.prompt(Read)
    app.resource("n://a")(Still)
    with pytest.raises(DefinitionError, match="prompt 'Read' is registered twice"):
        app.prompt(Read)
    with pytest.raises(DefinitionError, match="resource 'n://a' is registered twice"):
        app.resource("n://a")(Still)


def test_what_there_is_not_can_be_neither_switched_nor_changed() -> None:
    app = App()
    with pytest.raises(UsageError, match="there is no function 'Nothing' to be disabled"):
        app.disable("Nothing")
    with pytest.raises(DefinitionError, match="changed='tools' must be 'functions' or"):
        app.changed("tools")  # type: ignore[arg-type]
