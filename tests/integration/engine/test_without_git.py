"""A watched project where git cannot be run: all that its files can tell works, and the rest says
what is lacking."""

import pytest
from engine_world import FIVE_TRIES, NET, RETRY

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.store import anchors

MISSING = "git is not installed"


@pytest.fixture
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


def test_what_is_remembered_rests_on_the_files_it_names_and_says_that_more_was_not_sought(
    tree, no_git
):
    no_git()

    told = tree.remembered("The retry limit lives in src/net.py, in `fetch_with_retry`")

    assert [(row["path"], row.get("symbol")) for row in told["anchors"]] == [
        ("src/net.py", "fetch_with_retry"),
        ("src/net.py", None),
    ]
    assert told["lacking"].startswith(MISSING)
    tree.write("src/net.py", FIVE_TRIES)
    assert tree.verdict(told["id"]) == "changed"
    tree.write("src/net.py", NET)
    assert tree.verdict(told["id"]) == "fresh"


def test_said_again_with_git_it_rests_on_all_that_it_means(tree, world, monkeypatch):
    said = "`fetch_with_retry` gives up after three tries"
    with monkeypatch.context() as without:
        without.setenv("PATH", str(world.folder / "nothing"))
        world.reopen()
        first = tree.remembered(said)
    assert (first["anchors"], first["decision"]) == ([], "new")

    again = tree.remembered(said)

    assert (again["id"], again["decision"], again["lacking"]) == (first["id"], "same", None)
    assert [row["path"] for row in again["anchors"]] == ["src/net.py"]


def test_a_definition_that_is_given_must_be_in_a_file_that_is_named(tree, no_git):
    no_git()

    with pytest.raises(YaadError) as raised:
        tree.remembered("It gives up", symbols=["fetch_with_retry"])

    assert raised.value.code is Code.UNAVAILABLE
    assert MISSING in raised.value.message
    assert "nothing was stored" in raised.value.message
    told = tree.remembered("It gives up", symbols=["fetch_with_retry"], files=["src/net.py"])
    assert [row.get("symbol") for row in told["anchors"]] == ["fetch_with_retry", None]


def test_memories_are_mended_and_what_is_known_of_their_use_is_kept(tree, no_git):
    tree.write("src/main.py", "from net import fetch_with_retry\nprint(RETRY_LIMIT)\n")
    tree.write("src/limits.py", "print(RETRY_LIMIT)\n")
    tree.commit("use it")
    memory = tree.remember(f"{RETRY}, RETRY_LIMIT")
    spread = {row.symbol: row.spread for row in resting(tree, memory)}
    assert spread["RETRY_LIMIT"] == 2
    no_git()

    assert tree.confirm(memory)["lacking"].startswith(MISSING)
    assert {row.symbol: row.spread for row in resting(tree, memory)} == spread
    assert tree.edit(memory, RETRY + ", three times")["lacking"].startswith(MISSING)
    tree.forget(memory)
    tree.restore(memory)

    assert tree.show(memory)["text"] == RETRY + ", three times"


def test_with_git_nothing_is_lacking_of_what_is_mended(tree):
    memory = tree.remember()

    assert tree.confirm(memory)["lacking"] is None
    assert tree.edit(memory, RETRY + ", three times")["lacking"] is None


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
