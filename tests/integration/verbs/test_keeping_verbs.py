"""verify, compact, backup, trim: a store stays whole, and what is not is found."""

import stat
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest
from refusals import refusal
from verb_world import prepared

from yaadwatch import places
from yaadwatch.db import history, nodes
from yaadwatch.db.database import Database
from yaadwatch.model import settings
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import Settings
from yaadwatch.projects import exporting, projects, verifying

DAY = timedelta(days=1)


def verify(repo, **given):
    return verifying.verify(repo.home, repo.call, **given)


def backup(repo, **given):
    return exporting.backup(repo.home, repo.call, **given)


def found(repo):
    return {one["check"] for one in verify(repo)["findings"]}


def change(repo, *statements, foreign_keys=True):
    """Damage a store behind the back of the program."""
    with repo.db() as db, closing(apsw.Connection(str(db.path))) as conn:
        conn.pragma("foreign_keys", int(foreign_keys))
        for sql in statements:
            conn.execute(sql)


@prepared
def full(world):
    """A store with something in every table that is looked at."""
    repo = world.watched()
    first = repo.remember()
    second = repo.remember("Deploys go through `make ship`", tags=["deploy"])
    repo.link(first, "led_to", second)
    repo.link(second, "depends_on", first)
    repo.unlink(second, "depends_on", first)
    repo.forget(repo.remember("The staging server is called otter"))
    return repo


# verify


def test_a_store_that_is_used_as_it_should_be_is_whole(full):
    answer = verify(full)

    assert answer["findings"] == []
    assert answer["sound"] is True
    assert verify(full, user=True)["sound"] is True


DAMAGE = {
    "references": "DELETE FROM nodes WHERE kind = 'file'",
    "index": "DELETE FROM nodes_fts",
    "vectors": """INSERT INTO embeddings (space, node, hash, vector)
                  SELECT 'x', num, zeroblob(8), zeroblob(8) FROM nodes
                   WHERE archived_ms IS NULL AND kind = 'command' OR text LIKE 'Deploys%'""",
}


@pytest.mark.parametrize("check", DAMAGE)
def test_what_is_wrong_is_found_and_told_with_what_mends_it(full, check):
    change(full, DAMAGE[check], foreign_keys=False)

    answer = verify(full)

    assert answer["sound"] is False
    named = {one["check"] for one in answer["findings"]}
    assert check in named
    assert named <= {check, "anchors", "index"} if check == "references" else named == {check}
    assert all(one["mend"] for one in answer["findings"])


def test_there_is_a_test_of_every_check():
    covered = {*DAMAGE, "integrity", "permissions"}
    covered |= {"rows", "memories"}  # tests/integration/verbs/test_damaged_rows.py

    assert covered == {name for name, _ in verifying.CHECKS}


def test_a_damaged_index_of_a_table_is_found(full):
    full.world.reopen()
    with closing(apsw.Connection(str(full.store))) as conn:
        conn.pragma("journal_mode", "delete")  # nothing is in a log any more
        page = conn.execute("SELECT max(pageno) FROM dbstat WHERE name = 'edges_by_end'").get
        size = conn.pragma("page_size")
    with full.store.open("r+b") as stream:
        stream.seek(page * size - 8)
        stream.write(b"\xa5" * 8)

    answer = verify(full)

    assert answer["findings"][0]["check"] == "integrity"
    assert "add --restore" in answer["findings"][0]["mend"]


def test_files_that_others_can_read_are_found(full):
    with full.db() as db:
        db.path.parent.chmod(0o755)

    assert found(full) == {"permissions"}


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM nodes_fts",
        "INSERT INTO nodes_fts (rowid, text) VALUES (4711, 'left behind')",
        "UPDATE nodes SET text = text || ' otherwise' WHERE kind NOT IN ('file', 'entity')",
    ],
    ids=["words are missing", "words are left", "other words"],
)
def test_the_index_is_made_anew_when_asked_and_only_then(full, sql):
    change(full, sql)
    with full.db() as db:
        before = db.read(history.last), db.path.read_bytes()

    assert found(full) - {"memories"} == {"index"}  # they have other words, too
    assert "--repair" in verify(full)["findings"][0]["mend"]
    with full.db() as db:
        assert (db.read(history.last), db.path.read_bytes()) == before

    answer = verify(full, repair=True)

    assert answer["findings"] == []
    assert answer["repaired"]
    assert verify(full)["sound"] is True


def test_vectors_of_other_words_go_when_asked_and_are_made_again_later(full):
    change(full, DAMAGE["vectors"])

    answer = verify(full, repair=True)

    assert answer["sound"] is True
    with full.db() as db:
        assert db.read(lambda conn: conn.execute("SELECT count(*) FROM embeddings").get) == 0


# compact


def test_compact_gives_back_the_room_of_what_was_deleted(full):
    filler = [full.remember(f"Filler number {number} " + "word " * 400) for number in range(60)]
    with full.db() as db:
        db.write(nodes.erase, filler)
        before = db.read(lambda conn: conn.execute("SELECT id, num FROM nodes").fetchall())

    answer = exporting.compact(full.home, full.call)

    assert answer["after"] < answer["before"] / 2
    assert verify(full)["sound"] is True
    with full.db() as db:
        assert db.read(lambda conn: conn.execute("SELECT id, num FROM nodes").fetchall()) == before
        assert db.path.with_name("yaad.db-wal").stat().st_size == 0


# backup


def test_a_backup_is_the_store_for_us_alone_and_dated(full):
    answer = backup(full)

    path = places.backups(answer["path"].split("/")[-2]) / answer["path"].split("/")[-1]
    assert answer["made"] is True
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    with closing(Database.open(path, role="project")) as copy, full.db() as db:
        assert copy.read(nodes.count) == db.read(nodes.count) == 2


def test_seven_are_kept_and_a_day_without_a_change_makes_none(full):
    paths = []
    for number in range(10):
        full.world.clock.advance(DAY)
        full.remember(f"Rule number {number} is about nothing")
        paths.append(backup(full)["path"])
    full.world.clock.advance(DAY)

    answer = backup(full)

    assert answer["made"] is False
    assert answer["path"] == paths[-1]
    assert [one["path"] for one in answer["kept"]] == paths[:2:-1]


def test_many_copies_of_one_day_leave_those_of_days_before(full):
    """Ten by hand, one after another, left nothing of the days before."""
    for number in range(6):
        full.remember(f"Note {number}")
        backup(full)
        _age(full, 1)

    for number in range(10):
        full.remember(f"Another note {number}")
        answer = backup(full)

    days = Counter(Path(one["path"]).name[:8] for one in answer["kept"])
    assert sorted(days.values()) == [1, 1, 1, 1, 3]
    assert answer["kept"][0]["path"] == answer["path"]


def test_copies_of_one_day_alone_are_seven(full):
    for number in range(9):
        full.remember(f"Note {number}")
        answer = backup(full)

    assert len(answer["kept"]) == 7


def test_a_clock_that_went_back_takes_no_place_from_a_newer_backup(full):
    backup(full)
    full.remember("Later in the order, earlier by the clock")
    full.world.clock.advance(-9 * DAY)

    newest = backup(full)

    assert newest["made"] is True
    assert newest["kept"][0]["path"] == newest["path"]


def test_the_job_copies_every_store_and_the_users_own(full):
    other = full.world.repo("other")
    other.add()
    other.remember("Something about the other one")

    exporting.back_up_all(full.home)

    folders = sorted(one.name for one in (places.data_folder() / "backups").iterdir())
    assert len(folders) == 3
    assert "user" in folders


def test_a_store_that_cannot_be_had_keeps_no_other_from_its_backup(full):
    other = full.world.repo("other")
    other.add()
    full.world.reopen()
    full.store.write_bytes(b"no database any more " * 500)

    with pytest.raises(YaadError, match="not backed up") as caught:
        exporting.back_up_all(full.home)

    assert caught.value.code is Code.UNAVAILABLE
    with other.home.space(other.call) as space:
        assert list(places.backups(space.project.id).glob("*.db"))


# trim


def _age(repo, days):
    repo.world.clock.advance(timedelta(days=days))


def test_old_events_go(full):
    with full.db() as db:
        last = db.read(history.last)
    _age(full, 91)
    new = full.remember("Said much later than the others")

    exporting.trim_all(full.home)

    with full.db() as db:
        left = db.read(history.after, 0, 100)
        assert left[0].seq > last
        assert left[-1].subject == new
        assert db.read(history.last) > last


def test_events_that_are_not_old_stay(full):
    with full.db() as db:
        before = db.read(history.after, 0, 1000)
    _age(full, 89)

    exporting.trim_all(full.home)

    with full.db() as db:
        assert db.read(history.after, 0, 1000) == before


def test_how_long_events_are_kept_is_a_setting(world):
    world.settings = Settings(store=settings.Store(events_days=2))
    world.reopen()
    repo = world.repo()
    repo.add()
    repo.remember()
    with repo.db() as db:
        last = db.read(history.last)
    _age(repo, 3)

    exporting.trim_all(repo.home)

    with repo.db() as db:  # the number of the next one follows from the last one
        assert [event.seq for event in db.read(history.after, 0, 10)] == [last]


# the budget


def test_at_its_budget_the_users_own_store_is_told_of_too(world):
    world.settings = Settings(store=settings.Store(budget_mib=1))
    world.reopen()
    repo = world.repo()
    repo.add()
    assert projects.status(repo.home, repo.call)["problems"] == []

    def fill():
        for number in range(200):
            repo.remember(f"Note {number}: " + "word " * 3000, scope="user")

    error = refusal(fill)

    problems = projects.status(repo.home, repo.call)["problems"]
    assert [one["what"] for one in problems] == [
        "Your own store has reached its budget (store.budget_mib), and nothing is added to it"
    ]
    assert problems[0]["mend"].endswith("yaadwatch compact --user")
    assert "yaadwatch compact --user" in error.hint


def test_at_its_budget_a_store_takes_nothing_new_and_the_rest_goes_on(world):
    world.settings = Settings(store=settings.Store(budget_mib=1))
    world.reopen()
    repo = world.repo()
    repo.add()
    first = repo.remember()

    def fill():
        for number in range(200):
            repo.remember(f"Note {number}: " + "word " * 3000)

    error = refusal(fill)

    assert error.code is Code.TOO_LARGE
    assert "budget of 1 MiB" in error.message
    assert "store.budget_mib" in error.hint
    kept = repo.memories()
    assert repo.show(first)["id"] == first
    repo.confirm(first)
    repo.forget(first)
    assert len(repo.memories()) == len(kept) - 1
    problems = projects.status(repo.home, repo.call)["problems"]
    assert ["has reached its budget" in one["what"] for one in problems] == [True]
    assert "yaadwatch compact" in problems[0]["mend"]


def test_status_names_the_size_of_a_store_without_a_budget(world):
    world.settings = Settings(store=settings.Store(budget_mib=0))
    world.reopen()
    repo = world.repo()
    repo.add()
    repo.remember()

    size = projects.status(repo.home, repo.call)["projects"][0]["size"]

    assert size["budget_bytes"] is None
    assert size["bytes"] > 100_000


def test_a_store_that_is_nearly_full_is_a_problem_before_it_is(world):
    world.settings = Settings(store=settings.Store(budget_mib=2))
    world.reopen()
    repo = world.repo()
    repo.add()
    for number in range(200):
        repo.remember(f"Note {number}: " + "word " * 3000)
        problems = projects.status(repo.home, repo.call)["problems"]
        if problems:
            break

    assert ["% of its budget" in one["what"] for one in problems] == [True]
