"""A check after a hint: it looks where the hint points, and leaves nothing for ever unseen."""

from datetime import timedelta

import pytest
from verb_world import FIVE_TRIES, NET, table


@pytest.fixture(autouse=True)
def _old_files(world):
    """Let files be believed at once: they were written well before the clock's now."""
    world.clock.advance(timedelta(seconds=10))


def test_a_hint_about_a_file_judges_its_memories(repo):
    memory = repo.remember()
    repo.check()
    repo.write("src/net.py", FIVE_TRIES)

    checked = repo.check_tree(frozenset({"src/net.py"}))

    assert (checked.judged, checked.raised, checked.cleared) == (1, 1, 0)
    assert [row["id"] for row in repo.stale(check=False)["stale"]] == [memory]
    repo.write("src/net.py", NET)
    assert repo.check_tree(frozenset({"src/net.py"})).cleared == 1


def test_a_hint_about_another_file_looks_at_nothing_else(repo):
    repo.remember()
    repo.check()
    repo.write("src/net.py", FIVE_TRIES)

    checked = repo.check_tree(frozenset({"notes.md"}))

    assert (checked.judged, checked.raised) == (0, 0)
    assert repo.check_tree().raised == 1


def test_a_file_that_was_read_for_another_memory_is_not_taken_for_judged(repo):
    """The hint about it was lost; a later check of everything must find it."""
    moved = repo.remember()
    repo.move("src/net.py", "src/http.py")
    repo.check()
    other = repo.remember("Adding one is done by `other` in src/http.py")
    repo.check()
    repo.write("src/http.py", NET.replace("x + 1", "x + 2"))

    repo.check_tree(frozenset({"src/net.py"}))

    assert repo.verdict(other) == "changed"
    assert repo.verdict(moved) == "moved"


def test_a_hint_about_the_new_place_of_a_moved_file_is_one_about_the_memory(repo):
    memory = repo.remember()
    repo.commit("rename", moved={"src/net.py": "src/http.py"})
    assert "changed" not in repo.flag_of(memory)["reason"]
    repo.write("src/http.py", FIVE_TRIES)

    repo.check_tree(frozenset({"src/http.py"}))

    (row,) = repo.stale(check=False)["stale"]
    assert "changed" in row["reason"]
    (repo.path / "src/http.py").unlink()
    repo.check_tree(frozenset({"src/http.py"}))
    assert repo.stale(check=False)["stale"][0]["verdict"] == "gone"


def test_any_hint_after_head_moved_checks_everything(repo):
    memory = repo.remember()
    repo.check()
    repo.commit("five tries", {"src/net.py": FIVE_TRIES})

    repo.check_tree(frozenset({"notes.md"}))

    assert [row["id"] for row in repo.stale(check=False)["stale"]] == [memory]
    with repo.db() as db:
        assert [row[1] for row in sorted(table(db, "events"))][-2:] == [
            "stale.raised",
            "head.moved",
        ]


@pytest.mark.parametrize(
    "path", ["", "/", "..", "../x", ".git/HEAD", ".yaad/yaad.db", "a\nb", "x" * 5000, "ü/é", "src"]
)
def test_odd_hints_do_no_harm(repo, path):
    repo.remember()

    checked = repo.check_tree(frozenset({path}))

    assert (checked.raised, checked.cleared) == (0, 0)


def test_a_check_of_what_nobody_touched_writes_next_to_nothing(repo):
    repo.remember()
    repo.check()
    with repo.db() as db:
        before = {name: table(db, name) for name in ("events", "stale_flags", "sightings", "nodes")}

    repo.check()
    repo.check_tree(frozenset({"src/net.py"}))

    with repo.db() as db:
        assert {name: table(db, name) for name in before} == before


def test_only_a_check_of_everything_counts_as_the_last_check(repo, world):
    repo.remember()
    repo.check()
    first = repo.worktrees()[0].checked_at
    world.clock.advance(timedelta(minutes=1))

    repo.check_tree(frozenset({"src/net.py"}))
    assert repo.worktrees()[0].checked_at == first
    repo.check()
    assert repo.worktrees()[0].checked_at > first


def test_what_nobody_remembers_any_more_is_not_kept_in_sight(repo):
    memory = repo.remember()
    repo.remember("Ideas are in notes.md")
    repo.check()
    with repo.db() as db:
        assert {row[1] for row in table(db, "sightings")} == {"src/net.py", "notes.md"}

    repo.forget(memory)
    repo.check()

    with repo.db() as db:
        assert {row[1] for row in table(db, "sightings")} == {"notes.md"}


def test_since_is_when_this_verdict_was_first_reached(repo, world):
    memory = repo.remember()
    repo.write("src/net.py", FIVE_TRIES)
    since = repo.flag_of(memory)["since"]

    world.clock.advance(timedelta(hours=1))
    repo.commit("five tries")
    assert repo.flag_of(memory)["since"] == since
    (repo.path / "src/net.py").unlink()
    assert repo.flag_of(memory)["since"] > since


FOLDER, PATTERN = "Everything that retries is in `src/`", "Settings are in `*.toml`"


@pytest.fixture
def resting(repo, world):
    """Memories of a folder and of a pattern, judged."""
    repo.commit("settings", {"app.toml": "a = 1\n"})
    world.clock.advance(timedelta(seconds=10))
    ids = [repo.remember(FOLDER), repo.remember(PATTERN)]
    assert repo.check_tree().judged == 2
    return ids


def test_a_folder_that_still_stands_is_not_judged_again(repo, resting):
    assert repo.check_tree().judged == 0
    repo.write("src/net.py", FIVE_TRIES)
    repo.write("src/more.py", NET)
    repo.write("other.toml", "a = 2\n")
    assert repo.check_tree().judged == 0
    assert repo.check_tree(frozenset({"src/net.py", "src/more.py", "other.toml"})).judged == 0
    repo.commit("five tries")
    assert repo.check_tree().judged == 2


@pytest.mark.parametrize("hint", [None, frozenset({"src/net.py", "app.toml"})])
def test_a_folder_that_goes_and_comes_back_is_seen_each_time(repo, resting, hint):
    for _ in range(2):
        (repo.path / "src").rename(repo.path / ".git/aside")
        (repo.path / "app.toml").unlink()
        assert repo.check_tree(hint).raised == 2
        (repo.path / ".git/aside").rename(repo.path / "src")
        assert repo.check_tree(hint).cleared == 1
        repo.write("app.toml", "a = 1\n")
        assert repo.check_tree(hint).cleared == 1
    assert repo.check_tree().judged == 0


@pytest.mark.parametrize("place", ["src/", "src/*.py"])
def test_what_was_judged_for_another_file_while_its_folder_was_away_is_judged_again(
    repo, resting, place
):
    """No hint about the folder came in between, so that it is only known to have stood."""
    memory = repo.remember(f"What is in `{place}` is told in notes.md")
    repo.check_tree()
    (repo.path / "src").rename(repo.path / ".git/aside")
    repo.write("notes.md", "other ideas\n")
    repo.check_tree(frozenset({"notes.md"}))
    assert [row["id"] for row in repo.stale(check=False, all=True)["stale"]] == [memory]
    (repo.path / ".git/aside").rename(repo.path / "src")
    assert repo.check_tree(frozenset({"src/net.py"})).cleared == 1


def test_what_comes_back_beside_what_stood_all_the_time_is_judged(repo, resting):
    """Two patterns of one place: that one of them stands says nothing of the other."""
    repo.commit("more settings", {"app.cfg": "[a]\n"})
    both = repo.remember("Older settings are in `*.cfg`")
    repo.check()
    (repo.path / "app.cfg").unlink()
    assert repo.check_tree().raised == 1
    repo.write("app.cfg", "[a]\n")
    assert repo.check_tree().cleared == 1
    assert repo.verdict(both) == "fresh"


def test_a_file_in_place_of_a_folder_is_told(repo, resting):
    (repo.path / "src").rename(repo.path / ".git/aside")
    repo.write("src", "no folder\n")
    repo.check_tree()
    assert repo.verdict(resting[0]) != "fresh"
