"""Names of properties that a provider refuses, and the way back from the ones it is told.

In: a schema whose root is an object. Out: the same with other names, and the arguments with their
own names again. Only the root's properties are held to a pattern.
"""

from __future__ import annotations

import re
from typing import Any

_ACCEPTED = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_MAX_NAME = 64


def rename(root: dict[str, Any]) -> dict[str, Any]:
    """Give the schema with names that are accepted everywhere; the descriptions tell the others."""
    names = _sent(root.get("properties"))
    if not names:
        return root
    properties = {
        names.get(name, name): _called(name, each) if name in names else each
        for name, each in root["properties"].items()
    }
    made = {**root, "properties": properties}
    if isinstance(root.get("required"), list):
        made["required"] = [names.get(name, name) for name in root["required"]]
    return made


def restore(arguments: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments by their own names."""
    own = {sent: name for name, sent in _sent(root.get("properties")).items()}
    return {own.get(name, name): item for name, item in arguments.items()} if own else arguments


def _sent(properties: Any) -> dict[str, str]:
    """Give the names that are told instead of those that would be refused."""
    if not isinstance(properties, dict):
        return {}
    refused = [name for name in properties if not _ACCEPTED.fullmatch(name)]
    taken = {name for name in properties if name not in refused}
    sent: dict[str, str] = {}
    for name in refused:
        plain = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name)
        short = plain if plain.strip("_") and len(plain) <= _MAX_NAME else _hashed(name, plain, 0)
        turn = 0
        while short in taken:
            turn += 1
            short = _hashed(name, plain, turn)
        taken.add(short)
        sent[name] = short
    return sent


def _hashed(name: str, plain: str, turn: int) -> str:
    from hashlib import sha256  # noqa: PLC0415 - few names need it

    digest = sha256(f"{name}\0{turn}".encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain[: _MAX_NAME - 9]}_{digest}"


def _called(name: str, schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    described = schema.get("description")
    note = f"(its own name is {name!r})"
    return {**schema, "description": f"{described} {note}" if described else note}
