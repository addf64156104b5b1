"""Commands for connecting: what a person reads, and what programs do."""

from pathlib import Path

import pytest
from recording import command

from yaadwatch.cli.terminal import UNLIMITED


@pytest.fixture
def home(environment):
    home = Path.home()
    (home / ".claude").mkdir()
    (home / ".codex").mkdir()
    return home


def test_agents_that_are_used_are_connected_and_it_is_said_how_to_undo_that(home):
    ran = command("connect", width=UNLIMITED)

    assert ran.status == 0
    assert ran.lines[0] == "Claude Code: connected"
    assert "  created  ~/.claude.json" in ran.lines
    assert any("to do: Codex runs new hooks only once you trust them" in line for line in ran.lines)
    assert ran.lines[-1] == "Undo: yaadwatch disconnect"


def test_a_dry_run_shows_a_diff_and_writes_nothing(home):
    ran = command("connect", "claude", "--dry-run", colour=True)

    assert ran.status == 0
    assert "\x1b[32m+  " in ran.out
    assert "Nothing was written." in ran.out
    assert sorted(home.rglob("*.json")) == []


def test_a_file_that_is_no_json_is_left_alone_and_the_others_are_connected(home):
    (home / ".claude" / "settings.json").write_text('{"hooks": oops}')

    ran = command("connect")

    assert ran.status == 4
    assert ran.lines[0] == "Claude Code: left alone"
    assert "line 1, column 11" in ran.out
    assert "Codex: connected" in ran.lines
    assert not (home / ".claude.json").exists()


def test_without_agents_it_says_how_to_name_one(environment):
    assert command("connect").lines[-1] == "To name one: yaadwatch connect claude"


def test_the_skill_for_agents_is_installed_and_taken_away(home):
    ran = command("skill", "install")

    made = [home / folder / "skills/yaadwatch/SKILL.md" for folder in (".claude", ".agents")]
    assert ran.status == 0
    assert [path.exists() for path in made] == [True, True]
    assert ran.lines[0] == "Skill: installed"
    assert ran.lines[-1] == "Undo: yaadwatch disconnect skill"
    assert command("skill", "install").lines == ["Skill: installed already"]
    assert command("disconnect", "skill", "--dry-run").lines[0] == "Skill: would be removed"
    assert command("disconnect", "skill").lines[0] == "Skill: removed"
    assert command("disconnect", "skill").lines[0] == "Skill: not installed"
    assert [path.exists() for path in made] == [False, False]
    assert command("skill", "install", "mine").status == 2


@pytest.mark.parametrize(
    "name", [("connect", "--project-level"), ("disconnect", "--project-level")]
)
def test_for_a_project_it_takes_a_project(home, tmp_path, name):
    ran = command(*name, "claude", "--project", tmp_path)

    assert ran.status == 2
    assert "not in a git" in " ".join(ran.err.split())
