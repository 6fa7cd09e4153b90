"""Kuniumi: write a typed Python function once, call it from anywhere.

The same call gives the same answer over HTTP, CGI, the shell and in process. Names are loaded when
they are used, so that a cold start pays only for what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kuniumi.app import App
    from kuniumi.core.around import Around, AsyncAround, Calling
    from kuniumi.core.cache import Cache
    from kuniumi.core.call import Envelope
    from kuniumi.core.content import (
        Annotations,
        Audio,
        Contents,
        EmbeddedResource,
        Icon,
        Image,
        ResourceLink,
        Text,
        ToolResult,
    )
    from kuniumi.core.context import Context
    from kuniumi.core.questions import Message
    from kuniumi.core.rates import limit_rate
    from kuniumi.core.signature import Provide
    from kuniumi.env.mounts import Mount
    from kuniumi.errors import (
        CannotAskError,
        DeclinedError,
        DefinitionError,
        FunctionError,
        KuniumiError,
        StartError,
        UsageError,
    )

__version__ = "0.1.0"

__all__ = [
    "Annotations",
    "App",
    "Around",
    "AsyncAround",
    "Audio",
    "Cache",
    "Calling",
    "CannotAskError",
    "Contents",
    "Context",
    "DeclinedError",
    "DefinitionError",
    "EmbeddedResource",
    "Envelope",
    "FunctionError",
    "Icon",
    "Image",
    "KuniumiError",
    "Message",
    "Mount",
    "Provide",
    "ResourceLink",
    "StartError",
    "Text",
    "ToolResult",
    "UsageError",
    "__version__",
    "limit_rate",
]

_HOMES = {
    "Annotations": "kuniumi.core.content",
    "App": "kuniumi.app",
    "Around": "kuniumi.core.around",
    "AsyncAround": "kuniumi.core.around",
    "Audio": "kuniumi.core.content",
    "Cache": "kuniumi.core.cache",
    "Calling": "kuniumi.core.around",
    "CannotAskError": "kuniumi.errors",
    "Contents": "kuniumi.core.content",
    "Context": "kuniumi.core.context",
    "DeclinedError": "kuniumi.errors",
    "DefinitionError": "kuniumi.errors",
    "EmbeddedResource": "kuniumi.core.content",
    "Envelope": "kuniumi.core.call",
    "FunctionError": "kuniumi.errors",
    "Icon": "kuniumi.core.content",
    "Image": "kuniumi.core.content",
    "KuniumiError": "kuniumi.errors",
    "Message": "kuniumi.core.questions",
    "Mount": "kuniumi.env.mounts",
    "Provide": "kuniumi.core.signature",
    "ResourceLink": "kuniumi.core.content",
    "StartError": "kuniumi.errors",
    "Text": "kuniumi.core.content",
    "ToolResult": "kuniumi.core.content",
    "UsageError": "kuniumi.errors",
    "limit_rate": "kuniumi.core.rates",
}


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in."""
    home = _HOMES.get(name)
    if home is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module  # noqa: PLC0415 - this is the loading itself

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return __all__
