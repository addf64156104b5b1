"""Which work trees are watched, and which files matter in each? What the daemon asks at its start.

Apart from the checks, so that nothing that judges is loaded before all is watched.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from yaadwatch.engine.agent_files import reading
from yaadwatch.engine.stores.open_stores import is_of
from yaadwatch.engine.workspace import Home
from yaadwatch.model.errors import YaadError
from yaadwatch.model.projects import Worktree
from yaadwatch.store import agent_files, anchors, flags, projects, worktrees
from yaadwatch.store.connection import Connection
from yaadwatch.system import mounts
from yaadwatch.system.deadlines import Patience
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.layout import Layout

_patience: Final[Patience[Layout]] = Patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedTree:
    """A work tree and the files in it (relative paths) whose changes matter.

    `registered` is the git folder that its project is registered for; of a copy it is another.

    A path that ends in '/*' stands for whatever is in that folder.
    """

    project: str
    worktree: int
    root: Path
    git_dir: Path
    common_dir: Path
    registered: Path
    paths: frozenset[str]


def watched(home: Home, project: str | None = None) -> list[WatchedTree]:
    """Return the work trees of one project, or of all (None), with the files that matter there.

    Projects whose store or folder cannot be had are left out; `status` names them.
    """
    found = []
    always = reading.formats(home).places
    for row in home.user.read(projects.everything):
        if project is not None and row.id != project:
            continue
        if row.gone_at is not None or (home.pulse is not None and home.pulse.hangs(row.id)):
            continue
        try:
            trees = home.stores.look(row, _mattering)
            for tree, paths in trees:
                layout = _layout(tree.path)
                if layout is None or not is_of(row, layout):
                    continue
                found.append(
                    WatchedTree(
                        project=row.id,
                        worktree=tree.id,
                        root=tree.path,
                        git_dir=layout.git_dir,
                        common_dir=layout.common_dir,
                        registered=row.common_dir,
                        paths=frozenset(paths | always),
                    )
                )
        except YaadError:  # reported by `status`, which asks each project by itself
            continue
    return found


def _layout(place: Path) -> Layout | None:
    """Return how a repository lies at a place; None, too, when its disk does not answer soon."""
    if mounts.near([place]):
        return layouts.find(place)
    return _patience.ask(place, lambda: layouts.find(place))


def _mattering(conn: Connection) -> list[tuple[Worktree, set[str]]]:
    """Return the work trees of a store, and the files that matter in each by what it says."""
    resting = set(anchors.paths(conn))
    return [
        (tree, resting | flags.places(conn, tree.id) | agent_files.paths(conn, tree.id))
        for tree in worktrees.everything(conn)
    ]
