"""A block that a team commits, in a project whose person lets us write nothing into its files."""

import pytest
from verb_world import FIVE_TRIES, prepared

from bridges.block import NOTICE
from yaadwatch.recall import recall
from yaadwatch.sync import files, sharing

CALL = "Always call `fetch_with_retry` of src/net.py"
PUSH = "Never push on Friday"
MINE = "Prefer tabs always"
BLOCK = f"<!-- yaad:begin v=1 nl=1 -->\n{NOTICE}\n- {CALL}\n- {PUSH}\n<!-- yaad:end -->\n"
TEXT = f"# Rules\n\n- Be brief\n\n{BLOCK}"


def team(world, mode):
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.write("CLAUDE.md", TEXT)
    tree.git("add", "-A")
    tree.git("-c", "user.email=bob@example.org", "commit", "-qm", "team")
    tree.add(mode=mode)
    tree.sync_until_quiet()
    tree.look_back()
    return tree


@prepared
def tree(world):
    return team(world, "private")


def own_file(tree):
    path = tree.path / ".claude/rules/yaad.md"
    return [line[2:] for line in path.read_text().splitlines() if line.startswith("- ")]


@pytest.mark.parametrize("mode", ["private", "read"])
def test_its_rules_are_known_as_those_of_the_repository(world, mode):
    tree = team(world, mode)

    (found,) = recall.recall(tree.home, tree.call, query="push Friday")["results"]
    assert tree.memories() == [CALL, "Be brief", PUSH]
    assert (found["text"], found["by"]) == (PUSH, "repository")
    assert found["reach"]["file"] == "CLAUDE.md"
    assert tree.git("status", "--short") == ""


def test_its_rules_are_watched_and_named_with_their_line(tree):
    tree.write("src/net.py", FIVE_TRIES)
    tree.check_tree()

    (flag,) = tree.stale(all=True)["stale"]
    assert (flag["text"], flag["said_in"]) == (CALL, [{"path": "CLAUDE.md", "line": 7}])


def test_they_are_in_no_file_of_ours(tree):
    tree.remember(MINE, kind="convention")
    tree.remember(PUSH, kind="convention")
    tree.sync_until_quiet()

    assert own_file(tree) == [MINE]
    assert tree.read("CLAUDE.md") == TEXT


def test_they_are_never_a_persons_words_when_somebody_edits_the_file(tree):
    tree.write("CLAUDE.md", TEXT + "\n- Write short messages always\n")
    tree.sync_until_quiet()

    by = {
        row["text"]: row["by"]
        for row in recall.recall(tree.home, tree.call, query="push Friday write short")["results"]
    }
    assert by == {PUSH: "repository", "Write short messages always": "person"}


def test_a_deleted_one_is_gone_until_git_brings_it_back(tree):
    tree.write("CLAUDE.md", TEXT.replace(f"- {PUSH}\n", ""))
    tree.sync_until_quiet()
    assert tree.memories() == [CALL, "Be brief"]

    tree.git("checkout", "-q", "CLAUDE.md")
    tree.sync_until_quiet()
    assert tree.memories() == [CALL, "Be brief", PUSH]


def test_nothing_is_lost_when_the_person_takes_part_and_leaves_again(tree):
    tree.remember(MINE, kind="convention")
    tree.sync_until_quiet()

    files.files_adopt(tree.home, tree.call, path="CLAUDE.md", mode="inline")
    tree.sync_until_quiet()
    assert tree.memories() == [CALL, "Be brief", PUSH, MINE]
    assert tree.read("CLAUDE.md") == TEXT.replace("<!-- yaad:end", f"- {MINE}\n<!-- yaad:end")
    files.files_adopt(tree.home, tree.call, path="CLAUDE.md", mode="private")
    tree.git("checkout", "-q", "CLAUDE.md")
    tree.sync_until_quiet()

    assert tree.memories() == [CALL, "Be brief", PUSH, MINE]
    assert own_file(tree) == [MINE]


def test_what_a_pull_changes_in_it_is_known_on_each_branch(tree):
    origin = tree.copy("origin")
    new = TEXT.replace(PUSH, f"{PUSH} evening").replace(f"- {CALL}\n", "- Always use jose\n")
    origin.write("CLAUDE.md", new)
    origin.git("-c", "user.email=bob@example.org", "commit", "-qam", "other rules")
    tree.git("pull", "-q", "--ff-only", str(origin.path), "main")
    tree.sync_until_quiet()

    def known():
        found = recall.recall(tree.home, tree.call, query="push Friday evening jose fetch")
        return {row["text"]: row["by"] for row in found["results"]}

    assert known() == dict.fromkeys([f"{PUSH} evening", "Always use jose"], "repository")
    tree.git("checkout", "-qb", "old", "HEAD~1")
    tree.sync_until_quiet()
    assert known() == dict.fromkeys([CALL, PUSH], "repository")
    tree.git("checkout", "-q", "main")
    tree.sync_until_quiet()
    assert known() == dict.fromkeys([f"{PUSH} evening", "Always use jose"], "repository")
    assert tree.git("status", "--short") == ""


def test_each_is_listed_with_the_reason_why_it_stays_or_can_be_shared(tree):
    listed = sharing.statements(tree.home, tree.call)["statements"]

    assert [(row["line"], row["text"]) for row in listed] == [(3, "Be brief"), (7, CALL), (8, PUSH)]
    sharing.files_share(tree.home, tree.call, path="CLAUDE.md")
    tree.sync_until_quiet()
    assert tree.read("CLAUDE.md") == TEXT
