"""Build the workspace from the settings, find memories by id, and watch the limits of stores.

A memory is searched in the store of the current project first, then in the user store. Health comes
from memory alone, so a hung disk cannot delay it.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from yaadwatch import places
from yaadwatch.db import checks
from yaadwatch.db.database import Database
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.settings import Settings
from yaadwatch.repo.command import GitRunner
from yaadwatch.system.clock import Clock
from yaadwatch.workspace import identity
from yaadwatch.workspace.stores import Stores
from yaadwatch.workspace.workspace import Call, Home, Space, find_archived, find_node

_OURS: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OF_OURS: Final = re.compile(r"[0-9a-fA-F-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """A store with memories; `space` is None for the user store, whose memories have no anchors."""

    db: Database
    space: Space | None

    @property
    def worktree(self) -> int:
        """Return the work tree whose flags count; 0, which no work tree has, for the user store."""
        return self.space.worktree.id if self.space is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedMemory:
    """A memory by its full id, and the store that holds it."""

    shelf: Shelf
    id: str

    @property
    def db(self) -> Database:
        """Return the store that holds it."""
        return self.shelf.db


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelves:
    """The stores of a call; `project` is None for the reason in `unwatched`."""

    project: Shelf | None
    own: Shelf
    unwatched: YaadError | None = None

    @property
    def nearest(self) -> Shelf:
        """Return the project's store, or the user store when no project is watched here."""
        return self.project or self.own

    def beside(self, held: LocatedMemory) -> list[Database]:
        """Return the other stores of the call."""
        both = (self.project, self.own)
        return [shelf.db for shelf in both if shelf is not None and shelf.db is not held.db]

    def require_project(self) -> Space:
        """Return the work tree of the call.

        Raises:
            YaadError: NOT_FOUND when the folder is in no watched project.
        """
        if self.project is None or self.project.space is None:
            raise self.unwatched or YaadError(Code.NOT_FOUND, "The folder is not watched.")
        return self.project.space

    def find(self, fragment: str) -> LocatedMemory:
        """Return the memory that `fragment` names: its id, a unique start or end of the id, or its
        key.

        A key names the living memory that has it, otherwise the archived one.

        Raises:
            YaadError: NOT_FOUND, BAD_REQUEST (a match shorter than four characters),
                CONFLICT with the candidates.
        """
        try:
            return self._named(fragment)
        except YaadError as error:
            if error.code is Code.CONFLICT:
                raise
            for shelf in (self.project, self.own):
                archived = find_archived(shelf.db, fragment) if shelf is not None else None
                if shelf is not None and archived is not None:
                    return LocatedMemory(shelf=shelf, id=archived)
            raise

    def _named(self, fragment: str) -> LocatedMemory:
        nowhere = self.unwatched
        if self.project is not None:
            stores = "of this project, and none of your own,"
            try:
                found = find_node(self.project.db, fragment, stores)
                return LocatedMemory(shelf=self.project, id=found)
            except YaadError as error:
                if error.code is Code.CONFLICT:
                    raise
                nowhere = error
        try:
            return LocatedMemory(shelf=self.own, id=find_node(self.own.db, fragment))
        except YaadError as error:
            if error.code is not Code.NOT_FOUND or nowhere is None:
                raise
            raise nowhere from None

    def there(self, named: str) -> LocatedMemory | None:
        """Return the memory to delete by this name; None when there is none.

        Generated ids may be shortened to a unique end. Ids given by callers may not: a second
        `delete task-1` would mean `task-10`.

        Raises:
            YaadError: CONFLICT with the candidates.
        """
        try:
            held = self.find(named)
        except YaadError as error:
            if error.code is Code.CONFLICT and _OF_OURS.fullmatch(named):
                raise
            return None
        ours = _OF_OURS.fullmatch(named) and _OURS.fullmatch(held.id)
        return held if ours or held.id == named else None

    def pair(self, start: str, end: str) -> tuple[LocatedMemory, LocatedMemory]:
        """Return the two memories of a relation.

        Raises:
            YaadError: as `find`; REFUSED when they are not in one store.
        """
        return self._together(self.find(start), self.find(end))

    def pair_there(self, start: str, end: str) -> tuple[LocatedMemory, LocatedMemory] | None:
        """Return the two memories of a relation to delete; None when one is missing.

        Raises:
            YaadError: as `there`; REFUSED when they are not in one store.
        """
        held, other = self.there(start), self.there(end)
        return self._together(held, other) if held is not None and other is not None else None

    def _together(
        self, held: LocatedMemory, other: LocatedMemory
    ) -> tuple[LocatedMemory, LocatedMemory]:
        if held.shelf is not other.shelf:
            own, kept = (held, other) if held.shelf is self.own else (other, held)
            raise YaadError(
                Code.REFUSED,
                f"{short_id(own.id)} is a memory of your own, and {short_id(kept.id)} one of this "
                "project; relations never cross stores, so nothing was changed.",
                hint="Remember one of them where the other is: yaadwatch remember --scope "
                "user|project TEXT",
            )
        return held, other


@contextlib.contextmanager
def shelves(home: Home, call: Call) -> Iterator[Shelves]:
    """Lend the stores of a call.

    Raises:
        YaadError: as `Home.space`, but for a folder that is not watched.
    """
    own = Shelf(db=home.user, space=None)
    with contextlib.ExitStack() as stack:
        try:
            space = stack.enter_context(home.space(call))
        except YaadError as error:
            if error.code is not Code.NOT_FOUND:
                raise
            found = Shelves(project=None, own=own, unwatched=error)
        else:
            found = Shelves(project=Shelf(db=space.db, space=space), own=own)
        yield found


MIB: Final = 1024 * 1024


def size_row(home: Home, db: Database) -> dict[str, int | None]:
    """Return the JSON of a store's size and its limit, in bytes."""
    return {"bytes": db.read(checks.bytes_used), "budget_bytes": limit_of(home, db) or None}


def require_room(home: Home, db: Database) -> None:
    """Refuse to add to a store that has reached its budget; changes and deletions are allowed.

    Raises:
        YaadError: TOO_LARGE; nothing was stored.
    """
    if limit_of(home, db):
        refuse_beyond(home, db, db.read(checks.bytes_used))


def limit_of(home: Home, db: Database) -> int:
    """Return the size limit of a store in bytes; 0 for none."""
    return home.settings_of(db.path).store.budget_mib * MIB


def refuse_beyond(home: Home, db: Database, used: int) -> None:
    """Refuse to add to a store that uses `used` bytes, when that is its budget or more.

    Raises:
        YaadError: TOO_LARGE; nothing was stored.
    """
    budget = limit_of(home, db)
    if budget and used >= budget:
        which = " --user" if db.path == home.user.path else ""
        raise YaadError(
            Code.TOO_LARGE,
            f"The store {db.path} has reached its budget of {budget // MIB} MiB; nothing was "
            "stored.",
            hint=f"Make room (yaadwatch upkeep, then yaadwatch compact{which}), or raise "
            "store.budget_mib in config.toml.",
        )


def health(home: Home, call: Call) -> dict[str, object]:  # noqa: ARG001
    """Return whether all is well, since when, and the problems; the answer is Health."""
    state = home.daemon_state
    told = state.problems() if state is not None else []
    problems = [{"what": one["what"], "mend": one["mend"]} for one in told]
    return {
        "ok": not problems,
        "pid": os.getpid(),
        "version": places.VERSION,
        "since": state.since if state is not None else None,
        "problems": problems,
    }


def open_home(
    settings: Settings,
    *,
    user: Database | None = None,
    clock: Clock | None = None,
    on_commit: Callable[[str], None] | None = None,
    read_only: bool = False,
) -> Home:
    """Open the workspace; the caller closes it.

    Args:
        settings: the person's settings.
        user: the user store; by default the one in the data folder, created when missing.
        clock: the source of time and ids; by default the system clock.
        on_commit: called with a project's id after each transaction in its store.
        read_only: change no store; another process may have them open.

    Raises:
        YaadError: the user store cannot be opened; see `Database.open`.
    """
    clock = clock or Clock()
    if user is None:
        path = places.user_store()
        user = Database.open(path, role="user", create=not read_only, read_only=read_only)
    home = Home(
        user=user,
        stores=Stores(on_commit, clock, read_only=read_only),
        clock=clock,
        settings=settings,
        git=GitRunner(timedelta(milliseconds=settings.git.timeout_ms)),
    )
    home.follow = partial(identity.follow, home)
    return home
