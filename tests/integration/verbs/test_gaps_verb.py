"""A question without a good answer is a hash and a count, until somebody approves its words."""

from datetime import timedelta

from refusals import refusal
from verb_world import every_byte_below, table

from yaadwatch import places
from yaadwatch.db import claims
from yaadwatch.memory import gaps
from yaadwatch.model.errors import Code
from yaadwatch.projects import upkeep
from yaadwatch.sessions import context

QUESTION = "How do we deploy to the Zanzibar cluster?"


def ask(tree, question=QUESTION, times=1):
    project = tree.home.project_at(tree.path)[0].id
    for _ in range(times):
        tree.home.poorly_answered(project, question)


def listed(tree):
    return gaps.gaps(tree.home, tree.call)["gaps"]


def approve(tree, question=QUESTION, **fields):
    return gaps.approve_gap(tree.home, tree.call, question=question, **fields)


def test_a_question_is_counted_and_its_words_are_nowhere(repo):
    ask(repo, times=3)
    ask(repo, "deploy, to the zanzibar CLUSTER")

    upkeep.flush(repo.home)

    (gap,) = listed(repo)
    assert (gap["asked"], gap["text"]) == (4, None)
    everywhere = every_byte_below(repo.store.parent, places.data_folder()).lower()
    assert b"zanzibar" not in everywhere


def test_the_hash_tells_nothing_without_the_key_of_this_home(repo):
    ask(repo)
    (gap,) = listed(repo)
    places.key_file().unlink()
    ask(repo)

    assert len({one["gap"] for one in listed(repo)} | {gap["gap"]}) == 2


def test_who_knows_the_question_can_approve_it_and_it_is_noted_who_did(repo):
    ask(repo)

    gap = approve(repo, "how do we deploy to the zanzibar cluster", reason="asked every week")

    assert gap["text"] == "how do we deploy to the zanzibar cluster"
    assert (gap["approved_by"], gap["reason"]) == ("cli", "asked every week")
    assert gap["approved_at"] is not None
    with repo.db() as db:
        events = [row for row in table(db, "events") if row[1] == "gap.approved"]
        assert len(events) == 1
        assert "zanzibar" not in repr(events)
        assert [one.text for one in gaps.open_gaps(db, 5)] == [gap["text"]]


def test_a_question_that_was_not_asked_cannot_be_approved(repo):
    ask(repo)

    assert refusal(approve, repo, "Who owns billing?").code is Code.NOT_FOUND
    assert [gap["text"] for gap in listed(repo)] == [None]


def test_what_is_approved_is_masked(repo):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    ask(repo, f"What is {token} for?")

    gap = approve(repo, f"What is {token} for?")

    assert gap["masked"] == ["github-token"]
    assert token.encode() not in every_byte_below(repo.store.parent, places.data_folder())


def test_only_approved_ones_are_for_the_brief(repo):
    ask(repo, "Where are the invoices?", 9)
    ask(repo)
    listed(repo)

    with repo.db() as db:
        assert gaps.open_gaps(db, 5) == []
    approve(repo)
    with repo.db() as db:
        assert [one.asked for one in gaps.open_gaps(db, 5)] == [1]


def test_a_gap_is_dropped_by_its_name_with_its_words(repo):
    ask(repo)
    approve(repo)
    (gap,) = listed(repo)

    gaps.drop_gap(repo.home, repo.call, gap=gap["gap"])

    assert listed(repo) == []
    assert refusal(gaps.drop_gap, repo.home, repo.call, gap=gap["gap"]).code is Code.NOT_FOUND


def test_a_question_that_nobody_asks_any_more_is_forgotten_unless_it_was_approved(repo, world):
    ask(repo)
    ask(repo, "Who owns billing?")
    approve(repo)
    world.clock.advance(timedelta(days=181))

    upkeep.run(repo.home)

    assert [gap["text"] is not None for gap in listed(repo)] == [True]


def test_what_is_noted_between_two_writes_is_bounded(repo):
    from yaadwatch.model.settings import GAPS_NOTED_MAX

    for number in range(GAPS_NOTED_MAX + 50):
        ask(repo, f"Where is invoice {number}?")
    ask(repo, "Where is invoice 0?")

    listed(repo)

    with repo.db() as db:
        assert db.read(claims.count_gaps) == GAPS_NOTED_MAX
        assert db.read(claims.all_gaps, 1)[0].asked == 2


def test_recall_counts_what_it_finds_no_answer_to(repo):
    from yaadwatch.recall import recall

    repo.remember("The retry limit lives in src/net.py")
    for question in ("where is the retry limit", QUESTION, QUESTION):
        recall.recall(repo.home, repo.call, query=question)
    recall.recall(repo.home, repo.call, query="Who owns billing?", kinds=["decision"])

    assert [gap["asked"] for gap in listed(repo)] == [2]


def test_a_question_that_has_an_answer_by_now_is_not_in_the_brief(repo):
    ask(repo, "how do we deploy to the zanzibar cluster")
    approve(repo, "how do we deploy to the zanzibar cluster")
    assert "zanzibar" in context.context(repo.home, repo.call)["brief"]

    memory = repo.remember("Deploy to the zanzibar cluster with make ship", kind="fact")
    told = context.context(repo.home, repo.call)

    assert (told["gaps"], "zanzibar" in told["brief"]) == (0, False)
    assert [gap["asked"] for gap in listed(repo)] == [1]

    repo.forget(memory)

    assert "zanzibar" in context.context(repo.home, repo.call)["brief"]
