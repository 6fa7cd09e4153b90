"""The desk: one request of MCP in, one result out, whatever carried it here.

In: a `Request`, the `Terms` on which its client speaks, and the `Line` back to it. Out: the bytes of
a result, or an `RpcError`. It must not know of pipes, sockets or sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.core.call import Call, Envelope
from kuniumi.core.caller import NOBODY, Caller
from kuniumi.core.codec import dumps
from kuniumi.core.fault import Fault, Kind, clipped, not_found
from kuniumi.execute.loop import answer
from kuniumi.serve.mcp.terms import supported
from kuniumi.wire.jsonrpc import INTERNAL, INVALID_PARAMS, MALFORMED, NO_METHOD, RpcError
from kuniumi.wire.mcp import messages
from kuniumi.wire.mcp.headers import MISSING_CAPABILITY
from kuniumi.wire.mcp.listing import FRESH, Lists
from kuniumi.wire.mcp.messages import whole_meta
from kuniumi.wire.mcp.results import (
    Stamp,
    implementation,
    stamp,
    write_caching,
    write_contents,
    write_prompt,
    write_tool_result,
)
from kuniumi.wire.mcp.revisions import LATEST
from kuniumi.wire.mcp.state import Seal
from kuniumi.wire.status import TABLE, is_result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kuniumi.core.offers import Resource
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service
    from kuniumi.serve.mcp.terms import Terms
    from kuniumi.wire.jsonrpc import Request
    from kuniumi.wire.mcp.messages import AnyParams
    from kuniumi.wire.mcp.revisions import Revision

    Result = bytes | RpcError
    Watch = Callable[[], Awaitable[object]]
    Handler = Callable[["Desk", Request, Any, Terms, "Line"], Awaitable[Result]]


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

    def answer(
        self, request: Request, params: AnyParams, terms: Terms, line: Line = NO_LINE
    ) -> Awaitable[Result]:
        """Take one request all the way."""
        handlers = _STATELESS if terms.revision.stateless else _WITH_HANDSHAKE
        handler = handlers.get(request.method, Desk.refuse)
        return handler(self, request, params, terms, line)

    async def refuse(self, request: Request, _params: Any, _terms: Terms, _line: Line) -> Result:
        """Say that there is no such method."""
        return RpcError(NO_METHOD, f"Method not found: {clipped(request.method)}")

    def operation_of(self, params: AnyParams) -> Operation | None:
        """Give the operation that a request would run, if it would run one."""
        if type(params) is messages.CallTool:
            registry = self.service.registry
            return registry.by_id.get(params.name) or registry.by_name.get(params.name)
        if isinstance(params, messages.ReadResource):
            found = self._resource_at(params.uri)
            return found[0].operation if found else None
        if isinstance(params, messages.GetPrompt):
            prompt = self.service.registry.prompts.get(params.name)
            return prompt.operation if prompt else None
        return None

    # ---- what the app is ------------------------------------------------------------------------

    @property
    def converses(self) -> bool:
        """Whether anything here may tell or ask its caller something."""
        registry = self.service.registry
        read = (resource.operation for resource in registry.resources.values())
        begun = (prompt.operation for prompt in registry.prompts.values())
        return any(operation.wants_context for operation in (*registry, *read, *begun))

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
        if self.converses:
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

    async def discover(self, _request: Request, _params: Any, terms: Terms, _line: Line) -> Result:
        """Say what is spoken and offered here."""
        instructions = self.service.registry.about.instructions
        fields = b'"supportedVersions":%b,"capabilities":%b%b%b' % (
            dumps(supported()),
            dumps(self.capabilities(terms)),
            b',"instructions":%b' % dumps(instructions) if instructions else b"",
            write_caching(LATEST, FRESH),
        )
        return self.stamp(terms.revision).around(fields)

    async def ping(self, _request: Request, _params: Any, _terms: Terms, _line: Line) -> Result:
        """Show a sign of life."""
        return b"{}"

    async def set_level(
        self, _request: Request, _params: Any, _terms: Terms, _line: Line
    ) -> Result:
        """Accept a level; whoever keeps a session with this client has noted it already."""
        return b"{}"

    async def list_page(
        self, request: Request, params: messages.ListPage, terms: Terms, _line: Line
    ) -> Result:
        """List what there is, page by page."""
        key = _LISTS[request.method]
        page = self._lists.page(key, params.cursor, terms.revision, self.stamp(terms.revision))
        if page is None:
            return RpcError(INVALID_PARAMS, f"Invalid params: no page begins at {params.cursor!r}")
        return page

    # ---- tools ----------------------------------------------------------------------------------

    async def call_tool(
        self, request: Request, params: messages.CallTool, terms: Terms, line: Line
    ) -> Result:
        """Call a function."""
        operation = self.operation_of(params)
        if operation is None:
            return RpcError(INVALID_PARAMS, not_found(params.name).message)
        arguments = bytes(params.arguments)
        ended: Envelope | Result
        woven = self.service.weave is not None
        if operation.wants_context or woven or arguments == b"null":
            ended = await self._run(operation, arguments, request, params, terms, line)
        else:  # as nearly all of them
            call = Call(operation.operation_id, arguments)
            ended = await answer(operation, call, self.service.limit(operation), line.gone)
        if type(ended) is not Envelope:
            return ended  # type: ignore[return-value]
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
        if arguments == b"null":
            arguments = b""
        if not operation.wants_context:
            weave = self.service.weave
            hooked = weave is not None and weave.surrounds(operation)
            caller = Caller(meta=whole_meta(request.params)) if hooked else NOBODY
            call = self.service.call(operation, arguments, caller)
            return await answer(operation, call, self.service.limit(operation), line.gone)
        from kuniumi.serve.mcp.conversation import converse  # noqa: PLC0415 - most functions never ask

        return await converse(self, operation, arguments, request, params, terms, line)

    # ---- resources and prompts ------------------------------------------------------------------

    def _resource_at(self, uri: str) -> tuple[Resource, dict[str, str]] | None:
        found = self.service.registry.resources.get(uri)
        if found is not None and not found.is_template:
            return found, {}
        for resource in self.service.registry.resources.values():
            values = resource.match(uri) if resource.is_template else None
            if values is not None:
                return resource, values
        return None

    async def read_resource(
        self, request: Request, params: messages.ReadResource, terms: Terms, line: Line
    ) -> Result:
        """Read what is at an address."""
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
        revision = terms.revision
        caching = write_caching(revision, fresh, private=resource.private)
        return write_contents(ended.body, params.uri, caching, revision, self.stamp(revision))

    async def get_prompt(
        self, request: Request, params: messages.GetPrompt, terms: Terms, line: Line
    ) -> Result:
        """Begin a conversation."""
        prompt = self.service.registry.prompts.get(params.name)
        if prompt is None:
            return RpcError(INVALID_PARAMS, f"Prompt not found: {clipped(params.name)}")
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

    async def complete(
        self, _request: Request, params: messages.Complete, terms: Terms, _line: Line
    ) -> Result:
        """Complete an argument."""
        from kuniumi.serve.mcp import completing  # noqa: PLC0415 - few complete

        found = await completing.complete(self.service.registry, params)
        if isinstance(found, RpcError):
            return found
        return self.stamp(terms.revision).around(b'"completion":%b' % dumps(found))


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
    return RpcError(revision.no_resource, f"Resource not found: {clipped(uri)}", {"uri": uri})


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
