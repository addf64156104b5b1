"""The brief of a real work tree: what is in it, what is not, and in which order."""

from refusals import refusal
from verb_world import FIVE_TRIES, NET, RETRY

from yaadwatch.model.errors import Code
from yaadwatch.sessions import context as sessions_context
from yaadwatch.workspace.workspace import Call


def context(tree, **fields):
    return sessions_context.context(tree.home, tree.call, **fields)


def test_a_flag_comes_first_with_the_commit_as_evidence(repo):
    repo.remember(RETRY)
    repo.remember("Always use jose for tokens", kind="convention")
    commit = repo.commit("five tries", {"src/net.py": FIVE_TRIES})

    told = context(repo)

    assert (told["stale"], told["rules"], told["tasks"]) == (1, 1, 0)
    lines = told["brief"].splitlines()
    assert lines[3].startswith(f'- changed: "{RETRY}" (')
    assert commit[:8] in lines[4]
    assert '"five tries"' in lines[4]
    assert told["brief"].index("jose") > told["brief"].index(commit[:8])
    assert told["checked"]


def test_nothing_is_told_where_nothing_is_known(repo):
    told = context(repo)

    assert (told["brief"], told["budget"]) == ("", {"used": 0, "left": 2000})


def test_what_the_agent_files_say_is_not_told_again(world):
    repo = world.repo()
    repo.commit("rules", {"CLAUDE.md": "# Rules\n\n- Always use jose for tokens\n"})
    repo.add()
    repo.remember("Always use jose for tokens")
    repo.remember("Never use cents as floats", kind="convention")

    told = context(repo)["brief"]

    assert "jose" not in told
    assert "cents" in told


def test_what_this_agent_does_not_read_is_told(world):
    repo = world.repo()
    repo.commit("rules", {"CLAUDE.md": "# Rules\n\n- Never log tokens\n"})
    repo.add(mode="read")
    repo.sync()
    repo.write(".kiro/steering/style.md", "- Always use jose for tokens\n")
    repo.write("CLAUDE.md", "# Rules\n\n- Never log tokens\n- Always ask before a release\n")
    repo.sync()

    def brief(agent):
        call = Call(folder=repo.path, origin=f"agent:{agent}")
        return sessions_context.context(repo.home, call)["brief"]

    assert ("jose" in brief("claude"), "release" in brief("claude")) == (True, False)
    assert ("jose" in brief("kiro"), "release" in brief("kiro")) == (False, True)
    assert ("jose" in brief("nobody-knows"), "release" in brief("nobody-knows")) == (False, False)


def test_a_flag_about_what_an_agent_file_says_is_told(world):
    repo = world.repo()
    repo.commit("rules", {"CLAUDE.md": f"# Rules\n\n- {RETRY}\n"})
    repo.add()
    repo.move("src/net.py", "src/http.py")

    assert context(repo)["stale"] == 1


def test_a_flag_is_not_told_as_a_rule_as_well(repo):
    repo.remember(RETRY, kind="decision")
    repo.write("src/net.py", FIVE_TRIES)

    told = context(repo)

    assert (told["stale"], told["rules"]) == (1, 0)
    assert told["brief"].count(RETRY) == 1


def test_pinned_rules_come_first_and_cold_ones_not_at_all(repo):
    repo.remember("Always use jose", kind="convention")
    pinned = repo.remember("The staging host is called bert", kind="bug")
    repo.remember("Something about the weather", kind="bug")
    repo.pin(pinned)

    lines = context(repo)["brief"].splitlines()

    assert lines[2:] == ["- The staging host is called bert", "- Always use jose"]


def test_open_tasks_come_last_and_forgotten_ones_not_at_all(repo):
    repo.remember("Write the changelog", kind="task")
    gone = repo.remember("Buy a bigger disk", kind="task")
    repo.remember("Always use jose", kind="convention")
    repo.forget(gone)

    told = context(repo)

    assert (told["rules"], told["tasks"]) == (1, 1)
    assert told["brief"].splitlines()[-2:] == ["## Open tasks", "- Write the changelog"]


def test_the_budgets_hold(repo):
    for number in range(40):
        repo.remember(f"Always call module number {number} by its name", kind="convention")

    told = context(repo, tokens_max=200, chars_max=500)

    assert 0 < told["rules"] < 40
    assert told["budget"]["used"] <= 200
    assert len(told["brief"]) <= 500


def test_a_check_that_takes_too_long_is_not_waited_for(repo):
    repo.remember("Always use jose", kind="convention")
    with repo.home.space(repo.call) as space:
        busy = repo.home.stores.checking(space.project.id, space.worktree.id)

    with busy:  # another check of this work tree is under way
        told = context(repo, wait_ms=1)

    assert not told["checked"]
    assert told["brief"].splitlines()[1].startswith("Files may have changed since the last check")


def test_without_waiting_nothing_is_checked(repo):
    repo.remember(RETRY)
    repo.check()
    repo.write("src/net.py", NET.replace("tries=3", "tries=9"))

    assert context(repo, wait_ms=0)["stale"] == 0
    assert context(repo)["stale"] == 1


def test_a_folder_that_is_not_watched_has_no_brief(world):
    assert refusal(context, world.repo("other")).code is Code.NOT_FOUND
