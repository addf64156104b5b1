"""What differs between commits is asked once, kept in a bound, and given up with the commits."""

import shutil
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from repositories import Repo

from yaadwatch.model.errors import YaadError
from yaadwatch.system.git.diff_cache import Compared
from yaadwatch.system.git.index_cache import inside
from yaadwatch.system.git.repository import Repository

TEXT = "".join(f"line {number}\n" for number in range(30))

answers = st.lists(st.tuples(st.sampled_from("abcdef"), st.binary(max_size=60)), max_size=40)


@given(answers)
@example([("a", b""), ("a", bytes(range(60)))])
def test_what_is_kept_is_what_was_said_last_and_never_more_than_there_is_room_for(told):
    kept, last = Compared(bytes_max=200), {}
    for question, answer in told:
        kept.keep(Path("/repo"), (question,), answer)
        last[question] = answer
        known = {one: kept.known(Path("/repo"), (one,)) for one in last}
        assert all(said in (None, last[one]) for one, said in known.items())
        assert sum(len(said) > 40 for said in known.values() if said is not None) <= 5


@given(
    st.sets(st.text(alphabet="ab/0.\U0001f600é", min_size=1, max_size=6)),
    st.text("ab/é", min_size=1),
)
def test_the_files_of_a_folder_are_those_that_begin_with_it(paths, folder):
    listed = sorted(paths)
    wanted = [path for path in listed if path == folder or path.startswith(f"{folder}/")]
    assert inside(listed, folder) == wanted


def test_one_that_was_used_lately_stays():
    kept = Compared(bytes_max=120)
    noise = [bytes(range(at, at + 15)) for at in range(0, 150, 15)]
    kept.keep(Path("/repo"), ("first",), noise[0])
    for at, said in enumerate(noise[1:]):
        assert kept.known(Path("/repo"), ("first",)) == noise[0]
        kept.keep(Path("/repo"), (f"{at}",), said)
    assert kept.known(Path("/repo"), ("0",)) is None
    assert kept.known(Path("/elsewhere"), ("first",)) is None


def renamed(new_repo):
    repo = new_repo("repo")
    old = repo.add("old.py", TEXT)
    repo.move("old.py", "new.py")
    return repo, old, repo.add("new.py", TEXT + "more\n")


def test_it_is_asked_once(new_repo, runner, monkeypatch):
    repo, old, new = renamed(new_repo)
    first = Repository(repo.layout, runner).file_changes(old, new)
    assert [(one.old, one.new) for one in first] == [("old.py", "new.py")]
    monkeypatch.setenv("PATH", "/nowhere")
    assert Repository(repo.layout, runner).file_changes(old, new) == first


def test_of_commits_that_are_gone_nothing_is_told(new_repo, runner):
    repo, old, new = renamed(new_repo)
    assert Repository(repo.layout, runner).file_changes(old, new)
    shutil.rmtree(repo.path / ".git")
    other = Repo.new(repo.path)
    other.add("a.py", TEXT)
    with pytest.raises(YaadError):
        Repository(other.layout, runner).file_changes(old, new)
