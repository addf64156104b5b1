"""Adding, removing and listing: whose store is it, what was read, and what is left behind."""

import os
import shlex
import shutil
import stat
from pathlib import Path

import pytest
from refusals import refusal_with_hint as refusal
from verb_world import FIVE_TRIES, NET, RETRY, Tree, World, dump

from yaadwatch import places
from yaadwatch.db import projects as db_projects
from yaadwatch.model.errors import Code
from yaadwatch.projects import exporting, projects
from yaadwatch.workspace import identity
from yaadwatch.workspace.workspace import Call

RULES = """# Conventions

- Use `fetch_with_retry` for all calls.
- Tabs are fine in src/net.py

```
- not a rule
```
"""


def cloned(world, source, name):
    """Clone a repository of this world, as from a server."""
    tree = world.tree(name)
    tree.git("clone", "-q", f"file://{world.folder / source}", ".")
    return tree


def everything_in(folder):
    """Return the paths below a folder; those of git's objects come and go."""
    found = {path.relative_to(folder) for path in folder.rglob("*")}
    return {path for path in found if path.parts[:2] != (".git", "objects")}


class TestIdentity:
    """The identity table of the contracts, row by row."""

    def test_each_command_it_names_is_one_that_a_shell_takes(self, world):
        tree = world.repo("it's a repo")
        folder = str(tree.path)

        watch = shlex.split(refusal(tree.remember).hint.partition(": ")[2])
        undo = shlex.split(tree.add()["undo"])
        shutil.rmtree(tree.path)
        (problem,) = projects.status(world.home, tree.call)["problems"]

        assert watch == ["yaadwatch", "add", folder]
        assert undo == ["yaadwatch", "remove", folder]
        assert folder in shlex.split(problem["mend"])

    def test_a_first_add_makes_a_store_for_its_owner_alone(self, world):
        tree = world.repo()

        answer = tree.add()

        assert answer["path"] == str(tree.path)
        assert answer["store"] == str(places.project_store(answer["id"]))
        assert not answer["again"]
        assert not answer["by_path"]
        assert answer["undo"] == f"yaadwatch remove {tree.path}"
        assert stat.S_IMODE(tree.store.stat().st_mode) == 0o600
        for folder in (tree.store.parent, places.projects(), places.data_folder()):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    def test_the_work_tree_holds_nothing_of_ours(self, world):
        tree = world.repo()
        before = everything_in(tree.path) - {Path(".git/config")}

        added = tree.add()
        tree.remember()
        tree.check()

        assert everything_in(tree.path) - {Path(".git/config")} == before
        assert tree.git("status", "--porcelain", "--ignored") == ""
        assert tree.git("config", "--local", "yaad.project").strip() == added["id"]

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

    def test_adding_from_a_folder_below_is_adding_the_repository(self, world):
        tree = world.repo()
        first = tree.add()

        below = Tree(world, tree.path / "src").add()

        assert below["again"]
        assert below["id"] == first["id"]
        assert len(projects.projects(world.home, tree.call)["projects"]) == 1

    def test_a_copy_is_one_more_work_tree_with_verdicts_of_its_own(self, world):
        tree = world.repo()
        first = tree.add()
        memory = tree.remember()
        copy = tree.copy("copy")

        answer = copy.add()
        copy.write("src/net.py", FIVE_TRIES)

        assert (answer["id"], answer["again"]) == (first["id"], True)
        assert answer["copy_of"] == str(tree.path)
        assert copy.verdict(memory) == "changed"
        assert tree.verdict(memory) == "fresh"
        assert {row.path for row in tree.worktrees()} == {tree.path, copy.path}
        tree.add()
        assert {row.path for row in tree.worktrees()} == {tree.path, copy.path}

    def test_a_copy_becomes_a_project_of_its_own_when_it_is_told_to(self, world):
        tree = world.repo()
        first = tree.add()
        tree.remember()
        copy = tree.copy("copy")
        copy.memories()

        answer = copy.add(separate=True)

        assert answer["id"] != first["id"]
        assert (copy.memories(), tree.memories()) == ([], [RETRY])
        assert [row.path for row in tree.worktrees()] == [tree.path]
        assert copy.git("config", "yaad.project").strip() == answer["id"]

    def test_what_is_no_copy_cannot_be_separated(self, world):
        tree = world.repo()
        first = tree.add()

        error = refusal(tree.add, separate=True)

        assert error.code is Code.REFUSED
        assert tree.add()["id"] == first["id"]

    def test_memories_from_before_are_offered_to_a_repository_that_was_cloned_again(self, world):
        origin, clone = world.repo("origin"), cloned(world, "origin", "clone")
        first = clone.add()
        clone.remember()
        shutil.rmtree(clone.path)
        again = cloned(world, "origin", "again")

        error = refusal(again.add)
        assert error.code is Code.CONFLICT
        assert "1 memory" in error.message
        assert "--adopt" in error.hint
        assert "--separate" in error.hint
        assert again.git("config", "--local", "--get", "yaad.project", check=False) == ""
        assert not origin.store.exists()

        answer = again.add(adopt=True)

        assert (answer["id"], answer["adopted"]) == (first["id"], True)
        assert again.memories() == [RETRY]
        assert [row.root for row in world.home.user.read(db_projects.everything)] == [again.path]

    def test_who_does_not_want_them_begins_without(self, world):
        world.repo("origin")
        clone = cloned(world, "origin", "clone")
        first = clone.add()
        clone.remember()
        shutil.rmtree(clone.path)
        again = cloned(world, "origin", "clone")

        answer = again.add(separate=True)

        assert answer["id"] != first["id"]
        assert again.memories() == []
        assert places.project_store(first["id"]).exists()

    def test_nothing_is_offered_while_the_other_clone_is_there(self, world):
        world.repo("origin")
        one, two = cloned(world, "origin", "one"), cloned(world, "origin", "two")
        first = one.add()
        one.remember()

        answer = two.add()

        assert answer["id"] != first["id"]
        assert refusal(cloned(world, "origin", "three").add, adopt=True).code is Code.NOT_FOUND

    def test_what_was_read_from_files_only_is_not_worth_a_question(self, world):
        world.repo("origin")
        clone = cloned(world, "origin", "clone")
        clone.write("CLAUDE.md", RULES)
        clone.add()
        shutil.rmtree(clone.path)

        assert not cloned(world, "origin", "clone").add()["adopted"]

    def test_a_repository_with_another_history_at_its_place_is_offered_nothing(self, world):
        tree = world.repo()
        first = tree.add()
        tree.remember()
        shutil.rmtree(tree.path)
        other = world.tree("repo")
        other.git("init", "-q", "-b", "main")
        other.commit("another beginning", {"other.py": "x = 1\n"})

        answer = other.add()

        assert answer["id"] != first["id"]
        assert other.memories() == []

    @pytest.mark.parametrize("told", ["archive", "archive with a remote"])
    def test_an_id_with_another_history_and_another_remote_is_not_believed(self, world, told):
        """An archive from elsewhere brings a copied .git/config along."""
        world.repo("origin")
        tree = cloned(world, "origin", "ours")
        first = tree.add()
        tree.remember()
        hostile = world.tree("hostile")
        hostile.git("init", "-q", "-b", "main")
        hostile.commit("evil", {"evil.py": "x = 1\n"})
        hostile.git("config", "yaad.project", first["id"])
        if told == "archive with a remote":
            hostile.git("remote", "add", "origin", "https://evil.example/x.git")

        assert refusal(hostile.memories).code is Code.NOT_FOUND
        answer = hostile.add()

        assert answer["id"] != first["id"]
        assert hostile.memories() == []
        assert hostile.git("config", "yaad.project").strip() == answer["id"]
        assert [row.path for row in tree.worktrees()] == [tree.path]

    def test_an_archive_in_the_place_of_a_deleted_repository_is_not_believed(self, world):
        tree = world.repo()
        first = tree.add()
        tree.remember()
        shutil.rmtree(tree.path)
        identity.note_places(world.home)
        hostile = world.tree("repo")
        hostile.git("init", "-q", "-b", "main")
        hostile.commit("evil", {"evil.py": "x = 1\n"})
        hostile.git("config", "yaad.project", first["id"])
        hostile.git("remote", "add", "origin", "https://evil.example/x.git")

        identity.note_places(world.home)

        assert refusal(hostile.memories).code is Code.NOT_FOUND
        (row,) = projects.projects(world.home, hostile.call)["projects"]
        assert (row["state"], row["memories"]) == ("missing", 1)
        assert hostile.add()["id"] != first["id"]
        assert hostile.memories() == []

    def test_one_that_is_restored_to_its_place_is_watched_again(self, world):
        tree = world.repo()
        tree.add()
        memory = tree.remember()
        tree.copy("backup")
        shutil.rmtree(tree.path)
        identity.note_places(world.home)
        shutil.move(world.folder / "backup", tree.path)

        assert tree.show(memory)["id"] == memory
        (row,) = projects.projects(world.home, tree.call)["projects"]
        assert (row["state"], row["gone_since"]) == ("ok", None)

    @pytest.mark.parametrize(
        "named", ["../../other", "/etc", "..", "", "x" * 36, "0199B1C2-7D3E-7F00-8A11-5C01F2E4AB37"]
    )
    def test_an_id_that_is_none_of_ours_is_never_used(self, world, named):
        tree = world.repo()
        tree.git("config", "yaad.project", named)

        answer = tree.add()

        assert answer["id"] != named
        assert answer["store"] == str(places.projects() / answer["id"] / "yaad.db")
        assert tree.git("config", "yaad.project").strip() == answer["id"]

    def test_an_id_that_nobody_here_knows_is_kept(self, world):
        """Another daemon with a data folder of its own knows the repository by it."""
        tree = world.repo()
        known = world.home.new_id()
        tree.git("config", "yaad.project", known)

        assert tree.add()["id"] == known

    @pytest.mark.parametrize("how", ["read-only", "a link", "of somebody else"])
    def test_where_git_cannot_be_configured_the_path_is_what_it_is_known_by(self, world, how):
        tree = world.repo()
        config = tree.path / ".git/config"
        if how == "a link":
            config.rename(world.folder / "config")
            config.symlink_to(world.folder / "config")
        elif os.geteuid() == 0:
            os.chown(config, 65534, 65534)
        else:
            config.chmod(0o400)
        before = config.read_bytes()

        answer = tree.add()
        memory = tree.remember()
        world.reopen()

        assert answer["by_path"]
        assert config.read_bytes() == before
        assert tree.show(memory)["text"] == RETRY
        assert tree.add()["again"]
        if how == "of somebody else" and os.geteuid() == 0:
            os.chown(config, 0, 0)
            assert not tree.add()["by_path"]
            assert tree.show(memory)["text"] == RETRY
        tree.remove()
        assert refusal(tree.show, memory).code is Code.NOT_FOUND

    def test_a_lost_registry_costs_no_memories(self, world):
        tree = world.repo()
        first = tree.add()
        tree.remember()
        world.home.user.write(db_projects.drop, first["id"])

        assert refusal(tree.add).code is Code.CONFLICT
        answer = tree.add(adopt=True)

        assert answer["id"] == first["id"]
        assert tree.memories() == [RETRY]

    def test_a_repository_of_somebody_else_is_refused_with_the_way_out(self, world):
        if os.geteuid() != 0:
            pytest.skip("only root can give files away")
        tree = world.repo()
        for path in [tree.path, *tree.path.rglob("*")]:
            os.chown(path, 65534, 65534)

        error = refusal(tree.add)

        assert error.code is Code.REFUSED
        assert "safe.directory" in f"{error.message} {error.hint}"
        assert not tree.store.exists()

    def test_ids_never_cross_projects(self, world):
        one, two = world.repo("one"), world.repo("two")
        one.add()
        two.add()
        memory = one.remember()

        assert refusal(two.show, memory).code is Code.NOT_FOUND


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

    def test_a_statement_that_became_false_is_flagged(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        tree.add()

        tree.commit("rename", moved={"src/net.py": "src/http.py"})

        assert sorted(row["verdict"] for row in tree.stale(all=True)["stale"]) == ["moved", "moved"]

    @pytest.mark.parametrize(
        ("now", "statements", "new"),
        [
            ("- Use tabs\n", 1, 0),
            ("- Use tabs\n- Ship on Mondays\n", 2, 1),
            ("- Use tabs\n- Name tests\n- Ask first\n- Ship on Mondays\n", 4, 1),
        ],
        ids=["two deleted", "two deleted and one written", "one written"],
    )
    def test_adding_again_counts_the_statements_that_are_new(self, world, now, statements, new):
        tree = world.repo()
        tree.write("CLAUDE.md", "- Use tabs\n- Name tests\n- Ask first\n")
        tree.add()
        tree.write("CLAUDE.md", now)

        answer = tree.add()

        assert answer["imported"] == {"statements": statements, "nodes": new, "anchored": 0}

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

    def test_what_a_file_no_longer_says_is_not_flagged_any_more(self, world):
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
        assert shown["tier"] == 1
        assert [place["line"] for place in shown["provenance"]] == [1]

    def test_each_work_tree_has_its_own_places(self, world):
        tree = world.repo()
        tree.commit("rules", {"CLAUDE.md": RULES})
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

    def test_nothing_of_ours_is_left_in_the_repository(self, world):
        tree = world.repo()
        before = {
            path: path.read_bytes() for path in sorted(tree.path.rglob("*")) if path.is_file()
        }
        project = tree.add()["id"]
        memory = tree.remember()
        tree.check()

        answer = tree.remove()

        after = {path: path.read_bytes() for path in sorted(tree.path.rglob("*")) if path.is_file()}
        assert after == before
        assert answer["memories"] == 1
        assert answer["kept"] == str(places.projects() / project)
        assert answer["undo"] == f"yaadwatch add --adopt {tree.path}"
        assert refusal(tree.show, memory).code is Code.NOT_FOUND
        assert projects.projects(world.home, tree.call)["projects"] == []

    def test_its_memories_come_back_when_it_is_adopted(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", RULES)
        first = tree.add()
        memory = tree.remember()
        tree.remove()
        tree.write("src/net.py", FIVE_TRIES)

        assert refusal(tree.add).code is Code.CONFLICT
        answer = tree.add(adopt=True)

        assert answer["id"] == first["id"]
        assert tree.show(memory)["text"] == RETRY
        assert tree.verdict(memory) == "changed"

    def test_erasing_it_leaves_nothing_in_the_data_folder(self, world):
        tree = world.repo()
        project = tree.add()["id"]
        tree.remember("A word that nobody else says: quomodocunquize")
        exporting.backup(world.home, tree.call)
        store = tree.store

        answer = tree.remove(erase=True)

        assert (answer["kept"], answer["undo"], answer["later"]) == (None, None, None)
        assert not store.parent.exists()
        assert not places.backups(project).exists()
        assert not tree.add()["adopted"]

    def test_one_that_was_removed_before_can_still_be_erased(self, world):
        tree = world.repo()
        tree.add()
        tree.remember()
        store = tree.store
        tree.remove()

        answer = tree.remove(erase=True)

        assert answer["memories"] == 1
        assert not store.parent.exists()
        assert refusal(tree.remove, erase=True).code is Code.NOT_FOUND

    def test_memories_of_today_are_not_replaced_by_those_of_the_backup(self, world):
        tree = world.repo()
        tree.add()
        tree.remember()
        exporting.backup(world.home, tree.call)
        today = tree.remember("Said today")

        error = refusal(tree.add, restore=True)

        assert error.code is Code.CONFLICT
        assert tree.show(today)["text"] == "Said today"

    def test_a_store_that_is_lost_comes_back_from_its_backup(self, world):
        tree = world.repo()
        first = tree.add()
        tree.remember()
        exporting.backup(world.home, tree.call)
        world.home.stores.close_one(first["id"])
        for path in tree.store.parent.glob("yaad.db*"):
            path.unlink()
        assert refusal(tree.memories).code is Code.UNAVAILABLE

        answer = tree.add(restore=True)

        assert answer["id"] == first["id"]
        assert tree.memories() == [RETRY]
        assert stat.S_IMODE(tree.store.stat().st_mode) == 0o600

    def test_restoring_what_was_never_there_is_an_error(self, world):
        assert refusal(world.repo().add, restore=True).code is Code.NOT_FOUND

    def test_of_what_is_not_watched_any_more_nothing_stays_in_memory(self, world):
        def held(home):
            return [len(home._beside._read), len(home.stores._checking), len(home.copies)]

        before = held(world.home)
        for number in range(3):
            tree = world.repo(f"guest{number}")
            tree.add()
            tree.check()
            tree.copy(f"copy{number}").check()
            assert held(world.home) != before
            tree.remove()

        assert held(world.home) == before

    def test_removing_what_is_not_watched_is_an_error(self, world):
        assert refusal(world.repo().remove).code is Code.NOT_FOUND

    def test_a_repository_that_is_gone_keeps_its_memories_and_says_since_when(self, world):
        tree = world.repo()
        tree.add()
        tree.remember()
        shutil.rmtree(tree.path)
        identity.note_places(world.home)

        (row,) = projects.projects(world.home, tree.call)["projects"]

        now = world.clock.now()
        assert (row["state"], row["memories"]) == ("missing", 1)
        assert row["reason"].startswith(f"gone since {now.astimezone():%Y-%m-%d}")
        assert abs((row["gone_since"] - now).total_seconds()) < 60

    def test_a_repository_that_is_gone_can_still_be_removed(self, world):
        tree = world.repo()
        tree.add()
        tree.remember()
        shutil.rmtree(tree.path)

        answer = projects.remove(world.home, Call(folder=tree.path, origin="cli"))

        assert answer["undo"] is None
        assert answer["later"] == f"yaadwatch add --adopt {tree.path}"
        assert projects.projects(world.home, tree.call)["projects"] == []
        again = world.repo()
        again.add(adopt=True)
        assert again.memories() == [RETRY]

    def test_the_one_of_that_name_is_removed_and_not_the_one_around_it(self, world):
        """A home folder that is a repository has many others in it."""
        outer, inner = world.repo("outer"), world.repo("outer/inner")
        outer.add()
        inner.add()
        outer.remember()
        shutil.rmtree(inner.path / ".git")

        answer = projects.remove(world.home, Call(folder=inner.path, origin="cli"))

        assert answer["path"] == str(inner.path)
        left = projects.projects(world.home, outer.call)["projects"]
        assert [(row["path"], row["memories"]) for row in left] == [(str(outer.path), 1)]

    def test_behind_a_link_to_where_it_moved_it_is_removed_there(self, world):
        tree = world.repo("my shop")
        tree.add()
        tree.remember()
        there = tree.moved_to("moved shop")
        tree.path.symlink_to(there.path, target_is_directory=True)

        answer = projects.remove(world.home, Call(folder=tree.path, origin="cli"))

        assert answer["path"] == str(there.path)
        command = shlex.split(answer["undo"])
        assert command == ["yaadwatch", "add", "--adopt", str(there.path)]
        there.add(adopt=True)
        assert there.memories() == [RETRY]

    def test_removing_takes_the_id_out_of_copies_too(self, world):
        tree = world.repo()
        tree.add()
        copy = tree.copy("copy")
        copy.memories()

        tree.remove()

        for one in (tree, copy):
            assert "yaad" not in one.read(".git/config")
            assert refusal(one.memories).code is Code.NOT_FOUND

    def test_a_folder_in_a_repository_means_that_one(self, world):
        tree = world.repo()
        tree.add()

        answer = projects.remove(world.home, Call(folder=tree.path / "src", origin="cli"))

        assert answer["path"] == str(tree.path)

    def test_settings_of_the_team_stay(self, world):
        tree = world.repo()
        tree.add()
        tree.write(".yaad/config.toml", "x = 1\n")

        tree.remove()

        assert tree.read(".yaad/config.toml") == "x = 1\n"


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

    def test_it_is_watched_beside_those_in_it(self, world, person):
        other = world.repo("person/src/other")
        other.add()
        person.add()
        memory = person.remember()
        world.reopen()

        assert person.show(memory)["id"] == memory
        assert other.memories() == []
        person.remove()
        assert [row["path"] for row in projects.projects(world.home, other.call)["projects"]] == [
            str(other.path)
        ]


class TestLayouts:
    """Repositories that are not a folder with .git in it."""

    def test_a_bare_repository_without_work_trees_is_refused_and_nothing_is_made(self, world):
        tree = world.tree("bare.git")
        tree.git("init", "-q", "--bare")

        error = refusal(tree.add)

        assert error.code is Code.REFUSED
        assert "git worktree add" in error.hint
        assert projects.projects(world.home, tree.call)["projects"] == []

    def test_a_bare_repository_with_a_work_tree_is_watched(self, world):
        source = world.repo("source")
        bare = world.tree("bare.git")
        bare.git("clone", "-q", "--bare", f"file://{source.path}", ".")
        bare.git("worktree", "add", "-q", str(world.folder / "linked"), "main")
        linked = Tree(world, world.folder / "linked")

        answer = linked.add()

        assert answer["path"] == str(bare.path)
        memory = linked.remember()
        linked.write("src/net.py", FIVE_TRIES)
        assert linked.verdict(memory) == "changed"
        assert linked.git("status", "--porcelain") == " M src/net.py\n"
        assert linked.remove()["path"] == str(bare.path)

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
        tree.commit("rename", moved={"src/net.py": "src/http.py"})

        assert tree.flag_of(memory)["suggestion"]["path"] == "src/http.py"
        tree.remove()
        tree.add(adopt=True)
        assert tree.memories() == [RETRY]

    def test_a_folder_whose_name_is_not_text_is_refused(self, world):
        tree = world.repo(os.fsdecode(b"latin-\xfc"))

        error = refusal(tree.add)

        assert error.code is Code.REFUSED
        assert "UTF-8" in error.message
        assert not places.projects().exists()

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
