"""What a server remembers of a call that waits for answers, kept by the client and sealed.

In: a secret, and what is to be remembered. Out: text that only its maker can make, and that tells
nothing when it was changed, is too old, or comes with another request.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from time import time
from typing import Any

import msgspec
from msgspec import Struct

LIFETIME = 3600.0
"""Seconds in which a person has to answer."""

_TAG = 16


class Remembered(Struct, frozen=True, array_like=True):
    """The answers given so far, to which request, and until when they count."""

    answers: dict[str, dict[str, Any]]
    about: bytes
    until: float


_decode = msgspec.json.Decoder(Remembered).decode


class Seal:
    """Seals with a secret that all workers of an app share."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def close(self, answers: dict[str, dict[str, Any]], about: bytes) -> str:
        """Seal the answers that a request has had so far."""
        body = msgspec.json.encode(Remembered(answers, about, time() + LIFETIME))
        return base64.urlsafe_b64encode(self._tag(body) + body).decode()

    def open(self, text: str, about: bytes) -> dict[str, dict[str, Any]] | None:
        """Give the answers back, or nothing if this is not what was sealed for that request."""
        try:
            sealed = base64.b64decode(text, b"-_", validate=True)
            tag, body = sealed[:_TAG], sealed[_TAG:]
            if not hmac.compare_digest(tag, self._tag(body)):
                return None
            found = _decode(body)
        except (binascii.Error, ValueError):
            return None
        return found.answers if found.about == about and found.until > time() else None

    def _tag(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, body, "sha256")[:_TAG]


def digest(*parts: bytes) -> bytes:
    """Give what stands for a request: its method, its name, its arguments."""
    return hashlib.sha256(b"\0".join(parts)).digest()[:_TAG]
