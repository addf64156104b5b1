"""Events in order, followers that know their place, jobs that know their last run, facts."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import NOW, empty_store, instants, texts

from yaadwatch.db import database, history, projects
from yaadwatch.db.projects import JobRun
from yaadwatch.model import events
from yaadwatch.model.events import Event
from yaadwatch.model.projects import Project

EVENTS = [kind for name, kind in vars(events).items() if name.isupper() and name != "UTC"]

bodies = st.dictionaries(texts, texts | st.integers(-(2**53), 2**53) | st.booleans() | st.none())
some_events = st.builds(
    Event,
    kind=st.sampled_from(EVENTS),
    at=instants,
    subject=texts,
    body=bodies,
)


@pytest.fixture
def conn():
    return empty_store()


@given(st.lists(some_events, max_size=5))
def test_events_come_back_in_order_and_as_they_happened(happened):
    conn = empty_store()

    numbers = [history.append(conn, event) for event in happened]

    found = history.after(conn, 0, 99)
    assert [event.seq for event in found] == numbers == sorted(numbers)
    assert [(e.kind, e.at, e.subject, e.body) for e in found] == [
        (e.kind, e.at, e.subject, e.body) for e in happened
    ]
    assert history.last(conn) == max(numbers, default=0)


def test_no_number_is_given_out_twice_when_all_events_are_old(conn):
    numbers = [
        history.append(conn, Event(kind="job.ran", at=NOW, subject=subject)) for subject in "ab"
    ]

    assert history.trim(conn, NOW + timedelta(days=1), 9) == 1

    assert [event.subject for event in history.after(conn, 0, 9)] == ["b"]
    assert history.last(conn) == numbers[-1]
    assert history.append(conn, Event(kind="job.ran", at=NOW, subject="c")) == numbers[-1] + 1


def test_a_job_forgets_the_fault_of_its_run_before(conn):
    later = NOW + timedelta(days=1)
    projects.start_job(conn, "upkeep", NOW)
    projects.end_job(conn, "upkeep", NOW, "no space")
    projects.start_job(conn, "upkeep", later)
    projects.end_job(conn, "upkeep", later, None)

    assert projects.all_jobs(conn) == {
        "upkeep": JobRun(job="upkeep", started_at=later, ended_at=later, error=None, runs=2)
    }


@given(texts, texts, texts)
def test_a_fact_is_what_was_put_last(key, first, last):
    conn = empty_store()
    assert database.get_meta(conn, key) is None

    database.put_meta(conn, key, first)
    database.put_meta(conn, key, last)

    assert database.get_meta(conn, key) == last


def _project(id, common_dir="/home/ada/shop/.git", **given):
    fields = {
        "id": id,
        "root": Path(common_dir).parent,
        "common_dir": Path(common_dir),
        "remote": "example.org/ada/shop",
        "root_commit": "f" * 40,
        "added_at": NOW,
    }
    return Project(**fields | given)


@pytest.mark.parametrize(
    "given", [{}, {"by_path": True}, {"gone_at": NOW}, {"removed_at": NOW}, {"remote": ""}]
)
def test_a_project_reads_as_it_was_registered(conn, given):
    projects.put(conn, _project("p1", **given))

    assert projects.get(conn, "p1") == _project("p1", **given)
    assert projects.get(conn, "p2") is None
    projects.put(conn, _project("p1"))
    assert projects.get(conn, "p1") == _project("p1")


def test_only_a_project_without_an_id_in_git_is_found_by_its_path(conn):
    projects.put(conn, _project("p1"))
    assert projects.by_path(conn, Path("/home/ada/shop/.git")) is None

    projects.put(conn, _project("p2", by_path=True))

    assert projects.by_path(conn, Path("/home/ada/shop/.git")).id == "p2"
    projects.put(conn, _project("p2", by_path=True, removed_at=NOW))
    assert projects.by_path(conn, Path("/home/ada/shop/.git")) is None


def test_projects_that_left_are_known_and_the_last_one_comes_first(conn):
    projects.put(conn, _project("p4"))
    for day, name in enumerate(("p2", "p3", "p1")):
        left = "gone_at" if name == "p3" else "removed_at"
        projects.put(conn, _project(name, **{left: NOW + timedelta(days=day)}))

    assert {project.id for project in projects.everything(conn)} == {"p3", "p4"}
    assert [project.id for project in projects.known(conn)] == ["p1", "p3", "p2", "p4"]


def test_watched_projects_are_listed_by_their_folder(conn):
    projects.put(conn, _project("p1", "/home/ada/shop/.git"))
    projects.put(conn, _project("p2", "/home/ada/blog/.git"))

    assert [project.id for project in projects.everything(conn)] == ["p2", "p1"]


def test_a_project_that_moved_is_not_gone_and_one_that_was_removed_stays_so(conn):
    projects.put(conn, _project("p1", gone_at=NOW))
    projects.put(conn, _project("p2", removed_at=NOW))
    there = _project("p1", "/home/ada/store/.git")

    assert projects.move(conn, there)
    assert not projects.move(conn, _project("p2", "/home/ada/store/.git"))

    assert projects.get(conn, "p1") == there
    assert projects.get(conn, "p2") == _project("p2", removed_at=NOW)


def test_since_when_a_project_is_gone_and_its_first_commit_are_noted(conn):
    projects.put(conn, _project("p1", root_commit=""))

    projects.set_gone(conn, "p1", NOW)
    projects.set_root_commit(conn, "p1", "e" * 40)

    assert projects.get(conn, "p1") == _project("p1", gone_at=NOW, root_commit="e" * 40)
    projects.set_gone(conn, "p1", None)
    assert projects.get(conn, "p1").gone_at is None
