"""Who wants to hear of which changes, and how they are told.

In: filters of clients, changes of the registry. Out: notifications, each to the line of the client
who asked for it. A change may come from any thread.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kuniumi.core.codec import dumps
from kuniumi.wire.jsonrpc import INVALID_PARAMS, RpcError, write_notification
from kuniumi.wire.mcp.messages import SUBSCRIPTION, Filter

if TYPE_CHECKING:
    from collections.abc import Callable

    from kuniumi.core.registry import Change, Registry

MOST = 10_000
"""Addresses that one subscription may be about."""

_LISTS = {
    "functions": ("notifications/tools/list_changed", "tools_list_changed"),
    "resources": ("notifications/resources/list_changed", "resources_list_changed"),
    "prompts": ("notifications/prompts/list_changed", "prompts_list_changed"),
}


class Subscription(Struct, eq=False):
    """One client's wish to hear of changes."""

    wanted: Filter
    tell: Callable[[bytes], None]  # from the loop's own thread
    id: Any = None  # of the request that opened it; `None` where a handshake did
    addresses: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Begin with the addresses that were wanted at first."""
        self.addresses.update(self.wanted.resource_subscriptions)

    def turn(self, uri: str, *, on: bool) -> RpcError | None:
        """Begin or cease to tell of what is at an address; give why not, if it is one too many."""
        if not on:
            self.addresses.discard(uri)
        elif len(self.addresses) >= MOST and uri not in self.addresses:
            return too_many()
        else:
            self.addresses.add(uri)
        return None


def too_many() -> RpcError:
    """Give the error of a subscription to more than one may be about."""
    return RpcError(INVALID_PARAMS, f"Invalid params: one may subscribe to {MOST} addresses")


class Subscriptions:
    """Those of one event loop."""

    def __init__(self, registry: Registry) -> None:
        self._loop = asyncio.get_running_loop()
        self._all: dict[Subscription, None] = {}
        registry.listen(self._hear)

    def add(self, subscription: Subscription) -> None:
        """Tell this one of what is to come."""
        self._loop = asyncio.get_running_loop()  # mounted, an app may outlive one
        self._all[subscription] = None

    def drop(self, subscription: Subscription) -> None:
        """Tell it nothing more."""
        self._all.pop(subscription, None)

    def _hear(self, change: Change) -> None:
        try:
            self._loop.call_soon_threadsafe(self._tell, change)
        except RuntimeError:  # the loop has ended, and all its clients with it
            return

    def _tell(self, change: Change) -> None:
        for subscription in tuple(self._all):
            message = _message(change, subscription)
            if message is not None:
                subscription.tell(message)


def _message(change: Change, subscription: Subscription) -> bytes | None:
    wanted = subscription.wanted
    params: dict[str, Any] = {}
    if subscription.id is not None:
        params["_meta"] = {SUBSCRIPTION: subscription.id}
    if change.what == "contents":
        if change.uri not in subscription.addresses:
            return None
        return write_notification(
            "notifications/resources/updated", dumps({**params, "uri": change.uri})
        )
    method, name = _LISTS[change.what]
    return write_notification(method, dumps(params)) if getattr(wanted, name) else None


def acknowledge(subscription: Subscription) -> bytes:
    """Write that a subscription has begun, and what it is about."""
    params = {"_meta": {SUBSCRIPTION: subscription.id}, "notifications": subscription.wanted}
    return write_notification("notifications/subscriptions/acknowledged", dumps(params))


def close(subscription: Subscription, stamp_end: bytes) -> bytes:
    """Write the result that ends a subscription."""
    return b'{"resultType":"complete","_meta":{"%b":%b%b}' % (
        SUBSCRIPTION.encode(),
        dumps(subscription.id),
        b"," + stamp_end[len(b',"_meta":{') :] if stamp_end else b"}",
    )
