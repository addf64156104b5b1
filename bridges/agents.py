"""AGENTS: which files each coding agent takes in, and where a file of our own reaches it.

What is not surely known of an agent is left out: a file that it may not read carries nothing to it.
Sources are the documents of each vendor, and runs of the agents that can be had.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A coding agent.

    Args:
        name: what we call it, such as `claude`.
        title: what people call it.
        reads: the formats that it takes in when a session starts, by their names; all of them at
            once.
        unless: formats that it does not read when there is a file of one of these others.
        carrier: where a file of our own reaches it and hides no other; '' when there is no place.
        beside: whether the carrier is only written where its folder is already: a new one would
            change what else the agent reads.
        homes: what stands in a person's home folder once the agent was used.
    """

    name: str
    title: str
    reads: tuple[str, ...]
    unless: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    carrier: str = ""
    beside: bool = False
    homes: tuple[str, ...] = ()


FIRST: Final = ".claude/rules/yaad.md"
"""The carrier where nobody can tell which agent is at work: two of them read it."""

AGENTS: Final = (
    Agent(
        name="claude",
        title="Claude Code",
        reads=("claude", "claude-local", "claude-rules", "agents"),
        unless={"agents": ("claude", "claude-local")},
        carrier=FIRST,
        homes=(".claude", ".claude.json"),
    ),
    Agent(
        name="codex",
        title="Codex",
        reads=("agents",),
        homes=(".codex",),
    ),
    Agent(
        name="cursor",
        title="Cursor",
        reads=("cursorrules", "cursor-rules", "agents"),
        carrier=".cursor/rules/yaad.mdc",
        homes=(".cursor",),
    ),
    Agent(
        name="gemini",
        title="Gemini CLI",
        reads=("gemini",),
        homes=(".gemini",),
    ),
    Agent(
        name="copilot",
        title="GitHub Copilot",
        reads=("copilot", "copilot-rules", "agents", "claude", "gemini", "claude-rules"),
        carrier=FIRST,
        homes=(".copilot", ".config/github-copilot"),
    ),
    Agent(
        name="opencode",
        title="OpenCode",
        reads=("agents", "claude"),
        unless={"claude": ("agents",)},
        homes=(".config/opencode", ".local/share/opencode"),
    ),
    Agent(
        name="cline",
        title="Cline",
        reads=("cline", "cline-rules", "agents"),
        carrier=".clinerules/yaad.md",
        beside=True,  # a folder of that name would hide the file of that name
        homes=(".cline", "Documents/Cline"),
    ),
    Agent(
        name="devin",
        title="Devin, formerly Windsurf",
        reads=("agents", "windsurf", "devin-rules"),
        carrier=".devin/rules/yaad.md",
        homes=(".devin",),
    ),
    Agent(
        name="windsurf",
        title="Windsurf",
        reads=("agents", "windsurf", "devin-rules"),
        carrier=".windsurf/rules/yaad.md",
        homes=(".codeium/windsurf",),
    ),
    Agent(
        name="kiro",
        title="Kiro",
        reads=("kiro", "agents"),
        carrier=".kiro/steering/yaad.md",
        homes=(".kiro",),
    ),
)

CARRIERS: Final = frozenset(agent.carrier for agent in AGENTS if agent.carrier)
"""Every file of our own that there may be in a work tree."""


def read_by(agent: Agent, formats: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Return which of the files at the top of a project an agent takes in.

    Args:
        agent: whose.
        formats: the names of the formats of each file that is there, by path: a file with two names
            may have two.
    """
    there = {name for names in formats.values() for name in names}
    read = {name for name in agent.reads if there.isdisjoint(agent.unless.get(name, ()))}
    return frozenset(path for path, names in formats.items() if not read.isdisjoint(names))
