"""`ctx.env.fsspec()`: what others read through it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kuniumi.env.environment import Environment


@pytest.fixture
def fs(env: Environment) -> Any:
    return env.fsspec()


def test_files_and_directories_are_told_of(fs: Any) -> None:
    assert fs.ls("/data/sub", detail=False) == ["/data/sub/b.txt", "/data/sub/deep", "/data/sub/up"]
    assert {one["name"]: one["type"] for one in fs.ls("/data/sub")} == {
        "/data/sub/b.txt": "file",
        "/data/sub/deep": "directory",
        "/data/sub/up": "file",
    }
    assert fs.ls("/data/a.txt", detail=False) == ["/data/a.txt"]
    assert fs.ls("/", detail=False) == ["/data", "/ro"]
    assert fs.exists("/data/a.txt")
    assert not fs.exists("/data/out")
    assert fs.isdir("kuniumi:///data/sub")
    assert fs.size("data/sub/b.txt") == 2
    assert fs.modified("/data/a.txt").year > 2000
    assert fs.glob("/data/**/*.csv") == ["/data/sub/deep/c.csv"]
    assert "/data/sub/deep/c.csv" in fs.find("/data")
    assert fs.info("/data/pipe")["type"] == "other"


def test_files_are_read_and_written(fs: Any, env: Environment) -> None:
    with fs.open("/data/new", "wb") as file:
        file.write(b"0123456789")
    assert fs.cat("/data/new") == b"0123456789"
    assert fs.cat_file("/data/new", 2, 4) == b"23"
    assert fs.cat_file("/data/new", -3, -1) == b"78"
    assert fs.cat_ranges(["/data/new"] * 2, [0, 5], [1, 7]) == [b"0", b"56"]
    assert fs.head("/data/new", 2) == b"01"
    assert fs.read_block("/data/new", 2, 3) == b"234"
    assert fs.read_block("/data/new", 5, None) == b"56789"
    fs.pipe("/data/piped", b"piped")
    fs.copy("/data/piped", "/data/sub/copied")
    fs.mv("/data/piped", "/data/moved")
    assert (env.read_file("/data/moved"), fs.exists("/data/piped")) == (b"piped", False)
    fs.touch("/data/moved")
    assert env.read_file("/data/moved") == b""
    fs.makedirs("/data/x/y", exist_ok=True)
    fs.copy("/data/sub", "/data/x", recursive=True)
    assert env.read_file("/data/x/sub/copied") == b"piped"
    fs.rm("/data/x", recursive=True)
    assert not fs.exists("/data/x")


def test_what_a_function_may_not_do_it_may_not_do_this_way(fs: Any) -> None:
    for path in ("/data/out", "/data/absolute", "/data/../secret", "/data/out-folder/secret"):
        with pytest.raises(OSError, match=r"\[Errno"):
            fs.cat_file(path)
    with pytest.raises(PermissionError):
        fs.pipe("/ro/new", b"x")
    with pytest.raises(PermissionError):
        fs.rm("/ro/a.txt")


def test_removing_a_tree_leaves_what_links_lead_to(fs: Any, host: Path) -> None:
    (host / "data" / "sub" / "link").symlink_to("../to-folder")
    fs.rm("/data/to-folder")
    assert (host / "data" / "sub" / "b.txt").exists()


def test_pandas_reads_and_writes_a_mount(fs: Any) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"city": ["Oslo", "Ålesund"], "degrees": [5, 7]})
    with fs.open("/data/table.csv", "w") as file:
        table.to_csv(file, index=False)
    with fs.open("/data/table.csv") as file:
        assert pandas.read_csv(file).equals(table)
    table.to_parquet("/data/table.parquet", filesystem=fs)
    assert pandas.read_parquet("/data/table.parquet", filesystem=fs).equals(table)


def test_pyarrow_reads_and_writes_a_mount(fs: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    dataset = pytest.importorskip("pyarrow.dataset")
    table = pyarrow.table({"n": [1, 2, 3], "kind": ["a", "b", "a"]})
    parquet.write_table(table, "/data/table.parquet", filesystem=fs)
    assert parquet.read_table("/data/table.parquet", filesystem=fs).equals(table)
    dataset.write_dataset(
        table, "/data/parts", format="parquet", partitioning=["kind"], filesystem=fs
    )
    found = dataset.dataset("/data/parts", partitioning=["kind"], filesystem=fs)
    assert found.to_table(filter=dataset.field("kind") == "a").num_rows == 2


def test_without_fsspec_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "fsspec.py").write_text("raise ImportError('not installed')")
    code = "from kuniumi.env.environment import Environment; Environment().fsspec()"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "needs fsspec: pip install kuniumi[files]" in ended.stderr.splitlines()[-1]
