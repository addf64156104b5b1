"""How things read on a terminal: short ids, times ago, sizes, text that cannot do harm."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from yaadwatch.model.ids import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

_UNITS = (
    (86400 * 365, "year"),
    (86400 * 30, "month"),
    (86400, "day"),
    (3600, "hour"),
    (60, "minute"),
)
_TIERS: dict[object, str] = {1: "hot", 2: "warm", 3: "cold"}
_ENDS_IN_IES = "[^aeiou]y$"
_UNSAFE = "[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


def harmless(text: str) -> str:
    """Return `text` as one line that cannot steer a terminal.

    What we show was read from other people's repositories. White space becomes spaces; other
    control characters, which could clear the screen or reorder what is read, become visible.
    """
    return re.sub(_UNSAFE, _visible, text)


def tier(number: object) -> str:
    """Return a tier as people type it and read it: "tier 2 (warm)"."""
    name = _TIERS.get(number)
    return f"tier {number} ({name})" if name else f"tier {number}"


def short(identity: object) -> str:
    """Return what people see of an id, and may type."""
    return called(str(identity))


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
        plural = f"{noun[:-1]}ies" if re.search(_ENDS_IN_IES, noun) else f"{noun}s"
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


def worded(row: dict[str, object]) -> str:
    """Return what a memory says, for people and agents that read our output.

    The words of an agent or an import that no person has approved are quoted, with who and when.
    """
    text = str(row.get("text", ""))
    if not row.get("unverified"):
        return text
    from yaadwatch.core.quoting import quoted

    return f"{noted(row)}: {quoted(text)}"


def proposed(row: Mapping[str, object]) -> str:
    """Return what an agent proposes that a memory should say instead; "" when nothing waits."""
    given = row.get("proposed")
    if not isinstance(given, Mapping):
        return ""
    from yaadwatch.core.quoting import as_name, quoted

    kind, _, name = str(given["by"]).partition(" ")
    who = as_name(name) if kind == "agent" and name else f"{kind} {as_name(name)}".strip()
    return f"{who} proposes {quoted(str(given['text']))}; decide: yaadwatch review"


def stated(text: object, rows: Iterable[Mapping[str, object]]) -> str:
    """Return words that were taken from memories: quoted where one of them is unverified."""
    if not any(row.get("unverified") for row in rows):
        return str(text)
    from yaadwatch.core.quoting import quoted

    return quoted(str(text))


def worded_by(text: object, by: object) -> str:
    """Return what a version says: quoted where an agent or an import made it."""
    if not str(by).startswith(("agent", "import")):
        return str(text)
    from yaadwatch.core.quoting import quoted

    return quoted(str(text))


def named(name: object) -> str:
    """Return a name that others chose, quoted where it is more than a name."""
    from yaadwatch.core.quoting import as_name

    return as_name(str(name))


def authored(by: object) -> str:
    """Return who made a version: `person`, `agent NAME`, ..., the name quoted where it is odd."""
    kind, _, name = str(by).partition(" ")
    return f"{kind} {named(name)}" if name else kind


def noted(row: dict[str, object]) -> str:
    """Return who said a memory and when, and when a person approved it."""
    from yaadwatch.core.quoting import as_name

    kind, _, name = str(row.get("by") or "unknown").partition(" ")
    who = kind if not name else as_name(name) if kind == "agent" else f"{kind} {as_name(name)}"
    on = day(row.get("said_at"))
    if row.get("approved_at"):
        return f"noted by {who}, approved {day(row['approved_at'])}"
    if row.get("unverified"):
        return f"{who} noted on {on}, not approved"
    return f"{who}, {on}"


def clock(moment: object) -> str:
    """Return a time of the wire as "15:02", in the time zone of this machine."""
    from datetime import datetime

    return f"{datetime.fromisoformat(str(moment)).astimezone():%H:%M}"


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


def listed(words: Sequence[str]) -> str:
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


def _visible(found: "re.Match[str]") -> str:
    return " " if found[0].isspace() else f"\\u{ord(found[0]):04x}"
