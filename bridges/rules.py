"""The types of this package, and AGENTS: the files each coding agent reads.

AGENTS also holds where a file of our own reaches each agent. Whatever is not certain about an agent
is left out: a file that it may not read delivers nothing. Sources are the documentation of each
vendor, and runs of the agents that are available.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

STATEMENT_CHARS_MAX: Final = 2_000
"""Longer statements, with what they hang on, are texts and are left out."""
PATH_CHARS_MAX: Final = 200
"""Characters in the path of a format."""
WILDCARDS_MAX: Final = 3
"""'*' and '**/' in the path of a format; with more, a match takes long."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement of a person's file, with its place.

    Args:
        text: the author's words on one line; inline markdown is kept. The context of a statement
            (the line above a list, the parent of a nested item) comes first.
        line: first line of its own words in the file, from 1.
        end_line: last line of its own words, inclusive.
        headings: the headings above it, outermost first.
        kind: its kind according to the nearest conclusive heading, such as `convention`.
        lead: its context, which `text` begins with; "" when it needs none.
        stays: why it is not passed on to other agents; "" when it may be.
    """

    text: str
    line: int
    end_line: int
    headings: tuple[str, ...] = ()
    kind: str | None = None
    lead: str = ""
    stays: str = ""

    def __post_init__(self) -> None:
        if not self.text:
            raise ValueError("a statement has words")
        if not 1 <= self.line <= self.end_line:
            raise ValueError(f"lines count from 1 upwards, got {self.line} to {self.end_line}")

    @property
    def own(self) -> str:
        """The words of the statement without its context."""
        return self.text[len(self.lead) :].removeprefix(" >").strip() or self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a file, or a part of it, was not read; `line` is None when it concerns all of it."""

    line: int | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A parsed file: statements in the order of their lines.

    `everywhere`: it applies to the whole project and every task; False when the file itself
    restricts it to some files, or to explicit requests.
    `condition`: the words in front of each statement that restrict it to some files, if any.
    """

    statements: tuple[Statement, ...]
    problems: tuple[Problem, ...] = ()
    everywhere: bool = True
    condition: str = ""

    @property
    def travels(self) -> bool:
        """Whether its statements mean the same in a file for the whole project."""
        return self.everywhere or bool(self.condition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """An agent-file format. A value, not a class to inherit from.

    Args:
        name: the common name of the format.
        paths: patterns of such files, relative to the top of a project, with '/'; '*' matches
            anything in a name, '**/' any number of folders.
        parse: reads the bytes of a file; never raises.
        nested: whether files of these names in nested folders are read too; they apply there.
        block: whether such a file may hold our block.
        preamble: the beginning of a file of our own in this format, such as front matter.
    """

    name: str
    paths: tuple[str, ...]
    parse: Callable[[bytes], Document]
    nested: bool = False
    block: bool = True
    preamble: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"a format is named by small letters, digits and '-', got {self.name!r}"
            )
        if not self.paths:
            raise ValueError(f"the format {self.name} needs a path")
        for path in self.paths:
            damage = _damage(path)
            if damage:
                raise ValueError(f"the path {path!r} of the format {self.name} {damage}")

    def is_at(self, path: str) -> bool:
        """Return whether a file at `path`, relative to the top of a project, has this format."""
        return any(_pattern(one).fullmatch(path) for one in self.paths)

    def is_below(self, path: str) -> bool:
        """Return whether a file in a folder further down has this format."""
        parts = path.split("/")
        return self.nested and any(
            self.is_at("/".join(parts[start:])) for start in range(1, len(parts))
        )


def _damage(path: str) -> str:
    """Return why a path is invalid for a format; empty if it is valid."""
    parts = path.split("/")
    *folders, name = parts
    if not path or len(path) > PATH_CHARS_MAX:
        return f"must have 1 to {PATH_CHARS_MAX} characters"
    if not path.isprintable() or "\\" in path:
        return "must be printable, with '/' between folders"
    if (
        "" in parts
        or "." in parts
        or ".." in parts
        or path[0] == "~"
        or re.match("[A-Za-z]:", path)
    ):
        return "must lead from the top of a project to a file in it"
    if any(sign in path for sign in "?[]{}"):
        return "may have '*' and '**/' for what differs, and no other sign"
    if any("**" in folder and folder != "**" for folder in folders) or "**" in name:
        return "may have '**' only as a folder of its own"
    if not name.replace("*", "") or path.count("*") - folders.count("**") > WILDCARDS_MAX:
        return f"must name its files, with up to {WILDCARDS_MAX} wildcards"
    return ""


@cache
def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*)", path)
    signs = {"**/": "(?:[^/]+/)*", "*": "[^/]*"}
    return re.compile("".join(signs.get(part) or re.escape(part) for part in parts), re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A coding agent.

    Args:
        name: our identifier, such as `claude`.
        title: its name for people.
        reads: names of the formats that it reads when a session starts, all of them together.
        unless: formats that it does not read when there is a file of one of these others.
        rules_file: path of a rules file of ours that it reads and that hides no other, or "".
        beside: whether the rules file needs an existing folder: a new folder would change what else
            the agent reads.
        homes: paths in a person's home folder that exist once the agent was used.
    """

    name: str
    title: str
    reads: tuple[str, ...]
    unless: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rules_file: str = ""
    beside: bool = False
    homes: tuple[str, ...] = ()


FIRST: Final = ".claude/rules/yaad.md"
"""The rules file when the agent is unknown: two agents read it."""

AGENTS: Final = (
    Agent(
        name="claude",
        title="Claude Code",
        reads=("claude", "claude-local", "claude-rules", "agents"),
        unless={"agents": ("claude", "claude-local")},
        rules_file=FIRST,
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
        rules_file=".cursor/rules/yaad.mdc",
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
        rules_file=FIRST,
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
        rules_file=".clinerules/yaad.md",
        beside=True,  # a folder of that name would hide the file of that name
        homes=(".cline", "Documents/Cline"),
    ),
    Agent(
        name="devin",
        title="Devin, formerly Windsurf",
        reads=("agents", "windsurf", "devin-rules"),
        rules_file=".devin/rules/yaad.md",
        homes=(".devin",),
    ),
    Agent(
        name="windsurf",
        title="Windsurf",
        reads=("agents", "windsurf", "devin-rules"),
        rules_file=".windsurf/rules/yaad.md",
        homes=(".codeium/windsurf",),
    ),
    Agent(
        name="kiro",
        title="Kiro",
        reads=("kiro", "agents"),
        rules_file=".kiro/steering/yaad.md",
        homes=(".kiro",),
    ),
)

RULES_FILES: Final = frozenset(agent.rules_file for agent in AGENTS if agent.rules_file)
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
