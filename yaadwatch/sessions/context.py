"""Build the brief of a work tree, and prepare it for hooks that cannot wait for the daemon.

A rule that the agent reads in the checked-out agent files anyway is left out; a flag on such a rule
is shown, because the file cannot show it.

After each check the brief is written to a file, which a hook reads when the daemon is late or not
running. The file's modification time is the time of the check.
"""

import contextlib
import json
import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from bridges.rules import AGENTS, Agent
from yaadwatch import places
from yaadwatch.api.messages.memories import Context
from yaadwatch.db import authority, edges, history, nodes, projects, sessions, visibility
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import View, by_work, seen_from
from yaadwatch.memory import contradictions, flags, gaps, lessons, views
from yaadwatch.memory.flags import said_places
from yaadwatch.memory.visibility import Work, view_of
from yaadwatch.model.anchors import Flag
from yaadwatch.model.errors import YaadError
from yaadwatch.model.limits import DOING, NORMAL, PROJECT, UNFINISHED, short_id
from yaadwatch.model.memories import HOT, Node
from yaadwatch.model.projects import Authority
from yaadwatch.model.settings import Settings
from yaadwatch.recall import brief, recall
from yaadwatch.recall.brief import Brief, Cause, FlaggedMemory, Statement
from yaadwatch.remember import drafts
from yaadwatch.remember.drafts import in_package, other_packages
from yaadwatch.staleness import stale
from yaadwatch.sync import rules_file
from yaadwatch.sync.modes import loading
from yaadwatch.system import files
from yaadwatch.text import privacy
from yaadwatch.text.quoting import as_name, quoted
from yaadwatch.workspace import agent_files
from yaadwatch.workspace.lookup import Shelf, Shelves
from yaadwatch.workspace.workspace import AGENT, Call, Home, Space

CLASHES_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The size limit of a brief."""

    tokens: int
    chars: int


def context(home: Home, call: Call, ask: Context) -> dict[str, object]:
    """Return the brief for an agent that starts here; the answer is Context.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        checked = ask.wait_ms > 0 and _check(home, space, ask.wait_ms / 1000)
        is_agent = call.origin.startswith(AGENT)
        session = lessons.current(home, call, space).id if is_agent else ""
        (composed,) = compose(
            home,
            space,
            call.origin,
            [Budget(tokens=ask.tokens_max, chars=ask.chars_max)],
            session=session,
            checked=checked,
            folder=drafts.folder_of(call, space),
        )
        lessons.note_shown(home, call, space, composed.shown)
        comparing = views.comparing_row(home, space)
    return {
        "brief": composed.text,
        "stale": composed.flagged,
        "rules": composed.rules,
        "notes": composed.notes,
        "tasks": composed.tasks,
        "contradictions": composed.clashes,
        "last": composed.last,
        "gaps": composed.gaps,
        "checked": checked,
        "comparing": comparing,
        "budget": {"used": composed.used, "left": composed.left},
    }


def compose(
    home: Home,
    space: Space,
    origin: str,
    budgets: Sequence[Budget],
    *,
    session: str,
    checked: bool,
    folder: str = "",
) -> list[Brief]:
    """Return the brief of a work tree as its store is now, once per budget.

    Args:
        home: the machine's state.
        space: the work tree.
        origin: the reader.
        budgets: the size limits.
        session: the id of the reader's session; '' when it has none.
        checked: whether the files were checked just now.
        folder: where the reader works, relative to the work tree; '' at its top.
    """
    now = home.clock.now()
    agent = _agent_of(origin)
    loaded = None
    if agent is not None:
        loaded = loading(space.root, agent_files.fleet(home, space), agent)
    in_rules_files = rules_file.words_given_to_agents(
        space,
        space.db.read(projects.agent_files_of_worktree, space.worktree.id),
        loaded=loaded,
        formats=agent.reads if agent else None,
    )
    view = view_of(home, space)
    parts = space.db.read(
        seen_from,
        view,
        _gather_parts,
        worktree=space.worktree.id,
        session=session,
        folder=folder,
        read=loaded.read if loaded is not None else None,
        in_rules_files=in_rules_files,
        settings=home.settings_of(space.db.path),
        now=now,
    )
    elsewhere = space.db.read(seen_from, view, by_work)
    clashes = []
    for one in contradictions.open_contradictions(space.db, view, now, CLASHES_MAX):
        said = [side.node.summary for side in one.sides]
        said += [one.against.summary] if one.against is not None else [""]
        clashes.append(brief.Clash(id=one.name, one=said[0], other=said[1], reason=one.words))
    # The questions without an answer to this day, the most asked first.
    there = Shelves(project=Shelf(db=space.db, space=space), own=Shelf(db=home.user, space=None))
    asked = [
        brief.Gap(question=gap.text or "", times=gap.asked)
        for gap in gaps.open_gaps(space.db, 20)
        if not recall.is_answered(home, there, gap.text or "", now)
    ]
    comparing = views.comparing_row(home, space)
    own = _own_rules(home, space, view, now)
    return [
        brief.compose(
            **parts,
            own=own,
            clashes=clashes,
            gaps=asked,
            tokens_max=budget.tokens,
            chars_max=budget.chars,
            note=". ".join(_notes(elsewhere, checked=checked, comparing=comparing)),
            is_note_urgent=comparing is not None,
        )
        for budget in budgets
    ]


def _own_rules(home: Home, space: Space, view: View | None, now: datetime) -> list[Statement]:
    """Return a person's rules for all projects, the most important first.

    One that the project says, too, or that has the key of one of its rules, is left out, and so is
    what no person approved. An agent's unapproved word takes no rule of a person out.
    """

    def of_user(conn: Connection) -> tuple[list[Node], Mapping[str, Authority]]:
        ruling = nodes.hot(conn, 500)
        gone = edges.successors(conn, [node.id for node in ruling])
        whose = authority.of_nodes(conn, [node.id for node in ruling])
        living = [
            node for node in ruling if node.id not in gone and not whose[node.id].is_unverified
        ]
        left = flags.confidences(conn, living, home.settings, now)
        return sorted(living, key=lambda one: (not one.pinned, -left[one.id], one.id)), whose

    def shadowed(conn: Connection, own: Sequence[Node]) -> set[str]:
        same = {node.id: _same_in_project(conn, node) for node in own}
        ids = set().union(*same.values()) - visibility.hidden(conn)
        whose = authority.of_nodes(conn, ids)
        holding = {one for one in ids if not whose[one].is_unverified}
        return {node for node, others in same.items() if others & holding}

    own, whose = home.user.read(of_user)
    left_out = space.db.read(seen_from, view, shadowed, own)
    return [
        Statement(id=node.id, text=node.text, summary=node.summary, whose=whose[node.id])
        for node in own
        if node.id not in left_out
    ]


def _same_in_project(conn: Connection, own: Node) -> set[str]:
    """Return the rules of a project with the words or the key of a person's own rule."""
    found = [nodes.by_hash(conn, PROJECT, own.text_hash, thing=False)]
    if own.key is not None:
        found.append(nodes.by_key(conn, PROJECT, own.key))
    return {one.id for one in found if one is not None and (one.pinned or one.tier == HOT)}


def _agent_of(origin: str) -> Agent | None:
    return next((one for one in AGENTS if origin == f"{AGENT}{one.name}"), None)


def _notes(
    elsewhere: Iterable[Work], *, checked: bool, comparing: Mapping[str, object] | None
) -> Iterator[str]:
    """Yield the reasons why the brief is incomplete."""
    for path, branch, count in elsewhere:
        where = f"in {as_name(path)} " if path is not None else ""
        are = "memory is" if count == 1 else "memories are"
        yield f"{count} more {are} about uncommitted work {where}({as_name(branch)})"
    if not checked:
        yield "Files may have changed since the last check; more may be flagged: yaadwatch stale"
    if comparing is not None:
        done, total = comparing["done"], comparing["total"]
        yield (
            "Comparing the rules of agent files with the code they were written for: "
            f"{done} of {total} done; more may turn out stale"
        )


def _check(home: Home, space: Space, time_s: float) -> bool:
    """Bring the flags of the work tree up to date; return whether that was done in time."""
    end_s = home.clock.monotonic_s() + time_s
    busy = home.stores.checking(space.project.id, space.worktree.id)
    if not busy.acquire(timeout=time_s):
        return False  # a long check is under way; another one would only wait behind it
    busy.release()
    done = threading.Event()

    def check() -> None:
        try:
            stale.check_tree(home, space.project.id, space.worktree.id, None)
        except YaadError:  # the brief says that nothing was checked; `stale` says why
            return
        done.set()

    # The daemon does not wait for it at its end: what it would have found is found again.
    threading.Thread(target=check, name="check for a brief", daemon=True).start()
    return done.wait(max(end_s - home.clock.monotonic_s(), 0.0))


def _gather_parts(
    conn: Connection,
    *,
    worktree: int,
    session: str,
    folder: str,
    read: frozenset[str] | None,
    in_rules_files: frozenset[str],
    settings: Settings,
    now: datetime,
) -> dict[str, Any]:
    """Return the parts of a brief that the store has, as `brief.compose` takes them."""
    hidden = visibility.hidden(conn)
    flagged = gravest_flags(conn, worktree, hidden)
    in_files = history.said_in_checkout(conn, worktree, read)
    # So many hot memories are far more than any budget holds.
    ruling = nodes.hot(conn, 500)
    asked = {flag.node for flag in flagged} | {node.id for node in ruling} | in_files
    gone = edges.successors(conn, asked)
    # A superseded memory is shown only where the agent still reads it in a file.
    raised = [flag for flag in flagged if flag.node in in_files or flag.node not in gone]
    replaced = sorted((gone.keys() & in_files) - hidden - {flag.node for flag in raised})
    flagged_nodes = nodes.many(conn, [*(flag.node for flag in raised), *replaced])
    places = said_places(conn, worktree, flagged_nodes)
    left_out = hidden | in_files | flagged_nodes.keys() | gone.keys()
    left_out |= other_packages(conn, ruling, folder)
    # What supersedes a flagged memory takes its place, whatever its tier.
    heirs = {
        new for flag in flagged if flag.node not in in_files for new in gone.get(flag.node, ())
    }
    ruling += list(nodes.many(conn, sorted(heirs - {node.id for node in ruling})).values())
    newer = flags.newer_than(conn, raised, hidden=hidden | gone.keys())
    rules = [
        node
        for node in ruling
        if node.id not in left_out and rules_file.words_of(node.text) not in in_rules_files
    ]
    left = flags.confidences(conn, rules, settings, now)
    whose = authority.of_nodes(conn, left)
    ranked = [
        Statement(
            id=node.id,
            text=in_package(node, node.text),
            summary=in_package(node, node.summary),
            source=brief.source_of(node.origin),
            whose=whose.get(node.id),
        )
        for node in sorted(rules, key=lambda node: (not node.pinned, -left[node.id], node.id))
    ]
    unverified = [one for one in ranked if one.whose is not None and one.whose.is_unverified]
    last = sessions.last_with_news(conn, worktree, session)
    later = nodes.many(conn, sorted({new for node in replaced for new in gone[node]}))
    raised_memories = [
        _flagged_memory(
            flag, flagged_nodes[flag.node], places.get(flag.node, ()), newer.get(flag.node, ())
        )
        for flag in raised
    ]
    for node_id in replaced:
        newest = max(
            (later[new] for new in gone[node_id]), key=lambda one: (one.confirmed_at, one.id)
        )
        raised_memories.append(
            FlaggedMemory(
                id=node_id,
                text=flagged_nodes[node_id].text,
                summary=flagged_nodes[node_id].summary,
                verdict="superseded",
                reason=f"superseded by {short_id(newest.id)}",
                instead=newest.summary,
                said_in=tuple(places.get(node_id, ())),
            )
        )
    return {
        "flagged": raised_memories,
        "rules": [one for one in ranked if one not in unverified],
        "notes": unverified,
        "tasks": open_tasks(conn, left_out),
        "last": (last.summary if last is not None else "").splitlines(),
    }


def gravest_flags(conn: Connection, worktree: int, hidden: Set[str]) -> list[Flag]:
    """Return the warnings on memories that are shown, the gravest first."""
    found = [
        flag
        for flag in flags.spread_flags(conn, worktree)
        if flag.level == "warn" and flag.node not in hidden
    ]
    return sorted(found, key=lambda flag: (-flag.score, flag.node))


def open_tasks(conn: Connection, left_out: Set[str]) -> list[Statement]:
    """Return the open tasks, the most important first, with their state where it is worth showing.

    Args:
        conn: a snapshot.
        left_out: tasks that are not shown.
    """
    found = sessions.of_states(conn, UNFINISHED, 100)
    known = nodes.many(conn, [row.node for row in found if row.node not in left_out])
    whose = authority.of_nodes(conn, known)
    tasks = []
    for row in found:
        if row.node not in known:
            continue
        node = known[row.node]
        words = ["under way"] if row.state == DOING else []
        words += [row.priority] if row.priority != NORMAL else []
        words += ["waits for another"] if row.waits_for else []
        tasks.append(
            Statement(
                id=row.node,
                text=node.text,
                summary=node.summary,
                source=brief.source_of(node.origin),
                state=", ".join(words),
                whose=whose.get(row.node),
            )
        )
    return tasks


def _flagged_memory(
    flag: Flag, node: Node, places: Sequence[tuple[str, int]], newer: Sequence[Node]
) -> FlaggedMemory:
    causes = []
    for one in flag.evidence:
        commit, made = one.commit, ""
        if commit is not None:
            made = f"{commit.id[:8]}, {commit.at:%Y-%m-%d}, {quoted(commit.subject)}"
        causes.append(Cause(one.summary, made))
    proposed = flag.suggestion
    return FlaggedMemory(
        id=node.id,
        text=node.text,
        summary=node.summary,
        verdict=flag.verdict.value,
        reason=flag.reason,
        evidence=tuple(causes),
        instead=(proposed.text or "") if proposed is not None else "",
        now_at=(proposed.path or "") if proposed is not None and proposed.also_changed else "",
        said_in=tuple(places),
        newer=tuple((one.id, one.summary) for one in newer),
    )


FILES_MAX: Final = 400
TRIES_MAX: Final = 3
"""Attempts to prepare a brief while other calls write to the store."""

_log: Final = logging.getLogger(__name__)


def prepare(home: Home, project: str, worktree: int, *, force: bool = False) -> None:
    """Write the brief of a work tree for each agent that has worked there, and for any other.

    A failure is logged: hooks then depend on the daemon.

    Args:
        home: the machine's state.
        project: its id.
        worktree: its id.
        force: write even when nothing was stored since the last time.
    """
    try:
        with home.tree(project, worktree) as space:
            root = str(space.root)
            for agent in sorted(places.agents_at(root) | {places.ANY_AGENT}):
                _prepare(home, space, agent, force=force)
        _delete_old(Path(places.prepared_briefs()), home.clock.now_ns() / 1e9 - 7 * 86_400.0)
    except (YaadError, OSError) as error:
        _log.info("brief.not_prepared", extra={"project": project, "error": str(error)})


def begin_preparing(root: Path, origin: str) -> None:
    """Prepare briefs for an agent that works in this work tree from the next check on.

    An empty file with its name is what `places.agents_at` finds then.
    """
    agent = _agent_of(origin)
    if agent is None:
        return
    place = Path(places.brief_file(str(root), places.head_of(str(root)), agent.name))
    with contextlib.suppress(OSError, YaadError):
        if not place.exists():
            files.private_folder(place.parent)
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _prepare(home: Home, space: Space, agent: str, *, force: bool) -> None:
    root = str(space.root)
    for _ in range(TRIES_MAX):
        head = places.head_of(root)
        place = Path(places.brief_file(root, head, agent))
        state = _state_of_stores(home, space)
        if not force and _state_in(place) == state:
            os.utime(place)
            return
        whole, short = compose(
            home,
            space,
            "" if agent == places.ANY_AGENT else f"{AGENT}{agent}",
            # What hooks ask for at the start of a session, and of a sub-agent.
            [Budget(tokens=2_000, chars=8_000), Budget(tokens=500, chars=2_000)],
            session="",
            checked=True,
        )
        brief = {
            "of": places.brief_subject(root, head),
            "state": state,
            "brief": privacy.mask(whole.text).text,
            "short": privacy.mask(short.text).text,
        }
        _write(place, json.dumps(brief, ensure_ascii=False).encode("utf-8", "replace"))
        is_current = False
        try:
            is_current = (_state_of_stores(home, space), places.head_of(root)) == (state, head)
        finally:
            if not is_current:  # what it says may have been erased, or its project removed
                place.unlink(missing_ok=True)
        if is_current:
            return


def _state_of_stores(home: Home, space: Space) -> str:
    """Return a value that changes with every write to the stores."""
    return f"{space.db.read(history.last)} {home.user.read(history.last)}"


def _state_in(place: Path) -> str:
    try:
        found = json.loads(place.read_bytes())
    except (OSError, ValueError):
        return ""
    # Former versions named the branch instead: such a brief is written again.
    return str(found.get("state", "")) if isinstance(found, dict) and "of" in found else ""


def _write(place: Path, data: bytes) -> None:
    """Replace a file atomically; unlike a store, it need not survive a power cut."""
    files.private_folder(place.parent)
    new = place.with_name(f".{place.name}.{os.getpid()}.new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    new.write_bytes(data)
    new.replace(place)


def _delete_old(folder: Path, oldest: float) -> None:
    """Delete briefs that are no longer prepared, and the oldest of too many."""
    found = sorted(((one.stat().st_mtime, one) for one in folder.glob("*.json")), reverse=True)
    for number, (changed_at, place) in enumerate(found):
        if changed_at < oldest or number >= FILES_MAX:
            place.unlink(missing_ok=True)
