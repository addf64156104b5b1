"""What git does to a file on its way into the work tree is git's doing, not a person's."""

import hashlib
import time

import pytest
from verb_world import prepared

from yaadwatch.projects import projects
from yaadwatch.sync import files

CLAUDE = "# Rules\n\n- Use tabs in Go files\n"
RULE = "Use yarn for all installs"


@prepared
def tree(world):
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.write("CLAUDE.md", CLAUDE)
    tree.write("AGENTS.md", "# For agents\n\n- Be brief\n")
    return tree


def filtered(tree):
    program = tree.world.folder / "rot.sh"
    program.write_text(f"#!/bin/sh\necho run >> {tree.world.folder}/ran\ntr a-zA-Z n-za-mN-ZA-M\n")
    program.chmod(0o755)
    for way in ("clean", "smudge"):
        tree.git("config", f"filter.rot.{way}", str(program))
    tree.write(".gitattributes", "CLAUDE.md filter=rot\n")


def runs(tree):
    ran = tree.world.folder / "ran"
    return ran.read_text().count("run") if ran.exists() else 0


CONVERSIONS = {
    "filter": (filtered, CLAUDE),
    "ident": (
        lambda tree: tree.write(".gitattributes", "CLAUDE.md ident\n"),
        CLAUDE + "\n<!-- $Id$ -->\n",
    ),
    "eol": (lambda tree: tree.write(".gitattributes", "CLAUDE.md text eol=crlf\n"), CLAUDE),
}


@pytest.mark.parametrize(
    ("how", "mode"), [("filter", "inline"), ("ident", "private"), ("eol", "inline")]
)
def test_a_checkout_of_a_converted_file_deletes_no_rule(tree, how, mode):
    prepare, text = CONVERSIONS[how]
    prepare(tree)
    tree.commit("rules", {"CLAUDE.md": text})
    tree.add(mode=mode)
    tree.sync_until_quiet()
    tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace("# Rules\n", f"# Rules\n\n- {RULE}\n"))
    tree.sync_until_quiet()
    tree.commit("yarn")
    tree.sync_until_quiet()
    before = set(tree.memories())
    assert RULE in before

    tree.git("checkout", "-q", "HEAD~1")
    tree.sync_until_quiet()
    assert set(tree.memories()) == before
    tree.git("checkout", "-q", "main")
    tree.sync_until_quiet()

    assert set(tree.memories()) == before
    assert tree.rows()["CLAUDE.md"].state == "synced"


def test_no_filter_is_run_and_no_block_is_written_into_a_filtered_file(tree):
    filtered(tree)
    tree.commit("rules")
    tree.add()
    files.files_adopt(tree.home, tree.call, path="AGENTS.md")
    tree.remember(RULE, kind="convention")
    before = runs(tree)

    tree.sync_until_quiet()
    tree.write("CLAUDE.md", CLAUDE + "- Never push on Fridays\n")
    tree.sync_until_quiet()

    assert runs(tree) == before
    assert tree.read("CLAUDE.md") == CLAUDE + "- Never push on Fridays\n"
    assert "Never push on Fridays" in tree.memories()


@pytest.mark.parametrize("change", ["checkout", "edit", "rule"])
def test_a_block_in_a_file_that_git_filters_since_is_left_alone(tree, change):
    tree.git("config", "filter.loud.clean", "sed s/YARN/yarn/")
    tree.git("config", "filter.loud.smudge", "sed s/yarn/YARN/")
    tree.commit("rules")
    tree.add(mode="inline")
    tree.remember(RULE, kind="convention")
    tree.sync_until_quiet()
    tree.commit("blocks", {".gitattributes": "CLAUDE.md filter=loud\n"})
    tree.sync_until_quiet()

    (tree.path / "CLAUDE.md").unlink()
    tree.git("checkout", "-q", "CLAUDE.md")
    tree.sync_until_quiet()
    if change == "edit":
        tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace("YARN", "our YARN"))
    elif change == "rule":
        tree.remember("Never push on Fridays", kind="convention")
    before = tree.read("CLAUDE.md")
    tree.sync_until_quiet()

    assert "YARN" in before
    assert tree.read("CLAUDE.md") == before
    assert f"- {RULE}\n" in tree.read("AGENTS.md")
    assert tree.rows()["CLAUDE.md"].reason.startswith("git filters it")


def test_a_deletion_by_hand_still_counts_in_a_filtered_file(tree):
    filtered(tree)
    tree.commit("rules", {"CLAUDE.md": CLAUDE + f"- {RULE}\n"})
    tree.add()
    tree.sync_until_quiet()
    time.sleep(0.02)

    tree.write("CLAUDE.md", CLAUDE)
    tree.sync_until_quiet()

    assert RULE not in tree.memories()


class TestLeftOut:
    """Git dropped the file: its rules are hidden, and nobody is advised to delete them."""

    @pytest.fixture(autouse=True)
    def watched(self, tree):
        tree.write("CLAUDE.md", CLAUDE + f"- {RULE}\n- Keep functions short\n- Never log tokens\n")
        tree.commit("rules")
        tree.add()
        tree.sync_until_quiet()

    def drop(self, tree, how):
        if how == "sparse":
            tree.git("sparse-checkout", "set", "--no-cone", "/src/")
        elif how == "skip":
            tree.git("update-index", "--skip-worktree", "CLAUDE.md")
            (tree.path / "CLAUDE.md").unlink()
        elif how == "renamed":
            tree.git("mv", "CLAUDE.md", "claude.md")
        else:
            tree.git("rm", "-q", "CLAUDE.md")

    def take_back(self, tree, how):
        if how == "sparse":
            tree.git("sparse-checkout", "disable")
        elif how == "skip":
            tree.git("update-index", "--no-skip-worktree", "CLAUDE.md")
            tree.git("checkout", "-q", "--", "CLAUDE.md")
        else:
            tree.git("reset", "-q", "--hard")

    @pytest.mark.parametrize("how", ["sparse", "skip", "renamed", "removed"])
    def test_nothing_is_deleted_and_all_is_back_with_the_file(self, tree, how):
        before = set(tree.memories())
        self.drop(tree, how)
        tree.sync_until_quiet()

        row = tree.rows()["CLAUDE.md"]
        assert row.state == "absent"
        assert "accept-deletions" not in row.reason
        assert ("sparse" in row.reason) == (how in ("sparse", "skip"))
        assert set(tree.memories()) == before

        self.take_back(tree, how)
        tree.sync_until_quiet()
        assert set(tree.memories()) == before
        assert tree.rows()["CLAUDE.md"].state == "synced"

    def test_another_case_by_hand_is_named(self, tree):
        (tree.path / "CLAUDE.md").rename(tree.path / "claude.md")
        tree.sync_until_quiet()

        row = tree.rows()["CLAUDE.md"]
        assert row.state == "paused"
        assert "claude.md" in row.reason
        assert "accept-deletions" not in row.reason


class TestReplaced:
    def test_a_file_that_becomes_a_link_loses_no_rule(self, tree):
        tree.add(mode="inline")
        tree.sync_until_quiet()
        tree.write("AGENTS.md", f"# For agents\n\n- {RULE}\n")
        tree.sync_until_quiet()
        assert RULE in tree.read("CLAUDE.md")

        (tree.path / "AGENTS.md").unlink()
        (tree.path / "AGENTS.md").symlink_to("CLAUDE.md")
        tree.sync_until_quiet()

        assert RULE in tree.read("CLAUDE.md")
        assert RULE in tree.memories()


def test_a_submodule_that_was_deinited_is_missing_and_gets_no_files(world):
    library = world.repo("library")
    tree = world.repo()
    tree.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.path), "lib")
    tree.commit("with a library")
    inner = world.tree("repo/lib")
    inner.add()
    inner.remember(RULE, kind="convention")
    tree.git("submodule", "deinit", "-q", "-f", "lib")
    rows = {row["path"]: row for row in projects.projects(world.home, tree.call)["projects"]}
    row = rows[str(inner.path)]
    assert row["state"] == "missing"
    assert "submodule" in row["reason"]
    assert list(inner.path.iterdir()) == []


def states(tree):
    rows = files.files(tree.home, tree.call)["files"]
    return {row["path"]: (row["state"], row["reason"]) for row in rows}


def pointer(data):
    oid = hashlib.sha256(data).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n"


POINTER = "only its pointer of Git LFS is here (git lfs pull); nothing was read or written"


class TestPointerOfLfs:
    """What Git LFS leaves for a file that was not downloaded says nothing."""

    def test_is_no_statement_when_the_project_is_added(self, tree):
        tree.write(".gitattributes", "*.md filter=lfs -text\n")
        tree.commit("lfs", {"CLAUDE.md": pointer(CLAUDE.encode())})
        tree.add(mode="inline")
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()

        assert tree.memories() == ["Be brief", RULE]
        assert states(tree)["CLAUDE.md"] == ("paused", POINTER)
        assert RULE in tree.read(".claude/rules/yaad.md")

    def test_deletes_nothing_and_all_is_back_with_the_content(self, tree):
        tree.commit("rules")
        tree.add(mode="inline")
        tree.remember(RULE, kind="convention")
        tree.sync_until_quiet()
        tree.commit("block")
        tree.sync_until_quiet()
        before, content = tree.memories(), tree.read("CLAUDE.md")

        tree.write("CLAUDE.md", pointer(content.encode()))
        tree.sync_until_quiet()
        tree.remember("Never push on Friday", kind="convention")
        tree.sync_until_quiet()

        assert tree.memories() == sorted([*before, "Never push on Friday"])
        assert tree.read("CLAUDE.md") == pointer(content.encode())
        assert states(tree)["CLAUDE.md"] == ("paused", POINTER)
        assert RULE in tree.read(".claude/rules/yaad.md")
        tree.write("CLAUDE.md", content)
        tree.sync_until_quiet()
        assert states(tree)["CLAUDE.md"][0] == "synced"
        assert "Never push on Friday" in tree.read("CLAUDE.md")
        assert not (tree.path / ".claude/rules/yaad.md").exists()


@pytest.mark.parametrize("flag", ["skip-worktree", "assume-unchanged"])
def test_block_that_git_overlooks_is_named_where_it_differs(tree, flag):
    tree.commit("rules")
    tree.add(mode="inline")
    tree.remember("Never push on Friday", kind="convention")
    tree.sync_until_quiet()
    tree.commit("block")
    tree.sync_until_quiet()
    tree.git("update-index", f"--{flag}", "CLAUDE.md")
    tree.remember(RULE, kind="convention")
    tree.sync_until_quiet()

    state, reason = states(tree)["CLAUDE.md"]

    assert (state, RULE in tree.read("CLAUDE.md")) == ("synced", True)
    assert reason.endswith("a pull or checkout that changes the file is refused")
    tree.git("update-index", f"--no-{flag}", "CLAUDE.md")
    tree.commit("both")
    tree.sync_until_quiet()
    assert states(tree)["CLAUDE.md"] == ("synced", None)
