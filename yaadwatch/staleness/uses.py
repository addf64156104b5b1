"""Find where a word came into use and went out of use between two trees.

A definition that is still there but that no file uses any more has been replaced: the lines that
named it are gone, or name its replacement. Also detects shells: definitions that call themselves
deprecated, or whose list of members is elsewhere.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from yaadwatch.anchors import definitions
from yaadwatch.anchors.definitions import Kind

LINES_MAX = 40
"""Lost lines of one word that are compared with new ones."""
FRESH_MAX = 400
"""New lines of one file that a lost line is compared with."""
_LINE_BYTES_MAX = 600
_ALIKE = 0.5
"""Words that a line and the one in its place share, of all that both have."""
_WORDS = re.compile(rb"(?<![./@-])(?:[./@-]*+\w++)+")
_PARTS = re.compile(rb"\w+")
_APART = bytes(byte if _PARTS.fullmatch(bytes([byte])) else 32 for byte in range(256))
"""Makes a space of each byte that is in no word, so that `split` finds what `_PARTS` would."""
_FEW = 16
"""So many words are sooner looked for one by one than among all the words of a text."""


@dataclass(slots=True, kw_only=True)
class Uses:
    """The change in use of a word: files by their older path (`gained`: by their newer one).

    `kept` are changed files that still use it. In files that use it less often, `removed` counts
    lines that had it and are gone; `replaced` are its replacements on lines that are otherwise
    alike.
    """

    lost: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    gained: list[str] = field(default_factory=list)
    removed: int = 0
    replaced: list[str] = field(default_factory=list)


class Tally:
    """Counts the uses of words in changed files, one file after the other."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [(word, word.encode(), _whole(word)) for word in dict.fromkeys(words)]
        self._counted = {word: Uses() for word, _, _ in self._words}
        self._likely = Likely([plain for _, plain, _ in self._words])

    def may_count(self, old: bytes) -> bool:
        """Return whether a file with content `old` may lose a word; False: it cannot."""
        return any(self._words[at][1] in old for at in self._likely.among(old))

    def add(self, old_path: str | None, new_path: str | None, old: bytes, new: bytes) -> None:
        """Count the change of a file from `old` to `new`; a missing file is empty."""
        if b"\0" in old[:4096] or b"\0" in new[:4096]:
            return
        lines: _Lines | None = None
        for at in sorted({*self._likely.among(old), *self._likely.among(new)}):
            word, plain, whole = self._words[at]
            before = plain in old and whole.search(old) is not None
            after = plain in new and whole.search(new) is not None
            if not before and not after:
                continue
            counted = self._counted[word]
            if not before:
                counted.gained.append(new_path or "")
                continue
            (counted.kept if after else counted.lost).append(old_path or "")
            if after and len(whole.findall(new)) >= len(whole.findall(old)):
                continue  # nothing took its place: its lines were only written differently
            if lines is None:
                lines = _Lines(old, new)
            self._compare(counted, whole, old, lines)

    def found(self) -> dict[str, Uses]:
        """Return the uses of each word."""
        for counted in self._counted.values():
            for places in (counted.lost, counted.kept, counted.gained):
                places.sort()
        return self._counted

    def _compare(
        self, counted: Uses, whole: re.Pattern[bytes], old: bytes, lines: "_Lines"
    ) -> None:
        for found in whole.finditer(old):
            start = old.rfind(b"\n", 0, found.start()) + 1
            end = old.find(b"\n", found.end())
            line = old[start : end if end >= 0 else len(old)].strip()
            if len(line) > _LINE_BYTES_MAX or lines.holds(line):
                continue
            counted.removed += 1
            if counted.removed <= LINES_MAX:
                put = lines.instead_of(line, found.group(), whole)
                if put is not None:
                    counted.replaced.append(put)


class ChangedCounts:
    """Finds which of many words have another number of uses after some files changed.

    A filter before the exact count: the result may contain a word too many.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [(word, word.encode()) for word in dict.fromkeys(words)]
        self._likely = Likely([plain for _, plain in self._words])

    def by(self, old: bytes, new: bytes) -> set[str]:
        """Return the words whose count differs between `old` and `new`."""
        likely = {*self._likely.among(old), *self._likely.among(new)}
        words = (self._words[at] for at in likely)
        return {word for word, plain in words if old.count(plain) != new.count(plain)}


def _whole(word: str) -> re.Pattern[bytes]:
    plain = re.escape(word.encode())
    before = rb"[\w]" if word[:1].isalnum() or word[:1] == "_" else rb"[\w-]"
    # The text before the word is checked after it: a pattern that begins with plain bytes
    # is found many times as fast.
    return re.compile(plain + rb"(?<!" + before + plain + rb")(?!\w)")


def parts_of(text: bytes) -> list[bytes]:
    """Return the words of a text that are letters, digits and `_` of ASCII only, with repeats."""
    return text.translate(_APART).split()


class Likely:
    """Finds which of many words a text may hold as whole words, in one pass for all of them.

    A text that holds a word holds each part of it between two non-word characters as a word of its
    own: each word is searched by its rarest part.
    """

    def __init__(self, words: Sequence[bytes], few: int = _FEW) -> None:
        self._few = few
        parts = [_PARTS.findall(word) for word in words] if len(words) > few else []
        having = Counter(part for own in parts for part in set(own))
        self._all = range(len(words))
        self._always = [at for at, own in enumerate(parts) if not own]
        self._by_part: dict[bytes, list[int]] = {}
        self._last: tuple[bytes, Sequence[int]] = b"", self._always
        for at, own in enumerate(parts):
            if own:
                rarest = min(own, key=lambda part: (having[part], -len(part)))
                self._by_part.setdefault(rarest, []).append(at)

    def among(self, text: bytes) -> Sequence[int]:
        """Return the indices of the words that a text may hold."""
        if len(self._all) <= self._few:
            return self._all
        if text is not self._last[0]:  # a file is asked about twice in a row
            self._last = text, self.with_parts(parts_of(text))
        return self._last[1]

    def with_parts(self, parts: Iterable[bytes]) -> Sequence[int]:
        """Return what `among` does of a text with these `parts_of` it; of more than a few words."""
        having = self._by_part.keys() & parts
        return [*self._always, *(at for part in having for at in self._by_part[part])]


class _Lines:
    """The old and new lines of a text; paired once a line is missing."""

    def __init__(self, old: bytes, new: bytes) -> None:
        self._old = old
        self._new = new
        self._fresh: list[tuple[bytes, frozenset[bytes]]] | None = None

    def holds(self, line: bytes) -> bool:
        """Return whether a line still exists, in any indentation; an empty one does."""
        if not line:
            return True
        new = self._new
        at = new.find(line)
        while at >= 0:
            start, end = new.rfind(b"\n", 0, at) + 1, new.find(b"\n", at)
            if new[start : end if end >= 0 else len(new)].strip() == line:
                return True
            at = new.find(line, end) if end >= 0 else -1
        return False

    def instead_of(self, line: bytes, word: bytes, whole: re.Pattern[bytes]) -> str | None:
        """Return the replacement of `word` on a new line that is otherwise like `line`, or None."""
        if self._fresh is None:
            then, now = (
                {one.strip() for one in text.split(b"\n")} for text in (self._old, self._new)
            )
            fresh = sorted(one for one in now - then if 0 < len(one) <= _LINE_BYTES_MAX)
            self._fresh = [(one, frozenset(_WORDS.findall(one))) for one in fresh[:FRESH_MAX]]
        own: list[bytes] = _WORDS.findall(line)
        rest = {one for one in own if word not in one}
        best: frozenset[bytes] = frozenset()
        alike, new_line = _ALIKE, b""
        for other, words in self._fresh:
            both = len(rest & words)
            if not both:
                continue
            news = len(words) - both
            share = both / max(len(rest) + news - (news > 0), 1)
            if share >= alike and not whole.search(other):
                best, alike, new_line = words - rest, share, other
        if not best:
            return None
        # Where as many words are on the line, it is the one in the same place.
        others: list[bytes] = _WORDS.findall(new_line)
        pairs = zip(own, others, strict=True) if len(own) == len(others) else ()
        placed = [put for one, put in pairs if word in one and put in best]
        return (placed or [max(sorted(best), key=len)])[0].decode("utf-8", "replace")


HEAD_LINES = 30
"""Where a file speaks of itself."""
ABOVE_LINES, BELOW_LINES = 8, 12
"""Where it speaks of a definition, seen from its first line."""
_MARK = re.compile(
    r"""
    ^\W*deprecated\b                       # @Deprecated, .. deprecated::, // Deprecated: ...
    | ^\W*obsolete\b
    | \[Obsolete\b | \bDeprecationWarning\b
    | \b(?:is|are|has[ ]been|have[ ]been)[ ](?:now[ ])?(?:deprecated|superseded[ ]by|obsolete)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MOVED = re.compile(
    r"\bthis[ ](?:file|page|document|guide|module|package|script)[ ]"
    r"(?:(?:has|was)[ ](?:been[ ])?moved|moved[ ]to|is[ ]now[ ]in|now[ ]lives[ ]in)\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"(?:use|import[ ]from|prefer|superseded[ ]by|replaced[ ]by|in[ ]favou?r[ ]of|moved[ ]to)"
    r"[ ](?:the[ ])?(?::\w+:)?[`'\"*]*([A-Za-z_][\w./:@-]*\w)",
    re.IGNORECASE,
)


_NO_MEMBER = re.compile(
    r"\s*(?:(?:import|from|package|use|using|require|include|#include|module|namespace|<\?php)\b"
    r"|warnings\.|declare\s*\(|export\s+[*{]|['\"]use |[\"']{3})"
)
"""A line that defines nothing: what stands right above it is on the file."""
_OF_A_NAME = re.compile(
    r"(?:[`'\"]|\(\)|(?<=\w)[.:]\w++|(?<!\w)(?=\w*?(?:[a-z0-9][A-Z]|\w_\w))\w++|[A-Z_]{3})[`'\"]?\s+"
    r"(?:is|are|has been|have been)\s[^.]*$"
)
"""What is called deprecated is a name, and not the file that says so."""
_REMARKS = ("@", "#", "/", "*", "[", ".", '"', "'", ")", "--", ";", "<!")
"""How a line begins that remarks on the definition below it."""
_OF_MEMBERS = ("@", "#", "/", "*", "[", "--", ";", "<!")
"""How one begins that inside a definition remarks on a member of it."""
_ITEM = re.compile(rb"\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`")
_ITEMS_MIN = 3
"""What held so many texts, and holds less than a third of them, has them from elsewhere."""


def emptied(then: bytes, now: bytes, path: str, symbol: str) -> bool:
    """Return whether a constant or key that listed texts lists next to none now.

    Args:
        then: the old file.
        now: the file now.
        path: its name, which decides the language.
        symbol: the definition.
    """
    before, after = _items(then, path, symbol), _items(now, path, symbol)
    if before is None or after is None:
        return False
    return before >= max(_ITEMS_MIN, 3 * after)


def _items(source: bytes, path: str, symbol: str) -> int | None:
    """Return the number of texts that a constant or key lists; None for anything else."""
    found = definitions.define(source, path, symbol)
    kinds = {one.kind for one in definitions.names(source, path) if one.line == found.line}
    if found.line is None or not kinds & {Kind.VALUE, Kind.KEY}:
        return None
    lines = source.split(b"\n")[found.line - 1 : found.end_line]
    return len(_ITEM.findall(b"\n".join(lines)))


def is_deprecated(data: bytes, line: int | None = None) -> bool:
    """Return whether the head of a file, or the text around a line, calls it deprecated."""
    around = _around(data, line)
    if line is not None:
        return any(map(_MARK.search, around))
    marks = ((one, _MARK.search(one)) for one in around)
    return any(found and not _OF_A_NAME.search(one[: found.end()]) for one, found in marks)


def has_moved(data: bytes) -> bool:
    """Return whether a file says at its head that it, or its content, is elsewhere now."""
    head = data.decode("utf-8", "replace").split("\n")[:HEAD_LINES]
    return any(map(_MOVED.search, head))


def instead(data: bytes, line: int | None = None) -> str:
    """Return the replacement that a deprecation names; '' for none."""
    lines = _around(data, line)
    for at, one in enumerate(lines):
        if _MARK.search(one):
            found = _INSTEAD.search(" ".join(part.strip() for part in lines[at : at + 4]))
            return found.group(1) if found else ""
    return ""


def _around(data: bytes, line: int | None) -> list[str]:
    """Return the head of a file; or a definition's comments, its line, and its body.

    Comments on a condition, a member or a parameter are not about the whole.
    """
    lines = data.decode("utf-8", "replace").split("\n")
    if line is None:
        return _before_block(_of_file(lines[:HEAD_LINES]))
    lines = lines[: line + BELOW_LINES]
    first = line - 1
    while lines[first - 1 : first] and lines[first - 1].lstrip().startswith(_REMARKS):
        first -= 1
    first = max(first, line - 1 - ABOVE_LINES)
    depth, last = _depth(lines[line - 1 : line]), line
    while last < len(lines) and (not lines[last].strip() or _depth(lines[last : last + 1]) > depth):
        last += 1
    more = lines[line - 1 : line] and lines[line - 1].rstrip().endswith(("(", ","))
    return [*lines[first:line], *([] if more else _own(lines[line:last]))]


def _own(body: list[str]) -> list[str]:
    """Return the body of a definition without text about its members and parameters."""
    base = next((_depth([one]) for one in body if one.strip()), 0)
    return [
        one
        for one in _before_block(body)
        if not one.lstrip().startswith(_OF_MEMBERS)
        and not (one.lstrip().startswith("..") and _depth([one]) > base)
    ]


def _before_block(lines: list[str]) -> list[str]:
    """Return the lines before the first block and the comments on it."""
    for at, one in enumerate(lines):
        if one.rstrip().endswith((":", "{")) and not one.lstrip().startswith(_REMARKS):
            end = at
            while end and lines[end - 1].lstrip().startswith(_REMARKS):
                end -= 1
            return lines[:end]
    return lines


def _of_file(lines: list[str]) -> list[str]:
    """Return the head of a file, without comments right above a definition."""
    kept: list[str] = []
    remarks: list[str] = []
    for one in lines:
        if one.lstrip().startswith(_OF_MEMBERS) and not one.lstrip().startswith("#include"):
            remarks.append(one)
            continue
        if not one.strip() or _NO_MEMBER.match(one):
            kept += remarks
        remarks = []
        kept.append(one)
    return [*kept, *remarks]


def _depth(lines: list[str]) -> int:
    return sum(len(line) - len(line.lstrip()) for line in lines)
