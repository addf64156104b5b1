"""Find the evidence for a flag: the commits since the anchor's, and uncommitted changes."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from yaadwatch.anchors import definitions, targets
from yaadwatch.anchors.definitions import State
from yaadwatch.anchors.tree import Tree
from yaadwatch.model.anchors import (
    NOT_KNOWN,
    NOT_SEARCHED,
    Anchor,
    Commit,
    Evidence,
    Method,
    Verdict,
)
from yaadwatch.model.errors import YaadError
from yaadwatch.model.settings import EVIDENCE_COMMITS_MAX
from yaadwatch.repo.changes import Departure
from yaadwatch.repo.layout import Head
from yaadwatch.staleness import anchor_state, members, uses
from yaadwatch.staleness.commits import AtHead
from yaadwatch.staleness.git_queries import History
from yaadwatch.staleness.verdict import DEFINED, STALE_VERDICTS, AnchorVerdict
from yaadwatch.text import privacy
from yaadwatch.text.quoting import as_name

STEPS_MAX = 5
"""Commits shown as evidence for one flag, the newest."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A commit, the path it changed, and its effect in words.

    Without a commit: which commits were searched in vain, while older ones were not.
    """

    path: str
    commit: Commit | None
    summary: str


def explain(
    worst: AnchorVerdict, committed: AnchorVerdict, head: AtHead
) -> tuple[tuple[Evidence, ...], bool]:
    """Return the evidence for a flag, and whether a part of it is known to be uncommitted.

    Commits are missing when the history cannot name them: rewritten, shallow, too long, or git
    timed out. The verdict does not depend on them.

    Args:
        worst: the stale verdict of the anchor in the work tree.
        committed: the verdict of the same anchor at HEAD.
        head: HEAD.
    """
    anchor = worst.anchor
    same = (committed.verdict, committed.reason) == (worst.verdict, worst.reason)
    steps: list[Step] = []
    untouched = not head.head.commit  # then nothing is in a commit
    if head.head.commit and committed.verdict in STALE_VERDICTS:
        try:
            steps = _between(anchor, head)
            untouched = not steps and not worst.by_use and _untouched(anchor, head)
            if same and not steps and not untouched:
                steps = _behind(anchor, head)
        except YaadError as error:  # it costs the evidence, not the verdict
            _log.warning("evidence.missing", extra={"path": anchor.path, "why": error.message})
            steps = []
    uncommitted = committed.verdict is not Verdict.UNKNOWN and (not same or untouched)
    found = [
        Evidence(
            path=step.path,
            symbol=anchor.name,
            commit=step.commit
            and replace(step.commit, subject=privacy.mask(step.commit.subject).text),
            summary=privacy.mask(
                step.summary if step.commit else f"{worst.reason} {step.summary}"
            ).text,
        )
        for step in steps
    ]
    if uncommitted or not found:
        where = "(uncommitted)" if uncommitted else "(the history does not show in which commit)"
        if uncommitted and same and head.head.commit:
            where = "(it was never committed)"
        if committed.verdict is Verdict.UNKNOWN:
            where = NOT_KNOWN
        if worst.by_use:
            where = "(by the commits since this was remembered)"
        found.append(
            Evidence(
                path=(worst.place if anchor.method is not Method.GLOB else None) or anchor.path,
                symbol=anchor.name,
                commit=None,
                summary=privacy.mask(f"{worst.reason} {where}").text,
            )
        )
    return tuple(found), uncommitted


def _untouched(anchor: Anchor, head: AtHead) -> bool:
    """Return whether no commit since the anchor's changed the file there."""
    since, until = anchor.commit, head.head.commit
    if since == until:
        return True
    history = head.history
    if anchor.method is Method.FOLDER:
        return head.has_folder(anchor.path)
    if anchor.method is Method.GLOB:
        return not anchor.is_members and head.matching(anchor.symbol)
    return history.has_commit(since) and (
        history.blob_at(since, anchor.path) == history.blob_at(until, anchor.path)
    )


def _between(anchor: Anchor, head: AtHead) -> list[Step]:
    """Return the commits since the anchor's that caused the flag, oldest first; at most five."""
    since, until = anchor.commit, head.head.commit
    if since == until or not head.history.has_commit(since):
        return []
    if not head.history.are_joined(since, until):
        return []
    return _newest(list(_steps(anchor, head.history, since, until, anchor.blob)))


def _newest(steps: list[Step]) -> list[Step]:
    """Return the newest steps; the first says how many older ones there are."""
    shown = steps[-STEPS_MAX:]
    if older := len(steps) - len(shown):
        number = f"at least {older}" if len(steps) >= EVIDENCE_COMMITS_MAX else f"{older}"
        commits = "older commit is" if number == "1" else "older commits are"
        first = replace(shown[0], summary=f"{shown[0].summary}; {number} {commits} not shown")
        shown = [first, *shown[1:]]
    return shown


def _behind(anchor: Anchor, head: AtHead) -> list[Step]:
    """Return the commits that made what was remembered, and that are not checked out."""
    history = head.history
    since, until = head.head.commit, anchor.commit
    if not since or not history.has_commit(until):
        return []
    blob = history.blob_at(since, anchor.path)
    if anchor.symbol:
        every = _steps(anchor, history, since, until, blob or "")
        steps = [step for step in every if step.commit is not None]
    else:
        commits = map(history.commit, history.changes([anchor.path], since, until)[:1])
        done = f"{'changed' if blob else 'added'} {as_name(anchor.path)}"
        steps = [Step(path=anchor.path, commit=found, summary=done) for found in commits if found]
    away = "this commit is not checked out here"
    return [replace(step, summary=f"{step.summary}; {away}") for step in steps[-STEPS_MAX:]]


def _steps(anchor: Anchor, history: History, since: str, until: str, blob: str) -> Iterator[Step]:
    """Yield the steps of the anchored file and definition, under each name of the file.

    `blob`: the file at `since`; '' when it was not there.
    """
    if anchor.method is Method.GLOB and anchor.is_members:
        yield from _recounted(anchor, history, since, until)
        return
    if anchor.method in (Method.FOLDER, Method.GLOB):
        yield from _emptied(anchor, history, since, until)
        return
    module = history.submodule_above(since, anchor.path)
    if module is not None:
        yield from _of_submodule(module, history, since, until)
        return
    if history.blob_at(since, anchor.path) is None:
        anchor = replace(anchor, path=history.came_from(anchor.path, since, until))
    left = _departures(anchor.path, history, since, until)
    if (left and not anchor.symbol) or any(row.to is None for row in left.values()):
        yield from _left(left.values(), history)
        return
    names = [anchor.path, *(row.to for row in left.values() if row.to is not None)]
    path = anchor.path
    before = _state(anchor, history, blob, path)
    commits = history.changes(names, since, until)
    is_cut = len(commits) > EVIDENCE_COMMITS_MAX
    if is_cut:  # the state before the oldest commit read is not that commit's work
        oldest, *commits = commits
        for row in (one for one in left.values() if one.commit not in commits):
            yield from _left([row], history)
            path = row.to or path
        before = _state_at(anchor, history, oldest, path)
    changed = list(_changed(anchor, history, commits, left, before=before, path=path))
    yield from changed
    if is_cut and anchor.symbol and not changed and not left:
        yield _not_searched(path, path)


def _recounted(anchor: Anchor, history: History, since: str, until: str) -> Iterator[Step]:
    """Yield the commits after which a set of a folder had other members than before."""
    before = members.folder_state(anchor, _at(history, since))
    for commit_id in history.changes([anchor.path], since, until)[-EVIDENCE_COMMITS_MAX:]:
        after = members.folder_state(anchor, _at(history, commit_id))
        commit = history.commit(commit_id)
        if after != before and commit is not None:
            done = f"changed which files {as_name(anchor.path)} has"
            yield Step(path=anchor.path, commit=commit, summary=done)
        before = after


def _at(history: History, commit: str) -> AtHead:
    return AtHead(history=history, head=Head(commit=commit, branch=""))


def _not_searched(path: str, place: str) -> Step:
    """Return the step for a change that the newest commits of a file, folder or pattern lack."""
    searched = f"(not in the last {EVIDENCE_COMMITS_MAX} commits of {as_name(place)}"
    return Step(path=path, commit=None, summary=f"{searched}; {NOT_SEARCHED}")


def _changed(
    anchor: Anchor,
    history: History,
    commits: Iterable[str],
    left: Mapping[str, Departure],
    *,
    before: str | None,
    path: str,
) -> Iterator[Step]:
    """Yield what each commit did to the anchored definition, or where it moved the file.

    Args:
        anchor: the definition.
        history: the repository's.
        commits: those that touched the file, oldest first.
        left: those that renamed it.
        before: the definition before the first of them; None: it is not known.
        path: the file before the first of them.
    """
    for commit_id in commits:
        commit = history.commit(commit_id)
        if commit is None:
            continue
        departure = left.get(commit_id)
        if departure is not None:
            yield from _left([departure], history)
            path = departure.to or path
        after = _state_at(anchor, history, commit_id, path)
        if after is None:
            continue
        if departure is None and before is not None and before != after:
            if _was_so(anchor, history, commit_id, path, after):
                continue  # it is of a branch that was merged, and has not what is anchored
            name, place = anchor.name, as_name(path)
            done = f"removed {name} from {place}"
            if after:
                done = f"changed {name} in {place}" if before else f"added {name} to {place}"
            yield Step(path=path, commit=commit, summary=done if name else f"changed {place}")
        before = after


def _was_so(anchor: Anchor, history: History, commit: str, path: str, state: str) -> bool:
    """Return whether the parent of a commit has the same state of what is anchored."""
    parent = history.commit_named(f"{commit}^")
    if parent is None:
        return False
    return (
        not state
        if history.blob_at(parent, path) is None
        else (_state_at(anchor, history, parent, path) == state)
    )


def _of_submodule(module: str, history: History, since: str, until: str) -> Iterator[Step]:
    """Yield the commits that set a submodule to another commit, or removed it."""
    for commit_id in history.changes([module], since, until)[-EVIDENCE_COMMITS_MAX:]:
        commit = history.commit(commit_id)
        if commit is not None:
            is_there = history.is_submodule(commit_id, module)
            name = as_name(module)
            done = f"changed the commit of submodule {name}" if is_there else f"removed {name}"
            yield Step(path=module, commit=commit, summary=done)


def _left(departures: Iterable[Departure], history: History) -> Iterator[Step]:
    for row in departures:
        commit = history.commit(row.commit)
        if commit is not None:
            before = as_name(row.path)
            done = f"renamed {before} to {as_name(row.to)}" if row.to else f"removed {before}"
            yield Step(path=row.to or row.path, commit=commit, summary=done)


def _emptied(anchor: Anchor, history: History, since: str, until: str) -> Iterator[Step]:
    """Yield the commits that took files out of a folder, or away from a pattern."""
    if anchor.method is Method.FOLDER and history.is_submodule(since, anchor.path):
        yield from _of_submodule(anchor.path, history, since, until)
        return
    departures = history.departures(since, until)
    if anchor.method is Method.GLOB:
        place = anchor.symbol
        gone = _taken_out(departures, _matches(place, departures))
        if not gone:  # they went before the newest commits
            departures = history.departures_like(place, since, until)
            gone = _taken_out(departures, _matches(place, departures))
    else:
        place = anchor.path
        gone = _taken_out(departures, _is_in(place))
        gone = gone or _taken_out(history.departures_in(place, since, until), _is_in(place))
    for commit_id, files in Counter(row.commit for row in gone).items():
        commit = history.commit(commit_id)
        if commit is not None:
            count = "1 file" if files == 1 else f"{files} files"
            done = f"took {count} out of {as_name(place)}"
            yield Step(path=anchor.path, commit=commit, summary=done)
    if not gone and len(history.changes([anchor.path], since, until)) > EVIDENCE_COMMITS_MAX:
        yield _not_searched(anchor.path, place)


def _taken_out(
    departures: Iterable[Departure], is_inside: Callable[[str], bool]
) -> list[Departure]:
    """Return the files that left the folder or pattern, without those that moved inside it."""
    return [one for one in departures if is_inside(one.path) and not is_inside(one.to or "")]


def _matches(pattern: str, departures: Iterable[Departure]) -> Callable[[str], bool]:
    names = (name for row in departures for name in (row.path, row.to) if name)
    return set(Tree.of(list(dict.fromkeys(names))).matching(pattern)).__contains__


def _is_in(folder: str) -> Callable[[str], bool]:
    inside = f"{folder}/"
    return lambda path: path.startswith(inside)


def _departures(path: str, history: History, since: str, until: str) -> dict[str, Departure]:
    """Return the commits that renamed the file in turn, or removed it at last."""
    if history.blob_at(until, path) is not None:
        return {}
    return {one.commit: one for one in history.way_of(path, since, until)}


def _state_at(anchor: Anchor, history: History, commit: str, path: str) -> str | None:
    """Return `_state` at a commit; None, too, when the file is missing."""
    blob = history.blob_at(commit, path)
    return _state(anchor, history, blob, path) if blob is not None else None


def _state(anchor: Anchor, history: History, blob: str, path: str) -> str | None:
    """Return what one version of a file says of an anchor; '' when it is not in it.

    None: the version is unreadable.

    Args:
        anchor: whose state.
        history: the repository's.
        blob: the version; '' for none.
        path: the file name in that version, which decides the language.
    """
    if not blob:
        return ""
    defined = anchor.method in DEFINED
    data = history.read_blob(blob)
    if data is None:
        return anchor.fingerprint if defined and blob == anchor.blob else None
    text = data.decode("utf-8", "replace")
    if defined:
        define, asked = definitions.define, (blob, path, anchor.symbol)
        found = (
            definitions.define_by_lines(data, path, anchor.symbol)
            if anchor.method is Method.LINES
            else history.once("definition", lambda _, *of: define(data, *of), *asked)
        )
        if found.state in (State.BROKEN, State.AMBIGUOUS):
            return None
        deprecated = found.line is not None and uses.is_deprecated(data, found.line)
        return f"{found.fingerprint}{' deprecated' if deprecated else ''}"
    if anchor.is_held:
        then = history.read_blob(anchor.blob) if anchor.blob else None
        return anchor_state.number_now(anchor, then, path, data)
    if anchor.method is Method.VALUE:
        # A change between two values that both fit the text is no evidence.
        now = anchor_state.value_in(anchor, path, data)
        if now is None:
            return "no value"
        return anchor.fingerprint if anchor_state.value_holds(anchor, now) else now
    if anchor.method is Method.FILE:
        return f"retired: {uses.has_moved(data) or uses.is_deprecated(data)}"
    if anchor.method is not Method.TARGET:
        is_there = definitions.locate(text, anchor.symbol) is not None
    elif targets.is_broken(path, text):
        return None
    else:
        is_there = targets.defines_target(path, text, anchor.symbol)
    return "there" if is_there else ""
