"""One store: runs functions on it, and hides threads, snapshots, transactions and lost files."""

import os
import zlib
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock, RLock, get_ident
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeVar

import apsw

from yaadwatch.model.errors import YaadError
from yaadwatch.model.events import STORE_RESTORED, Event
from yaadwatch.store import codec, events, meta
from yaadwatch.store.sqlite import connections, migrations
from yaadwatch.store.sqlite.faults import refused, told, unavailable
from yaadwatch.store.sqlite.files import (
    Place,
    StoreFile,
    delete,
    drop_logs,
    make_folder,
    put_in_place,
)
from yaadwatch.store.sqlite.group import Group
from yaadwatch.store.sqlite.pool import OutOfPlace, Pool

P = ParamSpec("P")
R = TypeVar("R")
Role = Literal["user", "project"]


_KNOWN_MAX: Final = 256
"""Answers that are kept until the next change."""

_FORMAT_AT: Final = 18
"""Where the header of a database says, in two bytes, how it is written and read."""

_WRITE_AHEAD_LOG: Final = bytes((2, 2))
"""What stands there when both are done with a write-ahead log."""


class _Undone(Exception):
    """Carries what a change returned out of a transaction that is to be undone."""

    def __init__(self, result: Any) -> None:
        super().__init__("undone on purpose")
        self.result = result


class Database:
    """A store that is open: one writer at a time, any number of readers, from any thread.

    A process opens a file once. When the file is deleted underneath (`git clean -fdx`), the next
    write first puts it back, from the connection that still has it: what was acknowledged stays.
    """

    def __init__(
        self,
        path: Path,
        pool: Pool,
        on_commit: Callable[[], None] | None,
        may_return: Callable[[], bool] | None,
        refusal: YaadError | None = None,
    ) -> None:
        """Take over what is open; use `Database.open`."""
        self.path = path
        self._pool = pool
        self._on_commit = on_commit
        self._may_return = may_return
        self._refusal = refusal
        self._restored = 0
        self._closed = False
        self._changes = 0  # goes up when one is begun and when it is over; odd in between
        self._kept: dict[tuple[Any, ...], tuple[int, Any]] = {}
        self._writing = RLock()  # one transaction at a time
        self._writer_thread = 0  # whose transaction it is; 0 between transactions
        self._group = Group()
        self._guard = Lock()  # which pool is ours, and whether it is closed

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        role: Role,
        project: str = "",
        create: bool = False,
        on_commit: Callable[[], None] | None = None,
        may_return: Callable[[], bool] | None = None,
        refusal: YaadError | None = None,
    ) -> "Database":
        """Open the store at `path`; an older one is brought to the newest version first.

        Args:
            path: the file. Links are followed in its folders only.
            role: what the store must be.
            project: the id of the project that it must belong to; '' for any.
            create: make an empty store, and its folder (0700), when nothing is there.
            on_commit: called after each commit, by the thread that wrote, when no lock is held.
            may_return: asked before the file is put back after it was deleted underneath; None: it
                always may.
            refusal: what every write is answered with: it only stands in for another store.

        Raises:
            YaadError: UNAVAILABLE when there is no store, or a damaged, foreign or newer one;
                REFUSED when it is a link, belongs to another user, or is not the store that was
                asked for. The file is left as it was.
        """
        path = path.absolute()
        real = path.parent.resolve() / path.name
        with told(path):
            if create and not os.path.lexists(real):
                _make(real, role, project)
            pool = _open(real)
            try:
                migrations.upgrade(pool.writer, real, migrations.chain())
                _check_identity(pool.writer, path, role, project)
            except BaseException:
                pool.close()
                raise
        return cls(path, pool, on_commit, may_return, refusal)

    @property
    def restored(self) -> int:
        """How often the file was put back after it had been deleted underneath."""
        return self._restored

    @property
    def stands_in(self) -> bool:
        """Whether it only stands in for another store."""
        return self._refusal is not None

    def refuse_if_stands_in(self) -> None:
        """Refuse what is meant for the store that this one only stands in for.

        Raises:
            YaadError: the one that was given for that.
        """
        if self._refusal is not None:
            raise YaadError(self._refusal.code, self._refusal.message, self._refusal.hint)

    def read(
        self, look: Callable[Concatenate[apsw.Connection, P], R], *args: P.args, **kw: P.kwargs
    ) -> R:
        """Run `look(conn, ...)` on one consistent snapshot and return its result.

        Raises:
            YaadError: UNAVAILABLE when the store is closed, damaged, or cannot be read, and when
                `look` tries to write.
        """
        try:
            return self._read(look, *args, **kw)
        except OutOfPlace:
            with self._writing:
                self._stay_in_place()
        return self._read(look, *args, **kw)

    def known(
        self, look: Callable[Concatenate[apsw.Connection, P], R], *args: P.args, **kw: P.kwargs
    ) -> R:
        """Return what `read` does; asked once until something is written to this store.

        For what is small, never changed in place, and in no text of a memory; of things that can be
        told apart. A store has one writer, so that nothing changes behind it.

        Raises:
            YaadError: as for `read`.
        """
        key = (look, args, *kw.items())
        changes = self._changes  # before it is read: what is written meanwhile makes it old
        if changes % 2:  # it may have been committed already
            return self.read(look, *args, **kw)
        kept = self._kept.get(key)
        if kept is not None and kept[0] == changes:
            result: R = kept[1]
            return result
        result = self.read(look, *args, **kw)
        if len(self._kept) >= _KNOWN_MAX:
            self._kept = {}
        self._kept[key] = (changes, result)
        return result

    def read_before_write(
        self, look: Callable[Concatenate[apsw.Connection, P], R], *args: P.args, **kw: P.kwargs
    ) -> R:
        """Run `look(conn, ...)` on one snapshot, on the connection that writes; return its result.

        Each commit makes other connections read anew every page that they had; this one has made
        them all. It waits until nobody writes, and who wants to write waits for it: only for a
        short look right before a write. What it changes is undone.

        Raises:
            YaadError: as for `read`.
            RuntimeError: called from inside a write of the same thread.
        """
        if self._writer_thread == get_ident():
            raise RuntimeError("what is inside a write reads what it is given")
        with self._writing, told(self.path), self._pool.in_use():
            conn = self._pool.writer
            conn.execute("BEGIN")
            try:
                return look(conn, *args, **kw)
            finally:
                _roll_back(conn)

    def examine(self, look: Callable[[apsw.Connection], R]) -> R:
        """Run `look(conn)` on one snapshot, on a connection that believes nothing it saw before.

        Raises:
            YaadError: as for `read`.
        """
        with told(self.path), ExitStack() as lent:
            with self._writing:  # nobody else puts it back before the connection is there
                self._stay_in_place()
                try:
                    conn = lent.enter_context(self._pool.fresh())
                except OutOfPlace:  # deleted just now
                    self._stay_in_place()
                    conn = lent.enter_context(self._pool.fresh())
            conn.execute("BEGIN")
            return look(conn)

    def write(
        self, change: Callable[Concatenate[apsw.Connection, P], R], *args: P.args, **kw: P.kwargs
    ) -> R:
        """Run `change(conn, ...)` in one transaction: all of it happens, or none of it.

        Changes that wait while another one is being committed share the next commit, each behind a
        savepoint of its own. So a change may run in the thread of another one, and again when the
        disk was full for that one: it must change nothing but the store. An answer comes after the
        commit.

        Raises:
            YaadError: UNAVAILABLE when the store is closed, damaged, full or locked; REFUSED when
                something else stands where its file was; what it was given when it only stands in.
                Nothing was changed.
            RuntimeError: called from inside a write of the same thread.
        """
        self.refuse_if_stands_in()
        if self._writer_thread == get_ident():
            raise RuntimeError("a write cannot begin inside a write")
        waiting = self._group.join(lambda conn: change(conn, *args, **kw))
        committed = False
        try:
            with self._writing:
                while not waiting.done:  # more may wait before it than go together
                    if self._commit_group():
                        committed = True
        finally:
            self._group.leave(waiting)
        if committed and self._on_commit is not None:
            self._on_commit()
        return waiting.result()

    def rehearse(self, change: Callable[[apsw.Connection], R]) -> R:
        """Run `change(conn)` as `write` does, then undo all of it; return what it returned.

        Raises:
            YaadError, RuntimeError: as for `write`.
        """

        def act(conn: apsw.Connection) -> None:
            raise _Undone(change(conn))

        try:
            self.write(act)
        except _Undone as done:
            result: R = done.result
            return result
        raise RuntimeError("a rehearsal is always undone")

    def backup(self, target: Path) -> None:
        """Write a consistent copy to `target`, 0600; its folder (0700) is made when missing.

        Readers and writers go on meanwhile. What was at `target` is replaced once the copy is
        whole.

        Raises:
            YaadError: UNAVAILABLE when it cannot be written; what was at `target` is still there.
        """
        outcome = "no backup was made"
        with told(target, outcome):
            make_folder(target.parent, outcome)
            try:
                with self._pool.reader() as conn:
                    conn.pragma("query_only", 0)  # it keeps a copy from being written, too
                    try:
                        migrations.copy_into(conn, target, outcome)
                    finally:
                        conn.pragma("query_only", 1)
            except OutOfPlace:  # deleted underneath; the writer still has it
                with self._writing, self._pool.in_use():
                    migrations.copy_into(self._pool.writer, target, outcome)

    def scrub(self) -> None:
        """Write the file anew and empty its log, so that of what was deleted no byte is left.

        Pages that connections keep of it as it was go, too.

        Raises:
            YaadError: UNAVAILABLE when there is no space for a second copy of it, or somebody has
                been reading for seconds; what was deleted may still be in the file.
        """
        outcome = "what was deleted may still be in it"
        with self._writing:
            self._stay_in_place()
            with self._pool.in_use(), told(self.path, outcome):
                self._pool.writer.execute("VACUUM")
                self._pool.writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                self._pool.writer.release_memory()
                self._pool.drop_idle()

    def close(self) -> None:
        """Close the store. Calls in progress go on to their end."""
        with self._guard:
            self._closed = True
            self._changes += 2
            self._pool.close()

    def is_moved_with_its_log(self) -> bool:
        """Return whether its folder was moved: nothing of ours is where it was.

        If only the file was moved, its log was not, and would be read as that of the next one.

        Raises:
            YaadError: UNAVAILABLE when it was closed.
        """
        return self._is_so(Pool.is_moved_with_its_log)

    def was_replaced(self) -> bool:
        """Return whether its file was deleted, and another stands there: only this still has it.

        Raises:
            YaadError: UNAVAILABLE when it was closed.
        """
        return self._is_so(Pool.was_replaced)

    def let_go(self) -> None:
        """Close the store, and leave alone what stands at its place, with the log beside it."""
        with self._guard:
            self._closed = True
            self._changes += 2
            self._pool.abandon()

    def close_and_delete(self) -> None:
        """Close the store, which nobody uses, and delete its file; another one there is left alone.

        Raises:
            YaadError: UNAVAILABLE when it cannot be deleted, and is open still; or was closed.
        """
        with self._writing:
            if self._pool.place() is Place.HERE:
                delete(self._pool.path, "it was not deleted")
            self.close()

    def strange(self) -> list[str]:
        """Return the triggers and views that no version of ours made: they would run with ours.

        Raises:
            YaadError: as for `read`.
        """
        ours = apsw.Connection(":memory:")
        try:
            migrations.run(ours, migrations.chain())
            return sorted(name for name, _ in self.read(_running) - _running(ours))
        finally:
            ours.close()

    def wait_until_unused(self, seconds: float) -> bool:
        """Wait for the calls in progress in a store that was closed; say whether none is left."""
        return self._pool.wait_until_unused(seconds)

    def _read(
        self, look: Callable[Concatenate[apsw.Connection, P], R], *args: P.args, **kw: P.kwargs
    ) -> R:
        with told(self.path), self._pool.reader() as conn:
            conn.execute("BEGIN")
            try:
                return look(conn, *args, **kw)
            finally:
                _roll_back(conn)

    def _is_so(self, of_file: Callable[[Pool], bool]) -> bool:
        """Return whether something is so of the file, and is so still when nobody puts it back."""
        with suppress(OutOfPlace):
            if not of_file(self._pool):
                return False
        with self._writing:
            return of_file(self._pool)

    def _commit_group(self) -> bool:
        """Commit what waits, as far as it goes well; `_writing` is held. Return whether any did.

        Raises:
            BaseException: this thread was interrupted; nothing of it was committed.
        """
        with self._group.taken() as group:
            self._stay_in_place()
            with self._pool.in_use(), told(self.path):
                self._writer_thread = get_ident()
                self._changes += 1
                try:
                    return group.commit(self._pool.writer, self.path)
                finally:
                    self._changes += 1
                    self._writer_thread = 0

    def _stay_in_place(self) -> None:
        """Put the file back if it was deleted; `_writing` is held.

        Raises:
            YaadError: REFUSED when the file was moved, or something else stands in its place;
                UNAVAILABLE when it cannot be put back now.
        """
        place = self._pool.place()
        if place is Place.DELETED:
            if self._pool.writer.in_transaction:
                raise unavailable(
                    f"{self.path} was deleted in the middle of a write; nothing was changed.",
                    "Try again.",
                )
            self._put_back()
        elif place is Place.MOVED:
            raise refused(
                f"{self.path} was moved away while it was open; nothing was written.",
                "Put it back, or restart the daemon.",
            )
        elif place is Place.TAKEN:
            raise refused(
                f"{self.path} is not the file that was opened any more; nothing was written.",
                "Take the other file away, and what was opened is put back.",
            )

    def _put_back(self) -> None:
        real = self._pool.path
        outcome = "it was deleted, and could not be put back; nothing was written"
        if self._may_return is not None and not self._may_return():
            raise unavailable(
                f"{self.path} was deleted with its repository; nothing was written.",
                "What it held, into the repository that is there now: yaadwatch add --restore",
            )
        with told(self.path, outcome):
            _make_last_folder(real.parent)
            with self._pool.in_use(), put_in_place(real, outcome) as temporary:
                copy = apsw.Connection(str(temporary))
                try:
                    with copy.backup("main", self._pool.writer, "main") as pages:
                        pages.step(-1)
                finally:
                    copy.close()
                drop_logs(real)
            pool = Pool(StoreFile(real))
            with self._guard:
                self._pool.abandon()
                self._pool = pool
                if self._closed:
                    pool.close()
            self._restored += 1
            self._changes += 2
            with pool.in_use():
                _in_one_transaction(pool.writer, _append_restored, str(self.path))


def _running(conn: apsw.Connection) -> set[tuple[str, str]]:
    """Return what in a schema runs by itself: its name, and what it does."""
    rows = conn.execute("SELECT name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view')")
    return set(rows)


def _open(path: Path) -> Pool:
    """Open the file at `path`, once its header says that it is a store, and not a newer one."""
    file = StoreFile(path)
    try:
        migrations.check(path, connections.probe(path), migrations.chain())
    except BaseException:
        file.close()
        raise
    return Pool(file)


def _make(path: Path, role: Role, project: str) -> None:
    """Make an empty store at `path`: it is there with everything, or not at all."""
    make_folder(path.parent, "no store was made")
    empty = zlib.decompress(_empty(migrations.chain()))
    with put_in_place(path, "no store was made", empty) as temporary:
        with closing(apsw.Connection(str(temporary))) as conn:
            # Nobody sees the file before it is whole and on the disk.
            conn.pragma("journal_mode", "memory")
            conn.pragma("synchronous", 0)
            meta.put(conn, "role", role)
            if project:
                meta.put(conn, "project", project)
        # Else whoever opens it first would change this in a transaction, and wait for the disk four
        # times more.
        with temporary.open("r+b") as file:
            file.seek(_FORMAT_AT)
            file.write(_WRITE_AHEAD_LOG)


@lru_cache(maxsize=1)
def _empty(steps: tuple[migrations.Step, ...]) -> bytes:
    """Return the file of an empty store of nobody, packed into some ten kilobytes.

    To take all steps for each takes four times as long as to write down what they lead to.
    """
    with closing(apsw.Connection(":memory:")) as conn:
        conn.pragma("application_id", connections.APPLICATION_ID)
        migrations.run(conn, steps)
        return zlib.compress(conn.serialize("main"))


def _check_identity(conn: apsw.Connection, path: Path, role: Role, project: str) -> None:
    found_role, found_project = meta.get(conn, "role"), meta.get(conn, "project") or ""
    if found_role != role:
        raise refused(
            f"{path} is a {found_role} store, not a {role} store; it was not used.",
            "Move it away, then try again.",
        )
    if project not in {"", found_project}:
        raise refused(
            f"{path} belongs to project {found_project}, not to {project}; it was not used.",
            "Add the project again.",
        )


def _in_one_transaction(
    conn: apsw.Connection,
    change: Callable[Concatenate[apsw.Connection, P], R],
    *args: P.args,
    **kw: P.kwargs,
) -> R:
    if conn.in_transaction:
        raise RuntimeError("a write cannot begin inside a write")
    conn.execute("BEGIN IMMEDIATE")
    try:
        result = change(conn, *args, **kw)
        conn.execute("COMMIT")
    except BaseException:
        _roll_back(conn)
        raise
    return result


def _roll_back(conn: apsw.Connection) -> None:
    """Undo what is open; after some faults SQLite has done so itself."""
    if conn.in_transaction:
        conn.execute("ROLLBACK")


def _append_restored(conn: apsw.Connection, path: str) -> None:
    # The database's clock: there is no caller here that could bring the time along.
    now_ms = conn.execute("SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER)").get
    events.append(conn, Event(kind=STORE_RESTORED, at=codec.from_ms(now_ms), subject=path))


def _make_last_folder(folder: Path) -> None:
    """Make the folder of a store again, but nothing above it: the project may be gone for good."""
    if folder.is_symlink():
        raise refused(f"{folder} is a link now; nothing was written.", "Take the link away.")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise unavailable(
            f"{folder} could not be made again ({error.strerror}); nothing was written.",
            "Look at the folder above it.",
        ) from error
