"""The commands that have options: serve, list, describe, openapi and the rest.

In: a service and words. Out: an exit code. Each command loads what it alone needs.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any

from msgspec.json import format as indented

from kuniumi.core.codec import dumps
from kuniumi.core.fault import not_found
from kuniumi.core.invoke import refuse
from kuniumi.core.service import is_host, is_origin
from kuniumi.errors import UsageError
from kuniumi.serve.about import based_on
from kuniumi.serve.cli import finish

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kuniumi.core.service import Service
    from kuniumi.serve.given import Given

LOG_LEVELS = ("critical", "error", "warning", "info", "debug")
SHELLS = ("bash", "zsh", "fish")

_TELLING = {"-h", "--help", "--version"}  # words that ask what this is

_TO_A_PERSON = """\
This waits for a client of MCP, which speaks JSON on stdin. Ctrl-D ends it.
`mcp install` tells a client how to start it; `mcp inspect` shows what a client would see.
"""
_GIVEN = """\
what the functions see of the world (ctx.env); these may stand anywhere:
  --env KEY=VALUE            a variable
  --env-file FILE            a file of them
  --mount HOST:VIRTUAL[:ro]  a directory of this machine, or a remote store, under a virtual path
"""

_PATH = re.compile(r"(/([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)*")


def run_command(
    service: Service,
    words: Sequence[str],
    program: str,
    reference: str,
    given: Given | None = None,
) -> int:
    """Run one command; without any, show what there is, and fail: nothing was done.

    The service has what is given by flags already; one that is loaded again does not.
    """
    told = not words or not _TELLING.isdisjoint(words)
    parser, names = make_parser(service, program, based_on() if told else "")
    if not words:
        parser.print_help(sys.stderr)
        return 2
    if not words[0].startswith("-") and words[0] not in names:
        return _explain_unknown(service, words[0], names, parser)
    try:
        options = parser.parse_args(words)
    except SystemExit as stop:  # it has printed its help, or a mistake
        return int(stop.code or 0)
    options.reference = reference
    options.program = program
    options.given = given
    options.words = words
    handler: Callable[[Service, argparse.Namespace], int] = options.handler
    return handler(service, options)


def make_parser(
    service: Service, program: str, based: str = ""
) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Make the parser of an app's commands, and give those by name.

    Its help says what the app is based on, which takes a while to find out.
    """
    about = service.registry.about
    title = f"{about.name} v{about.version} ({based})"
    parser = argparse.ArgumentParser(
        prog=program,
        description=f"{title}\n\n{about.description}".strip(),
        epilog=_GIVEN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=title)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    names: dict[str, argparse.ArgumentParser] = {}

    def command(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            help=text,
            description=text,
            allow_abbrev=False,
            formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        )
        sub.set_defaults(handler=handler)
        names[name] = sub
        return sub

    _add_serve_options(command("serve", _serve, "serve the functions over HTTP"))
    serving = command("mcp", _mcp, "serve the functions to a model on stdin and stdout")
    _add_mcp_options(serving)
    _add_mcp_commands(serving)
    _add_cgi_options(command("cgi", _cgi, "answer one CGI request from the environment and stdin"))
    command("call", _call, "call one function: call NAME --x 7, or call NAME '{\"x\": 7}'")
    listing = command("list", _list, "list the functions")
    listing.add_argument("--json", action="store_true", help="as JSON")
    describing = command("describe", _describe, "describe one function")
    describing.add_argument("name", help="its name or operation id")
    describing.add_argument("--json", action="store_true", help="as JSON")
    document = command("openapi", _openapi, "print the OpenAPI document")
    document.add_argument("--yaml", action="store_true", help="as YAML")
    document.add_argument("--json", action="store_true", help="as JSON (it is, unless --yaml)")
    completion = command("completion", _completion, "print a completion script for your shell")
    completion.add_argument("shell", choices=SHELLS, help="your shell")
    return parser, names


def _add_serve_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on")
    add("--port", type=_port, default=8080, help="port to listen on")
    add("--workers", type=_positive, default=1, help="processes that answer")
    add("--reload", action="store_true", help="start anew when a file changes")
    add("--log-level", choices=LOG_LEVELS, default="warning", help="what to log, on stderr")
    add("--max-body", type=_size, default="4M", help="largest body that is read, like 512K or 4M")
    add("--limit-concurrency", type=_count, help="calls at once in a process; more get 503")
    add("--timeout", type=_seconds, help="seconds a call may take, if its function sets none")
    add("--body-timeout", type=_seconds, default=30.0, help="seconds a body may take to arrive")
    add("--header-timeout", type=_seconds, default=30.0, help="seconds headers may take to arrive")
    add("--drain-timeout", type=_positive, default=30, help="seconds to finish calls on SIGTERM")
    scheduling = "how the kernel switches between a worker's threads"
    add("--scheduling", choices=("batch", "normal"), default="batch", help=scheduling)
    add("--root-path", type=_root_path, default="", help="path under which a proxy serves this app")
    add("--cors", action="append", default=[], metavar="ORIGIN", help="a web origin that may call")
    host = "a name by which /mcp is reached, as behind a proxy; * for any"
    add("--allow-host", type=_host, action="append", default=[], metavar="HOST", help=host)
    origin = "a web origin that may use /mcp; * for any"
    add("--allow-origin", type=_origin, action="append", default=[], metavar="ORIGIN", help=origin)


def _add_mcp_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--http", action="store_true", help="over HTTP instead, as serve does")
    limit = "longest message that is read from stdin, like 512K or 4M"
    parser.add_argument("--max-message", type=_size, default="4M", help=limit)
    _add_serve_options(parser)


def _add_mcp_commands(parser: argparse.ArgumentParser) -> None:
    from kuniumi.serve.mcp.install import CLIENTS  # noqa: PLC0415 - not for a cold start
    from kuniumi.wire.mcp.revisions import LATEST, REVISIONS  # noqa: PLC0415

    commands = parser.add_subparsers(title="instead of serving", metavar="COMMAND")
    for name, handler, text in (
        ("install", _install, "tell a client how to start this app"),
        ("inspect", _inspect, "show what a client would see"),
    ):
        sub = commands.add_parser(
            name,
            help=text,
            description=text,
            allow_abbrev=False,
            formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        )
        sub.set_defaults(handler=handler)
        add = sub.add_argument
        if name == "install":
            sub.epilog = (
                "What stands before `install`, like --timeout 5, is how the app is started."
            )
            add("--client", choices=tuple(CLIENTS), required=True, help="who is told")
            add("--name", help="what the client calls this app; made of the app's name otherwise")
            scope = "for yourself everywhere, or for who works in the current folder"
            add("--scope", choices=("user", "project"), default="user", help=scope)
            add("--file", default="", help="another file of that client's kind")
            add("--print", action="store_true", help="show the configuration, and write nothing")
        else:
            add("--revision", choices=tuple(REVISIONS), default=LATEST.name, help="of the protocol")
            add("--json", action="store_true", help="as JSON, with every schema in full")


def _add_cgi_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--max-body", type=_size, default="4M", help="largest body that is read, like 512K or 4M")
    add("--body-timeout", type=_seconds, default=30.0, help="seconds a body may take to arrive")
    add("--timeout", type=_seconds, help="seconds a call may take, if its function sets none")


# ---- the commands ----------------------------------------------------------------------------------


def _serve(service: Service, options: argparse.Namespace) -> int:
    from kuniumi.serve.console import greeting  # noqa: PLC0415 - one command a process
    from kuniumi.serve.server import Settings, main_file, serve  # noqa: PLC0415

    settings = Settings(
        host=options.host,
        port=options.port,
        workers=options.workers,
        reload=options.reload,
        log_level=options.log_level,
        max_body=options.max_body,
        body_timeout=options.body_timeout,
        header_timeout=options.header_timeout,
        drain_timeout=options.drain_timeout,
        limit_concurrency=options.limit_concurrency,
        timeout=options.timeout,
        root_path=options.root_path,
        given=options.given,
        cors=tuple(options.cors),
        hosts=tuple(options.allow_host),
        origins=tuple(options.allow_origin),
        scheduling=options.scheduling,
    )

    def greeted(port: int) -> str:
        return greeting(service, settings.host, port, settings.root_path)

    return serve(service, options.reference or main_file(), settings, greeted)


def _mcp(service: Service, options: argparse.Namespace) -> int:
    if options.http:
        return _serve(service, options)
    from kuniumi.serve.mcp import stdio  # noqa: PLC0415 - one command a process
    from kuniumi.serve.streams import end_process  # noqa: PLC0415

    if options.timeout is not None:
        service.timeout = options.timeout or None
    if sys.stdin.isatty():  # a person may wonder
        sys.stderr.write(_TO_A_PERSON)
    code = stdio.run(service, max_message=options.max_message, drain=options.drain_timeout)
    return end_process(code)  # threads that functions left behind are not waited for


def _install(service: Service, options: argparse.Namespace) -> int:
    from kuniumi.serve.mcp import install  # noqa: PLC0415 - one command a process

    if options.http:
        msg = "a client that starts this app speaks to it on stdin and stdout: leave --http out"
        raise UsageError(msg)
    client = install.CLIENTS[options.client]
    before = options.words[1 : options.words.index("install", 1)]
    words = [*install.carried(options.given.flags if options.given else {}), *before]
    start = install.find_start(options.reference, words)
    default = install.name_for(service.registry.about.name, start)
    name = default if options.name is None else install.check_name(options.name)
    file = install.find_file(options.client, scope=options.scope, given=options.file)
    if options.print:
        sys.stderr.write(f"This belongs into {file}\n")
        _print(indented(dumps(install.shown(client, name, start))))
        return 0
    install.write(client, file, name, start)
    _print(f"{client.title} knows this app as {name}: {file}\n{client.afterwards}.".encode())
    return 0


def _inspect(service: Service, options: argparse.Namespace) -> int:
    from kuniumi.serve.mcp.inspecting import look  # noqa: PLC0415 - one command a process

    seen = look(service, options.revision)
    if options.json:
        _print(dumps(seen))
    else:
        from kuniumi.serve.console import show_offers  # noqa: PLC0415

        show_offers(seen)
    return 0


def _cgi(service: Service, options: argparse.Namespace) -> int:
    from kuniumi.serve import cgi  # noqa: PLC0415 - one command a process

    if options.timeout is not None:
        service.timeout = options.timeout or None
    cgi.run(service, max_body=options.max_body, body_timeout=options.body_timeout)
    return 0


def _call(service: Service, _options: argparse.Namespace) -> int:
    from kuniumi.serve.console import explain_call  # noqa: PLC0415 - one command a process

    explain_call(service)  # a real call never comes here: `serve.cli` makes it
    return 0


def _list(service: Service, options: argparse.Namespace) -> int:
    if options.json:
        from kuniumi.wire.pages import list_functions  # noqa: PLC0415 - one command a process

        _print(dumps(list_functions(service)))
    else:
        from kuniumi.serve.console import show_list  # noqa: PLC0415

        show_list(service)
    return 0


def _describe(service: Service, options: argparse.Namespace) -> int:
    operation = service.registry.find(options.name)
    if operation is None:
        return finish(refuse(not_found(options.name)))
    from kuniumi.serve.console import show_function  # noqa: PLC0415 - one command a process

    show_function(operation, as_json=options.json)
    return 0


def _openapi(service: Service, options: argparse.Namespace) -> int:
    from kuniumi.wire.openapi import openapi  # noqa: PLC0415 - one command a process
    from kuniumi.wire.yaml import to_yaml  # noqa: PLC0415

    document = openapi(service)
    _print(to_yaml(document).rstrip("\n").encode() if options.yaml else dumps(document))
    return 0


def _completion(_service: Service, options: argparse.Namespace) -> int:
    from kuniumi.serve.completion import script  # noqa: PLC0415 - one command a process

    program = "kuniumi" if options.reference else options.program
    _print(script(options.shell, program).rstrip("\n").encode())
    return 0


def _explain_unknown(
    service: Service, word: str, names: dict[str, Any], parser: argparse.ArgumentParser
) -> int:
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    near = next(iter(get_close_matches(word, names, n=1)), "")
    if service.registry.find(word) is not None:
        near = f"call {word}"
    hint = f"did you mean {near!r}?" if near else f"there are {', '.join(names)}"
    sys.stderr.write(f"{parser.prog}: {word!r} is no command: {hint}\n")
    return 2


def _print(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


# ---- reading options -------------------------------------------------------------------------------


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        msg = f"{text!r} is not a whole number"
        raise argparse.ArgumentTypeError(msg) from None


def _port(text: str) -> int:
    port = _number(text)
    if not 0 <= port <= 65_535:
        msg = f"{text} is no port: it lies between 0 and 65535"
        raise argparse.ArgumentTypeError(msg)
    return port


def _positive(text: str) -> int:
    number = _number(text)
    if number < 1:
        msg = f"{text} is not a positive number"
        raise argparse.ArgumentTypeError(msg)
    return number


def _count(text: str) -> int:
    number = _number(text)
    if number < 0:
        msg = f"{text} is negative; 0 stands for no limit"
        raise argparse.ArgumentTypeError(msg)
    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        msg = f"{text!r} is no number of seconds"
        raise argparse.ArgumentTypeError(msg)
    return seconds


def _size(text: str) -> int:
    units = {"K": 1024, "M": 1024**2, "G": 1024**3}
    number, unit = (text[:-1], text[-1:].upper()) if text[-1:].upper() in units else (text, "")
    size = _number(number) * units.get(unit, 1)
    if size < 1:
        msg = f"{text} is no size: write it like 512K or 4M"
        raise argparse.ArgumentTypeError(msg)
    return size


def _host(text: str) -> str:
    if not is_host(text):
        msg = f"{text!r} is no name of a host: write it like api.example.com, or with its port"
        raise argparse.ArgumentTypeError(msg)
    return text


def _origin(text: str) -> str:
    if not is_origin(text):
        msg = f"{text!r} is no origin: write it like https://example.com"
        raise argparse.ArgumentTypeError(msg)
    return text


def _root_path(text: str) -> str:
    """Read a path as links begin with it: `/api`, whether it was given as that, `api` or `/api/`."""
    path = f"/{text.strip('/')}".rstrip("/")
    if not _PATH.fullmatch(path):
        msg = f"{text!r} is no path: write it like /api, as it stands in a URL"
        raise argparse.ArgumentTypeError(msg)
    return path
