"""What every test may rely on: a machine without a person on it, and repositories of git's own."""

import gc
import itertools
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from repositories import GIT_ENVIRONMENT, Repo

from yaadwatch.client.connection import NAMED, SIGNS
from yaadwatch.repo.command import GitRunner

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background so, and every command would inherit it from here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The same examples in every run, which then says something of the change alone; the long form seeks
# new ones. No deadline: how long a case takes says something about the machine.
settings.register_profile("default", max_examples=100, deadline=None, derandomize=True)
settings.register_profile("soak", max_examples=2000, deadline=None, derandomize=False)
settings.load_profile("soak" if os.environ.get("YAAD_SOAK") == "1" else "default")


# Tests that start daemons; most of their time they wait for one.
WAITING = {"e2e", "faults", "service"}
HERE = Path(__file__).parent
PARAM = type(pytest.param())


def pytest_collection_modifyitems(config, items):
    """Take the part that covers from products of parameters, and put waiting tests apart."""
    is_named = any("[" in argument for argument in config.args)
    if os.environ.get("YAAD_SOAK") != "1" and not is_named:
        left_out = [item for item in items if not _covers(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _covers(item)]
    _spread(items)


def _covers(item):
    """Say whether a test is of the part that covers: each value of each parameter comes up in it.

    The parameter of most values counts on, the others turn round with it.
    """
    if item.get_closest_marker("covering") is None:
        return True
    marks = [mark.args for mark in item.iter_markers("parametrize")]
    turning = [(len(mark[1]), _place(item.callspec.params, *mark)) for mark in marks]
    turning.sort(key=lambda one: one[0], reverse=True)
    turn = turning[0][1]
    for size, place in turning[1:]:
        if turn % size != place:
            return False
        turn //= size
    return True


def _place(params, names, values):
    """Return which of `values` the test has for the parameters of these names."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    for place, value in enumerate(values):
        row = value.values if isinstance(value, PARAM) else value if len(names) > 1 else (value,)
        if all(params[name] is one for name, one in zip(names, row, strict=True)):
            return place
    raise LookupError(names)


def _spread(items):
    """Put one test that waits after each file of those that compute.

    In a row they would wait in all workers at once, and then compute in all of them. Between two
    files, because a fixture of a module ends with the first test of another one.
    """
    waiting, files = [], []
    for path, found in itertools.groupby(items, lambda item: item.path):
        tests = list(found)
        if WAITING & set(path.relative_to(HERE).parts):
            waiting += tests
        else:
            files.append(tests)
    # Before any test loads numpy: hypothesis then sets its generator anew for each example, too.
    files.sort(key=lambda tests: "laws" not in tests[0].path.relative_to(HERE).parts)
    pairs = itertools.zip_longest(files, ([item] for item in waiting), fillvalue=[])
    items[:] = [item for file, one in pairs for item in (*file, *one)]


def pytest_collection_finish():
    """Let the thousands of tests be none of the garbage collector's business."""
    gc.collect()
    gc.freeze()


def is_of_the_person(name):
    """Say whether a variable of the environment is hidden from the tests; not what is for them."""
    if name == "COLUMNS":  # output is wrapped to it, and tests look for words in output
        return True
    if name in {*NAMED, *(sign for sign, _ in SIGNS)}:
        return True  # an agent may run the tests
    return name.startswith(("GIT_", "YAAD_")) and name not in {"YAAD_REQUIRE", "YAAD_SOAK"}


@pytest.fixture(scope="session", autouse=True)
def nobodys_machine():
    """Hide the person who runs the tests: no settings, stores or git configuration of theirs."""
    folder = Path(tempfile.mkdtemp(prefix="yaad-tests-"))
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if is_of_the_person(name):
                patch.delenv(name)
        _move_home(patch, folder)
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """A home of this test's own; returns the folder that HOME, XDG_* and YAAD_HOME are in."""
    _move_home(monkeypatch, tmp_path)
    return tmp_path


@pytest.fixture
def new_repo(tmp_path, environment):
    """Make repositories: `new_repo("name", "--bare")` is made by `git init` with these options."""

    def make(name="repo", *options):
        return Repo.new(tmp_path / "work" / name, *options)

    return make


@pytest.fixture
def repo(new_repo):
    """An empty repository with a work tree."""
    return new_repo()


@pytest.fixture
def runner():
    """Run git for ten seconds at most."""
    runner = GitRunner(Repo.TIMEOUT)
    yield runner
    runner.close()


def _move_home(patch, folder):
    for name, place in {
        "HOME": "home",
        "XDG_CONFIG_HOME": "home/.config",
        "XDG_DATA_HOME": "home/.local/share",
        "XDG_STATE_HOME": "home/.local/state",
        "XDG_CACHE_HOME": "home/.cache",
        "XDG_RUNTIME_DIR": "run",
        "YAAD_HOME": "yaad",
    }.items():
        (folder / place).mkdir(parents=True, exist_ok=True, mode=0o700)
        patch.setenv(name, str(folder / place))
    for name, value in GIT_ENVIRONMENT.items():
        patch.setenv(name, value)
