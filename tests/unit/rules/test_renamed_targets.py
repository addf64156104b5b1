"""A command whose target has another name now: what does the same, and what a text should say."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yaadwatch.anchors import targets
from yaadwatch.anchors.targets import renamed_target
from yaadwatch.model.anchors import Anchor, Method, Verdict
from yaadwatch.staleness.proposals import proposal, suggest
from yaadwatch.staleness.verdict import Seen, Span, judge_anchor

RENAMED = [
    ("Makefile", "lint: deps ## tidy\n\truff check\n\n\tmypy\n", "lint:", "check:"),
    ("justfile", "lint:\n  ruff check\n", "lint:", "check:"),
    ("Taskfile.yml", "tasks:\n  lint:\n    cmds:\n      - ruff\n  x:\n", "lint:", "check:"),
    ("web/package.json", '{"scripts": {"lint": "eslint .", "x": "y"}}', '"lint"', '"check"'),
    ("deno.json", '{"tasks": {"lint": {"command": "deno lint"}}}', '"lint"', '"check"'),
    ("pixi.toml", '[tasks]\nlint = "ruff check"\nx = "y"\n', "lint =", "check ="),
]


@pytest.mark.parametrize(("path", "then", "old", "new"), RENAMED)
def test_a_target_that_does_the_same_under_another_name_is_found(path, then, old, new):
    now = then.replace(old, new)

    assert targets.renamed(path, then, now, "lint") == "check"
    assert targets.renamed(path, then, now.replace("ruff", "other"), "lint") == (
        "check" if "ruff" not in then else ""
    )
    assert targets.renamed(path, then, then, "lint") == ""
    assert targets.renamed(path, now, now, "lint") == ""


@pytest.mark.parametrize(
    ("path", "then", "now"),
    [
        ("Makefile", "lint:\n\truff\n", "check test:\n\truff\n"),
        ("Makefile", "lint:\n", "check:\n"),
        ("package.json", '{"scripts": {"lint": "x"}}', '{"scripts": {"a b": "x"}}'),
        ("package.json", '{"scripts": {"lint": "x"}}', '{"scripts": {"`rm`": "x"}}'),
        ("package.json", '{"scripts": {"lint": "x"}}', '{"scripts": {"a": "x", "b": "x"}}'),
        ("package.json", '{"scripts": {"lint": ""}}', '{"scripts": {"check": ""}}'),
        ("package.json", "{", '{"scripts": {"check": ""}}'),
        ("noxfile.py", "def lint(s):\n    s.run('x')\n", "def check(s):\n    s.run('x')\n"),
        ("pixi.toml", '[tasks]\nlint = [\n "a",\n]\n', '[tasks]\ncheck = [\n "a",\n]\n'),
    ],
)
def test_what_does_the_same_is_told_only_where_it_is_one_and_its_steps_are_known(path, then, now):
    assert targets.renamed(path, then, now, "lint") == ""


@pytest.mark.parametrize(
    ("target", "is_defined"),
    [("lint-py", True), ("lint-", False), ("format", False), ("x.test", True), ("fmt", True)],
)
def test_a_pattern_rule_of_make_defines_what_it_matches(target, is_defined):
    text = "lint-%: deps\n\truff $*\n%.test:\n\tgo test $*\nfmt:\n\tx\n"

    assert targets.defines_target("web/Makefile", text, target) is is_defined
    assert not targets.defines_target("justfile", "lint-%:\n  x\n", "lint-py")


@pytest.mark.parametrize(
    ("path", "text", "patterns"),
    [
        (
            "Makefile",
            "include mk/*.mk ../a.mk # b\n-include $(TOP)/c.mk\n",
            ["mk/*.mk", "a.mk", "c.mk"],
        ),
        ("Makefile", "sinclude $(wildcard build/*.mk)\ninclude $(DEPS)\n", ["build/*.mk"]),
        ("Makefile", "lint:\n\tinclude x.mk\n", []),
        ("justfile", "import 'just/a.just'\nimport? \"b.just\"\n", ["just/a.just", "b.just"]),
        ("package.json", "include x.mk\n", []),
    ],
)
def test_files_that_a_build_file_includes_are_known(path, text, patterns):
    assert targets.included(path, text) == patterns


@given(st.sampled_from(sorted({path for path, *_ in RENAMED})), st.text(), st.text())
def test_any_two_texts_may_be_compared(path, then, now):
    assert targets.renamed(path, then, now, "lint") == "" or "lint" in then


BUILD_FILES = sorted({name for places in targets.PLACES.values() for name in places})
PIECES = st.sampled_from(
    ["[a]", "[tasks]", "[tool.poe.tasks.x]", "x = 1", "lint:", "\tx", "  lint:", "{", '{"scripts":']
)


@given(st.sampled_from(BUILD_FILES), st.text() | st.lists(PIECES).map("\n".join))
@example("mise.toml", "")
@example("pyproject.toml", "x = 1")
@example("package.json", '"scripts"')
@example("package.json", '{"scripts": {"a": ' + 990 * "[" + 990 * "]" + "}}")
def test_what_somebody_wrote_in_a_build_file_never_raises(path, text):
    assert targets.defines_target(path, text, "lint") <= ("lint" in text)


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("Run `make lint` first.", "Makefile", "Run `make check` first."),
        ("`make -j 4 clean lint` and lint", "Makefile", "`make -j 4 clean check` and lint"),
        ("`make lint-all`, `cmake lint`, `make x; lint`", "Makefile", None),
        (
            "`cd web && npm run lint -- --fix`",
            "web/package.json",
            "`cd web && npm run check -- --fix`",
        ),
        ("`npm run-script lint`", "package.json", "`npm run-script check`"),
        ("`npm lint`, `yarn lint`", "package.json", None),
        ("`just lint`", "Makefile", None),
        ("`deno task lint`", "deno.json", "`deno task check`"),
        (
            "`uv run lint`; `poetry run lint`",
            "pyproject.toml",
            "`uv run check`; `poetry run check`",
        ),
    ],
)
def test_a_command_is_told_to_run_another_target(text, path, said):
    assert renamed_target(text, targets.tools_of(path), "lint", "check") == (said or text)


def gone(target, heir, path="Makefile", likely=None):
    at = {"commit": "c", "blob": "b", "fingerprint": "", "line": None}
    anchor = Anchor(node="n", path=path, symbol=target, method=Method.TARGET, **at)
    return judge_anchor(anchor, Seen(place=path, span=Span.MISSING, heir=heir, likely=likely))


def test_what_is_gone_and_done_by_another_name_is_told_with_it():
    found = gone("lint", "check")

    assert found.verdict is Verdict.GONE
    assert found.reason == "Makefile does not define lint any more; check does the same"
    assert suggest("Run `make lint`.", found).text == "Run `make check`."
    assert gone("lint", "").reason == "Makefile does not define lint any more"
    assert suggest("Run `make lint`.", gone("lint", "")) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Run `make lint` and `make -s lint`.", "Run `make check` and `make -s check`."),
        ("Lint with `make lint`.", "Lint with `make check`."),
        ("Run `make $OPTIONS lint`.", "Run `make $OPTIONS check`."),
        ("Run `make lint`, not `make lint -k`.", "Run `make check`, not `make check -k`."),
        ("Run `nothing`.", None),
        ("First `make lint`, then `make check`.", None),
        ("`lint` is for others", None),
    ],
)
def test_a_text_is_proposed_only_where_all_of_its_commands_run_what_is_there(text, said):
    found = suggest(text, gone("lint", "check"))

    assert (found.text if found else None) == said


def test_two_targets_that_have_other_names_are_put_right_together():
    found = [gone("lint", "check"), gone("unit", "test")]

    assert proposal("`make lint unit`", found).text == "`make check test`"


def test_a_target_that_another_build_file_defines_is_told_with_that_file():
    found = gone("lint", "", likely="web/Makefile")

    assert found.reason == "Makefile does not define lint any more; web/Makefile does"
    assert suggest("Run `make lint`.", found) is None
