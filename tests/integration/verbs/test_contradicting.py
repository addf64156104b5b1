"""An answer names what its memory contradicts: the rows of `contradictions` with that memory."""

import math
import random
from datetime import timedelta

import pytest
from verb_world import table

from yaadwatch.memory import claims, contradictions
from yaadwatch.model.settings import CLASHES_MAX
from yaadwatch.remember import curate, edit, history

THREE, FIVE = "The client retries 3 times", "The client retries 5 times"


def listed(tree):
    return contradictions.contradictions(tree.home, tree.call)["contradictions"]


def against(row):
    return [(side["id"], side["value"], side["text"]) for side in row["against"]]


def claiming(tree, text, value, **fields):
    """Remember a text and claim how often the client retries; return the id and the answer."""
    memory = tree.remember(text, **fields)
    return memory, tree.claim(memory, "client", "retries", value)


def test_a_claim_that_contradicts_another_says_so_in_the_answer(repo):
    three, _ = claiming(repo, THREE, "3")

    _, answer = claiming(repo, FIVE, "5")

    (told,) = answer["contradicts"]
    (shown,) = listed(repo)
    assert (told["id"], told["words"]) == (shown["id"], shown["words"])
    assert (told["subject"], told["attribute"], told["value"]) == ("client", "retries", "5")
    assert against(told) == [(three, "3", THREE)]
    assert told["settle"] == f"yaadwatch resolve {shown['id']} --keep MEMORY, --both or --none"


@pytest.mark.parametrize("value", ["3", "3 times"])
def test_what_agrees_says_nothing(repo, value):
    claiming(repo, THREE, "3")

    assert "contradicts" not in claiming(repo, "The client tries again", value)[1]


def test_it_is_told_whenever_the_memory_is_said_again_or_changed(repo):
    claiming(repo, THREE, "3")
    five, _ = claiming(repo, FIVE, "5")

    answers = [
        repo.remembered(FIVE),
        repo.confirm(five),
        edit.update(repo.home, repo.call, id=five, text="The client is patient"),
        history.restore(repo.home, repo.call, id=five, version=1),
    ]
    repo.forget(five)
    answers.append(curate.restore(repo.home, repo.call, id=five))

    assert [answer["contradicts"][0]["value"] for answer in answers] == ["5"] * 5


def test_only_those_with_another_value_are_told_and_a_few_of_many(repo):
    claiming(repo, "The client retries: 9", "9")
    for number in range(contradictions.AGAINST_MAX + 2):
        claiming(repo, f"The client retries {number} times", str(number))

    (told,) = claiming(repo, "The client retries 9 times", "9")[1]["contradicts"]

    assert [side["value"] for side in told["against"]] == ["0", "1", "2", "3", "4"]
    assert told["more"] == 2


def test_many_values_that_go_together_hide_no_contradiction(repo):
    """More pairs of them than are looked at of one thing."""
    for number in range(2 * math.isqrt(CLASHES_MAX) + 4):
        memory = repo.remember(f"Tool {number} is one of ours")
        repo.claim(memory, "python", "version", ("3", "3.11")[number % 2])
    assert listed(repo) == []

    claiming(repo, THREE, "3")
    (five,) = claiming(repo, FIVE, "5")[1]["contradicts"]
    old = repo.remember("Tools run on an old Python")
    (two,) = repo.claim(old, "python", "version", "2.7")["contradicts"]

    assert (five["value"], two["value"]) == ("5", "2.7")
    assert {row["id"] for row in listed(repo)} == {five["id"], two["id"]}


def test_one_thing_with_many_values_hides_no_other_and_every_value_is_told_its_own(repo):
    """More pairs than are looked at of one thing: 25 values make 300."""
    count = math.isqrt(2 * CLASHES_MAX) + 5
    for number in range(count):
        _, answer = claiming(repo, f"The client retries {number} times", str(number))
        (told,) = answer.get("contradicts", [{}])
        assert told.get("value") == (str(number) if number else None)
    repo.claim(repo.remember("Tools run on Python 2.7"), "python", "version", "2.7")
    new = repo.remember("Tools run on Python 3.11")
    (python,) = repo.claim(new, "python", "version", "3.11")["contradicts"]

    rows = {row["id"]: row for row in listed(repo)}

    assert python["id"] in rows
    (client,) = [row for row in rows.values() if row["subject"] == "client"]
    assert {side["value"] for side in client["sides"]} == set(map(str, range(count)))
    assert client["words"].endswith(f" or {count - 8} more")

    claims.resolve(repo.home, repo.call, id=client["id"], both=True)

    assert [row["id"] for row in listed(repo)] == [python["id"]]


def test_reading_one_answer_leaves_the_store_as_it_is(repo):
    claiming(repo, THREE, "3")
    claiming(repo, FIVE, "5")

    with repo.db() as db:
        assert table(db, "contradictions") == []


CLAIMS = (
    *(("client", "retries", value) for value in ("3", "5", "5 attempts", "7")),
    *(("python", "version", value) for value in ("3", "3.11", "3.12")),
    *(("pool", "size", value) for value in ("20", "20 connections", "30 connections", "30 MB")),
    *(("api", "timeout", value) for value in ("30", "60", "30 s", "0.5 min", "1 minute")),
    *(("project", "indentation", value) for value in ("tabs", "4 spaces", "spaces")),
)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_told_is_what_is_listed_whatever_happened_before(repo, world, seed):
    """One law for both: of each memory, its rows are those of the list that it is a side of."""
    dice = random.Random(seed)
    living: set[str] = set()
    told_of_one = 0
    for _ in range(40):
        step = dice.random()
        if step < 0.7 or not living:
            number = dice.randrange(12)
            memory = repo.remember(f"Memory number {number}")
            answer = repo.claim(memory, *dice.choice(CLAIMS))
            living.add(memory)
            told = answer.get("contradicts", [])
            mine = [
                row
                for row in listed(repo)
                if row["kind"] == "values" and any(side["node"] == memory for side in row["sides"])
            ]
            assert [(row["id"], row["words"]) for row in told] == [
                (row["id"], row["words"]) for row in mine
            ]
            told_of_one += bool(told)
        elif step < 0.8:
            gone = dice.choice(sorted(living))
            repo.forget(gone)
            living.discard(gone)
        elif rows := [row for row in listed(repo) if row["kind"] == "values"]:
            row = dice.choice(rows)
            how = dice.choice(({"both": True}, {"keep": row["sides"][0]["node"]}))
            claims.resolve(repo.home, repo.call, id=row["id"], **how)
        world.clock.advance(timedelta(hours=1))
    assert told_of_one > 3


def test_two_amounts_of_one_thing_contradict_each_other_without_a_given_claim(repo):
    repo.remember("The API timeout is 30 seconds")

    answer = repo.remembered("API timeout is 60 seconds")

    (told,) = answer["contradicts"]
    assert [side["value"] for side in told["against"]] == ["30 seconds"]
    assert len(listed(repo)) == 1


def test_edited_statement_that_says_no_amount_any_more_contradicts_nothing(repo):
    repo.remember("The API timeout is 30 seconds")
    later = repo.remember("The API timeout is 60 seconds")

    edit.update(repo.home, repo.call, id=later, text="The API timeout is set in config.toml")

    assert listed(repo) == []


def test_line_of_an_agent_file_claims_no_amount(repo):
    repo.remember("The API timeout is 30 seconds")

    repo.write("CLAUDE.md", "# Notes\n\n- The API timeout is 60 seconds\n")
    repo.sync()

    assert listed(repo) == []
