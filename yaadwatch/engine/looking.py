"""How anchored files look now, in the work tree and at HEAD; and what a new memory rests on.

Only files that memories rest on, or that a text names, are opened, each at most once for a job.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from yaadwatch.core.references import Tree
from yaadwatch.core.truth import hunks, symbols
from yaadwatch.core.truth.symbols import State
from yaadwatch.core.truth.verdict import Seen, Span
from yaadwatch.engine.workspace import Space
from yaadwatch.model.anchors import Anchor, Method, Sighting
from yaadwatch.model.errors import YaadError
from yaadwatch.model.settings import (
    FILE_BYTES_MAX,
    MOVE_CANDIDATES_MAX,
    SYMBOL_FILES_MAX,
)
from yaadwatch.system import files
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.layout import Head
from yaadwatch.system.git.repository import Repository, blob_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file as one view shows it; `data` None: not read; `odd`: why it cannot be.

    `other`: something else stands at its path, such as a link.
    """

    blob: str
    data: bytes | None = None
    odd: str = ""
    other: bool = False


@dataclass(slots=True, kw_only=True)
class WorkTree:
    """The files of a work tree, as they are now, committed or not.

    Args:
        space: whose files.
        known: what was read earlier, by path; a file that looks the same is not read again.
        now_ns: now, in nanoseconds, to tell signatures that are too fresh to be believed.
    """

    space: Space
    known: dict[str, Sighting]
    now_ns: int
    object_format: str
    seen: dict[str, Sighting] = field(default_factory=dict)
    _found: dict[str, Found | None] = field(default_factory=dict)
    _untracked: list[str] | None = None
    _staged: dict[str, str] | None = None

    def find(self, path: str) -> Found | None:
        """Return the file at `path`, or None; its bytes only when they were needed to know it."""
        if path.partition("/")[0] == ".yaad":
            return None  # our own: each check writes there, and would be the cause of the next
        if path not in self._found:
            signature = files.signature_of(self.space.root, path, self.now_ns)
            known = self.known.get(path)
            if known is not None and known.blob and signature and known.signature == signature:
                self.seen[path] = known
                self._found[path] = Found(blob=known.blob)
            else:
                self._found[path] = self._look(path)
        return self._found[path]

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, or None when it is not there or cannot be read."""
        found = self.find(path)
        if found is not None and found.data is None and not found.odd:
            found = self._found[path] = self._look(path)
        return found.data if found is not None else None

    def moved_to(self, start: str, blobs: Collection[str]) -> str | None:
        """Return where the file `start` went without a commit: staged, or moved by hand.

        A move by hand is seen when an untracked file has the bytes that the file last had: one of
        `blobs`.
        """
        staged = self._staged_renames().get(start)
        if staged and self.find(staged) is not None:
            return staged
        name = start.rpartition("/")[2]
        suffix = name.rpartition(".")[2]
        untracked = self._untracked_files()
        candidates = [path for path in untracked if path.rpartition("/")[2] == name]
        candidates += [path for path in untracked if path.rpartition(".")[2] == suffix]
        for path in list(dict.fromkeys(candidates))[:MOVE_CANDIDATES_MAX]:
            found = self.find(path)
            if found is not None and found.blob in blobs:
                return path
            self._found[path] = replace(found, data=None) if found is not None else None
        return None

    def holding(self, word: str) -> list[str]:
        """Return the files that hold `word`, tracked or not (ignored ones left out), sorted."""
        return self.space.repository.files_with([word], untracked=True)[word]

    def _look(self, path: str) -> Found | None:
        observed = files.observe(
            self.space.root, path, bytes_max=FILE_BYTES_MAX, now_ns=self.now_ns
        )
        if observed.kind == "absent":
            self.seen[path] = Sighting(path=path, signature=observed.signature, blob="")
            return None
        if observed.data is None:
            self.seen[path] = Sighting(path=path, signature="", blob="")
            if observed.kind == "other" and self.space.root.joinpath(path).is_dir():
                return None  # a folder of that name: the file is gone
            reason = _ODD.get(observed.kind, f"{path} could not be read").format(path=path)
            return Found(blob="", odd=reason, other=observed.kind in ("link", "other"))
        blob = blob_id(observed.data, self.object_format)
        self.seen[path] = Sighting(path=path, signature=observed.signature, blob=blob)
        return Found(blob=blob, data=observed.data)

    def _untracked_files(self) -> list[str]:
        if self._untracked is None:
            self._untracked = self.space.repository.untracked()
        return self._untracked

    def _staged_renames(self) -> dict[str, str]:
        if self._staged is None:
            head = self.space.repository.head()
            self._staged = self.space.repository.staged_renames() if head.commit else {}
        return self._staged


@dataclass(slots=True, kw_only=True)
class AtHead:
    """The files as the checked-out commit has them."""

    repository: Repository
    head: Head
    _found: dict[str, Found | None] = field(default_factory=dict)

    def find(self, path: str) -> Found | None:
        """Return the file at `path` in the commit, or None."""
        if path not in self._found:
            blob = self.repository.blob_at(self.head.commit, path)
            self._found[path] = Found(blob=blob) if blob is not None else None
        return self._found[path]

    def read(self, path: str) -> bytes | None:
        """Return the file's bytes; None when it is not there or larger than 2 MiB."""
        found = self.find(path)
        return self.repository.read_blob(found.blob) if found is not None else None

    def renamed_to(self, anchor: Anchor) -> str | None:
        """Return where the anchored file went between the anchor's commit and this one."""
        path = anchor.path
        direct = self.repository.renames(anchor.commit, self.head.commit).get(path)
        if direct is not None:
            return direct
        for departure in self.repository.departures(anchor.commit, self.head.commit):
            if departure.path == path:
                if departure.to is None:
                    return None
                path = departure.to
        return path if path != anchor.path and self.find(path) is not None else None

    def holding(self, word: str) -> list[str]:
        """Return the files of the commit that hold `word`, sorted."""
        if not self.head.commit:
            return []
        return self.repository.files_with([word], at=self.head.commit)[word]


View = WorkTree | AtHead

_ODD = {
    "link": "{path} is a link now; links are not followed",
    "other": "{path} is not a regular file",
    "too_large": "{path} is larger than 2 MiB; it is not read",
    "unreadable": "{path} cannot be read by this user",
}


def see(anchor: Anchor, view: View, head: AtHead) -> Seen:
    """Return what `view` shows of an anchor; what cannot be told is unknown, never fresh.

    Args:
        anchor: what to look for.
        view: the work tree, or HEAD.
        head: HEAD, which knows how files were renamed since the anchor's commit.
    """
    try:
        place = _place(anchor, view, head)
    except YaadError as error:
        return Seen(unknown=error.message)
    if isinstance(place, Seen):
        return place
    if place is None:
        return _vanished(anchor, view)
    found = view.find(place)
    if found is None:
        return Seen(unknown=f"{place} changed while it was looked at")
    if anchor.method is Method.FILE and not found.other:
        return Seen(place=place, same_bytes=found.blob == anchor.blob)
    if found.blob and found.blob == anchor.blob:
        return Seen(place=place, same_bytes=True, span=Span.SAME, line=anchor.line)
    if found.odd:
        return Seen(unknown=found.odd)
    try:
        return _compare(anchor, place, view, head)
    except YaadError as error:
        return Seen(unknown=error.message)


def define_in(view: View, path: str, symbol: str) -> tuple[Method, str, int] | None:
    """Return how, with what fingerprint and at which line `path` defines `symbol`; None if not."""
    data = view.read(path)
    if data is None:
        return None
    if symbols.is_python(path):
        definition = symbols.define(data, symbol)
        if definition.state is not State.FOUND or definition.line is None:
            return None
        return Method.TREE, definition.fingerprint, definition.line
    text = data.decode("utf-8", "replace")
    line = hunks.locate(text, symbol)
    if line is None or not hunks.defines(text.splitlines()[line - 1], symbol):
        return None
    return Method.HUNKS, "", line


def look_at(space: Space, known: Iterable[Sighting], now_ns: int) -> tuple[WorkTree, AtHead]:
    """Return both views of a work tree, for one job."""
    head = space.repository.head()
    tree = WorkTree(
        space=space,
        known={sighting.path: sighting for sighting in known},
        now_ns=now_ns,
        object_format=layouts.object_format(space.repository.layout, head),
    )
    return tree, AtHead(repository=space.repository, head=head)


def index_of(space: Space) -> Tree:
    """Return the tracked files, ready to be matched with what texts mention."""
    return Tree.of(space.repository.tracked())


def _place(anchor: Anchor, view: View, head: AtHead) -> str | Seen | None:
    """Return the path of the anchored file now, None when it is nowhere, or why unknown."""
    if view.find(anchor.path) is not None:
        return anchor.path
    start: str | None = anchor.path
    if head.find(anchor.path) is None and anchor.commit and head.head.commit:
        if not head.repository.has_commit(anchor.commit):
            return Seen(
                unknown=f"{anchor.path} is not there, and the commit it was remembered at "
                f"({anchor.commit[:8]}) is not in this repository, so git cannot tell where it went"
            )
        start = head.renamed_to(anchor) if head.head.commit != anchor.commit else anchor.path
    if start is not None and view.find(start) is not None:
        return start
    if isinstance(view, WorkTree):
        committed = head.find(start) if start is not None else None
        blobs = {anchor.blob, committed.blob if committed is not None else anchor.blob}
        return view.moved_to(start or anchor.path, blobs)
    return None


def _vanished(anchor: Anchor, view: View) -> Seen:
    if anchor.method is Method.FILE:
        return Seen()
    try:
        return Seen(elsewhere=_defining(view, anchor.symbol, anchor.path))
    except YaadError as error:
        return Seen(unknown=error.message)


def _compare(anchor: Anchor, place: str, view: View, head: AtHead) -> Seen:
    data = view.read(place)
    if data is None:
        return Seen(unknown=f"{place} could not be read")
    if anchor.method is Method.TREE:
        definition = symbols.define(data, anchor.symbol)
        if definition.state is State.BROKEN:
            return Seen(unknown=f"{place} does not parse as Python at the moment")
        if definition.state is State.FOUND:
            same = definition.fingerprint == anchor.fingerprint
            span = Span.SAME if same else Span.DIFFERENT
            return Seen(place=place, span=span, line=definition.line)
        if definition.state is State.AMBIGUOUS:
            return Seen(unknown=f"{anchor.symbol} is defined too often in {place} to tell which")
    else:
        line = hunks.locate(data.decode("utf-8", "replace"), anchor.symbol)
        if line is not None:
            return _compare_by_hunks(anchor, place, data, line, head.repository)
    elsewhere = tuple(path for path in _defining(view, anchor.symbol, place) if path != place)
    return Seen(place=place, span=Span.MISSING, elsewhere=elsewhere)


def _compare_by_hunks(
    anchor: Anchor, place: str, data: bytes, line: int, repository: Repository
) -> Seen:
    old = _anchored_bytes(anchor, repository)
    if old is None:
        return Seen(unknown=_why_not_comparable(anchor, repository))
    text = data.decode("utf-8", "replace")
    touched = hunks.touches(anchor.symbol, repository.hunks(old, data, place), text)
    return Seen(place=place, span=Span.DIFFERENT if touched else Span.SAME, line=line)


def _anchored_bytes(anchor: Anchor, repository: Repository) -> bytes | None:
    """Return the file as it was when it was anchored; None when git does not have it."""
    data = repository.read_blob(anchor.blob)
    if data is not None:
        return data
    # Git may have turned the line ends round on the way out; then it has the file with its own.
    committed = repository.read_blob(repository.blob_at(anchor.commit, anchor.path) or "")
    if committed is not None:
        turned = committed.replace(b"\n", b"\r\n")
        if blob_id(turned, "sha256" if len(anchor.blob) == 64 else "sha1") == anchor.blob:
            return committed
    return None


def _why_not_comparable(anchor: Anchor, repository: Repository) -> str:
    if not anchor.commit or repository.has_commit(anchor.commit):
        return (
            f"{anchor.path} had uncommitted changes when this was remembered, so git has nothing "
            f"to compare {anchor.symbol} with"
        )
    return (
        f"the history was rewritten, and git no longer has {anchor.path} as it was when this was "
        f"remembered, so {anchor.symbol} cannot be compared"
    )


def _defining(view: View, symbol: str, like: str) -> tuple[str, ...]:
    """Return the files that define `symbol`, of the same kind as `like`; none if it is common."""
    suffix = like.rpartition(".")[2]
    named = [path for path in view.holding(hunks.last_part(symbol)) if path.endswith("." + suffix)]
    if len(named) > SYMBOL_FILES_MAX:
        return ()
    return tuple(path for path in named if define_in(view, path, symbol) is not None)
