"""What is false for certain is confirmed only by somebody who was told so."""

import pytest
from verb_world import FIVE_TRIES, NET, RETRY

from yaadwatch.cli import check_rules
from yaadwatch.model.errors import Code, YaadError


def refused(call, *arguments, **fields):
    with pytest.raises(YaadError) as found:
        call(*arguments, **fields)
    assert found.value.code is Code.REFUSED
    return found.value


def remove(tree):
    tree.git("rm", "-q", "src/net.py")


def rename(tree):
    tree.git("mv", "src/net.py", "src/http.py")


def drop_definition(tree):
    start, end = NET.index("def fetch"), NET.index("def last")
    tree.write("src/net.py", NET[:start] + NET[end:])


def raise_limit(tree):
    tree.write("src/limits.py", "LIMIT = 5\n")


def drop_target(tree):
    tree.write("Makefile", "check:\n\ttrue\n")


CASES = {
    "file": (RETRY, remove, "src/net.py is gone"),
    "moved": (RETRY, rename, "src/net.py is now src/http.py"),
    "definition": (RETRY, drop_definition, "fetch_with_retry is gone from src/net.py"),
    "value": ("`LIMIT` in src/limits.py is 3", raise_limit, "was 3, is now 5"),
    "command": ("Run `make lint` before you push", drop_target, "does not define lint"),
}


@pytest.fixture
def site(repo):
    repo.write("src/limits.py", "LIMIT = 3\n")
    repo.write("Makefile", "lint:\n\tfalse\ncheck:\n\ttrue\n")
    repo.commit("site")
    return repo


@pytest.mark.parametrize("sort", CASES)
def test_it_is_refused_with_what_is_false_and_cleared_only_when_insisted_on(site, sort):
    text, change, why = CASES[sort]
    memory = site.remember(text)
    change(site)
    site.commit("change")

    error = refused(site.confirm, memory)

    assert why in error.message
    assert f"yaadwatch confirm {memory[-8:]} --yes" in error.hint
    assert site.verdict(memory) != "fresh"
    site.confirm(memory, anyway=True)
    assert site.verdict(memory) == "fresh"


def test_a_new_body_is_a_matter_of_judgement(site):
    memory = site.remember("Retries live in src/net.py", symbols=["fetch_with_retry"])
    site.write("src/net.py", FIVE_TRIES)

    site.confirm(memory)

    assert site.verdict(memory) == "fresh"


def test_a_file_that_was_only_given_proves_nothing_of_the_text(site):
    memory = site.remember("Be careful", files=["src/net.py"])
    remove(site)
    assert site.verdict(memory) == "gone"

    site.confirm(memory)

    assert site.verdict(memory) == "fresh"


def test_a_file_that_moved_and_is_named_by_its_bare_name_is_confirmed(site):
    memory = site.remember("Retries live in net.py")
    site.commit("lib", moved={"src/net.py": "lib/net.py"})

    site.confirm(memory)

    assert site.verdict(memory) == "fresh"


def test_a_rule_of_a_file_is_false_for_the_daemon_as_long_as_it_is_for_check(site):
    site.commit("rules", {"CLAUDE.md": "# Rules\n\n- All calls are in `src/net.py`\n"})
    site.add()
    site.sync()
    remove(site)
    site.commit("no net")
    (flag,) = site.stale()["stale"]

    for anyway in (False, True):
        error = refused(site.confirm, flag["id"], anyway=anyway)
        assert "CLAUDE.md (line 3)" in error.message

    assert [row["id"] for row in site.stale()["stale"]] == [flag["id"]]
    (found,) = check_rules.check(site.path, base="HEAD~1")["false"]
    assert found["line"] == 3


@pytest.mark.parametrize("sort", CASES)
def test_to_say_it_again_does_not_clear_it(site, sort):
    text, change, _ = CASES[sort]
    memory = site.remember(text)
    change(site)
    site.commit("change")
    verdict = site.verdict(memory)

    assert site.remember(text, symbols=[]) == memory

    assert site.verdict(memory) == verdict != "fresh"


def test_to_say_again_what_only_has_a_new_body_confirms_it(site):
    memory = site.remember("Retries live in src/net.py", symbols=["fetch_with_retry"])
    site.write("src/net.py", FIVE_TRIES)
    assert site.verdict(memory) == "changed"

    site.remember("Retries live in src/net.py")

    assert site.verdict(memory) == "fresh"
