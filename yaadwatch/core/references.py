"""Which files and names does a text speak of?

Candidates come from the words; files are matched with a tree. Taking too much here is harmless: a
candidate counts only when it is found in the tree. What is taken for a name without backticks must
look like code (RetryPolicy, retry_limit, retry.limit(), retry()).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

MENTIONS_MAX = 64
"""Candidates of each sort taken from one text."""

_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_PATH = re.compile(r"@?[\w~.][\w@.+~\-/\[\]]*")
_LINE_SUFFIX = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$")
_NAME = r"[A-Za-z_$][\w$]*"
_NAMES = re.compile(rf"(?<![\w$./-]){_NAME}(?:(?:\.|::|#){_NAME})*(?![\w$/-])(?:\(\))?")
_LOOKS_LIKE_CODE = re.compile(
    r"""
    .*(?:\.|::|\#).*          # parts joined: retry.limit, Retry::limit
    | .*\(\)                  # a call: retry()
    | _*[A-Za-z0-9$]+_\w*     # snake_case, CONSTANT_CASE
    | [A-Z]+[a-z0-9]+[A-Z]\w* # RetryPolicy, HTTPServer
    | [a-z]+[a-z0-9]*[A-Z]\w* # retryLimit
    """,
    re.VERBOSE,
)
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_KNOWN_FILES = frozenset(
    (
        *("Makefile", "Dockerfile", "Containerfile", "Justfile", "justfile", "Procfile"),
        *("Jenkinsfile", "Gemfile", "Rakefile", "Vagrantfile", "Brewfile", "Tiltfile"),
        *("Snakefile", "CODEOWNERS", "LICENSE"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """What a text may speak of, in the order of first mention; one word may be both."""

    paths: tuple[str, ...]
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a repository, ready to be looked up by path, by end of path and by name."""

    paths: frozenset[str]
    by_name: dict[str, tuple[str, ...]] = field(repr=False)

    @classmethod
    def of(cls, paths: Iterable[str]) -> "Tree":
        """Return the tree of `paths` (relative, '/' separators)."""
        by_name: dict[str, list[str]] = {}
        listed = frozenset(paths)
        for path in sorted(listed):
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
        return cls(listed, {name: tuple(found) for name, found in by_name.items()})

    def match(self, mention: str, *, folder: str = "") -> str | None:
        """Return the one file that `mention` means, or None when there is none or more than one.

        In this order: relative to `folder` (where the text stands), the exact path, the only path
        that ends in the mention. A name alone must be the only file of that name.
        """
        for candidate in (_join(folder, mention), _join("", mention)):
            if candidate and candidate in self.paths:
                return candidate
        if mention.startswith("../"):
            return None
        tail = mention.lstrip("./").rstrip("/")
        if not tail:
            return None
        same_name = self.by_name.get(tail.rpartition("/")[2], ())
        ending = [path for path in same_name if path == tail or path.endswith("/" + tail)]
        return ending[0] if len(ending) == 1 else None


def mentions(text: str) -> Mentions:
    """Return the paths and names that `text` may speak of; at most 64 of each."""
    plain = _URL.sub(" ", text)
    code = [match.group(2).strip() for match in _CODE.finditer(plain)]
    paths = dict.fromkeys(_paths(plain, quoted=False))
    paths |= dict.fromkeys(
        path for span in code for path in _paths(span, quoted=len(span.split()) == 1)
    )
    names = dict.fromkeys(
        name for span in code for name in _names(span, quoted=len(span.split()) == 1)
    )
    names |= dict.fromkeys(_names(_CODE.sub(" ", plain), quoted=False))
    return Mentions(
        paths=tuple(paths)[:MENTIONS_MAX],
        symbols=tuple(names)[:MENTIONS_MAX],
    )


def _paths(text: str, *, quoted: bool) -> Iterable[str]:
    for match in _PATH.finditer(text):
        token = _LINE_SUFFIX.sub("", match.group().lstrip("@")).rstrip(".,;:~")
        if not token or len(token) > 400:
            continue
        if "/" in token or _SUFFIX.search(token) or quoted or token in _KNOWN_FILES:
            yield token


def _names(text: str, *, quoted: bool) -> Iterable[str]:
    """Yield names; `quoted`: the text is one word in backticks, which may look like anything."""
    for match in _NAMES.finditer(text):
        token = match.group()
        called = token.endswith("()") or text[match.end() : match.end() + 1] == "("
        name = token.removesuffix("()")
        if len(name) < 3 or _SUFFIX.fullmatch(name):
            continue
        if quoted or called or _LOOKS_LIKE_CODE.fullmatch(token):
            yield name


def _join(folder: str, mention: str) -> str | None:
    """Return `mention` seen from `folder`, without '.' and '..'; None when it leaves the tree."""
    parts: list[str] = []
    for part in [*folder.split("/"), *mention.split("/")]:
        if part in ("", "."):
            continue
        if part == "..":
            if not parts:
                return None
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts) or None
