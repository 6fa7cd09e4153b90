"""A client that openapi-python-client makes of the document calls every function."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.openapi.running import APPS, HERE, Foreign, output_of, serving


def generate(foreign: Foreign, app_file: Path, name: str, folder: Path) -> None:
    """Make a client in a folder; what the generator warns of is a failure."""
    (folder / "openapi.json").write_bytes(output_of(app_file, "openapi"))
    done = foreign.run(
        *("openapi-python-client", "generate", "--path", "openapi.json", "--fail-on-warning"),
        *("--meta", "none", "--output-path", folder / name),
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("example", ["calculator", "weather"])
def test_it_calls_every_function_of_an_example(
    foreign: Foreign, example: str, tmp_path: Path
) -> None:
    generate(foreign, APPS[example], f"{example}_client", tmp_path)
    with serving(APPS[example]) as url:
        done = foreign.run(
            "python", HERE / f"foreign/call_{example}.py", url, cwd=tmp_path, PYTHONPATH="."
        )
    assert done.returncode == 0, done.stderr


def test_it_is_made_without_a_warning_of_all_that_a_document_can_hold(
    foreign: Foreign, tmp_path: Path
) -> None:
    generate(foreign, APPS["rich"], "rich_client", tmp_path)
    models = (tmp_path / "rich_client/models/__init__.py").read_text()
    for name in ("Node", "PageInt", "Square", "Square2", "SquareOutput", "Circle"):
        assert f'"{name}"' in models
    modules = foreign.run(
        *("python", "-c", "import rich_client.models, rich_client.api.rich.adopt_pet"),
        cwd=tmp_path,
        PYTHONPATH=".",
    )
    assert modules.returncode == 0, modules.stderr
