"""One work tree and its repository: HEAD, the index, branches, and searches for words.

Nothing here lets git read a work-tree file through a filter of the repository: no `status`, no
`diff` against the work tree.
"""

import hashlib
import os
import re
import shutil
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Sized
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import FILE_BYTES_MAX, HISTORY_COMMITS_MAX
from yaadwatch.repo import attributes, changes, layout
from yaadwatch.repo import words as repo_words
from yaadwatch.repo.attributes import Conversions, TextAttributes
from yaadwatch.repo.changes import Cache, IndexKey, SkippedPaths, index_key, path_texts
from yaadwatch.repo.command import GitRunner
from yaadwatch.repo.history import RENAMES, CommitHistory, valid
from yaadwatch.repo.layout import Head, Layout
from yaadwatch.repo.objects import ID, NO_FILE
from yaadwatch.system import processes

T = TypeVar("T", bound=Sized)
PATHS_KEPT: Final = 50_000
"""A longer listing of an index is not kept: 5 MiB with paths of ordinary length."""
_ENTRY_BYTES_MIN: Final = 64
"""Of a file in an index."""
_ORDINARY: Final = (b"H 100644 ", b"H 100755 ", b"H 120000 ")
"""How a row of `git ls-files -v -s` begins for a file that is checked out."""
REWRITTEN_MAX: Final = 20_000
"""Commits that are searched for one that was rewritten, the newest."""
NEAR_MAX: Final = 4
"""Searched commits that are remembered as such, the last ones."""
INDEX_BYTES_MAX: Final = 256 * 1024 * 1024


def blob_id(data: bytes, object_format: str = "sha1") -> str:
    """Return git's id of a file with these bytes, as hex."""
    digest = hashlib.new(object_format, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


class Repository(CommitHistory):
    """One work tree (or bare repository) and its history. Open one for each job, not for ever.

    Every method may raise YaadError: TIMEOUT, REFUSED when the repository belongs to another user,
    UNAVAILABLE when git, or an object, cannot be had.
    """

    def __init__(self, layout: Layout, runner: GitRunner) -> None:
        super().__init__(layout, runner)
        self._cwd = layout.root or layout.git_dir
        self._effects: dict[str, TextAttributes] = {}
        self._conversions: dict[str, Conversions] = {}
        self._refusal: tuple[YaadError, ...] | None = None

    def head(self) -> Head:
        """Return where HEAD is now."""
        head = layout.read_head(self.layout)
        if head is not None:
            return head
        commit = self.git.ask(["rev-parse", "--verify", "--quiet", "HEAD"], allowed=(0, 1))
        named = self.git.ask(["symbolic-ref", "--quiet", "HEAD"], allowed=(0, 1))
        reference = os.fsdecode(named.strip())
        if not commit and (self.layout.common_dir / (reference or "HEAD")).is_file():
            raise YaadError(
                Code.UNAVAILABLE,
                f"{reference or 'HEAD'} of {self._cwd} names no commit that can be read.",
                hint="See what git fsck says about this repository.",
            )
        branch = named.strip().removeprefix(b"refs/heads/").decode("utf-8", "replace")
        return Head(commit=commit.decode().strip(), branch=branch)

    def verify(self) -> None:
        """Have git itself accept this repository.

        Raises:
            YaadError: REFUSED when it belongs to another user, UNAVAILABLE when git cannot
                read it.
        """
        answer = self.git.ask(["rev-parse", "--absolute-git-dir"])
        found = Path(os.fsdecode(answer.removesuffix(b"\n")))
        if not self.layout.git_dir.exists() or not found.samefile(self.layout.git_dir):
            raise YaadError(
                Code.UNAVAILABLE,
                f"git takes {self._cwd} for a part of {found}, not of {self.layout.git_dir}; "
                "nothing in it was read.",
            )

    def require_ours(self) -> None:
        """Require that this user owns or trusts it; git is asked once per job.

        Raises:
            YaadError: REFUSED when it belongs to another user.
        """
        if self._refusal is None:
            self._refusal = ()
            try:
                if not self.layout.is_own():
                    self.verify()
            except YaadError as error:
                if error.code is Code.REFUSED:
                    self._refusal = (error,)
        for refusal in self._refusal:
            raise refusal

    def tracked(self, folder: str = "") -> list[str]:
        """Return the paths in the index, relative to the work tree; those in `folder` only."""
        if self.layout.root is None:
            return []
        if folder:
            key = self._index()
            known = self._runner.listed.get(key) if key is not None else None
            return self._listed("--", folder) if known is None else inside(known, folder)
        return list(self._of_index(self._runner.listed, lambda: tuple(self._listed())))

    def tracked_where(self, wants: Callable[[str], bool]) -> list[str]:
        """Return the paths in the index that `wants` is true of; others are not kept in memory."""
        index = self._index()
        if index is None or index[2] < PATHS_KEPT * _ENTRY_BYTES_MIN:
            return [path for path in self.tracked() if wants(path)]
        listed = changes.each_path(self.git.ask(["ls-files", "-z"]))
        return list(dict.fromkeys(filter(wants, listed)))

    def _of_index(self, kept: Cache[IndexKey, T], ask: Callable[[], T]) -> T:
        """Return an answer of git about the index, cached for each state of the index."""
        before = self._index()
        known = kept.get(before) if before is not None else None
        if known is not None:
            return known
        found = ask()
        # One that was written meanwhile may have been asked before or after that.
        if before is not None and len(found) <= PATHS_KEPT and self._index() == before:
            kept.put(before, found)
        return found

    def _index(self) -> IndexKey | None:
        return index_key(self.layout.root or self._cwd, f"{self.layout.git_dir}/index")

    def _listed(self, *within: str) -> list[str]:
        found = changes.paths_in(self.git.ask(["ls-files", "-z", *within]))
        return list(dict.fromkeys(found))

    def commit_named(self, name: str) -> str | None:
        """Return the id of the commit that a name (`HEAD~1`, a branch) refers to, or None."""
        named = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
        try:
            found = self.git.ask(named, allowed=(0, 1)).decode("ascii", "replace").strip()
        except YaadError as error:
            if error.code is not Code.UNAVAILABLE:
                raise
            return None  # a branch without an upstream, a name that git cannot read
        return found if ID.fullmatch(found) else None

    def root_commit(self) -> str:
        """Return the first commit in the history of HEAD; '' before there is one, or if unknown."""
        asked = ["rev-list", "--first-parent", "--max-parents=0", "HEAD", "--"]
        try:
            found = self.git.ask(asked, allowed=(0, 128)).decode("ascii", "replace").split()
        except YaadError:
            return ""
        return found[-1] if found else ""

    def snapshot(self, index: Path | None = None) -> str:
        """Return a new commit on HEAD that holds what is staged; no branch leads to it.

        It takes three kinds of objects at most, which git throws away by itself some weeks later.

        Args:
            index: the index file; the repository's own when None.

        Raises:
            YaadError: REFUSED when it holds conflicts, TOO_LARGE when it is too large.
        """
        staged = index or self.layout.git_dir / "index"
        parent = self.head().commit

        def fill(place: Path) -> None:
            # Git rewrites the index when it makes a tree of it, and would ask the filters of
            # the repository about files that it finds: it gets a copy, and finds none.
            if staged.is_file():
                shutil.copyfile(staged, place / "index")

        if staged.is_file() and staged.stat().st_size > INDEX_BYTES_MAX:
            raise YaadError(
                Code.TOO_LARGE,
                f"{staged} is larger than {INDEX_BYTES_MAX >> 20} MiB; what is staged was "
                "not looked at.",
            )
        with processes.folder(fill) as place:
            index = place / "index"
            unmerged = self.git.ask(["ls-files", "-z", "-u"], index=index, inside=True)
            if unmerged:
                path = os.fsdecode(unmerged.split(b"\0")[0].partition(b"\t")[2])
                raise YaadError(
                    Code.REFUSED,
                    f"{path} has a conflict that is not settled, so what is staged is no commit "
                    "yet; it was not looked at.",
                    hint="Settle it, then stage the file: git add FILE",
                )
            tree = self.git.ask(["write-tree"], index=index, inside=True).decode().strip()
            who = ["-c", "user.name=yaadwatch", "-c", "user.email=yaadwatch@localhost"]
            parents = ["-p", parent] if parent else []
            made = self.git.ask([*who, "commit-tree", tree, *parents, "-m", "what is staged"])
            return made.decode().strip()

    def untracked(self) -> list[str]:
        """Return the files that git neither tracks nor ignores; none of repositories inside."""
        if self.layout.root is None:
            return []
        found = changes.paths_in(self.git.ask(["ls-files", "-z", "--others", "--exclude-standard"]))
        return [path for path in found if not path.endswith("/")]

    def is_ignored(self, path: str) -> bool:
        """Return whether git ignores `path`, existing or not; a final '/' marks a folder."""
        if self.layout.root is None or not path or NO_FILE.search(path):
            return False
        # Its input has no way to be literal; behind `./` no path begins with magic.
        command = ["--no-literal-pathspecs", "check-ignore", "-z", "--stdin"]
        given = b"./" + os.fsencode(path) + b"\0"
        return bool(self.git.ask(command, given=given, allowed=(0, 1)))

    def staged_blob(self, path: str) -> str | None:
        """Return the blob that the index holds for a file; None when it holds none."""
        if NO_FILE.search(path):
            return None
        rows = self.git.ask(["ls-files", "-s", "-z", "--", path])
        for row in rows.split(b"\0"):
            about, _, name = row.partition(b"\t")
            if name == os.fsencode(path):
                return about.decode().split()[1]
        return None

    def merge_base(self, one: str, other: str) -> str:
        """Return the newest commit that both have; '' when there is none."""
        asked = ["merge-base", valid(one)[0], valid(other)[0]]
        return self.git.ask(asked, allowed=(0, 1)).decode("ascii", "replace").strip()

    def are_in_order(self, *commits: str) -> bool:
        """Return whether each of some commits has the one before it in its history."""
        return all(self.merge_base(old, new) == old for old, new in pairwise(commits))

    def stray(self, commits: Collection[str], but: Collection[str] = ()) -> frozenset[str]:
        """Return those of `commits` that are there, and on no branch, tag or HEAD of this tree.

        `but`: commits whose history counts as if they were on a branch.
        """
        if not commits:
            return frozenset()
        others = ["--not", "--branches", "--remotes", "--tags", "HEAD", *but]
        asked = ["rev-list", "--ignore-missing", *sorted(commits), *others]
        found = self.git.ask(asked).decode("ascii", "replace").split()
        return frozenset(found).intersection(commits)

    def is_replaced_by(self, commit: str, head: str) -> bool:
        """Return whether the history of `head` took the place of the one that `commit` is in.

        So it is where no branch, tag or HEAD has anything of that history, and that of `head` began
        later, or has its commits under other names: an orphan commit, a rewrite from the root. A
        branch that never had a commit in common with others, and was deleted, was replaced by none.
        """
        began = self.made(commit, "--max-parents=0")
        roots = {one.commit for one in began}
        if not roots or self.stray(roots) != roots:
            return False
        (last,) = self.made(commit, "--max-count=1")
        if all(one.at_s >= last.at_s for one in self.made(head, "--max-parents=0")):
            return True
        authors = frozenset[tuple[str, str]]().union(*(one.authors for one in (last, *began)))
        newest = self.made(head, f"--max-count={REWRITTEN_MAX}")
        return not authors.isdisjoint(author for one in newest for author in one.authors)

    def stashes(self, limit: int = 32) -> list[str]:
        """Return the commits of the stash, newest first; the third parent holds untracked files."""
        self.require_ours()
        if not (self.layout.common_dir / "logs" / "refs" / "stash").is_file():
            return []
        asked = ["rev-list", "--walk-reflogs", f"--max-count={limit}", "refs/stash", "--"]
        return self.git.ask(asked, allowed=(0, 128)).decode("ascii", "replace").split()

    def tips_above(self, commit: str, limit: int = 8) -> list[str]:
        """Return the ends of the local branches that have `commit`, the newest first."""
        self.require_ours()
        asked = ["for-each-ref", "--format=%(objectname)", "--sort=-committerdate"]
        asked += [f"--count={limit}", f"--contains={commit}", "refs/heads"]
        return self.git.ask(asked, allowed=(0, 128, 129)).decode("ascii", "replace").split()

    def logged(self, branch: str, limit: int = 256) -> list[str]:
        """Return the commits that a branch was at lately, newest first, from its log."""
        self.require_ours()
        return layout.logged(self.layout.common_dir, f"logs/refs/heads/{branch}")[:limit]

    def checked_out(self, since: int, limit: int) -> list[str]:
        """Return the commits that HEAD was at lately, newest first, from its log.

        Args:
            since: `log_size` then; all that the log has where it is shorter by now.
            limit: commits at most.
        """
        self.require_ours()
        return layout.logged(self.layout.git_dir, "logs/HEAD", since)[:limit]

    def log_size(self) -> int:
        """Return the bytes of the log of HEAD; 0 where there is none."""
        self.require_ours()
        place = self.layout.git_dir / "logs/HEAD"
        return place.stat().st_size if place.is_file() else 0

    def commits_changing(self, path: str, since: str, until: str, limit: int) -> list[str]:
        """Return the commits that changed a file, of those that have `since`, newest first."""
        if NO_FILE.search(path):
            return []
        span = f"{valid(since)[0]}..{valid(until)[0]}"
        asked = ["rev-list", "--full-history", "--ancestry-path", f"--max-count={limit}"]
        return self.git.ask([*asked, span, "--", path]).decode("ascii", "replace").split()

    def is_own_work(self, since: str, until: str) -> bool:
        """Return whether only this repository's own user made the commits after `since`, here."""
        if since == until or not ID.fullmatch(since) or not ID.fullmatch(until):
            return False
        if not self.has_commit(since):
            return False
        own = self.git.ask(["config", "--get", "user.email"], allowed=(0, 1)).strip()
        if not own:
            return False
        if self.git.ask(["rev-list", "--max-count=1", since, f"^{until}"]).strip():
            return False
        asked = ["log", "-z", "--format=%H %ae", f"--max-count={HISTORY_COMMITS_MAX}"]
        wrote = self.git.ask([*asked, until, f"^{since}"])
        rows = [one.strip().partition(b" ") for one in wrote.split(b"\0") if one.strip()]
        made = layout.made_here(self.layout.git_dir)
        return bool(rows) and all(author == own and commit in made for commit, _, author in rows)

    def left_out(self) -> SkippedPaths:
        """Return entries that may be missing in the work tree without being deleted."""
        if self.layout.root is None:
            return SkippedPaths(sparse={}, modules=frozenset())
        return self._of_index(self._runner.left_out, self._left_out)

    def _left_out(self) -> SkippedPaths:
        sparse, modules, assumed = {}, set(), set[str]()
        for found in re.finditer(rb"[^\0]+", self.git.ask(["ls-files", "-z", "-v", "-s"])):
            row = found[0]
            if row.startswith(_ORDINARY):
                continue
            about, _, name = row.partition(b"\t")
            (path,) = path_texts([name])
            if not path:
                continue
            tag, mode, blob, _ = about.decode().split()
            assumed |= {path} if tag.islower() else set()
            if mode == "160000":
                modules.add(path)
            elif tag in "Ss" and mode != "120000":
                sparse[path] = blob
        return SkippedPaths(sparse=sparse, modules=frozenset(modules), assumed=frozenset(assumed))

    def conversions(self, path: str) -> Conversions:
        """Return how git converts a file between a commit and the work tree; asked once a job."""
        if path not in self._conversions:
            self._conversions[path] = attributes.conversions_of(self.git, path)
        return self._conversions[path]

    def is_as_indexed(self, path: str, blob: str = "") -> bool:
        """Return whether a file is as git last wrote or staged it (`blob`: from that), unread."""
        root = self.layout.root
        if root is None or NO_FILE.search(path):
            return False
        return attributes.is_as_indexed(self.git, root, path, blob)

    def is_left_out(self, path: str) -> bool:
        """Return whether git itself has a file that is missing in the work tree not checked out.

        So it is with a sparse checkout, and with a name that the index no longer has.
        """
        return self.staged_blob(path) is None or self.is_sparse(path)

    def is_sparse(self, path: str) -> bool:
        """Return whether the index has a file that git does not check out."""
        return path in self.left_out().sparse

    def is_tracked(self, path: str) -> bool:
        """Return whether the index holds `path`, or a file below it."""
        return bool(self.tracked(path))

    def others(self, paths: Iterable[str], *, ignored: bool = False) -> frozenset[str]:
        """Return the untracked files among some files; `ignored`: also if git ignores them."""
        names = [path for path in paths if not NO_FILE.search(path)]
        if self.layout.root is None or not names:
            return frozenset()
        only = ["--ignored", "--exclude-standard"] if ignored else []
        found = self.git.ask(["ls-files", "-z", "--others", *only, "--", *names])
        return frozenset(os.fsdecode(found).split("\0")) - {""}

    def staged_renames(self) -> dict[str, str]:
        """Return the files that were renamed in the index and not yet committed."""
        return changes.renamed_pairs(self.git.ask(["diff-index", "--cached", *RENAMES, "HEAD"]))

    def files_with(
        self,
        words: Sequence[str],
        *,
        at: str | None = None,
        untracked: bool = False,
        whole: bool = True,
    ) -> dict[str, list[str]]:
        """Return for each word the text files that hold it as a whole word, sorted.

        Args:
            words: taken literally; one scan answers for all of them.
            at: a commit; the tracked files of the work tree when None.
            untracked: also files that git neither tracks nor ignores; only of the work tree.
            whole: a text that git does not have is an error; else it is as if it held nothing.
        """
        if at is None:
            if self.layout.root is None:
                return {word: [] for word in words}
            search = partial(
                repo_words.files_with, self.git, words, at=None, untracked=untracked, whole=False
            )
            try:
                return search()
            except YaadError as error:
                # Git reads each file whole, and ends where one does not fit into memory.
                if error.code is not Code.UNAVAILABLE or not (huge := self._huge()):
                    raise
                return search(without=huge)
        if not ID.fullmatch(at):
            return {word: [] for word in words}
        known = self.remembered(words, at=at)
        wanted = [word for word in words if word not in known]
        found = repo_words.files_with(self.git, wanted, at=at, untracked=False, whole=whole)
        if whole:
            self.remember(found, at=at)
        return known | found

    def _huge(self) -> list[str]:
        """Return the files of the work tree that are too large to be read."""
        root = str(self.layout.root)

        def size(path: str) -> int:
            try:
                return os.lstat(f"{root}/{path}").st_size
            except OSError:
                return 0

        return [
            path for path in (*self.tracked(), *self.untracked()) if size(path) > FILE_BYTES_MAX
        ]

    def names_like(self, name: str) -> list[str]:
        """Return words in tracked files of the work tree that are spelt nearly like a name."""
        return repo_words.names_like(self.git, name) if self.layout.root is not None else []

    def texts_only(
        self, found: Mapping[str, Sequence[str]], *, at: str
    ) -> Mapping[str, Sequence[str]] | None:
        """Return which files of a commit hold words as text, given those whose bytes hold them.

        None where attributes make other files texts, too.
        """
        if at not in self._effects:
            tracked = self._of_index(
                self._runner.attributes, lambda: attributes.among(self.tracked())
            )
            blobs = {self.blob_at(at, path) for path in (".gitattributes", *tracked)}
            most = attributes.ATTRIBUTES_BYTES_MAX
            at_commit = [self.read_blob(blob, most) for blob in blobs if blob]
            self._effects[at] = attributes.text_attributes(self.layout, tracked, at_commit)
        if self._effects[at] is not TextAttributes.LESS:
            return found if self._effects[at] is TextAttributes.NOTHING else None
        paths = dict.fromkeys(path for own in found.values() for path in own)
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        output = self.git.ask(["check-attr", "-z", "--stdin", "diff"], given=given).split(b"\0")
        rows = zip(output[::3], output[2::3], strict=False)
        binary = {os.fsdecode(path) for path, value in rows if value == b"unset"}
        return {word: [path for path in own if path not in binary] for word, own in found.items()}

    def remembered(self, words: Sequence[str], *, at: str) -> dict[str, list[str]]:
        """Return cached results of `files_with` for a commit, from any job; for some words only."""
        if not self.is_whole:
            return {}
        known = {
            word: self._runner.found.get((str(self.layout.common_dir), at, word)) for word in words
        }
        return {word: list(paths) for word, paths in known.items() if paths is not None}

    def remember(self, found: Mapping[str, Sequence[str]], *, at: str) -> None:
        """Cache the result of `files_with` for a commit, for other jobs."""
        if not self.is_whole:
            return
        folder = str(self.layout.common_dir)
        for word, paths in found.items():
            self._runner.found.put((folder, at, word), tuple(paths))
        before = self._runner.searched.get(folder) or ()
        self._runner.searched.put(folder, tuple(dict.fromkeys((at, *before)))[:NEAR_MAX])

    def searched(self, words: Sequence[str]) -> list[str]:
        """Return commits for which all of the words are remembered, the last searched first."""
        near = self._runner.searched.get(str(self.layout.common_dir)) or ()
        return [
            commit
            for commit in near
            if len(self.remembered(words, at=commit)) == len(set(words)) and self.has_commit(commit)
        ]


def inside(paths: Sequence[str], folder: str) -> list[str]:
    """Return those of the sorted paths of an index that are `folder`, or in it."""
    spans = ((folder, f"{folder}\0"), (f"{folder}/", f"{folder}0"))
    ends = [(bisect_left(paths, start), bisect_left(paths, end)) for start, end in spans]
    return [path for start, end in ends for path in paths[start:end]]
