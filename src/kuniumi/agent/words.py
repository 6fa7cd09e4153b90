"""Text on its way to a model: what is no text is mended, cut, made visible or left out.

In: text. Out: text, the same for the same. It knows Unicode and base64, and nothing of answers.
"""

from __future__ import annotations

import re

_DATA_URL = re.compile(r"(data:[\w.+/-]*(?:;[\w.=+-]+)*;base64,)[A-Za-z0-9+/_=-]{64,}")
# How the base64 of a PNG, JPEG, GIF, RIFF (WebP, WAV), PDF, ZIP, Ogg, MP3, gzip starts.
_MEDIA = re.compile(
    r"(?<![A-Za-z0-9+/])"
    r"(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|UEsDB|T2dnU|SUQz|H4sI)[A-Za-z0-9+/]{200,}={0,2}"
)
_MEDIA_SIGNS = (
    "iVBORw0KGgo",
    "/9j/",
    "R0lGOD",
    "UklGR",
    "JVBERi0",
    "UEsDB",
    "T2dnU",
    "SUQz",
    "H4sI",
)
_LEFT_OUT = "[base64 left out]"

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
    """Give at most so many characters: the head, a notice with the original size, the tail."""
    if len(text) <= limit:
        return text
    total = len(text)
    notice = f"\n[… {total:,} of {total:,} characters left out …]\n"
    room = limit - len(notice)
    if room <= 0:
        return text[: max(limit, 0)]
    head = room - room // 3
    tail = room - head
    notice = f"\n[… {total - room:,} of {total:,} characters left out …]\n"
    return text[:head] + notice + text[total - tail :]


def one_line(text: str, limit: int = 300) -> str:
    """Give a name or an address as one line of sane length."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def leave_out_base64(text: str, known: tuple[str, ...] = ()) -> str:
    """Take out data that is no text: what blocks carry anyway, data URLs, encoded media files."""
    if len(text) < 64:
        return text
    for data in known:
        if len(data) >= 32 and data in text:
            text = text.replace(data, _LEFT_OUT)
    if ";base64," in text:
        text = _DATA_URL.sub(rf"\1{_LEFT_OUT}", text)
    if len(text) > 200 and any(sign in text for sign in _MEDIA_SIGNS):
        text = _MEDIA.sub(_LEFT_OUT, text)
    return text
