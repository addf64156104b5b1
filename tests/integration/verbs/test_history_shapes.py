"""Whatever shape a history has, a verdict is right or unknown: never wrong without a word."""

import shutil
import subprocess

import pytest
from refusals import refusal
from verb_world import FIVE_TRIES, NET, RETRY, Tree, prepared

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import EVIDENCE_COMMITS_MAX, HISTORY_COMMITS_MAX
from yaadwatch.repo.repository import Repository

GO = """package net

func Other(x int) int {
\treturn x + 1
}

func FetchWithRetry(url string) error {
\tfor attempt := 0; attempt < 3; attempt++ {
\t\topen(url)
\t}
\treturn nil
}
"""
GO_FIVE = GO.replace("attempt < 3", "attempt < 5")
FOUR_TRIES = NET.replace("tries=3", "tries=4")
GO_RETRY = "FetchWithRetry() in src/net.go gives up in the end"


def subjects(flag):
    return [row["commit"]["subject"] for row in flag["evidence"] if row["commit"]]


def collect_garbage(tree):
    tree.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    tree.git("gc", "-q", "--prune=now")


@prepared
def both(world):
    """A repository with Python and Go, three commits deep, and a memory of each."""
    repo = world.repo("both")
    repo.commit("go", {"src/net.go": GO})
    repo.commit("readme", {"readme.md": "Hello.\n"})
    repo.add()
    return repo, (repo.remember(), repo.remember(GO_RETRY))


def verdicts(tree, memories):
    return [tree.verdict(memory) for memory in memories]


def long_history(start):
    """Return more commits than are all looked at, as `git fast-import` reads them."""
    yield f"reset refs/heads/main\nfrom {start}\n"
    for number in range(HISTORY_COMMITS_MAX + 50):
        yield "commit refs/heads/main\ncommitter N <n@example.org> 1767225600 +0000\ndata 1\n.\n"
        yield f"M 644 inline log/{number % 7}\ndata 5\n{number:05}\n"


class TestLong:
    """A history of more commits than can all be looked at one by one."""

    @pytest.fixture
    def moved(self, both):
        repo, _ = both
        memory = repo.remember("All that talks to the network is in src/net.go")
        repo.commit("net is transport", moved={"src/net.go": "lib/transport.go"})
        text = "".join(long_history(repo.git("rev-parse", "HEAD"))).encode()
        subprocess.run(["git", "fast-import", "--quiet"], cwd=repo.path, input=text, check=True)
        repo.git("reset", "-q", "--hard", "main")
        repo.write("lib/transport.go", "package lib\n" + "var Unlike = 1\n" * 40)
        repo.commit("all of it is new")
        return repo, memory

    def test_what_went_before_its_newest_commits_is_followed(self, moved):
        repo, memory = moved

        flag = repo.flag_of(memory)
        assert (flag["verdict"], flag["suggestion"]["path"]) == ("moved", "lib/transport.go")
        assert "net is transport" in subjects(flag)

    def test_so_is_what_was_removed_after_it_went(self, moved):
        repo, memory = moved
        repo.commit("no more transport", gone=["lib/transport.go"])

        assert repo.verdict(memory) == "gone"
        assert subjects(repo.flag_of(memory)) == ["net is transport", "no more transport"]


class TestLongWithPatterns:
    @pytest.mark.parametrize("folder", ["made/api", "made/api/deep"])
    def test_the_commit_that_took_all_files_of_a_pattern_is_found(self, both, folder):
        repo, _ = both
        for name in ("one", "two"):
            repo.write(f"{folder}/{name}.gen", f"{name}\n" * 30)
        repo.commit("made")
        memory = repo.remember(f"Never edit `{folder}/*.gen` by hand")
        repo.git("rm", "-q", "-r", folder)
        repo.commit("nothing is made any more")
        text = "".join(long_history(repo.git("rev-parse", "HEAD"))).encode()
        subprocess.run(["git", "fast-import", "--quiet"], cwd=repo.path, input=text, check=True)
        repo.git("reset", "-q", "--hard", "main")

        assert subjects(repo.flag_of(memory)) == ["nothing is made any more"]

    @pytest.mark.parametrize(
        ("pattern", "paths"),
        [
            ("*.gen", ("a.gen", "deep/down/b.gen")),
            ("made/**/*.gen", ("made/a.gen", "made/deep/b.gen")),
            ("*.test.gen", ("one/a.test.gen", "two/b.test.gen")),
        ],
    )
    def test_so_is_that_of_a_pattern_for_any_folder(self, both, pattern, paths):
        repo, _ = both
        for path in paths:
            repo.write(path, f"{path}\n" * 30)
        repo.commit("made")
        memory = repo.remember(f"Never edit `{pattern}` by hand")
        for path in paths:
            repo.commit(f"no more {path}", gone=[path])
        text = "".join(long_history(repo.git("rev-parse", "HEAD"))).encode()
        subprocess.run(["git", "fast-import", "--quiet"], cwd=repo.path, input=text, check=True)
        repo.git("reset", "-q", "--hard", "main")

        assert subjects(repo.flag_of(memory)) == [f"no more {path}" for path in paths]


class TestManyCommitsOfOneFile:
    """A definition changed before the newest commits of its file: which commit is not known."""

    @staticmethod
    def edited_often(repo, path, text, mark):
        since = repo.git("rev-parse", "HEAD")
        rows = [f"reset refs/heads/main\nfrom {since}\n"]
        for number in range(EVIDENCE_COMMITS_MAX + 5):
            data = f"{text}\n{mark} {number}\n"
            rows.append("commit refs/heads/main\ncommitter N <n@example.org> 1767225600 +0000\n")
            rows.append(f"data 6\nedited\nM 644 inline {path}\ndata {len(data)}\n{data}\n")
        given = "".join(rows).encode()
        subprocess.run(["git", "fast-import", "--quiet"], cwd=repo.path, input=given, check=True)
        repo.git("reset", "-q", "--hard", "main")

    @pytest.mark.parametrize(
        ("at", "path", "old", "text", "mark"),
        [
            (0, "src/net.py", NET, FIVE_TRIES, "#"),
            (1, "src/net.go", GO, GO_FIVE, "//"),
            (0, "src/net.py", NET, "def other(x):\n    return x + 1\n", "#"),
        ],
    )
    def test_the_limit_is_named_and_no_other_commit_blamed(self, both, at, path, old, text, mark):
        repo, memories = both
        repo.commit("the change", {path: text})
        self.edited_often(repo, path, text, mark)

        flag = repo.flag_of(memories[at])

        (found,) = flag["evidence"]
        assert found["commit"] is None
        assert found["summary"].endswith(
            f"(not in the last {EVIDENCE_COMMITS_MAX} commits of {path}; older ones were not"
            " searched)"
        )
        assert not flag["uncommitted"]

    def test_a_change_among_the_newest_is_named(self, both):
        repo, memories = both
        self.edited_often(repo, "src/net.py", NET, "#")
        repo.commit("the change", {"src/net.py": FIVE_TRIES})

        assert subjects(repo.flag_of(memories[0])) == ["the change"]

    def test_of_two_changes_the_older_one_is_not_put_on_another_commit(self, both):
        repo, memories = both
        repo.commit("four", {"src/net.py": FOUR_TRIES})
        self.edited_often(repo, "src/net.py", FOUR_TRIES, "#")
        repo.commit("five", {"src/net.py": FIVE_TRIES})

        assert subjects(repo.flag_of(memories[0])) == ["five"]

    def test_a_rename_before_the_newest_commits_is_named(self, both):
        repo, memories = both
        repo.commit("net is web", moved={"src/net.py": "lib/web.py"})
        self.edited_often(repo, "lib/web.py", NET, "#")

        assert "net is web" in subjects(repo.flag_of(memories[0]))


class TestLongWithFolders:
    """What became of a folder before the newest commits of a long history."""

    @pytest.fixture
    def tools(self, both):
        repo, _ = both
        for name in ("hammer", "saw", "drill"):
            repo.write(f"tools/hand/{name}.txt", f"{name}\n" * 30)
        repo.commit("tools")
        return repo, repo.remember("What one holds in a hand is in tools/hand/")

    @staticmethod
    def much_later(repo):
        text = "".join(long_history(repo.git("rev-parse", "HEAD"))).encode()
        subprocess.run(["git", "fast-import", "--quiet"], cwd=repo.path, input=text, check=True)
        repo.git("reset", "-q", "--hard", "main")

    @staticmethod
    def wholly_new(repo, folder):
        for path in (repo.path / folder).iterdir():
            path.write_text(f"All of it is new: {path.name}\n" * 9)
        repo.commit("new texts")

    def test_it_is_followed_from_place_to_place(self, tools):
        repo, memory = tools
        repo.commit("by hand is manual", moved={"tools/hand": "tools/manual"})
        repo.commit("an app of its own", moved={"tools": "apps/tools"})
        self.wholly_new(repo, "apps/tools/manual")
        self.much_later(repo)

        flag = repo.flag_of(memory)
        assert (flag["verdict"], flag["suggestion"]["path"]) == ("moved", "apps/tools/manual")
        assert "took 3 files out of tools/hand" in [one["summary"] for one in flag["evidence"]]
        assert subjects(flag) == ["by hand is manual"]

    def test_one_whose_files_were_mostly_removed_went_nowhere(self, tools):
        repo, memory = tools
        repo.git("rm", "-q", "tools/hand/saw.txt", "tools/hand/drill.txt")
        repo.commit("no more saws")
        repo.commit("the last one", moved={"tools/hand/hammer.txt": "old/hammer.txt"})
        self.wholly_new(repo, "old")
        self.much_later(repo)

        flag = repo.flag_of(memory)
        assert flag["verdict"] == "gone"
        assert "suggestion" not in flag
        assert subjects(flag) == ["no more saws", "the last one"]

    def test_one_that_was_split_over_very_many_commits_went_to_no_single_place(self, both):
        repo, _ = both
        names = [f"tool{number}" for number in range(2 * EVIDENCE_COMMITS_MAX + 10)]
        for name in names:
            repo.write(f"tools/hand/{name}.txt", f"{name}\n" * 30)
        repo.commit("tools")
        memory = repo.remember("What one holds in a hand is in tools/hand/")
        rows = [f"reset refs/heads/main\nfrom {repo.git('rev-parse', 'HEAD')}\n"]
        for number, name in enumerate(names):
            to = "old" if number < len(names) - EVIDENCE_COMMITS_MAX else "new"
            rows.append("commit refs/heads/main\ncommitter N <n@example.org> 1767225600 +0000\n")
            rows.append(f"data 6\nmoving\nR tools/hand/{name}.txt {to}/{name}.txt\n")
        given = "".join(rows).encode()
        subprocess.run(["git", "fast-import", "--quiet"], cwd=repo.path, input=given, check=True)
        repo.git("reset", "-q", "--hard", "main")
        for folder in ("old", "new"):
            self.wholly_new(repo, folder)

        flag = repo.flag_of(memory)

        assert flag["verdict"] == "gone"
        assert "suggestion" not in flag
        assert set(subjects(flag)) == {"moving"}

    def test_one_that_a_merge_emptied_names_how_far_commits_were_searched(self, tools):
        repo, memory = tools
        TestManyCommitsOfOneFile.edited_often(repo, "tools/hand/saw.txt", "saw", "#")
        repo.git("checkout", "-q", "-b", "side", "HEAD~1")
        repo.commit("side", {"side.txt": "side\n"})
        repo.git("checkout", "-q", "main")
        repo.git("merge", "-q", "--no-ff", "--no-commit", "side")
        repo.git("rm", "-rqf", "tools")
        repo.git("commit", "-qm", "merged without tools")

        (found,) = repo.flag_of(memory)["evidence"]

        assert found["summary"].endswith(
            f"(not in the last {EVIDENCE_COMMITS_MAX} commits of tools/hand; older ones were not"
            " searched)"
        )


class TestFoldersOnTheirWay:
    """What differs now does not tell where a folder went: its commits do."""

    NAMES = ("drill.txt", "hammer.txt", "saw.txt")

    @pytest.fixture
    def tools(self, both):
        repo, _ = both
        for name in self.NAMES:
            repo.write(f"tools/hand/{name}", f"{name}\n" * 30)
        repo.commit("tools", {"apps/shared/keep.txt": "kept\n" * 30})
        return repo, repo.remember("What one holds in a hand is in tools/hand/")

    def taken(self, repo, old, new):
        for name in self.NAMES:
            repo.move(f"{old}/{name}", f"{new}/{name}")
        repo.commit(f"to {new}")

    def rewritten(self, repo, *paths):
        for path in paths:
            repo.write(path, f"All of it is new: {path}\n" * 9)
        repo.commit("new texts")

    def moved(self, flag):
        return flag["verdict"], flag.get("suggestion", {}).get("path")

    def test_a_removal_that_was_taken_back_plays_no_part(self, tools):
        repo, memory = tools
        repo.commit("oops", gone=["tools/hand"])
        repo.git("revert", "--no-edit", "HEAD")
        self.taken(repo, "tools/hand", "tools/manual")
        self.rewritten(repo, *(f"tools/manual/{name}" for name in self.NAMES))

        assert self.moved(repo.flag_of(memory)) == ("moved", "tools/manual")

    def test_nor_do_files_that_were_there_for_a_while(self, tools):
        repo, memory = tools
        for number in range(4):
            repo.write(f"tools/hand/{number}.tmp", f"{number}\n" * 30)
        repo.commit("by mistake")
        repo.git("rm", "-q", *(f"tools/hand/{number}.tmp" for number in range(4)))
        repo.commit("cleared")
        self.taken(repo, "tools/hand", "tools/manual")
        self.rewritten(repo, *(f"tools/manual/{name}" for name in self.NAMES))

        assert self.moved(repo.flag_of(memory)) == ("moved", "tools/manual")

    def test_what_was_removed_where_it_was_taken_is_gone(self, tools):
        repo, memory = tools
        self.taken(repo, "tools/hand", "apps/shared")
        repo.git("rm", "-q", *(f"apps/shared/{name}" for name in self.NAMES))
        repo.commit("no more tools")

        flag = repo.flag_of(memory)
        assert flag["verdict"] == "gone"
        assert "suggestion" not in flag

    def test_it_is_followed_out_of_a_folder_that_stays(self, tools):
        repo, memory = tools
        self.taken(repo, "tools/hand", "apps/shared")
        self.taken(repo, "apps/shared", "kit")
        self.rewritten(repo, *(f"kit/{name}" for name in self.NAMES))

        assert self.moved(repo.flag_of(memory)) == ("moved", "kit")

    def test_its_files_may_be_called_otherwise_there(self, tools):
        repo, memory = tools
        self.taken(repo, "tools/hand", "apps/shared")
        for name in self.NAMES:
            repo.move(f"apps/shared/{name}", f"apps/shared/my-{name}")
        repo.commit("mine")
        self.rewritten(repo, *(f"apps/shared/my-{name}" for name in self.NAMES))

        assert self.moved(repo.flag_of(memory)) == ("moved", "apps/shared")


def merged_back(repo, look):
    """The merge has what the side has that did not change it."""
    repo.commit("four tries", {"src/net.py": FOUR_TRIES})
    repo.git("branch", "side")
    repo.commit("five tries", {"src/net.py": FIVE_TRIES})
    look()
    repo.git("switch", "-q", "side")
    repo.commit("elsewhere")
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--no-commit", "--no-ff", "side")
    repo.commit("both sides", {"src/net.py": FOUR_TRIES})


def merged_away(repo, look):
    """What was checked out is the other side of a merge, which has nothing of it."""
    repo.commit("four tries", {"src/net.py": FOUR_TRIES})
    repo.git("switch", "-q", "-c", "topic")
    repo.commit("five tries", {"src/net.py": FIVE_TRIES})
    look()
    repo.git("switch", "-q", "main")
    repo.commit("elsewhere")
    repo.git("merge", "-q", "--no-ff", "-s", "ours", "--no-edit", "topic")


def merged_with_another_history(repo, look):
    repo.commit("five tries", {"src/net.py": FIVE_TRIES})
    look()
    repo.git("switch", "-q", "--orphan", "other")
    repo.commit("four tries", {"src/net.py": FOUR_TRIES})
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--allow-unrelated-histories", "other", check=False)
    repo.commit("both", {"src/net.py": FOUR_TRIES})


class TestTooMuch:
    def test_what_git_could_not_tell_is_not_asked_for_each_memory(self, both, monkeypatch):
        repo, _ = both
        for name in "abcdef":
            repo.write(f"src/{name}.txt", f"{name}\n" * 30)
        repo.commit("letters")
        memories = [repo.remember(f"The letter is told in src/{name}.txt") for name in "abcdef"]
        repo.git("rm", "-q", *(f"src/{name}.txt" for name in "abcdef"))
        repo.commit("no letters")
        asked = []

        def too_much(repository, *between):
            asked.append(between)
            raise YaadError(Code.TOO_LARGE, "git diff-tree printed more than is kept.")

        monkeypatch.setattr(Repository, "departures", too_much)
        repo.check()

        assert len(asked) == len(set(asked))
        assert verdicts(repo, memories) == ["unknown"] * 6


class TestBroughtBack:
    def test_a_file_that_went_on_after_its_removal_was_taken_back_moved(self, both):
        repo, _ = both
        memory = repo.remember("All that talks to the network is in src/net.go")
        repo.commit("oops", gone=["src/net.go"])
        repo.git("revert", "--no-edit", "HEAD")
        repo.commit("net is transport", moved={"src/net.go": "lib/transport.go"})
        repo.write("lib/transport.go", "package lib\n" + "var Unlike = 1\n" * 40)
        repo.commit("all of it is new")

        flag = repo.flag_of(memory)
        assert (flag["verdict"], flag["suggestion"]["path"]) == ("moved", "lib/transport.go")


class TestMerges:
    @pytest.mark.parametrize("way", [merged_back, merged_away, merged_with_another_history])
    @pytest.mark.parametrize("early", [False, True])
    def test_the_evidence_is_the_same_whatever_was_asked_before(self, both, way, early):
        repo, (python, _) = both

        way(repo, repo.check if early else lambda: None)

        assert subjects(repo.flag_of(python)) == ["four tries"]


class TestRewritten:
    def test_the_same_files_under_new_commits_are_fresh(self, both):
        repo, memories = both

        repo.git("commit", "-q", "--amend", "-m", "another subject")
        assert verdicts(repo, memories) == ["fresh", "fresh"]
        repo.git("filter-branch", "-f", "--msg-filter", "cat; echo more", "--", "main")
        collect_garbage(repo)

        assert verdicts(repo, memories) == ["fresh", "fresh"]

    def test_a_filter_that_changes_a_file_everywhere_is_a_change_or_unknown(self, both):
        repo, memories = both
        change = "sed -i s/tries=3/tries=5/ src/net.py; sed -i 's/< 3/< 5/' src/net.go 2>/dev/null"

        repo.git("filter-branch", "-f", "--tree-filter", f"{change}; true", "--", "main")
        before = verdicts(repo, memories)
        repo.git("update-ref", "-d", "refs/original/refs/heads/main")
        collect_garbage(repo)
        repo.git("commit", "-q", "--allow-empty", "-m", "later")

        assert before == ["changed", "changed"]
        assert repo.verdict(memories[0]) == "changed"
        assert repo.verdict(memories[1]) in {"changed", "unknown"}
        assert repo.flag_of(memories[0])["evidence"]

    def test_a_filter_that_takes_a_file_out_is_gone_or_unknown(self, both):
        repo, memories = both

        repo.git(
            *("filter-branch", "-f", "--index-filter"),
            *("git rm -q --cached --ignore-unmatch src/net.py src/net.go", "--", "main"),
        )
        for memory in memories:
            assert repo.verdict(memory) in {"gone", "unknown"}
        repo.git("update-ref", "-d", "refs/original/refs/heads/main")
        collect_garbage(repo)
        repo.git("commit", "-q", "--allow-empty", "-m", "later")

        for memory in memories:
            assert repo.verdict(memory) in {"gone", "unknown"}

    def test_squashing_tells_of_the_one_commit_that_is_left(self, both):
        repo, (python, _) = both
        base = repo.head()
        repo.commit("four tries", {"src/net.py": NET.replace("tries=3", "tries=4")})
        repo.commit("five tries", {"src/net.py": FIVE_TRIES})
        assert subjects(repo.flag_of(python)) == ["four tries", "five tries"]

        repo.git("reset", "-q", "--soft", base)
        repo.git("commit", "-q", "-m", "all at once")

        assert subjects(repo.flag_of(python)) == ["all at once"]

    def test_a_rebase_under_way_is_judged_as_it_stands(self, both):
        repo, (python, _) = both
        repo.git("switch", "-q", "-c", "topic")
        repo.commit("five tries", {"src/net.py": FIVE_TRIES})
        repo.git("switch", "-q", "main")
        repo.commit("nine tries", {"src/net.py": NET.replace("tries=3", "tries=9")})
        repo.git("switch", "-q", "topic")

        repo.git("rebase", "-q", "main", check=False)

        assert "<<<<<<<" in (repo.path / "src/net.py").read_text()
        assert repo.verdict(python) in {"changed", "unknown"}
        repo.git("rebase", "--abort")
        assert subjects(repo.flag_of(python)) == ["five tries"]


class TestShallow:
    @pytest.fixture
    def shallow(self, world, both):
        """A clone with one commit only, watched; and where it came from."""
        source, _ = both
        clone = world.tree("shallow")
        clone.git("clone", "-q", "--depth=1", f"file://{source.path}", ".")
        clone.add()
        return clone, source

    def test_what_was_remembered_before_the_cut_is_right_or_unknown(self, shallow):
        clone, source = shallow
        memories = clone.remember(), clone.remember(GO_RETRY)
        source.commit("five tries", {"src/net.py": FIVE_TRIES, "src/net.go": GO_FIVE})
        source.commit("later")

        clone.git("fetch", "-q", "--depth=1", "origin", "main")
        clone.git("reset", "-q", "--hard", "FETCH_HEAD")
        collect_garbage(clone)

        assert clone.verdict(memories[0]) == "changed"
        (told,) = clone.flag_of(memories[0])["evidence"]
        assert told["commit"] is None  # the one commit that is left did not do it
        assert "history does not show" in told["summary"]
        assert clone.verdict(memories[1]) in {"changed", "unknown"}

    def test_a_rename_behind_the_cut_is_found_or_unknown_never_gone(self, shallow):
        clone, source = shallow
        memories = clone.remember(), clone.remember(GO_RETRY)
        source.commit("rename", moved={"src": "lib"})
        source.commit("later")

        clone.git("fetch", "-q", "--depth=1", "origin", "main")
        clone.git("reset", "-q", "--hard", "FETCH_HEAD")
        collect_garbage(clone)

        for memory in memories:
            assert clone.verdict(memory) in {"moved", "unknown"}

    def test_deepening_changes_no_verdict_and_finds_the_commit(self, shallow):
        clone, source = shallow
        memory = clone.remember()
        source.commit("five tries", {"src/net.py": FIVE_TRIES})
        source.commit("later")
        clone.git("fetch", "-q", "--depth=1", "origin", "main")
        clone.git("reset", "-q", "--hard", "FETCH_HEAD")
        assert clone.verdict(memory) == "changed"

        clone.git("fetch", "-q", "--unshallow", "origin")
        clone.git("commit", "-q", "--allow-empty", "-m", "here")

        assert subjects(clone.flag_of(memory)) == ["five tries"]


class TestPartial:
    @pytest.fixture
    def partial(self, world, both):
        source, _ = both
        source.git("config", "uploadpack.allowFilter", "true")
        source.git("config", "uploadpack.allowAnySHA1InWant", "true")
        clone = world.tree("partial")
        clone.git("clone", "-q", "--filter=blob:none", f"file://{source.path}", ".")
        clone.add()
        return clone, source

    def missing(self, clone):
        """Return the objects that the clone does not have."""
        listed = clone.git("rev-list", "--objects", "--all", "--missing=print").split()
        return sorted(row for row in listed if row.startswith("?"))

    def test_it_is_judged_by_what_is_there_and_nothing_is_fetched(self, partial):
        clone, source = partial
        memories = clone.remember(), clone.remember(GO_RETRY)
        for number in (7, 5):
            source.write("src/net.py", NET.replace("tries=3", f"tries={number}"))
            source.write("src/net.go", GO.replace("attempt < 3", f"attempt < {number}"))
            source.commit(f"{number} tries")
        clone.git("pull", "-q")
        missing = self.missing(clone)
        assert missing  # the files of the commit in between

        assert verdicts(clone, memories) == ["changed", "changed"]
        assert self.missing(clone) == missing

    def test_an_older_text_that_is_not_there_is_neither_needed_nor_fetched(self, partial):
        clone, source = partial
        memory = clone.remember(GO_RETRY)
        blob = clone.git("rev-parse", "HEAD:src/net.go").strip()
        source.commit("elsewhere", {"src/net.go": GO.replace("x + 1", "x + 2")})
        clone.git("pull", "-q")
        assert clone.verdict(memory) == "fresh"

        # As if it had never been fetched: every pack is unpacked, and that blob taken away.
        packs = clone.path / ".git/objects/pack"
        kept = [(path, path.read_bytes()) for path in packs.glob("*.pack")]
        for path in packs.iterdir():
            path.chmod(0o600)
            path.unlink()
        for _, data in kept:
            subprocess.run(
                ["git", "-C", str(clone.path), "unpack-objects", "-q"], input=data, check=True
            )
        loose = clone.path / ".git/objects" / blob[:2] / blob[2:]
        loose.chmod(0o600)
        loose.unlink()
        clone.write("src/net.go", GO.replace("x + 1", "x + 4"))

        assert clone.verdict(memory) == "fresh"
        clone.write("src/net.go", GO.replace("attempt < 3", "attempt < 4"))
        assert clone.verdict(memory) == "changed"
        assert not loose.exists()


class TestSparse:
    def test_a_file_that_is_not_checked_out_is_not_deleted(self, both):
        repo, memories = both
        for way in (("--no-cone", "/readme.md"), ("--cone", "docs")):
            repo.git("sparse-checkout", "set", *way)
            assert not (repo.path / "src/net.py").exists()

            assert verdicts(repo, memories) == ["fresh", "fresh"]
        repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "docs")
        assert verdicts(repo, memories) == ["fresh", "fresh"]

    @pytest.mark.parametrize("place", ["src/", "src/*.py", "src/deep/"])
    def test_a_folder_or_a_pattern_of_what_is_not_checked_out_stands(self, both, place):
        repo, _ = both
        repo.commit("more", {"src/deep/more.py": "more = 1\n", "docs/all.md": "All of it.\n"})
        memory = repo.remember(f"Everything that retries is in `{place}`")
        for way in (
            ("--no-cone", "/docs/"),
            ("--cone", "docs"),
            ("--cone", "--sparse-index", "docs"),
        ):
            repo.git("sparse-checkout", "set", *way)
            assert repo.verdict(memory) == "fresh"
        repo.git("sparse-checkout", "set", "--no-cone", "/docs/")
        repo.git("rm", "-qr", "--sparse", "src")
        assert repo.verdict(memory) == "gone"
        repo.git("reset", "-q", "--hard")
        assert repo.verdict(memory) == "fresh"
        repo.git("sparse-checkout", "disable")
        shutil.rmtree(repo.path / "src")
        assert repo.verdict(memory) == "gone"

    def test_it_is_judged_by_what_the_commit_has(self, both):
        repo, memories = both
        repo.git("switch", "-q", "-c", "topic")
        repo.commit("five tries", {"src/net.py": FIVE_TRIES, "src/net.go": GO_FIVE})
        repo.git("switch", "-q", "main")
        repo.git("sparse-checkout", "set", "--no-cone", "/readme.md")
        assert verdicts(repo, memories) == ["fresh", "fresh"]

        repo.git("switch", "-q", "topic")

        for memory in memories:
            flag = repo.flag_of(memory)
            assert (flag["verdict"], subjects(flag)) == ("changed", ["five tries"])
            assert not flag["uncommitted"]

    def test_what_a_commit_deletes_is_gone_there_too(self, both):
        repo, (python, _) = both
        repo.git("switch", "-q", "-c", "topic")
        repo.commit("drop it", gone=["src/net.py"])
        repo.git("switch", "-q", "main")
        repo.git("sparse-checkout", "set", "--no-cone", "/readme.md")

        repo.git("switch", "-q", "topic")

        assert (repo.verdict(python), subjects(repo.flag_of(python))) == ("gone", ["drop it"])

    def test_checking_it_out_again_changes_nothing(self, both):
        repo, memories = both
        repo.git("sparse-checkout", "set", "--no-cone", "/readme.md")
        repo.check()

        repo.git("sparse-checkout", "disable")
        assert verdicts(repo, memories) == ["fresh", "fresh"]
        (repo.path / "src/net.py").unlink()
        assert repo.verdict(memories[0]) == "gone"

    def test_a_memory_can_be_made_of_what_is_not_checked_out(self, both):
        repo, (python, _) = both
        repo.forget(python)
        repo.git("sparse-checkout", "set", "--no-cone", "/readme.md")

        memory = repo.remember()

        assert [row.get("symbol") for row in repo.show(memory)["anchors"]] == [
            "fetch_with_retry",
            None,
        ]
        assert repo.verdict(memory) == "fresh"


class TestSubmodule:
    @pytest.fixture
    def outer(self, world, both):
        """A repository with `both` as a submodule in lib, and a memory of a definition in that."""
        outer = world.repo("outer")
        outer.git("rm", "-q", "src/net.py")
        outer.git(
            *("-c", "protocol.file.allow=always", "submodule", "--quiet", "add"),
            *(f"file://{both[0].path}", "lib"),
        )
        outer.commit("lib")
        outer.add()
        return outer, outer.remember("The limit is in lib/src/net.py, in fetch_with_retry")

    def test_what_is_inside_is_judged_by_the_files_that_are_there(self, outer):
        repo, memory = outer
        assert repo.verdict(memory) == "fresh"

        Tree(repo.world, repo.path / "lib").write("src/net.py", FIVE_TRIES)
        assert repo.verdict(memory) == "changed"
        Tree(repo.world, repo.path / "lib").write("src/net.py", NET)
        assert repo.verdict(memory) == "fresh"

    def test_another_commit_of_it_is_a_change(self, outer):
        repo, memory = outer
        inner = Tree(repo.world, repo.path / "lib")
        inner.commit("five tries", {"src/net.py": FIVE_TRIES})
        repo.commit("newer lib")

        assert repo.verdict(memory) == "changed"

    @pytest.mark.parametrize(
        ("number", "older"),
        [(5, ""), (6, "1 older commit is not shown"), (52, "at least 45 older commits are not")],
    )
    def test_evidence_says_how_many_older_commits_it_leaves_out(self, outer, number, older):
        repo, memory = outer
        inner = Tree(repo.world, repo.path / "lib")
        inner.write("src/net.py", FIVE_TRIES)
        for at in range(number):
            inner.git("commit", "-q", "--allow-empty", "-a", "-m", f"inner {at}")
            repo.git("commit", "-q", "-a", "-m", f"lib {at}")

        evidence = repo.flag_of(memory)["evidence"]
        shown = [one["summary"] for one in evidence if one["commit"]]

        assert len(shown) == 5
        assert older in shown[0]
        assert all("not shown" not in one for one in shown[bool(older) :])

    def test_when_it_is_not_checked_out_nothing_can_be_told(self, outer):
        repo, memory = outer

        repo.git("submodule", "--quiet", "deinit", "-f", "lib")

        assert repo.verdict(memory) == "unknown"
        assert "submodule that is not checked out" in repo.stale()["unknown"][0]["reason"]
        repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
        assert repo.verdict(memory) == "fresh"

    def test_a_file_that_went_from_it_is_gone(self, outer):
        repo, memory = outer

        (repo.path / "lib/src/net.py").unlink()

        assert repo.verdict(memory) == "gone"

    def test_nothing_is_run_or_written_inside(self, outer):
        repo, _ = outer
        inner = repo.path / ".git/modules/lib"
        before = {path: path.stat().st_mtime_ns for path in inner.rglob("*")}

        repo.check()
        repo.impact("lib")

        assert {path: path.stat().st_mtime_ns for path in inner.rglob("*")} == before


class TestHead:
    def test_a_detached_head_is_judged_like_a_branch_and_has_none(self, both):
        repo, (python, _) = both
        commit = repo.commit("five tries", {"src/net.py": FIVE_TRIES})
        repo.git("checkout", "-q", commit)

        flag = repo.flag_of(python)

        assert (flag["verdict"], flag["branch"], subjects(flag)) == (
            "changed",
            None,
            ["five tries"],
        )
        repo.git("checkout", "-q", f"{commit}~1")
        assert repo.verdict(python) == "fresh"

    def test_an_unborn_branch_is_judged_by_its_files(self, both):
        repo, memories = both
        repo.git("switch", "-q", "--orphan", "fresh-start")
        for memory in memories:
            flag = repo.flag_of(memory)
            assert (flag["verdict"], flag["uncommitted"]) == ("gone", True)

        repo.write("src/net.py", FIVE_TRIES)
        repo.write("src/net.go", GO)
        assert verdicts(repo, memories) == ["changed", "fresh"]
        repo.git("switch", "-q", "-f", "main")
        assert verdicts(repo, memories) == ["fresh", "fresh"]

    def test_a_branch_whose_commit_is_lost_is_no_silence(self, both):
        repo, (python, _) = both
        (repo.path / ".git/refs/heads/main").write_text("1" * 40 + "\n")

        assert repo.verdict(python) in {"unknown", "fresh"}
        repo.write("src/net.py", FIVE_TRIES)
        assert repo.verdict(python) in {"unknown", "changed"}


class TestBare:
    def test_each_work_tree_of_a_bare_repository_has_its_verdicts(self, world, both):
        source, _ = both
        bare = world.tree("bare.git")
        bare.git("clone", "-q", "--bare", str(source.path), ".")
        bare.git("worktree", "add", "-q", str(world.folder / "one"), "main")
        bare.git("worktree", "add", "-q", "-b", "side", str(world.folder / "two"), "main")
        one, two = Tree(world, world.folder / "one"), Tree(world, world.folder / "two")
        one.add()
        memory = one.remember()

        two.commit("five tries", {"src/net.py": FIVE_TRIES})

        assert one.verdict(memory) == "fresh"
        assert subjects(two.flag_of(memory)) == ["five tries"]
        assert [row["id"] for row in two.impact("src/net.py")["memories"]] == [memory]


class TestFormats:
    @pytest.fixture
    def made(self, world):
        """Make a repository in another format; skip where this git has none of it."""

        def make(*options):
            tree = world.tree("format")
            if tree.git("init", "-q", "-b", "main", *options, check=False) is None:
                return None
            if not (tree.path / ".git").exists():
                return None
            tree.commit("one", {"src/net.py": NET, "src/net.go": GO})
            tree.add()
            return tree

        return make

    def test_sha256_is_judged_in_every_language_and_linked_alike(self, made):
        repo = made("--object-format=sha256")
        memories = repo.remember(), repo.remember(GO_RETRY)
        assert verdicts(repo, memories) == ["fresh", "fresh"]

        repo.write("src/net.go", GO.replace("x + 1", "x + 2"))
        assert verdicts(repo, memories) == ["fresh", "fresh"]
        repo.commit("five tries", {"src/net.py": FIVE_TRIES, "src/net.go": GO_FIVE})

        assert [subjects(repo.flag_of(memory)) for memory in memories] == [["five tries"]] * 2
        repo.commit("rename", moved={"src": "lib"})
        assert verdicts(repo, memories) == ["moved", "moved"]
        assert len(repo.reanchor(all=True, accept_change=True)["reanchored"]) == 2
        assert verdicts(repo, memories) == ["fresh", "fresh"]

    def test_reftable_is_right_or_refused_in_plain_words(self, made, world):
        repo = made("--ref-format=reftable")
        if repo is not None:
            memory = repo.remember()
            repo.commit("five tries", {"src/net.py": FIVE_TRIES})
            assert subjects(repo.flag_of(memory)) == ["five tries"]
            return
        # This git knows no such references. What it would find is a HEAD that leads nowhere.
        repo = world.repo("reftable")
        repo.add()
        memory = repo.remember(RETRY)
        repo.git("config", "core.repositoryFormatVersion", "1")
        repo.git("config", "extensions.refStorage", "reftable")
        (repo.path / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")
        (repo.path / ".git/reftable").mkdir()
        (repo.path / ".git/reftable/tables.list").write_text("")
        repo.write("src/net.py", FIVE_TRIES)

        error = refusal(repo.verdict, memory)
        assert error.code is Code.UNAVAILABLE
        assert "extension" in error.message
