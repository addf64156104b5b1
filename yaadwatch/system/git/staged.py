"""What is staged, as a commit: so that it can be judged as any other one is."""

import os
import shutil
from pathlib import Path
from typing import Final

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import scratch
from yaadwatch.system.git.question import Git

INDEX_BYTES_MAX: Final = 256 * 1024 * 1024


def snapshot(git: Git, staged: Path, parent: str) -> str:
    """Return a new commit that holds what an index tells; no branch leads to it.

    Args:
        git: of the repository.
        staged: the index; when it is not there, nothing is staged.
        parent: the commit it stands on; '' before the first one.

    Raises:
        YaadError: REFUSED when it holds conflicts, TOO_LARGE when it is, and from git.
    """

    def fill(place: Path) -> None:
        # Git writes the index anew when it makes a tree of it, and would ask the filters of
        # the repository about files that it finds: it gets a copy, and finds none.
        if staged.is_file():
            shutil.copyfile(staged, place / "index")

    if staged.is_file() and staged.stat().st_size > INDEX_BYTES_MAX:
        raise YaadError(
            Code.TOO_LARGE,
            f"{staged} is larger than {INDEX_BYTES_MAX >> 20} MiB; what is staged was "
            "not looked at.",
        )
    with scratch.folder(fill) as place:
        return _committed(git, place / "index", parent)


def _committed(git: Git, index: Path, parent: str) -> str:
    torn = git.ask(["ls-files", "-z", "-u"], index=index, inside=True)
    if torn:
        path = os.fsdecode(torn.split(b"\0")[0].partition(b"\t")[2])
        raise YaadError(
            Code.REFUSED,
            f"{path} has a conflict that is not settled, so what is staged is no commit yet; "
            "it was not looked at.",
            hint="Settle it, then stage the file: git add FILE",
        )
    tree = git.ask(["write-tree"], index=index, inside=True).decode().strip()
    who = ["-c", "user.name=yaadwatch", "-c", "user.email=yaadwatch@localhost"]
    parents = ["-p", parent] if parent else []
    made = git.ask([*who, "commit-tree", tree, *parents, "-m", "what is staged"])
    return made.decode().strip()
