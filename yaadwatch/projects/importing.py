"""Import into a store: gather the pieces, then apply them in one transaction, or as a dry run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from yaadwatch.api.messages import store
from yaadwatch.db import migrations, nodes, rows
from yaadwatch.db.database import Database, Role
from yaadwatch.db.files import Connection, is_damage
from yaadwatch.db.rows import Import
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import PROJECT, short_id
from yaadwatch.model.queries import GivenEdge, GivenNode
from yaadwatch.projects import exporting, pages
from yaadwatch.projects.exporting import Spool
from yaadwatch.projects.pages import Incoming, Memory, Relation
from yaadwatch.projects.row_import import REPORTED_MAX, ImportCounts, NamedStore, named_store
from yaadwatch.remember import inject
from yaadwatch.text import privacy, words
from yaadwatch.workspace import lookup
from yaadwatch.workspace.workspace import PERSON, Call, Home

LINES: Final = ("jsonl", "store")
"""Our own formats: plain rows, not memories to be checked like those of `inject`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One import: its id, time, format and source."""

    id: str
    now: datetime
    format: str
    source: str
    dry_run: bool
    mine: bool

    @property
    def name(self) -> str:
        """Return the name of the import as shown next to its memories."""
        masked = privacy.mask(self.source).text.rpartition("/")[2]
        return " ".join(masked.split())[:64] or self.format


def import_file(home: Home, call: Call, ask: store.Import) -> dict[str, object]:
    """Take a piece of an import; with the last one import it. The answer is Imported.

    Raises:
        YaadError: NOT_FOUND (no watched project here; the pieces before are gone), BAD_REQUEST (it
            is not of that format), TOO_LARGE, REFUSED, CONFLICT, UNAVAILABLE: nothing was
            imported.
    """
    made = exporting.make(home.clock) if ask.upload is None else exporting.find(ask.upload)
    if ask.mine and call.origin != PERSON:
        raise YaadError(
            Code.REFUSED,
            "Only a person can say that an export holds their own words; nothing was imported.",
            hint="Import it without that: its words wait for a review.",
        )
    if not ask.last:
        made.append(ask.part, ask.data)
        return {"upload": made.id, "done": False}
    try:
        if not made.path().exists():
            raise YaadError(
                Code.BAD_REQUEST,
                f"There is nothing in {ask.source or 'what came'}; nothing was imported.",
                hint="Name a file that holds something.",
            )
        now, name = home.clock.now(), home.new_id()
        job = _Job(
            id=name,
            now=now,
            format=ask.format,
            source=ask.source,
            dry_run=ask.dry_run,
            mine=ask.mine,
        )
        return _import(home, call, made, job, user=ask.user) | {"upload": made.id, "done": True}
    finally:
        made.drop()


def list_imports(home: Home, call: Call, ask: store.Imports) -> dict[str, object]:
    """Return the imports, the newest first; the answer is Imports."""
    with named_store(home, call, user=ask.user) as store:
        found = store.db.read(rows.imports)
    return {
        "imports": [
            {"id": one.id, "at": one.at, "format": one.format, "source": one.source}
            | {"counts": one.counts}
            for one in found
        ]
    }


def _import(home: Home, call: Call, made: Spool, job: _Job, *, user: bool) -> dict[str, object]:
    with named_store(home, call, user=user, or_own=job.format in LINES) as store:
        lookup.require_room(home, store.db)
        if job.format in LINES:
            with _named_in_errors(made, job.source):
                path = _as_lines(home, made) if job.format == "store" else made.path()
            report = _import_lines(store, path, job)
        else:
            report = _import_foreign(home, call, store, made, job)
    answer: dict[str, object] = {
        "import": None if job.dry_run else job.id,
        "format": job.format,
        "dry_run": job.dry_run,
    }
    return answer | report


def _import_lines(store: NamedStore, path: Path, job: _Job) -> dict[str, object]:
    def change(conn: Connection) -> dict[str, object]:
        foreign = "" if job.mine else job.name
        report = _as_report(exporting.read(conn, store, path, job.now, foreign=foreign))
        _record_import(conn, report, job)
        return report

    return store.db.rehearse(change) if job.dry_run else store.db.write(change)


def _import_foreign(
    home: Home, call: Call, store: NamedStore, made: Spool, job: _Job
) -> dict[str, object]:
    """Import foreign content: memories as by `inject`, those with the same words merged."""
    if store.project is None:
        raise YaadError(
            Code.REFUSED,
            "What others wrote never enters the user's own store by itself; nothing was imported.",
            hint="Import it into a project: without --user",
        )
    root = store.project.root
    read: Mapping[str, Callable[[], Incoming]] = {
        "markdown": lambda: pages.of_folder(made.path()),
        "agent-file": lambda: pages.of_agent_file(home, made.path()),
        "yaad": lambda: pages.of_yaad(_database(made), root),
    }
    with _named_in_errors(made, job.source):
        found = read[job.format]()
    known = store.db.read(_twins, found.memories)
    store.db.read(_drop_taken_keys, found)
    answer: dict[str, Any] = inject.inject_all(
        home,
        Call(folder=call.folder, origin=f"import:{job.name}"),
        nodes=[_node(one, job.now) for one in _without_twins(found.memories, known)],
        edges=_edges(found.relations, known),
        dry_run=job.dry_run,
    )
    counts = {"nodes": dict(answer["nodes"]), "edges": dict(answer["edges"])}
    counts["nodes"]["merged"] = len(known)
    left_out = [*found.left_out, *(_left_out_row(one) for one in answer["left_out"])]
    report: dict[str, object] = {
        "counts": counts,
        "conflicts": [],
        "left_out": left_out[:REPORTED_MAX],
        "left_out_count": len(left_out),
        "misread": found.misread[:REPORTED_MAX],
        "misread_count": len(found.misread),
        "masked": len(answer["masked"]),
    }
    if not job.dry_run:
        store.db.write(_record_import, report, job)
    return report


def _record_import(conn: Connection, report: Mapping[str, Any], job: _Job) -> None:
    row = Import(
        id=job.id,
        at=job.now,
        format=job.format,
        source=privacy.mask(job.source).text[:200],
        counts=report["counts"],
    )
    rows.note_import(conn, row)


def _as_report(report: ImportCounts) -> dict[str, object]:
    left_out = sum(count["left_out"] for count in report.counts.values())
    return {
        "counts": {table: dict(count) for table, count in report.counts.items()},
        "conflicts": report.conflicts,
        "left_out": report.left_out,
        "left_out_count": left_out,
        "masked": report.masked,
    }


def _left_out_row(one: Mapping[str, object]) -> dict[str, object]:
    row = one.get("id") or f"{one.get('from')} {one.get('kind')} {one.get('to')}"
    return {"row": row, "reason": one["reason"]}


def _twins(conn: Connection, memories: Sequence[Memory]) -> dict[str, str]:
    """Return, for memories with the words of a living memory, the id of that one."""
    found = {}
    first: dict[str, str] = {}
    for one in memories:
        digest = words.text_hash(privacy.kept(one.text).text)  # as it will read
        there = nodes.by_hash(conn, PROJECT, digest, thing=False)
        if there is None and one.apart:
            continue
        twin = there.id if there is not None else first.setdefault(digest, one.id)
        if twin != one.id:
            found[one.id] = twin
    return found


def _drop_taken_keys(conn: Connection, found: Incoming) -> None:
    """Drop the key of a memory where another one has it, and report that."""
    holders: dict[str, str] = {}
    for place, one in enumerate(found.memories):
        if one.key is None:
            continue
        there = nodes.by_key(conn, PROJECT, one.key)
        holder = holders.setdefault(one.key, one.id if there is None else there.id)
        if holder != one.id:
            found.leave(one.name, f"its key {one.key} is that of memory {short_id(holder)}")
            found.memories[place] = replace(one, key=None)


def _without_twins(memories: Sequence[Memory], known: Mapping[str, str]) -> list[Memory]:
    once = {one.id: one for one in memories if one.id not in known}
    return list(once.values())


def _node(one: Memory, now: datetime) -> GivenNode:
    created = min(one.created, now) if one.created is not None else None
    return GivenNode(
        id=one.id,
        text=one.text,
        kind=one.kind,
        tier=one.tier,
        key=one.key,
        tags=one.tags,
        attributes=dict(one.attributes) or None,
        pin=one.pinned,
        created_at=created.isoformat() if created is not None else None,
    )


def _edges(relations: Sequence[Relation], known: Mapping[str, str]) -> list[GivenEdge]:
    ends = {
        (known.get(one.start, one.start), one.kind, known.get(one.end, one.end))
        for one in relations
    }
    return [
        GivenEdge(from_=start, kind=pages.usable_edge_kind(kind), to=end)
        for start, kind, end in sorted(ends)
        if start != end
    ]


@contextmanager
def _named_in_errors(made: Spool, source: str) -> Iterator[None]:
    """Name the source instead of our spool file in errors.

    Raises:
        YaadError: the original one; BAD_REQUEST where the imported file is damaged.
    """
    try:
        yield
    except YaadError as error:
        message = error.message.replace(str(made.path()), source or "What came")
        code, hint = error.code, error.hint
        if is_damage(error):
            code, hint = Code.BAD_REQUEST, "Name another file; perhaps there is a copy of it."
        raise YaadError(code, message, hint=hint) from error


def _database(made: Spool) -> Path:
    """Return the imported database, with its log renamed to what SQLite expects.

    Raises:
        YaadError: BAD_REQUEST when it is no database.
    """
    path = made.path()
    with path.open("rb") as stream:
        if stream.read(16) != b"SQLite format 3\0":
            raise YaadError(
                Code.BAD_REQUEST,
                "It is no SQLite database; nothing was imported.",
                hint="Name the file yaad.db of the other Yaad.",
            )
    log = made.path("wal")
    if log.exists():
        log.rename(path.with_name(f"{path.name}-wal"))
    return path


def _as_lines(home: Home, made: Spool) -> Path:
    """Convert an imported store to JSON Lines.

    Raises:
        YaadError: BAD_REQUEST when it is no store; UNAVAILABLE when it is damaged, or of a later
            version.
    """
    path = _database(made)
    target = made.path("lines")
    role: Role = "user" if migrations.is_users(path) else "project"
    db = Database.open(path, role=role)
    try:
        with target.open("wb") as stream:
            exporting.write(
                NamedStore(id="", role=role, project=None, db=db), stream, home.clock.now()
            )
    finally:
        db.close()
    return target
