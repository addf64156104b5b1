"""Find the commits made and the files changed in a work tree since a given time.

Commits count if HEAD reached them by committing, picking or rebasing, if they were authored since,
and if a branch still has them: pulled or discarded commits were not made here. Uncommitted files
are found by their modification times and confirmed by their bytes; nothing is read through a filter
of the repository. Also finds files of given names anywhere in a work tree.
"""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from yaadwatch.model.settings import (
    FILE_BYTES_MAX,
    HISTORY_COMMITS_MAX,
)
from yaadwatch.repo import layout
from yaadwatch.repo.changes import Cache, IndexKey, index_key, path_texts
from yaadwatch.repo.command import Git
from yaadwatch.repo.repository import Repository, blob_id
from yaadwatch.system import files

ADDED: Final = "added"
CHANGED: Final = "changed"
REMOVED: Final = "removed"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND_NS = 1_000_000_000
_LAG_NS = 50_000_000  # file systems keep coarser time than clocks


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentCommit:
    """A commit made in a work tree, and when HEAD reached it; the subject is unmasked."""

    id: str
    subject: str
    at: datetime


def commits(git: Git, since: datetime, start: str) -> list[RecentCommit]:
    """Return the commits that were made in a work tree since a time, oldest first.

    At most 1,000 steps of HEAD are looked back. Git writes times in whole seconds; what the commit
    `start` (hex, or '') leads to was there before.

    Raises:
        YaadError: as every method of `Repository`.
    """
    log = ["log", "-z", "-g", "--date=unix", "--format=%H%x1f%at%x1f%gd%x1f%gs%x1f%s"]
    log += ["--max-count=1000"]
    made_here = r"(?:commit|cherry-pick|revert|am|rebase)\b"
    since_s = int(since.timestamp())
    made: dict[str, RecentCommit] = {}
    for row in git.ask([*log, "HEAD", "--"]).decode("utf-8", "replace").split("\0"):
        commit, authored, step, what, subject = [*row.split("\x1f", 4), "", "", "", "", ""][:5]
        at = re.fullmatch(r"HEAD@\{(\d+)\}", step)
        if at is None or not authored.isdigit():
            continue
        if int(at[1]) < since_s - 60:
            break
        if int(at[1]) >= since_s and int(authored) >= since_s and re.match(made_here, what):
            when = datetime.fromtimestamp(int(at[1]), UTC)
            made[commit] = RecentCommit(id=commit, subject=subject, at=when)
    gone = _beyond(git, made, ["HEAD", "--branches"])
    new = _beyond(git, made, [start]) if start else set(made)
    return [one for one in reversed(made.values()) if one.id in new - gone]


def files_of(git: Git, commits: Iterable[str]) -> dict[str, str]:
    """Return what commits (oldest first) did to files, together: path to how.

    What merges did is not looked at. A file that came and went is not among them.

    Raises:
        YaadError: as every method of `Repository`.
    """
    given = "".join(f"{commit}\n" for commit in commits).encode()
    if not given:
        return {}
    options = ["--stdin", "-r", "-z", "--root", "--no-renames", "--no-commit-id", "--name-status"]
    fields = iter(path_texts(git.compare(options, given=given).split(b"\0")))
    found: dict[str, str] = {}
    for status, path in zip(fields, fields, strict=False):
        if path:
            how = {"A": ADDED, "D": REMOVED}.get(status.strip()[:1], CHANGED)
            fold(found, path, how)
    return found


def fold(found: dict[str, str], path: str, how: str) -> None:
    """Add to what became of files that one was `how` after that."""
    before = found.pop(path, None)
    if before == ADDED and how == REMOVED:
        return
    if before == ADDED:
        how = ADDED
    elif before == REMOVED and how == ADDED:
        how = CHANGED
    found[path] = how


def uncommitted(repository: Repository, since: datetime, until: datetime) -> dict[str, str]:
    """Return the files of a work tree that were changed since a time and differ from HEAD.

    Path to how. Left out: what was written after `until`, what git ignores, and everything in a
    work tree of more than 200,000 files.

    Raises:
        YaadError: as every method of `Repository`.
    """
    root = repository.layout.root
    if root is None:
        return {}
    tracked, others = repository.tracked(), repository.untracked()
    if len(tracked) + len(others) > 200_000:
        return {}
    at = repository.head()
    head, names = at.commit, layout.object_format(repository.layout, at)
    found = {}
    until_ns = (int(until.timestamp()) + 1) * _SECOND_NS + _LAG_NS
    for path, there in _changed_on_disk(root, (*tracked, *others), ns_of(since), until_ns):
        blob = repository.blob_at(head, path)
        if not there and blob is not None:
            found[path] = REMOVED
        elif there and not _holds(root, path, blob, names):
            found[path] = ADDED if blob is None else CHANGED
    return found


def _beyond(git: Git, ids: Iterable[str], known: list[str]) -> set[str]:
    """Return the commits of `ids` that are not in the history of any of `known`."""
    given = "".join(f"{one}\n" for one in ids).encode()
    if not given:
        return set()
    walk = ["rev-list", f"--max-count={HISTORY_COMMITS_MAX}", "--stdin", "--not", *known]
    return set(git.ask(walk, given=given).decode().split())


def _changed_on_disk(
    root: Path, paths: Iterable[str], since_ns: int, until_ns: int
) -> Iterator[tuple[str, bool]]:
    """Yield the files written or removed in that time, and whether they exist."""
    for path in paths:
        try:
            looked = os.lstat(f"{root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            if _was_removed_since(root, path, since_ns):
                yield path, False
        except OSError:
            continue  # a folder that we may not look into
        else:
            last_ns = max(looked.st_mtime_ns, looked.st_ctime_ns)
            if is_since(last_ns, since_ns) and looked.st_mtime_ns <= until_ns:
                yield path, True


def _was_removed_since(root: Path, path: str, since_ns: int) -> bool:
    """Return whether the nearest folder of a removed file was changed since."""
    folder = os.path.dirname(path)  # noqa: PTH120
    while folder and not os.path.isdir(f"{root}/{folder}"):  # noqa: PTH112
        folder = os.path.dirname(folder)  # noqa: PTH120
    return is_since(os.stat(f"{root}/{folder}").st_mtime_ns, since_ns)  # noqa: PTH116


def ns_of(moment: datetime) -> int:
    """Return an instant in nanoseconds since 1970, as file systems count."""
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def is_since(stamp_ns: int, since_ns: int) -> bool:
    """Return whether a file with this modification time may have been written since another time.

    The kernel stamps files with the time of its last tick, a little in the past; a file system that
    keeps whole seconds cuts off the rest. Only a whole second is compared as such: otherwise work
    in the second before a session began would be attributed to it.
    """
    if stamp_ns % _SECOND_NS == 0:
        return stamp_ns >= since_ns // _SECOND_NS * _SECOND_NS
    return stamp_ns >= since_ns - _LAG_NS


def _holds(root: Path, path: str, blob: str | None, object_format: str) -> bool:
    """Return whether a file equals a blob, line ends aside."""
    if blob is None:
        return False
    data = files.observe(root, path, bytes_max=FILE_BYTES_MAX, now_ns=0).data
    if data is None:
        return False
    return blob in {
        blob_id(data, object_format),
        blob_id(data.replace(b"\r\n", b"\n"), object_format),
    }


FOLDERS_MAX: Final = 256
"""Folders that are looked into before git is asked: so many cost as much as its two commands."""

Says = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """The files at an index; `tracked` None: git was not run, because no such file exists."""

    index: IndexKey | None
    tracked: tuple[str, ...] | None
    untracked: tuple[str, ...]


class Below:
    """Lists the files of a work tree that git tracks, or would, and remembers those asked for.

    Tracked files are listed again when the index has changed. Listing untracked files takes a walk
    through all folders, so it is done only when `thorough`. Git is not run where the disk has no
    file of such a name. Every caller must want the same names.
    """

    def __init__(self) -> None:
        self._listed: Cache[Path, _Listed] = Cache(256)

    def names(
        self, repository: Repository, wants: Says, *, passed: Says, thorough: bool
    ) -> tuple[str, ...]:
        """Return the paths, relative to the work tree, with '/'; some may not be on the disk.

        Args:
            repository: of the work tree.
            wants: whether a path is one of those.
            passed: whether everything below a folder of this name is skipped.
            thorough: also search again for untracked files.

        Raises:
            YaadError: from git.
        """
        root, git_dir = repository.layout.root, repository.layout.git_dir
        index = index_key(root or git_dir, f"{git_dir}/index")
        known = self._listed.get(git_dir)
        same = known is not None and index is not None and known.index == index
        tracked = known.tracked if known is not None and same else None
        untracked = known.untracked if known is not None else ()
        if thorough or not same:
            if root is not None and _none_there(root, wants, passed):
                tracked, untracked = None, ()
            else:
                if tracked is None:
                    tracked = tuple(repository.tracked_where(wants))
                if thorough:
                    untracked = tuple(filter(wants, repository.untracked()))
        self._listed.put(git_dir, _Listed(index=index, tracked=tracked, untracked=untracked))
        return tuple(dict.fromkeys((*(tracked or ()), *untracked)))


def _none_there(root: Path, wants: Says, passed: Says) -> bool:
    """Return whether it is sure that no file of those names is in a work tree, ignored or not.

    Links are not followed, as git does not.
    """
    waiting = deque([""])
    looked = 0
    while waiting:
        looked += 1
        if looked > FOLDERS_MAX:
            return False
        above = waiting.popleft()
        try:
            with os.scandir(f"{root}/{above}") as entries:
                for entry in entries:
                    path = above + entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != ".git" and not passed(entry.name):
                            waiting.append(f"{path}/")
                    elif wants(path):
                        return False
        except OSError:
            return False
    return True
