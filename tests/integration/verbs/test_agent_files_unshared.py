"""What git does not share stays with its person: ignored files, and files that it overlooks."""

import pytest
from verb_world import prepared

from yaadwatch.sync import files, sharing

SHARED = ("AGENTS.md", "CLAUDE.md")
CANARY = "Always deploy through canary"


def rules(tree, path):
    inner = tree.read(path).partition("yaad:begin")[2].partition("<!-- yaad:end")[0]
    return [line[2:] for line in inner.splitlines() if line.startswith("- ")]


def replaced(tree, path, old, new):
    text = tree.read(path)
    assert old in text
    tree.write(path, text.replace(old, new))
    tree.sync_until_quiet()


def reasons(tree, path):
    """Return why each statement of a file stays in it; None for one that travels."""
    return [
        row["reason"]
        for row in sharing.statements(tree.home, tree.call, path=path)["statements"]
        if row["path"] == path
    ]


def listed(tree, path):
    (row,) = [one for one in files.files(tree.home, tree.call)["files"] if one["path"] == path]
    return row["state"], row["reason"]


@prepared
def tree(world):
    """Two tracked files with committed blocks, and one rule."""
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("files", {"AGENTS.md": "# A\n\nBrief.\n", "CLAUDE.md": "# C\n\nKind.\n"})
    tree.add(mode="inline")
    tree.remember(CANARY, kind="convention")
    tree.sync_until_quiet()
    tree.commit("blocks")
    tree.sync_until_quiet()
    return tree


@pytest.fixture
def fresh(world):
    """Two files that a person has just made, in a repository that tracks neither."""
    tree = world.repo()
    tree.add(mode="inline")
    tree.write("AGENTS.md", "# A\n\nBrief.\n")
    tree.write("CLAUDE.md", "# C\n\nKind.\n")
    tree.sync_until_quiet()
    tree.remember(CANARY, kind="convention")
    tree.sync_until_quiet()
    return tree


class TestUntrackedFiles:
    def test_rule_of_a_new_file_reaches_the_others_before_git_tracks_it(self, tree):
        tree.write("GEMINI.md", "# G\n\n- Always use my fork\n")
        tree.sync_until_quiet()

        assert [rules(tree, path) for path in SHARED] == [[CANARY, "Always use my fork"]] * 2
        assert reasons(tree, "GEMINI.md") == [None]

    @pytest.mark.parametrize("path", ["GEMINI.md", "CLAUDE.local.md"])
    def test_statement_of_a_file_that_stays_private_does_not_ask_for_git_add(self, tree, path):
        tree.write(".git/info/exclude", "GEMINI.md\n")
        tree.write(path, "# L\n\n- Always answer in Dutch\n")
        tree.sync_until_quiet()

        assert reasons(tree, path) == ["git does not share its file, so it is for you alone"]

    def test_files_of_a_fresh_repository_tell_each_other(self, fresh):
        replaced(fresh, "AGENTS.md", "<!-- yaad:end", "- Never log tokens\n<!-- yaad:end")
        replaced(fresh, "CLAUDE.md", "Kind.", "Kind.\n\n- Always use tabs")

        assert set(rules(fresh, "CLAUDE.md")) == {CANARY, "Never log tokens"}
        assert set(rules(fresh, "AGENTS.md")) == {CANARY, "Never log tokens", "Always use tabs"}

    def test_line_stays_in_the_file_that_is_committed_first(self, fresh):
        replaced(fresh, "CLAUDE.md", "<!-- yaad:end", "- Never log tokens\n<!-- yaad:end")
        fresh.git("add", "AGENTS.md")
        fresh.git("commit", "-q", "-m", "agents")
        fresh.sync_until_quiet()
        assert rules(fresh, "AGENTS.md") == [CANARY, "Never log tokens"]


@pytest.mark.parametrize("bit", ["--skip-worktree", "--assume-unchanged"])
class TestOverlookedFiles:
    @pytest.fixture
    def own(self, tree, bit):
        tree.git("update-index", bit, "AGENTS.md")
        tree.sync_until_quiet()
        return tree

    def test_new_line_stays(self, own):
        replaced(own, "AGENTS.md", "<!-- yaad:end", "- Always use my fork\n<!-- yaad:end")
        replaced(own, "AGENTS.md", "Brief.", "Brief.\n\n- Always answer in Dutch")

        assert rules(own, "CLAUDE.md") == [CANARY]
        assert own.git("status", "--porcelain") == ""

    def test_edited_line_stays(self, own):
        replaced(own, "AGENTS.md", "through canary", "through canary as ann")

        assert rules(own, "CLAUDE.md") == [CANARY]
        assert rules(own, "AGENTS.md") == [f"{CANARY} as ann"]

    def test_deleted_line_stays_elsewhere(self, own):
        replaced(own, "AGENTS.md", f"- {CANARY}\n", "")

        assert rules(own, "AGENTS.md") == []
        assert rules(own, "CLAUDE.md") == [CANARY]

    def test_nothing_is_said_to_be_uncommitted(self, own):
        replaced(own, "AGENTS.md", "<!-- yaad:end", "- Always use my fork\n<!-- yaad:end")

        state, reason = listed(own, "AGENTS.md")
        assert state == "synced"
        assert "git is set to overlook that" in reason

    def test_line_is_shared_once_git_looks_again(self, own, bit):
        own.git("update-index", bit.replace("--", "--no-"), "AGENTS.md")
        replaced(own, "AGENTS.md", "<!-- yaad:end", "- Never log tokens\n<!-- yaad:end")

        assert rules(own, "CLAUDE.md") == [CANARY, "Never log tokens"]
