"""Committed blocks that differ are resolved by the commits alone; flagged a rule stays."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.sync.block_history import Version, resolve

A, C = "AGENTS.md", "CLAUDE.md"
TABS, FOUR, EIGHT = (
    "Use tabs for all the indents",
    "Use tabs for all the indents, of 4",
    "Use tabs for all the indents, of 8",
)
TESTS = "Run make test before you push"


class Repo:
    """Commits with a block in each of two files."""

    def __init__(self):
        self.versions = []

    def commit(self, agents, claude, *parents, at_s=None, **more):
        rules = {
            path: {text: text for text in texts}
            for path, texts in ((A, agents), (C, claude))
            if texts is not None
        }
        number = len(self.versions)
        found = Version(
            commit=f"c{number}",
            parents=parents or tuple(f"c{number - 1}" for _ in range(bool(number))),
            at_s=number if at_s is None else at_s,
            rules=rules,
            **more,
        )
        self.versions.append(found)
        return found.commit

    def resolved(self):
        return resolve(self.versions[::-1])

    @property
    def alive(self):
        return set(self.resolved().alive)


@pytest.fixture
def repo():
    return Repo()


def test_rule_that_one_file_lost_is_dropped(repo):
    repo.commit([TABS, TESTS], [TABS, TESTS])
    repo.commit([TABS, TESTS], [TABS])

    assert repo.alive == {TABS}
    assert repo.resolved().dropped == {TESTS}


def test_rule_that_only_one_file_ever_had_stays(repo):
    repo.commit([TABS], [TABS])
    repo.commit([TABS, TESTS], [TABS])

    assert repo.alive == {TABS, TESTS}


def test_rule_that_was_typed_again_is_alive(repo):
    repo.commit([TABS, TESTS], [TABS, TESTS])
    repo.commit([TABS, TESTS], [TABS])
    repo.commit([TABS, TESTS], [TABS, "Be kind", TESTS])
    repo.commit([TABS, TESTS], [TABS, TESTS])

    assert repo.alive == {TABS, TESTS}


def test_changed_rule_takes_the_place_of_its_former_words(repo):
    repo.commit([TABS, TESTS], [TABS, TESTS])
    repo.commit([FOUR, TESTS], [TABS, TESTS])

    assert repo.alive == {FOUR, TESTS}
    assert repo.resolved().became == {TABS: FOUR}


def test_changed_rule_stays_where_another_file_loses_its_former_words(repo):
    repo.commit([TABS, TESTS], [TABS, TESTS])
    repo.commit([FOUR, TESTS], [TABS, TESTS])
    repo.commit([FOUR, TESTS], [TESTS])

    assert repo.alive == {FOUR, TESTS}


def test_rule_that_took_the_place_of_a_deleted_one_stays(repo):
    repo.commit([TABS], [TABS])
    repo.commit(["Use spaces for the indents here"], [TABS])
    repo.commit(["Use spaces for the indents here"], [])

    assert repo.alive == {"Use spaces for the indents here"}


def test_rule_that_one_side_deleted_and_the_other_changed_stays(repo):
    base = repo.commit([TABS], [TABS])
    one = repo.commit([], [TABS], base)
    other = repo.commit([TABS], [FOUR], base)
    repo.commit([], [FOUR], one, other)

    assert repo.alive == {FOUR}


def test_rule_that_one_side_deleted_in_one_file_is_dropped_by_the_merge(repo):
    base = repo.commit([TABS, TESTS], [TABS, TESTS])
    one = repo.commit([TABS], [TABS, TESTS], base)
    other = repo.commit([TABS, TESTS, "Be kind"], [TABS, TESTS], base)
    repo.commit([TABS, "Be kind"], [TABS, TESTS], one, other)

    assert repo.alive == {TABS, "Be kind"}


@pytest.mark.parametrize("at_s", [(5, 6), (6, 5)])
def test_of_two_wordings_the_newer_one_stays(repo, at_s):
    base = repo.commit([TABS], [TABS])
    one = repo.commit([FOUR], [TABS], base, at_s=at_s[0])
    other = repo.commit([TABS], [EIGHT], base, at_s=at_s[1])
    repo.commit([FOUR], [EIGHT], other, one, at_s=9)

    assert repo.alive == {EIGHT if at_s[1] > at_s[0] else FOUR}
    assert set(repo.resolved().became.values()) == repo.alive


def test_two_wordings_in_one_block_are_two_rules(repo):
    repo.commit([FOUR, EIGHT], [FOUR, EIGHT])
    repo.commit([FOUR, EIGHT, TESTS], [FOUR, EIGHT])

    assert repo.alive == {FOUR, EIGHT, TESTS}


def test_rules_that_are_not_the_same_rule_both_stay(repo):
    base = repo.commit([TABS], [TABS])
    one = repo.commit(["Use spaces for the indents here"], [TABS], base)
    other = repo.commit([TABS], [EIGHT], base)
    repo.commit(["Use spaces for the indents here"], [EIGHT], one, other)

    assert repo.alive == {"Use spaces for the indents here", EIGHT}


def test_one_wording_stays_where_each_file_lost_another_one(repo):
    """A rebase may solve the conflict in each file in its own way."""
    repo.commit([FOUR, EIGHT], [FOUR, EIGHT])
    repo.commit([FOUR], [EIGHT])

    assert len(repo.alive) == 1


def test_merge_by_itself_deletes_nothing(repo):
    base = repo.commit([FOUR, EIGHT], [FOUR, EIGHT])
    one = repo.commit([FOUR, EIGHT, TESTS], [FOUR, EIGHT, TESTS], base)
    other = repo.commit([FOUR, EIGHT, "Be kind"], [FOUR, EIGHT, "Be kind"], base)
    repo.commit([FOUR], [EIGHT], one, other)

    assert repo.alive == {FOUR, EIGHT}


def test_merge_that_takes_back_a_change_keeps_the_former_words(repo):
    base = repo.commit([TABS], [TABS])
    one = repo.commit([FOUR], [TABS], base)
    other = repo.commit([TABS, TESTS], [TABS, TESTS], base)
    repo.commit([TABS], [TABS, TESTS], one, other)

    assert TABS in repo.alive

    repo.commit([], [TABS, TESTS], one, other)

    assert TABS in repo.alive


def test_rule_that_only_the_merge_itself_brought_stays(repo):
    base = repo.commit([TABS], [TABS])
    one = repo.commit([TABS, TESTS], [TABS], base)
    other = repo.commit([TABS], [TABS, "Be kind"], base)
    repo.commit([TABS, TESTS, "Never push"], [TABS, "Be kind"], one, other)

    assert repo.alive == {TABS, TESTS, "Be kind", "Never push"}


def test_rule_that_every_block_has_stays(repo):
    base = repo.commit([TABS, TESTS], [TABS, TESTS])
    one = repo.commit([TABS], [TABS], base)
    other = repo.commit([TABS, TESTS], [TABS, TESTS, FOUR], base)
    repo.commit([TABS, TESTS], [TABS, TESTS, FOUR], one, other)

    assert repo.alive == {TABS, TESTS, FOUR}


def test_rule_that_a_full_block_lost_stays(repo):
    repo.commit([TABS, TESTS], [TABS, TESTS])
    repo.commit([TABS, "Never push"], [TABS, TESTS, "Never push"], full={A})

    assert repo.alive == {TABS, TESTS, "Never push"}


def test_rule_that_a_full_block_changed_is_changed(repo):
    repo.commit([TABS, TESTS], [TABS, TESTS])
    repo.commit([FOUR, TESTS], [TABS, TESTS], full={A})

    assert repo.alive == {FOUR, TESTS}


def test_rule_that_moved_out_of_the_block_stays(repo):
    repo.commit([TABS, TESTS], [TABS, TESTS])
    repo.commit([TABS], [TABS, TESTS], outside={A: {TESTS}})

    assert repo.alive == {TABS, TESTS}


def test_rule_that_moved_to_another_file_stays(repo):
    repo.commit([TABS, TESTS], [TABS])
    repo.commit([TABS], [TABS, TESTS])

    assert repo.alive == {TABS, TESTS}


def test_file_without_a_block_drops_nothing(repo):
    repo.commit([TABS, TESTS], [TABS, TESTS])
    repo.commit([TABS], None)

    assert repo.alive == {TABS}

    repo.commit([TABS], [TABS, TESTS])

    assert repo.alive == {TABS, TESTS}


def test_history_that_is_cut_drops_nothing():
    repo = Repo()
    repo.commit([TABS, TESTS], [TABS, TESTS])
    repo.commit([TABS, TESTS], [TABS])
    repo.commit([TABS, TESTS, "Be kind"], [TABS])

    assert resolve(repo.versions[:1:-1]).alive == {TABS, TESTS, "Be kind"}


def test_no_versions_have_no_rules():
    assert resolve([]).alive == frozenset()


def grown(chance):
    """Return commits of which none loses a line, and what all of them typed."""
    repo, tips, made = Repo(), [], set()
    for number in range(chance.randint(2, 12)):
        parents = chance.sample(tips, min(len(tips), chance.choice((1, 1, 2))))
        files = [
            list(dict.fromkeys(text for one in parents for text in one.rules[path]))
            for path in (A, C)
        ]
        if len(parents) < 2:
            rule = f"Rule {number} is about {chance.random()}"
            for texts in chance.sample(files, chance.choice((1, 2))):
                texts.insert(chance.randint(0, len(texts)), rule)
        repo.commit(*files, *(one.commit for one in parents), at_s=chance.randint(1, 5))
        if number == 0:
            repo.versions[0] = Version(
                commit="c0", parents=(), at_s=1, rules=repo.versions[0].rules
            )
        made |= repo.versions[-1].words().keys()
        tips.append(repo.versions[-1])
    return repo


@given(st.integers(0, 2**32))
def test_rules_that_no_commit_lost_all_stay(seed):
    repo = grown(random.Random(seed))

    assert repo.alive == repo.versions[-1].words().keys()


@given(st.integers(0, 2**32))
def test_order_of_the_log_does_not_matter(seed):
    chance = random.Random(seed)
    repo = grown(chance)
    first, *others = repo.versions[::-1]
    expected = resolve([first, *others])
    chance.shuffle(others)

    assert resolve([first, *others]) == expected
