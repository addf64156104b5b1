"""Stories of work that is remembered before its commit: no false flag in any work tree or branch.

Each story is played twice: with a check after every step, as with a running daemon, and with checks
at the end only, as when the daemon was down.
"""

import pytest
from verb_world import NET, Tree

from yaadwatch.recall import recall

PAY = "def pay(amount):\n    return amount * 2\n"
PAY_TRIPLE = PAY.replace("* 2", "* 3")
PAY_TEXT = "`pay` doubles the amount, in lib/pay.py"
CONF = "RETRIES = 3\n"
CONF_FIVE = "RETRIES = 5\n"
CONF_TEXT = "`RETRIES` is 5 in src/conf.py"
TRIES_TEXT = "`fetch_with_retry` tries five times, in src/net.py"
NET_FIVE = NET.replace("tries=3", "tries=5")


class Story:
    """A repository with linked work trees, and one memory that the story is about."""

    def __init__(self, world, *, watched):
        self.world = world
        self.watched = watched
        self.main = world.repo()
        self.main.write("src/conf.py", CONF)
        self.main.write("Makefile", "test:\n\tpytest\n")
        self.main.commit("two")
        self.main.add()
        self.trees = {"main": self.main}
        self.here = self.main
        self.id = ""

    def __call__(self, *arguments, check=True):
        """Run git in the present work tree."""
        self.here.git(*arguments, check=check)
        self._look()

    def write(self, path, content):
        self.here.write(path, content)
        self._look()

    def remove(self, path):
        (self.here.path / path).unlink()
        self._look()

    def commit(self, subject="work"):
        self.here.commit(subject)
        self._look()

    def tree(self, name):
        """Make a linked work tree with a branch of its name from main, and go there."""
        self.here.git("worktree", "add", "-q", "-b", name, f"../{name}", "main")
        self.trees[name] = Tree(self.world, self.main.path.parent / name)
        self.go(name)
        self._look()

    def go(self, name):
        self.here = self.trees[name]

    def remember(self, text=PAY_TEXT, **fields):
        self.id = self.here.remember(text, **fields)
        assert self.here.show(self.id)["anchors"], "rests on nothing"
        self._look()

    def _look(self):
        if self.watched:
            for tree in self.trees.values():
                if tree.path.exists():
                    tree.check_tree()

    def quiet(self):
        """Expect no flag here, and nothing unknown."""
        answer = self.here.stale(all=True)
        assert answer["stale"] == []
        assert answer["unknown"] == []

    def shown(self):
        """Expect the memory in recall and no flag."""
        self.quiet()
        assert self.id in self._recalled()

    def hidden(self):
        """Expect no flag here, and the memory only on request."""
        self.quiet()
        assert self.id not in self._recalled()
        assert self.id in self._recalled(all_branches=True)

    def flagged(self, *verdicts):
        """Expect a flag on the memory here."""
        found_flag = self.here.flag_of(self.id)
        assert found_flag is not None
        assert found_flag["verdict"] in verdicts

    def _recalled(self, **fields):
        query = self.here.show(self.id)["text"]
        answer = recall.recall(self.world.home, self.here.call, query=query, **fields)
        return {row["id"] for row in answer["results"]}


def new_file(s):
    s("switch", "-qc", "feat")
    s.write("lib/pay.py", PAY)
    s.remember()


def edited_value(s):
    s("switch", "-qc", "feat")
    s.write("src/conf.py", CONF_FIVE)
    s.remember(CONF_TEXT)


# ---- work that stays on its branch


def untracked_then_committed_on_main(s):
    s.write("lib/pay.py", PAY)
    s.remember()
    s.shown()
    s.commit()
    s.shown()


def untracked_then_committed_on_a_branch(s):
    new_file(s)
    s.shown()
    s.commit()
    s("switch", "-q", "main")
    s.hidden()
    s("switch", "-q", "feat")
    s.shown()


def edited_then_committed_on_a_branch(s):
    edited_value(s)
    s.shown()
    s.commit()
    s("switch", "-q", "main")
    s.hidden()
    s("switch", "-q", "feat")
    s.shown()


def staged_then_committed_on_a_branch(s):
    s("switch", "-qc", "feat")
    s.write("lib/pay.py", PAY)
    s("add", "-A")
    s.remember()
    s("commit", "-qm", "pay")
    s("switch", "-q", "main")
    s.hidden()


def named_by_its_bare_name(s):
    s("switch", "-qc", "feat")
    s.write("lib/pay.py", PAY)
    s.remember("`pay` doubles the amount, in pay.py")
    s.commit()
    s("switch", "-q", "main")
    s.hidden()


def at_the_top_named_by_its_bare_name(s):
    s("switch", "-qc", "feat")
    s.write("new.py", PAY)
    s.remember("The payments are in new.py", symbols=["pay"])
    s.commit()
    s("switch", "-q", "main")
    s.hidden()


def definition_without_its_file(s):
    s("switch", "-qc", "feat")
    s.write("lib/pay.py", PAY)
    s.remember("`pay()` doubles the amount")
    s.commit()
    s("switch", "-q", "main")
    s.hidden()


def whole_file_edited(s):
    s("switch", "-qc", "feat")
    s.write("notes.md", "Notes about retries.\n")
    s.remember("How retries work is told in notes.md")
    s.shown()
    s.commit()
    s("switch", "-q", "main")
    s.hidden()


def whole_file_edited_on_until_the_commit(s):
    s("switch", "-qc", "feat")
    s.write("notes.md", "Notes about retries.\n")
    s.remember("How retries work is told in notes.md")
    s.write("notes.md", "Notes about retries, and more.\n")
    s.commit()
    s("switch", "-q", "main")
    s.hidden()
    s("merge", "-q", "--no-edit", "feat")
    s.shown()


def make_target(s):
    s("switch", "-qc", "feat")
    s.write("Makefile", "test:\n\tpytest\nship:\n\t./ship\n")
    s.remember("Release with `make ship`")
    s.commit()
    s("switch", "-q", "main")
    s.hidden()


def new_folder(s):
    s("switch", "-qc", "feat")
    s.write("lib/pay.py", PAY)
    s.remember("Everything about money belongs into lib/")
    s.commit()
    s("switch", "-q", "main")
    s.hidden()


def pattern(s):
    s("switch", "-qc", "feat")
    s.write("lib/pay.proto", "message Pay {}\n")
    s.remember("Messages are described in `lib/*.proto`")
    s.commit()
    s("switch", "-q", "main")
    s.hidden()


def merged(s):
    new_file(s)
    s.commit()
    s("switch", "-q", "main")
    s.hidden()
    s("merge", "-q", "--no-ff", "--no-edit", "feat")
    s.shown()


def squashed_and_deleted(s):
    new_file(s)
    s.commit()
    s("switch", "-q", "main")
    s("merge", "-q", "--squash", "feat")
    s("commit", "-qm", "squashed")
    s("branch", "-qD", "feat")
    s.shown()


def squashed_whole_file_edited_on(s):
    s("switch", "-qc", "feat")
    s.write("notes.md", "Notes about retries.\n")
    s.remember("How retries work is told in notes.md")
    s.write("notes.md", "Notes about retries, and more.\n")
    s.commit()
    s("switch", "-q", "main")
    s("merge", "-q", "--squash", "feat")
    s("commit", "-qm", "squashed")
    s("branch", "-qD", "feat")
    s.shown()


def rebased(s):
    new_file(s)
    s.commit()
    s("switch", "-q", "main")
    s.write("other.py", "x = 1\n")
    s.commit()
    s("switch", "-q", "feat")
    s("rebase", "-q", "main")
    s.shown()
    s("switch", "-q", "main")
    s.hidden()


def amended(s):
    new_file(s)
    s.commit()
    s.write("lib/other.py", "x = 1\n")
    s("add", "-A")
    s("commit", "-q", "--amend", "-m", "amended")
    s.shown()
    s("switch", "-q", "main")
    s.hidden()


def amended_into_the_commit_before(s):
    s("switch", "-qc", "feat")
    s.write("lib/other.py", "x = 1\n")
    s.commit()
    s.write("lib/pay.py", PAY)
    s.remember()
    s("add", "-A")
    s("commit", "-q", "--amend", "-m", "amended")
    s.shown()
    s("switch", "-q", "main")
    s.hidden()


def formatted_before_the_commit(s):
    new_file(s)
    s.write("lib/pay.py", PAY.replace("amount * 2", "(amount * 2)  # twice"))
    s.write("lib/pay.py", "# Payments\n\n\n" + PAY)
    s.commit()
    s.shown()
    s("switch", "-q", "main")
    s.hidden()


def cherry_picked(s):
    new_file(s)
    s.commit()
    s("switch", "-q", "main")
    s("cherry-pick", "feat", check=False)
    s.quiet()


def soft_reset_and_committed_again(s):
    new_file(s)
    s.commit()
    s("reset", "-q", "--soft", "HEAD~1")
    s.quiet()
    s("commit", "-qm", "again")
    s.shown()


def renamed_branch(s):
    new_file(s)
    s("branch", "-qm", "feat", "feature")
    s.shown()
    s.commit()
    s("switch", "-q", "main")
    s.hidden()


def two_commits(s):
    s("switch", "-qc", "feat")
    s.write("lib/pay.py", PAY)
    s.write("src/conf.py", CONF_FIVE)
    s.remember("`pay` in lib/pay.py retries, `RETRIES` is 5 in src/conf.py")
    s("add", "lib/pay.py")
    s("commit", "-qm", "pay")
    s.shown()
    s("commit", "-qam", "conf")
    s.shown()
    s("switch", "-q", "main")
    s.hidden()


# ---- work that is carried, stashed or detached


def carried_to_another_branch(s):
    new_file(s)
    s("switch", "-qc", "other")
    s.shown()
    s.commit()
    s("switch", "-q", "feat")
    s.hidden()
    s("switch", "-q", "other")
    s.shown()


def carried_back_to_main(s):
    edited_value(s)
    s("switch", "-q", "main")
    s.shown()
    s.commit()
    s.shown()


def stashed(s):
    edited_value(s)
    s("stash", "-q")
    s.hidden()
    s("stash", "pop", "-q")
    s.shown()


def stashed_with_untracked_files(s):
    new_file(s)
    s("stash", "-q", "-u")
    s.hidden()
    s("switch", "-q", "main")
    s.hidden()
    s("switch", "-q", "feat")
    s("stash", "pop", "-q")
    s.shown()


def stashed_and_popped_on_another_branch(s):
    edited_value(s)
    s("stash", "-q")
    s("switch", "-q", "main")
    s.hidden()
    s("switch", "-qc", "other")
    s("stash", "pop", "-q")
    s.shown()
    s.commit()
    s("switch", "-q", "main")
    s.hidden()


def stashed_below_another_stash(s):
    edited_value(s)
    s("stash", "-q")
    s.write("notes.md", "Other notes.\n")
    s("stash", "-q")
    s.hidden()


def stashed_and_popped_in_another_work_tree(s):
    edited_value(s)
    s("stash", "-q")
    s.tree("side")
    s.hidden()
    s("stash", "pop", "-q")
    s.shown()
    s.go("main")
    s.hidden()


def detached(s):
    s("switch", "-q", "--detach")
    s.write("lib/pay.py", PAY)
    s.remember()
    s.shown()
    s.commit()
    s.shown()
    s("switch", "-q", "main")
    s.quiet()


def detached_and_left(s):
    s("switch", "-q", "--detach")
    s.write("src/conf.py", CONF_FIVE)
    s.remember(CONF_TEXT)
    s("stash", "-q")
    s("switch", "-q", "main")
    s.hidden()


def detached_then_a_branch(s):
    s("switch", "-q", "--detach")
    s.write("lib/pay.py", PAY)
    s.remember()
    s("switch", "-qc", "feat")
    s.commit()
    s.shown()
    s("switch", "-q", "main")
    s.hidden()


def rebase_in_between(s):
    s("switch", "-qc", "feat")
    s.write("other.py", "x = 1\n")
    s.commit()
    s("switch", "-q", "main")
    s.write("other.py", "x = 2\n")
    s.commit()
    s("switch", "-q", "feat")
    s.write("lib/pay.py", PAY)
    s.remember()
    s("rebase", "-q", "main", check=False)
    s.quiet()
    s("rebase", "--abort")
    s.shown()


def before_the_first_commit(s):
    s("switch", "-q", "--orphan", "fresh")
    s.write("lib/pay.py", PAY)
    s.remember()
    s.shown()
    s.commit()
    s.shown()
    s("switch", "-q", "main")
    s.hidden()


def file_removed_for_a_while(s):
    s("switch", "-qc", "feat")
    s.write("lib/pay.py", PAY)
    s("add", "-A")
    s.remember()
    s("stash", "-q", "--keep-index")
    s.quiet()
    s("stash", "drop", "-q")
    s.shown()


# ---- several work trees


def untracked_in_one_work_tree(s):
    s.write("lib/pay.py", PAY)
    s.remember()
    s.tree("side")
    s.hidden()
    s.go("main")
    s.commit()
    s.shown()
    s.go("side")
    s.quiet()
    s("merge", "-q", "main")
    s.shown()


def edited_in_one_work_tree(s):
    s.tree("side")
    s.write("src/conf.py", CONF_FIVE)
    s.remember(CONF_TEXT)
    s.shown()
    s.go("main")
    s.hidden()
    s.go("side")
    s.commit()
    s.go("main")
    s.hidden()
    s("merge", "-q", "side")
    s.shown()


def staged_in_one_work_tree(s):
    s.tree("side")
    s.write("src/net.py", NET_FIVE)
    s("add", "-A")
    s.remember(TRIES_TEXT)
    s.go("main")
    s.hidden()


def edited_differently_in_two(s):
    s.write("lib/pay.py", PAY)
    s.commit()
    s.tree("side")
    s.write("lib/pay.py", PAY_TRIPLE)
    s.remember("`pay` triples the amount, in lib/pay.py")
    s.shown()
    s.go("main")
    s.write("src/net.py", NET_FIVE)
    s.hidden()


def same_work_in_two(s):
    s.tree("side")
    s.write("lib/pay.py", PAY)
    s.remember()
    s.go("main")
    s.write("lib/pay.py", PAY)
    s.shown()
    s.go("side")
    s.shown()


def work_tree_removed_after_its_merge(s):
    s.tree("side")
    s.write("lib/pay.py", PAY)
    s.remember()
    s.commit()
    s.go("main")
    s("merge", "-q", "side")
    s("worktree", "remove", "--force", "../side")
    s("branch", "-qD", "side")
    s.shown()


def work_tree_removed_with_its_work(s):
    s.tree("side")
    s.write("lib/pay.py", PAY)
    s.remember()
    s.go("main")
    s("worktree", "remove", "--force", "../side")
    s.hidden()


def branch_moved_to_another_work_tree(s):
    s.tree("side")
    s.write("lib/pay.py", PAY)
    s.remember()
    s.commit()
    s.go("main")
    s("worktree", "remove", "../side")
    s("switch", "-q", "side")
    s.shown()
    s("switch", "-q", "main")
    s.hidden()


# ---- what is committed is of its commit, whatever else is edited


def committed_definition_in_an_edited_file(s):
    s.write("src/net.py", NET + "\n\ndef fresh():\n    pass\n")
    s.remember("`last` takes one away, in src/net.py")
    s.tree("side")
    s.shown()


def said_again_over_uncommitted_work(s):
    s.remember("`fetch_with_retry` retries, in src/net.py")
    s("switch", "-qc", "feat")
    s.write("src/net.py", NET_FIVE)
    s.remember("`fetch_with_retry` retries, in src/net.py")
    s.shown()
    s("stash", "-q")
    s("switch", "-q", "main")
    s.shown()


def confirmed_over_uncommitted_work(s):
    s.remember("`fetch_with_retry` retries, in src/net.py")
    s("switch", "-qc", "feat")
    s.write("src/net.py", NET_FIVE)
    s.here.confirm(s.id)
    s.tree("side")
    s.shown()


def reworded_over_uncommitted_work(s):
    s.remember("`RETRIES` is 3 in src/conf.py")
    s("switch", "-qc", "feat")
    s.write("src/conf.py", CONF_FIVE)
    s.here.edit(s.id, CONF_TEXT)
    s.shown()
    s.tree("side")
    s.hidden()


# ---- the truth did change after all


def changed_again_before_the_commit(s):
    edited_value(s)
    s.write("src/conf.py", "RETRIES = 6\n")
    s.flagged("changed")


def thrown_away(s):
    edited_value(s)
    s("checkout", "-q", "--", "src/conf.py")
    s.flagged("changed")


def untracked_and_deleted(s):
    new_file(s)
    s.remove("lib/pay.py")
    s.flagged("gone")


def changed_on_its_branch_later(s):
    new_file(s)
    s.commit()
    s.write("lib/pay.py", PAY_TRIPLE)
    s.commit("triple")
    s.flagged("changed")
    s("switch", "-q", "main")
    s("merge", "-q", "feat")
    s.flagged("changed")


def deleted_after_the_merge(s):
    new_file(s)
    s.commit()
    s("switch", "-q", "main")
    s("merge", "-q", "feat")
    s("rm", "-q", "lib/pay.py")
    s("commit", "-qm", "gone")
    s.flagged("gone")


def reverted(s):
    edited_value(s)
    s.commit()
    s("revert", "--no-edit", "HEAD")
    s.flagged("changed")


def moved_after_its_commit(s):
    new_file(s)
    s.commit()
    s("mv", "lib/pay.py", "lib/money.py")
    s("commit", "-qm", "moved")
    s.flagged("moved")


def changed_before_a_squash(s):
    new_file(s)
    s.commit()
    s.write("lib/pay.py", PAY_TRIPLE)
    s.commit("triple")
    s("switch", "-q", "main")
    s("merge", "-q", "--squash", "feat")
    s("commit", "-qm", "squashed")
    s.flagged("changed")


STORIES = (
    untracked_then_committed_on_main,
    untracked_then_committed_on_a_branch,
    edited_then_committed_on_a_branch,
    staged_then_committed_on_a_branch,
    named_by_its_bare_name,
    at_the_top_named_by_its_bare_name,
    definition_without_its_file,
    whole_file_edited,
    whole_file_edited_on_until_the_commit,
    make_target,
    new_folder,
    pattern,
    merged,
    squashed_and_deleted,
    squashed_whole_file_edited_on,
    rebased,
    amended,
    amended_into_the_commit_before,
    formatted_before_the_commit,
    cherry_picked,
    soft_reset_and_committed_again,
    renamed_branch,
    two_commits,
    carried_to_another_branch,
    carried_back_to_main,
    stashed,
    stashed_with_untracked_files,
    stashed_and_popped_on_another_branch,
    stashed_below_another_stash,
    stashed_and_popped_in_another_work_tree,
    detached,
    detached_and_left,
    detached_then_a_branch,
    rebase_in_between,
    before_the_first_commit,
    file_removed_for_a_while,
    untracked_in_one_work_tree,
    edited_in_one_work_tree,
    staged_in_one_work_tree,
    edited_differently_in_two,
    same_work_in_two,
    work_tree_removed_after_its_merge,
    work_tree_removed_with_its_work,
    branch_moved_to_another_work_tree,
    committed_definition_in_an_edited_file,
    said_again_over_uncommitted_work,
    confirmed_over_uncommitted_work,
    reworded_over_uncommitted_work,
    changed_again_before_the_commit,
    thrown_away,
    untracked_and_deleted,
    changed_on_its_branch_later,
    deleted_after_the_merge,
    reverted,
    moved_after_its_commit,
    changed_before_a_squash,
)


@pytest.mark.covering
@pytest.mark.parametrize("watched", [True, False], ids=["watched", "daemon was down"])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_story_raises_no_false_flag(world, story, watched):
    story(Story(world, watched=watched))


@pytest.mark.parametrize("is_stashed", [False, True])
@pytest.mark.parametrize("path", ["src/pay.py", "src/conf.py"])
def test_branch_that_no_check_saw_holds_the_work(world, is_stashed, path):
    story = Story(world, watched=False)
    story.write(path, "def settle(bill):\n    return bill.settle()\n")
    story.remember(f"`settle` in {path} settles the bill")
    if is_stashed:
        story("stash", "-u")
    story("checkout", "-q", "-b", "feature")
    if is_stashed:
        story("stash", "pop")
    story.commit()
    story("checkout", "-q", "main")

    story.quiet()
    story("merge", "-q", "feature")
    story.quiet()
    story.remove(path)
    story.commit("no bills")
    assert story.here.flag_of(story.id)["verdict"] == "gone"
