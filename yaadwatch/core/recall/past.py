"""What is told of a session? Who, when, what was noted, learned and done; and what was used of it.

Plain words that the next agent can use, made of facts alone: no model has a part in it. Everything
that comes in is masked already; what others worded (notes, memories, commits, odd names of files)
stands in quotes, because it is data.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from yaadwatch.core.quoting import as_kind, as_name, author, quoted
from yaadwatch.model.authority import of_origin
from yaadwatch.model.sessions import Facts, Session, Touched

LEARNED_TOLD: Final = 8
COMMITS_TOLD: Final = 8
FILES_TOLD: Final = 20
LINE_CHARS_MAX: Final = 300
"""A note or a statement that is longer is cut after a whole word."""

_NAME = re.compile(r"`([^`\s]{3,80})`|\b([A-Za-z_][\w.-]*[\w])")
_IS_NAME = re.compile(r"[a-z0-9][A-Z]|[_./-]|[A-Z]{2}|\d")
_NAME_CHARS_MIN: Final = 4
_WORD = re.compile(r"[\w./-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A memory that was learned in a session; `state` says how a task is, and is else ''."""

    id: str
    kind: str
    text: str
    state: str = ""


def tell(
    session: Session,
    *,
    facts: Facts,
    learned: Sequence[Lesson],
    notes: Sequence[str],
    ended_at: datetime | None,
) -> str:
    """Return what there is to tell of a session, a line for each sort; '' when nothing happened."""
    lines = [
        *(f"Noted: {quoted(_line(note))}" for note in notes[-12:]),
        *_lessons(learned),
        *_commits(facts),
        *_files(facts),
    ]
    if facts.reason:
        lines.append(f"Not known: {_line(facts.reason)}")
    if not lines or (facts.reason and len(lines) == 1):
        return ""
    return "\n".join([_headline(session, ended_at), *lines])


def names(text: str) -> frozenset[str]:
    """Return what a text calls by a name: words in backticks, identifiers, paths, options.

    A plain word is none: it would turn up anywhere.
    """
    found = set()
    for match in _NAME.finditer(text):
        name = (match[1] or match[2]).strip(".-/()")
        if len(name) >= _NAME_CHARS_MIN and (match[1] or _IS_NAME.search(name)):
            found.add(name)
    return frozenset(found)


def new_names(before: str, after: str) -> frozenset[str]:
    """Return the words of `after` that are not in `before`: what was put into a file."""
    return frozenset(_words(after) - _words(before))


def _words(text: str) -> set[str]:
    """Return the words of a text, whole (`a/b.py`) and in their parts."""
    found: set[str] = set()
    for word in _WORD.findall(text):
        found.add(word.strip(".-/"))
        found.update(re.split(r"[./-]", word))
    return found


def _headline(session: Session, ended_at: datetime | None) -> str:
    who = author(of_origin(session.agent, session.started_at))
    where = f" on {as_name(_line(session.branch))}" if session.branch else ""
    begun = session.started_at
    if ended_at is None:
        return f"{who}{where}, since {begun:%Y-%m-%d %H:%M} UTC."
    until = f"{ended_at:%H:%M}" if ended_at.date() == begun.date() else f"{ended_at:%Y-%m-%d %H:%M}"
    return f"{who}{where}, {begun:%Y-%m-%d %H:%M} to {until} UTC."


def _lessons(learned: Sequence[Lesson]) -> Iterable[str]:
    tasks = [one for one in learned if one.kind == "task"]
    others = [one for one in learned if one.kind != "task"]
    for sort, found in (("Learned", others), ("Tasks", tasks)):
        told = [
            f"{one.state or as_kind(one.kind)}: {quoted(_line(one.text))}"
            for one in found[:LEARNED_TOLD]
        ]
        if told:
            yield f"{sort}: " + "; ".join(told) + _more(found, LEARNED_TOLD)


def _commits(facts: Facts) -> Iterable[str]:
    told = [f"{made.id[:8]} {quoted(_line(made.subject))}" for made in facts.commits]
    if told:
        # The newest say best where it ended.
        yield "Commits: " + "; ".join(told[-COMMITS_TOLD:]) + _more(told, COMMITS_TOLD)


def _files(facts: Facts) -> Iterable[str]:
    for sort, found in (
        ("Files", [one for one in facts.files if one.committed]),
        ("Files not committed", [one for one in facts.files if not one.committed]),
    ):
        left_out = max(0, len(found) - FILES_TOLD) + (facts.more if sort == "Files" else 0)
        told = [_file(one) for one in found[:FILES_TOLD]]
        if told:
            yield f"{sort}: " + ", ".join(told) + (f", and {left_out} more" if left_out else "")


def _file(touched: Touched) -> str:
    how = "" if touched.how == "changed" else f" ({touched.how})"
    return as_name(touched.path) + how


def _more(found: Sequence[object], told: int) -> str:
    return f"; and {len(found) - told} more" if len(found) > told else ""


def _line(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= LINE_CHARS_MAX:
        return line
    return line[:LINE_CHARS_MAX].rpartition(" ")[0] + "…"
