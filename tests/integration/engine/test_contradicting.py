"""Who stores a memory hears at once what it contradicts: what `contradictions` lists, no more."""

import math
import random
from datetime import timedelta

import pytest
from engine_world import table

from yaadwatch.engine.memories import curate, feedback, history, mend
from yaadwatch.engine.truth import claims, contradicting, contradictions, resolving
from yaadwatch.model.settings import CLASHES_MAX

THREE, FIVE = "The client retries 3 times", "The client retries 5 times"


def listed(tree):
    return contradictions.contradictions(tree.home, tree.call)["contradictions"]


def against(row):
    return [(side["id"], side["value"], side["text"]) for side in row["against"]]


def test_a_statement_that_contradicts_another_says_so_in_the_answer(repo):
    three = repo.remember(THREE)

    answer = repo.remembered(FIVE)

    (told,) = answer["contradicts"]
    (shown,) = listed(repo)
    assert (told["id"], told["words"]) == (shown["id"], shown["words"])
    assert (told["subject"], told["attribute"], told["value"]) == ("client", "retries", "5")
    assert against(told) == [(three, "3", THREE)]
    assert told["settle"] == f"yaadwatch resolve {shown['id']} --keep MEMORY, --both or --none"


def test_what_is_told_can_be_settled_as_it_says(repo):
    repo.remember(THREE)
    answer = repo.remembered(FIVE)

    resolving.resolve(
        repo.home, repo.call, id=answer["contradicts"][0]["id"], keep=answer["id"], both=False
    )

    assert listed(repo) == []
    assert "contradicts" not in repo.remembered(FIVE)


def test_nothing_is_lowered_or_refused_by_it(repo):
    three = repo.remember(THREE)

    answer = repo.remembered(FIVE)

    assert answer["decision"] == "new"
    assert [repo.show(one)["confidence"] for one in (three, answer["id"])] == [1.0, 1.0]


@pytest.mark.parametrize("text", ["Sign tokens with jose", THREE, "The client retries: 3"])
def test_what_agrees_or_claims_nothing_says_nothing(repo, text):
    repo.remember(THREE)

    assert "contradicts" not in repo.remembered(text)


def test_it_is_told_whenever_it_is_said_again(repo):
    repo.remember(THREE)
    repo.remember(FIVE)

    assert [row["value"] for row in repo.remembered(FIVE)["contradicts"]] == ["5"]
    assert [row["value"] for row in repo.remembered(THREE)["contradicts"]] == ["3"]


def test_new_words_say_what_they_contradict(repo):
    repo.remember(THREE)
    memory = repo.remember("The client is slow")

    edited = mend.update(repo.home, repo.call, id=memory, text=FIVE)
    unchanged = mend.update(repo.home, repo.call, id=memory, text=FIVE)
    judged = feedback.feedback(
        repo.home, repo.call, id=memory, verdict="edit", text="The client retries 7 times"
    )

    assert [answer["contradicts"][0]["value"] for answer in (edited, unchanged, judged)] == [
        "5",
        "5",
        "7",
    ]
    assert "contradicts" not in mend.update(repo.home, repo.call, id=memory, text="It is slow")


def test_words_put_right_by_a_doubt_say_what_they_contradict(repo):
    repo.remember(THREE)
    memory = repo.remember(f"{FIVE}. Its code is in src/net.py.")
    repo.git("mv", "src/net.py", "src/http.py")
    repo.commit("rename")

    (tried,) = repo.reanchor(memory, dry_run=True)["reanchored"]
    (done,) = repo.reanchor(memory)["reanchored"]

    assert "contradicts" not in tried
    assert done["text"] == f"{FIVE}. Its code is in src/http.py."
    assert done["contradicts"][0]["value"] == "5"


def test_what_comes_back_says_what_it_contradicts(repo):
    memory = repo.remember(FIVE)
    repo.forget(memory)
    repo.remember(THREE)

    assert curate.restore(repo.home, repo.call, id=memory)["contradicts"][0]["value"] == "5"
    repo.edit(memory, "The client is slow")
    back = history.restore(repo.home, repo.call, id=memory, version=1)
    assert back["contradicts"][0]["value"] == "5"


def test_words_under_a_key_say_what_they_contradict(repo):
    repo.remember(THREE)
    repo.remember("The client is slow", key="retries")

    answer = repo.remembered(FIVE, key="retries")

    assert answer["decision"] == "refines"
    assert answer["contradicts"][0]["value"] == "5"


def test_a_claim_that_is_given_says_what_it_contradicts(repo):
    three = repo.remember(THREE)
    memory = repo.remember("The client is slow")

    given = claims.add_claim(
        repo.home, repo.call, id=memory, subject="client", attribute="retries", value="5"
    )

    assert against(given["contradicts"][0]) == [(three, "3", THREE)]


def test_only_those_with_another_value_are_told_and_a_few_of_many(repo):
    repo.remember("The client retries: 9")
    for number in range(contradicting.AGAINST_MAX + 2):
        repo.remember(f"The client retries {number} times")

    (told,) = repo.remembered("The client retries 9 times")["contradicts"]

    assert [side["value"] for side in told["against"]] == ["0", "1", "2", "3", "4"]
    assert told["more"] == 2


def test_a_long_memory_is_told_by_its_beginning(repo):
    repo.remember(f"{THREE}. " + "What else is there to say of it? " * 20)

    (told,) = repo.remembered(FIVE)["contradicts"]

    assert told["against"][0]["text"] == f"{THREE}."


def test_a_value_further_down_is_told_with_its_sentence(repo):
    repo.remember(f"The client is old. It has few options. {THREE}.")

    (told,) = repo.remembered(FIVE)["contradicts"]

    (side,) = told["against"]
    assert (side["text"], side["sentence"]) == ("The client is old.", THREE)
    (back,) = repo.remembered(f"The client is old. It has few options. {THREE}.")["contradicts"]
    assert back["against"][0]["sentence"] is None


def test_many_values_that_go_together_hide_no_contradiction(repo):
    """More pairs of them than are looked at of one thing."""
    for number in range(2 * math.isqrt(CLASHES_MAX) + 4):
        memory = repo.remember(f"Tool {number} is one of ours")
        value = ("3", "3.11")[number % 2]
        claims.add_claim(
            repo.home, repo.call, id=memory, subject="python", attribute="version", value=value
        )
    assert listed(repo) == []

    repo.remember(THREE)
    (five,) = repo.remembered(FIVE)["contradicts"]
    (two,) = repo.remembered("We use Python 2.7")["contradicts"]

    assert (five["value"], two["value"]) == ("5", "2.7")
    assert {row["id"] for row in listed(repo)} == {five["id"], two["id"]}


def test_one_thing_with_many_values_hides_no_other_and_every_value_is_told_its_own(repo):
    """More pairs than are looked at of one thing: 25 values make 300."""
    count = math.isqrt(2 * CLASHES_MAX) + 5
    for number in range(count):
        (told,) = repo.remembered(f"The client retries {number} times").get("contradicts", [{}])
        assert told.get("value") == (str(number) if number else None)
    (python,) = repo.remembered("We use Python 2.7").get("contradicts", []) or [None]
    assert python is None
    (python,) = repo.remembered("We use Python 3.11")["contradicts"]

    rows = {row["id"]: row for row in listed(repo)}

    assert python["id"] in rows
    (client,) = [row for row in rows.values() if row["subject"] == "client"]
    assert {side["value"] for side in client["sides"]} == set(map(str, range(count)))
    assert client["words"].endswith(f" or {count - 8} more")

    resolving.resolve(repo.home, repo.call, id=client["id"], both=True)

    assert [row["id"] for row in listed(repo)] == [python["id"]]


def test_several_values_are_told_one_by_one(repo):
    repo.remember("The API port is 8080. We use Python 3.11.")

    told = repo.remembered("The API port is 9090. We use Python 3.12.")["contradicts"]

    assert [(row["subject"], row["value"]) for row in told] == [("api", "9090"), ("python", "3.12")]


def test_memories_of_the_users_own_are_compared_among_themselves(repo):
    repo.remember("We use pnpm", scope="user")

    assert "contradicts" not in repo.remembered("We use npm")
    assert len(repo.remembered("We use npm", scope="user")["contradicts"]) == 1


def test_what_another_branch_says_is_not_told_here(repo):
    repo.write("CLAUDE.md", f"- {THREE}\n")
    repo.add()
    assert len(repo.remembered(FIVE)["contradicts"]) == 1

    repo.write("CLAUDE.md", "")
    repo.add()

    assert "contradicts" not in repo.remembered(FIVE)


def test_reading_one_answer_leaves_the_store_as_it_is(repo):
    repo.remember(THREE)
    repo.remember(FIVE)

    with repo.db() as db:
        assert table(db, "contradictions") == []


STATEMENTS = (
    *(f"The client retries {number} times" for number in (3, 5, 7)),
    *("The client retries: 3", "The client retries: 5 attempts"),
    *(f"We use Python {version}" for version in ("3", "3.11", "3.12")),
    *(f"The pool size is {size}" for size in ("20", "20 connections", "30 connections", "30 MB")),
    *(f"The API times out after {span}" for span in ("30 s", "0.5 min", "1 minute")),
    *(
        "The API timeout is 30",
        "The API timeout is 60",
        "The timeout is 30 s",
        "The timeout is 5 s",
    ),
    *("The API port is 8080. Sign tokens with jose.", "The API listens on port 9090"),
    *("Indent with tabs", "Indent with 4 spaces", "Use spaces for indentation"),
    "Nothing is claimed here",
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
            more = dice.choice(({}, {"files": ["src/net.py"]}, {"files": ["notes.md"]}))
            answer = repo.remembered(dice.choice(STATEMENTS), **more)
            living.add(answer["id"])
            told = answer.get("contradicts", [])
            mine = [
                row
                for row in listed(repo)
                if row["kind"] == "values"
                and any(side["node"] == answer["id"] for side in row["sides"])
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
            resolving.resolve(repo.home, repo.call, id=row["id"], **how)
        world.clock.advance(timedelta(hours=1))
    assert told_of_one > 3
