"""What a command line gives to the functions: variables and mounts.

In: the values of `--env`, `--env-file` and `--mount`. Out: `Given`, which a worker can take along.
A variable of `--env` counts more than one of a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kuniumi.env.mounts import Mount, parse_mounts
from kuniumi.env.variables import parse_variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kuniumi.wire.argv import Flags


class Given(Struct, frozen=True):
    """Variables and mounts, over those of the app itself."""

    variables: dict[str, str] = {}
    mounts: tuple[Mount, ...] = ()
    flags: Mapping[str, Sequence[str]] = {}  # as they were given


def read(flags: Flags) -> Given:
    """Read the flags; one that can't be read is an error that names it."""
    variables: dict[str, str] = {}
    if flags["--env-file"]:
        from kuniumi.env.env_file import read_variables  # noqa: PLC0415 - few have any

        variables = read_variables(flags["--env-file"])
    variables.update(parse_variables(flags["--env"]))
    return Given(variables, parse_mounts(flags["--mount"]), flags)
