"""Laws of bursts: nothing is lost, nothing starves, nothing is checked twice in a quiet period."""

from collections.abc import Hashable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.daemon.hints import Batch, Bursts, TreeKey
from yaadwatch.model.settings import BURST, DIRTY_PATHS_MAX, HOLD

A: TreeKey = ("project", 1)
B: TreeKey = ("project", 2)
TICK_S = 0.01
BURST_S, HOLD_S = BURST.total_seconds(), HOLD.total_seconds()

quiets = st.floats(min_value=0.0, max_value=2.0)
gaps = st.floats(min_value=0.0, max_value=3.0)
hints = st.lists(
    st.tuples(gaps, st.sampled_from([A, B]), st.sampled_from(["", "a.py", "b.py", "c/d.py"])),
    min_size=1,
    max_size=30,
)


class World:
    """Feeds hints at their instants and asks for batches whenever something may be due."""

    def __init__(self, quiet: float, *, locks: dict[TreeKey, tuple[float, float]] | None = None):
        self.bursts = Bursts(quiet)
        self.now = 0.0
        self.locks = locks or {}
        self.done: list[tuple[float, Batch]] = []
        self.asked: list[tuple[float, TreeKey, str]] = []

    def lock(self, tree: TreeKey) -> Hashable | None:
        begin, end = self.locks.get(tree, (0.0, 0.0))
        return "lock" if begin <= self.now < end else None

    def until(self, instant: float) -> None:
        while (due := self.bursts.next_at(())) is not None and due <= instant:
            self.now = max(self.now, due)
            batches = self.bursts.due(self.now, lock=self.lock, running=(), room=9)
            self.done += [(self.now, batch) for batch in batches]
        self.now = max(self.now, instant)

    def hint(self, tree: TreeKey, path: str) -> None:
        self.bursts.hint(tree, [path] if path else [], self.now)
        self.asked.append((self.now, tree, path))

    def batches(self, tree: TreeKey) -> list[float]:
        return [at for at, batch in self.done if batch.tree == tree]


def told(world: World, given_hints) -> World:
    for gap, tree, path in given_hints:
        world.until(world.now + gap)
        world.hint(tree, path)
    world.until(world.now + 2 * HOLD_S)
    return world


@given(quiets, hints)
def test_every_hint_is_in_a_later_batch(quiet, given_hints):
    world = told(World(quiet), given_hints)

    for at, tree, path in world.asked:
        assert any(
            done >= at and batch.tree == tree and (not path or path in (batch.paths or {path}))
            for done, batch in world.done
        )


@given(quiets, hints)
def test_no_hint_waits_longer_than_a_burst_may_last(quiet, given_hints):
    world = told(World(quiet), given_hints)

    for at, tree, _ in world.asked:
        first = min(done for done in world.batches(tree) if done >= at)
        assert first <= at + BURST_S + TICK_S


@given(quiets, hints)
def test_a_tree_is_never_checked_twice_in_one_quiet_period(quiet, given_hints):
    world = told(World(quiet), given_hints)

    for tree in (A, B):
        done = world.batches(tree)
        assert all(later - earlier >= quiet - 1e-9 for earlier, later in pairwise(done))


@given(quiets, hints)
def test_no_hint_no_batch(quiet, given_hints):
    """Each batch is opened by a hint that came after the batch before it."""
    world = told(World(quiet), given_hints)

    for tree in (A, B):
        assert len(world.batches(tree)) <= sum(1 for _, hinted, _ in world.asked if hinted == tree)


@given(
    quiets,
    hints,
    st.floats(min_value=0.0, max_value=60.0),
    st.floats(min_value=0.0, max_value=90.0),
)
def test_while_git_works_a_burst_is_held_as_long_as_we_are_ready_to_wait(
    quiet, given_hints, begin, length
):
    world = told(World(quiet, locks={A: (begin, begin + length)}), given_hints)

    for at, batch in world.done:
        if batch.tree == A and begin <= at < begin + length:
            assert at - batch.since >= HOLD_S - 1e-6
            break


@given(quiets, hints, st.floats(min_value=0.0, max_value=60.0))
def test_a_lock_never_loses_a_hint_and_never_holds_it_too_long(quiet, given_hints, begin):
    world = told(World(quiet, locks={A: (begin, float("inf"))}), given_hints)

    for at, tree, _ in world.asked:
        first = min(done for done in world.batches(tree) if done >= at)
        assert first <= at + HOLD_S + BURST_S + TICK_S


@given(quiets, st.permutations([(0.3, "a.py"), (0.1, "b.py"), (0.2, ""), (0.15, "a.py")]))
def test_the_order_in_which_hints_are_told_does_not_matter(quiet, told_hints):
    bursts = Bursts(quiet)
    for at, path in told_hints:
        bursts.hint(A, [path] if path else [], at)

    assert bursts.next_at(()) == pytest.approx(min(0.3 + quiet, 0.1 + BURST_S))
    (batch,) = bursts.due(9.0, lock=lambda tree: None, running=(), room=1)
    assert batch == Batch(tree=A, paths=frozenset({"a.py", "b.py"}), since=0.1, bare=True)


def test_a_lock_left_behind_is_waited_for_once():
    world = World(0.1, locks={A: (0.0, float("inf"))})
    world.hint(A, "a.py")
    world.until(HOLD_S + 1)
    world.hint(A, "a.py")
    world.until(HOLD_S + 2)

    assert world.batches(A) == [
        pytest.approx(HOLD_S, abs=0.2),
        pytest.approx(HOLD_S + 1.1, abs=0.01),
    ]


def test_git_ending_its_work_starts_the_quiet_period_again():
    """HEAD moves a moment after the index was written; both belong in one batch."""
    world = World(0.1)
    world.hint(A, "a.py")
    world.until(0.09)
    world.bursts.held(A, world.now)
    world.until(0.15)
    world.hint(A, "")
    world.until(1.0)

    assert len(world.batches(A)) == 1


def test_git_at_work_alone_opens_no_burst():
    bursts = Bursts(0.1)

    bursts.held(A, 0.0)

    assert bursts.next_at(()) is None


def test_too_many_paths_become_everything():
    bursts = Bursts(0.1)
    for number in range(DIRTY_PATHS_MAX + 1):
        bursts.hint(A, [f"{number}.py"], 0.0)
    bursts.hint(A, ["another.py"], 0.0)

    (batch,) = bursts.due(1.0, lock=lambda tree: None, running=(), room=1)

    assert batch.paths is None


def test_a_hint_of_head_alone_checks_no_path():
    bursts = Bursts(0.1)
    bursts.hint(A, [], 0.0)

    (batch,) = bursts.due(1.0, lock=lambda tree: None, running=(), room=1)

    assert batch.paths == frozenset()


def test_a_running_tree_waits_and_the_oldest_burst_comes_first():
    bursts = Bursts(0.1)
    third: TreeKey = ("other", 1)
    for at, tree in enumerate([B, third, A]):
        bursts.hint(tree, ["a.py"], float(at))

    first = bursts.due(9.0, lock=lambda tree: None, running={B}, room=1)
    second = bursts.due(9.0, lock=lambda tree: None, running=(), room=9)

    assert [batch.tree for batch in first] == [third]
    assert [batch.tree for batch in second] == [B, A]


def test_a_dropped_tree_has_no_batch():
    bursts = Bursts(0.1)
    bursts.everything(A, 0.0)

    bursts.drop(A)

    assert bursts.due(9.0, lock=lambda tree: None, running=(), room=9) == []
