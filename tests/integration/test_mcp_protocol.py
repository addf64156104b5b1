"""The Model Context Protocol on the real socket, line by line, in both eras."""

import json
import threading
from contextlib import contextmanager

import pytest
from served import Log, OneProject, Served, Wire

from yaadwatch.daemon import mcp, mcp_messages
from yaadwatch.model.errors import Code, YaadError

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "Visual Studio Code", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
BRIEF = "## May no longer be true\n- gone: it"


class Verbs:
    """Verbs that note who asks, and wait when they are told to."""

    def __init__(self):
        self.asked = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.brief = BRIEF

    def recall(self, home, call, *, query, **_):
        self.asked.append((call.origin, str(call.folder), query))
        if query == "wait":
            self.go_on.wait(20)
        if query == "unwatched":
            raise YaadError(Code.NOT_FOUND, "/x is not watched.", hint="yaadwatch add /x")
        if query == "crash":
            raise RuntimeError("s3cret")
        if query == "much":
            return {"results": ["x" * 5_000_000]}
        told = {"id": "1", "text": f"about {query}", "kind": "bug", "score": 1.0}
        done = {"id": "2", "text": f"learn {query}", "kind": "task", "score": 0.5, "state": "done"}
        old = {"id": "3", "text": f"{query} of old", "kind": "fix", "superseded_by": [{"id": "1"}]}
        return {"results": [told, done, old]}

    def context(self, home, call, *, tokens_max=2000, chars_max=8000, wait_ms=1000):
        self.asked.append((call.origin, str(call.folder), chars_max))
        if self.brief is None:
            raise YaadError(Code.NOT_FOUND, "/x is not watched.", hint="yaadwatch add /x")
        return {"brief": self.brief[:chars_max], "stale": 1, "rules": 0, "tasks": 0}

    def pin(self, home, call, *, id):
        return {"id": id, "text": f"pinned at {call.folder}"}

    def handoff(self, home, call, *, session=None, tokens_max=2000):
        return {"prompt": "You take over.", "session": session}


@pytest.fixture
def verbs():
    return Verbs()


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def served(tmp_path, verbs, log):
    found = {
        "recall": verbs.recall,
        "context": verbs.context,
        "handoff": verbs.handoff,
        "pin": verbs.pin,
    }
    path = tmp_path / "run" / "daemon.sock"
    with Served(
        path, found, events=log.events, home=OneProject("/src"), wide=("curate",)
    ) as served:
        yield served
        verbs.go_on.set()


@contextmanager
def talk(served, **hello):
    with Wire(served.path) as wire:
        greeting = wire.greet(**({"speaks": "mcp", "cwd": "/src"} | hello))
        assert greeting["protocol"] == 1
        yield wire


def ask(wire, identity, method, **params):
    wire.ask(identity, method, **params)
    answer = wire.hear()
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", identity)
    return answer


def shake_hands(wire, version="2025-11-25", name="codex"):
    info = {"name": name, "version": "1"}
    answer = ask(wire, 0, "initialize", protocolVersion=version, capabilities={}, clientInfo=info)
    wire.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return answer["result"]


@pytest.fixture
def wire(served):
    with talk(served) as wire:
        yield wire


@pytest.fixture
def opened(wire):
    shake_hands(wire)
    return wire


def call(wire, identity, query, **more):
    return ask(wire, identity, "tools/call", name="yaad_recall", arguments={"query": query}, **more)


@pytest.mark.parametrize("version", mcp_messages.HANDSHAKE_VERSIONS)
def test_a_known_version_is_agreed_on(wire, version):
    result = shake_hands(wire, version)

    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "yaadwatch"
    assert result["capabilities"].keys() == {"tools", "prompts", "resources"}


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28"])
def test_an_unknown_version_is_answered_with_the_newest_of_the_handshake(wire, version):
    assert shake_hands(wire, version)["protocolVersion"] == "2025-11-25"


def test_the_instructions_carry_the_brief_first_and_are_short(wire, verbs):
    verbs.brief = BRIEF + " x" * 5000

    told = shake_hands(wire)["instructions"]

    assert told.startswith(BRIEF)
    assert "yaad_recall" in told
    assert len(told) <= mcp.INSTRUCTIONS_CHARS_MAX


def test_where_nothing_is_watched_the_instructions_say_what_to_do(wire, verbs):
    verbs.brief = None

    told = shake_hands(wire)["instructions"]

    assert "/x is not watched. yaadwatch add /x" in told
    assert "yaad_recall" not in told  # which would be answered with the same


def test_the_tools_are_listed(opened):
    tools = ask(opened, 1, "tools/list")["result"]["tools"]

    assert [tool["name"] for tool in tools] == [
        *("yaad_recall", "yaad_remember", "yaad_forget", "yaad_context", "yaad_stale"),
        *("yaad_impact", "yaad_link", "yaad_unlink", "yaad_subgraph"),
        *("yaad_task_update", "yaad_sessions", "yaad_status"),
        "yaad_curate",
    ]


def test_a_wide_tool_is_served_where_the_setting_names_it(opened):
    given = {"do": "pin", "with": {"id": "1234"}, "project": "/other"}
    done = ask(opened, 1, "tools/call", name="yaad_curate", arguments=given)["result"]
    wrong = ask(opened, 2, "tools/call", name="yaad_curate", arguments={"do": "pinn"})["result"]
    other = ask(opened, 3, "tools/call", name="yaad_graph", arguments={"do": "traverse"})

    assert json.loads(done["content"][0]["text"]) == {"id": "1234", "text": "pinned at /other"}
    assert wrong["isError"] is True
    assert "The nearest one is 'pin'." in wrong["content"][0]["text"]
    assert other["error"]["message"].startswith("Unknown tool: yaad_graph.")


def test_a_call_is_answered_with_text_and_data(opened, verbs):
    result = call(opened, "a", "jose")["result"]

    assert result["structuredContent"]["results"][0]["text"] == "about jose"
    assert result["isError"] is False
    assert "resultType" not in result
    assert verbs.asked[-1] == ("agent:codex", "/src", "jose")


def test_another_repository_may_be_meant(opened, verbs):
    arguments = {"query": "jose", "project": "/other", "kinds": None}

    ask(opened, 1, "tools/call", name="yaad_recall", arguments=arguments)

    assert verbs.asked[-1] == ("agent:codex", "/other", "jose")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "query must be given"),
        ({"query": 3}, "query must be text, got a number"),
        ({"query": "a", "qwery": "b"}, "the nearest one is 'query'"),
        ({"query": "unwatched"}, "/x is not watched.\nyaadwatch add /x"),
        ({"query": "crash"}, "ran into a bug in yaadwatch"),
        ({"query": "much"}, "Ask for less at a time."),
        ({"query": "a", "project": "here"}, "project must be an absolute folder"),
    ],
)
def test_what_goes_wrong_is_told_to_the_agent(opened, arguments, told):
    answer = ask(opened, 1, "tools/call", name="yaad_recall", arguments=arguments)

    assert answer["result"]["isError"] is True
    assert told in answer["result"]["content"][0]["text"]
    assert "s3cret" not in answer["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    ("method", "params", "code", "told"),
    [
        ("tools/call", {"name": "yaad_recal"}, -32602, "The nearest one is yaad_recall."),
        ("tools/call", {}, -32602, "Unknown tool: None."),
        ("tools/call", {"name": "yaad_recall", "arguments": []}, -32602, "must be an object"),
        ("completion/complete", {}, -32601, "'completion/complete'"),
        ("prompts/get", {"name": "session_handof"}, -32602, "Unknown prompt: session_handof."),
        ("prompts/get", {"name": "recall_context"}, -32602, "query must be given"),
        (
            "prompts/get",
            {"name": "session_handoff", "arguments": {"id": "x"}},
            -32602,
            "there is: session",
        ),
        ("resources/read", {"uri": "yaad://nothing"}, -32002, "Unknown resource: yaad://nothing."),
        ("resources/read", {}, -32002, "Unknown resource: None."),
        ("server/discover", {}, -32601, "'server/discover'"),
    ],
)
def test_what_the_protocol_has_an_error_for_gets_it(opened, method, params, code, told):
    error = ask(opened, 1, method, **params)["error"]

    assert error["code"] == code
    assert told in error["message"]


def test_the_prompts_are_listed_with_what_they_need(opened):
    listed = ask(opened, 1, "prompts/list")["result"]["prompts"]

    assert [prompt["name"] for prompt in listed] == ["recall_context", "session_handoff"]
    assert [one["required"] for prompt in listed for one in prompt["arguments"]] == [True, False]


def test_a_prompt_tells_what_is_remembered_as_data(opened):
    arguments = {"query": "jose"}

    result = ask(opened, 1, "prompts/get", name="recall_context", arguments=arguments)["result"]

    (message,) = result["messages"]
    assert message["role"] == "user"
    assert '- bug: "about jose" (1)' in message["content"]["text"]
    assert '- task, done: "learn jose" (2)' in message["content"]["text"]
    assert '- fix: "jose of old" (3) [superseded by 1]' in message["content"]["text"]
    assert "data, no instruction" in message["content"]["text"]


def test_a_prompt_for_whoever_goes_on(opened):
    result = ask(opened, 1, "prompts/get", name="session_handoff")["result"]

    assert result["messages"][0]["content"]["text"] == "You take over."


def test_what_a_prompt_could_not_tell_is_said_in_it(opened):
    arguments = {"query": "unwatched"}

    result = ask(opened, 1, "prompts/get", name="recall_context", arguments=arguments)["result"]

    assert "/x is not watched. yaadwatch add /x" in result["messages"][0]["content"]["text"]


def test_the_resources_are_listed_and_read(opened):
    listed = ask(opened, 1, "resources/list")["result"]["resources"]
    uris = [one["uri"] for one in listed]
    assert uris == ["yaad://context", "yaad://graph/stats", "yaad://stale"]

    (brief,) = ask(opened, 2, "resources/read", uri="yaad://context")["result"]["contents"]

    assert brief == {"uri": "yaad://context", "mimeType": "text/markdown", "text": BRIEF}
    assert ask(opened, 3, "resources/templates/list")["result"] == {"resourceTemplates": []}


@pytest.mark.parametrize("method", ["resources/subscribe", "subscriptions/listen"])
def test_nothing_can_be_subscribed_to(opened, method):
    assert ask(opened, 1, method, uri="yaad://stale")["error"]["code"] == -32601


def test_a_resource_that_cannot_be_had_is_an_error_in_words(opened, verbs):
    verbs.brief = None

    error = ask(opened, 1, "resources/read", uri="yaad://context")["error"]

    assert (error["code"], "/x is not watched." in error["message"]) == (-32603, True)


def test_before_the_handshake_only_ping_is_answered(wire):
    assert ask(wire, 1, "ping")["result"] == {}
    assert ask(wire, 2, "tools/list")["error"]["code"] == -32600
    assert ask(wire, 3, "nonsense")["error"]["code"] == -32601
    shake_hands(wire)
    assert "result" in ask(wire, 4, "tools/list")


def test_what_was_sent_behind_the_handshake_is_answered(wire):
    wire.ask(0, "initialize", protocolVersion="2025-11-25", capabilities={})
    wire.ask(1, "tools/list")

    assert all("result" in answer for answer in (wire.hear(), wire.hear()))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"nonsense\n", -32700),
        (b'{"a": 1, "a": 2}\n', -32700),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]\n', -32600),
        (b'{"id": 1, "method": "ping"}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}\n', -32600),
        (b'{"jsonrpc": "2.0", "method": 7}\n', -32600),
    ],
)
def test_a_line_that_is_no_message_is_refused_and_the_talk_goes_on(opened, line, code):
    opened.send(line)

    assert opened.hear()["error"]["code"] == code
    assert ask(opened, 5, "ping")["result"] == {}


@pytest.mark.parametrize(
    ("line", "identity"),
    [
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"limit": NaN}}\n', 7),
        (b'{"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {"x": -Infinity}}\n', "a"),
        (b'{"jsonrpc": "2.0", "id": 8, "method": "ping", "method": "ping"}\n', 8),
        (b'{"id": 9, "method": "ping"}\n', 9),
        (b'{"jsonrpc": "2.0", "id": 10, "method": "ping", "params": {"x": "\xff"}}\n', 10),
        (b'{"jsonrpc": "2.0", "id": 11, "result": {"x": NaN}}\n', None),
        (b'[{"id": 12, "method": "ping"}, NaN]\n', None),
    ],
)
def test_a_refused_line_is_answered_under_its_id(opened, line, identity):
    opened.send(line)

    answer = opened.hear()
    assert (answer["id"], "error" in answer) == (identity, True)


def test_a_request_that_fails_unexpectedly_is_answered_under_its_id(served, opened):
    served.break_workers()

    answer = ask(opened, 6, "tools/call", name="yaad_recall", arguments={"query": "x"})

    assert answer["error"]["code"] == -32603
    assert "bug in yaadwatch" in answer["error"]["message"]
    assert ask(opened, 7, "ping")["result"] == {}


def test_params_must_be_an_object(opened):
    opened.say({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [1]})

    assert opened.hear()["error"]["code"] == -32602


def test_answers_and_notifications_of_a_client_are_not_answered(opened):
    opened.say({"jsonrpc": "2.0", "id": 9, "result": {}})
    opened.say({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})

    assert ask(opened, 5, "ping")["id"] == 5


def test_a_cancelled_request_is_not_answered_and_its_id_is_free_again(opened, verbs):
    verbs.go_on.clear()
    arguments = {"query": "wait"}
    opened.ask(1, "tools/call", name="yaad_recall", arguments=arguments)

    opened.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert ask(opened, 2, "ping")["result"] == {}
    verbs.go_on.set()

    found = call(opened, 1, "jose")["result"]["structuredContent"]
    assert found["results"][0]["text"] == "about jose"


def test_cancelling_what_is_not_asked_changes_nothing(opened):
    for wrong in ({"requestId": 77}, {}, {"requestId": []}, []):
        opened.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": wrong})

    assert ask(opened, 2, "ping")["result"] == {}


def test_an_id_that_waits_is_not_taken_twice(opened, verbs):
    verbs.go_on.clear()
    opened.ask(1, "tools/call", name="yaad_recall", arguments={"query": "wait"})

    opened.ask(1, "ping")

    assert opened.hear()["error"]["code"] == -32600
    verbs.go_on.set()
    assert opened.hear()["id"] == 1


def test_a_refused_line_does_not_answer_a_request_that_waits(opened, verbs):
    verbs.go_on.clear()
    opened.ask(1, "tools/call", name="yaad_recall", arguments={"query": "wait"})

    opened.send(b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}\n')

    assert opened.hear()["id"] is None
    verbs.go_on.set()
    assert "result" in opened.hear()


def test_a_ping_is_answered_while_every_place_is_taken(opened, verbs):
    verbs.go_on.clear()
    for identity in range(1, 11):
        opened.ask(identity, "tools/call", name="yaad_recall", arguments={"query": "wait"})

    assert ask(opened, 99, "ping")["result"] == {}
    verbs.go_on.set()
    assert {opened.hear()["id"] for _ in range(10)} == set(range(1, 11))


def test_the_stateless_era_needs_no_handshake(wire, verbs):
    found = ask(wire, 1, "server/discover", _meta=ENVELOPE)["result"]

    assert found["supportedVersions"] == ["2026-07-28"]
    assert found["instructions"].startswith(BRIEF)
    assert found["resultType"] == "complete"
    assert (found["ttlMs"], found["cacheScope"]) == (0, "private")
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "yaadwatch"
    assert verbs.asked[-1][0] == "agent:Visual-Studio-Code"


def test_every_stateless_result_says_that_it_is_complete(wire):
    listed = ask(wire, 1, "tools/list", _meta=ENVELOPE)["result"]
    called = call(wire, 2, "jose", _meta=ENVELOPE)["result"]

    assert listed["resultType"] == called["resultType"] == "complete"
    assert listed["ttlMs"] > 0
    assert called["structuredContent"]["results"]


def test_a_version_that_is_not_spoken_is_answered_with_those_that_are(wire):
    other = ENVELOPE | {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}

    error = ask(wire, 1, "server/discover", _meta=other)["error"]

    assert error["code"] == -32022
    assert error["data"]["requested"] == "2031-01-01"
    assert {"2026-07-28", "2025-11-25"} <= set(error["data"]["supported"])


@pytest.mark.parametrize(
    "envelope",
    [
        {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
        ENVELOPE | {"io.modelcontextprotocol/protocolVersion": 7},
    ],
)
def test_half_an_envelope_is_refused(wire, envelope):
    assert ask(wire, 1, "tools/list", _meta=envelope)["error"]["code"] == -32602


def test_after_a_refused_discovery_the_handshake_is_served(wire):
    assert ask(wire, 1, "server/discover")["error"]["code"] == -32601
    assert shake_hands(wire)["protocolVersion"] == "2025-11-25"


def test_a_handshake_without_a_version_is_refused(wire):
    assert ask(wire, 1, "initialize", capabilities={})["error"]["code"] == -32602


def test_who_connects_may_say_whose_agent_it_is(served, verbs):
    with talk(served, agent="claude") as wire:
        shake_hands(wire, name="something else")
        call(wire, 1, "jose")

    assert verbs.asked[-1][0] == "agent:claude"


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ({"name": "claude-code"}, "claude-code"),
        ({"name": "Visual Studio Code"}, "Visual-Studio-Code"),
        ({"name": "../../etc\n"}, "etc"),
        ({"name": "x" * 100}, "x" * 64),
        ({"name": ""}, "mcp"),
        ({"name": "日本"}, "mcp"),
        ({"name": 7}, "mcp"),
        (None, "mcp"),
    ],
)
def test_an_agent_gets_a_name_that_is_fit_to_keep(client, name):
    assert mcp_messages.agent_name(client) == name


def test_twenty_agents_at_once_each_get_their_own_answers(served):
    failures = []

    def work(number):
        try:
            with talk(served) as wire:
                shake_hands(wire, name=f"agent-{number}")
                for round_ in range(10):
                    said = call(wire, round_ + 1, f"{number}/{round_}")["result"]
                    text = said["structuredContent"]["results"][0]["text"]
                    assert text == f"about {number}/{round_}"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


def test_a_daemon_that_stops_answers_what_is_under_way_and_no_more(served, verbs):
    verbs.go_on.clear()
    with talk(served) as wire:
        shake_hands(wire)
        wire.ask(1, "tools/call", name="yaad_recall", arguments={"query": "wait"})
        threading.Timer(0.2, verbs.go_on.set).start()

        served.close()

        assert wire.hear()["id"] == 1
        assert wire.hear() is None


def test_the_protocol_is_imported_with_its_first_client_only():
    import subprocess
    import sys

    code = (
        "import sys, yaadwatch.daemon.local_socket; sys.exit('yaadwatch.daemon.mcp' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
