"""Does a change touch a definition?

For files whose language has no parser here, git's hunks decide. A hunk belongs to the definition
that its function header names, or to the one whose defining line it removes or adds. Changes that
only move white space about are no change.
"""

import re
from collections.abc import Sequence

from yaadwatch.model.anchors import Hunk

_KEYWORD = (
    r"\b(?:func|function|fn|fun|def|defp|sub|proc|class|struct|interface|trait|enum|union|record|object|protocol|"
    r"extension|actor|impl|module|namespace|type|typedef|const|let|var|val|static|define|macro_rules!)\b"
)


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


def touches(symbol: str, hunks: Sequence[Hunk]) -> bool:
    """Return whether one of `hunks` changes the definition of `symbol`."""
    return any(
        _squeezed(hunk.removed) != _squeezed(hunk.added)
        and (
            defines(hunk.header, symbol)
            or any(defines(line, symbol) for line in (*hunk.removed, *hunk.added))
        )
        for hunk in hunks
    )


def last_part(symbol: str) -> str:
    """Return the last of the names that `symbol` joins: `limit` of `Retry.limit`."""
    return re.split(r"\.|::|#", symbol)[-1]


def _squeezed(lines: Sequence[str]) -> str:
    return "".join("".join(lines).split())
