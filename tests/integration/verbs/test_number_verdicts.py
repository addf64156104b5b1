"""A number that a text gives a name is flagged when the definition gives another, and only then."""

import pytest

from yaadwatch.staleness import stale

SAID = "`LIMIT` is 30 in src/v.py"
FILLED = "".join(f"name_{number} = {number}\n" for number in range(100, 130))


def judged(repo, before, after):
    repo.commit("before", {"src/v.py": before})
    repo.remember(SAID)
    repo.commit("the change", {"src/v.py": after})
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
    repo.commit("before", {"src/v.py": "LIMIT = 30\n"})
    node = repo.remember(SAID)

    assert {row.get("symbol") for row in repo.show(node)["anchors"]} <= {None, "LIMIT"}


@pytest.mark.parametrize(
    ("path", "before", "said", "new"),
    [
        ("a.py", "class Retry:\n    limit = 3\n", "`Retry.limit` is 3 in a.py", "5"),
        ("a.ts", "class Retry {\n  static LIMIT = 3\n}\n", "`Retry.LIMIT` is three in a.ts", "5"),
        ("a.toml", "[db]\npool = 3\n", "`db.pool` in a.toml is 3", "5"),
        ("a.yml", "db:\n  pool: 3\n", "`db.pool` = 3", "5"),
        ("a.rs", "impl Cfg {\n    const TOP: u32 = 3;\n}\n", "`Cfg::TOP` is 3 (a.rs)", "5"),
        ("a.py", "class Retry:\n    limit = 3\n", "`Retry.limit` is 3 in a.py", "3  # at most"),
    ],
)
def test_a_value_is_stated_of_a_member_and_of_a_key_as_well(repo, path, before, said, new):
    repo.commit("before", {path: before})
    node = repo.remember(said)
    repo.commit("the change", {path: before.replace("3", new)})

    rows = {row["id"]: row for row in repo.stale(all=True)["stale"]}

    if new == "5":
        expected = said.replace("three", "5").replace("3", "5")
        assert (rows[node]["level"], rows[node]["suggestion"]["text"]) == ("warn", expected)
    else:
        assert node not in rows


@pytest.mark.parametrize(
    "source",
    [
        "def go_on(n):\n    while n < {}:\n        n += 1\n",
        "def go_on(n):\n    for i in range(1, {}):\n        n += i\n",
        "def go_on(n, tries={}):\n    return n + tries\n",
    ],
)
def test_a_number_of_thousands_of_digits_stops_no_check(repo, source):
    repo.commit("before", {"src/v.py": source.format(3), "src/w.py": "LIMIT = 30\n"})
    repo.remember("`go_on` in src/v.py tries three times")
    other = repo.remember("`LIMIT` is 30 in src/w.py")

    repo.commit("the change", {"src/v.py": source.format("1" * 6_000), "src/w.py": "LIMIT = 45\n"})

    assert other in [row["id"] for row in repo.stale()["stale"]]


class TestNewText:
    def test_the_number_that_is_there_now_is_proposed(self, repo):
        (row,) = judged(repo, "LIMIT = 30\n", "LIMIT = 45\n")

        assert row["suggestion"]["text"] == "`LIMIT` is 45 in src/v.py"
        repo.reanchor(row["id"])
        assert repo.show(row["id"])["text"] == "`LIMIT` is 45 in src/v.py"
        assert repo.stale()["stale"] == []

    @pytest.mark.parametrize("place", ["src/limits.py", "lib/v.py"])
    def test_a_file_that_moved_and_a_number_that_changed_are_both_put_in(self, repo, place):
        row = self.moved(repo, SAID, place)
        assert row["suggestion"]["text"] == f"`LIMIT` is 45 in {place}"

    @pytest.mark.parametrize(
        ("said", "new"),
        [
            (
                "`A_MAX` is 3 and `B_MAX` is 5 in src/v.py",
                "`A_MAX` is 5 and `B_MAX` is 7 in src/v.py",
            ),
            ("`A_MAX` = 3 in src/v.py, on port 4", "`A_MAX` = 5 in src/v.py, on port 4"),
            ("`A_MAX` = 3 in src/v.py: open port 3", None),
            (
                "Python 3 code: `A_MAX` is three in src/v.py",
                "Python 3 code: `A_MAX` is 5 in src/v.py",
            ),
            ("Python 3 code: `A_MAX` is three in each of src/v.py", None),
            (
                "Python 3 code, src/v.py: `A_MAX` is three.",
                "Python 3 code, src/v.py: `A_MAX` is 5.",
            ),
            ("In src/v.py `A_MAX` is 3, and `A_MAX` is 3", None),
            (
                "In src/v.py `A_MAX` is 3.0; see #3",
                "In src/v.py `A_MAX` is 5; see #3",
            ),
            ("`A_MAX` in `src/v.py` is now 3, of 3 at most", None),
            ("`A_MAX` in `src/v.py` is 3, because three is what the API allows", None),
            ("`A_MAX` in `src/v.py` is 3, not 5", None),
        ],
    )
    def test_only_what_is_said_of_the_name_is_put_in(self, repo, said, new):
        repo.commit("before", {"src/v.py": "A_MAX = 3\nB_MAX = 5\n" + FILLED})
        node = repo.remember(said)
        repo.commit("the change", {"src/v.py": "A_MAX = 5\nB_MAX = 7\n" + FILLED})
        rows = {row["id"]: row for row in repo.stale(all=True)["stale"]}
        proposed = rows[node].get("suggestion") or {}
        assert proposed.get("text") == new

    def test_where_something_else_changed_too_no_text_is_sure(self, repo):
        repo.write("src/v.py", "LIMIT = 30\n\n\ndef wait_longer():\n    return LIMIT\n" + FILLED)
        repo.commit("before")
        node = repo.remember("`LIMIT` is 30 in src/v.py", symbols=["wait_longer"])
        repo.write(
            "src/v.py", "LIMIT = 45\n\n\ndef wait_longer():\n    return 2 * LIMIT\n" + FILLED
        )
        repo.commit("the change")
        rows = {row["id"]: row for row in repo.stale(all=True)["stale"]}
        assert not (rows[node].get("suggestion") or {}).get("text")

    def test_a_text_that_would_still_be_false_is_not_proposed(self, repo):
        row = self.moved(repo, f"{SAID}; `LIMIT` = 30", "src/limits.py")
        assert (row["suggestion"]["path"], row["suggestion"]["text"]) == (None, None)
        assert row["suggestion"]["places"] == ["src/limits.py"]

    @staticmethod
    def moved(repo, said, place):
        repo.commit("before", {"src/v.py": "LIMIT = 30\n" + FILLED})
        repo.remember(said)
        (repo.path / place).parent.mkdir(exist_ok=True)
        repo.commit("the change", {place: "LIMIT = 45\n" + FILLED}, moved={"src/v.py": place})
        (row,) = repo.stale(all=True)["stale"]
        return row


@pytest.mark.parametrize(
    ("said", "before", "after", "reason", "proposed"),
    [
        (
            "`LIMIT` (default: `3`)",
            "LIMIT: int = 3",
            "LIMIT: int = 5",
            "was 3, is now 5",
            "(default: `5`)",
        ),
        (
            "`LIMIT` (default: `True`)",
            "LIMIT = True",
            "LIMIT = False",
            "was true, is now false",
            "(default: `False`)",
        ),
        (
            "`LIMIT` (default: `'a'`)",
            "LIMIT = 'a'",
            'LIMIT = "b"',
            "was a, is now b",
            "(default: `'b'`)",
        ),
        (
            "`LIMIT` (default: `True`; true is slow)",
            "LIMIT = True",
            "LIMIT = False",
            "was true, is now false",
            None,
        ),
        ("`LIMIT` (default: `5`)", "LIMIT = 5", "LIMIT = None", "was 5, is now nothing", None),
        ("`LIMIT` (default: `5`)", "LIMIT = 5", "LIMIT = True", "was 5, is now true", None),
        (
            "`LIMIT` (default: `None`)",
            "LIMIT = None",
            "LIMIT = True",
            "was nothing, is now true",
            "(default: `True`)",
        ),
    ],
)
def test_what_a_name_has_by_default_is_held_against_its_definition(
    repo, said, before, after, reason, proposed
):
    repo.commit("before", {"src/v.py": f"class Settings:\n    {before}\n"})
    node = repo.remember(f"{said} in src/v.py says it")
    repo.commit("the change", {"src/v.py": f"class Settings:\n    {after}\n"})

    row = repo.flag_of(node)

    assert (row["level"], row["verdict"]) == ("warn", "changed")
    assert row["reason"].endswith(reason)
    if proposed is None:
        assert "suggestion" not in row
    else:
        assert proposed in row["suggestion"]["text"]


@pytest.mark.parametrize(
    "after",
    ["LIMIT = not False", "LIMIT = bool(1)", "LIMIT  =  True  # on", "LIMIT: bool = True"],
)
def test_what_is_worked_out_is_no_other_value(repo, after):
    repo.commit("before", {"src/v.py": "LIMIT = True\n"})
    node = repo.remember("`LIMIT` (default: `True`) is in src/v.py")
    repo.commit("the change", {"src/v.py": f"{after}\n"})

    assert "is now" not in (repo.flag_of(node) or {"reason": ""})["reason"]
