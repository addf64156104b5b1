"""What a session should hear in its middle: what is new to it, and what rests on a file."""

from collections.abc import Iterable, Sequence

from yaadwatch.api.messages.sessions import SessionNews, SessionTouched
from yaadwatch.core import privacy
from yaadwatch.core.recall import news
from yaadwatch.core.recall.news import Backed, Item
from yaadwatch.engine.doubts import doubting
from yaadwatch.engine.doubts.flagging import said_in
from yaadwatch.engine.learning import current
from yaadwatch.engine.remember import named_files
from yaadwatch.engine.visibility import view_of
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model import events
from yaadwatch.model.authority import Authority
from yaadwatch.model.nodes import HOT, THINGS, Node
from yaadwatch.model.sessions import Session
from yaadwatch.store import anchors, nodes, visibility
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.sessions import doings, rows
from yaadwatch.store.truth import authority
from yaadwatch.store.visibility import seen_from

EVENTS_MAX = 2_000
"""Events looked at for news; of more, only the newest are."""
_TOLD = {"created", "edited", "restored"}


def session_news(home: Home, call: Call, ask: SessionNews) -> dict[str, object]:
    """Return what is new since this session last asked; the answer is News.

    New doubts that still stand, and rules and tasks that somebody else said. What is told once is
    not told again; when there is nothing, nothing is written.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        live = current.current(home, call, space, ask.name)
        session = space.db.read(rows.get, live.id) or live.session
        view = view_of(home, space)
        items, seq = space.db.read(seen_from, view, _news, session, space.worktree.id)
        text, told = news.tell(items, tokens_max=ask.tokens_max)

        def note(conn: Connection) -> None:
            current.write(conn, live, home.clock.now())
            doings.shown(conn, live.id, told, home.clock.now())
            rows.set_told(conn, live.id, seq)

        if told:
            space.db.write(note)
        elif seq > session.told_seq and session.told_seq:
            space.db.write(rows.set_told, live.id, seq)
    doubted = sum(1 for item in items if item.reason and item.id in told)
    return {"news": text, "stale": doubted, "memories": len(told) - doubted, "session": live.id}


def session_touched(home: Home, call: Call, ask: SessionTouched) -> dict[str, object]:
    """Note which files an agent touched, and say what rests on them; the answer is Blast.

    What rests on a file is said once in a session, and only when something does.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        live = current.current(home, call, space, ask.name)
        here = named_files.folder_of(call, space)
        places = (named_files.place_of(path, here, space) for path in ask.paths)
        # A name that holds a secret is not written down, so nothing can be told of it either.
        found = [path for path in dict.fromkeys(places) if path and privacy.mask(path).text == path]
        view = view_of(home, space) if found else None
        backed = space.db.read(seen_from, view, _backed, found, live.id)
        text, told = news.blast(backed, tokens_max=ask.tokens_max)

        def note(conn: Connection) -> None:
            now = home.clock.now()
            current.write(conn, live, now)
            doings.touched(conn, live.id, found, now)
            doings.told(conn, live.id, told)

        if found:
            space.db.write(note)
    return {
        "text": text,
        "session": live.id,
        "files": [
            {"path": file.path, "rules": file.rules, "memories": file.memories} for file in backed
        ],
    }


def _news(conn: Connection, session: Session, worktree: int) -> tuple[list[Item], int]:
    """Return what is new for a session, doubts first, and the number of the last event."""
    last = log.last(conn)
    since = max(session.told_seq, last - EVENTS_MAX)
    happened = log.after(conn, since, EVENTS_MAX)
    doubted = {
        event.subject
        for event in happened
        if event.kind == events.STALE_RAISED and event.body.get("worktree") in (None, worktree)
    }
    said = {
        event.subject
        for event in happened
        if event.kind in (events.NODE_CREATED, events.NODE_RESTORED)
        or (event.kind == events.NODE_UPDATED and event.body.get("change") in _TOLD)
    }
    hidden = visibility.hidden(conn)
    flags = doubting.of_nodes(conn, worktree, sorted(doubted))
    places = said_in(conn, worktree, flags)
    known = nodes.many(conn, doubted | said)
    whose = authority.of_nodes(conn, known)
    own = {one.node for one in doings.of_session(conn, session.id)}
    touched = doings.files(conn, session.id)
    doubts = [
        Item(
            id=id,
            kind=known[id].kind,
            text=known[id].summary,
            reason=flags[id].reason,
            said_in=tuple(places.get(id, ())),
        )
        for id in sorted(doubted & known.keys() - hidden)  # noqa: A001
        if id in flags and flags[id].level == "warn"
    ]
    told = {item.id for item in doubts}
    new = [
        Item(id=node.id, kind=node.kind, text=node.summary, by=_unverified(whose[node.id]))
        for node in known.values()
        if node.id in said - hidden - own - told and _is_news(node, session, touched)
    ]
    return [*doubts, *new], last


def _unverified(whose: Authority) -> str:
    """Return who said something that no person has approved; '' for all else."""
    return whose.by.removeprefix("agent ") if whose.is_unverified else ""


def _is_news(node: Node, session: Session, touched: Iterable[str]) -> bool:
    """Tell whether a memory is for everybody, and not of this session's own making."""
    if node.archived_at is not None or node.kind in (*THINGS, "session"):
        return False
    if node.session == session.id or node.origin.removeprefix("file:") in touched:
        return False
    return node.tier == HOT or node.pinned or node.kind == "task"


def _backed(conn: Connection, paths: Sequence[str], session: str) -> list[Backed]:
    """Return what rests on files of which a session was not told yet."""
    told = doings.files(conn, session)
    hidden = visibility.hidden(conn)
    found = []
    for path in paths:
        if told.get(path):
            continue
        ids = {node for _, node in anchors.resting(conn, [path])} - hidden
        resting = [
            node
            for node in nodes.many(conn, ids).values()
            if node.archived_at is None and node.kind not in (*THINGS, "session")
        ]
        resting.sort(key=lambda node: (not node.pinned, node.tier, node.id))
        rules = sum(node.tier == HOT or node.pinned for node in resting)
        named = [
            Item(id=node.id, kind=node.kind, text=node.summary)
            for node in resting[: news.NAMED_MAX]
        ]
        found.append(
            Backed(path=path, rules=rules, memories=len(resting) - rules, named=tuple(named))
        )
    return found
