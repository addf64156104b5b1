"""What is stated about a flagged memory's definition or file offers to replace it."""

import dataclasses

import pytest

from yaadwatch.projects import projects
from yaadwatch.remember import links, remember
from yaadwatch.sessions import context
from yaadwatch.workspace.workspace import AGENT

THREE = "Downloads are tried three times, in src/net.py"
FIVE = "Downloads are tried five times: the mirror drops every fourth connection"


def stated(repo, said, *, by="cli", **fields):
    call = dataclasses.replace(repo.call, origin=by)
    return remember.remember(repo.home, call, text=said, **fields)


def brief(repo, by=f"{AGENT}claude-code"):
    call = dataclasses.replace(repo.call, origin=by)
    return context.context(repo.home, call)["brief"]


def linked(repo, new, old, *, by):
    call = dataclasses.replace(repo.call, origin=by)
    links.link(repo.home, call, id=new, kind="supersedes", to=old)


def superseding(repo):
    """Return, for each flagged memory, the ids of the memories that supersede it."""
    found = repo.stale(all=True)["stale"]
    return {row["id"]: [one["id"] for one in row.get("superseded_by", [])] for row in found}


def test_stale_names_what_supersedes_a_flagged_memory(repo, flagged):
    assert superseding(repo) == {flagged: []}

    newer = stated(repo, FIVE, symbols=("fetch_with_retry",))["id"]
    linked(repo, newer, flagged, by="cli")
    assert superseding(repo) == {flagged: [newer]}

    links.unlink(repo.home, repo.call, id=newer, kind="supersedes", to=flagged)
    assert superseding(repo) == {flagged: []}


def shown(repo):
    """Return the ids that `stale` lists, how many it leaves out, and what `status` counts."""
    answer = repo.stale()
    (project,) = projects.projects(repo.home, repo.call)["projects"]
    return [row["id"] for row in answer["stale"]], answer["superseded"], project["stale"]


def test_a_superseded_memory_does_not_count_as_stale(repo, flagged):
    assert shown(repo) == ([flagged], 0, 1)

    newer = stated(repo, FIVE, symbols=("fetch_with_retry",))["id"]
    linked(repo, newer, flagged, by="cli")
    assert shown(repo) == ([], 1, 0)

    repo.forget(newer)
    assert shown(repo) == ([flagged], 0, 1)


def test_what_an_agent_puts_over_a_persons_memory_leaves_it_stale(repo, flagged):
    newer = stated(repo, FIVE, by=f"{AGENT}codex", symbols=("fetch_with_retry",))["id"]

    linked(repo, newer, flagged, by=f"{AGENT}codex")

    assert shown(repo) == ([flagged], 0, 1)


def test_a_superseded_rule_that_a_persons_file_still_says_is_stale(repo):
    repo.commit("rules", {"CLAUDE.md": f"- {THREE}\n"})
    repo.sync()
    five(repo)
    (flagged,) = [row["id"] for row in repo.stale()["stale"]]
    newer = stated(repo, FIVE, files=("src/net.py",))["id"]

    linked(repo, newer, flagged, by="cli")

    assert shown(repo) == ([flagged], 0, 1)


def test_a_memory_that_another_branch_superseded_is_stale_here(repo):
    flagged = stated(repo, THREE, symbols=("fetch_with_retry",))["id"]
    repo.git("branch", "other")
    five(repo)
    repo.git("switch", "-qc", "feature")
    repo.commit("feature")
    newer = stated(repo, FIVE, symbols=("fetch_with_retry",))["id"]
    linked(repo, newer, flagged, by="cli")
    assert shown(repo) == ([], 1, 0)

    repo.git("switch", "-q", "main")

    assert shown(repo) == ([flagged], 0, 1)


@pytest.fixture
def flagged(repo):
    """Return the id of a memory of a person that a commit made false."""
    node = stated(repo, THREE, symbols=("fetch_with_retry",))["id"]
    five(repo)
    return node


def five(repo):
    repo.write("src/net.py", repo.read("src/net.py").replace("tries=3", "tries=5"))
    repo.commit("Try five times")
    assert len(repo.stale()["stale"]) == 1


@pytest.mark.parametrize(
    ("said", "fields", "on"),
    [
        (FIVE, {"files": ("src/net.py",)}, "definition"),
        ("`fetch_with_retry` waits longer each time", {}, "definition"),
        ("Downloads are tried 7 times, see src/net.py", {}, "file"),
        ("Downloads are tried 7 times", {}, "words"),
        ("Always try downloads five times", {"kind": "convention"}, "words"),
    ],
)
def test_a_statement_about_the_same_offers_to_replace_the_flagged_one(
    repo, flagged, said, fields, on
):
    answer = stated(repo, said, **fields)

    (offer,) = answer["flagged"]
    assert (offer["id"], offer["on"], offer["replaced_by"]) == (flagged, on, "you")
    new, old = answer["id"][-8:], flagged[-8:]
    assert offer["replace"] == f"yaadwatch link {new} supersedes {old}"
    assert "3 is now 5" in offer["reason"]


@pytest.mark.parametrize(
    "said",
    [
        "Uploads are signed",
        "src/new.py talks to the bank",
        "The mirror is slow, see src/net.py",
        "Slow downloads are logged, see src/net.py",
        "src/net.py needs an owner",
        "Certificates of all partners expire in src/net.py after ninety days, so renew them",
    ],
)
def test_a_statement_about_something_else_offers_nothing(repo, flagged, said):
    assert "flagged" not in stated(repo, said)


def test_nothing_is_offered_while_nothing_is_flagged(repo):
    stated(repo, THREE, symbols=("fetch_with_retry",))

    assert "flagged" not in stated(repo, FIVE, files=("src/net.py",))


def test_the_brief_carries_the_newer_one_beside_the_flagged_one_and_then_alone(repo, flagged):
    new = stated(repo, FIVE, files=("src/net.py",))["id"]
    shown = brief(repo)
    assert f'newer, about the same: "{FIVE}" ({new[-8:]})' in shown
    assert THREE in shown

    repo.link(new, "supersedes", flagged)

    shown = brief(repo)
    assert FIVE in shown
    assert THREE not in shown


def test_a_file_that_moved_is_still_the_file_of_the_flagged_one(repo, flagged):
    repo.commit("Rename net", moved={"src/net.py": "src/http.py"})
    repo.check()

    answer = stated(repo, "Downloads are tried 7 times, see src/http.py")

    assert [offer["id"] for offer in answer["flagged"]] == [flagged]


class TestAgents:
    def test_an_agent_replaces_what_an_agent_stated_and_it_is_quoted(self, repo):
        codex = f"{AGENT}codex"
        old = stated(repo, THREE, by=codex, symbols=("fetch_with_retry",))["id"]
        five(repo)
        answer = stated(repo, FIVE, by=codex, files=("src/net.py",))
        assert answer["flagged"][0]["replaced_by"] == "you"

        linked(repo, answer["id"], old, by=codex)

        assert f': "{FIVE}"' in brief(repo)
        assert THREE not in brief(repo)

    def test_what_a_person_stated_stays_until_a_person_decides(self, repo, flagged):
        answer = stated(repo, FIVE, by=f"{AGENT}codex", files=("src/net.py",))
        assert answer["flagged"][0]["replaced_by"] == "person"

        linked(repo, answer["id"], flagged, by=f"{AGENT}codex")

        assert THREE in brief(repo)

    def test_a_line_of_a_persons_file_is_edited_there(self, repo):
        repo.commit("rules", {"CLAUDE.md": f"- {THREE}\n"})
        repo.sync()
        five(repo)

        answer = stated(repo, FIVE, by=f"{AGENT}codex", files=("src/net.py",))

        (offer,) = answer["flagged"]
        assert offer["replace"] == "edit the line in CLAUDE.md, line 1"
        assert offer["said_in"] == [{"path": "CLAUDE.md", "line": 1}]
        assert "to be corrected or deleted in CLAUDE.md, line 1" in brief(repo)
