"""Kuniumi: write a typed Python function once, call it from anywhere.

The same call gives the same answer over HTTP, CGI, the shell and in process. Names are loaded when
they are used, so that a cold start pays only for what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kuniumi.app import App
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
    from kuniumi.errors import (
        CannotAskError,
        DeclinedError,
        DefinitionError,
        FunctionError,
        KuniumiError,
        UsageError,
    )

__version__ = "0.1.0"

__all__ = [
    "Annotations",
    "App",
    "Audio",
    "CannotAskError",
    "Contents",
    "Context",
    "DeclinedError",
    "DefinitionError",
    "EmbeddedResource",
    "FunctionError",
    "Icon",
    "Image",
    "KuniumiError",
    "Message",
    "ResourceLink",
    "Text",
    "ToolResult",
    "UsageError",
    "__version__",
]

_HOMES = {
    "Annotations": "kuniumi.core.content",
    "App": "kuniumi.app",
    "Audio": "kuniumi.core.content",
    "CannotAskError": "kuniumi.errors",
    "Contents": "kuniumi.core.content",
    "Context": "kuniumi.core.context",
    "DeclinedError": "kuniumi.errors",
    "DefinitionError": "kuniumi.errors",
    "EmbeddedResource": "kuniumi.core.content",
    "FunctionError": "kuniumi.errors",
    "Icon": "kuniumi.core.content",
    "Image": "kuniumi.core.content",
    "KuniumiError": "kuniumi.errors",
    "Message": "kuniumi.core.questions",
    "ResourceLink": "kuniumi.core.content",
    "Text": "kuniumi.core.content",
    "ToolResult": "kuniumi.core.content",
    "UsageError": "kuniumi.errors",
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
