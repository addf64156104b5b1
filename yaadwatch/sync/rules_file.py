"""Write agent files safely, maintain our private rules files, and count what each agent loads.

A rules file holds the rules with the flags on them. A line in the exclude file keeps it out of git;
no file of a person is changed for that. Before a person's file is written, a copy of it is kept.
"""

import contextlib
import json
import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from bridges.block import Block, find
from bridges.items import bare, items, line_of
from bridges.registry import for_path
from bridges.rules import AGENTS, RULES_FILES
from yaadwatch.db import anchors, authority, database, fulltext, history, projects, visibility
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import View, seen_from
from yaadwatch.memory.claiming import HOLDS_IN
from yaadwatch.model.anchors import Flag
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import INLINE, PRIVATE, short_id
from yaadwatch.model.memories import Node
from yaadwatch.model.projects import ABSENT, PAUSED, SYNCED, AgentFileRow, Snapshot
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX, ALWAYS
from yaadwatch.repo.command import NoGit
from yaadwatch.sync.deciding import as_stored, gravest_first
from yaadwatch.sync.gathering import digest_of
from yaadwatch.sync.inventory import Rule, fit
from yaadwatch.sync.modes import Loading, loading
from yaadwatch.system import files, safe_write, settings_files
from yaadwatch.system.safe_write import StaleHandle
from yaadwatch.text.quoting import addresses_agents, as_line
from yaadwatch.text.words import cached_short, estimate_tokens, text_hash
from yaadwatch.workspace import identity
from yaadwatch.workspace.agent_files import Fleet, parsed
from yaadwatch.workspace.identity import SNAPSHOTS
from yaadwatch.workspace.stores import exclude_file
from yaadwatch.workspace.workspace import Home, Space

LATE_WRITES_S: Final = 2.0
"""Seconds for which a replaced file is watched for late writes."""

ORPHAN_S: Final = 86_400.0
"""A copy that is not in the store may be another process's, which is about to add it; not so after
a day."""


def write(home: Home, space: Space, path: str, old: bytes, new: bytes) -> None:
    """Replace the content `old` of an agent file by `new`; a copy of `old` is kept first.

    Raises:
        safe_write.ChangedUnderneathError: it was written meanwhile, and holds that content.
        YaadError: REFUSED when it is not ours to write, UNAVAILABLE when it cannot be written.
    """
    target = space.root / path
    try:
        safe_write.require_own(target)
    except FileNotFoundError:
        raise safe_write.ChangedUnderneathError(path) from None
    keep_copy(home, space, path, old)
    place = _place(space, path)

    def note(former: StaleHandle) -> None:
        home.formers.add(place, former, until_s=home.clock.monotonic_s() + LATE_WRITES_S)

    try:
        safe_write.replace_expected(target, old, new, former=note)
    except safe_write.ChangedUnderneathError as error:
        if error.dropped is not None:
            keep_copy(home, space, path, error.dropped)
        raise


def recover_writes(home: Home, space: Space, path: str) -> None:
    """Undo a write of ours that was cut off, and recover late writes to a replaced file.

    A process that had the file open when we replaced it writes to the old inode. Appended content
    is added to the end of the file; anything else is kept as a copy.

    Raises:
        safe_write.ChangedUnderneathError: the file is being written; the sync tries again later.
        YaadError: as `write`.
    """
    target = space.root / path
    safe_write.recover(target, lambda data: keep_copy(home, space, path, data))
    with home.formers.look(_place(space, path), now_s=home.clock.monotonic_s()) as formers:
        for former in formers:
            _take_late(home, space, path, former)


def has_late_writers(home: Home, space: Space, paths: Iterable[str]) -> bool:
    """Return whether late writes to one of these files are still possible."""
    return home.formers.waits({_place(space, path) for path in paths})


def _take_late(home: Home, space: Space, path: str, former: StaleHandle) -> None:
    late = former.written(AGENT_FILE_BYTES_MAX)
    if late is None:
        return
    data = files.observe(space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0).data
    if data is None or not late.startswith(former.held):
        keep_copy(home, space, path, late)
    else:
        tail = late[len(former.held) :]
        # The writer of the current content may have seen it.
        if tail not in data:
            between = b"" if not data or data.endswith((b"\n", b"\r")) else b"\n"
            write(home, space, path, data, data + between + tail)
    former.held = late


def _place(space: Space, path: str) -> tuple[str, int, str]:
    return space.project.id, space.worktree.id, path


def keep_copy(home: Home, space: Space, path: str, data: bytes) -> None:
    """Keep a copy of a person's file, 0600; copies over the limit are deleted.

    Raises:
        YaadError: UNAVAILABLE when it cannot be written.
    """
    digest = digest_of(data)
    known = space.db.read(history.snapshots_of_path, space.worktree.id, path)
    if known and known[0].digest == digest:
        return
    folder = folder_of(space)
    name = f"{home.new_id()}.bytes"
    try:
        files.private_folder(folder)
        files.replace_atomically(folder / name, data)
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"No copy of {path} could be kept in {folder} ({error.strerror}); it was not written.",
            hint="Look at the space and the permissions there; it is tried again later.",
        ) from error
    kept = Snapshot(
        id=0,
        worktree=space.worktree.id,
        path=path,
        name=name,
        size=len(data),
        digest=digest,
        at=home.clock.now(),
    )
    for gone in space.db.write(history.add_snapshot, kept):
        (folder / gone).unlink(missing_ok=True)
    known_names = space.db.read(history.snapshot_names)
    before_s = home.clock.now_ns() / 1e9 - ORPHAN_S
    for copy in folder.iterdir():  # those that a killed process left behind
        with contextlib.suppress(OSError):
            if copy.name not in known_names and copy.lstat().st_mtime < before_s:
                copy.unlink()


def folder_of(space: Space) -> Path:
    """Return the folder of the copies."""
    return space.db.path.parent / SNAPSHOTS


_HEADING: Final = (
    "<!-- Written by yaadwatch, kept out of git. It is rewritten whenever a rule changes. -->",
    "",
)
FLAGGED: Final = " (May be out of date: "
"""Start of the note behind a rule with a flag."""
FLAGGED_END: Final = "; check before relying on it.)"
_HEADING_WITHIN_BYTES: Final = 1024
"""Our first line is within so many bytes: front matter may precede it."""


def excluded_key(project: str, path: str) -> str:
    """Return the key in the user store's meta table for the text added to the exclude file.

    It is not in the project's own store, because it is needed when that is lost.
    """
    return f"excluded_rules_file {project} {path}"


def _folders_key(project: str, root: Path, path: str) -> str:
    return f"rules_file_folders {project} {root} {path}"


def sync(
    home: Home,
    space: Space,
    row: AgentFileRow,
    *,
    said: Collection[str],
    view: View,
) -> bool:
    """Bring a rules file up to date; return whether it was written.

    A file that another process has changed, or that git tracks, is left alone, and paused.

    Args:
        home: the daemon's shared state.
        space: the work tree.
        row: the stored state of the file.
        said: hashes of what its agents read elsewhere anyway.
        view: the work tree's view; memories of other branches are left out.

    Raises:
        safe_write.ChangedUnderneathError: it was written meanwhile.
        YaadError: REFUSED when a link is in its way, UNAVAILABLE when it cannot be written.
    """
    path, place = row.path, space.root / row.path
    safe_write.recover(place, lambda data: keep_copy(home, space, path, data))
    wanted, reason = _wanted(home, space, path, said=said, view=view)
    digest = digest_of(wanted or None)
    seen = files.observe(space.root, path, bytes_max=1 << 20, now_ns=home.clock.now_ns())
    paused = ""
    if seen.kind not in ("file", "absent"):
        paused = f"is no plain file ({seen.kind}); it was not written"
    elif (seen.data or b"") != wanted and _is_tracked(space, path):
        paused = _tracked_reason(path)
    elif seen.data not in (None, wanted) and not _is_ours(row, seen.data or b""):
        adopt = f"yaadwatch files adopt {shlex.quote(path)}"
        paused = f"was edited and was not overwritten; to write it again: {adopt}"
    if paused:
        _put(space, row, replace(row, state=PAUSED, reason=paused))
        return False
    writes = (seen.data or b"") != wanted
    if writes:
        # Stored before the write, so that after a kill in between the file is known as ours.
        row = replace(row, block=digest)
        space.db.write(projects.put_agent_file, row)
        _require_inside(space.root, place, path)
        if not wanted:
            remove_with_folders(home, space.project.id, space.root, path)
        elif seen.data is None:
            _exclude(home, space, path)
            made = settings_files.missing_folders(place)
            if made:
                folders_key = _folders_key(space.project.id, space.root, path)
                home.user.write(database.put_meta, folders_key, json.dumps(made))
            place.parent.mkdir(parents=True, exist_ok=True)
            safe_write.create_new(place, wanted)
        else:
            safe_write.replace_expected(place, seen.data, wanted)
    state = SYNCED if wanted else ABSENT
    _put(space, row, replace(row, state=state, reason=reason, digest=digest))
    return writes


def would_write(
    home: Home, space: Space, path: str, *, said: Collection[str], view: View
) -> tuple[bytes, bytes]:
    """Return the content of a rules file, and its content after a sync."""
    wanted, _ = _wanted(home, space, path, said=said, view=view)
    seen = files.observe(space.root, path, bytes_max=1 << 20, now_ns=home.clock.now_ns())
    return seen.data or b"", wanted


def _wanted(
    home: Home, space: Space, path: str, *, said: Collection[str], view: View
) -> tuple[bytes, str]:
    """Return the bytes of a rules file, and which rules are not in it, with why."""
    agents = home.settings.agents.rules == ALWAYS
    rules, flags = space.db.read(seen_from, view, _rules, space.worktree.id, agents=agents)
    data, left_out, unsayable = render(path, rules, flags, said)
    return data, reason_for_left_out(
        ("no room for ", left_out),
        ("too long for a rules file, or of no form that it can hold: ", unsayable),
    )


def reason_for_left_out(*left_out: tuple[str, Sequence[Node]]) -> str:
    """Return the rules that are not in a file, some by name, each sort behind its reason."""
    reasons = []
    for why, rules in left_out:
        named = []
        for one in rules[:8]:
            words = as_line(one.summary)
            named.append(f"{short_id(one.id)} ({words[:39] + '…' if len(words) > 40 else words})")
        more = len(rules) - len(named)
        if named:
            reasons.append(why + ", ".join(named) + (f" and {more} more" if more else ""))
    return "; ".join(reasons)


def is_ours(data: bytes) -> bool:
    """Return whether a file begins like our rules files."""
    return _HEADING[0].encode() in data[:_HEADING_WITHIN_BYTES]


def render(
    path: str, rules: Sequence[Node], flags: Mapping[str, Flag], said: Collection[str]
) -> tuple[bytes, list[Node], list[Node]]:
    """Return the bytes of a rules file, the rules without room, and those that no line can hold.

    The bytes are empty without a rule.

    Args:
        path: the file.
        rules: the hot memories, best first.
        flags: their flags in this work tree.
        said: hashes of what its agents read elsewhere anyway.
    """
    ranks = {node.id: rank for rank, node in enumerate(sorted(rules, key=gravest_first))}
    lines: list[Rule] = []
    nodes: list[Node] = []
    unsayable: list[Node] = []
    for node in rules:
        if text_hash(node.text) in said:
            continue
        line = _line_of(node.text)
        if line is None:
            unsayable.append(node)
        else:
            nodes.append(node)
            first, *body = line.split("\n")
            flag = flags.get(node.id)
            if flag is not None and flag.level == "warn":
                first += f"{FLAGGED}{as_line(flag.reason)}{FLAGGED_END}"
            lines.append(Rule(line="\n".join((first, *body)), rank=ranks[node.id]))
    fits = fit((), 0, lines, newline=1)
    shown = [rule.line for rule, fitting in zip(lines, fits, strict=True) if fitting]
    left_out = [node for node, fitting in zip(nodes, fits, strict=True) if not fitting]
    if not shown:
        return b"", left_out, unsayable
    bridge = for_path(path)
    preamble = bridge.preamble if bridge is not None else ""
    data = (preamble + "".join(f"{line}\n" for line in (*_HEADING, *shown))).encode()
    return data, left_out, unsayable


@cached_short(2048)
def _line_of(text: str) -> str | None:
    return line_of(as_stored(text))


def remove(home: Home, space: Space, row: AgentFileRow) -> bool:
    """Remove a rules file that is still as we wrote it; return whether it was."""
    seen = files.observe(space.root, row.path, bytes_max=1 << 20, now_ns=0)
    is_as_written = seen.data is not None and _is_ours(row, seen.data)
    if is_as_written and _is_tracked(space, row.path):
        _put(space, row, replace(row, state=PAUSED, reason=_tracked_reason(row.path)))
        return False
    if is_as_written:
        remove_with_folders(home, space.project.id, space.root, row.path)
    _put(space, row, replace(row, state=ABSENT, reason="", digest=""))
    return is_as_written


def _is_tracked(space: Space, path: str) -> bool:
    """Return whether git tracks a rules file, as after `git add --force`; False without git."""
    try:
        return space.repository.is_tracked(path)
    except NoGit:
        return False


def _tracked_reason(path: str) -> str:
    name = shlex.quote(path)
    return f"git tracks it, so nothing is written; to keep it out of git: git rm --cached {name}"


def remove_with_folders(home: Home, project: str, root: Path, path: str) -> None:
    """Remove the file, and the empty folders that we created for it."""
    key = _folders_key(project, root, path)
    (root / path).unlink(missing_ok=True)
    for folder in json.loads(home.user.read(database.get_meta, key) or "[]"):
        with contextlib.suppress(OSError):
            os.rmdir(root / folder)  # noqa: PTH106  (only when nothing else is in it)
    home.user.write(database.drop_meta, key)


def _rules(conn: Connection, worktree: int, *, agents: bool) -> tuple[list[Node], dict[str, Flag]]:
    """Return the rules for a rules file, and their flags.

    Rules of agents are included only where the setting allows that, and not if they address the
    reading agent.
    """
    hidden = visibility.hidden(conn)
    rules = [
        node
        for node in fulltext.hot_rules(conn, agents=agents)
        if node.id not in hidden and HOLDS_IN not in node.attributes
    ]
    if agents:
        approved = authority.approved(conn, [node.id for node in rules])
        rules = [node for node in rules if node.id in approved or not addresses_agents(node.text)]
    return rules, anchors.flags_of_nodes(conn, worktree, [node.id for node in rules])


def _is_ours(row: AgentFileRow, data: bytes) -> bool:
    """Return whether we wrote these bytes, or were about to."""
    return digest_of(data) in (row.digest, row.block)


def _put(space: Space, row: AgentFileRow, done: AgentFileRow) -> None:
    if done != row:
        space.db.write(projects.put_agent_file, done)


def _exclude(home: Home, space: Space, path: str) -> None:
    file = exclude_file(space.repository.layout.common_dir)
    line = f"/{path}"
    if identity.excludes(file, line):
        return
    # Stored before and after, so that a kill in between leaves a record of the line to remove.
    key = excluded_key(space.project.id, path)
    home.user.write(database.put_meta, key, f"{line}\n")
    home.user.write(database.put_meta, key, files.append_line_exact(file, line))


def _require_inside(root: Path, place: Path, path: str) -> None:
    folder = place.parent
    while folder != root:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise YaadError(
                Code.REFUSED,
                f"{folder} is a link or no folder; {path} was not written.",
                hint="Make it a folder, or: yaadwatch files release",
            )
        folder = folder.parent


_FLAG_NOTE = re.compile(
    rf"{re.escape(FLAGGED)}(?:(?!{re.escape(FLAGGED)}).)*?{re.escape(FLAGGED_END)}"
)


def by_agent(
    space: Space, fleet: Fleet, rows: Mapping[str, AgentFileRow]
) -> list[dict[str, object]]:
    """Return for each installed agent the files that it loads, and their tokens.

    Files that hold for some paths only are not counted. A block in two files that an agent reads
    costs it twice; `ours` is the number of tokens in our blocks.
    """

    @cache
    def tokens_of(path: str, bytes_max: int | None) -> tuple[int, int] | None:
        """Return how many tokens of a file are loaded, and how many of them are ours."""
        data = files.observe(space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0).data
        known = fleet.files.get(path)
        if data is None or (known is not None and not parsed(known.bridge, data).everywhere):
            return None
        total = estimate_tokens(data[:bytes_max].decode("utf-8", "replace"))
        is_ours = path in RULES_FILES
        return total, total if is_ours else estimate_tokens(
            "\n".join(_block_lines(data, bytes_max))
        )

    found: list[dict[str, object]] = []
    for agent in AGENTS:
        if not settings_files.is_used(agent.homes):
            continue
        loaded = loading(space.root, fleet, agent)
        read = loaded.read | (_rules_files_of(agent.reads, rows) - loaded.excluded)
        tokens = {path: tokens_of(path, loaded.bytes_max.get(path)) for path in sorted(read)}
        taken = {path: pair for path, pair in tokens.items() if pair is not None}
        found.append(
            {
                "agent": agent.name,
                "title": agent.title,
                "reads": list(taken),
                "tokens": sum(total for total, _ in taken.values()),
                "ours": sum(ours for _, ours in taken.values()),
                "blocks": sum(path in rows and rows[path].mode == INLINE for path in taken),
                "obstacles": list(loaded.obstacles),
            }
        )
    return found


def words_given_to_agents(
    space: Space,
    rows: Mapping[str, AgentFileRow],
    *,
    loaded: Loading | None,
    formats: Collection[str] | None,
) -> frozenset[str]:
    """Return the `words_of` the rules that an agent gets from our blocks and files.

    Args:
        space: the work tree.
        rows: its agent files.
        loaded: the files that the agent loads; None when unknown: any.
        formats: the names of the formats that it reads; None when unknown: no rules file, which is
            made for an agent that we know.
    """
    said: set[str] = set()
    ours = _rules_files_of(formats, rows) if formats is not None else set()
    ours -= loaded.excluded if loaded is not None else set()
    for path, row in rows.items():
        is_rules_file = path in ours
        has_block = row.mode == INLINE and (loaded is None or path in loaded.read)
        if not (is_rules_file or has_block):
            continue
        data = files.observe(space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0).data or b""
        if is_rules_file:
            lines = data.decode("utf-8", "replace").splitlines()
        else:
            limit = loaded.bytes_max.get(path) if loaded is not None else None
            lines = _block_lines(data, limit)
        said.update(_FLAG_NOTE.sub("", item.text) for item in items(lines))
    return frozenset(map(words_of, said))


def _block_lines(data: bytes, bytes_max: int | None) -> list[str]:
    """Return the lines of a file's block, as far as they are loaded."""
    block = find(data)
    if not isinstance(block, Block):
        return []
    if bytes_max is None or block.end <= bytes_max:
        return list(block.lines)
    loaded = data[block.begin : max(bytes_max, block.begin)].splitlines(keepends=True)
    # The last line may be cut; a rule with a cut body has other words.
    return [line.decode("utf-8", "replace").rstrip("\r\n") for line in loaded[1:-1]]


@cached_short(2048)
def words_of(text: str) -> str:
    """Return the words of a rule in the form in which graph and block are compared."""
    return bare(as_stored(text))


def _rules_files_of(reads: Collection[str], rows: Mapping[str, AgentFileRow]) -> set[str]:
    there = (path for path in RULES_FILES if path in rows and rows[path].mode == PRIVATE)
    return {
        path for path in there if (bridge := for_path(path)) is not None and bridge.name in reads
    }
