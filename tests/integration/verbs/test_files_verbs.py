"""files list, diff, sync, adopt, release, restore: what a person asks about agent files."""

import shutil

import pytest
from refusals import refusal
from verb_world import prepared

from bridges.rules import FIRST
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.sync import files, rules_file
from yaadwatch.sync.tree import sync_for_command
from yaadwatch.workspace.workspace import Call

CLAUDE = "# Rules\n\n- Use tabs in Go files\n"
AGENTS = "# For agents\n\nRun `make test` first.\n"
RULE = "Always use jose for tokens"


@prepared
def tree(world):
    tree = world.repo()
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS})
    tree.add(mode="inline")
    return tree


def ask(tree, verb, **given):
    tree.settle()
    return verb(tree.home, tree.call, **given)


def listed(tree):
    rows = ask(tree, files.files)["files"]
    return {row["path"]: (row["mode"], row["state"]) for row in rows}


class TestList:
    def test_each_file_has_its_mode_its_state_and_its_copies(self, tree):
        assert listed(tree) == {
            "AGENTS.md": ("inline", "synced"),
            "CLAUDE.md": ("inline", "synced"),
        }
        tree.remember(RULE, kind="convention")
        ask(tree, files.files_sync)

        (agents, claude) = ask(tree, files.files)["files"]

        assert "is not committed" in agents["reason"]
        (copy,) = claude["snapshots"]
        assert copy["bytes"] == len(CLAUDE)

    def test_a_file_of_our_own_is_listed_while_there_is_one(self, world):
        tree = world.repo()
        tree.add(mode="private")
        tree.remember("The parser reads src/net.py")
        ask(tree, files.files_sync)
        assert listed(tree) == {}

        rule = tree.remember(RULE, kind="convention")
        ask(tree, files.files_sync)
        assert listed(tree) == {FIRST: ("private", "synced")}

        tree.forget(rule)
        ask(tree, files.files_sync)
        assert listed(tree) == {}
        assert not (tree.path / FIRST).exists()

    def test_a_folder_that_is_not_watched_is_one_clear_error(self, world):
        assert refusal(files.files, world.home, world.repo("other").call).code is Code.NOT_FOUND


class TestDiff:
    def test_nothing_to_do_is_no_row(self, tree):
        assert ask(tree, files.files_diff) == {"files": []}

    def test_what_would_be_written_and_read_is_shown_and_nothing_happens(self, tree):
        tree.remember(RULE, kind="convention")
        tree.write("AGENTS.md", AGENTS + "\n- Never push on Fridays\n")

        rows = {row["path"]: row for row in ask(tree, files.files_diff)["files"]}

        assert f"+- {RULE}" in rows["CLAUDE.md"]["diff"].splitlines()
        assert rows["CLAUDE.md"]["new"] == 0
        assert rows["AGENTS.md"]["new"] == 1
        assert tree.read("CLAUDE.md") == CLAUDE
        assert "Never push on Fridays" not in tree.memories()

    def test_what_would_go_is_counted(self, tree):
        tree.write("CLAUDE.md", "# Rules\n")

        (row,) = ask(tree, files.files_diff)["files"]

        assert (row["path"], row["new"], row["gone"]) == ("CLAUDE.md", 0, 1)

    def test_a_damaged_block_is_named_with_its_reason(self, tree):
        tree.write("CLAUDE.md", CLAUDE + "<!-- yaad:end -->\n")

        (row,) = ask(tree, files.files_diff)["files"]

        assert "begin marker" in row["reason"]

    def test_a_secret_is_masked_in_it(self, tree):
        tree.remember(RULE, kind="convention")
        tree.write("CLAUDE.md", CLAUDE + "- Key ghp_" + "a1B2" * 9 + "\n")

        (row,) = [row for row in ask(tree, files.files_diff)["files"] if row["path"] == "CLAUDE.md"]

        assert "a1B2a1B2" not in str(row)


class TestSync:
    def test_one_full_round_leaves_nothing_to_do(self, tree):
        tree.remember(RULE, kind="convention")
        tree.write("AGENTS.md", AGENTS + "\n- Never push on Fridays\n")

        answer = ask(tree, files.files_sync)

        assert answer["settled"]
        assert answer["changed"]
        assert "Never push on Fridays" in tree.read("CLAUDE.md")
        assert ask(tree, files.files_diff) == {"files": []}
        assert not ask(tree, files.files_sync)["changed"]

    def test_deletions_that_were_meant_are_accepted_for_that_file_only(self, tree):
        for number in range(6):
            tree.remember(f"Always obey rule {number}", kind="convention")
        ask(tree, files.files_sync)
        for name in ("CLAUDE.md", "AGENTS.md"):
            lines = tree.read(name).splitlines(keepends=True)
            tree.write(name, "".join(line for line in lines if "obey" not in line))
        answer = ask(tree, files.files_sync)
        assert {row["state"] for row in answer["files"]} == {"paused"}
        assert "--accept-deletions CLAUDE.md" in str(answer["files"])

        answer = ask(tree, files.files_sync, accept_deletions=["CLAUDE.md"])

        assert {row["state"] for row in answer["files"]} == {"synced"}
        assert tree.read("CLAUDE.md") == CLAUDE
        assert tree.read("AGENTS.md") == AGENTS
        assert "Always obey rule 3" in tree.memories()


class TestAdoptAndRelease:
    def test_release_takes_the_block_out_to_the_byte_and_the_daemon_leaves_the_file_alone(
        self, tree
    ):
        tree.remember(RULE, kind="convention")
        ask(tree, files.files_sync)

        ask(tree, files.files_release, path="CLAUDE.md")
        tree.sync()

        assert tree.read("CLAUDE.md") == CLAUDE
        assert listed(tree)["CLAUDE.md"] == ("read", "synced")
        assert RULE in tree.read("AGENTS.md")
        tree.write("CLAUDE.md", CLAUDE + "- Never push on Fridays\n")
        tree.sync()
        assert "Never push on Fridays" in tree.read("AGENTS.md")

    def test_adopted_again_the_block_is_back(self, tree):
        tree.remember(RULE, kind="convention")
        ask(tree, files.files_release, path="CLAUDE.md")

        ask(tree, files.files_adopt, path="CLAUDE.md")

        assert RULE in tree.read("CLAUDE.md")
        assert listed(tree)["CLAUDE.md"] == ("inline", "synced")

    def test_all_at_once_and_back(self, tree):
        tree.remember(RULE, kind="convention")
        ask(tree, files.files_sync)

        ask(tree, files.files_adopt, mode="private")

        assert tree.read("CLAUDE.md") == CLAUDE
        assert tree.read("AGENTS.md") == AGENTS
        assert RULE in tree.read(FIRST)
        assert tree.git("status", "--porcelain") == ""
        ask(tree, files.files_release)
        assert not (tree.path / FIRST).exists()

    def test_a_file_is_named_as_seen_from_the_folder_and_through_its_link(self, tree):
        tree.remember(RULE, kind="convention")
        (tree.path / "AGENTS.md").unlink()
        (tree.path / "AGENTS.md").symlink_to("CLAUDE.md")
        ask(tree, files.files_sync)
        inside = Call(folder=tree.path / "src", origin="cli")

        files.files_release(tree.home, inside, path="../AGENTS.md")

        assert tree.read("CLAUDE.md") == CLAUDE
        assert (tree.path / "AGENTS.md").is_symlink()

    def test_what_is_no_agent_file_is_one_clear_error(self, tree):
        for verb in (files.files_adopt, files.files_release):
            error = refusal(ask, tree, verb, path="README.md")
            assert error.code is Code.NOT_FOUND
            assert "README.md" in error.message

    def test_a_damaged_block_stops_the_release_and_nothing_changes(self, tree):
        tree.remember(RULE, kind="convention")
        ask(tree, files.files_sync)
        damaged = tree.read("CLAUDE.md").replace("<!-- yaad:end -->\n", "")
        tree.write("CLAUDE.md", damaged)

        with pytest.raises(YaadError, match="nothing was taken out"):
            ask(tree, files.files_release, path="CLAUDE.md")

        assert tree.read("CLAUDE.md") == damaged
        assert listed(tree)["CLAUDE.md"][0] == "inline"


class TestRestore:
    def test_the_newest_copy_comes_back_byte_for_byte(self, tree):
        tree.write("CLAUDE.md", b"\xef\xbb\xbf# Rules\r\n\r\n- Use tabs in Go files")
        ask(tree, files.files_sync)
        tree.remember(RULE, kind="convention")
        ask(tree, files.files_sync)
        assert RULE in tree.read("CLAUDE.md")

        answer = ask(tree, files.files_restore, path="CLAUDE.md")
        tree.sync()

        assert (tree.path / "CLAUDE.md").read_bytes() == (
            b"\xef\xbb\xbf# Rules\r\n\r\n- Use tabs in Go files"
        )
        assert answer["mode"] == "read"
        assert listed(tree)["CLAUDE.md"] == ("read", "synced")

    def test_what_stood_there_is_kept_too(self, tree):
        tree.remember(RULE, kind="convention")
        ask(tree, files.files_sync)
        with_block = tree.read("CLAUDE.md")
        ask(tree, files.files_restore, path="CLAUDE.md")

        (row,) = [row for row in ask(tree, files.files)["files"] if row["path"] == "CLAUDE.md"]
        newest = row["snapshots"][0]
        ask(tree, files.files_restore, path="CLAUDE.md", snapshot=newest["id"])

        assert tree.read("CLAUDE.md") == with_block

    def test_a_file_that_is_gone_comes_back(self, tree):
        tree.remember(RULE, kind="convention")
        ask(tree, files.files_sync)
        (tree.path / "CLAUDE.md").unlink()

        ask(tree, files.files_restore, path="CLAUDE.md")

        assert tree.read("CLAUDE.md") == CLAUDE

    def test_a_copy_that_is_not_kept_is_one_clear_error(self, tree):
        for given in ({"path": "CLAUDE.md"}, {"path": "nothing.md"}):
            assert refusal(ask, tree, files.files_restore, **given).code is Code.NOT_FOUND
        tree.remember(RULE, kind="convention")
        ask(tree, files.files_sync)
        shutil.rmtree(tree.store.parent / "snapshots")
        with pytest.raises(YaadError, match="nothing was changed"):
            ask(tree, files.files_restore, path="CLAUDE.md")

    def test_no_more_than_twenty_copies_are_kept(self, tree):
        with tree.home.space(tree.call) as space:
            for number in range(25):
                rules_file.keep_copy(tree.home, space, "CLAUDE.md", f"{number}".encode())

        (row,) = [row for row in ask(tree, files.files)["files"] if row["path"] == "CLAUDE.md"]

        assert len(row["snapshots"]) == 20
        assert len(list((tree.store.parent / "snapshots").iterdir())) == 20


@pytest.mark.parametrize("mode", ["inline", "private", "read"])
def test_what_looks_like_our_block_in_a_file_that_is_only_read_stays(world, mode):
    """A page about the block, or a file that came from elsewhere with one."""
    tree = world.repo()
    tree.write("CLAUDE.md", "# Rules\n\n- Use tabs\n\n@docs/page.md @docs/code.md\n")
    block = "<!-- yaad:begin v=1 nl=1 -->\n- a\n<!-- yaad:end -->\n"
    for path in ("docs/page.md", "sub/AGENTS.md", ".claude/rules/how.md"):
        tree.write(path, f"# How\n\n{block}")
    for path in ("docs/code.md", "other/AGENTS.md", ".claude/rules/code.md"):
        tree.write(path, f"# How\n\n```\n{block}```\n")
    tree.commit("rules")
    tree.add(mode=mode)
    tree.sync()
    tree.remove()

    assert tree.git("status", "--porcelain") == ""


def test_what_looks_like_our_block_stays_when_a_file_is_taken_in_no_more(world):
    tree = world.repo()
    page = "# How\n\n- Be brief\n\n<!-- yaad:begin v=1 nl=1 -->\n- a\n<!-- yaad:end -->\n"
    tree.write("CLAUDE.md", "# Rules\n\n@docs/page.md\n")
    tree.write("docs/page.md", page)
    tree.add(mode="private")
    tree.sync()
    tree.write("CLAUDE.md", "# Rules\n")

    tree.sync()

    assert tree.read("docs/page.md") == page
    assert "docs/page.md" not in tree.rows()


class TestAnnounced:
    """A command that changes agent files says which, also where the daemon was faster."""

    def said(self, tree, act):
        tree.settle()
        began = tree.home.clock.now()
        act()
        return sync_for_command(tree.home, tree.call, began)

    def test_what_a_command_about_a_memory_wrote(self, tree):
        tree.settle()
        tree.sync()
        both = {"wrote": ["CLAUDE.md", "AGENTS.md"]}
        ids = []

        assert self.said(tree, lambda: ids.append(tree.remember(RULE, kind="convention"))) == both
        assert self.said(tree, lambda: tree.edit(ids[0], RULE + " and cookies")) == both
        assert self.said(tree, lambda: tree.remember("The net is slow")) == {}
        assert self.said(tree, lambda: (tree.forget(ids[0]), tree.sync())) == both

    def test_nothing_is_written_where_the_branch_has_no_block(self, world):
        tree = world.repo()
        tree.commit("rules", {"CLAUDE.md": CLAUDE})
        tree.add()
        tree.sync()

        assert self.said(tree, lambda: tree.remember(RULE, kind="convention")) == {}
        assert tree.git("status", "--porcelain") == ""

    def test_a_file_that_an_agent_may_edit_is_not_written(self, tree):
        tree.settle()
        tree.sync()
        files.files(tree.home, Call(folder=tree.path, origin="agent:claude"))

        assert self.said(tree, lambda: tree.remember(RULE, kind="convention")) == {}
        assert RULE not in tree.read("CLAUDE.md")

    def test_adopt_sync_release_and_add_say_it_too(self, tree):
        added = tree.add(mode="read")
        tree.remember(RULE, kind="convention")
        assert added["wrote"] == []

        assert ask(tree, files.files_adopt, path="CLAUDE.md")["wrote"] == ["CLAUDE.md"]
        assert ask(tree, files.files_sync)["wrote"] == []
        assert ask(tree, files.files_release, path="CLAUDE.md")["wrote"] == ["CLAUDE.md"]
        assert tree.add(mode="inline")["wrote"] == ["CLAUDE.md", "AGENTS.md"]
