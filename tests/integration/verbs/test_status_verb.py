"""What `status` says: with nobody watching, with something watching, and of what is wrong."""

import shutil
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from verb_world import FIVE_TRIES, dump

from yaadwatch.projects import projects
from yaadwatch.staleness import stale
from yaadwatch.system import files
from yaadwatch.workspace import stores


class Watching:
    """A daemon that knows what it is told here."""

    since = "2029-01-01T00:00:00.000Z"
    socket = "/run/daemon.sock"

    def watch(self, project):
        return "full", 12

    def problems(self):
        return [{"what": "The watch limit is reached", "mend": "raise it"}]

    def next_runs(self):
        return {"upkeep": datetime(2030, 1, 1, tzinfo=UTC)}


def test_without_a_daemon_the_shape_is_the_same(repo):
    memory = repo.remember()
    repo.write("src/net.py", FIVE_TRIES)
    assert repo.verdict(memory) == "changed"

    answer = projects.status(repo.home, repo.call)

    assert answer["daemon"]["running"] is False
    (project,) = answer["projects"]
    assert (project["path"], project["branch"]) == (str(repo.path), "main")
    assert (project["memories"], project["stale"], project["watch"]) == (1, 1, "off")
    assert project["last_check"] is not None
    assert project["lag_ms"] is None
    assert answer["search"] == "words"
    assert answer["problems"] == []


@pytest.mark.parametrize("place", [".git", ".", ".."])
def test_a_project_whose_disk_does_not_answer_is_told_and_not_looked_at(repo, monkeypatch, place):
    repo.remember()
    repo.home.daemon_state = Watching()
    disk = (repo.path / place).resolve()
    monkeypatch.setattr(files, "networks", lambda _: frozenset({disk}))
    monkeypatch.setattr(stores, "_disks", SimpleNamespace(ask=lambda *_: None))
    with repo.without_store():
        answer = projects.status(repo.home, repo.call)
        trees = stale.watched(repo.home)

    (project,) = answer["projects"]
    assert (project["state"], project["watch"]) == ("broken", "off")
    (_, hangs) = answer["problems"]
    assert "does not answer" in hangs["what"]
    assert "umount" in hangs["mend"]
    assert trees == []


def test_what_the_daemon_knows_is_passed_on(repo):
    repo.home.daemon_state = Watching()

    answer = projects.status(repo.home, repo.call)

    assert answer["daemon"]["running"] is True
    assert answer["daemon"]["socket"] == "/run/daemon.sock"
    assert answer["daemon"]["rss_bytes"] > 1_000_000
    assert (answer["projects"][0]["watch"], answer["projects"][0]["lag_ms"]) == ("full", 12)
    assert [(job["name"], job["last"], job["ok"]) for job in answer["jobs"]] == [
        ("upkeep", None, None)
    ]
    assert answer["problems"] == [{"what": "The watch limit is reached", "mend": "raise it"}]


def test_agent_files_are_listed_with_their_state(world):
    repo = world.repo()
    repo.write("CLAUDE.md", "- One\n")
    repo.write("AGENTS.md", b"\xff\xfe")
    repo.add()

    (project,) = projects.status(repo.home, repo.call)["projects"]

    files = [
        (row["path"], row["mode"], row["state"], bool(row["reason"])) for row in project["files"]
    ]
    assert files == [
        ("AGENTS.md", "inline", "paused", True),
        ("CLAUDE.md", "inline", "synced", False),
    ]


def test_a_repository_that_is_gone_is_a_problem_with_its_mend(repo, world):
    world.reopen()
    shutil.rmtree(repo.path)

    answer = projects.status(repo.home, repo.call)

    assert answer["projects"][0]["watch"] == "off"
    (problem,) = answer["problems"]
    assert str(repo.path) in problem["what"]
    assert "its memories are kept" in problem["mend"]
    assert "yaadwatch add --adopt" in problem["mend"]
    assert problem["mend"].endswith(f"yaadwatch remove {repo.path}")


class Told(Watching):
    """A daemon that says of a project what it could not do."""

    def __init__(self, project):
        self.project = project

    def problems(self):
        what = f"The events of project {self.project} are not followed: no"
        return [{"what": what, "mend": "yaadwatch restart", "project": self.project}]


def test_what_is_wrong_in_a_project_is_told_with_its_folder(repo):
    (row,) = projects.status(repo.home, repo.call)["projects"]
    repo.home.daemon_state = Told(row["id"])

    (problem,) = projects.status(repo.home, repo.call)["problems"]

    assert problem == {
        "what": f"The events of {repo.path} are not followed: no",
        "mend": "yaadwatch restart",
    }


def test_of_a_project_that_was_removed_nothing_is_told(repo):
    repo.home.daemon_state = Told("01a20e62-24ce-74c5-afc8-a39b1acf545f")

    assert projects.status(repo.home, repo.call)["problems"] == []


def test_of_a_project_that_is_not_there_it_is_told_once(repo, world):
    world.reopen()
    (row,) = projects.status(repo.home, repo.call)["projects"]
    shutil.rmtree(repo.path)
    repo.home.daemon_state = Told(row["id"])

    (problem,) = projects.status(repo.home, repo.call)["problems"]

    assert f"{repo.path}/.git is not there" in problem["what"]


def test_one_that_a_link_took_the_place_of_is_told_with_where_it_leads(repo, world):
    other = world.repo("other")
    other.add()
    world.reopen()
    shutil.rmtree(repo.path)
    repo.path.symlink_to(other.path, target_is_directory=True)

    answer = projects.status(repo.home, repo.call)

    states = {row["path"]: row["state"] for row in answer["projects"]}
    assert states == {str(repo.path): "missing", str(other.path): "ok"}
    (problem,) = answer["problems"]
    assert f"leads from {repo.path}/.git to {other.path}/.git" in problem["what"]
    assert f"yaadwatch remove {repo.path}" in problem["mend"]


def test_status_changes_nothing(repo):
    repo.remember()
    with repo.db() as db:
        before = dump(db)

    projects.status(repo.home, repo.call)

    with repo.db() as db:
        assert dump(db) == before
