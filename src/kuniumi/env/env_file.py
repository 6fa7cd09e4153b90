r"""Files of variables, as `--env-file` names them.

In: files. Out: names and values. Each variable begins a line of its own:

    # a comment
    STAGE=test                        the text up to the line's end, or to a ` #`
    GREETING="Hello,\nyou"            \n, \t, \r, \", \$ and \\ have their meaning; may span lines
    PATTERN='^\d+ # $'                as it stands; may span lines
    export REGION=eu                  as a shell would read it
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kuniumi.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$"}
_NAME = re.compile(r"\s*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*")
_VALUE = re.compile(
    r"""'([^']*)' | "((?:[^"\\]|\\.)*)" | ((?!["'])[^\n]*?)(?=[ \t]\#|[ \t]*(?:\n|\Z))""",
    re.DOTALL | re.VERBOSE,
)
_REST = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")


def read_variables(files: Iterable[str]) -> dict[str, str]:
    """Read files of variables; what a later one says counts."""
    variables: dict[str, str] = {}
    for file in files:
        try:
            with open(file, encoding="utf-8-sig") as lines:
                text = lines.read()
        except OSError as error:
            msg = f"--env-file {file}: {error.strerror}"
            raise UsageError(msg) from None
        except ValueError:
            msg = f"--env-file {file}: it is not UTF-8"
            raise UsageError(msg) from None
        variables.update(_variables(text, file))
    return variables


def _variables(text: str, file: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        rest = _REST.match(text, at)
        if rest is None:
            name = _NAME.match(text, at)
            value = name and _VALUE.match(text, name.end())
            rest = value and _REST.match(text, value.end())
            if not (name and value and rest):
                line = text.count("\n", 0, at) + 1
                said = text[at:].partition("\n")[0].strip()
                msg = f"--env-file {file}, line {line}: expected KEY=VALUE, not {said!r}"
                raise UsageError(msg)
            yield name[1], _meaning(value)
        at = rest.end()


def _meaning(value: re.Match[str]) -> str:
    literal, quoted, plain = value.groups()
    if quoted is None:
        return literal if literal is not None else plain
    return re.sub(r"\\(.)", lambda found: _ESCAPED.get(found[1], found[0]), quoted, flags=re.DOTALL)
