"""Adding, removing and listing: whose store is it, what was read, and what is left behind."""

import os
import shlex
import shutil
import stat
from contextlib import closing
from datetime import timedelta
from functools import partial

import apsw
import pytest
from engine_world import FIVE_TRIES, NET, RETRY, SetClock, Tree, World, dump
from repositories import Kept

from yaadwatch import places
from yaadwatch.engine import moved, projects, report
from yaadwatch.engine.stores.deleted_stores import backup_path
from yaadwatch.engine.workspace import Call
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.store import meta, nodes
from yaadwatch.store import projects as registry

RULES = """# Conventions

- Use `fetch_with_retry` for all calls.
- Tabs are fine in src/net.py

```
- not a rule
```
"""


def excluded(tree):
    return (tree.path / ".git/info/exclude").read_bytes()


def only(world):
    """The one project there is."""
    (project,) = world.home.user.read(registry.everything)
    return project


def refusal(call, *arguments, **fields):
    with pytest.raises(YaadError) as refused:
        call(*arguments, **fields)
    error = refused.value
    assert error.message.endswith(".")
    assert error.hint
    return error


class TestIdentity:
    """The identity table of the contracts, row by row."""

    def test_each_command_it_names_is_one_that_a_shell_takes(self, world):
        tree = world.repo("it's a repo")
        folder = str(tree.path)

        watch = shlex.split(refusal(tree.remember).hint.partition(": ")[2])
        undo = shlex.split(tree.add()["undo"])
        shutil.rmtree(tree.path)
        (problem,) = report.status(world.home, tree.call)["problems"]

        assert watch == ["yaadwatch", "add", folder]
        assert undo == ["yaadwatch", "remove", folder]
        assert folder in shlex.split(problem["mend"])

    def test_a_first_add_makes_a_store_for_its_owner_alone(self, world):
        tree = world.repo()

        answer = tree.add()

        assert answer["path"] == str(tree.path)
        assert answer["store"] == str(tree.store)
        assert not answer["again"]
        assert answer["backup"] is None
        assert answer["undo"] == f"yaadwatch remove {tree.path}"
        assert stat.S_IMODE(tree.store.stat().st_mode) == 0o600
        assert stat.S_IMODE(tree.store.parent.stat().st_mode) == 0o700

    def test_no_repository_is_kept_open(self, world, monkeypatch):
        tree = world.repo()
        kept = Kept(monkeypatch)

        tree.add()

        assert kept.opened > 0
        assert kept.open == []

    def test_adding_again_makes_nothing_twice(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        first = tree.add()
        tree.remember()
        with tree.db() as db:
            before = dump(db)

        again = tree.add()

        assert again["again"]
        assert again["id"] == first["id"]
        assert again["imported"] == {"statements": 2, "nodes": 0, "anchored": 2}
        with tree.db() as db:
            after = dump(db)
        for name in before.keys() - {"worktrees", "provenance", "sightings"}:
            assert after[name] == before[name]
        assert len(after["provenance"]) == len(before["provenance"]) == 2
        assert excluded(tree).count(b"/.yaad/") == 1

    def test_adding_from_a_folder_below_is_adding_the_repository(self, world):
        tree = world.repo()
        first = tree.add()

        below = Tree(world, tree.path / "src").add()

        assert below["again"]
        assert below["id"] == first["id"]
        assert len(projects.projects(world.home, tree.call)["projects"]) == 1

    @pytest.mark.parametrize("running", [True, False], ids=["store open", "after a restart"])
    def test_a_repository_that_moved_keeps_its_memories(self, world, running):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        first = tree.add()
        memory = tree.remember()
        tree.write("CLAUDE.md", RULES.replace("- Tabs are fine in src/net.py\n", ""))
        tree.add()
        if not running:
            world.reopen()

        moved = tree.moved_to("elsewhere")
        answer = moved.add()

        assert answer["id"] == first["id"]
        assert answer["again"]
        assert answer["path"] == str(moved.path)
        assert moved.show(memory)["text"] == RETRY
        rows = projects.projects(world.home, moved.call)["projects"]
        assert [(row["path"], row["state"]) for row in rows] == [(str(moved.path), "ok")]
        assert [tree.path for tree in moved.worktrees()] == [moved.path]
        moved.write("src/net.py", FIVE_TRIES)
        assert moved.verdict(memory) == "changed"
        assert excluded(moved).count(b"/.yaad/") == 1
        moved.remove()
        assert b".yaad" not in excluded(moved)

    def test_what_a_file_no_longer_says_stays_hidden_when_the_repository_moves(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        tree.add()
        tree.write("CLAUDE.md", RULES.replace("- Tabs are fine in src/net.py\n", ""))
        tree.add()

        moved = tree.moved_to("elsewhere")
        moved.add()

        with moved.db() as db:
            lines = db.read(
                lambda conn: conn.execute(
                    "SELECT line FROM provenance ORDER BY position"
                ).fetchall()
            )
        assert lines == [(3,), (None,)]

    @pytest.mark.parametrize("running", [True, False], ids=["store open", "after a restart"])
    def test_a_copy_is_a_project_of_its_own(self, world, running):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        first = tree.add()
        memory = tree.remember()
        world.reopen()
        copy = tree.copy("copy")
        if running:
            tree.show(memory)

        answer = copy.add()

        assert answer["id"] != first["id"]
        assert not answer["again"]
        assert copy.show(memory)["text"] == RETRY
        copy.forget(memory)
        assert tree.show(memory)["archived_at"] is None
        assert [row.path for row in copy.worktrees()] == [copy.path]
        assert [row.path for row in tree.worktrees()] == [tree.path]
        assert copy.git("status", "--porcelain", "--ignored").count(".yaad") == 1
        copy.remove()
        assert b".yaad" not in excluded(copy)
        assert tree.show(memory)["text"] == RETRY

    def test_what_a_copy_no_longer_says_can_be_forgotten_there(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        tree.add()
        world.reopen()
        copy = tree.copy("copy")
        copy.add()
        (copy.path / "CLAUDE.md").unlink()
        copy.add()

        with copy.db() as db:
            ids = [row[1] for row in dump(db)["nodes"] if "Tabs" in row[5]]
        copy.forget(ids[0])

        assert tree.show(ids[0])["archived_at"] is None

    def test_a_copy_cut_off_before_it_got_its_own_id_heals_at_the_next_add(self, world):
        tree = world.repo()
        tree.add()
        world.reopen()
        copy = tree.copy("copy")
        first = copy.add()
        with copy.db() as db:
            db.write(meta.put, "project", tree.add()["id"])
        world.reopen()

        again = copy.add()

        assert again["id"] != tree.add()["id"]
        assert copy.remember()
        assert first["id"] != tree.add()["id"]

    def test_a_store_of_another_project_is_not_used_and_the_hint_is_a_command(self, world):
        tree, other = world.repo("my shop"), world.repo()
        tree.add()
        with tree.db() as db:
            db.write(meta.put, "project", other.add()["id"])
        world.reopen()

        error = refusal(tree.remember)

        assert error.code is Code.REFUSED
        command = error.hint.partition(": ")[2]
        assert shlex.split(command) == ["yaadwatch", "add", str(tree.path)]

    @pytest.mark.parametrize("running", [True, False], ids=["store open", "after a restart"])
    def test_a_clone_in_its_place_is_a_new_project(self, world, running):
        """An inode number may be given out again, so it does not tell the two apart."""
        tree = world.repo()
        source = tree.copy("source")
        first = tree.add()
        tree.remember()
        if not running:
            world.reopen()
        shutil.rmtree(tree.path)
        tree.path.mkdir()
        tree.git("clone", "-q", f"file://{source.path}", ".")

        answer = tree.add()

        assert answer["id"] != first["id"]
        assert not answer["again"]
        assert tree.memories() == []
        assert len(projects.projects(world.home, tree.call)["projects"]) == 1
        assert b"/.yaad/\n" in excluded(tree)
        # What was still open had not to be lost.
        assert bool(answer["backup"]) == running
        if running:
            tree.add(restore=True)
            assert tree.memories() == [RETRY]

    def test_what_is_written_late_to_a_store_does_not_come_into_the_clone_in_its_place(self, world):
        """A check was under way while the repository was deleted and cloned again."""
        tree = world.repo()
        source = tree.copy("source")
        tree.add()
        tree.remember()
        with tree.db() as late:
            shutil.rmtree(tree.path)
            tree.path.mkdir()
            tree.git("clone", "-q", f"file://{source.path}", ".")

            with pytest.raises(YaadError) as raised:
                late.write(meta.put, "late", "yes")

        assert raised.value.code is Code.UNAVAILABLE
        assert "was deleted with its repository" in raised.value.message
        assert not (tree.path / ".yaad").exists()
        assert not tree.add()["again"]
        assert tree.memories() == []

    @pytest.mark.parametrize("ends", ["gone", "cleaned", "never"])
    def test_what_is_written_while_a_folder_is_deleted_brings_the_store_back_afterwards_only(
        self, world, ends
    ):
        """`rm -rf` took `.yaad` first and `.git` last, and failed at what came back in between."""
        tree = world.repo()
        folders = ["build", *(f"build/{number}" for number in range(100))]
        for folder in folders:
            (tree.path / folder).mkdir()
        tree.add()
        memory = tree.remember()

        class Deleting(SetClock):
            def pause(self, seconds):
                self.wait(seconds)
                assert not tree.store.parent.exists()
                if len(folders) > (90 if ends != "never" else 1):
                    (tree.path / folders.pop()).rmdir()
                elif ends == "gone":
                    shutil.rmtree(tree.path)

        world.clock = Deleting()
        world.reopen()
        with tree.db() as late:
            shutil.rmtree(tree.store.parent)
            if ends == "cleaned":
                late.write(meta.put, "late", "yes")
                assert tree.store.exists()
                assert late.read(meta.get, "late") == "yes"
            else:
                with pytest.raises(YaadError) as raised:
                    late.write(meta.put, "late", "yes")
                assert raised.value.code is Code.UNAVAILABLE
                said = {"gone": "deleted with its repository", "never": "more is being deleted"}
                assert said[ends] in raised.value.message
                assert not tree.store.parent.exists()
            assert late.read_before_write(nodes.get, memory).text == RETRY
        assert tree.path.exists() == (ends != "gone")

    def test_a_repository_reached_by_another_path_is_the_same_project(self, world):
        """It was moved, and a link leads from its old place to it."""
        tree = world.repo()
        first = tree.add()
        memory = tree.remember()
        old = tree.path
        moved = tree.moved_to("elsewhere")
        old.symlink_to(moved.path, target_is_directory=True)

        answer = tree.add()

        assert (answer["id"], answer["again"]) == (first["id"], True)
        assert tree.show(memory)["text"] == RETRY
        assert len(projects.projects(world.home, tree.call)["projects"]) == 1

    def test_a_store_nobody_here_knows_is_refused_and_can_be_trusted(self, world, monkeypatch):
        tree = world.repo()
        first = tree.add()
        memory = tree.remember()
        world.close()
        monkeypatch.setenv("YAAD_HOME", str(world.folder / "other-home"))
        other = World(world.folder)
        stranger = Tree(other, tree.path)
        tree.store.chmod(0o644)
        before = tree.store.read_bytes()

        error = refusal(stranger.add)

        assert error.code is Code.REFUSED
        assert "yaadwatch add --trust" in error.hint
        assert tree.store.read_bytes() == before
        assert tree.store.stat().st_mode & 0o777 == 0o644
        assert projects.projects(other.home, stranger.call)["projects"] == []
        answer = stranger.add(trust=True)
        assert answer["id"] == first["id"]
        assert stranger.show(memory)["text"] == RETRY
        other.close()

    def test_a_copy_of_ours_in_which_something_runs_is_refused_and_left_alone(self, world):
        tree = world.repo()
        tree.add()
        world.home.stores.close_one(only(world).id)
        there = Tree(world, world.folder / "copy")
        shutil.copytree(tree.path, there.path)
        with closing(apsw.Connection(str(there.store))) as conn:
            conn.execute("CREATE TRIGGER runs AFTER INSERT ON nodes BEGIN SELECT 1; END")
        before = there.store.read_bytes()

        assert "no yaadwatch made (runs)" in refusal(there.add).message

        assert there.store.read_bytes() == before
        assert only(world).root == tree.path

    def test_a_store_put_in_the_place_of_ours_is_refused_and_can_be_trusted(
        self, world, monkeypatch
    ):
        """A backup from another machine, say, while this one knows the repository."""
        tree = world.repo()
        tree.add()
        world.close()
        monkeypatch.setenv("YAAD_HOME", str(world.folder / "other-home"))
        other = World(world.folder)
        theirs = other.repo("theirs")
        theirs.add()
        memory = theirs.remember()
        other.close()
        for path in tree.store.parent.iterdir():
            path.unlink()
        shutil.copyfile(theirs.store, tree.store)
        monkeypatch.setenv("YAAD_HOME", str(world.folder / "home"))
        world.home = world._open()

        assert refusal(tree.remember).code is Code.REFUSED
        assert refusal(tree.add).code is Code.REFUSED
        tree.add(trust=True)

        assert tree.show(memory)["text"] == RETRY

    def test_trust_changes_nothing_for_a_store_of_our_own(self, world):
        tree = world.repo()
        first = tree.add(trust=True)

        assert tree.add(trust=True)["id"] == first["id"]

    @pytest.mark.parametrize("trust", [False, True])
    def test_a_store_behind_a_link_is_refused_whatever_is_said(self, world, trust):
        tree = world.repo()
        other = world.repo("other")
        other.add()
        (tree.path / ".yaad").symlink_to(other.store.parent)

        error = refusal(tree.add, trust=trust)

        assert error.code is Code.REFUSED
        assert "is a link" in error.message
        (tree.path / ".yaad").unlink()
        (tree.path / ".yaad").mkdir()
        tree.store.symlink_to(other.store)
        assert "is a link" in refusal(tree.add, trust=trust).message
        assert b".yaad" not in excluded(tree)

    @pytest.mark.parametrize("trust", [False, True])
    def test_a_tracked_store_is_refused_whatever_is_said(self, world, trust):
        source = world.repo("source")
        source.add()
        source.remember()
        source.git("add", "-f", ".yaad/yaad.db")
        source.commit("with memories")
        tree = world.tree("clone")
        tree.git("clone", "-q", f"file://{source.path}", ".")

        error = refusal(tree.add, trust=trust)

        assert error.code is Code.REFUSED
        assert "tracked by git" in error.message
        assert "git rm -r --cached .yaad" in error.hint

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
    @pytest.mark.parametrize("what", ["folder", "file"])
    def test_a_store_of_somebody_else_is_refused(self, world, what):
        tree = world.repo()
        tree.add()
        world.reopen()
        os.chown(tree.store.parent if what == "folder" else tree.store, 12345, 12345)

        assert refusal(tree.remember).code is Code.REFUSED
        error = refusal(tree.add)

        assert error.code is Code.REFUSED
        assert "belongs to" in error.message

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
    def test_a_repository_of_somebody_else_is_refused_with_the_way_out(self, world):
        tree = world.repo()
        for path in (tree.path, tree.path / ".git"):
            os.chown(path, 12345, 12345)

        error = refusal(tree.add)

        assert error.code is Code.REFUSED
        assert "belongs to another user" in error.message
        assert "safe.directory" in error.hint
        assert not tree.store.parent.exists()

    def test_ids_never_cross_projects(self, world):
        one, two = world.repo("one"), world.repo("two")
        one.add()
        two.add()
        memory = one.remember()

        for verb in (two.show, two.forget, two.confirm, two.pin, two.unpin, two.restore):
            assert refusal(verb, memory).code is Code.NOT_FOUND
        assert two.memories() == []
        two.remember()
        assert one.show(memory)["version"] == 1


class TestExclude:
    """The line in .git/info/exclude."""

    @pytest.mark.parametrize(
        "before",
        [
            pytest.param(b"# comment\n*.log\n", id="with lines"),
            pytest.param(b"*.log", id="no line end at the end"),
            pytest.param(b"", id="empty"),
            pytest.param(None, id="no file"),
            pytest.param("no folder", id="no folder"),
            pytest.param(b"*.log\r\nx\r\n", id="carriage returns"),
            pytest.param(b"\xff\xfe not utf-8\n", id="not utf-8"),
            pytest.param(b"\n\n/.yaad\n", id="something like it"),
        ],
    )
    def test_git_does_not_see_the_store_and_removing_leaves_every_byte(self, world, before):
        tree = world.repo()
        path = tree.path / ".git/info/exclude"
        if before == "no folder":
            shutil.rmtree(path.parent)
        elif before is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(before)

        tree.add()
        assert tree.git("status", "--porcelain") == ""
        tree.add()
        assert path.read_bytes().splitlines().count(b"/.yaad/") == 1
        tree.remove()

        assert not tree.store.parent.exists()
        if isinstance(before, bytes):
            assert path.read_bytes() == before
        else:
            assert not path.exists()

    def test_lines_of_others_stay_whenever_they_came(self, world):
        tree = world.repo()
        path = tree.path / ".git/info/exclude"
        path.write_bytes(b"before")
        tree.add()
        with path.open("ab") as stream:
            stream.write(b"after\n")

        tree.remove()

        assert path.read_bytes() == b"before\nafter\n"

    def test_a_line_that_somebody_took_out_is_put_back_by_adding_again(self, world):
        tree = world.repo()
        tree.add()
        (tree.path / ".git/info/exclude").write_bytes(b"mine\n")

        tree.add()

        assert tree.git("status", "--porcelain") == ""
        tree.remove()
        assert excluded(tree) == b"mine\n"

    def test_the_index_of_its_words_goes_with_it(self, world):
        tree = world.repo()
        tree.add()
        with world.home.git.indexes.use(tree.path / ".git") as kept:
            kept.searched()
        assert list(places.words().iterdir())

        tree.remove()

        assert list(places.words().iterdir()) == []

    def test_a_line_that_was_there_before_is_not_ours_to_remove(self, world):
        tree = world.repo()
        path = tree.path / ".git/info/exclude"
        path.write_bytes(b"/.yaad/\n")

        tree.add()
        tree.remove()

        assert path.read_bytes() == b"/.yaad/\n"

    @pytest.mark.parametrize("what", ["exclude", "info"])
    def test_a_link_is_refused_before_anything_is_made(self, world, what):
        tree = world.repo()
        info = tree.path / ".git/info"
        info.mkdir(exist_ok=True)
        (info / "exclude").write_bytes(b"mine\n")
        linked = info if what == "info" else info / "exclude"
        elsewhere = world.folder / "dotfiles"
        linked.rename(elsewhere)
        linked.symlink_to(elsewhere)

        error = refusal(tree.add)

        assert error.code is Code.REFUSED
        assert "is a link" in error.message
        assert "/.yaad/" in error.hint
        assert not tree.store.parent.exists()
        assert projects.projects(world.home, tree.call)["projects"] == []
        with (info / "exclude").open("ab") as stream:
            stream.write(b"/.yaad/\n")
        tree.add()
        tree.remove()
        assert (info / "exclude").read_bytes() == b"mine\n/.yaad/\n"

    def test_a_link_that_came_later_stops_a_removal_before_anything_is_lost(self, world):
        tree = world.repo()
        tree.add()
        memory = tree.remember()
        path = tree.path / ".git/info/exclude"
        path.rename(world.folder / "dotfile")
        path.symlink_to(world.folder / "dotfile")

        error = refusal(tree.remove)

        assert error.code is Code.REFUSED
        assert tree.show(memory)["text"] == RETRY
        path.unlink()
        (world.folder / "dotfile").rename(path)
        tree.remove()
        assert b".yaad" not in path.read_bytes()


class TestBaseline:
    """What CLAUDE.md, AGENTS.md and .cursorrules say."""

    def test_statements_come_in_warm_with_their_place_and_what_they_rest_on(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)

        answer = tree.add()

        assert answer["imported"] == {"statements": 2, "nodes": 2, "anchored": 2}
        assert answer["files"] == [
            {
                "path": "CLAUDE.md",
                "statements": 2,
                "mode": "inline",
                "state": "synced",
                "reason": None,
            }
        ]
        assert tree.memories() == [
            "Tabs are fine in src/net.py",
            "Use `fetch_with_retry` for all calls.",
        ]
        with tree.db() as db:
            ids = sorted(row[1] for row in dump(db)["nodes"] if row[2] not in ("file", "entity"))
        use, tabs = sorted(
            (tree.show(one) for one in ids), key=lambda row: row["provenance"][0]["line"]
        )
        assert (use["tier"], tabs["tier"]) == (2, 2)
        assert use["kind"] == "convention"
        assert use["origin"] == "file:CLAUDE.md"
        assert use["provenance"] == [{"worktree": str(tree.path), "path": "CLAUDE.md", "line": 3}]
        assert [row["path"] for row in tabs["anchors"]] == ["src/net.py"]
        assert [(row["path"], row["symbol"]) for row in use["anchors"]] == [
            ("src/net.py", "fetch_with_retry")
        ]

    def test_a_statement_that_became_false_is_in_doubt(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        tree.add()

        tree.git("mv", "src/net.py", "src/http.py")
        tree.commit("rename")

        assert sorted(row["verdict"] for row in tree.stale(all=True)["stale"]) == ["moved", "moved"]

    def test_two_files_that_say_the_same_are_one_memory_with_two_places(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        tree.write("AGENTS.md", "- Use  `fetch_with_retry` for all calls\n")
        tree.write(".cursorrules", "Cursor only: see notes.md\n")

        answer = tree.add()

        assert answer["imported"]["statements"] == 4
        assert answer["imported"]["nodes"] == 3
        assert [row["path"] for row in answer["files"]] == [
            "CLAUDE.md",
            "AGENTS.md",
            ".cursorrules",
        ]
        with tree.db() as db:
            places = sorted((row[2], row[4]) for row in dump(db)["provenance"])
        assert places == [(".cursorrules", 1), ("AGENTS.md", 1), ("CLAUDE.md", 3), ("CLAUDE.md", 4)]

    def test_a_link_to_another_agent_file_is_read_once(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        (tree.path / "AGENTS.md").symlink_to("CLAUDE.md")

        answer = tree.add()

        assert answer["imported"]["statements"] == 2
        linked = next(row for row in answer["files"] if row["path"] == "AGENTS.md")
        assert (linked["statements"], linked["state"]) == (0, "synced")
        assert linked["reason"] == "is the same file as CLAUDE.md"

    def test_a_link_that_is_found_first_is_told_by_its_own_name(self, world):
        tree = world.repo()
        tree.write("AGENTS.md", RULES)
        (tree.path / "CLAUDE.md").symlink_to("./AGENTS.md")

        told = [(row["path"], row["statements"], row["reason"]) for row in tree.add()["files"]]

        assert told == [
            ("AGENTS.md", 2, None),
            ("CLAUDE.md", 0, "is the same file as AGENTS.md"),
        ]

    def test_a_link_inside_the_repository_is_read_where_it_leads(self, world):
        tree = world.repo()
        tree.write("docs/agents.md", RULES)
        (tree.path / "AGENTS.md").symlink_to("docs/agents.md")

        answer = tree.add()

        assert [(row["path"], row["statements"]) for row in answer["files"]] == [
            ("docs/agents.md", 2)
        ]

    @pytest.mark.parametrize(
        ("make", "reason"),
        [
            ("out", "is a link out of the repository; it was not read"),
            ("up", "is a link out of the repository; it was not read"),
            ("git", "is a link out of the repository; it was not read"),
            ("dangling", "is a link to nothing"),
            ("loop", "is a link to nothing"),
            ("pipe", "is not a regular file"),
            ("folder", "is not a regular file"),
            ("huge", "larger than"),
            ("latin", "not UTF-8"),
            ("nul", "NUL"),
        ],
    )
    def test_what_cannot_be_read_is_left_alone_and_said(self, world, make, reason):
        tree = world.repo()
        path = tree.path / "CLAUDE.md"
        secret = world.folder / "secret.md"
        secret.write_text("- The secret is out\n")
        match make:
            case "out":
                path.symlink_to(secret)
            case "up":
                path.symlink_to("../secret.md")
            case "git":
                shutil.copy(secret, tree.path / ".git/secret.md")
                path.symlink_to(".git/secret.md")
            case "dangling":
                path.symlink_to("nowhere.md")
            case "loop":
                path.symlink_to("CLAUDE.md")
            case "pipe":
                os.mkfifo(path)
            case "folder":
                path.mkdir()
            case "huge":
                path.write_bytes(b"- rule\n" * 400_000)
            case "latin":
                path.write_bytes("- Über alles\n".encode("latin-1"))
            case "nul":
                path.write_bytes(b"- rule\0\n")

        answer = tree.add()

        assert answer["imported"]["statements"] == 0
        assert tree.memories() == []
        (row,) = answer["files"]
        assert (row["path"], row["state"]) == ("CLAUDE.md", "paused")
        assert reason in row["reason"]

    def test_statements_that_vanish_are_hidden_and_come_back(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        tree.add()
        tree.write("CLAUDE.md", RULES.replace("- Tabs are fine in src/net.py\n", ""))

        answer = tree.add()

        assert answer["imported"]["statements"] == 1
        assert len(tree.memories()) == 2
        lines = {row["text"]: row["provenance"][0]["line"] for row in everything(tree)}
        assert lines == {
            "Use `fetch_with_retry` for all calls.": 3,
            "Tabs are fine in src/net.py": None,
        }
        tree.write("CLAUDE.md", RULES)
        assert tree.add()["imported"]["nodes"] == 0
        assert {row["provenance"][0]["line"] for row in everything(tree)} == {3, 4}

    def test_what_a_file_no_longer_says_is_not_in_doubt_any_more(self, world):
        """The person has mended the sentence; the old one must not nag."""
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        tree.add()
        tree.git("mv", "src/net.py", "src/http.py")
        assert len(tree.stale(all=True)["stale"]) == 2
        tree.commit("rename")

        tree.write("CLAUDE.md", RULES.replace("src/net.py", "src/http.py"))
        tree.add()

        assert [row["text"] for row in tree.stale(all=True)["stale"]] == [
            "Use `fetch_with_retry` for all calls."
        ]
        tree.write("CLAUDE.md", RULES)
        tree.add()
        assert len(tree.stale(all=True)["stale"]) == 2

    @pytest.mark.parametrize("how", ["deleted", "linked", "emptied"])
    def test_a_file_that_is_gone_says_nothing_any_more(self, world, how):
        tree = world.repo()
        tree.write("AGENTS.md", "- Only here: see notes.md\n")
        tree.write("CLAUDE.md", "- Both say this\n")
        tree.add()
        (tree.path / "AGENTS.md").unlink()
        if how == "linked":
            (tree.path / "AGENTS.md").symlink_to("CLAUDE.md")
        elif how == "emptied":
            tree.write("AGENTS.md", "")

        tree.add()

        (hidden,) = [row for row in everything(tree) if "Only" in row["text"]]
        assert [place["line"] for place in hidden["provenance"]] == [None]
        tree.forget(hidden["id"])
        assert tree.memories() == ["Both say this"]

    def test_a_file_that_cannot_be_read_today_says_what_it_said(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", "- Both say this\n")
        tree.add()
        tree.write("CLAUDE.md", b"\xff\xfe")

        tree.add()

        (row,) = everything(tree)
        assert [place["line"] for place in row["provenance"]] == [1]

    def test_what_a_person_said_by_hand_is_not_cooled_down_by_reading_it_again(self, world):
        tree = world.repo()
        tree.add()
        memory = tree.remember("Always use tabs in src/net.py", tier=1)
        tree.write("CLAUDE.md", "- Always use tabs in src/net.py\n")

        tree.add()

        shown = tree.show(memory)
        assert (shown["tier"], shown["version"]) == (1, 1)
        assert [place["line"] for place in shown["provenance"]] == [1]

    def test_each_work_tree_has_its_own_places(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        tree.commit("rules")
        tree.add()
        tree.git("worktree", "add", "-q", str(world.folder / "linked"), "-b", "topic")
        linked = Tree(world, world.folder / "linked")
        linked.write("CLAUDE.md", RULES.replace("- Tabs are fine in src/net.py\n", ""))

        linked.add()
        tree.add()

        (tabs,) = [row for row in everything(tree) if "Tabs" in row["text"]]
        assert [(place["worktree"], place["line"]) for place in tabs["provenance"]] == [
            (str(tree.path), 4)
        ]

    def test_a_repository_without_agent_files_is_watched_all_the_same(self, world):
        tree = world.repo()

        assert tree.add()["files"] == []
        assert tree.remember()


def everything(tree):
    """Return every living memory as it is shown."""
    with tree.db() as db:
        ids = [row[1] for row in dump(db)["nodes"] if row[2] not in ("file", "entity")]
    return [tree.show(one) for one in ids]


class TestRemove:
    """What is left when a project is not watched any more, and how it comes back."""

    def test_nothing_of_ours_is_left_but_the_backup(self, world):
        tree = world.repo()
        before = {
            path: path.read_bytes() for path in sorted(tree.path.rglob("*")) if path.is_file()
        }
        tree.add()
        memory = tree.remember()
        tree.check()

        answer = tree.remove()

        after = {path: path.read_bytes() for path in sorted(tree.path.rglob("*")) if path.is_file()}
        assert after == before
        assert answer["memories"] == 1
        assert answer["undo"] == f"yaadwatch add --restore {tree.path}"
        assert stat.S_IMODE(os.stat(answer["backup"]).st_mode) == 0o600
        assert refusal(tree.show, memory).code is Code.NOT_FOUND
        assert projects.projects(world.home, tree.call)["projects"] == []

    def test_the_backup_is_brought_back(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        first = tree.add()
        memory = tree.remember()
        tree.remove()
        tree.write("src/net.py", FIVE_TRIES)

        answer = tree.add(restore=True)

        assert answer["id"] == first["id"]
        assert tree.show(memory)["text"] == RETRY
        assert tree.verdict(memory) == "changed"
        assert b"/.yaad/\n" in excluded(tree)
        assert stat.S_IMODE(tree.store.stat().st_mode) == 0o600

    def test_adding_afresh_says_that_there_is_a_backup(self, world):
        tree = world.repo()
        tree.add()
        tree.remember()
        backup = tree.remove()["backup"]

        answer = tree.add()

        assert answer["backup"] == backup
        assert tree.memories() == []

    def test_memories_of_today_are_not_replaced_by_those_of_the_backup(self, world):
        tree = world.repo()
        tree.add()
        tree.remember()
        tree.remove()
        tree.add()
        today = tree.remember("Said today")

        error = refusal(tree.add, restore=True)

        assert error.code is Code.CONFLICT
        assert tree.show(today)["text"] == "Said today"

    @pytest.mark.parametrize("remove_first", [True, False])
    def test_what_was_read_from_files_only_gives_way_to_the_backup(self, world, remove_first):
        """Removing the fresh project must not make its backup the one to bring back."""
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        tree.add()
        tree.remember()
        tree.remove()
        tree.add()
        if remove_first:
            tree.remove()

        tree.add(restore=True)

        assert RETRY in tree.memories()
        assert len(projects.projects(world.home, tree.call)["projects"]) == 1
        tree.remove()
        assert b".yaad" not in excluded(tree)

    def test_restoring_what_was_never_there_is_an_error(self, world):
        tree = world.repo()

        error = refusal(tree.add, restore=True)

        assert error.code is Code.NOT_FOUND
        assert not tree.store.parent.exists()

    def test_of_what_is_not_watched_any_more_nothing_stays_in_memory(self, world):
        def held(home):
            return [len(home._beside._read), len(home.stores._checking), len(home.stores._projects)]

        before = held(world.home)
        for number in range(3):
            tree = world.repo(f"guest{number}")
            tree.add()
            tree.check()
            assert held(world.home) != before
            tree.remove()

        assert held(world.home) == before

    def test_removing_what_is_not_watched_is_an_error(self, world):
        assert refusal(world.repo().remove).code is Code.NOT_FOUND

    def test_a_store_that_was_put_aside_as_damaged_leaves_the_repository_too(self, world):
        """Our line in the exclude file goes, so that git would see it."""
        tree = world.repo()
        project = tree.add()["id"]
        kept = places.backups(project) / "damaged"
        for content in (b"first", b"second"):
            aside = tree.path / ".yaad/damaged/yaad.db"
            later = aside.parent / "2" / "yaad.db-wal"
            later.parent.mkdir(parents=True)
            aside.write_bytes(content)
            later.write_bytes(b"later")
            tree.remember()
            tree.remove()
            assert not (tree.path / ".yaad").exists()
            tree.add(restore=True)

        names = ("*.yaad.db", "*.yaad.db-wal")
        put = [[path.read_bytes() for path in sorted(kept.glob(name))] for name in names]
        assert put == [[b"first", b"second"], [b"later", b"later"]]
        assert stat.S_IMODE(kept.stat().st_mode) == 0o700

    def test_a_repository_that_is_gone_can_still_be_removed(self, world):
        tree = world.repo()
        tree.add()
        tree.remember()
        world.reopen()
        shutil.rmtree(tree.path)
        assert projects.projects(world.home, tree.call)["projects"][0]["state"] == "missing"

        answer = projects.remove(world.home, Call(folder=tree.path, origin="cli"))

        assert answer["backup"] is None
        assert projects.projects(world.home, tree.call)["projects"] == []

    def test_the_one_of_that_name_is_removed_and_not_the_one_around_it(self, world):
        """A home folder that is a repository has many others in it."""
        outer, inner = world.repo("outer"), world.repo("outer/inner")
        outer.add()
        inner.add()
        outer.remember()
        (inner.path / ".git").rename(inner.path / ".git-away")

        answer = projects.remove(world.home, Call(folder=inner.path, origin="cli"))

        assert answer["path"] == str(inner.path)
        assert not inner.store.exists()
        assert outer.store.exists()
        left = projects.projects(world.home, outer.call)["projects"]
        assert [(row["path"], row["memories"]) for row in left] == [(str(outer.path), 1)]

    def test_behind_a_link_to_another_the_one_of_that_name_is_removed(self, world):
        gone, other = world.repo("gone"), world.repo("other")
        gone.add()
        other.add()
        other.remember()
        world.reopen()
        shutil.rmtree(gone.path)
        gone.path.symlink_to(other.path, target_is_directory=True)
        before = {path: path.read_bytes() for path in other.path.rglob("*") if path.is_file()}

        answer = projects.remove(world.home, Call(folder=gone.path, origin="cli"))

        assert answer["path"] == str(gone.path)
        assert before == {path: path.read_bytes() for path in before}
        left = projects.projects(world.home, other.call)["projects"]
        assert [(row["path"], row["memories"]) for row in left] == [(str(other.path), 1)]

    def test_behind_a_link_to_where_it_moved_it_is_removed_there(self, world):
        world.home.follow = partial(moved.follow, world.home)
        tree = world.repo("my shop")
        tree.add()
        tree.remember()
        there = tree.moved_to("moved shop")
        tree.path.symlink_to(there.path, target_is_directory=True)

        answer = projects.remove(world.home, Call(folder=tree.path, origin="cli"))

        assert answer["path"] == str(there.path)
        assert (answer["left"], answer["later"]) == (None, None)
        assert not there.store.exists()
        assert b".yaad" not in excluded(there)
        command = shlex.split(answer["undo"])
        assert command == ["yaadwatch", "add", "--restore", str(there.path)]
        Tree(world, there.path).add(restore=True)
        assert there.memories() == [RETRY]

    def test_behind_a_link_to_a_copy_of_it_no_undo_is_promised_and_its_store_is_named(self, world):
        """Moved to another disk it has another number, so nobody knows that it is the same."""
        world.home.follow = partial(moved.follow, world.home)
        tree = world.repo()
        tree.add()
        tree.remember()
        world.home.stores.rest(timedelta(0))
        there = tree.copy("elsewhere")
        shutil.rmtree(tree.path)
        tree.path.symlink_to(there.path, target_is_directory=True)

        answer = projects.remove(world.home, Call(folder=tree.path, origin="cli"))

        assert answer["path"] == str(tree.path)
        assert (answer["undo"], answer["left"]) == (None, str(there.store))
        assert answer["adopt"] == f"yaadwatch add --trust {there.path}"
        there.add(trust=True)
        assert there.memories() == [RETRY]

    def test_of_one_that_is_not_there_it_is_told_what_brings_it_back_later(self, world):
        tree = world.repo()
        tree.add()
        tree.remember()
        with world.home.stores.use(only(world)) as db:
            db.backup(backup_path(only(world), world.clock.now()))
        world.reopen()
        shutil.rmtree(tree.path)

        answer = projects.remove(world.home, Call(folder=tree.path, origin="cli"))

        assert (answer["undo"], answer["left"]) == (None, None)
        assert answer["later"] == f"yaadwatch add --restore {tree.path}"
        again = world.repo()
        again.add(restore=True)
        assert again.memories() == [RETRY]

    def test_a_folder_in_a_repository_means_that_one(self, world):
        tree = world.repo()
        tree.add()

        answer = projects.remove(world.home, Call(folder=tree.path / "src", origin="cli"))

        assert answer["path"] == str(tree.path)

    def test_files_that_others_put_beside_the_store_stay(self, world):
        tree = world.repo()
        tree.add()
        (tree.path / ".yaad/config.toml").write_text("x = 1\n")

        tree.remove()

        assert [path.name for path in (tree.path / ".yaad").iterdir()] == ["config.toml"]


class TestHomeFolder:
    """The person's own folder is a repository: what git keeps of their settings, for instance."""

    @pytest.fixture
    def world(self, tmp_path, monkeypatch):
        monkeypatch.setenv("YAAD_HOME", str(tmp_path / "person/.yaad"))
        world = World(tmp_path)
        yield world
        world.close()

    @pytest.fixture
    def person(self, world):
        tree = world.tree("person")
        tree.git("init", "-q", "-b", "main")
        tree.write("src/net.py", NET)
        tree.git("add", "src")
        tree.git("commit", "-q", "-m", "one")
        return tree

    def test_its_store_is_not_the_persons_own(self, world, person):
        store = person.add()["store"]
        memory = person.remember()
        world.reopen()

        assert store.startswith(str(places.home() / "projects"))
        assert person.show(memory)["id"] == memory
        (row,) = projects.projects(world.home, person.call)["projects"]
        assert (row["path"], row["memories"], row["state"]) == (str(person.path), 1, "ok")

    def test_git_sees_nothing_of_ours(self, world, person):
        before = excluded(person)
        person.add()
        person.remember()
        seen = person.git("status", "--porcelain", "--untracked-files=all")

        person.remove()

        assert seen == ""
        assert excluded(person) == before

    def test_it_is_removed_and_brought_back_alone(self, world, person):
        other = world.repo("person/src/other")
        other.add()
        person.add()
        memory = person.remember()

        undo = person.remove()["undo"]
        assert [row["path"] for row in projects.projects(world.home, other.call)["projects"]] == [
            str(other.path)
        ]
        store = person.add(restore=True)["store"]

        assert "--restore" in undo
        assert store.startswith(f"{places.home()}/projects/")
        assert store.count("/") > f"{places.home()}/projects/yaad.db".count("/")
        assert person.show(memory)["id"] == memory


class TestLayouts:
    """Repositories that are not a folder with .git in it."""

    def test_a_bare_repository_without_work_trees_is_refused_and_nothing_is_made(self, world):
        tree = world.tree("bare.git")
        tree.git("init", "-q", "--bare")

        error = refusal(tree.add)

        assert error.code is Code.REFUSED
        assert "git worktree add" in error.hint
        assert not (tree.path / "yaad").exists()
        assert projects.projects(world.home, tree.call)["projects"] == []

    def test_a_bare_repository_with_a_work_tree_is_watched(self, world):
        source = world.repo("source")
        bare = world.tree("bare.git")
        bare.git("clone", "-q", "--bare", f"file://{source.path}", ".")
        bare.git("worktree", "add", "-q", str(world.folder / "linked"), "main")
        linked = Tree(world, world.folder / "linked")

        answer = linked.add()

        assert answer["store"] == str(bare.path / "yaad/yaad.db")
        memory = linked.remember()
        linked.write("src/net.py", FIVE_TRIES)
        assert linked.verdict(memory) == "changed"
        assert linked.git("status", "--porcelain") == " M src/net.py\n"
        linked.remove()
        assert not (bare.path / "yaad").exists()

    def test_a_submodule_is_a_project_of_its_own(self, world):
        inner, outer = world.repo("inner"), world.repo("outer")
        outer.git(
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            f"file://{inner.path}",
            "vendor/inner",
        )
        outer.commit("with a submodule")
        outer.add()
        sub = Tree(world, outer.path / "vendor/inner")

        answer = sub.add()

        assert answer["path"] == str(sub.path)
        memory = sub.remember()
        assert outer.memories() == []
        sub.write("src/net.py", FIVE_TRIES)
        assert sub.verdict(memory) == "changed"
        assert sub.git("status", "--porcelain") == " M src/net.py\n"
        sub.remove()

    @pytest.mark.parametrize("name", ["with space", "ünïcode", "new\nline", "-dash", "a'b\"c"])
    def test_odd_names_of_folders_do(self, world, name):
        tree = world.repo(name)
        tree.add()
        memory = tree.remember()
        tree.git("mv", "src/net.py", "src/http.py")
        tree.commit("rename")

        assert tree.doubt(memory)["suggestion"]["path"] == "src/http.py"
        tree.remove()
        tree.add(restore=True)
        assert tree.memories() == [RETRY]

    def test_a_folder_whose_name_is_not_text_is_refused(self, world):
        tree = world.repo(os.fsdecode(b"latin-\xfc"))

        error = refusal(tree.add)

        assert error.code is Code.REFUSED
        assert "UTF-8" in error.message
        assert not tree.store.parent.exists()

    def test_a_repository_reached_through_a_link_is_the_same_project(self, world):
        tree = world.repo()
        first = tree.add()
        (world.folder / "short").symlink_to(tree.path)

        assert Tree(world, world.folder / "short").add()["id"] == first["id"]

    def test_no_repository_is_an_error(self, world):
        plain = world.tree("plain")

        assert refusal(plain.add).code is Code.NOT_FOUND


class TestListing:
    """What `projects` says of each."""

    def test_each_project_is_listed_with_what_it_holds(self, world):
        one, two = world.repo("one"), world.repo("two")
        one.add()
        two.add()
        memory = one.remember()
        one.write("src/net.py", FIVE_TRIES)
        one.check()

        rows = projects.projects(world.home, one.call)["projects"]

        assert [(row["path"], row["memories"], row["stale"], row["state"]) for row in rows] == [
            (str(one.path), 1, 1, "ok"),
            (str(two.path), 0, 0, "ok"),
        ]
        assert rows[0]["branch"] == "main"
        one.forget(memory)
        assert projects.projects(world.home, one.call)["projects"][0]["stale"] == 0

    def test_one_broken_project_does_not_hide_the_others(self, world):
        trees = [world.repo(name) for name in ("corrupt", "fine", "gone", "stolen")]
        for tree in trees:
            tree.add()
        world.reopen()
        corrupt, fine, gone, stolen = trees
        corrupt.store.write_bytes(b"not a database at all" * 1000)
        shutil.rmtree(gone.path)
        shutil.rmtree(stolen.store.parent)

        rows = projects.projects(world.home, fine.call)["projects"]

        assert {row["path"].rpartition("/")[2]: row["state"] for row in rows} == {
            "corrupt": "broken",
            "fine": "ok",
            "gone": "missing",
            "stolen": "broken",
        }
        assert all(row.get("reason") for row in rows if row["state"] != "ok")
