"""What a person is asked about a file, and that the command that is named answers it."""

from bridges.block import insert
from yaadwatch.sync import files

RULE = "Always deploy through canary"


def reason(tree, path):
    found = files.files(tree.home, tree.call)["files"]
    return next(one["reason"] or "" for one in found if one["path"] == path)


def tracked_since(world):
    tree = world.repo()
    tree.commit("code", {"src/a.py": "A = 1\n"})
    tree.write("AGENTS.md", "# A\n\n- Be brief\n")
    tree.add(mode="inline")
    tree.remember(RULE)
    tree.sync()
    assert RULE in tree.read("AGENTS.md")
    tree.commit("with the agent file")
    tree.sync()
    return tree


def test_a_file_that_git_tracks_since_keeps_its_block_on_request(world):
    tree = tracked_since(world)
    assert "keep that: yaadwatch files adopt AGENTS.md;" in reason(tree, "AGENTS.md")

    files.files_adopt(tree.home, tree.call, path="AGENTS.md")

    assert reason(tree, "AGENTS.md") == ""
    assert RULE in tree.read("AGENTS.md")


def test_a_file_that_git_tracks_since_loses_its_block_on_request(world):
    tree = tracked_since(world)
    assert "yaadwatch files adopt AGENTS.md --mode private" in reason(tree, "AGENTS.md")

    files.files_adopt(tree.home, tree.call, path="AGENTS.md", mode="private")

    assert tree.read("AGENTS.md") == "# A\n\n- Be brief\n"
    assert "tracks it now" not in reason(tree, "AGENTS.md")


def test_no_block_is_put_into_a_file_that_git_filters(world):
    tree = world.repo()
    tree.git("config", "filter.up.clean", "tr a-z A-Z")
    tree.git("config", "filter.up.smudge", "tr A-Z a-z")
    tree.write(".gitattributes", "AGENTS.md filter=up\n")
    tree.write("AGENTS.md", "# a\n\n- be brief\n")
    tree.commit("filtered")
    tree.add(mode="inline")
    tree.remember(RULE)
    tree.sync()

    assert tree.read("AGENTS.md") == "# a\n\n- be brief\n"
    assert "git filters it" in reason(tree, "AGENTS.md")
    files.files_adopt(tree.home, tree.call, path="AGENTS.md")
    assert tree.read("AGENTS.md") == "# a\n\n- be brief\n"


def test_a_first_block_that_a_pull_brings_is_announced_and_gets_no_rule(world):
    tree = world.repo()
    tree.commit("rules", {"AGENTS.md": "# A\n\n- Be brief\n"})
    tree.add(mode="private")
    tree.remember(RULE)
    tree.sync()
    tree.git("checkout", "-qb", "theirs")
    shared = insert(tree.read("AGENTS.md").encode(), ["- Use tabs"])
    assert isinstance(shared, bytes)
    tree.commit("a block", {"AGENTS.md": shared})
    tree.git("checkout", "-q", "main")
    tree.git("merge", "-q", "--ff-only", "theirs")
    tree.sync()

    assert tree.read("AGENTS.md").encode() == shared
    assert tree.git("status", "--short") == ""
    assert "came with git" in reason(tree, "AGENTS.md")
    assert reason(tree, "AGENTS.md").endswith("to take part: yaadwatch files adopt AGENTS.md")

    files.files_adopt(tree.home, tree.call, path="AGENTS.md")
    assert RULE in tree.read("AGENTS.md")
