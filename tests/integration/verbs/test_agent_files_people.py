"""What people do to agent files, and must never have to think about."""

import os
import time

import pytest
from refusals import refusal
from verb_world import prepared

from bridges.rules import FIRST
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.recall import recall
from yaadwatch.remember import remember
from yaadwatch.sync import files, rules_file
from yaadwatch.workspace.workspace import Call

CLAUDE = "# Rules\n\n- Use tabs in Go files\n"
AGENTS = "# For agents\n\n- Be brief\n"
RULE = "Always use jose for tokens"
OTHER = "Never deploy on Fridays"


@prepared
def tree(world):
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS})
    tree.add(mode="inline")
    tree.sync()
    return tree


def rules_of(tree, path):
    inner = tree.read(path).partition("yaad:begin")[2].partition("<!-- yaad:end")[0]
    return [line[2:] for line in inner.splitlines() if line.startswith("- ")]


def type_inside(tree, path, line):
    tree.write(path, tree.read(path).replace("<!-- yaad:end", f"- {line}\n<!-- yaad:end"))


def said_by_an_agent(tree, text):
    agent = Call(folder=tree.path, origin="agent:claude")
    return remember.remember(tree.home, agent, text=text, kind="convention")["id"]


class TestWordsOfAnAgent:
    """What an agent said is a rule for all as soon as a person says it too."""

    def test_typed_into_a_block_it_stays_and_reaches_the_siblings(self, tree):
        said_by_an_agent(tree, OTHER)
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        assert rules_of(tree, "AGENTS.md") == [RULE]

        type_inside(tree, "AGENTS.md", OTHER)
        tree.sync_until_quiet()

        assert rules_of(tree, "AGENTS.md") == [RULE, OTHER]
        assert set(rules_of(tree, "CLAUDE.md")) == {RULE, OTHER}

    def test_a_rule_edited_to_its_words_becomes_it(self, tree):
        agents = said_by_an_agent(tree, "Always use jose for all tokens")
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()

        tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace(RULE, f"{RULE[:15]} for all tokens"))
        tree.sync_until_quiet()

        assert rules_of(tree, "CLAUDE.md") == ["Always use jose for all tokens"]
        assert rules_of(tree, "AGENTS.md") == ["Always use jose for all tokens"]
        assert tree.show(agents)["archived_at"] is None

    def test_typed_outside_it_reaches_the_siblings(self, tree):
        said_by_an_agent(tree, OTHER)
        tree.write("CLAUDE.md", CLAUDE + f"- {OTHER}\n")
        tree.sync_until_quiet()

        assert rules_of(tree, "AGENTS.md") == [OTHER]


class TestTakenBack:
    """An edit that is undone by hand is an edit, also when the file then is as HEAD has it."""

    @pytest.fixture(autouse=True)
    def committed(self, tree):
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        tree.commit("with a block")
        tree.sync_until_quiet()
        time.sleep(0.02)  # so that the index, which git has just written, is older than the edits

    def test_a_changed_line_is_changed_back(self, tree):
        before = tree.read("CLAUDE.md")
        tree.write("CLAUDE.md", before.replace(RULE, RULE + " and cookies"))
        tree.sync_until_quiet()
        tree.write("CLAUDE.md", before)
        tree.sync_until_quiet()

        assert rules_of(tree, "CLAUDE.md") == rules_of(tree, "AGENTS.md") == [RULE]

    def test_a_deleted_line_stays_away(self, tree):
        before = tree.read("CLAUDE.md")
        tree.remember(OTHER, kind="convention")
        tree.sync_until_quiet()
        tree.write("CLAUDE.md", before)
        tree.sync_until_quiet()

        assert rules_of(tree, "CLAUDE.md") == rules_of(tree, "AGENTS.md") == [RULE]

    def test_a_typed_bullet_is_archived(self, tree):
        before = tree.read("CLAUDE.md")
        tree.write("CLAUDE.md", before.replace("Go files\n", f"Go files\n- {OTHER}\n"))
        tree.sync_until_quiet()
        assert OTHER in rules_of(tree, "AGENTS.md")
        tree.write("CLAUDE.md", before)
        tree.sync_until_quiet()

        assert rules_of(tree, "AGENTS.md") == [RULE]
        assert OTHER not in tree.memories()


class TestModes:
    """A file that takes part in another way keeps nothing of the former one."""

    @pytest.mark.parametrize("how", ["add", "adopt"])
    def test_no_rules_file_stays_beside_a_block(self, world, how):
        tree = world.repo()
        tree.commit("rules", {"CLAUDE.md": CLAUDE})
        tree.add(mode="private")
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        assert (tree.path / FIRST).exists()

        if how == "add":
            tree.add(mode="inline")
        else:
            files.files_adopt(tree.home, tree.call)
        tree.sync_until_quiet()

        assert rules_of(tree, "CLAUDE.md") == [RULE]
        assert not (tree.path / ".claude").exists()

    def test_what_was_typed_last_is_read_before_the_block_goes(self, tree):
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        type_inside(tree, "CLAUDE.md", OTHER)

        files.files_release(tree.home, tree.call, path="CLAUDE.md")

        assert tree.read("CLAUDE.md") == CLAUDE
        assert OTHER in rules_of(tree, "AGENTS.md")

    def test_a_release_while_git_is_at_work_writes_nothing(self, tree):
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        before = tree.read("CLAUDE.md")
        (tree.path / ".git" / "rebase-merge").mkdir()

        error = refusal(files.files_release, tree.home, tree.call, path="CLAUDE.md")

        assert error.code is Code.CONFLICT
        assert tree.read("CLAUDE.md") == before


class TestOneFileStopsNoOther:
    """What is wrong with one file is said of that file."""

    def test_a_line_that_is_too_long_is_carried_and_is_no_rule(self, tree):
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        type_inside(tree, "CLAUDE.md", "x" * 70_000)
        tree.write("AGENTS.md", tree.read("AGENTS.md").replace("brief\n", f"brief\n- {OTHER}\n"))
        tree.sync_until_quiet()

        assert "x" * 70_000 in tree.read("CLAUDE.md")
        assert OTHER in tree.memories()
        assert "no room" in tree.rows()["CLAUDE.md"].reason

    def test_a_file_that_becomes_a_stub_while_it_is_synced_is_no_fault(self, tree):
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        tree.write("CLAUDE.md", "@AGENTS.md\n")
        tree.sync_until_quiet()
        assert tree.read("CLAUDE.md") == "@AGENTS.md\n"
        tree.write("CLAUDE.md", "@AGENTS.md\n\n- Something else now\n")
        tree.sync_until_quiet()

        assert "Something else now" in tree.memories()

    def test_what_is_unreadable_at_first_is_a_baseline_when_it_is_mended(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", b"\xff\xfe")
        tree.write("AGENTS.md", AGENTS)
        tree.add(mode="inline")
        tree.sync()
        tree.write("CLAUDE.md", CLAUDE)
        tree.sync_until_quiet()

        assert "Use tabs in Go files" in tree.memories()
        assert tree.read("AGENTS.md") == AGENTS

    def test_a_write_that_failed_is_tried_again(self, tree, monkeypatch):
        tree.remember(RULE, kind="convention")

        def no_space(*_, **__):
            raise YaadError(Code.UNAVAILABLE, "There is no space left.")

        monkeypatch.setattr(rules_file, "write", no_space)

        assert tree.sync().waiting
        monkeypatch.undo()
        tree.sync_until_quiet()
        assert rules_of(tree, "CLAUDE.md") == [RULE]


class TestBranches:
    def test_a_rule_said_by_hand_holds_on_every_branch(self, tree):
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        tree.commit("a block")
        tree.sync_until_quiet()
        tree.git("checkout", "-q", "-b", "more")
        tree.commit("more", {"CLAUDE.md": CLAUDE + f"- {RULE}\n"})
        tree.sync_until_quiet()
        tree.git("checkout", "-q", "-f", "main")
        tree.sync_until_quiet()

        assert rules_of(tree, "AGENTS.md") == [RULE]
        found = recall.recall(tree.home, tree.call, query="jose tokens")["results"]
        assert RULE in [row["text"] for row in found]

    def test_what_a_stash_put_away_can_be_popped(self, tree):
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        before = tree.read("CLAUDE.md")

        tree.git("stash")
        tree.sync()
        assert tree.read("CLAUDE.md") == CLAUDE
        row = tree.rows()["CLAUDE.md"]
        assert (row.state, "stash" in row.reason) == ("pending", True)
        tree.git("stash", "pop")
        tree.sync_until_quiet()

        assert tree.read("CLAUDE.md") == before
        assert tree.rows()["CLAUDE.md"].state == "synced"

    def test_what_a_removed_work_tree_said_is_said_no_more(self, tree):
        tree.commit("more", {"CLAUDE.md": CLAUDE + f"- {OTHER}\n"})
        tree.sync_until_quiet()
        tree.git("worktree", "add", "-q", "../linked", "-b", "linked")
        linked = tree.world.tree("linked")
        linked.add()
        linked.sync()
        tree.git("worktree", "remove", "--force", "../linked")

        time.sleep(0.02)
        tree.write("CLAUDE.md", CLAUDE)
        tree.sync_until_quiet()

        assert OTHER not in tree.memories()

    def test_a_work_tree_that_is_away_for_a_while_is_not_forgotten(self, tree):
        tree.git("worktree", "add", "-q", "../linked", "-b", "linked")
        linked = tree.world.tree("linked")
        linked.add()
        linked.sync()
        before = tree.worktrees()
        os.rename(linked.path, tree.world.folder / "away")

        tree.sync()

        assert len(before) == 2
        assert [row.id for row in tree.worktrees()] == [row.id for row in before]
        os.rename(tree.world.folder / "away", linked.path)
        assert linked.sync().files


class TestNames:
    def test_a_former_link_target_is_left_without_our_block(self, world):
        tree = world.repo()
        tree.write("docs/rules.md", CLAUDE)
        (tree.path / "CLAUDE.md").symlink_to("docs/rules.md")
        tree.commit("rules")
        tree.add(mode="inline")
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        assert rules_of(tree, "docs/rules.md") == [RULE]

        (tree.path / "CLAUDE.md").unlink()
        tree.write("CLAUDE.md", "# New\n")
        tree.sync_until_quiet()

        assert tree.read("docs/rules.md") == CLAUDE
        assert rules_of(tree, "CLAUDE.md") == [RULE]

    def test_what_moved_to_another_name_can_be_deleted_there(self, tree):
        os.replace(tree.path / "CLAUDE.md", tree.path / "AGENTS.md")
        (tree.path / "CLAUDE.md").symlink_to("AGENTS.md")
        tree.sync_until_quiet()
        tree.write("AGENTS.md", "# Rules\n\n- Something else\n")
        tree.sync_until_quiet()

        assert "Use tabs in Go files" not in tree.memories()

    def test_deletions_are_accepted_as_the_file_is_seen_from_the_folder(self, tree):
        for given in ("./CLAUDE.md", str(tree.path / "CLAUDE.md")):
            answer = files.files_sync(tree.home, tree.call, accept_deletions=[given])
            assert answer["settled"]
        error = refusal(files.files_sync, tree.home, tree.call, accept_deletions=["CLAUD.md"])
        assert error.code is Code.NOT_FOUND


class TestRemove:
    def test_a_file_that_is_text_no_more_stops_it(self, tree):
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        bad = b"\xff\xfe latin\n" + (tree.path / "CLAUDE.md").read_bytes()
        tree.write("CLAUDE.md", bad)

        with pytest.raises(YaadError, match=r"CLAUDE\.md") as caught:
            tree.remove()

        assert caught.value.code is Code.REFUSED
        assert (tree.path / "CLAUDE.md").read_bytes() == bad

    def test_a_file_that_grew_beyond_what_is_read_is_emptied_of_our_block(self, tree):
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        much = "x" * 300_000 + "\n"
        tree.write("CLAUDE.md", much + tree.read("CLAUDE.md"))

        tree.remove()

        assert tree.read("CLAUDE.md") == much + CLAUDE

    def test_a_persons_own_empty_folders_stay(self, world):
        tree = world.repo()
        (tree.path / ".claude").mkdir()
        tree.add(mode="private")
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        assert (tree.path / FIRST).exists()

        tree.remove()

        assert list((tree.path / ".claude").iterdir()) == []


def test_two_people_at_work_are_not_taken_for_a_fight(tree):
    for number in range(8):
        path = ("CLAUDE.md", "AGENTS.md")[number % 2]
        text = tree.read(path)
        tree.write(path, text.replace("\n\n- ", f"\n\n- Never do thing {number}\n- ", 1))
        tree.sync_until_quiet()

    assert {row.state for row in tree.rows().values()} <= {"synced", "absent"}


def test_an_edited_rule_outlives_the_old_words_elsewhere(tree):
    """A rule that one file says by itself is edited in another one's block; then the old goes."""
    files.files_adopt(tree.home, tree.call, path="CLAUDE.md", mode="read")
    tree.write("CLAUDE.md", CLAUDE + f"- {RULE}\n")
    tree.sync_until_quiet()
    assert rules_of(tree, "AGENTS.md") == [RULE]
    tree.write("AGENTS.md", tree.read("AGENTS.md").replace(RULE, RULE + " and cookies"))
    tree.sync_until_quiet()

    tree.write("CLAUDE.md", CLAUDE)
    tree.sync_until_quiet()

    assert rules_of(tree, "AGENTS.md") == [RULE + " and cookies"]
    assert RULE + " and cookies" in tree.memories()
