"""Re-formatting a file changes no verdict, whatever rests on it: whole checks, in real commits.

What a memory says of the file and of each definition in it holds before and after; that the file
was touched is all there is to say.
"""

import random
from datetime import timedelta

import hypothesis.strategies as st
from hypothesis import given, settings
from marked_sources import MARKED
from python_sources import function, rewrite
from repositories import Repo

from tests.bench import verdicts as bench
from yaadwatch.anchors.definitions import State, define
from yaadwatch.repo.command import GitRunner
from yaadwatch.staleness import assessing
from yaadwatch.staleness.worktree import look_at

seeds = st.integers(min_value=0, max_value=2**32)


class Place:
    """A work tree, as a check takes it."""

    def __init__(self, repo, runner):
        self.root = repo.path
        self.repository = repo.open(runner)


def told(found):
    """Return the level of a memory, and each verdict that is not "touched"."""
    return found.level, [
        (one.anchor.symbol, one.verdict.value)
        for one in found.observations
        if one.verdict.value != "touched"
    ]


def verdicts(folder, path, before, after, names):
    """Return what is told of each name of a file: unchanged, re-formatted, and that committed."""
    repo = Repo.new(folder / "repo")
    repo.write("GUIDE.md", "How it works.\n")
    repo.write(path, before)
    base = repo.commit()
    memories = [
        bench.Memory(id=name, text=f"`{name}` is in `{path}`.", base=base, doc="GUIDE.md")
        for name in names
    ]
    judge = bench.Judge(repo.layout, base, frozenset())
    rests_on = judge.anchor(memories)
    unchanged = [told(answer.assessed) for answer in judge.judge(memories, rests_on)]
    judge.close()

    repo.write(path, after)
    runner = GitRunner(timedelta(seconds=60))
    tree, head = look_at(Place(repo, runner), (), 0)
    uncommitted = [
        told(assessing.assess(memory.text, own, tree, head))
        for memory, own in zip(memories, rests_on, strict=True)
    ]
    runner.close()

    judge = bench.Judge(repo.layout, repo.commit(), frozenset())
    committed = [told(answer.assessed) for answer in judge.judge(memories, rests_on)]
    judge.close()
    assert any(anchor.fingerprint for own in rests_on for anchor in own), "nothing was found"
    return unchanged, uncommitted, committed


@given(marked=st.sampled_from(MARKED), seed=seeds)
@settings(deadline=None, max_examples=12)
def test_laying_a_file_out_differently_changes_no_verdict(tmp_path_factory, marked, seed):
    written = marked.written(random.Random(seed))

    unchanged, uncommitted, committed = verdicts(
        tmp_path_factory.mktemp("law"), f"src/{marked.path}", marked.plain(), written, marked.names
    )

    for found in (unchanged, uncommitted, committed):
        assert {level for level, _ in found} == {""}
        assert {verdict for _, own in found for _, verdict in own} <= {"fresh"}


@given(seed=seeds, size=st.integers(min_value=0, max_value=8))
@settings(deadline=None, max_examples=6)
def test_what_a_formatter_of_python_does_changes_no_verdict(tmp_path_factory, seed, size):
    chance = random.Random(seed)
    source = function(chance, size)
    other = rewrite(chance, source)
    for text in (source, other):
        if define(text.encode(), "src/a.py", "target").state is not State.FOUND:
            return  # Python reads it, the parser does not

    unchanged, uncommitted, committed = verdicts(
        tmp_path_factory.mktemp("law"), "src/a.py", source, other, ["target"]
    )

    for found in (unchanged, uncommitted, committed):
        assert {level for level, _ in found} == {""}
        assert {verdict for _, own in found for _, verdict in own} <= {"fresh"}
