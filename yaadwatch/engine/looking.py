"""How anchored files look now, in the work tree and at HEAD; and what a new memory rests on.

Only files that memories rest on, or that a text names, are opened, each at most once for a job.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from yaadwatch.core import privacy
from yaadwatch.core.references.tree import Tree
from yaadwatch.core.truth import definitions, hunks
from yaadwatch.core.truth.definitions import State, language_of
from yaadwatch.core.truth.verdict import Seen, Span
from yaadwatch.engine.asking import History
from yaadwatch.engine.window import Window
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
from yaadwatch.system.git.repository import blob_id

_PROSE = (".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".org", ".csv", ".tsv", ".log")
_NO_CODE = re.compile(
    r"(?i)(?:^|/)(?:licen[cs]e|copying|notice|authors|changelog|changes|codeowners)[^/]*$"
    r"|(?:lock|\.lock\.json|-lock\.json|-lock\.yaml|\.sum|\.jsonl|\.snap|\.svg|\.map|\.ipynb|\.min\.js)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file as one view shows it; `data` None: not read; `odd`: why it cannot be.

    `kind`: as `files.observe` says it; a file that is too large, or may not be read, is one.
    """

    blob: str
    data: bytes | None = None
    odd: str = ""
    kind: files.Kind = "file"


@dataclass(slots=True, kw_only=True)
class WorkTree:
    """The files of a work tree, as they are now, committed or not.

    Args:
        space: whose files.
        known: what was read earlier, by path; a file that looks the same is not read again.
        now_ns: now, in nanoseconds, to tell signatures that are too fresh to be believed.
        names: the definitions that the job is about, by the file they were in.
    """

    space: Space
    known: dict[str, Sighting]
    now_ns: int
    object_format: str
    head: "AtHead"
    names: dict[str, list[str]]
    seen: dict[str, Sighting] = field(default_factory=dict)
    _found: dict[str, Found | None] = field(default_factory=dict)
    _moved: dict[tuple[str, frozenset[str]], str | None] = field(default_factory=dict)
    _untracked: dict[str, list[str]] = field(default_factory=dict)
    _listing: Tree | None = None

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
        key = (start, frozenset(blobs))
        if key not in self._moved:
            self._moved[key] = self._where_to(start, blobs)
        return self._moved[key]

    def _where_to(self, start: str, blobs: Collection[str]) -> str | None:
        staged = self._staged().get(start)
        if staged and self.find(staged) is not None:
            return staged
        for path in self._alike(start):
            found = self.find(path)
            if found is not None and found.blob and found.blob in blobs:
                return path
            self._found[path] = replace(found, data=None) if found is not None else None
        return None

    def listing(self) -> Tree:
        """Return the tracked files, whether they are still there or not."""
        if self._listing is None:
            self._listing = Tree.of(self.head.history.tracked())
        return self._listing

    def has_folder(self, path: str) -> bool:
        """Return whether a file that git does not ignore is in the folder `path`."""
        inside = path + "/"
        tracked = (one for one in self.listing().paths if one.startswith(inside))
        if any(self._is_there(one) for one in tracked):
            return True
        return any(one.startswith(inside) for one in self.head.history.untracked())

    def matching(self, pattern: str) -> bool:
        """Return whether a file that git does not ignore matches the pattern."""
        if any(self._is_there(path) for path in self.listing().matching(pattern)):
            return True
        return bool(Tree.of(self.head.history.untracked()).matching(pattern))

    def standing(self, words: Sequence[str]) -> dict[str, Sequence[str]]:
        """Return the tracked text files that hold each word."""
        return self.head.history.standing(words, at=None)

    def _is_there(self, path: str) -> bool:
        return files.signature_of(self.space.root, path, self.now_ns) != files.ABSENT

    def holding(self, word: str, like: str) -> Sequence[str]:
        """Return the files that hold `word`, tracked or not (ignored ones left out), sorted.

        `like`: the file it was in; the other names of that file will be missed too.
        """
        return self.head.history.holding(word, _missed(self, like), at=None)

    def using(self, word: str, like: str) -> Sequence[str]:
        """Return the files that hold `word`; as `holding`."""
        return self.holding(word, like)

    def _alike(self, start: str) -> list[str]:
        """Return untracked files that `start` may be now: those of its name, then of its kind."""
        if not self._untracked:
            for path in self.head.history.untracked():
                name = path.rpartition("/")[2]
                self._untracked.setdefault(f"/{name}", []).append(path)
                self._untracked.setdefault(f".{name.rpartition('.')[2]}", []).append(path)
        name = start.rpartition("/")[2]
        same_name = self._untracked.get(f"/{name}", [])
        same_kind = self._untracked.get(f".{name.rpartition('.')[2]}", [])
        return list(dict.fromkeys((*same_name, *same_kind)))[:MOVE_CANDIDATES_MAX]

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
            return Found(blob="", odd=reason, kind=observed.kind)
        blob = blob_id(observed.data, self.object_format)
        self.seen[path] = Sighting(path=path, signature=observed.signature, blob=blob)
        return Found(blob=blob, data=observed.data)

    def _staged(self) -> dict[str, str]:
        return self.head.history.staged_renames() if self.head.head.commit else {}


@dataclass(slots=True, kw_only=True)
class AtHead:
    """The files as one commit has them: the one that is checked out, or any other.

    Args:
        history: who knows the commit.
        head: the commit.
        names: the definitions that the job is about, by the file they were in.
        hidden: files that are there, and whose content is not to be looked at.
    """

    history: History
    head: Head
    names: dict[str, list[str]]
    hidden: frozenset[str] = frozenset()
    _found: dict[str, Found | None] = field(default_factory=dict)
    _windows: dict[str, Window] = field(default_factory=dict)
    _listing: Tree | None = None

    def find(self, path: str) -> Found | None:
        """Return the file at `path` in the commit, or None."""
        if path not in self._found:
            blob = self.history.blob_at(self.head.commit, path)
            self._found[path] = Found(blob=blob) if blob is not None else None
        return self._found[path]

    def read(self, path: str) -> bytes | None:
        """Return the file's bytes; None when it is not there, hidden, or larger than 2 MiB."""
        found = self.find(path)
        if found is None or path in self.hidden:
            return None
        return self.history.read_blob(found.blob)

    def same_in(self, commit: str, path: str) -> bool:
        """Return whether the file at `path` is the same in another commit."""
        if commit == self.head.commit:
            return True
        return self.history.blob_at(commit, path) == self.history.blob_at(self.head.commit, path)

    def window(self, since: str) -> Window:
        """Return what happened between another commit, which is there, and this one."""
        if since not in self._windows:
            self._windows[since] = Window(self.history, since, self.head.commit, self.hidden)
        return self._windows[since]

    def renamed_to(self, anchor: Anchor) -> str | None:
        """Return where the anchored file went between the anchor's commit and this one."""
        path = anchor.path
        direct = self.window(anchor.commit).changes.renamed.get(path)
        if direct is not None:
            return direct
        for departure in self.history.departures(anchor.commit, self.head.commit):
            if departure.path == path:
                if departure.to is None:
                    return None
                path = departure.to
        return path if path != anchor.path and self.find(path) is not None else None

    def listing(self) -> Tree:
        """Return all files of the commit."""
        if self._listing is None:
            commit = self.head.commit
            self._listing = Tree.of(self.history.paths_at(commit) if commit else ())
        return self._listing

    def has_folder(self, path: str) -> bool:
        """Return whether the commit has a folder at `path`."""
        return self.listing().has_folder(path)

    def matching(self, pattern: str) -> bool:
        """Return whether a file of the commit matches the pattern."""
        return bool(self.listing().matching(pattern))

    def standing(self, words: Sequence[str]) -> dict[str, Sequence[str]]:
        """Return the text files of the commit that hold each word, without hidden ones."""
        if not self.head.commit:
            return dict.fromkeys(words, ())
        found = self.history.standing(words, at=self.head.commit)
        return {
            word: [path for path in paths if path not in self.hidden]
            for word, paths in found.items()
        }

    def using(self, word: str, like: str) -> Sequence[str]:  # noqa: ARG002
        """Return the files of the commit that hold `word`, as far as git has their content."""
        lost = (one for window in self._windows.values() for one in window.lost())
        return self.standing([word, *lost])[word]

    def holding(self, word: str, like: str) -> Sequence[str]:
        """Return the files of the commit that hold `word`, sorted; `like` as for a work tree."""
        if not self.head.commit:
            return []
        found = self.history.holding(word, _missed(self, like), at=self.head.commit)
        return [path for path in found if path not in self.hidden]


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
        return _see(anchor, view, head)
    except YaadError as error:
        return Seen(unknown=error.message.rstrip("."))


def _see(anchor: Anchor, view: View, head: AtHead) -> Seen:
    place = _place(anchor, view, head)
    if isinstance(place, Seen):
        return place
    if place is None:
        if anchor.method is Method.FILE:
            return Seen()
        return Seen(elsewhere=_defining(view, anchor.symbol, anchor.path))
    found = view.find(place)
    if found is None:
        return Seen(unknown=f"{place} changed while it was looked at")
    if anchor.method is Method.FILE and found.kind not in ("link", "other"):
        return Seen(place=place, same_bytes=found.blob == anchor.blob)
    if found.blob and found.blob == anchor.blob:
        return Seen(place=place, same_bytes=True, span=Span.SAME, line=anchor.line)
    if found.odd:
        return Seen(unknown=found.odd)
    return _compare(anchor, place, view, head)


def is_prose(path: str) -> bool:
    """Return whether a file speaks of definitions and holds none."""
    return path.lower().endswith(_PROSE)


def is_code(path: str) -> bool:
    """Return whether a word that stands in a file is in use: not in prose, locks, logs or data."""
    return not is_prose(path) and not _NO_CODE.search(path)


def define_in(view: View, path: str, symbol: str) -> tuple[Method, str, int] | None:
    """Return how, with what fingerprint and at which line `path` defines `symbol`; None if not."""
    if is_prose(path):
        return None
    data = view.read(path)
    if data is None or hunks.last_part(symbol).encode() not in data:
        return None
    if language_of(path) is not None:
        definition = definitions.define(data, path, symbol)
        if definition.state is State.FOUND and definition.line is not None:
            return Method.TREE, definition.fingerprint, definition.line
        if definition.state is not State.BROKEN:
            return None
    text = data.decode("utf-8", "replace")
    line = hunks.locate(text, symbol)
    if line is None or not hunks.defines(text.split("\n")[line - 1], symbol):
        return None
    return Method.HUNKS, "", line


def look_at(space: Space, known: Iterable[Sighting], now_ns: int) -> tuple[WorkTree, AtHead]:
    """Return both views of a work tree, for one job; the branch's name is masked."""
    found = space.repository.head()
    found = replace(found, branch=privacy.mask(found.branch).text)
    names: dict[str, list[str]] = {}
    head = AtHead(history=History(space.repository), head=found, names=names)
    tree = WorkTree(
        space=space,
        known={sighting.path: sighting for sighting in known},
        now_ns=now_ns,
        object_format=layouts.object_format(space.repository.layout, found),
        head=head,
        names=names,
    )
    return tree, head


def expect(tree: WorkTree, anchors: Iterable[Anchor]) -> None:
    """Tell which anchors the job will ask about."""
    for anchor in anchors:
        if anchor.symbol:
            tree.names.setdefault(anchor.path, []).append(hunks.last_part(anchor.symbol))


def _place(anchor: Anchor, view: View, head: AtHead) -> str | Seen | None:
    """Return the path of the anchored file now, None when it is nowhere, or why unknown."""
    if view.find(anchor.path) is not None:
        return anchor.path
    start: str | None = anchor.path
    if head.find(anchor.path) is None and anchor.commit and head.head.commit:
        if not head.history.has_commit(anchor.commit):
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


def _compare(anchor: Anchor, place: str, view: View, head: AtHead) -> Seen:
    data = view.read(place)
    if data is None:
        return Seen(unknown=f"{place} could not be read")
    if anchor.method is Method.TREE:
        named = place if language_of(place) is not None else anchor.path
        definition = definitions.define(data, named, anchor.symbol)
        if definition.state is State.BROKEN:
            language = language_of(named)
            title = language.title if language is not None else "what it was"
            return Seen(unknown=f"{place} does not parse as {title} at the moment")
        if definition.state is State.FOUND:
            same = definition.fingerprint == anchor.fingerprint
            span = Span.SAME if same else Span.DIFFERENT
            return Seen(place=place, span=span, line=definition.line)
        if definition.state is State.AMBIGUOUS:
            return Seen(unknown=f"{anchor.symbol} is defined too often in {place} to tell which")
    else:
        line = hunks.locate(data.decode("utf-8", "replace"), anchor.symbol)
        if line is not None:
            return _compare_by_hunks(anchor, place, data, line, head.history)
    elsewhere = tuple(path for path in _defining(view, anchor.symbol, place) if path != place)
    return Seen(place=place, span=Span.MISSING, elsewhere=elsewhere)


def _compare_by_hunks(anchor: Anchor, place: str, data: bytes, line: int, history: History) -> Seen:
    old = _anchored_bytes(anchor, history)
    if old is None:
        return Seen(unknown=_why_not_comparable(anchor, history))
    text = data.decode("utf-8", "replace")
    new = blob_id(data)
    found = history.hunks((anchor.blob, old), (new, data), place)
    touched = hunks.touches(anchor.symbol, found, text)
    return Seen(place=place, span=Span.DIFFERENT if touched else Span.SAME, line=line)


def _anchored_bytes(anchor: Anchor, history: History) -> bytes | None:
    """Return the file as it was when it was anchored; None when git does not have it."""
    data = history.read_blob(anchor.blob)
    if data is not None:
        return data
    # Git may have turned the line ends round on the way out; then it has the file with its own.
    committed = history.read_blob(history.blob_at(anchor.commit, anchor.path) or "")
    if committed is not None:
        turned = committed.replace(b"\n", b"\r\n")
        if blob_id(turned, "sha256" if len(anchor.blob) == 64 else "sha1") == anchor.blob:
            return committed
    return None


def _why_not_comparable(anchor: Anchor, history: History) -> str:
    if not anchor.commit or history.has_commit(anchor.commit):
        return (
            f"{anchor.path} had uncommitted changes (or goes through a filter of git's) when this "
            f"was remembered, so git has nothing to compare {anchor.symbol} with"
        )
    return (
        f"the history was rewritten, and git no longer has {anchor.path} as it was when this was "
        f"remembered, so {anchor.symbol} cannot be compared"
    )


def _defining(view: View, symbol: str, like: str) -> tuple[str, ...]:
    """Return the files that define `symbol`, of the same kind as `like`; none if it is common."""
    suffix = like.rpartition(".")[2]
    holding = view.holding(hunks.last_part(symbol), like)
    named = [path for path in holding if path.endswith("." + suffix)]
    if len(named) > SYMBOL_FILES_MAX:
        return ()
    return tuple(path for path in named if define_in(view, path, symbol) is not None)


def _missed(view: View, like: str) -> Iterator[str]:
    """Yield the names that a view probably lacks: those of `like`, and of files that are gone."""
    yield from view.names.get(like, ())
    for path, names in view.names.items():
        if view.find(path) is None:
            yield from names
