"""Words of a work tree are found without git, and what is found is what git finds."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repositories import attributes_asked_for

from yaadwatch.repo import hunks
from yaadwatch.repo import words as repo_words

WORDS = ["retry", "retry_all", "--dry-run", "a.b", "b", "naïve", "two words", "C++", "mod_1.py"]
TEXTS = [
    "retry(1)\n",
    "retry_all b\n",
    "run --dry-run, or x--dry-run\n",
    "a.b.c retries mod_1.py\n",
    "naïve ab\n",
    "two words; C++\n",
    "x-retry\0retry\n",
    "",
]
NAMES = ["one.py", "src/two.py", "src/deep/three.md", "four.png", "mod_1.py"]
NEW = ["src/new.py", "new/newer.md", "ignored.py"]
names, texts = st.sampled_from(NAMES + NEW), st.sampled_from(TEXTS)
changes = st.one_of(
    st.tuples(st.just("write"), names, texts),
    st.tuples(st.just("delete"), names),
    st.tuples(st.just("link"), names),
    st.tuples(st.just("folder"), names),
    st.tuples(st.just("stage"), names),
)


def change(repo, what, name, said=""):
    path = repo.path / name
    if what == "stage":
        repo.git("add", "-A", check=False)
        return
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        path.rmdir()
    path.parent.mkdir(parents=True, exist_ok=True)
    if what == "write":
        path.write_text(said)
    elif what == "link":
        path.symlink_to(repo.path / "aim.txt")
    elif what == "folder":
        path.mkdir()


@pytest.fixture
def kept(repo, runner):
    for at, name in enumerate(NAMES):
        repo.write(name, TEXTS[at])
    repo.write("aim.txt", "retry\n")
    repo.write(".gitignore", "/ignored.py\n")
    repo.commit()
    for _ in range(repo_words.SEARCHES_MIN):
        repo.open(runner).files_with(["retry"])
    return repo


def asked(repo, runner, words, *, untracked=False):
    """Return what is found, and what git finds."""
    opened = repo.open(runner)
    found = opened.files_with(words, untracked=untracked, whole=False)
    by_git = hunks.files_with(opened._git, words, at=None, untracked=untracked, whole=False)
    return found, by_git


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(changes, st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), st.booleans()),
        max_size=4,
    )
)
def test_whatever_changes_the_same_is_found_as_by_git(kept, runner, done):
    kept.git("reset", "-q", "--hard")
    kept.git("clean", "-qfd")
    for what, words, untracked in done:
        change(kept, *what)
        found, by_git = asked(kept, runner, words, untracked=untracked)
        # What the index has as a link git does not read, though it may be a file by now; unless
        # it looks at the files that it does not know, too.
        links = {
            line.partition("\t")[2]
            for line in kept.git("ls-files", "-s").splitlines()
            if line.startswith("120000 ") and not untracked
        }
        assert by_git == {
            word: [path for path in paths if path not in links] for word, paths in found.items()
        }


def test_many_words_are_looked_for_in_one_look_the_first_time(repo, runner, monkeypatch):
    for at, name in enumerate(NAMES):
        repo.write(name, TEXTS[at])
    repo.commit()
    many = [f"word_{number}" for number in range(repo_words.SEARCHES_MIN * hunks.WORDS_PER_SCAN)]
    looked, questions = [], []
    by_git, answer = hunks.files_with, repo_words._Question.answer
    monkeypatch.setattr(
        hunks,
        "files_with",
        lambda git, words, **kw: looked.append(words) or by_git(git, words, **kw),
    )
    monkeypatch.setattr(
        repo_words._Question,
        "answer",
        lambda one: questions.append(len(one.wanted)) or answer(one),
    )

    found = repo.open(runner).files_with([*many, "☂", "retry"])

    assert {word: paths for word, paths in found.items() if paths} == {"retry": ["one.py"]}
    assert set(found) == {*many, "☂", "retry"}
    assert (questions, looked) == ([len(many) + 1], [["☂"]])


def test_a_few_words_are_looked_for_by_git_the_first_time(repo, runner, monkeypatch):
    repo.write("one.py", "retry\n")
    repo.commit()
    questions = []
    monkeypatch.setattr(repo_words._Question, "answer", questions.append)

    for _ in range(repo_words.SEARCHES_MIN):
        assert repo.open(runner).files_with(["retry"]) == {"retry": ["one.py"]}

    assert questions == []


def test_what_the_index_has_as_a_link_is_read_when_it_is_a_file_now(kept, runner):
    change(kept, "link", "one.py")
    change(kept, "stage", "one.py")
    change(kept, "write", "one.py", "retry\n")

    assert asked(kept, runner, ["retry"]) == (
        {"retry": ["aim.txt", "one.py"]},
        {"retry": ["aim.txt"]},
    )


def test_git_is_not_asked_again_and_again(kept, runner, monkeypatch):
    kept.open(runner).files_with(["retry"])
    commands = []
    run = runner.run
    monkeypatch.setattr(
        runner, "run", lambda arguments, **kw: commands.append(arguments) or run(arguments, **kw)
    )

    assert kept.open(runner).files_with(["retry"]) == {"retry": ["aim.txt", "one.py"]}
    kept.write("src/two.py", "retry now\n")
    found = kept.open(runner).files_with(["retry", "nowhere"])

    assert found == {"retry": ["aim.txt", "one.py", "src/two.py"], "nowhere": []}
    assert commands == []


def test_new_files_are_looked_at_where_they_are_asked_for(kept, runner, monkeypatch):
    kept.write("src/new.py", "retry\n")
    kept.write("ignored.py", "retry\n")
    searches = []
    monkeypatch.setattr(hunks, "files_with", lambda git, words, **kw: searches.append(words) or {})
    opened = kept.open(runner)

    with_new = opened.files_with(["retry"], untracked=True)
    without = opened.files_with(["retry"])

    assert with_new == {"retry": ["aim.txt", "one.py", "src/new.py"]}
    assert without == {"retry": ["aim.txt", "one.py"]}
    assert searches == []


def test_a_tree_that_is_too_large_to_be_read_at_once_is_read_bit_by_bit(kept, runner, monkeypatch):
    later = kept.path.stat().st_mtime_ns + 3600 * 10**9
    monkeypatch.setattr(runner, "now_ns", lambda: later)
    monkeypatch.setattr(repo_words, "AT_ONCE_BYTES", max(map(len, TEXTS)))
    search, searches = hunks.files_with, []
    monkeypatch.setattr(
        hunks,
        "files_with",
        lambda git, words, **kw: searches.append(words) or search(git, words, **kw),
    )

    for _ in range(len(NAMES) + 2):
        found = kept.open(runner).files_with(["retry"])
        assert found == {"retry": ["aim.txt", "one.py"]}

    assert 0 < len(searches) < len(NAMES) + 2


def test_trees_that_are_too_many_files_together_are_not_kept_together(kept, new_repo, runner):
    other = new_repo("other")
    other.add("a.py", "retry\n")
    there = other.path.resolve(), ["a.py"], ["retry"], 0

    assert kept.open(runner).files_with(["retry"]) == {"retry": ["aim.txt", "one.py"]}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(repo_words, "PATHS_MAX", len(NAMES))
        assert runner.standing.files_with(*there) == {"retry": ["a.py"]}

    assert list(runner.standing._trees) == [other.path.resolve()]


def test_a_change_that_keeps_size_and_time_is_seen(kept, runner):
    path = kept.write("src/two.py", "retry\n")
    there = path.stat()
    assert asked(kept, runner, ["retry"])[0]["retry"] == ["aim.txt", "one.py", "src/two.py"]
    other = kept.path / "src/other"
    other.write_text("other\n")
    os.utime(other, ns=(there.st_atime_ns, there.st_mtime_ns))
    other.replace(path)

    found, by_git = asked(kept, runner, ["retry", "other"])

    assert found == by_git == {"retry": ["aim.txt", "one.py"], "other": ["src/two.py"]}


@pytest.mark.parametrize("what", ["write", "delete", "link", "folder", "mode"])
def test_a_tree_that_was_at_rest_is_looked_at_all_the_same(repo, what):
    """What was known of all of its files at once goes when one of them looks otherwise."""
    paths = ["one.py", "src/two.py", "src/three.py"]
    for path in paths:
        repo.write(path, "retry\n")
    repo.write("aim.txt", "retry\n")
    later = (repo.path / "aim.txt").stat().st_ctime_ns + 3_600 * 10**9
    kept = repo_words.WordFilter()

    def found(word="retry"):
        return kept.files_with(repo.path, paths, [word], later)[word]

    for _ in range(3):
        assert found() == sorted(paths)
    if what == "mode":
        (repo.path / "src/two.py").chmod(0o755)
    else:
        change(repo, what, "src/two.py", "other\n")

    left = sorted(paths) if what == "mode" else ["one.py", "src/three.py"]
    for _ in range(3):
        assert found() == left
    assert found("other") == (["src/two.py"] if what == "write" else [])
    change(repo, "delete", "src/three.py")
    change(repo, "write", "src/three.py", "retry\n")
    for _ in range(3):
        assert found() == left


@pytest.mark.parametrize("place", [".gitattributes", "src/.gitattributes", ".git/info/attributes"])
def test_where_attributes_say_what_is_a_text_git_is_asked(kept, runner, place):
    kept.write("src/two.py", "retry\n")
    kept.write(place, "*.py binary\n")
    kept.git("add", "-A")

    found, by_git = asked(kept, runner, ["retry"])

    assert found == by_git
    assert "src/two.py" not in found["retry"]


@pytest.mark.parametrize("staged", [True, False])
@pytest.mark.parametrize("place", ["src/.gitattributes", "src/deep/.gitattributes"])
def test_attributes_that_git_does_not_track_are_obeyed_as_git_does(kept, runner, place, staged):
    kept.write("src/deep/er/five.py", "retry\n")
    kept.write(".git/info/exclude", "" if staged else ".gitattributes\n")
    kept.git("add", "-A")
    assert "src/deep/er/five.py" in asked(kept, runner, ["retry"])[0]["retry"]
    kept.write(place, "*.py binary\n")
    if staged:
        kept.git("add", "-A")

    found, by_git = asked(kept, runner, ["retry"])

    assert found == by_git
    assert "src/deep/er/five.py" not in found["retry"]


def test_no_folder_without_the_word_is_looked_into_for_attributes(kept, runner, monkeypatch):
    """What a statement costs would grow with the tree."""
    for number in range(30):
        kept.write(f"in{number}/a.py", "other\n")
    kept.write("here/a.py", "retries\n")
    kept.write("attributes/.gitattributes", "*.js binary\n")
    kept.git("add", "-A")
    opened = kept.open(runner)
    asked_in = attributes_asked_for(monkeypatch)

    assert opened.files_with(["retries"]) == {"retries": ["here/a.py"]}
    top = Path(opened.layout.root)
    assert asked_in == {top, top / "attributes", top / "here"}


def test_a_tree_that_is_being_read_keeps_no_other_question_waiting(kept, new_repo, runner):
    other = new_repo("other")
    other.add("a.py", "retry\n")
    for _ in range(repo_words.SEARCHES_MIN + 1):
        assert other.open(runner).files_with(["retry"]) == {"retry": ["a.py"]}
    kept.open(runner).files_with(["retry"])
    (reading,) = [
        tree.reading for root, tree in runner.standing._trees.items() if root.samefile(kept.path)
    ]

    with reading:
        found, by_git = asked(kept, runner, ["retry"])
        assert other.open(runner).files_with(["retry"]) == {"retry": ["a.py"]}

    assert found == by_git == {"retry": ["aim.txt", "one.py"]}


def test_files_of_too_many_words_are_read_again_until_they_are_too_much(kept, runner, monkeypatch):
    many = "".join(f"word{number} retry\n" for number in range(repo_words.WORDS_MAX + 1))
    kept.write("src/two.py", many)
    later = kept.path.stat().st_mtime_ns + 3600 * 10**9
    monkeypatch.setattr(runner, "now_ns", lambda: later)
    words = ["retry", f"word{repo_words.WORDS_MAX}", "nowhere"]
    for _ in range(2):
        found, by_git = asked(kept, runner, words)
        assert found == by_git
    looked = []
    monkeypatch.setattr(hunks, "files_with", lambda git, words, **kw: looked.append(words) or {})

    assert kept.open(runner).files_with(words) == found
    assert looked == []
    monkeypatch.setattr(repo_words, "AGAIN_BYTES_MAX", len(many) - 1)
    kept.open(runner).files_with(words)
    assert looked == [words]


@given(st.binary(max_size=300), st.integers(min_value=1, max_value=20))
def test_no_word_is_lost_where_a_file_is_looked_at_in_pieces(data, piece):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(repo_words, "_PIECE_BYTES", piece)
        held = repo_words._bits(repo_words._words_of(data))
    for word in repo_words._WORD.findall(data):
        assert all(held[at] & bit for at, bit in repo_words._slots([word]))


@pytest.mark.parametrize(
    "what", ["a long list of files", "a large file", "a large tree", "a word of no letters"]
)
def test_what_is_too_much_is_left_to_git(kept, runner, monkeypatch, what):
    words = ["☂"] if what == "a word of no letters" else ["retry"]
    monkeypatch.setattr(repo_words, "PATHS_MAX", 2 if "list" in what else 100)
    monkeypatch.setattr(repo_words, "TEXT_BYTES_MAX", 3 if "file" in what else 1000)
    monkeypatch.setattr(repo_words, "TREE_BYTES_MAX", 3 if "tree" in what else 10_000)
    kept.write("one.py", "retry ☂\n")
    looked = []
    monkeypatch.setattr(hunks, "files_with", lambda git, words, **kw: looked.append(words) or {})

    kept.open(runner).files_with(words)

    assert looked == [words]


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_is_told_not_to_look_at_is_found_as_by_git(kept, runner, flag):
    kept.git("update-index", flag, "one.py")
    kept.write("one.py", "something_else\n")

    found = kept.open(runner).files_with(["retry", "something_else"])

    git = hunks.files_with(
        kept.open(runner)._git, ["retry", "something_else"], at=None, untracked=False, whole=True
    )
    assert found == git
    assert "one.py" not in found["something_else"]


def test_attributes_of_its_own_that_are_a_link_leave_it_to_git(kept, runner, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("*.py binary\n")
    (kept.path / ".git/info").mkdir(exist_ok=True)
    (kept.path / ".git/info/attributes").symlink_to(rules)

    assert kept.open(runner).files_with(["retry"]) == {"retry": ["aim.txt"]}
