"""Share statements of agent files with other agents, say why others stay, list a file's history."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from bridges.block import without_markers
from bridges.instructing import LINK, PROSE, THANKS, TO_DO
from bridges.rules import RULES_FILES, Statement
from yaadwatch.api.messages.store import FilesHistory, FilesShare, FilesSync, Statements
from yaadwatch.db import anchors, authority, fulltext, history, nodes, projects
from yaadwatch.db.authority import SHARED
from yaadwatch.db.edges import TAKEN_BACK
from yaadwatch.db.files import Connection
from yaadwatch.memory import changes, views
from yaadwatch.memory.claiming import place_of
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import INLINE, PRIVATE, short_id
from yaadwatch.model.memories import HOT, WARM, Node
from yaadwatch.model.projects import PAUSED, SYNCED, AgentFileRow, Authority
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.sync import files, tree
from yaadwatch.sync.deciding import as_stored
from yaadwatch.sync.files import named_agent_file
from yaadwatch.system import files as system_files
from yaadwatch.text.quoting import as_line
from yaadwatch.text.words import text_hash
from yaadwatch.workspace import agent_files
from yaadwatch.workspace.agent_files import FoundFile, is_refused
from yaadwatch.workspace.workspace import Call, Home, Space

NO_RULE: Final = frozenset({LINK, PROSE, THANKS, TO_DO})
"""Reasons of statements that mean the same in another file, and are no rules there either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStatement:
    """A statement of an agent file, its memory, and the reason why it is not shared.

    `bars` is a reason that no command changes: the words would mean something else elsewhere.
    `flagged` is why a person has to look first: it may be out of date.
    """

    path: str
    statement: Statement
    node: Node | None
    bars: str = ""
    reason: str = ""
    flagged: str = ""


def statements(home: Home, call: Call, ask: Statements) -> dict[str, object]:
    """Return what agent files state, and whether each statement travels; the answer is Statements.

    Raises:
        YaadError: NOT_FOUND when there is no such agent file.
    """
    with home.space(call) as space:
        found = _statements(home, space, call, ask.path)
        rows = space.db.read(projects.agent_files_of_worktree, space.worktree.id)
        whose = _authorities(space, found)
        return {"statements": [_as_json(space, one, rows) | _whose(one, whose) for one in found]}


def files_share(home: Home, call: Call, ask: FilesShare) -> dict[str, object]:
    """Send the statements of an agent file to the other agents: all of them, or chosen memories.

    A statement that would mean something else elsewhere stays; the answer (Shared) has the reason.

    Raises:
        YaadError: NOT_FOUND when there is no such agent file, or it does not state one of `ids`;
            BAD_REQUEST when neither is given; REFUSED when the file is paused. Nothing was changed.
    """
    if ask.path is None and not ask.ids:
        raise YaadError(
            Code.BAD_REQUEST,
            "Which rules do you mean? Name a file, or memories; nothing was shared.",
            hint="yaadwatch files share CLAUDE.md",
        )
    with home.space(call) as space:
        tree.sync_space(home, space)
        known = _statements(home, space, call, ask.path)
        if ask.path is not None:
            _require_read(space, named_agent_file(space, call, ask.path))
        meant = _chosen(known, ask.ids)
        # A statement that is merely no rule is sent when a person chose it.
        kept = [
            one for one in meant if one.bars and not (ask.undo or (ask.ids and one.bars in NO_RULE))
        ]
        if not ask.undo:
            kept += [one for one in meant if one.flagged and one not in kept]
        able = [one.node.id for one in meant if one.node is not None and one not in kept]
        changed = space.db.write(_share, able, call.origin, home.clock.now(), undo=ask.undo)
        whose = _authorities(space, known)
    back = " ".join(short_id(node.id) for node in changed)
    back_to = "" if ask.undo else " --undo"
    return files.files_sync(home, call, FilesSync()) | {
        "shared": [
            {"id": node.id, "text": node.text, **views.by_row(whose.get(node.id))}
            for node in changed
        ],
        "stays": [
            {
                "path": one.path,
                "line": one.statement.line,
                "text": as_stored(one.statement.text),
                "reason": one.bars or one.flagged,
            }
            | _whose(one, whose)
            for one in kept
        ],
        "undo": f"yaadwatch files share{back_to} {back}" if back else None,
    }


def _require_read(space: Space, path: str) -> None:
    """Raise an error for a paused file, of which nothing is read."""
    row = space.db.read(projects.get_agent_file, space.worktree.id, path)
    if row is not None and row.state == PAUSED:
        raise YaadError(Code.REFUSED, f"{path} is paused: {row.reason}. Nothing was shared.")


def _authorities(space: Space, found: Iterable[SharedStatement]) -> Mapping[str, Authority]:
    named = [one.node.id for one in found if one.node is not None]
    return space.db.read(authority.of_nodes, named)


def _whose(item: SharedStatement, whose: Mapping[str, Authority]) -> dict[str, object]:
    """Return whose word a statement is; empty before it is read."""
    return views.by_row(whose.get(item.node.id)) if item.node is not None else {}


def _share(
    conn: Connection, ids: Sequence[str], actor: str, now: datetime, *, undo: bool
) -> list[Node]:
    """Make memories rules for every agent, or undo that; return the changed ones."""
    changed = []
    for node in nodes.many(conn, ids).values():
        if node.archived_at is not None or (node.tier == HOT) != undo:
            continue
        versions = [one.change for one in history.versions_of_node(conn, node.id)]
        last = next((one for one in reversed(versions) if one in (SHARED, TAKEN_BACK)), "")
        if undo and last != SHARED:
            continue  # it is a rule for another reason
        tier, word = (WARM, TAKEN_BACK) if undo else (HOT, SHARED)
        done = replace(node, tier=tier, updated_at=now, version=node.version + 1)
        changes.save(conn, done, word, actor=actor)
        changed.append(done)
    if not undo:
        projects.offer_rules(conn, ids)
    return changed


def _chosen(known: Sequence[SharedStatement], ids: Sequence[str]) -> list[SharedStatement]:
    """Return the statements of chosen memories; all where none is chosen.

    Raises:
        YaadError: NOT_FOUND when no statement is one of them.
    """
    if not ids:
        return list(known)
    found = []
    for given in ids:
        meant = given.lower().strip()
        of_it = [
            one
            for one in known
            if one.node is not None and meant in (one.node.id, short_id(one.node.id))
        ]
        if not of_it:
            raise YaadError(
                Code.NOT_FOUND,
                f"No agent file here states a memory {given}; nothing was shared.",
                hint="What they state: yaadwatch files --statements",
            )
        found += of_it
    return found


def _statements(home: Home, space: Space, call: Call, given: str | None) -> list[SharedStatement]:
    """Return what the agent files of a work tree state outside our blocks, file by file.

    Raises:
        YaadError: NOT_FOUND when there is no agent file at the given path.
    """
    path = files.named_agent_file(space, call, given) if given is not None else None
    fleet = agent_files.fleet(home, space)
    if path is not None and path not in fleet.files:
        raise YaadError(
            Code.NOT_FOUND,
            f"{path} is no agent file of {space.root}; nothing was changed.",
            hint="What there is: yaadwatch files list",
        )
    personal = agent_files.personal(space.repository, fleet)
    rows = space.db.read(projects.agent_files_of_worktree, space.worktree.id)
    found: list[SharedStatement] = []
    for name, file in fleet.files.items():
        if path in (None, name) and not file.reason:
            gets_block = name in rows and rows[name].mode == INLINE
            found += _statements_of(space, file, personal, gets_block=gets_block)
    return found


def _statements_of(
    space: Space, file: FoundFile, personal: Collection[str], *, gets_block: bool
) -> list[SharedStatement]:
    seen = system_files.observe(space.root, file.path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
    if seen.data is None:
        return []
    # In a file that gets no block from us, one that came with git is text like any other.
    data = seen.data if gets_block else without_markers(seen.data)
    document = agent_files.parsed(file.bridge, data)
    by_words, rules, flag_reasons = space.db.read(_read_memories, space.worktree.id, file.path)
    own_only = space.db.read(authority.only_in, personal)
    elsewhere = ""
    unshared = ""
    if file.path in personal:
        unshared = agent_files.unshared_reason(space.repository, file)
    elif not file.here:
        folder = place_of(f"file:{file.path}") or file.path.rpartition("/")[0]
        elsewhere = f"it holds for {folder}/ only"
    elif not document.travels:
        elsewhere = "its file holds for some files or tasks only"
    found = []
    for statement in document.statements:
        node = by_words.get(text_hash(as_stored(statement.text)))
        is_unshared = node is None or node.id in own_only
        bars = (unshared if is_unshared else "") or elsewhere or statement.stays
        flagged = ""
        if node is not None and node.id in flag_reasons and node.id not in rules:
            flagged = (
                f"it may be out of date: {flag_reasons[node.id]}; if it is right:"
                f" yaadwatch confirm {short_id(node.id)}, then share it"
            )
        found.append(
            SharedStatement(
                path=file.path,
                statement=statement,
                node=node,
                bars=bars,
                reason=bars or flagged or _why_not(node, rules),
                flagged=flagged,
            )
        )
    return found


def _read_memories(
    conn: Connection, worktree: int, path: str
) -> tuple[dict[str, Node], set[str], dict[str, str]]:
    """Return the memories that a file states, by the hash of their words; which memories are rules;
    and why the flagged ones may be out of date.
    """
    rows = [row for row in history.provenance_on_path(conn, worktree, path) if row.line is not None]
    found = nodes.many(conn, [row.node for row in rows])
    by_words = {
        text_hash(text): found[node]
        for node, said in fulltext.hot_texts(conn, found).items()
        for text in reversed(said)
    }
    flag_reasons = {
        node: as_line(flag.reason)
        for node, flag in anchors.flags_of_nodes(conn, worktree, found).items()
        if flag.level == "warn"
    }
    return by_words, {node.id for node in fulltext.hot_rules(conn, agents=False)}, flag_reasons


def _why_not(node: Node | None, rules: set[str]) -> str:
    """Return why a statement that could travel does not; '' where it does."""
    if node is None:
        return "it is not read yet"
    if node.id in rules:
        return ""
    if node.archived_at is not None:
        return "its memory is archived"
    share = f"; to send it: yaadwatch files share {short_id(node.id)}"
    if node.tier == HOT:
        return "another memory supersedes it"
    if node.kind in ("convention", "decision", "preference", "command"):
        return f"it was there before yaadwatch, or came with git{share}"
    return f"it is a {node.kind}, and only rules travel{share}"


def _as_json(
    space: Space, item: SharedStatement, rows: Mapping[str, AgentFileRow]
) -> dict[str, object]:
    node, reason, to = item.node, item.reason, list[str]()
    if node is not None and not reason:
        # The other files with the rule: blocks that hold it, and rules files.
        agreed_in = set(space.db.read(projects.agreed_files, node.id))
        to = [
            path
            for path, row in rows.items()
            if path in agreed_in and row.mode == INLINE and not is_refused(row)
        ]
        to += [
            path
            for path in sorted(RULES_FILES & rows.keys())
            if rows[path].mode == PRIVATE and rows[path].state == SYNCED and rows[path].block
        ]
        to = [path for path in to if path != item.path]
    if node is not None and item.bars in NO_RULE:
        reason += f"; to send it: yaadwatch files share {short_id(node.id)}"
    if not reason and not to:
        reason = "no other agent file here takes part, or has room"
    return {
        "path": item.path,
        "line": item.statement.line,
        "text": as_stored(item.statement.text),
        "id": node.id if node is not None else None,
        "travels": bool(to),
        "to": to,
        "reason": reason or None,
    }


_EVENTS: Final = {
    events.AGENT_FILE_EDITED: "read",
    events.AGENT_FILE_SYNCED: "written",
    events.AGENT_FILE_PAUSED: "paused",
}
_CHANGES: Final = {
    "created": "learned",
    "edited": "changed",
    "demoted": "taken out",
    "moved": "moved",
    "confirmed": "said again",
    "shared": "sent to other agents",
}


def files_history(home: Home, call: Call, ask: FilesHistory) -> dict[str, object]:
    """Return what happened to an agent file in this work tree, newest first.

    The answer is FileHistory.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        path = named_agent_file(space, call, ask.path)
        return {"path": path, "entries": space.db.read(_entries, space, path, ask.entries_max)}


def _entries(
    conn: Connection, space: Space, path: str, entries_max: int
) -> list[dict[str, object]]:
    worktree = space.worktree.id
    found: list[dict[str, object]] = [
        {"at": event.at, "what": _EVENTS[event.kind], "text": _event_words(event.kind, event.body)}
        for event in history.about(conn, path, tuple(_EVENTS), worktree, entries_max)
    ]
    for copy in history.snapshots_of_path(conn, worktree, path):
        words = f"{copy.size} bytes, as it was before a write of ours"
        found.append({"at": copy.at, "what": "copied", "text": words, "snapshot": copy.id})
    for one in history.versions_by_actor(conn, f"file:{path}", entries_max):
        words = f"{one.text} ({one.reason})" if one.reason else one.text
        what = _CHANGES.get(one.change, one.change)
        found.append({"at": one.at, "what": what, "text": words, "id": one.node})
    # At the same instant: the copy, then the event, then its memories.
    found.sort(key=lambda entry: str(entry["at"]), reverse=True)
    return found[:entries_max]


def _event_words(kind: str, body: Mapping[str, object]) -> str:
    if kind == events.AGENT_FILE_PAUSED:
        return str(body.get("reason", ""))
    if kind == events.AGENT_FILE_SYNCED:
        rules = body.get("rules", 0)
        return f"{rules} rule{'' if rules == 1 else 's'} in its block"
    by = "git" if body.get("from_git") else "a person"
    counts = {
        "new outside the block": body.get("said", 0),
        "gone": body.get("gone", 0),
        "changed in the block": body.get("inside", 0),
    }
    item = ", ".join(f"{number} {words}" for words, number in counts.items() if number)
    return f"by {by}: {item}" if item else f"by {by}"
