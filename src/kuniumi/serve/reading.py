"""The command `read`: what a tool answered, and what each model would be sent of it.

In: an answer on stdin, in whatever form. Out: what it is, and its renderings, on stdout.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.fault import clipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kuniumi.agent.answer import Answer

_PROVIDERS = ("openai", "openai-chat", "anthropic", "gemini")
_SHOWN_DATA = 60


def run_read(words: Sequence[str]) -> int:
    """Read an answer from stdin and show it; 1 if it is an error, as a shell expects."""
    parser = argparse.ArgumentParser(
        prog="kuniumi read",
        description="Read a tool's answer from stdin: a tool result, a JSON-RPC message, any text. "
        "Show what it is, and what each model would be sent. Exits with 1 for a declared error.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--for", dest="provider", choices=_PROVIDERS, help="only this provider's messages, as JSON")
    add("--text", action="store_true", help="only the text that a model would read")
    add("--json", action="store_true", help="only the plain form, as JSON")
    add("--max-chars", type=int, metavar="N", help="at most so many characters for a model")
    add("--no-media", action="store_true", help="name pictures and sounds instead of sending them")
    add("--neutralise", action="store_true", help="make control characters visible")
    try:
        options = parser.parse_args(words)
    except SystemExit as stop:  # it has printed its help, or a mistake
        return int(stop.code or 0)
    from kuniumi.agent import read  # noqa: PLC0415 - not for help

    answer = read(sys.stdin.buffer.read())
    if options.text:
        shown = _words(answer, options)
    elif options.json:
        shown = _pretty(answer.as_dict())
    elif options.provider:
        shown = _pretty(_render(answer, options.provider, options))
    else:
        shown = _show(answer, options)
    sys.stdout.flush()
    sys.stdout.buffer.write(shown.rstrip("\n").encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()
    return int(answer.declared_error)


def _words(answer: Answer, options: argparse.Namespace) -> str:
    from kuniumi.agent.words import cut, neutralise  # noqa: PLC0415 - not for help

    text = neutralise(answer.text) if options.neutralise else answer.text
    return text if options.max_chars is None else cut(text, options.max_chars)


def _show(answer: Answer, options: argparse.Namespace) -> str:
    facts = [f"kind: {answer.kind}"]
    if answer.error is not None:
        facts.append(f"error: {'declared' if answer.declared_error else 'suspected'}")
        if answer.error.message:
            facts.append(f"message: {answer.error.message}")
        named = {name: getattr(answer.error, name) for name in ("code", "outer_code", "tool")}
        facts += [f"{name.replace('_', ' ')}: {fact}" for name, fact in named.items() if fact]
    if answer.has_value:
        facts.append(f"value: {_shortened(answer.value)}")
    facts += [f"blocks: {len(answer.blocks)}"] if answer.blocks else []
    facts += [f"warning: {warning}" for warning in answer.warnings]
    sections = ["\n".join(facts), f"== text ==\n{_words(answer, options)}"]
    for provider in _PROVIDERS:
        rendered = _elide(_render(answer, provider, options))
        sections.append(f"== {provider} ==\n{_pretty(rendered)}")
    return "\n\n".join(sections)


def _render(answer: Answer, provider: str, options: argparse.Namespace) -> Any:
    how: dict[str, Any] = {
        "max_chars": options.max_chars,
        "media": not options.no_media,
        "neutralise": options.neutralise,
    }
    match provider:
        case "openai":
            return answer.for_openai("call_1", **how)
        case "openai-chat":
            return answer.for_openai_chat("call_1", **how)
        case "anthropic":
            return answer.for_anthropic("call_1", **how)
    return answer.for_gemini("call_1", "tool", **how)


def _elide(value: Any, key: str = "") -> Any:
    """Shorten encoded media, which tells a person nothing."""
    if isinstance(value, dict):
        return {name: _elide(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_elide(item) for item in value]
    media = key in {"data", "url", "image_url", "file_data"}
    if media and isinstance(value, str) and len(value) > _SHOWN_DATA:
        return f"{value[:_SHOWN_DATA]}… ({len(value):,} characters)"
    return value


def _shortened(value: Any) -> str:
    return clipped(msgspec.json.encode(value).decode())


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
