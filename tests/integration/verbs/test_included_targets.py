"""A command holds while a file that its build file includes defines what it runs."""

import pytest

from yaadwatch.staleness import stale


def reasons(repo, before, after):
    """Return the reasons of the flags of "Run `make lint`" after a commit changes these files."""
    for path, text in before.items():
        repo.write(path, text)
    repo.commit("before")
    tool = "just" if "justfile" in before else "make"
    repo.remember(f"Run `{tool} lint` before you push")
    for path, text in after.items():
        repo.write(path, text)
    repo.commit("the change")
    return [row["reason"] for row in stale.stale(repo.home, repo.call, all=True)["stale"]]


@pytest.mark.parametrize(
    ("build_file", "including", "path"),
    [
        ("Makefile", "include mk/*.mk\n", "mk/lint.mk"),
        ("Makefile", "-include $(TOP)/tools/rules.mk\n", "tools/rules.mk"),
        ("Makefile", "include $(wildcard build/*.mk)\n", "build/lint.mk"),
        ("justfile", "import 'just/lint.just'\n", "just/lint.just"),
    ],
)
def test_a_target_that_went_into_an_included_file_raises_nothing(repo, build_file, including, path):
    rule = "lint:\n\truff check\n"

    assert reasons(repo, {build_file: rule}, {build_file: including, path: rule}) == []


def test_a_target_that_no_included_file_defines_is_flagged(repo):
    after = {"Makefile": "include mk/*.mk\n", "mk/a.mk": "fmt:\n\ttrue\n"}

    found = reasons(repo, {"Makefile": "lint:\n\truff check\n"}, after)

    assert found == ["Makefile does not define lint any more"]


@pytest.mark.parametrize(
    "steps",
    [
        "\t@echo 'make is not used here any more'\n\t@exit 1\n",
        "\t@:\n",
        "\t$(HELP)\n\ndefine HELP\n@echo 'run npx instead'\nendef\n",
    ],
)
def test_rule_that_does_the_same_for_every_target_defines_none(repo, steps):
    found = reasons(repo, {"Makefile": "lint:\n\truff check\n"}, {"Makefile": f"%:\n{steps}"})

    assert found == ["Makefile does not define lint any more"]


@pytest.mark.parametrize(
    "rule",
    [
        "%:\n\tnpm run $@\n",
        "%: build/%\n\ttrue\n",
        "%:\n\t$(RUN)\n\nRUN = tools/run $*\n",
        "%: FORCE\n\t$(MAKE) -C src $(MAKECMDGOALS)\n",
    ],
)
def test_rule_that_passes_every_target_on_raises_nothing(repo, rule):
    assert reasons(repo, {"Makefile": "lint:\n\truff check\n"}, {"Makefile": rule}) == []


@pytest.mark.parametrize(
    "broken",
    [
        '{"scripts": {"build": "vite", "lint": "eslint",}}',
        '{"scripts": {"build": "vite", "lint": "esl',
        '<<<<<<< a\n{"scripts": {"build": "vite"}}\n=======\n{}\n>>>>>>> b\n',
        '{"scripts": {"build": ' + '{"a": ' * 5_000 + "1" + "}" * 5_000 + "}}",
    ],
    ids=["comma", "half", "conflict", "deep"],
)
def test_package_that_is_no_json_at_the_moment_has_lost_no_script(repo, broken):
    repo.commit("before", {"package.json": '{"scripts": {"build": "vite", "lint": "eslint"}}'})
    memory = repo.remember("Run `npm run build` first")

    repo.commit("half of it", {"package.json": broken})
    found = repo.stale(all=True)

    assert found["stale"] == []
    assert "does not parse as JSON" in found["unknown"][0]["reason"]
    repo.commit("drop it", {"package.json": '{"scripts": {"lint": "eslint"}}'})
    flag = repo.flag_of(memory)
    assert flag["verdict"] == "gone"
    assert [row["commit"]["subject"] for row in flag["evidence"]] == ["drop it"]
