"""`yaadwatch check` on real repositories: no daemon, no store, and a rule that became false."""

import io
import json
import os
import re
import subprocess

import pytest
from repositories import Repo

from bridges.block import NOTICE
from tests import answers
from yaadwatch.api.answers.shapes import Verified
from yaadwatch.cli.main import run
from yaadwatch.cli.terminal import Terminal

NET = '''"""Talk to the network."""


def ping(host):
    return host.upper()


def fetch_with_retry(url, tries=3):
    return ping(url)
'''
RENAMED = NET.replace("fetch_with_retry", "fetch_again")
AROUND = NET.replace("upper", "lower")
RULE = "The retry limit is in `src/net.py`, in `fetch_with_retry`."
PAGES = tuple(f"docs/hosts-{n}.md" for n in range(10))
RULES = f"# Rules\n\n- Be kind to the network.\n- {RULE}\n"


@pytest.fixture
def repo(repo):
    repo.write("src/net.py", NET)
    repo.add("CLAUDE.md", RULES, "one")
    return repo


class Ran:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    @property
    def json(self):
        return json.loads(self.out)


def check(repo, *arguments, terminal=None):
    """Run `yaadwatch check` for a repository, without a client that could ask anybody."""
    out, err = io.StringIO(), io.StringIO()
    status = run(
        ["check", "--project", str(repo.path), *arguments], terminal or Terminal(out, err), _nobody
    )
    return Ran(status, out.getvalue(), err.getvalue())


def _nobody(args, terminal):
    class Nobody:
        wrote = ()
        unreachable = None
        now = None

        def close(self):
            pass

    return Nobody()


def false(repo, *arguments):
    """Return the place and verdict of each rule that may be false, and hold the status to it."""
    ran = check(repo, "--json", *arguments)
    answers.check_command(Verified, ran.json)
    found = [(f"{one['path']}:{one['line']}", one["verdict"]) for one in ran.json["false"]]
    assert ran.status == (1 if found else 0), ran.err
    return found


def test_what_a_commit_makes_false_is_named_with_its_place_reason_and_commit(repo):
    wrote = repo.git("rev-parse", "HEAD")
    commit = repo.add("src/net.py", RENAMED, "five tries")
    day = repo.git("log", "-1", "--format=%as")

    ran = check(repo)

    assert ran.status == 1
    head, *rest = ran.out.splitlines()
    assert re.fullmatch(rf"CLAUDE.md:4: gone, written \d+ \w+ \d+ \({wrote[:10]}\)", head)
    assert rest[:3] == [
        f"    {RULE}",
        "    fetch_with_retry is gone from src/net.py",
        f"    {commit[:10]}  {day}  five tries  (removed fetch_with_retry from src/net.py)",
    ]
    assert "1 rule may be false. 1 of 2 rules is tied to code; 1 cannot be judged" in ran.out
    assert check(repo, "--base", wrote).out.splitlines()[0] == "CLAUDE.md:4: gone"


@pytest.mark.parametrize("committed", [True, False])
def test_a_definition_that_went_to_another_file_makes_false_what_says_where_it_was(repo, committed):
    unplaced = "Never call `fetch_with_retry` twice."
    repo.add("CLAUDE.md", f"{RULES}- {unplaced}\n", "two")
    head, _, moved = NET.partition("\n\ndef fetch_with_retry")
    repo.write("src/net.py", head + "\n")
    repo.write("src/http.py", f"import os\n\n\ndef fetch_with_retry{moved}")
    if committed:
        repo.commit("split")

    (found,) = check(repo, "--json").json["false"]

    assert (found["line"], found["verdict"]) == (4, "moved")
    assert found["suggestion"]["text"] == RULE.replace("src/net.py", "src/http.py")


def test_a_constant_with_another_number_makes_false_what_gives_its_number(repo):
    said = (
        "`MAX_TRIES = 3` in src/net.py",
        "`MAX_TRIES` is read once",
        "`MAX_TRIES` is 3, no more",
    )
    repo.write("CLAUDE.md", "".join(f"- {one}\n" for one in said))
    repo.add("src/net.py", f"MAX_TRIES = 3\n{NET}", "three")
    repo.add("src/net.py", f"MAX_TRIES: int = 3  # times\n{AROUND}", "the same")
    assert false(repo) == []
    repo.add("src/net.py", f"MAX_TRIES = 5\n{NET}", "five")

    found = check(repo, "--json").json["false"]

    assert [(one["line"], one["verdict"]) for one in found] == [(1, "changed"), (3, "changed")]
    assert found[0]["reason"] == "MAX_TRIES in src/net.py: was 3, is now 5"


@pytest.mark.parametrize("path", [".claude/rules/yaad.md", ".cursor/rules/yaad.mdc", "GEMINI.md"])
def test_what_we_write_ourselves_is_no_use_that_is_lost(repo, path):
    said = "<!-- yaad:begin v=1 nl=0 -->\n- Ask `{}` for each host\n<!-- yaad:end -->\n"
    repo.write(path, said.format("fetch_with_retry"))
    for page in PAGES:
        repo.add(page, "Ask fetch_with_retry for each host\n", "two")
    repo.add(path, said.format("fetch_for_ever"), "our own words")
    assert false(repo) == []

    for page in PAGES:
        repo.add(page, "Ask fetch_for_ever for each host\n", "other pages")

    # Our own file lost the word, too: it would be one more.
    (found,) = check(repo, "--json", "--base", f"HEAD~{len(PAGES) + 1}").json["false"]
    assert (found["line"], found["verdict"]) == (4, "changed")
    assert f"but {len(PAGES)} files no longer name it" in found["reason"]


def test_what_is_not_committed_counts(repo):
    repo.add("notes.md", "x\n")
    repo.write("src/net.py", RENAMED)

    assert false(repo) == [("CLAUDE.md:4", "gone")]
    repo.write("src/net.py", NET)
    assert false(repo) == []


def test_a_renamed_file_comes_with_the_words_that_are_true(repo):
    repo.move("src/net.py", "src/http.py")
    repo.commit("rename")

    ran = check(repo)
    (found,) = check(repo, "--json").json["false"]

    assert f"    change it to: {RULE.replace('src/net.py', 'src/http.py')}" in ran.out.splitlines()
    assert found["verdict"] == "moved"
    assert found["suggestion"] == {
        "path": "src/http.py",
        "text": RULE.replace("src/net.py", "src/http.py"),
    }


def test_a_rule_that_the_change_rewords_or_adds_is_not_judged(repo):
    repo.write("CLAUDE.md", RULES.replace("limit is in", "limit of five is in"))
    repo.add("src/net.py", RENAMED, "five tries, and say so")
    assert false(repo) == []

    repo.write("AGENTS.md", "- `ping` in src/net.py shouts.\n")
    repo.add("src/net.py", RENAMED.replace("upper", "lower"), "and one more")
    assert false(repo) == []


PING = "`ping` in src/net.py shouts."


def counted(repo, *arguments):
    answer = check(repo, "--json", *arguments).json
    assert answer["judged"] + len(answer["unjudged"]) == answer["rules"]
    return answer["rules"], answer["judged"], answer["new"]


def test_reworded_rules_count_as_new_committed_or_not(repo):
    repo.add("docs/a.md", "a\n", "two")
    repo.write("CLAUDE.md", RULES.replace("limit is", "limit of three is").replace("Be", "Stay"))
    assert counted(repo) == counted(repo, "--base", "HEAD~1") == (2, 0, 2)

    repo.git("commit", "-qam", "reworded")
    assert counted(repo, "--base", "HEAD~1") == (2, 0, 2)
    assert counted(repo) == (2, 1, 0)


def test_a_new_rule_that_uncommitted_work_makes_false_is_judged(repo):
    repo.add("CLAUDE.md", f"{RULES}- {PING}\n", "a rule more")
    repo.write("src/net.py", NET.replace("ping", "knock"))

    for base in ((), ("--base", "HEAD~1")):
        assert ("CLAUDE.md:5", "gone") in false(repo, *base)
        assert counted(repo, *base) == (3, 2, 0)


class TestBase:
    def test_what_the_other_branch_did_meanwhile_is_no_change_of_this_one(self, repo):
        repo.git("switch", "-q", "-c", "topic")
        repo.add("notes.md", "x\n", "topic")
        repo.git("switch", "-q", "main")
        repo.add("src/net.py", RENAMED, "meanwhile")
        repo.git("switch", "-q", "topic")

        assert false(repo, "--base", "main") == []
        repo.git("merge", "-q", "main")
        assert false(repo, "--base", "main") == []
        assert false(repo, "--base", "main~1") == [("CLAUDE.md:4", "gone")]

    @pytest.mark.parametrize("name", ["no-such-branch", "--help", "HEAD~99", "HEAD:src", ""])
    def test_what_is_no_commit_is_told_and_status_5(self, repo, name):
        ran = check(repo, f"--base={name}")

        assert ran.status == 5
        assert "nothing was checked" in ran.err
        assert ran.out == ""

    def test_a_clone_that_is_too_shallow_says_what_to_fetch(self, repo, tmp_path):
        repo.add("src/net.py", RENAMED, "five")
        clone = Repo(tmp_path / "clone")
        url = f"file://{repo.path}"
        subprocess.run(["git", "clone", "-q", "--depth=1", url, clone.path], check=True)

        ran = check(clone)

        assert ran.status == 5
        assert "shallow" in ran.err
        assert "fetch-depth: 0" in ran.err
        clone.git("fetch", "-q", "--unshallow")
        assert false(clone) == [("CLAUDE.md:4", "gone")]

    @pytest.mark.parametrize("form", [(), ("--format=github",), ("--json",), ("--staged",)])
    def test_base_without_a_common_commit_in_a_shallow_clone_says_so(self, repo, tmp_path, form):
        repo.git("branch", "topic")
        repo.add("notes.md", "x\n", "meanwhile")
        repo.git("switch", "-q", "topic")
        repo.add("src/net.py", RENAMED, "five")
        clone = Repo(tmp_path / "clone")
        options = ["--depth=1", "--no-single-branch", "--branch=topic"]
        url = f"file://{repo.path}"
        subprocess.run(["git", "clone", "-q", *options, url, clone.path], check=True)

        ran = check(clone, "--base", "origin/main", *form)

        assert "has no commit that origin/main and HEAD share" in ran.out
        assert "compared with origin/main itself" in ran.out
        clone.git("fetch", "-q", "--unshallow")
        assert "shallow" not in check(clone, "--base", "origin/main", *form).out

    def test_a_branch_that_shares_no_commit_with_main_is_judged_from_its_last_one(
        self, repo, tmp_path
    ):
        clone = Repo(tmp_path / "clone")
        subprocess.run(["git", "clone", "-q", repo.path, clone.path], check=True)
        clone.git("switch", "-q", "--orphan", "apart")
        clone.add("CLAUDE.md", RULES)
        clone.add("src/net.py", NET)
        clone.add("src/net.py", RENAMED, "five")

        assert false(clone, "--base", "HEAD~1") == [("CLAUDE.md:4", "gone")]

    def test_before_the_first_commit_there_is_nothing_to_compare_with(self, new_repo):
        young = new_repo("young")
        young.write("CLAUDE.md", RULES)
        young.write("src/net.py", NET)

        ran = check(young)

        assert ran.status == 0
        assert "No rule can be judged. 0 of 2 rules are tied to code" in ran.out
        young.git("add", "-A")
        assert check(young, "--staged").status == 0


class TestSinceWritten:
    """Without a base, each rule is compared with the code of the commit that gave it its words."""

    def test_each_rule_counts_from_the_commit_that_worded_it(self, repo):
        first = repo.git("rev-parse", "HEAD")
        broke = repo.add("src/net.py", RENAMED, "another name")
        late = "- `fetch_again` of `src/net.py` asks for a page.\n"
        wrote = repo.add("CLAUDE.md", f"{RULES}{late}- {RULE} Still.\n", "more rules")
        for n in range(3):
            repo.add("notes.md", f"{n}\n", f"note {n}")
        moved = repo.add("src/net.py", NET.replace("fetch_with_retry", "fetch_for_ever"), "again")

        answer = check(repo, "--json").json

        answers.check_command(Verified, answer)
        rows = [
            (one["line"], one["written"]["id"], one["evidence"][-1]["commit"]["id"])
            for one in answer["false"]
        ]
        # The last one was false on the day it was written: what it names was gone by then.
        assert rows == [(4, first, broke), (5, wrote, moved)]
        assert (answer["base"], answer["rules"], answer["judged"]) == (None, 4, 3)

    def test_what_a_rule_names_that_came_later_counts_as_tied_to_code(self, repo):
        repo.add("CLAUDE.md", f"{RULES}- Ask `knock_twice` of `src/door.py`.\n", "planned")
        repo.add("src/door.py", "def knock_twice():\n    return 2\n", "built")
        assert counted(repo) == (3, 2, 0)

        repo.write("src/door.py", "def knock_once():\n    return 1\n")
        assert false(repo) == [("CLAUDE.md:5", "gone")]

    def test_a_file_is_not_replaced_when_pages_name_another_one_of_its_name(self, repo):
        repo.write("web/AGENTS.md", "# Web\n")
        repo.write("api/AGENTS.md", "# API\n")
        repo.write("CLAUDE.md", "- See `web/AGENTS.md` for pages.\n")
        skills = {f"skills/{n}.md": "Read AGENTS.md first\n" for n in range(13)}
        repo.commit("guides", skills)
        repo.commit("skills", dict.fromkeys(skills, "Read SKILL.md first\n"))

        assert false(repo) == []

    def test_an_everyday_word_is_no_package_behind_a_heading_in_bold_or_as_a_brand(self, repo):
        declared = {"dependencies": dict.fromkeys(("run", "config", "github", "vite"), "1.0.0")}
        repo.write("package.json", json.dumps(declared))
        said = ("Run the linter first", "**Config pollution** is bad", "Look at GitHub", "Use Vite")
        repo.add("CLAUDE.md", "# Rules\n\n" + "".join(f"- {one}\n" for one in said), "rules")
        repo.add("package.json", json.dumps({"dependencies": {"ms": "1.0.0"}}), "other packages")

        assert false(repo) == [("CLAUDE.md:6", "gone")]

    def test_a_package_of_which_a_part_is_still_declared_is_not_gone(self, repo):
        declared = '[package]\nname = "shop"\n\n[dependencies]\ntree-sitter = "0.26"\n'
        repo.write("Cargo.toml", declared)
        repo.add("CLAUDE.md", "- The sources of tree-sitter need a C compiler\n", "rules")
        repo.add("Cargo.toml", declared.replace("sitter =", "sitter-bash ="), "a part")
        assert false(repo) == []

        repo.add("Cargo.toml", declared.replace("tree-sitter =", "logos ="), "another one")
        assert false(repo) == [("CLAUDE.md:1", "gone")]

    def test_a_plain_word_means_a_function_or_type_and_no_key_or_variable(self, repo):
        repo.write("ui/run.config.ts", "export default { e2e: { base: 1 } };\n")
        repo.write("tools/bump.mjs", "const [major] = version;\nexport function stamp() {}\n")
        repo.write("tools/say.py", "print('a major e2e change of docs')\n")
        repo.write("lexer/Cargo.toml", "[features]\ndocs = []\n")
        said = ("End to end: the `e2e` module", "`major`: breaks users", "`docs:`, for pages")
        repo.write("CLAUDE.md", "".join(f"- {one}\n" for one in (*said, "Run `stamp` last")))
        repo.commit("words")
        repo.git("rm", "-q", "ui/run.config.ts", "tools/bump.mjs", "lexer/Cargo.toml")
        repo.commit("gone")

        assert false(repo) == [("CLAUDE.md:4", "gone")]

    def test_a_moved_or_rewrapped_rule_and_a_renamed_file_are_no_new_words(self, repo):
        repo.move("CLAUDE.md", "AGENTS.md")
        repo.commit("for all agents")
        repo.add("src/net.py", RENAMED, "another name")
        words = RULE.replace(", in", ",\n  in")
        repo.add("AGENTS.md", f"# Rules\n\n* {words}\n* Be kind to the network.\n", "wrapped")

        assert false(repo) == [("AGENTS.md:3", "gone")]

    def test_the_rules_that_cannot_be_judged_are_listed_with_the_reason(self, repo):
        repo.add("CLAUDE.md", f"{RULES}- {PING}\n", "one more")
        repo.write("CLAUDE.md", f"{RULES}- {PING}\n- `ping` in `src/net.py` is typed.\n")

        ran = check(repo, "--unjudged")

        assert (ran.status, check(repo).out.count("not judged")) == (0, 0)
        assert "2 of 4 rules are tied to code; 2 cannot be judged" in ran.out
        listed = [line for line in ran.out.splitlines() if line.startswith("CLAUDE.md:")]
        assert listed == [
            "CLAUDE.md:3: Be kind to the network.",
            "CLAUDE.md:6: `ping` in `src/net.py` is typed.",
        ]
        assert ran.out.index("names no code") < ran.out.index("is not committed")


class TestUnusualRepositories:
    """Each is judged rightly, or there is one clear message."""

    def clone(self, repo, tmp_path, *options):
        repo.git("config", "uploadpack.allowFilter", "true")
        clone = Repo(tmp_path / "clone")
        url = f"file://{repo.path}"
        subprocess.run(["git", "clone", "-q", *options, url, clone.path], check=True)
        return clone

    def test_a_shallow_clone_says_what_it_is_too_short_for(self, repo, tmp_path):
        repo.add("src/net.py", AROUND, "around")
        repo.add("CLAUDE.md", f"{RULES}- {PING}\n", "one more")
        repo.add("src/net.py", AROUND.replace("ping", "knock"), "no ping")
        clone = self.clone(repo, tmp_path, "--depth=3")

        ran = check(clone)

        assert ran.status == 1
        assert "CLAUDE.md:5: gone" in ran.out
        assert "2 rules are older than its history" in ran.out
        clone.git("fetch", "-q", "--unshallow")
        assert "shallow" not in check(clone).out

    def test_a_partial_clone_says_which_histories_it_cannot_read(self, repo, tmp_path):
        repo.add("AGENTS.md", f"- {PING}\n", "one version, which every clone has")
        repo.add("CLAUDE.md", f"{RULES}- Be brief.\n", "two versions")
        repo.add("src/net.py", RENAMED, "another name")
        clone = self.clone(repo, tmp_path, "--filter=blob:none")

        answer = check(clone, "--json").json

        (unread,) = answer["unread"]
        assert unread["path"] == "CLAUDE.md"
        assert "its history cannot be read" in unread["reason"]
        assert answer["false"] == []
        left = {one["path"]: one["reason"] for one in answer["unjudged"]}
        assert "a partial clone" in left["AGENTS.md"]
        # What HEAD and the work tree need is there.
        clone.write("src/net.py", RENAMED.replace("ping", "knock"))
        assert false(clone, "--base", "HEAD") == [("AGENTS.md:1", "gone")]

    def test_a_file_that_is_not_in_git_is_not_committed(self, repo):
        repo.add(".gitignore", "CLAUDE.local.md\n", "ignored")
        repo.write("CLAUDE.local.md", f"- {PING}\n")
        repo.write("sub/AGENTS.md", f"- {PING}\n")

        answer = check(repo, "--json").json

        left = {one["path"]: one["reason"] for one in answer["unjudged"]}
        assert "not committed" in left["CLAUDE.local.md"]
        assert answer["false"] == answer["unread"] == []

    def test_a_linked_work_tree_and_a_submodule_are_judged_by_themselves(self, repo, tmp_path):
        repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
        linked = Repo(tmp_path / "linked")
        linked.add("src/net.py", RENAMED, "another name")
        assert (false(linked), false(repo)) == ([("CLAUDE.md:4", "gone")], [])

        above = Repo.new(tmp_path / "above")
        above.add("CLAUDE.md", "- `ping` is in `lib/src/net.py`.\n", "rules")
        above.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", repo.path, "lib")
        above.commit("with a submodule")
        inside = Repo(above.path / "lib")
        inside.write("src/net.py", RENAMED)
        assert (false(above), false(inside)) == ([], [("CLAUDE.md:4", "gone")])

    def test_a_bare_repository_has_no_files(self, tmp_path):
        bare = Repo.new(tmp_path / "bare.git", "--bare")

        ran = check(bare)

        assert (ran.status, ran.out) == (5, "")
        assert "a bare repository without a work tree" in ran.err

    def test_a_very_large_agent_file_is_named_and_the_others_are_judged(self, repo):
        repo.add("AGENTS.md", "- Use `ping` of `src/net.py`.\n" * 330_000, "10 MB")
        repo.add("src/net.py", RENAMED, "another name")

        ran = check(repo)

        assert "AGENTS.md is larger than 256 KiB; it was not read" in ran.out
        assert "CLAUDE.md:4: gone" in ran.out

    def test_a_link_to_another_document_is_read_there(self, repo):
        repo.write("docs/rules.md", RULES)
        (repo.path / "CLAUDE.md").unlink()
        (repo.path / "AGENTS.md").symlink_to("docs/rules.md")
        (repo.path / "CLAUDE.md").symlink_to("AGENTS.md")
        (repo.path / "GEMINI.md").symlink_to("GEMINI.md")
        base = repo.commit("linked")
        repo.add("src/net.py", RENAMED, "another name")

        for how in ((), ("--base", base)):
            assert false(repo, *how) == [("docs/rules.md:4", "gone")]


class TestStaged:
    def test_nothing_staged_looks_at_no_rule(self, repo):
        repo.write("src/net.py", RENAMED)

        ran = check(repo, "--staged")

        assert (ran.status, ran.out) == (0, "Nothing is staged, so no rule was looked at.\n")
        answer = check(repo, "--staged", "--json").json
        answers.check_command(Verified, answer)
        assert answer["base"] == repo.git("rev-parse", "HEAD")

    def test_what_is_staged_counts_and_nothing_else(self, repo):
        repo.write("src/net.py", RENAMED)
        assert false(repo, "--staged") == []

        repo.git("add", "src/net.py")
        repo.write("src/net.py", NET)

        assert false(repo, "--staged") == [("CLAUDE.md:4", "gone")]
        (found,) = check(repo, "--staged", "--json").json["false"]
        assert [one["commit"] for one in found["evidence"]] == [None]

    def test_another_index_is_used_when_git_says_so(self, repo, monkeypatch):
        """`git commit FILE` stages in an index of its own while hooks run."""
        other = repo.path / ".git" / "next-index"
        other.write_bytes((repo.path / ".git/index").read_bytes())
        repo.write("src/net.py", RENAMED)
        subprocess.run(
            ["git", "add", "src/net.py"],
            cwd=repo.path,
            env=os.environ | {"GIT_INDEX_FILE": str(other)},
            check=True,
        )
        assert false(repo, "--staged") == []

        monkeypatch.chdir(repo.path)
        for name in (str(other), ".git/next-index"):
            monkeypatch.setenv("GIT_INDEX_FILE", name)
            assert false(repo, "--staged") == [("CLAUDE.md:4", "gone")]

    def test_neither_the_index_nor_a_branch_is_changed(self, repo):
        repo.write("src/net.py", RENAMED)
        repo.git("add", "src/net.py")
        before = repo.git("status", "--porcelain"), repo.git("for-each-ref"), repo.git("reflog")

        check(repo, "--staged")

        assert (
            repo.git("status", "--porcelain"),
            repo.git("for-each-ref"),
            repo.git("reflog"),
        ) == before

    def test_a_conflict_that_is_not_settled_is_told_and_status_5(self, repo):
        repo.git("switch", "-q", "-c", "topic")
        repo.add("src/net.py", RENAMED, "five")
        repo.git("switch", "-q", "main")
        repo.add("src/net.py", NET.replace("tries=3", "tries=9"), "nine")
        repo.git("merge", "-q", "topic", check=False)

        ran = check(repo, "--staged")

        assert ran.status == 5
        assert "src/net.py has a conflict" in ran.err


class TestFiles:
    def test_a_link_to_another_one_is_nothing_that_was_not_read(self, repo):
        (repo.path / "docs").mkdir()
        (repo.path / "AGENTS.md").symlink_to("CLAUDE.md")
        (repo.path / "docs/AGENTS.md").symlink_to("../CLAUDE.md")
        (repo.path / "GEMINI.md").symlink_to("nowhere.md")
        repo.commit("links")

        assert [one["path"] for one in check(repo, "--json").json["unread"]] == ["GEMINI.md"]

    def test_a_link_to_another_one_is_read_once_under_its_own_name(self, repo):
        (repo.path / "AGENTS.md").symlink_to("CLAUDE.md")
        repo.commit("two")
        repo.write("src/net.py", RENAMED)

        assert false(repo) == [("CLAUDE.md:4", "gone")]

    @pytest.mark.parametrize("lines", [100_000, 1_000_000])
    @pytest.mark.parametrize("committed", [True, False])
    def test_what_is_too_large_to_be_read_is_told_with_the_limit_for_agent_files(
        self, repo, lines, committed
    ):
        repo.add("AGENTS.md", "- x\n" * lines if committed else "- x\n")
        repo.write("AGENTS.md", "- x\n" * lines)

        ran = check(repo)

        assert ran.status == 0
        assert "AGENTS.md is larger than 256 KiB; it was not read" in ran.out

    def test_where_nothing_is_said_there_is_nothing_to_check(self, new_repo):
        silent = new_repo("silent")
        silent.add("src/net.py", NET)

        ran = check(silent)

        assert (ran.status, ran.out) == (
            0,
            "No agent file says anything here; nothing to check.\n",
        )

    def test_what_cannot_be_judged_is_told_and_is_no_failure(self, repo):
        repo.add("src/net.py", "def (\n", "broken")

        ran = check(repo)

        assert ran.status == 0
        assert "CLAUDE.md:4: could not be judged: src/net.py does not parse" in ran.out

    def test_secrets_are_masked(self, repo):
        secret = "sk-ant-api03-" + "Zq7xW2vB9" * 5
        repo.add("CLAUDE.md", f"- The key {secret} is read by `ping` in src/net.py.\n")
        repo.add("src/net.py", NET.replace("ping", "shout"), f"drop {secret}")

        for form in ("text", "json", "github"):
            ran = check(repo, "--format", form)
            assert ran.status == 1
            assert secret not in ran.out + ran.err


class TestTakenIn:
    """What a CLAUDE.md takes in with '@' is read as its agent reads it."""

    def test_a_rule_of_a_file_that_is_taken_in_is_judged(self, repo):
        repo.write("CLAUDE.md", "# Rules\n\nSee @docs/rules.md and @docs/more.md\n")
        repo.write("docs/rules.md", RULES)
        repo.add("docs/more.md", "@deeper/last.md\n", "taken in")
        repo.add("docs/deeper/last.md", f"- Once more: {RULE}\n", "deeper")
        repo.add("src/net.py", RENAMED, "renamed")

        assert false(repo) == [("docs/deeper/last.md:1", "gone"), ("docs/rules.md:4", "gone")]

    def test_each_file_is_read_once_however_they_take_one_another_in(self, repo):
        repo.write("CLAUDE.md", "@docs/rules.md\n\n@docs/rules.md\n")
        repo.write("GEMINI.md", "@docs/rules.md\n")
        repo.write("docs/rules.md", f"@../CLAUDE.md\n@rules.md\n\n{RULES}")
        repo.git("add", "-A")
        repo.git("commit", "-q", "-m", "in a circle")

        assert check(repo, "--json").json["rules"] == 2

    @pytest.mark.parametrize(
        "named",
        ["missing.md", "../outside.md", "src/net.py", ".git/config", "AGENTS.md@5", "types"],
    )
    def test_what_is_no_text_of_the_repository_is_no_rule_and_no_error(self, repo, named):
        repo.path.with_name("outside.md").write_text(f"- {RULE}\n")
        repo.add("CLAUDE.md", f"# Rules\n\nUse @{named} as it is.\n\n- {RULE}\n", "named")

        ran = check(repo, "--json")

        assert (ran.status, ran.json["rules"], ran.json["unread"]) == (0, 2, [])


class TestOutside:
    def test_what_is_no_repository_is_told_and_status_5(self, tmp_path):
        ran = check(Repo(tmp_path), "--json")

        assert ran.status == 5
        assert ran.json["error"]["code"] == "not_found"

    def test_no_store_is_made_and_no_daemon_started(self, repo, environment):
        before = sorted(environment.rglob("*yaad*"))

        check(repo)
        check(repo, "--staged")

        assert sorted(environment.rglob("*yaad*")) == before
        assert not (repo.path / ".yaad").exists()


class TestGithub:
    def test_each_rule_is_annotated_in_its_line(self, repo):
        repo.move("src/net.py", "src/http.py")
        commit = repo.commit("rename, 100%")

        ran = check(repo, "--format", "github")

        first, last = ran.out.splitlines()
        assert ran.status == 1
        assert first == (
            "::warning file=CLAUDE.md,line=4,endLine=4,title=yaadwatch::fetch_with_retry moved:"
            f" src/net.py is now src/http.py. The rule: {RULE}%0A"
            f"Since {commit[:10]}: rename, 100%25%0A"
            f"Write: {RULE.replace('src/net.py', 'src/http.py')}"
        )
        assert "1 rule may be false." in last


def test_an_agent_file_that_git_does_not_have_at_the_base_is_told_and_the_others_are_judged(repo):
    """A partial clone has none of the old texts: rules are not taken for judged that were not."""
    repo.write("CLAUDE.md", RULES + "- And be brief.\n")
    repo.add("AGENTS.md", "- The retry limit is in `fetch_with_retry` of `src/net.py`.\n", "two")
    base = repo.git("rev-parse", "HEAD")
    old = repo.git("rev-parse", "HEAD:CLAUDE.md")
    repo.write("CLAUDE.md", RULES + "- And be brief, too.\n")
    repo.add("src/net.py", RENAMED, "another name")
    (repo.path / ".git" / "objects" / old[:2] / old[2:]).unlink()

    ran = check(repo, "--json", "--base", base)

    assert [one["path"] for one in ran.json["false"]] == ["AGENTS.md"]
    (unread,) = ran.json["unread"]
    assert unread["path"] == "CLAUDE.md"
    assert f"as it was at {base[:8]}" in unread["reason"]
    assert ran.status == 1


def test_rules_of_a_committed_block_are_judged_with_their_line(repo):
    block = f"<!-- yaad:begin v=1 nl=1 -->\n{NOTICE}\n- {RULE}\n<!-- yaad:end -->\n"
    repo.add("CLAUDE.md", f"# Rules\n\n{block}", "block")
    repo.add("src/net.py", RENAMED, "renamed")

    assert false(repo) == [("CLAUDE.md:5", "gone")]


def test_path_that_is_a_secret_is_masked(repo):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    repo.add(f"{token}/CLAUDE.md", RULES, "nested")
    repo.add("src/net.py", RENAMED, "renamed")

    for form in ("text", "json", "github"):
        told = check(repo, "--format", form)
        assert token not in told.out + told.err
        assert "[masked:github-token]/CLAUDE.md" in told.out.replace("%3A", ":")


def test_rules_that_one_commit_made_false_in_one_way_are_told_together(repo):
    repo.add(
        "AGENTS.md",
        "Follow `src/net.py`:\n\n- Retry twice\n- Close what is open\n\n- See `src/net.py`\n",
        "two",
    )
    repo.git("mv", "src/net.py", "src/http.py")
    repo.git("commit", "-qm", "rename")

    ran = check(repo)

    assert ran.out.count("    src/net.py is now src/http.py\n") == 1
    assert "\nAGENTS.md:4: the same: Follow `src/net.py`: Close what is open\n" in ran.out
    assert "\nAGENTS.md:6: the same: " in ran.out
    assert "4 rules may be false" in ran.out
