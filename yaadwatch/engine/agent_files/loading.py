"""Find out what an agent loads at the start of a session: limits and settings included.

A rule in a file that its agent cuts off, or does not load at all, is told by nobody. Whoever asks
whether a file tells a rule asks here.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from bridges import agents
from bridges.agents import Agent
from yaadwatch.core.settings_text import jsonc, toml
from yaadwatch.core.settings_text.edits import NotUnderstoodError
from yaadwatch.engine.agent_files.finding import Fleet
from yaadwatch.system.installed import settings_text

CODEX_BYTES: Final = 32 * 1024
"""Codex loads so much of its agent files where its settings say nothing else."""
MANAGED: Final = (
    Path("/etc/claude-code"),
    Path("/Library/Application Support/ClaudeCode"),
)
"""Where an administrator has the settings of Claude Code."""
OVERRIDE: Final = "AGENTS.override.md"
"""Codex loads this file instead of AGENTS.md."""

_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|\{[^{}]*\}|.", re.DOTALL)
_SIGNS: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """What an agent loads here.

    Args:
        read: the files, relative to the work tree; imported ones too.
        bytes_max: how much of a file is loaded, for files of which that is limited.
        obstacles: what keeps an agent file from being loaded: sentences without a full stop.
        excluded: files, ours among them, that its settings name as not to be loaded.
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
    read = set(agents.read_by(agent, formats))
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
    texts = (one for path in settings for one in _texts(_object(path).get("claudeMdExcludes")))
    patterns = [_whole_path(text) for text in texts]
    roots = {root, root.resolve()}
    excluded = {
        path
        for path in {*fleet.files, agents.FIRST}
        if any(one.fullmatch(str(top / path)) for one in patterns for top in roots)
    }
    named = excluded & {*read, *(path for path in (agents.FIRST,) if (root / path).exists())}
    return Loading(
        read=frozenset(read - excluded),
        obstacles=tuple(
            f"claudeMdExcludes in the settings of Claude Code excludes {path}"
            for path in sorted(named)
        ),
        excluded=frozenset(excluded),
    )


def _whole_path(pattern: str) -> re.Pattern[str]:
    """Return what a glob pattern for whole paths matches; braces hold no other braces."""
    found = []
    for sign in _GLOB.findall(pattern):
        if sign in _SIGNS:
            found.append(_SIGNS[sign])
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
        names = _texts(settings.get("project_doc_fallback_filenames"))
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
        said = _object(place / ".gemini" / "settings.json")
        context = said.get("context")
        inner = context.get("fileName") if isinstance(context, dict) else None
        named = inner or said.get("contextFileName")
        settings = {"names": named, "where": place} if named else settings
    names = _texts(settings.get("names"))
    if not names:
        return Loading(read=frozenset(read))
    loaded = {path for name in names for path in _named(fleet, name)}
    obstacles = (
        f"The settings of Gemini CLI name {', '.join(names)}, so it does not load {path}"
        for path in sorted(read - loaded)
    )
    return Loading(read=frozenset(loaded), obstacles=tuple(obstacles))


def _named(fleet: Fleet, name: str) -> Iterator[str]:
    """Yield the files that are known by a name at the top of the work tree."""
    yield from (path for path, found in fleet.files.items() if found.name == name and found.here)
    yield from (path for known, _, path in fleet.also if known == name)


def _texts(value: object) -> list[str]:
    many: Iterable[object] = value if isinstance(value, list) else [value]
    return [one for one in many if isinstance(one, str) and one]


def _table(path: Path) -> dict[str, Any]:
    try:
        return toml.read(settings_text(path))
    except NotUnderstoodError:
        return {}


def _object(path: Path) -> dict[str, Any]:
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
