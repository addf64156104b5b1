"""A commit or an object that disappears blinds no check, and clears no flag."""

import contextlib
import shutil

import pytest

from yaadwatch.model.errors import YaadError

CACHE = "def cached(key):\n    return key\n"
CACHE_TEXT = "The cache is `cached` in `src/cache.py`"
FETCH = "`fetch_with_retry` retries, in `src/net.py`"


def collect_garbage(repo):
    repo.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    repo.git("gc", "-q", "--prune=now")


def squash(repo):
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--squash", "feat")
    repo.git("commit", "-qm", "squashed")
    repo.git("branch", "-qD", "feat")


def rebase(repo):
    repo.git("switch", "-q", "main")
    repo.commit("other", {"other.py": "x = 1\n"})
    repo.git("rebase", "-q", "main", "feat")
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--ff-only", "feat")


def amend(repo):
    repo.write("other.py", "x = 1\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "--amend", "-m", "amended")
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--ff-only", "feat")


@pytest.fixture(params=[squash, rebase, amend], ids=lambda way: way.__name__)
def lost(repo, request):
    """A memory of a branch, whose commit was put into main in another way, and is no more."""

    def made(text=CACHE_TEXT, path="src/cache.py", content=CACHE):
        repo.git("switch", "-qc", "feat")
        commit = repo.commit("cache", {path: content})
        memory = repo.remember(text)
        request.param(repo)
        collect_garbage(repo)
        assert repo.git("cat-file", "-e", commit, check=False) == ""
        return memory

    return made


def test_moved_definition_is_followed(repo, lost):
    memory = lost()
    repo.commit("rename", moved={"src/cache.py": "src/store.py"})

    found_flag = repo.flag_of(memory)

    assert found_flag["verdict"] == "moved"
    assert found_flag["suggestion"]["text"] == "The cache is `cached` in `src/store.py`"
    assert found_flag["evidence"][0]["commit"]["subject"] == "rename"


def test_moved_whole_file_is_followed(repo, lost):
    memory = lost("How caching works is told in docs/cache.md", "docs/cache.md", "Caching.\n")
    repo.commit("rename", moved={"docs/cache.md": "docs/store.md"})

    assert repo.verdict(memory) == "moved"


def test_removed_file_is_gone_with_its_commit(repo, lost):
    memory = lost()
    repo.commit("no cache", gone=["src/cache.py"])

    found_flag = repo.flag_of(memory)

    assert found_flag["verdict"] == "gone"
    assert found_flag["evidence"][0]["commit"]["subject"] == "no cache"


def test_moved_folder_is_followed(repo, lost):
    memory = lost("Everything about caching belongs into cache/", "cache/store.py", CACHE)
    repo.commit("rename", moved={"cache": "caching"})

    assert repo.verdict(memory) == "moved"


def test_moved_memory_can_be_anchored_again(repo, lost):
    memory = lost()
    repo.commit("rename", moved={"src/cache.py": "src/store.py"})

    repo.reanchor(memory)

    assert repo.verdict(memory) == "fresh"
    assert "src/store.py" in repo.show(memory)["text"]


@pytest.mark.parametrize("change", ["moved", "gone", "changed"])
def test_flag_stays_when_the_objects_behind_it_are_lost(repo, change):
    memory = repo.remember(FETCH)
    first = repo.head()
    text = repo.read("src/net.py")
    if change == "moved":
        repo.git("mv", "src/net.py", "src/http.py")
    elif change == "gone":
        repo.git("rm", "-q", "src/net.py")
    else:
        repo.write("src/net.py", text.replace("raise OSError(url)", "return None"))
    repo.commit("change")
    before = repo.verdict(memory)
    assert before == change

    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    again = repo.git("commit-tree", tree, "-m", "everything again").strip()
    repo.git("reset", "-q", "--hard", again)
    collect_garbage(repo)

    assert repo.git("cat-file", "-t", first, check=False) == ""
    assert repo.verdict(memory) == change


def broken(repo, path):
    """Have the blob of a file at HEAD be there and be no object."""
    blob = repo.git("rev-parse", f"HEAD:{path}").strip()
    place = repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    place.chmod(0o644)
    place.write_bytes(b"nothing that git wrote")


def test_unreadable_blob_costs_no_name_that_stands_elsewhere(repo):
    repo.commit("other", {"src/other.py": "x = 1\n"})
    memory = repo.remember(FETCH)
    text = repo.read("src/net.py")
    repo.write("src/net.py", "y = 1\n")
    repo.write("src/http.py", text)
    repo.write("src/other.py", "x = 2\n")
    repo.commit("moved by hand")
    broken(repo, "src/other.py")

    assert repo.verdict(memory) == "moved"
    assert repo.stale()["unknown"] == []


def test_unreadable_blob_never_makes_fresh_what_stands_nowhere_else(repo):
    repo.commit("other", {"src/other.py": "x = 1\n", "src/rate.py": "RATE = 5\n"})
    memory, other = repo.remember(FETCH), repo.remember("`RATE` is 5 in src/rate.py")
    repo.write("src/net.py", "y = 1\n")
    repo.write("src/other.py", "x = 2\n")
    repo.write("src/rate.py", "RATE = 6\n")
    repo.commit("removed")
    broken(repo, "src/other.py")

    assert repo.verdict(memory) in {"gone", "unknown"}
    assert repo.verdict(other) == "changed"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("index.lock", b"nothing that git wrote"),
        ("index", b"nothing that git wrote"),
        ("shallow", b"nothing that git wrote\n"),
        ("packed-refs", b"nothing that git wrote\n"),
    ],
)
def test_damaged_file_of_git_clears_no_flag(repo, name, content):
    memory = repo.remember(FETCH)
    repo.commit("moved", moved={"src/net.py": "src/http.py"})
    assert repo.verdict(memory) == "moved"

    place = repo.path / ".git" / name
    before = place.read_bytes() if place.exists() else None
    place.write_bytes(content)
    with contextlib.suppress(YaadError):  # with a message; a traceback would fail here
        repo.stale(all=True)
    place.unlink() if before is None else place.write_bytes(before)

    answer = repo.stale(all=True, check=False)
    assert [row["verdict"] for row in answer["stale"]] == ["moved"]


def gone(repo):
    (repo.path / "src/net.py").unlink()


def changed(repo):
    repo.write("src/net.py", repo.read("src/net.py").replace("attempt", "number"))


def moved(repo):
    repo.move("src/net.py", "src/http.py")


def orphan_commit(repo, change):
    repo.git("checkout", "-q", "--orphan", "fresh")
    change(repo)
    repo.commit("everything again")
    repo.git("branch", "-qD", "main")
    repo.git("branch", "-m", "main")


def other_ids(repo, change):
    """Rewrite each commit, as a tool for that does it: the same trees, no log."""
    repo.git("filter-branch", "--msg-filter", "sed 's/^/again: /'", "--", "main")
    repo.git("update-ref", "-d", "refs/original/refs/heads/main")
    (repo.path / ".git/logs/refs/heads/main").unlink()
    change(repo)
    repo.commit("change")


def other_trees(repo, change):
    """Rewrite each commit, so that none has the definition as it was read."""
    command = "sed 's/OSError/TimeoutError/' src/net.py > t && mv t src/net.py"
    repo.git("filter-branch", "--tree-filter", command, "--", "main")
    repo.git("update-ref", "-d", "refs/original/refs/heads/main")
    (repo.path / ".git/logs/refs/heads/main").unlink()
    change(repo)
    repo.commit("change")


def forced_pull(repo, change):
    other = repo.copy("other")
    orphan_commit(other, change)
    repo.git("fetch", "-q", str(other.path), "main")
    repo.git("reset", "-q", "--hard", "FETCH_HEAD")


@pytest.mark.covering
@pytest.mark.parametrize("change", [gone, changed, moved], ids=lambda way: way.__name__)
@pytest.mark.parametrize(
    "replace", [orphan_commit, other_ids, other_trees, forced_pull], ids=lambda way: way.__name__
)
def test_memory_is_judged_though_the_history_of_its_commit_was_replaced(
    repo, replace, change, monkeypatch
):
    """No check ran in between, and the old commit is still among git's objects."""
    if replace in (other_ids, other_trees):  # which keep the times, so that none began later
        with monkeypatch.context() as dated:
            dated.setenv("GIT_COMMITTER_DATE", "2030-01-01T12:00:00Z")
            repo.commit("two")
    memory = repo.remember(FETCH)
    replace(repo, change)

    found = repo.flag_of(memory)

    assert found["verdict"] == change.__name__
    assert repo.stale(all=True)["uncommitted"] == []
    assert repo.verdict(memory) == change.__name__
    here = [row for row in found["evidence"] if "not checked out here" not in row["summary"]]
    subjects = [row["commit"]["subject"] for row in here if row["commit"]]
    assert subjects == (["change"] if replace is other_ids else [])
    repo.commit("later", {"later.txt": "x\n"})
    collect_garbage(repo)
    assert repo.verdict(memory) == change.__name__


def test_memory_that_a_replaced_history_still_bears_out_is_fresh(repo):
    memory = repo.remember(FETCH)
    orphan_commit(repo, lambda tree: tree.write("other.py", "x = 1\n"))

    assert repo.verdict(memory) == "fresh"
    changed(repo)
    repo.commit("change")
    found = repo.flag_of(memory)
    assert found["verdict"] == "changed"
    assert [row["commit"]["subject"] for row in found["evidence"]] == ["change"]


def test_work_on_an_orphan_branch_that_was_deleted_is_not_missed_elsewhere(repo, monkeypatch):
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2030-01-01T12:00:00Z")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2030-01-01T12:00:00Z")
    repo.git("switch", "-q", "--orphan", "pages")
    repo.commit("pages", {"src/cache.py": CACHE})
    memory = repo.remember(CACHE_TEXT)
    repo.git("switch", "-q", "main")
    repo.git("branch", "-qD", "pages")

    assert repo.flag_of(memory) is None
    assert len(repo.stale(all=True)["uncommitted"]) == 1


def test_work_of_a_deleted_branch_is_not_missed_on_an_unrelated_one(repo):
    repo.git("switch", "-qc", "feat")
    repo.commit("cache", {"src/cache.py": CACHE})
    memory = repo.remember(CACHE_TEXT)
    repo.git("switch", "-q", "--orphan", "pages")
    repo.commit("pages", {"index.html": "<p>Pages\n"})
    repo.git("branch", "-qD", "feat")

    assert repo.flag_of(memory) is None


@pytest.fixture
def remote(repo):
    """A bare repository that is the origin, with one commit more than the memory was made at."""
    bare = repo.path.parent / "shop.git"
    repo.git("clone", "-q", "--bare", str(repo.path), str(bare))
    repo.git("remote", "add", "origin", f"file://{bare}")
    repo.add()
    return bare


def clone_shallow(repo, remote):
    repo.git("push", "-q", "origin", "main")
    shutil.rmtree(repo.path)
    repo.path.mkdir()
    repo.git("clone", "-q", "--depth", "1", f"file://{remote}", ".")


def init_again(repo, remote):
    shutil.rmtree(repo.path / ".git")
    repo.git("init", "-q", "-b", "main")
    repo.git("remote", "add", "origin", f"file://{remote}")
    repo.commit("again")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("again", [clone_shallow, init_again], ids=lambda way: way.__name__)
def test_repository_made_again_is_judged_by_what_was_recorded(repo, remote, again, when):
    """Git has no object of then: a definition is compared, a file that left is not followed."""
    texts = {"definition": FETCH, "place": "Networking is in src/net.py", "note": "See notes.md"}
    memories = {name: repo.remember(text) for name, text in texts.items()}

    def change():
        repo.write("src/net.py", "x = 1\n")
        (repo.path / "notes.md").unlink()
        repo.commit("change")

    if when == "before":
        change()
    again(repo, remote)
    repo.add(adopt=True)
    if when == "after":
        change()

    found = {name: repo.verdict(memory) for name, memory in memories.items()}
    assert found == {
        "definition": "gone",
        "place": "fresh",
        "note": "gone" if when == "after" else "unknown",
    }
    reasons = [row["reason"] for row in repo.stale(all=True)["unknown"]]
    assert all("notes.md is not there" in reason for reason in reasons)
