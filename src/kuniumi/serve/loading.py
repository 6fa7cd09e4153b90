"""Finding an app in a file: `file.py`, `file.py:name`, or `package.module:name`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kuniumi.errors import KuniumiError, UsageError

if TYPE_CHECKING:
    from types import ModuleType

    from kuniumi.core.service import Service


def load(reference: str) -> Service:
    """Load the file or module, and give the service of the app in it."""
    place, name = _split(reference)
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    return _find(module, name, reference)


def _split(reference: str) -> tuple[str, str]:
    place, colon, name = reference.rpartition(":")
    if not colon or not name.isidentifier():
        return reference, ""
    return place, name


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        msg = f"{path}: there is no such file"
        raise UsageError(msg)
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        msg = f"{path}: this is no Python file"
        raise UsageError(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # as `import` does: its types are looked up there
    try:
        spec.loader.exec_module(module)
    except KuniumiError:
        raise
    except Exception as error:
        msg = f"{path}: loading it raised {type(error).__name__}: {error}"
        raise UsageError(msg) from error
    return module


def _load_module(name: str) -> ModuleType:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f"{name}: {error}. Give a file (app.py) or a module that can be imported"
        raise UsageError(msg) from error


def _find(module: ModuleType, name: str, reference: str) -> Service:
    apps: dict[str, Any] = {
        key: value for key, value in vars(module).items() if hasattr(value, "service")
    }
    if not name and len(set(map(id, apps.values()))) == 1:
        name = next(iter(apps))
    if not name and "app" in apps:
        name = "app"
    if name in apps:
        service: Service = apps[name].service
        return service
    found = f"it has {', '.join(sorted(apps))}" if apps else "it has none"
    wanted = f"an app named {name!r}" if name else "one app"
    msg = f"{reference}: expected {wanted}, but {found}: name it as {module.__name__}.py:app"
    raise UsageError(msg)
