"""Tools as each provider is told of them, and the way back from a model's call."""

from __future__ import annotations

import re
from typing import Any

import pydantic
import pytest

from kuniumi import agent
from tests.agent.conftest import Validate


def tool(schema: Any = None, name: str = "t", **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {} if schema is None else schema, **more}


def properties(**found: Any) -> dict[str, Any]:
    return {"type": "object", "properties": found}


TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/definitions/Node"}},
    "required": ["root"],
    "definitions": {
        "Node": {
            "type": "object",
            "description": "One node",
            "properties": {
                "name": {"type": "string"},
                "below": {"type": "array", "items": {"$ref": "#/definitions/Node"}},
            },
            "required": ["name"],
        }
    },
}

SCHEMAS: dict[str, Any] = {
    "none": None,
    "no object": [],
    "true": True,
    "plain": properties(x={"type": "integer"}),
    "required": {**properties(x={"type": "integer"}, y={}), "required": ["x", "z"]},
    "a tree": TREE,
    "definitions and $defs": {
        **properties(a={"$ref": "#/definitions/A"}, b={"$ref": "#/$defs/B"}),
        "definitions": {"A": {"type": "string"}},
        "$defs": {"B": {"type": "integer"}},
    },
    "itself": properties(more={"$ref": "#"}),
    "elsewhere": properties(x={"$ref": "https://example.org/schema"}),
    "nowhere": properties(x={"$ref": "#/$defs/None"}),
    "round and round": properties(x={"$ref": "#/$defs/A"})
    | {"$defs": {"A": {"$ref": "#/$defs/A"}}},
    "a property": properties(x={"type": "string"}, y={"$ref": "#/properties/x"}),
    "its root is a definition": {
        "$ref": "#/$defs/A",
        "$defs": {"A": properties(x={"type": "string"})},
    },
    "a choice at the root": {
        "anyOf": [
            {**properties(a={"type": "string"}), "required": ["a"]},
            {**properties(b={"type": "string"}), "required": ["b"]},
        ]
    },
    "all of at the root": {
        "allOf": [
            {**properties(a={"type": "string"}), "required": ["a"]},
            properties(b={"type": "null"}),
        ]
    },
    "no type at the root": {"properties": {"x": {"type": "string"}}},
    "a string at the root": {"type": "string"},
    "an open map": {"type": "object", "additionalProperties": {"type": "string"}},
    "an open map inside": properties(env={"type": "object", "additionalProperties": True}),
    "any object inside": properties(data={"type": "object"}),
    "anything inside": properties(data={}),
    "a list of anything": properties(data={"type": "array"}),
    "one of": properties(x={"oneOf": [{"type": "string"}, {"type": "integer"}]}),
    "optional already": properties(
        x={"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    ),
    "a choice of words": properties(x={"enum": ["a", "b"]}, y={"type": "string", "enum": ["c"]}),
    "one word": properties(x={"const": "a"}, y={"type": "string", "const": "b"}),
    "bounds": properties(
        x={"type": "string", "minLength": 1, "pattern": "^a"},
        y={"type": "number", "minimum": 0, "exclusiveMaximum": 9},
        z={"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 1},
        w={"type": "string", "format": "uri"},
    ),
    "a tuple": properties(x={"type": "array", "prefixItems": [{"type": "string"}], "items": False}),
    "an old tuple": properties(
        x={"type": "array", "items": [{"type": "string"}, {"type": "null"}]}
    ),
    "words beside a reference": {
        **properties(x={"$ref": "#/$defs/A", "description": "the x"}),
        "$defs": {"A": {"type": "string", "description": "an A"}},
    },
    "all of one": {
        **properties(x={"allOf": [{"$ref": "#/$defs/A"}], "default": "q"}),
        "$defs": {"A": {"type": "string"}},
    },
    "all of two": properties(
        x={"allOf": [properties(a={"type": "string"}), properties(b={"type": "null"})]}
    ),
    "conditions": {**properties(x={"type": "string"}), "if": {}, "then": False},
    "properties with the names of keywords": properties(
        **{"$ref": {"type": "string"}, "type": {"type": "string"}, "properties": {"type": "string"}}
    ),
    "words of older drafts": properties(
        a={"type": "number", "minimum": 0, "exclusiveMinimum": True},
        b={"type": "array", "items": [{}], "additionalItems": False, "required": True},
        c={"type": ["string", "string", "any"], "minLength": "2", "enum": [], "pattern": 7},
        d={"type": "object", "properties": {"q": {}}, "required": ["q", "z"], "examples": {}},
    ),
    "names of any kind": properties(**{"$top": {"type": "integer"}, "a b": {"type": "string"}}),
    "5,001 properties": properties(**{f"p{n}": {"type": "null"} for n in range(5001)}),
    "1,001 words": properties(x={"type": "string", "enum": [f"w{n}" for n in range(1001)]}),
    "300 long words": properties(x={"type": "string", "enum": [f"{n:060}" for n in range(300)]}),
    "looking around": properties(x={"type": "string", "pattern": "^(?!a)"}),
    "a choice that may be null": properties(x={"enum": ["a", None], "type": ["string", "null"]}),
    "garbage": {
        "type": 7,
        "properties": {"x": 3, "y": [], "z": None},
        "required": "x",
        "anyOf": {},
    },
    "12 levels": None,
}
_level: dict[str, Any] = {"type": "string"}
for _ in range(12):
    _level = properties(a=_level)
SCHEMAS["12 levels"] = _level
_doubling = {
    f"D{n}": properties(a={"$ref": f"#/$defs/D{n + 1}"}, b={"$ref": f"#/$defs/D{n + 1}"})
    for n in range(40)
}
SCHEMAS["doubling"] = {
    **properties(x={"$ref": "#/$defs/D0"}),
    "$defs": {**_doubling, "D40": {"type": "string"}},
}


def test_every_schema_is_made_valid_for_every_provider(wrong_with: Validate) -> None:
    tools = [agent.Tools([tool(schema)]) for schema in SCHEMAS.values()]
    sent = [
        (f"{provider}_tools", made)
        for each in tools
        for provider, made in (
            ("openai", each.for_openai()),
            ("openai", each.for_openai(strict=False)),
            ("openai_chat", each.for_openai_chat()),
            ("anthropic", each.for_anthropic()),
            ("anthropic", each.for_anthropic(strict=True)),
            ("gemini", each.for_gemini()),
        )
    ]
    assert wrong_with(sent) == []


STRICT = {
    "none", "plain", "a tree", "definitions and $defs", "itself", "a property",
    "its root is a definition", "a choice at the root", "all of at the root", "no type at the root",
    "a string at the root", "one of", "optional already", "a choice of words", "one word", "bounds",
    "words beside a reference", "all of one", "properties with the names of keywords", "no object",
    "true", "looking around", "a choice that may be null", "names of any kind",
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEMAS)
def test_openai_s_strict_mode_where_it_can_be(name: str) -> None:
    (made,) = agent.Tools([tool(SCHEMAS[name])]).for_openai()
    assert made["strict"] is (name in STRICT)


def test_what_is_optional_may_be_null_in_strict_mode() -> None:
    schema = {
        **properties(x={"type": "integer"}, y={"type": "string", "default": "a"}),
        "required": ["x"],
    }
    (made,) = agent.Tools([tool(schema, description="Adds.")]).for_openai()
    assert made == {
        "type": "function",
        "name": "t",
        "description": "Adds.",
        "parameters": {
            "type": "object",
            "properties": {
                "x": {"type": "integer"},
                "y": {"type": ["string", "null"], "description": '(default: "a")'},
            },
            "required": ["x", "y"],
            "additionalProperties": False,
        },
        "strict": True,
    }


def test_the_null_of_what_was_left_out_is_dropped_again() -> None:
    schema = {
        **properties(
            x={"type": "integer"},
            y={"type": "string"},
            z={"type": ["string", "null"]},
            inner={"$ref": "#/$defs/I"},
            several={"type": "array", "items": {"$ref": "#/$defs/I"}},
        ),
        "required": ["x"],
        "$defs": {
            "I": {**properties(a={"type": "string"}, b={"type": "string"}), "required": ["a"]}
        },
    }
    tools = agent.Tools([tool(schema)])
    found = tools.restore(
        "t",
        '{"x":null,"y":null,"z":null,"inner":{"a":null,"b":null},"several":[{"a":"q","b":null}],"w":null}',
    )
    assert found is not None
    assert found[1] == {
        "x": None,
        "z": None,
        "inner": {"a": None},
        "several": [{"a": "q"}],
        "w": None,
    }


@pytest.mark.parametrize("arguments", ["", "null", "[1]", "{", None, 7])
def test_arguments_that_are_none_are_no_arguments(arguments: Any) -> None:
    found = agent.Tools([tool()]).restore("t", arguments)
    assert found is not None
    assert found[1] == {}
    assert agent.Tools([tool()]).restore("nothing", arguments) is None


def test_references_are_put_in_place_for_gemini() -> None:
    (made,) = agent.Tools([tool(TREE)]).for_gemini()
    schema = made["function_declarations"][0]["parameters_json_schema"]
    node = schema["properties"]["root"]
    assert node["properties"]["name"] == {"type": "string"}
    assert node["properties"]["below"]["items"] == {
        "type": "object",
        "description": "One node (nested, of the same form)",
    }
    assert "$defs" not in schema


def test_references_stay_for_anthropic_in_the_place_it_knows() -> None:
    (made,) = agent.Tools([tool(TREE)]).for_anthropic()
    schema = made["input_schema"]
    assert "definitions" not in schema
    assert schema["properties"]["root"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Node"]["properties"]["below"]["items"] == {"$ref": "#/$defs/Node"}


def test_what_a_dialect_has_no_word_for_is_told_in_the_description() -> None:
    schema = properties(
        x={"type": "string", "minLength": 2, "pattern": "^a", "description": "An x"}
    )
    (made,) = agent.Tools([tool(schema)]).for_gemini()
    found = made["function_declarations"][0]["parameters_json_schema"]["properties"]["x"]
    assert found == {"type": "string", "description": 'An x (minLength: 2, pattern: "^a")'}


def inside(made: list[dict[str, Any]]) -> dict[str, Any]:
    """Give the properties of the only tool."""
    (only,) = made
    (only,) = only.get("function_declarations", made)
    schema = next(
        only[key] for key in ("parameters", "input_schema", "parameters_json_schema") if key in only
    )
    found: dict[str, Any] = schema["properties"]
    return found


def test_every_array_says_something_of_its_items_where_that_is_asked() -> None:
    schema = properties(
        a={"type": "array"},
        b={"type": ["array", "null"], "prefixItems": [{"type": "array"}], "items": False},
    )
    tools = agent.Tools([tool(schema)])
    for made in (tools.for_openai(), tools.for_gemini()):
        found = inside(made)
        assert found["a"]["items"] == found["b"]["items"] == {}
        assert found["b"]["prefixItems"] == [{"type": "array", "items": {}}]
    assert inside(tools.for_anthropic())["a"] == {"type": "array"}


def test_words_of_older_drafts_are_put_in_those_of_today() -> None:
    found = inside(agent.Tools([tool(SCHEMAS["words of older drafts"])]).for_anthropic())
    assert found == {
        "a": {"type": "number", "exclusiveMinimum": 0},
        "b": {"type": "array", "prefixItems": [{}], "items": False},
        "c": {"type": ["string"]},
        "d": {
            "type": "object",
            "properties": {"q": {}},
            "required": ["q", "z"],
            "examples": [],
        },
    }


def test_gemini_is_told_only_what_it_knows() -> None:
    schema = properties(
        a={"enum": ["a", ""]},
        b={"enum": ["a", None], "type": ["string", "null"], "description": "A b"},
        c={"const": True},
        d={"type": "string", "format": "uri"},
        e={"type": "object", "properties": {"q": {}}, "required": ["q", "z"]},
        f={"const": "x"},
        g={"type": "string", "format": "date"},
    )
    assert inside(agent.Tools([tool(schema)]).for_gemini()) == {
        "a": {"description": '(enum: ["a",""])'},
        "b": {
            "description": "A b",
            "anyOf": [{"enum": ["a"], "type": "string"}, {"type": "null"}],
        },
        "c": {"description": "(const: true)"},
        "d": {"type": "string", "description": '(format: "uri")'},
        "e": {"type": "object", "properties": {"q": {}}, "required": ["q"]},
        "f": {"type": "string", "enum": ["x"]},
        "g": {"type": "string", "format": "date"},
    }


def test_names_of_properties_that_are_refused_are_others_on_the_wire() -> None:
    names = ["$top", "filter[id]", "天気", "気", "x" * 70, "a b", "a_b", "ok.-"]
    schema = {**properties(**{name: {"type": "null"} for name in names}), "required": ["$top"]}
    tools = agent.Tools([tool(schema)])
    for made in (tools.for_anthropic(), tools.for_anthropic(strict=True)):
        found = inside(made)
        assert len(found) == len(names)
        assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in found)
        assert {"a_b", "ok.-"} <= set(found)
        assert made[0]["input_schema"]["required"] == ["_top"]
        assert found["_top"]["description"] == "(its own name is '$top')"
        for sent in (found, names):  # other providers are told the names as they are
            restored = tools.restore("t", {name: [at] for at, name in enumerate(sent)})
            assert restored is not None
            assert restored[1] == {name: [at] for at, name in enumerate(names)}


def test_names_fit_every_provider_and_lead_back() -> None:
    names = [
        "Add",
        "functions.Add",
        "functions_Add",
        "a/b",
        "a.b",
        "0",
        "x" * 80,
        "x" * 90,
        "été",
        "-",
    ]
    tools = agent.Tools([tool(name=name) for name in names])
    assert list(tools.names.values()) == names
    assert len(set(tools.names)) == len(names)
    told = list(tools.names)
    assert told[0] == "Add"
    assert told[2] == "functions_Add"
    assert told[1].startswith("functions_Add_")
    for sent, name in tools.names.items():
        found = tools.find(sent)
        assert found is not None
        assert found.name == name
        assert tools.find(name) is not None


def test_names_do_not_depend_on_the_order() -> None:
    names = ["a.b", "a/b", "a_b", "c", "d.e"]
    forth = agent.Tools([tool(name=name) for name in names]).names
    back = agent.Tools([tool(name=name) for name in reversed(names)]).names
    assert {name: sent for sent, name in forth.items()} == {
        name: sent for sent, name in back.items()
    }


def test_two_tools_of_one_name_both_remain() -> None:
    tools = agent.Tools([tool(name="a", description="1"), tool(name="a", description="2")])
    assert len({each["name"] for each in tools.for_anthropic()}) == 2
    found = tools.find("a")
    assert found is not None
    assert found.description == "1"


class Listed(pydantic.BaseModel):
    name: str
    title: str | None = None
    input_schema: dict[str, Any] = pydantic.Field(alias="inputSchema")


class Listing(pydantic.BaseModel):
    tools: list[Listed]


@pytest.mark.parametrize(
    "listing",
    [
        [tool(TREE, title="T")],
        {"tools": [tool(TREE, title="T")]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool(TREE, title="T")]}},
        Listing(tools=[Listed(name="t", title="T", inputSchema=TREE)]),
        [agent.Tool("t", title="T", input_schema=TREE)],
        [{"name": "t", "title": "T", "parameters": TREE}, {"title": "nameless"}, None],
    ],
)
def test_any_list_of_tools_will_do(listing: Any) -> None:
    tools = agent.Tools(listing)
    assert [(each.name, each.title, each.input_schema) for each in tools] == [("t", "T", TREE)]
    assert tools.for_anthropic()[0]["description"] == "T"
    assert agent.Tools(tools).for_openai() == tools.for_openai()


def test_no_tools_are_no_tools() -> None:
    tools = agent.Tools([])
    assert (tools.for_openai(), tools.for_anthropic(), tools.for_gemini()) == ([], [], [])
