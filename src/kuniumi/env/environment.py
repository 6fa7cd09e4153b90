"""What `ctx.env` is: the variables a function was given, and nothing of the host's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kuniumi.errors import DefinitionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Environment:
    """Managed variables only: the host's environment is never read."""

    __slots__ = ("_variables",)

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self._variables = _checked({} if variables is None else variables)

    def getenv(self, name: str, default: str = "") -> str:
        """Give the variable's value, or the default."""
        return self._variables.get(name, default)

    def list_env(self) -> dict[str, str]:
        """Give all variables, as a copy."""
        return dict(self._variables)


def _checked(variables: Any) -> dict[str, str]:
    """Give a copy of the variables, if they are what an author has to give."""
    texts = [*variables.keys(), *variables.values()] if hasattr(variables, "keys") else [None]
    if not all(isinstance(text, str) for text in texts):
        msg = f"the app: env={variables!r} must be a dict of texts, like {{'REGION': 'eu'}}"
        raise DefinitionError(msg)
    return dict(variables)


def parse_variables(flags: Iterable[str]) -> dict[str, str]:
    """Read `KEY=VALUE` flags. The value is everything after the first `=`, whatever it holds."""
    variables: dict[str, str] = {}
    for flag in flags:
        name, equals, value = flag.partition("=")
        if not equals or not name:
            msg = f"--env {flag!r}: expected KEY=VALUE"
            raise UsageError(msg)
        variables[name] = value
    return variables
