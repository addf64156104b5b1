"""A memory that names several things, or a thing that several files have: what is said of it."""

import json

import pytest

from yaadwatch.staleness import stale


def flags(repo):
    return stale.stale(repo.home, repo.call, all=True)["stale"]


def package(version):
    return json.dumps({"dependencies": {"tinker": version}})


class TestVersions:
    """A version in a text is that of its own folder, or of what is above it."""

    def test_the_nearest_file_says_which_version_is_meant(self, repo):
        for path in ("web/package.json", "demo/package.json"):
            repo.write(path, package("^3.1"))
        repo.commit("two packages", {"web/CLAUDE.md": "- Tinker 3 checks every type\n"})
        repo.add()
        repo.sync()
        repo.commit("demo first", {"demo/package.json": package("^4.0")})
        assert flags(repo) == []
        repo.commit("then the other", {"web/package.json": package("^4.0")})
        (flag,) = flags(repo)
        assert flag["reason"] == "Tinker in web/package.json: was 3, is now 4.0"

    def test_a_package_may_have_its_owner_before_its_name(self, repo):
        repo.write("composer.json", json.dumps({"require": {"acme/tools": "^0.5.1"}}))
        repo.commit("a package")
        memory = repo.remember("acme/tools 0.5 is what we are on")
        repo.write("composer.json", json.dumps({"require": {"acme/tools": "^0.7.1"}}))
        repo.commit("the next one")
        flag = repo.flag_of(memory)
        assert flag["reason"] == "acme/tools in composer.json: was 0.5, is now 0.7.1"
        assert flag["suggestion"]["text"] == "acme/tools 0.7.1 is what we are on"

    def test_of_several_packages_below_none_is_meant(self, repo):
        for path in ("api/package.json", "demo/package.json"):
            repo.write(path, package("^3.1"))
        repo.commit("two packages")
        repo.remember("Tinker 3 checks every type")
        repo.commit("the next one", {"api/package.json": package("^4.0")})
        assert flags(repo) == []

    def test_the_only_package_below_is_meant(self, repo):
        repo.commit("a package", {"api/package.json": package("^3.1")})
        memory = repo.remember("Tinker 3 checks every type")
        repo.commit("the next one", {"api/package.json": package("^4.0")})
        assert repo.flag_of(memory)["reason"] == "Tinker in api/package.json: was 3, is now 4.0"


SAID = "`split_words()` in `src/words.py` cuts a text"
WORDS = "".join(f"def other_{at}(text):\n    return text.split()[{at}]\n\n\n" for at in range(9))


class TestProposals:
    """A text is proposed only where all of it would be true."""

    @pytest.fixture
    def words(self, repo):
        repo.write("src/words.py", f"{WORDS}def split_words(text):\n    return text.split()\n")
        repo.commit("words")
        return repo

    def test_a_file_that_moved_without_what_the_text_names_of_it_is_only_told(self, words):
        memory = words.remember(SAID)
        words.git("mv", "src/words.py", "src/texts.py")
        words.commit("texts, without one of them", {"src/texts.py": WORDS})
        flag = words.flag_of(memory)
        assert flag["reason"] == "src/words.py is now src/texts.py, without split_words"
        assert flag["suggestion"]["text"] is None
        assert flag["suggestion"]["places"] == ["src/texts.py"]

    def test_a_file_that_moved_with_it_is_proposed(self, words):
        memory = words.remember(SAID)
        words.commit("texts", moved={"src/words.py": "src/texts.py"})
        assert words.flag_of(memory)["suggestion"]["text"] == SAID.replace("words.py", "texts.py")


class TestNamedStill:
    """What a text calls by its name alone is still called so after it moved."""

    @pytest.mark.parametrize(
        ("said", "level"),
        [
            ("See `checked_words.py`", "suspect"),
            ("See `lib/checked_words.py`", "suspect"),
            ("See `src/lib/checked_words.py`", "warn"),
        ],
    )
    def test_a_name_that_leads_to_the_file_still_is_no_warning(self, repo, said, level):
        repo.commit("words", {"src/lib/checked_words.py": WORDS})
        memory = repo.remember(said)
        (repo.path / "app/src").mkdir(parents=True)
        repo.commit("an app", moved={"src/lib": "app/src/lib"})
        flag = repo.flag_of(memory)
        assert (flag["verdict"], flag["level"]) == ("moved", level)

    def test_what_is_told_is_what_counts(self, repo):
        repo.write("src/lib/checked_words.py", WORDS)
        repo.write("src/cut/cutter.py", "class WordCutter:\n    size = 3\n")
        repo.commit("words")
        memory = repo.remember("A `WordCutter` cuts them; see `src/lib/checked_words.py`")
        repo.commit("other folders", moved={"src/cut": "src/cutting", "src/lib": "src/library"})
        assert repo.flag_of(memory)["reason"] == (
            "src/lib/checked_words.py is now src/library/checked_words.py"
        )


class TestNamesOfFolders:
    def test_a_word_that_is_the_name_of_a_folder_is_no_file_of_that_name(self, repo):
        repo.write("parts/word_server/main.py", WORDS)
        repo.write("web/bin/word_server", "#!/bin/sh\n")
        repo.commit("a server and how it is begun")
        memory = repo.remember("- `word_server` - answers questions about words")
        repo.commit("begun otherwise", gone=["web/bin/word_server"])
        assert repo.verdict(memory) in ("fresh", "touched", "none")

    def test_a_file_at_the_top_is_meant_by_its_name(self, repo):
        repo.commit("rules", {"parts/rules/main.py": WORDS, "rules": "one\n"})
        memory = repo.remember("All of them are listed in `rules`")
        repo.commit("no rules", gone=["rules"])
        assert repo.verdict(memory) == "gone"


class TestTargets:
    def test_where_a_command_runs_now_is_told(self, repo):
        scripts = json.dumps({"scripts": {"types": "tsc"}})
        repo.commit("one package", {"package.json": scripts})
        memory = repo.remember("Run `npm run types` before you push")
        (repo.path / "web").mkdir()
        repo.write("package.json", '{"workspaces": ["web"]}')
        repo.write("web/package.json", scripts)
        repo.commit("a workspace")
        assert repo.flag_of(memory)["reason"] == (
            "package.json does not define types any more; web/package.json does"
        )


class TestCommonThings:
    """A thing that very many files name comes and goes: only fewer of them all say something."""

    @pytest.fixture
    def many(self, repo):
        for at in range(40):
            repo.write(f"old/part_{at}.py", f"import tinkerbell\n\nPART_{at} = {at}\n")
        repo.commit("parts", {"tools.cfg": "tinkerbell = 1\n"})
        return repo

    def drop(self, repo):
        repo.git("rm", "-rq", "old")

    def test_a_thing_that_as_many_files_name_now_is_not_used_less(self, many):
        memory = many.remember("Parts use `tinkerbell` of `tools.cfg`")
        self.drop(many)
        for at in range(45):
            many.write(f"new/piece_{at}.py", f"from tinkerbell import x_{at} as y\n" * 3)
        many.commit("all anew")
        assert many.verdict(memory) in ("fresh", "touched")

    def test_a_thing_that_another_one_replaced_nearly_everywhere_is(self, many):
        memory = many.remember("Parts use `tinkerbell` of `tools.cfg`")
        for at in range(40):
            many.write(f"old/part_{at}.py", f"import wendy_bird\n\nPART_{at} = {at}\n")
        many.commit("another one")
        assert many.verdict(memory) == "changed"

    def test_lost_uses_alone_raise_no_flag(self, many):
        """On real histories, five of eleven such flags were right."""
        memory = many.remember("Parts use `tinkerbell` of `tools.cfg`")
        self.drop(many)
        many.commit("no parts")
        assert many.flag_of(memory) is None


class TestDefinitionsThatLeft:
    """Where a definition went is put in place of its old file only where that is said of it."""

    @pytest.fixture
    def tools(self, repo):
        repo.commit("tools", {"src/tools.py": f"{ONE}\n\n{TWO}"})
        return repo

    def leave(self, repo):
        repo.commit("one of them goes", {"src/tools.py": ONE, "src/other.py": TWO})

    def test_its_new_file_is_proposed_where_the_text_says_which_it_is_in(self, tools):
        memory = tools.remember("`mend_rows()` in `src/tools.py` mends a table")
        self.leave(tools)
        assert tools.flag_of(memory)["suggestion"]["text"] == (
            "`mend_rows()` in `src/other.py` mends a table"
        )

    @pytest.mark.parametrize(
        "said",
        [
            "All tools are in `src/tools.py`; `mend_rows()` is one of them",
            "All tools are in `src/tools.py`. The table is mended by `mend_rows()`",
            "`count_rows()` and `mend_rows()` are in `src/tools.py`",
        ],
        ids=["another part", "another sentence", "what stayed"],
    )
    def test_where_the_file_is_named_for_something_else_it_is_only_told(self, tools, said):
        memory = tools.remember(said)
        self.leave(tools)
        flag = tools.flag_of(memory)
        assert flag["verdict"] == "moved"
        assert flag["suggestion"] == {"path": None, "text": None, "places": ["src/other.py"]}


ONE = "def count_rows(rows):\n    return len(rows)\n"
TWO = "def mend_rows(rows):\n    return [row for row in rows if row]\n"
