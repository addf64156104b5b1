"""Where did a project go? One whose repository was moved is followed, and only without any doubt.

There is none when the repository has the device and number that it is registered with, the store in
it bears the project's id, and it is at no other place. A copy on another disk has another number:
whoever moved it there says so, by `add`.
"""

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from yaadwatch.engine import identity
from yaadwatch.engine.stores.store_places import (
    has_its_number,
    is_anothers,
    is_in_place,
    is_kept_out,
    is_whole,
    leads_away,
    stands,
)
from yaadwatch.engine.workspace import Home
from yaadwatch.model.errors import YaadError
from yaadwatch.model.projects import Project
from yaadwatch.store import projects as registry
from yaadwatch.system import dwindling, mounts
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.layout import Layout

PARENTS_MAX: Final = 64
"""Folders in which one that is gone is looked for: those that hold watched repositories."""
ENTRIES_MAX: Final = 2_048
"""Of what is in each of them, so many are looked at."""

_log: Final = logging.getLogger(__name__)
_following: Final = threading.Lock()


def follow(home: Home, layout: Layout) -> Project | None:
    """Return the project that was moved to the place of `layout`, and is registered there now.

    None: no project was, or it is not sure.

    Raises:
        YaadError: REFUSED when its store is a link or another user's; UNAVAILABLE when it cannot
            be read.
    """
    with _following:
        known = home.user.read(registry.by_common_dir, layout.common_dir)
        if known is not None and (not has_its_number(known) or is_anothers(known)):
            _seek_all(home, known.id)
            known = home.user.read(registry.by_common_dir, layout.common_dir)
            if known is not None and is_anothers(known):
                return None  # nobody knows where it is, and what is here is another one
        if known is not None and not home.user.stands_in and not stands(known.store):
            # Of a submodule the work tree may move, and its git folder stay.
            moved = _move(home, [(known, layout)]) if _is_of(known, layout) else []
            known = moved[0] if moved else known
        return known or _follow(home, layout)


def seek(home: Home, project: str | None = None) -> None:
    """Follow one project, or every one (None), of which nothing is left at its place.

    It is looked for in the folders that hold watched repositories, its own among them. One that is
    where it was, under another number, is known by that from now on: that of a disk may change with
    a restart. Where `.git` was made anew, our folder is kept out of it again.
    """
    with _following:
        _seek_all(home, project)


def _seek_all(home: Home, project: str | None) -> None:
    every = home.user.read(registry.everything)
    near = set(mounts.near(row.common_dir for row in every if project in (None, row.id)))
    renumbered = []
    for row in every:
        if row.common_dir not in near or is_in_place(row) or not _is_watched(home, row):
            continue
        try:
            home.stores.keep_replaced(row)
            if _is_away(row):
                _seek(home, row, {other.root.parent for other in (row, *every)})
            elif not home.user.stands_in:
                renumbered += _renumbered(home, row)
        except YaadError as error:
            _log.warning("project.not_followed", extra={"project": row.id, "why": str(error)})
    if renumbered:
        home.user.write(registry.renumber, renumbered)
    for row in renumbered:
        if not is_kept_out(row) and _is_left_alone(home, row) and _is_watched(home, row):
            try:
                identity.exclude(home, row)
            except YaadError as error:
                _log.warning("project.not_excluded", extra={"project": row.id, "why": str(error)})


def _is_away(project: Project) -> bool:
    """Return whether nothing of a project is left at its place, or another one stands there.

    Raises:
        YaadError: UNAVAILABLE when that cannot be found out; REFUSED when what is there is a link.
    """
    if not os.path.lexists(project.common_dir) or is_anothers(project):
        return True
    if has_its_number(project) or leads_away(project) or not stands(project.store):
        return False
    return not identity.is_store_of(project, project.store)


def _is_watched(home: Home, project: Project) -> bool:
    """Return whether a project was not removed, nor followed elsewhere, meanwhile."""
    known = home.user.read(registry.by_common_dir, project.common_dir)
    return known is not None and known.id == project.id


def _is_left_alone(home: Home, project: Project) -> bool:
    """Return whether a repository lacks our line because it is new, not because it is going."""

    def stands_whole() -> bool:
        return is_whole(project.common_dir) and os.path.lexists(project.store)

    return dwindling.is_left_alone(project.root, home.clock, stands=stands_whole)


def _renumbered(home: Home, project: Project) -> list[Project]:
    """Return the project under the number that its folder has now, if it is there without doubt.

    Raises:
        YaadError: UNAVAILABLE, REFUSED; the store at its place cannot be had, or is another's.
    """
    if leads_away(project) or not is_whole(project.common_dir) or not stands(project.store):
        return []
    home.stores.let_go_if_moved(project.id)
    home.stores.look(project, lambda _: None)  # it bears the project's id, or this is refused
    found = _number(project.common_dir)
    return [] if found is None else [replace(project, device=found[0], inode=found[1])]


def _seek(home: Home, project: Project, parents: set[Path]) -> None:
    """Follow a project that is away to where it is, and each that stood there to where that is.

    All of them or none: two may have changed places.
    """
    if home.user.stands_in:
        return
    moves: list[tuple[Project, Layout]] = []
    while (place := _place_of(project, parents)) is not None:
        moves.append((project, place))
        there = home.user.read(registry.by_common_dir, place.common_dir)
        if there is None or there.id == moves[0][0].id:
            _move(home, moves)
            return
        if any(there.id == moving.id for moving, _ in moves) or not _is_away(there):
            return
        project = there


def _place_of(project: Project, parents: set[Path]) -> Layout | None:
    """Return where a project is that is not at its place; None when it is not found."""
    nearest = sorted(parents, key=lambda parent: (parent != project.root.parent, parent))
    for parent in nearest[:PARENTS_MAX]:
        for place in _repositories(project, parent):
            layout = layouts.find(place)
            if layout is not None and _is_of(project, layout):
                return layout
    return None


def _is_of(project: Project, layout: Layout) -> bool:
    """Return whether the repository that has a project's number holds its store, too.

    A folder that is mounted at two places is at both: that one was not moved.

    Raises:
        YaadError: REFUSED when the store is a link or another user's; UNAVAILABLE when it cannot
            be read.
    """
    if _number(layout.common_dir) != (project.device, project.inode):
        return False
    leads_here = os.path.realpath(project.common_dir) == str(layout.common_dir)
    if identity.lives(project) and not leads_here:
        return False
    return identity.is_store_of(project, identity.store_folder(layout) / "yaad.db")


def _follow(home: Home, layout: Layout) -> Project | None:
    """Return the project that was moved to a place that none is registered for; None: none was."""
    if home.user.stands_in:
        return None
    for project in home.user.read(registry.everything):
        if _number(layout.common_dir) == (project.device, project.inode):
            moved = _move(home, [(project, layout)]) if _is_of(project, layout) else []
            return moved[0] if moved else None
    return None


def _move(home: Home, moves: Sequence[tuple[Project, Layout]]) -> list[Project]:
    """Register projects for the places at which they are now; return them so.

    One that was removed meanwhile stays so, and is left out.
    """
    found = []
    for project, layout in moves:
        home.stores.close_one(project.id)
        found.append(identity.located(project, layout, identity.store_folder(layout)))
    watched = home.user.write(registry.move, found)
    moved = [project for project in found if project.id in watched]
    for (former, layout), project in zip(moves, found, strict=True):
        if project.id not in watched:
            continue
        known = identity.Identity(project=project, again=True, former_root=former.root)
        identity.register_trees(home, known, layout)
        identity.exclude(home, project)
        _log.info(
            "project.followed",
            extra={"project": project.id, "was": str(former.root), "path": str(project.root)},
        )
    return moved


def _repositories(project: Project, parent: Path) -> Iterator[Path]:
    """Yield the folders in `parent` that are, by their number, the repository of a project."""
    if mounts.is_network(parent):  # looking there may take for ever
        return
    inside = project.common_dir.name if project.common_dir.parent == project.root else ""
    try:
        with os.scandir(parent) as entries:
            for _, entry in zip(range(ENTRIES_MAX), entries, strict=False):
                if not entry.is_dir(follow_symlinks=False):
                    continue
                place = Path(entry)
                if _number(place / inside) == (project.device, project.inode):
                    yield place
    except OSError:
        return  # gone as well, or not for us to look into


def _number(folder: Path) -> tuple[int, int] | None:
    """Return the device and the number of a folder; None when it is none, or is a link."""
    try:
        found = os.lstat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino
