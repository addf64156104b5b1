"""A watched project where git cannot be run: its memories can be read, and are not added to."""

import pytest
from refusals import refusal
from verb_world import FIVE_TRIES, NET, RETRY, prepared

from yaadwatch.db import anchors
from yaadwatch.model.errors import Code, YaadError

MISSING = "git is not installed"


@prepared
def tree(world):
    tree = world.repo()
    tree.add()
    return tree


@pytest.fixture
def no_git(world, monkeypatch):
    """Take git away, and let a new daemon know nothing of what the last one asked it."""

    def take_away():
        monkeypatch.setenv("PATH", str(world.folder / "nothing"))
        world.reopen()

    return take_away


def resting(tree, memory):
    """Return the anchors of a memory."""
    with tree.db() as db:
        return db.read(anchors.of_nodes, [memory])[memory]


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "The retry limit lives in src/net.py, in `fetch_with_retry`"},
        {"text": "It gives up", "symbols": ["fetch_with_retry"]},
        {"text": "`fetch_with_retry` gives up after three tries"},
    ],
    ids=["file", "given", "definition"],
)
def test_a_statement_about_code_is_refused_and_not_stored(tree, no_git, fields):
    no_git()

    error = refusal(tree.remembered, **fields)

    assert error.code is Code.UNAVAILABLE
    assert error.message.startswith(MISSING)
    assert "nothing was stored" in error.message
    assert "Install git" in error.hint
    assert tree.memories() == []


def test_once_git_is_back_the_statement_rests_on_all_that_it_names(tree, world, monkeypatch):
    said = "`fetch_with_retry` gives up after three tries"
    with monkeypatch.context() as without:
        without.setenv("PATH", str(world.folder / "nothing"))
        world.reopen()
        with pytest.raises(YaadError, match=MISSING):
            tree.remembered(said)

    again = tree.remembered(said)

    assert again["decision"] == "new"
    assert [row["path"] for row in again["anchors"]] == ["src/net.py"]


@pytest.mark.parametrize(
    "change",
    [
        lambda tree, memory: tree.confirm(memory),
        lambda tree, memory: tree.edit(memory, RETRY + ", three times"),
    ],
    ids=["confirmed", "edited"],
)
def test_a_memory_stays_as_it_is_where_git_has_to_tell_what_it_rests_on(tree, no_git, change):
    memory = tree.remember()
    before = tree.show(memory)
    rests_on = resting(tree, memory)
    no_git()

    error = refusal(change, tree, memory)

    assert error.code is Code.UNAVAILABLE
    assert MISSING in error.message
    assert tree.show(memory)["version"] == before["version"]
    assert resting(tree, memory) == rests_on


def test_memories_are_recalled_compared_forgotten_and_brought_back(tree, no_git):
    memory = tree.remember("The retry limit lives in src/net.py, in `fetch_with_retry`")
    no_git()

    tree.write("src/net.py", FIVE_TRIES)
    assert tree.verdict(memory) == "changed"
    tree.write("src/net.py", NET)
    assert tree.verdict(memory) == "fresh"
    tree.forget(memory)
    tree.restore(memory)

    assert memory in {node.id for node in tree.living()}


def test_a_rule_that_a_person_writes_waits_until_git_can_tell_what_it_rests_on(
    tree, world, monkeypatch
):
    with monkeypatch.context() as without:
        without.setenv("PATH", str(world.folder / "nothing"))
        world.reopen()
        tree.write("CLAUDE.md", "- `fetch_with_retry` gives up after three tries\n")
        with pytest.raises(YaadError, match=MISSING):
            tree.sync()
    assert tree.memories() == []

    tree.sync()

    (rule,) = [node.id for node in tree.living()]
    assert {row.path for row in resting(tree, rule)} == {"src/net.py"}
