"""The stores of projects that are open: lent to whoever asks, closed when nobody does."""

import contextlib
import logging
import os
import shlex
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar

from yaadwatch.engine.stores.deleted_stores import (
    copied,
    keep_deleted,
    may_return_now,
    put_back_or_leave,
    was_deleted,
    withdraw,
)
from yaadwatch.engine.stores.store_places import (
    STORE_FOLDER,
    has_its_number,
    holds_nothing_else,
    number,
    refuse_unsafe,
    stands,
)
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.model.settings import STORE_CLOSING_S, STORE_RETURNED_S, STORES_OPEN_MAX
from yaadwatch.store import meta
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite import resting
from yaadwatch.store.sqlite.database import Database
from yaadwatch.system import dwindling
from yaadwatch.system.clock import Clock

_log: Final = logging.getLogger(__name__)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Returned:
    """A store that was put back, `at_s` on the clock, and what it was put back beside."""

    repository: dwindling.Held
    project: Project
    at_s: float

    def was_wrong(self) -> bool:
        """Return whether the repository was being deleted then, which shows only now.

        Who deletes `.git` alone, to begin anew, keeps what is beside it, and the store with that.
        Of a submodule `.git` is a file, which git takes away where a branch has no such submodule.
        """
        return (
            self.repository.was_deleted()
            and not os.path.lexists(self.project.common_dir)
            and holds_nothing_else(self.project.store.parent.parent)
        )


class Stores:
    """The open stores of projects: at most 16, the least recently used closed first.

    What was deleted underneath is put back before it is closed, or a backup is made of it where it
    may not return: the open store is the last that has it. One that was put back, and whose
    repository was deleted right afterwards with all that was beside it, is taken away again, into a
    backup.

    Args:
        on_commit: told the project's id after each transaction in its store.
        clock: what tells how long a store rests, and when a copy was made.
    """

    def __init__(self, on_commit: Callable[[str], None], clock: Clock | None = None) -> None:
        self._on_commit = on_commit
        self._clock = clock or Clock()
        self._used_at: dict[str, float] = {}
        self._used_last: float | None = None
        self._lock = threading.Condition()
        self._closing: dict[str, Project] = {}
        self._projects: dict[str, Project] = {}
        self._open: OrderedDict[str, Database] = OrderedDict()
        self._users: dict[str, int] = {}
        self._numbers: dict[str, tuple[int, int]] = {}
        self._checking: dict[tuple[str, int], threading.Lock] = {}
        self._returned: dict[str, _Returned] = {}
        self._hurries = 0
        self._waits = True
        self._copied: set[str] = set()

    @contextlib.contextmanager
    def use(self, project: Project, *, in_passing: bool = False) -> Iterator[Database]:
        """Lend the project's database, opened if need be.

        Args:
            project: whose.
            in_passing: it was open anyway, and is not kept open for this.

        Raises:
            YaadError: UNAVAILABLE (missing, corrupt, newer than the program), REFUSED (the store
                is not the one that is registered).
        """
        db = self._borrow(project, in_passing=in_passing)
        try:
            yield db
        finally:
            self._give_back(project.id)

    def look(self, project: Project, ask: Callable[[Connection], R]) -> R:
        """Return what `ask(conn)` reads in the project's store; one at rest stays so.

        Raises:
            YaadError: as for `use`.
        """
        if self._take_at_rest(project):
            try:
                refuse_unsafe(project.store)
                found = resting.look(project.store, project.id, ask)
            finally:
                with self._lock:
                    del self._closing[project.id]
                    self._lock.notify_all()
            if found is not None:
                return found
        with self.use(project, in_passing=True) as db:
            return db.read(ask)

    def checking(self, project: str, worktree: int) -> threading.Lock:
        """Return the lock that keeps two checks of one work tree apart."""
        with self._lock:
            return self._checking.setdefault((project, worktree), threading.Lock())

    def forget(self, project: str) -> None:
        """Keep nothing of a project that is not watched any more."""
        with self._lock:
            self._checking = {
                key: lock for key, lock in self._checking.items() if key[0] != project
            }
            if project not in self._open:
                self._projects.pop(project, None)
                self._numbers.pop(project, None)

    def as_opened(self, project: Project) -> Project:
        """Return a project under the number that its repository has, if that is still the one in
        which its store was opened.

        That of a disk may be another after a restart, and is registered only when that was noticed.
        """
        then = self._numbers.get(project.id)
        if then is None or has_its_number(project):
            return project
        return replace(project, device=then[0], inode=then[1])

    def opened(self, project: str) -> Database | None:
        """Return a project's store if it is open; it may hold what its file no longer does."""
        with self._lock:
            self._wait_until_closed(project)
            return self._open.get(project)

    def close_one(self, project: str) -> None:
        """Close a project's store, if it is open; whoever still uses it gets an error.

        What is being read or written just now is waited for: a store that was deleted and is being
        put back would else come into the place of the next one.
        """
        with self._lock:
            self._wait_until_closed(project)
            db = self._open.pop(project, None)
            self._used_at.pop(project, None)
        if db is not None:
            db.close()
            db.wait_until_unused(STORE_CLOSING_S)
        self._drop_returned(project)

    def keep_replaced(self, project: Project) -> None:
        """Close a store that was deleted and in whose place another one stands; a backup keeps it.

        What is asked there is asked of the other one.

        Raises:
            YaadError: UNAVAILABLE when no backup could be made; it is open still.
        """
        db = self.opened(project.id)
        try:
            if db is None or not db.was_replaced():
                return
        except YaadError:
            if self.opened(project.id) is db:
                raise
            return  # somebody else closed it just now
        with self._lock:
            self._wait_until_closed(project.id)
            if self._open.get(project.id) is not db:
                return  # somebody else did just that
            taken = self._take(project.id)
        self._close_taken(*taken)

    def let_go_if_moved(self, project: str) -> bool:
        """Close a store whose folder was moved, unless somebody uses it: it is not at its place.

        It asks the disk that the project is on, so only who has asked that one already may call it.

        Returns:
            Whether it is open, and its folder was not moved.
        """
        with self._lock:
            db = self._open.get(project)
        if db is None:
            return False
        try:
            if not db.is_moved_with_its_log():
                return True
        except YaadError:
            if self.opened(project) is db:
                raise
            return self.let_go_if_moved(project)  # somebody else let it go just now
        with self._lock:
            if self._open.get(project) is not db or project in self._users:
                return False
            del self._open[project]
            del self._used_at[project]
        db.let_go()
        self._drop_returned(project)
        return False

    @property
    def is_any_open(self) -> bool:
        """Return whether a store is open."""
        return bool(self._open)

    def rest(self, idle: timedelta, *, but_on: int | None = None) -> int:
        """Close the stores that nobody used for so long; return how many those were.

        `but_on`: the number of a disk whose stores stay open.
        """
        now_s = self._clock.monotonic_s()
        before = now_s - idle.total_seconds()
        with self._lock:
            resting = [
                self._take(project)
                for project in list(self._open)
                if project not in self._users
                and self._used_at[project] <= before
                and (but_on is None or self._is_elsewhere(project, but_on))
                and not self._may_have_to_go(project, now_s)
            ]
        return self._put_to_rest(resting)

    def _is_elsewhere(self, project: str, disk: int) -> bool:
        """Return whether a store was opened on another disk. It is locked."""
        return project in self._numbers and self._numbers[project][0] != disk

    def withdraw(self) -> int:
        """Take away what was put back into repositories that are deleted by now; return how many.

        A backup keeps each. One that is in use is left for the next time.
        """
        with self._lock:
            returned = dict(self._returned)
        wrong = [project for project, store in returned.items() if store.was_wrong()]
        with self._lock:
            gone = [
                self._take(project)
                for project in wrong
                if project in self._open and project not in self._users
            ]
        return self._put_to_rest(gone)

    def begins_long_rest(self, idle: timedelta) -> bool:
        """Return, once each time, whether nobody has used any store for so long."""
        before = self._clock.monotonic_s() - idle.total_seconds()
        with self._lock:
            if self._users or self._used_last is None or self._used_last > before:
                return False
            self._used_last = None
            return True

    def hurry(self) -> None:
        """End the waits of those who want to put a store back now: they get an error.

        What is deleted has to be copied, and they keep everybody else from it.
        """
        self._hurries += 1

    def wait_no_more(self) -> None:
        """Put no store back any more where that takes its time."""
        self._waits = False

    def keep_deleted(self) -> None:
        """See that nothing is lost of those whose files were deleted, whatever ends the process.

        All are copied first: to put one back takes its time.

        Raises:
            YaadError: UNAVAILABLE when one could neither be put back nor copied; the others were.
        """
        with self._lock:
            found = [(self._projects[project], db) for project, db in self._open.items()]
        deleted = []
        for project, db in found:
            with contextlib.suppress(YaadError):  # somebody closed it just now, and has kept it
                if was_deleted(db):
                    deleted.append((project, db))
        copies = {project.id: copied(project, db, self._clock.now()) for project, db in deleted}
        self._copied = {project for project, copy in copies.items() if isinstance(copy, Path)}
        lost = None
        for project, db in deleted:
            try:
                put_back_or_leave(self.as_opened(project), db, copies[project.id])
                if not was_deleted(db):
                    self._copied.discard(project.id)  # its copy went, and it may be deleted again
            except YaadError as error:
                lost = lost or error
        if lost is not None:
            raise lost

    def close(self) -> None:
        """Close every store."""
        with self._lock:
            self._lock.wait_for(lambda: not self._closing, STORE_CLOSING_S)
            found = [(self._projects[project], db) for project, db in self._open.items()]
            self._open.clear()
        for project, db in found:
            try:
                if project.id not in self._copied or not was_deleted(db):
                    self._keep(project, db)
            except YaadError:
                _log.exception("store.lost", extra={"project": project.id})
            db.close()
            self._drop_returned(project.id)

    def _borrow(self, project: Project, *, in_passing: bool) -> Database:
        with self._lock:
            self._wait_until_closed(project.id)
            db = self._open.get(project.id)
            if db is None:
                db = self._open_store(project)
                self._open[project.id] = db
            self._projects[project.id] = project  # as it is registered now
            self._open.move_to_end(project.id)
            self._users[project.id] = self._users.get(project.id, 0) + 1
            if not in_passing or project.id not in self._used_at:
                self._used_at[project.id] = self._clock.monotonic_s()
                self._used_last = self._used_at[project.id]
            resting = self._too_many()
        self._put_to_rest(resting)
        return db

    def _take_at_rest(self, project: Project) -> bool:
        """Keep a store that is not open from being opened; False: it is open."""
        with self._lock:
            self._wait_until_closed(project.id)
            if project.id in self._open:
                return False
            self._closing[project.id] = project
            return True

    def _give_back(self, project: str) -> None:
        with self._lock:
            left = self._users[project] - 1
            if left:
                self._users[project] = left
            else:
                del self._users[project]
            resting = self._too_many()
        self._put_to_rest(resting)

    def _wait_until_closed(self, project: str) -> None:
        """Wait until a store is not being put to rest, or looked into; the lock is held."""
        self._lock.wait_for(lambda: project not in self._closing)

    def _too_many(self) -> list[tuple[Project, Database]]:
        """Take the stores out that there is no room for; the lock is held."""
        idle = [project for project in self._open if project not in self._users]
        return [
            self._take(project) for project in idle[: max(len(self._open) - STORES_OPEN_MAX, 0)]
        ]

    def _take(self, project: str) -> tuple[Project, Database]:
        """Take a store out, to be put to rest; until then nobody opens it again. It is locked."""
        db = self._open.pop(project)
        del self._used_at[project]
        self._closing[project] = self._projects[project]
        return self._projects[project], db

    def _put_to_rest(self, resting: Iterable[tuple[Project, Database]]) -> int:
        """Close stores, whose disks may be slow, while others are lent; return how many those were.

        One that was deleted, and of which no copy can be made now, stays open.
        """
        closed = 0
        for project, db in resting:
            try:
                self._close_taken(project, db)
                closed += 1
            except YaadError:
                _log.exception("store.not_closed", extra={"project": project.id})
        return closed

    def _close_taken(self, project: Project, db: Database) -> None:
        """Close a store that was taken out; whoever still uses it gets an error.

        Raises:
            YaadError: UNAVAILABLE when it was deleted and no copy can be made; it is open still.
        """
        kept = False
        try:
            self._keep(project, db)
            kept = True
            db.close()
            db.wait_until_unused(STORE_CLOSING_S)
            self._drop_returned(project.id)
        finally:
            with self._lock:
                if not kept:
                    self._open[project.id] = db
                    self._used_at[project.id] = self._clock.monotonic_s()
                del self._closing[project.id]
                self._lock.notify_all()

    def _keep(self, project: Project, db: Database) -> None:
        """See that nothing is lost of an open store that is closed now, nor left where it is not
        wanted.

        Raises:
            YaadError: UNAVAILABLE when it could neither be put back nor copied.
        """
        now = self._clock.now()
        returned = self._returned.get(project.id)
        if returned is not None and returned.was_wrong():
            withdraw(project, db, now)
            _log.warning("store.withdrawn", extra={"project": project.id})
        else:
            keep_deleted(self.as_opened(project), db, now)

    def _may_have_to_go(self, project: str, now_s: float) -> bool:
        """Return whether a store was put back not long ago. It is locked."""
        returned = self._returned.get(project)
        return returned is not None and now_s - returned.at_s < STORE_RETURNED_S

    def _drop_returned(self, project: str) -> None:
        with self._lock:
            returned = self._returned.pop(project, None)
        if returned is not None:
            returned.repository.close()

    def _may_return(self, project: Project) -> bool:
        """Return whether a store that was deleted may be put back; see `may_return_now`."""
        hurries = self._hurries
        may = may_return_now(
            self.as_opened(project),
            self._clock,
            patient=lambda: self._waits and self._hurries == hurries,
        )
        if may and project.store.parent.name == STORE_FOLDER:
            with contextlib.suppress(OSError):  # it is just being deleted, or no file may be opened
                repository = dwindling.Held(project.store.parent.parent / ".git")
                self._drop_returned(project.id)
                with self._lock:
                    at_s = self._clock.monotonic_s()
                    self._returned[project.id] = _Returned(repository, project, at_s)
        return may

    def _open_store(self, project: Project) -> Database:
        if not stands(project.store):
            root = shlex.quote(str(project.root))
            raise YaadError(
                Code.UNAVAILABLE,
                f"The store of {project.root} is not at {project.store}.",
                hint=f"From the newest backup: yaadwatch add --restore {root}. "
                "Without --restore an empty one is made.",
            )
        refuse_unsafe(project.store)
        before = number(project.common_dir)
        db = Database.open(
            project.store,
            role="project",
            on_commit=lambda: self._on_commit(project.id),
            may_return=lambda: self._may_return(self._projects.get(project.id, project)),
        )
        try:
            found = db.read(meta.get, "project")
        except BaseException:  # it was deleted just now, or no further file may be opened
            db.close()
            raise
        if found != project.id:
            db.close()
            raise YaadError(
                Code.REFUSED,
                f"The store at {project.store} belongs to another project; it was not used.",
                hint="If you copied the repository: "
                f"yaadwatch add {shlex.quote(str(project.root))}",
            )
        self._numbers.pop(project.id, None)
        if before is not None and number(project.common_dir) == before:
            self._numbers[project.id] = before
        return db
