"""The desk: one request of MCP in, one result out, whatever carried it here.

In: a `Request`, the `Terms` on which its client speaks, and the `Line` back to it. Out: the bytes of
a result, or an `RpcError`. It must not know of pipes, sockets or sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.core.call import Call
from kuniumi.core.codec import dumps
from kuniumi.core.fault import Fault, Kind, not_found
from kuniumi.execute.loop import answer
from kuniumi.wire.jsonrpc import INTERNAL, INVALID_PARAMS, MALFORMED, NO_METHOD, RpcError
from kuniumi.wire.mcp import messages
from kuniumi.wire.mcp.headers import MISSING_CAPABILITY
from kuniumi.wire.mcp.listing import FRESH, Lists
from kuniumi.wire.mcp.results import (
    Stamp,
    implementation,
    stamp,
    write_caching,
    write_contents,
    write_prompt,
    write_tool_result,
)
from kuniumi.wire.mcp.revisions import LATEST, REVISIONS, Revision
from kuniumi.wire.mcp.state import Seal
from kuniumi.wire.status import TABLE, is_result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kuniumi.core.call import Envelope
    from kuniumi.core.offers import Resource
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service
    from kuniumi.wire.jsonrpc import Request

    Result = bytes | RpcError
    Watch = Callable[[], Awaitable[object]]
    Handler = Callable[["Desk", Request, "Terms", "Line"], Awaitable[Result]]

INFO = 20


class Terms(Struct, frozen=True, kw_only=True):
    """On which terms a client speaks: said once in a handshake, or with every request."""

    revision: Revision
    able: frozenset[str] = frozenset()  # which questions it takes
    log_level: int | None = INFO  # what it wants to hear of the log; `None` for nothing
    pushes: bool = False  # whether it can be told of changes at any time


class Line(Struct, frozen=True, kw_only=True):
    """The way back to a client while its request is at work."""

    tell: Callable[[bytes], None] | None = None  # send it a message, from any thread
    ask: Callable[[str, dict[str, Any]], Awaitable[Mapping[str, Any]]] | None = None
    gone: Watch | None = None  # ends when it waits no longer
    release: Callable[[], None] | None = None  # have it leave, and come back for the answer


NO_LINE = Line()


class Desk:
    """Answers the requests of all clients of one app."""

    def __init__(self, service: Service, secret: bytes) -> None:
        self.service = service
        self.seal = Seal(secret)
        self._lists = Lists(service.registry)
        self._stamps: dict[str, Stamp] = {}

    def stamp(self, revision: Revision) -> Stamp:
        """Give what stands in every result of a revision."""
        found = self._stamps.get(revision.name)
        if found is None:
            found = self._stamps[revision.name] = stamp(self.service.registry.about, revision)
        return found

    async def answer(self, request: Request, terms: Terms, line: Line = NO_LINE) -> Result:
        """Take one request all the way."""
        handler = (_STATELESS if terms.revision.stateless else _WITH_HANDSHAKE).get(request.method)
        if handler is None:
            return RpcError(NO_METHOD, f"Method not found: {request.method}")
        return await handler(self, request, terms, line)

    def talks(self, request: Request) -> bool:
        """Whether a request may have its client told or asked something before its result."""
        if request.method not in {"tools/call", "resources/read", "prompts/get"}:
            return False
        operation = self.operation_of(request)
        return operation is not None and operation.wants_context

    def operation_of(self, request: Request) -> Operation | None:
        """Give the operation that a request would run, if it would run one."""
        registry = self.service.registry
        if request.method == "resources/read":
            read = messages.read_params(request.params, messages.ReadResource)
            found = None if isinstance(read, RpcError) else self._resource_at(read.uri)
            return found[0].operation if found else None
        named = messages.read_params(request.params, messages.CallTool)
        if isinstance(named, RpcError):
            return None
        if request.method == "tools/call":
            return registry.by_id.get(named.name) or registry.by_name.get(named.name)
        prompt = registry.prompts.get(named.name)
        return prompt.operation if prompt else None

    # ---- what the app is ------------------------------------------------------------------------

    def capabilities(self, terms: Terms) -> dict[str, Any]:
        """Say what this app offers on these terms."""
        registry = self.service.registry
        changes = {"listChanged": True} if terms.pushes else {}
        offered: dict[str, Any] = {"tools": changes}
        if registry.resources:
            offered["resources"] = {**changes, **({"subscribe": True} if terms.pushes else {})}
        if registry.prompts:
            offered["prompts"] = changes
        if terms.revision.annotations and (registry.resources or registry.prompts):
            offered["completions"] = {}
        if any(operation.wants_context for operation in registry):
            offered["logging"] = {}
        return offered

    def greet(self, terms: Terms) -> bytes:
        """Write the result of a handshake."""
        about = self.service.registry.about
        instructions = about.instructions
        return dumps(
            {
                "protocolVersion": terms.revision.name,
                "capabilities": self.capabilities(terms),
                "serverInfo": implementation(about, terms.revision),
                **({"instructions": instructions} if instructions else {}),
            }
        )

    async def discover(self, _request: Request, terms: Terms, _line: Line) -> Result:
        """Say what is spoken and offered here."""
        instructions = self.service.registry.about.instructions
        fields = b'"supportedVersions":%b,"capabilities":%b%b%b' % (
            dumps(supported()),
            dumps(self.capabilities(terms)),
            b',"instructions":%b' % dumps(instructions) if instructions else b"",
            write_caching(LATEST, FRESH),
        )
        return self.stamp(terms.revision).around(fields)

    async def ping(self, _request: Request, _terms: Terms, _line: Line) -> Result:
        """Show a sign of life."""
        return b"{}"

    async def set_level(self, request: Request, _terms: Terms, _line: Line) -> Result:
        """Accept a level; whoever keeps a session with this client has noted it already."""
        found = messages.read_params(request.params, messages.SetLevel)
        return found if isinstance(found, RpcError) else b"{}"

    async def list_page(self, request: Request, terms: Terms, _line: Line) -> Result:
        """List what there is, page by page."""
        params = messages.read_params(request.params, messages.ListPage)
        if isinstance(params, RpcError):
            return params
        key = _LISTS[request.method]
        page = self._lists.page(key, params.cursor, terms.revision, self.stamp(terms.revision))
        if page is None:
            return RpcError(INVALID_PARAMS, f"Invalid params: no page begins at {params.cursor!r}")
        return page

    # ---- tools ----------------------------------------------------------------------------------

    async def call_tool(self, request: Request, terms: Terms, line: Line) -> Result:
        """Call a function."""
        params = messages.read_params(request.params, messages.CallTool)
        if isinstance(params, RpcError):
            return params
        registry = self.service.registry
        operation = registry.by_id.get(params.name) or registry.by_name.get(params.name)
        if operation is None:
            return RpcError(INVALID_PARAMS, not_found(params.name).message)
        ended = await self._run(operation, bytes(params.arguments), request, params, terms, line)
        if isinstance(ended, (bytes, RpcError)):
            return ended
        fault = ended.fault
        if fault is not None and (error := _error_of(fault, terms.revision)) is not None:
            return error
        return write_tool_result(ended, terms.revision, self.stamp(terms.revision))

    async def _run(
        self,
        operation: Operation,
        arguments: bytes,
        request: Request,
        params: messages.CallTool | messages.GetPrompt | messages.ReadResource,
        terms: Terms,
        line: Line,
    ) -> Envelope | Result:
        """Run what a request is about; only a function that wants its context can converse."""
        limit = self.service.limit(operation)
        if arguments == b"null":
            arguments = b""
        if not operation.wants_context:
            return await answer(
                operation, Call(operation.operation_id, arguments), limit, line.gone
            )
        from kuniumi.serve.mcp.conversation import converse  # noqa: PLC0415 - most functions never ask

        return await converse(self, operation, arguments, request, params, terms, line)

    # ---- resources and prompts ------------------------------------------------------------------

    def _resource_at(self, uri: str) -> tuple[Resource, dict[str, str]] | None:
        found = self.service.registry.resources.get(uri)
        if found is not None and not found.is_template:
            return found, {}
        for resource in self.service.registry.resources.values():
            values = resource.match(uri)
            if values is not None:
                return resource, values
        return None

    async def read_resource(self, request: Request, terms: Terms, line: Line) -> Result:
        """Read what is at an address."""
        params = messages.read_params(request.params, messages.ReadResource)
        if isinstance(params, RpcError):
            return params
        found = self._resource_at(params.uri)
        if found is None:
            return _no_resource(params.uri, terms.revision)
        resource, values = found
        ended = await self._run(resource.operation, dumps(values), request, params, terms, line)
        if isinstance(ended, (bytes, RpcError)):
            return ended
        if ended.fault is not None:
            if ended.fault.kind is Kind.BAD_ARGUMENTS or ended.fault.status == 404:
                return _no_resource(params.uri, terms.revision)
            return _failure(ended.fault, terms.revision)
        answered = params.input_responses or params.request_state
        fresh = 0 if answered else resource.ttl
        caching = write_caching(terms.revision, fresh, private=resource.private)
        return write_contents(ended.body, params.uri, caching, self.stamp(terms.revision))

    async def get_prompt(self, request: Request, terms: Terms, line: Line) -> Result:
        """Begin a conversation."""
        params = messages.read_params(request.params, messages.GetPrompt)
        if isinstance(params, RpcError):
            return params
        prompt = self.service.registry.prompts.get(params.name)
        if prompt is None:
            return RpcError(INVALID_PARAMS, f"Prompt not found: {params.name}")
        arguments = bytes(params.arguments)
        ended = await self._run(prompt.operation, arguments, request, params, terms, line)
        if isinstance(ended, (bytes, RpcError)):
            return ended
        if ended.fault is not None:
            return _failure(ended.fault, terms.revision)
        from kuniumi.core.describe import words_of  # noqa: PLC0415 - not for calls of tools

        description = words_of(prompt.operation).description
        revision = terms.revision
        return write_prompt(ended.body, description, revision, self.stamp(revision))

    async def complete(self, request: Request, terms: Terms, _line: Line) -> Result:
        """Complete an argument."""
        from kuniumi.serve.mcp import completing  # noqa: PLC0415 - few complete

        found = await completing.complete(self.service.registry, request)
        if isinstance(found, RpcError):
            return found
        return self.stamp(terms.revision).around(b'"completion":%b' % dumps(found))


def supported() -> list[str]:
    """Name all revisions that are spoken here, the latest first."""
    return list(reversed(REVISIONS))


def _error_of(fault: Fault, revision: Revision) -> RpcError | None:
    """Give the error that a fault is, or nothing where a tool's result tells of it."""
    if fault.kind is Kind.CANNOT_ASK and revision.stateless:
        return _missing(fault)
    if is_result(fault):
        return None
    if fault.kind is Kind.NOT_AN_OBJECT:  # of a message that is one: only its arguments are not
        return RpcError(INVALID_PARAMS, "Invalid params: arguments have to be an object")
    if fault.kind is Kind.MALFORMED:
        return RpcError(MALFORMED, "Parse error: the arguments are no JSON")
    return RpcError(TABLE[fault.kind].rpc, fault.message)


def _missing(fault: Fault) -> RpcError:
    able, _, part = fault.needs.partition(".")
    required: dict[str, Any] = {able: {part: {}} if part else {}}
    return RpcError(MISSING_CAPABILITY, fault.message, {"requiredCapabilities": required})


def _failure(fault: Fault, revision: Revision) -> RpcError:
    """Give the error that a fault is where there is no result that could tell of it."""
    error = _error_of(fault, revision)
    if error is not None:
        return error
    code = INVALID_PARAMS if fault.kind is Kind.BAD_ARGUMENTS else INTERNAL
    return RpcError(code, fault.message)


def _no_resource(uri: str, revision: Revision) -> RpcError:
    return RpcError(revision.no_resource, f"Resource not found: {uri}", {"uri": uri})


_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}

_COMMON: dict[str, Handler] = {
    "tools/call": Desk.call_tool,
    "resources/read": Desk.read_resource,
    "prompts/get": Desk.get_prompt,
    "completion/complete": Desk.complete,
    **dict.fromkeys(_LISTS, Desk.list_page),
}
_STATELESS: dict[str, Handler] = {**_COMMON, "server/discover": Desk.discover}
_WITH_HANDSHAKE: dict[str, Handler] = {
    **_COMMON,
    "ping": Desk.ping,
    "logging/setLevel": Desk.set_level,
}
