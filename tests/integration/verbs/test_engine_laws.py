"""Verdicts are a function of the store and the tree, whichever checks ran and were lost."""

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from verb_world import NET, World, dump, table

from yaadwatch.db import anchors
from yaadwatch.model.anchors import Verdict
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.staleness import verdict

EXAMPLES = settings.default.max_examples // 10
pytestmark = pytest.mark.timeout(3600)

GO = (
    "package main\n\nfunc Fetch(x int) int {\n\tlimit := 3\n\treturn limit\n}\n\nfunc last() {\n}\n"
)
FILES = {
    "src/net.py": [
        NET,
        NET.replace("tries=3", "tries=5"),
        NET.replace("x + 1", "x + 2"),
        NET.replace("def fetch_with_retry", "def fetch"),
        NET.replace("def fetch_with_retry(url, tries=3):", "def fetch_with_retry("),
        "",
    ],
    "src/util.py": [
        "def helper(x):\n    return x\n",
        "def helper(x):\n    return x + 1\n",
        NET,
    ],
    "src/net.go": [GO, GO.replace("limit := 3", "limit := 5"), GO.replace("Fetch", "Get")],
    "notes.md": ["Notes.\n", "Other notes.\n"],
}
NAMES = [*FILES, "src/http.py", "lib/net.py", "lib/net.go"]
MEMORIES = [
    "The retry limit lives in src/net.py, in fetch_with_retry",
    "`other` of src/net.py adds one, `helper` of src/util.py does not",
    "Go fetches by `Fetch` in src/net.go",
    "Ideas are in notes.md",
    "All of src/net.py, src/net.go and notes.md matter",
    "All sources are in `src/`",
    "What is copied is in `lib/`",
    "Go is in `src/*.go`, and pages are in `*.md`",
]

names = st.sampled_from(NAMES)
numbers = st.integers(0, len(MEMORIES) - 1)
steps = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(list(FILES)), st.integers(0, 5)),
    st.tuples(st.just("write_as"), names, st.sampled_from(list(FILES)), st.integers(0, 5)),
    st.tuples(st.just("delete"), names),
    st.tuples(st.just("move"), names, names),
    st.tuples(st.just("git_move"), names, names),
    st.tuples(st.just("link"), names),
    st.tuples(st.just("folder"), names),
    st.tuples(st.just("stage")),
    st.tuples(st.just("commit")),
    st.tuples(st.just("commit")),
    st.tuples(st.just("amend")),
    st.tuples(st.just("revert")),
    st.tuples(st.just("reset")),
    st.tuples(st.just("back")),
    st.tuples(st.just("branch"), st.sampled_from(["main", "topic"])),
    st.tuples(st.just("merge")),
    st.tuples(st.just("stash")),
    st.tuples(st.just("confirm"), numbers),
    st.tuples(st.just("forget"), numbers),
    st.tuples(st.just("restore"), numbers),
    st.tuples(st.just("remember"), numbers),
    st.tuples(st.just("check")),
    st.tuples(st.just("hint"), st.frozensets(names, max_size=3)),
    st.tuples(st.just("hint"), st.just(frozenset(NAMES))),
    st.tuples(st.just("restart")),
)


class Story:
    """A repository to which things happen."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.tree = world.tree(name)
        self.tree.git("init", "-q", "-b", "main")
        self._times = count(1_000_000_000)
        for path, versions in FILES.items():
            self._put(path, versions[0])
        self.tree.commit("one")
        self.tree.commit("two")
        self.tree.add()
        self.memories = [self.tree.remember(text) for text in MEMORIES]

    def do(self, step) -> None:
        """Do one thing; what cannot be done (nothing is there, it is archived) is left out."""
        name, *arguments = step
        try:
            getattr(self, f"_{name}")(*arguments)
        except OSError:
            return
        except YaadError as error:
            if error.code not in (Code.REFUSED, Code.CONFLICT):
                raise

    def _put(self, path, text):
        target = self.tree.path / path
        if target.is_symlink():
            target.unlink()
        self.tree.write(path, text)
        # Two writes in one tick of the file system's clock would look the same.
        moment = next(self._times)
        os.utime(target, (moment, moment))

    def _write(self, path, version):
        self._write_as(path, path, version)

    def _write_as(self, path, like, version):
        self._put(path, FILES[like][version % len(FILES[like])])

    def _delete(self, path):
        (self.tree.path / path).unlink()

    def _move(self, old, new):
        if (self.tree.path / old).is_file():
            self.tree.move(old, new)

    def _git_move(self, old, new):
        self.tree.git("mv", "-f", old, new, check=False)

    def _link(self, path):
        self._delete(path)
        (self.tree.path / path).symlink_to("util.py")

    def _folder(self, path):
        self._delete(path)
        self.tree.write(f"{path}/inside", "x")

    def _stage(self):
        self.tree.git("add", "-A")

    def _commit(self):
        self.tree.commit("next")

    def _amend(self):
        self.tree.git("commit", "-q", "-a", "--amend", "--allow-empty", "-m", "amended")

    def _revert(self):
        self.tree.git("revert", "--no-edit", "HEAD", check=False)
        self.tree.git("revert", "--quit", check=False)

    def _reset(self):
        self.tree.git("reset", "-q", "--hard", "HEAD~1", check=False)

    def _back(self):
        self.tree.git("checkout", "-q", "HEAD~1", check=False)

    def _branch(self, name):
        self.tree.git("checkout", "-q", name, check=False)
        self.tree.git("checkout", "-q", "-b", name, check=False)

    def _merge(self):
        self.tree.git("merge", "-q", "-m", "merge", "topic", check=False)

    def _stash(self):
        self.tree.git("stash", "-q", "-u", check=False)

    def _confirm(self, number):
        self.tree.confirm(self.memories[number])

    def _forget(self, number):
        self.tree.forget(self.memories[number])

    def _restore(self, number):
        self.tree.restore(self.memories[number])

    def _remember(self, number):
        try:
            self.memories[number] = self.tree.remember(MEMORIES[number])
        except YaadError as error:  # its definition was given, and is not there just now
            if error.code is not Code.NOT_FOUND:
                raise

    def _check(self):
        self.tree.check()

    def _hint(self, paths):
        self.tree.check_tree(paths)

    def _restart(self):
        self.world.reopen()

    def flags(self):
        """Return every flag, but not since when: that is the one thing that has a history."""
        with self.tree.db() as db:
            found = db.read(anchors.flags_of_worktree, self.tree.worktrees()[0].id)
        return [replace(flag, since=datetime(2000, 1, 1, tzinfo=UTC)) for flag in found]

    def forget_all_checks(self):
        """Leave the store as if no check had ever run."""

        def wipe(conn):
            conn.execute("DELETE FROM stale_flags")
            conn.execute("DELETE FROM sightings")
            conn.execute("UPDATE worktrees SET head = '', branch = '', checked_ms = NULL")

        with self.tree.db() as db:
            db.write(wipe)


@pytest.fixture
def stories(world):
    """Make stories, each in a repository of its own; files are old enough to be believed."""
    world.clock.advance(timedelta(seconds=10))
    numbers = count()
    return lambda: Story(world, f"repo{next(numbers)}")


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=st.lists(steps, min_size=2, max_size=14))
@example(story=[("delete", "src/net.py"), ("commit",), ("check",), ("revert",), ("revert",)])
def test_verdicts_do_not_depend_on_which_checks_ran(stories, story):
    """A check of everything after any checks, and any loss of hints, equals the first check ever.

    The same check again changes nothing and tells of nothing.
    """
    told = stories()
    for step in story:
        told.do(step)

    told.tree.check()
    found = told.flags()
    with told.tree.db() as db:
        before = dump(db)
    again = told.tree.check_tree()
    with told.tree.db() as db:
        after = dump(db)
    assert (again.raised, again.cleared) == (0, 0)
    for name in before.keys() - {"worktrees", "sightings"}:
        assert after[name] == before[name]
    told.forget_all_checks()
    told.tree.check()
    assert told.flags() == found


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=st.lists(steps, min_size=2, max_size=10))
def test_events_tell_which_flags_there_are(stories, story):
    """Who follows raised, cleared and the changes of memories knows the flags that are shown."""
    told = stories()
    for step in story:
        told.do(step)
    told.tree.check()

    open_flags = set()
    with told.tree.db() as db:
        events = sorted(table(db, "events"))
    for _, kind, _, subject, body in events:
        if kind == "stale.raised":
            open_flags.add(subject)
        elif kind in ("stale.cleared", "node.archived") or "confirmed" in body:
            open_flags.discard(subject)
    assert open_flags == {flag.node for flag in told.flags() if flag.level}


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=st.lists(steps, min_size=2, max_size=10))
def test_a_flag_says_what_can_be_checked(stories, story):
    """Commits in evidence exist, places that are proposed are there, scores fit the levels."""
    told = stories()
    for step in story:
        told.do(step)
    told.tree.check()

    for flag in told.flags():
        assert flag.reason
        told_why = flag.verdict is not Verdict.UNKNOWN
        assert (flag.score > 0) == told_why
        assert bool(flag.evidence) == told_why
        # A moved file that the text's own name still finds is suspect, however high its score is.
        assert flag.level in ({"warn", "suspect"} if verdict.level(flag.score) else {""})
        assert flag.uncommitted == any("committed)" in row.summary for row in flag.evidence)
        for row in flag.evidence:
            assert row.summary
            if row.commit is not None:
                assert told.tree.git("cat-file", "-t", row.commit.id).strip() == "commit"
        if flag.suggestion is not None and flag.suggestion.path is not None:
            assert list(told.tree.path.glob(flag.suggestion.path))  # a file's, or a pattern
