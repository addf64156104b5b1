"""Git as tests run it: no process more than the question needs."""

import re
from pathlib import Path

GIT = ("git", "-c", "maintenance.auto=false")
"""What commands begin with. After each commit git would start one more, to see about packing."""


def head_of(path: Path) -> str | None:
    """Return the commit that is checked out at `path`; None where its files do not say it plainly.

    As git would, without a process for it: in a linked work tree, or with packed references, git
    is to be asked.
    """
    try:
        branch = (path / ".git" / "HEAD").read_text().removeprefix("ref: ").rstrip("\n")
        commit = (path / ".git" / branch).read_text().rstrip("\n")
    except (OSError, ValueError):
        return None
    return commit if re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", commit) else None
