"""Many memories and relations at once: all or none, twice is once, through the one door."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from in_process import command
from verb_world import NET, RETRY, dump, table

from yaadwatch.api import codec
from yaadwatch.api.operations import BY_NAME
from yaadwatch.db import edges
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.queries import GivenEdge, GivenNode
from yaadwatch.recall import recall
from yaadwatch.remember import inject as remember_inject
from yaadwatch.sessions import sessions
from yaadwatch.workspace.workspace import Call

SHORT_TOKEN = "glpat-" + "a1b2c3d4e5f6g7h8i9j0"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LOGIN = {"id": "req-1", "text": "Login is by mail", "kind": "spec"}
SIGNUP = {"id": "req-2", "text": "Sign-up asks for nothing but a name"}
LED = {"from": "req-1", "kind": "led_to", "to": "req-2"}
OLD = "2024-03-01T12:00:00.123456Z"


def inject(repo, nodes=(), edges=()):
    """Inject what came over the wire."""
    asked = codec.message(BY_NAME["inject"].request, {"nodes": list(nodes), "edges": list(edges)})
    return remember_inject.inject(repo.home, repo.call, asked)


def refusal(repo, *batch):
    with repo.db() as db:
        before = dump(db)
    with pytest.raises((YaadError, ValueError)) as refused:
        inject(repo, *batch)
    with repo.db() as db:
        assert dump(db) == before
    return refused.value


def counts(new=0, changed=0, same=0):
    return {"new": new, "changed": changed, "same": same}


def test_what_is_given_is_stored_with_its_ids_and_found(repo):
    answer = inject(repo, [LOGIN, SIGNUP], [LED | {"weight": 0.5, "attributes": {"by": "Ada"}}])

    assert answer == {
        "nodes": counts(new=2),
        "edges": counts(new=1),
        "left_out": [],
        "left_out_more": 0,
        "masked": [],
    }
    shown = repo.show("req-1")
    assert (shown["text"], shown["kind"]) == (LOGIN["text"], "spec")
    (edge,) = shown["edges"]
    assert (edge["from"], edge["kind"], edge["to"]) == ("req-1", "led_to", "req-2")
    assert (edge["weight"], edge["attributes"]) == (0.5, {"by": "Ada"})
    found = recall.recall(repo.home, repo.call, query="login by mail")["results"]
    assert found[0]["id"] == "req-1"


def test_twice_is_once(repo):
    nodes = [LOGIN | {"created_at": OLD, "tags": ["auth"], "pin": True}, SIGNUP]
    edges = [LED, {"from": "req-2", "kind": "depends_on", "to": "req-1", "valid_from": OLD}]
    inject(repo, nodes, edges)
    with repo.db() as db:
        before = dump(db)
    repo.world.clock.advance(timedelta(days=1))

    again = inject(repo, nodes, edges)

    assert (again["nodes"], again["edges"]) == (counts(same=2), counts(same=2))
    with repo.db() as db:
        assert dump(db) == before


def test_when_it_was_created_is_kept(repo):
    edge = LED | {"created_at": OLD}
    inject(repo, [LOGIN | {"created_at": OLD}, SIGNUP], [edge])
    answer = inject(repo, [LOGIN | {"text": "Login is by mail or phone"}], [LED | {"weight": 0.5}])

    assert (answer["nodes"], answer["edges"]) == (counts(changed=1), counts(changed=1))
    shown = repo.show("req-1")
    then = datetime(2024, 3, 1, 12, 0, 0, 123000, tzinfo=UTC)
    assert (shown["created_at"], shown["edges"][0]["since"]) == (then, then)
    assert (shown["text"], shown["version"]) == ("Login is by mail or phone", 2)
    assert shown["edges"][0]["weight"] == 0.5


def test_what_reads_alike_stays_apart(repo):
    mine = repo.remember(LOGIN["text"])

    inject(repo, [LOGIN, LOGIN | {"id": "req-3"}])

    assert repo.memories().count(LOGIN["text"]) == 3
    assert repo.remember(LOGIN["text"]) == mine
    assert inject(repo, [LOGIN | {"id": "req-3"}])["nodes"] == counts(same=1)


def test_what_is_masked_beside_the_words_is_told_too(repo):
    beside = {"tags": [TOKEN], "attributes": {"on": {"password": "hunter2hunter2"}}}

    answer = inject(repo, [LOGIN | beside, SIGNUP])

    assert answer["masked"] == [{"id": "req-1", "kinds": ["github-token", "password"]}]


def test_a_node_rests_on_what_its_text_names(repo):
    inject(repo, [{"id": "req-1", "text": RETRY}])
    repo.write("src/net.py", NET.replace("def fetch_with_retry", "def fetch"))

    assert "src/net.py" in [anchor["path"] for anchor in repo.show("req-1")["anchors"]]
    assert repo.flag_of("req-1")

    inject(repo, [{"id": "req-1", "text": "Fetching is tried again in src/net.py"}])

    with repo.db() as db:
        assert table(db, "stale_flags") == []


def test_edges_without_their_ends_are_told_and_the_rest_is_stored(repo):
    lost = LED | {"to": "req-9"}

    answer = inject(repo, [LOGIN, SIGNUP], [lost, LED])

    assert answer["edges"] == counts(new=1)
    assert answer["left_out"] == [lost | {"reason": "no node req-9", "missing": ["req-9"]}]


def test_what_was_forgotten_or_ended_here_stays_so(repo):
    dated = LED | {"valid_from": OLD}
    inject(repo, [LOGIN, SIGNUP, {"id": "req-3", "text": "Mails are sent at once"}], [dated])
    repo.forget("req-3", "untrue")
    repo.unlink("req-1", "led_to", "req-2")

    answer = inject(
        repo,
        [{"id": "req-3", "text": "Mails are sent at noon"}],
        [dated, {"from": "req-1", "kind": "led_to", "to": "req-3"}],
    )

    told = [row["reason"].split(" (")[0].split(" at ")[0] for row in answer["left_out"]]
    assert told == [
        "archived here",
        "ended here",
        "req-3 archived here",
    ]
    assert repo.show("req-3")["archived_at"]
    assert repo.show("req-1")["edges"] == []


def test_an_edge_that_holds_since_another_time_is_refused_and_that_time_told(repo):
    inject(repo, [LOGIN, SIGNUP], [LED | {"valid_from": "2024-05-01T08:30:00+02:00"}])

    refused = refusal(repo, [], [LED | {"valid_from": "2024-06-01"}])

    assert refused.code is Code.CONFLICT
    assert "holds since 2024-05-01T06:30:00.000Z already" in refused.message
    assert "not since 2024-06-01T00:00:00.000Z" in refused.message
    assert "valid_from 2024-05-01T06:30:00.000Z" in refused.hint
    again = inject(repo, [], [LED | {"valid_from": "2024-05-01T06:30:00.000Z"}])
    assert again["edges"] == counts(same=1)


def test_of_an_edge_that_ended_here_the_time_is_told(repo):
    dated = LED | {"valid_from": OLD}
    inject(repo, [LOGIN, SIGNUP], [dated])
    repo.unlink("req-1", "led_to", "req-2")
    (edge,) = repo.show("req-1", view="historical")["edges"]

    (left,) = inject(repo, [], [dated])["left_out"]

    ended = edge["until"].isoformat(timespec="milliseconds")
    assert left["reason"] == f"ended here at {ended.replace('+00:00', 'Z')}"


def test_history_comes_in_as_it_was(repo):
    past = LED | {"valid_from": "2024-01-01", "valid_until": "2024-06-01"}
    open_ = LED | {"valid_from": "2024-06-01"}

    assert inject(repo, [LOGIN, SIGNUP], [past, open_])["edges"] == counts(new=2)
    assert inject(repo, [], [open_, past])["edges"] == counts(same=2)
    ended = inject(repo, [], [open_ | {"valid_until": "2025-01-01"}])
    assert ended["edges"] == counts(changed=1)
    assert repo.show("req-1")["edges"] == []
    assert len(repo.show("req-1", view="historical")["edges"]) == 2
    overlapping = refusal(repo, [], [LED | {"valid_from": "2024-05-01"}])
    assert overlapping.code is Code.CONFLICT


SPRING = {"valid_from": "2024-03-01T00:00:00Z", "valid_until": "2024-06-01T00:00:00Z"}


def test_an_edge_that_ended_and_is_given_twice_in_one_batch_is_stored_once(repo):
    answer = inject(repo, [LOGIN, SIGNUP], [LED | SPRING, LED | SPRING])

    assert answer["edges"] == counts(new=1, same=1)


@pytest.mark.parametrize(
    ("nodes", "edges", "told"),
    [
        ([LOGIN, LOGIN], [], "nodes[1] has the id of a node before it, req-1"),
        ([LOGIN, SIGNUP | {"id": TOKEN}], [], "The id of nodes[1] looks like a secret"),
        ([LOGIN, SIGNUP | {"text": " "}], [], "nodes[1], req-2: The text is empty; nothing was"),
        ([LOGIN, SIGNUP | {"text": "x" * 64_001}], [], "nodes[1], req-2: The text has 64001"),
        ([LOGIN, SIGNUP | {"key": TOKEN}], [], "nodes[1], req-2: The key looks like a secret"),
        ([LOGIN, SIGNUP | {"kind": SHORT_TOKEN}], [], "nodes[1], req-2: The kind looks like a"),
        ([LOGIN, SIGNUP], [LED | {"kind": SHORT_TOKEN}], "edges[0]: The kind looks like a secret"),
        (
            [LOGIN, SIGNUP | {"attributes": {"a": "x" * 9_000}}],
            [],
            "nodes[1], req-2: The attributes have 9009 bytes, more than 8192",
        ),
        (
            [LOGIN, SIGNUP],
            [LED | {"attributes": {"a": "x" * 9_000}}],
            "edges[0]: The attributes have 9009 bytes",
        ),
        ([LOGIN | {"kind": "file"}], [], "nodes[0]: the kind file is kept for what"),
        ([LOGIN | {"kind": "session"}], [], "nodes[0]: the kind session is kept for sessions"),
        ([LOGIN | {"created_at": "2999-01-01"}], [], "nodes[0].created_at is 2999-01-01"),
        ([LOGIN | {"colour": "red"}], [], "nodes[0]: there is no field 'colour'"),
        (
            [LOGIN, SIGNUP],
            [LED | {"kind": "touches"}],
            "edges[0]: Edges of the kind touches",
        ),
        ([LOGIN, SIGNUP], [LED | {"weight": 2}], "edges[0]: weight must be above 0"),
        ([LOGIN, SIGNUP], [LED | {"to": "req-1"}], "edges[0]: from and to must be two"),
        ([LOGIN, SIGNUP], [LED | {"valid_until": OLD}], "edges[0]: an edge that has ended"),
        (
            [LOGIN, SIGNUP],
            [LED, {"from": "req-2", "kind": "led_to", "to": "req-1"}],
            "led_to must not run in a circle: req-2 -> req-1 -> req-2; nothing was stored",
        ),
        (
            [LOGIN, SIGNUP],
            [
                LED | {"valid_from": "2024-01-01"},
                LED | {"valid_from": "2023-01-01", "valid_until": "2024-02-01"},
            ],
            "is in the batch twice for one time",
        ),
    ],
)
def test_a_batch_with_one_mistake_stores_nothing(repo, nodes, edges, told):
    assert told in str(refusal(repo, nodes, edges))


def test_what_a_persons_own_file_says_gets_no_other_words(world):
    repo = world.repo()
    repo.commit("rules", {"CLAUDE.md": "# Rules\n\n- Always run the linter before you push\n"})
    repo.add()
    with repo.db() as db:
        found = db.read(
            lambda conn: conn.execute("SELECT node FROM provenance WHERE line IS NOT NULL").get
        )

    assert refusal(repo, [{"id": found, "text": "Never run it"}]).code is Code.REFUSED


def test_a_session_gets_no_other_words(repo):
    repo.remember("Sign tokens with jose")
    (session,) = [row["id"] for row in sessions.sessions(repo.home, repo.call)["sessions"]]

    refused = refusal(repo, [{"id": session, "text": "Nothing happened"}])

    assert refused.code is Code.BAD_REQUEST
    assert refused.message.startswith(f"{session} is the id of a session, which is no memory")


def test_an_agent_gives_what_a_person_said_no_other_words(repo):
    inject(repo, [LOGIN])
    agent = Call(folder=repo.path, origin="agent:claude")
    other = GivenNode(id="req-1", text="Login is by telephone")

    answer = remember_inject.inject(repo.home, agent, nodes=[other])

    assert answer["nodes"] == counts()
    (left,) = answer["left_out"]
    assert left["id"] == "req-1"
    assert left["reason"].startswith("conflict: a person said it")
    assert repo.memories() == [LOGIN["text"]]


@pytest.mark.parametrize("origin", ["agent:claude", "import"])
def test_what_a_person_said_stays_as_it_is_and_saying_it_again_changes_nothing(repo, origin):
    inject(repo, [LOGIN])
    with repo.db() as db:
        before = dump(db)
    call = Call(folder=repo.path, origin=origin)
    other = GivenNode(
        id="req-1",
        text=LOGIN["text"],
        kind="bug",
        tier=3,
        key="mine",
        pin=True,
        attributes={"a": 1},
    )

    answers = [remember_inject.inject(repo.home, call, nodes=[other]) for _ in range(2)]

    assert [answer["nodes"] for answer in answers] == [counts(same=1)] * 2
    with repo.db() as db:
        assert dump(db) == before
    tagged = GivenNode(id="req-1", text=LOGIN["text"], kind="bug", tags=["auth"])
    assert [remember_inject.inject(repo.home, call, nodes=[tagged])["nodes"] for _ in range(2)] == [
        counts(changed=1),
        counts(same=1),
    ]
    shown = repo.show("req-1")
    assert (shown["kind"], shown["tier"], shown["key"], shown["pinned"]) == ("spec", 2, None, False)
    assert shown["tags"] == ["auth"]


@pytest.mark.parametrize("origin", ["agent:claude", "import", "cli"])
@pytest.mark.parametrize("by", ["agent:claude", "cli"])
def test_only_a_person_ends_what_a_person_let_supersede_something(repo, by, origin):
    author = Call(folder=repo.path, origin=by)
    pair = [GivenNode(id="req-1", text=LOGIN["text"]), GivenNode(id="req-2", text=SIGNUP["text"])]
    begun = {"from_": "req-2", "kind": "supersedes", "to": "req-1", "valid_from": OLD}
    remember_inject.inject(repo.home, author, nodes=pair, edges=[GivenEdge(**begun)])
    call = Call(folder=repo.path, origin=origin)

    answer = remember_inject.inject(
        repo.home, call, edges=[GivenEdge(**begun, valid_until="2024-04-01T12:00:00Z")]
    )

    with repo.db() as db:
        stands = bool(db.read(edges.successors, ["req-1"]))
    assert stands == (by == "cli" and origin != "cli")
    assert answer["edges"] == counts(changed=int(not stands))
    assert len(answer["left_out"]) == int(stands)


names = st.sampled_from("abcde")


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(names, names, st.sampled_from(["part_of", "relates_to"])), max_size=12))
def test_any_batch_is_stored_whole_or_not_at_all_and_twice_is_once(repo, rows):
    nodes = [{"id": name, "text": f"The thing called {name}"} for name in "abcde"]
    edges = [{"from": start, "kind": kind, "to": end} for start, end, kind in rows if start != end]
    inject(repo, nodes)
    with repo.db() as db:
        before = dump(db)
    try:
        first = inject(repo, nodes, edges)
    except YaadError:
        with repo.db() as db:
            assert dump(db) == before
        assert any(kind == "part_of" for _, _, kind in rows)
        return
    with repo.db() as db:
        after = dump(db)
    again = inject(repo, nodes, edges)

    assert first["edges"]["new"] + first["edges"]["same"] == len(edges)
    assert again["edges"] == counts(same=len(edges))
    with repo.db() as db:
        assert dump(db) == after


def test_ids_of_callers_are_told_whole_so_that_what_is_told_can_be_typed(repo):
    """The ends of these are one another's, and would be options of a command."""
    ids = ["x-deploys", "y-deploys", "a b"]
    remember_inject.inject(
        repo.home, repo.call, nodes=[GivenNode(id=one, text=f"{one} go out") for one in ids]
    )

    told = command(repo, "recall", "deploys", "go", "out").out
    forgotten = command(repo, "forget", "x-deploys").out
    deleted = command(repo, "graph", "delete", "y-deploys").out

    shown = re.findall(r"^(\S+deploys|'a b')", told, re.MULTILINE)
    assert sorted(shown) == ["'a b'", "x-deploys", "y-deploys"]
    assert "Undo: yaadwatch restore x-deploys" in forgotten
    assert "Deleted y-deploys" in deleted


def test_what_is_left_out_of_a_large_batch_is_counted_beyond_what_an_answer_holds(repo):
    edges = [{"from": f"{n}" * 20, "kind": "led_to", "to": "nobody"} for n in range(2_100)]

    answer = inject(repo, [], edges)
    told = command(repo, "inject", written(repo, edges)).out

    assert (len(answer["left_out"]), answer["left_out_more"]) == (2_000, 100)
    assert "Left out: 2100. 2000 of them: --json" in told


def written(repo, edges):
    path = repo.path.parent / "batch.json"
    path.write_text(json.dumps({"edges": edges}))
    return path
