"""Open a store and run reads and changes on it; hides threads, snapshots and transactions."""

import itertools
import logging
import os
import stat
import zlib
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from threading import RLock, get_ident
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeVar

import apsw

from yaadwatch.db import connections, migrations, soundness
from yaadwatch.db.connections import Group, Pool, commit_together
from yaadwatch.db.files import (
    DAMAGED,
    StoreFile,
    damaged,
    make_folder,
    not_in_place,
    refused,
    replacing,
    translated_errors,
    unavailable,
)

_log: Final = logging.getLogger(__name__)


def get_meta(conn: apsw.Connection, key: str) -> str | None:
    """Return the value of `key`, or None."""
    found = conn.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if found is None else str(found[0])


def put_meta(conn: apsw.Connection, key: str, value: str) -> None:
    """Set `key` to `value`."""
    conn.execute(
        """
        INSERT INTO meta (key, value)
        VALUES (?, ?)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value
        """,
        (key, value),
    )


def drop_meta(conn: apsw.Connection, key: str) -> None:
    """Delete `key`."""
    conn.execute("DELETE FROM meta WHERE key = ?", (key,))


P = ParamSpec("P")
R = TypeVar("R")
Role = Literal["user", "project"]


def read_in_place(path: Path, project: str, ask: Callable[[apsw.Connection], R]) -> R | None:
    """Return what `ask(conn)` reads in the store at `path`, which this process must not have open.

    Args:
        path: the file.
        project: the id of the project that it must belong to.
        ask: runs once; its result is dropped when the file changed meanwhile.

    Returns:
        None when the store must be opened instead: it is not at rest, or another process used it.
        Opening it reports what is wrong.
    """
    before = _state(path)
    if before is None:
        return None
    try:
        conn = connections.still(path)
        try:
            found = ask(conn) if _is_ours(conn, project) else None
        finally:
            conn.close()
    except (apsw.Error, *soundness.FAULTS):
        return None
    return found if _state(path) == before else None


def _is_ours(conn: apsw.Connection, project: str) -> bool:
    conn.pragma("trusted_schema", 0)
    conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return (
        conn.pragma("application_id") == connections.APPLICATION_ID
        and conn.pragma("user_version") == migrations.chain()[-1].version
        and get_meta(conn, "role") == "project"
        and get_meta(conn, "project") == project
    )


def _state(path: Path) -> tuple[int, ...] | None:
    """Return a value that changes with every write; None when this is no store of ours at rest."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    plain = stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600
    if not plain or found.st_uid != os.geteuid() or not found.st_size:
        return None
    return connections.state_at_rest(path)


class _Undone(Exception):
    """Carries the result of a change out of a transaction that is rolled back."""

    def __init__(self, result: Any) -> None:
        super().__init__("undone on purpose")
        self.result = result


class Database:
    """An open store: one writer at a time, any number of readers, from any thread.

    A process opens a file once. When the file was deleted or moved, writes are refused, because
    they would be lost with it.
    """

    def __init__(
        self,
        path: Path,
        pool: Pool,
        on_commit: Callable[[], None] | None,
    ) -> None:
        """Use `Database.open`."""
        self.path = path
        self._pool = pool
        self._on_commit = on_commit
        self._changes = 0  # goes up when one is begun and when it is over; odd in between
        self._kept: dict[tuple[Any, ...], tuple[int, Any]] = {}
        self._writing = RLock()  # one transaction at a time
        self._writer_thread = 0  # thread id of the transaction; 0 between transactions
        self._group = Group()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        role: Role,
        project: str = "",
        create: bool = False,
        read_only: bool = False,
        on_commit: Callable[[], None] | None = None,
    ) -> "Database":
        """Open the store at `path`; an older one is upgraded to the newest version first.

        Args:
            path: the file. Links are followed in its folders only.
            role: what the store must be.
            project: the id of the project that it must belong to; '' for any.
            create: make an empty store, and its folder (0700), when nothing is there.
            read_only: change nothing at `path`; another process may have it open.
            on_commit: called after each commit, by the thread that wrote, when no lock is held.

        Raises:
            YaadError: UNAVAILABLE when there is no store, or a damaged, foreign or newer one;
                REFUSED when it is a link, belongs to another user, or is not the store that was
                asked for. The file is left as it was.
        """
        path = path.absolute()
        real = path.parent.resolve() / path.name
        with translated_errors(path):
            if create and not os.path.lexists(real):
                _make(real, role, project)
            file = StoreFile(real, read_only=read_only)
            try:
                migrations.check(real, connections.probe(real), migrations.chain())
            except BaseException:
                file.close()
                raise
            pool = Pool(file, read_only=read_only)
            try:
                if read_only:
                    with pool.reader() as conn:
                        migrations.require_newest(conn, real, migrations.chain())
                        _check_identity(conn, path, role, project)
                else:
                    migrations.upgrade(pool.writer, real, migrations.chain())
                    _check_identity(pool.writer, path, role, project)
                is_foreign = not read_only and bool(soundness.foreign(pool.writer))
            except BaseException:
                pool.close()
                raise
        found = cls(path, pool, on_commit)
        if is_foreign:
            try:
                found.mend()
            except BaseException:
                found.close()
                raise
        return found

    @property
    def is_writable(self) -> bool:
        """Whether it was opened for writing."""
        return not self._pool.read_only

    def read(
        self, look: Callable[Concatenate[apsw.Connection, P], R], *args: P.args, **kw: P.kwargs
    ) -> R:
        """Run `look(conn, ...)` on one consistent snapshot and return its result.

        Where it meets a row that this program never wrote so, that row is mended first.

        Raises:
            YaadError: UNAVAILABLE when the store is closed, damaged, or cannot be read, and when
                `look` tries to write.
        """
        try:
            return self._read(look, *args, **kw)
        except soundness.FAULTS as error:
            self._mend_after(error)
        return self._read(look, *args, **kw)

    def _read(
        self, look: Callable[Concatenate[apsw.Connection, P], R], *args: P.args, **kw: P.kwargs
    ) -> R:
        with translated_errors(self.path), self._pool.reader() as conn:
            conn.execute("BEGIN")
            try:
                return look(conn, *args, **kw)
            finally:
                if conn.in_transaction:  # SQLite rolls back by itself after a fault
                    conn.execute("ROLLBACK")

    def known(
        self, look: Callable[Concatenate[apsw.Connection, P], R], *args: P.args, **kw: P.kwargs
    ) -> R:
        """Return what `read` does, cached until the next write to this store.

        For small, hashable reads whose result is never changed in place and contains no memory
        text. The store has one writer, so the cache cannot be stale.

        Raises:
            YaadError: as for `read`.
        """
        key = (look, args, *kw.items())
        changes = self._changes  # read first: a write meanwhile makes the cached result stale
        if changes % 2:  # it may have been committed already
            return self.read(look, *args, **kw)
        kept = self._kept.get(key)
        if kept is not None and kept[0] == changes:
            result: R = kept[1]
            return result
        result = self.read(look, *args, **kw)
        if len(self._kept) >= 256:
            self._kept = {}
        self._kept[key] = (changes, result)
        return result

    def examine(self, look: Callable[[apsw.Connection], R]) -> R:
        """Run `look(conn)` on one snapshot, on a new connection without a page cache.

        Raises:
            YaadError: as for `read`.
        """
        with translated_errors(self.path), self._pool.fresh() as conn:
            conn.execute("BEGIN")
            return look(conn)

    def mend(self) -> list[str]:
        """Mend or delete each row that this program never wrote so; return what was done, in words.

        The store as it was is copied to `damaged` beside it first. Foreign triggers and views are
        dropped.

        Raises:
            YaadError: UNAVAILABLE when the store cannot be read, copied or written.
        """
        found = self.examine(soundness.faults)
        if not found:
            return []
        folder = self.path.parent / DAMAGED
        places = (folder / str(number) if number > 1 else folder for number in itertools.count(1))
        aside = next(one for one in places if not os.path.lexists(one / self.path.name))
        self.backup(aside / self.path.name)
        done = self._write(soundness.mend, found)
        _log.warning("store.mended", extra={"path": str(self.path), "rows": done[:20]})
        return done

    def _mend_after(self, error: Exception) -> None:
        """Mend the store if that may have caused `error`.

        Raises:
            Exception: `error`, when no row is at fault.
            YaadError: UNAVAILABLE when the store cannot be mended.
        """
        if self._pool.read_only and self.examine(soundness.faults):
            raise unavailable(
                f"{self.path} has rows that cannot be read ({error}); nothing was changed.",
                "The daemon mends them: yaadwatch start. Then look: yaadwatch verify",
            ) from error
        if self._pool.read_only:
            raise error
        try:
            mended = self.mend()
        except UnicodeDecodeError as more:
            raise damaged(self.path, str(more)) from error
        if not mended and isinstance(error, UnicodeDecodeError):  # in the schema
            raise damaged(self.path, str(error)) from error
        if not mended:
            raise error

    def write(
        self, change: Callable[Concatenate[apsw.Connection, P], R], *args: P.args, **kw: P.kwargs
    ) -> R:
        """Run `change(conn, ...)` in one transaction: all or nothing.

        Changes that wait during a commit share the next one, each behind its own savepoint. So a
        change may run in another change's thread, and again when the disk was full for that one: it
        must change nothing but the store. It returns after the commit.

        Raises:
            YaadError: UNAVAILABLE when the store is closed, damaged, full or locked, or its file is
                not where it was opened. Nothing was changed.
            RuntimeError: called from inside a write of the same thread.
        """
        try:
            return self._write(change, *args, **kw)
        except (apsw.ConstraintError, *soundness.FAULTS) as error:
            self._mend_after(error)
        return self._write(change, *args, **kw)

    def _write(
        self, change: Callable[Concatenate[apsw.Connection, P], R], *args: P.args, **kw: P.kwargs
    ) -> R:
        if self._pool.read_only:
            raise unavailable(f"{self.path} is only read without the daemon; nothing was changed.")
        if self._writer_thread == get_ident():
            raise RuntimeError("a write cannot begin inside a write")
        waiting = self._group.join(lambda conn: change(conn, *args, **kw))
        committed = False
        try:
            with self._writing:
                while not waiting.outcome.done():  # more may wait before it than go together
                    if self._commit_group():
                        committed = True
        finally:
            self._group.leave(waiting)
        if committed and self._on_commit is not None:
            self._on_commit()
        return waiting.outcome.result()

    def rehearse(self, change: Callable[[apsw.Connection], R]) -> R:
        """Run `change(conn)` as `write` does, roll it back, and return its result.

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
        """Write a consistent copy to `target`, 0600; its folder (0700) is created when missing.

        Readers and writers continue meanwhile. An existing `target` is replaced once the copy is
        complete.

        Raises:
            YaadError: UNAVAILABLE when it cannot be written; what was at `target` is still there.
        """
        outcome = "no backup was made"
        with translated_errors(target, outcome):
            make_folder(target.parent, outcome)
            with self._pool.reader() as conn, replacing(target, outcome) as temporary:
                conn.execute("VACUUM INTO ?", (str(temporary),))

    def scrub(self) -> None:
        """Rewrite the file and empty its log, so that no byte of deleted rows is left.

        Page caches of the connections are dropped too.

        Raises:
            YaadError: UNAVAILABLE when there is no space for a second copy of it, or somebody has
                been reading for seconds; what was deleted may still be in the file.
        """
        outcome = "what was deleted may still be in it"
        with self._writing:
            self._require_in_place()
            with self._pool.in_use(), translated_errors(self.path, outcome):
                self._pool.writer.execute("VACUUM")
                self._pool.writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                self._pool.writer.release_memory()
                self._pool.drop_idle()

    def close(self) -> None:
        """Close the store. Calls in progress finish."""
        self._changes += 2
        self._pool.close()

    def is_in_place(self) -> bool:
        """Return whether the file and its log are where they were opened; False once closed."""
        return self._pool.is_in_place()

    def wait_until_unused(self, seconds: float) -> bool:
        """Wait for calls in progress in a closed store; return whether none is left."""
        return self._pool.wait_until_unused(seconds)

    def _commit_group(self) -> bool:
        """Commit the waiting changes; the caller holds `_writing`. Return whether any succeeded.

        Raises:
            BaseException: this thread was interrupted; nothing of it was committed.
        """
        with self._group.taken() as group:
            self._require_in_place()
            with self._pool.in_use(), translated_errors(self.path):
                self._writer_thread = get_ident()
                self._changes += 1
                try:
                    return commit_together(self._pool.writer, group, self.path)
                finally:
                    self._changes += 1
                    self._writer_thread = 0

    def _require_in_place(self) -> None:
        """Refuse to write into a moved or replaced file; the caller holds `_writing`.

        Raises:
            YaadError: UNAVAILABLE.
        """
        with self._pool.in_use():
            if not self._pool.is_in_place():
                raise not_in_place(self.path)


def _make(path: Path, role: Role, project: str) -> None:
    """Create an empty store at `path`, atomically."""
    make_folder(path.parent, "no store was made")
    empty = zlib.decompress(_empty(migrations.chain()))
    with replacing(path, "no store was made", empty) as temporary:
        with closing(apsw.Connection(str(temporary))) as conn:
            # The file gets its name once it is complete and on disk.
            conn.pragma("journal_mode", "memory")
            conn.pragma("synchronous", 0)
            put_meta(conn, "role", role)
            if project:
                put_meta(conn, "project", project)
        # The two bytes of the header that mean a write-ahead log. Otherwise the first open would
        # change them in a transaction, and wait for the disk four times more.
        with temporary.open("r+b") as file:
            file.seek(18)
            file.write(bytes((2, 2)))


@lru_cache(maxsize=1)
def _empty(steps: tuple[migrations.Step, ...]) -> bytes:
    """Return the packed file of an empty store without an owner, about ten kilobytes.

    Running all migrations for each store takes four times as long.
    """
    with closing(apsw.Connection(":memory:")) as conn:
        conn.pragma("application_id", connections.APPLICATION_ID)
        migrations.run(conn, steps)
        return zlib.compress(conn.serialize("main"))


def _check_identity(conn: apsw.Connection, path: Path, role: Role, project: str) -> None:
    found_role, found_project = get_meta(conn, "role"), get_meta(conn, "project") or ""
    if found_role != role:
        raise refused(
            f"{path} is a {found_role} store, not a {role} store; it was not used.",
            "Move it away, then try again.",
        )
    if project not in {"", found_project}:
        raise refused(
            f"{path} belongs to project {found_project}, not to {project}; it was not used.",
            "Move it away. Then, for the newest backup of its own: yaadwatch add --restore",
        )
