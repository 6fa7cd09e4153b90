"""Where `app.run()` begins: the shortest way from a command line to the surface it names.

In: an app and words. Out: the end of the process. CGI is told apart here, before anything that
only people need (help, tables, completion) is loaded.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kuniumi.errors import KuniumiError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from kuniumi.core.service import Service


def run(service: Service, argv: Sequence[str] | None) -> NoReturn:
    """Do what the words say, and exit."""
    words = list(sys.argv[1:] if argv is None else argv)
    from_web_server = not words and "GATEWAY_INTERFACE" in os.environ
    if from_web_server or words == ["cgi"]:
        from kuniumi.serve import cgi  # noqa: PLC0415 - one surface a process

        cgi.run(service)
        sys.exit(0)
    from kuniumi.serve import cli  # noqa: PLC0415

    try:
        code = cli.run(service, words)
    except KuniumiError as error:
        sys.stderr.write(f"{error}\n")
        code = 2
    sys.exit(code)
