"""What a merge commit says is the truth of its branch, also if nobody looked before the merge."""

import re

import pytest

FILES = ("AGENTS.md", "CLAUDE.md")
FORMER, THEIRS, OURS = "Always use httpx for calls", "Always use httpx 2", "Always use httpx 3"
BOTH = "Always use httpx 2 or 3"


@pytest.fixture(params=["own", "nobody's"])
def tree(world, request):
    """Two branches that changed the same rule; the commit of the second was not looked at yet."""
    return world.prepared(_committed, request.param)


def _committed(world, author):
    tree = world.repo()
    if author == "own":
        tree.git("config", "user.email", "ada@example.org")
    for path in FILES:
        tree.write(path, f"# {path}\n\n- Be kind to {path}\n")
    tree.commit("rules")
    tree.add(mode="inline")
    tree.remember(FORMER)
    tree.sync()
    tree.git("commit", "-qam", "a block")
    tree.git("checkout", "-qb", "theirs")
    tree.sync()
    edit(tree, FORMER, THEIRS)
    tree.git("commit", "-qam", "two")
    tree.git("checkout", "-q", "main")
    tree.sync()
    edit(tree, FORMER, OURS)
    tree.git("commit", "-qam", "three")
    return tree


def edit(tree, old, new):
    tree.write("AGENTS.md", tree.read("AGENTS.md").replace(old, new))
    tree.sync()


def merge_with_option(tree):
    tree.git("merge", "-q", "-X", "theirs", "theirs", "-m", "merged")
    return THEIRS


def merge_and_take_theirs(tree):
    tree.git("merge", "-q", "theirs", check=False)
    tree.git("checkout", "--theirs", *FILES)
    tree.git("commit", "-qam", "merged")
    return THEIRS


def merge_by_hand(tree):
    tree.git("merge", "-q", "theirs", check=False)
    tree.sync()
    for path in FILES:
        merged = re.sub(r"<{7}.*?>{7} theirs\n", f"- {BOTH}\n", tree.read(path), flags=re.DOTALL)
        tree.write(path, merged)
    tree.git("commit", "-qam", "merged")
    return BOTH


def merge_without_the_rule(tree):
    tree.git("merge", "-q", "theirs", check=False)
    for path in FILES:
        tree.write(path, re.sub(r"<{7}.*?>{7} theirs\n", "", tree.read(path), flags=re.DOTALL))
    tree.git("commit", "-qam", "merged")
    return ""


def commit_older_files(tree):
    tree.git("checkout", "HEAD~1", "--", *FILES)
    tree.git("commit", "-qm", "back")
    return FORMER


RESOLUTIONS = (
    merge_with_option,
    merge_and_take_theirs,
    merge_by_hand,
    merge_without_the_rule,
    commit_older_files,
)


@pytest.mark.parametrize("resolve", RESOLUTIONS)
def test_the_committed_words_stay(tree, resolve):
    words = resolve(tree)
    committed = {path: tree.read(path) for path in FILES}

    tree.sync()

    assert {path: tree.read(path) for path in FILES} == committed
    assert tree.git("status", "--short") == ""
    assert not tree.sync().changed
    rules = [node.text for node in tree.living() if node.tier == 1 and "httpx" in node.text]
    assert rules == ([words] if words else [])
