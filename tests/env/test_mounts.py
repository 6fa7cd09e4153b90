"""Which mount a path lies in, and how mounts are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuniumi import App, DefinitionError, Mount, UsageError
from kuniumi.env.environment import Environment
from kuniumi.env.mounts import check_mounts, parse_mounts


@pytest.fixture
def many(tmp_path: Path) -> Environment:
    """Mount four folders into each other, and one aside; each tells of itself."""
    for name in ("root", "data", "sub", "aside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "who").write_text(name)
    (tmp_path / "root" / "data").mkdir()
    (tmp_path / "root" / "data" / "who").write_text("hidden")
    (tmp_path / "root" / "here").mkdir()
    (tmp_path / "data" / "sub").write_text("a file, hidden by a mount")
    points = {"root": "/", "data": "/data", "sub": "/data/sub/way/down:ro", "aside": "/else/where"}
    return Environment({}, [f"{tmp_path}/{name}:{point}" for name, point in points.items()])


@pytest.mark.parametrize(
    ("path", "who"),
    [
        ("/who", "root"),
        ("/data/who", "data"),
        ("/data/sub/way/down/who", "sub"),
        ("/data/sub/way/down/../../../who", "data"),
        ("/else/where/who", "aside"),
        ("/else/where/../../who", "root"),
    ],
)
def test_the_longest_whole_part_decides(many: Environment, path: str, who: str) -> None:
    assert many.read_file(path) == who.encode()


def test_mounts_and_the_way_to_them_are_listed(many: Environment) -> None:
    assert many.list_files("/") == ["data", "else", "here", "who"]
    assert many.list_files("/data") == ["sub", "who"]
    assert many.list_files("/data/sub") == ["way"]
    assert many.list_files("/data/sub/way") == ["down"]
    assert many.list_files("/else") == ["where"]
    assert many.find_files("/", "who") == [
        *("/data/sub/way/down/who", "/data/who", "/else/where/who", "/who")
    ]
    assert many.path("/data/sub").is_dir()
    assert many.path("/data/sub/way").stat().st_mode & 0o222 == 0
    with pytest.raises(OSError, match="'/data/sub/other'"):
        many.list_files("/data/sub/other")


def test_what_leads_to_a_mount_is_no_file(many: Environment) -> None:
    for path in ("/data/sub", "/else"):
        with pytest.raises(IsADirectoryError):
            many.write_file(path, b"")
        with pytest.raises(IsADirectoryError):
            many.remove_file(path)
    for path in ("/data", "/else", "/data/sub/way"):
        with pytest.raises(FileExistsError):
            many.path(path).mkdir()
        many.path(path).mkdir(exist_ok=True)
    with pytest.raises(PermissionError):
        many.chmod("/else", 0o777)
    many.chmod("/here", 0o700)


def test_nothing_is_renamed_from_one_mount_to_another(many: Environment) -> None:
    with pytest.raises(OSError, match="copy it, then remove it: '/who' -> '/data/who'"):
        many.path("/who").rename("/data/who")
    assert many.read_file("/data/who") == b"data"


def test_a_mount_inside_one_that_is_read_only_is_its_own(tmp_path: Path) -> None:
    for name in ("outer", "inner"):
        (tmp_path / name).mkdir()
    env = Environment({}, [f"{tmp_path}/outer:/data:ro", f"{tmp_path}/inner:/data/scratch"])
    env.write_file("/data/scratch/x", b"x")
    with pytest.raises(PermissionError):
        env.write_file("/data/x", b"x")


@pytest.mark.parametrize(
    ("flag", "host", "virtual", "read_only"),
    [
        ("/srv/files:/data", "/srv/files", "/data", False),
        ("/srv/files:/data:ro", "/srv/files", "/data", True),
        ("/srv/files:/data:rw", "/srv/files", "/data", False),
        ("/srv:/", "/srv", "/", False),
        ("/srv:/:ro", "/srv", "/", True),
        ("/srv/a:b:/data", "/srv/a:b", "/data", False),
        ("/srv/ro:/ro:ro", "/srv/ro", "/ro", True),
        ("/srv/x/..:/data//sub/./", "/srv", "/data/sub", False),
        ("memory://x:/scratch", "memory://x", "/scratch", False),
        ("memory://x:/scratch:ro", "memory://x", "/scratch", True),
        ("s3://bucket/some/folder:/data", "s3://bucket/some/folder", "/data", False),
        ("sftp://host:2222/folder:/data", "sftp://host:2222/folder", "/data", False),
        ("file:///srv/files:/data", "/srv/files", "/data", False),
    ],
)
def test_how_a_mount_is_written(flag: str, host: str, virtual: str, read_only: bool) -> None:
    assert check_mounts([flag]) == (Mount(host, virtual, read_only),)


@pytest.mark.parametrize(
    ("flag", "host", "virtual", "read_only"),
    [
        (r"C:\data:/data", r"C:\data", "/data", False),
        (r"C:\data:/data:ro", r"C:\data", "/data", True),
        ("C:/data:/data", "C:/data", "/data", False),
        ("C:/data:/data:ro", "C:/data", "/data", True),
        ("c:/my data:/data", "c:/my data", "/data", False),
        (r"C:\my data\ro:/ro:rw", r"C:\my data\ro", "/ro", False),
        ("D:\\:/", "D:\\", "/", False),
        ("D:\\:/:ro", "D:\\", "/", True),
        ("D:/:/d", "D:", "/d", False),
        (r"\\server\share:/x", r"\\server\share", "/x", False),
        (r"\\?\C:\long:/x:ro", r"\\?\C:\long", "/x", True),
        (r".\files:/data", r".\files", "/data", False),
    ],
)
def test_drive_letters_are_no_separators(
    flag: str, host: str, virtual: str, *, read_only: bool
) -> None:
    (mount,) = check_mounts([flag])
    assert str(mount.host) == f"{Path.cwd()}/{host}"  # here it is a name like any other
    assert (mount.virtual, mount.read_only) == (virtual, read_only)


@pytest.mark.parametrize(
    ("flag", "folder", "virtual"),
    [
        ("./c:/data", "c", "/data"),
        ("c/:/data", "c", "/data"),
        ("7:/data", "7", "/data"),
        ("é:/data", "é", "/data"),
        ("cd:/data", "cd", "/data"),
        ("a b:/c d", "a b", "/c d"),
        ("./a:b:/data", "a:b", "/data"),
        ("./a:/b:/data", "a:/b", "/data"),
        ("./ro:/ro", "ro", "/ro"),
        ("./C::/data", "C:", "/data"),
    ],
)
def test_relative_folders_may_have_any_name(
    flag: str, folder: str, virtual: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / folder).mkdir(parents=True)
    assert parse_mounts([flag]) == (Mount(f"{tmp_path}/{folder}", virtual),)


@pytest.mark.parametrize("flag", ["c:/data", "C:/data:ro", "z:/"])
def test_what_could_be_a_path_on_a_drive_says_how_to_write_a_folder(flag: str) -> None:
    plain = flag.removesuffix(":ro")
    with pytest.raises(UsageError, match=f"for the folder {flag[0]} write ./{plain}"):
        parse_mounts([flag])


def test_on_windows_no_folder_is_mounted_as_nothing_would_keep_paths_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("os.name", "nt")
        with pytest.raises(DefinitionError, match="can't be mounted on Windows"):
            check_mounts([r"C:\data:/data"])


@pytest.mark.parametrize(
    "flag",
    [
        *("", ":", "::", "/srv", "/srv:", ":/data", "/srv:data", "/srv:/data:", "/srv:/data:xx"),
        *("/srv:/data:RO", "C:/data", "s3://bucket", "memory://x", "/srv:/data/../x", "/srv:/a\\b"),
        *("/srv:/data:ro:ro", "/srv:ro", "/srv\0:/data", "/srv:/da\0ta"),
    ],
)
def test_a_mount_that_can_not_be_read_is_an_error_that_names_it(flag: str) -> None:
    with pytest.raises(UsageError, match="--mount") as caught:
        parse_mounts([flag])
    assert repr(flag) in str(caught.value)
    with pytest.raises(DefinitionError, match="mounts="):
        App(mounts=[flag])


def test_a_flag_for_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("missing", "file"):
        with pytest.raises(UsageError, match=f"there is no directory {tmp_path}/{name}"):
            parse_mounts([f"{tmp_path}/{name}:/data"])
    with pytest.raises(UsageError, match="two are mounted at /data"):
        parse_mounts([f"{tmp_path}:/data", f"{tmp_path}:/data/"])


@pytest.mark.parametrize(
    "mounts",
    ["/srv:/data", {"/srv": "/data"}, [("/srv", "/data")], 7, [None], ["/a:/x", "/b:/x"], b"/a:/b"],
)
def test_mounts_in_code_are_checked(mounts: object) -> None:
    with pytest.raises(DefinitionError, match="the app: mounts="):
        App(mounts=mounts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "mount", [Mount("", "/data"), Mount("/srv", "data"), Mount("/srv", "/../x"), Mount("/srv", "")]
)
def test_a_mount_in_code_is_checked(mount: Mount) -> None:
    with pytest.raises(DefinitionError, match="the app: mounts="):
        App(mounts=[mount])


def test_a_mount_in_code_takes_paths_and_relative_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("files").mkdir()
    env = Environment({}, [Mount(tmp_path / "files", "/data"), "./files:/ro:ro"])
    monkeypatch.chdir("/")
    env.write_file("/data/x", b"x")
    assert env.read_file("/ro/x") == b"x"


def test_more_mounts_take_the_place_of_earlier_ones(tmp_path: Path) -> None:
    for name in ("old", "new", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "who").write_text(name)
    env = Environment({"A": "1", "B": "1"}, [f"{tmp_path}/old:/x", f"{tmp_path}/kept:/y"])
    more = env.extended({"B": "2"}, [f"{tmp_path}/new:/x"])
    assert (more.read_file("/x/who"), more.read_file("/y/who")) == (b"new", b"kept")
    assert env.read_file("/x/who") == b"old"
    assert more.list_env() == {"A": "1", "B": "2"}
    assert env.extended({"C": "3"}).read_file("/x/who") == b"old"
