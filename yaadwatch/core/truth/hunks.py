"""Does a change touch a definition?

For files whose language has no parser here, git's hunks decide. A line belongs to the definitions
that it is inside of, as its indentation tells: those above the hunk, which are the hunk's header,
and those that begin in the hunk. What was taken away is compared with what was put in, so that
white space, comments on lines of their own, and moving a definition about in its file are no
change. A type is changed by its own lines, not by what its functions do.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from yaadwatch.core.text_cache import kept
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
# Brackets, and words that are brackets, tell nothing by themselves.
_NOTHING = re.compile(r"\s*(?:[\[\](){}]+[;,]?|end|fi|done|esac)?\s*")
_COMMENT = re.compile(r"\s*(?:///?|/\*|\*/|\*\s|\*$|#\s|#$|#!(?!\[)|--\s|<!--)")
_BEGINS = re.compile(r"\s*[\w@#<$\"'\[]")
_GOES_ON = re.compile(
    r"\s*(?:(?:else|elif|elsif|catch|except|rescue|ensure|finally|where|throws|then|do|while)\b"
    r"|(?:public|private|protected|default|case\b[^:]*|\w+):\s*$)"
)
_TYPE = re.compile(
    r"[^(=]*?\b(?:class|struct|interface|trait|enum|union|record|object|protocol|extension|actor"
    r"|impl|module|namespace|type|typedef)\b"
)
_ANY_NAME = r"[\w$]+"
_PATTERNS_KEPT = 256
_LINE_CHARS_MAX = 1_000
_CLOSES = re.compile(r"\s*(?:[)\]}]|end\b|done\b|fi\b|esac\b)")
"""How a line begins that ends what began above it."""


def defines(line: str, symbol: str) -> bool:
    """Return whether `line` looks like the defining line of `symbol` (its last part, if joined)."""
    return _is_defining(line, re.escape(last_part(symbol)))


def locate(text: str, symbol: str) -> int | None:
    """Return the line (from 1) that defines `symbol`, else the first that holds the word."""
    word = _word(re.escape(last_part(symbol)))
    first = None
    counted, line = 0, 1
    found = word.search(text)
    while found:
        line += text.count("\n", counted, found.start())
        counted = found.start()
        if defines(_line_around(text, counted), symbol):
            return line
        first = first or line
        end = text.find("\n", counted)
        found = word.search(text, end + 1) if end >= 0 else None
    return first


def touches(symbol: str, hunks: Sequence[Hunk], text: str = "") -> bool:
    """Return whether `hunks` change the definition of `symbol`.

    `text`: the file after them, which tells how deep the definition is indented there.
    """
    number = locate(text, symbol)
    depth = _indent(text.split("\n")[number - 1]) if number is not None else None
    removed: list[str] = []
    added: list[str] = []
    laid_out: tuple[list[str], list[str]] = ([], [])
    for hunk in hunks:
        above = [_Above.of(line, symbol) for line in hunk.header.split("\n") if line.strip()]
        removed += _own(hunk.removed, symbol, above)
        laid_out[0].extend(_own(hunk.removed, symbol, above, with_closing=True))
        if depth is not None:
            above = [replace(one, depth=depth) if one.is_it else one for one in above]
        added += _own(hunk.added, symbol, above)
        laid_out[1].extend(_own(hunk.added, symbol, above, with_closing=True))
    # A bracket on a line of its own tells nothing, but `f(` `)` on two lines is `f()` on one.
    is_same = _squeezed(laid_out[0]) == _squeezed(laid_out[1])
    return not is_same and _squeezed(removed) != _squeezed(added)


def last_part(symbol: str) -> str:
    """Return the last of the names that `symbol` joins: `limit` of `Retry.limit`."""
    return re.split(r"\.|::|#", symbol)[-1]


@dataclass(frozen=True, slots=True)
class _Above:
    """A line that others may be inside of: how deep it is, and whether it defines something."""

    depth: int
    is_it: bool
    is_type: bool
    is_other: bool

    @classmethod
    def of(cls, line: str, symbol: str) -> "_Above":
        is_it = defines(line, symbol)
        is_other = not is_it and _is_defining(line, _ANY_NAME)
        return cls(_indent(line), is_it, is_it and _TYPE.match(line) is not None, is_other)


def _own(
    lines: Sequence[str], symbol: str, above: Sequence[_Above], *, with_closing: bool = False
) -> Iterator[str]:
    """Yield the lines that belong to the definition; `above`: what stands above the first."""
    stack = list(above)
    for line in lines:
        if _NOTHING.fullmatch(line) or _COMMENT.match(line):
            if with_closing and not _COMMENT.match(line) and _is_inside(stack):
                yield line
            continue
        goes_on = _GOES_ON.match(line) is not None or not _BEGINS.match(line)
        here = _Above.of(line, symbol)
        while stack and stack[-1].depth >= here.depth + goes_on:
            stack.pop()
        if here.is_it or _is_inside(stack):
            yield line
        if not goes_on:
            stack.append(here)


def _is_inside(stack: Sequence[_Above]) -> bool:
    """Return whether what stands below these lines belongs to the definition among them."""
    inside = False
    for line in stack:
        if line.is_it:
            inside, is_type = True, line.is_type
        elif inside and is_type and line.is_other:
            return False
    return inside


def _is_defining(line: str, name: str) -> bool:
    """Return whether `line` defines what the pattern `name` matches; its start tells."""
    start = line[:_LINE_CHARS_MAX]
    return not _NO_DEFINITION.match(start) and _definition(name).search(start) is not None


@kept(_PATTERNS_KEPT)
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
        rf"|^(?:\s*{_MODIFIER}|[A-Za-z_])[\w\s*&:<>,.?\[\]]*[\s*&:]{name}{generic}\([^;{{=]*$"
        # name()
        rf"|^\s*{name}\s*\(\)\s*\{{?\s*$"
    )


@kept(_PATTERNS_KEPT)
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


def block(text: str, line: int) -> str:
    """Return the lines of what begins at a line, as far as indents tell it, without empty ones."""
    first, *rest = text.split("\n")[line - 1 :] or [""]
    depth = _indent(first)
    kept = [first.rstrip()]
    for one in rest:
        if one.strip() and _indent(one) <= depth and not _CLOSES.match(one):
            break
        if one.strip():
            kept.append(one.rstrip())
    return "\n".join(kept)
