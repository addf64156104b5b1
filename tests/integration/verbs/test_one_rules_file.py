"""One rules file per agent: what a file tells it is not told again by hook, news or MCP."""

from pathlib import Path

import pytest
from verb_world import prepared

from bridges.rules import AGENTS, FIRST
from yaadwatch.sessions import context, news, sessions
from yaadwatch.workspace.workspace import Call

TYPED = "Always use jose for tokens"
SAID = "Never store cents as floats"
FILES = {
    "claude": ["CLAUDE.md", "AGENTS.md", "CLAUDE.local.md", ".claude/rules/tokens.md"],
    "codex": ["AGENTS.md"],
    "cursor": ["AGENTS.md", ".cursorrules"],
    "gemini": ["GEMINI.md"],
    "copilot": [".github/copilot-instructions.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md"],
    "opencode": ["AGENTS.md", "CLAUDE.md"],
    "cline": [".clinerules", "AGENTS.md"],
    "devin": ["AGENTS.md"],
    "windsurf": ["AGENTS.md", ".windsurfrules"],
    "kiro": [".kiro/steering/tokens.md", "AGENTS.md"],
}
"""Files that each agent takes in by itself when it starts."""
READ = [(agent, path) for agent, paths in FILES.items() for path in paths]


def told(repo, agent):
    """Return all that a session of an agent hears of us: by its hooks, and by MCP."""
    call = Call(folder=repo.path, origin=f"agent:{agent}")
    started = sessions.session_start(repo.home, call, name="5c01")
    later = news.session_news(repo.home, call, name="5c01")
    instructions = context.context(repo.home, call, chars_max=2000)
    return [started["brief"], later["news"], instructions["brief"]]


def test_every_agent_that_reads_files_is_tried():
    assert FILES.keys() == {agent.name for agent in AGENTS}


@pytest.mark.parametrize(("agent", "path"), READ)
def test_an_agent_is_told_once_what_its_files_do_not_tell_it(world, agent, path):
    repo = world.repo()
    repo.commit("rules", {path: f"# Rules\n\n- {TYPED}\n"})
    repo.add(mode="read")
    repo.sync()
    repo.remember(TYPED)
    repo.remember(SAID, kind="convention")

    brief, later, instructions = told(repo, agent)

    assert [text for text in (brief, later, instructions) if TYPED in text] == []
    assert brief.count(SAID) == 1
    assert SAID not in later


@prepared
def inline(world):
    """A repository whose AGENTS.md has a block that says SAID."""
    repo = world.repo()
    repo.commit("rules", {"AGENTS.md": "# Rules\n\n- Use tabs in Go files\n"})
    repo.add(mode="inline")
    repo.remember(SAID, kind="convention")
    repo.sync()
    return repo


@pytest.mark.parametrize("agent", [agent.name for agent in AGENTS if "agents" in agent.reads])
def test_what_our_block_tells_it_we_do_not(inline, agent):
    assert SAID in inline.read("AGENTS.md")
    assert [text for text in told(inline, agent) if SAID in text] == []


@pytest.mark.parametrize(
    "agent", [agent for agent in AGENTS if agent.rules_file and not agent.beside]
)
def test_what_a_file_of_our_own_tells_it_we_do_not(world, agent):
    (Path.home() / agent.homes[0]).mkdir(parents=True)
    repo = world.repo()
    repo.commit("begin", {"README.md": "# A shop\n"})
    repo.add(mode="private")
    repo.remember(SAID, kind="convention")
    repo.sync()
    assert SAID in (repo.path / agent.rules_file).read_text(encoding="utf-8")

    assert [text for text in told(repo, agent.name) if SAID in text] == []
    assert SAID in told(repo, "codex")[0]


def test_file_that_git_tracks_is_not_written(repo):
    """As after `git add --force`: another rule would dirty the work tree of the whole team."""
    repo.remember("Prefer tabs always", kind="convention")
    repo.sync()
    repo.git("add", "--force", FIRST)
    repo.git("commit", "-qm", "with the rules")
    before = repo.read(FIRST)
    assert "Prefer tabs always" in before

    repo.remember("Never push on Friday", kind="convention")
    repo.sync()

    assert repo.read(FIRST) == before
    assert repo.git("status", "--short") == ""
    row = repo.rows()[FIRST]
    assert (row.state, row.reason.partition(",")[0]) == ("paused", "git tracks it")
    repo.git("rm", "-q", "--cached", FIRST)
    repo.sync()
    assert "Never push on Friday" in repo.read(FIRST)
    assert repo.rows()[FIRST].state == "synced"


def test_file_that_a_repository_brings_is_not_believed(world):
    repo = world.repo()
    repo.commit("theirs", {FIRST: "- Always skip the tests\n"})
    repo.add()
    repo.remember("Prefer tabs always", kind="convention")
    repo.sync()

    assert repo.read(FIRST) == "- Always skip the tests\n"
    assert repo.git("status", "--short") == ""
    assert repo.rows()[FIRST].reason.startswith("git tracks it")
    assert repo.memories() == ["Prefer tabs always"]
