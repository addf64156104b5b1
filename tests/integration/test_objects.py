"""Objects of every kind of repository: read in this process, or by the git command."""

import os
import shutil

import pytest
from refusals import refusal
from repositories import Repo

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo.objects import ObjectFiles, Objects

PATHS = [f"src/{name}/{number}.py" for name in "ab" for number in range(5)]
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")


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


def objects_of(repo, runner):
    return Objects(repo.layout, runner)


def borrowed(lender, name="borrower"):
    twin = Repo(lender.path.parent / name)
    lender.git("clone", "-q", "--shared", str(lender.path), str(twin.path))
    return twin


def reftable(new_repo):
    repo = new_repo("tables")
    filled(repo)
    (repo.path / ".git" / "reftable").mkdir()  # what git calls other storage of references
    return repo


def packed(new_repo):
    repo = new_repo("packed")
    filled(repo)
    repo.git("gc", "-q")
    return repo


def linked(new_repo):
    repo = new_repo("main")
    filled(repo)
    repo.git("worktree", "add", "-q", str(repo.path.parent / "linked"))
    return Repo(repo.path.parent / "linked")


def mixed(new_repo):
    repo = packed(new_repo)
    repo.add("new.py", "new\n")
    return repo


def partial(new_repo):
    repo = new_repo("whole")
    filled(repo)
    repo.git("config", "uploadpack.allowFilter", "true")
    twin = Repo(repo.path.parent / "partial")
    url = f"file://{repo.path}"
    repo.git("clone", "-q", "--filter=blob:none", url, str(twin.path))
    return twin


def borrowing(new_repo):
    repo = new_repo("lender")
    filled(repo)
    return borrowed(repo)


@pytest.mark.parametrize("make", [packed, linked, mixed, partial, borrowing, reftable])
def test_objects_read_in_this_process_are_those_that_git_reads(new_repo, runner, make, monkeypatch):
    repo = make(new_repo)
    last = repo.git("rev-parse", "HEAD").strip()
    read = objects_of(repo, runner)
    names = [*PATHS, "src", "src/a", "empty", "odd \n name", "run", "link", "none", "empty/none"]
    blobs = [read.blob_at(last, name) or "" for name in names]

    def ask(objects):
        commits = (last, "0" * 40, blobs[0])
        return (
            [
                (objects.has_commit(one), objects.has_blob(one), objects.commit(one))
                for one in commits
            ],
            [
                (objects.blob_at(one, name), objects.has_folder(one, name))
                for one in commits
                for name in names
            ],
            [objects.read_blob(blob, most) for blob in blobs for most in (0, 2, 3, 10_000)],
        )

    found = ask(read)
    monkeypatch.setattr(ObjectFiles, "open", lambda layout: None)

    assert ask(objects_of(repo, runner)) == found
    assert found[1][0][0]


def test_a_repository_of_sha256_is_read_by_the_command(long, runner):
    repository = long.open(runner)
    blobs = [repository.blob_at(long.last, path) for path in PATHS]

    assert [repository.read_blob(blob) for blob in blobs] == [
        f"# {path}\n".encode() * 9 for path in PATHS
    ]
    assert repository.commit(long.last).subject == "begin"
    assert repository.has_commit(long.last)
    assert not repository.has_commit("0" * 64)
    assert repository.has_folder(long.last, "src/a")
    assert not repository.has_folder(long.last, "src/c")
    assert repository.read_blob(blobs[0], 3) is None


def test_a_damaged_object_is_reported(long, runner):
    long.write("large", os.urandom(60_000).hex().encode())
    long.commit()
    blob = long.git("rev-parse", "HEAD:large").strip()
    place = long.path / ".git/objects" / blob[:2] / blob[2:]
    data = bytearray(place.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    place.chmod(0o644)
    place.write_bytes(data)

    try:
        told = long.open(runner).read_blob(blob)
    except YaadError as error:
        told = error.code

    assert told in (None, Code.UNAVAILABLE)


def test_a_tree_is_read_once_for_many_jobs(long, runner, counted):
    blob = long.open(runner).blob_at(long.last, "src/a/1.py")
    before = len(counted())

    assert blob is not None
    assert long.open(runner).blob_at(long.last, "src/a/1.py") == blob
    assert len(counted()) == before


def test_the_id_of_a_tree_is_no_commit_though_the_tree_was_read(repo, runner):
    last = filled(repo)
    tree = repo.git("rev-parse", f"{last}:src").strip()
    repository = repo.open(runner)

    assert repository.blob_at(last, "src/a/1.py")
    assert repository.blob_at(tree, "a") is None
    assert not repository.has_folder(tree, "a")


def test_a_commit_that_names_no_tree_is_an_error(repo, runner):
    filled(repo)
    raw = b"tree nothing\nauthor A <a@b.c> 1 +0000\ncommitter A <a@b.c> 1 +0000\n\nodd\n"
    odd = repo.git("hash-object", "-w", "-t", "commit", "--literally", "--stdin", given=raw).strip()

    with pytest.raises(YaadError, match="missing"):
        repo.open(runner).blob_at(odd, "run")


@pytest.mark.parametrize("what", ["file", "pipe", "link", "folder", "empty"])
def test_objects_that_may_be_elsewhere_are_left_to_git(repo, runner, tmp_path, what):
    filled(repo)
    place = repo.path / ".git/objects/info/alternates"
    place.parent.mkdir(exist_ok=True)
    if what == "pipe":
        os.mkfifo(place)
    elif what == "link":
        place.symlink_to(tmp_path)
    elif what == "folder":
        place.mkdir()
    else:
        place.write_text("" if what == "empty" else f"{tmp_path}\n")

    assert ObjectFiles.open(repo.layout) is None


def test_an_odd_file_among_the_packs_is_never_opened(new_repo):
    repo = packed(new_repo)
    pack = repo.path / ".git/objects/pack/pack-x.idx"
    os.mkfifo(pack)
    assert ObjectFiles.open(repo.layout) is None
    pack.unlink()
    found = ObjectFiles.open(repo.layout)
    assert found.look("1" * 40) is None
    os.mkfifo(pack)

    with pytest.raises(YaadError, match="no plain file"):
        found.look("1" * 40)


@ROOT
def test_objects_of_another_user_are_left_to_git(new_repo):
    repo = packed(new_repo)
    os.chown(repo.path / ".git/objects", 12345, -1)

    assert ObjectFiles.open(repo.layout) is None


def test_objects_that_are_borrowed_meanwhile_are_not_read(new_repo, tmp_path):
    """Loose objects are read without libgit2, which is opened for the first pack."""
    repo = new_repo("loose")
    repo.add("a.py", "one = 1\n")
    found = ObjectFiles.open(repo.layout)
    repo.git("gc", "-q")
    os.mkfifo(tmp_path / "pipe")
    (repo.path / ".git/objects/info").mkdir(exist_ok=True)
    (repo.path / ".git/objects/info/alternates").symlink_to(tmp_path / "pipe")

    assert refusal(found.look, repo.git("rev-parse", "HEAD").strip()).code is Code.UNAVAILABLE


def test_objects_that_come_later_are_found(new_repo):
    repo = packed(new_repo)
    found = ObjectFiles.open(repo.layout)
    for name in ("b.py", "c.py"):
        repo.add(name, f"name = {name!r}\n")
        assert found.look(repo.git("rev-parse", "HEAD").strip()) == 1
        repo.git("gc", "-q")
        assert found.look(repo.git("rev-parse", "HEAD~1").strip()) == 1
