"""Words and changes are found the short way; it finds what the long way finds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import Repo

from yaadwatch.repo import changes
from yaadwatch.repo.command import GitFailed, GitRunner
from yaadwatch.repo.words import WORDS_PER_SCAN, words_in
from yaadwatch.staleness.commits import Window
from yaadwatch.staleness.git_queries import History

WORDS = ["retry", "retry_all", "--dry-run", "a.b", "b", "naïve", "two words", "C++", "x-retry"]
TEXTS = [
    "retry_all " * 40 + "\n",
    "retry_all " * 40 + "retry\n",
    "retry(1)\n",
    "retry_all b\n",
    "run --dry-run, or x--dry-run\n",
    "a.b.c retries\n",
    "naïve ab\n",
    "two words; C++\n",
    "x-retry\0retry\n",
    "",
]


def counted(monkeypatch, runner):
    """Return the list of the git commands that will be run."""
    commands = []
    run = runner.run

    def noted(arguments, **options):
        commands.append(arguments[0])
        return run(arguments, **options)

    monkeypatch.setattr(runner, "run", noted)
    return commands


@pytest.fixture
def grown(new_repo):
    """A repository of forty files, and its commits: all, then one changed, added and removed."""
    repo = new_repo("repo")
    for number in range(40):
        repo.write(f"src/part{number % 4}/file{number}.py", f"retry({number})\nname{number}\n")
    first = repo.commit()
    repo.write("src/part0/file0.py", "name0\n")
    repo.write("src/new/file.py", "x\nretry_all\nname1\n")
    (repo.path / "src/part1/file1.py").unlink()
    return repo, first, repo.commit()


@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), text=st.sampled_from(TEXTS))
@settings(deadline=None, max_examples=40)
def test_a_word_stands_in_bytes_where_a_search_finds_it(searched, words, text):
    places, opened, commit = searched

    found = opened.files_with(words, at=commit)

    assert {word for word in words if places[text] in found[word]} == set(
        words_in(words, text.encode())
    )


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A repository with a file for each text, the names of these, and its commit."""
    repo = Repo.new(tmp_path_factory.mktemp("searched") / "repo")
    places = {text: f"file{number}" for number, text in enumerate(TEXTS)}
    for text, name in places.items():
        repo.write(name, text)
    commit = repo.commit()
    runner = GitRunner(Repo.TIMEOUT)
    yield places, repo.open(runner), commit
    runner.close()


def test_a_git_without_the_expressions_of_perl_finds_the_same(grown, runner, monkeypatch):
    repo, first, last = grown
    words = ["retry", "name7", "nowhere"]
    expected = [repo.open(runner).files_with(words, at=at) for at in (first, last)]
    runner.found.clear()
    runner.searched.clear()
    refused = []
    run = runner.run

    def built_without(arguments, **options):
        if "-P" in arguments:
            refused.append(arguments)
            why = "fatal: cannot use Perl-compatible regexes when not compiled with USE_LIBPCRE"
            raise GitFailed("grep", 128, why, [why])
        return run(arguments, **options)

    monkeypatch.setattr(runner, "run", built_without)
    found = [repo.open(runner).files_with(words, at=at) for at in (first, last)]

    assert found == expected
    assert len(refused) == 1


def test_a_later_job_does_not_search_a_commit_again(grown, runner, monkeypatch):
    repo, first, last = grown
    words = ["retry", "retry_all", "name1", "nowhere"]
    expected = {at: History(repo.open(runner)).files_by_word(words, at=at) for at in (first, last)}
    repo.write("src/part0/file0.py", "nowhere\nretry\n")
    newer = repo.commit()
    commands = counted(monkeypatch, runner)

    again = {at: History(repo.open(runner)).files_by_word(words, at=at) for at in (first, last)}
    derived = History(repo.open(runner)).files_by_word(words, at=newer)

    assert again == expected
    assert "grep" not in commands
    anew = GitRunner(Repo.TIMEOUT)
    assert derived == repo.open(anew).files_with(words, at=newer)
    anew.close()


def test_a_rewritten_history_does_not_lead_to_what_is_gone(grown, runner):
    """The commit that was searched is no more, and is not compared with."""
    repo, first, last = grown
    History(repo.open(runner)).files_by_word(["retry"], at=last)
    repo.git("reset", "-q", "--hard", first)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")

    assert len(History(repo.open(runner)).files_by_word(["retry"], at=first)["retry"]) == 40


def test_what_is_not_the_whole_of_a_commit_is_not_kept(grown, runner):
    """A text that is missing now may be there later."""
    repo, first, _ = grown
    blob = repo.git("rev-parse", f"{first}:src/part0/file0.py").strip()
    place = repo.path / ".git/objects" / blob[:2] / blob[2:]
    data = place.read_bytes()
    place.unlink()
    before = repo.open(runner).files_with(["retry"], at=first, whole=False)["retry"]
    place.write_bytes(data)

    after = repo.open(runner).files_with(["retry"], at=first, whole=False)["retry"]

    assert (len(before), len(after)) == (39, 40)


@pytest.mark.parametrize("near", [True, False])
def test_what_is_named_as_a_picture_is_not_searched(grown, runner, near):
    """Not in a search, and not in what changed since another search."""
    repo, first, _ = grown
    repo.write("src/logo.png", "retry in a text\n")
    repo.write("src/logo.txt", "retry in a text\n")
    repo.write("png", "retry in a text\n")
    last = repo.commit()
    history = History(repo.open(runner))
    if near:
        history.files_by_word(["retry"], at=first)

    found = history.files_by_word(["retry"], at=last)["retry"]

    assert {"src/logo.txt", "png"} <= set(found)
    assert "src/logo.png" not in found


def test_attributes_of_the_repository_have_precedence(grown, runner):
    repo, _, _ = grown
    repo.write("src/logo.png", "retry in a text\n")
    repo.write(".gitattributes", "*.png diff\n")
    repo.commit()

    assert "src/logo.png" in repo.open(runner).files_with(["retry"])["retry"]


@pytest.mark.parametrize("storage", ["sha1", "sha256"])
def test_what_differs_is_what_git_says_differs(new_repo, runner, storage):
    repo = new_repo("repo", f"--object-format={storage}")
    repo.write("kept/a.py", "a\n")
    repo.write("changed.py", "a\n")
    repo.write("gone/deep/b.py", "b\n")
    repo.write("run.sh", "true\n")
    repo.write("file", "now a folder\n")
    repo.write("folder/inside", "now a file\n")
    repo.write("real", "now a link\n")
    first = repo.commit()
    for name in ("gone/deep/b.py", "file", "folder/inside", "real"):
        (repo.path / name).unlink()
    (repo.path / "folder").rmdir()
    repo.write("changed.py", "b\n")
    repo.write("folder", "a file\n")
    repo.write("file/inside", "x\n")
    repo.write("file.py", "sorted between the two\n")
    (repo.path / "run.sh").chmod(0o755)
    (repo.path / "real").symlink_to("kept")
    last = repo.commit()
    opened = repo.open(runner)

    for old, new in ((first, last), (last, first), (first, first)):
        told = repo.git("diff-tree", "-r", "-z", "--raw", "--no-abbrev", old, new)
        every = changes.parsed(told.encode())
        assert opened.differing(old, new) == every
        assert opened.differing_little(old, new, len(every)) == every
        if every:
            assert opened.differing_little(old, new, len(every) - 1) is None
        history = History(opened)
        history.listing(old)
        history.differing(old, new)
        listed = repo.git("ls-tree", "-r", "-z", "--name-only", new).split("\0")
        assert sorted(history.listing(new).every()) == sorted(filter(None, listed))
    assert opened.has_folder(last, "file")
    assert not opened.has_folder(last, "folder")
    assert not opened.has_folder(last, "fil")


def test_a_rename_is_found_and_without_one_git_is_not_started(grown, runner, monkeypatch):
    repo, first, _ = grown
    repo.git("reset", "-q", "--hard", first)
    repo.write("src/part2/file2.py", "other\n")
    edited = repo.commit()
    repo.move("src/part3/file3.py", "src/elsewhere.py")
    moved = repo.commit()
    history = History(repo.open(runner))
    commands = counted(monkeypatch, runner)

    assert [one.new for one in history.file_changes(first, edited)] == ["src/part2/file2.py"]
    assert commands == []
    (change,) = history.file_changes(edited, moved)
    assert (change.old, change.new) == ("src/part3/file3.py", "src/elsewhere.py")


def test_a_commit_near_one_that_was_searched_is_not_searched_itself(grown, runner, monkeypatch):
    repo, first, last = grown
    words = ["retry", "retry_all", "name1", "name7", "nowhere"]
    expected = {at: repo.open(runner).files_with(words, at=at) for at in (first, last)}
    runner.found.clear()
    runner.searched.clear()
    history = History(repo.open(runner))
    commands = counted(monkeypatch, runner)

    found = {at: history.files_by_word(words, at=at) for at in (first, last)}

    assert found == expected
    assert commands.count("grep") == 1


def test_what_is_expected_is_looked_for_in_the_same_search(grown, runner, monkeypatch):
    repo, first, last = grown
    history = History(repo.open(runner))
    commands = counted(monkeypatch, runner)

    history.expect(["name1"])
    history.files_by_word(["retry"], at=first)

    assert history.files_by_word(["name1"], at=last) == {"name1": ["src/new/file.py"]}
    assert commands.count("grep") == 1


def test_a_commit_far_from_one_that_was_searched_is_searched(grown, runner, monkeypatch):
    repo, first, _ = grown
    for number in range(30):
        repo.write(f"src/part{number % 4}/file{number}.py", f"all new {number}\n")
    last = repo.commit()
    history = History(repo.open(runner))
    commands = counted(monkeypatch, runner)

    history.files_by_word(["retry"], at=first)

    assert len(history.files_by_word(["retry"], at=last)["retry"]) == 10
    assert commands.count("grep") == 2


def test_many_words_are_found_by_reading_each_text_once(grown, runner, monkeypatch):
    repo, first, last = grown
    for number, text in enumerate(TEXTS):
        repo.write(f"texts/file{number}", text)
    (repo.path / "link").symlink_to("texts/file0")
    newest = repo.commit()
    words = [*WORDS, *(f"name{number}" for number in range(40)), "", "a\nb"]
    words += [f"nowhere{number}" for number in range(3 * WORDS_PER_SCAN)]
    expected = {at: repo.open(runner).files_with(words, at=at) for at in (first, last, newest)}
    runner.found.clear()
    runner.searched.clear()
    history = History(repo.open(runner))
    commands = counted(monkeypatch, runner)

    found = {at: history.files_by_word(words, at=at) for at in (newest, first, last)}

    assert found == expected
    assert "grep" not in commands


def test_the_uses_of_a_word_do_not_depend_on_what_was_searched_before(grown, runner):
    repo, first, last = grown
    words = ["retry", "name1", "name0"]
    fresh = Window(History(repo.open(runner)), first, last)
    history = History(repo.open(runner))
    history.files_by_word(words, at=first)
    known = Window(history, first, last)

    for word in words:
        assert known.uses(word) == fresh.uses(word)
    assert fresh.uses("retry").lost == ["src/part0/file0.py", "src/part1/file1.py"]


def test_only_changed_files_that_named_a_word_are_read(grown, runner, monkeypatch):
    repo, first, last = grown
    history = History(repo.open(runner))
    history.files_by_word(["name1"], at=first)
    window = Window(history, first, last)
    read = []
    read_blob = history.read_blob
    monkeypatch.setattr(history, "read_blob", lambda blob: read.append(blob) or read_blob(blob))

    assert window.uses("name1").lost == ["src/part1/file1.py"]
    assert len(read) == 1


def test_what_is_known_to_stand_nowhere_is_not_stirred_and_no_change_is_looked_at(
    grown, runner, monkeypatch
):
    repo, first, last = grown
    runner.found.clear()
    runner.searched.clear()
    for commit in (first, last):
        History(repo.open(runner)).files_by_word(["nowhere", "name7"], at=commit)
    window = Window(History(repo.open(runner)), first, last)
    read = []
    read_blob = window.history.read_blob
    monkeypatch.setattr(
        window.history, "read_blob", lambda blob: read.append(blob) or read_blob(blob)
    )

    assert window.stirred([], ["nowhere"]) == set()
    assert read == []
    assert window.stirred(["nowhere"], ["name7"]) == set()
    assert read


def test_words_that_left_one_file_for_another_came_up_there_and_others_did_not(new_repo, runner):
    repo = new_repo("repo")
    first = repo.add("src/a.py", "retry_all()\nbackoff()\ndropped()\nkept()\n")
    repo.write("src/a.py", "kept()\n")
    repo.write("src/b.py", "backoff()\n" * 30)
    repo.write("src/c.py", "retry_all()\n" * 30)
    window = Window(History(repo.open(runner)), first, repo.commit())
    window.expect(["retry_all", "backoff", "dropped", "kept"])

    came = {word: window.comes_up(word) for word in ("dropped", "retry_all", "backoff", "kept")}

    assert [word for word in came if window.uses(word).lost] == ["dropped", "retry_all", "backoff"]
    assert came == {"dropped": False, "retry_all": True, "backoff": True, "kept": False}


@pytest.mark.parametrize("perl", [True, False])
def test_a_word_inside_a_longer_one_is_found_beside_a_letter_that_is_not_ascii(
    new_repo, runner, perl
):
    repo = new_repo("repo")
    commit = repo.add("a.txt", "naïve.retry\n")
    opened = repo.open(runner)
    opened.git.has_perl = perl

    assert opened.files_with(["ve", "naïve.retry"], at=commit) == {
        "ve": ["a.txt"],
        "naïve.retry": ["a.txt"],
    }


@pytest.mark.parametrize("where", [".gitattributes", "in/.gitattributes", ".git/info/attributes"])
@pytest.mark.parametrize("rule", ["*.py binary", "*.md text\n*.py -diff -text"])
def test_a_file_that_attributes_call_no_text_is_not_found(new_repo, runner, where, rule):
    repo = new_repo("repo")
    repo.write("in/a.py", "retry\n")
    repo.write("in/a.md", "retry\n")
    repo.write(where, rule + "\n")
    commit = repo.commit()

    assert repo.open(runner).files_with(["retry"], at=commit) == {"retry": ["in/a.md"]}


@pytest.mark.parametrize("name", ["uv.lock", "package-lock.json", "a.min.js", "a.snap", "a.svg"])
def test_a_generated_file_is_no_use_of_a_word(new_repo, runner, name):
    repo = new_repo("repo")
    repo.write("in/a.py", "retry\n")
    repo.write(f"in/{name}", "retry\n")
    commit = repo.commit()

    assert repo.open(runner).files_with(["retry"], at=commit) == {"retry": ["in/a.py"]}
    assert repo.open(runner).files_with(["retry"]) == {"retry": ["in/a.py"]}


def test_a_file_that_attributes_call_no_text_is_not_carried_from_a_near_commit(new_repo, runner):
    repo = new_repo("repo")
    repo.write(".gitattributes", "*.made.js -diff\n")
    for number in range(9):
        repo.write(f"src/a{number}.js", "retry\n")
    first = repo.commit()
    repo.write("b.made.js", "retry\n")
    second = repo.add("b.js", "retry\n")
    history = History(repo.open(runner))
    history.files_by_word(["retry"], at=first)

    found = history.files_by_word(["retry"], at=second)["retry"]

    assert [path for path in found if path.startswith("b")] == ["b.js"]
