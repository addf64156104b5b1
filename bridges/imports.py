"""Which other files a CLAUDE.md or GEMINI.md takes in: every `@path` in its text, in their order.

As Claude Code reads them: an `@` at the start of a word, not in code; `\\ ` is a blank in a name,
and what follows a `#` is a place in the file. Who wants to read such a file has to see whether it
is there, and whether it may be read: `@types/node` in a sentence looks the same.
"""

import re
from typing import Final

from bridges.block import Absent, Block, find, outside
from bridges.markdown import sources, without_code

IMPORTS_MAX: Final = 100
"""Files taken in by one file; more of them are left out."""
PATH_CHARS_MAX: Final = 1_000

_IMPORT = re.compile(r"(?<!\S)@(?P<path>(?:\\ |[^\s\\])+)")
_DRIVE = re.compile(r"[A-Za-z]:")
_START = re.compile(r"[A-Za-z0-9._-]")


def imports(content: str | bytes) -> tuple[str, ...]:
    """Return the paths that a file imports, each once, relative to the file's own folder.

    Paths that begin at the root or in a home folder are left out: they are not of the project.
    What stands in our block imports nothing. Never raises: a file that is not read says nothing.
    """
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    found = find(data)
    if not isinstance(found, Absent | Block):
        return ()
    paths: dict[str, None] = {}
    for source in sources(outside(data, found).decode()):
        for match in _IMPORT.finditer(without_code(source)):
            path = match["path"].replace("\\ ", " ").split("#", 1)[0].removeprefix("./")
            if _is_relative(path):
                paths[path] = None
            if len(paths) == IMPORTS_MAX:
                return tuple(paths)
    return tuple(paths)


def _is_relative(path: str) -> bool:
    return (
        len(path) <= PATH_CHARS_MAX
        and path.isprintable()
        and _START.match(path) is not None
        and _DRIVE.match(path) is None
    )
