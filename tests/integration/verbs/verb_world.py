"""A data folder of its own, and repositories to watch from it: what tests of verbs start with.

Stores, git and files are the real ones; only the clock can be set.
"""

import atexit
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from plain_git import GIT, head_of

from tests import answers
from yaadwatch import places
from yaadwatch.db import nodes, projects
from yaadwatch.db.database import Database
from yaadwatch.memory import claims, visibility
from yaadwatch.model.memories import Node
from yaadwatch.model.settings import Settings
from yaadwatch.projects import projects as projects_verbs
from yaadwatch.projects import upkeep
from yaadwatch.remember import curate, edit, history, links, remember
from yaadwatch.repo import layout as repo_layout
from yaadwatch.staleness import stale as staleness_stale
from yaadwatch.sync import lookback, tree
from yaadwatch.system import files
from yaadwatch.system.clock import Clock
from yaadwatch.workspace.lookup import open_home
from yaadwatch.workspace.workspace import Call, Home

# A verb that answers with what is not declared, or without what is, fails the test. Tests give
# the fields of its request instead of the request: `stale(home, call, all=True)`.
answers.check_all()

NET = '''"""Talks to the network."""

import time


def other(x):
    return x + 1


def fetch_with_retry(url, tries=3):
    for attempt in range(tries):
        try:
            return open_url(url)
        except OSError:
            time.sleep(attempt)
    raise OSError(url)


def last(x):
    return x - 1
'''
FIVE_TRIES = NET.replace("tries=3", "tries=5")
RETRY = "The retry limit lives in src/net.py, in fetch_with_retry"

GIT_ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "file",
    # It waits ten seconds for somebody to read its warning.
    "FILTER_BRANCH_SQUELCH_WARNING": "1",
}


class SetClock(Clock):
    """The clock of this machine, moved by hand."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead = timedelta(0)
        self._waited_s = 0.0

    def pause(self, seconds: float) -> None:
        """Let time pass for everybody: who waits for quiet has waited for it."""
        self.wait(seconds)

    def wait(self, seconds: float) -> None:
        """Let time pass, as far as anybody can tell."""
        self._waited_s += seconds
        self.advance(timedelta(seconds=seconds))

    def monotonic_s(self) -> float:
        return super().monotonic_s() + self._waited_s

    def advance(self, by: timedelta) -> None:
        self._ahead += by

    def now_ns(self) -> int:
        return super().now_ns() + self._ahead // timedelta(microseconds=1) * 1000


class World:
    """One home, as the daemon has it; `reopen` is a restart of that daemon."""

    _first: Path | None = None
    _prepared: ClassVar[dict[object, tuple[Path, object]]] = {}

    def __init__(self, folder: Path, *, settings: Settings | None = None) -> None:
        self.folder = folder
        self.clock = SetClock()
        self.settings = settings or Settings()
        self._home: Home | None = None
        self._opening = threading.Lock()

    @property
    def home(self) -> Home:
        """What the daemon may reach, opened when a test first asks for it."""
        with self._opening:
            if self._home is None:
                self._home = self._open()
            return self._home

    def _open(self) -> Home:
        files.private_folder(places.data_folder())
        return open_home(self.settings, clock=self.clock)

    def reopen(self) -> None:
        self.close()
        self._home = self._open()

    def close(self) -> None:
        if self._home is not None:
            self._home.close()
            self._home = None

    def prepared(self, make: Callable[..., Any], *given: object) -> Any:
        """Return what `make(world, *given)` prepares: a repository, or several things.

        It runs once in each process. Later worlds start as copies of the folder that it left, at
        the same path (see `tmp_path`), with a new daemon.
        """
        if not places.data_folder().is_relative_to(self.folder):
            return make(self, *given)
        key = (make, given, self.folder, self.settings)
        if key in World._prepared:
            copy, made = World._prepared[key]
            self.close()
            shutil.rmtree(self.folder)
            shutil.copytree(copy, self.folder, symlinks=True)
            return self._moved_here(made)
        made = make(self, *given)
        copy = Path(tempfile.mkdtemp(prefix="yaad-prepared-"))
        atexit.register(shutil.rmtree, copy, ignore_errors=True)
        self.close()
        shutil.copytree(self.folder, copy, symlinks=True, dirs_exist_ok=True)
        World._prepared[key] = (copy, made)
        return made

    def _moved_here(self, made: object) -> object:
        if isinstance(made, tuple):
            return tuple(map(self._moved_here, made))
        if not isinstance(made, Tree):
            return made
        here = Tree(self, made.path)
        # Git knows files by their inodes, too, and leaves one that differs where it is.
        here.git("update-index", "-q", "--refresh", check=False)
        return here

    def tree(self, name: str = "repo") -> "Tree":
        """Return a folder that may become a repository."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return Tree(self, folder)

    def repo(self, name: str = "repo", *, init: tuple[str, ...] = ()) -> "Tree":
        """Return a repository with one commit: NET in src/net.py, and a file of notes."""
        tree = self.tree(name)
        if init or any(tree.path.iterdir()):
            tree.begin(*init)
        else:
            # Files as young as those that git has just made.
            first = self._made_once()
            shutil.copytree(first, tree.path, copy_function=shutil.copy, dirs_exist_ok=True)
        return tree

    def watched(self) -> "Tree":
        """Return such a repository, watched."""
        repo = self.repo()
        repo.add()
        return repo

    def _made_once(self) -> Path:
        """Return what the repositories of a process are copies of: four commands for all."""
        if World._first is None:
            folder = Path(tempfile.mkdtemp(prefix="yaad-first-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            made = Tree(self, folder / "repo")
            made.path.mkdir()
            made.begin()
            for sample in (made.path / ".git" / "hooks").glob("*.sample"):
                sample.unlink()
            World._first = made.path
        return World._first


def prepared(make: Callable[[World], Any]) -> Callable[..., Any]:
    """Make a fixture of a function that prepares a repository; see `World.prepared`."""

    @pytest.fixture(name=make.__name__)
    def ready(world: World) -> Any:
        return world.prepared(make)

    return ready


class Tree:
    """A work tree, and the verbs as they are called from inside it."""

    def __init__(self, world: World, path: Path) -> None:
        self.world = world
        self.path = path

    @property
    def home(self) -> Home:
        return self.world.home

    @property
    def call(self) -> Call:
        return Call(folder=self.path, origin="cli")

    @property
    def store(self) -> Path:
        """The store of the project; before it is added, a path at which nothing is."""
        layout = repo_layout.find(self.path)
        return places.project_store(repo_layout.project_id(layout.common_dir) if layout else "none")

    def begin(self, *init: str) -> None:
        """Have git make a repository of it, with one commit."""
        self.git("init", "-q", "-b", "main", *init)
        self.commit("one", {"src/net.py": NET, "notes.md": "Notes.\n"})

    def git(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            [*GIT, "-C", str(self.path), *arguments],
            check=False,
            capture_output=True,
            text=True,
            env=os.environ | GIT_ENVIRONMENT,
        )
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def write(self, path: str, content: str | bytes) -> None:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(
        self,
        subject: str,
        files: Mapping[str, str | bytes] | None = None,
        *,
        moved: Mapping[str, str] | None = None,
        gone: Sequence[str] = (),
    ) -> str:
        """Move, remove and write, commit all that is there, and return the commit's id."""
        for old, new in (moved or {}).items():
            self.move(old, new)
        if gone:
            self.git("rm", "-rq", *gone)
        for path, content in (files or {}).items():
            self.write(path, content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.head()

    def head(self) -> str:
        return head_of(self.path) or self.git("rev-parse", "HEAD").strip()

    def move(self, old: str, new: str) -> None:
        (self.path / new).parent.mkdir(parents=True, exist_ok=True)
        (self.path / old).rename(self.path / new)

    def copy(self, name: str) -> "Tree":
        target = self.world.folder / name
        shutil.copytree(self.path, target, symlinks=True)
        return Tree(self.world, target)

    def moved_to(self, name: str) -> "Tree":
        target = self.world.folder / name
        self.path.rename(target)
        return Tree(self.world, target)

    def add(self, **fields):
        return projects_verbs.add(self.home, self.call, **fields)

    def look_back(self) -> None:
        """Look up, as the daemon does by and by, what rules rested on when they were written."""
        while self.look_back_once():
            pass

    def look_back_once(self) -> bool:
        """Do a piece of that; return whether there was one."""
        return lookback.compare_next(self.home, self.project)

    @property
    def project(self) -> str:
        """The id that this repository is watched under."""
        with self.home.space(self.call) as space:
            return space.project.id

    def remove(self, **fields):
        return projects_verbs.remove(self.home, self.call, **fields)

    def remember(self, text: str = RETRY, **fields) -> str:
        """Remember `text` and return the id; RETRY with its definition given, to hear of it."""
        if text == RETRY:
            fields.setdefault("symbols", ["fetch_with_retry"])
        return self.remembered(text, **fields)["id"]

    def remembered(self, text: str = RETRY, **fields):
        return remember.remember(self.home, self.call, text=text, **fields)

    def show(self, id: str, **fields):
        return curate.show(self.home, self.call, id=id, **fields)

    def confirm(self, id: str, **fields):
        return curate.confirm(self.home, self.call, id=id, **fields)

    def forget(self, id: str, reason: str = ""):
        return curate.forget(self.home, self.call, id=id, reason=reason)

    def restore(self, id: str):
        return curate.restore(self.home, self.call, id=id)

    def pin(self, id: str):
        return curate.pin(self.home, self.call, id=id)

    def unpin(self, id: str):
        return curate.unpin(self.home, self.call, id=id)

    def sync(self, *, accept: frozenset[str] | None = frozenset()):
        """Sync as the daemon does, once the files have settled."""
        self.settle()
        with self.home.space(self.call) as space:
            return tree.sync_space(self.home, space, accept_deletions=accept)

    def sync_until_quiet(self) -> tree.Synced:
        """Sync until nothing changes any more, after three times at most; return the last."""
        for _ in range(4):
            done = self.sync()
            if not done.changed:
                return done
        raise AssertionError("the files do not settle")

    def settle(self) -> None:
        """Let so much time pass that nobody has written the agent files lately."""
        self.world.clock.advance(timedelta(seconds=1))

    def read(self, path: str) -> str:
        return (self.path / path).read_bytes().decode()

    def rows(self):
        """Return what is known of each agent file, by path."""
        with self.home.space(self.call) as space:
            return space.db.read(projects.agent_files_of_worktree, space.worktree.id)

    def edit(self, id: str, text: str, **fields):
        return edit.update(self.home, self.call, id=id, text=text, **fields)

    def reanchor(self, id: str | None = None, **fields):
        return edit.reanchor(self.home, self.call, id=id, **fields)

    def link(self, id: str, kind: str, to: str, **fields):
        return links.link(self.home, self.call, id=id, kind=kind, to=to, **fields)

    def id_of(self, text: str) -> str:
        """Return the id of the memory that reads so, without stating it again."""
        with self.db() as db:
            return db.read(
                lambda conn: conn.execute("SELECT id FROM nodes WHERE text = ?", (text,)).get
            )

    def claim(self, id: str, subject: str, attribute: str, value: str, *, call=None, **fields):
        said = {"subject": subject, "attribute": attribute, "value": value} | fields
        return claims.add_claim(self.home, call or self.call, id=id, **said)

    def unlink(self, id: str, kind: str, to: str):
        return links.unlink(self.home, self.call, id=id, kind=kind, to=to)

    def impact(self, file: str, **fields):
        return history.impact(self.home, self.call, file=file, **fields)

    def stale(self, **fields):
        return staleness_stale.stale(self.home, self.call, **fields)

    def check(self):
        return staleness_stale.check(self.home, self.call)

    def look(self) -> None:
        """Look for work that came in by other commits, as the daemon does after a check."""
        with self.home.space(self.call) as space:
            project, worktree = space.project.id, space.worktree.id
        visibility.find_merged_elsewhere(self.home, project, worktree)

    def check_tree(self, paths: frozenset[str] | None = None) -> staleness_stale.Checked:
        """Check as the daemon does after a hint about `paths`."""
        with self.home.space(self.call) as space:
            project, worktree = space.project.id, space.worktree.id
        return staleness_stale.check_tree(self.home, project, worktree, paths)

    def upkeep(self, *, dry_run: bool = False, accept: bool = False):
        return upkeep.upkeep(self.home, self.call, dry_run=dry_run, accept=accept)

    def flag_of(self, id: str):
        """Return the flag about a memory after a check, or None."""
        answer = self.stale(all=True, all_branches=True)
        return next((row for row in answer["stale"] if row["id"] == id), None)

    def verdict(self, id: str) -> str:
        """Return what a check says of a memory now: fresh, moved, changed, gone or unknown."""
        answer = self.stale(all=True, all_branches=True)
        found = [row["verdict"] for row in answer["stale"] if row["id"] == id]
        found += ["unknown" for row in answer["unknown"] if row["id"] == id]
        assert len(found) <= 1
        return found[0] if found else "fresh"

    def memories(self) -> list[str]:
        """Return the texts of the living memories, sorted; sessions are none."""
        return sorted(node.text for node in self.living())

    def living(self) -> list[Node]:
        """Return the living memories; sessions are none."""
        with self.db() as db:
            batch = db.read(nodes.batch, after="", limit=100_000, archived=False)
        return [node for node in batch if node.kind != "session"]

    @contextmanager
    def without_store(self):
        """Have the store out of reach for a while, as on a disk that is taken out."""
        self.home.stores.close_one(self.home.project_at(self.path)[0].id)
        aside = self.store.rename(self.store.with_name("aside.db"))
        yield
        aside.rename(self.store)

    @contextmanager
    def db(self):
        with self.home.space(self.call) as space:
            yield space.db

    def worktrees(self):
        with self.db() as db:
            return db.read(projects.all_worktrees)


def table(db: Database, name: str) -> list[tuple]:
    """Return every row of a table, sorted."""
    return sorted(db.read(lambda conn: conn.execute(f"SELECT * FROM {name}").fetchall()), key=repr)


TABLES = (
    *("meta", "worktrees", "nodes", "node_versions", "provenance", "edges", "file_watch"),
    *("sightings", "stale_flags", "events", "nodes_fts", "sessions", "session_nodes"),
)


def dump(db: Database) -> dict[str, list[tuple]]:
    """Return every row of every table of a store."""
    return {name: table(db, name) for name in TABLES}


def every_byte_below(*folders: Path) -> bytes:
    """Return the contents of all files below `folders`, write-ahead logs included."""
    found = []
    for folder in folders:
        found += [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    return b"\n".join(found)


def utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
