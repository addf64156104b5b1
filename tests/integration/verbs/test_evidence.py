"""Evidence strengthens: what held while its file was changed around it counts as looked at."""

from datetime import timedelta

import pytest
from verb_world import FIVE_TRIES, NET, RETRY, Tree, table

DAY = timedelta(days=1)
AROUND = NET.replace("x + 1", "x + 2")
AROUND_AGAIN = NET.replace("x + 1", "x + 3")


@pytest.fixture
def retry(repo, world):
    """A memory of yesterday, whose file was looked at since."""
    found = repo.remember()
    repo.check()
    world.clock.advance(DAY)
    return found


def confirmed(tree, memory):
    return tree.show(memory)["confirmed_at"]


def events_and_versions(tree):
    with tree.db() as db:
        return table(db, "events"), table(db, "node_versions")


def test_a_definition_that_holds_in_a_changed_file_makes_its_memory_young_again(repo, retry, world):
    before, sure = confirmed(repo, retry), repo.show(retry)["confidence"]
    repo.write("src/net.py", AROUND)

    repo.check()

    assert confirmed(repo, retry) >= before + DAY
    assert repo.show(retry)["confidence"] > sure
    assert repo.verdict(retry) == "fresh"


def test_it_leaves_no_version_and_no_event(repo, retry):
    before = events_and_versions(repo)
    version = repo.show(retry)["version"]
    repo.write("src/net.py", AROUND)

    repo.check()

    assert events_and_versions(repo) == before
    assert repo.show(retry)["version"] == version


def test_it_counts_once_a_day(repo, retry, world):
    repo.write("src/net.py", AROUND)
    repo.check()
    once = confirmed(repo, retry)

    repo.write("src/net.py", AROUND_AGAIN)
    repo.check()
    assert confirmed(repo, retry) == once

    world.clock.advance(DAY)
    repo.write("src/net.py", AROUND)
    repo.check()
    assert confirmed(repo, retry) > once


def test_looking_again_is_no_evidence(repo, retry, world):
    repo.write("src/net.py", AROUND)
    repo.check()
    once = confirmed(repo, retry)

    world.clock.advance(DAY)
    repo.check()
    (repo.path / "src/net.py").touch()
    repo.check()
    world.reopen()
    repo.check()

    assert confirmed(repo, retry) == once


def test_going_back_to_what_it_was_is_no_evidence(repo, retry, world):
    repo.write("src/net.py", AROUND)
    repo.check()
    once = confirmed(repo, retry)

    world.clock.advance(DAY)
    repo.write("src/net.py", NET)
    repo.check()

    assert confirmed(repo, retry) == once


def test_a_definition_that_changed_is_no_evidence_nor_is_one_that_moved(repo, retry):
    before = confirmed(repo, retry)
    repo.write("src/net.py", FIVE_TRIES)
    repo.check()
    repo.write("src/net.py", NET)
    repo.check()
    repo.move("src/net.py", "src/http.py")
    repo.check()

    assert confirmed(repo, retry) == before


def test_that_a_file_is_there_proves_nothing_about_it(repo, world):
    found = repo.remember("Notes are kept in notes.md, one a line")
    before = confirmed(repo, found)
    repo.check()
    world.clock.advance(DAY)

    repo.write("notes.md", "Notes.\nMore.\n")
    repo.check()

    assert confirmed(repo, found) == before


def test_one_place_that_holds_is_nothing_while_another_is_flagged(repo, world):
    repo.write("src/box.py", "def weigh():\n    return 1\n\n\ndef lift():\n    return 2\n")
    repo.commit("box")
    found = repo.remember("fetch_with_retry in src/net.py calls `weigh` of src/box.py")
    repo.check()
    before = confirmed(repo, found)
    world.clock.advance(DAY)

    repo.write("src/box.py", "def weigh():\n    return 1\n\n\ndef lift():\n    return 3\n")
    repo.write("src/net.py", FIVE_TRIES)
    repo.check()

    assert confirmed(repo, found) == before
    repo.write("src/net.py", NET)
    repo.check()
    assert confirmed(repo, found) == before  # seen before: the change in box.py told nothing


def test_what_rests_on_something_flagged_is_not_strengthened(repo, retry, world):
    repo.write("src/box.py", "def weigh():\n    return 1\n\n\ndef lift():\n    return 2\n")
    repo.commit("box")
    found = repo.remember("The box is weighed by `weigh` in src/box.py")
    repo.link(found, "depends_on", retry)
    repo.check()
    before = confirmed(repo, found)
    world.clock.advance(DAY)

    repo.write("src/net.py", FIVE_TRIES)
    repo.write("src/box.py", "def weigh():\n    return 1\n\n\ndef lift():\n    return 3\n")

    assert repo.flag_of(found)["via"] == [retry]
    assert confirmed(repo, found) == before


def test_a_flag_in_another_work_tree_stands_against_it(repo, retry, world):
    repo.git("worktree", "add", "-q", str(world.folder / "linked"), "-b", "side")
    linked = Tree(world, world.folder / "linked")
    linked.write("src/net.py", FIVE_TRIES)
    assert linked.verdict(retry) == "changed"
    before = confirmed(repo, retry)

    repo.write("src/net.py", AROUND)
    repo.check()

    assert confirmed(repo, retry) == before


def test_what_nothing_ever_looks_at_fades_while_what_holds_stays(repo, world):
    plain = repo.remember("The bug in the printer is old", kind="bug")
    held = repo.remember(RETRY, kind="bug")
    repo.check()
    for number in range(8):
        world.clock.advance(timedelta(days=15))
        repo.write("src/net.py", NET.replace("x + 1", f"x + {number + 2}"))
        repo.check()

    archived = [row["id"] for row in repo.upkeep()["archived"]]

    assert archived == [plain]
    assert repo.show(held)["archived_at"] is None


def test_where_git_has_lost_what_was_committed_it_is_not_known_whether_it_is_committed(repo):
    repo.commit("limits", {"src/limits.py": "MAX_RETRIES = 3\n"})
    repo.remember("The limit lives in `src/limits.py`; `MAX_RETRIES` is 3.")
    repo.commit("a comment", {"src/limits.py": "# of each call\nMAX_RETRIES = 3\n"})
    repo.write("src/limits.py", "MAX_RETRIES = 5\n")
    blob = repo.git("rev-parse", "HEAD:src/limits.py").strip()
    place = repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    lost = place.rename(repo.path / ".git" / "lost")

    (told,) = repo.stale()["stale"]

    assert told["uncommitted"] is None
    assert told["evidence"][0]["summary"].endswith(
        "is now 5 (whether it is committed is not known)"
    )

    lost.rename(place)
    (told,) = repo.stale()["stale"]

    assert told["uncommitted"] is True
    assert told["evidence"][0]["summary"].endswith("is now 5 (uncommitted)")


def test_commit_of_a_merged_branch_removed_nothing_that_it_never_had(repo):
    repo.git("switch", "-qc", "feat")
    repo.commit(
        "rows", {"src/rows.py": "def load_rows(a):\n    x = a + 1\n    return [x, x * 2]\n"}
    )
    memory = repo.remember("`load_rows` is in src/rows.py")
    repo.git("switch", "-q", "main")
    repo.commit("other rows", {"src/rows.py": "x = 1\n"})
    repo.git("merge", "-q", "-X", "ours", "--no-edit", "feat")

    found = repo.flag_of(memory)

    assert found["verdict"] == "gone"
    assert [row["commit"] for row in found["evidence"]] == [None]
