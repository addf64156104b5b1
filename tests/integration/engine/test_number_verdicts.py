"""A number that a text gives a name is doubted when the definition gives another, and only then."""

import pytest

from yaadwatch.engine import stale

SAID = "`LIMIT` is 30 in src/v.py"


def judged(repo, before, after):
    repo.write("src/v.py", before)
    repo.commit("before")
    repo.remember(SAID)
    repo.write("src/v.py", after)
    repo.commit("the change")
    return stale.stale(repo.home, repo.call, all=True)["stale"]


@pytest.mark.parametrize(
    "after",
    [
        "LIMIT = 30.0\n",
        "LIMIT = int(config.limit)\n\n\nclass Test:\n    LIMIT = 9\n",
        '"""Begin with\n\n    LIMIT=9000\n"""\nLIMIT = 10 + 20\n',
        "# in production: LIMIT = 80\nLIMIT = int(os.environ['LIMIT'])\n",
    ],
    ids=["written otherwise", "another class", "an example", "a comment"],
)
def test_what_the_definition_does_not_say_is_no_other_number(repo, after):
    assert [row["level"] for row in judged(repo, "LIMIT = 30\n", after)] in ([], [""])


def test_another_number_is_told_with_the_commit_that_brought_it(repo):
    (row,) = judged(repo, "LIMIT = 30\n", "LIMIT = 45\n")

    assert (row["level"], row["verdict"]) == ("warn", "changed")
    assert row["reason"] == "LIMIT in src/v.py: was 30, is now 45"
    assert [found["commit"]["subject"] for found in row["evidence"]] == ["the change"]
    assert {found["symbol"] for found in row["evidence"]} == {"LIMIT"}


def test_what_it_rests_on_is_told_by_its_name(repo):
    repo.write("src/v.py", "LIMIT = 30\n")
    repo.commit("before")
    node = repo.remember(SAID)

    assert {row.get("symbol") for row in repo.show(node)["anchors"]} <= {None, "LIMIT"}
