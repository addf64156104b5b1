"""Does a file that moved still say what it said, apart from what its place makes it say?

A file that goes to another folder is given other relative paths and imports. What else differs may
be what a memory is about.
"""

import re
from collections.abc import Iterable
from typing import Final

from yaadwatch.core.truth.languages import language_of

_IMPORT = re.compile(
    r"\s*(?:(?:import|from|use|using|include|require|require_once|require_relative|package"
    r"|namespace|extern\s+crate|#\s*include|@import|@use|export\s+(?:\*|\{[^}]*\})\s+from"
    r"|\}\s*from)\b"
    r"|(?:const|let|var)\s+[\w$\s{},:]+=\s*(?:await\s+import|require)\s*\()"
)
"""How a line of code begins that says where something else is."""
_WORD = re.compile(r"[^\W\d]\w*")
WORDS_MIN: Final = 5
"""A definition with fewer words, its name and keywords among them, is like any other one."""
ALIKE_MIN: Final = 0.4
"""Share of the words of the shorter definition that the other one has, too."""
_RELATIVE = re.compile(r"(?:\.\.?/)+")


def says_the_same(old: bytes, new: bytes, path: str) -> bool:
    """Return whether two versions of a file differ in imports and relative paths only.

    Args:
        old: what it said.
        new: what it says now.
        path: its name, which tells whether it has imports.
    """
    if old == new:
        return True
    language = language_of(path)
    imports = language is not None and not language.is_settings
    return _lines(old, imports=imports) == _lines(new, imports=imports)


def is_divided_among(old: bytes, parts: Iterable[bytes], path: str) -> bool:
    """Return whether each line of a file but its imports stands in one of the parts of it."""
    language = language_of(path)
    imports = language is not None and not language.is_settings
    said = {line for part in parts for line in _lines(part, imports=imports)}
    return said.issuperset(_lines(old, imports=imports))


def is_unlike(old: str, new: str) -> bool:
    """Return whether two definitions of one name have hardly a word in common.

    What is too short to tell is not unlike.
    """
    words, others = (frozenset(_WORD.findall(text)) for text in (old, new))
    fewer = min(len(words), len(others))
    return fewer >= WORDS_MIN and len(words & others) < ALIKE_MIN * fewer


def _lines(source: bytes, *, imports: bool) -> list[str]:
    """Return the lines that do not depend on where the file is; with `imports`, without these."""
    lines = (line.rstrip() for line in source.decode("utf-8", "replace").splitlines())
    kept = (line for line in lines if line and not (imports and _IMPORT.match(line)))
    return [_RELATIVE.sub("", line) for line in kept]
