"""What people and agents are shown of uncommitted work: counts elsewhere, never a false flag."""

import pytest
from verb_world import NET, Tree

from yaadwatch.model.errors import YaadError
from yaadwatch.recall import recall
from yaadwatch.remember import remember
from yaadwatch.sessions import context
from yaadwatch.workspace.workspace import Call

PAY = "def pay(amount):\n    return amount * 2\n"
PAY_TEXT = "Payments are doubled by `pay`, in lib/pay.py"


def linked(tree, branch):
    """Return a new linked work tree with a new branch of main."""
    tree.git("worktree", "add", "-q", "-b", branch, f"../{branch}", "main")
    return Tree(tree.world, tree.path.parent / branch)


def asked(tree, query="payments doubled", **fields):
    return recall.recall(tree.home, tree.call, query=query, **fields)


@pytest.fixture
def work(repo):
    """A memory about an untracked file of the main work tree, and its id."""
    repo.write("lib/pay.py", PAY)
    return repo.remember(PAY_TEXT, kind="convention", tier=1)


class TestElsewhere:
    def test_stale_counts_the_memory_and_says_where_the_work_is(self, repo, work):
        side = linked(repo, "side")

        answer = side.stale()

        assert answer["stale"] == answer["unknown"] == []
        assert answer["uncommitted"] == [
            {"worktree": str(repo.path), "branch": "main", "memories": 1}
        ]

    def test_recall_counts_the_memory_and_returns_it_on_request(self, repo, work):
        side = linked(repo, "side")
        side.check()

        answer, whole = asked(side), asked(side, all_branches=True)

        assert answer["results"] == []
        assert [row["memories"] for row in answer["uncommitted"]] == [1]
        assert [row["id"] for row in whole["results"]] == [work]
        assert whole["results"][0]["stale"] is None

    def test_brief_has_the_count_and_not_the_memory(self, repo, work):
        side = linked(repo, "side")

        brief = context.context(side.home, side.call)["brief"]

        assert "doubled" not in brief
        assert "uncommitted work in" in brief or not brief

    def test_brief_of_its_own_work_tree_has_the_memory(self, repo, work):
        assert "doubled" in context.context(repo.home, repo.call)["brief"]

    def test_reanchor_of_all_skips_it(self, repo):
        repo.commit("conf", {"src/conf.py": "RETRIES = 3\n"})
        side = linked(repo, "side")
        repo.write("src/conf.py", "RETRIES = 5\n")
        memory = repo.remember("`RETRIES` is 5 in src/conf.py")

        assert side.reanchor(all=True)["reanchored"] == []
        assert repo.show(memory)["text"] == "`RETRIES` is 5 in src/conf.py"

    def test_no_event_says_that_it_became_stale(self, repo, work):
        side = linked(repo, "side")
        side.check()
        side.check()

        assert side.check()["raised"] == 0


class TestRulesFiles:
    def test_file_of_another_work_tree_has_neither_the_rule_nor_a_mark(self, repo, work):
        side = linked(repo, "side")
        for tree in (repo, side):
            tree.write("CLAUDE.md", "# Rules\n\n- Keep functions short\n")
            tree.add(mode="inline")
            tree.sync()
            tree.check()
            tree.sync()

        assert "doubled" not in side.read("CLAUDE.md")
        assert "out of date" not in side.read("CLAUDE.md")


class TestShow:
    def test_anchor_has_no_commit_until_one_holds_it(self, repo, work):
        (first, *_) = repo.show(work)["anchors"]
        assert first["commit"] is None

        commit = repo.commit("pay")
        repo.check()

        assert {anchor["commit"] for anchor in repo.show(work)["anchors"]} == {commit}

    def test_commit_found_later_is_the_one_with_the_work(self, repo, work):
        commit = repo.commit("pay")
        repo.commit("other", {"other.py": "x = 1\n"})
        repo.check()

        assert {anchor["commit"] for anchor in repo.show(work)["anchors"]} == {commit}


class TestNewFiles:
    @pytest.mark.parametrize(
        ("path", "text"),
        [
            ("new.py", "`pay` doubles, in new.py"),
            ("lib/deep.py", "`pay` doubles, in deep.py"),
            ("./a/b/c/deep.py", "`pay` doubles, in c/deep.py"),
            ("lib/pay.py", "`pay()` doubles the amount"),
        ],
    )
    def test_definition_in_an_untracked_file_is_anchored(self, repo, path, text):
        repo.write(path, PAY)

        anchors = repo.remembered(text)["anchors"]

        assert {"path": path.removeprefix("./"), "symbol": "pay", "line": 1} in anchors

    def test_untracked_folder_is_anchored_by_its_end(self, repo):
        repo.write("apps/web/pay.py", PAY)

        assert repo.remembered("Money belongs into web/")["anchors"] == [{"path": "apps/web"}]

    def test_symbol_given_with_a_bare_name_is_found(self, repo):
        repo.write("lib/deep.py", PAY)

        anchors = repo.remembered("Payments are in deep.py", symbols=["pay"])["anchors"]

        assert any(anchor.get("symbol") == "pay" for anchor in anchors)

    def test_ignored_file_is_not_anchored_by_its_bare_name(self, repo):
        repo.write(".gitignore", "build/\n")
        repo.write("build/deep.py", PAY)

        assert repo.remembered("Payments are in deep.py")["anchors"] == []

    def test_bare_name_of_two_untracked_files_means_neither(self, repo):
        repo.write("a/deep.py", PAY)
        repo.write("b/deep.py", PAY)

        assert repo.remembered("Payments are in deep.py")["anchors"] == []

    def test_tracked_file_comes_before_an_untracked_one_of_its_name(self, repo):
        repo.write("other/net.py", NET)

        paths = {anchor["path"] for anchor in repo.remembered("Retries are in net.py")["anchors"]}

        assert paths == {"src/net.py"}


class TestLinkedWorkTree:
    """A session in one work tree speaks of a file that only another one has."""

    def test_committed_file_is_anchored_there(self, repo):
        side = linked(repo, "side")
        side.commit("pay", {"lib/pay.py": PAY})

        answer = repo.remembered(PAY_TEXT)

        assert {"path": "lib/pay.py", "symbol": "pay", "line": 1} in answer["anchors"]
        assert repo.stale(all=True)["stale"] == []
        assert asked(repo)["hidden"] == 1
        assert [row["id"] for row in asked(side)["results"]] == [answer["id"]]

    def test_untracked_file_is_anchored_there(self, repo):
        side = linked(repo, "side")
        side.write("lib/pay.py", PAY)

        memory = repo.remember(PAY_TEXT)

        assert repo.stale(all=True)["uncommitted"][0]["worktree"] == str(side.path)
        assert [row["id"] for row in asked(side)["results"]] == [memory]

    def test_file_given_by_its_absolute_path_is_anchored_there(self, repo):
        side = linked(repo, "side")
        side.write("lib/pay.py", PAY)

        answer = repo.remembered("Payments are doubled", files=[str(side.path / "lib/pay.py")])

        assert {"path": "lib/pay.py"} in answer["anchors"]

    def test_call_from_a_folder_is_from_that_folder_there(self, repo):
        side = linked(repo, "side")
        side.write("src/pay.py", PAY)
        call = Call(folder=repo.path / "src", origin="agent:claude")

        answer = remember.remember(repo.home, call, text="`pay` doubles, in src/pay.py")

        assert any(anchor["path"] == "src/pay.py" for anchor in answer["anchors"])

    def test_file_of_two_other_work_trees_means_neither(self, repo):
        for name in ("side", "third"):
            linked(repo, name).write("lib/pay.py", PAY)

        assert repo.remembered(PAY_TEXT)["anchors"] == []

    def test_file_that_is_here_too_is_anchored_here(self, repo):
        side = linked(repo, "side")
        for tree in (repo, side):
            tree.write("lib/pay.py", PAY)

        memory = repo.remember(PAY_TEXT)

        assert [row["id"] for row in asked(repo)["results"]] == [memory]

    def test_file_of_another_repository_is_refused(self, repo, world):
        other = world.repo("other")

        with pytest.raises(YaadError, match="outside of"):
            repo.remember("Payments are doubled", files=[str(other.path / "src/net.py")])


class TestWhatGitDoesToFiles:
    """A clean file whose bytes differ from the commit's is no uncommitted work."""

    def test_line_ends_that_git_converts(self, repo):
        repo.write(".gitattributes", "*.txt text eol=crlf\n")
        repo.write("docs/rules.txt", "one\r\ntwo\r\n")
        repo.commit("rules")
        memory = repo.remember("The rules are in docs/rules.txt")

        assert repo.show(memory)["anchors"][0]["commit"] == repo.head()

    def test_filter_of_the_repository(self, repo):
        repo.git("config", "filter.caps.clean", "tr a-z A-Z")
        repo.git("config", "filter.caps.smudge", "tr A-Z a-z")
        repo.commit("rules", {".gitattributes": "*.caps filter=caps\n", "docs/rules.caps": "one\n"})
        memory = repo.remember("The rules are in docs/rules.caps")

        assert repo.show(memory)["anchors"][0]["commit"] == repo.head()

    def test_edited_file_with_other_line_ends_is_uncommitted(self, repo):
        repo.write(".gitattributes", "*.txt text eol=crlf\n")
        repo.write("docs/rules.txt", "one\r\ntwo\r\n")
        repo.commit("rules")
        repo.write("docs/rules.txt", "one\r\ntwo\r\nthree\r\n")
        memory = repo.remember("The rules are in docs/rules.txt")

        assert repo.show(memory)["anchors"][0]["commit"] is None
