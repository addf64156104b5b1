"""Which lines changed between two texts, and inside which function does each change begin?

git knows the functions of many languages by their first lines. Its own knowledge is used, and
extended for the languages it does not know; nothing of any repository plays a part.
"""

import re
import tempfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

from yaadwatch.model.anchors import Hunk
from yaadwatch.system.git.command import GitRunner

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@ ?(.*)")
_SCRIPT = (
    r"^[ \t]*((export[ \t]+)?(default[ \t]+)?((async|static|public|private|protected|readonly|"
    r"abstract|override|get|set)[ \t]+)*(function\*?[ \t]*[A-Za-z_$].*|class[ \t]+[A-Za-z_$].*|"
    r"(interface|enum|type|namespace)[ \t]+[A-Za-z_$].*|"
    r"(const|let|var)[ \t]+[A-Za-z_$][A-Za-z0-9_$]*[^=]*=[ \t]*(async[ \t]*)?(\(|function|"
    r"[A-Za-z_$][A-Za-z0-9_$]*[ \t]*=>).*|"
    r"[A-Za-z_$#][A-Za-z0-9_$]*[ \t]*(<[^>]*>)?\([^;]*\{[ \t]*$).*)$"
)
_SWIFT = (
    r"^[ \t]*((([a-z@]+[ \t]+)*)(func|class|struct|enum|extension|protocol|actor|init)[ \t(].*)$"
)


def hunks_between(runner: GitRunner, old: bytes, new: bytes, name: str) -> list[Hunk]:
    """Return git's hunks between two texts, white space ignored; `name` gives the language.

    The header of a hunk is the whole line that begins the function, with its indentation.

    Raises:
        GitFailed: git could not compare them.
        YaadError: TIMEOUT, UNAVAILABLE, TOO_LARGE, as for every command.
    """
    suffix = re.sub(r"[^A-Za-z0-9.]", "", Path(name).suffix)[:16]
    with tempfile.TemporaryDirectory(prefix="yaadwatch-") as folder:
        place = Path(folder)
        (place / f"a{suffix}").write_bytes(old)
        (place / f"b{suffix}").write_bytes(new)
        with as_file(files("yaadwatch.system.git") / "attributes") as attributes:
            arguments = [
                *("-c", f"core.attributesFile={attributes}"),
                *("-c", f"diff.yaadscript.xfuncname={_SCRIPT}"),
                *("-c", f"diff.yaadswift.xfuncname={_SWIFT}"),
                *("diff", "--no-index", "--no-ext-diff", "--no-textconv", "--no-color"),
                *("--histogram", "-U0", "-w", "--ignore-blank-lines", "--text"),
                *("--", f"a{suffix}", f"b{suffix}"),
            ]
            output = runner.run(arguments, cwd=place, allowed=(0, 1), isolated=True)
    return _parsed(output, old.split(b"\n"))


def _parsed(output: bytes, old: Sequence[bytes]) -> list[Hunk]:
    """Return the hunks of a diff without context; `old` are the lines before the change."""
    found: list[Hunk] = []
    place = -1
    header = b""
    lines: dict[bytes, list[str]] | None = None
    for line in output.split(b"\n"):
        match = _HUNK.match(line)
        if match:
            _close(found, header, lines)
            start, count = int(match[1]), int(match[2] or 1)
            place = _line_of(match[3], old, start - 1 if count else start, place)
            header = old[place] if place >= 0 and match[3].strip() else match[3]
            lines = {b"-": [], b"+": []}
        elif lines is not None and line[:1] in lines:
            lines[line[:1]].append(_text(line[1:]))
    _close(found, header, lines)
    return found


def _close(found: list[Hunk], header: bytes, lines: dict[bytes, list[str]] | None) -> None:
    if lines is not None:
        removed, added = tuple(lines[b"-"]), tuple(lines[b"+"])
        found.append(Hunk(header=_text(header), removed=removed, added=added))


def _line_of(header: bytes, old: Sequence[bytes], before: int, known: int) -> int:
    """Return the index of the line that git shows a part of: the last one above `before`.

    git cuts it after 80 bytes and drops its indentation. Lines up to `known`, where the header of
    the hunk above stands, need no second look: if it is none below, it is that one.
    """
    shown = header.strip()
    if not shown:
        return known
    for index in range(min(before, len(old)) - 1, known, -1):
        if shown in old[index]:
            return index
    return known


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
