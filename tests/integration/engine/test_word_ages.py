"""Which words of two committed blocks are older: the same answer in every clone."""

from contextlib import contextmanager
from datetime import timedelta

import pytest

from yaadwatch.core.sync.reconcile import Terms
from yaadwatch.core.text import text_hash
from yaadwatch.engine.syncing.word_ages import WordAges
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.command import GitRunner
from yaadwatch.system.git.repository import Repository

TERMS = Terms(as_stored=lambda text: text, hashed=text_hash)
A, C = "AGENTS.md", "CLAUDE.md"
OLD, ANN, BOB = "Use tabs", "Use tabs of four", "Use tabs of eight"


@pytest.fixture
def tree(world):
    tree = world.repo()
    write(tree, A, OLD)
    write(tree, C, OLD)
    tree.commit("blocks")
    return tree


def write(tree, path, *rules):
    lines = "".join(f"- {rule}\n" for rule in rules)
    tree.write(path, f"# T\n\n<!-- yaad:begin v=1 nl=1 -->\n{lines}<!-- yaad:end -->\n")


def commit(tree, path, *rules):
    write(tree, path, *rules)
    tree.commit("rules")


def merged(tree, *, ours):
    """Have Ann change one file, Bob the other one, and one of them merge."""
    tree.git("checkout", "-q", "-b", "ann")
    commit(tree, A, ANN)
    tree.git("checkout", "-q", "-b", "bob", "main")
    commit(tree, C, BOB)
    tree.git("checkout", "-q", ours)
    tree.git("merge", "-q", "--no-edit", "bob" if ours == "ann" else "ann")


@contextmanager
def ages(tree, path):
    """Yield the ages of the words of a file in the checked-out commit."""
    runner = GitRunner(timedelta(seconds=30))
    try:
        repository = Repository(layouts.find(tree.path), runner)
        other = C if path == A else A
        yield WordAges(repository, repository.head().commit, path, [other], TERMS)
    finally:
        runner.close()


def is_older(tree, one, other):
    """Return whether the words of one file are older: (path, words), twice."""
    with ages(tree, one[0]) as found:
        return found.is_older(text_hash(one[1]), text_hash(other[1]))


def is_dropped(tree, path, words):
    with ages(tree, path) as found:
        return found.is_dropped(text_hash(words))


def test_words_of_the_commit_before_are_older(tree):
    commit(tree, C, ANN)

    assert is_older(tree, (A, OLD), (C, ANN))
    assert not is_older(tree, (C, ANN), (A, OLD))


def test_words_that_a_commit_took_back_are_newer(tree):
    commit(tree, A, ANN)
    commit(tree, C, ANN)
    commit(tree, A, OLD)

    assert is_older(tree, (C, ANN), (A, OLD))


def test_both_merges_of_two_edits_have_the_same_order(tree):
    orders = set()
    merged(tree, ours="ann")
    orders.add((is_older(tree, (A, ANN), (C, BOB)), is_older(tree, (C, BOB), (A, ANN))))
    tree.git("checkout", "-q", "bob")
    tree.git("merge", "-q", "--no-edit", "--no-ff", "ann~1")
    orders.add((is_older(tree, (A, ANN), (C, BOB)), is_older(tree, (C, BOB), (A, ANN))))

    assert len(orders) == 1
    assert sum(orders.pop()) == 1


def test_words_that_were_carried_to_the_other_file_are_as_old_as_before(tree):
    merged(tree, ours="ann")
    before = is_older(tree, (A, ANN), (C, BOB))
    write(tree, A, BOB)
    write(tree, C, ANN)
    tree.commit("each took the words of the other one")

    assert is_older(tree, (C, ANN), (A, BOB)) is before
    assert is_older(tree, (A, BOB), (C, ANN)) is not before


def test_two_edits_in_one_commit_have_an_order(tree):
    write(tree, A, ANN)
    write(tree, C, BOB)
    tree.commit("both")

    assert is_older(tree, (C, BOB), (A, ANN))
    assert not is_older(tree, (A, ANN), (C, BOB))


def test_words_that_no_commit_has_are_not_older(tree):
    assert not is_older(tree, (A, "Use spaces"), (C, OLD))
    assert not is_older(tree, (A, OLD), (C, "Use spaces"))


def test_rule_that_one_file_lost_is_dropped(tree):
    commit(tree, A, ANN, OLD)
    commit(tree, C, ANN)

    assert is_dropped(tree, A, OLD)
    assert not is_dropped(tree, A, ANN)


def test_last_rule_that_the_other_file_lost_is_dropped(tree):
    commit(tree, C)

    assert is_dropped(tree, A, OLD)


def test_rule_that_was_never_in_the_other_file_is_not_dropped(tree):
    commit(tree, A, ANN, OLD)

    assert not is_dropped(tree, A, ANN)


def test_rule_that_comes_again_after_all_files_lost_it_is_not_dropped(tree):
    commit(tree, A, ANN)
    commit(tree, C, ANN)
    commit(tree, A, ANN, OLD)

    assert not is_dropped(tree, A, OLD)


def test_rule_is_not_dropped_by_a_file_without_a_block(tree):
    tree.write(C, "# T\n")
    tree.commit("no block")

    assert not is_dropped(tree, A, OLD)
