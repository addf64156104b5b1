"""The index of words answers what a search of the commit answers, and costs what changed."""

import os
import sqlite3
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import Repo, attributes_asked_for

from yaadwatch.core.references.tree import Tree
from yaadwatch.engine.git_queries import History
from yaadwatch.store import words as kept_words
from yaadwatch.store.words import Words
from yaadwatch.system.git import word_index
from yaadwatch.system.git.command import GitRunner

ASKED = ["retry", "Retry", "retry_all", "--dry-run", "a.b", "b", "naïve", "two words", "C++", "x-y"]
TEXTS = [
    b"retry(1)\n",
    b"Retry RETRY\n",
    b"retry_all b\n",
    b"run --dry-run, or x--dry-run\n",
    b"a.b.c retries\n",
    b"a\nb a-b\n",
    "naïve ab naïveté\n".encode(),
    "préretry “b” bé\n".encode(),
    b"two words; two  words C++\n",
    b"x-y\r\nx\xffretry\xfe\n",
    b"\0retry\n",
    b"x" * 9000 + b" retry\0b\n",
    b"",
]
ATTRIBUTES = [
    b"*.py binary\n",
    b"*.md -diff\n",
    b"*.png diff\n",
    b"*.py binary\n*.py diff\n",
    b"*.py -diff\nthree.py !diff\n",
    b"[attr]made -diff\n*.txt made\n",
    b"# *.py -diff\n*.py diff=python text\n",
]
NAMES = ["one.py", "two.md", "in/three.py", "in/four.png", "naïve.txt"]
SAYING = [".gitattributes", "in/.gitattributes"]
FILES = st.tuples(st.sampled_from(NAMES), st.none() | st.sampled_from(TEXTS))
RULES = st.tuples(st.sampled_from(SAYING), st.none() | st.sampled_from(ATTRIBUTES))
EDITS = st.lists(
    st.lists(FILES | FILES | FILES | RULES, max_size=5).map(dict),
    min_size=1,
    max_size=4,
)


@pytest.fixture
def words(tmp_path):
    return Words(tmp_path / "words")


@pytest.fixture
def keeping(words):
    """A runner with an index."""
    made = GitRunner(Repo.TIMEOUT, words)
    yield made
    made.close()


@pytest.fixture
def at_once(monkeypatch):
    """A repository gets its index at the first search."""
    monkeypatch.setattr(word_index, "COST", 0)


def searches(monkeypatch, runner):
    """Return the list of the searches that git will run."""
    found = []
    run = runner.run

    def noted(arguments, **options):
        if arguments[0] == "grep":
            found.append(arguments)
        return run(arguments, **options)

    monkeypatch.setattr(runner, "run", noted)
    return found


@given(edits=EDITS, order=st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=12)
def test_it_finds_in_every_commit_what_a_search_finds(tmp_path_factory, edits, order):
    folder = tmp_path_factory.mktemp("law")
    repo = Repo.new(folder / "repo")
    commits = [repo.commit()]
    for edit in edits:
        for name, text in edit.items():
            if text is not None:
                repo.write(name, text)
            else:
                (repo.path / name).unlink(missing_ok=True)
        commits.append(repo.commit())
    order.shuffle(commits)
    searching = GitRunner(Repo.TIMEOUT)
    asking = GitRunner(Repo.TIMEOUT, Words(folder / "words"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(word_index, "COST", 0)
        for commit in commits:
            expected = repo.open(searching).files_with(ASKED, at=commit)
            assert repo.open(asking).files_with(ASKED, at=commit) == expected
    asking.close()
    searching.close()


MENTIONED = [
    *(
        "one.py",
        "in/three.py",
        "three.py",
        "./two.md",
        "in",
        "in/",
        "nowhere/in/",
        "in/deep/",
        "deep/",
    ),
    *("x.y", ".env", "in/deep/one.py", "link", "naïve.txt", "", "..", "in//three.py", "*.py"),
]
PATTERNS = ["*.py", "in/*", "in/**/*.py", "**/one.*", "*.none", "in/deep/*.py", "o*e.*"]
CALLED = ["one", "one.py", "in", "deep", "x", "x.y", ".env", "env", "", "two", "nothing", "a.b"]
NAMED = st.tuples(
    st.sampled_from([*NAMES, "in/deep/one.py", "x.y", ".env", "a.b/c", "sub/in/x.py", "link"]),
    st.none() | st.just(b"text\n"),
)


def listed(tree):
    """Return all that can be asked of the files of a commit."""
    return (
        [[tree.match(one, folder=place) for one in MENTIONED] for place in ("", "in")],
        [[tree.match_folder(one, folder=place) for one in MENTIONED] for place in ("", "in")],
        [sorted(tree.matching(one)) for one in PATTERNS],
        [tree.is_name(one) for one in CALLED],
        [tree.named(one) for one in CALLED],
        sorted(tree.every()),
    )


@given(
    edits=st.lists(st.lists(NAMED, max_size=5).map(dict), min_size=1, max_size=4),
    order=st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=12)
def test_the_files_of_a_commit_are_those_that_git_lists(tmp_path_factory, edits, order):
    folder = tmp_path_factory.mktemp("law")
    repo = Repo.new(folder / "repo")
    commits = [repo.commit()]
    for edit in edits:
        for name, text in edit.items():
            (repo.path / name).unlink(missing_ok=True)
            if text is not None and name == "link":
                (repo.path / name).symlink_to("in")
            elif text is not None:
                repo.write(name, text)
        commits.append(repo.commit())
    order.shuffle(commits)
    runner = GitRunner(Repo.TIMEOUT, Words(folder / "words"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(word_index, "COST", 0)
        for commit in commits:
            opened = repo.open(runner)
            named = opened.named_at(commit)
            assert named is not None
            assert listed(Tree(named)) == listed(Tree.of(opened.paths_at(commit)))
    runner.close()


@pytest.mark.parametrize("where", [".gitattributes", "in/.gitattributes", ".git/info/attributes"])
@pytest.mark.parametrize("rule", ["*.py binary", "*.py -diff", "*.md text\n*.py -diff -text"])
def test_a_file_that_is_no_text_by_its_attributes_is_found_by_neither(
    new_repo, keeping, at_once, where, rule
):
    repo = new_repo("repo")
    repo.write("in/a.py", "retry\n")
    repo.write("in/a.md", "retry\n")
    repo.write(where, rule + "\n")
    commit = repo.commit()

    assert repo.open(keeping).files_with(["retry"], at=commit) == {"retry": ["in/a.md"]}


@pytest.mark.parametrize("name", ["uv.lock", "package-lock.json", "a.min.js", "a.snap", "a.svg"])
def test_what_a_program_wrote_for_programs_is_no_use_of_a_word(new_repo, keeping, runner, name):
    repo = new_repo("repo")
    repo.write("in/a.py", "retry\n")
    repo.write(f"in/{name}", "retry\n")
    commit = repo.commit()

    for opened in (repo.open(keeping), repo.open(runner)):
        assert opened.files_with(["retry"], at=commit) == {"retry": ["in/a.py"]}
        assert opened.files_with(["retry"]) == {"retry": ["in/a.py"]}


@pytest.mark.parametrize("staged", [True, False])
def test_attributes_that_no_commit_has_yet_count_for_a_commit_too(
    new_repo, keeping, at_once, staged
):
    repo = new_repo("repo")
    repo.write("in/a.py", "retry\n")
    commit = repo.commit()
    assert repo.open(keeping).files_with(["retry"], at=commit) == {"retry": ["in/a.py"]}
    repo.write("in/.gitattributes", "*.py binary\n")
    if staged:
        repo.git("add", "-A")
    assert repo.open(keeping).files_with(["retry"], at=commit) == {"retry": []}
    repo.write("in/.gitattributes", "*.py diff\n")

    opened = repo.open(keeping)

    assert opened.is_indexed(commit)
    assert opened.knows_words(commit) is not staged
    assert opened.files_with(["retry"], at=commit) == {"retry": ["in/a.py"]}


def test_no_folder_is_looked_into_for_attributes_that_git_does_not_track(
    new_repo, keeping, monkeypatch, at_once
):
    """What a verdict costs would grow with the tree."""
    repo = new_repo("repo")
    for number in range(30):
        repo.write(f"in{number}/a.py", "other\n")
    repo.write("attributes/.gitattributes", "*.js binary\n")
    commit = repo.add("here/a.py", "retry\n")
    repo.open(keeping).files_with(["retry"], at=commit)
    asked = attributes_asked_for(monkeypatch)

    assert repo.open(keeping).files_with(["retry"], at=commit) == {"retry": ["here/a.py"]}
    assert {folder.name for folder in asked} == {"repo", "attributes", "here"}


@pytest.mark.parametrize("rule", ["*.made.js -diff", "[attr]made binary\n*.made.js made"])
def test_what_only_is_no_text_by_its_attributes_is_left_out_without_a_search(
    new_repo, keeping, monkeypatch, at_once, rule
):
    repo = new_repo("repo")
    repo.write(".gitattributes", f"{rule}\n")
    repo.write("in/a.made.js", "retry\n")
    commit = repo.add("in/a.js", "retry\n")
    ran = searches(monkeypatch, keeping)

    opened = repo.open(keeping)

    assert opened.knows_words(commit)
    assert opened.files_with(["retry"], at=commit) == {"retry": ["in/a.js"]}
    assert ran == []


def test_attributes_that_git_tracks_and_that_are_not_there_leave_it_to_a_search(
    new_repo, keeping, at_once
):
    """A search does not look for them among what is staged; what else asks for them does."""
    repo = new_repo("repo")
    repo.write("in/.gitattributes", "*.py binary\n")
    commit = repo.add("in/a.py", "retry\n")
    (repo.path / "in/.gitattributes").unlink()

    opened = repo.open(keeping)

    assert not opened.knows_words(commit)
    assert opened.files_with(["retry"], at=commit) == {"retry": ["in/a.py"]}


@pytest.mark.parametrize("rule", ["*.py binary\n", "*.png diff\n*.py -diff\n"])
def test_attributes_in_a_folder_that_git_tracks_no_more_count_for_its_old_files(
    new_repo, keeping, at_once, rule
):
    repo = new_repo("repo")
    repo.write("old/a.py", "retry\n")
    commit = repo.add("a.py", "retry\n")
    (repo.path / "old/a.py").unlink()
    repo.commit()
    repo.write("old/.gitattributes", rule)

    assert repo.open(keeping).files_with(["retry"], at=commit) == {"retry": ["a.py"]}


def test_a_file_that_is_no_text_by_its_attributes_is_not_carried_from_a_near_commit(
    new_repo, runner
):
    repo = new_repo("repo")
    repo.write(".gitattributes", "*.made.js -diff\n")
    for number in range(9):
        repo.write(f"src/a{number}.js", "retry\n")
    first = repo.commit()
    repo.write("b.made.js", "retry\n")
    second = repo.add("b.js", "retry\n")
    history = History(repo.open(runner))
    history.standing(["retry"], at=first)

    found = history.standing(["retry"], at=second)["retry"]

    assert [path for path in found if path.startswith("b")] == ["b.js"]


def test_that_a_file_is_compared_as_a_language_leaves_it_to_the_index(
    new_repo, keeping, monkeypatch, at_once
):
    repo = new_repo("repo")
    repo.write(".gitattributes", "# *.py binary\n*.py text diff=python\n")
    commit = repo.add("a.py", "retry\n")
    ran = searches(monkeypatch, keeping)

    assert repo.open(keeping).files_with(["retry"], at=commit) == {"retry": ["a.py"]}
    assert ran == []


def test_a_repository_gets_it_when_it_was_searched_often(new_repo, keeping, monkeypatch):
    repo = new_repo("repo")
    for number in range(9):
        repo.write(f"b{number}.py", f"name{number}\n")
    commits = [repo.add("a.py", f"retry\nname{number}\n") for number in range(6)]
    ran = searches(monkeypatch, keeping)

    for commit in commits:
        assert repo.open(keeping).files_with(["retry"], at=commit) == {"retry": ["a.py"]}

    assert len(ran) == word_index.COST - 1


def test_far_commits_are_searched_until_it_would_have_been_worth_it(new_repo, keeping, monkeypatch):
    repo = new_repo("repo")
    for number in range(20):
        repo.write(f"src/file{number}.py", f"retry{number}\n")
    first = repo.commit()
    for number in range(12):
        repo.write(f"src/file{number}.py", f"again{number}\n")
    far = repo.commit()
    for _ in range(word_index.COST):
        keeping.remembered = type(keeping.remembered)()
        repo.open(keeping).files_with(["retry1"], at=first)
    ran = searches(monkeypatch, keeping)

    for word in ("again1", "again2", "again3"):
        assert repo.open(keeping).files_with([word], at=far) == {word: [f"src/file{word[5]}.py"]}
    assert len(ran) == 2


def test_from_one_commit_to_the_next_only_new_texts_are_read(
    new_repo, keeping, monkeypatch, at_once
):
    repo = new_repo("repo")
    for number in range(30):
        repo.write(f"src/file{number}.py", f"retry{number}\n")
    first = repo.commit()
    repo.move("src/file3.py", "src/moved.py")
    second = repo.add("src/file4.py", "retry5\nelse\n")
    added = []
    add = kept_words.Texts.add
    monkeypatch.setattr(
        kept_words.Texts,
        "add",
        lambda self, blob, data: (added.append(data), add(self, blob, data)),
    )

    assert repo.open(keeping).files_with(["retry3"], at=first) == {"retry3": ["src/file3.py"]}
    assert len(added) == 30
    asked = repo.open(keeping).files_with(["retry3", "retry5"], at=second)
    assert asked == {"retry3": ["src/moved.py"], "retry5": ["src/file4.py", "src/file5.py"]}
    assert added[30:] == [b"retry5\nelse\n"]
    assert repo.open(keeping).files_with(["retry4"], at=first) == {"retry4": ["src/file4.py"]}
    assert len(added) == 31


def test_only_its_owner_may_read_it(new_repo, keeping, words, tmp_path, at_once):
    repo = new_repo("repo")
    repo.open(keeping).files_with(["retry"], at=repo.add("a.py", "retry\n"))

    (file,) = (tmp_path / "words").iterdir()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_who_removes_a_repository_leaves_no_word_of_it(new_repo, keeping, words, tmp_path, at_once):
    repo = new_repo("repo")
    repo.open(keeping).files_with(["retry"], at=repo.add("a.py", "retry\n"))

    words.forget(repo.layout.common_dir)
    words.forget(repo.layout.common_dir)

    assert list((tmp_path / "words").iterdir()) == []


@pytest.mark.parametrize("damage", [b"no database", b""])
def test_a_damaged_one_is_made_anew(new_repo, keeping, tmp_path, at_once, monkeypatch, damage):
    repo = new_repo("repo")
    commit = repo.add("a.py", "retry\n")
    expected = {"retry": ["a.py"], "other": []}
    assert repo.open(keeping).files_with(list(expected), at=commit) == expected
    (file,) = (tmp_path / "words").iterdir()
    file.write_bytes(damage)

    assert repo.open(keeping).files_with(["other", "retry"], at=commit) == expected
    keeping.remembered = type(keeping.remembered)()
    ran = searches(monkeypatch, keeping)
    assert repo.open(keeping).files_with(["other", "retry"], at=commit) == expected
    assert ran == []


def test_one_of_another_program_is_made_anew(new_repo, keeping, tmp_path, at_once):
    repo = new_repo("repo")
    commit = repo.add("a.py", "retry\n")
    repo.open(keeping).files_with(["retry"], at=commit)
    (file,) = (tmp_path / "words").iterdir()
    file.unlink()
    with sqlite3.connect(file) as other:
        other.execute("PRAGMA user_version = 1")
        other.execute("CREATE TABLE texts (num)")
    other.close()

    for word in ("other", "again"):
        assert repo.open(keeping).files_with([word], at=commit) == {word: []}
    with keeping.indexes.use(repo.layout.common_dir) as kept:
        assert kept.covers(commit)


def test_pages_that_were_overwritten_give_no_other_answer(new_repo, keeping, tmp_path, at_once):
    repo = new_repo("repo")
    for number in range(200):
        repo.write(f"src/file{number}.py", f"retry name{number}\n")
    commit = repo.commit()
    expected = repo.open(keeping).files_with(["retry"], at=commit)
    (file,) = (tmp_path / "words").iterdir()
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    file.write_bytes(data)

    assert repo.open(keeping).files_with(["retry"], at=commit) == expected


def test_where_none_can_be_kept_the_files_are_searched(new_repo, tmp_path, at_once):
    repo = new_repo("repo")
    commit = repo.add("a.py", "retry\n")
    (tmp_path / "file").write_text("in the way")
    runner = GitRunner(Repo.TIMEOUT, Words(tmp_path / "file" / "words"))

    assert repo.open(runner).files_with(["retry"], at=commit) == {"retry": ["a.py"]}
    runner.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_where_its_folder_may_not_be_written_the_files_are_searched(
    new_repo, keeping, tmp_path, at_once
):
    repo = new_repo("repo")
    commit = repo.add("a.py", "retry\n")
    (tmp_path / "words").mkdir(mode=0o500)

    assert repo.open(keeping).files_with(["retry"], at=commit) == {"retry": ["a.py"]}


def test_a_link_in_its_place_is_not_followed(new_repo, keeping, tmp_path, at_once):
    repo = new_repo("repo")
    commit = repo.add("a.py", "retry\n")
    repo.open(keeping).files_with(["retry"], at=commit)
    (file,) = (tmp_path / "words").iterdir()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()

    assert repo.open(keeping).files_with(["other"], at=commit) == {"other": []}
    assert (tmp_path / "elsewhere").read_bytes() == before


def test_a_text_that_is_too_large_leaves_its_commit_to_the_search(
    new_repo, keeping, monkeypatch, at_once
):
    monkeypatch.setattr(word_index, "TEXT_BYTES_MAX", 100)
    repo = new_repo("repo")
    small = repo.add("a.py", "retry\n")
    large = repo.add("b.py", "retry\n" * 50)
    ran = searches(monkeypatch, keeping)

    assert repo.open(keeping).files_with(["retry"], at=small) == {"retry": ["a.py"]}
    assert ran == []
    assert repo.open(keeping).files_with(["retry"], at=large) == {"retry": ["a.py", "b.py"]}
    assert len(ran) == 1


def test_a_large_repository_is_indexed_piece_by_piece(new_repo, keeping, monkeypatch, at_once):
    monkeypatch.setattr(word_index, "AT_ONCE_MAX", 4)
    repo = new_repo("repo")
    for number in range(10):
        repo.write(f"src/file{number}.py", f"name{number}\n")
    commit = repo.commit()
    ran = searches(monkeypatch, keeping)

    for number in range(5):
        found = repo.open(keeping).files_with([f"name{number}"], at=commit)
        assert found == {f"name{number}": [f"src/file{number}.py"]}
    assert len(ran) == 2


def test_it_begins_anew_when_it_holds_too_much(new_repo, keeping, monkeypatch, at_once):
    monkeypatch.setattr(kept_words, "TEXTS_MAX", 3)
    repo = new_repo("repo")
    commits = [repo.add("a.py", f"retry{number}\n") for number in range(9)]

    for number, commit in enumerate(commits):
        words = [f"retry{number}", f"retry{number - 1}"]
        found = repo.open(keeping).files_with(words, at=commit)
        assert found == {words[0]: ["a.py"], words[1]: []}
    with keeping.indexes.use(repo.layout.common_dir) as kept:
        assert len(kept.covered(9)) <= 4


def test_a_commit_with_more_texts_than_it_may_hold_is_left_to_the_search(
    new_repo, keeping, monkeypatch, at_once
):
    monkeypatch.setattr(kept_words, "TEXTS_MAX", 3)
    monkeypatch.setattr(word_index, "AT_ONCE_MAX", 2)
    added = []
    monkeypatch.setattr(kept_words.Texts, "add", lambda _, blob, data: added.append(blob))
    repo = new_repo("repo")
    for number in range(4):
        repo.write(f"src/file{number}.py", f"name{number}\n")
    commit = repo.commit()

    for number in range(4):
        found = repo.open(keeping).files_with([f"name{number}"], at=commit)
        assert found == {f"name{number}": [f"src/file{number}.py"]}
    assert added == []


def test_the_folder_has_a_size_and_the_oldest_go_first(tmp_path, monkeypatch):
    words = Words(tmp_path / "words")
    files = []
    for number, name in enumerate(("a", "b", "c")):
        with words.use(tmp_path / name) as kept:
            kept.add(f"{number:040x}", b"word%d " % number * 20_000)
        (file,) = set((tmp_path / "words").iterdir()) - set(files)
        os.utime(file, ns=(number, number))
        files.append(file)
    size = max(file.stat().st_size for file in files)

    monkeypatch.setattr(kept_words, "BYTES_MAX", 2 * size)
    with words.use(tmp_path / "a") as kept:
        kept.searched()
    assert set((tmp_path / "words").iterdir()) == {files[0], files[2]}

    monkeypatch.setattr(kept_words, "BYTES_MAX", size // 2)
    with words.use(tmp_path / "a") as kept:
        kept.searched()
    assert list((tmp_path / "words").iterdir()) == []


def test_one_that_was_emptied_gives_room_back(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_words, "_FREE_BYTES_MAX", 8192)
    words = Words(tmp_path / "words")
    with words.use(tmp_path / "a") as kept:
        kept.add("0" * 40, b" ".join(b"word%d" % number for number in range(20_000)))
    (file,) = (tmp_path / "words").iterdir()
    size = file.stat().st_size

    with words.use(tmp_path / "a") as kept:
        kept.clear()

    assert file.stat().st_size < size / 4


def test_of_many_repositories_the_least_used_lose_theirs(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_words, "FILES_MAX", 2)
    words = Words(tmp_path / "words")
    for name in ("a", "b", "c", "d"):
        with words.use(tmp_path / name) as kept:
            kept.searched()

    assert len(list((tmp_path / "words").iterdir())) == 2


@pytest.fixture
def partial(new_repo, tmp_path):
    """A clone that lacks the text of a file, the whole repository, and its commit."""
    whole = new_repo("whole")
    whole.git("config", "uploadpack.allowFilter", "true")
    whole.write("big.py", "retry\n" * 400)
    commit = whole.add("a.py", "retry\n")
    subprocess.run(
        [
            *("git", "clone", "-q", "--bare", "--filter=blob:limit=1k"),
            *(f"file://{whole.path}", str(tmp_path / "clone")),
        ],
        check=True,
    )
    return Repo(tmp_path / "clone"), whole, commit


def test_a_text_that_comes_later_is_found_then(partial, keeping, at_once):
    clone, whole, commit = partial
    assert clone.open(keeping).files_with(["retry"], at=commit, whole=False) == {"retry": ["a.py"]}

    big = whole.git("rev-parse", f"{commit}:big.py")
    text = whole.git("cat-file", "blob", big) + "\n"
    assert clone.git("hash-object", "-w", "--stdin", given=text.encode()) == big

    found = clone.open(keeping).files_with(["retry"], at=commit, whole=False)
    assert found == {"retry": ["a.py", "big.py"]}


def test_while_texts_are_missing_it_answers_nothing_for_certain(partial, keeping, at_once):
    clone, _, commit = partial
    clone.open(keeping).files_with(["retry"], at=commit, whole=False)

    with keeping.indexes.use(clone.layout.common_dir) as kept:
        opened = clone.open(keeping)
        assert word_index.files_with(kept, opened, ["retry"], at=commit, whole=True) == {}
        some = word_index.files_with(kept, opened, ["retry"], at=commit, whole=False)
    assert some == {"retry": ["a.py"]}
