"""What is staged, as a commit: so that it can be judged as any other one is."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from yaadwatch.model.errors import Code, YaadError
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
    with tempfile.TemporaryDirectory(prefix="yaadwatch-") as folder:
        # Git writes the index anew when it makes a tree of it, and would ask the filters of
        # the repository about files that it finds: it gets a copy, and finds none.
        copy = Path(folder) / "index"
        if staged.is_file():
            if staged.stat().st_size > INDEX_BYTES_MAX:
                raise YaadError(
                    Code.TOO_LARGE,
                    f"{staged} is larger than {INDEX_BYTES_MAX >> 20} MiB; what is staged was "
                    "not looked at.",
                )
            shutil.copyfile(staged, copy)
        return _committed(git, copy, parent)


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
