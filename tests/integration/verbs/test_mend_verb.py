"""A memory is made true again: new words, or the place that a flag proposes."""

import shlex

import pytest
from refusals import refusal
from verb_world import FIVE_TRIES, NET, RETRY, Tree, dump, table

from yaadwatch.model.errors import Code
from yaadwatch.remember import history, preparing
from yaadwatch.sessions import sessions

LAST = "`last` in src/net.py takes one away"
HTTP = RETRY.replace("src/net.py", "src/http.py")

LOOKS = {"worktrees", "sightings"}
"""Tables in which every check notes what it saw, and when."""


@pytest.fixture
def retry(repo):
    return repo.remember()


def related(tree, id):
    """The edges of a memory, but that to the session it was learned in."""
    return [row for row in tree.show(id)["edges"] if row["kind"] != "learned_in"]


def places(answer):
    return {(anchor["path"], anchor.get("symbol")) for anchor in answer["anchors"]}


def recalled(tree, words):
    from yaadwatch.recall import recall

    found = recall.recall(tree.home, tree.call, query=words)["results"]
    return [row["id"] for row in found]


class TestUpdate:
    def test_the_same_memory_has_new_words_and_a_version_more(self, repo, retry):
        answer = repo.edit(retry[-8:], f"  {LAST}\n")

        shown = repo.show(retry)
        assert (answer["id"], answer["text"], answer["version"]) == (retry, LAST, 2)
        assert (shown["text"], shown["version"]) == (LAST, 2)
        assert [(row["version"], row["change"], row["text"]) for row in shown["versions"]] == [
            (1, "created", RETRY),
            (2, "edited", LAST),
        ]
        assert repo.memories() == [LAST]

    def test_it_rests_on_what_the_new_words_name(self, repo):
        retry = repo.remember(symbols=[])

        answer = repo.edit(retry, LAST)

        assert places(answer) == {("src/net.py", "last"), ("src/net.py", None)}
        repo.write("src/net.py", FIVE_TRIES)
        assert repo.verdict(retry) == "fresh"
        repo.write("src/net.py", NET.replace("x - 1", "x - 2"))
        assert repo.verdict(retry) == "changed"

    def test_what_the_caller_gave_stays_and_what_the_old_words_named_goes(self, repo):
        found = repo.remember(RETRY, files=["notes.md"], symbols=[])

        answer = repo.edit(found, "Notes are short")

        assert places(answer) == {("notes.md", None)}
        assert [row["text"] for row in related(repo, found)] == ["notes.md"]

    def test_its_flag_goes_and_it_is_found_by_the_new_words_alone(self, repo, retry):
        repo.write("src/net.py", FIVE_TRIES)
        assert repo.flag_of(retry)

        repo.edit(retry, "Five attempts, says fetch_with_retry in src/net.py")

        assert repo.stale(check=False)["stale"] == []
        assert repo.flag_of(retry) is None
        assert recalled(repo, "attempts") == [retry]
        assert recalled(repo, "limit") == []

    def test_its_age_starts_anew(self, repo, retry):
        before = repo.show(retry)["confirmed_at"]

        repo.edit(retry, LAST)

        assert repo.show(retry)["confirmed_at"] > before

    def test_undo_is_a_command_that_brings_the_old_words_back(self, repo, retry):
        answer = repo.edit(retry, "It's $HOME and `last`, in src/net.py")

        command, verb, identity, words = shlex.split(answer["undo"])
        assert (command, verb) == ("yaadwatch", "edit")
        assert repo.edit(identity, words)["text"] == RETRY

    @pytest.mark.parametrize("words", ["Retry twice.\n\nThen stop.", "Retry twice. " * 40])
    def test_words_that_are_no_argument_come_back_by_their_version(self, repo, words):
        found = repo.remember(words)

        undo = shlex.split(repo.edit(found, "Retry once")["undo"])

        assert undo == ["yaadwatch", "restore", found[-8:], "--version", "1"]
        history.restore(repo.home, repo.call, id=undo[2], version=int(undo[4]))
        assert repo.show(found)["text"] == words.strip()

    def test_the_words_of_a_session_are_its_own(self, repo):
        """They are made of what happened in it, and made anew when it ends."""
        repo.remember("Sign tokens with jose")
        (session,) = [row["id"] for row in sessions.sessions(repo.home, repo.call)["sessions"]]

        refused = refusal(repo.edit, session, "Nothing happened")

        assert refused.code is Code.REFUSED
        assert "is a session" in refused.message
        assert repo.show(session)["version"] == 1

    def test_secrets_are_masked_before_anything_is_stored(self, repo, retry):
        secret = "sk-ant-api03-" + "Zq7xW2vB9" * 5

        answer = repo.edit(retry, f"The key is {secret}")

        assert answer["masked"]
        with repo.db() as db:
            assert secret not in repr(dump(db))

    def test_the_same_words_change_nothing(self, repo, retry):
        with repo.db() as db:
            before = dump(db)

        answer = repo.edit(retry, RETRY)

        assert (answer["version"], answer["undo"]) == (1, None)
        with repo.db() as db:
            assert dump(db) == before

    def test_another_version_is_a_conflict_that_says_how_it_reads_now(self, repo, retry):
        repo.edit(retry, LAST, expected_version=1)

        refused = refusal(repo.edit, retry, "Something else", expected_version=1)

        assert refused.code is Code.CONFLICT
        assert "version 2, not 1" in refused.message
        assert LAST in refused.message
        assert retry not in refused.message
        assert f"yaadwatch history {retry[-8:]}" in refused.hint
        assert repo.show(retry)["text"] == LAST
        assert repo.edit(retry, "Something else", expected_version=2)["version"] == 3

    def test_an_edit_meanwhile_is_a_conflict_too(self, repo, retry, monkeypatch):
        anchor = preparing.reanchored

        def and_edit(*arguments, **fields):
            monkeypatch.setattr(preparing, "reanchored", anchor)
            repo.edit(retry, LAST)
            return anchor(*arguments, **fields)

        monkeypatch.setattr(preparing, "reanchored", and_edit)

        refused = refusal(repo.edit, retry, "Something else")

        assert refused.code is Code.CONFLICT
        assert repo.show(retry)["text"] == LAST

    def test_what_another_memory_says_is_refused_and_names_that_one(self, repo, retry):
        other = repo.remember(LAST)

        refused = refusal(repo.edit, retry, f"- {LAST}.")

        assert refused.code is Code.CONFLICT
        assert other[-8:] in refused.message
        assert retry[-8:] in refused.hint
        assert repo.memories() == sorted([RETRY, LAST])

    def test_what_is_archived_or_empty_or_too_long_is_refused(self, repo, retry):
        assert refusal(repo.edit, retry, " \n").code is Code.BAD_REQUEST
        assert refusal(repo.edit, retry, "x" * 70_000).code is Code.TOO_LARGE
        repo.forget(retry)
        assert refusal(repo.edit, retry, LAST).code is Code.REFUSED

    def test_what_a_persons_file_says_is_changed_there(self, world):
        tree = world.repo("said")
        tree.commit("rules", {"CLAUDE.md": f"- {RETRY}\n"})
        tree.add()
        found = tree.remember(RETRY)

        refused = refusal(tree.edit, found, LAST)

        assert refused.code is Code.REFUSED
        assert "CLAUDE.md (line 1)" in refused.message
        assert refused.hint == f"Write there: {LAST}"
        assert tree.show(found)["text"] == RETRY

    def test_an_event_tells_of_it(self, repo, retry):
        repo.edit(retry, LAST)

        with repo.db() as db:
            last = max(row for row in table(db, "events") if row[1] == "node.updated")
        assert (last[3], last[4]) == (retry, '{"change":"edited"}')

    def test_links_stay(self, repo, retry):
        other = repo.remember("The night alarm waits for all retries")
        repo.link(other, "depends_on", retry)

        repo.edit(retry, LAST)

        assert [row["text"] for row in related(repo, other)] == [LAST]

    def test_paths_in_the_new_words_start_where_one_is(self, repo):
        retry = repo.remember(symbols=[])
        repo.commit("deeper", {"src/sub/deep.py": "def dig():\n    return 1\n"})
        inside = Tree(repo.world, repo.path / "src")

        answer = inside.edit(retry, "`dig` is in sub/deep.py")

        assert places(answer) == {("src/sub/deep.py", "dig"), ("src/sub/deep.py", None)}

    def test_in_another_work_tree_it_is_judged_by_the_files_there(self, repo, retry, world):
        repo.git("worktree", "add", "-q", str(world.folder / "linked"), "-b", "side")
        linked = Tree(world, world.folder / "linked")
        linked.write("src/net.py", NET.replace("x - 1", "x - 2"))
        assert linked.verdict(retry) == "fresh"

        repo.edit(retry, LAST)

        assert repo.verdict(retry) == "fresh"
        assert linked.verdict(retry) == "changed"


class TestReanchor:
    def test_a_moved_memory_gets_the_new_path_in_words_and_anchors(self, repo, retry):
        repo.commit("rename", moved={"src/net.py": "src/http.py"})

        answer = repo.reanchor(retry[-8:])

        assert answer["dry_run"] is False
        assert answer["skipped"] == []
        (done,) = answer["reanchored"]
        assert (done["id"], done["before"], done["text"]) == (retry, RETRY, HTTP)
        assert done["path"] == "src/http.py"
        assert places(done) == {("src/http.py", "fetch_with_retry"), ("src/http.py", None)}
        assert shlex.split(done["undo"])[-1] == RETRY
        assert repo.flag_of(retry) is None
        assert [row["change"] for row in repo.show(retry)["versions"]] == ["created", "reanchored"]

    def test_a_module_that_became_a_package_is_the_package_from_then_on(self, repo):
        memory = repo.remember("Everything about retries is in src/net.py")
        repo.write("src/net/__init__.py", "")
        repo.git("mv", "-f", "src/net.py", "src/net/__init__.py")
        repo.commit("a package")

        (done,) = repo.reanchor(memory)["reanchored"]

        assert done["text"] == "Everything about retries is in src/net/__init__.py"
        assert places(done) == {("src/net/__init__.py", None)}
        assert repo.verdict(memory) == "fresh"

    def test_it_looks_at_the_files_first(self, repo, retry):
        repo.move("src/net.py", "src/http.py")

        assert repo.reanchor(retry)["reanchored"][0]["text"] == HTTP

    def test_from_then_on_the_new_place_decides(self, repo, retry):
        repo.git("mv", "src/net.py", "src/http.py")
        repo.reanchor(retry)

        repo.write("src/http.py", FIVE_TRIES)
        assert repo.verdict(retry) == "changed"
        repo.write("src/http.py", NET)
        repo.git("mv", "src/http.py", "src/net.py")
        assert repo.flag_of(retry)["suggestion"]["text"] == RETRY

    def test_where_the_words_do_not_name_the_place_only_the_anchors_move(self, repo):
        found = repo.remember("Retries are counted in one function", files=["src/net.py"])
        repo.git("mv", "src/net.py", "src/http.py")

        (done,) = repo.reanchor(found)["reanchored"]

        assert done["before"] == done["text"]
        assert places(done) == {("src/http.py", None)}
        assert done["undo"] is None
        assert repo.flag_of(found) is None

    def test_a_dry_run_says_it_all_and_changes_nothing(self, repo, retry):
        repo.git("mv", "src/net.py", "src/http.py")
        repo.check()
        with repo.db() as db:
            before = {name: rows for name, rows in dump(db).items() if name not in LOOKS}

        answer = repo.reanchor(retry, dry_run=True)

        assert answer["dry_run"] is True
        assert answer["reanchored"][0]["text"] == HTTP
        assert answer["reanchored"][0]["undo"] is None
        with repo.db() as db:
            after = {name: rows for name, rows in dump(db).items() if name not in LOOKS}
        assert after == before
        assert repo.flag_of(retry)

    def test_all_of_them_at_once_and_each_that_could_not_be_is_named(self, repo, retry):
        last = repo.remember(LAST)
        double = repo.remember(HTTP)
        repo.remember("Notes are in notes.md")
        repo.git("mv", "src/net.py", "src/http.py")

        dry = repo.reanchor(all=True, dry_run=True)
        answer = repo.reanchor(all=True)

        assert [row["id"] for row in dry["reanchored"]] == [last, double]
        assert [row["id"] for row in answer["reanchored"]] == [last, double]
        assert [row["id"] for row in answer["skipped"]] == [retry]
        assert double[-8:] in answer["skipped"][0]["reason"]
        assert repo.flag_of(retry)

    def test_nothing_has_moved_and_all_is_nothing_to_do(self, repo, retry):
        assert repo.reanchor(all=True) == {"dry_run": False, "reanchored": [], "skipped": []}

    def test_unflagged_memory_is_refused_with_the_other_ways(self, repo, retry):
        refused = refusal(repo.reanchor, retry)
        assert refused.code is Code.REFUSED
        assert "is not flagged" in refused.message
        assert "yaadwatch confirm" in refused.hint

        repo.write("src/net.py", FIVE_TRIES)
        assert "fetch_with_retry in src/net.py changed" in refusal(repo.reanchor, retry).message

    def test_one_or_all_must_be_said(self, repo, retry):
        assert refusal(repo.reanchor).code is Code.BAD_REQUEST
        assert refusal(repo.reanchor, retry, all=True).code is Code.BAD_REQUEST

    def test_words_in_a_persons_file_are_told_and_not_touched(self, world):
        tree = world.repo("said")
        tree.commit("rules", {"CLAUDE.md": f"# Net\n\n- {RETRY}\n"})
        tree.add()
        found = tree.remember(RETRY)
        tree.git("mv", "src/net.py", "src/http.py")

        refused = refusal(tree.reanchor, found)

        assert "CLAUDE.md (line 3)" in refused.message
        assert refused.hint == f"Write there: {HTTP}"
        assert tree.reanchor(all=True)["skipped"][0]["hint"] == refused.hint
        assert tree.show(found)["text"] == RETRY

    def test_where_a_person_says_what_is_flagged_is_told_as_it_is_now(self, world):
        tree = world.repo("said")
        tree.commit("rules", {"CLAUDE.md": f"# Net\n\n- {RETRY}\n"})
        tree.add()
        tree.git("worktree", "add", "-q", "../side", "-b", "side")
        side = world.tree("side")
        side.add()
        tree.write("CLAUDE.md", f"# Net\n\nOne more.\n\n- {RETRY}\n")
        tree.sync()
        tree.git("mv", "src/net.py", "src/http.py")

        (flag,) = tree.stale()["stale"]

        assert flag["said_in"] == [
            {"path": "CLAUDE.md", "line": 5},
            {"path": str(side.path / "CLAUDE.md"), "line": 3},
        ]
        assert tree.show(flag["id"])["stale"]["said_in"] == flag["said_in"]
        for refuses in (tree.reanchor, tree.forget, tree.confirm):
            assert refusal(refuses, flag["id"]).code is Code.REFUSED

    def test_where_nothing_is_proposed_new_words_are_written_where_it_is_said(self, world):
        tree = world.repo("said")
        tree.commit("rules", {"CLAUDE.md": f"# Net\n\n- {RETRY}\n"})
        tree.add()

        refused = refusal(tree.reanchor, tree.remember(RETRY))

        assert refused.hint.endswith("New words: write them in CLAUDE.md, line 3")

    def test_what_no_file_says_has_no_place(self, repo, retry):
        repo.git("mv", "src/net.py", "src/http.py")

        assert "said_in" not in repo.stale()["stale"][0]

    def test_the_branch_it_left_flags_it_until_it_is_there_too(self, repo, retry):
        repo.git("checkout", "-q", "-b", "side")
        repo.commit("rename", moved={"src/net.py": "src/http.py"})
        repo.reanchor(retry)
        assert repo.verdict(retry) == "fresh"

        repo.git("checkout", "-q", "main")
        assert repo.verdict(retry) in {"moved", "gone"}
        repo.git("merge", "-q", "side")
        assert repo.verdict(retry) == "fresh"
