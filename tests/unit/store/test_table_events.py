"""Events in order, followers that know their place, jobs that know their last run, facts."""

from datetime import timedelta
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import NOW, empty_store, instants, texts

from yaadwatch.model.events import EVENTS, Event
from yaadwatch.model.projects import Project
from yaadwatch.store import cursors, events, jobs, meta, projects
from yaadwatch.store.cursors import Cursor
from yaadwatch.store.jobs import JobRun

bodies = st.dictionaries(texts, texts | st.integers(-(2**53), 2**53) | st.booleans() | st.none())
some_events = st.builds(
    Event, kind=st.sampled_from(EVENTS), at=instants, subject=texts, body=bodies
)


@pytest.fixture
def conn():
    return empty_store()


@given(st.lists(some_events, max_size=5))
def test_events_come_back_in_order_and_as_they_happened(happened):
    conn = empty_store()

    numbers = [events.append(conn, event) for event in happened]

    found = events.after(conn, 0, 99)
    assert [event.seq for event in found] == numbers == sorted(numbers)
    assert [(e.kind, e.at, e.subject, e.body) for e in found] == [
        (e.kind, e.at, e.subject, e.body) for e in happened
    ]
    assert events.last(conn) == max(numbers, default=0)


def test_a_follower_reads_on_from_where_it_was(conn):
    for subject in "abcd":
        events.append(conn, Event(kind="node.created", at=NOW, subject=subject))

    assert [event.subject for event in events.after(conn, 1, 2)] == ["b", "c"]
    assert events.after(conn, 4, 2) == []


def test_no_number_is_given_out_twice_when_all_events_are_old(conn):
    numbers = [
        events.append(conn, Event(kind="job.ran", at=NOW, subject=subject)) for subject in "ab"
    ]

    assert events.trim(conn, NOW + timedelta(days=1), 9) == 1

    assert [event.subject for event in events.after(conn, 0, 9)] == ["b"]
    assert events.last(conn) == numbers[-1]
    assert events.append(conn, Event(kind="job.ran", at=NOW, subject="c")) == numbers[-1] + 1


def test_a_new_follower_has_read_nothing(conn):
    assert cursors.get(conn, "reactions") == Cursor(seq=0, failed_seq=0, tries=0)


def test_tries_are_counted_for_one_event_and_forgotten_when_it_goes_well(conn):
    cursors.advance(conn, "reactions", 6)

    assert [cursors.fail(conn, "reactions", 7) for _ in range(3)] == [1, 2, 3]
    assert cursors.get(conn, "reactions") == Cursor(seq=6, failed_seq=7, tries=3)

    cursors.advance(conn, "reactions", 7)

    assert cursors.get(conn, "reactions") == Cursor(seq=7)
    assert cursors.fail(conn, "reactions", 8) == 1


def test_another_event_starts_its_own_count(conn):
    cursors.fail(conn, "reactions", 7)

    assert cursors.fail(conn, "reactions", 8) == 1


def test_a_job_that_runs_has_not_ended(conn):
    jobs.start(conn, "upkeep", NOW)

    assert jobs.everything(conn) == {
        "upkeep": JobRun(started_at=NOW, ended_at=None, error=None, runs=1)
    }


def test_a_job_forgets_the_fault_of_its_run_before(conn):
    later = NOW + timedelta(days=1)
    jobs.start(conn, "upkeep", NOW)
    jobs.end(conn, "upkeep", NOW, "no space")
    jobs.start(conn, "upkeep", later)
    jobs.end(conn, "upkeep", later, None)

    assert jobs.everything(conn) == {
        "upkeep": JobRun(started_at=later, ended_at=later, error=None, runs=2)
    }


def test_a_fault_is_kept_with_the_run(conn):
    jobs.start(conn, "sweep", NOW)
    jobs.end(conn, "sweep", NOW, "no space")

    assert jobs.everything(conn)["sweep"].error == "no space"


@given(texts, texts, texts)
def test_a_fact_is_what_was_put_last(key, first, last):
    conn = empty_store()
    assert meta.get(conn, key) is None

    meta.put(conn, key, first)
    meta.put(conn, key, last)

    assert meta.get(conn, key) == last


def _project(id, common_dir="/home/ada/shop/.git", **given):
    fields = {
        "id": id,
        "root": Path(common_dir).parent,
        "common_dir": Path(common_dir),
        "device": 2049,
        "inode": 2**60,
        "store": Path(common_dir).parent / ".yaad" / "yaad.db",
        "excluded": "/.yaad/\n",
        "added_at": NOW,
    }
    return Project(**fields | given)


def test_a_project_reads_as_it_was_registered(conn):
    projects.add(conn, _project("p1"))

    assert projects.get(conn, "p1") == _project("p1")
    assert projects.by_common_dir(conn, Path("/home/ada/shop/.git")) == _project("p1")
    assert projects.get(conn, "p2") is None


def test_a_common_directory_is_watched_as_one_project(conn):
    projects.add(conn, _project("p1"))

    with pytest.raises(apsw.ConstraintError):
        projects.add(conn, _project("p2"))


def test_removed_projects_are_not_watched_and_the_newest_one_may_come_back(conn):
    for day, name in enumerate(("p2", "p3", "p1")):
        projects.add(conn, _project(name, removed_at=NOW + timedelta(days=day)))

    assert projects.everything(conn) == []
    assert projects.by_common_dir(conn, Path("/home/ada/shop/.git")) is None
    found = projects.removed(conn, Path("/home/ada/shop/.git"))
    assert [project.id for project in found] == ["p1", "p3", "p2"]
    assert projects.removed(conn, Path("/elsewhere/.git")) == []


def test_watched_projects_are_listed_by_their_folder(conn):
    projects.add(conn, _project("p1", "/home/ada/shop/.git"))
    projects.add(conn, _project("p2", "/home/ada/blog/.git"))

    assert [project.id for project in projects.everything(conn)] == ["p2", "p1"]
    assert projects.read_through(conn) == 2


def test_a_project_that_moved_is_found_at_its_new_place(conn):
    projects.add(conn, _project("p1"))

    projects.replace(conn, _project("p1", "/home/ada/store/.git", removed_at=None))

    assert projects.by_common_dir(conn, Path("/home/ada/shop/.git")) is None
    assert projects.by_common_dir(conn, Path("/home/ada/store/.git")) == _project(
        "p1", "/home/ada/store/.git"
    )


def test_a_dropped_project_is_forgotten(conn):
    projects.add(conn, _project("p1"))

    projects.drop(conn, "p1")

    assert projects.get(conn, "p1") is None
