"""Finding a repository and its HEAD: from files alone, and from no file that could harm."""

import os
from pathlib import Path

import pytest

from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.layout import Head, Layout

ONE, TWO = "1" * 40, "2" * 40


def skeleton(git_dir: Path, *, head: str = "ref: refs/heads/main\n", config: str = "") -> Path:
    """Make what git takes for a repository."""
    for folder in ("objects", "refs/heads"):
        (git_dir / folder).mkdir(parents=True)
    (git_dir / "HEAD").write_text(head)
    (git_dir / "config").write_text(config or "[core]\n\tbare = false\n")
    return git_dir


def linked(main: Path, name: str, root: Path) -> Path:
    """Make a work tree that is linked to the repository whose folder is `main`."""
    git_dir = main / "worktrees" / name
    git_dir.mkdir(parents=True)
    (git_dir / "HEAD").write_text("ref: refs/heads/topic\n")
    (git_dir / "commondir").write_text("../..\n")
    (git_dir / "gitdir").write_text(f"{root}/.git\n")
    root.mkdir(parents=True)
    (root / ".git").write_text(f"gitdir: {git_dir}\n")
    return git_dir


@pytest.fixture
def git_dir(tmp_path):
    return skeleton(tmp_path / "work" / ".git")


@pytest.fixture
def layout(git_dir):
    return Layout(root=git_dir.parent, git_dir=git_dir, common_dir=git_dir)


# Where is the repository?


def test_a_folder_deep_inside_is_in_the_repository(git_dir, layout):
    deep = git_dir.parent / "src" / "core"
    deep.mkdir(parents=True)

    assert repo_layout.find(deep) == layout


def test_outside_of_every_repository_there_is_none(tmp_path):
    assert repo_layout.find(tmp_path) is None


def test_a_folder_that_does_not_exist_is_in_no_repository(git_dir):
    assert repo_layout.find(git_dir.parent / "gone") is None


@pytest.mark.parametrize("odd", ["a\0b", "x" * 5000])
def test_a_name_that_no_file_has_is_in_no_repository(git_dir, odd):
    assert repo_layout.find(git_dir.parent / odd) is None


def test_the_nearest_repository_wins(git_dir):
    inner = skeleton(git_dir.parent / "vendor" / "lib" / ".git")

    found = repo_layout.find(inner.parent)

    assert found is not None
    assert found.root == inner.parent


def test_a_link_to_a_folder_is_the_folder(git_dir, layout, tmp_path):
    (tmp_path / "short").symlink_to(git_dir.parent)

    assert repo_layout.find(tmp_path / "short") == layout


def test_a_circle_of_links_is_no_repository(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")

    assert repo_layout.find(tmp_path / "a") is None


def test_inside_of_git_s_own_folder_one_is_in_the_repository(git_dir, layout):
    assert repo_layout.find(git_dir / "refs" / "heads") == layout


def test_a_bare_repository_has_no_root(tmp_path):
    bare = skeleton(tmp_path / "shop.git", config="[core]\n\tbare = true\n")

    assert repo_layout.find(bare) == Layout(root=None, git_dir=bare, common_dir=bare)


@pytest.mark.parametrize("bare", ["bare = true", "BARE=true", "bare", 'bare = "true" # yes'])
def test_a_git_folder_that_says_it_is_bare_has_no_work_tree_beside_it(tmp_path, bare):
    git_dir = skeleton(tmp_path / ".git", config=f"[core]\n\t{bare}\n")

    assert repo_layout.find(tmp_path) == Layout(root=None, git_dir=git_dir, common_dir=git_dir)


@pytest.mark.parametrize("config", ['[core "x"]\n\tbare = true\n', "[gc]\n\tbare = true\n"])
def test_what_other_sections_say_makes_nothing_bare(tmp_path, config):
    skeleton(tmp_path / ".git", config=config)

    found = repo_layout.find(tmp_path)

    assert found is not None
    assert found.root == tmp_path


def test_a_file_may_point_to_a_separate_git_folder(tmp_path):
    git_dir = skeleton(tmp_path / "kept" / "shop.git")
    root = tmp_path / "work"
    root.mkdir()
    (root / ".git").write_text("gitdir: ../kept/shop.git\n")

    assert repo_layout.find(root) == Layout(root=root, git_dir=git_dir, common_dir=git_dir)


def test_a_linked_work_tree_shares_the_folder_of_its_main_one(git_dir, tmp_path):
    entry = linked(git_dir, "topic", tmp_path / "topic")

    found = repo_layout.find(tmp_path / "topic")

    assert found == Layout(root=tmp_path / "topic", git_dir=entry, common_dir=git_dir)


def test_a_linked_work_tree_that_was_moved_by_hand_is_still_found(git_dir, tmp_path):
    linked(git_dir, "topic", tmp_path / "topic")
    (tmp_path / "topic").rename(tmp_path / "elsewhere")

    found = repo_layout.find(tmp_path / "elsewhere")

    assert found is not None
    assert found.root == tmp_path / "elsewhere"


def test_all_work_trees_are_listed_and_those_that_are_gone_are_not(git_dir, layout, tmp_path):
    linked(git_dir, "one", tmp_path / "one")
    linked(git_dir, "two", tmp_path / "two")
    linked(git_dir, "gone", tmp_path / "gone")
    (tmp_path / "gone" / ".git").unlink()

    roots = [found.root for found in repo_layout.worktrees(layout)]

    assert roots == [git_dir.parent, tmp_path / "one", tmp_path / "two"]


def test_a_linked_work_tree_may_be_named_by_a_relative_path(git_dir, layout, tmp_path):
    entry = linked(git_dir, "one", tmp_path / "one")
    (entry / "gitdir").write_text("../../../../one/.git\n")

    assert [found.root for found in repo_layout.worktrees(layout)][1:] == [tmp_path / "one"]


def test_the_work_trees_of_a_bare_repository_are_the_linked_ones(tmp_path):
    git_dir = skeleton(tmp_path / ".git", config="[core]\n\tbare = true\n")
    linked(git_dir, "one", tmp_path / "one")
    layout = repo_layout.find(tmp_path / "one")
    assert layout is not None

    assert [found.root for found in repo_layout.worktrees(layout)] == [tmp_path / "one"]


# What a repository must not make of itself.


def test_a_file_that_points_into_another_work_tree_s_repository_is_not_followed(git_dir, tmp_path):
    """What is remembered about that one is not for whoever works here."""
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / ".git").write_text(f"gitdir: {git_dir}\n")

    assert repo_layout.find(tmp_path / "evil") is None


def test_a_file_that_points_to_another_linked_work_tree_is_not_followed(git_dir, tmp_path):
    entry = linked(git_dir, "topic", tmp_path / "topic")
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / ".git").write_text(f"gitdir: {entry}\n")

    assert repo_layout.find(tmp_path / "evil") is None


def test_a_repository_cannot_claim_the_refs_and_objects_of_another(git_dir, tmp_path):
    evil = skeleton(tmp_path / "evil" / ".git")
    (evil / "commondir").write_text(f"{git_dir}\n")

    assert repo_layout.find(evil.parent) is None


def test_a_repository_cannot_claim_a_work_tree_of_another(git_dir, tmp_path):
    linked(git_dir, "topic", tmp_path / "topic")
    evil = skeleton(tmp_path / "evil" / ".git")
    (evil / "worktrees" / "x").mkdir(parents=True)
    (evil / "worktrees" / "x" / "gitdir").write_text(f"{tmp_path / 'topic'}/.git\n")
    layout = repo_layout.find(evil.parent)
    assert layout is not None

    assert [found.root for found in repo_layout.worktrees(layout)] == [evil.parent]


@pytest.mark.parametrize(
    "text",
    ["", "gitdir:", "gitdir: gone\n", "gitdir: a\0b\n", "hello\n", "gitdir: " + "x/" * 2000],
)
def test_a_git_file_that_says_nothing_useful_is_no_repository(tmp_path, text):
    (tmp_path / ".git").write_text(text)

    assert repo_layout.find(tmp_path) is None


def test_a_pipe_in_the_place_of_a_git_file_holds_nobody(tmp_path):
    os.mkfifo(tmp_path / ".git")

    assert repo_layout.find(tmp_path) is None


@pytest.mark.parametrize("name", ["commondir", "config", "worktrees", "packed-refs", "HEAD"])
def test_pipes_in_the_place_of_git_s_files_hold_nobody(git_dir, name):
    (git_dir / name).unlink(missing_ok=True)
    os.mkfifo(git_dir / name)

    layout = repo_layout.find(git_dir.parent)

    if layout is not None:
        repo_layout.worktrees(layout)
        repo_layout.read_head(layout)
        repo_layout.object_format(layout, Head(commit="", branch="main"))


# Which commit is it at?


def test_a_branch_is_read_from_its_own_file(layout, git_dir):
    (git_dir / "refs/heads/main").write_text(f"{ONE}\n")

    assert repo_layout.read_head(layout) == Head(commit=ONE, branch="main")


def test_a_packed_branch_is_read_from_the_list(layout, git_dir):
    (git_dir / "packed-refs").write_text(
        "# pack-refs with: peeled fully-peeled sorted \n"
        f"{TWO} refs/heads/mai\n{TWO} refs/heads/main/x\n{ONE} refs/heads/main\n"
        f"{TWO} refs/tags/v1\n^{TWO}\n"
    )

    assert repo_layout.read_head(layout) == Head(commit=ONE, branch="main")


def test_a_branch_s_own_file_is_newer_than_the_list(layout, git_dir):
    (git_dir / "packed-refs").write_text(f"{TWO} refs/heads/main\n")
    (git_dir / "refs/heads/main").write_text(f"{ONE}\n")

    assert repo_layout.read_head(layout) == Head(commit=ONE, branch="main")


def test_before_the_first_commit_there_is_a_branch_and_no_commit(layout):
    assert repo_layout.read_head(layout) == Head(commit="", branch="main")


def test_a_detached_head_has_no_branch(layout, git_dir):
    (git_dir / "HEAD").write_text(f"{ONE}\n")

    assert repo_layout.read_head(layout) == Head(commit=ONE, branch="")


def test_a_sha256_commit_is_known_by_its_length(layout, git_dir):
    (git_dir / "HEAD").write_text("a" * 64)

    head = repo_layout.read_head(layout)

    assert head == Head(commit="a" * 64, branch="")
    assert repo_layout.object_format(layout, head) == "sha256"


def test_before_the_first_commit_the_object_format_comes_from_the_configuration(layout, git_dir):
    unborn = Head(commit="", branch="main")
    assert repo_layout.object_format(layout, unborn) == "sha1"

    (git_dir / "config").write_text("[extensions]\n\tobjectFormat = sha256\n")

    assert repo_layout.object_format(layout, unborn) == "sha256"


@pytest.mark.parametrize("branch", ["feature/größe", "fix/a/b/c", "日本", "a\u2028b", "a\x85b"])
def test_branch_names_are_read_as_they_are(layout, git_dir, branch):
    (git_dir / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")
    (git_dir / "packed-refs").write_text(f"{ONE} refs/heads/{branch}\n", encoding="utf-8")

    assert repo_layout.read_head(layout) == Head(commit=ONE, branch=branch)


def test_a_branch_name_that_is_not_utf8_can_still_be_stored_and_shown(layout, git_dir):
    (git_dir / "HEAD").write_bytes(b"ref: refs/heads/gr\xf6\n")
    (git_dir / "packed-refs").write_bytes(ONE.encode() + b" refs/heads/gr\xf6\n")

    head = repo_layout.read_head(layout)

    assert head is not None
    assert head.commit == ONE
    assert head.branch.encode() == "gr\ufffd".encode()


def test_a_linked_work_tree_has_a_head_of_its_own_and_shares_the_branches(git_dir, tmp_path):
    linked(git_dir, "topic", tmp_path / "topic")
    (git_dir / "refs/heads/main").write_text(ONE)
    (git_dir / "refs/heads/topic").write_text(TWO)
    layout = repo_layout.find(tmp_path / "topic")
    assert layout is not None

    assert repo_layout.read_head(layout) == Head(commit=TWO, branch="topic")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"hello",
        b"ref: refs/heads/",
        b"ref: refs/heads/../../../secret",
        b"ref: refs/heads/a\0b",
        b"ref: refs/remotes/origin/main",
        b"refs/heads/main",
        b"ref: refs/heads/.git/x",
        b"\xff" * 100,
        b"0" * 39,
        b"g" * 40,
        b"1" * 5000,
    ],
)
def test_an_odd_head_is_left_to_git(layout, git_dir, tmp_path, head):
    (tmp_path / "secret").write_text(ONE)
    (git_dir / "HEAD").write_bytes(head)

    assert repo_layout.read_head(layout) is None


@pytest.mark.parametrize("value", ["", "ref: refs/heads/other", "deadbeef", "x" * 5000])
def test_an_odd_branch_is_left_to_git(layout, git_dir, value):
    (git_dir / "refs/heads/main").write_text(value)

    assert repo_layout.read_head(layout) is None


def test_another_ref_storage_is_left_to_git(layout, git_dir):
    (git_dir / "reftable").mkdir()

    assert repo_layout.read_head(layout) is None


@pytest.mark.parametrize("name", ["HEAD", "refs/heads/main", "refs/heads", "refs", "packed-refs"])
def test_no_link_leads_out_of_the_repository(layout, git_dir, tmp_path, name):
    """A commit that stands outside is not taken for ours."""
    outside = tmp_path / "outside"
    (outside / "heads").mkdir(parents=True)
    (outside / "main").write_text(ONE)
    (outside / "heads" / "main").write_text(ONE)
    (outside / "packed-refs").write_text(f"{ONE} refs/heads/main\n")
    (outside / "HEAD").write_text(ONE)
    place = git_dir / name
    if place.is_dir():
        place.rename(tmp_path / "aside")
    else:
        place.unlink(missing_ok=True)
    target = {"refs": outside, "refs/heads": outside}.get(name, outside / Path(name).name)
    place.symlink_to(target)

    assert repo_layout.read_head(layout) is None


@pytest.mark.parametrize("name", ["HEAD", "refs/heads/main", "packed-refs"])
def test_a_huge_file_is_not_read(layout, git_dir, name):
    with (git_dir / name).open("wb") as stream:
        stream.truncate(8 * 1024**3)

    assert repo_layout.read_head(layout) is None


def test_git_at_work_is_noticed(layout, git_dir):
    assert repo_layout.at_work(layout) is None

    (git_dir / "index.lock").touch()

    assert repo_layout.at_work(layout) == "index.lock"
