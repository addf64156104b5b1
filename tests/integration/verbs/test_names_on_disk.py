"""Files whose name, path or repository is not what it seems: accents, links, submodules, mounts."""

import os
import shutil
import subprocess
import unicodedata

import pytest

from yaadwatch.anchors.tree import Tree
from yaadwatch.model.errors import YaadError
from yaadwatch.system import files

COMPOSED = "caf\u00e9"
DECOMPOSED = "cafe\u0301"


def anchored(repo, text, **given):
    """Return the paths that a memory rests on."""
    id = repo.remember(text, **given)  # noqa: A001
    return sorted({one["path"] for one in repo.show(id)["anchors"]})


class TestAccents:
    """A Mac writes an accent behind its letter, a keyboard writes both as one."""

    @pytest.mark.parametrize(
        ("on_disk", "in_text"), [(DECOMPOSED, COMPOSED), (COMPOSED, DECOMPOSED)]
    )
    def test_file_is_found_however_its_name_is_typed(self, repo, on_disk, in_text):
        repo.commit("one", {f"src/{on_disk}.py": "x = 1\n"})

        assert anchored(repo, f"Prices are in `src/{in_text}.py`") == [f"src/{on_disk}.py"]
        assert anchored(repo, f"Prices live in `{in_text}.py`") == [f"src/{on_disk}.py"]

    @pytest.mark.parametrize("tracked", [True, False])
    def test_file_that_is_given_is_found_in_a_folder_with_an_accent(self, repo, tracked):
        repo.write(f"{DECOMPOSED}/{DECOMPOSED}.py", "x = 1\n")
        if tracked:
            repo.commit("one")

        given = [f"{COMPOSED}/{COMPOSED}.py"]

        assert anchored(repo, "Prices are here", files=given) == [f"{DECOMPOSED}/{DECOMPOSED}.py"]

    def test_file_that_git_does_not_know_yet_is_found(self, repo):
        repo.write(f"src/{DECOMPOSED}.py", "x = 1\n")

        assert anchored(repo, f"Prices are in `src/{COMPOSED}.py`") == [f"src/{DECOMPOSED}.py"]

    def test_folder_is_found(self, repo):
        repo.commit("one", {f"{DECOMPOSED}/prices/a.py": "x = 1\n"})

        assert anchored(repo, f"Prices are in `{COMPOSED}/prices/`") == [f"{DECOMPOSED}/prices"]

    def test_change_of_the_file_is_seen(self, repo):
        repo.commit("one", {f"src/{DECOMPOSED}.py": "PRICE = 1\n"})
        memory = repo.remember(f"Prices are in `src/{COMPOSED}.py`")
        repo.commit("no prices", gone=[f"src/{DECOMPOSED}.py"])
        repo.look()

        assert repo.verdict(memory) == "gone"

    def test_of_two_files_that_look_the_same_the_one_that_is_typed_is_meant(self):
        tree = Tree.of([f"{COMPOSED}.py", f"{DECOMPOSED}.py"])

        assert tree.match(f"{COMPOSED}.py") == f"{COMPOSED}.py"
        assert tree.match(f"{DECOMPOSED}.py") == f"{DECOMPOSED}.py"
        both = "e\u0301e\u0301"
        mixed = Tree.of(["\u00e9e\u0301", "e\u0301\u00e9"])
        assert mixed.match(both) is None, "nobody can tell which one is meant"

    def test_spelling_on_disk_is_none_where_nothing_looks_like_it(self, tmp_path):
        (tmp_path / DECOMPOSED).mkdir()
        (tmp_path / DECOMPOSED / "a").touch()

        assert files.spelled(tmp_path, f"{COMPOSED}/a") == f"{DECOMPOSED}/a"
        assert files.spelled(tmp_path, f"{COMPOSED}/b") is None
        assert files.spelled(tmp_path, "caf\u00e8/a") is None
        assert files.spelled(tmp_path / "none", "x") is None
        assert unicodedata.normalize("NFC", DECOMPOSED) == COMPOSED


@pytest.fixture
def linked(repo):
    """`core` is a link to `packages/core`, and `all` to the folder above that."""
    repo.write("packages/core/a.py", "def f():\n    return 1\n")
    (repo.path / "core").symlink_to("packages/core")
    (repo.path / "all").symlink_to("packages")
    (repo.path / "here").symlink_to(".")
    (repo.path / "packages/core/b.py").symlink_to("a.py")
    repo.commit("links")
    return repo


class TestLinkedFolders:
    @pytest.mark.parametrize(
        "given",
        ["core/a.py", "./core/../core/a.py", "all/core/a.py", "here/core/a.py", "{root}/core/a.py"],
    )
    def test_file_behind_a_linked_folder_is_the_file_that_git_has(self, linked, given):
        path = given.format(root=linked.path)

        found = anchored(linked, "f returns 1", files=[path], symbols=["f"])

        assert found == ["packages/core/a.py"]

    def test_file_at_the_top_behind_a_link_to_the_top(self, linked):
        linked.commit("top", {"top.py": "x = 1\n"})

        assert anchored(linked, "x is 1", files=["here/top.py"]) == ["top.py"]

    @pytest.mark.parametrize("given", ["core/b.py", "packages/core/b.py", "core"])
    def test_link_itself_is_still_refused(self, linked, given):
        with pytest.raises(YaadError):
            linked.remember("f returns 1", files=[given])

    def test_link_that_leads_out_of_the_work_tree_is_refused(self, linked, tmp_path):
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "a.py").write_text("x = 1\n")
        (linked.path / "out").symlink_to(outside)

        with pytest.raises(YaadError):
            linked.remember("x is 1", files=["out/a.py"])

    def test_change_behind_the_link_is_seen(self, linked):
        memory = linked.remember("f returns 1", files=["core/a.py"], symbols=["f"])
        linked.write("packages/core/a.py", "def f():\n    return 2\n")
        linked.look()

        assert linked.verdict(memory) == "changed"


@pytest.fixture
def with_module(repo, world):
    """A submodule at lib/net, one at the top called vendored, both of one repository."""
    lib = world.tree("lib")
    lib.begin()
    lib.commit("one", {"src/net.py": "def retry(u, tries=3):\n    return u\n"})
    for path in ("lib/net", "vendored"):
        allow = ("-c", "protocol.file.allow=always")
        repo.git(*allow, "submodule", "add", "-q", str(lib.path), path)
    repo.commit("submodules")
    return repo


def reasons(repo, memory):
    return " ".join(one["summary"] for one in repo.flag_of(memory)["evidence"])


def commits(repo, memory):
    found = [one.get("commit") for one in repo.flag_of(memory)["evidence"]]
    return [one["subject"] for one in found if one]


class TestSubmodules:
    @pytest.mark.parametrize("named", ["`lib/net`", "`lib/net/`", "`./lib/net`"])
    def test_submodule_that_a_text_names_is_what_it_rests_on(self, with_module, named):
        assert anchored(with_module, f"The net library is a submodule in {named}") == ["lib/net"]

    def test_word_that_is_also_the_name_of_a_submodule_means_nothing(self, with_module):
        assert anchored(with_module, "The copies are vendored") == []

    def test_submodule_that_is_removed_is_gone_by_the_commit_that_did_it(self, with_module):
        memory = with_module.remember("The net library is a submodule in `lib/net`")
        with_module.git("rm", "-qf", "lib/net")
        with_module.commit("no submodule")
        with_module.look()

        assert with_module.verdict(memory) == "gone"
        assert commits(with_module, memory) == ["no submodule"]
        assert "removed lib/net" in reasons(with_module, memory)

    def test_submodule_that_is_removed_and_not_committed_is_said_to_be_so(self, with_module):
        memory = with_module.remember("The net library is a submodule in `lib/net`")
        with_module.git("rm", "-qf", "lib/net")
        with_module.look()

        assert with_module.verdict(memory) == "gone"
        assert commits(with_module, memory) == []
        assert "uncommitted" in reasons(with_module, memory)

    def test_submodule_at_another_commit_is_no_flag(self, with_module):
        memory = with_module.remember("The net library is a submodule in `lib/net`")
        author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        command = ["git", *author, "commit", "-q", "--allow-empty", "-m", "more"]
        subprocess.run(command, cwd=with_module.path / "lib/net", check=True)
        with_module.commit("newer library")
        with_module.look()

        assert with_module.verdict(memory) == "fresh"

    def test_submodule_that_is_not_checked_out_is_no_flag(self, with_module):
        memory = with_module.remember("The net library is a submodule in `lib/net`")
        with_module.git("submodule", "deinit", "-f", "lib/net")
        with_module.look()

        assert with_module.verdict(memory) == "fresh"

    def test_file_of_a_removed_submodule_is_gone_by_that_commit(self, with_module):
        memory = with_module.remember(
            "Downloads are tried three times", files=["lib/net/src/net.py"], symbols=["retry"]
        )
        with_module.commit("something else", {"other.txt": "x"})
        with_module.git("rm", "-qf", "lib/net")
        with_module.commit("no submodule")
        with_module.look()

        assert with_module.verdict(memory) == "gone"
        assert commits(with_module, memory) == ["no submodule"]
        assert "uncommitted" not in reasons(with_module, memory)

    def test_file_of_a_submodule_that_is_deleted_by_hand_is_not_blamed_on_a_commit(
        self, with_module
    ):
        memory = with_module.remember(
            "Downloads are tried three times", files=["lib/net/src/net.py"], symbols=["retry"]
        )
        with_module.commit("something else", {"other.txt": "x"})
        shutil.rmtree(with_module.path / "lib/net/src")
        with_module.look()

        assert with_module.verdict(memory) == "gone"
        assert commits(with_module, memory) == []


@pytest.fixture
def second(repo, tmp_path):
    """The same repository at a second path, as in a development container."""
    path = tmp_path / "second"
    path.mkdir()
    command = ["mount", "--bind", str(repo.path), str(path)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    yield repo.world.tree("second")
    subprocess.run(["umount", "-l", str(path)], check=True)


class TestTwoPaths:
    def test_second_path_is_one_more_work_tree(self, repo, second):
        memory = repo.remember()

        answer = second.add()

        assert answer["copy_of"] == str(repo.path)
        assert second.show(memory)["id"] == repo.show(memory)["id"] == memory
        assert {row.path for row in repo.worktrees()} == {repo.path, second.path}

    def test_work_tree_is_known_at_one_path_when_the_other_is_let_go(self, repo, second):
        second.add()
        subprocess.run(["umount", "-l", str(second.path)], check=True)
        second.path.rmdir()
        second.path.symlink_to(repo.path)

        repo.add()

        assert [row.path for row in repo.worktrees()] == [repo.path]
        second.path.unlink()
        second.path.mkdir()
        subprocess.run(["mount", "--bind", str(repo.path), str(second.path)], check=True)
