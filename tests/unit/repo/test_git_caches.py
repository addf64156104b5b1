"""What differs between commits is asked once, kept in a bound, and given up with the commits."""

import shutil

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from repositories import Repo

from yaadwatch.model.errors import YaadError
from yaadwatch.repo.changes import Cache
from yaadwatch.repo.repository import Repository, inside

TEXT = "".join(f"line {number}\n" for number in range(30))

answers = st.lists(st.tuples(st.sampled_from("abcdef"), st.binary(max_size=60)), max_size=40)


@given(answers)
@example([("a", b""), ("a", bytes(range(60)))])
def test_a_cache_holds_what_was_put_last_and_never_more_than_there_is_room_for(puts):
    cache, last = Cache(200, lambda key, value: len(value), largest=50), {}
    for key, value in puts:
        cache.put(key, value)
        last[key] = value
        kept = {one: cache.get(one) for one in last}
        assert all(found in (None, last[one]) for one, found in kept.items())
        assert sum(len(found) for found in kept.values() if found is not None) <= 200
        assert (kept[key] is None) is (len(value) > 50)


def test_the_entry_that_was_not_used_for_longest_is_dropped_first():
    cache = Cache(3)
    for key in "abc":
        cache.put(key, key)
    cache.get("a")
    cache.put("d", "d")

    assert [cache.get(key) for key in "abcd"] == ["a", None, "c", "d"]
    cache.clear()
    assert cache.get("a") is None


@given(
    st.sets(st.text(alphabet="ab/0.\U0001f600é", min_size=1, max_size=6)),
    st.text("ab/é", min_size=1),
)
def test_the_files_of_a_folder_are_those_that_begin_with_it(paths, folder):
    listed = sorted(paths)
    wanted = [path for path in listed if path == folder or path.startswith(f"{folder}/")]
    assert inside(listed, folder) == wanted


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
