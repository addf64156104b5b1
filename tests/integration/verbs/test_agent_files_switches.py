"""Branches are switched in two work trees while memories come, change and go."""

import os
import random

import pytest

SOAK = os.environ.get("YAAD_SOAK") == "1"
SWITCHES = 260 if SOAK else 20
BRANCHES = ("main", "more", "less", "other")

CLAUDE = "# Rules\n\n- Use tabs in Go files\n- Keep functions short\n"
AGENTS = "# For agents\n\n- Run `make test` first\n"
FILES = {
    "main": (CLAUDE, AGENTS),
    "more": (CLAUDE + "- Write tests first\n", AGENTS),
    "less": ("# Rules\n\n- Keep functions short\n", AGENTS),
    "other": ("# Anew\n\n- Prefer spaces in Python files\n", AGENTS + "- Never push on Fridays\n"),
}
SAID = {
    *("Use tabs in Go files", "Keep functions short", "Run `make test` first"),
    *("Write tests first", "Prefer spaces in Python files", "Never push on Fridays"),
}


@pytest.fixture(params=["inline", "private"])
def mode(request):
    return request.param


@pytest.fixture
def trees(world, mode):
    """Two work trees of a repository whose branches say different things."""
    return world.prepared(_two_trees, mode)


def _two_trees(world, mode):
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS})
    for branch in BRANCHES[1:]:
        tree.git("checkout", "-q", "-b", branch, "main")
        tree.commit(branch, {"CLAUDE.md": FILES[branch][0], "AGENTS.md": FILES[branch][1]})
    tree.git("checkout", "-q", "main")
    tree.git("worktree", "add", "-q", "../linked", "less")
    linked = world.tree("linked")
    tree.add(mode=mode)
    linked.add(mode=mode)
    for one in (tree, linked):
        one.sync()
    return tree, linked


class Person:
    """Somebody at work, and what they know must be remembered."""

    def __init__(self, tree, chance):
        self.chance = chance
        self.alive = {}
        self.typed = set()
        self.tree = tree
        self.count = 0

    def new_text(self):
        self.count += 1
        words = self.chance.sample(("jose", "httpx", "ruff", "mypy", "attrs", "orjson"), 3)
        return f"Always use {' and '.join(words)} for part {self.count}"

    def remember(self):
        text = self.new_text()
        self.alive[self.tree.remember(text, kind="convention")] = text

    def forget(self):
        if self.alive:
            node = self.chance.choice(sorted(self.alive))
            self.tree.forget(node)
            del self.alive[node]

    def edit(self):
        if self.alive:
            node = self.chance.choice(sorted(self.alive))
            self.alive[node] = f"{self.alive[node]} and {self.count + 1000}"
            self.count += 1
            self.tree.edit(node, self.alive[node])

    def type(self, tree):
        """Type a line, let it be read, and commit it, with whatever else stands in the file."""
        text = self.new_text()
        data = tree.read("CLAUDE.md")
        head, rest = data.split("\n\n", 1)
        tree.write("CLAUDE.md", f"{head}\n\n- {text}\n{rest}")
        tree.sync()
        tree.commit("typed")
        self.typed.add(text)


def ids_of(tree):
    with tree.db() as db:
        return db.read(
            lambda conn: conn.execute(
                "SELECT count(*) FROM nodes WHERE kind NOT IN ('file', 'entity', 'session')"
            ).fetchone()
        )[0]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(3 if SOAK else 1))
def test_no_memory_is_made_twice_and_none_is_lost(trees, seed):
    tree, linked = trees
    chance = random.Random(seed)
    person = Person(tree, chance)
    for one in trees:
        for branch in BRANCHES:
            if branch not in (at(tree), at(linked)):
                switch(one, branch)
                one.sync()
    switch(tree, free(trees, chance))
    assert set(tree.memories()) == SAID
    made = ids_of(tree)

    for number in range(SWITCHES):
        one = chance.choice(trees)
        switch(one, free(trees, chance))
        if number % 3 == 0:
            what = chance.choice(("remember", "remember", "edit", "forget", "type"))
            before = len(person.typed) + len(person.alive)
            if what == "type":
                one.sync()
                person.type(one)
            else:
                getattr(person, what)()
            made += max(len(person.typed) + len(person.alive) - before, 0)
        for tree_to_sync in chance.sample(trees, chance.choice((1, 1, 2))):
            tree_to_sync.sync()

        texts = tree.memories()
        assert len(texts) == len(set(texts)), number
        assert set(texts) == SAID | person.typed | set(person.alive.values()), number
        assert ids_of(tree) == made, number
    for node, text in person.alive.items():
        shown = tree.show(node)
        assert (shown["text"], shown["archived_at"]) == (text, None)


def at(tree):
    return tree.git("rev-parse", "--abbrev-ref", "HEAD").strip()


def free(trees, chance):
    """Return a branch that no work tree is on."""
    return chance.choice(sorted(set(BRANCHES) - {at(one) for one in trees}))


def switch(tree, branch):
    tree.git("checkout", "-q", "-f", branch)


MANY = 1_000 if SOAK else 24


@pytest.mark.timeout(3600)
def test_no_switch_is_refused_because_of_a_block(world):
    """Some branches have our block, others never had it; rules come, change and go on all."""
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS})
    tree.git("branch", "release")
    tree.git("branch", "next")
    tree.add(mode="inline")
    person = Person(tree, random.Random(7))
    person.remember()
    tree.sync()
    tree.commit("a block")
    tree.git("branch", "topic")
    tree.sync()
    with_block = {"main", "topic"}

    for number in range(MANY):
        branch = person.chance.choice(sorted({"main", "topic", "release", "next"} - {at(tree)}))
        tree.git("checkout", "-q", branch)
        for _ in range(2):
            tree.sync()
        assert tree.git("status", "--porcelain") == "", (number, branch)
        assert ("yaad:begin" in tree.read("CLAUDE.md")) == (branch in with_block)
        what = person.chance.choice(("remember", "pin", "edit", "forget", "type", None, None))
        if what == "pin" and person.alive:
            tree.pin(person.chance.choice(sorted(person.alive)))
        elif what == "type":
            person.type(tree)
        elif what in ("remember", "edit", "forget") and (what != "remember" or number % 2):
            getattr(person, what)()
        tree.sync()
        if branch in with_block:
            tree.commit("rules")  # what a person types into a tracked file is committed, too
        assert tree.git("status", "--porcelain") == "", (number, branch, what)
        if number % 40 == 39:
            tree.git("checkout", "-q", "main")
            tree.git("merge", "-q", "--no-edit", "-X", "ours", "topic", check=False)
            assert tree.git("status", "--porcelain") == ""
            tree.sync()
            tree.commit("merged")


def test_a_block_that_is_committed_at_once_does_not_reach_the_branch_that_is_next(world):
    """Nothing is read between the commit and the checkout, as when both are one command line."""
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("rules", {"CLAUDE.md": CLAUDE})
    tree.git("branch", "release")
    tree.add(mode="inline")
    tree.remember("Always use jose for tokens", kind="convention")
    tree.sync()
    tree.commit("a block")

    tree.git("checkout", "-q", "release")
    for _ in range(2):
        tree.sync()

    assert tree.git("status", "--porcelain") == ""
    tree.git("checkout", "-q", "main")
    for _ in range(2):
        tree.sync()
    assert tree.git("status", "--porcelain") == ""
    assert "jose" in tree.read("CLAUDE.md")


def test_a_first_block_that_git_threw_away_is_written_again(world):
    tree = world.repo()
    tree.commit("rules", {"CLAUDE.md": CLAUDE})
    tree.add(mode="inline")
    tree.remember("Always use jose for tokens", kind="convention")
    tree.sync()

    tree.git("checkout", "-q", "--", "CLAUDE.md")
    for _ in range(2):
        tree.sync()

    assert "jose" in tree.read("CLAUDE.md")


@pytest.fixture
def shared_block(world):
    """A repository with a committed block on two branches."""
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS})
    tree.add(mode="inline")
    tree.remember("Always use jose for tokens", kind="convention")
    tree.sync()
    tree.commit("a block")
    tree.git("branch", "topic")
    tree.commit("own work", {"own.txt": "main\n"})
    tree.git("checkout", "-q", "topic")
    for path in ("CLAUDE.md", "AGENTS.md"):
        tree.write(path, tree.read(path) + "\nWe wrote this on topic.\n")
    tree.commit("own work")
    tree.git("checkout", "-q", "main")
    tree.sync()
    return tree


STATED = "Never call the payment service in tests"


@pytest.mark.parametrize("known", [True, False], ids=["seen", "new"])
def test_a_rule_stated_after_a_switch_that_nobody_saw_reaches_the_block(shared_block, known):
    tree = shared_block
    if known:
        tree.git("checkout", "-q", "topic")
        tree.sync()
        tree.git("checkout", "-q", "main")
        tree.sync()

    tree.git("checkout", "-q", "topic")
    tree.remember(STATED, kind="convention")
    for _ in range(2):
        tree.sync()

    assert STATED in tree.read("CLAUDE.md")
    assert STATED in tree.read("AGENTS.md")


def test_a_rule_stated_in_a_new_work_tree_reaches_its_block(shared_block, world):
    shared_block.git("worktree", "add", "-q", "../linked", "topic")
    linked = world.tree("linked")

    linked.remember(STATED, kind="convention")
    for one in (shared_block, linked):
        one.sync()

    assert STATED in linked.read("CLAUDE.md")


def test_a_rule_typed_after_a_switch_that_nobody_saw_reaches_the_other_file(shared_block):
    tree = shared_block
    tree.git("checkout", "-q", "topic")

    tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace("- Keep", f"- {STATED}\n- Keep"))
    for _ in range(2):
        tree.sync()

    assert STATED in tree.read("AGENTS.md")


def test_a_rule_stated_on_another_branch_does_not_come_along(shared_block):
    tree = shared_block
    tree.remember(STATED, kind="convention")
    tree.sync()
    tree.commit("rules")

    tree.git("checkout", "-q", "topic")
    for _ in range(2):
        tree.sync()

    assert tree.git("status", "--porcelain") == ""


def test_a_new_work_tree_stays_clean_where_its_rules_were_stated_elsewhere(shared_block, world):
    shared_block.remember(STATED, kind="convention")
    shared_block.sync()
    shared_block.git("worktree", "add", "-q", "../linked", "topic")
    linked = world.tree("linked")
    linked.add(mode="inline")

    for _ in range(2):
        linked.sync()

    assert linked.git("status", "--porcelain") == ""
