"""What became of the files in a session, and which of the memories it was shown were of use?

Git says what was committed, the work tree what was not. A memory was of use when a file that it
rests on was changed, or a name in it turned up in what was written.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from yaadwatch.core import privacy
from yaadwatch.core.recall import past
from yaadwatch.engine.workspace import Space
from yaadwatch.model.errors import YaadError
from yaadwatch.model.sessions import Facts, Made, Session, Touched
from yaadwatch.model.settings import FILE_BYTES_MAX
from yaadwatch.store import anchors, nodes
from yaadwatch.store.connection import Connection
from yaadwatch.system import files
from yaadwatch.system.git import recent_changes

COMMITS_KEPT = 100
FILES_KEPT = 200
READ_MAX = 60
"""Changed files that are read for what was put into them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What git says, masked; and, for us alone, the paths as they are and the names written."""

    facts: Facts = field(default_factory=Facts)
    paths: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()


def gather(space: Space, session: Session, until: datetime) -> Evidence:
    """Return what was done in a work tree from the start of a session until a time."""
    since = session.started_at
    try:
        return _gathered(space, session, since, until)
    except YaadError as error:
        reason = privacy.mask(f"git could not tell what was changed ({error.message})").text
        return Evidence(facts=Facts(reason=reason))


def used(
    conn: Connection, shown: Iterable[str], evidence: Evidence, touched: Iterable[str]
) -> list[str]:
    """Return those of the nodes shown that were of use, by id."""
    found = nodes.many(conn, shown)
    places = anchors.of_nodes(conn, list(found))
    paths = evidence.paths | frozenset(touched)
    return [
        node.id
        for node in found.values()
        if any(anchor.path in paths for anchor in places.get(node.id, ()))
        or past.names(node.text) & evidence.written
    ]


def _gathered(space: Space, session: Session, since: datetime, until: datetime) -> Evidence:
    repository = space.repository
    git = repository.git
    made = []
    if repository.head().commit:
        start = session.start_commit if repository.has_commit(session.start_commit) else ""
        made = [one for one in recent_changes.commits(git, since, start) if one.at <= until]
    committed = recent_changes.files_of(git, [one.id for one in made])
    open_ones = recent_changes.uncommitted(repository, since, until)
    changed = dict(committed)
    for path, how in open_ones.items():
        recent_changes.fold(changed, path, how)
    told = [
        Touched(path=privacy.mask(path).text, how=changed[path], committed=path not in open_ones)
        for path in sorted(changed)
    ]
    return Evidence(
        facts=Facts(
            commits=tuple(
                Made(id=one.id, subject=privacy.mask(one.subject).text)
                for one in made[-COMMITS_KEPT:]
            ),
            files=tuple(told[:FILES_KEPT]),
            more=max(0, len(told) - FILES_KEPT),
        ),
        paths=frozenset(changed),
        written=_written(space, session, sorted(changed)),
    )


def _written(space: Space, session: Session, paths: Iterable[str]) -> frozenset[str]:
    """Return the words that were put into files since the start of a session."""
    found: set[str] = set()
    for path in list(paths)[:READ_MAX]:
        data = files.observe(space.root, path, bytes_max=FILE_BYTES_MAX, now_ns=0).data
        if data is None or b"\0" in data:
            continue
        blob = space.repository.blob_at(session.start_commit, path)
        before = space.repository.read_blob(blob) if blob is not None else b""
        found |= past.new_names(_text(before or b""), _text(data))
    return frozenset(found)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
