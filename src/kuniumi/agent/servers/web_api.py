"""Servers without MCP: those that describe themselves by OpenAPI, and the plain REST tool protocol.

In: an address, or the description that was found there. Out: a `Source`.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from kuniumi.agent.json_text import ABSENT, parse
from kuniumi.agent.servers.link import RefusedError
from kuniumi.agent.servers.openapi import Operation, read_document
from kuniumi.agent.servers.requests import Prepared, prepare
from kuniumi.agent.servers.source import Found
from kuniumi.agent.servers.web import same_origin
from kuniumi.agent.servers.yaml_text import read_yaml
from kuniumi.agent.tools import Tool, read_tool
from kuniumi.core.codec import dumps
from kuniumi.errors import ServerError

if TYPE_CHECKING:
    from kuniumi.agent.servers.source import OnProgress, Trace
    from kuniumi.agent.servers.web import Body, Web

_TOOL_RESULT = "application/vnd.mcp.tool-result+json"
_BUSY = frozenset({429, 502, 503, 504})
_UNTOLD = frozenset({"", "text/plain", "application/octet-stream"})
_VERSION_LINE = re.compile(rb"""^["']?(openapi|swagger)["']?[ \t]*:""", re.MULTILINE)


class OpenApiSource:
    """A server that an OpenAPI document describes."""

    def __init__(self, web: Web, url: httpx.URL, base_url: str = "", name: str = "") -> None:
        self._web = web
        self._url = url
        self._base_url = base_url
        self._name = name
        self._operations: dict[str, Operation] = {}
        self._base = ""
        self._found: Found | None = None  # what was read by opening, until it is asked for

    @property
    def name(self) -> str:
        """What the server calls itself."""
        return self._name

    async def open(self) -> None:
        """Read the document."""
        self._found = await self._read()

    async def list_tools(self) -> Found:
        """Give every operation as a tool."""
        found, self._found = self._found, None
        return found or await self._read()

    async def _read(self) -> Found:
        document = await fetch_document(self._web, self._url)
        settled = self._web.settled
        # It takes a while for a long one, in which other calls go on.
        operations = await asyncio.to_thread(read_document, document, settled)
        self._operations = {each.tool.name: each for each in operations}
        info = document.get("info")
        title = info.get("title") if isinstance(info, dict) else None
        self._name = self._name or (title if isinstance(title, str) else "")
        self._base = self._find_base(document.get("servers"))
        return Found([operation.tool for operation in self._operations.values()])

    async def call(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        on_progress: OnProgress | None,
        trace: Trace | None = None,
    ) -> Any:
        """Send the request of an operation."""
        del on_progress  # nothing tells it
        operation = self._operations.get(tool.name)
        if operation is None:
            raise ServerError(f"the server has no operation {tool.name!r} any more")
        base = self._find_base(operation.servers) if operation.servers else self._base
        return await send(self._web, base, prepare(operation, arguments), trace)

    async def close(self) -> None:
        """Let go of nothing: the connections are the client's."""

    def _find_base(self, servers: Any) -> str:
        """Give the address that paths are appended to."""
        if self._base_url:
            return self._base_url.rstrip("/")
        first = servers[0] if isinstance(servers, list) and servers else None
        said = _filled(first) if isinstance(first, dict) else "/"
        base = self._url.join(said)
        if not same_origin(base, self._url):
            raise ServerError(
                f"the document of {self._url} sends calls to {base}: "
                f"if that is right, say Server(where=…, base_url={str(base)!r})"
            )
        return str(base).rstrip("/")


class RestSource:
    """A server of the plain REST tool protocol: a list of functions, and a request for each call."""

    def __init__(self, web: Web, url: httpx.URL, name: str = "") -> None:
        self._web = web
        self._url = url
        self._name = name
        self._found: Found | None = None

    @property
    def name(self) -> str:
        """What the server calls itself."""
        return self._name

    async def open(self) -> None:
        """See whether there is such a list."""
        self._found = await self._read()

    async def list_tools(self) -> Found:
        """Give the listed functions as tools."""
        found, self._found = self._found, None
        return found or await self._read()

    async def _read(self) -> Found:
        found = await fetch_json(self._web, self._url)
        listed = found
        if isinstance(found, dict):
            listed = found.get("functions", found.get("tools"))
            title = found.get("name")
            self._name = self._name or (title if isinstance(title, str) else "")
        if not isinstance(listed, list):
            raise ServerError(f"{self._url} gives no list of functions")
        return Found([tool for sent in listed if (tool := read_tool(sent)) is not None])

    async def call(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        on_progress: OnProgress | None,
        trace: Trace | None = None,
    ) -> Any:
        """Call a function by a request of its own."""
        del on_progress
        under = str(self._url.copy_with(query=None)).rstrip("/")
        headers = {
            "Content-Type": "application/json",
            "Accept": f"{_TOOL_RESULT}, application/json;q=0.9",
        }
        target = f"/{quote(tool.name, safe='')}"
        request = Prepared("POST", target, headers, dumps(arguments))
        return await send(self._web, under, request, trace)

    async def close(self) -> None:
        """Let go of nothing: the connections are the client's."""


async def send(web: Web, base: str, request: Prepared, trace: Trace | None = None) -> Body:
    """Send a request; an answer is an answer, unless it says to come again."""
    url = httpx.URL(base + request.target)
    headers = request.headers
    if trace is not None:
        headers = {**trace.carrier, **headers}
        trace.facts |= web.facts_of(url) | {"http.request.method": request.method}
    body = await web.fetch(request.method, url, headers, request.body)
    if trace is not None:
        trace.facts["http.response.status_code"] = body.status_code
        if body.status_code >= 400:
            trace.facts["error.type"] = str(body.status_code)
    if body.status_code in _BUSY:
        said = body.content[:500].decode("utf-8", "replace")
        raise RefusedError(
            f"HTTP {body.status_code}: {said}", body.status_code, retry_after=body.retry_after
        )
    return body


async def fetch_json(web: Web, url: httpx.URL) -> Any:
    """Fetch a description."""
    body = await _fetch(web, url, "application/json")
    found = parse(body.content.decode("utf-8", "replace"))
    if found is ABSENT:
        raise ServerError(f"{url} answers with no JSON")
    return found


async def fetch_document(web: Web, url: httpx.URL) -> Any:
    """Fetch a document of OpenAPI, in JSON or in YAML."""
    body = await _fetch(web, url, "application/json, application/yaml;q=0.9, */*;q=0.1")
    found = parse(body.content.decode("utf-8", "replace"))
    if found is not ABSENT:
        return found
    if not _is_yaml(url, body):
        raise ServerError(f"{url} answers with no JSON")
    try:
        return await asyncio.to_thread(read_yaml, body.content)
    except ServerError as error:
        raise ServerError(f"{url}: {error}") from error


async def _fetch(web: Web, url: httpx.URL, accepted: str) -> Body:
    body = await web.fetch("GET", url, {"Accept": accepted})
    if body.status_code >= 400:
        hint = ": give it headers= or auth=" if body.status_code in {401, 403} else ""
        raise RefusedError(f"{url} answered HTTP {body.status_code}{hint}", body.status_code)
    return body


def _is_yaml(url: httpx.URL, body: Body) -> bool:
    """Whether its type, its name or its words say that it is YAML; many servers call that text."""
    return (
        "yaml" in body.media_type
        or url.path.lower().endswith((".yaml", ".yml"))
        or (body.media_type in _UNTOLD and _VERSION_LINE.search(body.content[:4096]) is not None)
    )


def _filled(server: dict[str, Any]) -> str:
    """Give a server's address with its variables filled in by their defaults."""
    url = server.get("url")
    said = url if isinstance(url, str) else "/"
    variables = server.get("variables")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        default = variable.get("default") if isinstance(variable, dict) else None
        said = said.replace(f"{{{name}}}", str(default or ""))
    return said
