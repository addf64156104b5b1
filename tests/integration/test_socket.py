"""The socket, end to end: a real server, real clients, and everything that may go wrong between."""

import asyncio
import contextlib
import json
import os
import socket
import stat
import sys
import tempfile
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from refusals import refusal
from served import Served, Wire, client
from waiting import PATIENCE_S, wait_until
from waiting import events as events_of

from yaadwatch import places
from yaadwatch.client.connection import ConnectionEnded, DaemonNotRunning, DaemonUnresponsive
from yaadwatch.daemon.connection import Limits
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import FRAME_BYTES_MAX
from yaadwatch.model.settings import REQUESTS_AT_ONCE_MAX

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 and "uid" not in os.environ.get("YAAD_REQUIRE", "").split(","),
    reason="needs root, to act as another user",
)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="a way that only Linux has")


def told(home, call, **fields):
    """A verb that answers with what it was asked."""
    return {"folder": str(call.folder), "origin": call.origin, "fields": fields}


def refusal_to_start(path):
    """What a server says that does not start on `path`."""
    served = Served(path, {})
    try:
        return refusal(served.do, served.server.start)
    finally:
        served.close()


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "yaad"))
    return places.default_socket()


@pytest.fixture
def gate():
    """Closed until the test opens it; opened at the end, so that no verb waits for ever."""
    event = threading.Event()
    yield event
    event.set()


def test_a_request_reaches_its_verb_with_the_folder_the_origin_and_the_fields(path):
    with Served(path, {"recall": told}), contextlib.closing(client(cwd="/srv")) as asking:
        answer = asking.call("recall", query="jose", kinds=["fix"])

    assert answer == {
        "folder": "/srv",
        "origin": "cli",
        "fields": {"query": "jose", "kinds": ["fix"], "tokens_max": 800} | answer["fields"],
    }


def test_an_agent_is_named_and_a_project_stands_for_the_folder(path):
    asking = client(cwd="/srv", agent="claude-code")

    with Served(path, {"status": told}), contextlib.closing(asking):
        answer = asking.call("status", project="/srv/api")

    assert answer == {"folder": "/srv/api", "origin": "agent:claude-code", "fields": {}}


def test_a_client_knows_the_time_and_the_pid_of_the_daemon(path):
    with Served(path, {}), contextlib.closing(client()) as asking:
        assert asking.now().isoformat().startswith("2026-11-21T12:00:0")
        assert asking.pid == os.getpid()


def test_without_a_daemon_nobody_listens(path):
    said = refusal(client().call, "status")

    assert isinstance(said, DaemonNotRunning)
    assert said.code is Code.UNAVAILABLE


def test_what_a_verb_says_went_wrong_arrives_masked(path):
    def forget(home, call, **fields):
        raise YaadError(Code.CONFLICT, "s3cret is not unique.", hint="not s3cret")

    with Served(path, {"forget": forget}), contextlib.closing(client()) as asking:
        said = refusal(asking.call, "forget", id="ab12")

        assert (said.code, said.message) == (
            Code.CONFLICT,
            "[masked] is not unique.",
        )
        assert said.hint == "not [masked]"


@pytest.mark.parametrize(
    "fault", [RuntimeError("s3cret"), KeyError("s3cret"), RecursionError(), SystemExit("s3cret")]
)
def test_a_fault_of_ours_is_internal_logged_and_says_no_secret(path, caplog, fault):
    def show(home, call, **fields):
        raise fault

    with Served(path, {"show": show}), contextlib.closing(client()) as asking:
        said = refusal(asking.call, "show", id="ab12")

    assert said.code is Code.INTERNAL
    assert "s3cret" not in said.message
    logged = next(row for row in caplog.records if row.message == "operation.crashed")
    assert "Traceback" in logged.traceback
    assert "s3cret" not in logged.traceback


def test_a_value_that_makes_no_sense_to_a_verb_is_a_bad_request(path):
    def remember(home, call, **fields):
        raise ValueError("a kind is a word")

    with Served(path, {"remember": remember}), contextlib.closing(client()) as asking:
        said = refusal(asking.call, "remember", text="x")

    assert said.code is Code.BAD_REQUEST
    assert "a kind is a word" in said.message


def test_an_answer_that_is_no_json_is_a_fault_of_ours(path):
    verbs = {"status": lambda home, call: {"at": object()}}
    with Served(path, verbs), contextlib.closing(client()) as asking:
        said = refusal(asking.call, "status")

    assert said.code is Code.INTERNAL


def test_an_answer_over_the_limit_says_so_and_the_connection_lives(path):
    def recall(home, call, query, **fields):
        return {"text": "x" * (FRAME_BYTES_MAX if query == "long" else 1)}

    with Served(path, {"recall": recall}), contextlib.closing(client()) as asking:
        said = refusal(asking.call, "recall", query="long")

        assert said.code is Code.TOO_LARGE
        assert asking.call("recall", query="short") == {"text": "x"}


def test_clients_that_come_at_the_same_moment_are_all_answered(path):
    answers = []

    def ask():
        with contextlib.closing(client()) as asking:
            answers.append(asking.call("status")["origin"])

    with Served(path, {"status": told}):
        threads = [threading.Thread(target=ask) for _ in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)

    assert answers == ["cli"] * 200


def test_one_client_too_many_is_told_and_the_others_are_served(path):
    with Served(path, {"status": told}, limits=Limits(connections_max=2)) as served:
        with contextlib.closing(client()) as one, contextlib.closing(client()) as two:
            one.call("status")
            two.call("status")

            said = refusal(client().call, "status")

            assert said.code is Code.UNAVAILABLE
            assert "2 clients are connected" in said.message
            assert one.call("status")["origin"] == "cli"
        wait_until(lambda: served.server.connections == 0)
        with contextlib.closing(client()) as later:
            assert later.call("status")["origin"] == "cli"


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n",
        b"\x00\xff\xfe\n",
        b"\n",
        b"[]\n",
        b'{"jsonrpc": "2.0"}\n',
        b"{" * 5000 + b"\n",
    ],
)
def test_garbage_instead_of_a_first_line_is_told_and_ends(path, garbage):
    with Served(path, {"status": told}), Wire(path) as wire:
        wire.send(garbage)

        said = wire.hear()

        assert said["error"]["code"] == "bad_request"
        assert wire.hear() is None
        with contextlib.closing(client()) as other:
            assert other.call("status")["origin"] == "cli"


def test_garbage_after_the_first_line_is_told_and_ends(path):
    with Served(path, {"status": told}), Wire(path) as wire:
        assert wire.greet()["server"] == "9.9"
        wire.send(b"what?\n" * 1000)

        assert wire.hear()["error"]["code"] == "bad_request"
        assert wire.hear() is None


def test_a_wrong_request_is_told_under_its_id_and_the_connection_lives(path):
    with Served(path, {"status": told}), Wire(path) as wire:
        wire.greet()
        wire.ask(7, "status", deep=True)
        wrong = wire.hear()
        wire.ask(8, "status")

        assert wrong["id"] == 7
        assert "no field 'deep'" in wrong["error"]["message"]
        assert wire.hear()["id"] == 8


def test_a_request_that_fails_unexpectedly_is_answered_under_its_id(path, caplog):
    with Served(path, {"status": told}) as served, Wire(path) as wire:
        wire.greet()
        served.break_workers()
        wire.ask(7, "status")
        answer = wire.hear()

    assert (answer["id"], answer["error"]["code"]) == (7, "internal")
    assert "operation.crashed" in caplog.messages


def test_another_protocol_is_refused(path):
    with Served(path, {}), Wire(path) as wire:
        said = wire.greet(protocol=2)

        assert said["error"]["code"] == "refused"
        assert wire.hear() is None


def test_a_line_of_ten_mebibytes_is_too_large_and_the_client_can_read_why(path):
    with Served(path, {"status": told}) as served, Wire(path) as wire:
        wire.greet()
        wire.send(b'{"text": "' + b"x" * (10 * 1024 * 1024) + b'"}\n')

        said = wire.hear()

        assert said["error"]["code"] == "too_large"
        assert str(FRAME_BYTES_MAX) in said["error"]["message"]
        assert wire.hear() is None
        wire.socket.shutdown(socket.SHUT_WR)
        wait_until(lambda: served.server.connections == 0)


def test_a_client_whose_request_is_too_large_raises_just_that(path):
    with Served(path, {"remember": told}), contextlib.closing(client()) as asking:
        said = refusal(asking.call, "remember", text="x" * (5 * 1024 * 1024))

    assert said.code is Code.TOO_LARGE


def test_half_a_line_keeps_nobody_waiting_and_is_ended_in_time(path):
    hasty = Limits(frame_time=timedelta(seconds=0.2))
    with Served(path, {"status": told}, limits=hasty), Wire(path) as wire:
        wire.greet()
        wire.send(b'{"jsonrpc": "2.0", "id": 1, "meth')

        with contextlib.closing(client()) as other:
            assert other.call("status")["origin"] == "cli"
        assert wire.hear()["error"]["code"] == "timeout"
        assert wire.hear() is None


def test_a_client_that_dribbles_is_let_go(path):
    """It sends a blank now and then, for as long as it may; nobody waits until it ends."""
    hasty = Limits(frame_time=timedelta(seconds=0.5))
    with Served(path, {"status": told}, limits=hasty) as served, Wire(path) as wire:
        wire.greet()
        wire.send(b"{")

        def is_let_go():
            with contextlib.suppress(OSError):
                wire.send(b" ")
            return served.server.connections == 0

        wait_until(is_let_go, "the end of the connection")
        assert wire.hear()["error"]["code"] == "timeout"


def test_a_client_that_says_nothing_at_first_is_ended_and_an_idle_one_is_not(path):
    hasty = Limits(frame_time=timedelta(seconds=0.2))
    with (
        Served(path, {"status": told}, limits=hasty) as served,
        contextlib.closing(client()) as idle,
        Wire(path) as silent,
    ):
        idle.call("status")

        assert silent.hear()["error"]["code"] == "timeout"
        assert idle.call("status")["origin"] == "cli"
        silent.socket.shutdown(socket.SHUT_RDWR)
        wait_until(lambda: served.server.connections == 1)


def test_overlapping_requests_are_answered_as_they_are_done(path, gate):
    def slow(home, call):
        gate.wait(PATIENCE_S)
        return {"who": "slow"}

    verbs = {"check": slow, "status": lambda home, call: {"who": "quick"}}
    with Served(path, verbs), Wire(path) as wire:
        wire.greet()
        wire.ask(1, "check")
        wire.ask(2, "status")

        first = wire.hear()
        gate.set()
        second = wire.hear()

    assert (first["id"], first["result"]) == (2, {"who": "quick"})
    assert (second["id"], second["result"]) == (1, {"who": "slow"})


def test_one_client_with_slow_requests_does_not_keep_another_waiting(path, gate):
    def slow(home, call):
        gate.wait(PATIENCE_S)
        return {}

    with Served(path, {"check": slow, "status": told}), Wire(path) as greedy:
        greedy.greet()
        many = 50  # what waits is not read, and the kernel keeps no more than some 90 lines
        for number in range(many):
            greedy.ask(number, "check")

        with contextlib.closing(client()) as other:
            assert other.call("status")["origin"] == "cli"
        gate.set()
        assert sorted(greedy.hear()["id"] for _ in range(many)) == list(range(many))


def test_health_is_told_while_every_thread_is_busy(path, gate):
    def slow(home, call):
        gate.wait(PATIENCE_S)
        return {}

    verbs = {"check": slow, "health": lambda home, call: {"ok": True}}
    with Served(path, verbs), Wire(path) as one, Wire(path) as other:
        for wire in (one, other):
            wire.greet()
            for number in range(REQUESTS_AT_ONCE_MAX):
                wire.ask(number, "check")

        with contextlib.closing(client()) as asking:
            assert asking.call("health") == {"ok": True}
        gate.set()
        assert one.hear()["result"] == other.hear()["result"] == {}


def test_requests_in_one_piece_and_in_many_are_the_same(path):
    asked = b"".join(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": "status"}).encode() + b"\n"
        for number in range(50)
    )
    with Served(path, {"status": told}), Wire(path) as whole, Wire(path) as cut:
        whole.greet()
        cut.greet()
        whole.send(asked)
        for place in range(0, len(asked), 7):
            cut.send(asked[place : place + 7])

        for wire in (whole, cut):
            assert sorted(wire.hear()["id"] for _ in range(50)) == list(range(50))


def test_many_wrong_requests_at_once_keep_nobody_waiting_and_are_told_in_their_order(path):
    with Served(path, {"status": told}), Wire(path) as wrong:
        wrong.greet()
        for number in range(500):
            wrong.ask(number, "status", deep=True)

        with contextlib.closing(client()) as other:
            assert other.call("status")["origin"] == "cli"
        assert [wrong.hear()["id"] for _ in range(500)] == list(range(500))


def test_what_a_client_asked_that_is_gone_is_not_begun(path, gate):
    begun = []

    def slow(home, call, query, **fields):
        begun.append(query)
        gate.wait(PATIENCE_S)
        return {}

    limits = Limits(in_flight_max=REQUESTS_AT_ONCE_MAX * 2)
    with Served(path, {"recall": slow}, limits=limits) as served:
        with Wire(path) as wire:
            wire.greet()
            for number in range(limits.in_flight_max):
                wire.ask(number, "recall", query=str(number))
            wait_until(lambda: len(begun) == REQUESTS_AT_ONCE_MAX)
            served.do(broken_off, served)
        gate.set()
        with contextlib.closing(client()) as other:
            other.call("recall", query="after")

    assert begun[REQUESTS_AT_ONCE_MAX:] == ["after"]


async def broken_off(served):
    """End every connection, as if the clients were gone."""
    for connection, task in served.server._running.copy().items():
        connection.abort()
        await task


def test_a_client_that_has_asked_everything_and_half_closes_gets_its_answers(path, gate):
    def slow(home, call):
        gate.wait(PATIENCE_S)
        return {}

    with Served(path, {"check": slow}), Wire(path) as wire:
        wire.greet()
        wire.ask(1, "check")
        wire.socket.shutdown(socket.SHUT_WR)
        gate.set()

        assert wire.hear()["id"] == 1
        assert wire.hear() is None


def test_events_arrive_as_they_happen_and_the_stream_ends_with_the_client(path):
    closed = threading.Event()

    async def events(after):
        try:
            yield {"cursor": after}
            for number in range(3):
                yield {"cursor": f"{after}+{number}", "kind": "stale.raised"}
            await asyncio.Event().wait()
        finally:
            closed.set()

    with Served(path, {}, events=events) as served:
        listening = client()
        stream = events_of(listening, "c7")

        assert [next(stream)["cursor"] for _ in range(3)] == ["c7+0", "c7+1", "c7+2"]
        listening.close()
        assert closed.wait(PATIENCE_S)
        wait_until(lambda: served.server.connections == 0)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (YaadError(Code.BAD_REQUEST, "No such cursor."), Code.BAD_REQUEST),
        (OSError("disk"), Code.INTERNAL),
    ],
)
def test_a_stream_that_breaks_says_why(path, fault, code):
    async def events(after):
        yield {"cursor": "0"}
        yield {"cursor": "1"}
        raise fault

    with Served(path, {}, events=events), contextlib.closing(client()) as listening:
        stream = events_of(listening)
        next(stream)
        said = refusal(next, stream)

    assert said.code is code


def test_a_stream_carries_no_requests(path):
    with Served(path, {"status": told}), Wire(path) as wire:
        wire.greet()
        wire.ask(1, "subscribe")
        assert wire.hear()["result"] == {"subscribed": True, "cursor": "0"}
        wire.ask(2, "status")

        assert "only carries events" in wire.hear()["error"]["message"]
        assert wire.hear() is None


def test_a_client_that_does_not_read_is_dropped(path):
    async def events(after):
        while True:
            yield {"cursor": "x" * 65536}

    hasty = Limits(write_time=timedelta(seconds=0.2))
    with Served(path, {"status": told}, events=events, limits=hasty) as served, Wire(path) as wire:
        wire.greet()
        wire.ask(1, "subscribe")
        wire.hear()

        wait_until(lambda: served.server.connections == 0, "the end of the slow client")
        with contextlib.closing(client()) as other:
            assert other.call("status")["origin"] == "cli"


def test_shutdown_is_answered_before_it_happens(path):
    with Served(path, {}) as served, contextlib.closing(client()) as asking:
        assert asking.call("shutdown") == {"stopping": True}
        assert served.stopping.wait(PATIENCE_S)


def test_what_runs_when_the_server_stops_is_still_answered(path, gate):
    running = threading.Event()

    def slow(home, call):
        running.set()
        gate.wait(PATIENCE_S)
        return {"done": True}

    with Served(path, {"check": slow}) as served, Wire(path) as wire:
        wire.greet()
        wire.ask(1, "check")
        assert running.wait(PATIENCE_S)
        threading.Timer(0.1, gate.set).start()
        served.close()

        assert wire.hear()["result"] == {"done": True}
        assert wire.hear()["error"]["again"]  # what else was asked was not done
        assert wire.hear() is None
        assert not path.exists()


def test_what_takes_too_long_to_stop_for_is_left_unanswered(path, gate):
    running = threading.Event()

    def slow(home, call):
        running.set()
        gate.wait(PATIENCE_S)
        return {}

    with Served(path, {"check": slow}) as served, Wire(path) as wire:
        wire.greet()
        wire.ask(1, "check")
        assert running.wait(PATIENCE_S)
        served.do(served.server.close, timedelta(seconds=0.05))

        assert wire.hear() is None


def test_a_restart_between_two_calls_is_not_noticed(path):
    with contextlib.closing(client()) as asking:
        with Served(path, {"status": told}):
            asking.call("status")
        with Served(path, {"status": told}):
            assert asking.call("status")["origin"] == "cli"


def test_a_daemon_that_goes_away_during_a_call_is_told(path):
    def dies(home, call):
        served.do(broken_off, served)
        return {}

    with Served(path, {"check": dies}) as served, contextlib.closing(client()) as asking:
        said = refusal(asking.call, "check")

    assert isinstance(said, ConnectionEnded)
    assert "before it answered `check`" in said.message
    assert said.hint.endswith("yaadwatch status")


def test_an_import_that_is_cut_off_says_where_to_see_whether_it_came(path):
    """It is done whole or not at all, and takes long enough for somebody to end the daemon."""

    def dies(home, call, **fields):
        served.do(broken_off, served)
        return {}

    with Served(path, {"import": dies}) as served, contextlib.closing(client()) as asking:
        said = refusal(asking.call, "import", source="a.jsonl", format="jsonl")

    assert isinstance(said, ConnectionEnded)
    assert said.hint.endswith("yaadwatch import --list")


@pytest.mark.parametrize(("operation", "times"), [("status", 2), ("remember", 1)])
def test_only_what_changes_nothing_is_asked_again_when_it_was_cut_off(path, operation, times):
    calls = []

    def dies_at_first(home, call, **fields):
        calls.append(call)
        if len(calls) == 1:
            served.do(broken_off, served)
        return {"calls": len(calls)}

    fields = {"text": "kept"} if operation == "remember" else {}
    with Served(path, {operation: dies_at_first}) as served, contextlib.closing(client()) as asking:
        if times == 1:
            assert isinstance(refusal(asking.call, operation, **fields), ConnectionEnded)
        else:
            assert asking.call(operation, **fields) == {"calls": 2}

    assert len(calls) == times


def test_a_client_that_waits_is_told_for_how_long_and_gives_up_in_time(path, gate, monkeypatch):
    def slow(home, call):
        gate.wait(PATIENCE_S)
        return {}

    waited = []
    monkeypatch.setattr("yaadwatch.client.connection._TICK_S", 0.01)
    monkeypatch.setattr("yaadwatch.client.connection.ANSWER_TIME_S", 0.05)
    with (
        Served(path, {"status": slow}),
        contextlib.closing(client(on_wait=waited.append)) as asking,
    ):
        said = refusal(asking.call, "status")
        gate.set()

    assert said.code is Code.TIMEOUT
    assert "did not answer `status` within 0.05 s" in said.message
    assert len(waited) == 4


def test_a_daemon_that_does_not_even_greet_is_asked_nothing(path, monkeypatch):
    """It hangs, or a service manager holds the socket of one that it cannot start."""
    monkeypatch.setattr("yaadwatch.client.connection._TICK_S", 0.01)
    monkeypatch.setattr("yaadwatch.client.connection.GREETING_TIME_S", 0.05)
    path.parent.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as mute, contextlib.closing(client()) as asking:
        mute.bind(str(path))
        mute.listen()

        said = refusal(asking.call, "status")

    assert isinstance(said, DaemonUnresponsive)
    assert said.code is Code.UNAVAILABLE
    assert said.message == "The daemon did not answer within 0.05 s; nothing was done."
    assert said.hint == "What keeps it: yaadwatch doctor"


def test_a_file_that_is_no_socket_is_left_alone(path):
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_text("mine")

    assert "is no socket" in refusal_to_start(path).message

    assert path.read_text() == "mine"


def test_socket_and_folder_are_for_their_owner_alone(path):
    path.parent.mkdir(parents=True)
    path.parent.chmod(0o755)

    with Served(path, {}):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_that_is_a_link_is_refused(path, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    path.parent.parent.mkdir()
    path.parent.symlink_to(tmp_path / "elsewhere")

    assert "is a link" in refusal_to_start(path).message


@needs_root
def test_a_folder_of_another_user_is_refused(path):
    path.parent.mkdir(parents=True, mode=0o700)
    os.chown(path.parent, 65534, 65534)

    assert "belongs to user 65534" in refusal_to_start(path).message


def test_a_socket_file_that_was_removed_is_made_again(path):
    with Served(path, {"status": told}) as served, contextlib.closing(client()) as before:
        before.call("status")
        assert served.do(served.server.renew) is False
        path.unlink()

        assert served.do(served.server.renew) is True

        assert before.call("status")["origin"] == "cli"
        with contextlib.closing(client()) as after:
            assert after.call("status")["origin"] == "cli"


@on_linux
@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("ends", ["close", "renew"])
def test_who_connects_while_the_server_ends_is_left_no_connection(path, turns, ends):
    """However far the loop has come with the client: accepted, or not yet told."""
    before = sorted(os.listdir("/proc/self/fd"))
    served = Served(path, {"status": told})
    served.do(served.server.start)

    async def end_while_one_connects():
        connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connecting.connect(str(path))
        for _ in range(turns):
            await asyncio.sleep(0)
        if ends == "renew":
            path.unlink()
            await served.server.renew()
        await served.server.close()
        return connecting

    with served.do(end_while_one_connects) as connecting:
        served.close()
        connecting.settimeout(PATIENCE_S)
        with contextlib.suppress(ConnectionResetError):  # nobody had accepted it
            assert connecting.recv(1) == b""

    assert sorted(os.listdir("/proc/self/fd")) == before


@on_linux
def test_who_is_refused_while_the_server_ends_is_told_why_and_left_no_connection(path):
    before = sorted(os.listdir("/proc/self/fd"))
    served = Served(path, {"status": told}, limits=Limits(connections_max=1))
    served.do(served.server.start)

    async def end_while_one_is_refused():
        served_one, refused = (socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in "12")
        served_one.connect(str(path))
        await asyncio.sleep(0.01)
        refused.connect(str(path))
        for _ in range(3):  # it is accepted in the second
            await asyncio.sleep(0)
        await served.server.close()
        return served_one, refused

    served_one, refused = served.do(end_while_one_is_refused)
    with served_one, refused:
        served.close()
        refused.settimeout(PATIENCE_S)
        assert b"no more are served" in refused.recv(4096)

    assert sorted(os.listdir("/proc/self/fd")) == before


def test_the_announced_socket_is_found_before_the_default_one(path, tmp_path):
    elsewhere = tmp_path / "elsewhere" / "daemon.sock"
    with Served(elsewhere, {"status": told}):
        places.data_folder().mkdir(parents=True, exist_ok=True)
        places.lock_file().write_text(f"{os.getpid()}\n{elsewhere}\n")
        with contextlib.closing(client()) as asking:
            assert asking.call("status")["origin"] == "cli"


def test_a_stale_announcement_leads_on_to_the_default_socket(path, tmp_path):
    with Served(path, {"status": told}):
        places.lock_file().write_text(f"1\n{tmp_path / 'gone.sock'}\n")
        with contextlib.closing(client()) as asking:
            assert asking.call("status")["origin"] == "cli"


@contextlib.contextmanager
def open_to_all():
    """A folder that other users can enter."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def as_nobody(act):
    """Run `act` in a process of another user; return a stream of the bytes that it returns."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return os.fdopen(reading, "rb"), child
    try:
        os.setgid(65534)
        os.setuid(65534)
        os.write(writing, act())
    finally:
        os._exit(0)


@needs_root
def test_a_client_does_not_talk_to_the_daemon_of_another_user(monkeypatch):
    def listen():
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(run / "daemon.sock"))
            other.listen()
            return b"%d bytes" % len(other.accept()[0].recv(999))

    with open_to_all() as folder:
        monkeypatch.setenv("YAAD_HOME", str(folder))
        run = folder / "run"
        run.mkdir()
        os.chown(run, 65534, 65534)
        heard, child = as_nobody(listen)
        wait_until((run / "daemon.sock").exists)
        said = wait_until(lambda: _other_than_nobody(refusal(client().call, "status")))
        with heard:
            assert heard.read() == b"0 bytes"
        os.waitpid(child, 0)

    assert said.code is Code.REFUSED
    assert "belongs to user 65534; nothing was sent to it" in said.message


def _other_than_nobody(said):
    """The socket file is there a moment before anybody listens on it."""
    return None if isinstance(said, DaemonNotRunning) else said
