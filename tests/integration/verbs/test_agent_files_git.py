"""What git does to agent files is no edit: real rebases, merges, stashes, picks and work trees."""

import pytest

from yaadwatch.sync import files

CLAUDE = "# Rules\n\n- Use tabs in Go files\n- Keep functions short\n"
AGENTS = "# For agents\n\n- Run `make test` first\n"
RULE = "Always use jose for tokens"
BASE = {"Use tabs in Go files", "Keep functions short", "Run `make test` first"}


@pytest.fixture(params=["inline", "private"])
def mode(request):
    return request.param


@pytest.fixture
def tree(world, mode):
    return world.prepared(_synced, mode)


def _synced(world, mode):
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS})
    tree.add(mode=mode)
    tree.sync()
    return tree


def ids_of(tree):
    """Return the text of every memory there is or was, by id."""
    with tree.db() as db:
        return dict(
            db.read(
                lambda conn: conn.execute(
                    "SELECT id, text FROM nodes WHERE kind NOT IN ('file', 'entity')"
                ).fetchall()
            )
        )


def typed(tree, line):
    """Type a line into the part of CLAUDE.md that is the person's, and let it be read."""
    text = tree.read("CLAUDE.md")
    tree.write("CLAUDE.md", text.replace("# Rules\n\n", f"# Rules\n\n- {line}\n"))
    tree.sync()


def colleague(tree, branch, path, text, subject="theirs"):
    """Commit a file on a branch as somebody else, without touching the work tree for long."""
    here = tree.git("rev-parse", "--abbrev-ref", "HEAD").strip()
    tree.git("stash", "-q", "-u", check=False)
    tree.git("checkout", "-q", "-B", branch)
    tree.write(path, text)
    tree.git("add", "-A")
    author = "Bob <bob@example.org>"
    tree.git(
        "-c", "user.email=bob@example.org", "commit", "-q", f"--author={author}", "-m", subject
    )
    tree.git("checkout", "-q", here)
    tree.git("stash", "pop", "-q", check=False)


def stays_as(tree, ids):
    """Assert that no memory was made twice and none was lost, nor its id."""
    now = ids_of(tree)
    texts = tree.memories()
    assert len(texts) == len(set(texts))
    assert set(ids) <= set(now)


def test_a_rebase_onto_a_colleagues_work_makes_nothing_twice(tree):
    colleague(tree, "theirs", "CLAUDE.md", CLAUDE + "- Write tests first\n")
    tree.git("checkout", "-q", "--", ".")
    tree.commit("mine", {"AGENTS.md": AGENTS + "- Never push on Fridays\n"})
    tree.sync()
    before = ids_of(tree)
    assert "Never push on Fridays" in before.values()

    tree.git("checkout", "-q", "--", ".")
    tree.git("rebase", "-q", "theirs")
    tree.sync()
    tree.sync()

    stays_as(tree, before)
    assert set(tree.memories()) == BASE | {"Never push on Fridays", "Write tests first"}


def test_a_rebase_that_stops_in_a_conflict_is_waited_for(tree):
    colleague(tree, "theirs", "CLAUDE.md", CLAUDE.replace("short", "very short"))
    tree.git("checkout", "-q", "--", ".")
    tree.commit("mine", {"CLAUDE.md": CLAUDE.replace("short", "tiny")})
    tree.sync()
    tree.git("checkout", "-q", "--", ".")
    before = ids_of(tree)

    tree.git("rebase", "-q", "theirs", check=False)
    conflict = tree.read("CLAUDE.md")
    assert "<<<<<<<" in conflict
    tree.remember(RULE, kind="convention")
    assert tree.sync().waiting
    assert tree.read("CLAUDE.md") == conflict

    tree.write("CLAUDE.md", CLAUDE.replace("short", "tiny"))
    tree.git("add", "CLAUDE.md")
    tree.git("-c", "core.editor=true", "rebase", "--continue")
    assert not tree.sync().waiting
    tree.sync()

    stays_as(tree, before)
    assert "Keep functions tiny" in tree.memories()
    # The block was thrown away and never committed: the rules go into our own file.
    assert RULE not in tree.read("CLAUDE.md")
    assert RULE in tree.read(".claude/rules/yaad.md")


def test_a_merge_brings_what_the_branch_says_and_deletes_nothing(tree):
    colleague(tree, "theirs", "CLAUDE.md", CLAUDE + "- Write tests first\n")
    before = ids_of(tree)

    tree.git("checkout", "-q", "--", ".")
    tree.git("merge", "-q", "--no-ff", "-m", "merge", "theirs")
    tree.sync()

    stays_as(tree, before)
    assert set(tree.memories()) == BASE | {"Write tests first"}
    assert {row.state for row in tree.rows().values()} <= {"synced", "absent"}


def test_a_colleagues_deletion_counts_and_a_revert_shows_the_same_memory(tree):
    gone = CLAUDE.replace("- Keep functions short\n", "")
    colleague(tree, "theirs", "CLAUDE.md", gone)
    before = ids_of(tree)
    tree.git("checkout", "-q", "--", ".")

    tree.git("merge", "-q", "--ff-only", "theirs")
    tree.sync()
    assert "Keep functions short" not in tree.memories()

    tree.git("revert", "--no-edit", "HEAD")
    tree.sync()

    stays_as(tree, before)
    assert set(ids_of(tree)) == set(before)
    assert "Keep functions short" in tree.memories()


def test_cherry_picks_resets_and_amended_commits_make_nothing_twice(tree):
    colleague(tree, "theirs", "AGENTS.md", AGENTS + "- Write tests first\n")
    tree.git("checkout", "-q", "--", ".")
    before = ids_of(tree)

    for act in (
        ("cherry-pick", "theirs"),
        ("commit", "-q", "--amend", "--no-edit", "--allow-empty"),
        ("reset", "-q", "--hard", "HEAD~1"),
        ("cherry-pick", "theirs"),
        ("reset", "-q", "--hard", "HEAD~1"),
    ):
        tree.git("checkout", "-q", "--", ".")
        tree.git(*act)
        tree.sync()
        tree.sync()

    stays_as(tree, before)
    assert set(tree.memories()) == BASE | {"Write tests first"}
    assert len(ids_of(tree)) == len(before) + 1


def test_thrown_away_edits_are_no_deletion(tree):
    """`git checkout -- FILE` takes a typed line away: it is hidden until it is typed again."""
    typed(tree, "Never push on Fridays")
    before = ids_of(tree)

    tree.git("checkout", "-q", "--", "CLAUDE.md")
    tree.sync()
    typed(tree, "Never push on Fridays")
    tree.sync()

    stays_as(tree, before)
    assert set(ids_of(tree)) == set(before)
    assert "Never push on Fridays" in tree.memories()


def test_each_work_tree_has_its_own_agent_files(tree, mode):
    tree.git("worktree", "add", "-q", "-b", "other", "../other")
    other = tree.world.tree("other")
    tree.add(mode=mode)
    tree.remember(RULE, kind="convention")

    tree.sync()
    other.sync()

    for one in (tree, other):
        text = one.read("CLAUDE.md" if mode == "inline" else ".claude/rules/yaad.md")
        assert text.count(RULE) == 1
        if mode == "private":
            assert one.git("status", "--porcelain") == ""
    before = ids_of(tree)
    other.write("AGENTS.md", AGENTS.replace("first", "always") + "- Only in the other\n")
    other.sync()
    tree.sync()
    stays_as(tree, before)
    assert "Run `make test` first" in tree.memories()
    tree.git("worktree", "remove", "--force", "../other")
    tree.sync()
    stays_as(tree, before)


@pytest.mark.parametrize("mode", ["inline"], indirect=True)
def test_a_block_that_was_committed_is_known_in_another_clone(tree, world):
    """The block travels with the commit: there it is unknown, so both sides are united."""
    tree.remember(RULE, kind="convention")
    tree.sync()
    tree.commit("with a block")
    tree.git("clone", "-q", str(tree.path), str(world.folder / "clone"))
    clone = world.tree("clone")

    clone.add()
    clone.sync()

    assert clone.read("CLAUDE.md") == tree.read("CLAUDE.md")
    assert RULE in clone.memories()
    assert clone.git("status", "--porcelain") == ""
    clone.remember("Never log tokens", kind="convention")
    clone.sync()
    assert "Never log tokens" in clone.read("AGENTS.md")


@pytest.mark.parametrize("mode", ["inline"], indirect=True)
def test_the_former_words_of_a_forgotten_rule_do_not_come_back_with_a_branch(tree):
    """An older commit has them in its block, and a second work tree has never seen that."""
    rule = tree.remember(RULE, kind="convention")
    tree.sync()
    tree.git("checkout", "-q", "-b", "old")
    tree.commit("with a block")
    tree.sync()
    tree.git("checkout", "-q", "main")
    tree.edit(rule, RULE + " and cookies")
    tree.forget(rule)
    tree.sync()
    before = ids_of(tree)
    tree.git("worktree", "add", "-q", "../other", "old")
    other = tree.world.tree("other")
    other.add(mode="inline")

    other.sync()
    other.sync()

    assert ids_of(tree) == before
    assert set(tree.memories()) == BASE
    assert other.git("status", "--porcelain") == ""  # what the branch says stays


def test_no_write_while_git_holds_its_lock(tree):
    tree.remember(RULE, kind="convention")
    before = {name: tree.read(name) for name in ("CLAUDE.md", "AGENTS.md")}
    (tree.path / ".git/index.lock").write_text("")

    answer = files.files_sync(tree.home, tree.call)

    assert not answer["settled"]
    assert {name: tree.read(name) for name in before} == before
