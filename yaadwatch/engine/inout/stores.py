"""Which store is meant: that of the project of a call, or the user's own; and all there are."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from yaadwatch.engine.workspace import Call, Home, or_say
from yaadwatch.model.projects import Project, Worktree
from yaadwatch.store import projects as registry
from yaadwatch.store import worktrees
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite.database import Database

USER = "user"
"""What the user store is called among the backups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """A store: what it is called among the backups, what it is of, and where that is."""

    id: str
    role: str
    project: Project | None
    db: Database

    @property
    def where(self) -> Path:
        """Return the main work tree; of the user store its own path."""
        return self.project.root if self.project is not None else self.db.path


@contextmanager
def meant(home: Home, call: Call, *, user: bool, or_own: bool = True) -> Iterator[Meant]:
    """Lend the store of the project that a call is about, or the user store.

    Args:
        home: what may be reached.
        call: whose project.
        user: the user store is meant.
        or_own: where there is no project, the user store may have been.

    Raises:
        YaadError: see `Home.project_at` and `Stores.use`.
    """
    if user:
        yield of_user(home)
        return
    with or_say("For your own store: --user." if or_own else ""):
        project, _ = home.project_at(call.folder)
    with home.stores.use(project) as db:
        yield Meant(id=project.id, role="project", project=project, db=db)


def of_user(home: Home) -> Meant:
    """Return the user store.

    Raises:
        YaadError: another one stands in for it.
    """
    home.user.refuse_if_stands_in()
    return Meant(id=USER, role="user", project=None, db=home.user)


def projects(home: Home) -> list[Project]:
    """Return the projects that are watched."""
    return home.user.read(registry.everything)


def roots(conn: Connection, store: Meant) -> dict[int, str]:
    """Return how the work trees are called in lines: as seen from the main one."""
    trees = worktrees.everything(conn)
    # Of a store that came as a file, the first work tree is the main one.
    main = store.project.root if store.project is not None else next(iter(trees), None)
    if main is None:
        return {}
    root = main.path if isinstance(main, Worktree) else main
    return {tree.id: os.path.relpath(tree.path, root) for tree in trees}
