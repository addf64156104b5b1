"""Stores that are gone or damaged, a git that hangs or is missing, no space, no permission."""

import codecs
import contextlib
import os
import pickle
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import refusals
from verb_world import FIVE_TRIES, NET, RETRY, Tree, World, every_byte_below

from yaadwatch import places
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import Git, Settings
from yaadwatch.projects import exporting, projects
from yaadwatch.repo import layout

ROOT = os.getuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="only root can become somebody else")
NOBODY = 65534


def refusal(call, /, *given, **fields):
    error = refusals.refusal(call, *given, **fields)
    for word in ("Error(", "failed to", "invalid"):
        assert word not in error.message
    return error


class TestRemovedUnderneath:
    """The database is deleted, moved or exchanged while it is open."""

    @pytest.mark.parametrize("what", ["deleted", "moved", "its folder moved", "another store"])
    def test_no_write_is_lost_in_a_file_that_nobody_finds_again(self, repo, world, what):
        memory = repo.remember()
        store, aside = repo.store, world.folder / "aside"
        if what == "deleted":
            shutil.rmtree(store.parent)
        elif what == "its folder moved":
            store.parent.rename(aside)
        else:
            store.rename(aside)
        if what == "another store":
            other = world.repo("other")
            other.add()
            shutil.copyfile(other.store, store)
        before = aside.read_bytes() if aside.is_file() else b""

        error = refusal(repo.remember, "Said into nothing")

        assert error.code in (Code.UNAVAILABLE, Code.REFUSED)
        assert str(store) in error.message
        assert error.hint
        assert b"Said into nothing" not in before
        if what == "its folder moved":
            aside.rename(store.parent)
            assert repo.show(memory)["id"] == memory

    def test_a_backup_that_is_put_in_its_place_is_used_at_once(self, repo):
        memory = repo.remember()
        backup = Path(exporting.backup(repo.home, repo.call)["path"])
        repo.remember("Said since")
        for path in repo.store.parent.glob("yaad.db*"):
            path.unlink()
        shutil.copyfile(backup, repo.store)

        assert [repo.show(memory)["text"]] == repo.memories() == [RETRY]

    def test_adding_again_makes_an_empty_store_where_one_is_lost(self, repo):
        project = repo.project
        repo.remember()
        repo.world.close()
        shutil.rmtree(places.project_store(project).parent)
        repo.world.reopen()

        error = refusal(repo.remember)

        assert error.code is Code.UNAVAILABLE
        assert "yaadwatch add --restore" in error.hint
        assert repo.add()["id"] == project
        assert repo.memories() == []


class TestDamaged:
    """Bytes that are no store, or none of ours."""

    @pytest.fixture(params=["garbage", "empty", "cut", "newer", "folder", "another program's"])
    def damaged(self, request, repo):
        memory = repo.remember()
        repo.world.reopen()
        match request.param:
            case "garbage":
                repo.store.write_bytes(b"not a database at all" * 1000)
            case "empty":
                repo.store.write_bytes(b"")
            case "cut":
                repo.store.write_bytes(repo.store.read_bytes()[:5000])
            case "newer":
                data = bytearray(repo.store.read_bytes())
                data[60:64] = (999).to_bytes(4, "big")
                repo.store.write_bytes(bytes(data))
            case "folder":
                repo.store.unlink()
                repo.store.mkdir()
            case "another program's":
                import sqlite3

                repo.store.unlink()
                with contextlib.closing(sqlite3.connect(repo.store)) as conn:
                    conn.execute("CREATE TABLE theirs (x)")
        return memory

    def test_every_verb_gives_one_clear_error_and_no_byte_changes(self, repo, damaged):
        before = repo.store.read_bytes() if repo.store.is_file() else None

        for call in (
            repo.remember,
            lambda: repo.show(damaged),
            lambda: repo.confirm(damaged),
            lambda: repo.forget(damaged),
            repo.stale,
            repo.check,
            repo.check_tree,
            repo.add,
        ):
            error = refusal(call)
            assert error.code in (Code.UNAVAILABLE, Code.REFUSED)
            assert str(repo.store) in error.message
            assert error.hint

        if before is not None:
            assert repo.store.read_bytes() == before
        (row,) = projects.projects(repo.home, repo.call)["projects"]
        assert row["state"] in ("broken", "refused")
        assert repo.upkeep()["skipped"]

    def test_status_names_it_and_what_to_do(self, repo, damaged):
        (problem,) = projects.status(repo.home, repo.call)["problems"]

        assert str(repo.path) in problem["what"]
        assert problem["mend"]

    def test_it_can_be_removed_and_its_bytes_are_kept(self, repo, damaged):
        store = repo.store
        before = store.read_bytes() if store.is_file() else None

        answer = repo.remove()

        assert answer["kept"] == str(store.parent)
        assert before is None or store.read_bytes() == before
        assert repo.add(separate=True)["again"] is False
        assert repo.remember()

    def test_a_damaged_page_is_an_error_and_not_a_wrong_answer(self, repo):
        for number in range(200):
            repo.remember(f"Memory {number} about src/net.py")
        repo.world.reopen()
        data = bytearray(repo.store.read_bytes())
        for page in range(8, len(data) // 4096):
            data[page * 4096 : page * 4096 + 200] = b"\xa5" * 200
        repo.store.write_bytes(bytes(data))

        error = refusal(repo.stale)

        assert error.code is Code.UNAVAILABLE
        assert "damaged" in error.message


@pytest.fixture
def impatient(tmp_path, monkeypatch):
    """A home that is told how long it waits for git."""
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    world = World(tmp_path)

    def waits_for_git(milliseconds):
        world.settings = Settings(git=Git(timeout_ms=milliseconds))
        world.reopen()

    world.waits_for_git = waits_for_git
    yield world
    world.close()


@pytest.fixture
def hanging_git(impatient, monkeypatch):
    """A git that never answers; call it to put it on the PATH, and again to take it away."""
    folder = impatient.folder / "bin"
    folder.mkdir()
    fake = folder / "git"
    fake.write_text('#!/bin/sh\necho called >> "$0.log"\nexec sleep 60\n')
    fake.chmod(0o755)
    path = os.environ["PATH"]

    def hang(on=True):
        monkeypatch.setenv("PATH", f"{folder}:{path}" if on else path)
        # Only a git that never answers may be given up so soon: a true one may be slow.
        impatient.waits_for_git(200 if on else Git().timeout_ms)

    hang.log = folder / "git.log"
    return hang


class TestGit:
    """A git that hangs, or is not there."""

    def test_an_add_that_git_does_not_answer_leaves_nothing(self, impatient, hanging_git):
        tree = impatient.repo()
        tree.write("CLAUDE.md", "- See `fetch_with_retry`\n")
        before = every_byte_below(tree.path)
        hanging_git()

        error = refusal(tree.add)

        assert error.code is Code.TIMEOUT
        assert "0.2 s" in error.message
        assert "git.timeout_ms" in error.hint
        hanging_git(on=False)
        assert every_byte_below(tree.path) == before
        assert projects.projects(impatient.home, tree.call)["projects"] == []

    def test_a_file_that_git_is_too_slow_for_waits_for_the_next_sync(self, impatient, monkeypatch):
        tree = impatient.repo()
        tree.write("CLAUDE.md", "- See `fetch_with_retry`\n")
        from yaadwatch.repo.repository import Repository

        def too_slow(*arguments, **named):
            raise YaadError(Code.TIMEOUT, "git grep took longer than 0.2 s and was ended.")

        with monkeypatch.context() as patch:
            patch.setattr(Repository, "files_with", too_slow)
            (row,) = tree.add()["files"]

        assert (row["state"], "git grep took longer" in row["reason"]) == ("pending", True)
        assert tree.add()["imported"]["anchored"] == 1

    def test_remembering_stores_all_or_nothing(self, impatient, hanging_git):
        tree = impatient.repo()
        tree.add()
        hanging_git()

        assert refusal(tree.remember).code is Code.TIMEOUT

        hanging_git(on=False)
        assert tree.memories() == []
        assert tree.remember()

    def test_what_git_must_tell_is_unknown_and_never_fresh(self, impatient, hanging_git):
        tree = impatient.repo()
        tree.add()
        memory = tree.remember()
        (tree.path / "src/net.py").unlink()
        hanging_git()

        assert tree.verdict(memory) == "unknown"

        reason = tree.stale()["unknown"][0]["reason"]
        assert "took longer than 0.2 s" in reason
        assert not reason.endswith(".")
        hanging_git(on=False)
        assert tree.verdict(memory) == "gone"

    def test_a_check_of_many_does_not_wait_for_each(self, impatient, hanging_git):
        tree = impatient.repo()
        for number in range(40):
            tree.write(f"src/part{number}.py", f"def part{number}():\n    return 1\n")
        tree.commit("parts")
        tree.add()
        for number in range(40):
            tree.remember(f"`part{number}` is in src/part{number}.py")
        shutil.rmtree(tree.path / "src")
        hanging_git()

        assert len(tree.stale()["unknown"]) == 40

        assert len(hanging_git.log.read_text().splitlines()) == 1

    def test_a_git_that_is_only_slow_is_asked_on(self, impatient, monkeypatch):
        """One question may be too much for it, and the next one be answered at once."""
        tree = impatient.repo()
        tree.add()
        folder = impatient.folder / "bin"
        folder.mkdir()
        fake = folder / "git"
        real = shutil.which("git")
        fake.write_text(
            f'#!/bin/sh\ncase "$*" in *merge-base*) while :; do :; done;; esac\nexec {real} "$@"\n'
        )
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        impatient.waits_for_git(2_000)
        head = tree.head()

        with impatient.home.space(tree.call) as space:
            assert refusal(space.repository.merge_base, head, head).code is Code.TIMEOUT
            assert space.repository.verify() is None

    def test_stale_waits_once_for_one_that_hangs(self, impatient, hanging_git):
        """Also where it asks what is merged, of what was learned on another branch."""
        tree = impatient.repo()
        tree.add()
        tree.git("checkout", "-q", "-b", "side")
        tree.commit("side", {"src/side.py": "def side():\n    return 1\n"})
        tree.remember("`side` is in src/side.py")
        tree.remember()
        tree.git("checkout", "-q", "main")
        (tree.path / "src/net.py").unlink()
        hanging_git()

        tree.stale()

        assert len(hanging_git.log.read_text().splitlines()) == 1

    def test_one_that_hangs_is_not_asked_again_by_the_same_request(self, impatient, hanging_git):
        tree = impatient.repo()
        tree.add()
        hanging_git()

        with impatient.home.space(tree.call) as space:
            first, *others = [refusal(space.repository.verify) for _ in range(3)]
        with impatient.home.space(tree.call) as space:
            refusal(space.repository.verify)

        assert [error.message for error in others] == [first.message] * 2
        assert len(hanging_git.log.read_text().splitlines()) == 2

    def test_what_can_be_seen_without_git_is_seen_without_git(self, impatient, hanging_git):
        tree = impatient.repo()
        tree.add()
        memory = tree.remember()
        hanging_git()

        tree.write("src/net.py", FIVE_TRIES)
        assert tree.verdict(memory) == "changed"
        tree.write("src/net.py", NET)
        assert tree.verdict(memory) == "fresh"

    def test_a_broken_repository_is_one_clear_error(self, world):
        tree = world.repo()
        tree.add()
        memory = tree.remember()
        (tree.path / ".git/HEAD").write_text("nonsense\n")

        for call in (tree.remember, tree.stale):
            assert refusal(call).code in (Code.UNAVAILABLE, Code.NOT_FOUND)
        (tree.path / ".git/HEAD").write_text("ref: refs/heads/main\n")
        assert tree.verdict(memory) == "fresh"

    def test_a_repository_that_lost_its_objects_is_never_wrong(self, world):
        tree = world.repo()
        tree.add()
        memory = tree.remember()
        shutil.rmtree(tree.path / ".git/objects")
        (tree.path / ".git/objects").mkdir()

        tree.write("src/net.py", FIVE_TRIES)
        reached = tree.verdict(memory)
        assert reached in ("changed", "unknown")
        (tree.path / "src/net.py").unlink()
        # Without objects git can tell no loss. A verdict that was reached before stays: what is
        # lost clears no flag.
        assert tree.verdict(memory) in ("unknown", "gone", reached)


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("no small file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder):
    """Leave no space; return the file that takes it."""
    hog = folder / "hog"
    for size in (65536, 512, 1):
        with contextlib.suppress(OSError), hog.open("ab", buffering=0) as stream:
            while True:
                stream.write(b"x" * size)
    return hog


class TestFullDisk:
    def test_a_project_is_not_half_added_to_a_full_disk(self, world):
        with small_disk(places.data_folder(), "4m"):
            world.reopen()
            tree = world.repo()
            hog = fill(places.data_folder())

            error = refusal(tree.add)

            assert error.code is Code.UNAVAILABLE
            assert "space" in error.message + error.hint
            assert not tree.store.exists()
            assert projects.projects(world.home, tree.call)["projects"] == []
            hog.unlink()
            assert tree.add()["again"] is False
            world.close()

    def test_removing_needs_no_room_for_a_backup(self, tmp_path, monkeypatch):
        with small_disk(tmp_path / "disk", "3m"):
            monkeypatch.setenv("YAAD_HOME", str(tmp_path / "disk/home"))
            monkeypatch.setenv("HOME", str(tmp_path))
            world = World(tmp_path)
            tree = world.repo()
            tree.add()
            tree.remember()
            hog = fill(tmp_path / "disk")

            with contextlib.suppress(YaadError):
                tree.remove()

            hog.unlink()
            if tree.home.registered(layout.find(tree.path)) is None:
                tree.add(adopt=True)
            assert tree.memories() == [RETRY]
            world.close()


def as_nobody(call):
    """Run `call` as another user; return its result, or raise its YaadError."""
    codecs.lookup("ascii")  # that user may not read where Python is installed
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            try:
                answer = ("answer", call())
            except YaadError as error:
                answer = ("error", (error.code.value, error.message, error.hint))
            except BaseException as error:
                answer = ("fault", f"{type(error).__name__}: {error}")
            with os.fdopen(writing, "wb") as stream:
                pickle.dump(answer, stream)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        kind, value = pickle.loads(stream.read())
    os.waitpid(child, 0)
    if kind == "error":
        raise YaadError(Code(value[0]), *value[1:])
    assert kind == "answer", value
    return value


@pytest.fixture
def open_folder(monkeypatch):
    """A folder that every user can get to, and everything imported that a verb imports late."""
    folder = Path(tempfile.mkdtemp(prefix="yaad-shared-"))
    folder.chmod(0o755)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("YAAD_HOME", str(folder / "warm"))
    world = World(folder)
    tree = world.repo("warm-repo")
    tree.write("CLAUDE.md", "- See `fetch_with_retry`\n")
    tree.write("src/net.go", "package main\n\nfunc Fetch() {\n}\n")
    tree.add()
    tree.remember("See src/net.go, Fetch()")
    tree.write("src/net.go", "package main\n\nfunc Fetch() {\n\tx := 1\n}\n")
    tree.check()
    world.close()
    home = folder / "nobody"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    monkeypatch.setenv("YAAD_HOME", str(home / ".yaad"))
    monkeypatch.setenv("HOME", str(home))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def give_away(path):
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(path)], check=True)


@needs_root
class TestOtherUser:
    """As a user who may not do everything."""

    @pytest.mark.parametrize("below", ["", "repo"])
    def test_a_folder_that_may_not_be_entered_is_one_clear_error(self, open_folder, below):
        private = open_folder / "private"
        tree = Tree(None, private / "repo")
        tree.path.mkdir(parents=True)
        tree.git("init", "-q")
        private.chmod(0o700)

        def add():
            world = World(open_folder)
            return projects.add(world.home, Tree(world, private / below).call)

        error = refusal(as_nobody, add)

        assert error.code in (Code.NOT_FOUND, Code.UNAVAILABLE, Code.REFUSED)

    def nobodys(self, open_folder, name="mine"):
        """Return a repository of the other user's own, with src/net.py."""
        path = open_folder / name
        path.mkdir()
        tree = Tree(None, path)
        tree.git("init", "-q", "-b", "main")
        tree.commit("one", {"src/net.py": NET})
        give_away(path)
        return path

    def test_their_own_repository_is_watched(self, open_folder):
        path = self.nobodys(open_folder)

        def story():
            world = World(open_folder)
            tree = Tree(world, path)
            tree.add()
            memory = tree.remember()
            tree.write("src/net.py", FIVE_TRIES)
            return tree.verdict(memory), tree.store.stat().st_uid

        assert as_nobody(story) == ("changed", NOBODY)

    def test_a_file_that_may_not_be_read_is_unknown_until_it_may(self, open_folder):
        path = self.nobodys(open_folder)

        def story():
            world = World(open_folder)
            tree = Tree(world, path)
            tree.add()
            memory = tree.remember()
            (path / "src/net.py").write_text(FIVE_TRIES)
            (path / "src/net.py").chmod(0)
            hidden = tree.verdict(memory), tree.stale()["unknown"][0]["reason"]
            (path / "src").chmod(0)
            deeper = tree.verdict(memory)
            (path / "src").chmod(0o755)
            (path / "src/net.py").chmod(0o644)
            return *hidden, deeper, tree.verdict(memory)

        assert as_nobody(story) == (
            "unknown",
            "src/net.py cannot be read by this user",
            "unknown",
            "changed",
        )

    def test_a_repository_that_may_not_be_written_to_is_watched_all_the_same(self, open_folder):
        path = self.nobodys(open_folder)

        def story():
            world = World(open_folder)
            for place in (path, path / ".git", path / ".git/info"):
                place.chmod(0o555)
            (path / ".git/config").chmod(0o444)
            tree = Tree(world, path)
            added = tree.add()
            tree.remember()
            return added["by_path"], added["path"], tree.memories()

        assert as_nobody(story) == (True, str(path), [RETRY])

    def test_a_store_that_may_not_be_entered_does_not_hide_the_others(self, open_folder):
        paths = [self.nobodys(open_folder, name) for name in ("one", "two")]

        def story():
            world = World(open_folder)
            trees = [Tree(world, path) for path in paths]
            for tree in trees:
                tree.add()
                tree.remember()
            world.reopen()
            folder = trees[0].store.parent
            folder.chmod(0)
            rows = projects.projects(world.home, trees[0].call)["projects"]
            listed = [(row["state"], row["memories"]) for row in rows]
            problems = projects.status(world.home, trees[0].call)["problems"]
            skipped = trees[1].upkeep()["skipped"]
            try:
                trees[0].remember()
            except YaadError as error:
                code = error.code.value
            paths[0].chmod(0)
            rows = projects.projects(world.home, trees[0].call)["projects"]
            states = [row["state"] for row in rows]
            paths[0].chmod(0o755)
            folder.chmod(0o700)
            return listed, len(problems), len(skipped), code, states, len(trees[0].memories())

        listed, problems, skipped, code, states, memories = as_nobody(story)
        assert listed == [("broken", 0), ("ok", 1)]
        assert (problems, skipped, code) == (1, 1, "unavailable")
        assert states[0] in ("missing", "broken")
        assert states[1] == "ok"
        assert memories == 1


def status_of(repo):
    (row,) = projects.status(repo.home, repo.call)["projects"]
    return row


@needs_root
@pytest.mark.parametrize("what", [".git", "."])
def test_a_repository_that_became_somebody_elses_is_read_no_more_and_that_is_said(world, what):
    """What is known of it stays; what is true of it now, nobody knows until it is ours again."""
    repo = world.repo()
    repo.commit("rules", {"CLAUDE.md": "# Rules\n\n- Use tabs in Go files\n"})
    repo.add(mode="read")
    code = repo.remember()
    path = repo.remember("What is to be done is listed in notes.md")
    repo.sync()
    before = repo.memories()
    repo.check()
    assert status_of(repo)["state"] == "ok"

    os.chown(repo.path / what, NOBODY, NOBODY)
    repo.write("src/net.py", "LIMIT = 7\n")
    repo.write("CLAUDE.md", "# Rules\n\n- Use spaces in Go files\n")
    (repo.path / "notes.md").unlink()
    repo.check()
    error = refusal(repo.sync)

    assert error.code is Code.REFUSED
    assert {row["id"] for row in repo.stale()["unknown"]} == {code, path}
    assert repo.stale()["stale"] == []
    assert repo.memories() == before
    row = status_of(repo)
    assert (row["state"], row["memories"]) == ("refused", len(before))
    (problem,) = projects.status(repo.home, repo.call)["problems"]
    assert "belongs to another user" in problem["what"]
    assert f"safe.directory {repo.path}" in problem["mend"]

    os.chown(repo.path / what, os.getuid(), os.getgid())
    repo.check()
    repo.sync()

    assert status_of(repo)["state"] == "ok"
    assert {row["id"] for row in repo.stale()["stale"]} == {code, path}
    assert "Use spaces in Go files" in repo.memories()


@needs_root
def test_of_somebody_elses_repository_nothing_is_read_of_which_git_is_not_asked(world):
    """Not the files of code that say the same as before, nor agent files that nobody changed."""
    repo = world.repo("my shop")
    repo.commit("rules", {"CLAUDE.md": "# Rules\n\n- Use tabs in Go files\n"})
    repo.add(mode="read")
    code = repo.remember()
    repo.sync()
    repo.check()

    os.chown(repo.path / ".git", NOBODY, NOBODY)
    repo.write("src/net.py", NET + "\n\n# the end\n")
    repo.check()
    error = refusal(repo.sync)

    assert [row["id"] for row in repo.stale()["unknown"]] == [code]
    assert error.code is Code.REFUSED
    assert shlex.split(error.hint)[-2:] == ["safe.directory", str(repo.path)]
