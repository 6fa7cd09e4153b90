"""Tools as models are told of them: names and schemas that each provider accepts, and the way back.

In: tools as any server lists them, dicts or an SDK's objects. Out: what goes into a request to a
provider; and for the call that a model then makes, the tool and the arguments that were meant.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.agent import schemas
from kuniumi.agent.json_text import parse
from kuniumi.agent.plain import make_plain
from kuniumi.agent.words import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MAX_NAME = 64
_ACCEPTED = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class Tool(Struct, frozen=True):
    """One tool: its own name, what it does, what it takes and gives; `raw` is how it was listed."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] = {}
    output_schema: dict[str, Any] | None = None
    title: str = ""
    annotations: dict[str, Any] = {}
    raw: Any = None


def read_tool(sent: Any) -> Tool | None:
    """Read a tool as a server lists it; None for what has no name."""
    if isinstance(sent, Tool):
        return sent
    plain = make_plain(sent, [])
    if not isinstance(plain, dict) or not isinstance(plain.get("name"), str) or not plain["name"]:
        return None
    given = _first(plain, dict, "inputSchema", "input_schema", "parameters")
    return Tool(
        plain["name"],
        _first(plain, str, "description") or "",
        given or {},
        _first(plain, dict, "outputSchema", "output_schema"),
        _first(plain, str, "title") or "",
        _first(plain, dict, "annotations") or {},
        sent,
    )


class Tools:
    """The tools that a model may call, in the order given.

    All providers get the same names: those that fit all of them stay, others are rewritten, with a
    hash where two would become the same. `find` and `restore` lead back.
    """

    __slots__ = ("_by_name", "_by_sent", "_sent", "_tools")

    def __init__(self, tools: Any = ()) -> None:
        read = map(read_tool, _listed(tools))
        self._tools = tuple(tool for tool in read if tool is not None)
        self._sent = _send_names([tool.name for tool in self._tools])
        self._by_sent = dict(zip(self._sent, self._tools, strict=True))
        self._by_name = {tool.name: tool for tool in reversed(self._tools)}

    def __iter__(self) -> Iterator[Tool]:
        """Go through the tools."""
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"Tools({', '.join(self._sent)})"

    @property
    def names(self) -> Mapping[str, str]:
        """The tools' own names, by those that models are told."""
        return {sent: tool.name for sent, tool in self._by_sent.items()}

    def find(self, name: str) -> Tool | None:
        """Give the tool that a model means by this name; its own name will do, too."""
        return self._by_sent.get(name) or self._by_name.get(name)

    def restore(self, name: str, arguments: Any) -> tuple[Tool, dict[str, Any]] | None:
        """Give the tool and the arguments that a model means; None if there is no such tool.

        Arguments may be the JSON that some providers send. A null for something optional that
        cannot be null was only sent because a strict schema left no choice: it is dropped.
        """
        tool = self.find(name)
        if tool is None:
            return None
        if isinstance(arguments, str):
            arguments = parse(arguments)
        given = arguments if isinstance(arguments, dict) else {}
        return tool, schemas.restore_arguments(given, tool.input_schema)

    def for_openai(self, *, strict: bool = True) -> list[dict[str, Any]]:
        """Give the tools for OpenAI's Responses API, in strict mode where a schema allows it."""
        return [{"type": "function", **each} for each in self._for_openai(strict=strict)]

    def for_openai_chat(self, *, strict: bool = True) -> list[dict[str, Any]]:
        """Give the tools for OpenAI's Chat Completions API."""
        return [{"type": "function", "function": each} for each in self._for_openai(strict=strict)]

    def for_anthropic(self, *, strict: bool = False) -> list[dict[str, Any]]:
        """Give the tools for Anthropic's Messages API.

        It limits how many tools of a request may be strict, so none is unless you ask for it.
        """
        found = []
        for sent, tool in self._by_sent.items():
            schema, is_strict = schemas.for_anthropic(tool.input_schema, strict=strict)
            described = {"description": words_of(tool)} if words_of(tool) else {}
            marked = {"strict": True} if is_strict else {}
            found.append({"name": sent, **described, "input_schema": schema, **marked})
        return found

    def for_gemini(self) -> list[dict[str, Any]]:
        """Give the tools for the Gemini API: one tool, that declares every function."""
        declared = [
            {
                "name": sent,
                **({"description": words_of(tool)} if words_of(tool) else {}),
                "parameters_json_schema": schemas.for_gemini(tool.input_schema),
            }
            for sent, tool in self._by_sent.items()
        ]
        return [{"function_declarations": declared}] if declared else []

    def _for_openai(self, *, strict: bool) -> Iterator[dict[str, Any]]:
        for sent, tool in self._by_sent.items():
            schema, is_strict = schemas.for_openai(tool.input_schema, strict=strict)
            described = {"description": words_of(tool)} if words_of(tool) else {}
            yield {"name": sent, **described, "parameters": schema, "strict": is_strict}


def words_of(tool: Tool) -> str:
    """Give what a model is told of a tool."""
    return tool.description or tool.title


def _listed(tools: Any) -> Iterable[Any]:
    """Give the tools out of a list, or out of the answer to `tools/list`."""
    if isinstance(tools, Tools):
        return tools
    if isinstance(tools, dict):
        inner = tools.get("result", tools)
        tools = inner.get("tools", ()) if isinstance(inner, dict) else ()
    elif hasattr(tools, "tools"):
        tools = tools.tools
    return tools if isinstance(tools, (list, tuple)) else tuple(tools)


def _send_names(names: list[str]) -> list[str]:
    """Give every tool a name that all providers accept, the same whatever the order."""
    made = [_rewrite(name) for name in names]
    wanted = Counter(made)
    taken: set[str] = {name for name in names if _ACCEPTED.fullmatch(name)}
    used: set[str] = set()
    sent = []
    for name, plain in zip(names, made, strict=True):
        own = plain == name and name not in used
        clashes = wanted[plain] > 1 or plain in taken or len(name) > _MAX_NAME
        given = plain if own or not clashes else _hashed(name, plain, used | taken)
        used.add(given)
        sent.append(given)
    return sent


def _rewrite(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", clean(name))
    if not re.match(r"[A-Za-z_]", plain):
        plain = f"_{plain}"
    return plain[:_MAX_NAME]


def _hashed(name: str, plain: str, used: set[str]) -> str:
    from hashlib import sha256  # noqa: PLC0415 - few names need it

    for turn in range(len(used) + 1):
        digest = sha256(f"{name}\0{turn}".encode("utf-8", "replace")).hexdigest()[:8]
        found = f"{plain[: _MAX_NAME - 9]}_{digest}"
        if found not in used:
            break
    return found


def _first(plain: dict[str, Any], kind: type, *names: str) -> Any:
    return next((plain[name] for name in names if isinstance(plain.get(name), kind)), None)
