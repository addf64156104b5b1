"""Does a change touch a definition?

For files whose language has no parser here, git's hunks decide. A hunk belongs to the definition
that its function header names, or to the one whose defining line it removes or adds. Changes that
only move white space about are no change. A hunk right behind a definition still has that one as
its header: when it begins with another definition, indented no deeper, it is that one's.
"""

import re
from collections.abc import Sequence

from yaadwatch.model.anchors import Hunk

_KEYWORD = (
    r"\b(?:func|function|fn|fun|def|defp|sub|proc|class|struct|interface|trait|enum|union|record|object|protocol|"
    r"extension|actor|impl|module|namespace|type|typedef|const|let|var|val|static|define|macro_rules!)\b"
)


_ANY_DEFINITION = re.compile(
    rf"{_KEYWORD}\s*\*?\s*(?:<[^<>]*>\s*)?(?:\([^()]*\)\s*)?[\w$]"  # func last, fn last
    r"|^[^(=]*[\w$]\s*(?:<[^<>()]*>)?\s*\([^;]*\{\s*$"  # int last(int x) {
)
_CLOSING = re.compile(r"\s*(?:[\])}]+[;,]?|end|fi|done|esac)?\s*")
_COMMENT = re.compile(r"\s*(?://|/\*|\*|#|--|@)")


def defines(line: str, symbol: str) -> bool:
    """Return whether `line` looks like the defining line of `symbol` (its last part, if joined)."""
    name = re.escape(last_part(symbol))
    introduced = (
        rf"{_KEYWORD}\s*\*?\s*(?:<[^<>]*>\s*)?(?:\([^()]*\)\s*)?(?:[\w.:]*[.:])?{name}(?![\w$])"
    )
    first_call = rf"^[^(=]*?(?<![\w$.]){name}\s*(?:<[^<>()]*>)?\s*\("
    ends_open = not line.rstrip().endswith(";")
    return bool(re.search(introduced, line)) or (ends_open and bool(re.search(first_call, line)))


def locate(text: str, symbol: str) -> int | None:
    """Return the line (from 1) that defines `symbol`, else the first that holds the word."""
    word = re.compile(rf"(?<![\w$]){re.escape(last_part(symbol))}(?![\w$])")
    first = None
    for number, line in enumerate(text.splitlines(), 1):
        if word.search(line):
            if defines(line, symbol):
                return number
            first = first or number
    return first


def touches(symbol: str, hunks: Sequence[Hunk], text: str = "") -> bool:
    """Return whether one of `hunks` changes the definition of `symbol`.

    `text`: the file after them, which tells how deep the definition is indented.
    """
    line = locate(text, symbol)
    margin = _indent(text.splitlines()[line - 1]) if line is not None else 0
    return any(
        _squeezed(hunk.removed) != _squeezed(hunk.added)
        and (
            any(defines(line, symbol) for line in (*hunk.removed, *hunk.added))
            or (defines(hunk.header, symbol) and not _is_behind(hunk, margin))
        )
        for hunk in hunks
    )


def last_part(symbol: str) -> str:
    """Return the last of the names that `symbol` joins: `limit` of `Retry.limit`."""
    return re.split(r"\.|::|#", symbol)[-1]


def _is_behind(hunk: Hunk, margin: int) -> bool:
    """Return whether a hunk begins with another definition, indented by `margin` at most."""
    beginnings = []
    for lines in (hunk.removed, hunk.added):
        telling = (
            line
            for line in lines
            if not _CLOSING.fullmatch(line)
            and not (_COMMENT.match(line) and _indent(line) <= margin)
        )
        first = next(telling, None)
        if first is not None:
            beginnings.append(first)
    return bool(beginnings) and all(
        _indent(first) <= margin and _ANY_DEFINITION.search(first) is not None
        for first in beginnings
    )


def _indent(line: str) -> int:
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip())


def _squeezed(lines: Sequence[str]) -> str:
    return "".join("".join(lines).split())
