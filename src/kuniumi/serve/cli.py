"""The shell surface: commands for people and scripts, answers on stdout, errors on stderr.

In: a service and words. Out: an exit code. What a call's words mean is `wire.argv`'s affair, what
its failure is called `wire.status`'s; this module knows commands.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from kuniumi.core.codec import dumps
from kuniumi.core.fault import Fault, Kind, not_found
from kuniumi.core.invoke import refuse
from kuniumi.env.environment import Environment, parse_variables
from kuniumi.errors import KuniumiError, UsageError
from kuniumi.serve import console
from kuniumi.serve.about import based_on
from kuniumi.wire import argv
from kuniumi.wire.status import exit_code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kuniumi.core.call import Envelope
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service

_INTERRUPTED = 130
_LOG_LEVELS = ("critical", "error", "warning", "info", "debug")


def main() -> NoReturn:
    """Run `kuniumi <command> file.py[:app] …` for any file."""
    from kuniumi.serve.loading import load  # noqa: PLC0415 - only this door loads files

    words = sys.argv[1:]
    try:
        place = next((i for i, word in enumerate(words) if i and _is_reference(word)), None)
        if place is None:
            _explain_kuniumi(words)
        reference = words.pop(place)
        code = run(load(reference), words, program=f"kuniumi … {reference}", reference=reference)
    except KuniumiError as error:
        sys.stderr.write(f"{error}\n")
        code = 2
    sys.exit(code)


def run(service: Service, words: Sequence[str], *, program: str = "", reference: str = "") -> int:
    """Run one command of an app; give the exit code."""
    flags, rest = argv.take_globals(list(words), _own_flags(service, words))
    if flags["--env"]:
        known = service.environment.list_env()
        service.environment = Environment({**known, **parse_variables(flags["--env"])})
    command, *others = rest or ["--help"]
    if command == "call":
        return _call(service, others)
    if command == "__complete":
        from kuniumi.serve.completion import complete  # noqa: PLC0415

        return complete(service, others)
    parser = _parser(service, program or os.path.basename(sys.argv[0]))
    options = parser.parse_args(rest or ["--help"])
    options.reference = reference
    handler: Callable[[Service, argparse.Namespace], int] = options.handler
    return handler(service, options)


def _is_reference(word: str) -> bool:
    return word.partition(":")[0].endswith(".py") or (":" in word and not word.startswith("-"))


def _explain_kuniumi(words: list[str]) -> NoReturn:
    if words[:1] == ["--version"]:
        print(based_on().removeprefix("based on "))
        sys.exit(0)
    usage = (
        f"Usage: kuniumi COMMAND FILE.py[:APP] …      ({based_on()})\n\n"
        "COMMAND is one of serve, call, list, describe, openapi, cgi, completion.\n"
        "  kuniumi serve app.py --port 8080\n"
        "  kuniumi call app.py Add --x 7 --y 3\n"
    )
    if words and words[0] not in {"--help", "-h", "help"}:
        msg = f"kuniumi {' '.join(words)}: which file? Name one that holds an app\n\n{usage}"
        raise UsageError(msg)
    print(usage, end="")
    sys.exit(0)


def _own_flags(service: Service, words: Sequence[str]) -> frozenset[str]:
    """Give the flags that belong to the function that is called, whatever they are called."""
    rest = list(words)
    if "call" in rest[:-1]:
        operation = service.registry.find(rest[rest.index("call") + 1])
        if operation is not None:
            return frozenset(f"--{parameter.name}" for parameter in operation.parameters)
    return frozenset()


# ---- the commands that have options ---------------------------------------------------------------


def _parser(service: Service, program: str) -> argparse.ArgumentParser:
    about = service.registry.about
    title = f"{about.name} v{about.version} ({based_on()})"
    parser = argparse.ArgumentParser(
        prog=program,
        description=f"{title}\n\n{about.description}".strip(),
        epilog="--env KEY=VALUE gives functions a variable (ctx.env); it may stand anywhere.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=title)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        sub.set_defaults(handler=handler)
        return sub

    _add_serve_options(command("serve", _serve, "serve the functions over HTTP"))
    command("cgi", _cgi, "answer one CGI request from the environment and stdin")
    command("call", _call, "call one function: call NAME --x 7, or call NAME '{\"x\": 7}'")
    listing = command("list", _list, "list the functions")
    listing.add_argument("--json", action="store_true", help="as JSON")
    describing = command("describe", _describe, "describe one function")
    describing.add_argument("name", help="its name or operation id")
    describing.add_argument("--json", action="store_true", help="as JSON")
    document = command("openapi", _openapi, "print the OpenAPI document")
    document.add_argument("--yaml", action="store_true", help="as YAML")
    document.add_argument("--json", action="store_true", help="as JSON (this is the default)")
    completion = command("completion", _completion, "print a completion script for your shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser


def _add_serve_options(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on")
    add("--port", type=_port, default=8080, help="port to listen on")
    add("--workers", type=_positive, default=1, help="processes that answer")
    add("--reload", action="store_true", help="start anew when a file changes")
    add("--log-level", choices=_LOG_LEVELS, default="warning", help="what to log, on stderr")
    add("--max-body", type=_size, default="4M", help="largest body that is read, like 512K or 4M")
    add("--limit-concurrency", type=_count, help="calls at once in a process; more get 503")
    add("--timeout", type=_seconds, help="seconds a call may take, if its function sets none")
    add("--body-timeout", type=_seconds, default=30.0, help="seconds a body may take to arrive")
    add("--header-timeout", type=_seconds, default=30.0, help="seconds headers may take to arrive")
    add("--drain-timeout", type=_positive, default=30, help="seconds to finish calls on SIGTERM")
    add("--root-path", default="", help="path under which a proxy serves this app")
    add("--cors", action="append", default=[], metavar="ORIGIN", help="a web origin that may call")


def _serve(service: Service, options: argparse.Namespace) -> int:
    from kuniumi.serve.server import Settings, main_file, serve  # noqa: PLC0415 - one surface a process

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
        cors=tuple(options.cors),
    )
    greeting = console.greeting(service, settings.host, settings.port, settings.root_path)
    serve(service, options.reference or main_file(), settings, greeting)
    return 0


def _cgi(service: Service, _options: argparse.Namespace) -> int:
    from kuniumi.serve import cgi  # noqa: PLC0415 - one surface a process

    cgi.run(service)
    return 0


def _list(service: Service, options: argparse.Namespace) -> int:
    from kuniumi.wire.pages import list_functions  # noqa: PLC0415

    if options.json:
        _print(dumps(list_functions(service)))
    else:
        console.show_list(service)
    return 0


def _describe(service: Service, options: argparse.Namespace) -> int:
    operation = service.registry.find(options.name)
    if operation is None:
        return _finish(refuse(not_found(options.name)))
    from kuniumi.wire.pages import describe  # noqa: PLC0415

    if options.json:
        _print(dumps(describe(operation)))
    else:
        console.show_function(operation)
    return 0


def _openapi(service: Service, options: argparse.Namespace) -> int:
    from kuniumi.wire.openapi import openapi  # noqa: PLC0415
    from kuniumi.wire.yaml import to_yaml  # noqa: PLC0415

    document = openapi(service)
    _print(to_yaml(document).rstrip("\n").encode() if options.yaml else dumps(document))
    return 0


def _completion(_service: Service, options: argparse.Namespace) -> int:
    from kuniumi.serve.completion import script  # noqa: PLC0415

    print(script(options.shell, os.path.basename(sys.argv[0])), end="")
    return 0


# ---- calling ---------------------------------------------------------------------------------------


def _call(service: Service, words: Any) -> int:
    if isinstance(words, argparse.Namespace) or not words or words[0] in {"--help", "-h"}:
        console.explain_call(service)
        return 0 if words else 2
    name, *rest = words
    operation = service.registry.find(name)
    if operation is None:
        return _finish(refuse(not_found(name)))
    if "--help" in rest or "-h" in rest:
        console.show_function(operation)
        return 0
    try:
        raw = sys.stdin.buffer.read() if rest == ["-"] else argv.read_arguments(operation, rest)
    except UsageError as error:
        return _finish(refuse(Fault(Kind.BAD_ARGUMENTS, str(error))))
    return _finish(_answer(service, operation, raw))


def _answer(service: Service, operation: Operation, raw: bytes) -> Envelope:
    from kuniumi.execute.alone import answer_alone  # noqa: PLC0415

    with console.progress(operation) as report:
        call = service.call(operation, raw, report)
        return answer_alone(operation, call, service.limit(operation), log=False)


def _finish(envelope: Envelope) -> int:
    if envelope.fault is None:
        _print(envelope.body)
    else:
        sys.stdout.flush()
        sys.stderr.buffer.write(envelope.body + b"\n")
        sys.stderr.buffer.flush()
    return exit_code(envelope.fault)


def _print(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


# ---- reading options -------------------------------------------------------------------------------


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535:  # noqa: PLR2004 - what a port is
        msg = "a port lies between 0 and 65535"
        raise argparse.ArgumentTypeError(msg)
    return port


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        msg = f"{text} is not a positive number"
        raise argparse.ArgumentTypeError(msg)
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        msg = f"{text} is negative; 0 stands for no limit"
        raise argparse.ArgumentTypeError(msg)
    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        msg = f"{text} is no number of seconds"
        raise argparse.ArgumentTypeError(msg)
    return seconds


def _size(text: str) -> int:
    units = {"K": 1024, "M": 1024**2, "G": 1024**3}
    number, unit = (text[:-1], text[-1:].upper()) if text[-1:].upper() in units else (text, "")
    return _count(number) * units.get(unit, 1)
