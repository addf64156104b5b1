"""Which statements of agent files travel, why the others do not, and how a person sends them."""

import pytest
from refusals import refusal
from verb_world import prepared

from yaadwatch.model.errors import Code
from yaadwatch.model.limits import short_id
from yaadwatch.sync import files, sharing

CLAUDE = (
    "# Rules\n\n- Use tabs in Go files\n- The parser reads src/net.py\n"
    "- We release on Tuesdays only\n"
)
AGENTS = "# For agents\n\n- Be brief\n"
TABS, PAGES = "Use tabs in Go files", "The parser reads src/net.py"
WEEK = "We release on Tuesdays only"


@prepared
def tree(world):
    tree = world.repo()
    tree.write("CLAUDE.md", CLAUDE)
    tree.write("AGENTS.md", AGENTS)
    tree.write("web/AGENTS.md", "- Use Zod here\n")
    tree.add(mode="inline")
    tree.sync()
    return tree


def told(tree, **fields):
    tree.settle()
    rows = sharing.statements(tree.home, tree.call, **fields)["statements"]
    return {row["text"]: row for row in rows}


def share(tree, **fields):
    tree.settle()
    return sharing.files_share(tree.home, tree.call, **fields)


def test_each_statement_says_whether_it_travels_and_why_not(tree):
    tree.write("CLAUDE.md", CLAUDE + "- Never push on Fridays\n")
    for _ in range(3):
        tree.sync()

    rows = told(tree)

    assert rows["Never push on Fridays"]["travels"]
    assert rows["Never push on Fridays"]["to"] == ["AGENTS.md"]
    assert "was there before" in rows[TABS]["reason"]
    assert f"yaadwatch files share {short_id(rows[TABS]['id'])}" in rows[TABS]["reason"]
    assert "gives no instruction" in rows[PAGES]["reason"]
    assert f"yaadwatch files share {short_id(rows[PAGES]['id'])}" in rows[PAGES]["reason"]
    assert rows["Use Zod here"]["reason"] == "it holds for web/ only"
    assert rows[TABS]["line"] == 3
    assert {row["path"] for row in told(tree, path="AGENTS.md").values()} == {"AGENTS.md"}


@pytest.mark.parametrize("heading", ["## Setup", "## Backend\n\n### Orders", "**On release day:**"])
def test_what_stood_below_a_heading_before_is_a_rule_by_its_own_words(world, heading):
    tree = world.repo()
    tree.write("CLAUDE.md", f"# Rules\n\n{heading}\n\n- Use uv, never pip\n")
    tree.add(mode="inline")

    (row,) = told(tree).values()

    assert "it was there before" in row["reason"]


def test_a_whole_file_is_shared_and_taken_back(tree):
    before = {name: tree.read(name) for name in ("CLAUDE.md", "AGENTS.md")}

    answer = share(tree, path="CLAUDE.md")

    assert {row["text"] for row in answer["shared"]} == {TABS, WEEK}
    assert answer["wrote"] == ["AGENTS.md"]
    assert TABS in tree.read("AGENTS.md")
    assert WEEK in tree.read("AGENTS.md")
    assert told(tree)[WEEK]["to"] == ["AGENTS.md"]
    assert [row["text"] for row in answer["stays"]] == [PAGES]
    assert PAGES not in tree.read("AGENTS.md")
    assert tree.read("CLAUDE.md") == before["CLAUDE.md"]

    ids = [row["id"] for row in answer["shared"]]
    assert all(short_id(one) in answer["undo"] for one in ids)
    back = share(tree, ids=ids, undo=True)
    assert {name: tree.read(name) for name in before} == before
    assert "--undo" not in back["undo"]


def test_chosen_memories_only(tree):
    pages = told(tree)[PAGES]["id"]

    share(tree, path="CLAUDE.md", ids=[short_id(pages)])

    assert PAGES in tree.read("AGENTS.md")
    assert TABS not in tree.read("AGENTS.md")
    assert share(tree, ids=[pages])["shared"] == []


def test_what_holds_for_a_folder_stays_there(tree):
    answer = share(tree, path="web/AGENTS.md")

    assert answer["shared"] == []
    assert [row["reason"] for row in answer["stays"]] == ["it holds for web/ only"]
    assert "Zod" not in tree.read("AGENTS.md") + tree.read("CLAUDE.md")


@pytest.mark.parametrize(
    "path", ["web/.claude/rules/a.md", "web/.cursor/rules/a.mdc", "web/.claude/CLAUDE.md"]
)
def test_a_file_in_an_agents_folder_holds_for_the_folder_above(tree, path):
    tree.commit("nested", {path: "---\nalwaysApply: true\n---\n- Use kebab case for names\n"})
    tree.sync()

    assert told(tree)["Use kebab case for names"]["reason"] == "it holds for web/ only"


@pytest.mark.parametrize(
    "damage", ["\n## <!-- yaad:end -->\n", "\n<<<<<<< HEAD\n", "\n<!-- yaad:begin v=1 nl=0 -->\n"]
)
def test_a_paused_file_is_not_shared_and_says_why(tree, damage):
    tree.write("CLAUDE.md", CLAUDE + damage)

    assert refusal(share, tree, path="CLAUDE.md").message.startswith("CLAUDE.md is paused: ")
    assert TABS not in tree.read("AGENTS.md")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, Code.BAD_REQUEST),
        ({"path": "NOTHING.md"}, Code.NOT_FOUND),
        ({"path": "CLAUDE.md", "ids": ["zzzz"]}, Code.NOT_FOUND),
    ],
)
def test_what_cannot_be_shared_changes_nothing(tree, fields, code):
    before = tree.read("AGENTS.md")
    assert refusal(share, tree, **fields).code is code
    assert tree.read("AGENTS.md") == before


def test_a_rule_that_a_branch_lacks_is_offered_again_when_it_is_stated_there(world):
    """A block stays as git brought it, until a person states the rule on that branch."""
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("rules", {"CLAUDE.md": CLAUDE})
    tree.add(mode="inline")
    tree.remember("Never push on Fridays", kind="convention")
    tree.sync()
    tree.commit("a block")
    tree.sync()
    tree.git("branch", "release")
    rule = tree.remember("Never log tokens", kind="convention")
    tree.sync()
    tree.commit("more rules")
    tree.sync()
    tree.git("checkout", "-q", "release")
    for _ in range(2):
        tree.sync()
    assert tree.git("status", "--porcelain") == ""

    assert tree.remember("Never log tokens", kind="convention") == rule
    for _ in range(2):
        tree.sync()

    assert "Never log tokens" in tree.read("CLAUDE.md")
    assert "is not committed" in tree.rows()["CLAUDE.md"].reason
    assert files.files(tree.home, tree.call)["files"][0]["reason"]


def test_a_flagged_rule_is_not_sent_before_a_person_has_looked(world):
    tree = world.repo()
    tree.write("CLAUDE.md", "# Rules\n\n- Always call `fetch_with_retry` in src/net.py\n")
    tree.write("AGENTS.md", AGENTS)
    tree.commit("rules")
    tree.add(mode="inline")
    tree.settle()
    tree.commit("removed", {"src/net.py": "def other(x):\n    return x\n"})
    tree.check()
    (rule,) = [node for node in tree.living() if "fetch_with_retry" in node.text]

    for fields in ({"path": "CLAUDE.md"}, {"ids": [short_id(rule.id)]}):
        answer = share(tree, **fields)
        assert answer["shared"] == []
        (stays,) = answer["stays"]
        assert stays["reason"].startswith("it may be out of date: ")
        assert f"yaadwatch confirm {short_id(rule.id)}" in stays["reason"]
    assert "fetch_with_retry" not in tree.read("AGENTS.md")
    (row,) = told(tree, path="CLAUDE.md").values()
    assert row["reason"] == stays["reason"]

    tree.git("revert", "--no-edit", "HEAD")
    tree.check()
    assert [one["id"] for one in share(tree, path="CLAUDE.md")["shared"]] == [rule.id]


def test_taking_a_file_back_leaves_a_rule_that_was_typed_where_it_is(tree):
    tree.write("CLAUDE.md", CLAUDE + "- Never push on Fridays\n")
    for _ in range(3):
        tree.sync()

    back = share(tree, path="CLAUDE.md", undo=True)

    assert back["shared"] == []
    assert "Never push on Fridays" in tree.read("AGENTS.md")
