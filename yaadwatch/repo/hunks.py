"""Find the lines that changed between two texts, their enclosing definition, and their commits.

Git finds the changes. The enclosing definition is read from the indentation: git's own hunk headers
name one function per hunk, often the one above or an inner one. The settings of the repository have
no influence.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from yaadwatch.model.anchors import Hunk
from yaadwatch.repo.command import Git, GitRunner
from yaadwatch.system import processes

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_TEMPLATES = frozenset(
    {".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".go", ".vue"}
)
"""Where texts between backticks may have many lines, which are indented as they like."""
_HEREDOCS = frozenset({"", ".sh", ".bash", ".zsh", ".ksh", ".rb", ".php", ".pl", ".pm"})
_HEREDOC = re.compile(rb"<<<?[-~]?([\"']?)([A-Z_][A-Z0-9_]*)\1(?![\w(])")
_TEMPLATE_ENDS = re.compile(rb"[^`]*`(?:[^`]*`[^`]*`)*[^`]*\Z")
_COMMENT_BEGINS = re.compile(rb"[ \t]*/\*(?!.*\*/)")
_COMMENT_ENDS = re.compile(rb".*\*/")
_BESIDE = re.compile(rb"[ \t]*(?:#|//|/\*|\*[ \t/]|\*$|--[ \t]|<!--|$)")
_GOES_ON = re.compile(
    rb"[ \t]*(?:[()\[\]{}|&.:+]"
    rb"|(?:end|fi|done|esac|else|elif|elsif|catch|except|rescue|ensure|finally|where|then|do|throws)\b"
    rb"|(?:public|private|protected|default|case\b.*|\w+)[ \t]*:[ \t]*$)"
)
_HOW: Final = ("--porcelain", "-w", "-M", "--no-textconv", "--no-ignore-revs-file")
"""A list of commits to pass over that the repository names, and lacks, would be an error."""
_LINE: Final = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?) \d+ \d+(?: \d+)?")
_TIME: Final = b"committer-time "
_BEFORE: Final = re.compile(rb"previous ([0-9a-f]{40}(?:[0-9a-f]{24})?) ([^\"].*)")
"""A path in quotation marks has odd characters, and is not followed."""


def hunks_between(runner: GitRunner, old: bytes, new: bytes, name: str) -> list[Hunk]:
    """Return git's hunks between two texts, white space ignored; `name` gives the language.

    The header of a hunk are the lines that it may be inside of, whole, outermost first.

    Raises:
        GitFailed: git could not compare them.
        YaadError: TIMEOUT, UNAVAILABLE, TOO_LARGE, as for every command.
    """

    def fill(place: Path) -> None:
        (place / "a").write_bytes(old)
        (place / "b").write_bytes(new)

    with processes.folder(fill) as place:
        arguments = [
            *("diff", "--no-index", "--no-ext-diff", "--no-textconv", "--no-color"),
            *("--histogram", "-U0", "-w", "--ignore-blank-lines", "--text", "--", "a", "b"),
        ]
        output = runner.run(arguments, cwd=place, allowed=(0, 1), isolated=True)
    return _parsed(output, _Outline(old.split(b"\n"), Path(name).suffix.lower()))


class _Outline:
    """Finds the enclosing lines of one place after the other, from the top."""

    def __init__(self, lines: Sequence[bytes], suffix: str) -> None:
        self._lines = lines
        self._suffix = suffix
        self._next = 0
        self.text_ends: re.Pattern[bytes] | None = None
        self._stack: list[tuple[int, bytes]] = []

    def above(self, number: int) -> tuple[bytes, ...]:
        """Return the lines that may enclose the text below line `number`."""
        while self._next < min(number, len(self._lines)):
            self._read(self._lines[self._next])
            self._next += 1
        return tuple(line for _, line in self._stack)

    def _read(self, line: bytes) -> None:
        if self.text_ends is not None:
            if self.text_ends.match(line):
                self.text_ends = None
            return
        self.text_ends = self._string_end(line)
        if _BESIDE.match(line):
            return
        wide = line.expandtabs(4)
        depth = len(wide) - len(wide.lstrip())
        goes_on = _GOES_ON.match(line) is not None
        while self._stack and self._stack[-1][0] >= depth + goes_on:
            self._stack.pop()
        if not goes_on:
            self._stack.append((depth, line))

    def _string_end(self, line: bytes) -> re.Pattern[bytes] | None:
        """Return the end of a multi-line string that begins here; its lines are ignored."""
        heredoc = _HEREDOC.search(line) if self._suffix in _HEREDOCS else None
        if heredoc:
            return re.compile(rb"[ \t]*" + heredoc.group(2) + rb"\b")
        if self._suffix in _TEMPLATES and line.count(b"`") % 2:
            return _TEMPLATE_ENDS
        return _COMMENT_ENDS if _COMMENT_BEGINS.match(line) else None


def _parsed(output: bytes, outline: _Outline) -> list[Hunk]:
    """Return the hunks of a diff without context."""
    found: list[Hunk] = []
    above: tuple[bytes, ...] = ()
    sides: dict[bytes, _Side] = {}
    for line in output.split(b"\n"):
        match = _HUNK.match(line)
        if match:
            _close(found, above, sides)
            start, count = int(match[1]), int(match[2] or 1)
            above = outline.above(start - 1 if count else start)
            sides = {mark: _Side(outline.text_ends) for mark in (b"-", b"+")}
        elif line[:1] in sides:
            sides[line[:1]].add(line[1:])
    _close(found, above, sides)
    return found


class _Side:
    """The lines that a hunk removes, or adds."""

    def __init__(self, text_ends: re.Pattern[bytes] | None) -> None:
        self._text_ends = text_ends
        self.lines: list[str] = []

    def add(self, line: bytes) -> None:
        """Take one line; inside a multi-line string it gets the greatest depth."""
        if self._text_ends is None:
            self.lines.append(_text(line))
            return
        self.lines.append(" " * 200 + _text(line))
        if self._text_ends.match(line):
            self._text_ends = None


def _close(found: list[Hunk], above: Sequence[bytes], sides: dict[bytes, _Side]) -> None:
    if sides:
        header = _text(b"\n".join(above))
        removed, added = (tuple(sides[mark].lines) for mark in (b"-", b"+"))
        found.append(Hunk(header=header, removed=removed, added=added))


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


class LineOrigin(NamedTuple):
    """A commit and its author time in Unix seconds.

    `before`: the previous commit with the file, and the path of the file there; both are empty
    where the commit created the file, or history is cut off.
    """

    commit: str
    at_s: int
    before: tuple[str, str] = ("", "")


def lines_written(git: Git, commit: str, path: str) -> list[LineOrigin]:
    """Return for each line of a file in a commit, in order, which commit wrote it.

    White space, and lines that only went elsewhere in the file, count as no change; a file that was
    renamed is followed. Where history was cut off it is the oldest commit that is there. No text
    filter of the repository is run.

    Raises:
        YaadError: as every method of `Repository`; UNAVAILABLE where the commit has no such file.
    """
    found = git.ask(["blame", *_HOW, commit, "--", path])
    wrote: list[LineOrigin] = []
    times: dict[bytes, int] = {}
    before: dict[bytes, tuple[str, str]] = {}
    current = b""
    for row in found.split(b"\n"):
        begun = _LINE.fullmatch(row) if not row.startswith(b"\t") else None
        if begun is not None:
            current = begun[1]
        elif row.startswith(_TIME):
            times[current] = int(row.removeprefix(_TIME))
        elif (previous := _BEFORE.fullmatch(row)) is not None:
            before[current] = (previous[1].decode(), os.fsdecode(previous[2]))
        elif row.startswith(b"\t"):
            since = before.get(current, ("", ""))
            wrote.append(LineOrigin(current.decode(), times.get(current, 0), since))
    return wrote
