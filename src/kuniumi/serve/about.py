"""Which Kuniumi this is: its version, and the commit it was made from where that can be known."""

from __future__ import annotations

from pathlib import Path

import kuniumi

_SHORT = 9


def based_on() -> str:
    """Give the words that stand in every `--help` and `--version`."""
    commit = _commit()
    return f"based on kuniumi {kuniumi.__version__}" + (f" {commit}" if commit else "")


def _commit() -> str:
    """Ask the installer's record, then the checkout this file may lie in."""
    return (_installed_commit() or _checked_out_commit())[:_SHORT]


def _installed_commit() -> str:
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    import msgspec  # noqa: PLC0415

    try:
        record = distribution("kuniumi").read_text("direct_url.json")
        origin = msgspec.json.decode(record or "{}")
    except (PackageNotFoundError, msgspec.DecodeError):
        return ""
    return str(origin.get("vcs_info", {}).get("commit_id", ""))


def _checked_out_commit() -> str:
    git = Path(__file__).resolve().parents[3] / ".git"
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        ref = head.removeprefix("ref: ")
        loose = git / ref
        if loose.exists():
            return loose.read_text().strip()
        packed = (git / "packed-refs").read_text().splitlines()
        return next((line.split()[0] for line in packed if line.endswith(f" {ref}")), "")
    except OSError:
        return ""
