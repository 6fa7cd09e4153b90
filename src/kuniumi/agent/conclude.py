"""What an answer comes to: its kind, its value, and what a model reads of it, each fact once.

In: blocks that were understood, and data. Out: an `Answer`. Text that is the same JSON as the data,
or a part of it, is left out of what a model reads; where the text says more, it stays, and where it
says all that the data says, the data is left out. It must not know how the answer came.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kuniumi.agent.answer import Answer, Block, Failure, Kind
from kuniumi.agent.blocks import describe, words_of
from kuniumi.agent.facts import covers, says_something
from kuniumi.agent.failures import explain, explain_value, suspect, suspect_value
from kuniumi.agent.json_text import ABSENT, parse, parse_any, spell, write
from kuniumi.agent.words import clean, leave_out_base64

_SAID_NOTHING = "[the tool failed and gave no reason]"


def conclude(
    raw: Any, notes: list[str], blocks: tuple[Block, ...], value: Any, *, in_text: bool = False
) -> Answer:
    """Put together an answer that is no declared error; `in_text` says that a text is the value."""
    has_value = value is not ABSENT
    told = [block for block in blocks if block.for_model]
    written = ""
    if has_value:
        value, written = _write_beside(value, told, notes, in_text=in_text)
    parts, text = _tell(told, written, blocks)
    seen = suspect_value(value) if has_value else None
    if seen is None and blocks and not in_text:
        seen = suspect(_first_text(blocks))
    return Answer(
        kind=_kind_of(blocks, has_value=has_value),
        suspected_error=seen is not None,
        error=seen,
        value=value if has_value else None,
        has_value=has_value,
        text=text,
        parts=parts,
        blocks=blocks,
        warnings=tuple(notes),
        raw=raw,
    )


def conclude_failed(
    raw: Any, notes: list[str], blocks: tuple[Block, ...], structured: Any
) -> Answer:
    """Put together an error that a tool declared, from its blocks and its data."""
    said = "\n".join(block.text for block in blocks if block.text)
    told = [block for block in blocks if block.for_model]
    written, has_value = "", structured is not ABSENT
    if has_value:
        structured, written = _write_beside(structured, told, notes, in_text=False)
        if not says_something(structured):
            written = ""  # the zeros of a struct that was never filled
    if said.strip():
        inner = parse(said)
        failure = explain_value(inner) if isinstance(inner, dict) else Failure("")
        if not failure.message:
            failure = explain(said)
    elif isinstance(structured, dict):
        failure = explain_value(structured)
    else:
        failure = Failure(structured if isinstance(structured, str) else "")
    if isinstance(structured, dict) and "error" in structured and failure.code is None:
        below = explain_value(structured)
        failure = replace(failure, code=below.code, outer_code=below.outer_code)
    if not failure.message and has_value and says_something(structured):
        failure = replace(failure, message=write(structured, [])[1])
    parts, text = _tell(told, written, blocks)
    if not text.strip():
        text = _SAID_NOTHING
        parts = (text,)
    return Answer(
        kind="error",
        declared_error=True,
        error=failure,
        value=structured if has_value else None,
        has_value=has_value,
        text=text,
        parts=parts,
        blocks=blocks,
        warnings=tuple(notes),
        raw=raw,
    )


def conclude_error(raw: Any, notes: list[str], sent: Any, failure: Failure) -> Answer:
    """Put together an error that is no tool's result: a JSON-RPC error, an exception."""
    if isinstance(sent, dict):
        text = failure.message
        if failure.code is not None:
            text = f"MCP error {failure.code}: {text}"
        if failure.data is not None and failure.data != failure.message:
            said = failure.data if isinstance(failure.data, str) else write(failure.data, notes)[1]
            text += f"\n{said}"
        if not text:
            text = write(sent, notes)[1]
    else:
        text = str(sent)
    text = leave_out_base64(clean(text)) or _SAID_NOTHING
    return Answer(
        kind="error",
        declared_error=True,
        error=replace(failure, message=clean(failure.message)),
        text=text,
        parts=(text,),
        warnings=tuple(notes),
        raw=raw,
    )


def _kind_of(blocks: tuple[Block, ...], *, has_value: bool) -> Kind:
    media = words = False
    for block in blocks:
        if block.data or block.type in {"image", "audio"}:
            media = True
        elif block.type != "text" or block.text.strip().strip("\ufeff"):
            words = True
    if media:
        return "mixed" if words or has_value else "media"
    if has_value:
        return "json"
    return "text" if words else "empty"


def _first_text(blocks: tuple[Block, ...]) -> str:
    return next((block.text for block in blocks if block.type == "text" and block.text), "")


# ---- what a model reads ----------------------------------------------------------------------------


def _write_beside(
    value: Any, told: list[Block], notes: list[str], *, in_text: bool
) -> tuple[Any, str]:
    """Give the value, and its JSON if a model must see it beside the blocks.

    Blocks that say no more than the value does are taken out of `told`.
    """
    if in_text:
        return value, ""
    value, written = write(value, notes)
    texts = [block for block in told if block.type == "text" and block.text.strip()]
    if len(texts) == 1 and texts[0].text == written:
        return value, ""
    # A function's own value is often wrapped, because structured content had to be an object.
    core = _unwrapped(value)
    if _is_split(core, texts) or _is_cut_up(core, value, texts):
        _take_out(texts, told)
        return value, written
    told_all = False
    for block in texts:
        said = parse_any(block.text.strip("\ufeff \t\r\n"))
        if not told_all and _says_all(block.text, said, value, written):
            told_all = True  # this one stays, and stands for the data
        elif _says_no_more(block.text, said, value):
            _take_out([block], told)
    for block in told:
        if block.type == "resource" and block.text and not told_all:
            told_all = _says_all(block.text, parse(block.text), value, written)
    if told_all:
        return value, ""
    left = any(block is other for block in texts for other in told)
    return value, "" if left and (value is None or value == {}) else written


def _unwrapped(value: Any) -> Any:
    return value["result"] if isinstance(value, dict) and value.keys() == {"result"} else value


def _says_all(text: str, said: Any, value: Any, written: str) -> bool:
    """Whether a text, and the JSON that it is, say everything that the value says."""
    core = _unwrapped(value)
    if isinstance(core, str) and text.strip() == core.strip():
        return True
    if said is ABSENT:
        return False
    # Most servers write the very same JSON with other spacing: that is the cheap thing to see.
    if spell(said) == written:
        return True
    return covers(said, value) or covers(said, core) or covers(_unwrapped(said), value)


def _says_no_more(text: str, said: Any, value: Any) -> bool:
    """Whether a text says nothing that the value does not say, and is no scalar by chance."""
    core = _unwrapped(value)
    if isinstance(core, str) and text.strip() == core.strip():
        return True
    return isinstance(said, (dict, list)) and (covers(value, said) or covers(core, said))


def _is_cut_up(core: Any, value: Any, texts: list[Block]) -> bool:
    """Whether the texts are the data's JSON, cut into pieces."""
    if len(texts) < 2 or not texts[0].text.lstrip().startswith(("{", "[")):
        return False
    said = parse("".join(block.text for block in texts))
    return said is not ABSENT and (covers(value, said) or covers(core, said))


def _is_split(core: Any, texts: list[Block]) -> bool:
    """Whether the texts are the items of a list, a block each."""
    if not isinstance(core, list) or not len(core) == len(texts) > 0:
        return False
    return all(_says(block.text, item) for block, item in zip(texts, core, strict=True))


def _says(text: str, item: Any) -> bool:
    if isinstance(item, str) and item == text:
        return True
    said = parse_any(text)
    return said is not ABSENT and covers(said, item) and covers(item, said)


def _take_out(blocks: list[Block], told: list[Block]) -> None:
    gone = {id(block) for block in blocks}
    told[:] = [block for block in told if id(block) not in gone]


def _tell(
    told: list[Block], written: str, blocks: tuple[Block, ...]
) -> tuple[tuple[str | Block, ...], str]:
    """Give the parts for a model, words and media in their order, and all of it as words."""
    if len(told) == 1 and not written and told[0].type == "text" and not told[0].data:
        text = leave_out_base64(told[0].text.removeprefix("\ufeff"))
        return ((text,) if text else ()), text
    known = tuple(block.data for block in blocks if block.data)
    parts: list[str | Block] = []
    lines: list[str] = []

    def say(words: str) -> None:
        words = leave_out_base64(words, known)
        lines.append(words)
        if parts and isinstance(parts[-1], str):
            parts[-1] = f"{parts[-1]}\n{words}"
        else:
            parts.append(words)

    for block in told:
        if block.data:
            parts.append(block)
            lines.append(describe(block))
            if block.text:
                say(block.text)
        elif words := words_of(block).removeprefix("\ufeff"):
            say(words)
    if written:
        say(written)
    return tuple(parts), "\n".join(lines)
