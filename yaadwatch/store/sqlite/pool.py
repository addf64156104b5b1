"""The connections to one file: a writer, a few warm readers, and the descriptor they all need."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Condition
from typing import Final

import apsw

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.store.sqlite import connections
from yaadwatch.store.sqlite.faults import unavailable
from yaadwatch.store.sqlite.files import Place, StoreFile

_log: Final = logging.getLogger(__name__)

_READERS_KEPT: Final = 2


class OutOfPlace(YaadError):
    """The file is not where it was opened, so no further connection to it can be had."""


class Pool:
    """What is open of one file. It closes when it was told to and nobody uses it any more."""

    def __init__(self, file: StoreFile) -> None:
        """Take over `file`, and open the writer.

        Raises:
            apsw.Error, YaadError: it could not be opened; `file` is closed.
        """
        self._file = file
        self._guard = Condition()
        self._idle: list[apsw.Connection] = []  # the last one in is the warmest
        self._users = 0
        self._closing = False
        self._abandoned = False
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
            OutOfPlace: the file was put back, and another pool has it.
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
            OutOfPlace: a further connection is needed, and the file is gone.
            YaadError: UNAVAILABLE when it was closed.
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
            OutOfPlace, YaadError: as for `reader`.
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

    def place(self) -> Place:
        """Return whether the file is where it was opened."""
        with self.in_use():
            return self._file.place()

    def is_moved_with_its_log(self) -> bool:
        """Return whether the file and its log were moved: nothing of ours is where they were."""
        with self.in_use():
            return self._file.is_moved_with_its_log()

    def was_replaced(self) -> bool:
        """Return whether the file was deleted, and something else stands in its place."""
        with self.in_use():
            return self._file.was_replaced()

    def close(self) -> None:
        """Close everything, what is in use as soon as it is not."""
        with self._guard:
            self._closing = True
            self._close_if_unused()

    def wait_until_unused(self, seconds: float) -> bool:
        """Wait until nothing is in use; say whether that is so after `seconds` at most."""
        with self._guard:
            return self._guard.wait_for(lambda: not self._users, seconds)

    def abandon(self) -> None:
        """Close everything, and leave alone what now stands at the path of the file."""
        with self._guard:
            self._abandoned = True
            self._closing = True
            self._close_if_unused()

    def _enter(self) -> None:
        """Count a user; `_guard` is held."""
        if self._abandoned:
            raise OutOfPlace(
                Code.UNAVAILABLE,
                f"{self._file.path} is just being opened anew; nothing was changed.",
                "Try again.",
            )
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
        if self._file.place() is Place.HERE:
            try:
                conn = connections.reader(self._file.path)
            except apsw.Error as error:
                if self._file.place() is Place.HERE:
                    raise
                raise self._replaced() from error
            if self._file.place() is Place.HERE:
                return conn
            connections.discard(conn)
        raise self._replaced()

    def _replaced(self) -> OutOfPlace:
        return OutOfPlace(
            Code.UNAVAILABLE, f"{self._file.path} was replaced just now.", "Try again."
        )

    def _close_if_unused(self) -> None:
        """Close everything if it is time; `_guard` is held."""
        if not self._closing or self._users or self._file.closed:
            return
        try:
            self._file.drop_logs_if_replaced()
        except OSError as error:
            _log.warning(
                "store.log_left", extra={"path": str(self._file.path), "why": error.strerror}
            )
        for conn in [*self._idle, self.writer]:
            if self._abandoned:
                connections.discard(conn)
            else:
                conn.close()
        self._idle.clear()
        self._file.close()
