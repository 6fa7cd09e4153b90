"""Text on its way to a model: what is no text is mended, cut, made visible or left out.

In: text. Out: text, the same for the same. It knows Unicode and base64, and nothing of answers.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import category

# How the base64 of a PNG, JPEG, GIF, RIFF (WebP, WAV), PDF, ZIP, Ogg, MP3, gzip starts.
_MEDIA_SIGNS = (
    *("iVBORw0KGgo", "/9j/", "\\/9j\\/", "R0lGOD", "UklGR", "JVBERi0"),
    *("UEsDB", "T2dnU", "SUQz", "H4sI"),
)
# What is this long, has no space in it and mixes its letters so is no word of any language.
_LONG = 1000
_LEFT_OUT = "[base64 left out]"


class _Patterns(NamedTuple):
    """What is taken for base64: in data URLs, in encoded files, and what is just very long."""

    url: re.Pattern[str]
    media: re.Pattern[str]
    run: re.Pattern[str]


def _compile(digit: str) -> _Patterns:
    # Some break base64 into lines, which JSON writes as escapes; only the last of them is short.
    end = r"(?:\r?\n|(?:\\r)?\\n)"
    lines = rf"(?:{end}{digit}{{60,}})*(?:{end}{digit}{{1,75}}(?==|[\"']|\s*\Z))?={{0,2}}"
    signs = "|".join(map(re.escape, _MEDIA_SIGNS))
    return _Patterns(
        re.compile(
            rf"(data:[\w.+-]*(?:\\?/[\w.+-]+)?(?:;[\w.=+-]{{1,100}}){{0,9}};base64,){digit}{{32,}}{lines}"
        ),
        re.compile(rf"(?<![A-Za-z0-9+/])(?:{signs}){digit}{{40,}}{lines}"),
        re.compile(rf"(?<![A-Za-z0-9+/_-]){digit}{{{_LONG},}}{lines}"),
    )


# Both alphabets of base64. JSON may write a slash with a backslash in front, which costs time.
_PATTERNS = _compile("[A-Za-z0-9+/_-]")
_HALF = re.compile(rf"[A-Za-z0-9+/_\\-]{{{_LONG // 2}}}")
_ESCAPED = _compile(r"(?:[A-Za-z0-9+/_-]|\\/)")

_JOINER = "\u200d"
_LONGEST_CLUSTER = 32
_INVISIBLE = (
    *range(0x09),
    *range(0x0B, 0x20),
    *range(0x7F, 0xA0),
    *(0x061C, 0x180E, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
)
_VISIBLE = {code: f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}" for code in _INVISIBLE}


def clean(text: str) -> str:
    """Mend what UTF-8 has no form for: halves of a pair are put together, lone ones replaced."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def neutralise(text: str) -> str:
    """Make control and bidirectional characters visible, as escapes; lines and tabs stay."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def cut(text: str, limit: int) -> str:
    """Give at most so many characters: the head, a notice with the original size, the tail.

    Where there is no room for the notice, an ellipsis stands for it. What is read as one character,
    like a letter and its accent, is not torn apart.
    """
    total = len(text)
    if total <= limit:
        return text
    notice = f"\n[… {total:,} of {total:,} characters left out …]\n"
    room = limit - len(notice)
    if room <= 0:
        notice, room = "…", max(limit - 1, 0)
    head = _boundary(text, room - room // 3, -1)
    tail = _boundary(text, total - room // 3, 1)
    if len(notice) > 1:
        notice = f"\n[… {tail - head:,} of {total:,} characters left out …]\n"
    return text[:head] + notice + text[tail:]


def _boundary(text: str, at: int, step: int) -> int:
    """Give the next place, from here on or back, where no character is torn apart."""
    for place in range(at, at + step * _LONGEST_CLUSTER, step):
        if not 0 < place < len(text):
            return place
        if not _belongs(text[place - 1], text[place]):
            return place
    return at  # nobody's writing: a pile of accents without an end


def _belongs(before: str, character: str) -> bool:
    """Whether a character belongs to the one before it: an accent, a tone of skin, half a CRLF."""
    return (
        _JOINER in {before, character}
        or (before, character) == ("\r", "\n")
        or category(character).startswith("M")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def one_line(text: str, limit: int = 300) -> str:
    """Give a name or an address as one line of sane length."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def leave_out_base64(text: str, known: tuple[str, ...] = ()) -> str:
    """Take out data that is no text: what blocks carry anyway, data URLs, encoded files."""
    if len(text) < 44:
        return text
    for data in known:
        if len(data) >= 32 and data in text:
            text = text.replace(data, _LEFT_OUT)
    find = _ESCAPED if "\\/" in text else _PATTERNS
    if ";base64," in text:
        text = find.url.sub(rf"\1{_LEFT_OUT}", text)
    if any(sign in text for sign in _MEDIA_SIGNS):
        text = find.media.sub(_LEFT_OUT, text)
    if _may_run_on(text):
        text = find.run.sub(_leave_out_run, text)
    return text


def _may_run_on(text: str) -> bool:
    """Whether there may be a long run in there: one would fill half its length from a mark on."""
    half = _LONG // 2
    return any(_HALF.match(text, at) for at in range(0, len(text) - half + 1, half))


def _leave_out_run(found: re.Match[str]) -> str:
    """Leave out a long run if it is base64: all kinds of digits, in fours, and hardly any twice."""
    run = found[0]
    digits = len(run) - len(re.findall(r"\\[rn]?|\s", run))
    mixed = all(re.search(kind, run) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    varied = len({run[at : at + 4] for at in range(_LONG)}) > _LONG // 5
    return _LEFT_OUT if mixed and varied and digits % 4 == 0 else run
