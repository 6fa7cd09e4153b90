"""Completing an argument of a prompt or of an address while a person types it.

In: the parameters of a request. Out: what it may become, the likeliest first.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from kuniumi.core.offers import choices_of
from kuniumi.wire.jsonrpc import INTERNAL, INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from kuniumi.core.offers import Completer, Prompt, Resource
    from kuniumi.core.registry import Registry
    from kuniumi.wire.mcp import messages

MOST = 100
PATIENCE = 10.0
"""Seconds in which the author's function has to find what an argument may become."""


async def complete(registry: Registry, params: messages.Complete) -> dict[str, Any] | RpcError:
    """Find what an argument may become."""
    offer = _offer(registry, params.ref)
    if offer is None:
        what = params.ref.name or params.ref.uri
        return RpcError(INVALID_PARAMS, f"Invalid params: there is nothing called {what!r}")
    name, typed = params.argument.name, params.argument.value
    if name not in {parameter.name for parameter in offer.operation.parameters}:
        return RpcError(INVALID_PARAMS, f"Invalid params: it has no argument {name!r}")
    choices = offer.completions.get(name)
    if choices is None:
        choices = choices_of(offer.operation, name)
    elif callable(choices):
        return await _found(choices, typed, params.context.arguments, offer)
    return _page(_likely(list(choices), typed))


async def _found(
    complete: Completer, typed: str, given: dict[str, str], offer: Prompt | Resource
) -> dict[str, Any] | RpcError:
    """Ask the author's own function, which may do anything."""
    try:
        async with asyncio.timeout(PATIENCE):
            found: Any = await asyncio.to_thread(complete, typed, given)
            if hasattr(found, "__await__"):
                found = await found
        return _page(_texts(found))
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        logging.getLogger("kuniumi.call").exception("completing %s failed", offer.operation.name)
        masked = offer.operation.policy.mask_errors
        said = "the choices can't be told" if masked else f"{type(error).__name__}: {error}"
        return RpcError(INTERNAL, said)


def _texts(found: Any) -> list[str]:
    if not isinstance(found, (list, tuple, set, frozenset)):
        msg = f"it gave a value of type {type(found).__name__}, and no list of texts"
        raise TypeError(msg)
    return [str(value) for value in found]


def _offer(registry: Registry, ref: messages.Reference) -> Prompt | Resource | None:
    if ref.type == "ref/prompt":
        return registry.prompts.get(ref.name)
    return registry.resources.get(ref.uri)


def _likely(choices: list[str], typed: str) -> list[str]:
    """Give the choices that begin with what was typed, then those that hold it."""
    wanted = typed.casefold()
    begin = [choice for choice in choices if choice.casefold().startswith(wanted)]
    hold = [choice for choice in choices if wanted in choice.casefold() and choice not in begin]
    return begin + hold


def _page(values: list[str]) -> dict[str, Any]:
    return {"values": values[:MOST], "total": len(values), "hasMore": len(values) > MOST}
