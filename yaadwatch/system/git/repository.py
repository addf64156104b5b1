"""Ask a repository: which commit, which blobs, what was renamed, who removed it, where is a word.

Two tools behind one door. pygit2 reads objects in this process (0.04 ms against 4 ms for a
process) and is imported at the first such question, because it costs the daemon 13 MiB. The git
command answers what walks history or detects renames, and everything about repositories that
libgit2 cannot open (other object formats, reftable). Nothing here lets git read a work-tree file
through a filter of the repository: no `status`, no `diff` against the work tree.
"""

import hashlib
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, cast

from yaadwatch.model.anchors import Commit, Hunk
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import EVIDENCE_COMMITS_MAX, FILE_BYTES_MAX, HISTORY_COMMITS_MAX
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.command import GitFailed, GitRunner
from yaadwatch.system.git.layout import Head, Layout

if TYPE_CHECKING:
    import pygit2

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
_SCRIPT = (
    r"^[ \t]*((export[ \t]+)?(default[ \t]+)?((async|static|public|private|protected|readonly|"
    r"abstract|override|get|set)[ \t]+)*(function\*?[ \t]*[A-Za-z_$].*|class[ \t]+[A-Za-z_$].*|"
    r"(interface|enum|type|namespace)[ \t]+[A-Za-z_$].*|"
    r"(const|let|var)[ \t]+[A-Za-z_$][A-Za-z0-9_$]*[^=]*=[ \t]*(async[ \t]*)?(\(|function|"
    r"[A-Za-z_$][A-Za-z0-9_$]*[ \t]*=>).*|"
    r"[A-Za-z_$#][A-Za-z0-9_$]*[ \t]*(<[^>]*>)?\([^;]*\{[ \t]*$).*)$"
)
_SWIFT = (
    r"^[ \t]*((([a-z@]+[ \t]+)*)(func|class|struct|enum|extension|protocol|actor|init)[ \t(].*)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A commit that removed `path` (`to` is None) or renamed it."""

    commit: str
    path: str
    to: str | None


def blob_id(data: bytes, object_format: str = "sha1") -> str:
    """Return git's id of a file with these bytes, as hex."""
    digest = hashlib.new(object_format, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


class Repository:
    """One work tree (or bare repository) and its history. Open one for each job, not for ever.

    Every method that needs git itself may raise `YaadError` (TIMEOUT, UNAVAILABLE) and turns git's
    own refusals into YaadError UNAVAILABLE.
    """

    def __init__(self, layout: Layout, runner: GitRunner) -> None:
        self.layout = layout
        self._runner = runner
        self._cwd = layout.root or layout.git_dir
        self._objects: pygit2.Repository | None = None
        self._by_command = False
        self._renames: dict[tuple[str, str], dict[str, str]] = {}

    def head(self) -> Head:
        """Return where HEAD is now."""
        head = layouts.read_head(self.layout)
        if head is not None:
            return head
        commit = self._ask(["rev-parse", "--verify", "--quiet", "HEAD"], allowed=(0, 1, 128))
        name = self._ask(["symbolic-ref", "--quiet", "--short", "HEAD"], allowed=(0, 1, 128))
        return Head(commit=commit.decode().strip(), branch=name.decode("utf-8", "replace").strip())

    def verify(self) -> None:
        """Have git itself accept this repository.

        Raises:
            YaadError: REFUSED when it belongs to somebody else, UNAVAILABLE when git cannot
                read it.
        """
        try:
            self._runner.run(["rev-parse", "--git-dir"], cwd=self._cwd)
        except GitFailed as failure:
            if "dubious ownership" in failure.message:
                raise YaadError(
                    Code.REFUSED,
                    f"{self._cwd} belongs to another user; nothing in it was read.",
                    hint="If you trust it: git config --global --add safe.directory "
                    + str(self._cwd),
                ) from failure
            raise YaadError(
                Code.UNAVAILABLE, f"git cannot read {self._cwd}: {failure.message}."
            ) from failure

    def blob_at(self, commit: str, path: str) -> str | None:
        """Return the id of the file `path` in `commit`; None when either is not there."""
        if not commit:
            return None
        objects = self._open()
        if objects is None:
            return self._blob_by_command(commit, path)
        found = objects.get(commit)
        if found is None or found.type_str != "commit":
            return None
        try:
            entry = found.tree[path]
        except KeyError:
            return None
        return str(entry.id) if entry.type_str == "blob" and entry.filemode != 0o120000 else None

    def has_commit(self, commit: str) -> bool:
        """Return whether the commit is (still) there: false in a shallow or rewritten history."""
        if not commit:
            return False
        objects = self._open()
        if objects is not None:
            return objects.get(commit) is not None
        answer = self._ask(["cat-file", "-t", commit], allowed=(0, 1, 128))
        return answer.strip() == b"commit"

    def read_blob(self, blob: str) -> bytes | None:
        """Return a blob's bytes; None when it is not in this repository or larger than 2 MiB."""
        if not blob:
            return None
        objects = self._open()
        if objects is not None:
            found = objects.get(blob)
            if found is None or found.type_str != "blob":
                return None
            data = bytes(cast("pygit2.Blob", found).data)
            return data if len(data) <= FILE_BYTES_MAX else None
        size = self._ask(["cat-file", "-s", blob], allowed=(0, 1, 128)).strip()
        if not size.isdigit() or int(size) > FILE_BYTES_MAX:
            return None
        return self._ask(["cat-file", "blob", blob])

    def commit(self, commit: str) -> Commit | None:
        """Return a commit's author date and subject, or None when it is not there."""
        objects = self._open()
        if objects is None:
            text = self._ask(["show", "-s", "--format=%at%x00%s", commit], allowed=(0, 128))
            stamp, _, subject = text.decode("utf-8", "replace").partition("\0")
            if not stamp.isdigit():
                return None
            return Commit(id=commit, at=_instant(int(stamp)), subject=subject.strip()[:200])
        found = objects.get(commit)
        if found is None or found.type_str != "commit":
            return None
        known = cast("pygit2.Commit", found)
        subject = known.message.strip().partition("\n")[0]
        return Commit(id=commit, at=_instant(known.author.time), subject=subject[:200])

    def tracked(self) -> list[str]:
        """Return the paths in the index, relative to the work tree."""
        if self.layout.root is None:
            return []
        return _split(self._ask(["ls-files", "-z"]))

    def untracked(self) -> list[str]:
        """Return the files that git neither tracks nor ignores."""
        if self.layout.root is None:
            return []
        return _split(self._ask(["ls-files", "-z", "--others", "--exclude-standard"]))

    def is_tracked(self, path: str) -> bool:
        """Return whether the index holds `path`, or a file below it."""
        return bool(self._ask(["ls-files", "-z", "--", path]))

    def renames(self, old: str, new: str) -> dict[str, str]:
        """Return the files that were renamed between two commits, old path to new path."""
        key = (old, new)
        if key not in self._renames:
            arguments = [
                "diff-tree",
                "-r",
                "-z",
                "-M",
                "--diff-filter=R",
                "--name-status",
                old,
                new,
            ]
            self._renames[key] = _pairs(self._ask(arguments))
        return self._renames[key]

    def staged_renames(self) -> dict[str, str]:
        """Return the files that were renamed in the index and not yet committed."""
        arguments = [
            "diff-index",
            "--cached",
            "-z",
            "-M",
            "--diff-filter=R",
            "--name-status",
            "HEAD",
        ]
        return _pairs(self._ask(arguments))

    def departures(self, since: str, until: str) -> list[Departure]:
        """Return the removals and renames of files in `since..until`, oldest first.

        At most 2,000 commits are looked at, the newest; merges are looked through, not at.
        """
        limit = f"--max-count={HISTORY_COMMITS_MAX}"
        commits = self._ask(
            ["rev-list", "--topo-order", "--no-merges", limit, f"{since}..{until}", "--"]
        ).split()
        if not commits:
            return []
        listed = b"\n".join(reversed(commits)) + b"\n"
        arguments = ["diff-tree", "--stdin", "-r", "-z", "-M", "--diff-filter=RD", "--name-status"]
        return _departures(self._ask(arguments, given=listed))

    def changes(self, path: str, since: str, until: str) -> list[str]:
        """Return the ids of the commits in `since..until` that touched `path`, oldest first."""
        limit = f"--max-count={EVIDENCE_COMMITS_MAX}"
        arguments = ["rev-list", "--topo-order", limit, f"{since}..{until}", "--", path]
        return [line.decode() for line in reversed(self._ask(arguments).split())]

    def files_with(
        self, word: str, *, at: str | None = None, below: Sequence[str] = ()
    ) -> list[str]:
        """Return the text files that hold `word` as a whole word, sorted.

        Args:
            word: taken literally.
            at: a commit; the tracked files of the work tree when None.
            below: only in these paths; everywhere when empty.
        """
        arguments = [
            "grep",
            "-I",
            "-l",
            "-z",
            "-w",
            "-F",
            "--no-textconv",
            "--no-recurse-submodules",
        ]
        arguments += ["-e", word, *([at] if at else []), "--", *below]
        found = _split(self._ask(arguments, allowed=(0, 1)))
        return sorted(path.removeprefix(f"{at}:") if at else path for path in found)

    def hunks(self, old: bytes, new: bytes, name: str) -> list[Hunk]:
        """Return git's hunks between two texts, with function headers, white space ignored.

        Neither the repository's configuration nor its attributes play a part. `name` gives the
        language.
        """
        suffix = re.sub(r"[^A-Za-z0-9.]", "", Path(name).suffix)[:16]
        with tempfile.TemporaryDirectory(prefix="yaadwatch-") as folder:
            place = Path(folder)
            (place / f"a{suffix}").write_bytes(old)
            (place / f"b{suffix}").write_bytes(new)
            with as_file(files("yaadwatch.system.git") / "attributes") as attributes:
                arguments = [
                    *("-c", f"core.attributesFile={attributes}"),
                    *("-c", f"diff.yaadscript.xfuncname={_SCRIPT}"),
                    *("-c", f"diff.yaadswift.xfuncname={_SWIFT}"),
                    *("diff", "--no-index", "--no-ext-diff", "--no-textconv", "--no-color"),
                    *("-U0", "-w", "--ignore-blank-lines", "--text"),
                    *("--", f"a{suffix}", f"b{suffix}"),
                ]
                output = self._runner.run(arguments, cwd=place, allowed=(0, 1), isolated=True)
        return _hunks(output.decode("utf-8", "replace"))

    def _ask(
        self, arguments: list[str], *, given: bytes | None = None, allowed: Sequence[int] = (0,)
    ) -> bytes:
        try:
            return self._runner.run(arguments, cwd=self._cwd, given=given, allowed=allowed)
        except GitFailed as failure:
            raise YaadError(
                Code.UNAVAILABLE, f"git could not answer for {self._cwd}: {failure}."
            ) from failure

    def _open(self) -> "pygit2.Repository | None":
        """Open the repository in this process, or note that only the command can."""
        if self._objects is None and not self._by_command:
            import pygit2

            try:
                self._objects = pygit2.Repository(str(self.layout.git_dir))
            except pygit2.GitError:
                self._by_command = True
        return self._objects

    def _blob_by_command(self, commit: str, path: str) -> str | None:
        try:
            row = self._runner.run(
                ["ls-tree", "-z", "--full-tree", commit, "--", path], cwd=self._cwd
            )
        except GitFailed:
            return None
        mode, _, rest = row.decode("utf-8", "surrogateescape").partition(" ")
        kind, _, rest = rest.partition(" ")
        return rest.partition("\t")[0] if kind == "blob" and mode != "120000" else None


def _instant(seconds: int) -> datetime:
    """Return the instant; a date that no calendar holds (hostile history) becomes the epoch."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _split(output: bytes) -> list[str]:
    """Return the paths of a NUL-separated list; those that are not UTF-8 cannot be named here."""
    return [path for path in _texts(output.split(b"\0")) if path]


def _texts(fields: Iterable[bytes]) -> list[str]:
    texts = []
    for field in fields:
        try:
            texts.append(field.decode("utf-8"))
        except UnicodeDecodeError:
            texts.append("")
    return texts


def _pairs(output: bytes) -> dict[str, str]:
    fields = _texts(output.split(b"\0"))
    return {
        old: new
        for status, old, new in zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
        if status.startswith("R") and old and new
    }


def _departures(output: bytes) -> list[Departure]:
    fields = _texts(output.split(b"\0"))
    found = []
    commit = ""
    position = 0
    while position < len(fields):
        field = fields[position].strip()
        if field == "D" and position + 1 < len(fields):
            found.append(Departure(commit=commit, path=fields[position + 1], to=None))
            position += 2
        elif re.fullmatch(r"R\d*", field) and position + 2 < len(fields):
            old, new = fields[position + 1 : position + 3]
            found.append(Departure(commit=commit, path=old, to=new or None))
            position += 3
        else:
            commit = field or commit
            position += 1
    return found


def _hunks(text: str) -> list[Hunk]:
    found = []
    header: str | None = None
    removed: list[str] = []
    added: list[str] = []

    def close() -> None:
        if header is not None:
            found.append(Hunk(header=header, removed=tuple(removed), added=tuple(added)))
        removed.clear()
        added.clear()

    for line in text.split("\n"):
        match = _HUNK.match(line)
        if match:
            close()
            header = match.group(3)
        elif header is not None and line.startswith("-"):
            removed.append(line[1:])
        elif header is not None and line.startswith("+"):
            added.append(line[1:])
    close()
    return found
