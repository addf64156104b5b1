"""What cannot all be true is shown, settled by whoever knows, and never lowered in silence."""

from datetime import timedelta

import pytest
from refusals import refusal
from verb_world import table

from yaadwatch.memory import claims, contradictions
from yaadwatch.model.errors import Code

DAY = timedelta(days=1)


def found(tree, **fields):
    return contradictions.contradictions(tree.home, tree.call, **fields)


def shown(tree):
    return found(tree)["contradictions"]


def resolve(tree, id, **fields):
    return claims.resolve(tree.home, tree.call, id=id, **fields)


def give(tree, id, subject, attribute, value, **fields):
    return claims.add_claim(
        tree.home, tree.call, id=id, subject=subject, attribute=attribute, value=value, **fields
    )


def claimed(tree, id=None, **fields):
    rows = claims.claims(tree.home, tree.call, id=id, **fields)["claims"]
    return [(row["subject"], row["attribute"], row["value"], row["holds"]) for row in rows]


def port(tree, number, text="The API port is {}", **fields):
    """Remember a port of the API, and claim it; return the memory's id."""
    memory = tree.remember(text.format(number), **fields)
    give(tree, memory, "api", "port", number)
    return memory


def torn(tree):
    return port(tree, "8080"), port(tree, "9090", "The API listens on port {}")


def test_two_values_of_one_thing_are_a_contradiction_with_both_sides(repo):
    one, other = torn(repo)

    (row,) = shown(repo)

    assert (row["kind"], row["subject"], row["attribute"]) == ("values", "api", "port")
    assert [(side["node"], side["value"]) for side in row["sides"]] == [
        (one, "8080"),
        (other, "9090"),
    ]
    assert row["words"] == f"api port: 8080 ({one[-8:]}) or 9090 ({other[-8:]})"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("api", "port", "8080"), ("admin api", "port", "9090")),
        (("python", "version", "3"), ("Python", "version", "3.11")),
        (("api", "timeout", "1 min"), ("the API", "Timeout", "60 seconds")),
        (("project", "indentation", "tabs"), ("python files", "indentation", "spaces")),
    ],
)
def test_claims_about_different_things_or_of_the_same_value_are_no_contradiction(repo, one, other):
    give(repo, repo.remember("One"), *one)
    give(repo, repo.remember("Another"), *other)

    assert shown(repo) == []


def test_what_holds_in_one_folder_does_not_contradict_another(repo):
    repo.write("web/CLAUDE.md", "- We use Python 3.11\n")
    repo.write("api/CLAUDE.md", "- We use Python 3.12\n")
    repo.add()
    for version in "3.11", "3.12":
        give(repo, repo.remember(f"We use Python {version}"), "python", "version", version)

    assert len(repo.memories()) == 2
    assert shown(repo) == []


def test_keeping_one_ends_what_the_other_claims_and_supersedes_it(repo):
    one, other = torn(repo)
    (row,) = shown(repo)

    done = resolve(repo, row["id"], keep=other, reason="moved in June")

    assert (done["decision"], done["kept"]) == ("kept", other)
    assert done["superseded"] == [one]
    assert shown(repo) == []
    assert claimed(repo) == [("api", "port", "9090", True)]
    (settled,) = found(repo, settled=True)["settled"]
    assert (settled["id"], settled["decision"], settled["kept"]) == (row["id"], "kept", other)
    assert (settled["by"], settled["reason"]) == ("person", "moved in June")
    assert settled["words"] == row["words"]
    with repo.db() as db:
        assert "contradiction.resolved" in [event[1] for event in table(db, "events")]
    assert len(repo.memories()) == 2


def test_a_memory_that_claims_something_else_too_is_not_superseded(repo):
    one, other = torn(repo)
    give(repo, one, "python", "version", "3.11")
    (row,) = shown(repo)

    done = resolve(repo, row["id"], keep=other)

    assert done["superseded"] == []
    assert claimed(repo, one) == [("python", "version", "3.11", True)]


def test_those_that_are_not_kept_can_be_forgotten_with_the_reason(repo):
    one, other = torn(repo)

    done = resolve(repo, shown(repo)[0]["id"], keep=other, forget=True, reason="moved")

    assert done["forgotten"] == [one]
    assert repo.memories() == ["The API listens on port 9090"]
    assert repo.show(one)["archive_reason"] == "moved"


def test_what_a_persons_file_says_is_not_forgotten_and_then_nothing_is_changed(repo):
    repo.write("CLAUDE.md", "- The API port is 8080\n")
    repo.add()
    _, other = torn(repo)

    error = refusal(resolve, repo, shown(repo)[0]["id"], keep=other, forget=True)

    assert error.code is Code.REFUSED
    assert len(shown(repo)) == 1
    assert found(repo, settled=True)["settled"] == []


def test_both_are_right_and_it_is_not_shown_again(repo):
    torn(repo)

    resolve(repo, shown(repo)[0]["id"], both=True)

    assert shown(repo) == []
    assert len(claimed(repo)) == 2
    port(repo, "7070")
    assert [len(row["sides"]) for row in shown(repo)] == [3]


def test_none_is_right_and_both_claim_nothing(repo):
    torn(repo)

    resolve(repo, shown(repo)[0]["id"], none=True)

    assert shown(repo) == []
    assert claimed(repo) == []


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"both": True, "none": True},
        {"keep": "x" * 8, "both": True},
        {"both": True, "forget": True},
    ],
)
def test_a_decision_is_one_of_three(repo, fields):
    torn(repo)

    assert refusal(resolve, repo, shown(repo)[0]["id"], **fields).code is Code.BAD_REQUEST
    assert len(shown(repo)) == 1


def test_only_a_side_can_be_kept_and_only_what_is_open_settled(repo):
    torn(repo)
    third = repo.remember("Pagers are off at night")

    error = refusal(resolve, repo, shown(repo)[0]["id"], keep=third)
    assert error.code is refusal(resolve, repo, "ffffffff", keep=third).code is Code.NOT_FOUND
    assert "Its sides: " in error.hint


def test_it_goes_when_its_reason_goes(repo):
    one, _ = torn(repo)
    repo.forget(one)
    assert shown(repo) == []
    repo.restore(one)
    assert len(shown(repo)) == 1
    give(repo, one, "api", "port", "9090")
    assert shown(repo) == []


def test_what_was_settled_and_is_said_again_is_shown_again(repo):
    _, other = torn(repo)
    resolve(repo, shown(repo)[0]["id"], keep=other)
    repo.unlink(other, "supersedes", repo.remember("The API port is 8080"))

    assert len(shown(repo)) == 1


def test_a_claim_whose_relation_has_ended_is_contradicted(repo):
    api, cache = repo.remember("The API"), repo.remember("The Redis cache")
    edge = repo.link(api, "depends_on", cache)["edge"]
    give(repo, api, "api", "cache", "redis", edge=edge)
    assert shown(repo) == []

    repo.unlink(api, "depends_on", cache)

    (row,) = shown(repo)
    assert (row["kind"], row["subject"], row["sides"][0]["value"]) == ("link", "api", "redis")
    assert "rests on a relation that ended on" in row["words"]
    repo.link(api, "depends_on", cache)
    assert shown(repo) == []


@pytest.mark.parametrize(("how", "holds"), [({"both": True}, True), ({"none": True}, False)])
def test_a_claim_stands_without_its_relation_or_ends_with_it(repo, how, holds):
    api, cache = repo.remember("The API"), repo.remember("The Redis cache")
    edge = repo.link(api, "depends_on", cache)["edge"]
    give(repo, api, "api", "cache", "redis", edge=edge)
    repo.unlink(api, "depends_on", cache)

    resolve(repo, shown(repo)[0]["id"], **how)

    assert shown(repo) == []
    assert [row[3] for row in claimed(repo, api, all=True)] == [holds]


def test_evidence_a_month_newer_than_the_statement_contradicts_it(repo, world):
    memory = port(repo, "8080")
    world.clock.advance(29 * DAY)
    early = repo.remember("Nobody answered on port 8080", kind="bug")
    repo.link(early, "caused_by", memory)
    assert shown(repo) == []

    world.clock.advance(2 * DAY)
    late = repo.remember("Still nobody answers on port 8080", kind="bug")
    repo.link(late, "caused_by", memory)

    (row,) = shown(repo)
    assert (row["kind"], row["against"]["node"]) == ("evidence", late)
    assert "was last confirmed on" in row["words"]
    resolve(repo, row["id"], keep=memory)
    assert shown(repo) == []


def test_confirming_is_newer_than_the_evidence(repo, world):
    memory = port(repo, "8080")
    world.clock.advance(40 * DAY)
    repo.link(repo.remember("Nobody answered", kind="bug"), "caused_by", memory)
    assert len(shown(repo)) == 1

    repo.confirm(memory)

    assert shown(repo) == []


def _speaks_against(repo, memory):
    late = repo.remember("Nobody answers on port 8080", kind="bug")
    repo.link(late, "caused_by", memory)
    assert [row["against"]["node"] for row in shown(repo)] == [late]
    return late


def test_what_was_learned_on_another_branch_is_no_evidence_here(repo, world):
    memory = port(repo, "8080")
    world.clock.advance(40 * DAY)
    repo.git("switch", "-q", "-c", "feature")
    repo.commit("feature")
    _speaks_against(repo, memory)

    repo.git("switch", "-q", "main")

    assert shown(repo) == []


def test_evidence_can_be_dated_by_who_gives_the_claim(repo, world):
    memory = repo.remember("The API", kind="spec")
    world.clock.advance(40 * DAY)
    now = world.clock.now()
    give(repo, memory, "api", "port", "8080", evidence="nginx.conf", evidence_at=f"{now:%Y-%m-%d}")

    (row,) = shown(repo)

    assert row["kind"] == "evidence"
    assert "nginx.conf is newer" in row["words"]


def test_what_only_another_branch_says_is_not_told_here(repo):
    repo.write("CLAUDE.md", "- The API port is 8080\n")
    repo.add()
    give(repo, repo.id_of("The API port is 8080"), "api", "port", "8080")
    port(repo, "9090")
    assert len(shown(repo)) == 1

    repo.write("CLAUDE.md", "")
    repo.add()

    assert shown(repo) == []


def test_memories_of_the_users_own_contradict_one_another_too(repo):
    for name in "pnpm", "npm":
        memory = repo.remember(f"We use {name}", scope="user")
        give(repo, memory, "project", "package manager", name)
    (row,) = shown(repo)

    resolve(repo, row["id"], both=True)

    assert shown(repo) == []


def test_the_brief_can_ask_for_a_few(repo, world):
    for number in range(5):
        for size in "10", "20":
            memory = repo.remember(f"The queue{number} size is {size}")
            give(repo, memory, f"queue{number}", "size", size)

    with repo.db() as db:
        few = contradictions.open_contradictions(db, None, world.clock.now(), 3)

    assert len(few) == 3
    assert all(one.words for one in few)


def test_a_given_claim_is_masked_and_can_be_ended(repo):
    memory = repo.remember("The API")
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    done = give(repo, memory, "api", "token", token, evidence=f"used {token}")
    assert done["masked"] == ["github-token"]
    with repo.db() as db:
        assert token not in repr(table(db, "claims"))

    ended = claims.end_claim(repo.home, repo.call, claim=done["claim"])

    assert ended["holds"] is False
    assert claimed(repo) == []


def test_claims_are_told_by_subject_with_and_without_qualifier(repo):
    give(repo, repo.remember("Python 3.11"), "Python", "version", "3.11")
    give(repo, repo.remember("Python 3.12 in CI"), "Python in CI", "version", "3.12")
    port(repo, "8080")

    assert claimed(repo, subject="Python") == [
        ("python", "version", "3.11", True),
        ("python in ci", "version", "3.12", True),
    ]


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"edge": 99}, Code.NOT_FOUND), ({"value": " . "}, Code.BAD_REQUEST)],
)
def test_a_claim_that_cannot_be_is_refused_and_nothing_is_stored(repo, fields, code):
    memory = repo.remember("The API")
    words = {"subject": "api", "attribute": "port", "value": "8080"} | fields

    assert refusal(claims.add_claim, repo.home, repo.call, id=memory, **words).code is code
    assert claimed(repo, all=True) == []


def test_an_erased_memory_leaves_no_claim(repo):
    from yaadwatch.projects import erasing

    one, other = torn(repo)
    resolve(repo, shown(repo)[0]["id"], keep=other)

    erasing.erase(repo.home, repo.call, id=one)

    with repo.db() as db:
        assert one not in repr(table(db, "claims"))
        assert "8080" not in repr(table(db, "claims"))


def test_evidence_is_not_from_a_time_to_come(repo):
    memory = repo.remember("The API port is 8080")
    tomorrow = repo.world.clock.now() + timedelta(days=1)

    error = refusal(
        give, repo, memory, "api", "port", "9090", evidence_at=f"{tomorrow:%Y-%m-%dT%H:%M:%SZ}"
    )

    assert error.code is Code.BAD_REQUEST
