"""One memory at a time: what confirm, forget, restore and pin do to it, and to its flags."""

import threading
from datetime import timedelta

import pytest
from in_process import command
from refusals import refusal
from verb_world import FIVE_TRIES, NET, RETRY, Tree, dump, table

from yaadwatch.db import projects
from yaadwatch.memory import flags
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.queries import GivenEdge, GivenNode
from yaadwatch.remember import curate, history, inject, preparing


@pytest.fixture
def retry(repo):
    return repo.remember()


def events(tree):
    with tree.db() as db:
        return [row[1] for row in sorted(table(db, "events"))]


class TestConfirm:
    def test_a_confirmed_memory_rests_on_the_file_as_it_is(self, repo, retry):
        commit = repo.commit("five tries", {"src/net.py": FIVE_TRIES})
        assert repo.verdict(retry) == "changed"

        repo.confirm(retry)

        assert repo.verdict(retry) == "fresh"
        assert {row["commit"] for row in repo.show(retry)["anchors"]} == {commit}
        repo.git("checkout", "-q", "HEAD~1")
        assert repo.verdict(retry) == "changed"

    def test_the_flag_is_gone_at_once_without_a_check(self, repo, retry):
        repo.write("src/net.py", FIVE_TRIES)
        assert repo.verdict(retry) == "changed"

        repo.confirm(retry)

        assert repo.stale(check=False)["stale"] == []
        assert repo.show(retry)["stale"] is None

    @pytest.mark.parametrize("commit", [False, True])
    def test_it_follows_a_file_that_moved(self, repo, retry, commit):
        repo.move("src/net.py", "src/http.py")
        if commit:
            repo.commit("rename")
        assert repo.verdict(retry) == "moved"

        repo.confirm(retry, anyway=True)

        assert [row["path"] for row in repo.show(retry)["anchors"]] == ["src/http.py"] * 2
        assert repo.verdict(retry) == "fresh"
        repo.write("src/http.py", FIVE_TRIES)
        assert repo.verdict(retry) == "changed"

    def test_it_follows_a_definition_that_moved(self, repo, retry):
        start, end = NET.index("def fetch"), NET.index("def last")
        repo.write("src/net.py", NET[:start] + NET[end:])
        repo.write("src/retry.py", "import time\n\n\n" + NET[start:end])
        repo.commit("split")
        assert repo.verdict(retry) == "moved"

        repo.confirm(retry, anyway=True)

        assert ("src/retry.py", "fetch_with_retry") in [
            (row["path"], row.get("symbol")) for row in repo.show(retry)["anchors"]
        ]
        assert repo.verdict(retry) == "fresh"

    def test_what_is_gone_is_let_go(self, repo, retry):
        (repo.path / "src/net.py").unlink()
        assert repo.verdict(retry) == "gone"

        repo.confirm(retry, anyway=True)

        assert repo.show(retry)["anchors"] == []
        assert repo.verdict(retry) == "fresh"
        assert [edge["kind"] for edge in repo.show(retry)["edges"]] == ["learned_in"]

    def test_what_is_unknown_is_kept_as_it_was(self, repo, retry):
        """Nothing is known about it now, so nothing is let go."""
        repo.write("src/net.py", "def (\n")
        assert repo.verdict(retry) == "unknown"

        repo.confirm(retry)

        assert ("src/net.py", "fetch_with_retry") in [
            (row["path"], row.get("symbol")) for row in repo.show(retry)["anchors"]
        ]
        repo.write("src/net.py", FIVE_TRIES)
        assert repo.verdict(retry) == "changed"

    def test_files_that_were_given_are_kept(self, repo):
        memory = repo.remember("Be careful here", files=["src/net.py"], symbols=["other"])
        repo.write("src/net.py", NET.replace("x + 1", "x + 2"))
        assert repo.verdict(memory) == "changed"

        repo.confirm(memory)

        assert [(row["path"], row.get("symbol")) for row in repo.show(memory)["anchors"]] == [
            ("src/net.py", "other"),
            ("src/net.py", None),
        ]
        assert repo.verdict(memory) == "fresh"

    def test_its_age_starts_anew_and_its_version_grows(self, repo, retry, world):
        world.clock.advance(timedelta(days=30))
        aged = repo.show(retry)["confidence"]

        answer = repo.confirm(retry)

        assert aged < 1
        assert repo.show(retry)["confidence"] == 1
        assert repo.show(retry)["version"] == 2
        assert (answer["id"], answer["text"], answer["archived"]) == (retry, RETRY, False)

    def test_an_archived_memory_cannot_be_confirmed(self, repo, retry):
        repo.forget(retry)

        error = refusal(repo.confirm, retry)

        assert error.code is Code.REFUSED
        assert "yaadwatch restore" in error.hint

    def test_confirming_while_a_check_runs_is_not_undone_by_it(self, repo, retry, monkeypatch):
        """The check looked before the confirmation, and writes after it."""
        repo.write("src/net.py", FIVE_TRIES)

        confirm_before_writing(repo, retry, monkeypatch)

        assert repo.stale(check=False)["stale"] == []
        assert repo.verdict(retry) == "fresh"
        repo.write("src/net.py", NET)
        assert repo.verdict(retry) == "changed"


def confirm_before_writing(repo, memory, monkeypatch):
    before_writing(monkeypatch, lambda: repo.confirm(memory))
    repo.check()


def before_writing(monkeypatch, happens):
    """Let something happen once, between a check's look at the tree and its writing."""
    write = flags.write
    done = []

    def and_then_write(*arguments):
        if not done:
            done.append(True)
            happens()
        return write(*arguments)

    monkeypatch.setattr(flags, "write", and_then_write)


class TestRaces:
    """Things that happen while a check is between looking and writing."""

    def test_forgetting_is_not_undone(self, repo, retry, monkeypatch):
        repo.write("src/net.py", FIVE_TRIES)
        before_writing(monkeypatch, lambda: repo.forget(retry))

        repo.check()

        assert repo.stale(check=False)["stale"] == []
        with repo.db() as db:
            assert table(db, "stale_flags") == []

    def test_what_is_restored_meanwhile_is_judged_by_the_next_check(self, repo, retry, monkeypatch):
        repo.remember("Another memory of src/net.py")
        repo.forget(retry)
        repo.write("src/net.py", FIVE_TRIES)
        before_writing(monkeypatch, lambda: repo.restore(retry))

        repo.check()

        assert repo.verdict(retry) == "changed"

    def test_what_is_remembered_of_an_older_text_meanwhile_is_judged_by_the_next_check(
        self, repo, monkeypatch
    ):
        """Its file changes after it was read for the anchors, and a check sees the new text."""
        repo.remember("Another memory of src/net.py")
        prepare = preparing.prepare
        wrote, prepared = threading.Event(), threading.Event()

        def prepare_and_wait(*arguments):
            ready = prepare(*arguments)
            prepared.set()
            assert wrote.wait(20)
            return ready

        monkeypatch.setattr(preparing, "prepare", prepare_and_wait)
        memory = []
        thread = threading.Thread(target=lambda: memory.append(repo.remember()))
        thread.start()
        assert prepared.wait(20)
        repo.write("src/net.py", FIVE_TRIES)
        old_enough(repo)

        def let_it_be_stored():
            wrote.set()
            thread.join()

        before_writing(monkeypatch, let_it_be_stored)
        repo.check()

        assert repo.verdict(memory[0]) == "changed"

    def test_a_file_that_changes_meanwhile_is_judged_by_the_next_check(
        self, repo, retry, monkeypatch
    ):
        repo.write("src/net.py", FIVE_TRIES)
        before_writing(monkeypatch, lambda: repo.write("src/net.py", NET))

        repo.check()

        assert repo.verdict(retry) == "fresh"

    def test_a_head_that_moves_meanwhile_is_noticed_by_the_next_check(
        self, repo, retry, monkeypatch
    ):
        repo.write("src/net.py", FIVE_TRIES)
        before_writing(monkeypatch, lambda: repo.commit("five tries"))

        repo.check()

        assert not repo.flag_of(retry)["uncommitted"]

    def test_a_store_that_is_removed_meanwhile_is_one_clear_error(self, repo, retry, monkeypatch):
        repo.write("src/net.py", FIVE_TRIES)
        before_writing(monkeypatch, lambda: repo.remove() and None)

        error = refusal(repo.check)

        assert error.code is Code.UNAVAILABLE
        repo.add(adopt=True)
        assert retry in [row["id"] for row in repo.stale()["stale"]]

    def test_a_work_tree_that_is_forgotten_meanwhile_is_one_clear_error(
        self, repo, retry, monkeypatch
    ):
        repo.write("src/net.py", FIVE_TRIES)

        def drop():
            with repo.db() as db:
                db.write(projects.drop_worktree, repo.worktrees()[0].id)

        before_writing(monkeypatch, drop)

        assert refusal(repo.check).code is Code.NOT_FOUND
        assert repo.verdict(retry) == "changed"

    def test_two_confirmations_at_once_both_hold_or_one_says_so(self, repo, retry):
        repo.write("src/net.py", FIVE_TRIES)
        failures = []

        def confirm():
            try:
                repo.confirm(retry)
            except YaadError as error:
                failures.append(error)

        threads = [threading.Thread(target=confirm) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert {error.code for error in failures} <= {Code.CONFLICT}
        assert repo.show(retry)["version"] == 1 + 8 - len(failures)
        assert repo.verdict(retry) == "fresh"


def old_enough(tree):
    """Make src/net.py look as if it had been written a while ago, so that it is believed."""
    import os

    path = tree.path / "src/net.py"
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns - 10_000_000_000))
    tree.world.clock.advance(timedelta(seconds=5))


class TestForget:
    def test_a_forgotten_memory_is_flagged_no_more(self, repo, retry):
        repo.write("src/net.py", FIVE_TRIES)
        assert repo.verdict(retry) == "changed"

        answer = repo.forget(retry, reason="wrong")

        assert answer["archived"]
        assert answer["undo"] == f"yaadwatch restore {retry[-8:]}"
        assert repo.stale(check=False)["stale"] == []
        assert repo.verdict(retry) == "fresh"
        shown = repo.show(retry)
        assert shown["archive_reason"] == "wrong"
        assert shown["archived_at"] is not None

    def test_forgetting_twice_is_forgetting_once(self, repo, retry):
        repo.forget(retry, reason="wrong")
        before = events(repo)

        again = repo.forget(retry, reason="other")

        assert events(repo) == before
        assert again["undo"] is None
        assert repo.show(retry)["archive_reason"] == "wrong"

    def test_what_a_file_says_is_forgotten_by_deleting_it_there(self, repo):
        repo.write("CLAUDE.md", "- One\n- See src/net.py\n")
        repo.add()
        with repo.db() as db:
            memory = next(row[1] for row in table(db, "nodes") if row[5] == "See src/net.py")

        error = refusal(repo.forget, memory)

        assert error.code is Code.REFUSED
        assert error.message == "CLAUDE.md (line 2) still says this; it was not forgotten."
        assert error.hint == (
            f"Delete it there, and it is forgotten here by itself: {repo.path / 'CLAUDE.md'}"
        )
        repo.write("CLAUDE.md", "- One\n")
        repo.add()
        assert repo.forget(memory)["archived"]

    def test_a_memory_that_another_work_tree_says_names_that_place(self, repo):
        repo.commit("rules", {"CLAUDE.md": "- See src/net.py\n"})
        repo.git("worktree", "add", "-q", str(repo.path.parent / "linked"), "-b", "topic")
        linked = Tree(repo.world, repo.path.parent / "linked")
        linked.add()
        repo.add()
        repo.write("CLAUDE.md", "")
        repo.add()
        with repo.db() as db:
            memory = next(row[1] for row in table(db, "nodes") if row[5] == "See src/net.py")

        error = refusal(repo.forget, memory)

        assert f"{linked.path}" in error.message + error.hint

    def test_restoring_brings_it_back_and_the_next_check_judges_it(self, repo, retry):
        repo.forget(retry)
        repo.commit("five tries", {"src/net.py": FIVE_TRIES})
        assert repo.verdict(retry) == "fresh"

        answer = repo.restore(retry)

        assert not answer["archived"]
        assert answer["undo"] == f"yaadwatch forget {retry[-8:]}"
        assert repo.verdict(retry) == "changed"
        assert [row["change"] for row in repo.show(retry)["versions"]] == [
            "created",
            "archived",
            "restored",
        ]

    def test_restoring_a_living_memory_changes_nothing(self, repo, retry):
        before = events(repo)

        answer = repo.restore(retry)

        assert answer["undo"] is None
        assert events(repo) == before

    def test_restoring_beside_a_living_twin_is_a_conflict(self, repo, retry):
        repo.forget(retry)
        twin = repo.remember()

        error = refusal(repo.restore, retry)

        assert error.code is Code.CONFLICT
        assert twin[-8:] in error.message

    def test_a_restored_memory_has_lost_no_tag_pin_or_anchor(self, repo):
        memory = repo.remember(tags=["net"], pin=True)
        before = repo.show(memory)
        repo.forget(memory)
        repo.restore(memory)
        after = repo.show(memory)

        for key in ("tags", "pinned", "anchors", "text", "kind", "tier", "edges"):
            assert after[key] == before[key]


class TestTag:
    def test_what_was_masked_in_a_tag_is_said(self, repo, retry):
        token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

        answer = curate.tag(repo.home, repo.call, id=retry, add=["net", token])

        assert answer["tags"] == ["net", "[masked:github-token]"]
        assert answer["masked"] == ["github-token"]
        assert curate.tag(repo.home, repo.call, id=retry, remove=["net"])["masked"] == []


class TestPin:
    def test_pinning_twice_is_pinning_once_and_can_be_undone(self, repo, retry):
        answer = repo.pin(retry)
        before = events(repo)
        again = repo.pin(retry)

        assert answer["pinned"]
        assert answer["undo"] == f"yaadwatch unpin {retry[-8:]}"
        assert again["undo"] is None
        assert events(repo) == before
        assert repo.unpin(retry)["undo"] == f"yaadwatch pin {retry[-8:]}"
        assert not repo.show(retry)["pinned"]

    def test_a_pin_leaves_flags_and_anchors_alone(self, repo, retry):
        repo.write("src/net.py", FIVE_TRIES)
        assert repo.verdict(retry) == "changed"

        repo.pin(retry)

        assert [row["id"] for row in repo.stale(check=False)["stale"]] == [retry]
        assert repo.verdict(retry) == "changed"

    @pytest.mark.parametrize("verb", ["pin", "unpin"])
    def test_an_archived_memory_is_not_pinned(self, repo, retry, verb):
        repo.forget(retry)

        error = refusal(getattr(repo, verb), retry)

        assert error.code is Code.REFUSED
        assert "archived" in error.message


class TestNaming:
    """How people name a memory."""

    def test_a_unique_beginning_or_end_of_four_characters_is_enough(self, repo, retry):
        assert repo.show(retry[-8:])["id"] == retry
        assert repo.show(retry[-4:])["id"] == retry
        assert repo.show(retry[:13])["id"] == repo.show(retry[-8:].upper())["id"] == retry

    @pytest.mark.parametrize("end", [1, 3])
    def test_less_than_four_characters_of_an_id_are_too_few(self, repo, retry, end):
        for given in (retry[:end], retry[-end:]):
            error = refusal(repo.show, given)

            assert error.code is Code.BAD_REQUEST
            assert "at least 4 characters" in error.hint

    @pytest.mark.parametrize(
        "given",
        [
            "g",
            "zz",
            "zzz",
            "zzzz",
            "%%%%",
            "____",
            "0000-nothing",
            "' OR 1=1 --",
            "été!",
        ],
    )
    def test_what_names_nothing_is_not_found(self, repo, retry, given):
        error = refusal(repo.show, given)

        assert error.code is Code.NOT_FOUND
        assert error.hint
        assert len(error.message) < 300

    def test_what_names_several_lists_them(self, repo, retry):
        others = [repo.remember(f"Memory number {number}") for number in range(3)]

        error = refusal(repo.forget, retry[:6])

        assert error.code is Code.CONFLICT
        assert f"{others[0][-8:]} (Memory number 0)" in error.message
        assert "4 memories" in error.message

    def test_the_things_that_memories_touch_are_not_memories(self, repo, retry):
        """Their ids begin like those of the memories made with them."""
        with repo.db() as db:
            things = [row[1] for row in table(db, "nodes") if row[2] in ("file", "entity")]
        assert len(things) == 2

        for thing in things:
            assert refusal(repo.forget, thing).code is Code.NOT_FOUND
            assert refusal(repo.pin, thing[-8:]).code is Code.NOT_FOUND
        assert repo.show(retry[:9])["id"] == retry


class TestShow:
    def test_everything_about_a_memory_is_shown(self, repo, retry):
        repo.commit("five tries", {"src/net.py": FIVE_TRIES})
        repo.check()

        shown = repo.show(retry)

        assert shown["stale"]["verdict"] == "changed"
        assert shown["stale"]["evidence"][0]["commit"]["subject"] == "five tries"
        assert {row["text"] for row in shown["edges"] if row["kind"] == "touches"} == {
            "src/net.py",
            "fetch_with_retry (src/net.py)",
        }
        assert shown["created_at"] == shown["confirmed_at"] == shown["updated_at"]
        assert 0 <= shown["confidence"] <= 1

    def test_looking_changes_nothing(self, repo, retry):
        with repo.db() as db:
            before = dump(db)
        repo.show(retry)
        repo.stale(check=False)
        with repo.db() as db:
            assert dump(db) == before


def test_of_a_memory_with_very_many_relations_some_are_told_and_how_many_more(repo):
    """Of a hub the answer was larger than any answer may be, so nothing was told."""
    many = [GivenNode(id=f"m{n}", text=f"Memory {n} " + "x" * 2000) for n in range(300)]
    hub = GivenNode(id="hub", text="The hub of all")
    links = [GivenEdge(from_=one.id, kind="relates_to", to="hub") for one in many]
    own = [GivenEdge(from_="hub", kind="depends_on", to="m7")]
    inject.inject(repo.home, repo.call, nodes=[hub, *many], edges=[*own, *links])
    repo.forget("m299")

    shown = repo.show("hub")

    assert (len(shown["edges"]), shown["edges_more"]) == (200, 101)
    assert next((one["kind"], one["to"]) for one in shown["edges"]) == ("depends_on", "m7")
    assert {one["from"]: one["archived"] for one in shown["edges"]}["m299"] is True
    assert sum(one["archived"] for one in shown["edges"]) == 1
    assert len(shown["edges"][-1]["text"]) <= 160
    told = command(repo, "show", "hub").out
    assert "and 101 more: yaadwatch traverse hub" in told
    assert "(archived)" in told


def test_of_very_many_or_very_long_versions_the_newest_are_told(repo):
    memory = repo.remember("The first words")
    for number in range(8):
        repo.edit(memory, f"{number} " + "long " * 12_000)
    for _ in range(120):
        repo.confirm(memory)

    shown = repo.show(memory)
    told = history.history(repo.home, repo.call, id=memory)

    assert len(shown["versions"]) + shown["versions_more"] == 129
    assert 1 <= len(shown["versions"]) < 10
    assert shown["versions"][-1]["version"] == 129
    assert len(told["versions"]) + told["more"] == 129
    assert sum(len(one["text"]) for one in told["versions"]) <= 500_000
