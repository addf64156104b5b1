"""What a person dismissed holds in both stores, and no session quotes it any more."""

import pytest
from in_process import command
from test_review import RULE, agent, brief, dismiss, states
from verb_world import prepared

from yaadwatch.model.errors import YaadError
from yaadwatch.remember import edit, remember
from yaadwatch.sessions import news, sessions
from yaadwatch.workspace.workspace import Call

YARN = "Use yarn for installs"


@prepared
def repo(world):
    repo = world.repo()
    repo.add(mode="read")
    return repo


def dismiss_proposal(repo, text, scope):
    rule = repo.remember("Use pip for installs", scope=scope)
    edit.update(repo.home, agent(repo), id=rule, text=text)
    dismiss(repo, rule)
    return rule


def dismiss_note(repo, scope):
    return dismiss(repo, states(repo, scope=scope)["id"])


def forget(repo, scope):
    return repo.forget(repo.remember(RULE, scope=scope))


@pytest.mark.parametrize("act", [dismiss_note, forget])
@pytest.mark.parametrize(("here", "there"), [("project", "user"), ("user", "project")])
def test_a_dismissal_holds_in_the_other_store(repo, act, here, there):
    act(repo, here)

    own = repo.remember("Use pip for installs", scope=there)
    for say in (
        lambda: states(repo, scope=there),
        lambda: states(repo, f"**{RULE.upper()}.**", scope=there),
        lambda: states(repo, scope=here),
        lambda: edit.update(repo.home, agent(repo), id=own, text=RULE),
    ):
        with pytest.raises(YaadError, match=r"A person (dismissed|forgot) this on"):
            say()
    assert repo.remembered(RULE, scope=there)["by"] == "person"


def test_a_dismissed_proposal_of_the_users_store_holds_in_the_project(repo):
    dismiss_proposal(repo, RULE, "user")

    with pytest.raises(YaadError, match="A person dismissed this on"):
        states(repo)


def test_a_dismissal_of_one_project_holds_in_no_other(world, repo):
    other = world.repo("other")
    other.add(mode="read")
    dismiss(repo, states(repo)["id"])

    assert states(other)["waits"]
    with pytest.raises(YaadError, match="A person dismissed this on"):
        states(repo)


WAYS = {
    "a memory": lambda repo, call: states_in(repo, call, RULE),
    "a rule and a note": lambda repo, call: (
        states_in(repo, call, RULE),
        sessions.session_note(repo.home, call, text=f"{RULE}."),
    ),
    "a note": lambda repo, call: sessions.session_note(repo.home, call, text=RULE),
}


def states_in(repo, call, text):
    return remember.remember(repo.home, call, text=text)


@pytest.mark.covering
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("ended", [False, True], ids=["open", "ended"])
@pytest.mark.parametrize("dismissed", ["note", "proposal"])
def test_no_session_quotes_what_a_person_dismissed(repo, way, ended, dismissed):
    if dismissed == "proposal" and way is not WAYS["a note"]:
        pytest.skip("a memory with these words is no proposal")
    call = Call(folder=repo.path, origin="agent:claude", session="one")
    sessions.session_start(repo.home, call, name="one")
    sessions.session_note(repo.home, call, text="Looked at the retry loop")
    way(repo, call)
    if ended:
        sessions.session_end(repo.home, call)
    if dismissed == "note":
        dismiss(repo, states(repo)["id"])
    else:
        dismiss_proposal(repo, RULE, "project")

    codex = Call(folder=repo.path, origin="agent:codex", session="two")
    assert "pnpm" not in news.handoff(repo.home, codex)["prompt"]
    assert "pnpm" not in news.handoff(repo.home, call)["prompt"]
    assert "pnpm" not in brief(repo)
    assert "pnpm" not in sessions.session_start(repo.home, codex, name="two")["brief"]
    said = command(repo, "sessions").out
    assert "pnpm" not in said
    assert "pnpm" not in command(repo, "recall", "pnpm installs").out
