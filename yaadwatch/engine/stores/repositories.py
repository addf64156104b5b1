"""Where the repository of a project is: is it at its place, and is another folder a part of it?"""

import os
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.layout import Layout

SETTINGS_FOLDER = ".yaad"
"""The folder of a work tree in which a team may keep a `config.toml` for the project."""


def is_of(project: Project, layout: Layout) -> bool:
    """Return whether a repository says that it belongs to a project, or is known to by its path."""
    if layout.common_dir == project.common_dir:
        return project.by_path or layouts.project_id(layout.common_dir) == project.id
    return layouts.project_id(layout.common_dir) == project.id


def is_there(project: Project) -> bool:
    """Return whether the repository of a project is where it was last seen."""
    place = project.common_dir
    if os.path.realpath(place) != str(place) or not os.path.lexists(project.root):
        return False
    if project.by_path:
        return os.path.lexists(place / "HEAD")
    return layouts.project_id(place) == project.id and not is_deinited(project)


def why_missing(project: Project) -> str:
    """Return why the repository of a project is not at its place, '' when it is there.

    Raises:
        YaadError: UNAVAILABLE when that cannot be found out.
    """
    since = f"gone since {day(project.gone_at)}: " if project.gone_at is not None else ""
    place = project.common_dir
    if is_there(project):
        return f"{since}{place} was not checked yet, or is another repository" if since else ""
    try:
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return f"{since}{place} is not there"
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{place} cannot be looked at ({error.strerror}).",
            hint="Look at the permissions of the folders above it.",
        ) from error
    if os.path.realpath(place) != str(place):
        return f"{since}a link leads from {place} to {os.path.realpath(place)}"
    if is_deinited(project):
        return f"{project.root} is a submodule that is not checked out (git submodule deinit)"
    if not os.path.lexists(project.root):
        return f"{since}{project.root} is not there"
    return f"{since}{place} is another repository now"


def is_deinited(project: Project) -> bool:
    """Return whether a project is a submodule whose work tree was emptied by git.

    Its repository stays in that of the superproject.
    """
    return (
        project.common_dir != project.root / ".git"
        and any(pair == (".git", "modules") for pair in pairwise(project.common_dir.parts))
        and not os.path.lexists(project.root / ".git")
    )


def exclude_file(common_dir: Path) -> Path:
    """Return the file that tells git, and nobody else, what to leave alone."""
    return common_dir / "info" / "exclude"


def day(at: datetime) -> str:
    """Return a day as messages show it."""
    return f"{at.astimezone():%Y-%m-%d}"
