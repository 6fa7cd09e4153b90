"""`mcp install`: a client's configuration gains an entry, and loses nothing."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuniumi.serve.mcp.install import CLIENTS, carried, own_file
from kuniumi.wire import jsonc
from tests.mcp.speaking import speaking

ROOT = Path(__file__).parents[2]
CALCULATOR = ROOT / "examples" / "calculator" / "app.py"
KUNIUMI = Path(sys.executable).with_name("kuniumi")
CALL = {"name": "functions.Add", "arguments": {"x": 7, "y": 3}}


def install(
    *words: str | Path, cwd: Path, program: list[Path] | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    start = program or [Path(sys.executable), CALCULATOR]
    return subprocess.run(
        [*start, *words],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def installed(file: Path, key: str = "mcpServers") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())[key]
    return found


PLACES = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "claude-code": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
}


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_is_told_in_its_own_file_and_starts_what_it_was_told(
    client: str, tmp_path: Path
) -> None:
    done = install("mcp", "install", "--client", client, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    file = tmp_path / PLACES[client]
    assert str(file) in done.stdout
    (found,) = installed(file, "servers" if client == "vscode" else "mcpServers").values()
    typed = {} if client == "claude-desktop" else {"type": "stdio"}
    assert found == {**typed, "command": sys.executable, "args": [str(CALCULATOR), "mcp"]}
    with speaking(CALCULATOR, words=found["args"]) as spoken:
        result = spoken.request("tools/call", **CALL)
        assert result["structuredContent"] == {"result": 10}


@pytest.mark.parametrize(
    ("client", "file"),
    [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
    ],
)
def test_a_project_has_a_file_of_its_own(client: str, file: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    done = install(
        *("mcp", "install", "--client", client, "--scope", "project"),
        cwd=project,
        HOME=str(tmp_path),
    )
    assert done.returncode == 0
    assert [str(found.relative_to(tmp_path)) for found in tmp_path.rglob("*.json")] == [
        f"project/{file}"
    ]


def test_claude_desktop_knows_no_projects(tmp_path: Path) -> None:
    words = ("mcp", "install", "--client", "claude-desktop", "--scope", "project")
    done = install(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == ("Claude Desktop has no configuration by project: leave --scope out\n")


def test_what_is_printed_is_written_nowhere(tmp_path: Path) -> None:
    done = install("mcp", "install", "--client", "vscode", "--print", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "servers": {
            "calculator": {
                "type": "stdio",
                "command": sys.executable,
                "args": [str(CALCULATOR), "mcp"],
            }
        }
    }
    assert ".config/Code/User/mcp.json" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("platform", "variables", "files"),
    [
        (
            "linux",
            {},
            {
                "claude-desktop": "/home/ann/.config/Claude/claude_desktop_config.json",
                "claude-code": "/home/ann/.claude.json",
                "cursor": "/home/ann/.cursor/mcp.json",
                "vscode": "/home/ann/.config/Code/User/mcp.json",
            },
        ),
        (
            "linux",
            {"XDG_CONFIG_HOME": "/etc/ann", "CLAUDE_CONFIG_DIR": "/var/claude"},
            {
                "claude-desktop": "/etc/ann/Claude/claude_desktop_config.json",
                "claude-code": "/var/claude/.claude.json",
                "cursor": "/home/ann/.cursor/mcp.json",
                "vscode": "/etc/ann/Code/User/mcp.json",
            },
        ),
        (
            "darwin",
            {"XDG_CONFIG_HOME": "/etc/ann"},
            {
                "claude-desktop": (
                    "/home/ann/Library/Application Support/Claude/claude_desktop_config.json"
                ),
                "claude-code": "/home/ann/.claude.json",
                "cursor": "/home/ann/.cursor/mcp.json",
                "vscode": "/home/ann/Library/Application Support/Code/User/mcp.json",
            },
        ),
        (
            "win32",
            {"APPDATA": r"D:\Ann\Roaming"},
            {
                "claude-desktop": r"D:\Ann\Roaming\Claude\claude_desktop_config.json",
                "claude-code": r"\home\ann\.claude.json",
                "cursor": r"\home\ann\.cursor\mcp.json",
                "vscode": r"D:\Ann\Roaming\Code\User\mcp.json",
            },
        ),
    ],
)
def test_every_platform_has_its_places(
    platform: str, variables: dict[str, str], files: dict[str, str]
) -> None:
    found = {client: str(own_file(client, platform, "/home/ann", variables)) for client in CLIENTS}
    assert found == files


def test_windows_without_its_variable_has_the_usual_folder() -> None:
    found = own_file("vscode", "win32", r"C:\Users\Ann", {})
    assert found == PureWindowsPath(r"C:\Users\Ann\AppData\Roaming\Code\User\mcp.json")


# ---- how the app is started --------------------------------------------------------------------------


def test_flags_are_carried_over_as_words_no_shell_ever_reads(tmp_path: Path) -> None:
    odd = 'GREETING=it\'s $HOME; `rm -rf` "ünï" %PATH% \\'
    done = install(
        *("--env", odd, "mcp", "--timeout", "5", "install", "--client", "cursor", "--env", "A=b=c"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = installed(tmp_path / ".cursor/mcp.json")["calculator"]
    assert found["args"] == [
        *(str(CALCULATOR), "mcp", "--env", odd, "--env", "A=b=c", "--timeout", "5")
    ]
    with speaking(CALCULATOR, words=found["args"]) as spoken:
        assert spoken.request("tools/call", **CALL)["isError"] is False


def test_a_mount_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mounts = ["data:/data:ro", "/srv:/srv", "s3://bucket/x:/store"]
    assert carried({"--mount": mounts, "--env-file": [".env"], "--env": ["A=./b"]}) == [
        *("--mount", f"{tmp_path}/data:/data:ro", "--mount", "/srv:/srv"),
        *("--mount", "s3://bucket/x:/store", "--env-file", f"{tmp_path}/.env", "--env", "A=./b"),
    ]


def test_a_file_of_several_apps_is_started_with_the_right_one(tmp_path: Path) -> None:
    two = tmp_path / "two.py"
    two.write_text(
        "from kuniumi import App\none = App(name='One')\ntwo = App(name='The Second!')\n"
    )
    done = install(
        *("mcp", "two.py:two", "install", "--client", "claude-code"),
        cwd=tmp_path,
        program=[KUNIUMI],
    )
    assert done.returncode == 0, done.stderr
    found = installed(tmp_path / ".claude.json")
    words = ["-m", "kuniumi", "mcp", f"{two}:two"]
    assert found == {"the-second": {"type": "stdio", "command": sys.executable, "args": words}}
    with speaking(two, words=words, revision="2025-11-25") as spoken:
        assert spoken.request("tools/list")["tools"] == []


def test_the_file_may_stand_after_the_second_word_as_well(tmp_path: Path) -> None:
    words = ("mcp", "install", CALCULATOR, "--client", "cursor", "--print")
    done = install(*words, cwd=tmp_path, program=[KUNIUMI])
    assert json.loads(done.stdout)["mcpServers"]["calculator"]["args"][-1] == str(CALCULATOR)


def test_a_module_is_found_from_any_folder(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "goods.py").write_text("from kuniumi import App\napp = App(name='Goods')\n")
    (package / "__main__.py").write_text("from shop.goods import app\napp.run()\n")
    for program, typed, words in (
        (KUNIUMI, ("mcp", "shop.goods:app"), ["-m", "kuniumi", "mcp", "shop.goods:app"]),
        (Path(sys.executable), ("-m", "shop", "mcp"), ["-m", "shop.__main__", "mcp"]),
    ):
        done = install(
            *(*typed, "install", "--client", "claude-desktop", "--print"),
            cwd=tmp_path,
            program=[program],
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["mcpServers"]["goods"]
        assert found["args"] == words
        assert found["env"] == {"PYTHONPATH": str(tmp_path)}
        with speaking(package, words=words, variables=found["env"]) as spoken:
            assert spoken.request("tools/list")["tools"] == []


def test_what_was_started_from_no_file_is_told_so(tmp_path: Path) -> None:
    code = "from kuniumi import App; App().run(['mcp', 'install', '--client', 'cursor'])"
    done = install("-c", code, cwd=tmp_path, program=[Path(sys.executable)])
    assert done.returncode == 2
    assert done.stderr == ("this app was not started from a file, so no client could start it\n")


def test_a_client_speaks_on_stdin_only(tmp_path: Path) -> None:
    done = install("mcp", "--http", "install", "--client", "cursor", cwd=tmp_path)
    assert done.returncode == 2
    assert "leave --http out" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "required: --client"),
        (("--client", "emacs"), "invalid choice: 'emacs'"),
        (("--client", "cursor", "--name", "a b"), "clients take 1 to 64 of A-Z"),
        (("--client", "cursor", "--name", ""), "clients take 1 to 64 of A-Z"),
    ],
)
def test_mistakes_are_explained(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = install("mcp", "install", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


# ---- what was there already --------------------------------------------------------------------------


WITH_COMMENTS = """\
{
    // what the team uses
    "servers": {
        "git": { "command": "uvx", "args": ["mcp-server-git",] }, // keep
    },
    /* asked for once */
    "inputs": [],
}
"""


def test_comments_order_and_indentation_of_an_editors_file_stay(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(WITH_COMMENTS)
    done = install("mcp", "install", "--client", "vscode", "--file", file, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    entry = f"""
        "calculator": {{
            "type": "stdio",
            "command": {json.dumps(sys.executable)},
            "args": [
                {json.dumps(str(CALCULATOR))},
                "mcp"
            ]
        }}"""
    assert file.read_text() == WITH_COMMENTS.replace("// keep", f"// keep{entry}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {', "line 1, column 17"),
        ('{"mcpServers": {}, // mine\n}', "line 1, column 20: JSON has no comments"),
        ('{"mcpServers": {"a": 1,}}', "line 1, column 24"),
        ('{"mcpServers": []}', "what stands at 'mcpServers' is no object"),
        ("[]", "what stands at the top is no object"),
        ("not JSON at all", "line 1, column 1: expected a value, found 'n'"),
        ("[" * 100_000, "nested too deeply"),
        ("\xff", "can't decode"),
    ],
)
def test_a_broken_file_is_refused_and_left_as_it_is(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / ".claude.json"
    raw = text.encode("latin-1")
    file.write_bytes(raw)
    done = install("mcp", "install", "--client", "claude-code", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{file} is no JSON that can be added to, and was left as it is")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert file.read_bytes() == raw
    assert list(tmp_path.iterdir()) == [file]


def test_an_entry_is_renewed_and_keeps_what_a_person_added(tmp_path: Path) -> None:
    words = ("mcp", "install", "--client", "cursor")
    install(*words, cwd=tmp_path)
    file = tmp_path / ".cursor/mcp.json"
    content = json.loads(file.read_text())
    content["mcpServers"]["calculator"] |= {"disabled": True, "env": {"LANG": "C"}}
    content["mcpServers"]["other"] = {"url": "http://127.0.0.1:1/mcp"}
    file.write_text(json.dumps(content))
    assert install("--env", "A=1", *words, cwd=tmp_path).returncode == 0
    content["mcpServers"]["calculator"]["args"] = [str(CALCULATOR), "mcp", "--env", "A=1"]
    assert json.loads(file.read_text()) == content


def test_the_name_of_another_server_is_not_taken_from_it(tmp_path: Path) -> None:
    file = tmp_path / ".cursor/mcp.json"
    file.parent.mkdir()
    for other in ({"command": "uvx", "args": ["calculator"]}, {"url": "http://127.0.0.1:1/mcp"}):
        before = json.dumps({"mcpServers": {"calculator": other}})
        file.write_text(before)
        done = install("mcp", "install", "--client", "cursor", cwd=tmp_path)
        assert done.returncode == 2
        assert "another server named 'calculator': choose another name with --name" in done.stderr
        assert file.read_text() == before
    assert (
        install(
            *("mcp", "install", "--client", "cursor", "--name", "calc2"), cwd=tmp_path
        ).returncode
        == 0
    )
    assert set(installed(file)) == {"calculator", "calc2"}


def test_a_link_is_followed_and_the_rights_stay(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "claude.json"
    kept.parent.mkdir()
    kept.write_text("{}\n")
    kept.chmod(0o640)
    (tmp_path / ".claude.json").symlink_to(kept)
    done = install("mcp", "install", "--client", "claude-code", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / ".claude.json").is_symlink()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert "calculator" in installed(kept)
    assert [file.name for file in kept.parent.iterdir()] == ["claude.json"]


def test_a_link_that_leads_to_itself_is_told_so(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").symlink_to(tmp_path / ".claude.json")
    done = install("mcp", "install", "--client", "claude-code", cwd=tmp_path)
    assert done.returncode == 2
    assert ".claude.json can't be written: " in done.stderr
    assert "Traceback" not in done.stderr


def test_an_entry_that_is_as_it_should_be_stays_to_the_letter(tmp_path: Path) -> None:
    file = tmp_path / ".claude.json"
    install("mcp", "install", "--client", "claude-code", cwd=tmp_path)
    file.write_text(json.dumps(json.loads(file.read_text())))  # all in one line
    before = file.stat(), file.read_bytes()
    assert install("mcp", "install", "--client", "claude-code", cwd=tmp_path).returncode == 0
    assert (file.stat().st_ino, file.read_bytes()) == (before[0].st_ino, before[1])


def test_what_is_written_anew_is_for_its_owner_only(tmp_path: Path) -> None:
    """A variable given with --env may be a secret."""
    install("mcp", "install", "--client", "claude-code", cwd=tmp_path)
    assert stat.S_IMODE((tmp_path / ".claude.json").stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = install(
        *("mcp", "install", "--client", "cursor", "--file", "file/mcp.json"), cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr == "file/mcp.json can't be written: File exists\n"


# ---- adding to JSON ----------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)


@given(
    content=OBJECTS,
    servers=st.none() | OBJECTS,
    name=st.text(),
    value=VALUES,
    indent=st.none() | st.sampled_from([0, 1, 4, "\t"]),
)
def test_all_else_stays_whatever_it_is(
    content: dict[str, Any], servers: dict[str, Any] | None, name: str, value: Any, indent: Any
) -> None:
    if servers is not None:
        content["servers"] = servers
    else:
        content.pop("servers", None)
    text = json.dumps(content, indent=indent)
    changed = jsonc.put(text, ["servers", name], value)
    assert json.loads(changed) == {**content, "servers": {**(servers or {}), name: value}}
    assert jsonc.get(changed, ["servers", name], comments=True) == value
    again = jsonc.put(changed, ["servers", name], 1)
    assert json.loads(again) == {**content, "servers": {**(servers or {}), name: 1}}


def _noisy(value: Any, noise: Any) -> str:
    """Write JSON as a person does who comments on everything."""
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}{noise()}:{_noisy(part, noise)}" for key, part in value.items()]
        body = ",".join(parts) + (noise() + "," if parts else "")
        return f"{noise()}{{{noise()}{body}{noise()}}}{noise()}"
    if isinstance(value, list):
        body = ",".join(_noisy(part, noise) for part in value) + (noise() + "," if value else "")
        return f"{noise()}[{noise()}{body}{noise()}]{noise()}"
    return f"{noise()}{json.dumps(value)}{noise()}"


NOISE = ["", " ", "\n", "\t", "\r\n", "/**/", "/* } */", "// ] \n", '/* " */', "//\n", " \n  "]


@given(content=OBJECTS, name=st.text(), value=VALUES, data=st.data())
def test_comments_and_commas_are_no_hindrance_anywhere(
    content: dict[str, Any], name: str, value: Any, data: st.DataObject
) -> None:
    text = _noisy(content, lambda: data.draw(st.sampled_from(NOISE)))
    assert jsonc.get(text, [], comments=True) == content
    changed = jsonc.put(text, [name], value, comments=True)
    assert jsonc.get(changed, [], comments=True) == {**content, name: value}
    if name not in content:  # all that stood there still stands there, in its order
        rest = iter(changed)
        assert all(char in rest for char in text)


@given(text=st.text(alphabet='{}[]",:/*\\ n1\n', max_size=30))
def test_whatever_a_file_holds_it_is_read_or_refused(text: str) -> None:
    try:
        changed = jsonc.put(text, ["a"], 1)
    except jsonc.BrokenError:
        return
    assert json.loads(changed)["a"] == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"x":1}', '{"x":1,\n  "a": {\n    "b": 1\n  }\n}'),
        ('{\r\n\t"x": 1\r\n}\r\n', '{\r\n\t"x": 1,\r\n\t"a": {\r\n\t\t"b": 1\r\n\t}\r\n}\r\n'),
        ("{ // empty\n}", '{ // empty\n  "a": {\n    "b": 1\n  }\n}'),
        ('{\n  "x": 1 // one\n}', '{\n  "x": 1, // one\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"a": {"b": [1, /* 2 */], "c": 3}}', '{"a": {"b": 1, "c": 3}}'),
        ('{"a": {"b": 1}, "a": {"b": 0}}', '{"a": {"b": 1}, "a": {"b": 1}}'),  # the last one counts
    ],
)
def test_texts_keep_their_form(before: str, after: str) -> None:
    assert jsonc.put(before, ["a", "b"], 1, comments=True) == after


def test_who_reads_meanwhile_finds_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {}, "rest": "x" * 1_000_000}))
    seen = set()
    with subprocess.Popen(
        [sys.executable, CALCULATOR, "mcp", "install", "--client", "cursor", "--file", file],
        stdout=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None:
            seen.add(len(json.loads(file.read_text())["mcpServers"]))
    seen.add(len(json.loads(file.read_text())["mcpServers"]))
    assert seen == {0, 1}
