"""Where did a project go? A repository that was moved is followed by the id that it bears."""

import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from yaadwatch.engine import identity
from yaadwatch.engine.stores.open_stores import is_there
from yaadwatch.engine.workspace import Home
from yaadwatch.model.errors import YaadError
from yaadwatch.model.projects import Project
from yaadwatch.store import projects as registry
from yaadwatch.system import mounts
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.layout import Layout

PARENTS_MAX: Final = 64
"""Folders in which one that is gone is looked for: those that hold watched repositories."""
ENTRIES_MAX: Final = 2_048
"""Of what is in each of them, so many are looked at."""

_log: Final = logging.getLogger(__name__)
_following: Final = threading.Lock()


def follow(home: Home, layout: Layout) -> Project | None:
    """Return the project whose id a repository bears, if it may be believed; None otherwise.

    When the repository is not at its registered place any more, it was moved here, and is
    registered here. When it still is, this is a copy: one more work tree of the project.

    Raises:
        YaadError: UNAVAILABLE when git cannot be asked.
    """
    named = layouts.project_id(layout.common_dir)
    if not named:
        return None
    with _following:
        project = home.user.read(registry.get, named)
        if project is None or project.removed_at is not None:
            return None
        is_here = project.common_dir == layout.common_dir
        is_gone = project.gone_at is not None
        if is_here and not is_gone and project.root == _root_of(layout):
            return project  # another request has followed it just now
        # Where one was deleted, something else may bear its id by now.
        if (is_gone or not is_here) and not identity.is_believed(home, project, layout):
            return None
        if not home.user.is_writable or (not is_here and identity.may_be_there(project)):
            home.copies.add((project.id, layout.common_dir))
            return project
        return _move(home, project, layout)


def seek(home: Home, project: str | None = None) -> None:
    """Follow one project, or every one (None), that is not at its place.

    It is looked for in the folders that hold watched repositories, its own among them. One that is
    not found is gone from now on; one that is at its place is not gone.
    """
    if home.user.stands_in:
        return
    with _following:
        every = home.user.read(registry.everything)
        near = set(mounts.near(row.common_dir for row in every if project in (None, row.id)))
        for row in every:
            if row.common_dir not in near:
                continue
            try:
                _seek(home, row, {other.root.parent for other in every})
            except YaadError as error:
                _log.warning("project.not_followed", extra={"project": row.id, "why": str(error)})


def _seek(home: Home, project: Project, parents: set[Path]) -> None:
    if is_there(project):
        layout = layouts.find(project.root)
        if project.gone_at is not None:
            if layout is None or not identity.is_believed(home, project, layout):
                return
            home.user.write(registry.set_gone, project.id, None)
        if not project.root_commit:
            _note_root_commit(home, project, layout)
        return
    place = _place_of(home, project, parents)
    if place is not None:
        _move(home, project, place)
    elif project.gone_at is None:
        home.user.write(registry.set_gone, project.id, home.clock.now())
        _log.info("project.gone", extra={"project": project.id, "path": str(project.root)})


def _root_of(layout: Layout) -> Path:
    return layouts.main_root(layout) or layout.common_dir


def _note_root_commit(home: Home, project: Project, layout: Layout | None) -> None:
    head = layouts.read_head(layout) if layout is not None else None
    if layout is None or (head is not None and not head.commit):
        return  # there is no commit yet
    commit = home.repository(layout).root_commit()
    if commit:
        home.user.write(registry.set_root_commit, project.id, commit)


def _place_of(home: Home, project: Project, parents: set[Path]) -> Layout | None:
    """Return where a project is that is not at its place; None when it is not found."""
    if project.by_path:
        return None
    nearest = sorted(parents, key=lambda parent: (parent != project.root.parent, parent))
    for parent in nearest[:PARENTS_MAX]:
        for place in _repositories(project, parent):
            layout = layouts.find(place)
            if layout is not None and identity.is_believed(home, project, layout):
                return layout
    return None


def _move(home: Home, project: Project, layout: Layout) -> Project | None:
    """Register a project for the place at which it is now; None: it was removed meanwhile."""
    moved = identity.located(project, layout)
    if not home.user.write(registry.move, moved):
        return None
    home.copies.discard((project.id, layout.common_dir))
    known = identity.Identity(project=moved, again=True, former_root=project.root)
    identity.register_trees(home, known, layout)
    extra = {"project": project.id, "was": str(project.root), "path": str(moved.root)}
    _log.info("project.followed", extra=extra)
    return moved


def _repositories(project: Project, parent: Path) -> Iterator[Path]:
    """Yield the folders in `parent` that bear the id of a project."""
    if not mounts.near([parent]):  # looking there may take for ever
        return
    inside = project.common_dir.name if project.common_dir.parent == project.root else ""
    try:
        with os.scandir(parent) as entries:
            for _, entry in zip(range(ENTRIES_MAX), entries, strict=False):
                place = Path(entry)
                # Looking into a network disk may take for ever.
                if not mounts.near([place]) or not entry.is_dir(follow_symlinks=False):
                    continue
                if layouts.project_id(place / inside) == project.id:
                    yield place
    except OSError:
        return  # gone as well, or not for us to look into
