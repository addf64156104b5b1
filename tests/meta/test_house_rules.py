"""The shape of the code, as tests: sizes, first lines, the clock, async, layers, types, lint."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    path for package in ("yaadwatch", "bridges") for path in (ROOT / package).rglob("*.py")
)
TEXTS = {path: path.read_text(encoding="utf-8") for path in MODULES}
TESTS = sorted((ROOT / "tests").rglob("*.py"))
LINES_MAX = 620
TOP = {
    *(".ci", ".gitignore", ".pre-commit-hooks.yaml", "Makefile", "action.yml", "pyproject.toml"),
    *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "docs", "service-units"),
    *("bridges", "yaadwatch", "tests"),
}
ASYNC_HOMES = ("yaadwatch/daemon/", "yaadwatch/client/")
CATCH_ALL_HOMES = {
    "bridges/registry.py",
    "yaadwatch/daemon/connection.py",
    "yaadwatch/daemon/dispatch.py",
    "yaadwatch/daemon/mcp.py",
    "yaadwatch/cli/main.py",
    "yaadwatch/daemon/supervisor.py",
    "yaadwatch/workspace/large_jobs.py",
}


def _name(path):
    return path.relative_to(ROOT).as_posix()


def _tool(*arguments):
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600
    )


def test_there_is_something_to_hold_to_the_rules():
    assert len(MODULES) > 50


def test_no_module_is_longer_than_a_person_can_hold():
    assert [_name(path) for path, text in TEXTS.items() if len(text.splitlines()) > LINES_MAX] == []


def test_every_module_says_what_it_is_for_in_its_first_line():
    assert [
        _name(path)
        for path, text in TEXTS.items()
        if (path.name != "__init__.py" or text) and not re.match(r'"""[^\n]{10,}[.:?]', text)
    ] == []


def test_async_stays_in_the_outer_layers():
    homes = [_name(path) for path, text in TEXTS.items() if "async def" in text]
    assert [name for name in homes if not name.startswith(ASYNC_HOMES)] == []


def test_time_comes_in_as_a_parameter():
    clocks = re.compile(r"datetime\.now|utcnow|time\.time\b|time_ns\(|perf_counter")
    found = {
        _name(path): clocks.findall(text) for path, text in TEXTS.items() if path.name != "clock.py"
    }
    assert {name: calls for name, calls in found.items() if calls} == {}


def test_no_lock_of_all_projects_is_held_while_one_is_read():
    """That of a `cached_property`, in Python 3.11, is one for all objects of the class."""
    pure = ("yaadwatch/anchors/", "yaadwatch/staleness/commits.py")
    found = [_name(path) for path, text in TEXTS.items() if "cached_property" in text]
    assert [name for name in found if not name.startswith(pure)] == []


def test_only_the_modules_that_run_others_catch_everything():
    broad = [
        f"{_name(path)}:{handler.lineno}"
        for path, text in TEXTS.items()
        if _name(path) not in CATCH_ALL_HOMES
        for handler in ast.walk(ast.parse(text))
        if isinstance(handler, ast.ExceptHandler)
        and (
            handler.type is None
            or (isinstance(handler.type, ast.Name) and handler.type.id == "Exception")
        )
    ]
    assert broad == []


def test_nothing_is_left_for_later():
    later = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError")
    assert [_name(path) for path, text in TEXTS.items() if later.search(text)] == []


def test_nothing_lies_about_at_the_top():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert {name.partition("/")[0] for name in listed.stdout.split("\0") if name} <= TOP


def test_every_test_file_has_a_name_of_its_own():
    names = [path.name for path in TESTS if path.name.startswith("test_")]
    assert len(names) == len(set(names))


@pytest.mark.xdist_group("tools")
def test_a_group_of_tests_is_one_to_whoever_shares_them_out(request):
    if request.config.getoption("loadgroup", default=False):
        assert request.node.nodeid.endswith("@tools")


@pytest.mark.xdist_group("tools")
def test_the_layers_hold():
    found = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.xdist_group("tools")
@pytest.mark.timeout(600)
def test_the_types_hold():
    found = _tool("mypy", "--no-error-summary")
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.xdist_group("tools")
def test_the_linter_has_nothing_to_say():
    found = _tool("ruff", "check", "--output-format", "concise", ".")
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.xdist_group("tools")
def test_everything_is_formatted():
    found = _tool("ruff", "format", "--check", ".")
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_bad_request_says_what_to_do_next_or_what_a_check_of_its_fields_said():
    """What a check says (`{error}`) names the field, and what it may be: that is what to do."""
    calls = [
        (path, node)
        for path in MODULES
        for node in ast.walk(ast.parse(TEXTS[path]))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "YaadError"
    ]
    bare = [
        (_name(path), ast.unparse(call.args[1]))
        for path, call in calls
        if ast.unparse(call.args[0]) == "Code.BAD_REQUEST"
        and len(call.args) < 3
        and not any(keyword.arg == "hint" for keyword in call.keywords)
    ]

    assert [(where, message) for where, message in bare if "{error}" not in message] == []
