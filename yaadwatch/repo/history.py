"""Read commits, compare two of them, and find the commits that made the difference.

`objects` reads objects; the git command walks history and finds renames.
"""

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice

from yaadwatch.model.anchors import Commit, Hunk
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import EVIDENCE_COMMITS_MAX, FILE_BYTES_MAX, HISTORY_COMMITS_MAX
from yaadwatch.repo import changes, layout
from yaadwatch.repo.changes import Change, Departure, rematched
from yaadwatch.repo.command import Git, GitFailed, GitRunner
from yaadwatch.repo.hunks import hunks_between
from yaadwatch.repo.layout import Layout
from yaadwatch.repo.objects import BLOB, COMMIT, ID, Objects

RENAMES = ("-z", "-M", "--diff-filter=R", "--name-status")
NO_FILE = re.compile(r"\0|(?:\A|/)\.{0,2}(?:/|\Z)")
"""What cannot be the path of a file in a tree."""
TOUCHED_COMMITS_MAX = 200
"""Commits whose files are listed one by one; a longer stretch is searched again."""


class CommitHistory:
    """The commits of a repository and what lies between two of them.

    Every method may raise YaadError: TIMEOUT, REFUSED when the repository belongs to another user,
    UNAVAILABLE when git, or an object, cannot be had.
    """

    def __init__(self, layout: Layout, runner: GitRunner) -> None:
        self.layout = layout
        self._runner = runner
        self._git = Git(layout, runner)
        self._objects = Objects(layout, self._git, runner.trees)
        self._renames: dict[tuple[str, str], dict[str, str]] = {}
        self._begun: tuple[tuple[str, str], list[Change], Iterator[Change]] | None = None

    @property
    def git(self) -> Git:
        """Return the git command of this job, for other queries."""
        return self._git

    def blob_at(self, commit: str, path: str) -> str | None:
        """Return the id of the file `path` in `commit`; None when either is not there."""
        if not ID.fullmatch(commit) or NO_FILE.search(path):
            return None
        return self._objects.blob_at(commit, path)

    def has_commit(self, commit: str) -> bool:
        """Return whether the commit is (still) there: false in a shallow or rewritten history."""
        if not ID.fullmatch(commit):
            return False
        return self._objects.kind(commit) == COMMIT

    def read_blob(self, blob: str, bytes_max: int = FILE_BYTES_MAX) -> bytes | None:
        """Return a blob's bytes; None when it is not in this repository, or larger than that."""
        if not ID.fullmatch(blob):
            return None
        return self._objects.blob(blob, bytes_max)

    def has_blob(self, blob: str) -> bool:
        """Return whether a blob is there: false where a partial clone left it out."""
        if not ID.fullmatch(blob):
            return False
        return self._objects.kind(blob) == BLOB

    def commit(self, commit: str) -> Commit | None:
        """Return a commit's author date and subject, or None when it is not there."""
        if not ID.fullmatch(commit):
            return None
        return self._objects.commit(commit)

    def has_folder(self, commit: str, path: str) -> bool:
        """Return whether `commit` has a folder at `path`; false when either is not there."""
        if not ID.fullmatch(commit) or NO_FILE.search(path):
            return False
        return self._objects.has_folder(commit, path)

    def is_submodule(self, commit: str, path: str) -> bool:
        """Return whether `commit` has a submodule at `path`; false when either is not there."""
        if not ID.fullmatch(commit) or NO_FILE.search(path):
            return False
        return self._objects.is_submodule(commit, path)

    def paths_at(self, commit: str) -> list[str]:
        """Return the paths in a commit."""
        listed = self._git.ask(
            ["ls-tree", "-r", "-z", "--name-only", "--full-tree", *valid(commit)]
        )
        return changes.paths_in(listed)

    def differing(self, old: str, new: str) -> list[Change]:
        """Return the files that differ between two commits, renamed ones as gone and as new.

        What it costs depends on what differs, not on what is the same.
        """
        found = self._found(old, new)
        if found is not None:
            return sorted(found, key=_path)
        options = ["-r", "-z", "--raw", "--no-abbrev", "--no-renames", *valid(old, new)]
        return changes.parsed(self._git.compare(options))

    def differing_little(self, old: str, new: str, most: int) -> list[Change] | None:
        """Return what `differing` does; None when more files than `most` differ."""
        found = self._found(old, new)
        few = self.differing(old, new) if found is None else list(islice(found, most + 1))
        if len(few) <= most:
            return sorted(few, key=_path)
        if found is not None:  # all of them may be asked for next: what was read is not read again
            self._begun = (old, new), few, found
        return None

    def _found(self, old: str, new: str) -> Iterator[Change] | None:
        """Return the files that differ, read in this process; None: git is needed."""
        begun, self._begun = self._begun, None
        if begun is not None and begun[0] == (old, new):
            return chain(begun[1], begun[2])
        return self._objects.differing(old, new)

    def file_changes(self, old: str, new: str) -> list[Change]:
        """Return the files that differ between two commits, renames found by git.

        Where git does not have the content of a file (a partial clone), only files that were
        renamed without a change are found renamed.
        """
        options = ["-r", "-z", "--raw", "--no-abbrev", *valid(old, new)]
        return rematched(changes.parsed(self._compared(options, (old, new))))

    def renames(self, old: str, new: str) -> dict[str, str]:
        """Return the files that were renamed between two commits, old path to new path."""
        key = (old, new)
        if key not in self._renames:
            found = self._git.compare(["-r", *RENAMES, *valid(old, new)])
            self._renames[key] = changes.renamed_pairs(found)
        return self._renames[key]

    def departures(self, since: str, until: str) -> list[Departure]:
        """Return the removals and renames of files in `since..until`, oldest first.

        At most the 2,000 newest commits are examined, without merges. The first commits of a
        shallow history are left out, because their changes are unknown.
        """
        between = "..".join(valid(since, until))
        limit = f"--max-count={HISTORY_COMMITS_MAX}"
        commits = self._git.ask(
            ["rev-list", "--topo-order", "--no-merges", limit, between, "--"]
        ).split()
        return self._departed(commits)

    def departure(self, path: str, since: str, until: str) -> Departure | None:
        """Return how the last commit in `since..until` that touched a file took it away.

        All of the history is looked at, however long; None: it did not go there.
        """
        between = "..".join(valid(since, until))
        last = ["rev-list", "--topo-order", "--no-merges", "--max-count=1", between, "--", path]
        found = self._departed(self._git.ask(last).split())
        return next((one for one in found if one.path == path), None)

    def departures_in(self, folder: str, since: str, until: str) -> list[Departure]:
        """Return which files of a folder the last 50 commits that touched it removed or renamed.

        All of the history in `since..until` is examined, however long. The oldest comes first;
        renames within the folder are included.
        """
        between = "..".join(valid(since, until))
        limit = f"--max-count={EVIDENCE_COMMITS_MAX}"
        last = ["rev-list", "--topo-order", "--no-merges", limit, between, "--", folder]
        inside = f"{folder}/"
        departed = self._departed(self._git.ask(last).split())
        return [one for one in departed if one.path.startswith(inside)]

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
        return self._departed(self._git.ask(command).split())

    def _departed(self, commits: Sequence[bytes]) -> list[Departure]:
        """Return the removals and renames of commits, given with the newest first."""
        cut = self._cut()
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
        cut = self._cut()
        found = [line.decode() for line in reversed(self._git.ask(arguments).split())]
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
        at_s = int(self._git.ask([*asked, "--max-count=1", top, "--"]).split()[0])
        asked += [f"--max-count={limit}", f"--since={at_s - days * 86_400}"]
        found = self._git.ask([*asked, top, "--", *paths]).decode("ascii", "replace")
        rows = (line.split() for line in found.splitlines())
        return [(one, tuple(parents), int(at)) for at, one, *parents in rows]

    def commits_of(self, path: str, until: str) -> list[str]:
        """Return the commits in the history of `until` that touched a path, newest first.

        At most 50, the newest.
        """
        limit = f"--max-count={EVIDENCE_COMMITS_MAX}"
        arguments = ["rev-list", "--topo-order", limit, valid(until)[0], "--", path or "."]
        return self._git.ask(arguments).decode("ascii", "replace").split()

    def touched(self, since: str, until: str) -> frozenset[str] | None:
        """Return the files that commits in `since..until` touched, including reverted changes.

        None when those are more than 200 commits. A merge counts for the files that differ from any
        of its parents: it may have taken the side that had not changed.
        """
        most = TOUCHED_COMMITS_MAX
        between = "..".join(valid(since, until))
        commits = self._git.ask(["rev-list", f"--max-count={most + 1}", between, "--"])
        if commits.count(b"\n") > most:
            return None
        if not commits:
            return frozenset()
        options = ["--stdin", "--no-commit-id", "--root", "-r", "-m", "-z"]
        names = ["--name-only", "--no-renames"]
        return frozenset(changes.paths_in(self._git.compare([*options, *names], given=commits)))

    def hunks(self, old: bytes, new: bytes, name: str) -> list[Hunk]:
        """Return git's hunks between two texts, white space ignored; `name` gives the language.

        The header of a hunk are the lines that it may be inside of. Neither the repository's
        configuration nor its attributes play a part.
        """
        try:
            self._git.refuse_if_it_hangs()
            return hunks_between(self._runner, old, new, name)
        except GitFailed as failure:
            raise YaadError(
                Code.UNAVAILABLE, f"git could not compare two versions of {name}: {failure}."
            ) from failure

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
        known = kept.get(question) if self._may_remember else None
        if known is not None and all(map(self.has_commit, commits)):
            return zlib.decompress(known)
        try:
            answer = self._git.compare(["-M", *options], given=given)
            if self._may_remember:
                kept.put(question, zlib.compress(answer, 1))
            return answer
        except YaadError as error:
            if error.code is not Code.UNAVAILABLE:
                raise
            return self._git.compare(["-M100%", *options], given=given)

    def _cut(self) -> frozenset[str]:
        """Return the commits at the cut of a shallow history: they seem to create everything."""
        return layout.cut_at(self.layout)

    @cached_property
    def _may_remember(self) -> bool:
        """Return whether answers are permanent: a partial clone may gain objects later."""
        return not any((self.layout.common_dir / "objects" / "pack").glob("*.promisor"))


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
