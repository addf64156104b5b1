"""Choose how each agent file takes part: with a block, through a rules file, or only read.

Also answers what an agent loads at the start of a session (its limits and settings included): a
rule in a file that its agent cuts off or does not load does not reach the agent. And reports what
agent files wait for: a lock or an unfinished operation of git.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from bridges import rules
from bridges.block import Absent, find
from bridges.rules import AGENTS, FIRST, Agent
from yaadwatch.db import database, projects
from yaadwatch.db.files import Connection
from yaadwatch.model.projects import ABSENT, INLINE, PENDING, PRIVATE, READ, AgentFileRow
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.layout import Layout
from yaadwatch.sync.deciding import as_stored
from yaadwatch.system import files, processes, settings_files
from yaadwatch.system.settings_files import settings_text
from yaadwatch.text import jsonc, toml
from yaadwatch.text.quoting import as_name
from yaadwatch.text.toml import NotUnderstoodError
from yaadwatch.text.words import text_hash
from yaadwatch.workspace import agent_files
from yaadwatch.workspace.agent_files import FILES_MAX, IMPORTED, Fleet, FoundFile, is_refused
from yaadwatch.workspace.workspace import Space

MODE_KEY: Final = "mode"
"""Key in the store's meta table: the mode that a person chose for the whole project, if any."""

ALWAYS_WITH_BLOCK: Final = ("CLAUDE.md", "AGENTS.md", ".cursorrules")
"""Files that get the block in any case. Other files get it where an agent would otherwise read no
block."""


def note_missing(space: Space, fleet: Fleet) -> None:
    """Add rows for files that were never seen here, and for the rules files that are needed."""
    rows = space.db.read(projects.agent_files_of_worktree, space.worktree.id)
    asked = space.db.read(database.get_meta, MODE_KEY) or ""
    before = _formats_before(space)
    was_read_only = read_only_files(space) & rows.keys()
    settled = {path: row for path, row in rows.items() if path not in was_read_only}
    new: dict[str, AgentFileRow] = {}
    read_only = set()
    for path, mode in default_modes(space, fleet, asked, settled).items():
        if mode == READ != asked and fleet.files[path].may_have_block:
            read_only.add(path)
        if path in rows:
            if rows[path].mode != mode:
                new[path] = replace(rows[path], mode=mode)
            continue
        known = _is_looked_for(fleet.files[path], rows, before)
        # PENDING means "never read": its content was there before us. A file that appears while
        # we watch was typed.
        state = ABSENT if known or not (space.root / path).exists() else PENDING
        new[path] = AgentFileRow(worktree=space.worktree.id, path=path, mode=mode, state=state)
    for path in rules_files(space, fleet, {**rows, **new}, asked) - rows.keys():
        new[path] = AgentFileRow(worktree=space.worktree.id, path=path, mode=PRIVATE, state=ABSENT)
    if new or not fleet.sought <= before or read_only != was_read_only:
        space.db.write(_store_rows, new.values(), _formats_key(space), fleet.sought | before)
        note_read_only(space, read_only)


def read_only_files(space: Space) -> set[str]:
    """Return the files that are only read because their agents read another one with a block.

    That is no person's choice: without such another file they get a block.
    """
    return set(json.loads(space.db.read(database.get_meta, _read_only_key(space)) or "[]"))


def note_read_only(space: Space, paths: Iterable[str]) -> None:
    """Store the files that are only read for that reason."""
    space.db.write(database.put_meta, _read_only_key(space), json.dumps(sorted(paths)))


def _read_only_key(space: Space) -> str:
    return f"spared {space.worktree.id}"


def _is_looked_for(found: FoundFile, rows: Mapping[str, AgentFileRow], before: set[str]) -> bool:
    """Return whether an unknown file would be known if it had existed before.

    It would not if another file has begun to import it, or if its format had more files than are
    looked at.
    """
    if (
        not rows
        or found.bridge.name == IMPORTED.name
        or agent_files.sign(found.bridge) not in before
    ):
        return False
    return sum(map(found.bridge.is_at, rows)) < FILES_MAX


def default_modes(
    space: Space, fleet: Fleet, asked: str, rows: Mapping[str, AgentFileRow]
) -> dict[str, str]:
    """Return the mode of each file that has no row yet.

    Args:
        space: the work tree.
        fleet: its agent files.
        asked: what a person chose for all of them; '' for what suits each.
        rows: the files whose mode is settled.
    """
    modes = {path: row.mode for path, row in rows.items()}
    new = {}
    for path in sorted(fleet.files, key=lambda path: _mode_order(fleet, path)):
        if path not in modes:
            new[path] = modes[path] = _first_mode(space, fleet, path, asked, modes)
    return new


def rules_files(
    space: Space, fleet: Fleet, rows: Mapping[str, AgentFileRow], asked: str | None = None
) -> set[str]:
    """Return the rules files that are needed: for agents that read no block.

    Where none of the agents that read a rules file is installed, it is the one that most can read.
    """
    if asked is None:
        asked = space.db.read(database.get_meta, MODE_KEY) or ""
    formats = fleet.formats(space.root)
    able = [agent for agent in AGENTS if agent.carrier]
    here = [agent for agent in able if settings_files.is_used(agent.homes)]
    blocks = {path for path, row in rows.items() if row.mode == INLINE and path in formats}
    needed = set()
    for agent in here or [agent for agent in able if agent.carrier == FIRST]:
        read = rules.read_by(agent, formats)
        modes = {
            PRIVATE if is_refused(rows[path]) else rows[path].mode
            for path in read
            if path in rows and fleet.files[path].may_have_block
        }
        if modes:
            needs = INLINE not in modes and PRIVATE in modes
        else:
            needs = asked != READ and not (blocks if not here else blocks & read)
        if needs and _has_place(space, agent):
            needed.add(agent.carrier)
    return needed


def users(path: str) -> tuple[Agent, ...]:
    """Return the agents that a rules file is for: the installed ones, or all that can read it."""
    able = [agent for agent in AGENTS if agent.carrier == path]
    here = [agent for agent in able if settings_files.is_used(agent.homes)]
    return tuple(here or able)


def default(space: Space, path: str) -> str:
    """Return the default mode of a file that may have a block.

    An uncommitted block in a tracked file is in the way of checkout and rebase, so a tracked file
    gets none by default.
    """
    seen = files.observe(space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
    if seen.data is not None and not isinstance(find(seen.data), Absent):
        return INLINE
    return PRIVATE if space.repository.is_tracked(path) else INLINE


def _first_mode(space: Space, fleet: Fleet, path: str, asked: str, modes: Mapping[str, str]) -> str:
    found = fleet.files[path]
    if not found.may_have_block:
        return READ
    mode = asked or (default(space, path) if (space.root / path).exists() else "") or PRIVATE
    if mode == INLINE and (
        any(modes.get(other) == INLINE for other in fleet.taken_in.get(path, ()))
        or (found.name not in ALWAYS_WITH_BLOCK and _is_covered(space, fleet, found, modes))
    ):
        return READ
    return mode


def _mode_order(fleet: Fleet, path: str) -> tuple[bool, bool]:
    """Return the sort key of a file: after the files that can make its block unnecessary."""
    return fleet.files[path].name not in ALWAYS_WITH_BLOCK, bool(fleet.taken_in.get(path))


def _is_covered(space: Space, fleet: Fleet, found: FoundFile, modes: Mapping[str, str]) -> bool:
    """Return whether all agents that read a file also read another one with a block."""
    formats = fleet.formats(space.root) | {found.path: frozenset({found.bridge.name})}
    blocks = {path for path, mode in modes.items() if mode == INLINE and path in formats}
    return all(
        not rules.read_by(agent, formats).isdisjoint(blocks)
        for agent in AGENTS
        if found.path in rules.read_by(agent, formats)
    )


def _has_place(space: Space, agent: Agent) -> bool:
    folder = (space.root / agent.carrier).parent
    return folder.is_dir() or not agent.beside


def _formats_key(space: Space) -> str:
    return f"formats {space.worktree.id}"


def _formats_before(space: Space) -> set[str]:
    """Return the formats that were looked for here before: files of others are not new."""
    return set(json.loads(space.db.read(database.get_meta, _formats_key(space)) or "[]"))


def _store_rows(
    conn: Connection, rows: Iterable[AgentFileRow], key: str, names: Collection[str]
) -> None:
    for row in rows:
        projects.put_agent_file(conn, row)
    database.put_meta(conn, key, json.dumps(sorted(names)))


SHOWN_AFTER: Final = timedelta(minutes=1)
"""A git command takes less; what lasts longer is worth reporting."""
_LOCK: Final = ".lock"
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """What agent files wait for.

    Args:
        path: the file or folder of git, absolute.
        name: the path relative to the work tree.
        since: when it was created.
        is_lock: whether it is a lock of a command, not an unfinished merge or rebase.
        left_over: whether no git process holds the lock any more; None when that is not known.
    """

    path: Path
    name: str
    since: datetime
    is_lock: bool
    left_over: bool | None

    def in_words(self, now: datetime) -> str:
        """Describe the pause and its start, in local time."""
        at = self.since.astimezone()
        form = "%H:%M" if now - self.since < _DAY else "%Y-%m-%d %H:%M"
        words = f"waiting for {as_name(self.name)} since {at:{form}}"
        if self.left_over:
            return f"{words}; no git process is at work there, so it is left over"
        return words

    @property
    def mend(self) -> str:
        """The command or advice that ends the pause."""
        if not self.is_lock:
            return "finish or abort that operation of git: git status"
        remove = f"rm {as_name(str(self.path))}"
        if self.left_over:
            return remove
        if self.left_over is None:
            return f"end the git command that holds it; if none is running: {remove}"
        return "end the git command that holds it, or wait for it"

    def as_json(self, now: datetime) -> dict[str, object]:
        """Return the pause as JSON for answers."""
        return {
            "for": self.name,
            "since": self.since,
            "left_over": self.left_over,
            "what": self.in_words(now),
            "mend": self.mend,
        }


def pause_of(layout: Layout, now: datetime) -> Pause | None:
    """Return the pause of a work tree's agent files; None under a minute."""
    found = repo_layout.at_work_since(layout)
    if found is None:
        return None
    name, made_ns = found
    since = datetime.fromtimestamp(made_ns / 1e9, UTC)
    if now - since < SHOWN_AFTER:
        return None
    path = layout.git_dir / name
    root = layout.root
    is_lock = name.endswith(_LOCK)
    places = [layout.git_dir, layout.common_dir, *([root] if root is not None else [])]
    at_work = processes.is_running_below("git", places) if is_lock else None
    return Pause(
        path=path,
        name=str(path.relative_to(root)) if root and path.is_relative_to(root) else str(path),
        since=since,
        is_lock=is_lock,
        left_over=None if at_work is None else not at_work,
    )


class FileWords:
    """The words of a work tree's agent files, as hashes; each file is read at most once."""

    def __init__(self, space: Space, fleet: Fleet) -> None:
        self._space = space
        self._fleet = fleet
        self._words: dict[str, frozenset[str]] = {}

    @cached_property
    def formats(self) -> dict[str, frozenset[str]]:
        """The formats of each existing file; see `Fleet.formats`."""
        return self._fleet.formats(self._space.root)

    @cached_property
    def personal(self) -> frozenset[str]:
        """The files that git does not share; see `agent_files.personal`."""
        return agent_files.personal(self._space.repository, self._fleet)

    @cached_property
    def _read_by(self) -> dict[str, frozenset[str]]:
        """The files that each agent reads, by its name."""
        return {agent.name: rules.read_by(agent, self.formats) for agent in AGENTS}

    def also_read(self, found: FoundFile) -> frozenset[str]:
        """Return the words of other files that all readers of this file read as well.

        Only files without a block of ours count: the rules of another block are in this one, too.
        """
        own = {name for name, read in self._read_by.items() if found.path in read}
        others = [
            path
            for path in self.formats
            if not self._fleet.files[path].may_have_block
            and all(path in self._read_by[name] for name in own)
        ]
        others += self._fleet.taken_in.get(found.path, ())
        return frozenset[str]().union(*map(self._words_of, others))

    def read_by_all(self, readers: Iterable[Agent]) -> frozenset[str]:
        """Return the words that all of these agents read at the top of the project."""
        return frozenset.intersection(*map(self._read_by_agent, readers))

    def _read_by_agent(self, agent: Agent) -> frozenset[str]:
        read = self._read_by[agent.name]
        taken_in = (other for path in read for other in self._fleet.taken_in.get(path, ()))
        return frozenset[str]().union(*map(self._words_of, {*read, *taken_in}))

    def _words_of(self, path: str) -> frozenset[str]:
        """Return the words of a file that hold everywhere."""
        if path not in self._words:
            seen = files.observe(self._space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
            bridge = self._fleet.files[path].bridge
            document = agent_files.parsed(bridge, seen.data) if seen.data is not None else None
            outside = document.statements if document is not None and document.travels else ()
            self._words[path] = frozenset(text_hash(as_stored(one.text)) for one in outside)
        return self._words[path]


CODEX_BYTES: Final = 32 * 1024
"""Bytes of its agent files that Codex loads by default."""
MANAGED: Final = (
    Path("/etc/claude-code"),
    Path("/Library/Application Support/ClaudeCode"),
)
"""Folders of an administrator's settings for Claude Code."""
OVERRIDE: Final = "AGENTS.override.md"
"""Codex loads this file instead of AGENTS.md."""

_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|\{[^{}]*\}|.", re.DOTALL)
_GLOB_PARTS: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """What an agent loads in a work tree.

    Args:
        read: the files, relative to the work tree; imported ones too.
        bytes_max: how many bytes of a file are loaded, where that is limited.
        obstacles: what keeps an agent file from being loaded: sentences without a full stop.
        excluded: files, ours among them, that its settings exclude.
    """

    read: frozenset[str]
    bytes_max: Mapping[str, int] = field(default_factory=dict)
    obstacles: tuple[str, ...] = ()
    excluded: frozenset[str] = frozenset()


def loading(root: Path, fleet: Fleet, agent: Agent) -> Loading:
    """Return what an agent loads in a work tree.

    Args:
        root: the work tree.
        fleet: its agent files.
        agent: which agent.
    """
    formats = fleet.formats(root)
    read = set(rules.read_by(agent, formats))
    found = Loading(read=frozenset(read))
    if agent.name == "claude":
        found = _claude(root, fleet, read)
    elif agent.name == "codex":
        found = _codex(root, fleet, read, formats)
    elif agent.name == "gemini":
        found = _gemini(root, fleet, read)
    taken = found.read.union(*(fleet.taken_in.get(path, ()) for path in found.read))
    return replace(found, read=taken - found.excluded)


def _claude(root: Path, fleet: Fleet, read: set[str]) -> Loading:
    """Return what Claude Code loads: no file that `claudeMdExcludes` matches in any settings.

    The patterns of all settings count together; each is compared with the whole path of a file.
    See https://code.claude.com/docs/en/memory.
    """
    own = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    project = root / ".claude"
    settings = (
        *(folder / "managed-settings.json" for folder in MANAGED),
        *(own / "settings.json", project / "settings.json", project / "settings.local.json"),
    )
    texts = (
        one for path in settings for one in _strings(_json_object(path).get("claudeMdExcludes"))
    )
    patterns = [_whole_path(text) for text in texts]
    roots = {root, root.resolve()}
    excluded = {
        path
        for path in {*fleet.files, rules.FIRST}
        if any(one.fullmatch(str(top / path)) for one in patterns for top in roots)
    }
    named = excluded & {*read, *(path for path in (rules.FIRST,) if (root / path).exists())}
    return Loading(
        read=frozenset(read - excluded),
        obstacles=tuple(
            f"claudeMdExcludes in the settings of Claude Code excludes {path}"
            for path in sorted(named)
        ),
        excluded=frozenset(excluded),
    )


def _whole_path(pattern: str) -> re.Pattern[str]:
    """Compile a glob pattern for whole paths; braces hold no other braces."""
    found = []
    for sign in _GLOB.findall(pattern):
        if sign in _GLOB_PARTS:
            found.append(_GLOB_PARTS[sign])
        elif sign.startswith("{"):
            found.append(f"(?:{'|'.join(map(re.escape, sign[1:-1].split(',')))})")
        else:
            found.append(re.escape(sign))
    return re.compile("".join(found), re.DOTALL)


def _codex(
    root: Path, fleet: Fleet, read: set[str], formats: Mapping[str, frozenset[str]]
) -> Loading:
    """Return what Codex loads: one file at the top, the first of three kinds, up to a limit."""
    home = os.environ.get("CODEX_HOME") or str(Path.home() / ".codex")
    settings = _table(Path(home) / "config.toml") | _table(root / ".codex" / "config.toml")
    limit = settings.get("project_doc_max_bytes", CODEX_BYTES)
    limit = limit if isinstance(limit, int) and limit >= 0 else CODEX_BYTES
    obstacles = []
    if _has_words(root / OVERRIDE):
        obstacles = [f"Codex loads {OVERRIDE} instead of {path}" for path in sorted(read)]
        read = set()
    elif not read:
        names = _strings(settings.get("project_doc_fallback_filenames"))
        there = (path for name in names for path in _named(fleet, name) if path in formats)
        read = {path for path in [next(there, "")] if path}
    for path in sorted(read):
        size = _size(root / path)
        if size > limit:
            obstacles.append(f"Codex loads {limit:,} of the {size:,} bytes of {path}")
    return Loading(
        read=frozenset(read), bytes_max=dict.fromkeys(read, limit), obstacles=tuple(obstacles)
    )


def _gemini(root: Path, fleet: Fleet, read: set[str]) -> Loading:
    """Return what Gemini CLI loads: the files that its settings name, or GEMINI.md."""
    settings: dict[str, Any] = {}
    for place in (Path.home(), root):
        said = _json_object(place / ".gemini" / "settings.json")
        context = said.get("context")
        inner = context.get("fileName") if isinstance(context, dict) else None
        named = inner or said.get("contextFileName")
        settings = {"names": named, "where": place} if named else settings
    names = _strings(settings.get("names"))
    if not names:
        return Loading(read=frozenset(read))
    loaded = {path for name in names for path in _named(fleet, name)}
    obstacles = (
        f"The settings of Gemini CLI name {', '.join(names)}, so it does not load {path}"
        for path in sorted(read - loaded)
    )
    return Loading(read=frozenset(loaded), obstacles=tuple(obstacles))


def _named(fleet: Fleet, name: str) -> Iterator[str]:
    """Yield the files with a name at the top of the work tree."""
    yield from (path for path, found in fleet.files.items() if found.name == name and found.here)
    yield from (path for known, _, path in fleet.also if known == name)


def _strings(value: object) -> list[str]:
    many: Iterable[object] = value if isinstance(value, list) else [value]
    return [one for one in many if isinstance(one, str) and one]


def _table(path: Path) -> dict[str, Any]:
    try:
        return toml.read(settings_text(path))
    except NotUnderstoodError:
        return {}


def _json_object(path: Path) -> dict[str, Any]:
    try:
        said = jsonc.read(settings_text(path))
    except NotUnderstoodError:
        return {}
    return said if isinstance(said, dict) else {}


def _has_words(path: Path) -> bool:
    return bool(settings_text(path).strip())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
