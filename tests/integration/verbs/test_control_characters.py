"""Characters that steer a terminal, or turn round what is read: seen in memories and agent files.

A person's own file keeps its bytes; both ways it stays one rule.
"""

import json
import re

import pytest
from verb_world import dump, prepared

from bridges.rules import FIRST
from yaadwatch.memory import claims
from yaadwatch.remember import curate, history, review
from yaadwatch.remember.remember import remember
from yaadwatch.text.quoting import quoted
from yaadwatch.workspace.workspace import Call

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
RULE = "Always show errors \x1b[31mred\x1b[0m, a bell \x07, \x9b2J and \u202edezreversed\u202c too"
SEEN = r"Always show errors \x1b[31mred\x1b[0m, a bell \x07, \x9b2J and \u202edezreversed\u202c too"


@prepared
def tree(world):
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.write("AGENTS.md", "# For agents\n\n- Be brief\n")
    return tree


def text_of(tree, path):
    return (tree.path / path).read_text()


def test_a_memory_says_them_in_letters(repo):
    answer = repo.remembered(RULE)

    assert answer["text"] == SEEN
    assert answer["masked"] == []
    assert repo.remembered(SEEN)["decision"] == "same"
    assert repo.show(repo.remember("Another\tthing\nin lines\u200f"))["text"].count("\\") == 0


def test_other_ways_in_say_them_in_letters_too(repo):
    memory = repo.remember("Something to be said otherwise")

    assert repo.edit(memory, RULE)["text"] == SEEN
    assert SEEN in repo.memories()


def test_what_is_said_beside_the_words_says_them_in_letters_too(repo):
    one, other = repo.remember("Something to go by"), repo.remember("The port is 8080")
    tag = RULE.removesuffix(" too")
    said = {"tags": [tag], "attributes": {RULE: [RULE]}}

    repo.remembered("A rule with more than its words", **said)
    repo.link(one, "led_to", other, attributes={"why": RULE})
    curate.tag(repo.home, repo.call, id=one, add=[tag])
    for words in ({"value": RULE}, {"value": "8080", "evidence": RULE}):
        claims.add_claim(
            repo.home, repo.call, id=other, subject="the port", attribute="number", **words
        )
    claimed = claims.claims(repo.home, repo.call)
    repo.forget(other, reason=RULE)

    asked, seen = (repo.show(one), repo.show(other), claimed), SEEN.removesuffix(" too")
    assert json.dumps(asked, default=str).count(seen.replace("\\", "\\" * 2)) >= 5
    with repo.db() as db:
        stored = [str(cell) for rows in dump(db).values() for row in rows for cell in row]
    assert [cell for cell in stored if STEERING.search(cell)] == []
    assert curate.tag(repo.home, repo.call, id=one, remove=[tag])["tags"] == []


@pytest.mark.parametrize("mode", ["private", "inline"])
def test_what_is_written_for_agents_holds_none_and_stays_one_rule_both_ways(tree, mode):
    tree.add(mode=mode)
    tree.sync_until_quiet()
    memory = tree.remember(RULE, kind="convention")
    tree.sync_until_quiet()
    path = FIRST if mode == "private" else "AGENTS.md"

    assert not STEERING.search(text_of(tree, path))
    assert text_of(tree, path).count(SEEN) == 1
    if mode == "inline":
        (tree.path / path).write_text(text_of(tree, path).replace("bell", "loud bell"))
        tree.sync_until_quiet()
        assert tree.show(memory)["text"] == SEEN.replace("bell", "loud bell")
        assert not STEERING.search(text_of(tree, path))


def test_what_a_person_typed_keeps_its_bytes_and_reaches_no_other_file_with_them(tree):
    tree.write("CLAUDE.md", "# Rules\n\n- Use tabs in Go files\n")
    tree.add(mode="inline")
    tree.sync_until_quiet()
    turned = "Never write \u202edezreversed\u202c text"
    with (tree.path / "CLAUDE.md").open("a") as stream:
        stream.write(f"- {RULE}\n- {turned}\n")
    typed = text_of(tree, "CLAUDE.md")
    tree.sync_until_quiet()
    tree.sync_until_quiet()

    assert text_of(tree, "CLAUDE.md") == typed
    assert not STEERING.search(text_of(tree, "AGENTS.md"))
    assert text_of(tree, "AGENTS.md").count("dezreversed") == 1
    assert [text for text in tree.memories() if STEERING.search(text)] == []
    (one,) = [node for node in tree.living() if "dezreversed" in node.text]
    assert len(history.history(tree.home, tree.call, id=one.id)["versions"]) == 1


UNSEEN = {
    "tags": "".join(chr(0xE0000 + ord(one)) for one in "run evil"),
    "selectors": "".join(chr(0xE0100 + ord(one) - 16) for one in "run evil"),
    "operators": "\u2062\u2063\u2064\u2062",
    "zero width": "\u200b\u2060\u200b",
}


@pytest.mark.parametrize("unseen", UNSEEN.values(), ids=UNSEEN)
def test_a_review_shows_all_that_reaches_the_agent_files(tree, unseen):
    tree.add(mode="inline")
    text = f"Use tabs in Go{unseen} files"
    agent = Call(folder=tree.path, origin="agent:claude")
    note = remember(tree.home, agent, text=text, kind="convention")["id"]
    (waiting,) = review.review(tree.home, tree.call)["waiting"]

    review.decide(tree.home, tree.call, id=note, verdict="approve")
    tree.sync_until_quiet()

    shown = quoted(waiting["text"])[1:-1]
    assert shown.startswith("Use tabs in Go\\")
    assert f"- {shown}\n" in text_of(tree, "AGENTS.md")
    assert not set(unseen) & set(text_of(tree, "AGENTS.md"))


@pytest.mark.parametrize(
    "text",
    [
        "Use \U0001f468\u200d\U0001f469\u2764\ufe0f",
        "نیم\u200cفاصله",
        "Never log pass\u200bwords, or to\u200bkens",
        "ใช้\u200bแท็บ",
        "10\u2060%",
    ],
)
def test_signs_that_people_write_with_are_kept(repo, text):
    assert repo.show(repo.remember(text))["text"] == text


def test_what_is_left_out_of_an_agent_file_is_named_with_its_line(tree):
    tree.write(
        "AGENTS.md",
        "# For agents\n\n- Be brief\n- Ring \x07 the bell\n\n| a | b |\n|---|---|\n"
        f"| \x01 one | two |\n\nA \x02 word.\n\n- {'long ' * 500}\n",
    )
    added = tree.add()

    (row,) = [row for row in added["files"] if row["path"] == "AGENTS.md"]
    assert "Line 4 is not read: it has control characters." in row["reason"]
    assert "Line 8 is not read" in row["reason"]
    assert "Nor are 1 other lines." in row["reason"]
    tree.write("AGENTS.md", "# For agents\n\n- Be brief\n")
    assert [row["reason"] for row in tree.add()["files"] if row["path"] == "AGENTS.md"] == [None]
