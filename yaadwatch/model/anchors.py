"""Anchors, verdicts and flags: what a memory rests on, and whether that still holds."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """The state of an anchor."""

    FRESH = "fresh"
    TOUCHED = "touched"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    UNKNOWN = "unknown"


class Method(StrEnum):
    """How the anchored span is compared with its recorded state."""

    FILE = "file"  # only whether the file is there
    TREE = "tree"  # the definition's syntax tree, as a fingerprint
    LINES = "lines"  # the lines of the definition, in a file that no parser reads
    FOLDER = "folder"  # only whether a file is in it
    GLOB = "glob"  # only whether a file matches the pattern
    WORD = "word"  # only whether the word is still there, or anywhere
    TARGET = "target"  # only whether the file still defines what a command runs
    VALUE = "value"  # whether the file still has the value; the fingerprint says which, see `value`


class Reference(StrEnum):
    """A reference from a text to an anchor."""

    FILE = "file"
    DIRECTORY = "directory"
    GLOB = "glob"
    SYMBOL = "symbol"
    WORD = "word"
    COMMAND = "command"
    VALUE = "value"


REFERENCES = {
    Method.FILE: Reference.FILE,
    Method.TREE: Reference.SYMBOL,
    Method.LINES: Reference.SYMBOL,
    Method.FOLDER: Reference.DIRECTORY,
    Method.GLOB: Reference.GLOB,
    Method.WORD: Reference.WORD,
    Method.TARGET: Reference.COMMAND,
    Method.VALUE: Reference.VALUE,
}


ASSIGNED: Final = " ="
"""Ends the symbol of an anchor on the number that a name is given."""
HELD: Final = " #"
"""Ends the symbol of an anchor on a number inside a definition; the number follows."""
DECLARED: Final = " (declared)"
"""Ends the symbol of an anchor on a package or tool that the project declares."""
STANDS: Final = " @"
"""Ends the symbol of an anchor on a literal in its place in a file; the literal follows."""

MEMBERS: Final = " (members)"
"""Ends the symbol of an anchor on how many or which members a set of the code has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A node rests on a file, or on a definition in it, as it was at a commit.

    `path` is relative to the work tree with '/' separators; `symbol` is empty for a whole file or
    folder, else the definition, pattern, word, target or value; `commit` is empty before the first
    commit; `blob` is git's id of the file's bytes at that time, committed or not; `spread` is in
    how many files the name stood then, 0 when that was not counted.
    """

    node: str
    path: str
    symbol: str
    commit: str
    blob: str
    method: Method
    fingerprint: str
    line: int | None
    trust: str = "text"
    spread: int = 0

    @property
    def name(self) -> str:
        """Return the name of the symbol for people; '' for a whole file or folder."""
        symbol = self.symbol
        if self.is_held:
            symbol = symbol.rpartition(HELD)[0]
        if self.is_in_place:
            symbol = symbol.rpartition(STANDS)[0]
        return symbol.removesuffix(ASSIGNED).removesuffix(DECLARED).removesuffix(MEMBERS)

    @property
    def is_held(self) -> bool:
        """Return whether this is a number inside a definition."""
        return self.method is Method.VALUE and HELD in self.symbol

    @property
    def is_in_place(self) -> bool:
        """Return whether this is a literal in its place in a file."""
        return self.method is Method.VALUE and STANDS in self.symbol

    @property
    def is_declared(self) -> bool:
        """Return whether this is a package or a tool that the project declares."""
        return self.method is Method.VALUE and self.symbol.endswith(DECLARED)

    @property
    def is_members(self) -> bool:
        """Return whether this is a set of names: of a file, or as a pattern of a folder."""
        return self.method in (Method.VALUE, Method.GLOB) and self.symbol.endswith(MEMBERS)

    @property
    def is_spot(self) -> bool:
        """Return whether this is a heading or a line of a file."""
        return self.method is Method.VALUE and self.symbol[:1] in {"#", ":"}

    @property
    def is_read_in_words(self) -> bool:
        """Return whether the text states it in its own words, beside what else it names."""
        return self.is_held or self.is_in_place or self.is_spot or self.is_declared

    @property
    def value(self) -> str:
        """Return the value that the text states, of an anchor on one."""
        if self.is_in_place or self.is_members:
            return self.fingerprint.partition("\n")[0]
        return self.fingerprint.partition(" ")[0] if self.is_held else self.fingerprint

    @property
    def places(self) -> tuple[str, ...]:
        """Return where in its definition a number stood, as `inner_literals` names the places."""
        return tuple(self.fingerprint.split()[1:]) if self.is_held else ()

    @property
    def reference(self) -> Reference:
        """Return what the text refers to."""
        return REFERENCES[self.method]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """How an anchored path looked when it was last read; see the table of that name."""

    path: str
    signature: str
    blob: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit as evidence: id (hex), author date, subject."""

    id: str
    at: datetime
    subject: str


NOT_KNOWN: Final = "(whether it is committed is not known)"
"""The end of the words of evidence when git could not find the commits."""
NOT_SEARCHED: Final = "older ones were not searched)"
"""How they end when the commit is older than those in which it is sought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Why a memory is flagged: where, since which commit (None: not committed), in words."""

    path: str
    symbol: str
    commit: Commit | None
    summary: str

    @property
    def is_open(self) -> bool:
        """Return whether it is not known if that is committed: git did not answer, or refused."""
        return self.commit is None and self.summary.endswith(NOT_KNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What would make the memory true again: a new path, and the text with it put in.

    Args:
        path: where it is now; None when that is not one place.
        text: the memory's text with nothing but the place put right. It is None unless nothing but
            the place changed, so that it is as true as the old text was.
        places: where the parts of a folder are now that went to several; nothing is proposed then.
        also_changed: something else that the memory names changed, too.
        placed_text: where `also_changed`, the text with the new place in it; it may be false, and
            is never shown as a proposal.
    """

    path: str | None
    text: str | None
    places: tuple[str, ...] = ()
    also_changed: bool = False
    placed_text: str | None = None

    @property
    def can_be_accepted(self) -> bool:
        """Return whether it proposes a change, and not only a place to look at."""
        return self.path is not None or self.text is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """The flag on a node in a work tree; `score` 0..1, `level` warn, suspect or ''.

    `via`: ids of the nodes through which it was inherited along edges, the first of them flagged by
    its own anchors; empty for a flag of this node's own anchors. Only the latter is stored.
    """

    node: str
    worktree: int
    verdict: Verdict
    score: float
    level: str
    reason: str
    since: datetime
    branch: str
    uncommitted: bool
    evidence: tuple[Evidence, ...]
    suggestion: Suggestion | None = None
    via: tuple[str, ...] = ()

    @property
    def cause(self) -> str:
        """Return the id of the newest commit behind it; '' when that is not a commit."""
        commit = self.evidence[-1].commit if self.evidence else None
        return commit.id if commit is not None else ""
