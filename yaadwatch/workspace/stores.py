"""Keep the stores of projects open while callers use them, and close them when idle."""

import contextlib
import os
import shlex
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

from yaadwatch import places
from yaadwatch.db import database
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.model.settings import STORE_CLOSING_S, STORES_OPEN_MAX
from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.layout import Layout
from yaadwatch.system import files
from yaadwatch.system.clock import Clock, Patience

SETTINGS_FOLDER = ".yaad"
"""The folder of a work tree in which a team may keep a `config.toml` for the project."""


def is_of(project: Project, layout: Layout) -> bool:
    """Return whether a repository belongs to a project, by its id or by its registered path."""
    if layout.common_dir == project.common_dir:
        return project.by_path or repo_layout.project_id(layout.common_dir) == project.id
    return repo_layout.project_id(layout.common_dir) == project.id


def is_there(project: Project) -> bool:
    """Return whether the repository of a project is at its registered place."""
    place = project.common_dir
    if os.path.realpath(place) != str(place) or not os.path.lexists(project.root):
        return False
    if project.by_path:
        return os.path.lexists(place / "HEAD")
    return repo_layout.project_id(place) == project.id and not is_deinited(project)


_disks: Final[Patience[bool]] = Patience()


def answers(project: Project) -> bool:
    """Return whether the network disks that a project is on answer within two seconds."""
    root = Path("/")
    disks = {
        disk
        for disk in files.networks(root) - {root}
        if any(place.is_relative_to(disk) for place in (project.root, project.common_dir))
    }
    return all(_disks.ask(disk, partial(_does_answer, disk)) for disk in disks)


def _does_answer(disk: Path) -> bool:
    with contextlib.suppress(OSError):  # an error is an answer, too
        os.statvfs(disk)
    return True


def why_missing(project: Project) -> str:
    """Return why the repository of a project is not at its place; '' when it is.

    Raises:
        YaadError: UNAVAILABLE when that cannot be determined.
    """
    since = f"gone since {day(project.gone_at)}: " if project.gone_at is not None else ""
    place = project.common_dir
    if is_there(project):
        return f"{since}{place} was not checked yet, or is another repository" if since else ""
    try:
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return f"{since}{place} is not there"
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{place} cannot be looked at ({error.strerror}).",
            hint="Look at the permissions of the folders above it.",
        ) from error
    if os.path.realpath(place) != str(place):
        return f"{since}a link leads from {place} to {os.path.realpath(place)}"
    if is_deinited(project):
        return f"{project.root} is a submodule that is not checked out (git submodule deinit)"
    if not os.path.lexists(project.root):
        return f"{since}{project.root} is not there"
    return f"{since}{place} is another repository now"


def is_deinited(project: Project) -> bool:
    """Return whether a project is a submodule whose work tree git emptied.

    Its repository stays inside the superproject's.
    """
    return (
        project.common_dir != project.root / ".git"
        and any(pair == (".git", "modules") for pair in pairwise(project.common_dir.parts))
        and not os.path.lexists(project.root / ".git")
    )


def exclude_file(common_dir: Path) -> Path:
    """Return the repository's own exclude file, which git does not share."""
    return common_dir / "info" / "exclude"


def day(at: datetime) -> str:
    """Return a day in the format of messages."""
    return f"{at.astimezone():%Y-%m-%d}"


R = TypeVar("R")


class Stores:
    """The open stores of projects: at most 16, the least recently used closed first.

    Args:
        on_commit: called with the project's id after each transaction in its store.
        clock: measures how long a store has been idle.
        read_only: change no store; another process may have them open.
    """

    def __init__(
        self,
        on_commit: Callable[[str], None] | None = None,
        clock: Clock | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        self._on_commit = on_commit
        self._clock = clock or Clock()
        self._read_only = read_only
        self._used_at: dict[str, float] = {}
        self._used_last: float | None = None
        self._lock = threading.Condition()
        self._closing: set[str] = set()
        self._open: OrderedDict[str, Database] = OrderedDict()
        self._users: dict[str, int] = {}
        self._checking: dict[tuple[str, int], threading.Lock] = {}

    def path(self, project: str) -> Path:
        """Return the path of a project's store."""
        return places.project_store(project)

    def create(self, project: str) -> None:
        """Create an empty store for a project, with its folder; an existing store is kept.

        Raises:
            YaadError: UNAVAILABLE when it cannot be written.
        """
        Database.open(self.path(project), role="project", project=project, create=True).close()

    @contextlib.contextmanager
    def use(self, project: Project, *, in_passing: bool = False) -> Iterator[Database]:
        """Lend the project's database, opening it if needed.

        Args:
            project: the project.
            in_passing: do not extend the time that the store stays open.

        Raises:
            YaadError: UNAVAILABLE (missing, corrupt, newer than the program), REFUSED (the file
                belongs to another project, or is a link).
        """
        db = self._borrow(project, in_passing=in_passing)
        try:
            yield db
        finally:
            self._give_back(project.id)

    def look(self, project: Project, ask: Callable[[Connection], R]) -> R:
        """Return what `ask(conn)` reads in the project's store, without opening a store at rest.

        Raises:
            YaadError: as for `use`.
        """
        if self._take_at_rest(project):
            try:
                found = database.read_in_place(self.path(project.id), project.id, ask)
            finally:
                self._closed(project.id)
            if found is not None:
                return found
        with self.use(project, in_passing=True) as db:
            return db.read(ask)

    def checking(self, project: str, worktree: int) -> threading.Lock:
        """Return the lock against two checks of one work tree at a time."""
        with self._lock:
            return self._checking.setdefault((project, worktree), threading.Lock())

    def forget(self, project: str) -> None:
        """Drop everything kept in memory about a removed project."""
        with self._lock:
            self._checking = {
                key: lock for key, lock in self._checking.items() if key[0] != project
            }

    def is_open(self, project: str) -> bool:
        """Return whether a project's store is open."""
        return project in self._open

    def close_one(self, project: str) -> None:
        """Close a project's store, if open; later calls of its users fail.

        Waits for reads and writes in progress.
        """
        with self._lock:
            self._wait_until_closed(project)
            db = self._open.pop(project, None)
            self._used_at.pop(project, None)
        if db is not None:
            db.close()
            db.wait_until_unused(STORE_CLOSING_S)

    def rest(self, idle: timedelta) -> int:
        """Close the stores unused for `idle`; return their number."""
        before = self._clock.monotonic_s() - idle.total_seconds()
        with self._lock:
            resting = [
                self._take(project)
                for project in list(self._open)
                if project not in self._users and self._used_at[project] <= before
            ]
        return self._put_to_rest(resting)

    def begins_long_rest(self, idle: timedelta) -> bool:
        """Return True once after every store has been unused for `idle`."""
        before = self._clock.monotonic_s() - idle.total_seconds()
        with self._lock:
            if self._users or self._used_last is None or self._used_last > before:
                return False
            self._used_last = None
            return True

    def close(self) -> None:
        """Close every store."""
        with self._lock:
            self._lock.wait_for(lambda: not self._closing, STORE_CLOSING_S)
            found = list(self._open.values())
            self._open.clear()
        for db in found:
            db.close()

    def _borrow(self, project: Project, *, in_passing: bool) -> Database:
        with self._lock:
            self._wait_until_closed(project.id)
            db = self._open.get(project.id)
            if db is not None and not db.is_in_place():  # a backup was copied there by hand
                db.close()
                db = None
            if db is None:
                db = self._open_store(project)
                self._open[project.id] = db
            self._open.move_to_end(project.id)
            self._users[project.id] = self._users.get(project.id, 0) + 1
            if not in_passing or project.id not in self._used_at:
                self._used_at[project.id] = self._clock.monotonic_s()
                self._used_last = self._used_at[project.id]
            resting = self._too_many()
        self._put_to_rest(resting)
        return db

    def _take_at_rest(self, project: Project) -> bool:
        """Keep a closed store from being opened; False when it is open."""
        with self._lock:
            self._wait_until_closed(project.id)
            if project.id in self._open:
                return False
            self._closing.add(project.id)
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
        """Wait until a store is neither being closed nor read in place; the caller holds the
        lock.
        """
        self._lock.wait_for(lambda: project not in self._closing)

    def _too_many(self) -> list[tuple[str, Database]]:
        """Remove the stores beyond the limit; the caller holds the lock."""
        idle = [project for project in self._open if project not in self._users]
        return [
            self._take(project) for project in idle[: max(len(self._open) - STORES_OPEN_MAX, 0)]
        ]

    def _take(self, project: str) -> tuple[str, Database]:
        """Remove a store for closing; it cannot be reopened until then. The caller holds the
        lock.
        """
        db = self._open.pop(project)
        del self._used_at[project]
        self._closing.add(project)
        return project, db

    def _put_to_rest(self, resting: Iterable[tuple[str, Database]]) -> int:
        """Close stores while others are lent; return their number."""
        closed = 0
        for project, db in resting:
            try:
                db.close()
                db.wait_until_unused(STORE_CLOSING_S)
            finally:
                self._closed(project)
            closed += 1
        return closed

    def _closed(self, project: str) -> None:
        with self._lock:
            self._closing.discard(project)
            self._lock.notify_all()

    def _open_store(self, project: Project) -> Database:
        path, on_commit = self.path(project.id), self._on_commit
        if not os.path.lexists(path):
            root = shlex.quote(str(project.root))
            raise YaadError(
                Code.UNAVAILABLE,
                f"The store of {project.root} is not at {path}.",
                hint=f"From the newest backup: yaadwatch add --restore {root}. "
                f"To start with an empty one: yaadwatch add {root}",
            )
        return Database.open(
            path,
            role="project",
            project=project.id,
            read_only=self._read_only,
            on_commit=None if on_commit is None else lambda: on_commit(project.id),
        )
