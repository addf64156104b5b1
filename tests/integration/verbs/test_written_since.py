"""What an agent file has said for long is held against the code of the day on which it was said."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verb_world import NET, prepared

from yaadwatch.model.errors import YaadError
from yaadwatch.projects import projects
from yaadwatch.repo import layout
from yaadwatch.repo.command import GitRunner
from yaadwatch.repo.history import LineOrigin
from yaadwatch.repo.repository import Repository
from yaadwatch.sync import lookback
from yaadwatch.sync.lookback import COMMITS_MAX, STATEMENTS_MAX
from yaadwatch.text.words import text_hash
from yaadwatch.workspace import agent_files

RULES = """# Rules

- The limit lives in `src/limits.py`; `MAX_RETRIES` is 3.
- Calls go through `fetch_with_retry`.
- Tokens are read from `config/api.toml`.
"""
LIMITS = "MAX_RETRIES = 3\n"


@prepared
def tree(world):
    """A repository whose rules are as old as its code; it is not watched yet."""
    tree = world.tree()
    tree.git("init", "-q", "-b", "main")
    tree.write("src/net.py", NET)
    tree.write("src/limits.py", LIMITS)
    tree.write("config/api.toml", "token = 1\n")
    tree.write("CLAUDE.md", RULES)
    tree.commit("one")
    return tree


def added(tree):
    """Watch a repository and look back; return what `add` answers."""
    answer = tree.add()
    tree.look_back()
    return answer


def hash_of(statement):
    return text_hash(statement.text)


def flagged(tree):
    return {row["text"].split(" ")[0]: row["verdict"] for row in tree.stale()["stale"]}


def problems(tree):
    return [
        one
        for one in projects.status(tree.home, tree.call)["problems"]
        if one["what"].startswith(str(tree.path))
    ]


WRAPPED = """# Rules

* The limit lives in `src/limits.py`;
  `MAX_RETRIES` is 3.
* Calls go through
  `fetch_with_retry`.
* Tokens are read from `config/api.toml`.
"""


class TestAdd:
    def test_a_list_that_was_wrapped_and_marked_anew_is_as_old_as_its_words(self, tree):
        tree.write("src/limits.py", "MAX_RETRIES = 5\n")
        tree.git("rm", "-q", "config/api.toml")
        tree.commit("five, and no tokens")
        tree.commit("wrapped", {"CLAUDE.md": WRAPPED})
        added(tree)
        assert flagged(tree) == {"The": "changed", "Tokens": "gone"}

    def test_words_that_were_away_for_a_while_count_from_their_return(self, tree):
        tree.write("CLAUDE.md", "# Rules\n\n- Calls go through `fetch_with_retry`.\n")
        tree.write("src/limits.py", "MAX_RETRIES = 5\n")
        tree.commit("less said")
        tree.commit("said again", {"CLAUDE.md": WRAPPED.replace("is 3", "is 5")})
        added(tree)
        assert flagged(tree) == {}

    def test_what_is_true_still_is_told_by_nobody(self, tree):
        answer = added(tree)
        assert (answer["stale"], answer["unknown"], answer["looking"]) == (0, 0, 3)
        assert flagged(tree) == {}

    def test_what_became_false_before_we_came_is_told(self, tree):
        tree.commit("five", {"src/limits.py": "MAX_RETRIES = 5\n"})
        tree.commit("no tokens", gone=["config/api.toml"])
        added(tree)
        assert flagged(tree) == {"The": "changed", "Tokens": "gone"}
        told = {row["verdict"]: row for row in tree.stale()["stale"]}
        assert [row["commit"]["subject"] for row in told["changed"]["evidence"]] == ["five"]
        assert [row["commit"]["subject"] for row in told["gone"]["evidence"]] == ["no tokens"]

    def test_what_was_reworded_after_the_change_is_true(self, tree):
        tree.commit("five", {"src/limits.py": "MAX_RETRIES = 5\n"})
        tree.commit("say so", {"CLAUDE.md": RULES.replace("is 3", "is 5")})
        added(tree)
        assert flagged(tree) == {}

    def test_a_renamed_agent_file_is_as_old_as_it_was(self, tree):
        tree.commit("no tokens", gone=["config/api.toml"])
        tree.commit("for all agents", moved={"CLAUDE.md": "AGENTS.md"})
        added(tree)
        assert flagged(tree) == {"Tokens": "gone"}

    def test_words_in_no_commit_count_from_now(self, tree):
        tree.commit("five", {"src/limits.py": "MAX_RETRIES = 5\n"})
        tree.write("CLAUDE.md", RULES.replace("The limit lives", "Its limit lives"))
        added(tree)
        assert flagged(tree) == {}

    def test_what_came_after_the_words_is_rested_on_too(self, tree):
        tree.commit("planned", {"CLAUDE.md": RULES + "- Pages are made by `src/pages.py`.\n"})
        tree.commit("pages", {"src/pages.py": "def page():\n    return 1\n"})
        added(tree)
        assert flagged(tree) == {}
        tree.commit("no pages", gone=["src/pages.py"])
        assert flagged(tree) == {"Pages": "gone"}

    def test_where_history_is_cut_it_counts_from_the_oldest_commit_there(self, tree, world):
        tree.commit("five", {"src/limits.py": "MAX_RETRIES = 5\n"})
        tree.commit("no tokens", gone=["config/api.toml"])
        shallow = world.tree("shallow")
        source = f"file://{tree.path}"
        shallow.git("clone", "-q", "--depth=2", source, ".")
        assert added(shallow)["shallow"] == {"statements": 0}
        assert flagged(shallow) == {"Tokens": "gone"}
        assert shallow.stale()["shallow"] == {"statements": 3}
        assert shallow.add()["shallow"] == {"statements": 3}

    def test_with_one_commit_there_all_are_older(self, tree, world):
        tree.commit("no tokens", gone=["config/api.toml"])
        shallow = world.tree("shallow")
        shallow.git("clone", "-q", "--depth=1", f"file://{tree.path}", ".")
        shallow.write("CLAUDE.md", RULES + "- Pages are made by `src/pages.py`.\n")
        added(shallow)
        assert flagged(shallow) == {}
        answer = shallow.stale()
        assert (answer["looking"], answer["shallow"]) == (0, {"statements": 3})
        shallow.confirm(next(row.id for row in shallow.living() if row.text.startswith("The")))
        assert shallow.stale()["shallow"] == {"statements": 2}

    def test_what_is_newer_than_a_shallow_clone_is_not_counted(self, tree, world):
        tree.commit("say more", {"CLAUDE.md": RULES + "- Pages are made by `src/pages.py`.\n"})
        shallow = world.tree("shallow")
        shallow.git("clone", "-q", "--depth=2", f"file://{tree.path}", ".")
        added(shallow)
        assert len(shallow.living()) == 4
        assert shallow.stale()["shallow"] == {"statements": 3}

    def test_once_there_is_more_history_add_compares_again(self, tree, world):
        tree.commit("no tokens", gone=["config/api.toml"])
        shallow = world.tree("shallow")
        shallow.git("clone", "-q", "--depth=1", f"file://{tree.path}", ".")
        added(shallow)
        assert shallow.stale()["not_looked"] is None
        shallow.git("fetch", "-q", "--unshallow")
        missed = {"memories": 3, "why": "the clone was shallow then."}
        assert shallow.stale()["not_looked"] == missed
        assert shallow.add()["looking"] == 3
        shallow.look_back()
        assert flagged(shallow) == {"Tokens": "gone"}
        answer = shallow.stale()
        assert answer["shallow"] is answer["not_looked"] is None

    @pytest.mark.parametrize("depth", [1, 2])
    def test_status_names_the_rules_that_are_older_than_a_shallow_clone(self, tree, world, depth):
        tree.commit("no tokens", gone=["config/api.toml"])
        shallow = world.tree("shallow")
        shallow.git("clone", "-q", f"--depth={depth}", f"file://{tree.path}", ".")
        added(shallow)

        shown = [one["what"] for one in problems(shallow)]

        number = shallow.stale()["shallow"]["statements"]
        assert number > 1
        said = (
            "statements are older than this shallow clone; what became false before is not known."
        )
        assert shown == [f"{shallow.path}: {number} {said}"]
        shallow.git("fetch", "-q", "--unshallow")
        (then,) = problems(shallow)
        assert "could not be compared" in then["what"]
        shallow.add()
        shallow.look_back()
        assert problems(shallow) == []

    def test_a_whole_history_is_not_shallow(self, tree):
        assert added(tree)["shallow"] is None
        assert tree.stale()["shallow"] is None

    def test_a_list_of_commits_to_pass_over_that_is_missing_is_no_error(self, tree):
        tree.git("config", "blame.ignoreRevsFile", "no-such-file")
        tree.commit("no tokens", gone=["config/api.toml"])
        added(tree)
        assert flagged(tree) == {"Tokens": "gone"}


class TestByAndBy:
    """`add` takes the rules in; what they rested on is looked up later, a commit at a time."""

    @pytest.fixture
    def old(self, tree):
        """The repository, watched, with two rules that are false since; nothing looked up."""
        tree.commit("five", {"src/limits.py": "MAX_RETRIES = 5\n"})
        tree.commit("no tokens", gone=["config/api.toml"])
        assert tree.add()["looking"] == 3
        return tree

    def test_it_is_said_how_many_are_left(self, old):
        assert (flagged(old), old.stale()["looking"]) == ({}, 3)
        old.look_back()
        assert (len(flagged(old)), old.stale()["looking"]) == (2, 0)

    def test_of_very_many_all_are_looked_up_so_many_at_a_time(self, tree):
        many = "".join(f"- Rule {number} holds.\n" for number in range(2 * STATEMENTS_MAX + 9))
        tree.commit("many", {"CLAUDE.md": many + RULES})
        tree.commit("no tokens", gone=["config/api.toml"])
        left = [tree.add()["looking"]]
        assert left == [2 * STATEMENTS_MAX + 9 + 3]
        while tree.look_back_once():
            tree.world.reopen()
            left.append(tree.stale()["looking"])
        assert sorted(left, reverse=True) == left
        assert max(map(int.__sub__, left, left[1:])) == STATEMENTS_MAX
        assert left[-1] == 0
        assert flagged(tree) == {"Tokens": "gone"}

    def test_of_very_many_that_git_brings_all_are_looked_up(self, tree):
        added(tree)
        many = "".join(f"- Rule {number} holds.\n" for number in range(STATEMENTS_MAX + 9))
        tree.git("checkout", "-q", "-b", "other")
        tree.write("AGENTS.md", f"# Rules\n\n{many}- Rows are made by `src/rows.py`.\n")
        tree.write("src/rows.py", "def row():\n    return 1\n")
        tree.commit("rows")
        tree.commit("no rows", gone=["src/rows.py"])
        tree.git("checkout", "-q", "main")
        tree.sync()
        tree.git("-c", "user.email=eve@example.org", "merge", "-q", "--no-ff", "--no-edit", "other")
        tree.world.clock.wait(60)
        tree.sync()
        assert tree.stale()["looking"] == STATEMENTS_MAX + 10
        tree.look_back()
        assert flagged(tree) == {"Rows": "gone"}

    def test_what_a_person_confirmed_meanwhile_stays_confirmed(self, old):
        ids = {row.text.split(" ")[0]: row.id for row in old.living()}
        old.confirm(ids["The"])
        old.look_back()
        assert flagged(old) == {"Tokens": "gone"}

    def test_what_is_deleted_or_reworded_meanwhile_is_left_alone(self, old):
        first, _ = RULES.rsplit("- ", 1)
        old.write("CLAUDE.md", first.replace("is 3", "is 5"))
        old.sync()
        old.look_back()
        assert flagged(old) == {}
        assert old.stale()["looking"] == 0

    def test_added_again_nothing_is_looked_up_twice(self, old):
        old.look_back()
        before = flagged(old)
        assert old.add()["looking"] == 0
        old.look_back()
        assert flagged(old) == before

    def test_of_a_damaged_commit_alone_nothing_is_told(self, tree):
        tree.write("CLAUDE.md", RULES + "- Pages are made by `src/pages.py`.\n")
        tree.write("src/pages.py", "def page():\n    return 1\n")
        lost = tree.commit("pages")
        tree.git("rm", "-q", "config/api.toml", "src/pages.py")
        tree.commit("no tokens, no pages")
        tree.add()
        thing = tree.git("rev-parse", f"{lost}:src").strip()
        (tree.path / ".git" / "objects" / thing[:2] / thing[2:]).unlink()
        tree.look_back()
        said = {row.text.split(" ")[0]: tree.show(row.id) for row in tree.living()}
        rests_on = {word: [one["path"] for one in row["anchors"]] for word, row in said.items()}
        assert rests_on["Tokens"] == ["config/api.toml"]
        assert rests_on["Pages"] == []
        assert (tree.stale()["looking"], tree.stale()["not_looked"]["memories"]) == (0, 1)

    def test_of_a_work_tree_that_is_away_nothing_is_lost(self, old):
        project = old.project
        away = old.path.rename(old.path.with_name("away"))
        with pytest.raises(YaadError):
            lookback.compare_next(old.home, project)
        away.rename(old.path)
        old.look_back()
        assert len(flagged(old)) == 2

    def test_what_is_not_watched_any_more_is_not_looked_at(self, old):
        project = old.project
        old.remove()
        assert lookback.compare_next(old.home, project) is False


class TestPulled:
    def test_rules_that_git_brings_are_as_old_as_their_commit(self, tree):
        added(tree)
        tree.git("checkout", "-q", "-b", "other")
        tree.write("AGENTS.md", "# Rules\n\n- Rows are made by `src/rows.py`.\n")
        tree.write("src/rows.py", "def row():\n    return 1\n")
        tree.commit("rows")
        tree.commit("no rows", gone=["src/rows.py"])
        tree.git("checkout", "-q", "main")
        tree.sync()
        tree.git("-c", "user.email=eve@example.org", "merge", "-q", "--no-ff", "--no-edit", "other")
        tree.world.clock.wait(60)
        tree.sync()
        assert tree.stale()["looking"] == 1
        tree.look_back()
        assert flagged(tree) == {"Rows": "gone"}


class TestSince:
    def test_it_looks_into_few_commits(self, tree):
        for number in range(3 * COMMITS_MAX):
            with (tree.path / "CLAUDE.md").open("a") as rules:
                rules.write(f"- Rule {number} holds.\n")
            tree.commit(f"rule {number}")
        found = self.since(tree)
        assert len(set(found.values())) == COMMITS_MAX
        assert len(found) == 3 + 3 * COMMITS_MAX

    def test_it_looks_up_few_statements(self, tree):
        rules = "".join(f"- Rule {number} holds.\n" for number in range(STATEMENTS_MAX + 9))
        tree.commit("many", {"CLAUDE.md": rules})
        assert len(self.since(tree)) == STATEMENTS_MAX

    def test_of_several_files_together_it_looks_up_no_more(self, tree):
        half = STATEMENTS_MAX // 2
        tree.write("AGENTS.md", "".join(f"- Rule {n} holds.\n" for n in range(half + 9)))
        tree.write("CLAUDE.md", "".join(f"- Custom {n} holds.\n" for n in range(half + 9)))
        tree.commit("many")
        found = [path for path, _ in self.since(tree, "AGENTS.md", "CLAUDE.md")]
        assert (found.count("AGENTS.md"), found.count("CLAUDE.md")) == (half + 9, half - 9)

    def test_before_the_first_commit_nothing_was_written(self, world):
        tree = world.tree()
        tree.git("init", "-q", "-b", "main")
        tree.write("CLAUDE.md", RULES)
        assert self.since(tree) == {}

    @staticmethod
    def since(tree, *paths):
        formats = agent_files.formats()
        said = []
        for path in paths or ["CLAUDE.md"]:
            statements = formats.of(path).parse((tree.path / path).read_bytes()).statements
            said.append((path, [hash_of(statement) for statement in statements]))
        runner = GitRunner(timedelta(seconds=10))
        try:
            repository = Repository(layout.find(tree.path), runner)
            head = repository.head().commit
            found = lookback.wording_commits(repository, formats, head, said)
            assert not found.failed
            return found.commits
        finally:
            runner.close()


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60))
def test_of_too_many_commits_a_later_one_stands_for_each(times):
    wrote = {("f", str(at)): LineOrigin(f"{time:040x}", time) for at, time in enumerate(times)}
    fewer = lookback.fewer(wrote)
    assert fewer.keys() == wrote.keys()
    assert set(fewer.values()) <= set(wrote.values())
    assert len(set(fewer.values())) <= COMMITS_MAX
    assert all(fewer[key].at_s >= wrote[key].at_s for key in wrote)
    if len(set(wrote.values())) <= COMMITS_MAX:
        assert fewer == wrote
