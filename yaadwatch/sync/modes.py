"""Choose how each agent file takes part: with a block, through a rules file, or only read.

Also answers what an agent loads at the start of a session (its limits and settings included): a
rule in a file that its agent cuts off or does not load does not reach the agent. And reports what
agent files wait for: a lock or an unfinished operation of git.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from bridges import rules
from bridges.block import Absent, Block, find, without_markers
from bridges.registry import bridges
from bridges.rules import AGENTS, FIRST, Agent
from yaadwatch.anchors.tree import is_matched
from yaadwatch.db import database, projects
from yaadwatch.db.files import Connection
from yaadwatch.model.limits import INLINE, PRIVATE, READ
from yaadwatch.model.projects import ABSENT, PENDING, AgentFileRow
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
    worktree = space.worktree.id
    rows = space.db.read(projects.agent_files_of_worktree, worktree)
    asked = space.db.read(database.get_meta, MODE_KEY) or ""
    formats_key = f"formats {worktree}"
    before = set(json.loads(space.db.read(database.get_meta, formats_key) or "[]"))
    was_read_only = read_only_files(space) & rows.keys()
    settled = {path: row for path, row in rows.items() if path not in was_read_only}
    new: dict[str, AgentFileRow] = {}
    read_only = set()
    for path, mode in default_modes(space, fleet, asked, settled).items():
        found = fleet.files[path]
        if mode == READ != asked and found.may_have_block:
            read_only.add(path)
        if path in rows:
            if rows[path].mode != mode:
                new[path] = replace(rows[path], mode=mode)
            continue
        # PENDING means "never read": its content was there before us. A file that appears while
        # we watch was typed, unless it could not have been known: another file has begun to import
        # it, its format was not looked for, or had more files than are looked at.
        is_new = (
            bool(rows)
            and found.bridge.name != IMPORTED.name
            and agent_files.sign(found.bridge) in before
            and sum(map(found.bridge.is_at, rows)) < FILES_MAX
        )
        state = ABSENT if is_new or not (space.root / path).exists() else PENDING
        new[path] = AgentFileRow(worktree=worktree, path=path, mode=mode, state=state)
    for path in rules_files(space, fleet, {**rows, **new}, asked) - rows.keys():
        new[path] = AgentFileRow(worktree=worktree, path=path, mode=PRIVATE, state=ABSENT)
    if not new and fleet.sought <= before and read_only == was_read_only:
        return

    def store(conn: Connection) -> None:
        for row in new.values():
            projects.put_agent_file(conn, row)
        database.put_meta(conn, formats_key, json.dumps(sorted(fleet.sought | before)))

    space.db.write(store)
    note_read_only(space, read_only)


def read_only_files(space: Space) -> set[str]:
    """Return the files that are only read because their agents read another one with a block.

    That is no person's choice: without such another file they get a block.
    """
    return set(json.loads(space.db.read(database.get_meta, f"spared {space.worktree.id}") or "[]"))


def note_read_only(space: Space, paths: Iterable[str]) -> None:
    """Store the files that are only read for that reason."""
    space.db.write(database.put_meta, f"spared {space.worktree.id}", json.dumps(sorted(paths)))


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
    formats = fleet.formats(space.root)
    new = {}

    def order(path: str) -> tuple[bool, bool]:
        """Put a file after those that can make its block unnecessary."""
        return fleet.files[path].name not in ALWAYS_WITH_BLOCK, bool(fleet.taken_in.get(path))

    for path in sorted(fleet.files, key=order):
        if path not in modes:
            new[path] = modes[path] = _first_mode(space, fleet, path, asked, modes, formats=formats)
    return new


def _first_mode(
    space: Space,
    fleet: Fleet,
    path: str,
    asked: str,
    modes: Mapping[str, str],
    *,
    formats: Mapping[str, frozenset[str]],
) -> str:
    found = fleet.files[path]
    if not found.may_have_block:
        return READ
    mode = asked or PRIVATE
    if not asked and (space.root / path).exists():
        # An uncommitted block in a tracked file is in the way of checkout and rebase.
        data = files.observe(space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0).data
        has_block = data is not None and not isinstance(find(data), Absent)
        mode = INLINE if has_block or not space.repository.is_tracked(path) else PRIVATE
    if mode != INLINE:
        return mode
    if any(modes.get(other) == INLINE for other in fleet.taken_in.get(path, ())):
        return READ
    if found.name in ALWAYS_WITH_BLOCK:
        return mode
    formats = {**formats, path: frozenset({found.bridge.name})}
    blocks = {one for one, own in modes.items() if own == INLINE and one in formats}
    reads = [rules.read_by(agent, formats) for agent in AGENTS]
    is_covered = all(not read.isdisjoint(blocks) for read in reads if path in read)
    return READ if is_covered else mode


def rules_files(
    space: Space, fleet: Fleet, rows: Mapping[str, AgentFileRow], asked: str | None = None
) -> set[str]:
    """Return the rules files that are needed: for agents that read no block.

    Where none of the agents that read a rules file is installed, it is the one that most can read.
    """
    if asked is None:
        asked = space.db.read(database.get_meta, MODE_KEY) or ""
    formats = fleet.formats(space.root)
    able = [agent for agent in AGENTS if agent.rules_file]
    here = [agent for agent in able if settings_files.is_used(agent.homes)]
    blocks = {path for path, row in rows.items() if row.mode == INLINE and path in formats}
    needed = set()
    for agent in here or [agent for agent in able if agent.rules_file == FIRST]:
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
        if needs and (not agent.beside or (space.root / agent.rules_file).parent.is_dir()):
            needed.add(agent.rules_file)
    return needed


def users(path: str) -> tuple[Agent, ...]:
    """Return the agents that a rules file is for: the installed ones, or all that can read it."""
    able = tuple(agent for agent in AGENTS if agent.rules_file == path)
    return tuple(agent for agent in able if settings_files.is_used(agent.homes)) or able


def pause_of(layout: Layout, now: datetime) -> dict[str, object] | None:
    """Return what a work tree's agent files wait for, as JSON; None under a minute.

    `left_over`: whether no git process holds a lock any more; None when that is not known, and for
    an unfinished operation, which is no lock.
    """
    found = repo_layout.at_work_since(layout)
    if found is None:
        return None
    name, made_ns = found
    since = datetime.fromtimestamp(made_ns / 1e9, UTC)
    if now - since < timedelta(minutes=1):  # a git command takes less
        return None
    path, root = layout.git_dir / name, layout.root
    shown = str(path.relative_to(root)) if root and path.is_relative_to(root) else str(path)
    form = "%H:%M" if now - since < timedelta(days=1) else "%Y-%m-%d %H:%M"
    what = f"waiting for {as_name(shown)} since {since.astimezone():{form}}"
    left_over, mend = None, "finish or abort that operation of git: git status"
    if name.endswith(".lock"):
        places = [layout.git_dir, layout.common_dir, *([root] if root is not None else [])]
        at_work = processes.is_running_below("git", places)
        left_over = None if at_work is None else not at_work
        remove = f"rm {as_name(str(path))}"
        if left_over:
            what += "; no git process is at work there, so it is left over"
            mend = remove
        elif left_over is None:
            mend = f"end the git command that holds it; if none is running: {remove}"
        else:
            mend = "end the git command that holds it, or wait for it"
    return {"for": shown, "since": since, "left_over": left_over, "what": what, "mend": mend}


class FileWords:
    """The words of a work tree's agent files, as hashes; each file is read at most once."""

    def __init__(self, space: Space, fleet: Fleet) -> None:
        self._space = space
        self._fleet = fleet
        self._words: dict[tuple[str, bool], frozenset[str]] = {}
        self.formats = formats = cache(partial(fleet.formats, space.root))
        """Returns the formats of each existing file; see `Fleet.formats`."""
        self.personal = cache(partial(agent_files.personal, space.repository, fleet))
        """Returns the files that git does not share; see `agent_files.personal`."""
        self._read_by = cache(lambda: {one.name: rules.read_by(one, formats()) for one in AGENTS})

    def also_read(self, found: FoundFile) -> frozenset[str]:
        """Return the words of other files that all readers of this file read as well.

        Only files without a block of ours count: the rules of another block are in this one, too.
        """
        own = [read for read in self._read_by().values() if found.path in read]
        others = [
            path
            for path in self.formats()
            if not self._fleet.files[path].may_have_block and all(path in read for read in own)
        ]
        others += self._fleet.taken_in.get(found.path, ())
        return frozenset[str]().union(*map(self._words_of, others))

    def read_by_all(self, readers: Iterable[Agent]) -> frozenset[str]:
        """Return the words that all of these agents read at the top of the project."""
        words = []
        for agent in readers:
            read = self._read_by()[agent.name]
            taken_in = (other for path in read for other in self._fleet.taken_in.get(path, ()))
            said = (self._words_of(path, with_block=True) for path in {*read, *taken_in})
            words.append(frozenset[str]().union(*said))
        return frozenset.intersection(*words)

    def _words_of(self, path: str, *, with_block: bool = False) -> frozenset[str]:
        """Return the words of a file that hold everywhere; those of its block if asked for."""
        if (path, with_block) not in self._words:
            seen = files.observe(self._space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
            data = seen.data or b""
            bridge = self._fleet.files[path].bridge
            document = agent_files.parsed(bridge, without_markers(data) if with_block else data)
            outside = document.statements if document.travels else ()
            words = frozenset(text_hash(as_stored(one.text)) for one in outside)
            self._words[path, with_block] = words
        return self._words[path, with_block]


CODEX_BYTES: Final = 32 * 1024
"""Bytes of its agent files that Codex loads by default."""
OVERRIDE: Final = "AGENTS.override.md"
"""Codex loads this file instead of AGENTS.md."""
EXCLUDES: Final = "claudeMdExcludes"
"""The setting of Claude Code with patterns of CLAUDE.md and rules files that it does not load."""
EXCLUDES_CHARS_MAX: Final = 8_000
"""Characters of its patterns that are looked at: a repository brings such settings, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """What an agent loads in a work tree.

    Args:
        read: the files, relative to the work tree; imported ones too.
        bytes_max: how many bytes of a file are loaded, where that is limited.
        excluded: files with our rules that the agent's settings keep it from loading.
        obstacles: what keeps an agent file from being loaded: sentences without a full stop.
    """

    read: frozenset[str]
    bytes_max: Mapping[str, int] = field(default_factory=dict)
    excluded: frozenset[str] = frozenset()
    obstacles: tuple[str, ...] = ()


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
    if agent.name == "codex":
        found = _codex(root, fleet, read, formats)
    elif agent.name == "gemini":
        found = _gemini(root, fleet, read)
    elif agent.name == "claude":
        found = _claude(root, read)
    taken = found.read.union(*(fleet.taken_in.get(path, ()) for path in found.read))
    misspelled = tuple(
        f"{agent.title} loads {path}, but not {other}, whose name has another case"
        for bridge in bridges()
        for path in bridge.paths
        if bridge.name in agent.reads and "*" not in path and not (root / path).exists()
        if (other := agent_files.spelled_otherwise(root, path))
    )
    return replace(found, read=taken, obstacles=found.obstacles + misspelled)


def _codex(
    root: Path, fleet: Fleet, read: set[str], formats: Mapping[str, frozenset[str]]
) -> Loading:
    """Return what Codex loads: one file at the top, the first of three kinds, up to a limit."""
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    settings: dict[str, Any] = {}
    for path in (home / "config.toml", root / ".codex" / "config.toml"):
        try:
            settings |= toml.read(settings_text(path))
        except NotUnderstoodError:
            continue
    limit = settings.get("project_doc_max_bytes", CODEX_BYTES)
    limit = limit if isinstance(limit, int) and limit >= 0 else CODEX_BYTES
    obstacles = []
    if settings_text(root / OVERRIDE).strip():
        obstacles = [f"Codex loads {OVERRIDE} instead of {path}" for path in sorted(read)]
        read = set()
    elif not read:
        names = _strings(settings.get("project_doc_fallback_filenames"))
        there = [path for name in names for path in _named(fleet, name) if path in formats]
        read = set(there[:1])
    for name in sorted(read):
        size = (root / name).stat().st_size if (root / name).exists() else 0
        if size > limit:
            obstacles.append(f"Codex loads {limit:,} of the {size:,} bytes of {name}")
    return Loading(
        read=frozenset(read), bytes_max=dict.fromkeys(read, limit), obstacles=tuple(obstacles)
    )


def _gemini(root: Path, fleet: Fleet, read: set[str]) -> Loading:
    """Return what Gemini CLI loads: the files that its settings name, or GEMINI.md."""
    names: list[str] = []
    for place in (Path.home(), root):
        said = _json_object(place / ".gemini" / "settings.json")
        context = said.get("context")
        inner = context.get("fileName") if isinstance(context, dict) else None
        names = _strings(inner or said.get("contextFileName")) or names
    if not names:
        return Loading(read=frozenset(read))
    loaded = {path for name in names for path in _named(fleet, name)}
    obstacles = (
        f"The settings of Gemini CLI name {', '.join(names)}, so it does not load {path}"
        for path in sorted(read - loaded)
    )
    return Loading(read=frozenset(loaded), obstacles=tuple(obstacles))


def _claude(root: Path, read: set[str]) -> Loading:
    """Return what Claude Code loads: not the files that its settings exclude by absolute path."""
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    places = (
        home / "settings.json",
        *(root / ".claude" / f"settings{one}.json" for one in ("", ".local")),
    )
    patterns: list[str] = []
    for one in (one for place in places for one in _strings(_json_object(place).get(EXCLUDES))):
        if sum(map(len, patterns)) + len(one) <= EXCLUDES_CHARS_MAX:
            patterns.append(one)
    out = {
        path
        for path in {*read, FIRST}
        if any(is_matched(f"{root}/{path}", pattern) for pattern in patterns)
    }
    ours = {path for path in out if path == FIRST or _has_block(root, path)}
    return Loading(
        read=frozenset(read - out),
        excluded=frozenset(ours),
        obstacles=tuple(
            f"The settings of Claude Code exclude {path} ({EXCLUDES}), so it does not load it"
            for path in sorted(ours)
            if (root / path).exists()
        ),
    )


def _has_block(root: Path, path: str) -> bool:
    data = files.observe(root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0).data
    return data is not None and isinstance(find(data), Block)


def _named(fleet: Fleet, name: str) -> Iterator[str]:
    """Yield the files with a name at the top of the work tree."""
    yield from (path for path, found in fleet.files.items() if found.name == name and found.here)
    yield from (path for known, _, path in fleet.also if known == name)


def _strings(value: object) -> list[str]:
    many: Iterable[object] = value if isinstance(value, list) else [value]
    return [one for one in many if isinstance(one, str) and one]


def _json_object(path: Path) -> dict[str, Any]:
    try:
        said = jsonc.read(settings_text(path))
    except NotUnderstoodError:
        return {}
    return said if isinstance(said, dict) else {}
