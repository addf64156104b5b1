"""A whole sync, killed before any of its system calls: the next one makes up for it."""

import os
import shutil
from itertools import count

import pytest
from stepping import CAN_FAIL, Stepped, require_stepping
from verb_world import World

from bridges.rules import FIRST
from yaadwatch.db import history

require_stepping()

SOAK = os.environ.get("YAAD_SOAK") == "1"
CLAUDE = "# Rules\n\n- Use tabs in Go files\n"
AGENTS = "# For agents\n\n- Run `make test` first\n"
RULE = "Always use jose for tokens"
GONE = "Never log tokens"
KEPT = "Never deploy on Fridays"
TYPED = "Never push on Mondays"
SAID = "Always use httpx for calls"


def rules_of(tree, path):
    inner = tree.read(path).partition("yaad:begin")[2].partition("<!-- yaad:end")[0]
    return [line[2:] for line in inner.splitlines() if line.startswith("- ")]


@pytest.fixture(params=["inline", "private"])
def mode(request):
    return request.param


@pytest.fixture
def tree(world, mode):
    """Files that a person has edited in every way, and a rule that they do not have yet."""
    return world.prepared(_edited, mode)


def _edited(world, mode):
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS})
    tree.add(mode=mode)
    for text in (RULE, GONE, KEPT):
        tree.remember(text, kind="convention")
    tree.sync_until_quiet()
    text = tree.read("CLAUDE.md").replace("Go files\n", f"Go files\n- {TYPED}\n")
    tree.write("CLAUDE.md", text.replace(RULE, RULE + " and cookies").replace(f"- {GONE}\n", ""))
    (tree.path / "AGENTS.md").chmod(0o664)
    tree.remember(SAID, kind="convention")
    return tree


def each_kill(tree, step, *, after=None):
    """Yield after each sync that was killed, the repository and the home as they were before.

    `after`: begin after the last system call of this name.
    """
    world = tree.world
    template = world.folder.with_name(world.folder.name + "-template")
    world.home.close()
    shutil.copytree(world.folder, template, symlinks=True)

    def sync():
        World(world.folder).tree("repo").sync()
        os._exit(0)

    first = 0
    if after is not None:
        with Stepped(sync) as child:
            while child.to_call(child.calls):
                first = child.calls if child.name() == after else first
    for number in count(first, step):
        shutil.rmtree(world.folder)
        shutil.copytree(template, world.folder, symlinks=True)
        with Stepped(sync) as child:
            ended = not child.to_call(number)
            child.kill()
        world.reopen()
        yield number
        if ended:
            return
        world.home.close()


def copies_of(tree):
    with tree.home.space(tree.call) as space:
        known = {
            one.name
            for path in ("CLAUDE.md", "AGENTS.md", FIRST)
            for one in space.db.read(history.snapshots_of_path, space.worktree.id, path)
        }
    folder = tree.store.parent / "snapshots"
    return known, {one.name for one in folder.iterdir()} if folder.exists() else set()


@pytest.mark.timeout(3600)
def test_killed_before_any_system_call_it_is_made_up_for(tree, mode):
    wanted = {KEPT, SAID, TYPED} | ({RULE + " and cookies"} if mode == "inline" else {RULE, GONE})

    for number in each_kill(tree, 1 if SOAK else 149):
        before = (tree.path / "CLAUDE.md").read_bytes()
        assert f"- {TYPED}\n".encode() in before
        tree.sync_until_quiet()

        texts = tree.memories()
        assert len(texts) == len(set(texts)), number
        assert wanted <= set(texts), number
        if mode == "inline":
            assert set(rules_of(tree, "AGENTS.md")) == wanted, number
            assert set(rules_of(tree, "CLAUDE.md")) == wanted - {TYPED}, number
        else:
            said = tree.read(FIRST)
            assert {rule for rule in wanted if f"- {rule}\n" in said} == wanted - {TYPED}, number
            assert tree.git("status", "--porcelain").split() == ["M", "CLAUDE.md"], number
        assert {row.state for row in tree.rows().values()} <= {"synced", "absent"}, number
        assert (tree.path / "AGENTS.md").stat().st_mode & 0o777 == 0o664
        assert [one.name for one in tree.path.rglob(".*.yaad")] == [], number
        known, there = copies_of(tree)
        assert known <= there, number


@pytest.mark.skipif(not CAN_FAIL, reason="calls have names on x86-64 only")
@pytest.mark.timeout(3600)
def test_a_rule_that_changes_after_the_kill_reaches_the_rules_file_too(tree, mode):
    """What was written and not yet recorded is ours all the same."""
    if mode == "inline":
        pytest.skip("it has no carrier")
    for number in each_kill(tree, 1 if SOAK else 67, after="renameat2"):
        tree.remember("Always write tests first", kind="convention")
        tree.sync_until_quiet()

        row = tree.rows()[FIRST]
        assert (row.state, row.reason) == ("synced", ""), number
        assert "Always write tests first" in tree.read(FIRST), number
