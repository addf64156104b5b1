"""What was learned on a branch is told, and written, nowhere else until it is merged or pinned."""

import pytest
from verb_world import FIVE_TRIES, RETRY, Tree, prepared

from yaadwatch.memory import contradictions
from yaadwatch.projects import projects
from yaadwatch.recall import recall
from yaadwatch.repo.branches import KEPT_S
from yaadwatch.sessions import context, news, sessions, tasks
from yaadwatch.workspace.workspace import Call

RULE = "Never store cents as floats"
PRIVATE = ".claude/rules/yaad.md"


@prepared
def tree(world):
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("rules", {"CLAUDE.md": "# Rules\n\n- Keep functions short\n"})
    return tree


def on_feature(tree, text=RULE, **fields):
    """Remember something at a commit that only the branch `feature` has; return its id."""
    tree.git("switch", "-q", "-C", "feature")
    tree.commit("feature")
    return tree.remember(text, **fields)


def brief(tree):
    return context.context(tree.home, tree.call)["brief"]


def switch(tree, branch):
    tree.git("switch", "-q", branch)
    tree.sync()


def linked(tree, branch):
    """Return a work tree of the same repository, with another branch checked out."""
    tree.git("worktree", "add", "-q", "../linked", branch)
    return Tree(tree.world, tree.path.parent / "linked")


class TestBrief:
    def test_it_is_in_the_brief_of_its_branch_and_after_the_merge_of_all(self, tree):
        tree.add(mode="read")
        on_feature(tree)
        assert RULE in brief(tree)

        tree.git("switch", "-q", "main")
        assert RULE not in brief(tree)

        tree.git("merge", "-q", "--no-edit", "feature")
        assert RULE in brief(tree)

    def test_a_pinned_one_is_in_every_brief(self, tree):
        tree.add(mode="read")
        on_feature(tree, pin=True)
        tree.git("switch", "-q", "main")

        assert RULE in brief(tree)

    def test_what_a_file_says_here_is_not_hidden_by_where_it_was_learned(self, tree):
        tree.add(mode="read")
        memory = on_feature(tree, RETRY, kind="convention", symbols=["fetch_with_retry"])
        tree.git("switch", "-q", "main")
        tree.write("CLAUDE.md", f"# Rules\n\n- Keep functions short\n- {RETRY}\n")
        tree.sync()
        tree.write("src/net.py", FIVE_TRIES)

        assert memory[-8:] in brief(tree)

    def test_tasks_and_flags_of_another_branch_are_not_told(self, tree):
        tree.add(mode="read")
        on_feature(tree, "Move the parser to its own module", kind="task")
        tree.remember(RETRY)
        tree.git("switch", "-q", "main")
        tree.commit("five tries", {"src/net.py": FIVE_TRIES})

        told = context.context(tree.home, tree.call)

        assert (told["tasks"], told["stale"]) == (0, 0)
        handed = news.handoff(tree.home, tree.call)
        assert (handed["open"], handed["flags"]) == (0, 0)

    def test_two_values_on_two_branches_do_not_contradict_each_other(self, tree):
        tree.add(mode="read")
        tree.claim(tree.remember("The API port is 8080"), "api", "port", "8080")
        tree.claim(on_feature(tree, "The API port is 9090"), "api", "port", "9090")
        assert len(contradictions.contradictions(tree.home, tree.call)["contradictions"]) == 1

        tree.git("switch", "-q", "main")

        assert contradictions.contradictions(tree.home, tree.call)["contradictions"] == []
        assert context.context(tree.home, tree.call)["contradictions"] == 0


def test_a_task_of_another_branch_is_counted_and_can_be_seen(tree):
    tree.add(mode="read")
    on_feature(tree, "Move the parser out", kind="task")
    tree.git("switch", "-q", "main")
    tree.remember("Stop the leak", kind="task")

    here = tasks.tasks(tree.home, tree.call)
    assert [row["text"] for row in here["tasks"]] == ["Stop the leak"]
    assert here["hidden"] == 1
    assert len(tasks.tasks(tree.home, tree.call, limit=1)["tasks"]) == 1
    everywhere = tasks.tasks(tree.home, tree.call, all_branches=True)
    assert (len(everywhere["tasks"]), everywhere["hidden"]) == (2, 0)


def test_a_flag_about_a_memory_of_another_branch_is_counted_and_can_be_seen(tree):
    tree.add(mode="read")
    tree.git("switch", "-q", "-c", "feature")
    tree.commit("feature", {"net.py": "def retry():\n    return 3\n"})
    learned = tree.remember("Retries are three, see net.py")
    tree.git("switch", "-q", "main")

    assert tree.stale()["stale"] == []
    assert tree.stale()["hidden"] == 1
    (flag,) = tree.stale(all_branches=True)["stale"]
    assert (flag["id"], flag["verdict"]) == (learned, "gone")


@pytest.mark.parametrize("pinned", [False, True])
def test_what_rests_on_a_file_on_another_branch_is_counted_and_can_be_seen(tree, pinned):
    tree.add(mode="read")
    here = tree.remember("Notes are in notes.md, see src/net.py")
    there = on_feature(tree, RETRY, symbols=["fetch_with_retry"], pin=pinned)
    rests = tree.remember("The night alarm waits for the retries")
    tree.link(rests, "depends_on", there)
    assert tree.impact("src/net.py")["hidden"] == 0
    tree.git("switch", "-q", "main")

    told = tree.impact("src/net.py")
    everywhere = tree.impact("src/net.py", all_branches=True)

    hidden = {rests} if pinned else {there, rests}
    assert {row["id"] for row in told["memories"]} == {here, there, rests} - hidden
    assert told["hidden"] == len(hidden)
    assert {row["id"] for row in everywhere["memories"]} == {here, there, rests}
    assert everywhere["hidden"] == 0
    tree.git("merge", "-q", "--no-edit", "feature")
    assert tree.impact("src/net.py")["hidden"] == 0


def test_what_another_branch_put_in_the_place_of_a_memory_does_not_stand_there_here(tree):
    tree.add(mode="read")
    old = tree.remember("Install the packages with yarn")
    new = on_feature(tree, "Install the packages with pnpm")
    tree.link(new, "supersedes", old)

    def later(**fields):
        rows = recall.recall(tree.home, tree.call, query="yarn", **fields)["results"]
        return next(row["superseded_by"] for row in rows if row["id"] == old)

    assert later() == [{"id": new}]
    tree.git("switch", "-q", "main")
    assert later() is None
    assert tree.show(old)["superseded_by"] is None
    assert later(all_branches=True) == [{"id": new}]


def test_status_counts_the_flags_that_this_branch_tells(tree):
    tree.add(mode="read")
    on_feature(tree, RETRY, symbols=["fetch_with_retry"])
    tree.git("switch", "-q", "main")
    tree.write("src/net.py", FIVE_TRIES)
    tree.check()

    def counted():
        (row,) = projects.status(tree.home, tree.call)["projects"]
        return row["stale"]

    assert (len(tree.stale()["stale"]), counted()) == (0, 0)
    tree.commit("five")
    tree.remember("fetch_with_retry in src/net.py tries five times", symbols=["fetch_with_retry"])
    tree.write("src/net.py", "")
    tree.check()
    assert (len(tree.stale()["stale"]), counted()) == (1, 1)
    tree.commit("gone")
    tree.git("merge", "-q", "feature", "-X", "ours", "-m", "merged")
    tree.check()
    assert counted() == len(tree.stale()["stale"]) == 2


def test_no_session_elsewhere_hears_of_it_as_news(tree):
    tree.add(mode="read")
    other = linked_on_main(tree)
    here, there = (Call(folder=one.path, origin="agent:claude") for one in (tree, other))
    for call in (here, there):
        sessions.session_start(tree.home, call, name="5c01", wait_ms=0)
        news.session_touched(tree.home, call, name="5c01", paths=["notes.md"])
    on_feature(tree)
    tree.remember("Every call to src/net.py is logged", kind="decision")

    assert RULE in news.session_news(tree.home, here, name="5c01")["news"]
    assert news.session_news(tree.home, there, name="5c01")["memories"] == 0
    assert news.session_touched(tree.home, here, name="5c01", paths=["src/net.py"])["text"]
    assert not news.session_touched(tree.home, there, name="5c01", paths=["src/net.py"])["text"]


def linked_on_main(tree):
    """Return a work tree on main in which a person asked for blocks, too."""
    tree.git("switch", "-q", "-c", "aside")
    other = linked(tree, "main")
    other.add(mode="inline")
    return other


class TestFiles:
    def test_our_own_file_carries_it_on_its_branch_only(self, tree):
        tree.add(mode="private")
        on_feature(tree)
        tree.sync()
        assert RULE in tree.read(PRIVATE)

        switch(tree, "main")
        assert not (tree.path / PRIVATE).exists()

        switch(tree, "feature")
        assert RULE in tree.read(PRIVATE)

    def test_it_is_written_into_no_block_of_another_branch(self, tree):
        tree.add(mode="inline")
        other = linked_on_main(tree)
        on_feature(tree)
        tree.sync()
        assert RULE in tree.read("CLAUDE.md")

        other.sync()

        assert RULE not in other.read("CLAUDE.md")

    def test_a_commit_of_this_moment_is_on_its_branch_at_once(self, tree):
        tree.add(mode="inline")
        other = linked_on_main(tree)
        on_feature(tree, "Name tests after claims")
        assert recall.recall(other.home, other.call, query="claims")["hidden"] == 1

        on_feature(tree)
        other.sync()

        assert RULE not in other.read("CLAUDE.md")
        assert recall.recall(other.home, other.call, query="cents")["results"] == []

    def test_after_the_merge_it_is_in_every_block(self, tree):
        tree.add(mode="inline")
        other = linked_on_main(tree)
        on_feature(tree)
        other.sync()
        other.git("merge", "-q", "--no-edit", "feature")

        other.sync()

        assert RULE in other.read("CLAUDE.md")

    def test_a_merge_elsewhere_is_noticed_soon(self, tree):
        tree.add(mode="inline")
        other = linked_on_main(tree)
        on_feature(tree)
        other.git("switch", "-q", "-c", "third")
        other.sync()
        assert RULE not in other.read("CLAUDE.md")
        tree.git("branch", "-q", "-f", "main", "feature")

        tree.world.clock.wait(KEPT_S)
        other.sync()

        assert RULE in other.read("CLAUDE.md")

    @pytest.mark.parametrize("names", ["1" * 40, "no commit at all"])
    def test_a_broken_branch_keeps_no_file_from_being_written(self, tree, names):
        tree.add(mode="inline")
        tree.git("switch", "-q", "-c", "third")
        tree.commit("third")
        (tree.path / ".git" / "refs" / "heads" / "broken").write_text(f"{names}\n")
        on_feature(tree)
        tree.git("switch", "-q", "third")
        tree.remember("Always use jose for tokens", kind="convention")

        tree.sync()

        assert "Always use jose for tokens" in tree.read("CLAUDE.md")
        assert RULE not in tree.read("CLAUDE.md")

    def test_a_pinned_one_is_written_everywhere(self, tree):
        tree.add(mode="inline")
        other = linked_on_main(tree)
        on_feature(tree, pin=True)

        other.sync()

        assert RULE in other.read("CLAUDE.md")

    def test_a_line_that_stands_in_a_file_stays_when_the_branch_is_switched(self, tree):
        """The block is not committed, so git takes it along: the file is as the person saw it."""
        tree.add(mode="inline")
        memory = on_feature(tree)
        tree.sync()

        switch(tree, "main")
        assert RULE in tree.read("CLAUDE.md")
        tree.sync()

        assert RULE in tree.read("CLAUDE.md")
        assert tree.show(memory)["tier"] == 1
        assert RULE not in brief(tree)

    def test_a_line_that_stands_there_can_be_deleted_as_any_other(self, tree):
        tree.add(mode="inline")
        memory = on_feature(tree)
        tree.sync()
        switch(tree, "main")
        tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace(f"- {RULE}\n", ""))

        tree.sync()

        assert tree.show(memory)["tier"] == 2
        assert RULE not in tree.read("CLAUDE.md")

    @pytest.mark.parametrize("where", ["block", "file"])
    def test_typed_here_it_holds_here_and_reaches_the_other_files(self, tree, where):
        tree.commit("for agents", {"AGENTS.md": "# For agents\n\n- Run make test first\n"})
        tree.add(mode="inline")
        tree.remember("Always use jose for tokens", kind="convention")
        memory = on_feature(tree)
        tree.git("switch", "-q", "main")
        tree.sync()
        assert RULE not in tree.read("AGENTS.md")
        line = "- Always use jose for tokens\n" if where == "block" else "- Keep functions short\n"

        tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace(line, f"{line}- {RULE}\n"))
        tree.sync()

        assert RULE in tree.read("AGENTS.md")
        assert tree.read("CLAUDE.md").count(RULE) == 1
        assert tree.memories().count(RULE) == 1
        assert tree.show(memory)["archived_at"] is None
