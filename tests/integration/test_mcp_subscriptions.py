"""Subscriptions of an agent through the shim: they outlive a daemon, and start none."""

import pytest
from agent_process import Agent
from served import Log, OneProject, Served

from yaadwatch import places
from yaadwatch.model.errors import Code, YaadError

STALE, BRIEF = "yaad://stale", "yaad://context"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def daemon(environment, tmp_path, log):
    """Starts a daemon in which nothing is but `log`."""

    def context(home, call, **_):
        return {"brief": ""}

    path = places.default_socket()
    return lambda: Served(path, {"context": context}, events=log.events, home=OneProject(tmp_path))


def changed(agent):
    """Return what the agent hears has changed: the resource, and the stream if it is one."""
    frame = agent.hear()
    assert frame["method"] == "notifications/resources/updated", frame
    return frame["params"]["uri"], frame["params"].get("_meta", {}).get(SUBSCRIPTION)


def listen(agent, identity, *uris):
    wanted = {"resourceSubscriptions": list(uris)}
    agent.ask(identity, "subscriptions/listen", _meta=ENVELOPE, notifications=wanted)
    frame = agent.hear()
    assert frame["method"] == "notifications/subscriptions/acknowledged"
    assert frame["params"]["notifications"] == wanted


def test_a_subscription_goes_on_with_the_next_daemon(daemon, log, tmp_path):
    with Agent(cwd=tmp_path) as agent:
        with daemon():
            agent.shake_hands()
            assert agent.answer(1, "resources/subscribe", uri=STALE)["result"] == {}
            log.add("stale.raised")
            assert changed(agent) == (STALE, None)
        with daemon():
            # What happened in between is not known: it may have changed.
            assert changed(agent) == (STALE, None)
            log.add("stale.raised")
            assert changed(agent) == (STALE, None)
            assert agent.answer(2, "ping")["result"] == {}


def test_a_stream_goes_on_with_the_next_daemon_and_begins_once(daemon, log, tmp_path):
    with Agent(cwd=tmp_path) as agent:
        with daemon():
            listen(agent, "listen-1", BRIEF, STALE)
        with daemon():
            assert changed(agent) == (BRIEF, "listen-1")
            assert changed(agent) == (STALE, "listen-1")
            log.add("stale.cleared")
            assert changed(agent) == (BRIEF, "listen-1")
            assert changed(agent) == (STALE, "listen-1")


def test_what_was_ended_is_not_begun_again(daemon, log, tmp_path):
    with Agent(cwd=tmp_path) as agent:
        with daemon():
            agent.shake_hands()
            agent.answer(1, "resources/subscribe", uri=STALE)
            agent.answer(2, "resources/subscribe", uri=BRIEF)
            agent.answer(3, "resources/unsubscribe", uri=STALE)
            listen(agent, 4, STALE)
            agent.say({"method": "notifications/cancelled", "params": {"requestId": 4}})
            agent.answer(5, "ping")
        with daemon():
            assert changed(agent) == (BRIEF, None)
            log.add("stale.raised")
            assert changed(agent) == (BRIEF, None)
            assert agent.answer(6, "ping")["result"] == {}


def test_a_new_handshake_forgets_what_was_subscribed_to_before(daemon, log, tmp_path):
    with Agent(cwd=tmp_path) as agent:
        with daemon():
            agent.shake_hands()
            agent.answer(1, "resources/subscribe", uri=STALE)
            agent.shake_hands()
            agent.answer(2, "resources/subscribe", uri=BRIEF)
            log.add("stale.raised")
            assert changed(agent) == (BRIEF, None)
        with daemon():
            assert changed(agent) == (BRIEF, None)
            assert agent.answer(3, "ping")["result"] == {}


def test_after_stores_that_could_not_be_read_it_is_told_again(log, environment, tmp_path):
    """What happened meanwhile is not known: all may have changed."""
    followed = []

    async def events(after):
        followed.append(after)
        stream = log.events(after)
        async for event in stream:
            if event.get("kind") == "store.lost":
                await stream.aclose()
                raise YaadError(Code.UNAVAILABLE, "disk I/O error")
            yield event

    path = places.default_socket()
    verbs = {"context": lambda home, call, **_: {"brief": ""}}
    served = Served(path, verbs, events=events, home=OneProject(tmp_path))
    with served, Agent(cwd=tmp_path) as agent:
        agent.shake_hands()
        agent.answer(1, "resources/subscribe", uri=STALE)
        log.add("store.lost")

        assert changed(agent) == (STALE, None)
        log.add("stale.raised")
        assert changed(agent) == (STALE, None)
    assert len(followed) == 2


def test_nobody_starts_a_daemon_to_hear_of_changes(daemon, tmp_path):
    """A daemon that was stopped stays stopped, whoever is subscribed."""
    with Agent(cwd=tmp_path) as agent:
        with daemon():
            listen(agent, 1, STALE)

        assert agent.silent(2.5)
        assert not places.lock_file().exists()
        assert agent.close() == ([], "", 0)
