"""The shim between an agent and daemons that come, go, hang, refuse and never were."""

import ast
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from agent_process import SHIM, Agent
from served import Served
from waiting import PATIENCE_S

from yaadwatch import places
from yaadwatch.api.operations import BY_NAME
from yaadwatch.client import shim
from yaadwatch.daemon import mcp_messages
from yaadwatch.daemon.mcp_tools import WIDE
from yaadwatch.model.limits import FRAME_BYTES_MAX
from yaadwatch.places import PROTOCOL


class Verbs:
    """Recall that waits for `go_on`, and a brief."""

    def __init__(self):
        self.asked = []
        self.go_on = threading.Event()
        self.go_on.set()

    def all(self):
        return {"recall": self.recall, "context": self.context}

    def recall(self, home, call, *, query, **_):
        self.asked.append((call.origin, str(call.folder), query))
        if query.startswith("wait"):
            self.go_on.wait(20)
        return {"results": [{"id": "1", "text": f"about {query}", "kind": "bug", "score": 1.0}]}

    def context(self, home, call, *, tokens_max=2000, chars_max=8000, wait_ms=1000):
        return {"brief": "## Rules", "stale": 0, "rules": 0, "tasks": 0}


@pytest.fixture
def verbs():
    verbs = Verbs()
    yield verbs
    verbs.go_on.set()


@pytest.fixture
def path(environment):
    return places.default_socket()


@pytest.fixture
def served(path, verbs):
    with Served(path, verbs.all()) as served:
        yield served


class Scripted:
    """A process that listens where a daemon would, and does with each connection what it is told.

    `script(connection, lines, number)` gets the connection, an iterator over what it reads, and
    how many there were before it.
    """

    def __init__(self, path, script):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self._script = script
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(path))
        self._socket.listen(16)
        self.connections = 0
        self._open = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            number, self.connections = self.connections, self.connections + 1
            self._open.append(connection)
            threading.Thread(target=self._run, args=(connection, number), daemon=True).start()

    def _run(self, connection, number):
        with connection, connection.makefile("rb") as lines:
            self._script(connection, (json.loads(line) for line in lines), number)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._socket.close()
        for connection in self._open:
            connection.close()


def say(connection, frame):
    connection.sendall(json.dumps(frame).encode() + b"\n")


def greet(connection, lines):
    hello = next(lines)
    say(connection, {"protocol": PROTOCOL, "server": "9.9", "pid": 1})
    return hello


def texts(frame):
    return frame["result"]["structuredContent"]["results"][0]["text"]


def test_lines_go_through_both_ways(served, verbs, tmp_path):
    with Agent(cwd=tmp_path) as agent:
        told = agent.shake_hands()
        agent.call(1, "jose")

        assert texts(agent.hear()) == "about jose"
        assert told["instructions"].startswith("## Rules")
        assert agent.answer(2, "tools/list")["result"]["tools"]

    assert verbs.asked == [("agent:codex", str(tmp_path), "jose")]


def test_the_folder_and_the_agent_can_be_given(served, verbs):
    with Agent("--project", "/srv/shop", "--agent", "claude", "--speed", "high") as agent:
        agent.shake_hands()
        agent.call(1, "jose")
        agent.hear()
        _, errors, status = agent.close()

    assert verbs.asked == [("agent:claude", "/srv/shop", "jose")]
    assert "takes no --speed" in errors
    assert status == 0


def test_a_restart_between_two_requests_is_not_noticed(path, verbs):
    with Agent() as agent:
        with Served(path, verbs.all()):
            agent.shake_hands()
        with Served(path, verbs.all()):
            agent.call(1, "jose")

            assert texts(agent.hear()) == "about jose"

    assert verbs.asked[-1][0] == "agent:codex"


def test_requests_in_flight_are_asked_again_and_answered_once(path):
    heard_by = {0: [], 1: []}

    def script(connection, lines, number):
        greet(connection, lines)
        for frame in lines:
            heard_by[number].append(frame.get("id", frame["method"]))
            if number == 0 and frame.get("id") == 5:
                return
            if number == 1 or frame.get("id") in {0, 3}:
                result = {"n": number}
                say(connection, {"jsonrpc": "2.0", "id": frame.get("id"), "result": result})

    with Scripted(path, script), Agent() as agent:
        agent.shake_hands()
        for identity in range(1, 6):
            agent.call(identity, "jose")
        answered = [agent.hear() for _ in range(5)]

        assert agent.answer(9, "ping")["result"] == {"n": 1}

    assert {frame["id"]: frame["result"]["n"] for frame in answered} == {
        1: 1,
        2: 1,
        3: 0,
        4: 1,
        5: 1,
    }
    assert heard_by[1] == ["yaadwatch-replay", "notifications/initialized", 1, 2, 4, 5, 9]


def test_a_cancelled_request_is_not_asked_again(path):
    asked = []

    def script(connection, lines, number):
        greet(connection, lines)
        for frame in lines:
            asked.append((number, frame["method"], frame.get("id")))
            if frame["method"] == "initialize":
                say(connection, {"jsonrpc": "2.0", "id": frame["id"], "result": {}})
            if frame["method"] == "notifications/cancelled":
                return
            if frame["method"] == "ping":
                say(connection, {"jsonrpc": "2.0", "id": frame["id"], "result": {"n": number}})

    with Scripted(path, script), Agent() as agent:
        agent.shake_hands()
        agent.call(1, "jose")
        agent.say({"method": "notifications/cancelled", "params": {"requestId": 1}})

        assert agent.answer(2, "ping")["result"] == {"n": 1}

    again = [entry[1:] for entry in asked if entry[0] == 1]
    assert again == [
        ("initialize", "yaadwatch-replay"),
        ("notifications/initialized", None),
        ("ping", 2),
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "again"),
    [
        ("yaad_remember", {"text": "Use jose"}, True),
        ("yaad_task_update", {"id": "1234", "state": "done"}, True),
        ("yaad_task_update", {"text": "Write it"}, False),
        ("yaad_curate", {"do": "claims"}, True),
        ("yaad_curate", {"do": "add_claim", "with": {"id": "1234"}}, False),
        ("yaad_graph", {"do": ["inject"]}, False),
        ("yaad_graph", None, False),
    ],
)
def test_what_might_be_done_twice_is_not_asked_again(path, name, arguments, again):
    """The first daemon does what it is asked, and ends before it has said so."""
    done = []

    def script(connection, lines, number):
        greet(connection, lines)
        for frame in lines:
            if frame["method"] == "tools/call":
                done.append(number)
                if number == 0:
                    return
            if "id" in frame:
                say(connection, {"jsonrpc": "2.0", "id": frame["id"], "result": {"n": number}})

    with Scripted(path, script), Agent() as agent:
        agent.shake_hands()
        told = agent.answer(1, "tools/call", name=name, arguments=arguments)["result"]
        assert agent.answer(2, "ping")["result"] == {"n": 1}

    assert done == ([0, 1] if again else [0])
    if again:
        assert told == {"n": 1}
    else:
        assert told["isError"]
        assert "This may be done, or not" in told["content"][0]["text"]


def test_a_request_that_ends_every_daemon_is_given_up(path):
    def script(connection, lines, number):
        greet(connection, lines)
        for frame in lines:
            if frame["method"] == "tools/call":
                return
            if "id" in frame:
                say(connection, {"jsonrpc": "2.0", "id": frame["id"], "result": {"n": number}})

    with Scripted(path, script) as daemon, Agent() as agent:
        agent.shake_hands()
        agent.call(1, "poison")

        told = agent.hear()
        assert told["id"] == 1
        assert told["result"]["isError"]
        assert "ended 3 times" in told["result"]["content"][0]["text"]
        assert daemon.connections == shim.TRIES_MAX
        assert agent.answer(2, "ping")["result"] == {"n": shim.TRIES_MAX}


def test_a_daemon_on_its_way_out_is_left_for_the_next(path):
    def script(connection, lines, number):
        if number < 5:
            return
        greet(connection, lines)
        for frame in lines:
            say(connection, {"jsonrpc": "2.0", "id": frame["id"], "result": {"n": number}})

    with Scripted(path, script), Agent() as agent:
        assert agent.answer(1, "ping")["result"] == {"n": 5}


def test_a_daemon_that_hangs_keeps_no_agent_waiting(path):
    hanging = threading.Event()

    def script(connection, lines, number):
        hanging.wait(PATIENCE_S * 2)

    with Scripted(path, script), Agent() as agent:
        told = agent.shake_hands()
        hanging.set()

        assert "did not greet us" in told["instructions"]
        assert agent.answer(1, "tools/list")["result"] == {"tools": []}
        agent.call(2, "jose")
        assert agent.hear()["result"]["isError"]


@pytest.fixture
def unusable(tmp_path, monkeypatch):
    """A machine on which no daemon can be started: its home is a file."""
    home = tmp_path / "a file"
    home.write_text("")
    monkeypatch.setenv("YAAD_HOME", str(home))


@pytest.mark.parametrize("version", mcp_messages.HANDSHAKE_VERSIONS)
def test_without_a_daemon_it_answers_by_itself_and_says_why(unusable, version):
    with Agent() as agent:
        told = agent.shake_hands(version=version)

        assert told["protocolVersion"] == version
        assert "cannot be written" in told["instructions"]
        assert "Work on without it." in told["instructions"]
        assert agent.answer(1, "ping")["result"] == {}
        assert agent.answer(2, "tools/list")["result"] == {"tools": []}
        assert agent.answer(3, "prompts/list")["error"]["code"] == -32601
        agent.call(4, "jose")
        result = agent.hear()["result"]
        assert result["isError"]
        assert "cannot be written" in result["content"][0]["text"]


def test_without_a_daemon_a_discovery_is_an_unknown_method(unusable):
    envelope = {
        shim.VERSION_KEY: "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with Agent() as agent:
        found = agent.answer(1, "server/discover", _meta=envelope)

        assert found["error"]["code"] == -32601
        assert agent.answer(2, "tools/list", _meta=envelope)["result"]["resultType"] == "complete"


def test_an_agent_that_was_answered_alone_and_asks_nothing_hears_it_too(path):
    """One that was told of no tools has nothing to ask for."""
    refusing = {"error": {"code": "unavailable", "message": "256 clients are connected."}}

    def script(connection, lines, number):
        if number < 2:
            next(lines)
            say(connection, refusing)
            return
        greet(connection, lines)
        for frame in lines:
            if "id" in frame:
                say(connection, {"jsonrpc": "2.0", "id": frame["id"], "result": {}})

    with Scripted(path, script) as daemon, Agent() as agent:
        assert "256 clients" in agent.shake_hands()["instructions"]

        assert agent.hear()["method"] == "notifications/tools/list_changed"
        assert agent.silent(0.5)
        assert daemon.connections == 3


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"nonsense\n", -32700),
        (b"[]\n", -32700),
        (b'{"jsonrpc": "2.0", "id": [], "method": "ping"}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * FRAME_BYTES_MAX + b'"}\n', -32600),
    ],
    ids=["nonsense", "batch", "id", "long"],
)
def test_what_no_daemon_would_take_is_refused_here(served, line, code):
    with Agent() as agent:
        agent.shake_hands()

        agent.send(b"\n" + line)

        assert agent.hear()["error"]["code"] == code
        assert agent.answer(5, "ping")["result"] == {}


def test_much_in_both_directions_at_once_does_not_block(served):
    with Agent() as agent:
        agent.shake_hands()
        words = "x" * 7_000
        asking = threading.Thread(
            target=lambda: [agent.call(n, f"{n} {words}") for n in range(1, 601)]
        )
        asking.start()
        heard = {agent.hear()["id"] for _ in range(600)}
        asking.join()

    assert heard == set(range(1, 601))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as another user")
def test_nothing_is_sent_to_another_users_process(path, tmp_path):
    path.parent.mkdir(mode=0o777, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    code = (
        "import os, socket, sys\n"
        "listening = socket.socket(socket.AF_UNIX)\n"
        "listening.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777)\n"
        "os.setuid(65534); listening.listen(); print('ready', flush=True)\n"
        "connection, _ = listening.accept(); print(connection.recv(100), flush=True)\n"
    )
    stranger = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert stranger.stdout.readline() == "ready\n"
    with Agent() as agent:
        told = agent.shake_hands()

    assert "belongs to user 65534" in told["instructions"]
    assert stranger.stdout.readline() == "b''\n"
    stranger.wait(PATIENCE_S)
    stranger.stdout.close()


def test_it_knows_what_the_daemon_knows():
    assert shim.LINE_BYTES_MAX == FRAME_BYTES_MAX
    assert shim.HANDSHAKE_VERSIONS == mcp_messages.HANDSHAKE_VERSIONS
    assert {
        tool.name: tuple(name for name in tool.operations if BY_NAME[name].kind == "read")
        for tool in WIDE.values()
    } == shim.WIDE_READS


def test_it_imports_the_standard_library_and_next_to_nothing_else():
    imported = set()
    for node in ast.walk(ast.parse(SHIM.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {f"{node.module}.{name.name}" for name in node.names}
    own = {name for name in imported if name.startswith("yaadwatch")}

    light = {
        "yaadwatch.client.connection.DaemonUnresponsive",
        "yaadwatch.client.connection.hello",
        "yaadwatch.client.connection.reach_daemon",
        "yaadwatch.model.errors.YaadError",
    }
    assert own == {"yaadwatch.places"} | light
    assert {name.partition(".")[0] for name in imported - own} <= sys.stdlib_module_names


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="nothing is always full here")
def test_an_output_that_cannot_be_written_ends_it_in_one_line(environment):
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-I", "-S", SHIM],
            input="no JSON\n",
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
        )

    assert ran.returncode == 3
    assert ran.stderr == (
        "yaadwatch: Standard output cannot be written (No space left on device); mcp ends.\n"
    )


def ping(identity):
    return {"jsonrpc": "2.0", "id": identity, "method": "ping"}


def send_batch(agent, *frames):
    agent.send(json.dumps(frames).encode() + b"\n")


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
def test_batch_is_answered_by_one_list(served, version):
    with Agent() as agent:
        agent.shake_hands(version=version)

        send_batch(agent, 1, ping(7), {"jsonrpc": "2.0", "method": "notifications/initialized"})
        send_batch(agent, ping("8"), ping("8"), {"jsonrpc": "2.0", "id": [], "method": "ping"})

        assert [one["id"] for one in agent.hear()] == [None, 7]
        assert sorted(str(one["id"]) for one in agent.hear()) == ["8", "8", "None"]
        assert agent.answer(9, "ping")["result"] == {}


def test_batch_is_answered_without_a_daemon_too(unusable):
    with Agent() as agent:
        agent.shake_hands()
        call = {"name": "yaad_stale", "arguments": {}}

        send_batch(
            agent, ping(7), {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": call}
        )

        heard = {one["id"]: one["result"] for one in agent.hear()}
        assert heard[7] == {}
        assert heard[8]["isError"]


def test_request_whose_id_is_in_use_is_answered_after_the_first(served):
    with Agent() as agent:
        agent.shake_hands()

        for _ in range(3):
            agent.ask(8, "tools/list")

        answers = [agent.hear() for _ in range(3)]
        assert [one["id"] for one in answers] == [8, 8, 8]
        assert all(one["result"]["tools"] for one in answers)


@pytest.mark.parametrize(
    "twice", ['"id": 1, "id": 8', '"id": 8, "method": "x"', '"id": 8, "a": 1, "a": 2']
)
def test_line_with_a_name_twice_is_answered(served, twice):
    with Agent() as agent:
        agent.shake_hands()

        agent.send(f'{{"jsonrpc": "2.0", {twice}, "method": "ping"}}\n'.encode())

        assert agent.hear()["error"]["code"] == -32700
        assert agent.answer(9, "ping")["result"] == {}
