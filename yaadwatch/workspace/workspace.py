"""Define what every operation works with: data folder, stores, clock and the caller's project."""

import contextlib
import hashlib
import os
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from weakref import WeakValueDictionary

from yaadwatch import places
from yaadwatch.db import nodes, projects
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import ID_CHARS_MAX, PROJECT, USER, short_id
from yaadwatch.model.memories import THINGS, Node, canonical_key
from yaadwatch.model.projects import Project, Worktree
from yaadwatch.model.settings import GAPS_NOTED_MAX, SHOWN_NOTED_MAX, Settings
from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.branches import PatchIdCache, Unmerged
from yaadwatch.repo.command import GitRunner
from yaadwatch.repo.layout import Layout
from yaadwatch.repo.recent_changes import Below
from yaadwatch.repo.repository import Repository
from yaadwatch.system.clock import Clock
from yaadwatch.system.config import Loaded, ProjectSettings
from yaadwatch.system.embedding_process import Workers
from yaadwatch.system.job_processes import JobProcesses
from yaadwatch.system.safe_write import StaleHandles
from yaadwatch.text import privacy
from yaadwatch.text import words as text_words
from yaadwatch.workspace.live_sessions import AtWork, LiveSessions
from yaadwatch.workspace.stores import SETTINGS_FOLDER, Stores, is_of

FRAGMENT_CHARS_MIN = 4
"""Shortest accepted fragment of an id."""
CANDIDATES_MAX = 256
"""Most ids read when a fragment matches several; files and symbols have ids of the same form."""
CANDIDATES_SHOWN = 8
PERSON = "cli"
"""The origin of a person's call."""
AGENT = "agent:"
"""Prefix of the origin of an agent's call."""


def origin_of(agent: str) -> str:
    """Return the origin of an agent's call; an agent may name itself anything."""
    return f"{AGENT}{privacy.mask(agent).text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonState:
    """The state of the running daemon, for operations that report it. Any thread may ask.

    Args:
        watch: returns how a project is watched (full, poll or off), and the last lag in ms.
        problems: returns the degraded parts: rows of `what`, `mend`, and the `project` id or ''.
        next_runs: returns the next run of each job.
        since: when the daemon was started, as in answers.
        socket: the path that it listens on.
    """

    watch: Callable[[str], tuple[str, int | None]]
    problems: Callable[[], list[dict[str, str]]]
    next_runs: Callable[[], dict[str, datetime]]
    since: str
    socket: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The origin of a request: a folder inside the project, and the caller.

    `origin` is PERSON or 'agent:NAME'; `session` names the connection of a connected agent.
    """

    folder: Path
    origin: str
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One work tree of a project: its store, its row, its repository."""

    project: Project
    db: Database
    worktree: Worktree
    repository: Repository

    @property
    def root(self) -> Path:
        """Return the folder that paths are relative to."""
        return self.worktree.path


class Pending:
    """Counts events per project until the next upkeep stores them.

    Args:
        limit: the number of distinct things counted per project.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[str]] = {}

    def note(self, project: str, what: Iterable[str]) -> None:
        """Count each of `what` once more."""
        with self._lock:
            counts = self._counts.setdefault(project, Counter())
            counts.update(one for one in what if one in counts or len(counts) < self._limit)

    def has(self, project: str) -> bool:
        """Return whether there is anything to store."""
        with self._lock:
            return bool(self._counts.get(project))

    @contextlib.contextmanager
    def taken(self, project: str) -> Iterator[Counter[str]]:
        """Lend the counts; they are cleared if the block succeeds."""
        with self._lock:
            taken = self._counts.pop(project, Counter[str]())
        try:
            yield taken
        except BaseException:
            self.note(project, taken.elements())
            raise


class Home:
    """The workspace: everything an operation may access. One per daemon.

    Args:
        user: the user store.
        stores: the projects' stores.
        clock: the only source of time and ids.
        settings: the person's settings.
        git: runs git.
    """

    def __init__(
        self, *, user: Database, stores: Stores, clock: Clock, settings: Settings, git: GitRunner
    ) -> None:
        self.user = user
        self.stores = stores
        self.clock = clock
        self.settings = settings
        self.set_by: Mapping[str, str] = {}
        self.not_set: Sequence[str] = ()  # problems of the person's settings, in words
        self.settings_now: Callable[[], Loaded] | None = None  # as a newly started daemon would
        self.git = git
        self.formers = StaleHandles()
        self.below = Below()
        self.unmerged = Unmerged()
        self.landed = PatchIdCache()
        self.at_work = AtWork()
        self.live = LiveSessions()
        self.vectors = Workers(settings.vectors.idle_s, clock)
        self._beside = ProjectSettings(places.data_folder(), clock.now_ns)
        self.daemon_state: DaemonState | None = None
        self.follow: Callable[[Layout], Project | None] = _nobody_moved
        self.copies: set[tuple[str, Path]] = set()
        """Git folders of copies: they have the id of a project registered elsewhere."""
        self.recalled = Pending(SHOWN_NOTED_MAX)  # ids of memories
        self.unanswered = Pending(GAPS_NOTED_MAX)  # hashes of questions without a good answer
        self.adding = threading.Lock()  # one project is identified at a time
        self.adds: WeakValueDictionary[Path, threading.Lock] = WeakValueDictionary()
        """Per git folder the lock of the `add` under way there."""
        self.naming = threading.Lock()  # one naming of a skill at a time
        self.compared: Counter[tuple[str, int]] = Counter()
        """Memories per work tree that the lookback has compared and not stored yet."""
        self.count_compared: Callable[[tuple[str, int]], object] = self._count_compared
        self.job_processes: JobProcesses | None = None  # see `large_jobs`
        self.unmerged_here: dict[tuple[str, int], tuple[object, frozenset[str]]] = {}
        """Per work tree the unmerged commits last returned by git, and the question."""

    def _count_compared(self, worktree: tuple[str, int]) -> None:
        self.compared[worktree] += 1

    def settings_of(self, store: Path) -> Settings:
        """Return the settings of a store: its project's over the person's."""
        return self.settings_beside(store).settings

    def settings_beside(self, store: Path) -> Loaded:
        """Return the same with the source of each, and the problems of the project's settings
        file.
        """
        project = self.user.known(projects.get, store.parent.name)
        folder = places.data_folder() if project is None else project.root / SETTINGS_FOLDER
        return self._beside.load(folder, self.settings, self.set_by)

    def forget(self, project: Project) -> None:
        """Drop everything in memory about a removed project."""
        self._beside.forget(project.root / SETTINGS_FOLDER)
        self.copies = {copy for copy in self.copies if copy[0] != project.id}
        self.stores.forget(project.id)

    def new_id(self) -> str:
        """Return a new UUIDv7."""
        return self.clock.new_id()

    def repository(self, layout: Layout) -> Repository:
        """Open a repository for one job."""
        return Repository(layout, self.git)

    def left(self, call: Call) -> None:
        """Record that the session of an agent in the folder of `call` has ended."""
        self.at_work.left(call.folder.resolve(), call.origin, call.session)

    def poorly_answered(self, project: str, question: str) -> None:
        """Count a question without a good answer by a hash of its words; the words are not kept."""
        words = text_words.question_form(privacy.mask(question).text)
        if words:
            digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
            self.unanswered.note(project, [digest])

    def close(self) -> None:
        """End git and the workers, and close every store and file."""
        self.git.close()
        if self.job_processes is not None:
            self.job_processes.close()
        self.vectors.close()
        self.formers.close()
        self.stores.close()
        self.user.close()

    def unmasked(self, call: Call) -> Call:
        """Return the call in the project whose folder an answer named with its secret masked.

        Raises:
            YaadError: CONFLICT when that is the name of several.
        """
        asked = os.fsencode(call.folder)
        known = [one.root for one in self.user.read(projects.known)]
        found = [root for root in known if asked == privacy.mask_tokens(os.fsencode(root))]
        if len(found) > 1:
            raise YaadError(
                Code.CONFLICT,
                f"{call.folder} is the masked name of {len(found)} projects; nothing was done.",
                hint="Ask from inside the one that is meant.",
            )
        return replace(call, folder=found[0]) if found else call

    def project_at(self, folder: Path) -> tuple[Project, Layout]:
        """Return the watched project of `folder`, and the layout of that work tree.

        A moved repository is followed.

        Raises:
            YaadError: NOT_FOUND when the folder is in no repository, or in one that is not watched;
                see `identity.follow`.
        """
        layout = require_repository(folder)
        project = self.registered(layout) or self.follow(layout)
        if project is None:
            where = layout.root or layout.common_dir
            raise YaadError(
                Code.NOT_FOUND,
                f"{where} is not watched.",
                hint=f"Watch it: yaadwatch add {shlex.quote(str(where))}",
            )
        return project, layout

    def registered(self, layout: Layout) -> Project | None:
        """Return the watched project of a repository at its registered place.

        A project marked gone is checked more closely first, see `identity.follow`.
        """
        named = repo_layout.project_id(layout.common_dir)
        project = self.user.known(projects.get, named) if named else None
        if project is not None and project.removed_at is None and project.gone_at is None:
            is_here = project.common_dir == layout.common_dir
            if is_here and os.path.lexists(project.root):  # a submodule may move
                return project
            if not is_here and (named, layout.common_dir) in self.copies:
                return project
        return self.user.known(projects.by_path, layout.common_dir)

    @contextlib.contextmanager
    def space(self, call: Call) -> Iterator[Space]:
        """Lend the work tree of a call; a new linked work tree is registered.

        Args:
            call: the origin of the request.

        Raises:
            YaadError: see `project_at` and `Stores.use`.
        """
        project, layout = self.project_at(call.folder)
        layout = require_files(layout)
        with self.stores.use(project) as db:
            root = layout.root or layout.common_dir
            worktree = db.read(projects.worktree_by_path, root)
            if worktree is None and db.is_writable:
                worktree = db.write(projects.add_worktree, root)
            elif worktree is None:  # unknown, and the store is read-only
                worktree = Worktree(id=0, path=root, head="", branch="", checked_at=None)
            if call.origin.startswith(AGENT):
                self.at_work.seen(root, call.origin, call.session, self.clock.monotonic_s())
            yield Space(
                project=project, db=db, worktree=worktree, repository=self.repository(layout)
            )

    @contextlib.contextmanager
    def tree(self, project: str, worktree: int) -> Iterator[Space]:
        """Lend a work tree by its ids.

        Raises:
            YaadError: NOT_FOUND when it is not watched (any more), or its folder is not there.
        """
        found = self.user.read(projects.get, project)
        if found is None or found.removed_at is not None:
            raise YaadError(Code.NOT_FOUND, f"Project {project} is not watched any more.")
        if found.gone_at is not None:
            raise _not_there(found.root)
        with self.stores.use(found) as db:
            rows = {row.id: row for row in db.read(projects.all_worktrees)}
            row = rows.get(worktree)
            layout = repo_layout.find(row.path) if row is not None else None
            if row is None or layout is None or not is_of(found, layout):
                raise _not_there(row.path if row is not None else found.root)
            yield Space(project=found, db=db, worktree=row, repository=self.repository(layout))


def _nobody_moved(layout: Layout) -> None:
    """Follow no moved project: only the daemon does."""


def _not_there(where: Path) -> YaadError:
    return YaadError(
        Code.NOT_FOUND,
        f"{where} is not there, or is another repository now; nothing was checked.",
        hint="If it moved: yaadwatch add NEW-PLACE. "
        f"If it is gone: yaadwatch remove {shlex.quote(str(where))}",
    )


def require_repository(folder: Path) -> Layout:
    """Return the repository of `folder`.

    Raises:
        YaadError: NOT_FOUND when there is none, or no such folder.
    """
    layout = repo_layout.find(folder)
    if layout is not None:
        for place in (layout.root, layout.common_dir):
            if "\udc80" <= max(str(place)) <= "\udcff":
                raise YaadError(
                    Code.REFUSED,
                    f"The name of {str(place)!r} is not UTF-8; it cannot be watched.",
                    hint="Rename the folder.",
                )
        return layout
    if not os.path.isdir(folder):  # noqa: PTH112  (an unreadable folder counts as missing)
        raise YaadError(
            Code.NOT_FOUND,
            f"There is no folder {folder} that may be read.",
            hint="Name a folder inside a repository.",
        )
    raise YaadError(
        Code.NOT_FOUND,
        f"{folder} is not in a git repository, so there is nothing to watch.",
        hint="Name a folder inside a repository; agents do so with `project`.",
    )


def find_node(db: Database, fragment: str, of: str = "of this project") -> str:
    """Return the id of the memory that `fragment` names: its id, its key, or a unique start or end
    of the id.

    Args:
        db: the store to search.
        fragment: the given name.
        of: the owner of the memories, for the error message.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST (a match shorter than four characters), CONFLICT
            with the candidates.
    """
    keyed = db.read(_keyed, fragment)
    if keyed is not None:
        return keyed
    found = db.read(_memories_named, fragment)
    exact = next((node for node in found if node.id == fragment), None)
    if exact is not None:
        return exact.id
    if found and len(fragment) < FRAGMENT_CHARS_MIN:
        raise too_short(fragment)
    if not found:
        shown = fragment if len(fragment) <= ID_CHARS_MAX else f"{fragment[:40]}..."
        raise YaadError(
            Code.NOT_FOUND,
            f"No memory {of} has the id, or the key, {shown}.",
            hint="Ids are shown by: yaadwatch recall WORDS, yaadwatch stale",
        )
    if len(found) > 1:
        raise _several(fragment, found, "Give more characters of the one you mean.")
    return found[0].id


@contextlib.contextmanager
def with_more_hint(more: str) -> Iterator[None]:
    """Prepend `more` to the hint of an error that no project is here; '' for nothing.

    Raises:
        YaadError: what was raised.
    """
    try:
        yield
    except YaadError as error:
        if error.code is not Code.NOT_FOUND or not more:
            raise
        raise YaadError(error.code, error.message, hint=f"{more} {error.hint}") from None


def too_short(fragment: str) -> YaadError:
    """Return the message for an id fragment that matches now, but is too short to stay unique."""
    return YaadError(
        Code.BAD_REQUEST,
        f"{fragment!r} is too short for a part of an id; nothing was done.",
        hint=f"Give at least {FRAGMENT_CHARS_MIN} characters of its beginning or end.",
    )


def find_archived(db: Database, key: str) -> str | None:
    """Return the id of the archived memory with a key, or None.

    Raises:
        YaadError: CONFLICT with the candidates.
    """
    found = db.read(_once_keyed, key)
    if len(found) > 1:
        raise _several(key, found, "Give the id of the one you mean.")
    return found[0].id if found else None


def _several(named: str, found: Sequence[Node], hint: str) -> YaadError:
    several = str(len(found)) if len(found) <= CANDIDATES_SHOWN else "more"
    listed = "; ".join(
        f"{short_id(node.id)} ({node.summary[:40]})" for node in found[:CANDIDATES_SHOWN]
    )
    return YaadError(Code.CONFLICT, f"{named} fits {several} memories: {listed}.", hint=hint)


def _keyed(conn: Connection, given: str) -> str | None:
    """Return the id of the living memory with a key; an id is not a key."""
    try:
        key = canonical_key(given)
    except ValueError:
        return None
    if nodes.has(conn, given):
        return None
    found = (nodes.by_key(conn, scope, key) for scope in (PROJECT, USER))
    return next((node.id for node in found if node is not None), None)


def _once_keyed(conn: Connection, given: str) -> list[Node]:
    try:
        key = canonical_key(given)
    except ValueError:
        return []
    return [*nodes.many(conn, nodes.archived_under(conn, key, CANDIDATES_MAX)).values()]


def _memories_named(conn: Connection, fragment: str) -> list[Node]:
    """Return the memories that an id fragment matches; sessions only when no other node does.

    A session id is created with its first memory and shares its beginning.
    """
    found = nodes.many(conn, nodes.find(conn, fragment, CANDIDATES_MAX))
    named = [node for node in found.values() if node.kind not in THINGS]
    return [node for node in named if node.kind != "session"] or named


def require_files(layout: Layout) -> Layout:
    """Return this work tree, or the first linked one of a bare repository.

    Raises:
        YaadError: REFUSED when there is none.
    """
    if layout.root is not None:
        return layout
    linked = repo_layout.worktrees(layout)
    if not linked:
        raise YaadError(
            Code.REFUSED,
            f"{layout.common_dir} is a bare repository without a work tree: no files to watch.",
            hint="Add one: git worktree add PATH",
        )
    return linked[0]
