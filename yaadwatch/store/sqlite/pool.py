"""The connections to one file: a writer, a few warm readers, and the descriptor they all need."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Condition
from typing import Final

import apsw

from yaadwatch.store.sqlite import connections
from yaadwatch.store.sqlite.faults import not_in_place, unavailable
from yaadwatch.store.sqlite.files import StoreFile

_log: Final = logging.getLogger(__name__)

_READERS_KEPT: Final = 2


class Pool:
    """What is open of one file. It closes when it was told to and nobody uses it any more."""

    def __init__(self, file: StoreFile, *, read_only: bool = False) -> None:
        """Take over `file`, and open the writer unless it is `read_only`.

        Raises:
            apsw.Error, YaadError: it could not be opened; `file` is closed.
        """
        self._file = file
        self._guard = Condition()
        self._idle: list[apsw.Connection] = []  # the last one in is the warmest
        self._users = 0
        self._closing = False
        self.read_only = read_only
        if read_only:
            return
        try:
            self.writer = connections.writer(file.path)
            self.writer.pragma("user_version")  # the first look makes the write-ahead log
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
        """Keep everything open for a while.

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
                file is not where it was opened.
        """
        with self._guard:
            self._enter()
            conn = self._idle.pop() if self._idle else None
        try:
            conn = conn or self._new_reader()
            yield conn
        finally:
            with self._guard:
                try:
                    if conn is not None and len(self._idle) < _READERS_KEPT:
                        self._idle.append(conn)
                    elif conn is not None:
                        conn.close()
                finally:
                    self._leave()

    @contextmanager
    def fresh(self) -> Iterator[apsw.Connection]:
        """Lend a connection that cannot write and has seen nothing yet; it is closed afterwards.

        Raises:
            YaadError: as for `reader`.
        """
        with self.in_use():
            conn = self._new_reader()
            try:
                yield conn
            finally:
                conn.close()

    def drop_idle(self) -> None:
        """Close the readers that nobody uses, with the pages that they keep."""
        with self._guard:
            idle, self._idle = self._idle, []
        for conn in idle:
            conn.close()

    def is_in_place(self) -> bool:
        """Return whether the file is where it was opened; False once it was closed."""
        return not self._closing and self._file.is_in_place()

    def close(self) -> None:
        """Close everything, what is in use as soon as it is not."""
        with self._guard:
            self._closing = True
            self._close_if_unused()

    def wait_until_unused(self, seconds: float) -> bool:
        """Wait until nothing is in use; say whether that is so after `seconds` at most."""
        with self._guard:
            return self._guard.wait_for(lambda: not self._users, seconds)

    def _enter(self) -> None:
        """Count a user; `_guard` is held."""
        if self._closing:
            raise unavailable(f"{self._file.path} was closed; nothing was changed.", "Try again.")
        self._users += 1

    def _leave(self) -> None:
        """Count a user no more; `_guard` is held."""
        self._users -= 1
        self._guard.notify_all()
        self._close_if_unused()

    def _new_reader(self) -> apsw.Connection:
        # Asked before, so that nothing of ours happens to a file that took its place; and after,
        # for the moment in between.
        if not self._file.is_in_place():
            raise not_in_place(self._file.path)
        path = self._file.path
        conn = connections.read_only(path) if self.read_only else connections.reader(path)
        if self._file.is_in_place():
            return conn
        connections.discard(conn)
        raise not_in_place(self._file.path)

    def _close_if_unused(self) -> None:
        """Close everything if it is time; `_guard` is held."""
        if not self._closing or self._users or self._file.closed:
            return
        # To close the last connection writes the log into the file at that path, whichever it is.
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
                connections.discard(conn)
        self._idle.clear()
        self._file.close()
