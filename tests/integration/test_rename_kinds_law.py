"""The law of renames for every kind of anchor: what was only renamed is nowhere gone."""

import contextlib
import shutil
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import Repo

from yaadwatch.anchors.tree import Tree
from yaadwatch.model.anchors import Method
from yaadwatch.repo.command import GitRunner
from yaadwatch.repo.layout import Head
from yaadwatch.repo.repository import Repository
from yaadwatch.staleness import anchoring, assessing
from yaadwatch.staleness.anchor_search import Source
from yaadwatch.staleness.commits import AtHead
from yaadwatch.staleness.git_queries import History
from yaadwatch.staleness.worktree import look_at
from yaadwatch.system.clock import Clock

FILES = {
    "src/net/retry.py": "def retry_all(given):\n    return [given, 'retry', 'again']\n",
    "src/net/writer.py": "class WriterPool:\n    def write_all(self, rows):\n        return rows\n",
    "src/net/tests/test_retry.py": "def test_retry():\n    assert True, 'it is tried again'\n",
    "src/web/pages.ts": "export function renderPages(all: string[]) {\n  return all.join('');\n}\n",
    "src/web/rows.ts": "export const rowsShown = (all: number) => all + 1;\n",
    "src/web/limits.py": "MAX_TRIES = 3\nWAIT_S = 20\n",
    "conf/app.ini": "[app]\nretry-budget = 3\nother-key = 4\n",
    "conf/settings.toml": "[storing]\nkeep_days = 30\n\n[sending]\nbatch_rows = 9\n",
    "tools/Makefile": "lint-all:\n\truff check\n\nserve-all:\n\tnode web\n",
    "tools/package.json": '{\n  "name": "shop-tools",\n  "dependencies": {"tinker": "^3.1"}\n}\n',
    "notes/page.md": "".join(f"Line {at} of what was found.\n" for at in range(40)),
}
SAYINGS = {
    "file": ("See `src/net/retry.py`", "src/net/retry.py"),
    "folder": ("All of it is in `src/net/`", "src/net/"),
    "folder above": ("All of it is in `src/`", "src/"),
    "pattern": ("Pages are `src/web/*.ts`", "src/web/*.ts"),
    "pattern of any folder": ("Tests are `src/**/test_*.py`", "src/**/test_*.py"),
    "pattern with a folder in the middle": ("All `src/*/tests/*.py` run", "src/*/tests/*.py"),
    "definition": ("`retry_all()` in `src/net/retry.py` tries again", "src/net/retry.py"),
    "definition by name": ("`renderPages()` makes one text", "src/web/pages.ts"),
    "word": ("The key `retry-budget` says how often", "conf/app.ini"),
    "target": ("Run `make lint-all` in `tools/` first", "tools/Makefile"),
    "version": ("tinker 3 is what `tools/package.json` has", "tools/package.json"),
    "number of a name": ("`MAX_TRIES` is 3, see `src/web/limits.py`", "src/web/limits.py"),
    "lines": ("`notes/page.md` has 40 lines", "notes/page.md"),
    "key": ("`storing.keep_days` in `conf/settings.toml` is in days", "conf/settings.toml"),
}
KINDS = {
    "file": Method.FILE,
    "folder": Method.FOLDER,
    "pattern": Method.GLOB,
    "definition": Method.TREE,
    "word": Method.WORD,
    "target": Method.TARGET,
    "version": Method.VALUE,
    "number of a name": Method.VALUE,
    "lines": Method.VALUE,
    "key": Method.TREE,
}
WITH_STARS = ("pattern of any folder", "pattern with a folder in the middle")
NAMES = ("lib", "app", "http")
"""New names of folders; none is one of the old ones."""
HOWS = ("committed", "staged", "by hand")


@st.composite
def renames(draw, paths, name):
    """Return the new paths of one file, or of all in a folder, by the old ones.

    The folder gets another name, or stands in a new one; so does the file, or both. What a tool
    looks for by its name keeps that name: under another one, its targets are gone.
    """
    if draw(st.booleans()):
        path = draw(st.sampled_from(paths))
        folder, _, own = path.rpartition("/")
        places = [f"{name}/{own}", f"{folder}/{name}/{own}"]
        if folder != "tools":
            other = f"{name}_one.{own.partition('.')[2]}"
            places += [f"{folder}/{other}", f"{name}/{other}"]
        return {path: draw(st.sampled_from(places))}
    old = draw(st.sampled_from(sorted({path.rpartition("/")[0] for path in paths} | {"src"})))
    above, _, own = old.rpartition("/")
    new = "/".join(filter(None, [above, name, own if draw(st.booleans()) else ""]))
    return {path: new + path[len(old) :] for path in paths if path.startswith(f"{old}/")}


@st.composite
def ways(draw):
    """Return one rename or two, one after the other, and how each is made.

    What is moved by hand is not known to git, so that it is not moved again.
    """
    first = draw(renames(sorted(FILES), NAMES[0]))
    steps = [(first, draw(st.sampled_from(HOWS)))]
    if steps[0][1] == "committed" and draw(st.booleans()):
        there = sorted(first.get(path, path) for path in FILES)
        steps.append((draw(renames(there, NAMES[1])), draw(st.sampled_from(HOWS))))
    return steps


@dataclass(frozen=True)
class Place:
    root: Path
    repository: Repository


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A repository with all files in its one commit, and the commit."""
    repo = Repo.new(tmp_path_factory.mktemp("first") / "repo")
    for path, text in FILES.items():
        repo.write(path, text)
    return repo, repo.commit()


@contextlib.contextmanager
def opened(repo):
    runner = GitRunner(timedelta(seconds=20))
    yield Repository(repo.layout, runner)
    runner.close()


def anchors_of(repository, base):
    """Return what each saying rests on at a commit."""
    then = AtHead(history=History(repository), head=Head(commit=base, branch=""))
    sources = [Source(text=said, folder="") for said, _ in SAYINGS.values()]
    return dict(zip(SAYINGS, anchoring.anchor(sources, then, base), strict=True))


def judged(repo, repository, rests_on, *, committed=False):
    """Return what became of each anchor of each saying, and what is proposed for it.

    Args:
        repo: whose work tree.
        repository: the same, opened.
        rests_on: the anchors, by saying.
        committed: look at HEAD, not at the work tree.
    """
    tree, head = look_at(Place(repo.path, repository), (), Clock().now_ns())
    found = {}
    for kind, own in rests_on.items():
        assessed = assessing.assess(SAYINGS[kind][0], own, head if committed else tree, head)
        verdicts = {(one.anchor.method, one.verdict.value) for one in assessed.observations}
        found[kind] = (assessed.worst, verdicts, assessed.suggestion)
    return found


def rename(repo, moves, how):
    for old, new in moves.items():
        if how == "by hand":
            (repo.path / new).parent.mkdir(parents=True, exist_ok=True)
            (repo.path / old).rename(repo.path / new)
        else:
            repo.move(old, new)
    if how == "committed":
        repo.commit("renamed")


def test_each_saying_rests_on_what_it_is_about(first):
    repo, base = first
    with opened(repo) as repository:
        rests_on = anchors_of(repository, base)

    for kind, method in KINDS.items():
        assert method in {one.method for one in rests_on[kind]}, kind


@given(steps=ways())
@settings(deadline=None, max_examples=25)
def test_what_was_only_renamed_is_never_gone_and_what_is_named_by_its_place_has_moved(
    tmp_path_factory, first, steps
):
    repo = Repo(tmp_path_factory.mktemp("law") / "repo")
    shutil.copytree(first[0].path, repo.path)
    with opened(repo) as repository:
        rests_on = anchors_of(repository, first[1])
        moves = {path: path for path in FILES}
        for step, how in steps:
            rename(repo, step, how)
            moves = {path: step.get(now, now) for path, now in moves.items()}
        now = judged(repo, repository, rests_on)
        if steps[-1][1] == "committed":
            assert now == judged(repo, repository, rests_on, committed=True)
    for kind, (worst, verdicts, proposed) in now.items():
        said, named = SAYINGS[kind]
        assert {verdict for _, verdict in verdicts} <= {"fresh", "touched", "moved"}, (kind, worst)
        there = moves.values()
        is_away = any(is_meant(named, path) for path, now in moves.items() if now != path)
        if named in said and is_away and not any(is_meant(named, path) for path in there):
            assert worst.verdict.value == "moved", (kind, worst)
            assert proposed is not None, kind
            if proposed.path is None and (len(steps) > 1 or kind in WITH_STARS):
                # Half of it went somewhere else, or it left what the stars could stand for.
                assert proposed.places, kind
                assert all(any(is_meant(one, path) for path in there) for one in proposed.places)
                continue
            assert proposed.text is not None, (kind, proposed)
            assert any(is_meant(proposed.path, path) for path in there), (kind, proposed)
            assert proposed.text == said.replace(named.rstrip("/"), proposed.path), kind

    for step, how in reversed(steps):
        rename(repo, {new: old for old, new in step.items()}, how)
    with opened(repo) as repository:
        again = judged(repo, repository, rests_on)
    assert {worst.verdict.value for worst, _, _ in again.values()} <= {"fresh", "touched"}


def is_meant(named, path):
    """Return whether a path is, or is in, or is of the pattern of, what is named."""
    inside = path == named or path.startswith(f"{named.rstrip('/')}/")
    return inside or any(Tree.of([path]).matching(named))


@pytest.mark.parametrize("how", HOWS)
def test_a_file_that_got_another_name_and_another_suffix_has_moved(first, tmp_path, how):
    repo = Repo(tmp_path / "repo")
    shutil.copytree(first[0].path, repo.path)
    with opened(repo) as repository:
        rests_on = {"lines": anchors_of(repository, first[1])["lines"]}
    for number in range(20):
        repo.write(f"drafts/{number}.md", f"Draft {number}\n")
    rename(repo, {"notes/page.md": "web/found.txt"}, how)

    with opened(repo) as repository:
        worst, _, proposed = judged(repo, repository, rests_on)["lines"]

    assert worst.verdict.value == "moved", worst
    assert proposed.text == "`web/found.txt` has 40 lines"


@pytest.mark.parametrize(
    ("place", "verdict"), [("app/__init__.py", "moved"), ("app/new.py", "gone"), ("x.txt", "gone")]
)
def test_an_empty_file_is_only_followed_to_one_of_its_name(tmp_path, place, verdict):
    repo = Repo.new(tmp_path / "repo")
    repo.write("src/web/__init__.py", "")
    repo.write("src/web/pages.py", "pages = 1\n")
    base = repo.commit()
    source = Source(text="`src/web/__init__.py` stays empty", folder="")
    with opened(repo) as repository:
        then = AtHead(history=History(repository), head=Head(commit=base, branch=""))
        (rests_on,) = anchoring.anchor([source], then, base)
    repo.path.joinpath("src/web/__init__.py").unlink()
    repo.write(place, "")

    with opened(repo) as repository:
        tree, head = look_at(Place(repo.path, repository), (), Clock().now_ns())
        assessed = assessing.assess(source.text, rests_on, tree, head)

    assert assessed.worst.verdict.value == verdict
