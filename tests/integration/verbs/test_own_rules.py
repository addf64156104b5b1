"""A person's rules for all projects are in the brief of each one, for each agent."""

from yaadwatch.remember import remember
from yaadwatch.sessions import context
from yaadwatch.workspace.workspace import Call

SHORT = "Always answer in short sentences"
TABS = "Never use tabs"


def told(repo, origin="cli"):
    """Return the lines of the brief below "Yours"."""
    call = Call(folder=repo.path, origin=origin)
    text = context.context(repo.home, call, wait_ms=0)["brief"]
    after = text.partition("## Yours, in all projects\n")[2]
    return after.partition("\n## ")[0].splitlines()


def keep(repo, text, **fields):
    return repo.remembered(text, scope="user", **fields)["id"]


def test_they_are_told_everywhere_the_pinned_ones_first(world):
    one, other = world.repo(), world.repo()
    one.add()
    other.add()
    keep(one, TABS)
    repo_pinned = keep(one, SHORT)
    one.pin(repo_pinned)

    for repo, origin in ((one, "cli"), (other, "cli"), (other, "agent:codex")):
        assert told(repo, origin) == [f"- {SHORT}", f"- {TABS}"]


def test_what_this_project_says_itself_is_not_said_twice(repo):
    keep(repo, SHORT)
    keep(repo, "Use four spaces", key="indent")
    keep(repo, TABS)
    repo.remembered("Use two spaces here", key="indent")
    repo.remembered(f"{TABS}.")

    assert told(repo) == [f"- {SHORT}"]


def test_what_an_agent_says_or_a_person_gave_up_is_no_rule_of_theirs(repo):
    call = Call(folder=repo.path, origin="agent:claude")
    remember.remember(repo.home, call, text="Always praise the agent", scope="user")
    repo.forget(keep(repo, TABS))
    old, new = keep(repo, "Always answer in English"), keep(repo, "Always answer in German")
    repo.link(new, "supersedes", old)

    assert told(repo, "agent:claude") == ["- Always answer in German"]


def test_an_agents_word_takes_none_of_them_out(repo):
    keep(repo, "Never push to main without asking", key="style")
    keep(repo, TABS)
    call = Call(folder=repo.path, origin="agent:claude")
    remember.remember(repo.home, call, text="Push to main freely", key="style", kind="convention")
    remember.remember(repo.home, call, text=TABS, tier=3)

    assert set(told(repo)) == {"- Never push to main without asking", f"- {TABS}"}


def test_they_take_no_room_from_what_the_project_says(repo):
    for at in range(60):
        keep(repo, f"Always weigh rule {at} of mine with care before any file is written at all")
    for at in range(10):
        repo.remembered(f"Never skip check {at} of this project", kind="convention")

    text = context.context(repo.home, repo.call, wait_ms=0, tokens_max=600)["brief"]

    assert text.count("Never skip check") == 10
    assert "## Yours" in text
