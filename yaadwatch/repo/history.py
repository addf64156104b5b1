"""Read commits, compare two of them, and find the commits that made the difference.

`objects` reads objects; the git command walks history and finds renames.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import EVIDENCE_COMMITS_MAX, HISTORY_COMMITS_MAX
from yaadwatch.repo import changes, layout
from yaadwatch.repo.changes import Change, Departure, rematched
from yaadwatch.repo.objects import ID, Objects

RENAMES = ("-z", "-M", "--diff-filter=R", "--name-status")
TOUCHED_COMMITS_MAX = 200
"""Commits whose files are listed one by one; a longer stretch is searched again."""


class LineOrigin(NamedTuple):
    """A commit and its author time in Unix seconds.

    `before`: the previous commit with the file, and the path of the file there; both are empty
    where the commit created the file, or history is cut off.
    """

    commit: str
    at_s: int
    before: tuple[str, str] = ("", "")


class Made(NamedTuple):
    """A commit, when it was committed (Unix seconds), and its author.

    `authors`: the author time with the name, and with the address; a rewrite keeps one of them.
    """

    commit: str
    at_s: int
    authors: frozenset[tuple[str, str]]


class CommitHistory(Objects):
    """The commits of a repository and what lies between two of them; raises as `Objects` does."""

    _is_complete: bool | None = None

    def paths_at(self, commit: str) -> list[str]:
        """Return the paths in a commit."""
        listed = self.git.ask(["ls-tree", "-r", "-z", "--name-only", "--full-tree", *valid(commit)])
        return changes.paths_in(listed)

    def differing(self, old: str, new: str) -> list[Change]:
        """Return the files that differ between two commits, renamed ones as gone and as new.

        What it costs depends on what differs, not on what is the same.
        """
        found = self._differing(old, new)
        if found is not None:
            return sorted(found, key=_path)
        options = ["-r", "-z", "--raw", "--no-abbrev", "--no-renames", *valid(old, new)]
        return changes.parsed(self.git.compare(options))

    def differing_little(self, old: str, new: str, most: int) -> list[Change] | None:
        """Return what `differing` does; None when more files than `most` differ."""
        found = self._differing(old, new)
        few = self.differing(old, new) if found is None else list(islice(found, most + 1))
        return sorted(few, key=_path) if len(few) <= most else None

    def file_changes(self, old: str, new: str) -> list[Change]:
        """Return the files that differ between two commits, renames found by git.

        Where git does not have the content of a file (a partial clone), only files that were
        renamed without a change are found renamed.
        """
        options = ["-r", "-z", "--raw", "--no-abbrev", *valid(old, new)]
        return rematched(changes.parsed(self._compared(options, (old, new))))

    def departures(self, since: str, until: str) -> list[Departure]:
        """Return the removals and renames of files in `since..until`, oldest first.

        At most the 2,000 newest commits are examined, without merges. The first commits of a
        shallow history are left out, because their changes are unknown.
        """
        return self._departed(self._without_merges(since, until, HISTORY_COMMITS_MAX))

    def departure(self, path: str, since: str, until: str) -> Departure | None:
        """Return how the last commit in `since..until` that touched a file took it away.

        All of the history is looked at, however long; None: it did not go there.
        """
        found = self._departed(self._without_merges(since, until, 1, path))
        return next((one for one in found if one.path == path), None)

    def departures_in(self, folder: str, since: str, until: str) -> list[Departure]:
        """Return which files of a folder the last 50 commits that touched it removed or renamed.

        All of the history in `since..until` is examined, however long. The oldest comes first;
        renames within the folder are included.
        """
        last = self._without_merges(since, until, EVIDENCE_COMMITS_MAX, folder)
        return [one for one in self._departed(last) if one.path.startswith(f"{folder}/")]

    def departures_like(self, pattern: str, since: str, until: str) -> list[Departure]:
        """Return what the last 50 commits removed that removed files like a pattern with stars.

        All of the history in `since..until` is examined, however long. The oldest comes first;
        other files that these commits removed or renamed are included.
        """
        between = "..".join(valid(since, until))
        limit = f"--max-count={EVIDENCE_COMMITS_MAX}"
        # What git takes for a pattern may match more; behind a star no pattern begins with magic.
        wide = "*" + re.sub(r"(?:\*\*/|[*?\[\]{}\\])+", "*", pattern)
        asked = ["--topo-order", "--no-merges", "--no-renames", "--diff-filter=D", "--format=%H"]
        command = ["--no-literal-pathspecs", "log", *asked, limit, between, "--", wide]
        return self._departed(self.git.ask(command).split())

    def _without_merges(self, since: str, until: str, most: int, *paths: str) -> list[bytes]:
        between = "..".join(valid(since, until))
        walk = ["rev-list", "--topo-order", "--no-merges", f"--max-count={most}", between]
        return self.git.ask([*walk, "--", *paths]).split()

    def _departed(self, commits: Sequence[bytes]) -> list[Departure]:
        """Return the removals and renames of commits, given with the newest first."""
        cut = layout.cut_at(self.layout)
        commits = [commit for commit in commits if commit.decode() not in cut]
        if not commits:
            return []
        listed = b"\n".join(reversed(commits)) + b"\n"
        options = ["--stdin", "-r", "-z", "--diff-filter=RDA", "--raw", "--no-abbrev"]
        compared = changes.by_commit(self._compared(options, (), given=listed))
        return [
            Departure(commit=commit, path=one.old, to=one.new)
            for commit, changes in compared
            for one in rematched(changes)
            if one.old and one.old != one.new
        ]

    def changes(self, paths: Sequence[str], since: str, until: str) -> list[str]:
        """Return the ids of the commits in `since..until` that touched a path, oldest first.

        At most 51, the newest: one more than are looked at shows that there are older ones. The
        first commits of a shallow history are left out.
        """
        between = "..".join(valid(since, until))
        limit = f"--max-count={EVIDENCE_COMMITS_MAX + 1}"
        arguments = ["rev-list", "--topo-order", limit, between, "--", *paths]
        cut = layout.cut_at(self.layout)
        found = [line.decode() for line in reversed(self.git.ask(arguments).split())]
        return [commit for commit in found if commit not in cut]

    def lineage(
        self, commit: str, paths: Sequence[str], *, limit: int, days: int
    ) -> list[tuple[str, tuple[str, ...], int]]:
        """Return the commits that changed one of some files, and merges, back from one commit.

        Each with the parents that it has in this history, and its time; newest first, at most
        `limit`, and none that is more than so many days older than `commit`.
        """
        (top,) = valid(commit)
        asked = ["rev-list", "--full-history", "--parents", "--timestamp"]
        at_s = int(self.git.ask([*asked, "--max-count=1", top, "--"]).split()[0])
        asked += [f"--max-count={limit}", f"--since={at_s - days * 86_400}"]
        found = self.git.ask([*asked, top, "--", *paths]).decode("ascii", "replace")
        rows = (line.split() for line in found.splitlines())
        return [(one, tuple(parents), int(at)) for at, one, *parents in rows]

    def commits_of(self, path: str, until: str) -> list[str]:
        """Return the commits in the history of `until` that touched a path, newest first.

        At most 50, the newest.
        """
        limit = f"--max-count={EVIDENCE_COMMITS_MAX}"
        arguments = ["rev-list", "--topo-order", limit, valid(until)[0], "--", path or "."]
        return self.git.ask(arguments).decode("ascii", "replace").split()

    def made(self, until: str, which: str) -> list[Made]:
        """Return the commits in the history of `until` that an option of `rev-list` chooses."""
        row = "%x00%H%x00%ct%x00%at%x00%an%x00%ae%x00"
        asked = ["rev-list", f"--format={row}", which, valid(until)[0], "--"]
        # A damaged commit may have no times, and names on several lines.
        fields = self.git.ask(asked).decode("utf-8", "replace").split("\0")
        rows = zip(*(fields[first::6] for first in range(1, 6)), strict=False)
        return [
            Made(commit, int(committed or 0), frozenset(((authored, name), (authored, address))))
            for commit, committed, authored, name, address in rows
        ]

    def touched(self, since: str, until: str) -> frozenset[str] | None:
        """Return the files that commits in `since..until` touched, including reverted changes.

        None when those are more than 200 commits. A merge counts for the files that differ from any
        of its parents: it may have taken the side that had not changed.
        """
        most = TOUCHED_COMMITS_MAX
        between = "..".join(valid(since, until))
        commits = self.git.ask(["rev-list", f"--max-count={most + 1}", between, "--"])
        if commits.count(b"\n") > most:
            return None
        if not commits:
            return frozenset()
        options = ["--stdin", "--no-commit-id", "--root", "-r", "-m", "-z"]
        names = ["--name-only", "--no-renames"]
        return frozenset(changes.paths_in(self.git.compare([*options, *names], given=commits)))

    def wrote(self, commit: str, path: str) -> list[LineOrigin]:
        """Return for each line of a file in a commit, in order, which commit wrote it.

        White space, and lines that only went elsewhere in the file, count as no change; a file that
        was renamed is followed. Where history was cut off it is the oldest commit that is there. No
        text filter of the repository is run.

        Raises:
            YaadError: as every method; UNAVAILABLE where the commit has no such file.
        """
        # A list of commits to pass over that the repository names, and lacks, would be an error.
        how = ("--porcelain", "-w", "-M", "--no-textconv", "--no-ignore-revs-file")
        wrote: list[LineOrigin] = []
        times: dict[bytes, int] = {}
        before: dict[bytes, tuple[str, str]] = {}
        current = b""
        for row in self.git.ask(["blame", *how, *valid(commit), "--", path]).split(b"\n"):
            if row.startswith(b"\t"):
                since = before.get(current, ("", ""))
                wrote.append(LineOrigin(current.decode(), times.get(current, 0), since))
            elif begun := re.fullmatch(rb"([0-9a-f]{40}|[0-9a-f]{64}) \d+ \d+(?: \d+)?", row):
                current = begun[1]
            elif row.startswith(b"committer-time "):
                times[current] = int(row.removeprefix(b"committer-time "))
            # A path in quotation marks has odd characters, and is not followed.
            elif previous := re.fullmatch(rb"previous ([0-9a-f]{40,64}) ([^\"].*)", row):
                before[current] = (previous[1].decode(), os.fsdecode(previous[2]))
        return wrote

    def _compared(
        self, options: list[str], commits: Iterable[str], *, given: bytes | None = None
    ) -> bytes:
        """Return git's output about commits, with renames as far as it has the files.

        One call, if git has all of them.

        Args:
            options: of `git diff-tree`.
            commits: commits that may be missing by now.
            given: its standard input.
        """
        kept = self._runner.compared
        digest = hashlib.sha256(given or b"").hexdigest()
        question = (str(self.layout.common_dir), *options, digest)
        known = kept.get(question) if self.is_whole else None
        if known is not None and all(map(self.has_commit, commits)):
            return zlib.decompress(known)
        try:
            answer = self.git.compare(["-M", *options], given=given)
            if self.is_whole:
                kept.put(question, zlib.compress(answer, 1))
            return answer
        except YaadError as error:
            if error.code is not Code.UNAVAILABLE:
                raise
            return self.git.compare(["-M100%", *options], given=given)

    @property
    def is_whole(self) -> bool:
        """Whether the clone has all objects; a partial one may gain some, so no answer is kept."""
        if self._is_complete is None:
            packs = self.layout.common_dir / "objects" / "pack"
            self._is_complete = not any(packs.glob("*.promisor"))
        return self._is_complete


def _path(change: Change) -> str:
    return change.old or change.new or ""


def valid(*ids: str) -> tuple[str, ...]:
    """Return the ids.

    Raises:
        YaadError: UNAVAILABLE when one of them is none.
    """
    for commit in ids:
        if not ID.fullmatch(commit):
            raise YaadError(Code.UNAVAILABLE, f"{commit!r} is no commit, so git was not asked.")
    return ids
