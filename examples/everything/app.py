"""Everything an app can offer a model: tools, resources, prompts, questions, streams.

    python examples/everything/app.py serve --port 8080      then point a client at /mcp
    python examples/everything/app.py mcp                    the same on stdin and stdout

The names are those that the official conformance suite of MCP asks for.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Any, Literal

from kuniumi import (
    App,
    Audio,
    CannotAskError,
    Contents,
    Context,
    DeclinedError,
    EmbeddedResource,
    FunctionError,
    Image,
    Message,
    Text,
)

app = App(
    name="Everything",
    version="1.0.0",
    description="One of everything that MCP knows",
    instructions="A server to try things on. Nothing it says matters, and nothing it does lasts.",
)

RED_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
SILENCE = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
BEAT = 0.05


# ---- tools: what they can give -----------------------------------------------------------------------


@app.function(operation_id="test_simple_text", title="Simple text", read_only=True)
async def simple_text() -> Text:
    """Gives one block of text."""
    return Text("This is a simple text response for testing.")


@app.function(operation_id="add", idempotent=True, open_world=False)
async def add(a: int, b: int) -> int:
    """Adds two integers.

    Args:
        a: First integer to add
        b: Second integer to add

    Returns:
        Sum of a and b
    """
    return a + b


@app.function(operation_id="test_image_content")
async def image_content() -> Image:
    """Gives a picture."""
    return Image(RED_DOT)


@app.function(operation_id="test_audio_content")
async def audio_content() -> Audio:
    """Gives a sound."""
    return Audio(SILENCE)


@app.function(operation_id="test_embedded_resource")
async def embedded_resource() -> EmbeddedResource:
    """Gives a resource, right in the answer."""
    words = "This is an embedded resource content."
    return EmbeddedResource(Contents("test://embedded-resource", words, mime_type="text/plain"))


@app.function(operation_id="test_multiple_content_types")
async def multiple_content_types() -> list[Text | Image | EmbeddedResource]:
    """Gives blocks of several kinds."""
    data = '{"test":"data","value":123}'
    return [
        Text("Multiple content types test:"),
        Image(RED_DOT),
        EmbeddedResource(
            Contents("test://mixed-content-resource", data, mime_type="application/json")
        ),
    ]


@app.function(operation_id="test_error_handling")
async def error_handling() -> str:
    """Always fails."""
    raise FunctionError("This tool intentionally returns an error for testing")


@app.function(operation_id="test_x_mcp_header", headers={"region": "Region"})
async def x_mcp_header(region: str = "nowhere") -> Text:
    """Takes an argument that clients repeat in a header, for others to route by."""
    return Text(f"Handled in {region}")


@app.function(
    operation_id="json_schema_2020_12_tool",
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
async def register_contact(
    name: str = "",
    address: dict[str, str] | None = None,
    contactMethod: Literal["phone", "email"] = "email",  # noqa: N803 - the name callers see
    phone: str = "",
    email: str = "",
) -> str:
    """Takes arguments whose schema says more than types can."""
    return f"{name}: {phone if contactMethod == 'phone' else email}"


# ---- tools: what they can do while they run ----------------------------------------------------------


@app.function(operation_id="test_tool_with_progress")
async def with_progress(ctx: Context) -> Text:
    """Reports how far it has come."""
    for done in (0, 50, 100):
        ctx.progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(BEAT)
    return Text("Done, step by step")


@app.function(operation_id="test_tool_with_logging")
async def with_logging(ctx: Context) -> Text:
    """Logs what it does."""
    ctx.log.info("Tool execution started")
    await asyncio.sleep(BEAT)
    ctx.log.info("Tool processing data")
    await asyncio.sleep(BEAT)
    ctx.log.info("Tool execution completed")
    return Text("Logged")


@app.function(operation_id="test_logging_tool")
async def logging_tool(ctx: Context) -> Text:
    """Logs a line, which only a client that asked for the log gets to see."""
    ctx.log.info("Somebody called")
    return Text("Logged")


@app.function(operation_id="test_slow")
async def slow(seconds: float, ctx: Context) -> str:
    """Takes its time, and stops when nobody waits any more.

    Args:
        seconds: How long
    """
    steps = max(1, round(seconds / BEAT))
    for step in range(steps):
        ctx.progress(step, steps)
        await asyncio.sleep(seconds / steps)
    return f"Slept for {seconds:g} seconds"


@app.function(operation_id="test_reconnection")
async def reconnection(ctx: Context) -> Text:
    """Lets its caller hang up, and come back for the answer."""
    ctx.release()
    await asyncio.sleep(2 * BEAT)
    return Text("You came back")


@app.function(operation_id="test_trigger_tool_change")
async def trigger_tool_change() -> Text:
    """Takes a tool off the list, and puts it back."""
    app.disable("add")
    app.enable("add")
    return Text("The list of tools has changed, twice")


@app.function(operation_id="test_trigger_prompt_change")
async def trigger_prompt_change() -> Text:
    """Tells that the list of prompts has changed."""
    app.changed("prompts")
    return Text("The list of prompts has changed")


@app.function(operation_id="test_update_resource")
async def update_resource() -> Text:
    """Tells that the watched resource has changed."""
    app.updated("test://watched-resource")
    return Text("The watched resource has changed")


# ---- tools: what they can ask ------------------------------------------------------------------------

PERSON = {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}


async def _asked(ctx: Context, message: str, schema: dict[str, Any], key: str = "") -> Text:
    try:
        answer = await ctx.ask(message, schema, key=key)
    except DeclinedError as declined:
        return Text(f"User response: {declined.action}")
    return Text(f"User response: accept {answer}")


@app.function(operation_id="test_elicitation")
async def elicitation(message: str, ctx: Context) -> Text:
    """Asks the person for a name and an address.

    Args:
        message: What to say
    """
    return await _asked(ctx, message, PERSON)


@app.function(operation_id="test_ask")
async def ask(message: str, ctx: Context) -> Text:
    """Asks the person for a name and an address.

    Args:
        message: What to say
    """
    return await _asked(ctx, message, PERSON)


@app.function(operation_id="test_streaming_elicitation")
async def streaming_elicitation(ctx: Context) -> Text:
    """Asks the person for a name."""
    return await _asked(ctx, "Who is there?", PERSON)


@app.function(operation_id="test_elicitation_sep1034_defaults")
async def elicitation_defaults(ctx: Context) -> Text:
    """Asks with a form that is filled in already."""
    form = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "default": True},
        },
        "required": [],
    }
    return await _asked(ctx, "Please review and update the form fields with defaults", form)


@app.function(operation_id="test_elicitation_sep1330_enums")
async def elicitation_enums(ctx: Context) -> Text:
    """Asks with every kind of choice there is."""
    options = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{number}", "title": title}
        for number, title in enumerate(("First", "Second", "Third"), start=1)
    ]
    form = {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
        "required": [],
    }
    return await _asked(ctx, "Please select options from the enum fields", form)


@app.function(operation_id="test_sampling")
async def sampling(prompt: str, ctx: Context) -> Text:
    """Has the caller's model say something.

    Args:
        prompt: What to say to it
    """
    reply = await ctx.sample(prompt, max_tokens=100)
    return Text(f"LLM response: {reply.text}")


@app.function(operation_id="test_missing_capability")
async def missing_capability(ctx: Context) -> str:
    """Can't do without the caller's model."""
    return (await ctx.sample("Are you there?", max_tokens=10)).text


@app.function(operation_id="test_input_required_result_elicitation")
async def needs_name(ctx: Context) -> Text:
    """Asks for a name, and greets."""
    return Text(f"Hello, {(await _name(ctx))}!")


async def _name(ctx: Context) -> str:
    form = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }
    answer = await ctx.ask("What is your name?", form, key="user_name")
    return str(answer["name"])


@app.function(operation_id="test_input_required_result_sampling")
async def needs_model(ctx: Context) -> Text:
    """Asks the caller's model."""
    question = "What is the capital of France?"
    reply = await ctx.sample(question, max_tokens=100, key="capital_question")
    return Text(reply.text)


@app.function(operation_id="test_input_required_result_list_roots")
async def needs_roots(ctx: Context) -> Text:
    """Asks for the caller's folders."""
    roots = await ctx.roots(key="client_roots")
    return Text(", ".join(root.uri for root in roots) or "no folders")


OK = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


@app.function(operation_id="test_input_required_result_request_state")
async def needs_state(ctx: Context) -> Text:
    """Asks for a confirmation, and remembers what for."""
    await ctx.ask("Is that all right?", OK, key="confirm")
    return Text("state-ok")


@app.function(operation_id="test_input_required_result_tampered_state")
async def needs_honesty(ctx: Context) -> Text:
    """Asks for a confirmation, and does not let what it remembers be changed."""
    await ctx.ask("Is that all right?", OK, key="confirm")
    return Text("Nobody meddled")


@app.function(operation_id="test_input_required_result_multiple_inputs")
async def needs_several(ctx: Context) -> Text:
    """Asks several things side by side."""
    name, greeting, roots = await asyncio.gather(
        _name(ctx),
        ctx.sample("Say hello.", max_tokens=50, key="greeting"),
        ctx.roots(key="client_roots"),
    )
    return Text(f"{greeting.text} {name}, from {len(roots)} folders")


@app.function(operation_id="test_input_required_result_multi_round")
async def needs_rounds(ctx: Context) -> Text:
    """Asks one thing after another."""
    first = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    second = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
    name = await ctx.ask("What is your name?", first, key="step1")
    color = await ctx.ask(f"Which color, {name.get('name')}?", second, key="step2")
    return Text(f"{name.get('name')} likes {color.get('color')}")


@app.function(operation_id="test_input_required_result_capabilities")
async def needs_what_there_is(ctx: Context) -> Text:
    """Asks the person, or else the model."""
    try:
        return Text(await _name(ctx))
    except CannotAskError:
        return Text((await ctx.sample("Make up a name.", max_tokens=20, key="name")).text)


# ---- resources ---------------------------------------------------------------------------------------


@app.resource("test://static-text", mime_type="text/plain", title="Static text", ttl=60)
def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@app.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """A picture that never changes."""
    return RED_DOT


@app.resource(
    "test://template/{id}/data",
    mime_type="application/json",
    complete={"id": ["123", "124", "200"]},
)
def template(id: str) -> dict[str, Any]:  # noqa: A002 - it is the address's word
    """Data of one of many."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@app.resource("test://watched-resource", mime_type="text/plain")
def watched() -> str:
    """A text that may change."""
    return "Watched resource content"


# ---- prompts -----------------------------------------------------------------------------------------


@app.prompt(name="test_simple_prompt")
def simple_prompt() -> str:
    """A simple beginning."""
    return "This is a simple prompt for testing."


@app.prompt(name="test_prompt_with_arguments", complete={"arg1": ["test", "testing", "other"]})
def prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A beginning with two words filled in.

    Args:
        arg1: First word
        arg2: Second word
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@app.prompt(name="test_prompt_with_embedded_resource")
def prompt_with_resource(resourceUri: str) -> list[Message]:  # noqa: N803 - the name callers see
    """A beginning with something to read.

    Args:
        resourceUri: Where it is from
    """
    words = "Embedded resource content for testing."
    contents = Contents(resourceUri, words, mime_type="text/plain")
    return [
        Message("user", EmbeddedResource(contents)),
        Message("user", Text("Please process the embedded resource above.")),
    ]


@app.prompt(name="test_prompt_with_image")
def prompt_with_image() -> list[Message]:
    """A beginning with something to look at."""
    return [
        Message("user", Image(RED_DOT)),
        Message("user", Text("Please analyze the image above.")),
    ]


@app.prompt(name="test_input_required_result_prompt")
async def prompt_that_asks(ctx: Context) -> str:
    """A beginning that asks for what it is about."""
    form = {
        "type": "object",
        "properties": {"context": {"type": "string"}},
        "required": ["context"],
    }
    answer = await ctx.ask("What is it about?", form, key="user_context")
    return f"Let us talk about {answer['context']}."


if __name__ == "__main__":
    app.run()
