"""Answers the contract of a benchmark of staleness, with the functions that the daemon uses.

A memory is anchored in the files of the commit at which it was written, and judged by those of
another one; there is no store, and no work tree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from yaadwatch.engine import anchoring, assessing
from yaadwatch.engine.anchoring import Source
from yaadwatch.engine.asking import History
from yaadwatch.engine.assessing import Assessed
from yaadwatch.engine.looking import AtHead
from yaadwatch.model.anchors import Anchor
from yaadwatch.system.git.command import GitRunner
from yaadwatch.system.git.layout import Head, Layout
from yaadwatch.system.git.repository import Repository

TIMEOUT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A text as it was at the commit `base`, in the file `doc`."""

    id: str
    text: str
    base: str
    doc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a memory; None: it rests on nothing."""

    memory: Memory
    assessed: Assessed | None


def judge(
    layout: Layout, head: str, memories: Sequence[Memory], hidden: frozenset[str]
) -> Iterator[Answer]:
    """Yield what became of each memory at the commit `head`; see `Memory` and `Answer`.

    `hidden`: files whose content may not be read.
    """
    runner = GitRunner(TIMEOUT)
    history = History(Repository(layout, runner))
    now = _at(history, head, hidden)
    rests_on: dict[str, list[Anchor]] = {}
    for base in dict.fromkeys(memory.base for memory in memories):
        written = [memory for memory in memories if memory.base == base]
        sources = [
            Source(text=memory.text, folder=memory.doc.rpartition("/")[0]) for memory in written
        ]
        found = anchoring.anchor(sources, _at(history, base, hidden), base)
        rests_on |= {memory.id: own for memory, own in zip(written, found, strict=True)}
    assessing.expect((anchor for own in rests_on.values() for anchor in own), now)
    for memory in memories:
        own = rests_on[memory.id]
        assessed = assessing.assess(memory.text, own, now, now) if own else None
        yield Answer(memory=memory, assessed=assessed)
    runner.close()


def _at(history: History, commit: str, hidden: frozenset[str]) -> AtHead:
    return AtHead(history=history, head=Head(commit=commit, branch=""), names={}, hidden=hidden)
