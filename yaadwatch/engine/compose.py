"""Compose what verbs work with from the settings: for the daemon, and for readers without one."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from yaadwatch import places
from yaadwatch.engine.stores.open_stores import Stores
from yaadwatch.engine.workspace import Home
from yaadwatch.model.projects import Project
from yaadwatch.model.settings import Settings
from yaadwatch.store.sqlite.database import Database
from yaadwatch.system.clock import Clock
from yaadwatch.system.git.command import GitRunner
from yaadwatch.system.git.layout import Layout


def open_home(
    settings: Settings,
    *,
    user: Database | None = None,
    clock: Clock | None = None,
    on_commit: Callable[[str], None] | None = None,
    read_only: bool = False,
) -> Home:
    """Return a home; the caller closes it.

    Args:
        settings: of the person.
        user: the user store; by default the one in the data folder, made when nothing is there.
        clock: the source of time and of ids; by default that of the machine.
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
    from yaadwatch.engine import moved  # the daemon answers before it needs this

    return moved.follow(home, layout)
