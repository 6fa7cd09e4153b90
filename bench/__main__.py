"""`python -m bench [http|mcp|cgi|files|agent|pools|all] [--seconds N] [--quick] [--json FILE] [--only NAME]...`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench import (
    agent_answers,
    agent_calls,
    cgi_cold,
    file_reads,
    http_calls,
    machine,
    mcp_http,
    mcp_stdio,
    pools,
    report,
)
from bench.servers import BenchError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks asked for; 1 if one could not be measured, whatever the budgets say."""
    options = _parser().parse_args(arguments)
    # Leave by an exception, so that the servers are stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    about = machine.describe()
    print(machine.render(about), flush=True)
    results = []
    try:
        for section in _sections(options):
            print(report.render(section), flush=True)
            results.append(report.as_data(section))
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(
            json.dumps({"machine": about, "sections": results}, indent=1, ensure_ascii=False) + "\n"
        )
    return 0


def _sections(options: argparse.Namespace) -> Iterator[report.Section]:
    effort = http_calls.Effort(options.rounds, options.seconds, *_cores(options))
    if options.quick:
        effort = replace(effort, rounds=3, seconds=1)
    wanted = _filter(options.only)
    if options.what in ("http", "all"):
        yield http_calls.calls(effort, wanted)
        if not options.only:
            yield http_calls.crowded_calls(effort)
            yield http_calls.descriptions()
    if options.what in ("mcp", "all"):
        yield mcp_http.calls(effort, wanted)
        if not options.only:
            yield mcp_http.crowded_calls(effort)
        yield from mcp_stdio.runs(3 if options.quick else 5, wanted)
    if options.what in ("cgi", "all"):
        yield cgi_cold.calls(15 if options.quick else options.runs, wanted)
    if options.what in ("files", "all"):
        yield from file_reads.runs(5 if options.quick else 15, wanted)
    if options.what in ("agent", "all"):
        yield from _agent_sections(effort, wanted, 3 if options.quick else 7)
    if options.what in ("pools", "all"):
        yield pools.calls(effort.rounds, effort.seconds, wanted)


def _agent_sections(
    effort: http_calls.Effort, wanted: Callable[[str], bool], rounds: int
) -> Iterator[report.Section]:
    yield agent_answers.conversions(rounds, wanted)
    yield agent_answers.sizes(rounds, wanted)
    yield agent_calls.calls(effort, wanted)
    yield agent_calls.discoveries(effort, wanted)


def _cores(options: argparse.Namespace) -> tuple[int, int] | tuple[None, None]:
    cores = sorted(os.sched_getaffinity(0))
    return (None, None) if options.no_pin else (cores[0], cores[-1])


def _filter(only: Sequence[str]) -> Callable[[str], bool]:
    return lambda name: not only or any(part.lower() in name.lower() for part in only)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="What a call costs, beside peers and budgets."
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=("http", "mcp", "cgi", "files", "agent", "pools", "all"),
        default="all",
    )
    parser.add_argument(
        "--seconds", type=int, default=2, help="load per contender and round (%(default)s)"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds over all contenders (%(default)s)"
    )
    parser.add_argument(
        "--runs", type=int, default=40, help="starts of each CGI program (%(default)s)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a minute in all: 3 rounds of 1 s, 15 starts"
    )
    parser.add_argument(
        "--no-pin", action="store_true", help="let servers and load roam over all cores"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="only rows whose name contains NAME",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also store every sample here")
    return parser


if __name__ == "__main__":
    sys.exit(main())
