"""Subscriptions: what one is about, and how much it may be about."""

from __future__ import annotations

import pytest

from kuniumi.serve.mcp.changes import MOST, Subscription
from kuniumi.wire.mcp.messages import LISTS, Filter
from tests.http.server import Server
from tests.mcp.senders import EVERYTHING, Poster, messages_of, piped, request

TOO_MANY = f"Invalid params: one may subscribe to {MOST} addresses"


def many(count: int) -> list[str]:
    return [f"n://{number}" for number in range(count)]


def test_a_subscription_is_about_so_many_addresses_at_most() -> None:
    subscription = Subscription(LISTS, lambda _message: None)
    for address in many(MOST):
        assert subscription.turn(address, on=True) is None
    refused = subscription.turn("n://more", on=True)
    assert refused is not None
    assert refused.message == TOO_MANY
    assert subscription.turn("n://0", on=True) is None  # it is about that already
    assert subscription.turn("n://0", on=False) is None
    assert subscription.turn("n://more", on=True) is None
    assert "n://0" not in subscription.addresses


def test_what_was_wanted_at_first_can_be_given_up() -> None:
    subscription = Subscription(Filter(resource_subscriptions=("n://1",)), lambda _message: None)
    assert subscription.addresses == {"n://1"}
    subscription.turn("n://1", on=False)
    assert subscription.addresses == set()


@pytest.mark.parametrize("count", [MOST, MOST + 1])
def test_who_listens_may_name_no_more(everything: Server, count: int) -> None:
    asked = request("subscriptions/listen", notifications={"resourceSubscriptions": many(count)})
    with piped(EVERYTHING) as pipe:
        pipe.send(asked)
        heard = pipe.hear()
    if count <= MOST:
        assert heard["method"] == "notifications/subscriptions/acknowledged"
        return
    assert heard["error"]["message"] == TOO_MANY
    reply = Poster(everything).post(asked)
    assert reply.status == 400
    assert messages_of(reply)[0]["error"]["message"] == TOO_MANY
