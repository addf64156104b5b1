"""The brief of an agent that starts: doubts first, then rules, tasks, unverified notes, and what
the last session left.

What the agent reads in the checked-out agent files anyway, in our block or in a file of our own, is
not told again. A doubt about such a statement is told, because the file cannot tell it.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from bridges.agents import AGENTS, Agent
from yaadwatch.api.messages.memories import Context
from yaadwatch.core.quoting import as_name, quoted
from yaadwatch.core.recall import brief
from yaadwatch.core.recall.brief import Brief, Cause, Doubt, Statement
from yaadwatch.engine import json_views, stale
from yaadwatch.engine.agent_files import reading
from yaadwatch.engine.agent_files.loading import Loading, loading
from yaadwatch.engine.agent_files.package_scope import in_package, other_packages
from yaadwatch.engine.doubts import doubting, overlapping
from yaadwatch.engine.doubts.flagging import said_in
from yaadwatch.engine.learning import current
from yaadwatch.engine.recall import verb as recalling
from yaadwatch.engine.remember import named_files
from yaadwatch.engine.store_lookup import Shelf, Shelves
from yaadwatch.engine.syncing import reading as syncing
from yaadwatch.engine.truth import contradictions, gaps
from yaadwatch.engine.truth.contradictions import Contradiction
from yaadwatch.engine.visibility import Work, view_of
from yaadwatch.engine.workspace import AGENT, Call, Home, Space
from yaadwatch.model.anchors import Evidence, Flag
from yaadwatch.model.errors import YaadError
from yaadwatch.model.ids import called
from yaadwatch.model.limits import DOING, NORMAL, UNFINISHED
from yaadwatch.model.nodes import Node
from yaadwatch.model.settings import Settings
from yaadwatch.store import agent_files, nodes, provenance, visibility
from yaadwatch.store.connection import Connection
from yaadwatch.store.graph import supersession
from yaadwatch.store.sessions import rows, tasks
from yaadwatch.store.sessions.tasks import TaskRow
from yaadwatch.store.truth import authority
from yaadwatch.store.visibility import by_work, seen_from

RULES_MAX = 500
"""Hot memories looked at for one brief; far more than any budget holds."""
TASKS_MAX = 100
CLASHES_MAX = 20
SUPERSEDED = "superseded"
"""What is told of a statement in place of a verdict: another memory stands where it stood."""

_UNCHECKED = "Files may have changed since the last check; more may be flagged: yaadwatch stale"

_COMPARING = "Comparing the rules of agent files with the code they were written for"

_STANDS_IN = (
    "The store of what holds in every project cannot be used; a copy of it is read. The person "
    "should run: yaadwatch doctor"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How long a brief may be."""

    tokens: int
    chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What there is to tell, in the order of its weight."""

    doubts: list[Doubt]
    rules: list[Statement]
    notes: list[Statement]
    tasks: list[Statement]
    last: str


def context(home: Home, call: Call, ask: Context) -> dict[str, object]:
    """Return the brief for an agent that starts to work here; the answer is Context.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        checked = ask.wait_ms > 0 and _check(home, space, ask.wait_ms / 1000)
        session = current.current(home, call, space).id if _is_agent(call) else ""
        (composed,) = compose(
            home,
            space,
            call.origin,
            [Budget(tokens=ask.tokens_max, chars=ask.chars_max)],
            session=session,
            checked=checked,
            folder=named_files.folder_of(call, space),
        )
        current.shown(home, call, space, composed.shown)
        comparing = json_views.comparing_row(home, space)
    return {
        "brief": composed.text,
        "stale": composed.doubts,
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
    """Return the brief of a work tree as its store is now, once for each budget.

    Args:
        home: what may be reached.
        space: the work tree.
        origin: who reads it.
        budgets: how long the brief may be.
        session: the id of the reader's session; '' when it has none.
        checked: whether the files were looked at just now.
        folder: where the reader works, relative to the work tree; '' at its top.
    """
    now = home.clock.now()
    agent = next((one for one in AGENTS if origin == f"{AGENT}{one.name}"), None)
    loaded = _loaded_by(home, space, agent)
    read = loaded.read if loaded is not None else None
    carried = syncing.carried(
        space,
        space.db.read(agent_files.of_worktree, space.worktree.id),
        loaded=loaded,
        formats=agent.reads if agent else None,
    )
    view = view_of(home, space)
    told = space.db.read(
        seen_from,
        view,
        _look,
        worktree=space.worktree.id,
        session=session,
        folder=folder,
        read=read,
        carried=carried,
        settings=home.settings_of(space.db.path),
        now=now,
    )
    elsewhere = space.db.read(seen_from, view, by_work)
    found = contradictions.open_contradictions(space.db, view, now, CLASHES_MAX)
    asked = list(_gaps(home, space, now))
    comparing = json_views.comparing_row(home, space)
    return [
        brief.compose(
            told.doubts,
            told.rules,
            told.tasks,
            clashes=[_clash(one) for one in found],
            notes=told.notes,
            last=told.last.splitlines(),
            gaps=asked,
            tokens_max=budget.tokens,
            chars_max=budget.chars,
            note=". ".join(_notes(home, elsewhere, checked=checked, comparing=comparing)),
            is_note_urgent=comparing is not None,
        )
        for budget in budgets
    ]


def _gaps(home: Home, space: Space, now: datetime) -> Iterator[brief.Gap]:
    """Yield the questions that have found no answer to this day, those asked most often first."""
    there = Shelves(project=Shelf(db=space.db, space=space), own=Shelf(db=home.user, space=None))
    for gap in gaps.open_gaps(space.db, 20):
        question = gap.text or ""
        if not recalling.is_answered(home, there, question, now):
            yield brief.Gap(question=question, times=gap.asked)


def _notes(
    home: Home, elsewhere: Iterable[Work], *, checked: bool, comparing: Mapping[str, object] | None
) -> Iterator[str]:
    """Yield what keeps the brief from being whole."""
    for path, branch, count in elsewhere:
        where = f"in {as_name(path)} " if path is not None else ""
        are = "memory is" if count == 1 else "memories are"
        yield f"{count} more {are} about uncommitted work {where}({as_name(branch)})"
    if not checked:
        yield _UNCHECKED
    if comparing is not None:
        done, total = comparing["done"], comparing["total"]
        yield f"{_COMPARING}: {done} of {total} done; more may turn out stale"
    if home.user.stands_in:
        yield _STANDS_IN


def _clash(one: Contradiction) -> brief.Clash:
    """Return a contradiction as it is told: its words say why."""
    said = [side.node.summary for side in one.sides]
    if one.against is not None:
        said.append(one.against.summary)
    return brief.Clash(
        id=one.name, one=said[0], other=said[1] if said[1:] else "", reason=one.words
    )


def _is_agent(call: Call) -> bool:
    return call.origin.startswith(AGENT)


def _loaded_by(home: Home, space: Space, agent: Agent | None) -> Loading | None:
    """Return the agent files that an agent loads by itself; None when nobody can tell."""
    if agent is None:
        return None
    return loading(space.root, reading.fleet(home, space), agent)


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


def _look(
    conn: Connection,
    *,
    worktree: int,
    session: str,
    folder: str,
    read: frozenset[str] | None,
    carried: frozenset[str],
    settings: Settings,
    now: datetime,
) -> _Told:
    hidden = visibility.hidden(conn)
    flagged = [
        flag
        for flag in doubting.of_worktree(conn, worktree)
        if flag.level == "warn" and flag.node not in hidden
    ]
    spoken = provenance.spoken(conn, worktree, read)
    ruling = nodes.hot(conn, RULES_MAX)
    asked = {flag.node for flag in flagged} | {node.id for node in ruling} | spoken
    gone = supersession.successors(conn, asked)
    # What has given way is told only where the agent reads it in a file all the same.
    raised = [flag for flag in flagged if flag.node in spoken or flag.node not in gone]
    raised.sort(key=lambda flag: (-flag.score, flag.node))
    replaced = sorted((gone.keys() & spoken) - hidden - {flag.node for flag in raised})
    doubted = nodes.many(conn, [*(flag.node for flag in raised), *replaced])
    places = said_in(conn, worktree, doubted)
    left_out = hidden | spoken | doubted.keys() | gone.keys()
    left_out |= other_packages(conn, ruling, folder)
    # What replaced a flagged memory is carried in its place, whatever its tier.
    heirs = {new for flag in flagged if flag.node not in spoken for new in gone.get(flag.node, ())}
    ruling += list(nodes.many(conn, sorted(heirs - {node.id for node in ruling})).values())
    newer = overlapping.newer_than(conn, raised, hidden=hidden | gone.keys())
    rules = [
        node
        for node in ruling
        if node.id not in left_out and syncing.words_of(node.text) not in carried
    ]
    ranked = _ranked(conn, rules, settings, now)
    last = rows.last_told(conn, worktree, session)
    later = nodes.many(conn, sorted({new for node in replaced for new in gone[node]}))
    return _Told(
        doubts=[
            *(
                _doubt(
                    flag,
                    doubted[flag.node],
                    places.get(flag.node, ()),
                    newer.get(flag.node, ()),
                )
                for flag in raised
            ),
            *(
                _replaced(doubted[node], [later[new] for new in gone[node]], places.get(node, ()))
                for node in replaced
            ),
        ],
        rules=[one for one in ranked if not _is_unverified(one)],
        notes=[one for one in ranked if _is_unverified(one)],
        tasks=_tasks(conn, left_out),
        last=last.summary if last is not None else "",
    )


def _tasks(conn: Connection, left_out: Set[str]) -> list[Statement]:
    """Return the tasks that are not done, what comes first at the front."""
    found = tasks.of_states(conn, UNFINISHED, TASKS_MAX)
    known = nodes.many(conn, [row.node for row in found if row.node not in left_out])
    whose = authority.of_nodes(conn, known)
    return [
        Statement(
            id=row.node,
            text=known[row.node].text,
            summary=known[row.node].summary,
            pinned=known[row.node].pinned,
            source=brief.source_of(known[row.node].origin),
            state=_state(row),
            whose=whose.get(row.node),
        )
        for row in found
        if row.node in known
    ]


def _state(row: TaskRow) -> str:
    """Return what is worth telling of how a task is."""
    words = ["under way"] if row.state == DOING else []
    words += [row.priority] if row.priority != NORMAL else []
    words += ["waits for another"] if row.waits_for else []
    return ", ".join(words)


def _ranked(
    conn: Connection,
    memories: Sequence[Node],
    settings: Settings,
    now: datetime,
) -> list[Statement]:
    """Return memories for the brief: pinned first, then the ones we are most sure of."""
    left = doubting.confidences(conn, memories, settings, now)
    whose = authority.of_nodes(conn, left)
    ordered = sorted(memories, key=lambda node: (not node.pinned, -left[node.id], node.id))
    return [
        Statement(
            id=node.id,
            text=in_package(node, node.text),
            summary=in_package(node, node.summary),
            pinned=node.pinned,
            source=brief.source_of(node.origin),
            whose=whose.get(node.id),
        )
        for node in ordered
    ]


def _is_unverified(said: Statement) -> bool:
    return said.whose is not None and said.whose.is_unverified


def _doubt(
    flag: Flag, node: Node, places: Sequence[tuple[str, int]], newer: Sequence[Node]
) -> Doubt:
    suggestion = flag.suggestion
    return Doubt(
        id=node.id,
        text=node.text,
        summary=node.summary,
        verdict=flag.verdict.value,
        reason=flag.reason,
        evidence=tuple(_cause(each) for each in flag.evidence),
        instead=(suggestion.text or "") if suggestion is not None else "",
        now_at=(suggestion.path or "")
        if suggestion is not None and suggestion.also_changed
        else "",
        said_in=tuple(places),
        newer=tuple((one.id, one.summary) for one in newer),
    )


def _replaced(node: Node, later: Sequence[Node], places: Sequence[tuple[str, int]]) -> Doubt:
    """Return what a file says, and what stands in its place."""
    newest = max(later, key=lambda one: (one.confirmed_at, one.id))
    return Doubt(
        id=node.id,
        text=node.text,
        summary=node.summary,
        verdict=SUPERSEDED,
        reason=f"superseded by {called(newest.id)}",
        instead=newest.summary,
        said_in=tuple(places),
    )


def _cause(evidence: Evidence) -> Cause:
    commit = evidence.commit
    if commit is None:
        return Cause(evidence.summary)
    made = f"{commit.id[:8]}, {commit.at:%Y-%m-%d}, {quoted(commit.subject)}"
    return Cause(evidence.summary, made)
