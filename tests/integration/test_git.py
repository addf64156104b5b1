"""Repositories as people have them: what git made is what we read, in every storage it has."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from refusals import refusal
from repositories import Repo

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo import command, layout, repository
from yaadwatch.repo.changes import Departure
from yaadwatch.repo.command import GitRunner
from yaadwatch.repo.history import TOUCHED_COMMITS_MAX
from yaadwatch.repo.layout import Head
from yaadwatch.repo.repository import Repository, blob_id

TEXT = "".join(f"line {number}\n" for number in range(30))
OTHER = "".join(f"row {number}\n" for number in range(30))

STORAGES = {
    "loose": (),
    "packed": (),
    "shared": (),  # objects of another repository
    "sha256": ("--object-format=sha256",),
    "separate": (),
}


def renames(opened, old, new):
    changes = opened.file_changes(old, new)
    return {one.old: one.new for one in changes if one.old and one.new and one.old != one.new}


@pytest.fixture(params=STORAGES)
def stored(request, new_repo, tmp_path):
    """A repository with two commits, in each storage; `finish` brings it into that storage."""
    kind = request.param
    options = STORAGES[kind]
    if kind == "separate":
        options = (f"--separate-git-dir={tmp_path / 'kept' / 'repo.git'}",)
        (tmp_path / "kept").mkdir()
    repo = new_repo("repo", *options)

    def finish():
        if kind == "packed":
            repo.git("gc", "-q")
        if kind == "shared":
            twin = Repo(repo.path.parent / "twin")
            repo.git("clone", "-q", "--shared", ".", str(twin.path))
            return twin
        return repo

    repo.finish = finish
    return repo


# HEAD


def test_head_of_every_storage_is_what_git_says(stored, runner):
    commit = stored.add("a.py", TEXT)
    repo = stored.finish()

    assert repo.open(runner).head() == Head(commit=commit, branch="main")


def test_head_before_the_first_commit(repo, runner):
    assert repo.open(runner).head() == Head(commit="", branch="main")


def test_head_when_detached(repo, runner):
    commit = repo.add("a.py", TEXT)
    repo.git("checkout", "-q", "--detach")

    assert repo.open(runner).head() == Head(commit=commit, branch="")


@pytest.mark.parametrize("branch", ["feature/größe", "fix/a/b/c", "日本"])
@pytest.mark.parametrize("packed", [False, True])
def test_head_on_any_branch_name(repo, runner, branch, packed):
    commit = repo.add("a.py", TEXT)
    repo.git("checkout", "-q", "-b", branch)
    if packed:
        repo.git("pack-refs", "--all")

    assert repo.open(runner).head() == Head(commit=commit, branch=branch)


def test_head_where_an_empty_folder_is_left_of_an_older_branch(repo, runner):
    commit = repo.add("a.py", TEXT)
    repo.git("checkout", "-q", "-b", "topic")
    repo.git("pack-refs", "--all")
    (repo.path / ".git/refs/heads/topic").mkdir(exist_ok=True)

    assert repo.open(runner).head() == Head(commit=commit, branch="topic")


def test_head_of_a_new_branch_where_an_empty_folder_is_left(repo, runner):
    repo.add("a.py", TEXT)
    repo.git("checkout", "-q", "--orphan", "topic")
    (repo.path / ".git/refs/heads/topic").mkdir()

    assert repo.open(runner).head() == Head(commit="", branch="topic")


def test_head_that_is_a_link_as_old_gits_made_it(repo, runner):
    commit = repo.add("a.py", TEXT)
    repo.git("-c", "core.preferSymlinkRefs=true", "symbolic-ref", "HEAD", "refs/heads/main")
    assert (repo.path / ".git/HEAD").is_symlink()

    assert repo.open(runner).head() == Head(commit=commit, branch="main")


def test_head_that_git_cannot_read_is_an_error_and_not_a_new_branch(repo, runner):
    """An empty file of a branch is what a power cut leaves behind."""
    repo.add("a.py", TEXT)
    (repo.path / ".git/refs/heads/main").write_text("")

    assert refusal(repo.open(runner).head).code is Code.UNAVAILABLE


def test_a_storage_that_this_git_does_not_know_is_an_error_and_not_a_new_branch(repo, runner):
    repo.add("a.py", TEXT)
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.fromTheFuture", "yes")
    (repo.path / ".git/reftable").mkdir()

    assert refusal(repo.open(runner).head).code is Code.UNAVAILABLE


def test_a_linked_work_tree_has_its_own_head_and_files(repo, runner, tmp_path):
    main = repo.add("a.py", TEXT)
    repo.git("worktree", "add", "-q", "-b", "topic", str(tmp_path / "topic"))
    linked = Repo(tmp_path / "topic")
    topic = linked.add("b.py", TEXT)

    assert linked.open(runner).head() == Head(commit=topic, branch="topic")
    assert linked.open(runner).tracked() == ["a.py", "b.py"]
    assert repo.open(runner).head() == Head(commit=main, branch="main")
    assert [tree.root for tree in layout.worktrees(repo.layout)] == [repo.path, linked.path]
    assert linked.layout.common_dir == repo.layout.common_dir


def test_a_submodule_is_a_repository_of_its_own(repo, new_repo, runner):
    part = new_repo("part")
    commit = part.add("part.py", TEXT)
    repo.add("a.py", TEXT)
    repo.git("submodule", "add", "-q", str(part.path), "vendor/part")
    repo.commit()
    inside = Repo(repo.path / "vendor/part")

    assert inside.open(runner).head() == Head(commit=commit, branch="main")
    assert inside.open(runner).tracked() == ["part.py"]
    assert inside.layout.root == inside.path
    assert repo.open(runner).blob_at(repo.git("rev-parse", "HEAD"), "vendor/part") is None


def test_a_link_to_a_repository_is_the_repository(repo, runner, tmp_path):
    commit = repo.add("a.py", TEXT)
    (tmp_path / "link").symlink_to(repo.path)

    opened = Repo(tmp_path / "link").open(runner)

    assert opened.layout == repo.layout
    assert opened.head().commit == commit


def test_a_bare_repository_has_a_history_and_no_files(new_repo, repo, runner):
    commit = repo.add("a.py", TEXT)
    bare = new_repo("bare.git", "--bare")
    repo.git("push", "-q", str(bare.path), "main")
    opened = bare.open(runner)
    opened.verify()

    assert opened.layout.root is None
    assert opened.head() == Head(commit=commit, branch="main")
    assert opened.blob_at(commit, "a.py") == blob_id(TEXT.encode())
    assert opened.files_with(["line"], at=commit) == {"line": ["a.py"]}
    assert opened.tracked() == opened.untracked() == []
    assert opened.files_with(["line"], untracked=True) == {"line": []}
    assert not opened.is_tracked("a.py")


def test_work_trees_of_a_hidden_bare_repository_have_files(new_repo, repo, runner, tmp_path):
    """A `.bare` folder, a `.git` file that points to it, and work trees beside them."""
    repo.add("a.py", TEXT)
    home = tmp_path / "many"
    home.mkdir()
    repo.git("clone", "-q", "--bare", ".", str(home / ".bare"))
    (home / ".git").write_text("gitdir: ./.bare\n")
    Repo(home).git("worktree", "add", "-q", "one", "main")

    assert Repo(home).layout.root is None
    assert Repo(home / "one").open(runner).tracked() == ["a.py"]
    found = layout.worktrees(Repo(home / "one").layout)
    assert [tree.root for tree in found] == [home / "one"]


# Objects


def test_objects_of_every_storage_are_what_git_says(stored, runner):
    old = stored.add("src/a.py", TEXT, "first")
    new = stored.commit("Tell rows.\n\nAnd why.", {"src/a.py": OTHER, "b.bin": b"\0\xff"})
    repo = stored.finish()
    opened = repo.open(runner)
    opened.verify()

    assert opened.blob_at(old, "src/a.py") == repo.git("rev-parse", f"{old}:src/a.py")
    assert opened.blob_at(new, "src/a.py") == repo.git("rev-parse", f"{new}:src/a.py")
    assert opened.blob_at(old, "b.bin") is None
    assert opened.read_blob(opened.blob_at(new, "b.bin")) == b"\0\xff"
    assert opened.read_blob(old) is None
    assert opened.has_commit(old)
    assert opened.has_commit(new)
    assert not opened.has_commit(opened.blob_at(new, "b.bin"))
    told = opened.commit(new)
    assert told is not None
    assert (told.id, told.subject) == (new, "Tell rows.")
    at = int(repo.git("show", "-s", "--format=%at", new))
    assert told.at == datetime.fromtimestamp(at, UTC)


def test_what_every_storage_does_not_have_is_none(stored, runner):
    commit = stored.add("a.py", TEXT)
    opened = stored.finish().open(runner)

    for odd in ("", "abc", "HEAD", "main", "--help", "E" * 40, "e" * len(commit), "é" * 40):
        assert opened.blob_at(odd, "a.py") is None
        assert opened.read_blob(odd) is None
        assert opened.commit(odd) is None
        assert not opened.has_commit(odd)
    for path in ("", ".", "/", "a.py/", "/a.py", "./a.py", "a.py/b", "A.PY", "*.py", "a\0.py"):
        assert opened.blob_at(commit, path) is None


def test_folders_links_and_modules_are_no_files_of_a_commit(stored, runner):
    stored.write("src/a.py", TEXT)
    (stored.path / "link.py").symlink_to("src/a.py")
    commit = stored.commit()
    opened = stored.finish().open(runner)

    assert opened.blob_at(commit, "src") is None
    assert opened.blob_at(commit, "src/") is None
    assert opened.blob_at(commit, "link.py") is None
    assert opened.blob_at(commit, "link.py/a.py") is None


@pytest.mark.parametrize("name", ["with space.py", "größe/日本.py", "new\nline.py", ":x.py", "-a"])
def test_files_of_any_name_are_found(stored, runner, name):
    commit = stored.add(name, TEXT)
    opened = stored.finish().open(runner)

    assert opened.tracked() == [name]
    assert opened.is_tracked(name)
    assert opened.blob_at(commit, name) is not None
    assert opened.files_with(["line"]) == {"line": [name]}
    assert opened.files_with(["line"], at=commit) == {"line": [name]}


def test_files_whose_names_are_not_utf8_are_passed_over(repo, runner):
    repo.write(b"gr\xf6\xdfe.py", TEXT)
    commit = repo.add("a.py", TEXT)
    repo.write(b"neu\xf6.py", TEXT)
    opened = repo.open(runner)

    assert opened.tracked() == ["a.py"]
    assert opened.untracked() == []
    assert opened.files_with(["line"], untracked=True) == {"line": ["a.py"]}
    assert opened.files_with(["line"], at=commit) == {"line": ["a.py"]}


def test_a_blob_over_the_limit_is_not_read(stored, runner):
    commit = stored.add("big.txt", b"x" * (2 * 1024 * 1024 + 1))
    opened = stored.finish().open(runner)

    assert opened.read_blob(opened.blob_at(commit, "big.txt")) is None


def test_a_blob_at_the_limit_is_read(stored, runner):
    commit = stored.add("big.txt", b"x" * (2 * 1024 * 1024))
    opened = stored.finish().open(runner)

    assert len(opened.read_blob(opened.blob_at(commit, "big.txt"))) == 2 * 1024 * 1024


def test_objects_made_after_opening_are_seen(repo, runner):
    repo.add("a.py", TEXT)
    opened = repo.open(runner)
    assert opened.has_commit(opened.head().commit)

    commit = repo.add("b.py", OTHER)
    assert opened.blob_at(commit, "b.py") == blob_id(OTHER.encode())
    repo.git("gc", "-q", "--prune=now")

    assert opened.blob_at(commit, "b.py") == blob_id(OTHER.encode())
    assert opened.read_blob(blob_id(OTHER.encode())) == OTHER.encode()


READS = """
import sys
from datetime import timedelta
from pathlib import Path
from yaadwatch.repo import layout
from yaadwatch.repo.command import GitRunner
from yaadwatch.repo.repository import Repository
opened = Repository(layout.find(Path(sys.argv[1])), GitRunner(timedelta(seconds=30)))
assert opened.read_blob(opened.blob_at(sys.argv[2], "a.py"))
assert not opened.has_commit("e" * 40)
print("pygit2" in sys.modules)
"""


def test_libgit2_comes_with_the_first_pack(repo):
    """It costs a daemon 13 MiB."""
    commit = repo.add("a.py", TEXT)
    command = [sys.executable, "-c", READS, str(repo.path), commit]

    assert subprocess.check_output(command, text=True).strip() == "False"
    repo.git("gc", "-q")

    assert subprocess.check_output(command, text=True).strip() == "True"


def test_replaced_objects_are_read_as_they_were(stored, runner):
    old = stored.add("a.py", TEXT, "old")
    new = stored.add("a.py", OTHER, "new")
    stored.git("replace", new, old)
    opened = stored.finish().open(runner)

    assert opened.commit(new).subject == "new"
    assert opened.blob_at(new, "a.py") != opened.blob_at(old, "a.py")
    assert opened.changes(["a.py"], old, new) == [new]


@pytest.mark.parametrize(
    ("raw", "subject"),
    [
        (b"\n\n  Two empty lines first  \n", "Two empty lines first"),
        (b"", ""),
        (b"\x1b[2Jcleared\x07", "[2Jcleared"),
        (b"gr\xf6\xdfe", "gr\ufffd\ufffde"),
        (b"x" * 500, "x" * 200),
    ],
)
def test_any_message_becomes_a_plain_subject(stored, runner, raw, subject):
    stored.add("a.py", TEXT)
    tree = stored.git("rev-parse", "HEAD^{tree}")
    head = f"tree {tree}\nauthor Ada <a@example.org> 1700000000 +0100\n"
    head += "committer Ada <a@example.org> 1700000000 +0100\n\n"
    commit = stored.git(
        "hash-object", "-t", "commit", "-w", "--stdin", "--literally", given=head.encode() + raw
    )
    opened = stored.open(runner)

    told = opened.commit(commit)

    assert told.subject == subject
    assert told.at == datetime.fromtimestamp(1700000000, UTC)


@pytest.mark.parametrize("stamp", [b"99999999999999", b"-99999999999999", b"9" * 30, b"never"])
def test_a_date_that_no_calendar_holds_becomes_the_epoch(stored, runner, stamp):
    stored.add("a.py", TEXT)
    tree = stored.git("rev-parse", "HEAD^{tree}").encode()
    raw = b"tree " + tree + b"\nauthor A <a@b> " + stamp + b" +0000\ncommitter A <a@b> 1 +0000\n\nx"
    commit = stored.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", given=raw)

    assert stored.open(runner).commit(commit).at == datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "no-such", "rot13", "idna", "undefined"])
def test_a_message_in_any_encoding_is_read(repo, runner, encoding):
    repo.add("a.py", TEXT)
    tree = repo.git("rev-parse", "HEAD^{tree}")
    head = f"tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\nencoding {encoding}\n"
    raw = head.encode() + b"\ngr\xf6\xdfer"
    commit = repo.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", given=raw)

    subject = repo.open(runner).commit(commit).subject

    assert subject == ("größer" if encoding == "ISO-8859-1" else "gr\ufffd\ufffder")


def test_a_shallow_history_ends_where_it_was_cut(repo, new_repo, runner, tmp_path):
    old = repo.add("a.py", TEXT)
    new = repo.add("a.py", OTHER)
    shallow = Repo(tmp_path / "shallow")
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(shallow.path))
    opened = shallow.open(runner)

    assert opened.head().commit == new
    assert not opened.has_commit(old)
    assert opened.commit(old) is None
    assert opened.blob_at(old, "a.py") is None
    for ask in (opened.file_changes, opened.departures):
        assert refusal(ask, old, new).code is Code.UNAVAILABLE


def test_a_history_that_is_cut_in_many_places_is_shallow_too(repo):
    """As of a clone of a history of merges: a line for each commit whose parents are not there."""
    lines = [f"{number:040x}" for number in range(1, 20_000)]
    (repo.path / ".git/shallow").write_text("".join(f"{line}\n" for line in lines))

    assert layout.cut_at(layout.find(repo.path)) == set(lines)


def test_a_repository_that_went_away_belongs_to_nobody_else(repo, runner):
    repo.add("a.py", TEXT)
    side = repo.path.parent / "side"
    repo.git("worktree", "add", "-q", str(side))
    opened = Repository(layout.find(side), runner)
    shutil.rmtree(side)

    assert not opened.layout.is_own()
    opened.require_ours()


def test_a_repository_in_the_place_of_one_that_went_away_is_another_one(repo, runner):
    repo.add("a.py", TEXT)
    side = repo.path.parent / "side"
    repo.git("worktree", "add", "-q", str(side))
    opened = Repository(layout.find(side), runner)
    (side / ".git").unlink()
    repo.git("worktree", "prune")
    repo.git("init", "-q", str(side))

    error = refusal(opened.verify)

    assert error.code is Code.UNAVAILABLE
    assert "takes" in error.message
    opened.require_ours()


def test_a_lost_folder_is_an_error_and_not_a_missing_file(repo, runner):
    """A file that cannot be looked up must not look like one that was removed."""
    commit = repo.add("src/a.py", TEXT)
    tree = repo.git("rev-parse", "HEAD:src")
    (repo.path / ".git/objects" / tree[:2] / tree[2:]).unlink()

    assert refusal(repo.open(runner).blob_at, commit, "src/a.py").code is Code.UNAVAILABLE


def test_a_damaged_object_is_an_error(repo, runner):
    repo.add("a.py", TEXT)
    blob = repo.git("rev-parse", "HEAD:a.py")
    file = repo.path / ".git/objects" / blob[:2] / blob[2:]
    file.chmod(0o600)
    file.write_bytes(b"no longer compressed")

    assert refusal(repo.open(runner).read_blob, blob).code is Code.UNAVAILABLE


def test_a_broken_repository_inside_another_is_not_taken_for_the_outer_one(repo, runner):
    repo.add("a.py", TEXT)
    inner = Repo.new(repo.path / "inner")
    (inner.path / ".git/config").write_text("[core]\n\trepositoryformatversion = 99\n")
    opened = inner.open(runner)

    for ask in (opened.verify, opened.tracked, opened.untracked):
        assert refusal(ask).code is Code.UNAVAILABLE


def test_a_repository_without_objects_inside_another_is_not_taken_for_the_outer_one(repo, runner):
    commit = repo.add("a.py", TEXT)
    inner = Repo.new(repo.path / "inner")
    (inner.path / ".git/refs").rename(inner.path / "refs")
    opened = inner.open(runner)

    assert not opened.has_commit(commit)
    for ask in (opened.verify, opened.tracked, opened.untracked):
        assert refusal(ask).code is Code.UNAVAILABLE


# Renames and removals


def test_a_rename_between_two_commits(stored, runner):
    old = stored.add("a.py", TEXT)
    stored.move("a.py", "src/b.py")
    new = stored.commit()

    assert renames(stored.finish().open(runner), old, new) == {"a.py": "src/b.py"}


def test_two_commits_are_compared_without_the_index(repo, runner):
    """To read it costs what the tree holds, and it may be broken, or from another state."""
    old = repo.add("a.py", TEXT)
    repo.move("a.py", "src/b.py")
    new = repo.commit()
    (repo.path / ".git/index").write_bytes(b"no index")
    opened = repo.open(runner)

    assert renames(opened, old, new) == {"a.py": "src/b.py"}
    assert [(one.old, one.new) for one in opened.file_changes(old, new)] == [("a.py", "src/b.py")]
    assert [row.to for row in opened.departures(old, new)] == ["src/b.py"]


def test_a_chain_of_renames_is_one_rename_between_its_ends(repo, runner):
    ids = [repo.add("a.py", TEXT)]
    for old, new in [("a.py", "b.py"), ("b.py", "c/b.py"), ("c/b.py", "d.py")]:
        repo.move(old, new)
        ids.append(repo.commit())
    opened = repo.open(runner)

    assert renames(opened, ids[0], ids[-1]) == {"a.py": "d.py"}
    assert [(row.commit, row.path, row.to) for row in opened.departures(ids[0], ids[-1])] == [
        (ids[1], "a.py", "b.py"),
        (ids[2], "b.py", "c/b.py"),
        (ids[3], "c/b.py", "d.py"),
    ]


def test_a_rename_with_heavy_edits_later_is_seen_step_by_step(repo, runner):
    """The ends have nothing in common any more; only the single commits tell."""
    first = repo.add("a.py", TEXT)
    repo.move("a.py", "b.py")
    renamed = repo.commit()
    last = repo.add("b.py", OTHER)
    opened = repo.open(runner)

    assert renames(opened, first, last) == {}
    assert opened.departures(first, last) == [Departure(commit=renamed, path="a.py", to="b.py")]


def test_a_removal_is_a_departure_to_nowhere(repo, runner):
    first = repo.add("a.py", TEXT)
    (repo.path / "a.py").unlink()
    last = repo.commit()

    assert repo.open(runner).departures(first, last) == [
        Departure(commit=last, path="a.py", to=None)
    ]


def test_departures_on_a_branch_are_seen_through_its_merge(repo, runner):
    repo.write("b.py", OTHER)
    first = repo.add("a.py", TEXT)
    repo.git("checkout", "-q", "-b", "topic")
    repo.move("a.py", "moved.py")
    renamed = repo.commit()
    repo.git("checkout", "-q", "main")
    (repo.path / "b.py").unlink()
    removed = repo.commit()
    repo.git("merge", "-q", "--no-edit", "topic")
    opened = repo.open(runner)
    last = opened.head().commit

    found = opened.departures(first, last)

    assert sorted(found, key=lambda row: row.path) == [
        Departure(commit=renamed, path="a.py", to="moved.py"),
        Departure(commit=removed, path="b.py", to=None),
    ]


@pytest.mark.parametrize("name", ["with space.py", "new\nline.py", "D", "R100", "größe.py"])
def test_departures_of_any_name(repo, runner, name):
    first = repo.add(name, TEXT)
    repo.move(name, "to " + name)
    renamed = repo.commit()
    (repo.path / f"to {name}").unlink()
    last = repo.commit()
    opened = repo.open(runner)

    assert renames(opened, first, renamed) == {name: "to " + name}
    assert opened.departures(first, last) == [
        Departure(commit=renamed, path=name, to="to " + name),
        Departure(commit=last, path="to " + name, to=None),
    ]


def test_of_a_folder_is_told_what_was_removed_or_renamed(repo, runner):
    repo.write("src/b.py", OTHER)
    first = repo.add("src/a.py", TEXT)
    repo.move("src/a.py", "src/inner/a.py")
    stayed = repo.commit()
    repo.move("src/b.py", "srcs.py")
    moved = repo.commit()
    (repo.path / "src/inner/a.py").unlink()
    last = repo.commit()

    assert repo.open(runner).departures_in("src", first, last) == [
        Departure(commit=stayed, path="src/a.py", to="src/inner/a.py"),
        Departure(commit=moved, path="src/b.py", to="srcs.py"),
        Departure(commit=last, path="src/inner/a.py", to=None),
    ]


def test_what_was_taken_back_was_touched(repo, runner):
    first = repo.add("a.py", TEXT)
    repo.add("a.py", OTHER)
    repo.add("a.py", TEXT)
    repo.git("checkout", "-q", "-b", "topic", first)
    repo.add("größe\n.py", TEXT)
    (repo.path / "größe\n.py").unlink()
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "--no-edit", "topic")
    opened = repo.open(runner)
    last = opened.head().commit

    assert opened.differing(first, last) == []
    assert opened.touched(first, last) == {"a.py", "größe\n.py"}
    assert opened.touched(last, last) == frozenset()


def test_what_a_merge_has_from_neither_side_was_touched(repo, runner):
    repo.write("b.py", OTHER)
    first = repo.add("a.py", TEXT)
    repo.git("checkout", "-q", "-b", "topic")
    repo.add("c.py", TEXT)
    repo.git("checkout", "-q", "main")
    repo.add("d.py", TEXT)
    repo.git("merge", "-q", "--no-commit", "topic")
    repo.write("a.py", OTHER)
    repo.commit()
    opened = repo.open(runner)

    assert opened.touched(first, opened.head().commit) == {"a.py", "c.py", "d.py"}


def test_what_a_merge_took_from_the_side_that_had_not_changed_it_was_touched(repo, runner):
    repo.add("a.py", TEXT)
    repo.git("branch", "topic")
    first = repo.add("a.py", OTHER)
    repo.git("checkout", "-q", "topic")
    repo.add("c.py", TEXT)
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-commit", "topic")
    repo.write("a.py", TEXT)
    last = repo.commit()

    assert repo.open(runner).touched(first, last) == {"a.py", "c.py"}


def test_what_a_history_without_a_beginning_in_common_brought_was_touched(repo, runner):
    first = repo.add("a.py", TEXT)
    repo.git("checkout", "-q", "--orphan", "other")
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--allow-unrelated-histories", "--no-edit", "other")
    opened = repo.open(runner)

    assert opened.touched(first, opened.head().commit) == {"a.py", "b.py"}


def test_what_very_many_commits_touched_is_not_told(repo, runner):
    first = repo.add("a.py", TEXT)
    for _ in range(TOUCHED_COMMITS_MAX):
        repo.git("commit", "-q", "--allow-empty", "-m", "nothing")
    opened = repo.open(runner)
    most = opened.head().commit
    last = repo.add("a.py", OTHER)

    assert opened.touched(first, most) == frozenset()
    assert opened.touched(first, last) is None


def test_a_rename_to_a_name_that_is_not_utf8_is_a_departure_to_nowhere(repo, runner):
    first = repo.add("a.py", TEXT)
    repo.git("mv", "a.py", b"gr\xf6.py")
    last = repo.commit()
    opened = repo.open(runner)

    assert renames(opened, first, last) == {}
    assert opened.departures(first, last) == [Departure(commit=last, path="a.py", to=None)]


def test_staged_renames_are_those_of_the_index(repo, runner):
    repo.add("a.py", TEXT)
    opened = repo.open(runner)
    assert opened.staged_renames() == {}

    repo.move("a.py", "b.py")

    assert opened.staged_renames() == {"a.py": "b.py"}


def test_changes_are_the_commits_that_touched_a_path_oldest_first(repo, runner):
    first = repo.add("a.py", TEXT)
    second = repo.add("a.py", OTHER)
    repo.add("b.py", TEXT)
    fourth = repo.add("a.py", TEXT)
    last = repo.add("c.py", TEXT)
    opened = repo.open(runner)

    assert opened.changes(["a.py"], first, last) == [second, fourth]
    assert opened.changes(["a.py", "c.py"], first, last) == [second, fourth, last]
    assert opened.changes(["nothing.py"], first, last) == []


def test_a_path_with_pattern_characters_is_only_itself(repo, runner):
    repo.write("a*.py", TEXT)
    repo.write(":(top)x", TEXT)
    first = repo.add("ab.py", TEXT)
    last = repo.add("ab.py", OTHER)
    opened = repo.open(runner)

    assert opened.changes(["a*.py"], first, last) == []
    assert opened.is_tracked("a*.py")
    assert opened.is_tracked(":(top)x")
    assert not opened.is_tracked("*.py")


def test_what_is_no_commit_is_not_passed_to_git(repo, runner, tmp_path):
    commit = repo.add("a.py", TEXT)
    opened = repo.open(runner)

    for bad in ("", "HEAD", "--output=" + str(tmp_path / "made"), "main..main"):
        for ask in (
            lambda bad=bad: renames(opened, bad, commit),
            lambda bad=bad: opened.departures(commit, bad),
            lambda bad=bad: opened.changes(["a.py"], bad, commit),
        ):
            assert refusal(ask).code is Code.UNAVAILABLE
    assert not (tmp_path / "made").exists()


# Which files hold a word?


def test_words_are_found_whole_and_taken_literally(repo, runner):
    repo.write("a.py", "retry_limit = 3\nretry_limit\n")
    repo.write("b.py", "use(retry_limit)")
    repo.write("c.py", "retry_limits = my_retry_limit")
    repo.write("d.php", "$a.b = $limit; x*y [a-z]+")
    commit = repo.commit()
    opened = repo.open(runner)
    expected = {
        "retry_limit": ["a.py", "b.py"],
        "limit": ["d.php"],
        "$limit": ["d.php"],
        "a.b": ["d.php"],
        "b": ["d.php"],
        "x*y": ["d.php"],
        "[a-z]+": ["d.php"],
        "retry.limit": [],
        "-e": [],
        "--help": [],
        "": [],
        "two\nlines": [],
        "nul\0": [],
        "\ud800": [],
    }

    assert opened.files_with(list(expected)) == expected
    assert opened.files_with(list(expected), at=commit) == expected


def test_a_word_at_the_end_of_any_line_is_found(repo, runner):
    repo.write("unix.txt", "the limit\nx\n")
    repo.write("dos.txt", "the limit\r\nx\r\n")
    repo.write("last.txt", "the limit")
    repo.commit()

    assert repo.open(runner).files_with(["limit"]) == {"limit": ["dos.txt", "last.txt", "unix.txt"]}


def test_binary_files_hold_no_words(repo, runner):
    repo.write("a.bin", b"limit\0limit\n")
    repo.write("a.txt", b"limit \xff\xfe\n")
    repo.commit()

    assert repo.open(runner).files_with(["limit"]) == {"limit": ["a.txt"]}


def test_untracked_files_are_searched_when_asked_and_ignored_ones_never(repo, runner):
    repo.write(".gitignore", "build/\n")
    repo.add("a.py", "limit\n")
    repo.write("new.py", "limit\n")
    repo.write("build/out.py", "limit\n")
    inner = Repo.new(repo.path / "inner")
    inner.write("b.py", "limit\n")
    opened = repo.open(runner)

    assert opened.files_with(["limit"]) == {"limit": ["a.py"]}
    assert set(opened.files_with(["limit"], untracked=True)["limit"]) >= {"a.py", "new.py"}
    assert "build/out.py" not in opened.files_with(["limit"], untracked=True)["limit"]
    assert opened.untracked() == ["new.py"]


def test_the_work_tree_is_searched_as_it_is_and_a_commit_as_it_was(repo, runner):
    commit = repo.add("a.py", "limit\n")
    repo.write("a.py", "bound\n")
    opened = repo.open(runner)

    assert opened.files_with(["limit", "bound"]) == {"limit": [], "bound": ["a.py"]}
    assert opened.files_with(["limit", "bound"], at=commit) == {"limit": ["a.py"], "bound": []}
    assert opened.files_with(["limit"], at="") == {"limit": []}


def test_a_word_that_stands_everywhere_is_still_answered(repo, runner, monkeypatch):
    monkeypatch.setattr(command, "OUTPUT_BYTES_MAX", 4096)
    for number in range(20):
        repo.write(f"src/{number:02}.py", "limit\n" * 100)
    repo.write("rare.py", "bound\n")
    repo.commit()

    found = repo.open(runner).files_with(["limit", "bound"])

    assert len(found["limit"]) == 20
    assert found["bound"] == ["rare.py"]


@pytest.mark.parametrize(
    "setting",
    [
        *("grep.lineNumber=true", "grep.column=true", "grep.patternType=perl", "color.ui=always"),
        *("grep.fullName=false", "grep.extendedRegexp=true", "core.quotePath=true"),
        *("diff.renames=false", "diff.noprefix=true", "log.showSignature=true"),
        *("color.grep=always", "diff.external=false", "core.pager=false", "status.short=true"),
    ],
)
def test_the_person_s_own_settings_change_no_answer(repo, runner, environment, setting):
    key, _, value = setting.partition("=")
    section, _, name = key.partition(".")
    (environment / "home/.gitconfig").write_text(f"[{section}]\n\t{name} = {value}\n")
    first = repo.add("größe.py", TEXT)
    repo.move("größe.py", "b.py")
    last = repo.commit()
    opened = repo.open(runner)

    assert opened.files_with(["line"]) == {"line": ["b.py"]}
    assert opened.files_with(["line"], at=first) == {"line": ["größe.py"]}
    assert renames(opened, first, last) == {"größe.py": "b.py"}
    assert opened.changes(["b.py"], first, last) == [last]
    assert opened.commit(last).subject == "change"
    assert opened.tracked() == ["b.py"]


# git that does not do what it should


def fake_git(folder: Path, script: str) -> Path:
    """Put a program called git first on the PATH that `environment` gives."""
    folder.mkdir(exist_ok=True)
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def wait_until(happened, what, seconds=60.0):
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, f"waited {seconds} s for {what}"
        time.sleep(0.01)


def is_running(pid):
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def tools(tmp_path, monkeypatch):
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.mark.parametrize(
    "script",
    [
        "sleep 60",
        "sleep 60 & echo $! > $TMPDIR/child; sleep 60",
        "sleep 60 & echo $! > $TMPDIR/child; wait",
        "sleep 60 & echo $! > $TMPDIR/child; exit 0",  # its child keeps the pipes open
        "exec >&- 2>&-; sleep 60",
        "trap '' TERM INT HUP; sleep 60",
        "while true; do echo x >&2; sleep 0.05; done",
    ],
)
def test_git_that_hangs_is_ended_with_its_children(repo, tools, tmp_path, monkeypatch, script):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    fake_git(tools, f"echo $$ > $TMPDIR/own; {script}")
    opened = Repository(repo.layout, GitRunner(timedelta(milliseconds=400)))

    error = refusal(opened.tracked)

    assert error.code is Code.TIMEOUT
    assert "0.4 s" in error.message
    assert str(repo.path) in error.message
    assert "git.timeout_ms" in error.hint
    for file in (tmp_path / "own", tmp_path / "child"):
        if file.exists():
            pid = int(file.read_text())
            wait_until(lambda pid=pid: not is_running(pid), f"{file.name} to end")


def test_a_folder_is_silent_only_while_git_has_not_answered_there(repo, tools, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tools))
    fake_git(tools, 'case "$*" in *hash*) touch $TMPDIR/began; exec sleep 60;; *) echo xyz;; esac')
    runner = GitRunner(timedelta(seconds=1))

    def hang():
        with pytest.raises(YaadError):
            runner.run(["hash-object"], cwd=repo.path)

    hang()
    since = runner.silent_since[repo.path]
    hang()
    assert runner.silent_since == {repo.path: since}

    with pytest.raises(YaadError, match="printed more"):
        runner.run(["status"], cwd=repo.path, bytes_max=1)
    assert runner.silent_since == {}

    (tools / "began").unlink()
    hanging = threading.Thread(target=hang)
    hanging.start()
    wait_until((tools / "began").exists, "a git that hangs")
    runner.run(["status"], cwd=repo.path)
    hanging.join()
    assert runner.silent_since == {}


@pytest.mark.parametrize(
    "prints",
    [
        "echo a.py",
        "head -c 3000000 /dev/zero",  # more than a pipe holds: git waits for us
        "head -c 300000 /dev/zero >&2; sleep 0.5; echo a.py",
        "echo a.py; exec >&- 2>&-; sleep 0.2",
    ],
)
def test_git_is_not_blamed_for_time_in_which_this_process_was_stopped(
    repo, tools, monkeypatch, prints
):
    monkeypatch.setenv("TMPDIR", str(tools))
    script = f"touch $TMPDIR/began; sleep 0.3; {prints}"
    fake_git(tools, script)
    asking = (
        "import sys; from datetime import timedelta; from pathlib import Path;"
        "from yaadwatch.repo.command import GitRunner;"
        "runner = GitRunner(timedelta(seconds=1));"
        "print(len(runner.run(['ls-files'], cwd=Path(sys.argv[1]))), len(runner.timed_out))"
    )
    asker = subprocess.Popen(
        [sys.executable, "-c", asking, str(repo.path)], stdout=subprocess.PIPE, text=True
    )
    wait_until((tools / "began").exists, "git")
    asker.send_signal(signal.SIGSTOP)
    time.sleep(2.5)
    asker.send_signal(signal.SIGCONT)

    size = 3_000_000 if prints.startswith("head -c 3000000 ") else 5
    assert asker.communicate()[0] == f"{size} 0\n"


def test_what_git_leaves_running_is_ended_when_git_is_done(repo, tools, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    fake_git(tools, "sleep 60 >/dev/null 2>&1 & echo $! > $TMPDIR/child; echo a.py")
    opened = Repository(repo.layout, GitRunner(timedelta(seconds=5)))

    assert opened.tracked() == ["a.py\n"]

    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not is_running(child), "the child to end")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
@pytest.mark.parametrize("passing", [False, True])
def test_what_outlives_a_process_that_was_killed_ends_with_its_processor_time(repo, tools, passing):
    fake_git(tools, 'while [ "$(ulimit -t)" = unlimited ]; do :; done; ulimit -t')
    runner = GitRunner(timedelta(seconds=30), passing=passing)

    told = runner.run(["x"], cwd=repo.path)

    assert int(told) == 30 * os.cpu_count()


def test_git_that_prints_without_end_is_ended(repo, tools, monkeypatch):
    monkeypatch.setattr(command, "OUTPUT_BYTES_MAX", 1024 * 1024)
    fake_git(tools, "exec cat /dev/zero")
    opened = Repository(repo.layout, GitRunner(timedelta(seconds=20)))

    error = refusal(opened.tracked)

    assert error.code is Code.TOO_LARGE
    assert str(1024 * 1024) in error.message


def test_git_that_complains_without_end_still_answers(repo, tools):
    fake_git(tools, "head -c 3000000 /dev/zero >&2; printf 'a.py\\0'")

    assert Repository(repo.layout, GitRunner(timedelta(seconds=20))).tracked() == ["a.py"]


def test_git_that_does_not_read_its_input_is_no_problem(repo, runner, tools):
    fake_git(tools, "printf 'a.py\\0'")

    assert runner.run(["x"], cwd=repo.path, given=b"x" * 1_000_000) == b"a.py\0"


def test_the_reason_is_told_and_not_the_warnings_before_it(repo, tools):
    fake_git(tools, "echo 'warning: slow' >&2; echo 'fatal: no space left' >&2; exit 128")
    opened = Repository(repo.layout, GitRunner(timedelta(seconds=5)))

    error = refusal(opened.tracked)

    assert error.code is Code.UNAVAILABLE
    assert "no space left" in error.message


def test_without_git_the_error_says_so(repo, runner, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    error = refusal(repo.open(runner).tracked)

    assert error.code is Code.UNAVAILABLE
    assert "not installed" in error.message


def test_a_folder_that_is_gone_is_named(repo, runner):
    opened = repo.open(runner)
    repo.path.rename(repo.path.parent / "elsewhere")

    error = refusal(opened.tracked)

    assert error.code is Code.UNAVAILABLE
    assert str(repo.path) in error.message


def test_a_git_that_the_repository_brings_along_is_not_run(repo, runner, monkeypatch, tmp_path):
    fake_git(repo.path, f"touch {tmp_path}/trace")
    repo.add("a.py", TEXT)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")

    assert repo.open(runner).tracked() == ["a.py", "git"]
    assert not (tmp_path / "trace").exists()


def test_a_closed_runner_starts_nothing(repo, runner):
    runner.close()

    error = refusal(repo.open(runner).tracked)

    assert error.code is Code.UNAVAILABLE
    assert "stopping" in error.message


def test_closing_ends_what_is_running_at_once(repo, tools, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    fake_git(tools, "echo $$ > $TMPDIR/own; sleep 60")
    runner = GitRunner(timedelta(seconds=50))
    opened = Repository(repo.layout, runner)
    caught = []

    def ask():
        try:
            opened.tracked()
        except YaadError as error:
            caught.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]  # two run, two wait
    for thread in threads:
        thread.start()
    wait_until((tmp_path / "own").exists, "git to start")
    runner.close()
    for thread in threads:
        thread.join(10)

    assert [error.code for error in caught] == [Code.UNAVAILABLE] * 4


def test_two_commands_at_once_and_no_more(repo, tools, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    counting = "mkdir $TMPDIR/at-$$; ls -d $TMPDIR/at-* | wc -l >> $TMPDIR/counts; sleep 0.1"
    fake_git(tools, f"{counting}; rmdir $TMPDIR/at-$$")
    opened = Repository(repo.layout, GitRunner(timedelta(seconds=20)))
    threads = [threading.Thread(target=opened.tracked) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    counts = [int(line) for line in (tmp_path / "counts").read_text().split()]
    assert len(counts) == 6
    assert max(counts) <= 2


def test_nothing_stays_open_after_many_questions(repo, runner):
    repo.add("a.py", TEXT)
    opened = repo.open(runner)
    opened.tracked()
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(50):
        opened.tracked()

    assert len(os.listdir("/proc/self/fd")) == before


def test_a_signal_to_us_does_not_reach_git(repo, tools, tmp_path, monkeypatch):
    """Ctrl-C in the terminal of a foreground daemon goes to its whole process group."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    fake_git(tools, "ps -o pgid= -p $$ | tr -d ' ' > $TMPDIR/group; printf 'a.py\\0'")

    Repository(repo.layout, GitRunner(timedelta(seconds=5))).tracked()

    assert int((tmp_path / "group").read_text()) != os.getpgrp()


def test_an_index_is_listed_once_and_anew_after_every_change(repo, runner):
    """Also when it changes twice within a tick of the clock, and back again."""
    repo.commit("a", {"a.py": "1"})
    opened = repo.open(runner)
    assert opened.tracked() == ["a.py"]
    asked = []
    ask, runner.run = runner.run, lambda *given, **more: asked.append(given) or ask(*given, **more)

    assert repo.open(runner).tracked() == opened.tracked() == ["a.py"]
    assert asked == []
    repo.git("mv", "a.py", "b.py")
    assert opened.tracked() == ["b.py"]
    repo.git("mv", "b.py", "a.py")
    assert opened.tracked() == ["a.py"]


def test_what_an_index_leaves_out_is_asked_once_and_anew_after_every_change(repo, runner):
    repo.commit("a", {"a.py": "1"})
    opened = repo.open(runner)
    assert opened.left_out().sparse == {}
    asked = []
    ask, runner.run = runner.run, lambda *given, **more: asked.append(given) or ask(*given, **more)

    assert repo.open(runner).left_out() == opened.left_out()
    assert asked == []
    repo.git("update-index", "--skip-worktree", "a.py")
    assert list(opened.left_out().sparse) == ["a.py"]
    repo.git("update-index", "--no-skip-worktree", "a.py")
    assert opened.left_out().sparse == {}


def test_wanted_names_of_a_large_index_are_those_of_a_small_one(new_repo, runner, monkeypatch):
    repo = new_repo("repo")
    for name in ("a/CLAUDE.md", "b.py", "naïve/CLAUDE.md", "c d/x\ny.md"):
        repo.write(name, "text\n")
    repo.commit()
    (repo.path / os.fsdecode(b"\xff.md")).write_text("text\n")
    repo.commit()

    def wanted():
        return repo.open(runner).tracked_where(lambda path: path.endswith(".md"))

    small = wanted()
    monkeypatch.setattr(repository, "PATHS_KEPT", 0)

    assert wanted() == small == ["a/CLAUDE.md", "c d/x\ny.md", "naïve/CLAUDE.md"]
