"""Several steps of git before anybody looks at the files: the last one stands, and nothing is lost.

So it is while the daemon is stopped, and for two commands on one line.
"""

import pytest

from yaadwatch.projects import projects
from yaadwatch.sync import files

FILES = ("AGENTS.md", "CLAUDE.md")
HTTPX = "Always use httpx for calls"
TABS = "Prefer tabs always"


BOTH = pytest.mark.parametrize("tree", ["own", "others"], indirect=True)


@pytest.fixture
def tree(world, request):
    """A repository with committed blocks, whose commits count as the person's own or others'."""
    return world.prepared(_committed, getattr(request, "param", "others"))


def _committed(world, author):
    tree = world.repo()
    if author == "own":
        tree.git("config", "user.email", "ada@example.org")
    tree.commit("files", {"AGENTS.md": "# A\n\n- Be brief\n", "CLAUDE.md": "# C\n\n- Be kind\n"})
    tree.add(mode="inline")
    tree.remember(HTTPX, kind="convention")
    tree.sync_until_quiet()
    tree.commit("blocks")
    tree.sync_until_quiet()
    return tree


def edit(tree, old, new, *paths):
    for path in paths or FILES:
        text = tree.read(path)
        assert old in text, path
        tree.write(path, text.replace(old, new))


def rules(tree, path="AGENTS.md"):
    inner = tree.read(path).partition("yaad:begin")[2].partition("<!-- yaad:end")[0]
    return [line[2:] for line in inner.splitlines() if line.startswith("- ")]


def is_clean_after(tree, *wanted):
    """Assert that the files stay as git left them, and that the graph says the same."""
    before = {path: tree.read(path) for path in FILES}
    tree.sync_until_quiet()
    assert {path: tree.read(path) for path in FILES} == before
    assert tree.git("status", "--porcelain") == ""
    for path in FILES:
        assert rules(tree, path) == list(wanted), path
    tree.sync_until_quiet()
    assert set(wanted) <= set(tree.memories())


def hot(tree):
    return {node.text for node in tree.living() if node.tier == 1}


@BOTH
def test_revert_right_after_the_commit_deletes_the_rule(tree):
    tree.remember(TABS, kind="convention")
    tree.sync_until_quiet()

    tree.commit("tabs")
    tree.git("revert", "--no-edit", "HEAD")

    is_clean_after(tree, HTTPX)
    assert TABS not in hot(tree)


def test_revert_of_wholly_other_words_right_after_the_commit_stands(tree):
    node = next(one.id for one in tree.living() if one.text == HTTPX)
    tree.edit(node, "Never talk to the network from tests")
    tree.sync_until_quiet()

    tree.commit("other words")
    tree.git("revert", "--no-edit", "HEAD")

    is_clean_after(tree, HTTPX)


def test_deletion_undone_by_a_revert_brings_the_rule_back(tree):
    edit(tree, f"- {HTTPX}\n", "", "AGENTS.md")
    tree.sync_until_quiet()
    assert rules(tree) == rules(tree, "CLAUDE.md") == []

    tree.commit("without httpx")
    tree.git("revert", "--no-edit", "HEAD")

    is_clean_after(tree, HTTPX)


@BOTH
def test_reset_right_after_the_commit_leaves_the_files_as_they_are(tree):
    tree.remember(TABS, kind="convention")
    tree.sync_until_quiet()

    tree.commit("tabs")
    tree.git("reset", "-q", "--hard", "HEAD~1")

    is_clean_after(tree, HTTPX)
    assert TABS in tree.memories()


def test_reset_of_a_rule_in_one_file_keeps_it_out_of_the_others(tree):
    edit(tree, f"- {HTTPX}\n", f"- {HTTPX}\n- {TABS}\n", "AGENTS.md")
    tree.sync()
    tree.git("commit", "-q", "-m", "tabs", "AGENTS.md")
    tree.sync_until_quiet()
    assert rules(tree, "CLAUDE.md") == [HTTPX, TABS]

    tree.git("reset", "-q", "--hard", "HEAD~1")

    is_clean_after(tree, HTTPX)


def test_amended_commit_without_the_rule_stands(tree):
    tree.remember(TABS, kind="convention")
    tree.sync_until_quiet()

    tree.commit("tabs")
    tree.git("checkout", "-q", "HEAD~1", "--", *FILES)
    tree.git("commit", "-q", "--amend", "--allow-empty", "-m", "nothing")

    is_clean_after(tree, HTTPX)
    assert TABS in tree.memories()


def test_branch_that_got_the_rule_keeps_it_for_itself(tree):
    tree.remember(TABS, kind="convention")
    tree.sync_until_quiet()

    tree.git("checkout", "-q", "-b", "feature")
    tree.commit("tabs")
    tree.git("checkout", "-q", "main")

    is_clean_after(tree, HTTPX)
    tree.git("merge", "-q", "--ff-only", "feature")
    is_clean_after(tree, HTTPX, TABS)


@BOTH
def test_rebase_right_after_the_commit_keeps_both_sides(tree):
    tree.git("checkout", "-q", "-b", "upstream")
    tree.sync_until_quiet()
    edit(tree, HTTPX, "Always use httpx 2")
    tree.sync_until_quiet()
    tree.commit("theirs")
    tree.sync_until_quiet()
    tree.git("checkout", "-q", "main")
    tree.sync_until_quiet()
    for path in FILES:
        text = tree.read(path)
        tree.write(path, text.replace("# ", "# All ", 1))
    tree.sync_until_quiet()

    tree.commit("mine")
    tree.git("rebase", "-q", "upstream")

    is_clean_after(tree, "Always use httpx 2")


def test_forced_push_of_others_stands_after_the_reset_to_it(tree):
    tree.remember(TABS, kind="convention")
    tree.sync_until_quiet()
    tree.commit("tabs")
    tree.sync_until_quiet()
    edit(tree, TABS, "Prefer spaces always")
    tree.sync_until_quiet()

    tree.commit("spaces")
    tree.git("branch", "-q", "forced", "HEAD~2")
    tree.git("reset", "-q", "--hard", "forced")

    is_clean_after(tree, HTTPX)


def test_line_that_others_edit_in_one_file_follows_in_the_other(world):
    tree = world.repo()
    tree.commit("files", {"AGENTS.md": "# A\n\n- Be brief\n", "CLAUDE.md": "# C\n\n- Be kind\n"})
    tree.add(mode="inline")
    tree.remember(HTTPX, kind="convention")
    tree.sync_until_quiet()
    tree.commit("blocks")
    tree.sync_until_quiet()
    edit(tree, HTTPX, f"{HTTPX}\n- {TABS}")
    tree.commit("theirs: a rule in both")
    is_clean_after(tree, HTTPX, TABS)

    edit(tree, TABS, "Prefer tabs always and everywhere", "CLAUDE.md")
    tree.commit("theirs: other words in one")
    tree.sync_until_quiet()

    assert rules(tree) == rules(tree, "CLAUDE.md") == [HTTPX, "Prefer tabs always and everywhere"]


def test_discarded_work_is_written_again_after_other_commits(tree):
    tree.remember(TABS, kind="convention")
    tree.sync_until_quiet()

    tree.git("checkout", "-q", "--", *FILES)
    tree.commit("notes", {"notes.md": "Other notes.\n"})
    tree.sync_until_quiet()

    assert rules(tree) == rules(tree, "CLAUDE.md") == [HTTPX, TABS]


def test_discarded_edit_is_written_again_after_a_commit_of_another_line(tree):
    edit(tree, HTTPX, "Always use httpx 3", "AGENTS.md")
    tree.sync_until_quiet()

    tree.git("checkout", "-q", "--", *FILES)
    edit(tree, "Be brief", "Be very brief", "AGENTS.md")
    tree.commit("brief")
    tree.sync_until_quiet()

    assert {rules(tree, path)[0] for path in FILES} == {"Always use httpx 3"}


@BOTH
def test_discarded_edit_gives_way_to_the_words_of_a_commit(tree):
    edit(tree, HTTPX, "Always use httpx 3", "AGENTS.md")
    tree.sync_until_quiet()

    tree.git("checkout", "-q", "--", *FILES)
    edit(tree, HTTPX, "Always use httpx 2")
    tree.commit("httpx 2")

    is_clean_after(tree, "Always use httpx 2")


@pytest.mark.parametrize("staged", [True, False])
def test_rule_of_a_file_staged_before_the_first_look_reaches_the_others(world, staged):
    tree = world.repo()
    tree.commit("files", {"CLAUDE.md": "# C\n\n- Be kind\n"})
    tree.add(mode="inline")
    tree.remember(HTTPX, kind="convention")
    tree.sync_until_quiet()
    tree.commit("block")
    tree.sync_until_quiet()

    tree.write("AGENTS.md", f"# A\n\n- {TABS}\n")
    if staged:
        tree.git("add", "AGENTS.md")
    tree.sync_until_quiet()
    tree.git("add", "AGENTS.md")
    tree.sync_until_quiet()

    assert rules(tree, "CLAUDE.md") == [HTTPX, TABS]


def test_file_with_conflict_markers_is_paused_while_git_merges(tree):
    tree.git("checkout", "-q", "-b", "feature")
    edit(tree, "Be brief", "Be very brief", "AGENTS.md")
    tree.commit("feature")
    tree.git("checkout", "-q", "main")
    edit(tree, "Be brief", "Be quite brief", "AGENTS.md")
    tree.commit("main")
    tree.sync_until_quiet()

    tree.git("merge", "-q", "feature", check=False)
    tree.sync()

    assert states(tree)["CLAUDE.md"][0] == "synced"
    state, reason = states(tree)["AGENTS.md"]
    assert state == "paused"
    assert reason.startswith("an unfinished merge stands in line 3")
    assert files.files_sync(tree.home, tree.call)["settled"] is False
    assert states(tree) == states_in_status(tree)

    tree.git("checkout", "-q", "--theirs", "AGENTS.md")
    tree.git("commit", "-q", "-am", "merged")
    tree.sync_until_quiet()
    assert states(tree)["AGENTS.md"][0] == "synced"


def states(tree):
    rows = files.files(tree.home, tree.call)["files"]
    return {row["path"]: (row["state"], row["reason"]) for row in rows}


def states_in_status(tree):
    (project,) = projects.status(tree.home, tree.call)["projects"]
    return {row["path"]: (row["state"], row["reason"]) for row in project["files"]}


def test_status_and_files_say_the_same_of_a_conflict_of_a_rebase(tree):
    tree.git("checkout", "-q", "-b", "feature")
    edit(tree, "Be brief", "Be very brief", "AGENTS.md")
    tree.commit("feature")
    tree.git("checkout", "-q", "main")
    edit(tree, "Be brief", "Be quite brief", "AGENTS.md")
    tree.commit("main")
    tree.git("checkout", "-q", "feature")
    tree.sync_until_quiet()

    tree.git("rebase", "-q", "main", check=False)

    told = states_in_status(tree)
    assert told["AGENTS.md"][0] == "paused"
    assert told == states(tree)
    (listed,) = projects.projects(tree.home, tree.call)["projects"]
    assert [one["state"] for one in listed["files"] if one["path"] == "AGENTS.md"] == ["paused"]
    tree.git("rebase", "--abort")
    tree.sync_until_quiet()
    assert states_in_status(tree) == states(tree)
    assert {state for state, _ in states(tree).values()} == {"synced"}
