"""Whose work does the trunk hold, though it has none of their commits: squashed, or rebased?

One commit of the trunk that changes the same lines of the same files as a branch did in all is that
branch, squashed. Every commit of a branch has its like in the trunk when it was rebased. A work
that was taken in otherwise (with conflicts, in parts) is not known again.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from yaadwatch.system.git.question import Git

TIPS_MAX: Final = 200
"""Ends of branches that are known."""
COMMITS_MAX: Final = 48
"""Ends of branches beside the trunk, and other commits, that are looked at in one go."""
PATHS_MAX: Final = 200
"""Files that a work may change; a larger one is not looked for."""
TRUNK_MAX: Final = 200
"""Commits of the trunk that touched those files and are compared, the newest."""

_DIFF: Final = ("-p", "-U0", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv")
_NOT_COMPARED: Final = (b"@@", b"index ")
_NO_TEXT: Final = b"Binary files "


@dataclass(frozen=True, slots=True)
class Refs:
    """What the answers hang on, as hex: the ends of the trunk, and of branches beside it."""

    trunks: tuple[str, ...]
    tips: tuple[str, ...]


def refs(git: Git, trunks: Sequence[str], beside: Collection[str]) -> Refs:
    """Return where the trunk, which has these names, and branches are that end `beside` it.

    Raises:
        YaadError: as every method of `Repository`.
    """
    ends = git.ask(["rev-parse", *(f"{name}^{{commit}}" for name in trunks)]).decode().split()
    options = ["--format=%(objectname)", f"--count={TIPS_MAX}"]
    tips = git.ask(["for-each-ref", *options, "refs/heads"]).decode().split()
    return Refs(tuple(dict.fromkeys(ends)), tuple(tip for tip in tips if tip in beside))


def landed(git: Git, there: Refs, commits: Collection[str]) -> frozenset[str]:
    """Return those of `commits`, which no trunk has, whose work a trunk holds.

    Raises:
        YaadError: as every method of `Repository`.
    """
    found: set[str] = set()
    for commit in list(dict.fromkeys((*there.tips, *sorted(commits))))[:COMMITS_MAX]:
        if commit not in found and _is_held(git, commit, there.trunks):
            beside = ["rev-list", commit, "--not", *there.trunks]
            found.update(git.ask(beside).decode().split())
    return frozenset(found.intersection(commits))


def _is_held(git: Git, commit: str, trunks: Sequence[str]) -> bool:
    """Return whether the trunk holds all that was done up to a commit since it left the trunk."""
    base = git.ask(["merge-base", commit, *trunks], allowed=(0, 1)).decode().strip()
    if not base:
        return False
    names = git.ask(["diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit])
    paths = [name.decode("utf-8", "surrogateescape") for name in names.split(b"\0") if name]
    if not 1 <= len(paths) <= PATHS_MAX:
        return False
    work = _lines(git.ask(["diff-tree", "-r", *_DIFF, base, commit]))
    if any(line.startswith(_NO_TEXT) for line in work):
        return False
    log = ["log", "--first-parent", "-m", *_DIFF, f"--max-count={TRUNK_MAX}", "--format=%x00"]
    others = git.ask([*log, *trunks, f"^{commit}", "--", *paths]).split(b"\0")
    if any(_lines(other) == work for other in others):
        return True
    return any(_is_rebased(git, commit, trunk) for trunk in trunks)


def _is_rebased(git: Git, commit: str, trunk: str) -> bool:
    """Return whether the trunk has the like of each commit that it does not have itself."""
    alone = ["rev-list", "--max-count=1", "--cherry-pick", "--right-only", f"{trunk}...{commit}"]
    return not git.ask(alone).strip()


def _lines(diff: bytes) -> list[bytes]:
    """Return what a diff changes, wherever that stood."""
    lines = diff.strip(b"\n").split(b"\n")
    return [line for line in lines if not line.startswith(_NOT_COMPARED)]
