"""Build the workspace from the settings, find memories and moved projects, and watch store limits.

A memory is searched in the store of the current project first, then in the user store. A moved
repository is recognised by the id in its git configuration. Health comes from memory alone, so a
hung disk cannot delay it.
"""

import contextlib
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from yaadwatch import places
from yaadwatch.db import checks, nodes, projects
from yaadwatch.db.checks import Size
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.projects import Project
from yaadwatch.model.settings import SIZE_DAYS_KEPT, Settings
from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.command import GitRunner
from yaadwatch.repo.layout import Layout
from yaadwatch.system import files
from yaadwatch.system.clock import Clock
from yaadwatch.workspace import identity
from yaadwatch.workspace.stores import Stores, is_there
from yaadwatch.workspace.workspace import Call, Home, Space, find_archived, find_node

_OURS: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OF_BOTH: Final = "of this project, and none of your own,"
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
        if self.project is None:
            try:
                return LocatedMemory(shelf=self.own, id=find_node(self.own.db, fragment))
            except YaadError as error:
                if error.code is not Code.NOT_FOUND or self.unwatched is None:
                    raise
                raise self.unwatched from None
        try:
            return LocatedMemory(
                shelf=self.project, id=find_node(self.project.db, fragment, _OF_BOTH)
            )
        except YaadError as nowhere:
            if nowhere.code is Code.CONFLICT:
                raise
            try:
                return LocatedMemory(shelf=self.own, id=find_node(self.own.db, fragment))
            except YaadError as error:
                if error.code is not Code.NOT_FOUND:
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


PARENTS_MAX: Final = 64
"""Most folders searched for a missing project: those with watched repositories."""
ENTRIES_MAX: Final = 2_048
"""Most entries read in each of them."""

_log: Final = logging.getLogger(__name__)
_following: Final = threading.Lock()


def follow(home: Home, layout: Layout) -> Project | None:
    """Return the project whose id a repository has, if plausible; otherwise None.

    When the registered place is empty, the repository was moved here and is registered here.
    Otherwise this is a copy: a further work tree of the project.

    Raises:
        YaadError: UNAVAILABLE when git cannot be asked.
    """
    named = repo_layout.project_id(layout.common_dir)
    if not named:
        return None
    with _following:
        project = home.user.read(projects.get, named)
        if project is None or project.removed_at is not None:
            return None
        is_here = project.common_dir == layout.common_dir
        is_gone = project.gone_at is not None
        if is_here and not is_gone and project.root == _root_of(layout):
            return project  # another request has just followed it
        # Where a repository was deleted, another may have its id by now.
        if (is_gone or not is_here) and not identity.is_believed(home, project, layout):
            return None
        if not home.user.is_writable or (not is_here and identity.may_be_there(project)):
            home.copies.add((project.id, layout.common_dir))
            return project
        return _move(home, project, layout)


def seek(home: Home, project: str | None = None) -> None:
    """Find one project, or all (None), that are not at their place.

    Searches the folders that hold watched repositories. A project that is not found is marked gone;
    one at its place is unmarked.
    """
    if home.user.stands_in:
        return
    with _following:
        every = home.user.read(projects.everything)
        near = set(files.near(row.common_dir for row in every if project in (None, row.id)))
        for row in every:
            if row.common_dir not in near:
                continue
            try:
                _seek(home, row, {other.root.parent for other in every})
            except YaadError as error:
                _log.warning("project.not_followed", extra={"project": row.id, "why": str(error)})


def _seek(home: Home, project: Project, parents: set[Path]) -> None:
    if is_there(project):
        layout = repo_layout.find(project.root)
        if project.gone_at is not None:
            if layout is None or not identity.is_believed(home, project, layout):
                return
            home.user.write(projects.set_gone, project.id, None)
        if not project.root_commit:
            _note_root_commit(home, project, layout)
        return
    place = _place_of(home, project, parents)
    if place is not None:
        _move(home, project, place)
    elif project.gone_at is None:
        home.user.write(projects.set_gone, project.id, home.clock.now())
        _log.info("project.gone", extra={"project": project.id, "path": str(project.root)})


def _root_of(layout: Layout) -> Path:
    return repo_layout.main_root(layout) or layout.common_dir


def _note_root_commit(home: Home, project: Project, layout: Layout | None) -> None:
    head = repo_layout.read_head(layout) if layout is not None else None
    if layout is None or (head is not None and not head.commit):
        return  # there is no commit yet
    commit = home.repository(layout).root_commit()
    if commit:
        home.user.write(projects.set_root_commit, project.id, commit)


def _place_of(home: Home, project: Project, parents: set[Path]) -> Layout | None:
    """Return the new place of a project that is not at its registered one, or None."""
    if project.by_path:
        return None
    nearest = sorted(parents, key=lambda parent: (parent != project.root.parent, parent))
    for parent in nearest[:PARENTS_MAX]:
        for place in _repositories(project, parent):
            layout = repo_layout.find(place)
            if layout is not None and identity.is_believed(home, project, layout):
                return layout
    return None


def _move(home: Home, project: Project, layout: Layout) -> Project | None:
    """Register a project's new place; None when the project was removed meanwhile."""
    moved = identity.located(project, layout)
    if not home.user.write(projects.move, moved):
        return None
    home.copies.discard((project.id, layout.common_dir))
    known = identity.Identity(project=moved, again=True, former_root=project.root)
    identity.register_trees(home, known, layout)
    extra = {"project": project.id, "was": str(project.root), "path": str(moved.root)}
    _log.info("project.followed", extra=extra)
    return moved


def _repositories(project: Project, parent: Path) -> Iterator[Path]:
    """Yield the folders in `parent` with the id of a project."""
    if not files.near([parent]):  # a network disk may never answer
        return
    inside = project.common_dir.name if project.common_dir.parent == project.root else ""
    try:
        with os.scandir(parent) as entries:
            for _, entry in zip(range(ENTRIES_MAX), entries, strict=False):
                place = Path(entry)
                # A network disk may never answer.
                if not files.near([place]) or not entry.is_dir(follow_symlinks=False):
                    continue
                if repo_layout.project_id(place / inside) == project.id:
                    yield place
    except OSError:
        return  # gone as well, or not readable


MIB: Final = 1024 * 1024
LOOK_BACK_DAYS: Final = 30
"""Days of growth that a forecast is based on."""
FAR_DAYS: Final = 3_650
"""Later forecasts are not reported."""
_EPOCH_ORDINAL: Final = 719_163


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The growth of a store; `reached_at` is None when the budget lasts more than ten years."""

    bytes: int
    budget: int
    bytes_a_day: float
    reached_at: datetime | None


def day_of(at: datetime) -> int:
    """Return the day of an instant, counted from 1970-01-01."""
    return at.toordinal() - _EPOCH_ORDINAL


def forecast(known: Sequence[Size], now_bytes: int, budget: int, now: datetime) -> Forecast:
    """Return when a store reaches its budget at its recent growth.

    Args:
        known: its size on earlier days, in order.
        now_bytes: its current size in bytes.
        budget: its size limit in bytes; 0 for none.
        now: the time; a size of the same day in `known` is ignored.
    """
    today = day_of(now)
    past = [one for one in known if one.day < today]
    a_day = (now_bytes - past[0].bytes) / (today - past[0].day) if past else 0.0
    left = budget - now_bytes
    reached = None
    if budget and left <= 0:
        reached = now
    elif budget and a_day > 0 and left / a_day <= FAR_DAYS:
        reached = now + timedelta(days=left / a_day)
    return Forecast(bytes=now_bytes, budget=budget, bytes_a_day=a_day, reached_at=reached)


def of_store(home: Home, db: Database) -> Forecast:
    """Return the growth of a store."""
    now = home.clock.now()
    now_bytes, known = db.read(_known, day_of(now) - LOOK_BACK_DAYS)
    return forecast(known, now_bytes, limit_of(home, db), now)


def row(found: Forecast) -> dict[str, object]:
    """Return the JSON of a forecast."""
    return {
        "bytes": found.bytes,
        "budget_bytes": found.budget or None,
        "bytes_a_day": round(found.bytes_a_day),
        "reached_at": found.reached_at,
    }


def note(home: Home, db: Database) -> None:
    """Store today's size of a store."""
    db.write(_note, day_of(home.clock.now()))


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


def _known(conn: Connection, since: int) -> tuple[int, list[Size]]:
    return checks.bytes_used(conn), checks.sizes_since(conn, since)


def _note(conn: Connection, day: int) -> None:
    size = Size(day=day, bytes=checks.bytes_used(conn), memories=nodes.count(conn))
    checks.note_size(conn, size, keep_days=SIZE_DAYS_KEPT)


def health(home: Home, call: Call) -> dict[str, object]:  # noqa: ARG001
    """Return whether all is well, since when, and the problems; the answer is Health."""
    pulse = home.pulse
    told = pulse.problems() if pulse is not None else []
    problems = [{"what": one["what"], "mend": one["mend"]} for one in told]
    return {
        "ok": not problems,
        "pid": os.getpid(),
        "version": places.VERSION,
        "since": pulse.since() if pulse is not None else None,
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
    home.follow = partial(_follow, home)
    return home


def _follow(home: Home, layout: Layout) -> Project | None:

    return follow(home, layout)
