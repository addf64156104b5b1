"""End a session: compute its facts once, and store its summary.

Also renders a memory as a page of markdown and parses it back: a header of fields, the text, the
relations. The header is YAML whose values are JSON, so no value is misread; pages written by
people are parsed as `bridges.frontmatter` does.
"""

import contextlib
import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Final

from bridges import frontmatter
from yaadwatch.db import anchors, edges, history, nodes, projects, sessions
from yaadwatch.db.files import Connection
from yaadwatch.memory import lessons
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.memories import COLD, Edge, Node
from yaadwatch.model.projects import (
    IDLE,
    LEARNED,
    SHOWN,
    USED,
    Ending,
    Facts,
    Session,
    SessionCommit,
    Touched,
)
from yaadwatch.model.settings import FILE_BYTES_MAX
from yaadwatch.repo import recent_changes
from yaadwatch.system import files
from yaadwatch.text import privacy, words
from yaadwatch.workspace.live_sessions import Live
from yaadwatch.workspace.stores import answers
from yaadwatch.workspace.workspace import Call, Home, Space

FILES_KEPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The findings of git, masked; and, internal only, the paths and written names as they are."""

    facts: Facts = field(default_factory=Facts)
    paths: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()


def gather(space: Space, session: Session, until: datetime) -> Evidence:
    """Return what was done in a work tree from the start of a session until a time."""
    repository, since = space.repository, session.started_at
    try:
        made = []
        if repository.head().commit:
            start = session.start_commit if repository.has_commit(session.start_commit) else ""
            made = recent_changes.commits(repository.git, since, start)
            made = [one for one in made if one.at <= until]
        changed = dict(recent_changes.files_of(repository.git, [one.id for one in made]))
        open_ones = recent_changes.uncommitted(repository, since, until)
        for path, how in open_ones.items():
            recent_changes.fold(changed, path, how)
        written = _written(space, session, sorted(changed))
    except YaadError as error:
        reason = privacy.mask(f"git could not tell what was changed ({error.message})").text
        return Evidence(facts=Facts(reason=reason))
    touched = [
        Touched(path=privacy.mask(path).text, how=changed[path], committed=path not in open_ones)
        for path in sorted(changed)
    ]
    return Evidence(
        facts=Facts(
            commits=tuple(
                SessionCommit(id=one.id, subject=privacy.mask(one.subject).text)
                for one in made[-100:]
            ),
            files=tuple(touched[:FILES_KEPT]),
            more=max(0, len(touched) - FILES_KEPT),
        ),
        paths=frozenset(changed),
        written=written,
    )


def used(
    conn: Connection, shown: Iterable[str], evidence: Evidence, touched: Iterable[str]
) -> list[str]:
    """Return the shown nodes that were of use, by id."""
    found = nodes.many(conn, shown)
    places = anchors.of_nodes(conn, list(found))
    paths = evidence.paths | frozenset(touched)
    return [
        node.id
        for node in found.values()
        if any(anchor.path in paths for anchor in places.get(node.id, ()))
        or lessons.names(node.text) & evidence.written
    ]


def _written(space: Space, session: Session, paths: Iterable[str]) -> frozenset[str]:
    """Return the words that were added to files since the start of a session."""
    found: set[str] = set()
    for path in list(paths)[:60]:
        data = files.observe(space.root, path, bytes_max=FILE_BYTES_MAX, now_ns=0).data
        if data is None or b"\0" in data:
            continue
        blob = space.repository.blob_at(session.start_commit, path)
        before = space.repository.read_blob(blob) if blob is not None else b""
        texts = ((one or b"").decode("utf-8", "replace") for one in (before, data))
        found |= lessons.new_names(*texts)
    return frozenset(found)


_log: Final = logging.getLogger(__name__)


def finish(home: Home, live: Live, by: Ending) -> Session | None:
    """End a session; return it as stored, or None when nothing happened in it.

    Git runs first, then one transaction writes everything. Ending is idempotent. A session that
    could not be written stays live, with what it was shown, and is tried again.

    Raises:
        YaadError: its store is unavailable, or cannot be written.
    """
    with _leaving(home, live), lessons.pending(home, live) as pending:
        now = home.clock.now()
        last = live.session.last_at
        ended_at = last if by == "idle" else now
        until = min(now, last + lessons.idle_after(live.session.agent)) if by == "idle" else now
        project = home.user.read(projects.get, live.project)
        if project is None or project.removed_at is not None:
            return None
        found = Evidence() if live.session.is_day else _evidence(home, live, until)

        def end(conn: Connection) -> Session | None:
            return _end(conn, home, live, pending, found, ended_at=ended_at, by=by)

        with home.stores.use(project) as db:
            return db.write(end)


@contextlib.contextmanager
def _leaving(home: Home, live: Live) -> Iterator[None]:
    """End a live session, unless the block fails."""
    with home.live.lock:
        known = home.live.leave(live.id)
    try:
        yield
    except BaseException:
        with home.live.lock:
            if known is not None and home.live.get(live.id) is None:
                known.failed_at = known.failed_at or home.clock.now()
                home.live.enter(known)
        raise


def finish_quietly(home: Home, live: Live, by: Ending) -> None:
    """End a session without a caller; errors go to the log."""
    _tried(live.id, lambda: finish(home, live, by))


def end_of_agent(home: Home, call: Call) -> None:
    """End the sessions of an agent whose connection has ended.

    A session that a hook has named stays: its hook ends it, or it expires.
    """
    ended = []
    with home.live.lock:
        for live in home.live.with_connection(call.session):
            live.connections.discard(call.session)
            if not live.connections:
                live.left_at = home.clock.now()
                if not live.session.name:
                    ended.append(live)
    for live in ended:
        finish_quietly(home, live, "left")


def flush(home: Home) -> None:
    """Write what the live sessions were shown; they stay live.

    Raises:
        YaadError: UNAVAILABLE; some could not be written, the others were.
    """
    with home.live.lock:
        lives = home.live.everything()
    _refuse([_tried(live.id, partial(lessons.flush, home, live)) for live in lives])


def expire(home: Home, *, everywhere: bool = False) -> None:
    """Write what the sessions were shown; end those that were left, or are idle.

    Args:
        home: the machine's state.
        everywhere: also in stores that are not open.

    Raises:
        YaadError: UNAVAILABLE; some could not be written down, the others were. What could not be
            is tried again the next time.
    """
    now = home.clock.now()
    with home.live.lock:
        lives = home.live.everything()
    failed = []
    rows = home.user.read(projects.everything)
    silent = {row.id for row in rows if not answers(row)}  # their sessions wait until they answer
    for live in lives:
        if live.project in silent:
            continue
        gone = live.left_at is not None and now - live.left_at >= lessons.LEFT_AFTER
        quiet = now - live.session.last_at
        if gone or quiet >= lessons.idle_after(live.session.agent):
            work: Callable[[], object] = partial(finish, home, live, "left" if gone else "idle")
        else:
            work = partial(lessons.flush, home, live)
        failed.append(_tried(live.id, work))
    failed += [
        _tried(project.id, partial(_expire_stored, home, project.id))
        for project in rows
        if project.id not in silent and (everywhere or home.stores.is_open(project.id))
    ]
    _refuse(failed)


def _expire_stored(home: Home, project: str) -> None:
    """End the idle sessions that only the store of a project knows."""
    found = home.user.read(projects.get, project)
    if found is None:
        return
    now = home.clock.now()
    with home.stores.use(found, in_passing=True) as db:
        idle = db.read(sessions.idle, now - IDLE)
    for session in idle:
        live = Live(project=project, session=session)
        quiet = now - session.last_at
        if quiet >= lessons.idle_after(session.agent) and home.live.get(session.id) is None:
            finish(home, live, "idle")


def _evidence(home: Home, live: Live, until: datetime) -> Evidence:
    try:
        with home.tree(live.project, live.session.worktree or 0) as space:
            return gather(space, live.session, until)
    except YaadError:
        return Evidence(facts=Facts(reason="its work tree is not there any more"))


def _end(
    conn: Connection,
    home: Home,
    live: Live,
    pending: Mapping[str, int],
    found: Evidence,
    *,
    ended_at: datetime,
    by: Ending,
) -> Session | None:
    now = home.clock.now()
    stored = sessions.get(conn, live.id)
    if stored is not None and stored.ended_at is not None:
        return stored
    if stored is None:
        lessons.write(conn, live, now)
        stored = sessions.get(conn, live.id) or live.session
    sessions.note_shown_nodes(conn, live.id, pending, now)
    session = replace(
        stored,
        last_at=max(stored.last_at, live.session.last_at),
        ended_at=max(ended_at, stored.started_at),
        ended_by=by,
        facts=found.facts,
    )
    sessions.put(conn, session)
    part = sessions.of_session(conn, session.id)
    shown = [one.node for one in part if one.role == SHOWN]
    use = used(conn, shown, found, sessions.files(conn, session.id))
    sessions.forget_role(conn, session.id, USED)
    sessions.note_nodes(conn, session.id, USED, use, now)
    summary = lessons.reword_session(conn, session.id, now)
    if not summary and not part:
        sessions.drop(conn, session.id)
        return None
    if summary:
        _relate(conn, home, session, now)
    body: dict[str, object] = {
        "agent": session.agent,
        "worktree": session.worktree,
        "learned": sum(one.role == LEARNED for one in part),
        "files": len(found.facts.files) + found.facts.more,
    }
    history.append(conn, Event(kind=events.SESSION_ENDED, at=now, subject=session.id, body=body))
    return replace(session, summary=summary)


def _relate(conn: Connection, home: Home, session: Session, now: datetime) -> None:
    """Relate the node of a session to the files that it changed, without secret names."""
    lessons.ensure_node(conn, session, now)
    lessons.reword_session(conn, session.id, now)
    paths = [one.path for one in session.facts.files if "[masked:" not in one.path]
    # The node of a session has an edge to so many.
    for path in paths[:50]:
        digest = words.text_hash(path)
        thing = nodes.by_hash(conn, "project", digest, thing=True)
        if thing is None:
            thing = Node(
                id=home.new_id(),
                kind="file",
                tier=COLD,
                scope="project",
                text=path,
                text_hash=digest,
                summary=path,
                origin=session.agent,
                confidence=1.0,
                confirmed_at=now,
                created_at=now,
                updated_at=now,
            )
            nodes.insert(conn, thing)
        edge = Edge(
            from_node=session.id, to_node=thing.id, kind="touches", created_at=now, valid_from=now
        )
        edges.begin(conn, edge)


def _tried(subject: str, work: Callable[[], object]) -> str:
    """Run a step for one session or store; return, and log, its error: '' for none."""
    try:
        work()
    except YaadError as error:
        _log.warning("session.not_written", extra={"subject": subject, "reason": error.message})
        return error.message
    return ""


def _refuse(failed: Iterable[str]) -> None:
    """Raise the collected errors, each once.

    Raises:
        YaadError: UNAVAILABLE, if there is any.
    """
    problems = list(dict.fromkeys(filter(None, failed)))
    if problems:
        raise YaadError(
            Code.UNAVAILABLE,
            f"Sessions could not be written down and are kept in memory: {' '.join(problems)}",
            hint="What is wrong: yaadwatch status. It is tried again by itself.",
        )


RELATIONS: Final = "<!-- yaadwatch: relations -->"
"""Stands between a memory's words and its relations; the last one in a page counts."""
INDEX: Final = "index.md"
GENERATED: Final = "<!-- yaadwatch: generated; what is written here is not read -->"

_RELATION: Final = re.compile(r"- (?P<kind>[a-z][a-z0-9_]{0,31}) \[\[(?P<stem>[^\[\]|#^]+)\]\]")
_FIELD: Final = re.compile(r"(?P<key>[a-z_]+): (?P<value>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page: its header, its text, and its relations.

    Args:
        fields: by name; texts, numbers, booleans and lists of texts.
        text: the words.
        relations: kind, and the stem of the related page.
        lines: the line of each field in the page, from 1.
    """

    fields: Mapping[str, object]
    text: str
    relations: tuple[tuple[str, str], ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)


def stem(name: str, id: str) -> str:
    """Return the file name of a memory's page, without suffix: its words, and a part of its id.

    Letters, digits and '-' only, which every file system and Obsidian link allows.
    """
    words = re.sub(r"[^\w]+", "-", name.lower()).strip("-_")[:60].strip("-_")
    mark = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{words}-{mark}" if words else mark


def render(page: Page) -> str:
    """Return a page as markdown; `parse` reads it back."""
    header = [
        f"{key}: {json.dumps(value)}" for key, value in page.fields.items() if value is not None
    ]
    parts = ["---", *header, "---", "", page.text, ""]
    if page.relations or RELATIONS in page.text:
        parts += [RELATIONS, "", *(f"- {kind} [[{to}]]" for kind, to in page.relations), ""]
    return "\n".join(parts)


def parse(source: str) -> Page | None:
    """Return a page; None without a readable header."""
    lines = _lines(source)
    count = frontmatter.length(lines)
    header = lines[1 : count - 1] if count else []
    fields: dict[str, object] = {}
    for line in header:
        found = _FIELD.fullmatch(line)
        with contextlib.suppress(ValueError, RecursionError):
            if found is not None:
                value = json.loads(found["value"])
                # Lone surrogates, and numbers out of range, cannot be stored.
                json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
                fields[found["key"]] = value
    if len(fields) < len(header):  # `render` did not write it
        by_hand = frontmatter.fields(lines)
        fields = {**by_hand, **fields} if by_hand else {}
    if not fields:
        return None
    said, marked, below = "\n".join(lines[count:]).rpartition(RELATIONS)
    if not marked:
        said, below = below, ""
    relations = (_RELATION.fullmatch(line.strip()) for line in below.split("\n"))
    return Page(
        fields=fields,
        text=said.strip(),
        relations=tuple(
            (one["kind"], one["stem"].strip().rpartition("/")[2]) for one in relations if one
        ),
        lines=frontmatter.places(lines),
    )


def index(rows: Sequence[tuple[str, str, str]]) -> str:
    """Return the page that links to all others.

    Args:
        rows: kind, stem and description of each, in order of kinds.
    """
    parts = [GENERATED, "", "# Memories"]
    for kind, some in groupby(rows, key=lambda row: row[0]):
        shown = (f"- [[{name}]] {' '.join(said.split())}" for _, name, said in some)
        parts += ["", f"## {kind}", "", *shown]
    return "\n".join([*parts, *([] if rows else [""]), ""])


def is_generated(source: str) -> bool:
    """Return whether `index` made a page."""
    return source.removeprefix("\ufeff").startswith(GENERATED)


def _lines(source: str) -> list[str]:
    """Return the lines of a page; a first line with a Windows end decides for all of them."""
    source = source.removeprefix("\ufeff")
    if source.partition("\n")[0].endswith("\r"):
        source = source.replace("\r\n", "\n")
    return source.split("\n")
