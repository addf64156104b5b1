"""Where a project's store is, and what stands there: is it ours, is it there, was it moved?"""

import os
import stat
from itertools import pairwise
from pathlib import Path
from typing import Final

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.system import files

_OF_EACH_REPOSITORY: Final = ("HEAD", "objects", "refs")
STORE_FOLDER = ".yaad"
EXCLUDED = f"/{STORE_FOLDER}/"
"""The line that keeps our folder out of git."""


def refuse_unsafe(store: Path) -> None:
    """Refuse a store that somebody else may have put there.

    Raises:
        YaadError: REFUSED when the store or its folder is a link, belongs to another user, or is
            something else altogether.
    """
    for place in (store.parent, store):
        try:
            found = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISLNK(found.st_mode):
            what = "is a link"
        elif place == store.parent and not stat.S_ISDIR(found.st_mode):
            what = "is not a folder"
        elif found.st_uid != os.getuid():
            what = "belongs to another user"
        else:
            continue
        raise YaadError(
            Code.REFUSED,
            f"{place} {what}; nothing was read from it or written to it.",
            hint="Remove it, then try again.",
        )


def stands(path: Path) -> bool:
    """Return whether something is at `path`.

    Raises:
        YaadError: UNAVAILABLE when that cannot be found out.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be looked at ({error.strerror}).",
            hint="Look at the permissions of the folders above it.",
        ) from error
    return True


def lacking(project: Project) -> str:
    """Return why the repository of a project is not at its place, '' when it is there.

    Raises:
        YaadError: UNAVAILABLE when that cannot be found out.
    """
    if not stands(project.common_dir):
        return f"{project.common_dir} is not there"
    if leads_away(project):
        return f"a link leads from {project.common_dir} to {os.path.realpath(project.common_dir)}"
    if is_anothers(project):
        return f"{project.common_dir} is another repository now"
    if is_deinited(project):
        return f"{project.root} is a submodule that is not checked out (git submodule deinit)"
    return ""


def is_deinited(project: Project) -> bool:
    """Return whether a project is a submodule whose work tree was emptied by git.

    Its repository stays in that of the superproject.
    """
    below = project.common_dir.parts
    return (
        project.common_dir != project.root / ".git"
        and any(pair == (".git", "modules") for pair in pairwise(below))
        and not os.path.lexists(project.root / ".git")
    )


def has_its_number(project: Project) -> bool:
    """Return whether the folder at a project's place has the device and number it is known by."""
    return number(project.common_dir) == (project.device, project.inode)


def number(folder: Path) -> tuple[int, int] | None:
    """Return the device and the number of what is at `folder`; None when it cannot be had."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_in_place(project: Project) -> bool:
    """Return whether all is as it is registered: no need to ask where a project is."""
    return has_its_number(project) and os.path.lexists(project.store) and is_kept_out(project)


def is_whole(common_dir: Path) -> bool:
    """Return whether all stands in a git folder that each has: none of it was deleted so far."""
    return all(os.path.lexists(common_dir / name) for name in _OF_EACH_REPOSITORY)


def is_kept_out(project: Project) -> bool:
    """Return whether our folder is kept out of git, as far as that can be found out."""
    if project.store.parent != project.root / STORE_FOLDER:
        return True
    try:
        return EXCLUDED.encode() in files.read_lines(exclude_file(project.common_dir))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def is_anothers(project: Project) -> bool:
    """Return whether another repository is at a project's place, such as a clone of it.

    It has neither our store nor our line in its exclude file. Its number says less: the system may
    give it that of the former one, and a disk may have another after a restart.

    Raises:
        YaadError: UNAVAILABLE when that cannot be found out.
    """
    if stands(project.store) or not stands(project.common_dir):
        return False
    if project.store.is_relative_to(project.common_dir):
        return not has_its_number(project)
    return not is_kept_out(project)


def leads_away(project: Project) -> bool:
    """Return whether a link stands in the path of a repository, which had none when it was added.

    What it leads to is another place: not the project's are the store there, and what git excludes.
    """
    place = project.common_dir
    return os.path.lexists(place) and os.path.realpath(place) != str(place)


def holds_nothing_else(folder: Path) -> bool:
    """Return whether nothing but our own folder is in one; False when that cannot be found out."""
    try:
        with os.scandir(folder) as entries:
            return all(entry.name == STORE_FOLDER for entry in entries)
    except OSError:
        return False


def exclude_file(common_dir: Path) -> Path:
    """Return the file that tells git, and nobody else, what to leave alone."""
    return common_dir / "info" / "exclude"
