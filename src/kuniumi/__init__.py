"""Kuniumi: write a typed Python function once, call it from anywhere.

The same call gives the same answer over HTTP, CGI, the shell and in process. Names are loaded when
they are used, so that a cold start pays only for what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kuniumi.app import App
    from kuniumi.core.context import Context
    from kuniumi.errors import DefinitionError, FunctionError, KuniumiError, UsageError

__version__ = "0.1.0"

__all__ = [
    "App",
    "Context",
    "DefinitionError",
    "FunctionError",
    "KuniumiError",
    "UsageError",
    "__version__",
]

_HOMES = {
    "App": "kuniumi.app",
    "Context": "kuniumi.core.context",
    "DefinitionError": "kuniumi.errors",
    "FunctionError": "kuniumi.errors",
    "KuniumiError": "kuniumi.errors",
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
