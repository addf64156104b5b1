"""A judgement about a memory does what its three commands do."""

from verb_world import table

from yaadwatch.remember import edit, remember
from yaadwatch.workspace.workspace import Call

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def judge(tree, id, verdict, **fields):
    agent = Call(folder=tree.path, origin="agent:claude")
    return edit.feedback(tree.home, agent, id=id, verdict=verdict, **fields)


def last(tree, id):
    version = tree.show(id)["versions"][-1]
    return version["change"], version["by"]


def test_approving_confirms(repo):
    memory = repo.remember("The API port is 8080")

    done = judge(repo, memory, "approve")

    assert (done["verdict"], done["id"]) == ("approve", memory)
    assert last(repo, memory) == ("confirmed", "agent claude")


def test_editing_makes_a_version_of_masked_words(repo):
    stated = remember.remember(
        repo.home, Call(folder=repo.path, origin="agent:codex"), text="The API port is 8080"
    )
    memory = stated["id"]

    done = judge(repo, memory, "edit", text=f"The API port is 9090, with {TOKEN}")

    assert done["version"] == 2
    assert done["masked"] == ["github-token"]
    assert last(repo, memory) == ("edited", "agent claude")
    with repo.db() as db:
        assert TOKEN not in repr(table(db, "node_versions"))


def test_editing_what_a_person_said_proposes_masked_words(repo):
    memory = repo.remember("The API port is 8080")

    done = judge(repo, memory, "edit", text=f"The API port is 9090, with {TOKEN}")

    assert (done["version"], done["text"]) == (1, "The API port is 8080")
    assert done["proposed"]["text"].startswith("The API port is 9090")
    with repo.db() as db:
        assert TOKEN not in repr(table(db, "proposals"))


def test_discarding_archives_with_the_reason_masked(repo):
    memory = repo.remember("The API port is 8080")

    done = judge(repo, memory, "discard", reason=f"not ours, {TOKEN}")

    assert done["archived"]
    assert repo.memories() == []
    reason = repo.show(memory)["archive_reason"]
    assert reason.startswith("not ours")
    assert TOKEN not in reason


def test_discarding_without_a_reason_says_so(repo):
    memory = repo.remember("The API port is 8080")

    judge(repo, memory, "discard")

    assert repo.show(memory)["archive_reason"] == "discarded"
