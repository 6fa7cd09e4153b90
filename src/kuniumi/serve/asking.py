"""The commands `tools` and `ask`: what servers offer a model, and a call of one of their tools.

In: words. Out: an exit code; what was found, or answered, on stdout.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.errors import ServerError, UsageError
from kuniumi.wire import argv

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kuniumi.agent import Answer, Server, Tool, Toolbox

_PROVIDERS = ("openai", "openai-chat", "anthropic", "gemini")
_SERVER = "an address, a command in quotes, or a file with an app"
_MCP = "from kuniumi.serve.cli import main; main()"


def run_tools(words: Sequence[str]) -> int:
    """List what a model would see of servers."""
    parser = _parser("tools", "List the tools of servers, as models are told of them.")
    parser.add_argument("servers", nargs="+", metavar="SERVER", help=_SERVER)
    parser.add_argument("--for", dest="provider", choices=_PROVIDERS, help="in its form, as JSON")
    parser.add_argument("--json", action="store_true", help="names and schemas, as JSON")
    options = _parsed(parser, words)
    if isinstance(options, int):
        return options

    async def show(tools: Toolbox) -> int:
        if options.provider:
            _say(_pretty(_told(tools, options.provider)))
        elif options.json:
            _say(_pretty([_described(tool) for tool in tools]))
        else:
            _say("\n".join(map(_line, tools)) or "no tools")
        return 0

    return _with_toolbox(options.servers, options, show)


def run_ask(words: Sequence[str]) -> int:
    """Call one tool of a server; 1 if its answer is an error."""
    parser = _parser(
        "ask",
        "Call a tool of a server. Arguments come as flags, in order, or as one JSON object.",
    )
    parser.add_argument("--json", action="store_true", help="the plain form of the answer, as JSON")
    parser.add_argument("server", metavar="SERVER", help=_SERVER)
    parser.add_argument("tool", metavar="TOOL")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="--x 1 ...")
    options = _parsed(parser, words)
    if isinstance(options, int):
        return options

    async def call(tools: Toolbox) -> int:
        tool = tools.find(options.tool)
        schema = tool.input_schema if tool is not None else {}
        raw = argv.read_arguments_of(options.tool, schema, options.arguments)
        answer = await tools.call(options.tool, msgspec.json.decode(raw))
        return _finish(answer, as_json=options.json)

    return _with_toolbox([options.server], options, call)


def _finish(answer: Answer, *, as_json: bool) -> int:
    failed = answer.declared_error
    _say(_pretty(answer.as_dict()) if as_json else answer.text, failed=failed and not as_json)
    return int(failed)


def _parser(command: str, described: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"kuniumi {command}", description=described, allow_abbrev=False
    )
    add = parser.add_argument
    add("--header", action="append", default=[], metavar="'NAME: VALUE'", help="sent to servers")
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="given to processes")
    add("--timeout", type=float, default=60.0, metavar="SECONDS", help="of a call (60)")
    return parser


def _parsed(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace | int:
    try:
        return parser.parse_args(words)
    except SystemExit as stop:  # it has printed its help, or a mistake
        return int(stop.code or 0)


def _with_toolbox(
    servers: list[str], options: argparse.Namespace, use: Callable[[Toolbox], Any]
) -> int:
    from kuniumi.agent import Toolbox  # noqa: PLC0415 - not for help

    described = [_server(word, options) for word in servers]

    async def main() -> int:
        async with Toolbox(*described, timeout=options.timeout) as tools:
            code: int = await use(tools)
            return code

    try:
        return asyncio.run(main())
    except ServerError as error:
        _say(f"kuniumi: {error}", failed=True)
        return 1


def _server(word: str, options: argparse.Namespace) -> Server:
    from kuniumi.agent import Server  # noqa: PLC0415 - not for help

    headers = dict(_pair(header, ":", "--header") for header in options.header)
    variables = dict(_pair(variable, "=", "--env") for variable in options.env)
    where: Any = word
    if " " not in word and (word.endswith(".py") or ".py:" in word) and "://" not in word:
        where = [sys.executable, "-c", _MCP, "mcp", word]
    return Server(where=where, headers=headers, env=variables)


def _pair(given: str, separator: str, flag: str) -> tuple[str, str]:
    name, found, value = given.partition(separator)
    if not found or not name.strip():
        msg = f"{flag} {given!r}: write it as NAME{separator}VALUE"
        raise UsageError(msg)
    return name.strip(), value.strip() if separator == ":" else value


def _told(tools: Toolbox, provider: str) -> Any:
    match provider:
        case "openai":
            return tools.for_openai()
        case "openai-chat":
            return tools.for_openai_chat()
        case "anthropic":
            return tools.for_anthropic()
    return tools.for_gemini()


def _described(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    }


def _line(tool: Tool) -> str:
    properties = tool.input_schema.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    said = (tool.description or tool.title).strip().partition("\n")[0]
    return f"{tool.name}({', '.join(names)})" + (f"  {said}" if said else "")


def _say(text: str, *, failed: bool = False) -> None:
    stream = sys.stderr if failed else sys.stdout
    stream.flush()
    stream.buffer.write(text.rstrip("\n").encode("utf-8", "replace") + b"\n")
    stream.buffer.flush()


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
