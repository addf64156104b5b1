"""What goes wrong in memories of this sort, as a whole: each of these was seen in another one."""

import json
from datetime import timedelta

from tests.bench import retrieval
from tests.bench.retrieval import Query
from yaadwatch.model.queries import GivenEdge, GivenNode
from yaadwatch.projects import projects
from yaadwatch.recall import recall, walks
from yaadwatch.remember import inject
from yaadwatch.sessions import sessions
from yaadwatch.workspace.workspace import Call

MANY = 1_200


def put(repo, texts, edges=()):
    nodes = [GivenNode(id=f"n{number:04}", text=text) for number, text in enumerate(texts)]
    inject.inject(repo.home, repo.call, nodes=nodes, edges=list(edges))


def test_a_word_that_one_memory_has_finds_it_whatever_hangs_together(repo):
    """Ranking by tier, age and relations after the search must not lose what the search found."""
    texts = [
        f"The service handles orders of part{number:04}, retries and payments"
        for number in range(MANY)
    ]
    hub = [GivenEdge(from_=f"n{n:04}", kind="relates_to", to="n0000") for n in range(1, MANY)]
    put(repo, texts, hub)
    repo.pin("n0007")
    queries = [
        Query(id=str(n), text=f"payments of part{n:04}", relevant=frozenset({f"n{n:04}"}))
        for n in range(0, MANY, 12)
    ]

    run = retrieval.ask(repo.home, repo.call, queries)[0]

    assert retrieval.figures(queries, run)["hit_at_1"] >= 0.99


def test_ten_results_around_a_hub_stay_within_their_budget(repo):
    """A node that everything touches must not bring everything along."""
    texts = [f"The queue has shard {number}. " + "It is drained. " * 40 for number in range(300)]
    edges = [GivenEdge(from_=f"n{n:04}", kind="relates_to", to="n0000") for n in range(1, 300)]
    put(repo, texts, edges)

    answer = recall.recall(repo.home, repo.call, query="the queue", tokens_max=800)

    assert answer["results"]
    assert answer["budget"]["used"] <= 800
    assert len(json.dumps(answer, default=str)) < 16_000
    assert projects.status(repo.home, repo.call)["projects"][0]["memories"] == 300
    assert walks.graph_stats(repo.home, repo.call)["things"] == 0


def test_a_session_that_starts_after_years_ages_nothing(repo):
    """What fades is the business of a job that can be looked at before: of no hook."""
    kept = [repo.remember("Pinned for good", pin=True), repo.remember("Said once, long ago")]
    repo.world.clock.advance(timedelta(days=3650))

    sessions.session_start(repo.home, Call(folder=repo.path, origin="agent:claude"))

    assert repo.memories() == ["Pinned for good", "Said once, long ago"]
    assert [repo.show(one)["version"] for one in kept] == [1, 1]


def test_what_was_said_later_may_have_led_to_what_was_said_before(repo):
    """That one memory came after another is a time, and closes no circle."""
    said = [repo.remember(f"Step {number} of the story") for number in range(12)]

    for later, earlier in zip(said[1:], said, strict=False):
        repo.link(later, "led_to", earlier)
        repo.link(earlier, "caused_by", later)

    assert len([edge for edge in repo.show(said[5])["edges"] if edge["kind"] == "led_to"]) == 2
