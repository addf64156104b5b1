"""Serialise domain objects for API answers: anchors, flags, memories and projects."""

import shlex
from collections.abc import Iterable, Mapping, Sequence

from yaadwatch.db import anchors, authority, nodes, projects, visibility
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import seen_from
from yaadwatch.memory import flags
from yaadwatch.memory.claiming import place_of
from yaadwatch.memory.visibility import view_of
from yaadwatch.model.anchors import Anchor, Evidence, Flag, Suggestion, Verdict
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.memories import Edge, Node
from yaadwatch.model.projects import (
    ABSENT,
    PERSON,
    REPOSITORY,
    AgentFileRow,
    Authority,
    Project,
    Worktree,
)
from yaadwatch.repo import layout as repo_layout
from yaadwatch.text.words import summarise
from yaadwatch.workspace.stores import answers, is_of, why_missing
from yaadwatch.workspace.workspace import Home, Space

HANGS = "See which it is: findmnt; umount --lazy it, or wait until it answers."


def anchor_row(anchor: Anchor) -> dict[str, object]:
    """Return the JSON of an anchor: path, and symbol and line where it has them."""
    given = {"path": anchor.path, "symbol": anchor.name if anchor.symbol else None}
    return _without_null(given | {"line": anchor.line})


def _without_null(row: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if value is not None}


def anchor_rows(anchors: Iterable[Anchor]) -> list[dict[str, object]]:
    """Return the JSON of anchors; a value inside a definition of the list is not repeated."""
    rows: dict[tuple[str, str], dict[str, object]] = {}
    for anchor in anchors:
        row = anchor_row(anchor)
        known = rows.setdefault((anchor.path, anchor.name), row)
        known.update(row if "line" in row else {})
    return list(rows.values())


def edge_row(edge: Edge) -> dict[str, object]:
    """Return the JSON of an edge; `edge` is the number to close or delete it by."""
    return {
        "edge": edge.id or None,
        "kind": edge.kind,
        "from": edge.from_node,
        "to": edge.to_node,
        "weight": edge.weight,
        "attributes": dict(edge.attributes),
        "since": edge.valid_from,
        "until": edge.valid_until,
    }


def flag_row(flag: Flag, node: Node, said_in: Iterable[tuple[str, int]] = ()) -> dict[str, object]:
    """Return the JSON of a flag; `said_in`: the places in a person's files that state it."""
    shown: dict[str, object] = {
        "id": flag.node,
        "text": node.text,
        "verdict": flag.verdict.value,
        "score": flag.score,
        "level": flag.level,
        "reason": flag.reason,
        "since": flag.since,
        "branch": flag.branch or None,
        "uncommitted": None if any(row.is_open for row in flag.evidence) else flag.uncommitted,
        "evidence": [evidence_row(evidence) for evidence in flag.evidence],
    }
    places = [{"path": path, "line": line} for path, line in said_in]
    return shown | _without_null(
        {
            "via": list(flag.via) or None,
            "suggestion": proposal_row(flag.suggestion) if flag.suggestion is not None else None,
            "said_in": places or None,
        }
    )


def shallow_row(space: Space) -> dict[str, object] | None:
    """Return the number of statements older than a shallow history; None for a full one."""
    if not repo_layout.cut_at(space.repository.layout):
        return None

    return {"statements": space.db.read(cut_count, space.worktree.id)}


def cut_count(conn: Connection, worktree: int) -> int:
    """Return the number of statements compared only as far as a shallow history goes."""
    return len(anchors.untouched(conn, anchors.lookback_of(conn, worktree).cut))


def comparing_row(home: Home, space: Space) -> dict[str, object] | None:
    """Return the progress of comparing rules with the code of their day; None when done."""
    return space.db.read(_comparing, home, space.project.id, space.worktree.id)


def _comparing(
    conn: Connection, home: Home, project: str, worktree: int
) -> dict[str, object] | None:
    lookback = anchors.lookback_of(conn, worktree)
    if not lookback.pending:
        return None
    running = min(home.compared[project, worktree], lookback.left)
    return {"done": lookback.total - lookback.left + running, "total": lookback.total}


def not_compared(conn: Connection, worktree: int, *, is_whole: bool = False) -> tuple[int, str]:
    """Return the number of statements that git could not compare, and the reason.

    `is_whole`: the full history is here now, so statements it was too short for count as well.
    """
    lookback = anchors.lookback_of(conn, worktree)
    cut = lookback.cut if is_whole else []
    why = lookback.why or ("the clone was shallow then." if cut else "")
    return len(anchors.untouched(conn, [*lookback.failed, *cut])), why


def proposal_row(proposal: Suggestion) -> dict[str, object]:
    """Return the JSON of a suggested change to a memory.

    `places` only with several; `also_changed` only when true.
    """
    more = {"places": list(proposal.places) or None, "also_changed": proposal.also_changed or None}
    return {"path": proposal.path, "text": proposal.text} | _without_null(more)


def short_flag(flag: Flag | None) -> dict[str, object] | None:
    """Return verdict and score of a warning, or None; only `stale` reports suspicions."""
    if flag is None or flag.level != "warn":
        return None
    return {"verdict": flag.verdict.value, "score": flag.score}


def evidence_row(evidence: Evidence) -> dict[str, object]:
    """Return the JSON of the evidence of a flag."""
    commit = evidence.commit
    return {
        "path": evidence.path,
        "symbol": evidence.symbol or None,
        "commit": {"id": commit.id, "at": commit.at, "subject": commit.subject} if commit else None,
        "summary": evidence.summary,
    }


def by_row(whose: Authority | None) -> dict[str, object]:
    """Return the JSON of a memory's author: who, when, and when a person approved it.

    `unverified`: by an agent or an import and not approved. `reach`: where it holds. `proposed`,
    only if any: a new text that awaits a person.
    """
    if whose is None:  # erased meanwhile
        nothing = dict.fromkeys(("by", "said_at", "approved_at", "reach"))
        return nothing | {"unverified": True}
    file = whose.name if whose.kind in (PERSON, REPOSITORY) else ""
    row: dict[str, object] = {
        "by": whose.by,
        "said_at": whose.at,
        "approved_at": whose.approved_at,
        "unverified": whose.is_unverified,
        "reach": {
            "scope": whose.scope,
            "folder": whose.package or place_of(f"file:{file}") or None,
            "file": file or None,
            "branch": whose.branch or None,
            "personal": whose.is_personal or None,
        },
    }
    if (new := whose.proposal) is not None:
        proposed = {"text": summarise(new.text), "by": new.by, "at": new.at, "unverified": True}
        row["proposed"] = proposed
    return row


def attributed(
    conn: Connection, rows: Sequence[Mapping[str, object]], *, key: str = "id"
) -> list[dict[str, object]]:
    """Return rows with memory texts, each with the author of its memory.

    Args:
        conn: a snapshot of their store.
        rows: JSON of memories, or of parts of one.
        key: the key of the memory's id in each row.
    """
    whose = authority.of_nodes(conn, {str(row[key]) for row in rows})
    return [{**row, **by_row(whose.get(str(row[key])))} for row in rows]


def changed_row(node: Node, *, undo: str = "") -> dict[str, object]:
    """Return the JSON of a changed memory."""
    return {
        "id": node.id,
        "text": node.text,
        "kind": node.kind,
        "tier": node.tier,
        "pinned": node.pinned,
        "archived": node.archived_at is not None,
        "undo": undo or None,
    }


def project_row(home: Home, project: Project) -> dict[str, object]:
    """Return the JSON of a project: its place, contents and problems."""
    shown: dict[str, object] = dict.fromkeys(("memories", "waiting", "stale", "unknown"), 0)
    shown |= dict.fromkeys(("branch", "last_check", "comparing", "gone_since"))
    shown |= {"id": project.id, "path": str(project.root), "state": "ok", "files": []}
    if not answers(project):
        why = "a disk that it is on does not answer; it was not looked at"
        return shown | {"state": "broken", "reason": why, "hint": HANGS}
    try:
        if reason := why_missing(project):
            memories = home.stores.look(project, nodes.count)
            hint = (
                "its memories are kept. Moved: yaadwatch add NEW-PLACE. Cloned again: yaadwatch add"
                " --adopt DIR. Not needed any more: yaadwatch remove "
                f"{shlex.quote(str(project.root))}"
            )
            shown |= {"gone_since": project.gone_at, "memories": memories, "hint": hint}
            return shown | {"state": "missing", "reason": reason}
        with home.stores.use(project) as db:
            found, main, found_flags = db.read(_contents, home, project)
        shown |= found | counted(_flagged_here(home, project, main, found_flags))
        layout = repo_layout.find(project.root)
        if layout is not None and is_of(project, layout) and not layout.is_own():
            home.repository(layout).require_ours()
        return shown
    except YaadError as error:
        state = "refused" if error.code is Code.REFUSED else "broken"
        return shown | {"state": state, "reason": error.message, "hint": error.hint}


def _contents(
    conn: Connection, home: Home, project: Project
) -> tuple[dict[str, object], Worktree | None, list[Flag]]:
    trees = projects.all_worktrees(conn)
    main = next((tree for tree in trees if tree.path == project.root), None) or next(
        iter(trees), None
    )
    found_flags = flags.spread_flags(conn, main.id) if main is not None else []
    found: dict[str, object] = {
        "branch": (main.branch or None) if main is not None else None,
        "memories": nodes.count(conn),
        "waiting": authority.count_waiting(conn),
        "last_check": main.checked_at if main is not None else None,
        "files": file_rows(projects.agent_files_of_worktree(conn, main.id))
        if main is not None
        else [],
        "comparing": _comparing(conn, home, project.id, main.id) if main is not None else None,
    }
    return found, main, found_flags


def _flagged_here(
    home: Home, project: Project, main: Worktree | None, found_flags: list[Flag]
) -> list[Flag]:
    """Return the flags shown on the checked-out branch, as `stale` does."""
    if main is None or not found_flags:
        return found_flags
    try:
        with home.tree(project.id, main.id) as space:
            ids = [flag.node for flag in found_flags]

            def not_recalled(conn: Connection) -> set[str]:
                superseded = flags.superseded(conn, main.id, ids)
                return visibility.of_other_branches(conn) | superseded

            gone = space.db.read(seen_from, view_of(home, space), not_recalled)
    except YaadError:  # its folder is missing
        return found_flags
    return [flag for flag in found_flags if flag.node not in gone]


def counted(found_flags: Sequence[Flag]) -> dict[str, object]:
    """Return the number of reported flags, and of memories with an unknown verdict."""
    return {
        "stale": sum(flag.level == "warn" for flag in found_flags),
        "unknown": sum(flag.verdict is Verdict.UNKNOWN for flag in found_flags),
    }


def file_rows(rows: Mapping[str, AgentFileRow]) -> list[dict[str, object]]:
    """Return the JSON of the existing agent files."""
    return [
        {"path": row.path, "mode": row.mode, "state": row.state, "reason": row.reason or None}
        for row in rows.values()
        if row.state != ABSENT or row.reason
    ]
