"""Open and pool SQLite connections, and commit concurrent changes together.

Each connection checks that SQLite accepted its settings. A pool holds one writer, a few warm
readers and the descriptor of the file. Changes that wait during a commit share the next
transaction, each behind its own savepoint, so a failing change undoes only itself. No caller gets
an answer before the commit.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Condition, Lock
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

import apsw

from yaadwatch.db import visibility
from yaadwatch.db.files import StoreFile, not_in_place, refused, translated_errors, unavailable
from yaadwatch.model.errors import YaadError

APPLICATION_ID: Final = 0x79616164
"""In the header of every store; reads 'yaad'."""

_BUSY_MS: Final = 5_000
_LENGTH_MAX: Final = 64 * 1024 * 1024
"""A longer value is not read: no row of ours is a hundredth of it."""


def probe(path: Path) -> int:
    """Return the schema version in the file header at `path`, without leaving a trace.

    Raises:
        YaadError: UNAVAILABLE; the file is no database, or one of another program.
    """
    # SQLite would read the schema, too. Half of that may still be in the log, after a kill in the
    # middle of a checkpoint: the file alone then looks damaged.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            header = file.read(100)
    except OSError as error:
        raise apsw.CantOpenError(error.strerror) from error
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        raise apsw.NotADBError("file is not a database")
    if int.from_bytes(header[68:72]) != APPLICATION_ID:
        raise unavailable(
            f"{path} is not a yaadwatch store; nothing was changed.",
            "Move it away, then try again.",
        )
    return int.from_bytes(header[60:64])


def still(path: Path) -> apsw.Connection:
    """Return a connection to a file without writers: no lock, no log replay, and no file beside
    it.
    """
    conn = apsw.Connection(
        f"file:{quote(str(path))}?immutable=1",
        flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW,
    )
    conn.limit(apsw.SQLITE_LIMIT_LENGTH, _LENGTH_MAX)
    conn.execute(visibility.TABLE)
    return conn


def state_at_rest(path: Path) -> tuple[int, ...] | None:
    """Return a value that changes with every write; None when the file is missing or has a log.

    What is in a log is not yet in the file.
    """
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if os.path.lexists(f"{path}-wal") or os.path.lexists(f"{path}-journal"):
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@contextmanager
def undisturbed(path: Path) -> Iterator[tuple[int, ...] | None]:
    """Refuse what a block read with `read_only` if another process began or ended writing.

    A store at rest is read without a lock: pages of two states could be mixed.

    Raises:
        YaadError: UNAVAILABLE.
    """
    before = state_at_rest(path)
    try:
        yield before
    finally:
        if state_at_rest(path) != before:
            raise unavailable(f"{path} was written to meanwhile; nothing was read.", "Try again.")


def writer(path: Path) -> apsw.Connection:
    """Return a connection that may write.

    Raises:
        YaadError: UNAVAILABLE when a setting did not take.
    """
    return _connect(path, apsw.SQLITE_OPEN_READWRITE, cache_kib=2_048)


def reader(path: Path) -> apsw.Connection:
    """Return a connection that cannot write, except to temporary tables.

    Raises:
        YaadError: UNAVAILABLE when a setting did not take.
    """
    return _connect(path, apsw.SQLITE_OPEN_READONLY, cache_kib=256)


def read_only(path: Path) -> apsw.Connection:
    """Return a connection to a store that this process does not write to.

    The log of an open or crashed store is read with it. Without a log no file appears beside it.
    SQLite needs a file of its own beside a log; where none can be made, a copy is read.

    Raises:
        YaadError: UNAVAILABLE when a setting did not take or the log cannot be read, REFUSED when
            the log is no plain file.
    """
    log = path.with_name(f"{path.name}-wal")
    if not os.path.lexists(log):
        return still(path)
    if log.is_symlink() or not log.is_file():
        raise refused(
            f"{log} is a link, or no plain file; nothing was read.", "Remove it, then try again."
        )
    try:
        return reader(path)
    except apsw.CantOpenError:
        return _reader_of_copy(path, log)


def _reader_of_copy(path: Path, log: Path) -> apsw.Connection:
    import shutil
    from tempfile import TemporaryDirectory

    before = path.stat().st_mtime_ns, log.stat().st_mtime_ns
    try:
        with TemporaryDirectory(prefix="yaadwatch-", ignore_cleanup_errors=True) as folder:
            for source in (path, log):
                shutil.copyfile(source, Path(folder, source.name), follow_symlinks=False)
            if (path.stat().st_mtime_ns, log.stat().st_mtime_ns) != before:
                raise unavailable(
                    f"{path} was written to meanwhile; nothing was read.", "Try again."
                )
            conn = reader(Path(folder, path.name))
            # The log is opened by the first read; both files stay readable when they are removed.
            conn.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            return conn
    except OSError as error:
        raise unavailable(
            f"{path} cannot be copied to be read ({error.strerror}); nothing was read.",
            "Free some space in the folder for temporary files, or set TMPDIR to another.",
        ) from error


def discard(conn: apsw.Connection) -> None:
    """Close a connection whose file is gone or replaced, leaving the logs at its path alone."""
    conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    conn.close()


def _connect(path: Path, flags: int, *, cache_kib: int) -> apsw.Connection:
    conn = apsw.Connection(
        str(path), flags=flags | apsw.SQLITE_OPEN_NOFOLLOW, statementcachesize=256
    )
    # Set first: the first access may meet another connection that is closing.
    conn.set_busy_timeout(_BUSY_MS)
    conn.limit(apsw.SQLITE_LIMIT_LENGTH, _LENGTH_MAX)
    try:
        if flags == apsw.SQLITE_OPEN_READWRITE:
            conn.pragma("journal_mode", "wal")
        _settle(conn, path, cache_kib=cache_kib)
    except BaseException:
        discard(conn)
        raise
    return conn


def _settle(conn: apsw.Connection, path: Path, *, cache_kib: int) -> None:
    wanted: dict[str, int | str] = {
        "busy_timeout": _BUSY_MS,
        "cache_size": -cache_kib,
        "foreign_keys": 1,
        "mmap_size": 0,
        "synchronous": 1,  # NORMAL: an acknowledged commit outlives the process
        "temp_store": 2,  # memory
        "trusted_schema": 0,
    }
    for name, value in wanted.items():
        conn.pragma(name, value)
    found: dict[str, int | str] = {name: conn.pragma(name) for name in wanted} | {
        "defensive": conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        "journal_mode": conn.pragma("journal_mode"),
    }
    for name, value in {"journal_mode": "wal", "defensive": 1, **wanted}.items():
        if found[name] != value:
            raise unavailable(
                f"{path} cannot be used safely here: {name} is {found[name]}, not {value};"
                " nothing was changed.",
                "Keep it on a local disk.",
            )
    conn.execute(visibility.TABLE)


_log: Final = logging.getLogger(__name__)


class Pool:
    """The open connections of one file. After `close` it closes once no caller uses it."""

    def __init__(self, file: StoreFile, *, read_only: bool = False) -> None:
        """Take over `file`, and open the writer unless it is `read_only`.

        Raises:
            apsw.Error, YaadError: it could not be opened; `file` is closed.
        """
        self._file = file
        self._guard = Condition()
        self._idle: list[apsw.Connection] = []  # last in, first out: the warmest
        self._idle_state: tuple[int, ...] | None = None  # of the file that they read, at rest
        self._users = 0
        self._closing = False
        self.read_only = read_only
        if read_only:
            return
        try:
            self.writer = writer(file.path)
            self.writer.pragma("user_version")  # the first read creates the write-ahead log
            file.note_write_ahead()
        except BaseException:
            file.close()
            raise

    @property
    def path(self) -> Path:
        """Where the file was opened, with no link in its folders."""
        return self._file.path

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep everything open during a block.

        Raises:
            YaadError: UNAVAILABLE when it was closed.
        """
        with self._guard:
            self._enter()
        try:
            yield
        finally:
            with self._guard:
                self._leave()

    @contextmanager
    def reader(self) -> Iterator[apsw.Connection]:
        """Lend a connection that cannot write.

        Raises:
            YaadError: UNAVAILABLE when it was closed, or a further connection is needed and the
                file is not where it was opened, or it is `read_only` and was written to meanwhile.
        """
        if not self.read_only:
            with self._lent() as conn:
                yield conn
            return
        with undisturbed(self.path) as state:
            if state != self._idle_state:
                self.drop_idle()
                self._idle_state = state
            with self._lent() as conn:
                yield conn

    @contextmanager
    def _lent(self) -> Iterator[apsw.Connection]:
        with self._guard:
            self._enter()
            conn = self._idle.pop() if self._idle else None
        try:
            conn = conn or self._new_reader()
            yield conn
        finally:
            with self._guard:
                try:
                    if conn is not None and len(self._idle) < 2:
                        self._idle.append(conn)
                    elif conn is not None:
                        conn.close()
                finally:
                    self._leave()

    @contextmanager
    def fresh(self) -> Iterator[apsw.Connection]:
        """Lend a new connection that cannot write; it is closed afterwards.

        Raises:
            YaadError: as for `reader`.
        """
        with self.in_use(), undisturbed(self.path) if self.read_only else nullcontext():
            conn = self._new_reader()
            try:
                yield conn
            finally:
                conn.close()

    def drop_idle(self) -> None:
        """Close idle readers and free their page caches."""
        with self._guard:
            idle, self._idle = self._idle, []
        for conn in idle:
            conn.close()

    def is_in_place(self) -> bool:
        """Return whether the file is where it was opened; False once closed."""
        return not self._closing and self._file.is_in_place()

    def close(self) -> None:
        """Close everything, and what is in use as soon as it is released."""
        with self._guard:
            self._closing = True
            self._close_if_unused()

    def wait_until_unused(self, seconds: float) -> bool:
        """Wait at most `seconds` until nothing is in use; return whether that is so."""
        with self._guard:
            return self._guard.wait_for(lambda: not self._users, seconds)

    def _enter(self) -> None:
        """Count a user; the caller holds `_guard`."""
        if self._closing:
            raise unavailable(f"{self._file.path} was closed; nothing was changed.", "Try again.")
        self._users += 1

    def _leave(self) -> None:
        """Release a user; the caller holds `_guard`."""
        self._users -= 1
        self._guard.notify_all()
        self._close_if_unused()

    def _new_reader(self) -> apsw.Connection:
        # Checked before, so that a file that took its place is not touched; and after,
        # for the moment in between.
        if not self._file.is_in_place():
            raise not_in_place(self._file.path)
        path = self._file.path
        conn = read_only(path) if self.read_only else reader(path)
        if self._file.is_in_place():
            return conn
        discard(conn)
        raise not_in_place(self._file.path)

    def _close_if_unused(self) -> None:
        """Close everything if it is due; the caller holds `_guard`."""
        if not self._closing or self._users or self._file.closed:
            return
        # Closing the last connection writes the log into whatever file is at that path.
        in_place = self._file.is_in_place()
        try:
            self._file.drop_logs_if_replaced()
        except OSError as error:
            _log.warning(
                "store.log_left", extra={"path": str(self._file.path), "why": error.strerror}
            )
        for conn in [*self._idle, *([] if self.read_only else [self.writer])]:
            if in_place and not self.read_only:
                conn.close()
            else:
                discard(conn)
        self._idle.clear()
        self._file.close()


R = TypeVar("R")


class Waiting(Generic[R]):
    """A change that waits for its transaction, and its outcome."""

    def __init__(self, change: Callable[[apsw.Connection], R]) -> None:
        self.change = change
        self.outcome: Future[R] = Future()

    def fail(self, error: BaseException) -> None:
        """Set the error, unless the outcome is known."""
        if not self.outcome.done():
            self.outcome.set_exception(error)


class Group:
    """The changes that wait for the writer connection. `join` may be called from any thread."""

    def __init__(self) -> None:
        self._queue: deque[Waiting[Any]] = deque()
        self._guard = Lock()

    def join(self, change: Callable[[apsw.Connection], R]) -> Waiting[R]:
        """Add a change for the next transaction."""
        waiting = Waiting(change)
        with self._guard:
            self._queue.append(waiting)
        return waiting

    def leave(self, waiting: Waiting[Any]) -> None:
        """Withdraw a change that its thread no longer waits for."""
        if not waiting.outcome.done():
            with self._guard:
                if waiting in self._queue:
                    self._queue.remove(waiting)

    @contextmanager
    def taken(self) -> Iterator[list[Waiting[Any]]]:
        """Take at most 64 waiting changes; each has an outcome in the end.

        An error in the block becomes the outcome of every change that has none yet, and is raised
        in its own thread.

        Raises:
            BaseException: this thread was interrupted, or told to end.
        """
        with self._guard:
            rows = [self._queue.popleft() for _ in range(min(len(self._queue), 64))]
        try:
            yield rows
        except BaseException as error:
            ended = not isinstance(error, Exception)
            said = unavailable("The write was interrupted; nothing was changed.")
            for row in rows:
                row.fail(said if ended else error)
            if ended:
                raise


def commit_together(conn: apsw.Connection, rows: Sequence[Waiting[Any]], path: Path) -> bool:
    """Run changes in one transaction and commit the successful ones; return whether there were any.

    When one change rolled back the whole transaction, the others run again, each alone.

    Raises:
        apsw.Error: the transaction could not begin, or could not be committed: no change of it was
            made.
    """
    made: list[tuple[Waiting[Any], Any]] = []
    alone = len(rows) == 1
    conn.execute("BEGIN IMMEDIATE")
    try:
        whole = all(_make(conn, row, path, made, alone=alone) for row in rows)
        if whole and made:
            conn.execute("COMMIT")
    except apsw.FullError:
        if alone:
            raise
        whole = False
    finally:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
    if not whole:
        done = [_commit_alone(conn, row, path) for row in rows if not row.outcome.done()]
        return True in done
    for row, result in made:
        row.outcome.set_result(result)
    return bool(made)


def _make(
    conn: apsw.Connection,
    row: Waiting[Any],
    path: Path,
    made: list[tuple[Waiting[Any], Any]],
    *,
    alone: bool,
) -> bool:
    """Run one change, or undo its part; return False when the whole transaction was rolled back.

    After some faults (no space, a broken disk) SQLite rolls back the whole transaction by itself.
    """
    if not alone:
        conn.execute("SAVEPOINT one")
    try:
        with translated_errors(path):
            result = row.change(conn)
    except BaseException as error:  # noqa: BLE001  (its own thread raises it)
        row.fail(error)
        if not conn.in_transaction:
            return False
        if not alone:
            conn.execute("ROLLBACK TO one")
    else:
        made.append((row, result))
    if not alone:
        conn.execute("RELEASE one")
    return True


def _commit_alone(conn: apsw.Connection, row: Waiting[Any], path: Path) -> bool:
    try:
        with translated_errors(path):
            return commit_together(conn, [row], path)
    except YaadError as error:
        row.fail(error)
        return False
