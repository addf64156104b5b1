"""Why is a memory in doubt? The commits between the anchor's and HEAD, and what no commit has."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from yaadwatch.core import privacy
from yaadwatch.core.truth import hunks, symbols
from yaadwatch.core.truth.symbols import State
from yaadwatch.core.truth.verdict import Judgement, level_of
from yaadwatch.engine.looking import AtHead
from yaadwatch.model.anchors import Anchor, Commit, Evidence, Method, Verdict
from yaadwatch.model.errors import YaadError
from yaadwatch.system.git.repository import Departure, Repository

STEPS_MAX = 5
"""Commits shown as evidence for one doubt, the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A commit, the path it is about, and what it did in words."""

    path: str
    commit: Commit
    summary: str


def explain(
    worst: Judgement, committed: Judgement, head: AtHead
) -> tuple[tuple[Evidence, ...], bool]:
    """Return the evidence for a doubt, and whether it, or a part of it, is in no commit.

    The commits are missing when the history cannot tell them: rewritten, shallow, too long, or git
    did not answer in time. The verdict itself does not depend on them.

    Args:
        worst: what became of the anchor in the work tree; a doubt.
        committed: what became of the same anchor at HEAD.
        head: HEAD.
    """
    anchor = worst.anchor
    in_history = bool(level_of(committed.verdict))
    steps = _between(anchor, head) if in_history else []
    same = (committed.verdict, committed.place) == (worst.verdict, worst.place)
    uncommitted = committed.verdict is not Verdict.UNKNOWN and (
        not same or (not steps and _untouched(anchor, head))
    )
    if in_history and same and not steps and not uncommitted:
        steps = _behind(anchor, head)
    found = [
        Evidence(
            path=step.path,
            symbol=anchor.symbol,
            commit=replace(step.commit, subject=privacy.mask(step.commit.subject).text),
            summary=step.summary,
        )
        for step in steps
    ]
    if uncommitted or not found:
        told = "(uncommitted)" if uncommitted else "(the history does not show in which commit)"
        found.append(
            Evidence(
                path=worst.place or anchor.path,
                symbol=anchor.symbol,
                commit=None,
                summary=f"{worst.reason} {told}",
            )
        )
    return tuple(found), uncommitted


def _untouched(anchor: Anchor, head: AtHead) -> bool:
    """Return whether no commit since the anchor's has another file there."""
    since, until = anchor.commit, head.head.commit
    if since == until:
        return True
    repository = head.repository
    return repository.has_commit(since) and (
        repository.blob_at(since, anchor.path) == repository.blob_at(until, anchor.path)
    )


def _between(anchor: Anchor, head: AtHead) -> list[Step]:
    """Return the commits since the anchor's that made the doubt, oldest first; at most five."""
    repository = head.repository
    since, until = anchor.commit, head.head.commit
    if since == until or not repository.has_commit(since):
        return []
    try:
        steps = list(_steps(anchor, repository, since, until, anchor.blob))
    except YaadError:  # a time limit or a broken history costs the evidence, not the verdict
        return []
    return steps[-STEPS_MAX:]


def _behind(anchor: Anchor, head: AtHead) -> list[Step]:
    """Return the commits that made what was remembered, and that are not checked out."""
    repository = head.repository
    since, until = head.head.commit, anchor.commit
    if not since or not repository.has_commit(until):
        return []
    blob = repository.blob_at(since, anchor.path)
    try:
        if anchor.symbol:
            steps = list(_steps(anchor, repository, since, until, blob or ""))
        else:
            commits = map(repository.commit, repository.changes([anchor.path], since, until)[:1])
            done = f"{'changed' if blob else 'added'} {anchor.path}"
            steps = [
                Step(path=anchor.path, commit=found, summary=done) for found in commits if found
            ]
    except YaadError:  # as above
        return []
    away = "this commit is not checked out here"
    return [replace(step, summary=f"{step.summary}; {away}") for step in steps[-STEPS_MAX:]]


def _steps(
    anchor: Anchor, repository: Repository, since: str, until: str, blob: str
) -> Iterator[Step]:
    """Yield what happened to the anchored file and definition, under each name the file had.

    `blob`: the file at `since`; '' when it was not there.
    """
    left = _departures(anchor.path, repository, since, until)
    names = [anchor.path, *(row.to for row in left.values() if row.to is not None)]
    path = anchor.path
    before = _Shape.of(anchor, repository, blob)
    for commit_id in repository.changes(names, since, until):
        commit = repository.commit(commit_id)
        if commit is None:
            continue
        departure = left.get(commit_id)
        if departure is not None:
            done = f"renamed {path} to {departure.to}" if departure.to else f"removed {path}"
            path = departure.to or path
            yield Step(path=path, commit=commit, summary=done)
        now = repository.blob_at(commit_id, path)
        if not anchor.symbol or now is None:
            continue
        after = _Shape.of(anchor, repository, now)
        if departure is None and after.differs_from(before, anchor, path, repository):
            done = "changed" if before.there else "added"
            done = done if after.there else "removed"
            yield Step(path=path, commit=commit, summary=f"{done} {anchor.symbol} in {path}")
        before = after


def _departures(path: str, repository: Repository, since: str, until: str) -> dict[str, Departure]:
    """Return the commits that renamed the file, one after the other, or removed it at last."""
    if repository.blob_at(until, path) is not None:
        return {}
    found = {}
    for departure in repository.departures(since, until):
        if departure.path == path:
            found[departure.commit] = departure
            path = departure.to or path
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """A definition in one version of its file."""

    blob: str
    there: bool
    fingerprint: str

    @classmethod
    def of(cls, anchor: Anchor, repository: Repository, blob: str) -> "_Shape":
        data = repository.read_blob(blob)
        if anchor.method is Method.TREE:
            if blob == anchor.blob:
                return cls(blob=blob, there=True, fingerprint=anchor.fingerprint)
            definition = symbols.define(data or b"", anchor.symbol)
            found = definition.state is State.FOUND
            return cls(blob=blob, there=found, fingerprint=definition.fingerprint)
        text = (data or b"").decode("utf-8", "replace")
        return cls(blob=blob, there=hunks.locate(text, anchor.symbol) is not None, fingerprint="")

    def differs_from(
        self, before: "_Shape", anchor: Anchor, path: str, repository: Repository
    ) -> bool:
        if self.there != before.there:
            return True
        if not self.there:
            return False
        if anchor.method is Method.TREE:
            return self.fingerprint != before.fingerprint
        old, new = repository.read_blob(before.blob), repository.read_blob(self.blob)
        if old is None or new is None:
            return False
        text = new.decode("utf-8", "replace")
        return hunks.touches(anchor.symbol, repository.hunks(old, new, path), text)
