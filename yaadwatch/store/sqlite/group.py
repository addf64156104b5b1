"""Group commit: changes that wait while one is being committed share the next transaction.

Each runs behind a savepoint of its own, so that one that fails takes nothing from the others; and
nobody gets an answer before the commit.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Final, Generic, TypeVar

import apsw

from yaadwatch.model.errors import YaadError
from yaadwatch.store.sqlite.faults import told, unavailable

R = TypeVar("R")

TOGETHER_MAX: Final = 64
"""Changes in one transaction; a reader sees none of them before the last one is done."""


class Waiting(Generic[R]):
    """A change that waits for its transaction, and then what became of it."""

    def __init__(self, change: Callable[[apsw.Connection], R]) -> None:
        self._change = change
        self._outcome: Callable[[], R] | None = None

    @property
    def done(self) -> bool:
        """Whether it is known what became of it."""
        return self._outcome is not None

    def run(self, conn: apsw.Connection) -> R:
        """Make the change."""
        return self._change(conn)

    def succeed(self, result: R) -> None:
        """Note what it returned."""
        self._outcome = lambda: result

    def fail(self, error: BaseException) -> None:
        """Note what it raised."""

        def outcome() -> R:
            raise error

        self._outcome = outcome

    def result(self) -> R:
        """Return what the change returned, or raise what it raised."""
        if self._outcome is None:
            raise RuntimeError("nobody made this change")
        return self._outcome()


class Group:
    """The changes that wait for the connection that writes. `join` is for any thread."""

    def __init__(self) -> None:
        self._queue: deque[Waiting[Any]] = deque()
        self._guard = Lock()

    def join(self, change: Callable[[apsw.Connection], R]) -> Waiting[R]:
        """Have `change` made by whoever writes next."""
        waiting = Waiting(change)
        with self._guard:
            self._queue.append(waiting)
        return waiting

    def leave(self, waiting: Waiting[Any]) -> None:
        """Let nobody make a change any more that its own thread no longer waits for."""
        if not waiting.done:
            with self._guard:
                if waiting in self._queue:
                    self._queue.remove(waiting)

    @contextmanager
    def taken(self) -> Iterator["Taken"]:
        """Take the changes that wait, at most TOGETHER_MAX; each has an outcome in the end.

        What is raised inside becomes the outcome of all that have none yet, each raised by its own
        thread.

        Raises:
            BaseException: this thread was interrupted, or told to end.
        """
        with self._guard:
            rows = [self._queue.popleft() for _ in range(min(len(self._queue), TOGETHER_MAX))]
        group = Taken(rows)
        try:
            yield group
        except BaseException as error:
            if not isinstance(error, Exception):
                group.fail(unavailable("The write was interrupted; nothing was changed."))
                raise
            group.fail(error)


class Taken:
    """The changes of one transaction."""

    def __init__(self, rows: Sequence[Waiting[Any]]) -> None:
        self._rows = rows

    def commit(self, conn: apsw.Connection, path: Path) -> bool:
        """Make the changes, and commit those that went well; return whether there were any.

        When everything was undone because of one of them, the others are made again, each alone.

        Raises:
            apsw.Error: the transaction could not begin, or could not be committed: no change of it
                was made.
        """
        made: list[tuple[Waiting[Any], Any]] = []
        conn.execute("BEGIN IMMEDIATE")
        try:
            whole = all(self._make(conn, row, path, made) for row in self._rows)
            if whole and made:
                conn.execute("COMMIT")
        except apsw.FullError:
            if len(self._rows) == 1:
                raise
            whole = False
        finally:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
        if not whole:
            done = [_commit_alone(conn, row, path) for row in self._rows if not row.done]
            return True in done
        for row, result in made:
            row.succeed(result)
        return bool(made)

    def fail(self, error: BaseException) -> None:
        """Make this the outcome of those that have none."""
        for row in self._rows:
            if not row.done:
                row.fail(error)

    def _make(
        self, conn: apsw.Connection, row: Waiting[Any], path: Path, made: list[tuple[Any, Any]]
    ) -> bool:
        """Make one change, or undo what there is of it; False when everything was undone with it.

        After some faults (no space, a broken disk) SQLite undoes the whole transaction by itself.
        """
        alone = len(self._rows) == 1
        if not alone:
            conn.execute("SAVEPOINT one")
        try:
            with told(path):
                result = row.run(conn)
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
        with told(path):
            return Taken([row]).commit(conn, path)
    except YaadError as error:
        row.fail(error)
        return False
