"""Where a command prints: lines that fit, columns that line up, colours where they are welcome."""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby

from yaadwatch.cli.words import cells, harmless
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

UNLIMITED = 1_000_000
"""Width of what is not a terminal: whoever reads it wraps it."""

INPUT_CHARS_MAX = 500_000
"""Read of a text at most; the daemon's limit for a memory is far below."""

_ROOM_MIN = 20
"""Columns that are left for text, however deep it is indented."""
_SPACE_AFTER_WORD = "(?<=[^ ]) "
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "dim"}


class Unwritten(YaadError):
    """Standard output takes no more: its disk is full, or it is gone."""

    def __init__(self, error: OSError) -> None:
        super().__init__(
            Code.UNAVAILABLE,
            f"Standard output cannot be written ({error.strerror or error}).",
            hint="Send it elsewhere, or make room there. What was asked for may be done already; "
            "see: yaadwatch status",
        )


class Styled(str):
    """A text with a style: bold, dim, red, green or yellow."""

    style = ""


def styled(text: str, style: str) -> Styled:
    """Return `text` in `style`; an empty style is none."""
    made = Styled(text)
    made.style = style
    return made


class Terminal:
    """Standard output and error of a command, and what a person expects of them.

    Args:
        out: what was asked for goes here.
        err: errors and progress go here.
        keys: standard input.
        width: columns; longer lines are wrapped between words.
        colour: whether styles are shown.
    """

    def __init__(
        self,
        out: "TextIO",
        err: "TextIO",
        *,
        keys: "TextIO" = sys.stdin,
        width: int = UNLIMITED,
        colour: bool = False,
    ) -> None:
        self.out = out
        self.err = err
        self.keys = keys
        self.width = width
        self.colour = colour
        self._telling = False

    def line(self, *parts: str, indent: int = 0, hang: int = 2) -> None:
        """Print the parts one after the other; what does not fit continues `hang` columns deeper.

        Spaces stay as they are; characters that could steer the terminal are made visible.
        """
        self.end_progress()
        text, styles = " " * indent, [""] * indent
        for part in parts:
            shown = harmless(part)
            text += shown
            styles += [part.style if isinstance(part, Styled) else ""] * len(shown)
        for number, (begin, end) in enumerate(self._wrapped(text, indent + hang)):
            margin = " " * (indent + hang) if number else ""
            self.write(f"{margin}{self._painted(text, styles, begin, end)}\n")

    def command(self, label: str, command: str, *, indent: int = 0) -> None:
        """Print a command for a shell: in one line, however long, so that it can be copied."""
        self.end_progress()
        self.write(f"{' ' * indent}{label}{harmless(command)}\n")

    def gap(self) -> None:
        """Print an empty line."""
        self.end_progress()
        self.write("\n")

    def table(self, rows: Sequence[Sequence[str]], *, indent: int = 2) -> None:
        """Print rows with their columns aligned; what does not fit wraps in the last column."""
        widths = [
            max(cells(harmless(cell)) for cell in column) for column in zip(*rows, strict=True)
        ][:-1]
        hang = min(sum(width + 2 for width in widths), self.width // 2)
        for row in rows:
            padded: list[str] = []
            for cell, width in zip(row, widths, strict=False):
                padded += [cell, " " * (width - cells(harmless(cell)) + 2)]
            self.line(*padded, row[-1], indent=indent, hang=hang)

    def diff(self, text: str, *, indent: int) -> None:
        """Print a unified diff: each of its lines in one line, however long."""
        self.end_progress()
        for line in text.splitlines():
            shown = harmless(line)
            styles = [_DIFF_STYLES.get(line[:1], "")] * len(shown)
            self.write(f"{' ' * indent}{self._painted(shown, styles, 0, len(shown))}\n")

    def json(self, answer: Mapping[str, object]) -> None:
        """Print `answer` as one line of JSON."""
        self.end_progress()
        utf8 = (self.out.encoding or "utf-8").lower().replace("-", "") == "utf8"
        self.write(json.dumps(answer, ensure_ascii=not utf8) + "\n")

    def raw(self, data: bytes) -> None:
        """Write bytes as they are, for a program that reads them."""
        self.end_progress()
        self.flush()
        with telling_unwritten():
            self.out.buffer.write(data)

    def write(self, text: str) -> None:
        """Print `text` as it is.

        Raises:
            Unwritten: nothing more can be printed.
            BrokenPipeError: nobody reads it any more.
        """
        with telling_unwritten():
            self.out.write(text)

    def flush(self) -> None:
        """Hand over what was printed so far.

        Raises:
            Unwritten, BrokenPipeError: as for `write`.
        """
        with telling_unwritten():
            self.out.flush()

    def progress(self, text: str) -> None:
        """Say on standard error, if a person looks at it, that we are still at it."""
        if self.err.isatty():
            self.err.write(f"\r\x1b[K{text}")
            self.err.flush()
            self._telling = True

    def can_ask(self) -> bool:
        """Tell whether a person sits there who can answer."""
        return self.out.isatty() and self.keys.isatty()

    def ask(self, question: str) -> str:
        """Return what a person answers, without blanks around it; '' at the end of the input."""
        self.out.write(question)
        self.out.flush()
        return self.keys.readline().strip()

    def end_progress(self) -> None:
        """Take away what `progress` said."""
        if self._telling:
            self.err.write("\r\x1b[K")
            self.err.flush()
            self._telling = False

    def _wrapped(self, text: str, margin: int) -> Iterator[tuple[int, int]]:
        """Yield begin and end of each line of `text`; a word that is too long keeps its length."""
        text = text.rstrip(" ")  # or a line of its own would be made for what nobody sees
        begin, room = 0, self.width
        while cells(text[begin:]) > room:
            end = 0
            for found in re.finditer(_SPACE_AFTER_WORD, text[begin:]):
                space = begin + found.start()
                if end and cells(text[begin:space]) > room:
                    break
                end = space
            if not end:
                break
            yield begin, end
            begin = end + len(text[end:]) - len(text[end:].lstrip(" "))
            room = max(self.width - margin, _ROOM_MIN)
        yield begin, len(text)

    def _painted(self, text: str, styles: Sequence[str], begin: int, end: int) -> str:
        if not self.colour:
            return text[begin:end].rstrip()
        painted = ""
        for style, run in groupby(range(begin, end), key=styles.__getitem__):
            shown = "".join(text[at] for at in run)
            painted += f"\x1b[{_CODES[style]}m{shown}\x1b[0m" if style else shown
        return painted.rstrip()


@contextmanager
def telling_unwritten() -> Iterator[None]:
    """Say of an error that standard output is where it happened.

    Raises:
        Unwritten: for any but a closed pipe.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unwritten(error) from error


def tell_hidden(answer: "dict[str, Any]", terminal: Terminal) -> None:
    """Print how many memories belong to other branches, or to uncommitted work elsewhere."""
    for work in answer.get("uncommitted") or ():
        where = work["worktree"] or "no work tree now"
        where += f" ({work['branch']})" if work["branch"] else ""  # else its commit is on none
        said = f"{work['memories']} more about uncommitted work in {where}"
        terminal.line(styled(f"{said}; see: --all-branches", "dim"))
    if hidden := answer.get("hidden", 0):
        terminal.line(
            styled(f"{hidden} more on branches not merged here; see: --all-branches", "dim")
        )


def read_whole(stream: "TextIO", what: str, undone: str) -> str:
    """Return all that `stream` holds, as it is, without a mark of its encoding at the beginning.

    Args:
        stream: is read to its end.
        what: what it is, as a sentence begins with it.
        undone: the sentence that says what was not done with it.

    Raises:
        YaadError: bad_request, when it is not text; too_large, over `INPUT_CHARS_MAX` characters.
    """
    try:
        text = stream.read(INPUT_CHARS_MAX + 1)
    except UnicodeDecodeError:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{what} is not text in UTF-8. {undone}",
            hint="Convert it first: iconv -f ENCODING -t UTF-8",
        ) from None
    if len(text) > INPUT_CHARS_MAX:
        raise YaadError(
            Code.TOO_LARGE,
            f"{what} has more than {INPUT_CHARS_MAX} characters. {undone}",
            hint="Put it into a file of the project, and remember in a sentence where it is.",
        )
    return text.removeprefix("\ufeff")


def of_process() -> Terminal:
    """Return the terminal of this process; a stream that it was started without takes nothing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115  (until its end)
    # Where the locale is C, bytes that are no text would come in as something else.
    sys.stdin.reconfigure(errors="strict")  # type: ignore[union-attr]
    for stream in (sys.stdout, sys.stderr):
        # A memory may hold any character; a locale that lacks it must not end the command.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    seen = sys.stdout.isatty()
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Terminal(sys.stdout, sys.stderr, keys=sys.stdin, width=columns(), colour=seen and wanted)


def columns() -> int:
    """Return the width to print for: `$COLUMNS`, the terminal's, or no limit."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(int(given), 40)
    try:
        seen = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return UNLIMITED
    return max(seen, 40) if seen else 80  # some terminals do not know how wide they are
