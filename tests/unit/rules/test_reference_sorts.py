"""Each sort of reference a text may make, and each place it may be defined in."""

import pytest

from yaadwatch.anchors import targets, values
from yaadwatch.anchors.counts import is_distinctive
from yaadwatch.anchors.mentions import mentions
from yaadwatch.anchors.targets import Command, commands
from yaadwatch.anchors.tree import PATTERN_STARS_MAX, Tree
from yaadwatch.anchors.values import Version

TREE = Tree.of(
    ["src/net.py", "src/retry/limits.py", "web/retry/page.tsx", "docs/a/b.md", ".ci/x.yml"]
)


@pytest.mark.parametrize(
    ("mention", "folder", "found"),
    [
        ("src/retry/", "", "src/retry"),
        ("src/retry", "", "src/retry"),
        ("retry/", "src", "src/retry"),
        ("a/", "", "docs/a"),
        ("../src/retry", "docs", "src/retry"),
        (".ci/", "", ".ci"),
        ("retry/", "", None),
        ("retry", "", None),
        ("src/net.py", "", None),
        ("nowhere/", "", None),
    ],
)
def test_a_folder_is_found_as_a_file_is_but_never_by_a_bare_word(mention, folder, found):
    assert TREE.match_folder(mention, folder=folder) == found


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("src/*.py", ["src/net.py"]),
        ("src/**/*.py", ["src/net.py", "src/retry/limits.py"]),
        ("*.tsx", ["web/retry/page.tsx"]),
        ("docs/**", ["docs/a/b.md"]),
        ("src/*.ts", []),
        ("*" * (PATTERN_STARS_MAX + 1) + ".py", []),
    ],
)
def test_a_pattern_stands_for_the_files_it_names(pattern, found):
    assert sorted(TREE.matching(pattern)) == found


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("Tests are in `src/retry/Get[Name]Test.py`", "src/retry"),
        ("Tests are in `src/retry/get_<name>.py`", "src/retry"),
        ("Tests are in `src/retry/get_${name}.py`", "src/retry"),
        ("Tests are in `src/retry/{name}.py`", "src/retry"),
    ],
)
def test_a_path_with_a_gap_to_be_filled_in_names_the_folder_above_it(text, folder):
    tree = Tree.of(["src/retry/Get/a.py", "src/retry/get_/a.py", "web/Test.py", "src/retry/a.py"])

    paths = mentions(text).paths

    assert {tree.match(path) for path in paths} == {None}
    assert {tree.match_folder(path) for path in paths} - {None} == {folder}


@pytest.mark.parametrize("text", ["`a.py->src/net.py`", "`src/net.py[3]`", "**src/net.py**"])
def test_what_stands_beside_a_whole_path_is_no_gap_in_it(text):
    assert "src/net.py" in mentions(text).paths


def test_patterns_and_lists_in_braces_are_taken_from_a_text():
    found = mentions("Rules are in `.ai/*.md`; see src/{net,tcp}.py and web/**/page.tsx.")

    assert {".ai/*.md", "web/**/page.tsx"} <= set(found.globs)
    assert {"src/net.py", "src/tcp.py"} <= set(found.paths)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("make lint test", [("make", "lint"), ("make", "test")]),
        ("make -j 4 -C docs html", [("make", "html")]),
        ("CI=1 npm run build:all -- --watch", [("npm", "build:all")]),
        ("pnpm --filter web test", []),
        ("pnpm --filter=web test", []),
        ("npm run test --workspace web", []),
        ("pnpm -C web test", [("pnpm", "test")]),
        ("yarn lint && yarn run check", [("yarn", "lint"), ("yarn", "check")]),
        ("$ just fmt", [("just", "fmt")]),
        ("tox -e py311,lint", [("tox", "py311"), ("tox", "lint")]),
        ("nox -s docs", [("nox", "docs")]),
        ("cargo test -p core", [("cargo", "core"), ("cargo", "test")]),
        ("uv run serve", [("uv", "serve")]),
        ("uv sync", []),
        ("deno task dev", [("deno", "dev")]),
        ("poetry install", []),
        ("make", []),
        ("echo make lint", []),
    ],
)
def test_a_command_runs_targets(line, found):
    assert list(commands(line)) == [Command(*one) for one in found]


@pytest.mark.parametrize(
    ("path", "text", "target"),
    [
        ("Makefile", ".PHONY: lint\nlint test: deps ## both\n\truff check\n", "lint"),
        ("docs/Makefile", "html::\n\tsphinx\n", "html"),
        ("justfile", "@fmt *args: deps\n  ruff format\n", "fmt"),
        ("Taskfile.yml", "tasks:\n  build:\n    cmds: [go build]\n", "build"),
        ("package.json", '{"scripts": {"build:all": "tsc"}}', "build:all"),
        ("deno.json", '{"tasks": {"dev": "x"}}', "dev"),
        ("tox.ini", "[tox]\nenvlist = py311, lint\n[testenv:docs]\n", "docs"),
        ("tox.ini", "[tox]\nenvlist =\n  py311\n  lint\n", "lint"),
        ("noxfile.py", "@nox.session\ndef docs(session):\n    pass\n", "docs"),
        ("pyproject.toml", '[project.scripts]\nserve = "a:b"\n[tool.x]\ny = 1\n', "serve"),
        ("Cargo.toml", '[package]\nname = "core"\n', "core"),
        (".cargo/config.toml", '[alias]\nxtask = "run"\n', "xtask"),
        ("Rakefile", "task :spec do\nend\n", "spec"),
    ],
)
def test_a_build_file_defines_its_targets_and_no_others(path, text, target):
    assert targets.defines_target(path, text, target)
    assert not targets.defines_target(path, text, "nothing-like-it")


@pytest.mark.parametrize("text", ["{", "[1]", '{"scripts": 3}', "[" * 5_000, ""])
def test_a_broken_build_file_defines_nothing(text):
    assert not targets.defines_target("package.json", text, "test")


def test_a_key_of_another_table_is_no_target():
    assert not targets.defines_target("pyproject.toml", '[tool.ruff]\nlint = "x"\n', "lint")


def test_a_text_states_versions_and_lengths():
    found = mentions("`src/net.py` (1,203 lines) needs Python 3.11+ and node@20; step 3 is next.")

    assert found.lines == (1203,)
    assert Version("Python", "3.11") in found.versions
    assert Version("node", "20") in found.versions
    assert all(version.thing != "step" for version in found.versions)


def test_a_version_may_be_that_of_a_package_with_its_owner_before_it():
    found = mentions("acme/tools 0.5, `@acme/rows@2.1` and github.com/acme/net v1.4")

    assert found.versions == (
        Version("acme/tools", "0.5"),
        Version("@acme/rows", "2.1"),
        Version("github.com/acme/net", "1.4"),
    )


@pytest.mark.parametrize(
    ("path", "text", "thing", "version"),
    [
        ("pyproject.toml", 'requires-python = ">=3.11"\n', "Python", "3.11"),
        (".nvmrc", "v20.1.0\n", "nvm", "20.1.0"),
        (".python-version", "3.12\n", "Python", "3.12"),
        ("package.json", '{"engines": {"node": ">=18"}}', "Node", "18"),
        ("go.mod", "module x\n\ngo 1.22\n", "Go", "1.22"),
        ("go.mod", "module x\n", "Go", None),
        ("global.json", '{\n  "sdk": {\n    "version": "10.0.1",', "SDK", "10.0.1"),
        ("Cargo.toml", '[dependencies.rows]\nversion = "2.1"\n', "rows", "2.1"),
        ("pom.xml", "<artifactId>rows</artifactId>\n  <version>2.1</version>", "rows", "2.1"),
        ("Cargo.toml", '[dependencies.rows-net]\nversion = "2.1"\n', "rows", None),
        ("package.json", '{\n  "name": "rows",\n  "private": true', "rows", None),
    ],
)
def test_a_file_gives_a_thing_its_version(path, text, thing, version):
    assert (path in values.PLACES) == (path != "x")
    assert values.version_in(path, text, thing) == version


@pytest.mark.parametrize(
    ("stated", "found", "same"),
    [("3.11", "3.11.4", True), ("3", "3.11", True), ("3.1", "3.11", False), ("20", "18", False)],
)
def test_a_version_holds_when_one_begins_like_the_other(stated, found, same):
    assert values.same_version(stated, found) is same
    assert values.same_version(found, stated) is same


def test_a_length_holds_until_a_tenth_of_it_is_off():
    assert values.lines_hold(100, 109)
    assert values.lines_hold(5, 8)
    assert not values.lines_hold(100, 111)


def test_a_plain_common_word_names_nothing():
    assert not any(
        map(is_distinctive, ("build", "test", "run", "Table", "src", "chore", "refactor"))
    )
    assert all(
        map(is_distinctive, ("retry_limit", "--dry-run", "gofumpt", "APP_KEY", "web-ui", "py311"))
    )


def test_links_to_files_of_a_repository_on_its_host_are_paths():
    found = mentions(
        "See https://github.com/ada/net/blob/main/src/net.py and https://example.org/x.py"
    )

    assert found.paths[0] == "src/net.py"
    assert all("x.py" not in path for path in found.paths)


def test_a_method_without_what_it_belongs_to_is_a_name():
    assert "ensure_open" in mentions("Call `await .ensure_open(actor)` first").symbols


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("`LIMIT = 5`", "5"),
        ("`LIMIT` is 5.", "5"),
        ("LIMIT=1,000 requests", "1000"),
        ("the limit (`LIMIT`: 0.5)", "0.5"),
        ("`LIMIT` (5)", "5"),
        ("`LIMIT` defaults to -1", "-1"),
        ("`LIMIT` is five.", "5"),
        ("`LIMIT` (Three)", "3"),
        ("LIMIT are twelve", "12"),
        ("`LIMIT` is one of many", None),
        ("`LIMIT` is five or six", None),
        ("`LIMIT` is two-fold", None),
        ("`LIMIT` isone", None),
        ("`LIMIT` is 5s", None),
        ("`LIMIT` is 5%", None),
        ("`LIMIT` is 5.x", None),
        ("`MY_LIMIT` is 5", None),
        ("`LIMIT` is 5, but `LIMIT` is 6 in tests", None),
        ("`LIMIT`", None),
        ("`LIMIT` in `src/net.py` is 5.", "5"),
        ("LIMIT (in src/net.py) is now 5", "5"),
        ("In `src/net.py`, `LIMIT` is 5", "5"),
        ("`LIMIT` is 5 unless the net is slow.", None),
        ("When the net is slow, `LIMIT` is 5.", None),
        ("`LIMIT` is 5. Otherwise it is 6.", None),
        ("`LIMIT` is 5 in tests.", None),
        ("Ask if unsure. `LIMIT` is 5.", "5"),
        ("`LIMIT` (default: `5`): how often it is tried", "5"),
        ("`LIMIT` (default 5)", "5"),
        ("`LIMIT` (`int`, defaults to `5`)", "5"),
        ("`LIMIT`, default five", "5"),
        ("`LIMIT` — default: 5", "5"),
        ("`LIMIT` (default: 5 if it is slow)", None),
        ("`LIMIT` (default: `True`)", "true"),
        ("`LIMIT` (`bool`, default: `False`): on or off", "false"),
        ("`LIMIT` (default: `'embed'`)", '"embed"'),
        ('`LIMIT = "a b"`', '"a b"'),
        ("`LIMIT` defaults to None.", "nothing"),
        ("`LIMIT` is true", None),
        ("`LIMIT` (default: truely)", None),
        ("`LIMIT` = 'fast' or 'slow'", None),
        ("`LIMIT` is set to `True` or `False`", None),
        ("`LIMIT` (default: `'a'` | `'b'`)", None),
        ("`LIMIT` is 5, or 6", None),
        ("`LIMIT` is 5/6", None),
        ("`LIMIT` is 5, 6 is too much", "5"),
        ("`LIMIT = 'a', 'b'`", None),
        ("`LIMIT` = 5, 6", None),
        ("`LIMIT` defaults to 'a', 'b' and 'c'.", None),
        ("`LIMIT = 5, OTHER = 6`", "5"),
        ("`LIMIT = 'a', OTHER = 'b'`", '"a"'),
        ("Set `LIMIT = True` to see more", None),
        ("- Set `LIMIT = 5` in the settings", None),
        ("To see more, set LIMIT = True", None),
        ("You can export `LIMIT=5`", None),
        ("`LIMIT = False`. Set `LIMIT = True` to see more.", "false"),
        ("The set `LIMIT = 5` is what counts", "5"),
        ("`LIMIT` (`str | None`, default: `None`)", "nothing"),
        ("`LIMIT` is in the docs. Of the port, default 5", None),
        ("`LIMIT` and port: default 5", None),
        ("`LIMIT` (default: `5`) and `LIMIT` (default: `6`)", None),
    ],
)
def test_a_text_says_which_value_a_name_has(text, value):
    assert values.stated_for(text, "LIMIT") == value


def test_a_text_that_says_one_value_at_very_many_places_is_no_claim():
    assert values.stated_for("LIMIT = 5, " * values.STATED_MAX, "LIMIT") == "5"
    assert values.stated_for("LIMIT = 5, " * (values.STATED_MAX + 1), "LIMIT") is None


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("LIMIT = 5\n", "5"),
        ("import LIMIT\nLIMIT: Final[int] = 5\n", None),
        ("LIMIT: int = 1_000  # a minute\r\nprint(LIMIT, 6)\n", "1000"),
        ("export const LIMIT: number = 5;\n", "5"),
        ("pub const LIMIT: usize = 5;\n", "5"),
        ("\tLIMIT int = 5\n", "5"),
        ("#define LIMIT 5\n", "5"),
        ('{"a": 1,\n "LIMIT": 5}\n', "5"),
        ("a:\n  LIMIT: 5 # now\n", "5"),
        ("static final int LIMIT = 0.5;\n", "0.5"),
        ("LIMIT = 5 * 60\n", None),
        ("LIMIT = 5, 6\n", None),
        ("LIMIT = 5, 6, other\n", None),
        ("LIMIT = 5,\n", "5"),
        ('{"LIMIT": 5, "b": 6}\n', "5"),
        ("let LIMIT = 5, other = 6;\n", "5"),
        ("LIMIT = other\n", None),
        ("MY_LIMIT = 5\n", None),
        ("a.LIMIT = 5\n", None),
        ("if LIMIT == 5:\n", None),
        ("LIMIT = 5\nLIMIT = 6\n", None),
        ("f(LIMIT=5)\n", None),
        ("", None),
    ],
)
def test_a_file_gives_a_name_one_number(source, number):
    assert values.assigned(source, "LIMIT") == number


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Retries are three, see net.py", [("Retries", "3")]),
        ("The retry limit is 3.", [("retry limit", "3")]),
        ("Our own maximum retry limit (3)", [("limit", "3")]),
        ("One of three is a retry", []),
        ("Retries are three times as slow", []),
        ("Retries are three, if the net is slow", []),
    ],
)
def test_a_text_gives_a_number_to_what_it_says_in_words(text, said):
    found = list(values.phrases(text))

    assert len(found) == len(said)
    assert all(
        one in (p.wordings[-1:] + p.wordings[-2:-1])
        for (one, _), p in zip(said, found, strict=True)
    )
    assert [one.number for one in found] == [number for _, number in said]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("RETRY_LIMIT = 3\n", "RETRY_LIMIT"),
        ("const retryLimit = 3;\n", "retryLimit"),
        ("retry-limit: 3\n", "retry-limit"),
        ("RETRY_LIMIT = 5\n", None),
        ("RETRY_LIMIT = 3\nretry_limit = 4\n", None),
        ("RETRY_LIMIT = 3\nRETRY_LIMIT = 4\n", None),
        ("MAX_RETRY_LIMIT = 3\n", None),
    ],
)
def test_a_name_in_a_file_is_meant_by_words(source, name):
    assert values.meant_name(source, "retry limit", "3") == name


def test_a_long_line_is_no_long_wait():
    assert values.assigned("LIMIT " * 20_000 + "=", "LIMIT") is None
    assert list(values.phrases("the retry limit " * 20_000)) == []
