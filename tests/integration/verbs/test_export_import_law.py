"""What goes out of a store and comes in again makes an equal one, whatever was done to it."""

import itertools
from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from in_process import ask
from test_export_import import content

from yaadwatch.db import history
from yaadwatch.model.errors import YaadError
from yaadwatch.model.queries import GivenEdge, GivenNode
from yaadwatch.projects import verifying
from yaadwatch.remember import curate, inject, remember
from yaadwatch.sessions import sessions
from yaadwatch.workspace.workspace import Call

ROUNDS = settings(
    max_examples=settings.default.max_examples // 10,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
NUMBERS = itertools.count()

words = st.sampled_from(
    [
        "The retry limit lives in src/net.py",
        "fetch_with_retry is called by `other`",
        "Use tabs in Go files",
        "Use tabs in Go files, because gofmt does",
        "The port is 8080",
        "The port is 9090",
        "Python 3.12 is required; see https://example.org/why",
        "We decided: ☂ stays, «so» does “this”\nand a second line",
        "TODO: write it down",
        "Ask Ada before deploys.",
    ]
)
signs = st.characters(exclude_categories=["Cs"], exclude_characters="\0")  # as on the wire
texts = st.one_of(words, st.text(signs, min_size=1, max_size=30).filter(str.strip))
which = st.integers(0, 9)
kinds = st.sampled_from(["led_to", "part_of", "relates_to", "is-a"])
who = st.sampled_from(["cli", "agent:claude"])
tags = st.lists(st.sampled_from(["a", "später", "x-1"]), max_size=2)

said = st.fixed_dictionaries(
    {"text": texts},
    optional={
        "kind": st.sampled_from(["bug", "convention", "my-kind"]),
        "tier": st.sampled_from([1, 2, 3]),
        "key": st.sampled_from(["k1", "k2"]),
        "tags": tags,
        "attributes": st.dictionaries(st.sampled_from("ab"), st.none() | st.integers(-9, 9)),
        "files": st.just(["src/net.py"]),
        "pin": st.booleans(),
    },
)
actions = st.one_of(
    st.tuples(st.just("remember"), who, said),
    st.tuples(st.just("edit"), which, texts),
    st.tuples(st.sampled_from(["forget", "restore", "confirm", "pin", "unpin"]), which),
    st.tuples(st.just("tag"), which, tags, tags).filter(
        lambda step: (step[2] or step[3]) and not set(step[2]) & set(step[3])
    ),
    st.tuples(st.just("link"), which, kinds, which),
    st.tuples(st.just("unlink"), which, kinds, which),
    st.tuples(st.just("session"), st.sampled_from(["begin", "note", "end"]), texts),
    st.tuples(st.just("inject"), st.lists(st.tuples(st.sampled_from("xyz"), texts), max_size=3)),
    st.tuples(st.just("wait"), st.integers(1, 400)),
    st.tuples(st.just("file"), st.lists(words, max_size=3)),
)


def act(repo, known, action):
    """Do one thing; what a verb refuses is not done."""
    name, *given_ = action
    try:
        if name in DO:
            DO[name](repo, known, *given_)
        else:
            getattr(repo, name)(_one(known, given_[0]), *given_[1:])
    except (YaadError, ZeroDivisionError):
        return  # refused, or there is no memory yet


def _remember(repo, known, origin, fields):
    found = remember.remember(repo.home, Call(folder=repo.path, origin=origin), **fields)
    known.append(found["id"])


def _one(known, at):
    return known[at % len(known)]


def _session(repo, known, what, text):
    call = Call(folder=repo.path, origin="agent:claude")
    if what == "begin":
        sessions.session_start(repo.home, call)
    elif what == "note":
        sessions.session_note(repo.home, call, text=text)
    else:
        sessions.session_end(repo.home, call)


def _inject(repo, known, rows):
    batch = [GivenNode(id=name, text=text) for name, text in dict(rows).items()]
    ids = [node.id for node in batch]
    edges = [GivenEdge(from_=a, kind="is_a", to=b) for a, b in itertools.pairwise(ids)]
    inject.inject(repo.home, repo.call, nodes=batch, edges=edges)
    known.extend(ids)


def _file(repo, known, bullets):
    lines = "".join(f"- {' '.join(one.split())}\n" for one in bullets)
    repo.write("CLAUDE.md", f"# Rules\n\n{lines}")
    repo.sync()


DO = {
    "remember": _remember,
    "session": _session,
    "inject": _inject,
    "file": _file,
    "link": lambda repo, known, a, kind, b: repo.link(_one(known, a), kind, _one(known, b)),
    "unlink": lambda repo, known, a, kind, b: repo.unlink(_one(known, a), kind, _one(known, b)),
    "tag": lambda repo, known, at, add, remove: curate.tag(
        repo.home, repo.call, id=_one(known, at), add=add, remove=remove
    ),
    "wait": lambda repo, known, hours: repo.world.clock.advance(timedelta(hours=hours)),
}


@ROUNDS
@given(st.lists(actions, min_size=3, max_size=14))
def test_what_goes_out_and_comes_in_again_makes_an_equal_store(world, done):
    number = next(NUMBERS)
    repo, there = world.repo(f"from{number}"), world.repo(f"to{number}")
    repo.add()
    known = []
    for action in done:
        act(repo, known, action)
    with repo.db() as db:
        before = content(repo)
        history = db.read(histories)
    one, two = (world.folder / f"{name}{number}.jsonl" for name in ("one", "two"))

    ask(repo, "export", one)
    there.add()
    answer = ask(there, "import", one, "--mine")
    ask(there, "export", two)

    assert answer["conflicts"] == answer["left_out"] == []
    assert content(there) == before
    with there.db() as db:
        assert db.read(histories) == history
    assert one.read_bytes().splitlines()[1:] == two.read_bytes().splitlines()[1:]
    assert verifying.verify(there.home, there.call)["findings"] == []
    again = ask(there, "import", two, "--mine")
    assert {what for found in again["counts"].values() for what in found} <= {"same"}
    assert content(there) == before


def histories(conn):
    """Return what every node said after each of its changes."""
    ids = [node for (node,) in conn.execute("SELECT id FROM nodes ORDER BY id")]
    return {node: history.versions_of_node(conn, node) for node in ids}


@ROUNDS
@given(st.lists(actions, min_size=3, max_size=14))
def test_pages_of_living_memories_that_are_imported_are_exported_alike(world, done):
    number = next(NUMBERS)
    repo, there = world.repo(f"from{number}"), world.repo(f"to{number}")
    repo.add()
    known = []
    for action in done:
        act(repo, known, action)
    one, two = (world.folder / f"{name}{number}" for name in ("one", "two"))
    ask(repo, "export", one, "--format", "markdown")
    there.add()

    answer = ask(there, "import", one, "--mine")

    ask(there, "export", two, "--format", "markdown")
    assert living_pages(two) == living_pages(one)
    assert not [one for one in answer["left_out"] if not one["row"].startswith(".archive, ")]
    assert verifying.verify(there.home, there.call)["findings"] == []


def living_pages(folder):
    """Return the content of each page of a living memory but its history and who vouches for it."""
    return {
        path.relative_to(folder).as_posix(): [
            line
            for line in path.read_text().splitlines()
            if not line.startswith(("version: ", "updated: ", "by: ", "unverified: "))
        ]
        for path in folder.rglob("*.md")
        if ".archive" not in path.parts
    }
