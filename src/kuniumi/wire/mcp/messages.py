"""The parameters of MCP's requests, as typed data; arguments stay raw until a function reads them.

In: raw parameters. Out: a struct, or an `RpcError` that says what is wrong with them. Both sides
use it: a server decodes what a client encodes.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Raw, Struct, field

from kuniumi.core.codec import explain
from kuniumi.wire.jsonrpc import INVALID_PARAMS, Request, RpcError

Params = TypeVar("Params", bound=Struct)
Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

LEVELS: dict[str, int] = {
    "debug": 10,
    "info": 20,
    "notice": 25,
    "warning": 30,
    "error": 40,
    "critical": 50,
    "alert": 60,
    "emergency": 70,
}
"""MCP's levels, as `logging` counts them."""

_PREFIX = "io.modelcontextprotocol/"
VERSION, CAPABILITIES, CLIENT_INFO, SERVER_INFO, LOG_LEVEL, SUBSCRIPTION = (
    _PREFIX + name
    for name in (
        "protocolVersion",
        "clientCapabilities",
        "clientInfo",
        "serverInfo",
        "logLevel",
        "subscriptionId",
    )
)

Settings = dict[str, Any]


class Elicitation(Struct, frozen=True, omit_defaults=True):
    """Which questions a client can put to a person; an empty object means forms."""

    form: Settings | None = None
    url: Settings | None = None


class Capabilities(Struct, frozen=True, omit_defaults=True):
    """What a client can do for a server."""

    elicitation: Elicitation | None = None
    sampling: Settings | None = None
    roots: Settings | None = None

    @property
    def names(self) -> frozenset[str]:
        """The needs of questions that this client meets (`core.questions.NEEDS`)."""
        able = set()
        if self.elicitation is not None:
            if self.elicitation.form is not None or self.elicitation.url is None:
                able.add("elicitation")
            if self.elicitation.url is not None:
                able.add("elicitation.url")
        if self.sampling is not None:
            able.add("sampling")
        if self.roots is not None:
            able.add("roots")
        return frozenset(able)


class Meta(Struct, frozen=True, omit_defaults=True):
    """What a request says of itself."""

    version: str | None = field(default=None, name=VERSION)
    capabilities: Capabilities | None = field(default=None, name=CAPABILITIES)
    log_level: Level | None = field(default=None, name=LOG_LEVEL)
    progress_token: str | int | None = field(default=None, name="progressToken")


NO_META = Meta()


class Plain(Struct, frozen=True, omit_defaults=True):
    """The parameters of a request that has none of its own."""

    meta: Meta = field(default=NO_META, name="_meta")


class CallTool(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """tools/call."""

    name: str
    arguments: Raw = Raw(b"")
    input_responses: dict[str, dict[str, Any]] | None = None
    request_state: str | None = None
    meta: Meta = field(default=NO_META, name="_meta")


class GetPrompt(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """prompts/get."""

    name: str
    arguments: Raw = Raw(b"")
    input_responses: dict[str, dict[str, Any]] | None = None
    request_state: str | None = None
    meta: Meta = field(default=NO_META, name="_meta")


class ReadResource(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """resources/read, and the same for those who subscribe."""

    uri: str
    input_responses: dict[str, dict[str, Any]] | None = None
    request_state: str | None = None
    meta: Meta = field(default=NO_META, name="_meta")


class ListPage(Struct, frozen=True, omit_defaults=True):
    """tools/list and its kind."""

    cursor: str | None = None
    meta: Meta = field(default=NO_META, name="_meta")


class Initialize(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The handshake of the revisions that have one."""

    protocol_version: str
    capabilities: Capabilities = Capabilities()
    client_info: Raw = Raw(b"")
    meta: Meta = field(default=NO_META, name="_meta")


class SetLevel(Struct, frozen=True):
    """logging/setLevel."""

    level: Level
    meta: Meta = field(default=NO_META, name="_meta")


class Reference(Struct, frozen=True, omit_defaults=True):
    """What is being completed: a prompt by name, a resource by the pattern of its address."""

    type: Literal["ref/prompt", "ref/resource"]
    name: str = ""
    uri: str = ""


class Argument(Struct, frozen=True):
    """The argument being typed, as far as it has come."""

    name: str
    value: str


class Filled(Struct, frozen=True, omit_defaults=True):
    """The arguments that are complete already."""

    arguments: dict[str, str] = {}


class Complete(Struct, frozen=True, omit_defaults=True):
    """completion/complete."""

    ref: Reference
    argument: Argument
    context: Filled = Filled()
    meta: Meta = field(default=NO_META, name="_meta")


class Filter(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What a subscription is about."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: tuple[str, ...] = ()


LISTS = Filter(tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True)
"""What a handshake subscribes to."""


class Listen(Struct, frozen=True, omit_defaults=True):
    """subscriptions/listen."""

    notifications: Filter
    meta: Meta = field(default=NO_META, name="_meta")


class Cancelled(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """notifications/cancelled."""

    request_id: str | int
    reason: str = ""


class _WithMeta(Struct, frozen=True):
    meta: dict[str, Any] = field(default_factory=dict, name="_meta")


AnyParams = (
    Plain
    | CallTool
    | GetPrompt
    | ReadResource
    | ListPage
    | Initialize
    | SetLevel
    | Complete
    | Listen
)

_LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
_OFTEN: dict[str, type[Any]] = {
    "tools/call": CallTool,
    "prompts/get": GetPrompt,
    "resources/read": ReadResource,
    "completion/complete": Complete,
    **dict.fromkeys(_LISTS, ListPage),
}
_STATELESS: dict[str, type[Any]] = {**_OFTEN, "subscriptions/listen": Listen}
_WITH_HANDSHAKE: dict[str, type[Any]] = {
    **_OFTEN,
    "initialize": Initialize,
    "logging/setLevel": SetLevel,
    "resources/subscribe": ReadResource,
    "resources/unsubscribe": ReadResource,
}
_decoders: dict[type[Any], msgspec.json.Decoder[Any]] = {}


def read_request(request: Request, *, stateless: bool) -> AnyParams | RpcError:
    """Decode the parameters of a request as its method wants them, in one way of speaking."""
    expected = (_STATELESS if stateless else _WITH_HANDSHAKE).get(request.method, Plain)
    return read_params(request.params, expected)


def read_params(params: Raw, expected: type[Params]) -> Params | RpcError:
    """Decode the parameters of one message."""
    decoder = _decoders.get(expected)
    if decoder is None:
        decoder = _decoders[expected] = msgspec.json.Decoder(expected)
    try:
        found: Params = decoder.decode(bytes(params) or b"{}")
    except msgspec.DecodeError as error:
        place, said = explain(error, "params")
        return RpcError(INVALID_PARAMS, f"Invalid params: {said}, at {place}")
    return found


def whole_meta(params: Raw) -> dict[str, Any]:
    """Give all that a request says of itself, for the function that wants to know."""
    found = read_params(params, _WithMeta)
    return {} if isinstance(found, RpcError) else found.meta
