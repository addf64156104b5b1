"""Which rules the committed blocks have together: the same answer in every clone."""

from contextlib import contextmanager

import pytest

from yaadwatch.core.sync.reconcile import Terms
from yaadwatch.core.text import text_hash
from yaadwatch.engine.agent_files import reading
from yaadwatch.engine.syncing.head_rules import HeadRules

TERMS = Terms(as_stored=lambda text: text, hashed=text_hash)
A, C = "AGENTS.md", "CLAUDE.md"
OLD, ANN, BOB = "Use tabs for indents", "Use tabs for indents, of 4", "Use tabs for indents, of 8"


@pytest.fixture
def tree(world):
    tree = world.repo()
    write(tree, A, OLD)
    write(tree, C, OLD)
    tree.commit("blocks")
    tree.add(mode="inline")
    tree.sync()
    return tree


def write(tree, path, *rules):
    lines = "".join(f"- {rule}\n" for rule in rules)
    tree.write(path, f"# T\n\n<!-- yaad:begin v=1 nl=1 -->\n{lines}<!-- yaad:end -->\n")


def commit(tree, path, *rules):
    write(tree, path, *rules)
    tree.commit("rules")


@contextmanager
def rules(tree):
    with tree.home.space(tree.call) as space:
        yield space.repository, HeadRules(space, reading.fleet(tree.home, space).files, TERMS)


def resolved(tree):
    with rules(tree) as (repository, found):
        return found.resolved(repository.head().commit)


def alive(tree):
    keys = {text_hash(text): text for text in (OLD, ANN, BOB)}
    return {keys[key] for key in resolved(tree).alive}


def test_words_that_one_file_changed_are_alive(tree):
    commit(tree, C, ANN)

    assert alive(tree) == {ANN}
    assert resolved(tree).became == {text_hash(OLD): text_hash(ANN)}


def test_commits_of_other_files_do_not_matter(tree):
    commit(tree, C, ANN)
    for number in range(3):
        tree.write("other.txt", str(number))
        tree.commit("other work")

    assert alive(tree) == {ANN}


def test_both_merges_of_two_edits_have_the_same_rule(tree):
    tree.git("checkout", "-q", "-f", "-b", "ann")
    commit(tree, A, ANN)
    tree.git("checkout", "-q", "-b", "bob", "main")
    commit(tree, C, BOB)
    tree.git("merge", "-q", "--no-edit", "ann")
    found = alive(tree)
    tree.git("checkout", "-q", "ann")
    tree.git("merge", "-q", "--no-edit", "--no-ff", "bob~1")

    assert alive(tree) == found
    assert found in ({ANN}, {BOB})


def test_rule_that_one_file_lost_is_dropped(tree):
    commit(tree, A, ANN, OLD)
    commit(tree, C, ANN)

    assert alive(tree) == {ANN}
    assert resolved(tree).dropped == {text_hash(OLD)}


def test_rule_that_the_file_says_outside_its_block_stays(tree):
    tree.write(C, f"# T\n\n- {OLD}\n\n<!-- yaad:begin v=1 nl=1 -->\n- {ANN}\n<!-- yaad:end -->\n")
    commit(tree, A, ANN, OLD)

    assert alive(tree) == {ANN, OLD}


def test_line_of_a_rule_is_the_one_that_a_block_has(tree):
    commit(tree, C, ANN)

    with rules(tree) as (repository, found):
        assert found.line(repository.head().commit, text_hash(ANN)) == f"- {ANN}"
        assert found.line(repository.head().commit, text_hash(BOB)) is None


def test_rule_stays_where_commits_took_its_new_words_back(tree):
    commit(tree, A, ANN)
    tree.sync()
    tree.commit("both files")
    tree.git("checkout", "-q", "HEAD~1", "--", A, C)
    tree.commit("as before")

    tree.sync()

    assert sum(OLD in tree.read(path) for path in (A, C)) == 2


def test_line_typed_in_the_place_of_a_reverted_rule_is_a_rule_of_its_own(tree):
    other = "Use spaces for indents"
    for path in (A, C):
        write(tree, path, OLD, other)
    tree.commit("one more")
    tree.sync()
    tree.git("revert", "--no-edit", "HEAD")
    write(tree, C, OLD, "Use spaces for tables")

    tree.sync()

    for path in (A, C):
        assert "Use spaces for tables" in tree.read(path)
        assert other not in tree.read(path)
