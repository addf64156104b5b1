"""What cannot all be true is shown, settled by whoever knows, and never lowered in silence."""

from datetime import timedelta

import pytest
from engine_world import table

from yaadwatch.engine.sessions import skills
from yaadwatch.engine.truth import claims, contradictions, resolving
from yaadwatch.engine.workspace import Call
from yaadwatch.model.errors import Code, YaadError

DAY = timedelta(days=1)


def found(tree, **fields):
    return contradictions.contradictions(tree.home, tree.call, **fields)


def shown(tree):
    return found(tree)["contradictions"]


def resolve(tree, id, **fields):
    return resolving.resolve(tree.home, tree.call, id=id, **fields)


def give(tree, id, subject, attribute, value, **fields):
    return claims.add_claim(
        tree.home, tree.call, id=id, subject=subject, attribute=attribute, value=value, **fields
    )


def claimed(tree, id=None, **fields):
    rows = claims.claims(tree.home, tree.call, id=id, **fields)["claims"]
    return [(row["subject"], row["attribute"], row["value"], row["holds"]) for row in rows]


def torn(tree):
    one = tree.remember("The API port is 8080")
    other = tree.remember("The API listens on port 9090")
    return one, other


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
    ("one", "other", "words"),
    [
        (
            "The API times out after 30 seconds",
            "The API times out after 60 seconds",
            "api timeout: 30 seconds ({}) or 60 seconds ({})",
        ),
        (
            "We keep 30 days of logs",
            "Logs are kept for 14 days",
            "log retention: 30 days ({}) or 14 days ({})",
        ),
        (
            "Set the request timeout to 30 s",
            "The request timeout is 1 min",
            "request timeout: 30 s ({}) or 1 min ({})",
        ),
        (
            "The API allows at most 100 requests per minute",
            "The API is limited to 60 requests per minute",
            "api requests per minute: 100 ({}) or 60 ({})",
        ),
        (
            "The cleanup job runs every 6 hours",
            "The cleanup job runs daily",
            "cleanup job interval: 6 hours ({}) or 1 day ({})",
        ),
    ],
)
def test_what_a_verb_tells_of_one_thing_is_compared(repo, one, other, words):
    first, second = repo.remember(one), repo.remember(other)

    (row,) = shown(repo)

    assert row["words"] == words.format(first[-8:], second[-8:])


def test_nothing_is_lowered_by_a_contradiction(repo):
    one, other = torn(repo)
    before = [repo.show(one_id)["confidence"] for one_id in (one, other)]

    shown(repo)

    assert [repo.show(one_id)["confidence"] for one_id in (one, other)] == before == [1.0, 1.0]
    assert len(repo.memories()) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use tabs in Go files", "Use spaces in Python files"),
        ("Use tabs in Go files", "Use tabs in Makefiles"),
        ("The API port is 8080", "The admin API port is 9090"),
        ("Always run the tests before you push", "Never run the tests before you pull"),
        ("Python 3.11", "Python 3.12 in CI"),
        ("We use Python 3", "We use Python 3.11"),
        ("The request timeout is 30 s", "The request timeout is 30 seconds"),
        ("We use pnpm", "Use pnpm, not npm"),
        ("We use npm to publish", "We use pnpm"),
        ("We migrated from Python 3.9 to 3.11", "We use Python 3.12"),
        ("The API times out after 1 min", "The API times out after 60 seconds"),
        ("The API times out after 30 seconds", "The API times out after 5 seconds in tests"),
        ("The web server is available on port 80", "The database is available on port 5432"),
    ],
)
def test_similar_words_about_different_things_are_no_contradiction(repo, one, other):
    repo.remember(one)
    repo.remember(other)

    assert shown(repo) == []


def test_what_holds_in_one_folder_does_not_contradict_another(repo):
    repo.write("web/CLAUDE.md", "- We use Python 3.11\n")
    repo.write("api/CLAUDE.md", "- We use Python 3.12\n")
    repo.add()

    assert len(repo.memories()) == 2
    assert shown(repo) == []


def test_a_bare_value_is_about_its_heading(repo):
    repo.write("CLAUDE.md", "# API\n\n- The port is 8080\n\n# Admin\n\n- The port is 9090\n")
    repo.add()

    assert shown(repo) == []
    assert ("admin", "port", "9090", True) in claimed(repo)


def test_a_value_stays_that_of_its_heading_when_its_memory_is_anchored_anew(repo):
    said = "The port is {}. See `fetch_with_retry`."
    repo.write(
        "CLAUDE.md",
        f"# Staging\n\n- {said.format(8080)}\n\n# Production\n\n- {said.format(9090)}\n",
    )
    repo.commit("rules")
    repo.add()
    repo.move("src/net.py", "src/web/net.py")
    repo.commit("moved")

    assert len(repo.reanchor(all=True)["reanchored"]) == 2

    assert shown(repo) == []
    assert [one[:3] for one in claimed(repo)] == [
        ("production", "port", "9090"),
        ("staging", "port", "8080"),
    ]


def test_what_stands_under_another_environment_or_part_is_about_another_thing(repo):
    repo.write(
        "CLAUDE.md",
        "# Staging\n\n- The API port is 8080\n\n# Production\n\n- The API port is 9090\n\n"
        "# Frontend\n\n- The request timeout is 30 s\n\n# Ports\n\n- The web port is 80\n",
    )
    repo.add()
    repo.remember("The request timeout is 60 s")
    assert shown(repo) == []

    repo.remember("The API port is 7070 in production")
    repo.remember("The web port is 90")

    assert [row["subject"] for row in shown(repo)] == ["api in production", "web"]


def test_who_keeps_a_value_keeps_what_says_the_same_without_its_unit(repo):
    bare = repo.remember("The pool size is 20")
    repo.remember("The pool size is 20 connections")
    other = repo.remember("The pool size is 30 connections")
    (row,) = shown(repo)

    done = resolve(repo, row["id"], keep=bare)

    assert done["superseded"] == [other]
    assert [one[2] for one in claimed(repo)] == ["20", "20 connections"]


def test_bare_values_of_memories_about_different_files_are_not_compared(repo):
    repo.remember("The timeout is 30 s", files=["src/net.py"])
    repo.remember("The timeout is 60 s", files=["notes.md"])
    assert shown(repo) == []

    repo.remember("The timeout is 90 s", files=["notes.md"])

    assert [len(row["sides"]) for row in shown(repo)] == [2]


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
    assert (settled["by"], settled["reason"]) == ("cli", "moved in June")
    assert settled["words"] == row["words"]
    with repo.db() as db:
        assert "contradiction.resolved" in [event[1] for event in table(db, "events")]
    assert len(repo.memories()) == 2


def test_a_memory_that_claims_something_else_too_is_not_superseded(repo):
    one = repo.remember("The API port is 8080. We use Python 3.11.")
    other = repo.remember("The API port is 9090")
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
    other = repo.remember("The API listens on port 9090")

    with pytest.raises(YaadError) as refused:
        resolve(repo, shown(repo)[0]["id"], keep=other, forget=True)

    assert refused.value.code is Code.REFUSED
    assert len(shown(repo)) == 1
    assert found(repo, settled=True)["settled"] == []


def test_both_are_right_and_it_is_not_shown_again(repo):
    torn(repo)

    resolve(repo, shown(repo)[0]["id"], both=True)

    assert shown(repo) == []
    assert len(claimed(repo)) == 2
    repo.remember("The API port is 7070")
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

    with pytest.raises(YaadError) as refused:
        resolve(repo, shown(repo)[0]["id"], **fields)

    assert refused.value.code is Code.BAD_REQUEST
    assert len(shown(repo)) == 1


def test_only_a_side_can_be_kept_and_only_what_is_open_settled(repo):
    torn(repo)
    third = repo.remember("Pagers are off at night")

    with pytest.raises(YaadError) as no_side:
        resolve(repo, shown(repo)[0]["id"], keep=third)
    with pytest.raises(YaadError) as not_open:
        resolve(repo, "ffffffff", keep=third)

    assert no_side.value.code is not_open.value.code is Code.NOT_FOUND
    assert "Its sides: " in no_side.value.hint


def test_it_goes_when_its_reason_goes(repo):
    one, _ = torn(repo)
    repo.forget(one)
    assert shown(repo) == []
    repo.restore(one)
    assert len(shown(repo)) == 1
    repo.edit(one, "The API port is 9090")
    assert shown(repo) == []


def test_what_was_settled_and_is_said_again_is_shown_again(repo):
    _, other = torn(repo)
    resolve(repo, shown(repo)[0]["id"], keep=other)
    repo.unlink(other, "supersedes", repo.remember("The API port is 8080"))

    assert len(shown(repo)) == 1


def test_new_words_supersede_what_the_old_ones_claimed(repo):
    memory = repo.remember("The API port is 8080")

    repo.edit(memory, "The API port is 9090")

    rows = claims.claims(repo.home, repo.call, id=memory, all=True)["claims"]
    assert [(row["value"], row["holds"]) for row in rows] == [("8080", False), ("9090", True)]
    assert rows[1]["supersedes"] == rows[0]["claim"]
    assert rows[0]["until"] == rows[1]["since"]


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
    memory = repo.remember("The API port is 8080")
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
    memory = repo.remember("The API port is 8080")
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
    memory = repo.remember("The API port is 8080")
    world.clock.advance(40 * DAY)
    repo.git("switch", "-q", "-c", "feature")
    repo.commit("feature")
    _speaks_against(repo, memory)

    repo.git("switch", "-q", "main")

    assert shown(repo) == []


def test_what_was_superseded_is_no_evidence(repo, world):
    memory = repo.remember("The API port is 8080")
    world.clock.advance(40 * DAY)
    late = _speaks_against(repo, memory)

    repo.link(repo.remember("The firewall was in the way", kind="fix"), "supersedes", late)

    assert shown(repo) == []


def test_evidence_can_be_dated_by_who_gives_the_claim(repo, world):
    memory = repo.remember("The API", kind="spec")
    world.clock.advance(40 * DAY)
    now = world.clock.now()
    give(repo, memory, "api", "port", "8080", evidence="nginx.conf", evidence_at=f"{now:%Y-%m-%d}")

    (row,) = shown(repo)

    assert row["kind"] == "evidence"
    assert "nginx.conf is newer" in row["words"]


def test_a_relation_that_says_nothing_of_truth_is_no_evidence(repo, world):
    memory = repo.remember("The API port is 8080")
    world.clock.advance(40 * DAY)
    repo.link(repo.remember("Nobody answered", kind="bug"), "relates_to", memory)

    assert shown(repo) == []


def test_what_only_another_branch_says_is_not_told_here(repo):
    repo.remember("The API listens on port 9090")
    repo.write("CLAUDE.md", "- The API port is 8080\n")
    repo.add()
    assert len(shown(repo)) == 1

    repo.write("CLAUDE.md", "")
    repo.add()

    assert shown(repo) == []


def test_tasks_and_bugs_tell_what_happened_and_claim_nothing(repo):
    repo.remember("The API port is 8080", kind="task")
    repo.remember("The API port is 9090", kind="bug")

    assert claimed(repo) == []


def test_a_skill_says_how_things_are_done_and_claims_nothing(repo):
    about = "how a version is made"
    skills.skill_add(repo.home, repo.call, name="release", description=about, body="Tag it.")

    assert claimed(repo) == []


def test_memories_of_the_users_own_contradict_one_another_too(repo):
    repo.remember("We use pnpm", scope="user")
    repo.remember("We use npm", scope="user")
    (row,) = shown(repo)

    resolve(repo, row["id"], both=True)

    assert shown(repo) == []


def test_an_agent_settles_one_with_its_name(repo):
    _, other = torn(repo)
    agent = Call(folder=repo.path, origin="agent:claude")
    name = shown(repo)[0]["id"]

    resolving.resolve(repo.home, agent, id=name, keep=other, reason="ghp_" + "a1B2c3D4e5" * 4)

    (settled,) = found(repo, settled=True)["settled"]
    assert settled["by"] == "agent:claude"
    assert "a1B2" not in settled["reason"]


def test_the_brief_can_ask_for_a_few(repo, world):
    for number in range(5):
        repo.remember(f"The queue{number} size is 10")
        repo.remember(f"The queue{number} size is 20")

    with repo.db() as db:
        few = contradictions.open_contradictions(db, 3, now=world.clock.now())

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


def test_given_again_it_takes_the_place_of_what_was_given(repo):
    memory = repo.remember("The API port is 8080")
    first = give(repo, memory, "api", "owner", "Ada")
    second = give(repo, memory, "the API", "Owner", "Grace")

    assert second["supersedes"] == first["claim"]
    assert claimed(repo, memory) == [("api", "owner", "Grace", True), ("api", "port", "8080", True)]
    repo.edit(memory, "The API port is 9090")
    assert ("api", "owner", "Grace", True) in claimed(repo, memory)


def test_claims_are_told_by_subject_with_and_without_qualifier(repo):
    repo.remember("Python 3.11")
    repo.remember("Python 3.12 in CI")
    repo.remember("The API port is 8080")

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

    with pytest.raises(YaadError) as refused:
        claims.add_claim(repo.home, repo.call, id=memory, **words)

    assert refused.value.code is code
    assert claimed(repo, all=True) == []


def test_claims_are_in_the_transaction_of_the_memory(repo, monkeypatch):
    """Whatever goes wrong after the node is stored takes its claims along."""
    from yaadwatch.engine.remember import batch_write

    written = []

    def broken(conn, *_):
        written.extend(conn.execute("SELECT * FROM claims"))
        raise YaadError(Code.UNAVAILABLE, "no space")

    monkeypatch.setattr(batch_write.log, "append_all", broken)
    with pytest.raises(YaadError, match="no space"):
        repo.remember("The API port is 8080")

    assert "8080" in repr(written)

    assert claimed(repo, all=True) == []
    assert repo.memories() == []


def test_an_erased_memory_leaves_no_claim(repo):
    from yaadwatch.engine.inout import erasing

    one, other = torn(repo)
    resolve(repo, shown(repo)[0]["id"], keep=other)

    erasing.erase(repo.home, repo.call, id=one)

    with repo.db() as db:
        assert one not in repr(table(db, "claims"))
        assert "8080" not in repr(table(db, "claims"))


def test_what_was_settled_at_once_is_told_once(repo):
    for port in (8080, 9090, 7070):
        repo.remember(f"The API port is {port}")
    (row,) = found(repo)["contradictions"]
    kept = row["sides"][0]["node"]
    resolving.resolve(repo.home, repo.call, id=row["id"], keep=kept)

    (settled,) = found(repo, settled=True)["settled"]

    assert (settled["id"], settled["kept"]) == (row["id"], kept)


def test_evidence_is_not_from_a_time_to_come(repo):
    memory = repo.remember("The API port is 8080")
    tomorrow = repo.world.clock.now() + timedelta(days=1)

    with pytest.raises(YaadError) as refused:
        give(repo, memory, "api", "port", "9090", evidence_at=f"{tomorrow:%Y-%m-%dT%H:%M:%SZ}")

    assert refused.value.code is Code.BAD_REQUEST
