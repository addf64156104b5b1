"""A manifest that is broken, huge, in another encoding, or one of thousands flags nothing."""

import json

import pytest

from yaadwatch.api.messages.memories import Facts
from yaadwatch.projects import projects
from yaadwatch.projects.facts import facts
from yaadwatch.staleness import stale


def manifest(**parts):
    return json.dumps(parts, indent=1)


SAID = "We validate input with zod."
ZOD = manifest(dependencies={"zod": "^3.22.0"}, engines={"node": ">=20"})
BAD = {
    "an unfinished edit": ZOD[:-4],
    "an unfinished merge": ZOD.replace(' "engines"', "<<<<<<< ours\n=======\n>>>>>>> theirs\n"),
    "another encoding": ZOD.encode("utf-16"),
    "bytes that are no text": b"\x00\xff\xfe" * 99,
    "nothing": "",
    "a list": "[]",
    "brackets in brackets": "[" * 9_000,
    "one long line": json.dumps({"dependencies": {f"a{at}": "1" for at in range(9_000)}}),
}


@pytest.mark.parametrize("after", BAD.values(), ids=BAD)
def test_a_manifest_that_is_no_manifest_now_flags_nothing_and_is_told_once(repo, after):
    repo.commit("before", {"package.json": ZOD})
    for said in (SAID, "Node 20 is required.", "All schemas are made with zod."):
        repo.remember(said)
    repo.write("package.json", after)

    answer = stale.stale(repo.home, repo.call, all=True)

    assert [row["reason"] for row in answer["stale"]] == []
    told = [one["what"] for one in projects.status(repo.home, repo.call)["problems"]]
    assert len([what for what in told if "could not be judged" in what]) <= 1
    assert facts(repo.home, repo.call, Facts())["invalid"] == ["package.json"]


def test_a_version_that_nothing_can_satisfy_is_only_another_version(repo):
    repo.commit("before", {"package.json": ZOD})
    repo.remember("Node 20 is required.")
    repo.remember(SAID)

    repo.commit(
        "odd", {"package.json": ZOD.replace(">=20", ">=20 <18").replace("^3.22.0", ">9 <1")}
    )

    assert stale.stale(repo.home, repo.call, all=True)["stale"] == []


WORDS = manifest(dependencies=dict.fromkeys(("next", "just", "task", "make", "turbo"), "1"))


@pytest.mark.parametrize(
    "said",
    [
        "Make each change in a branch of its own.",
        "The next step is a review.",
        "Just one task at a time.",
        "What comes next is in the plan; make a task of it.",
    ],
)
def test_a_tool_that_is_called_like_a_word_is_not_meant_by_the_word(repo, said):
    repo.commit(
        "before", {"package.json": WORDS, "justfile": "a:\n\tb\n", "Taskfile.yml": "x: 1\n"}
    )
    repo.remember(said)

    repo.git("rm", "-q", "justfile", "Taskfile.yml")
    repo.commit("the change", {"package.json": manifest(dependencies={"pnpm": "1"})})

    assert [row["reason"] for row in stale.stale(repo.home, repo.call, all=True)["stale"]] == []


def test_thousands_of_manifests_and_huge_lock_files_flag_nothing(repo):
    every = {f"packages/p{at}/package.json": ZOD for at in range(500)}
    repo.commit("before", {**every, "package-lock.json": "{" * 3_000_000, "yarn.lock": "# y\n" * 9})
    for said in (SAID, "Install with yarn."):
        repo.remember(said)

    repo.commit("the change", {path: manifest(dependencies={"valibot": "1"}) for path in every})

    assert [row["reason"] for row in stale.stale(repo.home, repo.call, all=True)["stale"]] == []
    assert facts(repo.home, repo.call, Facts())["not_read"] == 102
