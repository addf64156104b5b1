"""Which values does a text state: how long a file is, which version of a thing is used?"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINES = re.compile(r"(?<![\w.,])~?(\d{1,3}(?:,\d{3}){1,2}|\d{2,6})\+? (?:lines|LOC|loc)\b")
_VERSION = re.compile(
    r"(?<![\w./-])([A-Za-z][A-Za-z0-9_.+#-]{1,39})`?(?: version| v|[ @:]|==|>=|\^|~=| `?>=?)`? ?"
    r"[v^~=]?(\d{1,4}(?:\.\d{1,5}){0,3})\+?(?![\w.-]*[\w-])"
)
_NO_THING = frozenset(
    (
        *("the", "a", "an", "of", "in", "to", "is", "at", "by", "for", "and", "or", "than", "step"),
        *("about", "only", "least", "most", "first", "last", "next", "over", "under", "with", "phase"),
        *("between", "every", "all", "some", "up", "max", "min", "limit", "port", "level", "line"),
        *("version", "issue", "pr", "section", "chapter", "day", "exit", "code", "status", "http"),
        *("than", "are", "has", "have", "priority", "from", "top", "on", "as", "be", "page"),
    )
)


@dataclass(frozen=True, slots=True)
class Version:
    """A thing and the version that the text gives it: ('Python', '3.11')."""

    thing: str
    version: str


def line_counts(text: str) -> Iterator[int]:
    """Yield the numbers of lines that the text states ("843 lines")."""
    for found in _LINES.finditer(text):
        yield int(found.group(1).replace(",", ""))


def versions(text: str) -> Iterator[Version]:
    """Yield the versions that the text states ("Python 3.11+", "node@20")."""
    for found in _VERSION.finditer(text):
        if found.group(1).lower() not in _NO_THING:
            yield Version(found.group(1), found.group(2))
