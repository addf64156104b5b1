"""Hooks as agents run them: their payloads, our answers, silence when anything is wrong."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from served import Served
from waiting import PATIENCE_S

import yaadwatch.client.hook
from yaadwatch import places
from yaadwatch.client import hook_agents
from yaadwatch.connect.places import Program
from yaadwatch.connect.table import CONNECTIONS, Place
from yaadwatch.model.errors import Code, YaadError

HOOK = Path(yaadwatch.client.hook.__file__)
NEWS = "New since: use jose"
BLAST = "b.txt backs 2 rules"
PAYLOADS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(Path(__file__).with_name("hook_payloads").glob("*.json"))
}
"""What each agent sends for each event. Recorded from the agents themselves; those of Cursor, and
the last event of Cline, are written after their documents. The project is /srv/shop."""
SPECIFIC = {
    "claude": ("SessionStart", "UserPromptSubmit", "PostToolUse", "SessionEnd", "SubagentStart"),
    "codex": ("SessionStart", "UserPromptSubmit", "PostToolUse", "SessionEnd", "SubagentStart"),
    "gemini": ("SessionStart", "BeforeAgent", "AfterTool"),
}
HOOKS = [(agent, event) for agent, events in PAYLOADS.items() for event in events]
ENOUGH_S = 60.0
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
"""A limit for hooks that no machine comes near."""
each_hook = pytest.mark.parametrize(("agent", "event"), HOOKS, ids=lambda one: one)
BRIEF = "## May no longer be true\n- gone: it"
SHORT = "## Rules\n- be quick"
STARTUP = {
    "session_id": "5c01f2e4-ab37-4d3e-8a11-0199b1c27d3e",
    "transcript_path": "/home/ada/.claude/projects/-srv-shop/5c01f2e4.jsonl",
    "cwd": "/srv/shop",
    "hook_event_name": "SessionStart",
    "source": "startup",
}
"""As Claude Code 2.1 sends it."""


class Ran:
    """What a hook did."""

    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()

    @property
    def told(self):
        found = json.loads(self.out)
        assert list(found) == ["hookSpecificOutput"]
        assert found["hookSpecificOutput"]["hookEventName"] == "SessionStart"
        return found["hookSpecificOutput"]["additionalContext"]

    @property
    def tells_nothing(self):
        return self.status == 0 and (not self.out or json.loads(self.out) == {"cancel": False})

    @property
    def silent(self):
        return (self.status, self.out) == (0, "")


def run(payload, *arguments, environment=None, command=None):
    given = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return Ran(
        subprocess.run(
            (command or [sys.executable, "-I", "-S", str(HOOK)])
            + list(arguments or ("session-start", "--agent", "claude")),
            input=given,
            capture_output=True,
            timeout=2 * PATIENCE_S,
            cwd="/",
            env=environment,
        )
    )


def patiently(payload, *arguments, **environment):
    """Run the hook with time enough for a busy machine: what it says is looked at, not how soon."""
    return run(payload, *arguments, environment=os.environ | environment, command=with_time())


def with_time(limit_s=ENOUGH_S, spare_s=yaadwatch.client.hook._SPARE_S):
    """Return the command of a hook with another limit, and with more time to say what is wrong."""
    code = (
        f"import sys; sys.path.append({str(HOOK.parents[2])!r});"
        "from yaadwatch.client import hook;"
        f"hook.LIMIT_S = hook.START_LIMIT_S = {limit_s};"
        f"hook._SPARE_S = hook._START_SPARE_S = {spare_s}; hook._age_s = lambda: 0.0;"
        "hook.main(sys.argv[1:])"
    )
    return [sys.executable, "-I", "-S", "-c", code]


def too_late(payload, *arguments, began):
    """Run the hook where nobody answers; again with more time until it had `began` when it ended.

    What it does at the end has time enough; how long it takes to begin, nobody knows.
    """
    for limit_s in (0.5, 4, 16, 64):
        ran = run(payload, *arguments, command=with_time(limit_s + ENOUGH_S, ENOUGH_S))
        assert ran.status == 0
        assert f"did not answer within {(limit_s + ENOUGH_S) * 1000:.0f} ms" in ran.err
        if began(ran):
            return ran
    raise AssertionError(ran.err)


class Daemon:
    """A daemon that knows a brief, news, and what rests on a file."""

    def __init__(self):
        self.brief = BRIEF
        self.short = SHORT
        self.news = NEWS
        self.blast = BLAST
        self.asked = []
        self.names = []

    def session_start(self, home, call, *, name="", tokens_max=2000, chars_max=8000, wait_ms=1000):
        self.asked.append((str(call.folder), call.origin, tokens_max, chars_max, wait_ms))
        self.names.append(name)
        if isinstance(self.brief, YaadError):
            raise self.brief
        return {"session": "1", "again": False, "brief": self.brief}

    def context(self, home, call, *, tokens_max=2000, chars_max=8000, wait_ms=1000):
        self.asked.append((str(call.folder), call.origin, tokens_max, chars_max))
        return {"brief": self.short}

    def session_news(self, home, call, *, name="", tokens_max=400):
        self.asked.append((str(call.folder), call.origin, tokens_max))
        self.names.append(name)
        return {"news": self.news, "session": "1"}

    def session_touched(self, home, call, *, paths, name="", tokens_max=200):
        self.asked.append((str(call.folder), call.origin, tuple(paths)))
        self.names.append(name)
        return {"text": self.blast, "session": "1", "files": []}

    def session_end(self, home, call, *, session=None, name=""):
        self.asked.append((str(call.folder), call.origin, "end"))
        self.names.append(name)
        return {"kept": True, "session": None}

    def verbs(self):
        return {
            name: getattr(self, name)
            for name in (
                *("session_start", "session_news", "session_touched", "session_end"),
                "context",
            )
        }


@pytest.fixture
def daemon():
    return Daemon()


@pytest.fixture
def served(environment, daemon):
    with Served(places.default_socket(), daemon.verbs()) as served:
        yield served


def log():
    path = Path(places.hook_log())
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


TEXTS = {
    "session-start": BRIEF,
    "prompt-submit": NEWS,
    "post-tool-use": BLAST,
    "session-end": "",
    "subagent-start": SHORT,
}


def as_agent_takes_it(agent, event, text):
    """Return the answer of a hook in the form that an agent's documents ask for."""
    if agent in SPECIFIC:
        names = dict(zip(TEXTS, SPECIFIC[agent], strict=False))
        told = {"hookEventName": names.get(event), "additionalContext": text}
        return {"hookSpecificOutput": told} if text else None
    if agent == "cline":
        return {"cancel": False} | ({"contextModification": text} if text else {})
    key = {"copilot": "additionalContext", "cursor": "additional_context", "opencode": "text"}
    return {key[agent]: text} if text else None


def words(agent, event):
    """Return what is said on an event: who does not hear of prompts is told news with a file."""
    if event == "post-tool-use" and agent in ("cursor", "cline"):
        return f"{BLAST}\n{NEWS}"
    if event == "prompt-submit" and agent == "cline":
        return NEWS
    return TEXTS[event]


@each_hook
def test_each_agent_is_answered_in_its_own_form(served, daemon, agent, event):
    ran = patiently(PAYLOADS[agent][event], event, "--agent", agent)

    assert (ran.status, ran.err) == (0, "")
    wanted = as_agent_takes_it(agent, event, words(agent, event))
    assert (json.loads(ran.out) if ran.out else None) == wanted
    assert {asked[:2] for asked in daemon.asked} == {("/srv/shop", f"agent:{agent}")}
    assert len(set(daemon.names)) == (event != "subagent-start")
    assert all(len(name) > 10 for name in daemon.names)


@each_hook
def test_with_nothing_to_say_nothing_is_said(served, daemon, agent, event):
    daemon.brief = daemon.news = daemon.blast = daemon.short = ""

    ran = patiently(PAYLOADS[agent][event], event, "--agent", agent)

    assert (ran.status, ran.err) == (0, "")
    assert (json.loads(ran.out) if ran.out else None) == as_agent_takes_it(agent, event, "")


@pytest.mark.parametrize("agent", PAYLOADS)
def test_a_changed_file_is_named_by_its_whole_path(served, daemon, agent):
    patiently(PAYLOADS[agent]["post-tool-use"], "post-tool-use", "--agent", agent)

    paths = {"codex": ("/srv/shop/a.txt", "/srv/shop/c.txt")}
    assert daemon.asked[0][2] == paths.get(agent, ("/srv/shop/b.txt",))


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "copilot", "opencode"])
def test_a_tool_that_changes_no_file_costs_no_question(served, daemon, agent):
    payload = dict(PAYLOADS[agent]["post-tool-use"])
    payload[{"copilot": "toolName", "opencode": "tool"}.get(agent, "tool_name")] = "Bash"

    ran = patiently(payload, "post-tool-use", "--agent", agent)

    assert ran.silent
    assert ran.err == ""
    assert daemon.asked == []


@pytest.mark.parametrize("agent", PAYLOADS)
def test_a_tool_that_does_not_say_which_file_is_a_line_for_people(served, daemon, agent):
    payload = json.loads(json.dumps(PAYLOADS[agent]["post-tool-use"]))
    within = payload["postToolUse"] if agent == "cline" else payload
    for key in ("tool_input", "toolArgs", "args", "parameters"):
        if key in within:
            within[key] = [{"unknown": 1}]

    ran = patiently(payload, "post-tool-use", "--agent", agent)

    assert ran.tells_nothing
    assert "does not tell which file was changed" in ran.err
    assert daemon.asked == []


@pytest.mark.parametrize("agent", [one for one in PAYLOADS if one not in ("copilot", "opencode")])
def test_the_payload_of_another_event_is_a_line_for_people(environment, agent):
    ran = patiently(PAYLOADS[agent]["session-end"], "session-start", "--agent", agent)

    assert ran.tells_nothing
    assert "this hook answers" in ran.err


def test_a_move_in_a_patch_names_both_places():
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n*** End Patch"

    assert hook_agents.patched(patch) == ["a.py", "b.py"]


@given(st.dictionaries(st.text(), st.none() | st.text() | st.lists(st.text()), max_size=5))
def test_no_payload_raises_anything_but_what_is_told(payload):
    for name, agent in hook_agents.AGENTS.items():
        for event in hook_agents.EVENTS:
            for wild in (payload, PAYLOADS[name].get(event, {}) | payload):
                with contextlib.suppress(hook_agents.WrongPayloadError):
                    agent.check(wild, event)
                    agent.session_of(wild)
                    agent.files_of(wild, agent.folder_of(wild) or "/")


@pytest.mark.parametrize("agent", PAYLOADS)
def test_the_hooks_that_connect_writes_are_those_that_are_answered(agent):
    """A hook that nobody answers would be a line of complaint with every prompt."""
    row = next(row for row in CONNECTIONS if row.agent == agent)
    program = Program(python="/p", client="/yaadwatch/client")
    spots = row.spots(program, Place(home=Path("/h"), env={}))
    written = " ".join(json.dumps(spot.value) for spot in spots)

    for event, name in hook_agents.AGENTS[agent].names.items():
        if event == "prompt-submit" and not hook_agents.AGENTS[agent].hears_prompts:
            assert event not in written
        elif agent == "opencode":
            assert f'ask(\\"{event}\\"' in written
        else:
            assert f"{event} --agent {agent}" in written
            assert agent == "cline" or name in json.dumps([spot.at for spot in spots]) + written


def test_a_folder_that_nobody_watches_is_silence(served, daemon):
    daemon.brief = YaadError(Code.NOT_FOUND, "/srv/shop is not watched.", hint="yaadwatch add")

    ran = patiently(STARTUP)

    assert ran.silent
    assert ran.err == ""


@pytest.mark.parametrize(
    "arguments", [("session-start", "--agent", "claude"), ("nonsense", "--agent", "claude")]
)
def test_an_agent_that_still_writes_is_heard_out_whatever_is_wrong(environment, arguments):
    code = (
        f"import sys; sys.path.append({str(HOOK.parents[2])!r});"
        f"from yaadwatch.client import hook; hook.LIMIT_S = hook.START_LIMIT_S = {ENOUGH_S};"
        "hook.PAYLOAD_BYTES_MAX = 1000; hook.main(sys.argv[1:])"
    )
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as running:
        for _ in range(100):
            running.stdin.write(b"x" * 65536)  # a pipe that is closed would raise
        running.stdin.close()

        assert running.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        (b"", "the payload is not JSON"),
        (b"{", "the payload is not JSON"),
        (b"\xff\xfe", "the payload is not JSON"),
        (b"[" * 100_000, "the payload is not JSON"),
        (b"[1]", "is not a JSON object"),
        (b"x" * (16 * 1024 * 1024 + 1), "has more than 16777216 bytes"),
        (STARTUP | {"hook_event_name": "SessionEnd"}, "the payload is of 'SessionEnd'"),
        (STARTUP | {"hook_event_name": "hunter2"}, "the payload is of an event that is not known"),
        (STARTUP | {"cwd": "shop"}, "is no absolute folder"),
        (STARTUP | {"cwd": {"path": "/"}}, "is no absolute folder"),
    ],
    ids=[
        "empty",
        "half",
        "bytes",
        "deep",
        "list",
        "long",
        "event",
        "other event",
        "relative",
        "object",
    ],
)
def test_a_wrong_payload_is_one_line_here_and_in_the_log(served, payload, told):
    places.log_file().parent.mkdir(parents=True)

    ran = patiently(payload)

    assert ran.silent
    assert ran.err.count("\n") == 1
    assert told in ran.err
    assert ran.err.startswith("yaadwatch: nothing was sent to the agent")
    assert {entry["event"] for entry in log()} == {"hook.failed"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["session-begin", "--agent", "claude"], "no such hook"),
        (["session-start"], "the agent is not known; --agent may be: claude"),
        (["session-start", "--agent", "vim"], "the agent is not known"),
        (["session-start", "--agent"], "the agent is not known"),
        (["--agent=claude"], "no such hook"),
        ([f"use-{TOKEN}", "--agent=claude"], "no such hook; there are"),
        (["session-start", "--agent", TOKEN], "the agent is not known"),
        (["session-start", "now", "--agent=claude"], "no such hook"),
        (["subagent-start", "--agent=gemini"], "agent gemini has no hook subagent-start"),
    ],
)
def test_a_wrong_command_line_is_one_line_too(environment, arguments, told):
    ran = run(STARTUP, *arguments)

    assert ran.silent
    assert TOKEN not in ran.err
    assert told in ran.err or "did not answer within" in ran.err


def test_without_a_daemon_it_says_so_and_starts_none(environment):
    ran = run(STARTUP)

    assert ran.silent
    assert "no daemon is running" in ran.err or "did not answer within" in ran.err
    assert not places.default_socket().exists()
    assert list(places.data_folder().iterdir()) == []


@pytest.fixture
def listening(environment):
    path = places.default_socket()
    path.parent.mkdir(mode=0o700, parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()
        yield listening


def test_a_daemon_that_never_answers_costs_the_time_and_no_more(listening):
    places.log_file().parent.mkdir(parents=True)

    ran = run(STARTUP)  # on a busy machine there may be no time left even to complain

    assert ran.silent
    assert (yaadwatch.client.hook.LIMIT_S, yaadwatch.client.hook.START_LIMIT_S) == (0.150, 2.0)
    assert not ran.err or "did not answer within 2000 ms" in ran.err
    late = too_late(STARTUP, began=lambda _: True)
    assert late.silent
    assert log()[-1]["why"] in late.err


@pytest.fixture
def logged(environment):
    """A home in which a daemon has run."""
    places.log_file().parent.mkdir(parents=True)


def said_at(event, agent="claude"):
    return patiently(PAYLOADS[agent][event], event, "--agent", agent).out


@pytest.mark.parametrize("agent", PAYLOADS)
def test_a_brief_that_was_not_told_comes_with_what_the_model_hears_next(logged, daemon, agent):
    assert BRIEF not in said_at("session-start", agent)  # nobody listens yet
    hears = "post-tool-use" if agent in ("cursor", "cline") else "prompt-submit"

    with Served(places.default_socket(), daemon.verbs()):
        first, again = said_at(hears, agent), said_at(hears, agent)

    assert daemon.brief in told_by(first)
    assert daemon.brief not in told_by(again)
    assert NEWS in told_by(again)


def told_by(out):
    """Return the words in an answer, whatever the form."""
    return json.dumps(json.loads(out), ensure_ascii=False).replace("\\n", "\n")


def test_a_brief_that_came_too_late_comes_with_the_first_prompt(logged, daemon, environment):
    path = places.default_socket()
    path.parent.mkdir(mode=0o700, parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as hanging:
        hanging.bind(str(path))
        hanging.listen()
        assert too_late(PAYLOADS["claude"]["session-start"], began=lambda _: notes()).silent
    path.unlink()

    with Served(path, daemon.verbs()):
        assert daemon.blast in told_by(said_at("post-tool-use"))
        assert daemon.brief in told_by(said_at("prompt-submit"))
        assert daemon.brief not in told_by(said_at("prompt-submit"))


def test_a_session_that_is_over_is_told_nothing_any_more(logged, daemon):
    said_at("session-start")
    assert len(notes()) == 1

    with Served(places.default_socket(), daemon.verbs()):
        assert said_at("session-end") == ""

    assert notes() == []


def notes():
    folder = Path(places.undelivered_briefs())
    return sorted(folder.iterdir()) if folder.exists() else []


def test_a_note_says_nothing_of_the_session_and_is_the_users_own(logged):
    said_at("session-start")
    said_at("session-start")

    (note,) = notes()
    assert note.read_bytes() == b""
    session = PAYLOADS["claude"]["session-start"]["session_id"]
    assert session not in note.name, "what an agent calls it may be a secret"
    assert (note.stat().st_mode & 0o777, note.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("event", ["session-start", "prompt-submit"])
def test_a_brief_that_the_agent_did_not_take_is_told_again(logged, daemon, event):
    if event == "prompt-submit":
        said_at("session-start")
    reading, writing = os.pipe()
    os.close(reading)

    with Served(places.default_socket(), daemon.verbs()):
        gone = subprocess.run(
            [*with_time(), event, "--agent", "claude"],
            input=json.dumps(PAYLOADS["claude"][event]).encode(),
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=2 * PATIENCE_S,
        )
        os.close(writing)

        assert b"the agent did not take the answer" in gone.stderr
        assert len(notes()) == 1
        assert daemon.brief in told_by(said_at("prompt-submit"))
        assert notes() == []


NOTING = """
import sys
sys.path.append(sys.argv[1])
from yaadwatch.client import hook
sys.stdin.readline()
for number in range(40):
    hook._note_undelivered("claude", f"{sys.argv[2]}-{number}")
    hook._note_undelivered("claude", "shared")
    hook._note_undelivered("claude", f"{sys.argv[2]}-told-{number}")
    hook._forget_undelivered("claude", "shared")
    hook._forget_undelivered("claude", f"{sys.argv[2]}-told-{number}")
"""


def test_hooks_that_note_and_forget_at_once_lose_no_note_of_another(logged):
    """The folder is made by whoever is the first, and each of 160 sessions is still to be told."""
    with contextlib.ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", NOTING, HOOK.parents[2], str(name)],
                    stdin=subprocess.PIPE,
                )
            )
            for name in range(4)
        ]
        for one in running:
            one.stdin.write(b"\n")
            one.stdin.close()
        assert [one.wait(PATIENCE_S) for one in running] == [0] * 4

    sessions = [f"{name}-{number}" for name in range(4) for number in range(40)]
    assert [
        one for one in sessions if not yaadwatch.client.hook._is_undelivered("claude", one)
    ] == []
    assert len(notes()) == len(sessions)


def test_notes_are_bounded_in_number_and_age(logged, monkeypatch):
    hook = yaadwatch.client.hook
    monkeypatch.setattr(hook, "NOTES_MAX", 5)
    now = int(time.time())
    for number, age_s in enumerate((hook.NOTE_AGE_MAX_S + 1000, 90, 80, 70, 60, 50)):
        hook._note_undelivered("claude", str(number))
        os.utime(hook._note("claude", str(number)), (now - age_s, now - age_s))
        if number == 1:
            hook._note_undelivered("claude", "1.5")
            hook._forget_undelivered("claude", "1.5")
            assert [hook._is_undelivered("claude", one) for one in "01"] == [False, True]

    hook._note_undelivered("claude", "last")

    kept = [one for one in ("1", "2", "3", "4", "5", "last") if hook._is_undelivered("claude", one)]
    assert kept == ["2", "3", "4", "5", "last"]
    assert len(notes()) == 5


def test_an_agent_that_never_closes_its_side_costs_the_time_and_no_more(served):
    with subprocess.Popen(
        [sys.executable, "-I", "-S", str(HOOK), "session-start", "--agent", "claude"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as hook:
        hook.stdin.write(b'{"cwd": ')
        hook.stdin.flush()

        assert hook.wait(PATIENCE_S) == 0
        assert hook.stdout.read() == b""
        assert b"did not answer within" in hook.stderr.read()


def test_a_long_log_begins_anew(environment):
    path = Path(places.hook_log())
    path.parent.mkdir(parents=True)
    path.write_text("x" * (yaadwatch.client.hook.LOG_BYTES_MAX + 1))

    patiently(b"[1]")

    assert len(log()) == 1


def test_hook_imports_no_module_that_takes_longer_than_the_answer():
    root = Path(yaadwatch.client.hook.__file__).parents[2]
    program = (
        f"import sys; sys.path.insert(0, {str(root)!r}); import yaadwatch.client.hook;"
        " print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )

    heavy = {"ast", "dataclasses", "datetime", "inspect", "logging", "pathlib", "typing"}
    assert "yaadwatch.client.hook" in done.stdout.split()
    assert heavy & set(done.stdout.split()) == set()


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_sub_agent_is_answered_by_the_hook_of_sessions_too(served, daemon, agent):
    payload = PAYLOADS[agent]["subagent-start"]

    ran = patiently(payload, "session-start", "--agent", agent)

    assert json.loads(ran.out) == as_agent_takes_it(agent, "subagent-start", SHORT)
    assert daemon.asked == [("/srv/shop", f"agent:{agent}", 500, 2000)]


PREPARED = "From yaadwatch.\n\n## Rules\n- use httpx"
PREPARED_SHORT = "From yaadwatch.\n\n## Rules\n- httpx"


@pytest.fixture
def shop(tmp_path, logged):
    """A folder in a work tree on branch main."""
    folder = tmp_path / "shop" / "src"
    folder.mkdir(parents=True)
    git = folder.parent / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def prepare(shop, agent="claude", *, age_s=0, **said):
    """Write a brief as the daemon does, for the branch that is checked out now."""
    root = str(shop.parent)
    head = places.head_of(root)
    path = Path(places.brief_file(root, head, agent))
    path.parent.mkdir(mode=0o700, exist_ok=True)
    subject = places.brief_subject(root, head)
    found = {"of": subject, "brief": PREPARED, "short": PREPARED_SHORT} | said
    path.write_text(json.dumps(found))
    then = time.time() - age_s
    os.utime(path, (then, then))
    return path


def started(shop, agent="claude", event="session-start", **more):
    key = {"cursor": "workspace_roots", "cline": "workspaceRoots"}.get(agent, "cwd")
    folder = [str(shop)] if agent in ("cursor", "cline") else str(shop)
    return patiently(PAYLOADS[agent][event] | {key: folder} | more, event, "--agent", agent)


@pytest.mark.parametrize("agent", PAYLOADS)
def test_prepared_brief_is_sent_when_no_daemon_runs(shop, agent):
    prepare(shop, agent, age_s=185)

    ran = started(shop, agent)

    assert PREPARED in told_by(ran.out)
    assert "prepared 3 minutes ago" in told_by(ran.out)
    assert "the brief of 3 minutes ago was sent" in ran.err
    assert log()[-1]["sent"] is True


def other_branch(shop, path):
    (shop.parent / ".git" / "HEAD").write_text("ref: refs/heads/other\n")


def commit_instead_of_branch(shop, path):
    (shop.parent / ".git" / "HEAD").write_text("a" * 40)


def too_old(shop, path):
    os.utime(path, (1, 1))


def another_work_tree(shop, path):
    there = places.brief_subject("/elsewhere", "ref: refs/heads/main")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"of": there}))


def half_written(shop, path):
    path.write_text(path.read_text()[:40])


def link(shop, path):
    path.rename(shop / "real.json")
    path.symlink_to(shop / "real.json")


def folder_in_its_place(shop, path):
    path.unlink()
    path.mkdir()


def no_repository(shop, path):
    (shop.parent / ".git" / "HEAD").unlink()


@pytest.mark.parametrize(
    "spoil",
    [
        other_branch,
        commit_instead_of_branch,
        too_old,
        another_work_tree,
        half_written,
        link,
        folder_in_its_place,
        no_repository,
    ],
    ids=lambda one: one.__name__,
)
def test_prepared_brief_that_is_not_of_here_and_now_is_not_sent(shop, spoil):
    spoil(shop, prepare(shop))

    ran = started(shop)

    assert ran.silent
    assert "nothing was sent to the agent" in ran.err


def test_daemon_that_hangs_costs_the_time_and_the_prepared_brief_is_sent(shop, listening):
    prepare(shop)
    began_s = time.monotonic()

    ran = run(PAYLOADS["claude"]["session-start"] | {"cwd": str(shop)})

    assert time.monotonic() - began_s < 2.0 + PATIENCE_S
    assert PREPARED in ran.told
    assert {entry["event"] for entry in log()} == {"hook.late"}


def test_daemon_that_hangs_leaves_the_prepared_brief_for_the_first_prompt(shop, listening):
    started_without_brief = too_late(
        PAYLOADS["claude"]["session-start"] | {"cwd": str(shop)}, began=lambda _: notes()
    )
    prepare(shop)

    first = run(PAYLOADS["claude"]["prompt-submit"] | {"cwd": str(shop)}, *PROMPT)
    again = run(PAYLOADS["claude"]["prompt-submit"] | {"cwd": str(shop)}, *PROMPT)

    assert started_without_brief.silent
    assert PREPARED in told_by(first.out)
    assert again.silent


PROMPT = ("prompt-submit", "--agent", "claude")


@pytest.mark.parametrize("is_same", [True, False])
def test_brief_of_the_daemon_follows_a_prepared_one_only_if_it_says_more(shop, daemon, is_same):
    prepare(shop)
    started(shop)
    daemon.brief = f"Checked just now.{PREPARED}" + ("" if is_same else "\n- and uv")

    with Served(places.default_socket(), daemon.verbs()):
        first = started(shop, event="prompt-submit")
        then = started(shop, event="prompt-submit")

    assert first.silent is is_same
    assert is_same or "and uv" in told_by(first.out)
    assert NEWS in told_by(then.out)
    assert notes() == []


def test_prepared_brief_is_found_from_a_linked_work_tree_and_by_a_link(shop, tmp_path):
    linked = tmp_path / "linked"
    linked.mkdir()
    git = shop.parent / ".git" / "worktrees" / "linked"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/topic\n")
    (linked / ".git").write_text(f"gitdir: {git}\n")
    (tmp_path / "by-link").symlink_to(linked)
    (linked / "src").mkdir()
    prepare(linked / "src", brief="topic", short="t")

    assert "topic" in told_by(started(tmp_path / "by-link" / "src").out)
    assert started(shop).silent, "the main work tree has a brief of its own"


def test_prepared_brief_is_not_sent_where_nobody_watches(shop, daemon):
    prepare(shop)
    daemon.brief = YaadError(Code.NOT_FOUND, "/srv/shop is not watched.", hint="yaadwatch add")

    with Served(places.default_socket(), daemon.verbs()):
        assert started(shop).silent
