"""Judges memories at a commit, with the functions that the daemon uses and without a store.

    python -m tests.bench.verdicts --git-dir DIR --head ID --memories FILE [--base ID] [--mask FILE]

Each memory (a line of JSON: id, text, base, doc) is anchored at its own commit, judged at --head.
A line of JSON answers each: id, score, stale, reason, suggested_path. --mask names a file of paths
that must not be read.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.command import GitRunner
from yaadwatch.repo.layout import Head, Layout
from yaadwatch.repo.repository import Repository
from yaadwatch.staleness import anchoring, assessing
from yaadwatch.staleness.anchor_search import Source
from yaadwatch.staleness.assessing import Assessed
from yaadwatch.staleness.commits import AtHead
from yaadwatch.staleness.git_queries import History

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


class Judge:
    """Judges memories at one commit of a repository.

    Args:
        layout: of the repository.
        head: the commit.
        hidden: files whose content may not be read.
    """

    def __init__(self, layout: Layout, head: str, hidden: frozenset[str]) -> None:
        self._runner = GitRunner(TIMEOUT, passing=True)
        self._history = History(Repository(layout, self._runner))
        self._hidden = hidden
        self._now = self._at(head)

    def anchor(self, memories: Sequence[Memory]) -> list[list[Anchor]]:
        """Return what each memory rested on when it was written."""
        begun = []
        for base in dict.fromkeys(memory.base for memory in memories):
            then = self._at(base)
            written = [memory for memory in memories if memory.base == base]
            sources = [
                Source(text=memory.text, folder=memory.doc.rpartition("/")[0]) for memory in written
            ]
            begun.append((then, written, anchoring.begin_search(sources, then)))
        for _, _, sought in begun:
            self._history.expect(anchoring.words_of(sought))
        rests_on: dict[str, list[Anchor]] = {}
        for then, written, sought in begun:
            own = anchoring.anchors_of(sought, then, then.head.commit)
            rests_on |= {memory.id: found for memory, found in zip(written, own, strict=True)}
        return [rests_on[memory.id] for memory in memories]

    def judge(
        self, memories: Sequence[Memory], rests_on: Sequence[Sequence[Anchor]]
    ) -> Iterator[Answer]:
        """Yield what became of each memory, given what it rests on."""
        assessing.expect_anchors((anchor for own in rests_on for anchor in own), self._now)
        for memory, own in zip(memories, rests_on, strict=True):
            now, pages = self._now, (memory.doc,)
            found = assessing.assess(memory.text, own, now, now, pages=pages) if own else None
            yield Answer(memory=memory, assessed=found)

    def close(self) -> None:
        """End what is still running."""
        self._runner.close()

    def _at(self, commit: str) -> AtHead:
        head = Head(commit=commit, branch="")
        return AtHead(history=self._history, head=head, hidden=self._hidden)


def stale(
    *, git_dir: str, base: str, head: str, memories: str, mask: str | None
) -> Iterator[dict[str, object]]:
    """Yield for each memory of a file what the contract asks: id, score, stale, reason, path.

    Args:
        git_dir: a repository.
        base: the commit of a memory that names none.
        head: the commit at which they are judged.
        memories: a file with a line of JSON for each memory.
        mask: a file with the paths that must not be read.

    Raises:
        YaadError: BAD_REQUEST when a file cannot be read, or is not as it should be.
    """
    layout = repo_layout.find(Path(git_dir))
    if layout is None:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{git_dir} is no git repository; nothing was judged.",
            hint="Name one: --git-dir DIR",
        )
    written = [_memory(line, base) for line in _lines(memories)]
    hidden = frozenset(_lines(mask)) if mask else frozenset()
    judge = Judge(layout, head, hidden)
    for answer in judge.judge(written, judge.anchor(written)):
        found = answer.assessed
        yield {
            "id": answer.memory.id,
            "score": round(found.score, 4) if found else 0.0,
            "stale": bool(found and found.level),
            "reason": found.worst.reason if found else "",
            "suggested_path": suggested(found) if found else None,
        }
    judge.close()


def suggested(found: Assessed) -> str | None:
    """Return the path that a memory should name instead; None when none is proposed."""
    if found.suggestion is not None and found.suggestion.path:
        return found.suggestion.path
    if found.suggestion is not None and len(found.suggestion.places) == 1:
        return found.suggestion.places[0]
    likely = (one.likely for one in found.observations)
    return found.worst.likely or next((path for path in likely if path), None)


def _memory(line: str, base: str) -> Memory:
    try:
        row = json.loads(line)
        return Memory(
            id=row["id"], text=row["text"], base=row.get("base", base), doc=row.get("doc", "")
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise YaadError(
            Code.BAD_REQUEST,
            f"A line of the memories makes no sense ({error}); none was judged.",
            hint='One looks like {"id": "m1", "text": "Use jose, in auth.py", "base": "COMMIT"}',
        ) from error


def _lines(path: str) -> list[str]:
    try:
        return [line for line in Path(path).read_text("utf-8").split("\n") if line.strip()]
    except (OSError, ValueError) as error:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{path} cannot be read ({error}); nothing was judged.",
            hint="Name a file of text in UTF-8.",
        ) from error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--git-dir", default=".")
    parser.add_argument("--base", default="")
    parser.add_argument("--head", required=True)
    parser.add_argument("--memories", required=True)
    parser.add_argument("--mask")
    try:
        for answer in stale(**vars(parser.parse_args())):
            print(json.dumps(answer, ensure_ascii=False))
    except YaadError as error:
        print(f"{error.message}\n  {error.hint}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
