"""Variables: what a function may read of them, as an author and a command line give them.

In: a mapping, or `KEY=VALUE` flags. Out: checked names and values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kuniumi.errors import DefinitionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_variables(given: Any) -> dict[str, str]:
    """Give a copy of the variables, if they are what an author has to give."""
    texts = [*given.keys(), *given.values()] if hasattr(given, "keys") else [None]
    if not all(isinstance(text, str) for text in texts):
        msg = f"the app: env={given!r} must be a dict of texts, like {{'REGION': 'eu'}}"
        raise DefinitionError(msg)
    return dict(given)


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
