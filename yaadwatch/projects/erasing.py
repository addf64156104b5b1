"""Erase a leaked secret or personal data, so that no byte of our files holds it any more.

Copies go first, the store last: a run that is cut off finds the memory still there, and erases it
again. Erasing cannot be undone and deletes copies of a person's files as well, so that `forget` is
better for everything else.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from yaadwatch import places
from yaadwatch.api.messages.memories import Erase
from yaadwatch.db import authority, erasing, history, nodes, projects, sessions
from yaadwatch.db.database import Database
from yaadwatch.db.erasing import INSTEAD
from yaadwatch.db.files import DAMAGED, Connection, is_no_room
from yaadwatch.memory import changes, gaps, lessons, visibility
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import Node
from yaadwatch.projects import exporting
from yaadwatch.sync import tree
from yaadwatch.system import files
from yaadwatch.text import privacy
from yaadwatch.text import words as text_words
from yaadwatch.text.quoting import quoted, words_hash
from yaadwatch.workspace.identity import SNAPSHOTS
from yaadwatch.workspace.lookup import LocatedMemory, Shelf, Shelves, shelves
from yaadwatch.workspace.workspace import Call, Home, Space

USER = "user"
"""The backup folder of the user store."""
PIECE_BYTES = 256
"""So many bytes of a text are contiguous in a file of SQLite; the rest may be elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """What has to be erased.

    `ids`: the memories; `texts`: their texts in every version; `hashes`: of those texts; `notes`:
    the notes of erased sessions. A memory with the same words as a note is not erased.
    """

    ids: frozenset[str]
    texts: tuple[str, ...]
    hashes: frozenset[str]
    notes: tuple[str, ...]

    @property
    def quoted(self) -> tuple[str, ...]:
        """Return the texts that are long enough to be searched in others, the longest first."""
        every = {one for each in (*self.texts, *self.notes) for one in _renderings(each)}
        # Shorter words are erased only where they are a whole text, not a part of one.
        long = (one for one in every if len(one) >= 8)
        return tuple(sorted(long, key=lambda one: (-len(one), one)))

    @property
    def raw(self) -> tuple[bytes, ...]:
        """Return `quoted` as bytes, plain and as JSON."""
        forms = [each for one in self.quoted for each in (one, json.dumps(one)[1:-1])]
        return tuple(dict.fromkeys(each.encode("utf-8", "surrogatepass") for each in forms))

    @property
    def pieces(self) -> tuple[bytes, ...]:
        """Return the start of each of `raw` that is contiguous in a damaged database."""
        return tuple(dict.fromkeys(one[:PIECE_BYTES] for one in self.raw))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The file of a store, and the folder of its backups."""

    store: Path
    backups: Path

    @property
    def snapshots(self) -> Path:
        """Return the folder of the copies of agent files."""
        return self.store.parent / SNAPSHOTS

    @property
    def damaged(self) -> Path:
        """Return the folder into which `doctor` moves a damaged store."""
        return self.store.parent / DAMAGED

    def files(self) -> Iterator[Path]:
        """Yield every file that may hold words of the store, its own and the log included."""
        yield from sorted(self.store.parent.glob(f"{self.store.name}*"))
        for folder in (self.snapshots, self.damaged):
            yield from _beside(folder)
        for folder in (self.backups, places.log_file().parent):
            yield from files.files_below(folder)


def _beside(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder beside the store; none if it is a link."""
    if not folder.is_symlink():
        yield from files.files_below(folder)


@dataclass(slots=True, kw_only=True)
class _Outcome:
    """How many copies were rewritten or deleted, and which still hold the words."""

    rewritten: int = 0
    dropped: int = 0
    snapshots: int = 0
    remains: list[str] = field(default_factory=list)
    seen: dict[Path, tuple[int, int]] = field(default_factory=dict)


def erase(home: Home, call: Call, ask: Erase) -> dict[str, object]:
    """Erase a memory from store, history, index, log, copies and backups; the answer is Erased.

    Memories with the same words now or in the past are erased with it. Its lines are removed from
    agent files first. A session is erased with its notes and its actions.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT when `id` does not name exactly one; REFUSED
            when a person's own file says it, or a block cannot be written now; UNAVAILABLE when a
            copy or the store cannot be rewritten (some may be rewritten; erase it again).
    """
    try:
        return _erased(home, call, ask)
    except YaadError as error:
        if not is_no_room(error) or not places.reserve().exists():
            raise
        places.reserve().unlink()  # the daily upkeep makes it again, once there is room
        return _erased(home, call, ask)


def _erased(home: Home, call: Call, ask: Erase) -> dict[str, object]:
    with shelves(home, call) as both:
        held = _find(both, ask.id)
        db, place = held.db, _place(held.shelf)
        words = db.read(_words, held.id)
        db.read(_refuse_stated, words.ids)
        db.read(_refuse_agent, words.ids, call.origin)
        if held.shelf.space is not None:
            for one in sorted(words.ids):
                _remove_from_blocks(home, call, held.shelf.space, one)
        words = db.read(_words, *words.ids)
        hidden = db.read(_files_on_other_branches, words.ids)
        done = _Outcome()
        _copies(db, place, words, done)
        also = db.write(_erase, words, home.clock.now())
        _copies(db, place, words, done)  # copies that were made meanwhile
        exporting.clear()
        places.delete_briefs()
        gaps.scrub(db)
        _forget_in_memory(home, words)
        done.remains = _files_left(place, words)
    return {
        "erased": sorted(words.ids),
        "at": home.clock.now(),
        "backups": {"rewritten": done.rewritten, "dropped": done.dropped},
        "snapshots": done.snapshots,
        "also": also,
        "returns": hidden,
        "remains": done.remains,
    }


def _find(both: Shelves, named: str) -> LocatedMemory:
    """Return the memory to be erased, or the session, which may have no node.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT when `named` does not name exactly one.
    """
    try:
        return both.find(named)
    except YaadError as error:
        project = both.project
        if error.code is not Code.NOT_FOUND or project is None or project.space is None:
            raise
        try:
            return LocatedMemory(shelf=project, id=lessons.find(project.space, named).id)
        except YaadError as none:
            if none.code is Code.CONFLICT:
                raise
            raise error from None


def _place(shelf: Shelf) -> _Place:
    if shelf.space is None:
        return _Place(store=places.user_store(), backups=places.backups(USER))
    return _Place(store=shelf.db.path, backups=places.backups(shelf.space.project.id))


def _renderings(said: str) -> Iterator[str]:
    """Yield the renderings of a text: plain, in one line, shortened, and each of these quoted."""
    yield said
    short, line = text_words.summarise(said), " ".join(said.split())
    variants = [line]
    if short.endswith("…") or line.endswith(short):
        variants.append(short.rstrip("…"))  # a first sentence alone may be of another text
    for one in variants:
        yield one
        yield quoted(one)[1:-1]


def _refuse_stated(conn: Connection, ids: Iterable[str]) -> None:
    for place in (place for one in sorted(ids) for place in history.provenance_of_node(conn, one)):
        if place.line is not None:
            raise YaadError(
                Code.REFUSED,
                f"{place.path} (line {place.line}) still says this, and only you change that file;"
                " it would come back, so nothing was erased.",
                hint=f"Delete it there, then: yaadwatch forget --erase {short_id(place.node)}",
            )


def _refuse_agent(conn: Connection, ids: Iterable[str], actor: str) -> None:
    for node in nodes.many(conn, ids).values():
        visibility.refuse_agent(conn, node, actor=actor, change="erased")


def _files_on_other_branches(conn: Connection, ids: Iterable[str]) -> list[str]:
    """Return the files that state it on another branch, and would bring it back."""
    return sorted({place.path for one in ids for place in history.provenance_of_node(conn, one)})


def _remove_from_blocks(home: Home, call: Call, space: Space, node_id: str) -> None:
    """Remove a memory from every block.

    Raises:
        YaadError: REFUSED when a block cannot be written now; the memory is forgotten then.
    """
    trees = {worktree for worktree, _ in space.db.read(projects.agreed_places, node_id)}
    if not trees:
        return

    def forget(conn: Connection) -> None:
        node = nodes.get(conn, node_id)
        if node is not None and node.archived_at is None:
            now = home.clock.now()
            changes.archive(conn, node, now, actor=call.origin, reason="to be erased")

    space.db.write(forget)
    for worktree in sorted(trees):
        with (
            contextlib.suppress(YaadError),  # remaining lines are reported below
            home.tree(space.project.id, worktree) as there,
        ):
            tree.sync_space(home, there)
    still = space.db.read(projects.agreed_files, node_id)
    if still:
        raise YaadError(
            Code.REFUSED,
            f"It was forgotten, but it still stands in the block of {' and '.join(still)}, which "
            "cannot be written just now; nothing was erased.",
            hint=f"Why: yaadwatch files. Then: yaadwatch forget --erase {short_id(node_id)}",
        )


def _words(conn: Connection, *given: str) -> _Words:
    """Return all texts that memories ever had, and the memories with the same words."""
    ids, texts, hashes = set(given), dict[str, None](), set[str]()
    new = set(given)
    notes = [note.text for one in given for note in sessions.notes(conn, one)]
    while new:
        for one in sorted(new):
            node = nodes.get(conn, one)
            if node is None:
                continue
            said = [node.text, *(past.text for past in history.versions_of_node(conn, one))]
            texts |= dict.fromkeys(said)
            hashes |= {node.text_hash, *map(text_words.text_hash, said)}
        # A memory that only had this text in the past has another one now, which is kept.
        current = erasing.memories_saying(conn, tuple(texts), hashes)
        new = current - ids
        ids |= new
    return _Words(
        ids=frozenset(ids), texts=tuple(texts), hashes=frozenset(hashes), notes=tuple(notes)
    )


def _erase(conn: Connection, words: _Words, now: datetime) -> list[str]:
    """Erase the rows; return the other memories that quote them."""
    for one in sorted(words.ids):
        lessons.without(conn, one, now)  # a session may quote it in its summary
    erasing.erase(conn, words.ids)
    erasing.drop_sessions(conn, words.ids)
    erasing.drop_tombstones(conn, words.hashes)
    authority.drop_dismissals(conn, words.ids)
    authority.lift_dismissal(conn, [words_hash(said) for said in words.texts])
    erasing.silence(conn, words.ids)
    erasing.reword_past(conn, words.texts)
    authority.drop_proposals_holding(conn, words.quoted)
    erasing.redact(conn, words.quoted, text_words.spaced)
    also = []
    for one in erasing.quoting(conn, words.quoted):
        node = nodes.get(conn, one)
        if node is None:
            continue
        if node.kind == "session":
            _reword(conn, node, words.quoted, now)
        else:
            also.append(one)
    erasing.reword_sessions(conn, words.quoted)
    for one in sorted(words.ids):
        history.append(conn, Event(kind=events.NODE_ERASED, at=now, subject=one))
    gaps.needed(conn, now)
    return also


def _reword(conn: Connection, node: Node, quoted: Sequence[str], now: datetime) -> None:
    """Remove a quotation from a session's text; the rest stays."""
    said = node.text
    for one in quoted:
        said = said.replace(one, INSTEAD)
    done = replace(
        node,
        text=said,
        text_hash=text_words.text_hash(f"{node.id}\0{said}"),
        summary=text_words.summarise(said),
        updated_at=now,
        version=node.version + 1,
    )
    nodes.replace(conn, done)
    history.add_versions(conn, [changes.version_of(done, now, "redacted", "erase")])


def _copies(db: Database, place: _Place, words: _Words, done: _Outcome) -> None:
    """Erase from backups, copies of agent files and logs; unchanged files are done once."""
    _snapshots(db, place.snapshots, words, done)
    beside = sorted(place.store.parent.glob(f"{place.store.name}.*"))
    for path in (
        *beside,
        *_beside(place.damaged),
        *files.files_below(place.backups),
    ):
        with _disk_errors(path):
            state = path.stat().st_mtime_ns, path.stat().st_size
            if done.seen.get(path) != state:
                _copy(path, words, done)
            if path.exists():
                done.seen[path] = path.stat().st_mtime_ns, path.stat().st_size
    for path in files.files_below(places.log_file().parent):
        with _disk_errors(path):
            _take_out(path, words.raw)


def _copy(path: Path, words: _Words, done: _Outcome) -> None:
    """Rewrite a copy of the store; delete a copy with the words that cannot be rewritten."""
    if _is_damaged_copy(path, words):
        path.unlink()
        done.dropped += 1
        return
    try:
        done.rewritten += erasing.rewrite_copy(
            path,
            words.ids,
            texts=words.texts,
            quoted=words.quoted,
            hashes=words.hashes,
            indexed=text_words.spaced,
        )
    except YaadError:
        if _holds(path, words):
            path.unlink()
            done.dropped += 1


def _is_damaged_copy(path: Path, words: _Words) -> bool:
    """Return whether a file was put aside as damaged, and seems to hold the words."""
    return DAMAGED in path.parts[-3:-1] and _file_holds(path, words.pieces)


def _snapshots(db: Database, folder: Path, words: _Words, done: _Outcome) -> None:
    if folder.is_symlink() or not folder.is_dir():
        return
    gone = []
    for path in sorted(folder.iterdir()):
        with _disk_errors(path):
            if path.is_file() and not path.is_symlink() and _holds(path, words):
                path.unlink()
                gone.append(path.name)
    db.write(history.drop_snapshots, gone)
    done.snapshots += len(gone)


def _holds(path: Path, words: _Words) -> bool:
    """Return whether a file has the words, in any line breaks, with secrets masked or not."""
    return _bytes_hold(path.read_bytes(), words)


def _bytes_hold(raw: bytes, words: _Words) -> bool:
    if any(one in raw for one in words.raw):
        return True
    said = raw.decode("utf-8", "replace")
    lines = (" ".join(said.split()), " ".join(privacy.kept(said).text.split()))
    return any(one in line for one in words.quoted for line in lines)


def _files_left(place: _Place, words: _Words) -> list[str]:
    """Return our files that still hold the words."""
    found = []
    for path in place.files():
        with contextlib.suppress(FileNotFoundError):
            if _file_holds(path, words.raw) or _is_damaged_copy(path, words):
                found.append(str(path))
    return found + [str(path) for path in exporting.files_under_way()]


def _forget_in_memory(home: Home, words: _Words) -> None:
    """Clear caches of texts, names and questions, and the erased sessions in memory.

    The next call of its agent would store such a session again.
    """
    with home.live.lock:
        for one in words.ids:
            home.live.leave(one)
    text_words.clear_caches()
    home.git.found.clear()
    home.vectors.forget_all()
    home.formers.forget(lambda held: _bytes_hold(held, words))


def _file_holds(path: Path, words: Iterable[bytes]) -> bool:
    """Return whether a file contains one of `words`; a link, or what is no file, does not."""
    if path.is_symlink() or not path.is_file():
        return False
    sought = tuple(words)
    end = b""
    with path.open("rb") as file:  # in pieces: a store may be larger than the daemon's memory
        while piece := file.read(1024 * 1024):
            data = end + piece
            if any(word in data for word in sought):
                return True
            end = data[-max(map(len, sought), default=1) :]
    return False


def _take_out(path: Path, words: Sequence[bytes]) -> None:
    """Blank out `words` in a log; its inode stays the same, because its writer has it open."""
    if not _file_holds(path, words):
        return
    data = path.read_bytes()
    for word in words:
        data = data.replace(word, INSTEAD.encode())
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.truncate()
        stream.flush()
        os.fsync(stream.fileno())


@contextlib.contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError about a file into a YaadError; a file that is gone is skipped.

    Raises:
        YaadError: UNAVAILABLE.
    """
    try:
        yield
    except FileNotFoundError:
        return
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be read or written ({error.strerror}); it may still hold what was to"
            " be erased.",
            hint="Look at its permissions, then erase it again.",
        ) from error
