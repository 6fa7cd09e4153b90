"""The house: which room may import which, what its door offers, what a module says of itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kuniumi

SOURCE = Path(kuniumi.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

MAY_IMPORT = {
    "errors": set(),
    "core": {"errors"},
    "env": {"errors"},
    "wire": {"core", "errors"},
    "execute": {"core", "errors"},
    "agent": {"wire", "core", "errors"},
    "serve": {"agent", "wire", "execute", "env", "core", "errors"},
    "app": {"serve", "execute", "wire", "env", "core", "errors"},
    "__main__": {"serve"},
    "testing": {"app", "serve", "execute", "wire", "core", "errors"},
}
"""Imports go down only. A new room gets its row here, and its reason in ARCHITECTURE.md."""

PURE = {"core": {"asyncio", "socket", "os", "logging"}, "wire": {"asyncio", "socket", "os", "sys"}}
"""What must not be imported at the top of these rooms' modules: they do no I/O."""

ONLY_SERVE_TOUCHES = {"sys.argv", "os.environ", "sys.stdin", "sys.stdout"}
PROCESSES_OF_THEIR_OWN = {"nursery.py", "worker.py"}
"""Modules of `execute` that are at home in a process nobody else is in: they keep it in order."""


def _room(module: Path) -> str:
    return module.relative_to(SOURCE).parts[0].removesuffix(".py")


def _imports(module: Path, *, at_top_only: bool = False) -> list[tuple[str, bool]]:
    """Give what a module imports, and whether only a type checker sees it."""
    tree = ast.parse(module.read_text())
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, *, for_types: bool, depth: int) -> None:
        for child in ast.iter_child_nodes(node):
            types = for_types or (
                isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            )
            inner = depth + isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            if not (at_top_only and inner):
                if isinstance(child, ast.ImportFrom) and child.module:
                    found.append((child.module, types))
                    found.extend((f"{child.module}.{name.name}", types) for name in child.names)
                elif isinstance(child, ast.Import):
                    found.extend((name.name, types) for name in child.names)
            visit(child, for_types=types, depth=inner)

    visit(tree, for_types=False, depth=0)
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down_only(module: Path) -> None:
    room = _room(module)
    if room == "__init__":
        return
    for name, for_types in _imports(module):
        parts = name.split(".")
        if parts[0] != "kuniumi" or len(parts) == 1 or for_types:
            continue
        target = parts[1]
        known = target in MAY_IMPORT
        assert not known or target == room or target in MAY_IMPORT[room], (
            f"{room} must not import {name}"
        )


@pytest.mark.parametrize("room", sorted(PURE))
def test_pure_rooms_import_nothing_that_does_io(room: str) -> None:
    for module in (SOURCE / room).rglob("*.py"):
        taken = {name.split(".")[0] for name, types in _imports(module) if not types}
        if room == "core":
            taken -= {"logging"}  # `ctx.log` loads it when it is asked for
        assert not taken & PURE[room], module.name


def test_every_room_has_its_row() -> None:
    rooms = {_room(module) for module in MODULES} - {"__init__", "py"}
    assert rooms == set(MAY_IMPORT)


def test_siblings_in_serve_share_only_what_is_made_for_it() -> None:
    surfaces = {"asgi", "cgi"}
    for surface in surfaces:
        for name, _ in _imports(SOURCE / "serve" / f"{surface}.py"):
            other = name.removeprefix("kuniumi.serve.").split(".")[0]
            assert other not in surfaces - {surface}, f"{surface} imports {name}"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_says_what_it_is_for(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_text()))


def test_only_serve_touches_the_process() -> None:
    for module in MODULES:
        if _room(module) in {"serve", "testing"} or module.name in PROCESSES_OF_THEIR_OWN:
            continue
        text = module.read_text()
        for touched in ONLY_SERVE_TOUCHES:
            assert touched not in text, f"{module.name} touches {touched}"


def test_the_public_names_are_these() -> None:
    assert kuniumi.__all__ == [
        "Annotations",
        "App",
        "Around",
        "AsyncAround",
        "Audio",
        "Cache",
        "Calling",
        "CannotAskError",
        "Contents",
        "Context",
        "DeclinedError",
        "DefinitionError",
        "EmbeddedResource",
        "Envelope",
        "FunctionError",
        "Icon",
        "Image",
        "KuniumiError",
        "Message",
        "Mount",
        "Provide",
        "ResourceLink",
        "StartError",
        "Text",
        "ToolResult",
        "UsageError",
        "__version__",
        "limit_rate",
    ]
    for name in kuniumi.__all__:
        assert getattr(kuniumi, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        kuniumi.nothing_like_it  # noqa: B018


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = (
        "import sys, kuniumi; print([m for m in sys.modules if m.startswith('kuniumi.')],"
        "'msgspec' in sys.modules, 'asyncio' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[] False False"
