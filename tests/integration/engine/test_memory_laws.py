"""What holds of any store, whatever was said in it and in which order; on real stores."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from yaadwatch.model.edges import ACYCLIC, Interval, circle, clash
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.store.codec import from_ms, from_ms_or_null

EXAMPLES = max(settings.default.max_examples // 20, 5)
pytestmark = pytest.mark.timeout(3600)
law = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])

TEXTS = [
    "Use tabs in Go files",
    "Use tabs in Go files.",
    "- Use tabs in Go files",
    "Use tabs in Go files, because gofmt does",
    "Use tabs in Makefiles",
    "Never use tabs in Go files",
    "The API port is 8080",
    "The API port is 9090",
    "The retry limit lives in src/net.py, in fetch_with_retry",
    "Deploys go out on Tuesdays",
    "deploys  go out on tuesdays",
    "The token is ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8",
]
said = st.lists(st.sampled_from(TEXTS), max_size=8)
MEMORIES = 5
ends = st.integers(0, MEMORIES - 1)
edges = st.lists(
    st.tuples(st.sampled_from(["link", "link", "link", "unlink"]), ends, ends, st.integers(0, 9)),
    max_size=25,
)


@pytest.fixture
def repos(world):
    """Make watched repositories, one for each example."""
    numbers = count()

    def made():
        repo = world.repo(f"repo{next(numbers)}")
        repo.add()
        return repo

    return made


def rows(repo):
    """Return every edge there ever was: from, kind, to, since when and until when."""
    with repo.db() as db:
        found = db.read(
            lambda conn: conn.execute(
                "SELECT from_node, kind, to_node, valid_from_ms, valid_until_ms FROM edges"
            ).fetchall()
        )
    return [
        (*row[:3], Interval(start=from_ms(row[3]), end=from_ms_or_null(row[4]))) for row in found
    ]


@law
@given(texts=said)
def test_saying_everything_again_changes_nothing_but_who_said_it_last(repos, texts):
    repo = repos()
    for text in texts:
        repo.remembered(text)
    before = repo.memories()

    again = Counter(repo.remembered(text)["decision"] for text in before)

    assert set(again) <= {"same"}
    assert repo.memories() == before


@law
@given(texts=said)
def test_no_two_memories_say_the_same_and_none_says_a_secret(repos, texts):
    repo = repos()
    for text in texts:
        repo.remembered(text)

    kept = repo.memories()

    assert len(set(kept)) == len(kept)
    assert not any("ghp_" in text for text in kept)


@law
@given(steps=edges, kind=st.sampled_from(sorted(ACYCLIC - {"learned_in"})))
def test_no_order_of_links_makes_a_circle_and_only_what_would_is_refused(repos, steps, kind):
    repo = repos()
    nodes = [repo.remember(f"Memory number {number} of them") for number in range(MEMORIES)]

    for what, start, end, _ in steps:
        holding = [row[:3:2] for row in rows(repo) if row[1] == kind and row[3].end is None]
        if what == "unlink":
            with suppress(YaadError):
                repo.unlink(nodes[start], kind, nodes[end])
            continue
        closes = circle([*holding, (nodes[start], nodes[end])]) is not None
        refused = None
        try:
            repo.link(nodes[start], kind, nodes[end])
        except YaadError as error:
            refused = error.code
        would = Code.BAD_REQUEST if start == end else Code.REFUSED if closes else None
        assert refused == would

    holding = [row[:3:2] for row in rows(repo) if row[1] == kind and row[3].end is None]
    assert circle(holding) is None


@law
@given(steps=edges)
def test_edges_of_one_kind_between_two_memories_never_hold_at_the_same_time(repos, steps):
    repo = repos()
    nodes = [repo.remember(f"Memory number {number} of them") for number in range(MEMORIES)]
    begin = repo.world.clock.now() - timedelta(days=20)
    for what, start, end, days in steps:
        with suppress(YaadError):
            if what == "link":
                since = begin + timedelta(days=days)
                repo.link(nodes[start], "relates_to", nodes[end], since=f"{since:%Y-%m-%d}")
            else:
                repo.unlink(nodes[start], "relates_to", nodes[end])

    by_ends = {}
    for start, kind, end, held in rows(repo):
        assert clash(held, by_ends.get((start, kind, end), [])) is None
        by_ends.setdefault((start, kind, end), []).append(held)


@law
@given(waits=st.lists(st.integers(1, 120), min_size=1, max_size=5))
def test_upkeep_every_now_and_then_leaves_what_one_upkeep_at_the_end_does(world, repos, waits):
    often, once = repos(), repos()
    for repo in (often, once):
        repo.remember("Move the parser to its own module", kind="task")
        repo.remember("The cache holds 12 entries", kind="spec")
        repo.remember("We use tabs", kind="convention")
        repo.remember("Never deploy on Fridays", kind="task", pin=True)
    for days in waits:
        world.clock.advance(timedelta(days=days))
        with once.without_store():
            often.upkeep()
    often.upkeep()

    assert often.memories() == once.memories()
    assert "Never deploy on Fridays" in often.memories()
