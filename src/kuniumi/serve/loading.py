"""Finding an app in a file: `file.py`, `file.py:name`, or `package.module:name`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kuniumi.core.service import Service
from kuniumi.errors import KuniumiError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def load(reference: str) -> Service:
    """Load the file or module, and give the service of the app in it."""
    place, name = _split(reference)
    is_file = place.endswith(".py") or "/" in place
    module = _load_file(Path(place)) if is_file else _load_module(place)
    return _find(module, place, name)


def _split(reference: str) -> tuple[str, str]:
    place, colon, name = reference.rpartition(":")
    if not colon or not name.isidentifier():
        return reference, ""
    return place, name


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        msg = f"{path}: there is no such file"
        raise UsageError(msg)
    sys.path.insert(0, str(path.resolve().parent))  # as `python file.py` does
    spec = importlib.util.spec_from_file_location(_free_name(path.stem), path.resolve())
    if spec is None or spec.loader is None:
        msg = f"{path}: this is no Python file (its name must end with .py)"
        raise UsageError(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # as `import` does: its types are looked up there
    with _explained(str(path)):
        spec.loader.exec_module(module)
    return module


def _free_name(stem: str) -> str:
    """Give the module's name: its file's, unless that would take the place of another module."""
    return f"{stem}_of_kuniumi" if stem in sys.modules else stem


def _load_module(name: str) -> ModuleType:
    sys.path.insert(0, "")
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        found = None
    if found is None:
        msg = f"{name}: there is no such module; a file is written with its ending: {name}.py"
        raise UsageError(msg)
    with _explained(name):
        return importlib.import_module(name)


@contextmanager
def _explained(place: str) -> Iterator[None]:
    """Say in one line why a file can't be loaded, and where it went wrong."""
    before, sys.argv = sys.argv, [place]  # the words are ours, not the file's
    try:
        yield
    except KuniumiError as error:
        msg = f"{_where(error, place)}: {error}"
        raise UsageError(msg) from error
    except SystemExit as error:
        msg = (
            f"{place}: loading it ended the program: "
            f'put app.run() beneath `if __name__ == "__main__":`'
        )
        raise UsageError(msg) from error
    except Exception as error:
        msg = f"{_where(error, place)}: loading it raised {type(error).__name__}: {error}"
        raise UsageError(msg) from error
    finally:
        sys.argv = before


def _where(error: BaseException, place: str) -> str:
    """Give the last line of the file itself that the error passed."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(place):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{place}:{line}" if line else place


def _find(module: ModuleType, place: str, name: str) -> Service:
    services: dict[str, Service] = {
        key: value.service
        for key, value in vars(module).items()
        if isinstance(getattr(value, "service", None), Service)
    }
    if not name and len(set(map(id, services.values()))) == 1:
        name = next(iter(services))
    if not name and "app" in services:
        name = "app"
    if name in services:
        return services[name]
    if not services:
        msg = f'{place}: there is no app in it: write app = App(name="…")'
    elif name:
        msg = f"{place}: there is no app named {name!r}, but {' and '.join(services)}"
    else:
        choices = " or ".join(f"{place}:{key}" for key in services)
        msg = f"{place}: there are {len(services)} apps in it: say {choices}"
    raise UsageError(msg)
