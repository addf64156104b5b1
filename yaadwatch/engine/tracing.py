"""Which commits made a memory doubtful? Looks between the anchor's commit and HEAD."""

from collections.abc import Iterator
from dataclasses import dataclass

from yaadwatch.core.truth import hunks, symbols
from yaadwatch.core.truth.symbols import State
from yaadwatch.engine.looking import AtHead
from yaadwatch.model.anchors import Anchor, Commit, Method
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


def trace(anchor: Anchor, head: AtHead) -> list[Step]:
    """Return the commits behind a doubt about `anchor` at HEAD, oldest first; at most five.

    Empty when the history cannot tell: rewritten, shallow, too long, or git did not answer in time.
    The verdict itself does not depend on it.
    """
    repository = head.repository
    since, until = anchor.commit, head.head.commit
    if since == until or not repository.has_commit(since):
        return []
    try:
        steps = list(_steps(anchor, repository, since, until))
    except YaadError:  # a time limit or a broken history costs the evidence, not the verdict
        return []
    return steps[-STEPS_MAX:]


def _steps(anchor: Anchor, repository: Repository, since: str, until: str) -> Iterator[Step]:
    """Yield what happened to the anchored file and definition, under each name the file had."""
    left = _departures(anchor.path, repository, since, until)
    names = [anchor.path, *(row.to for row in left.values() if row.to is not None)]
    path = anchor.path
    before = _Shape.of(anchor, repository, anchor.blob)
    for commit_id in repository.changes(names, since, until):
        commit = repository.commit(commit_id)
        if commit is None:
            continue
        departure = left.get(commit_id)
        if departure is not None:
            done = f"renamed {path} to {departure.to}" if departure.to else f"removed {path}"
            path = departure.to or path
            yield Step(path=path, commit=commit, summary=done)
        blob = repository.blob_at(commit_id, path)
        if not anchor.symbol or blob is None:
            continue
        after = _Shape.of(anchor, repository, blob)
        if departure is None and after.differs_from(before, anchor, path, repository):
            done = "changed" if after.there else "removed"
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
        return hunks.touches(anchor.symbol, repository.hunks(old, new, path))
