"""What every provider's messages are made of: an answer's parts, within a budget.

In: an answer, how it shall be rendered, and which media the wire at hand carries. Out: words and
blocks, in order; what cannot be carried has become words that name it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from kuniumi.agent.answer import Answer, Block
from kuniumi.agent.blocks import byte_count, describe
from kuniumi.agent.words import cut, neutralise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Turn = tuple[str | None, str, Answer]
"""One call that was made: its id, the name the model called, and the answer."""

NOTHING = "[no content]"
FOR_THE_USER = "[the answer was shown to the user]"
_CUT_OFF = "…"  # no wire takes an answer without a word, however small the budget


class Rendering(NamedTuple):
    """How answers are rendered: at most so much text, with media or without, neutralised or not."""

    max_chars: int | None = None
    media: bool = True
    neutralise: bool = False


class Carrier(NamedTuple):
    """What one place of one wire carries: these types of media, up to this size."""

    types: frozenset[str]
    max_bytes: int

    def carries(self, block: Block) -> bool:
        """Whether this block can go there."""
        return block.mime_type in self.types and byte_count(block.data) <= self.max_bytes


def render(
    answer: Answer, how: Rendering, carries: Callable[[Block], bool], *, mark: bool = False
) -> list[str | Block]:
    """Give words and media in order, never nothing; adjacent words are put together.

    `mark` says in words that an error is one, for a wire that has no flag for it.
    """
    parts: list[str | Block] = []
    for part in answer.parts:
        if isinstance(part, str):
            _say(part, parts)
        elif how.media and carries(part):
            parts.append(_neutral(part) if how.neutralise else part)
        else:
            _say(describe(part), parts)
    if not any(not isinstance(part, str) or part.strip() for part in parts):
        parts = [FOR_THE_USER if answer.blocks and answer.kind != "empty" else NOTHING]
    if mark and answer.declared_error and not _says_so(parts):
        first = parts.pop(0) if parts and isinstance(parts[0], str) else ""
        parts.insert(0, f"Error: {first}".rstrip())
    if how.neutralise:
        parts = [neutralise(part) if isinstance(part, str) else part for part in parts]
    if how.max_chars is not None:
        parts = _within(parts, how.max_chars)
    return [part for part in parts if not isinstance(part, str) or part.strip()] or [_CUT_OFF]


def render_apart(
    answer: Answer, how: Rendering, carries: Callable[[Block], bool], *, mark: bool = False
) -> tuple[str, list[Block]]:
    """Give the words, with each medium named in its place, and the media that go elsewhere."""
    parts = render(answer, how._replace(max_chars=None), carries, mark=mark)
    words = "\n".join(part if isinstance(part, str) else describe(part) for part in parts)
    if how.max_chars is not None:
        words = cut(words, how.max_chars)
    return words if words.strip() else _CUT_OFF, [part for part in parts if isinstance(part, Block)]


def text_of(parts: Sequence[str | Block]) -> str:
    """Give the words of parts among which there are no media."""
    return "\n".join(part for part in parts if isinstance(part, str))


def _neutral(block: Block) -> Block:
    return replace(block, name=neutralise(block.name), uri=neutralise(block.uri))


def _says_so(parts: Sequence[str | Block]) -> bool:
    """Whether the words say of themselves that this is an error."""
    head = parts[0][:200].lstrip().lower() if parts and isinstance(parts[0], str) else ""
    return head.startswith(("error", "mcp error")) or (head.startswith("{") and '"error"' in head)


def _say(words: str, parts: list[str | Block]) -> None:
    if parts and isinstance(parts[-1], str):
        parts[-1] = f"{parts[-1]}\n{words}"
    else:
        parts.append(words)


def _within(parts: list[str | Block], limit: int) -> list[str | Block]:
    """Keep to a budget of characters; words that must be cut come first, then the media."""
    words = [part for part in parts if isinstance(part, str)]
    if sum(map(len, words)) <= limit:
        return parts
    media = [part for part in parts if not isinstance(part, str)]
    return [cut("\n".join(words), limit), *media]
