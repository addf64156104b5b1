"""Whether git is asked or not, the files of the names that somebody wants are the same."""

import os
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import Repo

from yaadwatch.repo.command import GitRunner
from yaadwatch.repo.recent_changes import FOLDERS_MAX, Below
from yaadwatch.repo.repository import Repository

EXAMPLES = 30
"""Each runs git a dozen times."""

folders = st.sampled_from(["", "a", "a/b", ".dot/c", "out", "vendor/d", "a/vendor"])
paths = st.builds("/".join, st.tuples(folders, st.sampled_from(["AGENTS.md", "x.py"])))
steps = st.one_of(
    st.tuples(st.just("write"), paths),
    st.tuples(st.just("delete"), paths),
    st.tuples(st.just("track"), paths),
    st.tuples(st.just("link"), paths),
    st.tuples(st.just("ask"), st.booleans()),
)


def wants(path):
    return path.endswith("/AGENTS.md")


def passed(name):
    return name == "vendor"


def git_says(repo):
    """Return the files of those names that git tracks or would, as far as they are there."""
    listed = repo.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return {path for path in listed.split("\0") if counts(repo, path)}


def counts(repo, path):
    there = repo.path.joinpath(path)
    inside = "vendor" not in path.split("/")
    return bool(path) and wants(path) and inside and (there.is_symlink() or there.exists())


def do(repo, step, path):
    file = repo.path / path.lstrip("/")
    if step == "delete":
        file.unlink(missing_ok=True)
    elif not os.path.lexists(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to("nowhere") if step == "link" else file.write_text("text")
    if step == "track" and not path.startswith("out"):
        repo.git("add", "-f", path.lstrip("/"))


def made(folder):
    repo = Repo.new(Path(folder))
    repo.write(".gitignore", "out/\n")
    return repo


class Counted(Repository):
    """A repository that counts how often git is asked for files."""

    asked = 0

    def tracked(self, folder=""):
        self.asked += 1
        return super().tracked(folder)

    def untracked(self):
        self.asked += 1
        return super().untracked()


@given(st.lists(steps, max_size=10))
@settings(max_examples=EXAMPLES)
def test_a_thorough_look_finds_what_git_says_is_there(given_steps):
    runner = GitRunner(timedelta(seconds=30))
    with TemporaryDirectory() as folder:
        repo = made(folder)
        known = Below()
        for step, given_ in (*given_steps, ("ask", True)):
            if step != "ask":
                do(repo, step, given_)
                continue
            repository = Repository(repo.layout, runner)
            found = known.names(repository, wants, passed=passed, thorough=given_)
            told = {path for path in found if counts(repo, path)}
            assert told <= git_says(repo)
            assert told == git_says(repo) or not given_


def test_git_is_not_asked_where_no_such_file_is_there(repo, runner):
    repo.add("a/x.py", "text")
    repository = Counted(repo.layout, runner)

    assert Below().names(repository, wants, passed=passed, thorough=True) == ()
    assert repository.asked == 0


def test_git_is_asked_where_there_are_too_many_folders_to_look_into(repo, runner):
    for number in range(FOLDERS_MAX):
        repo.write(f"a{number}/x.py", "text")
    repo.write("z/z/AGENTS.md", "text")
    repository = Counted(repo.layout, runner)

    found = Below().names(repository, wants, passed=passed, thorough=True)

    assert found == ("z/z/AGENTS.md",)
    assert repository.asked == 2


def test_what_git_tracks_is_found_when_its_index_changed(repo, runner):
    known = Below()
    repository = Repository(repo.layout, runner)
    repo.add("x.py", "text")
    assert known.names(repository, wants, passed=passed, thorough=True) == ()

    repo.add("a/AGENTS.md", "text")
    found = known.names(repository, wants, passed=passed, thorough=False)

    assert found == ("a/AGENTS.md",)
