"""Objects that only git can read: one command for a batch, that hangs for nobody and goes."""

import os
import shutil
import signal
import weakref
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from waiting import wait_until

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git.command import GitRunner
from yaadwatch.system.git.objects.cat_file import Asked
from yaadwatch.system.git.objects.store import Objects
from yaadwatch.system.git.question import Git
from yaadwatch.system.git.tree_cache import TreeCache

PATHS = [f"src/{name}/{number}.py" for name in "ab" for number in range(5)]


def filled(repo):
    """Return the commit of a repository with files, a link, a program and an empty file."""
    for path in PATHS:
        repo.write(path, f"# {path}\n" * 9)
    repo.write("empty", "")
    repo.write("odd \n name", b"\0\n\xff")
    repo.write("run", "#!/bin/sh\n").chmod(0o755)
    (repo.path / "link").symlink_to("empty")
    return repo.commit("begin\n\nmore")


@pytest.fixture
def long(new_repo):
    """A repository that names its objects by SHA-256."""
    repo = new_repo("long", "--object-format=sha256")
    repo.last = filled(repo)
    return repo


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """Put a program before git that notes each start of it; return the notes."""
    real = shutil.which("git")
    folder = tmp_path / "programs"
    folder.mkdir()
    notes = folder / "notes"
    program = folder / "git"
    program.write_text(f'#!/bin/sh\necho "$*" >> {notes}\nexec {real} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return lambda: notes.read_text().splitlines() if notes.exists() else []


def children(repo):
    """Return the commands that read objects of `repo` now; what other tests began is not theirs."""
    return [child for child in psutil.Process().children() if reads(child, repo)]


def reads(process, repo):
    try:
        return "--batch-command" in process.cmdline() and repo.path in _and_above(process.cwd())
    except psutil.Error:  # it ended meanwhile
        return False


def _and_above(folder):
    return [Path(folder), *Path(folder).parents]


def talking(repo):
    (child,) = children(repo)
    return child


def all_of(repository, commit, *, paths=PATHS):
    blobs = [repository.blob_at(commit, path) for path in paths]
    return [repository.read_blob(blob) for blob in blobs]


def test_one_command_reads_all_that_a_job_asks(long, runner, counted):
    with closing(long.open(runner)) as repository:
        texts = all_of(repository, long.last)

        assert texts == [f"# {path}\n".encode() * 9 for path in PATHS]
        assert repository.commit(long.last).subject == "begin"
        assert repository.has_commit(long.last)
        assert not repository.has_commit("0" * 64)
        assert repository.has_folder(long.last, "src/a")
        assert not repository.has_folder(long.last, "src/c")

    (only,) = counted()
    assert only.endswith("cat-file --batch-command")


def test_git_tells_of_objects_what_is_read_in_this_process(repo, runner):
    last = filled(repo)
    read = Objects.open(repo.layout, TreeCache())
    names = [*PATHS, "src", "src/a", "empty", "odd \n name", "run", "link", "none", "empty/none"]
    with closing(Asked(Git(repo.layout, runner), "objects", TreeCache())) as asked:
        for one in (last, "0" * 40, read.blob_at(last, "run")):
            assert asked.kind(one) == read.kind(one)
            assert asked.commit(one) == read.commit(one)
            for name in names:
                assert asked.blob_at(one, name) == read.blob_at(one, name)
                assert asked.has_file(one, name) == read.has_file(one, name)
                assert asked.has_folder(one, name) == read.has_folder(one, name)
        for name in names:
            blob = read.blob_at(last, name) or ""
            for most in (0, 2, 3, 10_000):
                assert asked.blob(blob, most) == read.blob(blob, most)


def test_what_comes_after_it_was_begun_is_found(long, runner):
    with closing(long.open(runner)) as repository:
        assert repository.has_commit(long.last)
        new = long.add("new.py", "new\n")
        long.git("gc", "-q", "--prune=now")

        assert all_of(repository, new, paths=["new.py", PATHS[0]])[0] == b"new\n"


def test_nothing_of_it_is_left_when_the_job_ends(long, runner):
    repository = long.open(runner)
    all_of(repository, long.last)
    assert talking(long).is_running()
    talk = weakref.ref(repository._asked._talk)

    repository.close()
    assert children(long) == []
    assert talk() is None
    repository.close()
    assert all_of(repository, long.last)[0]
    assert talking(long).is_running()

    del repository  # by whoever ends no job
    assert children(long) == []


def test_it_ends_with_whoever_runs_git(long):
    runner = GitRunner(long.TIMEOUT)
    repository = long.open(runner)
    all_of(repository, long.last)

    runner.close()

    wait_until(lambda: not children(long), "the end of git")
    with pytest.raises(YaadError) as refused:
        repository.read_blob(repository.blob_at(long.last, "run"))
    assert refused.value.code is Code.UNAVAILABLE


def test_one_that_was_killed_is_begun_again(long, runner, counted):
    with closing(long.open(runner)) as repository:
        first = all_of(repository, long.last)
        talking(long).kill()
        wait_until(lambda: not children(long), "the end of git")

        assert all_of(repository, long.last) == first

    assert len(counted()) == 2


def test_one_that_hangs_is_ended_and_told_and_the_next_job_asks_anew(long):
    runner = GitRunner(timedelta(seconds=1))
    with closing(long.open(runner)) as repository:
        blob = repository.blob_at(long.last, "run")
        talking(long).send_signal(signal.SIGSTOP)

        with pytest.raises(YaadError) as told:
            repository.read_blob(blob)

        assert told.value.code is Code.TIMEOUT
        assert children(long) == []
        with pytest.raises(YaadError) as again:
            repository.read_blob(blob)
        assert again.value is told.value
    with closing(long.open(runner)) as repository:
        assert repository.read_blob(blob) == b"#!/bin/sh\n"
    runner.close()


def test_where_git_does_not_know_how_each_question_is_a_command(long, runner, counted, tmp_path):
    program = tmp_path / "programs" / "git"
    text = program.read_text()
    program.write_text(
        text.replace("exec", 'case "$*" in *--batch-command) exit 129;; esac\nexec', 1)
    )
    with closing(long.open(runner)) as repository:
        texts = all_of(repository, long.last)

    assert texts == [f"# {path}\n".encode() * 9 for path in PATHS]
    commands = counted()
    assert sum(one.endswith("--batch-command") for one in commands) == 1
    assert len(commands) > 2 * len(PATHS)


def test_one_that_is_damaged_ends_git_twice_and_is_told(long, runner, counted):
    text = os.urandom(60_000).hex().encode()
    long.write("large", text)
    long.commit()
    blob = long.git("rev-parse", "HEAD:large")
    place = long.path / ".git/objects" / blob[:2] / blob[2:]
    data = bytearray(place.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    place.chmod(0o644)
    place.write_bytes(data)
    before = len(counted())

    with closing(long.open(runner)) as opened:
        try:
            told = opened.read_blob(blob)
        except YaadError as error:
            told = error.code

    assert told in (None, Code.UNAVAILABLE)
    assert len(counted()) - before <= 4


def test_while_it_waits_others_may_run(long, runner):
    """It takes no place of those that run at once."""
    held = [long.open(runner) for _ in range(5)]
    for repository in held:
        assert all_of(repository, long.last)[0]

    assert held[0].tracked()

    for repository in held:
        repository.close()
    wait_until(lambda: children(long) == [])


def test_a_tree_is_read_once_for_many_jobs(long, runner):
    with closing(long.open(runner)) as repository:
        blob = repository.blob_at(long.last, "src/a/1.py")
    folder = long.path / ".git" / "objects"
    folder.rename(folder.with_name("gone"))
    folder.mkdir()

    with closing(long.open(runner)) as repository:
        assert blob is not None
        assert repository.blob_at(long.last, "src/a/1.py") == blob
        assert not repository.has_commit(long.last)


def test_the_id_of_a_tree_is_no_commit_though_the_tree_was_read(repo, runner):
    last = filled(repo)
    tree = repo.git("rev-parse", f"{last}:src").strip()
    with closing(repo.open(runner)) as repository:
        assert repository.has_file(last, "src/a/1.py")
        assert repository.blob_at(tree, "a") is None
        assert not repository.has_folder(tree, "a")


def test_trees_are_kept_up_to_a_number_of_entries():
    cache = TreeCache(entries_max=8)
    small = {b"a": (b"100644", "0" * 40), b"b": (b"100644", "1" * 40)}
    for number in range(4):
        cache.put("objects", str(number), small)

    assert cache.get("objects", "0") is None
    assert cache.get("objects", "3") == small
    assert cache.get("others", "3") is None
    cache.forget()
    assert cache.get("objects", "3") is None
