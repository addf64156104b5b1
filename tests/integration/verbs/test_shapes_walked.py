"""One walk through repositories of every shape: each time the verdicts are those of a plain one."""

import pytest

SOURCE = """def fetch_with_retry(url):
    for attempt in range(3):
        open(url)


def tries():
    return 5
"""
FILES = {
    "web/net/retry.py": SOURCE,
    "web/net/__init__.py": '"""The net."""\n',
    "web/limits.py": "MAX_TRIES = 3\n",
    "web/pages/home.txt": "home, sweet home\n",
    "web/pages/about.txt": "about all of us\n",
    "web/pages/more.txt": "more about all of this\n",
    "Makefile": "lint:\n\truff check\n\nserve:\n\tnode web\n",
    "conf/app.ini": "[app]\nretry-budget = 3\n",
    "far/away.py": "def far_away():\n    return 'there'\n",
}
SAYINGS = {
    "symbol": "fetch_with_retry() gives up in the end",
    "file": "Limits are kept in `web/limits.py`",
    "folder": "Pages live in `web/pages/`, one file each",
    "command": "Run `make lint` before you push",
    "word": "The key `retry-budget` says how often",
    "number": "`MAX_TRIES` is three in the limits",
    "returned": "`tries()` returns five.",
    "left out": "`far_away` is in `far/away.py`",
}
FRESH = dict.fromkeys(SAYINGS, "fresh")
CHANGED = FRESH | {"symbol": "changed", "number": "changed", "returned": "changed"}
MOVED = FRESH | dict.fromkeys(("symbol", "file", "folder", "number", "returned"), "moved")
GONE = FRESH | {"command": "gone", "word": "gone", "file": "gone", "number": "gone"}


def change(tree):
    tree.write("web/net/retry.py", SOURCE.replace("range(3)", "range(5)").replace("5\n", "7\n"))
    tree.write("web/limits.py", "MAX_TRIES = 4\n")


def move(tree):
    tree.git("mv", "web/net", "web/wire")
    tree.git("mv", "web/limits.py", "web/bounds.py")
    tree.git("mv", "web/pages", "web/views")


def drop(tree):
    tree.write("Makefile", "serve:\n\tnode web\n")
    tree.write("conf/app.ini", "[app]\n")
    tree.git("rm", "-q", "web/limits.py")


def plain(tree):
    """As git makes it."""


def config(*settings):
    def shape(tree):
        for setting in settings:
            tree.git("config", *setting.split("="))
        tree.git("update-index", "--refresh")

    return shape


def split_index(tree):
    tree.git("config", "splitIndex.maxPercentChange", "100")
    tree.git("update-index", "--split-index")


def packed_and_detached(tree):
    tree.git("checkout", "-q", "--detach")
    tree.git("pack-refs", "--all")
    tree.git("gc", "-q")
    tree.git("commit-graph", "write", "--reachable")


def sparse(*arguments):
    def shape(tree):
        tree.git("sparse-checkout", "set", *arguments)

    return shape


def attributes(lines, *settings):
    def shape(tree):
        for setting in settings:
            tree.git("config", *setting.split("="))
        (tree.path / ".git/info/attributes").write_text(lines)

    return shape


SHAPES = {
    "plain": plain,
    "packed and detached": packed_and_detached,
    "split index": split_index,
    "index 4, untracked cache": lambda tree: tree.git(
        "update-index", "--index-version", "4", "--untracked-cache"
    ),
    "many files": config("feature.manyFiles=true"),
    "sparse index": sparse("--cone", "--sparse-index", "web", "conf"),
    "sparse patterns": sparse("--no-cone", "/web/", "/conf/", "/Makefile"),
    "a driver that calls it binary": attributes(
        "*.py diff=python\n*.ini diff=mine\n", "diff.python.binary=true", "diff.mine.binary=true"
    ),
    "no differences": attributes("*.py -diff\n*.ini binary\n"),
    "settings of a person": config(
        *("core.autocrlf=input", "diff.renames=false", "merge.renames=false"),
        *("log.showSignature=true", "log.follow=true"),
        *("diff.noprefix=true", "diff.mnemonicPrefix=true", "color.ui=always"),
    ),
}


FORMATS = {
    "sha1": (),
    "sha256": ("--object-format=sha256",),
    "reftable": ("--ref-format=reftable",),
}


@pytest.fixture
def made(request, world):
    """A repository in one of git's formats, and the ids of its memories."""
    return world.prepared(_made, request.param)


def _made(world, kind):
    tree = world.tree("walked")
    tree.git("init", "-q", "-b", "main", *FORMATS[kind], check=False)
    if not (tree.path / ".git").exists():
        pytest.skip(f"this git has no {kind}")
    tree.commit("first", FILES)
    tree.add()
    given = {"symbol": {"symbols": ["fetch_with_retry"]}}
    return tree, {
        sort: tree.remember(text, **given.get(sort, {})) for sort, text in SAYINGS.items()
    }


def walk(tree, ids, shape):
    """Yield after each step what it was, what the verdicts are, and what they should be."""

    def told():
        answer = tree.stale(all=True, all_branches=True)
        found = {row["id"]: row["verdict"] for row in answer["stale"]}
        found |= {row["id"]: "unknown" for row in answer["unknown"]}
        return {sort: found.get(memory, "fresh") for sort, memory in ids.items()}

    yield "remembered", told(), FRESH
    shape(tree)
    yield "in its shape", told(), FRESH
    for name, action, wanted in (
        ("change", change, CHANGED),
        ("move", move, MOVED),
        ("drop", drop, GONE),
    ):
        action(tree)
        yield f"{name}, uncommitted", told(), wanted
        tree.commit(name)
        yield f"{name}, committed", told(), wanted
        tree.git("commit", "-q", "--amend", "-m", f"{name}, in other words")
        yield f"{name}, amended", told(), wanted
        tree.git("revert", "--no-edit", "HEAD")
        yield f"{name}, reverted", told(), FRESH
        tree.git("reset", "-q", "--hard", "HEAD~1")
        yield f"{name}, the revert undone", told(), wanted
        tree.git("reset", "-q", "--hard", "HEAD~1")
        tree.git("reflog", "expire", "--expire=now", "--all")
        tree.git("gc", "-q", "--prune=now")
        yield f"{name}, history forced back", told(), FRESH


@pytest.mark.parametrize(
    ("made", "shape"),
    [
        *(("sha1", shape) for shape in SHAPES),
        *((kind, shape) for kind in ("sha256", "reftable") for shape in ("plain", "sparse index")),
    ],
    indirect=["made"],
)
def test_verdicts_are_those_of_a_plain_repository(made, shape):
    wrong = [
        (step, {sort: (told[sort], wanted[sort]) for sort in wanted if told[sort] != wanted[sort]})
        for step, told, wanted in walk(*made, SHAPES[shape])
        if told != wanted
    ]

    assert wrong == []
