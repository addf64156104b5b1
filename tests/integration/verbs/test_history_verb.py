"""Every version is there with who and why, and any of them can be had again."""

from refusals import refusal

from yaadwatch.model.errors import Code
from yaadwatch.remember import curate, history, remember
from yaadwatch.workspace.workspace import Call


def versions(tree, id):
    return history.history(tree.home, tree.call, id=id)["versions"]


def restore(tree, id, version=None):
    return history.restore(tree.home, tree.call, id=id, version=version)


def test_each_change_is_told_with_who_made_it_and_why(repo):
    memory = repo.remember("The cache holds 12 entries")
    agent = Call(folder=repo.path, origin="agent:claude")
    repo.edit(memory, "The cache holds 16 entries")
    curate.confirm(repo.home, repo.call, id=memory)
    curate.forget(repo.home, agent, id=memory, reason="nobody needs it")
    history.restore(repo.home, agent, id=memory)

    told = history.history(repo.home, repo.call, id=memory[-8:])

    assert told["version"] == 5
    assert [
        (one["version"], one["change"], one["by"], one["reason"]) for one in told["versions"]
    ] == [
        (1, "created", "person", None),
        (2, "edited", "person", None),
        (3, "confirmed", "person", None),
        (4, "archived", "agent claude", "nobody needs it"),
        (5, "restored", "agent claude", None),
    ]
    assert [one["text"][16:18] for one in told["versions"]] == ["12", "16", "16", "16", "16"]


def test_an_older_version_comes_back_as_a_new_one_and_can_be_found(repo):
    memory = repo.remember("The zanzibar cache is in src/net.py", kind="spec")
    repo.edit(memory, "The cache is in notes.md")

    back = restore(repo, memory, 1)

    assert (back["text"], back["version"]) == ("The zanzibar cache is in src/net.py", 3)
    assert [anchor["path"] for anchor in back["anchors"]] == ["src/net.py"]
    assert back["undo"] == f"yaadwatch restore {memory[-8:]} --version 2"
    last = versions(repo, memory)[-1]
    assert (last["change"], last["reason"]) == ("restored", "as in version 1")
    with repo.db() as db:
        found = db.read(
            lambda conn: (
                conn.execute("SELECT count(*) FROM nodes_fts WHERE nodes_fts MATCH 'zanzibar'").get
            )
        )
    assert found == 1
    restore(repo, memory, 2)
    assert repo.show(memory)["text"] == "The cache is in notes.md"


def test_kind_and_tier_come_back_with_the_words(repo):
    memory = repo.remember("The cache is in src/net.py", kind="spec")
    repo.remember("The cache is in src/net.py", kind="decision")
    assert repo.show(memory)["kind"] == "decision"

    restore(repo, memory, 1)

    assert (repo.show(memory)["kind"], repo.show(memory)["tier"]) == ("spec", 2)


def test_a_version_of_a_forgotten_memory_brings_it_back(repo):
    memory = repo.remember("The cache holds 12 entries")
    repo.edit(memory, "The cache holds 16 entries")
    repo.forget(memory)

    restore(repo, memory, 1)

    assert repo.memories() == ["The cache holds 12 entries"]
    assert repo.show(memory)["archived_at"] is None


def test_without_a_version_the_forgotten_memory_comes_back_as_it_was(repo):
    memory = repo.remember("The cache holds 12 entries")
    repo.forget(memory)

    assert restore(repo, memory)["archived"] is False
    assert repo.memories() == ["The cache holds 12 entries"]


def test_a_version_that_is_not_there_is_told_with_those_that_are(repo):
    memory = repo.remember("The cache holds 12 entries")
    repo.pin(memory)

    error = refusal(restore, repo, memory, 7)

    assert error.code is Code.NOT_FOUND
    assert "has no version 7; it has 1 to 2" in error.message
    assert repo.show(memory)["version"] == 2


def test_words_that_another_memory_has_now_are_a_conflict(repo):
    memory = repo.remember("The cache holds 12 entries")
    repo.edit(memory, "The cache holds 16 entries")
    repo.remember("The cache holds 12 entries")

    assert refusal(restore, repo, memory, 1).code is Code.CONFLICT
    assert repo.show(memory)["text"] == "The cache holds 16 entries"


def test_what_a_persons_file_says_is_reworded_there_only(repo):
    memory = repo.remember("The cache holds 12 entries")
    repo.edit(memory, "The cache holds 16 entries")
    repo.write("CLAUDE.md", "- The cache holds 16 entries\n")
    repo.add()

    error = refusal(restore, repo, memory, 1)

    assert error.code is Code.REFUSED
    assert "CLAUDE.md" in error.message


def test_each_version_names_its_author_in_the_same_words_as_the_memory(repo):
    agent = Call(folder=repo.path, origin="agent:claude")
    memory = remember.remember(repo.home, agent, text="The cache holds 12 entries")["id"]
    repo.edit(memory, "The cache holds 16 entries")

    versions = history.history(repo.home, repo.call, id=memory)["versions"]
    shown = repo.show(memory)

    assert [one["by"] for one in versions] == ["agent claude", "person"]
    assert [one["by"] for one in shown["versions"]] == ["agent claude", "person"]
    assert shown["by"] == "agent claude"
