"""What holds of any store, whatever was said in it and in which order; on real stores."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from verb_world import dump, table

from yaadwatch.db.codec import from_ms, from_ms_or_null
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.memories import ACYCLIC, Interval, circle, clash
from yaadwatch.model.queries import GivenNode
from yaadwatch.projects import verifying
from yaadwatch.remember import edit, inject

EXAMPLES = settings.default.max_examples // 10
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
    "src/net.py talks to port 8080 by `npm install left-pad`",
    "getUserName is of httpx 0.27, on port 8080",
    "src/net.py",
    "Deploys go out on Tuesdays",
    "deploys  go out on tuesdays",
    "The token is ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8",
]
batches = st.lists(
    st.builds(
        GivenNode,
        id=st.sampled_from("abcdefghijkl"),
        text=st.sampled_from(TEXTS),
        kind=st.sampled_from([None, "decision", "task"]),
        key=st.sampled_from([None, None, None, "one", "two"]),
        tags=st.sampled_from([(), ("go", "getUserName")]),
        attributes=st.sampled_from([None, {"by": "Ada"}]),
    ),
    max_size=12,
    unique_by=lambda one: one.id,
)
said = st.lists(st.sampled_from(TEXTS), max_size=8)
A_TIME = 10**12
"""Numbers that are larger are milliseconds."""
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


def many(*texts, **fields):
    return [
        GivenNode(id="abcdefghijkl"[number], text=text, **fields)
        for number, text in enumerate(texts)
    ]


RETRY, PORT, NAME, API = TEXTS[8], TEXTS[9], TEXTS[10], "The API port is 8080"


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
@given(first=st.sampled_from(TEXTS), then=st.sampled_from(TEXTS), last=st.sampled_from(TEXTS))
@example(first=TEXTS[8], then=TEXTS[9], last=TEXTS[8])
@example(first=TEXTS[9], then=TEXTS[10], last=TEXTS[9])
@example(first=TEXTS[6], then=TEXTS[7], last=TEXTS[6])
def test_other_words_of_a_batch_leave_what_the_same_words_leave_by_hand(repos, first, then, last):
    """Claims, anchors and relations end and begin likewise, and the words are found likewise."""
    batch, hand = repos(), repos()
    for repo in (batch, hand):
        inject.inject(repo.home, repo.call, nodes=many(first))
    for words in (then, last):
        inject.inject(batch.home, batch.call, nodes=many(words))
        with suppress(YaadError):  # the words are those that it has
            edit.update(hand.home, hand.call, id="a", text=words)

    assert told(batch) == told(hand)


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


def told(repo):
    """Return every row of a store, without what two repositories of a law have not in common.

    That are the ids of files and entities, the commit, the folder, and the times.
    """
    with repo.db() as db:
        found = dump(db) | {name: table(db, name) for name in ("claims", "learned")}
        names = db.read(
            lambda conn: dict(
                conn.execute("SELECT id, text FROM nodes WHERE kind IN ('file', 'entity')")
            )
        )
    head = repo.git("rev-parse", "HEAD").strip()
    names |= {head: "HEAD", str(repo.path): "here"}

    def plain(value):
        if isinstance(value, int) and value > A_TIME:
            return "then"
        for mark, name in names.items():
            value = value.replace(mark, name) if isinstance(value, str) else value
        return value

    own = ("meta", "worktrees")
    return {
        name: [tuple(map(plain, row)) for row in rows]
        for name, rows in found.items()
        if name not in own
    }


@law
@given(before=batches, batch=batches)
@example(before=many(RETRY, PORT, NAME), batch=many(PORT, NAME, RETRY))  # words go round
@example(before=many(RETRY, PORT, API), batch=many("x y", "The API port is 9090", PORT, RETRY))
@example(before=many(PORT, PORT, PORT), batch=many(NAME, RETRY, tags=("go",)))
@example(before=many(RETRY), batch=many("src/net.py", "src/net.py talks to port 8080"))
@example(  # a key goes on to a memory that is new, and one to a memory that is changed
    before=many(RETRY, key="one"),
    batch=[
        GivenNode(id="a", text=PORT, key="two"),
        GivenNode(id="k", text=RETRY, key="one"),
        GivenNode(id="l", text="src/net.py"),
    ],
)
@example(before=many(RETRY, API), batch=many(API, "x y", kind="task"))
def test_a_batch_leaves_what_its_memories_leave_one_by_one(repos, before, batch):
    """Down to the number of each row and event: what a batch shares, nobody can tell."""
    whole, single = repos(), repos()
    with suppress(YaadError):  # keys that two of them have
        inject.inject(whole.home, whole.call, nodes=before)
        inject.inject(single.home, single.call, nodes=before)
    at_first = told(whole)

    counted, refused = Counter(), 0
    for one in batch:
        try:
            counted.update(inject.inject(single.home, single.call, nodes=[one])["nodes"])
        except YaadError:
            refused += 1
    try:
        at_once = Counter(inject.inject(whole.home, whole.call, nodes=batch)["nodes"])
    except YaadError:
        assert refused
        assert told(whole) == at_first
        return

    assert not refused
    assert at_once == counted
    assert told(whole) == told(single)
    assert verifying.verify(whole.home, whole.call)["sound"] is True
