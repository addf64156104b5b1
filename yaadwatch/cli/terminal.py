"""Format output for a terminal: lines that fit, columns, colours, short ids, ages and sizes.

Control characters are removed from all printed text.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any, TextIO


_UNITS = (
    (86400 * 365, "year"),
    (86400 * 30, "month"),
    (86400, "day"),
    (3600, "hour"),
    (60, "minute"),
)
_UNSAFE = "[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


def harmless(text: str) -> str:
    """Return `text` as one line that cannot steer a terminal.

    The text comes from other people's repositories. White space becomes spaces; other
    control characters, which could clear the screen or reorder what is read, become visible.
    """
    return re.sub(_UNSAFE, lambda one: " " if one[0].isspace() else f"\\u{ord(one[0]):04x}", text)


def tier(number: int) -> str:
    """Return a tier as people type it and read it: "tier 2 (warm)"."""
    return {1: "tier 1 (hot)", 2: "tier 2 (warm)", 3: "tier 3 (cold)"}.get(number, f"tier {number}")


def short(identity: object) -> str:
    """Return what people see of an id, and may type."""
    return short_id(str(identity))


def when(moment: object) -> "datetime | None":
    """Return the time in an answer, or None when there is none."""
    from datetime import datetime

    return datetime.fromisoformat(moment) if isinstance(moment, str) else None


def ago(moment: object, now: "datetime") -> str:
    """Return how long before `now` (or after it) `moment` is, in words; "never" without one."""
    then = when(moment)
    if then is None:
        return "never"
    seconds = (now - then).total_seconds()
    if abs(seconds) < 2:
        return "just now"
    amount = span(abs(seconds))
    return f"{amount} ago" if seconds > 0 else f"in {amount}"


def span(seconds: float) -> str:
    """Return a length of time in its largest unit: "3 hours"."""
    for length, unit in _UNITS:
        if seconds >= length:
            return count(int(seconds // length), unit)
    return count(int(seconds), "second")


def count(number: object, noun: str, plural: str = "") -> str:
    """Return "1 memory" or "3 memories"."""
    if number == 1:
        return f"1 {noun}"
    if not plural:
        plural = f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"
    return f"{number} {plural}"


def size(number: object) -> str:
    """Return a number of bytes for people: "38 MB"."""
    if not isinstance(number, int):
        return "unknown"
    if number < 1_000_000:
        return f"{number / 1000:.0f} kB"
    return f"{number / 1_000_000:.0f} MB"


def was_read(project: dict[str, object]) -> bool:
    """Return whether the store of a project could be read: else its counts say nothing."""
    return project.get("state", "ok") == "ok" or bool(
        project["memories"] or project.get("last_check")
    )


def folder(path: object) -> str:
    """Return a path with the home folder as "~"."""
    text = str(path)
    home = os.environ.get("HOME", "").rstrip("/")
    if home and (text == home or text.startswith(f"{home}/")):
        return f"~{text[len(home) :]}"
    return text


def in_command(path: object) -> str:
    """Return a path as a command that is printed names it: quoted where a shell needs that."""
    import shlex

    whole = shlex.quote(str(path))
    return folder(path) if whole == str(path) else whole


def said(text: object, is_unverified: object) -> str:
    """Return words of a memory: quoted where an agent or an import stated them, unapproved."""
    if not is_unverified:
        return str(text)
    from yaadwatch.text.quoting import quoted

    return quoted(str(text))


def stated(text: object, rows: Iterable[Mapping[str, object]]) -> str:
    """Return words that were taken from memories: quoted where one of them is unverified."""
    return said(text, any(row.get("unverified") for row in rows))


def version_words(text: object, by: object) -> str:
    """Return what a version says: quoted where an agent or an import made it."""
    return said(text, str(by).startswith(("agent", "import")))


def memory_words(row: Mapping[str, object]) -> str:
    """Return what a memory says, for people and agents that read our output.

    The words of an agent or an import that no person has approved are quoted, with who and when.
    """
    is_unverified = row.get("unverified")
    text = said(row.get("text", ""), is_unverified)
    return f"{noted(row)}: {text}" if is_unverified else text


def flag_words(flag: Mapping[str, object], flagged: str = "may be stale") -> str:
    """Return how far a flag is in doubt of a memory, as `stale` has it."""
    if flag["level"]:
        return f"{flagged}: {flag['verdict']}"
    is_unknown = flag["verdict"] == "unknown"
    return "could not be judged" if is_unknown else f"{flag['verdict']}, most likely still true"


def named(row: Mapping[str, object]) -> tuple[str, str]:
    """Return a memory as the parts of a line: its id and what it says."""
    return styled(short(row["id"]), "bold"), f"  {memory_words(row)}"


def quoted_name(name: object) -> str:
    """Return a name that others chose, quoted where it is more than a name."""
    from yaadwatch.text.quoting import as_name

    return as_name(str(name))


def authored(by: object, *, is_short: bool = False) -> str:
    """Return who made a version: `person`, `agent NAME`, ..., the name quoted where it is odd.

    `is_short`: of an agent, its name alone.
    """
    kind, _, name = str(by).partition(" ")
    who = f"{kind} {quoted_name(name)}" if name else kind
    return who.removeprefix("agent ") if is_short else who


def proposed(row: Mapping[str, object]) -> str:
    """Return what an agent proposes that a memory should say instead; "" when nothing waits."""
    given = row.get("proposed")
    if not isinstance(given, Mapping):
        return ""
    words = said(given["text"], is_unverified=True)
    return f"{authored(given['by'], is_short=True)} proposes {words}; decide: yaadwatch review"


def noted(row: Mapping[str, object]) -> str:
    """Return who said a memory and when, and when a person approved it."""
    who = authored(row.get("by") or "unknown", is_short=True)
    if row.get("approved_at"):
        return f"noted by {who}, approved {day(row['approved_at'])}"
    on = day(row.get("said_at"))
    return f"{who} noted on {on}, not approved" if row.get("unverified") else f"{who}, {on}"


def clock(moment: object, now: "datetime") -> str:
    """Return a time of the wire as "15:02", with its day unless that is today."""
    from datetime import datetime

    then = datetime.fromisoformat(str(moment)).astimezone()
    is_today = then.date() == now.astimezone().date()
    return f"{then:%H:%M}" if is_today else f"{day(moment)}, {then:%H:%M}"


def day(moment: object) -> str:
    """Return the day of a time in an answer: "24 Nov 2026"."""
    then = when(moment)
    return f"{then.day} {then:%b %Y}" if then is not None else "an unknown day"


def place(anchor: dict[str, object]) -> str:
    """Return an anchor or a place as "path:line symbol"."""
    shown = str(anchor.get("path", ""))
    if anchor.get("line"):
        shown += f":{anchor['line']}"
    if anchor.get("symbol"):
        shown += f" {anchor['symbol']}"
    return shown


def in_a_row(words: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    *rest, last = words
    return f"{', '.join(rest)} and {last}" if rest else last


def cells(text: str) -> int:
    """Return how many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(one) else 2 if east_asian_width(one) in {"W", "F"} else 1 for one in text
    )


UNLIMITED = 1_000_000
"""Width of output that is not a terminal: the reader wraps it."""

INPUT_CHARS_MAX = 500_000
"""Read of a text at most; the daemon's limit for a memory is far below."""

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

    now: "Callable[[], datetime]"
    """Returns the present time, by the clock that the times in answers are of."""

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
        self._has_progress = False

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
        with report_unwritten():
            self.out.buffer.write(data)

    def write(self, text: str) -> None:
        """Print `text` as it is.

        Raises:
            Unwritten: nothing more can be printed.
            BrokenPipeError: the reader is gone.
        """
        with report_unwritten():
            self.out.write(text)

    def flush(self) -> None:
        """Hand over what was printed so far.

        Raises:
            Unwritten, BrokenPipeError: as for `write`.
        """
        with report_unwritten():
            self.out.flush()

    def progress(self, text: str) -> None:
        """Say on standard error, if a person looks at it, that we are still at it."""
        if self.err.isatty():
            self.err.write(f"\r\x1b[K{text}")
            self.err.flush()
            self._has_progress = True

    def ago(self, moment: object) -> str:
        """Return how long ago `moment` is, in words; "never" without one."""
        return ago(moment, self.now()) if moment is not None else "never"

    def can_ask(self) -> bool:
        """Return whether a person can answer here."""
        return self.out.isatty() and self.keys.isatty()

    def ask(self, question: str) -> str:
        """Return what a person answers, without blanks around it; '' at the end of the input."""
        self.out.write(question)
        self.out.flush()
        return self.keys.readline().strip()

    def agrees(self, question: str, *, default: bool = False) -> bool:
        """Return whether a person says yes; Enter, and the end of the input, is `default`."""
        while True:
            given = self.ask(f"{question} [{'Y/n' if default else 'y/N'}] ").lower()
            if given in {"", "y", "yes", "n", "no"}:
                return given in {"y", "yes"} if given else default

    def end_progress(self) -> None:
        """Take away what `progress` said."""
        if self._has_progress:
            self.err.write("\r\x1b[K")
            self.err.flush()
            self._has_progress = False

    def _wrapped(self, text: str, margin: int) -> Iterator[tuple[int, int]]:
        """Yield start and end of each line of `text`; a long word is not broken."""
        text = text.rstrip(" ")  # or trailing blanks would make a line of their own
        begin, room = 0, self.width
        while cells(text[begin:]) > room:
            end = 0
            for found in re.finditer("(?<=[^ ]) ", text[begin:]):
                space = begin + found.start()
                if end and cells(text[begin:space]) > room:
                    break
                end = space
            if not end:
                break
            yield begin, end
            begin = end + len(text[end:]) - len(text[end:].lstrip(" "))
            room = max(self.width - margin, 20)  # however deep it is indented
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
def report_unwritten() -> Iterator[None]:
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


def print_hidden(answer: "dict[str, Any]", terminal: Terminal) -> None:
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


def print_file_changes(files: "list[dict[str, Any]]", terminal: Terminal, *, dry_run: bool) -> None:
    """Print the files of other programs that were changed, with copies and diffs: FileChange."""
    words = {"created": "created", "changed": "edited", "removed": "removed", "kept": "left alone"}
    for file in files:
        if file["change"] == "same":
            continue
        change = "" if dry_run else f"{words[file['change']]}  "
        target = f" -> {folder(file['target'])}" if file.get("target") else ""
        terminal.line(change, folder(file["path"]), target, indent=2)
        if file.get("backup"):
            terminal.line(styled(f"before: {folder(file['backup'])}", "dim"), indent=4)
        terminal.diff(str(file.get("diff", "")), indent=4)


def read_all(stream: "TextIO", what: str, undone: str) -> str:
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
