"""Does a change touch a definition?

For files whose language has no parser here, git's hunks decide. A hunk belongs to the definition
that its function header names, or to the one whose defining line it removes or adds. Changes that
only move white space about are no change. A hunk right behind a definition still has that one as
its header: when it begins with another definition, indented no deeper, it is that one's.
"""

import functools
import re
from collections.abc import Sequence

from yaadwatch.model.anchors import Hunk

_KEYWORD = (
    r"\b(?:func|function|fn|fun|def|defp|sub|proc|class|struct|interface|trait|enum|union|record|object|protocol|"
    r"extension|actor|impl|module|namespace|type|typedef|const|let|var|val|static|define|macro_rules!)\b"
)
_MODIFIER = (
    r"(?:public|private|protected|internal|static|virtual|override|abstract|final|async|extern|"
    r"inline|constexpr|synchronized|unsafe|partial|sealed)\b"
)
# A line that begins so calls, tests or gives back; it defines nothing.
_NO_DEFINITION = re.compile(
    r"\s*(?://|/\*|\*|--|;;|<!--|\#(?!\s*define\b)"
    r"|(?:\}\s*)?(?:if|else|elif|for|foreach|while|until|unless|switch|case|when|match|return|await"
    r"|yield|throw|try|catch|do|go|defer|new|delete|not|and|or|print|echo|assert|import|from|use|using"
    r"|require|include|raise)\b)"
)
_ANY_NAME = r"[\w$]+"
_CLOSING = re.compile(r"\s*(?:[\])}]+[;,]?|end|fi|done|esac)?\s*")
_COMMENT = re.compile(r"\s*(?://|/\*|\*|#|--|@)")
_PATTERNS_KEPT = 256


def defines(line: str, symbol: str) -> bool:
    """Return whether `line` looks like the defining line of `symbol` (its last part, if joined)."""
    pattern = _definition(re.escape(last_part(symbol)))
    return not _NO_DEFINITION.match(line) and pattern.search(line) is not None


def locate(text: str, symbol: str) -> int | None:
    """Return the line (from 1) that defines `symbol`, else the first that holds the word."""
    first = None
    counted, line = 0, 1
    for found in _word(re.escape(last_part(symbol))).finditer(text):
        line += text.count("\n", counted, found.start())
        counted = found.start()
        if defines(_line_around(text, counted), symbol):
            return line
        first = first or line
    return first


def touches(symbol: str, hunks: Sequence[Hunk], text: str = "") -> bool:
    """Return whether one of `hunks` changes the definition of `symbol`.

    `text`: the file after them, which tells how deep the definition is indented.
    """
    number = locate(text, symbol)
    margin = _indent(text.split("\n")[number - 1]) if number is not None else 0
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
        _indent(first) <= margin
        and not _NO_DEFINITION.match(first)
        and _definition(_ANY_NAME).search(first) is not None
        for first in beginnings
    )


@functools.lru_cache(_PATTERNS_KEPT)
def _definition(name: str) -> re.Pattern[str]:
    """Return what finds a defining line of `name`, a pattern itself."""
    before, generic = r"(?<![\w$.])", r"\s*(?:<[^<>()]*>)?\s*"
    parameters = r"\((?:[^()]|\([^()]*\))*\)"
    return re.compile(
        # func name, class name, func (receiver) name, const name
        rf"{_KEYWORD}\s*\*?\s*(?:<[^<>]*>\s*)?(?:\([^()]*\)\s*)?(?:[\w.:]*[.:])?{name}(?![\w$])"
        # name(...) {    int name(...) {    name(...): Type {
        rf"|^[^(=]*?{before}{name}{generic}{parameters}[^;()=]*\{{\s*(?://.*|/\*.*)?$"
        # int name(...    with the brace on a line of its own
        rf"|^(?:\s*{_MODIFIER}|[A-Za-z_])[\w\s*&:<>,\[\]]*[\s*&:]{name}{generic}\([^;{{=]*$"
        # name()
        rf"|^\s*{name}\s*\(\)\s*\{{?\s*$"
    )


@functools.lru_cache(_PATTERNS_KEPT)
def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$]){name}(?![\w$])")


def _line_around(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return text[start : end if end >= 0 else len(text)]


def _indent(line: str) -> int:
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip())


def _squeezed(lines: Sequence[str]) -> str:
    return "".join("".join(lines).split())
