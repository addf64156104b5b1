"""A repository that borrows objects is read as git reads it, and nothing odd is opened for it."""

import os

import pytest
from repositories import Repo

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.objects import alternates
from yaadwatch.system.git.objects.store import Objects
from yaadwatch.system.git.objects.trees import COMMIT
from yaadwatch.system.git.tree_cache import TreeCache

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")


@pytest.fixture
def lender(new_repo):
    """A repository with a packed commit."""
    repo = new_repo("lender")
    repo.add("a.py", "one = 1\n")
    repo.git("gc", "-q")
    return repo


@pytest.fixture
def borrower(lender):
    """A shared clone of it."""
    return borrowed(lender, "borrower")


def borrowed(lender, name):
    twin = Repo(lender.path.parent / name)
    lender.git("clone", "-q", "--shared", str(lender.path), str(twin.path))
    return twin


def objects(repo):
    return repo.path / ".git/objects"


def said(repo):
    return objects(repo) / "info/alternates"


def opened(repo):
    return Objects.open(layouts.find(repo.path), TreeCache())


def commit(repo):
    return repo.git("rev-parse", "HEAD")


@pytest.mark.parametrize("how", ["as it is", "relative", "twice", "a comment", "one that is gone"])
def test_what_is_borrowed_is_read_here(lender, borrower, how):
    path = str(objects(lender))
    said(borrower).write_text(
        {
            "as it is": f"{path}\n",
            "relative": os.path.relpath(path, objects(borrower)),
            "twice": f"{path}\n{path}/../objects\n\n",
            "a comment": f"# mine\n{path}\n",
            "one that is gone": f"{lender.path}/nothing\n{path}\n",
        }[how]
    )
    found = opened(borrower)
    last = commit(lender)
    blob = lender.git("rev-parse", "HEAD:a.py")
    assert found.kind(last) == COMMIT
    assert found.blob_at(last, "a.py") == blob
    assert found.blob(blob, 100) == b"one = 1\n"
    assert found.kind("1" * 40) is None


def test_what_comes_later_is_read_wherever_it_comes(lender, borrower):
    found = opened(borrower)
    assert found.kind(commit(lender)) == COMMIT
    for repo in (lender, borrower):
        repo.add("b.py", f"path = {repo.path.name!r}\n")
        assert found.kind(commit(repo)) == COMMIT
        repo.git("gc", "-q")
        repo.add("c.py", f"path = {repo.path.name!r}\n")
        repo.git("gc", "-q")
        assert found.kind(commit(repo)) == COMMIT


def test_a_chain_is_followed_as_far_as_git_follows_it(lender):
    chain = [lender]
    while len(chain) <= alternates.DEPTH_MAX:
        chain.append(borrowed(chain[-1], f"twin{len(chain)}"))
        last = chain[-1]
        assert alternates.folders(str(objects(last))) == tuple(
            str(objects(one)) for one in reversed(chain)
        )
        assert opened(last).kind(commit(lender)) == COMMIT
    longer = borrowed(chain[-1], "longer")
    assert alternates.folders(str(objects(longer))) is None


def test_two_that_borrow_from_each_other_are_each_read_once(lender, borrower):
    said(lender).write_text(f"{objects(borrower)}\n")
    assert alternates.folders(str(objects(borrower))) == (
        str(objects(borrower)),
        str(objects(lender)),
    )
    assert opened(borrower).kind(commit(lender)) == COMMIT


def test_no_more_folders_than_so_many_are_looked_at(borrower, tmp_path):
    places = [tmp_path / f"more{number}" for number in range(alternates.FOLDERS_MAX)]
    for place in places:
        place.mkdir()
    said(borrower).write_text("".join(f"{place}\n" for place in places[:-1]))
    assert len(alternates.folders(str(objects(borrower)))) == alternates.FOLDERS_MAX
    said(borrower).write_text("".join(f"{place}\n" for place in places))
    assert alternates.folders(str(objects(borrower))) is None


@pytest.mark.parametrize("what", ["pipe", "link", "folder", "huge", "device", "quoted"])
@pytest.mark.parametrize("whose", ["own", "the lender's"])
def test_what_is_odd_is_left_to_git(lender, borrower, what, whose, tmp_path):
    place = said(borrower if whose == "own" else lender)
    place.unlink(missing_ok=True)
    if what == "pipe":
        os.mkfifo(place)
    elif what == "link":
        (tmp_path / "said").write_text(f"{objects(lender)}\n")
        place.symlink_to(tmp_path / "said")
    elif what == "folder":
        place.mkdir()
    elif what == "huge":
        with place.open("wb") as stream:
            stream.truncate(1024**3)
    elif what == "device":
        place.symlink_to("/dev/zero")
    else:
        place.write_text(f'"{objects(lender)}"\n')
    assert opened(borrower) is None


def test_a_relative_place_further_down_is_left_to_git(lender, borrower, new_repo):
    other = new_repo("other")
    said(lender).write_text(os.path.relpath(objects(other), objects(lender)))
    assert opened(borrower) is None


def test_a_relative_place_that_begins_with_no_dot_is_left_to_git(lender, borrower):
    """Libgit2 looks for it in the folder that this process runs in."""
    (objects(borrower) / "lent").symlink_to(objects(lender))
    said(borrower).write_text("lent\n")
    assert borrower.git("cat-file", "-t", commit(lender)) == "commit"
    found = opened(borrower)
    assert found is None or found.kind(commit(lender)) == COMMIT
    said(borrower).write_text("./lent\n")
    assert opened(borrower).kind(commit(lender)) == COMMIT


@pytest.mark.parametrize("place", ["file", "pipe"])
def test_a_place_that_is_no_folder_is_left_to_git(borrower, tmp_path, place):
    if place == "pipe":
        os.mkfifo(tmp_path / "place")
    else:
        (tmp_path / "place").write_text("")
    said(borrower).write_text(f"{tmp_path / 'place'}\n")
    assert opened(borrower) is None


def test_an_odd_pack_of_the_lender_is_left_to_git(lender, borrower):
    pack = objects(lender) / "pack/pack-x.idx"
    os.mkfifo(pack)
    assert opened(borrower) is None
    pack.unlink()
    found = opened(borrower)
    assert found.kind(commit(lender)) == COMMIT
    os.mkfifo(pack)
    with pytest.raises(YaadError, match="no plain file"):
        found.kind("1" * 40)


@ROOT
def test_objects_of_another_user_are_left_to_git(lender, borrower):
    os.chown(objects(lender), 12345, -1)
    assert opened(borrower) is None


def test_what_is_borrowed_from_elsewhere_meanwhile_is_not_opened(new_repo, tmp_path):
    """Loose objects are read without libgit2, which is opened for the first pack."""
    repo = new_repo("loose")
    repo.add("a.py", "one = 1\n")
    found = opened(repo)
    repo.git("gc", "-q")
    os.mkfifo(tmp_path / "pipe")
    said(repo).symlink_to(tmp_path / "pipe")
    with pytest.raises(YaadError) as refused:
        found.kind(commit(repo))
    assert refused.value.code is Code.UNAVAILABLE
