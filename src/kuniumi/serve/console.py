"""What a person sees in a terminal: lists, descriptions, help for a call, progress.

In: a service or an operation. Out: text on stdout, progress on stderr. rich is loaded on a terminal
only; into a pipe goes plain text that other programs can read.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kuniumi.core.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service

    Report = Callable[[float, float | None, str | None], None]


def greeting(service: Service, host: str, port: int, root_path: str) -> str:
    """Say where the app is served, with a line to paste."""
    from kuniumi.core.describe import described_input  # noqa: PLC0415
    from kuniumi.wire.index import sample  # noqa: PLC0415

    about = service.registry.about
    shown = "127.0.0.1" if host in {"0.0.0.0", "::", ""} else host  # noqa: S104 - only shown
    base = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}{root_path}"
    lines = [
        f"{about.name} v{about.version} is served at {base}",
        f"  functions   {base}/functions",
        f"  OpenAPI     {base}/openapi.json",
        f"  MCP         {base}/mcp",
        f"  health      {base}/health",
    ]
    operation = next(iter(service.registry), None)
    if operation is not None:
        path = operation.path or f"/functions/{operation.name}"
        data = dumps(sample(described_input(operation))).decode().replace("'", "'\\''")
        header = "-H 'Content-Type: application/json'"
        lines += ["Try it:", f"  curl {base}{path} {header} -d '{data}'"]
    return "\n".join(lines)


def show_list(service: Service) -> None:
    """List the functions, a line each."""
    from kuniumi.core.describe import words_of  # noqa: PLC0415

    rows = [
        (operation.name, operation.operation_id, words_of(operation).summary)
        for operation in service.registry
    ]
    _table(("Function", "Operation id", "Description"), rows)


def show_function(operation: Operation, *, as_json: bool = False) -> None:
    """Describe one function: what it takes, what it gives, how to call it."""
    if as_json:
        from kuniumi.wire.pages import describe  # noqa: PLC0415 - for programs only

        print(dumps(describe(operation)).decode())
        return
    import shlex  # noqa: PLC0415 - for help only

    from kuniumi.core.describe import described_input, described_output, words_of  # noqa: PLC0415
    from kuniumi.wire.argv import write_arguments  # noqa: PLC0415
    from kuniumi.wire.index import kind_of, sample  # noqa: PLC0415

    words, schema = words_of(operation), described_input(operation)
    print(f"{operation.name} ({operation.operation_id})")
    if words.description:
        print(f"\n{words.description}")
    required = schema.get("required", ())
    rows = [
        (
            f"--{name}",
            kind_of(described),
            "required"
            if name in required
            else f"default {dumps(described['default']).decode()}"
            if "default" in described
            else "optional",
            described.get("description", ""),
        )
        for name, described in schema["properties"].items()
    ]
    if rows:
        print("\nArguments:")
        _table(("Argument", "Type", "", "Description"), rows)
    output = described_output(operation)
    print("\nReturns:")
    _table(
        ("Field", "Type", "Description"),
        [
            (name, kind_of(described), described.get("description", ""))
            for name, described in output.get("properties", {}).items()
        ],
    )
    example = write_arguments(operation, dumps(sample(schema)))
    print(f"\nExample:\n  call {shlex.join([operation.name, *example])}")


def explain_call(service: Service) -> None:
    """Say how a function is called."""
    print("Usage: call NAME [--argument VALUE …] | call NAME '{\"argument\": …}' | call NAME -")
    print("A single - reads the arguments as JSON from stdin. call NAME --help tells more.\n")
    show_list(service)


def show_offers(seen: dict[str, Any]) -> None:
    """Show what a client of MCP sees, as `serve.mcp.inspecting` gives it."""
    from kuniumi.wire.index import kind_of  # noqa: PLC0415

    def fields(schema: dict[str, Any]) -> str:
        required = schema.get("required", ())
        return ", ".join(
            f"{name}{'' if name in required else '?'}: {kind_of(part)}"
            for name, part in schema.get("properties", {}).items()
        )

    def first_line(entry: dict[str, Any]) -> str:
        return str(entry.get("description", "")).partition("\n")[0]

    server = seen["server"]
    print(f"{server['name']} v{server['version']}, as MCP {seen['revision']} shows it")
    print(f"Capabilities: {_capabilities(seen['capabilities'])}")
    if "instructions" in seen:
        print(f"Instructions: {seen['instructions']}")
    sections: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Any]], tuple[str, ...]]]] = {
        "tools": (
            ("Tool", "Takes", "Gives", "Hints", "Description"),
            lambda tool: (
                tool["name"],
                fields(tool["inputSchema"]),
                fields(tool["outputSchema"]) or "nothing" if "outputSchema" in tool else "content",
                _hints(tool.get("annotations", {})),
                first_line(tool),
            ),
        ),
        "resources": (
            ("Resource", "Name", "Type", "Description"),
            lambda found: (
                found["uri"],
                found["name"],
                found.get("mimeType", ""),
                first_line(found),
            ),
        ),
        "resourceTemplates": (
            ("Resource template", "Name", "Type", "Description"),
            lambda found: (
                found["uriTemplate"],
                found["name"],
                found.get("mimeType", ""),
                first_line(found),
            ),
        ),
        "prompts": (
            ("Prompt", "Takes", "Description"),
            lambda prompt: (
                prompt["name"],
                ", ".join(
                    f"{argument['name']}{'' if argument.get('required') else '?'}"
                    for argument in prompt.get("arguments", ())
                ),
                first_line(prompt),
            ),
        ),
    }
    for key, (heads, row) in sections.items():
        if seen[key]:
            print(f"\n{heads[0]}s ({len(seen[key])}):")
            _table(heads, [row(entry) for entry in seen[key]])


def _capabilities(capabilities: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} ({', '.join(more)})" if more else name for name, more in capabilities.items()
    )


def _hints(annotations: dict[str, Any]) -> str:
    words = {
        "readOnlyHint": ("changes nothing", "makes changes"),
        "destructiveHint": ("may destroy", "destroys nothing"),
        "idempotentHint": ("may be repeated", "counts each time"),
        "openWorldHint": ("reaches outside", "stays inside"),
    }
    said = [words[hint][not value] for hint, value in annotations.items() if hint in words]
    return ", ".join(said)


@contextmanager
def progress(operation: Operation) -> Iterator[Report | None]:
    """Show what the function reports, on stderr, if that is a terminal and it may report."""
    if not (operation.wants_context and sys.stderr.isatty()):
        yield None
        return
    shown: list[Any] = []  # nothing, until there is something to tell

    def report(done: float, total: float | None, message: str | None) -> None:
        if not shown:
            from rich.console import Console  # noqa: PLC0415 - for people only
            from rich.progress import Progress  # noqa: PLC0415

            shown.append(Progress(console=Console(stderr=True), transient=True))
            shown[0].add_task(operation.name, total=None)
            shown[0].start()
        bars = shown[0]
        bars.update(
            bars.task_ids[0], completed=done, total=total, description=message or operation.name
        )

    try:
        yield report
    finally:
        for bars in shown:
            bars.stop()


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if sys.stdout.isatty():
        _rich_table(heads, rows)
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  " + "  ".join(cells).rstrip())


def _rich_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console  # noqa: PLC0415 - for people only
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table: Any = Table(box=None, pad_edge=False, padding=(0, 2))
    for head in heads:
        table.add_column(head, overflow="fold", header_style="bold")
    for row in rows:
        first, *rest = row
        table.add_row(Text(first, style="cyan"), *map(Text, rest))
    Console().print(table)
