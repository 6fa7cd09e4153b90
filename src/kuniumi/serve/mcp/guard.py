"""Who may speak to the MCP endpoint: the names it is known by, and the web pages it trusts.

In: the headers of a request, and where it arrived. Out: nothing, or a status and the reason. A page
of any origin can make a browser send requests to this machine, under a name of its own choosing
(DNS rebinding): so a page is trusted only under a name that is known, or that is no name at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOCAL = {"localhost", "127.0.0.1", "[::1]", "::1"}
_MOST_REMEMBERED = 256


class Guard:
    """Checks `Host` and `Origin`, and remembers what it found."""

    def __init__(self, hosts: tuple[str, ...] = (), origins: tuple[str, ...] = ()) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        self._found: dict[tuple[bytes, bytes | None, str], tuple[int, str] | None] = {}

    def check(
        self, headers: Mapping[bytes, bytes], server: tuple[str, int | None] | None
    ) -> tuple[int, str] | None:
        """Give the status and the reason of a refusal, if this is one."""
        host = headers.get(b"host", b"")
        origin = headers.get(b"origin")
        here = server[0] if server else ""
        key = (host, origin, here)
        if key not in self._found:
            if len(self._found) >= _MOST_REMEMBERED:
                self._found.clear()
            self._found[key] = self._check(
                host.decode("latin-1").lower(),
                None if origin is None else origin.decode("latin-1").lower(),
                here,
            )
        return self._found[key]

    def _check(self, host: str, origin: str | None, here: str) -> tuple[int, str] | None:
        is_local = _is_local(here)
        name = _without_port(host)
        if host and not self._knows(host, name, is_local=is_local):
            return 421, f"Misdirected request: this server is not {host[:100]}: --allow-host {name}"
        if origin is not None and not self._trusts(origin, host, name, is_local=is_local):
            shown = origin[:100]
            return 403, f"Forbidden: pages of {shown} are not trusted: --allow-origin {shown}"
        return None

    def _knows(self, host: str, name: str, *, is_local: bool) -> bool:
        if not self._hosts and not is_local:
            return True
        return bool({"*", host, name} & self._hosts) or (is_local and _is_local(name))

    def _trusts(self, origin: str, host: str, name: str, *, is_local: bool) -> bool:
        if {"*", origin} & self._origins:
            return True
        scheme, separator, place = origin.partition("://")
        if not separator or scheme not in {"http", "https"}:
            return False  # `null`, and all that is no page of the web
        if place == host:  # a page of this very server, if that is what its name says
            return bool({"*", host, name} & self._hosts) or _is_local(name) or _is_address(name)
        return is_local and _is_local(_without_port(place))


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _is_local(name: str) -> bool:
    return name in _LOCAL or (name.startswith("127.") and name.replace(".", "").isdigit())


def _is_address(name: str) -> bool:
    return name.startswith("[") or name.replace(".", "").isdigit()
