"""Where memories are: the store of the current folder's project first, then the user's own."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from yaadwatch.engine.workspace import Call, Home, Space, find_archived, find_node
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.ids import called
from yaadwatch.store.sqlite.database import Database

_OURS: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OF_BOTH: Final = "of this project, and none of your own,"
_OF_OURS: Final = re.compile(r"[0-9a-fA-F-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """A store with memories; `space` is None for the user's own, which rests on no files."""

    db: Database
    space: Space | None

    @property
    def worktree(self) -> int:
        """Return the work tree whose doubts count; 0, which none has, for the user's own store."""
        return self.space.worktree.id if self.space is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One memory by its whole id, and the store that it is in."""

    shelf: Shelf
    id: str

    @property
    def db(self) -> Database:
        """Return the store that it is in."""
        return self.shelf.db


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelves:
    """The stores that a call can mean; `project` is None where `unwatched` says why."""

    project: Shelf | None
    own: Shelf
    unwatched: YaadError | None = None

    @property
    def nearest(self) -> Shelf:
        """Return the project's store, or where none is watched the user's own."""
        return self.project or self.own

    def beside(self, held: Held) -> list[Database]:
        """Return the stores of the call that a memory is not in."""
        both = (self.project, self.own)
        return [shelf.db for shelf in both if shelf is not None and shelf.db is not held.db]

    def require_project(self) -> Space:
        """Return the work tree that the call is about.

        Raises:
            YaadError: NOT_FOUND when the folder is in no watched project.
        """
        if self.project is None or self.project.space is None:
            raise self.unwatched or YaadError(Code.NOT_FOUND, "The folder is not watched.")
        return self.project.space

    def find(self, fragment: str) -> Held:
        """Return the one memory that `fragment` names, by its id or a unique end of it, or its key.

        A key means the living memory under it; where no store has one, the archived one.

        Raises:
            YaadError: NOT_FOUND, BAD_REQUEST (it fits, and is shorter than four characters),
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
                    return Held(shelf=shelf, id=archived)
            raise

    def _named(self, fragment: str) -> Held:
        if self.project is None:
            try:
                return Held(shelf=self.own, id=find_node(self.own.db, fragment))
            except YaadError as error:
                if error.code is not Code.NOT_FOUND or self.unwatched is None:
                    raise
                raise self.unwatched from None
        try:
            return Held(shelf=self.project, id=find_node(self.project.db, fragment, _OF_BOTH))
        except YaadError as nowhere:
            if nowhere.code is Code.CONFLICT:
                raise
            try:
                return Held(shelf=self.own, id=find_node(self.own.db, fragment))
            except YaadError as error:
                if error.code is not Code.NOT_FOUND:
                    raise
                raise nowhere from None

    def there(self, named: str) -> Held | None:
        """Return the memory that may be deleted by this name; None when it is not there.

        Of ids that were made here a unique end will do. Of ids that callers gave it will not: a
        second `delete task-1` would mean `task-10`.

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

    def pair(self, start: str, end: str) -> tuple[Held, Held]:
        """Return the two memories of a relation.

        Raises:
            YaadError: as `find`; REFUSED when they are not in one store.
        """
        return self._together(self.find(start), self.find(end))

    def pair_there(self, start: str, end: str) -> tuple[Held, Held] | None:
        """Return the two memories of a relation that may be deleted; None when one is not there.

        Raises:
            YaadError: as `there`; REFUSED when they are not in one store.
        """
        held, other = self.there(start), self.there(end)
        return self._together(held, other) if held is not None and other is not None else None

    def _together(self, held: Held, other: Held) -> tuple[Held, Held]:
        if held.shelf is not other.shelf:
            own, kept = (held, other) if held.shelf is self.own else (other, held)
            raise YaadError(
                Code.REFUSED,
                f"{called(own.id)} is a memory of your own, and {called(kept.id)} one of this "
                "project; relations never cross stores, so nothing was changed.",
                hint="Remember one of them where the other is: yaadwatch remember --scope "
                "user|project TEXT",
            )
        return held, other


@contextlib.contextmanager
def shelves(home: Home, call: Call) -> Iterator[Shelves]:
    """Lend the stores that a call can mean.

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
