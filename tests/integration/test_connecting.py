"""Connecting agents on a disk: settings as people have them, and not a byte too much."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from refusals import refusal

from tests import answers
from yaadwatch import places
from yaadwatch.api.answers.shapes import Connected
from yaadwatch.connect import connect as connect_verbs
from yaadwatch.connect import plans
from yaadwatch.connect.connect import connect, connection_rows, disconnect
from yaadwatch.connect.places import Program
from yaadwatch.connect.plans import COPIES, World
from yaadwatch.connect.table import CONNECTIONS, Place
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import settings_files
from yaadwatch.system.clock import Clock
from yaadwatch.text import jsonc

PROGRAM = Program(python="/opt/yaad/bin/python", client="/opt/yaad/lib/yaadwatch/client")
CLAUDE = """\
{
    // what I like
    "model": "opus",\t// not sonnet
    "permissions": {
        "allow": ["Bash(make:*)", "Read(**)",],
    },
    "hooks": {
        "SessionStart": [
            {
                "matcher": "startup",
                "hooks": [{"type": "command", "command": "bd prime", "timeout": 10}]
            }
        ],
        "Stop": [
            { "hooks": [ { "type": "command", "command": "notify-send done" } ] }
        ]
    }
}
"""
STATE = """\
{
  "numStartups": 12,
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.org/mcp",
      "headers": {
        "Authorization": "Bearer ghp_0123456789abcdefABCDEF0123456789abcd"
      }
    }
  },
  "projects": {}
}"""
CODEX = """\
model = "gpt-5" # fast
approval_policy = "on-request"

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-mcp"]

# trusted by hand
[projects."/home/ada/shop"]
trust_level = "trusted"

[hooks.state."/home/ada/.codex/hooks.json:session_start:0:0"]
trusted_hash = "sha256:00"
"""
HOOKS = '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"bd prime"}]}]}}\n'
SAMPLES = {
    ".claude/settings.json": CLAUDE,
    ".claude.json": STATE,
    ".codex/config.toml": CODEX,
    ".codex/hooks.json": HOOKS,
    ".gemini/settings.json": '\ufeff{\r\n\t"theme": "Ayu",\r\n\t"mcpServers": {}\r\n}',
    ".cursor/mcp.json": "{}",
    ".cursor/hooks.json": '{\n  "version": 1,\n  "hooks": {\n  }\n}\n',
    ".copilot/mcp-config.json": "",
    ".config/opencode/opencode.jsonc": '// mine\n{\n  "$schema": "https://opencode.ai/config.json",\n}\n',
    ".config/zed/settings.json": (
        '// Zed settings\n//\n{\n  "vim_mode": true,\n  // servers\n  "context_servers": {\n'
        "    // one day\n  },\n}\n"
    ),
    ".config/Code/User/mcp.json": '{\n\t"servers": {},\n\t"inputs": []\n}\n',
    ".kiro/settings/mcp.json": '{"mcpServers": {"a": {"command": "a"}}}',
    ".devin/mcp_config.json": '{ "mcpServers": { } }\n',
    ".cline/data/settings/cline_mcp_settings.json": '{\n  "mcpServers": {\n  }\n}',
    "Documents/Cline/Hooks/PreToolUse": "#!/bin/sh\necho '{}'\n",
}
NAMES = [row.agent for row in CONNECTIONS]


@pytest.fixture
def home(environment):
    return Path.home()


@pytest.fixture
def samples(home):
    for name, text in SAMPLES.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(0o640)
    return home


def world(home, project=None, **env):
    return World(program=PROGRAM, place=Place(home=home, project=project, env=env), clock=Clock())


def files(folder):
    """Return what every file below a folder holds, and how it may be used; not ours."""
    return {
        path.relative_to(folder): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in folder.rglob("*")
        if path.is_file()
    }


def folders(folder):
    return {path for path in folder.rglob("*") if path.is_dir()}


def states(answer):
    return {one["agent"]: one["state"] for one in answer["agents"]}


def said(path):
    return jsonc.read(path.read_text(encoding="utf-8"))


def test_connected_and_disconnected_every_file_is_what_it_was(samples):
    before, there = files(samples), folders(samples)

    connected = answers.check_command(Connected, connect(world(samples), NAMES))
    disconnected = answers.check_command(Connected, disconnect(world(samples), []))

    assert set(states(connected).values()) == {"connected"}
    assert set(states(disconnected).values()) == {"disconnected"}
    assert files(samples) == before
    assert folders(samples) == there
    assert plans.load(places.receipt()).entries == ()


def test_connecting_twice_changes_no_byte(samples):
    connect(world(samples), NAMES)
    before = files(samples)
    inodes = {path: path.stat().st_ino for path in samples.rglob("*")}

    again = connect(world(samples), NAMES)

    assert set(states(again).values()) == {"unchanged"}
    assert files(samples) == before
    assert {path: path.stat().st_ino for path in samples.rglob("*")} == inodes


def test_without_any_settings_all_that_is_made_goes_again(home):
    there = folders(home)

    connect(world(home), NAMES)
    made = files(home)
    disconnect(world(home), NAMES)

    assert len(made) > 15
    assert files(home) == {}
    assert folders(home) == there


def test_what_people_wrote_stays_and_ours_comes_after_it(samples):
    connect(world(samples), ["claude", "codex"])

    text = (samples / ".claude/settings.json").read_text()
    start = said(samples / ".claude/settings.json")["hooks"]["SessionStart"]
    assert '"model": "opus",\t// not sonnet' in text
    assert '"allow": ["Bash(make:*)", "Read(**)",],' in text
    assert start[0]["hooks"][0]["command"] == "bd prime"
    assert start[1]["hooks"][0]["command"].endswith("hook.py session-start --agent claude")
    codex = tomllib.loads((samples / ".codex/config.toml").read_text())
    assert codex["mcp_servers"]["docs"] == {"command": "npx", "args": ["-y", "docs-mcp"]}
    assert codex["mcp_servers"]["yaad"]["args"][:2] == ["-I", "-S"]
    assert (samples / ".codex/config.toml").read_text().startswith(CODEX)


def test_trust_is_never_written(samples):
    """Codex asks the person about each hook; nobody may answer in their place."""
    connect(world(samples), ["codex"])

    state = tomllib.loads((samples / ".codex/config.toml").read_text())["hooks"]["state"]

    assert list(state) == ["/home/ada/.codex/hooks.json:session_start:0:0"]


def test_every_agent_is_given_what_it_takes(samples):
    connect(world(samples), NAMES)

    server = ["/opt/yaad/bin/python", "-I", "-S", "/opt/yaad/lib/yaadwatch/client/shim.py"]
    opencode = said(samples / ".config/opencode/opencode.jsonc")["mcp"]["yaad"]
    assert opencode["command"] == [*server, "--agent", "opencode"]
    assert not (samples / ".config/opencode/opencode.json").exists()
    zed = said(samples / ".config/zed/settings.json")["context_servers"]["yaad"]
    assert [zed["command"], *zed["args"]] == [*server, "--agent", "zed"]
    code = said(samples / ".config/Code/User/mcp.json")["servers"]["yaad"]
    assert code["args"][-2:] == ["--project", "${workspaceFolder}"]
    copilot = said(samples / ".copilot/mcp-config.json")["mcpServers"]["yaad"]
    assert (copilot["type"], copilot["tools"]) == ("local", ["*"])
    gemini = said(samples / ".gemini/settings.json")["hooks"]["BeforeAgent"][0]["hooks"][0]
    assert gemini["timeout"] == 5000
    assert os.access(samples / "Documents/Cline/Hooks/TaskStart", os.X_OK)
    hooks = said(samples / ".copilot/hooks/yaadwatch.json")
    assert list(hooks["hooks"]) == [
        *("sessionStart", "userPromptSubmitted", "postToolUse", "sessionEnd", "subagentStart"),
    ]


def test_a_home_of_our_own_is_told_to_whoever_starts_us(home):
    program = Program(python="/opt/python", client=PROGRAM.client, env={"YAAD_HOME": "/a b/yaad"})
    place = Place(home=home, env={})

    connect(World(program=program, place=place, clock=Clock()), ["claude", "cline"])

    server = said(home / ".claude.json")["mcpServers"]["yaad"]
    hook = said(home / ".claude/settings.json")["hooks"]["SessionEnd"][0]["hooks"][0]
    assert server["env"] == {"YAAD_HOME": "/a b/yaad"}
    begins = "/usr/bin/env 'YAAD_HOME=/a b/yaad' /bin/sh -c "
    assert hook["command"].startswith(begins)
    assert "/opt/python -I -S " in hook["command"]
    assert f"$({begins}" in (home / "Documents/Cline/Hooks/TaskStart").read_text()


def test_links_into_a_folder_of_dotfiles_are_followed(home, tmp_path):
    dotfiles = tmp_path / "dotfiles"
    (dotfiles / "claude").mkdir(parents=True)
    (dotfiles / "claude" / "settings.json").write_text(CLAUDE)
    (dotfiles / "claude.json").write_text(STATE)
    (home / ".claude").symlink_to(dotfiles / "claude")
    (home / ".claude.json").symlink_to("../dotfiles/claude.json")
    (home / ".codex").mkdir()
    (home / ".codex" / "hooks.json").symlink_to(dotfiles / "codex-hooks.json")  # not there yet

    answer = connect(world(home), ["claude", "codex"])

    assert (home / ".claude").is_symlink()
    assert (home / ".claude.json").is_symlink()
    assert "yaad" in said(dotfiles / "claude.json")["mcpServers"]
    assert (dotfiles / "codex-hooks.json").is_file()
    assert answer["agents"][0]["files"][0]["target"] == str(dotfiles / "claude.json")
    disconnect(world(home), [])
    assert (dotfiles / "claude" / "settings.json").read_text() == CLAUDE
    assert (dotfiles / "claude.json").read_text() == STATE
    assert not (dotfiles / "codex-hooks.json").exists()


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (".claude/settings.json", b'{"hooks": {', "line 1"),
        (".claude/settings.json", b'{"hooks": "none"}', "hooks is no object"),
        (".claude/settings.json", b'{"hooks": {"SessionEnd": {}}}', "hooks.SessionEnd is no list"),
        (".claude/settings.json", b"[]", "is no object"),
        (".claude/settings.json", b'{"a": 1, "a": 2}', "twice"),
        (".claude/settings.json", b'{"a": "\xff"}', "not text in UTF-8"),
        (".claude.json", b'{"mcpServers": {"yaad": {"command": "other"}}}', "already"),
    ],
)
def test_what_is_not_understood_is_not_written_and_neither_is_its_neighbour(home, name, text, why):
    (home / ".claude").mkdir()
    (home / name).write_bytes(text)
    before = files(home)

    (one,) = connect(world(home), ["claude"])["agents"]

    assert one["state"] == "refused"
    assert why in one["reason"]
    assert files(home) == before


def test_before_the_first_file_is_written_it_is_known_that_the_last_one_may_be(home):
    (home / ".claude").mkdir()
    settings = home / ".claude" / "settings.json"
    settings.write_text("{}")
    settings.chmod(0o400)
    before = files(home)

    connect(world(home), ["claude"])

    assert files(home) == before
    assert not places.receipt().exists()


def test_what_was_written_before_a_variable_moved_the_folder_is_taken_out_too(home, tmp_path):
    connect(world(home), ["claude"])
    connect(world(home, CLAUDE_CONFIG_DIR=str(tmp_path / "cc")), ["claude"])

    disconnect(world(home, CLAUDE_CONFIG_DIR=str(tmp_path / "cc")), ["claude"])

    assert files(home) == {}
    assert not (tmp_path / "cc").exists()
    assert plans.load(places.receipt()).entries == ()


def test_a_file_of_the_same_name_that_is_not_ours_stays(home):
    plugin = home / ".config/opencode/plugins/yaadwatch.js"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("export const Mine = 1\n")

    (one,) = connect(world(home), ["opencode"])["agents"]
    disconnect(world(home), ["opencode"])

    assert one["state"] == "refused"
    assert plugin.read_text() == "export const Mine = 1\n"


def test_after_an_upgrade_the_new_program_takes_the_place_of_the_old_one(samples):
    before = files(samples)
    connect(world(samples), NAMES)
    newer = Program(python="/new/python3.14", client="/new/lib/yaadwatch/client")
    upgraded = World(program=newer, place=Place(home=samples, env={}), clock=Clock())

    answer = connect(upgraded, NAMES)

    assert states(answer) == dict.fromkeys(NAMES, "connected") | {"skill": "unchanged"}
    everything = b"".join(data for data, _ in files(samples).values())
    assert b"/opt/yaad" not in everything
    assert len(said(samples / ".claude/settings.json")["hooks"]["SessionStart"]) == 2
    disconnect(upgraded, [])
    assert files(samples) == before


def test_what_was_added_around_ours_stays(samples):
    connect(world(samples), ["claude"])
    path = samples / ".claude/settings.json"
    ours = said(path)["hooks"]["SessionStart"][1]
    text = path.read_text()
    changed = json.loads(json.dumps(said(path)))
    changed["hooks"]["SessionStart"].insert(0, {"hooks": []})
    changed["hooks"]["SessionStart"].append({"hooks": [{"type": "command", "command": "mine"}]})
    path.write_text(json.dumps(changed))
    assert json.dumps(ours["hooks"][0]["command"]) in text

    disconnect(world(samples), ["claude"])

    left = said(path)["hooks"]
    assert [len(group["hooks"]) for group in left["SessionStart"]] == [0, 1, 1]
    assert "hook.py" not in path.read_text()
    assert "SessionEnd" not in left


@pytest.mark.parametrize("first", [True, False])
def test_a_hook_of_mine_in_the_same_group_as_ours_stays(home, first):
    connect(world(home), ["claude"])
    path = home / ".claude/settings.json"
    changed = said(path)
    mine = {"type": "command", "command": "mine"}
    changed["hooks"]["PostToolUse"][0]["hooks"].insert(0 if first else 1, mine)
    path.write_text(json.dumps(changed))
    newer = Program(python="/new/python", client=PROGRAM.client)

    connect(World(program=newer, place=Place(home=home, env={}), clock=Clock()), ["claude"])
    (group,) = said(path)["hooks"]["PostToolUse"]
    (one,) = disconnect(world(home), ["claude"])["agents"]

    where = 0 if first else 1
    assert group["hooks"].pop(where) == mine
    assert "/new/python -I" in group["hooks"][0]["command"]
    assert said(path)["hooks"] == {"PostToolUse": [{"matcher": group["matcher"], "hooks": [mine]}]}
    assert all("backup" in file for file in one["files"] if file["change"] != "same")


def test_a_whole_file_of_ours_that_was_edited_is_not_written_over(home):
    connect(world(home), ["opencode"])
    plugin = home / ".config/opencode/plugins/yaadwatch.js"
    edited = plugin.read_text() + "// mine\n"
    plugin.write_text(edited)
    newer = Program(python="/new/python", client="/new/lib/yaadwatch/client")
    later = World(program=newer, place=Place(home=home, env={}), clock=Clock())

    (one,) = connect(later, ["opencode"])["agents"]
    (again,) = connect(later, ["opencode"])["agents"]
    (row,) = connection_rows(later)

    assert plugin.read_text() == edited
    assert "/new/python" in (home / ".config/opencode/opencode.json").read_text()
    assert (one["state"], again["state"], row["state"]) == ("connected", "unchanged", "connected")
    for told in (one, again, row):
        assert f"{plugin} is ours, but was edited" in told["todo"]

    plugin.unlink()
    connect(later, ["opencode"])
    assert "/new/python" in plugin.read_text()
    assert "todo" not in connect(later, ["opencode"])["agents"][0]


def test_a_whole_file_of_ours_that_nothing_is_known_of_is_written_anew_and_copied(home):
    connect(world(home), ["opencode"])
    plugin = home / ".config/opencode/plugins/yaadwatch.js"
    older = plugin.read_text() + "// of an older program\n"
    plugin.write_text(older)
    places.receipt().unlink()

    (one,) = connect(world(home), ["opencode"])["agents"]

    assert "older" not in plugin.read_text()
    assert older in [Path(file["backup"]).read_text() for file in one["files"] if "backup" in file]


def test_one_that_is_connected_in_a_repository_only_stands_so(home, repo):
    (home / ".claude").mkdir()
    connect(world(home, Path(repo.path)), ["claude"])

    (row,) = connection_rows(world(home))

    assert (row["agent"], row["state"]) == ("claude", "unconnected")
    assert row["todo"] == f"By --project-level it is, in {repo.path}."


def test_how_each_agent_stands_is_told_and_nothing_is_written(samples):
    before = files(samples)
    assert {row["state"] for row in connection_rows(world(samples))} == {"unconnected"}
    assert files(samples) == before

    connect(world(samples), [])

    assert {row["state"] for row in connection_rows(world(samples))} == {"connected"}
    (samples / ".gemini/settings.json").write_text("nonsense")
    (refused,) = [row for row in connection_rows(world(samples)) if row["state"] != "connected"]
    assert (refused["agent"], refused["state"]) == ("gemini", "refused")
    assert "was left alone" in refused["reason"]


@pytest.mark.parametrize(
    ("noted", "told"),
    [
        ("", "Codex does not run these hooks before you trust them: SessionStart"),
        ('enabled = false\ntrusted_hash = "sha256:00"', "switched off in Codex: SessionStart"),
    ],
)
def test_what_codex_noted_of_a_hook_is_told(home, noted, told):
    connect(world(home), ["codex"])
    settings = home / ".codex/config.toml"
    key = f"{home}/.codex/hooks.json:session_start:0:0"
    settings.write_text(f'{settings.read_text()}\n[hooks.state."{key}"]\n{noted}\n')

    (row,) = connection_rows(world(home))

    assert told in row["todo"]
    assert row["todo"].endswith("Start codex, type /hooks, and approve those of yaadwatch.")


def test_what_a_person_set_in_our_entry_stays_when_it_is_connected_again(home):
    connect(world(home), ["cline", "codex", "opencode"])
    cline = home / ".cline/data/settings/cline_mcp_settings.json"
    opencode = home / ".config/opencode/opencode.json"
    codex = home / ".codex/config.toml"
    mine = {"disabled": True, "autoApprove": ["recall"], "env": {"A": "b"}}
    changed = said(cline)
    changed["mcpServers"]["yaad"] |= mine
    cline.write_text(json.dumps(changed))
    changed = said(opencode)
    changed["mcp"]["yaad"]["enabled"] = False
    opencode.write_text(json.dumps(changed))
    line = "[mcp_servers.yaad]\n"
    table = "\n[mcp_servers.yaad.tools.recall]\napproval_mode = 'approve'\n"
    text = codex.read_text().replace(line, f"{line}enabled = false\nstartup_timeout_sec = 3.5\n")
    codex.write_text(text + table)
    before = files(home)

    again = connect(world(home), ["cline", "codex", "opencode"])
    same = files(home) == before
    newer = Program(python="/new/python", client=PROGRAM.client)
    newly = World(program=newer, place=Place(home=home, env={}), clock=Clock())
    connect(newly, ["cline", "codex", "opencode"])

    assert same
    assert set(states(again).values()) == {"unchanged"}
    entry = said(cline)["mcpServers"]["yaad"]
    assert entry["command"] == "/new/python"
    assert {key: entry[key] for key in mine} == mine
    assert said(opencode)["mcp"]["yaad"]["enabled"] is False
    table = tomllib.loads(codex.read_text())["mcp_servers"]["yaad"]
    assert table["command"] == "/new/python"
    assert (table["enabled"], table["startup_timeout_sec"]) == (False, 3.5)
    assert table["tools"] == {"recall": {"approval_mode": "approve"}}
    disconnect(newly, [])
    assert files(home) == {}


def test_without_a_receipt_ours_is_found_by_what_it_starts(samples):
    connect(world(samples), NAMES)
    places.receipt().unlink()

    disconnect(world(samples), NAMES)

    everything = b"".join(data for data, _ in files(samples).values())
    assert b"/opt/yaad" not in everything
    assert said(samples / ".claude/settings.json")["hooks"]["Stop"]
    assert "context_servers" in said(samples / ".config/zed/settings.json")


@pytest.mark.parametrize("text", [b"{ broken", b"\xff", b"[]"])
def test_a_broken_file_without_anything_of_ours_is_no_trouble_on_the_way_out(home, text):
    (home / ".config/zed").mkdir(parents=True)
    (home / ".config/zed/settings.json").write_bytes(text)

    (one,) = disconnect(world(home), [])["agents"]

    assert one["state"] == "unconnected"
    assert (home / ".config/zed/settings.json").read_bytes() == text


def test_what_others_put_on_the_receipt_stays(home):
    places.receipt().write_text('{"service": ["/etc/x"]}')

    connect(world(home), ["claude"])
    disconnect(world(home), ["claude"])

    assert json.loads(places.receipt().read_text()) == {"service": ["/etc/x"]}
    assert stat.S_IMODE(places.receipt().stat().st_mode) == 0o600


def _receipt_with(**fields):
    spot = {"path": "/x", "how": "member", "at": ["a"], "value": None, "event": "", "mode": None}
    added = {"at": ["a", 1], "made": ["a"], "pieces": ["x"]}
    entry = {"agent": "claude", "project": "", "spot": spot, "added": added}
    for name, value in fields.items():
        part = next(one for one in (spot, added, entry) if name in one)
        part[name] = value
    return json.dumps({"connections": [entry]})


def test_receipt_of_a_connection_is_read(home):
    places.receipt().write_text(_receipt_with())

    assert connect(world(home), ["claude"])["agents"][0]["state"] == "connected"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"connections": [{}]}',
        '{"connections": 5}',
        _receipt_with(path=3),
        _receipt_with(at=5),
        _receipt_with(event=None),
        _receipt_with(pieces=[1]),
        _receipt_with(made=None),
        _receipt_with(agent={}),
    ],
)
def test_a_receipt_that_makes_no_sense_stops_everything(home, text):
    places.receipt().write_text(text)

    with pytest.raises(YaadError, match="cannot be read"):
        connect(world(home), ["claude"])

    assert files(home) == {}


def test_a_copy_is_kept_of_what_is_edited_for_nobody_else_to_read(samples):
    (one,) = connect(world(samples), ["claude"])["agents"]

    copies = [Path(file["backup"]) for file in one["files"]]
    assert [copy.read_text() for copy in copies] == [STATE, CLAUDE]
    assert {stat.S_IMODE(copy.stat().st_mode) for copy in copies} == {0o600}
    assert stat.S_IMODE(copies[0].parent.stat().st_mode) == 0o700


def test_copies_do_not_pile_up(samples):
    for _ in range(settings_files.COPIES_MAX):
        connect(world(samples), ["zed"])
        disconnect(world(samples), ["zed"])

    copies = list(places.backups(COPIES).iterdir())
    assert len(copies) == settings_files.COPIES_MAX


def test_a_dry_run_tells_the_diff_without_its_secrets_and_writes_nothing(samples):
    path = samples / ".claude.json"
    token = "ghp_" + "a1B2" * 9
    path.write_text(STATE.replace('"projects": {}', f'"env": {{"GITHUB_TOKEN": "{token}"}}'))
    before = files(samples)

    (one,) = connect(world(samples), ["claude"], dry_run=True)["agents"]

    diff = "".join(file["diff"] for file in one["files"])
    assert files(samples) == before
    assert not places.receipt().exists()
    assert '+    "yaad": {' in diff
    assert "ghp_" not in diff


def test_a_dry_run_promises_nothing_that_would_not_be_done(samples):
    settings = samples / ".claude/settings.json"
    settings.chmod(0o400)

    (would,) = connect(world(samples), ["claude"], dry_run=True)["agents"]
    (done,) = connect(world(samples), ["claude"])["agents"]

    assert would == done
    assert would["state"] == "refused"


def test_a_file_that_an_agent_writes_meanwhile_keeps_what_it_wrote(home, monkeypatch):
    """Claude Code writes its state whenever it likes."""
    path = home / ".claude.json"
    path.write_text('{"numStartups": 1}')
    writes = iter(range(2, 5))
    real = settings_files.write

    def write(found, data, **options):
        if found.path == path and (number := next(writes, None)) is not None:
            path.write_text(f'{{"numStartups": {number}}}')
        return real(found, data, **options)

    monkeypatch.setattr(settings_files, "write", write)

    (one,) = connect(world(home), ["claude"])["agents"]

    assert one["state"] == "connected"
    assert said(path)["numStartups"] == 4
    assert "yaad" in said(path)["mcpServers"]


def test_a_file_that_never_holds_still_is_given_up(home, monkeypatch):
    path = home / ".claude.json"
    path.write_text("{}")
    real = settings_files.write
    number = 0

    def write(found, data, **options):
        nonlocal number
        number += 1
        path.write_text(f'{{"n": {number}}}')
        return real(found, data, **options)

    monkeypatch.setattr(settings_files, "write", write)

    (one,) = connect(world(home), ["claude"])["agents"]

    assert one["state"] == "refused"
    assert f"{connect_verbs.TRIES_MAX} times" in one["reason"]


def test_an_agent_that_was_told_another_folder_is_found_there(home, tmp_path):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "cc"), "CODEX_HOME": str(tmp_path / "cx")}

    connect(world(home, **env), ["claude", "codex"])

    assert files(home) == {}
    assert (tmp_path / "cc" / ".claude.json").exists()
    assert (tmp_path / "cc" / "settings.json").exists()
    assert (tmp_path / "cx" / "config.toml").exists()


def test_for_a_project_only_files_of_the_project_are_written(home, repo):
    project = Path(repo.path)

    answer = connect(world(home, project), [row.agent for row in CONNECTIONS])

    assert files(home) == {}
    assert set(states(answer).values()) == {"connected"}
    assert "windsurf" not in states(answer)
    names = {str(path) for path in files(project) if not str(path).startswith(".git/")}
    assert {".mcp.json", ".codex/config.toml", ".vscode/mcp.json", "opencode.json"} <= names
    disconnect(world(home, project), [])
    assert {path for path in files(project) if not str(path).startswith(".git/")} == set()


def test_a_link_out_of_a_project_is_not_followed(home, repo, tmp_path):
    """A repository is other people's; it must not choose which of our files is written."""
    secret = tmp_path / "elsewhere.json"
    secret.write_text("{}")
    (Path(repo.path) / ".mcp.json").symlink_to(secret)

    (one,) = connect(world(home, Path(repo.path)), ["claude"])["agents"]

    assert one["state"] == "refused"
    assert secret.read_text() == "{}"


def test_an_unknown_agent_is_named_with_the_nearest_one(home):
    error = refusal(connect, world(home), ["gemni"])

    assert error.code is Code.BAD_REQUEST
    assert "gemini" in error.hint


def test_many_at_once_connect_once(home):
    """Two terminals, one file: each waits for the other."""
    script = (
        "import sys; from yaadwatch.cli.main import main; sys.exit(main(['connect', 'claude']))"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL)
        for _ in range(4)
    ]

    assert [one.wait(60) for one in running] == [0] * 4
    hooks = said(home / ".claude/settings.json")["hooks"]
    assert {name: len(groups) for name, groups in hooks.items()} == {
        "SessionStart": 1,
        "UserPromptSubmit": 1,
        "PostToolUse": 1,
        "SessionEnd": 1,
        "SubagentStart": 1,
    }


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_the_plugin_is_a_module_that_node_takes(home):
    connect(world(home), ["opencode"])
    plugin = home / ".config/opencode/plugins/yaadwatch.js"
    module = plugin.with_suffix(".mjs")
    module.write_text(plugin.read_text())

    done = subprocess.run(["node", "--check", module], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "cursor", "copilot", "cline"])
def test_hook_entries_that_connect_writes_are_guarded(home, agent):
    connect(world(home), [agent])

    written = [path.read_text() for path in home.rglob("*") if path.is_file()]
    hooks = [text for text in written if "client/hook.py" in text and "receipt" not in text]
    assert hooks
    assert all(
        "exit 0'" in line for text in hooks for line in text.splitlines() if "hook.py" in line
    )
