"""Skills: kept under a name, given new words, flagged when what they name changes."""

import threading
from concurrent.futures import ThreadPoolExecutor

from refusals import refusal
from verb_world import every_byte_below

from yaadwatch.model.errors import Code
from yaadwatch.projects import verifying
from yaadwatch.recall import recall
from yaadwatch.sessions import tasks

BODY = "1. Look at `fetch_with_retry` in src/net.py.\n2. Run the tests.\n\nThen ship it."


def add(tree, name="release", description="how a version is made", body=BODY):
    return tasks.skill_add(tree.home, tree.call, name=name, description=description, body=body)


def listed(tree):
    return tasks.skills(tree.home, tree.call)["skills"]


def shown(tree, name="release"):
    (found,) = tasks.skills(tree.home, tree.call, name=name)["skills"]
    return found


def test_a_name_that_looks_like_a_secret_is_refused(repo):
    name = "glpat-" + "abcdefghij0123456789"

    error = refusal(add, repo, name)

    assert error.code is Code.BAD_REQUEST
    assert name not in f"{error.message} {error.hint}"
    assert listed(repo) == []


def test_a_skill_is_kept_and_shown_with_its_body(repo):
    added = add(repo)
    add(repo, "bisect", "how a fault is found", "Use `git bisect`.")

    assert [row["name"] for row in listed(repo)] == ["bisect", "release"]
    assert all("body" not in row for row in listed(repo))
    found = shown(repo)
    assert (found["id"], found["description"]) == (added["id"], "how a version is made")
    assert found["body"] == BODY
    assert repo.show(added["id"])["kind"] == "skill"


def test_what_would_steer_a_terminal_is_told_in_letters_and_the_body_begins_where_it_did(repo):
    said = {"description": "how \x1b[1m a version \u202eis made", "body": "Run \x07 it."}
    added = add(repo, **said)

    assert added["description"] == r"how \x1b[1m a version \u202eis made"
    assert added["body"] == shown(repo)["body"] == r"Run \x07 it."
    assert (
        add(repo, description="how \x1b[1m a version \u202eis made", body="Run \x07 it.") == added
    )


def test_it_is_found_by_its_name_and_the_store_is_whole(repo):
    added = add(repo)

    found = recall.recall(repo.home, repo.call, query="release")["results"]

    assert [row["id"] for row in found] == [added["id"]]
    assert verifying.verify(repo.home, repo.call)["findings"] == []
    add(repo, description="how to ship", body="Run `make ship`.")
    assert verifying.verify(repo.home, repo.call)["findings"] == []


def test_under_the_same_name_it_gets_new_words_and_keeps_the_old(repo):
    first = add(repo)

    again = add(repo, description="how to release", body="Run `make release`.")

    assert again["id"] == first["id"]
    assert shown(repo)["body"] == "Run `make release`."
    assert shown(repo)["description"] == "how to release"
    versions = repo.show(first["id"])["versions"]
    assert BODY in versions[0]["text"]


def test_it_is_flagged_when_what_it_names_changes(repo):
    add(repo)
    assert shown(repo)["stale"] is False

    (repo.path / "src/net.py").unlink()
    repo.check()

    assert shown(repo)["stale"] is True


def test_two_skills_cannot_say_the_same(repo):
    add(repo)

    assert refusal(add, repo, name="publish").code is Code.CONFLICT
    assert [row["name"] for row in listed(repo)] == ["release"]


def test_of_many_who_give_one_name_at_once_all_give_it_words_and_nobody_gets_a_fault(
    repo,
):
    together = threading.Barrier(8)

    def say(number):
        together.wait()
        return add(repo, body=f"{number}. Run `make release{number}`, then step {number}.")

    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(say, range(8)))

    assert len({row["id"] for row in added}) == 1
    assert len(listed(repo)) == 1
    assert len(repo.show(added[0]["id"])["versions"]) == 8


def test_one_that_is_not_there_is_said(repo):
    assert refusal(shown, repo, "nothing").code is Code.NOT_FOUND


def test_a_forgotten_skill_is_listed_no_more_and_its_name_is_free(repo):
    first = add(repo)
    repo.forget(first["id"])
    assert listed(repo) == []

    again = add(repo, body="Run `make release`.")

    assert again["id"] != first["id"]


def test_no_secret_comes_in(repo):
    secret = "ghp_" + "1234567890abcdefABCDEF1234567890abcd"

    add(repo, description=f"with {secret}", body=f"Use {secret} there.")

    assert secret not in str(shown(repo))
    repo.home.close()
    assert secret.encode() not in every_byte_below(repo.store.parent)
    repo.world.reopen()
