"""The brief that is prepared for hooks: what it says, when it is written, when it goes."""

import os
import stat
from dataclasses import replace
from pathlib import Path

from verb_world import FIVE_TRIES

from yaadwatch import places
from yaadwatch.client import hook_agents
from yaadwatch.projects import erasing
from yaadwatch.sessions import context, sessions

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def prepare(repo, **more):
    context.prepare(repo.home, repo.project, 1, **more)


def read(repo, agent="claude", *, is_short=False):
    return hook_agents.prepared_brief(str(repo.path), agent, is_short=is_short)[0]


def files():
    return sorted(Path(places.prepared_briefs()).glob("*"))


def rule(repo, text="Always use httpx for calls"):
    return repo.remember(text, kind="convention")


def test_hook_reads_what_the_daemon_would_have_answered(repo):
    rule(repo)
    prepare(repo)

    answered = sessions.session_start(
        repo.home, replace(repo.call, origin="agent:vim"), name="1", wait_ms=0
    )

    sections = read(repo).partition("\n## ")[2]
    assert "httpx" in sections
    assert sections == str(answered["brief"]).partition("\n## ")[2]


def test_flag_is_in_the_brief_after_the_check_that_found_it(repo):
    repo.remember()
    repo.look()
    prepare(repo)
    before = read(repo)
    repo.write("src/net.py", FIVE_TRIES)
    repo.check_tree()

    prepare(repo)

    assert "May no longer be true" not in before
    assert "fetch_with_retry in src/net.py changed" in read(repo)
    assert "fetch_with_retry in src/net.py changed" in read(repo, is_short=True)


def test_files_are_readable_only_by_their_owner(repo):
    rule(repo)
    prepare(repo)

    (one,) = files()
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert stat.S_IMODE(one.parent.stat().st_mode) == 0o700


def test_branch_has_a_brief_of_its_own(repo):
    rule(repo)
    prepare(repo)
    repo.git("switch", "-qc", "other")

    assert read(repo) == "", "the brief of main says nothing about this branch"
    prepare(repo)

    assert "httpx" in read(repo)
    assert len(files()) == 2


def test_linked_work_tree_has_a_brief_of_its_own(repo):
    rule(repo)
    linked = repo.world.folder / "linked"
    repo.git("worktree", "add", "-q", str(linked))
    prepare(repo)

    assert hook_agents.prepared_brief(str(linked), "claude", is_short=False) == ("", "")
    with repo.home.space(replace(repo.call, folder=linked)) as space:
        context.prepare(repo.home, space.project.id, space.worktree.id)

    assert "httpx" in hook_agents.prepared_brief(str(linked), "claude", is_short=False)[0]


def test_agent_that_has_begun_a_session_gets_a_brief_of_its_own(repo):
    """What it reads in its own files is left out, as in the answer of the daemon."""
    repo.write("CLAUDE.md", "# Conventions\n\n- Never push to main\n")
    rule(repo)
    repo.commit("rules")
    repo.settle()
    codex = replace(repo.call, origin="agent:codex")
    sessions.session_start(repo.home, codex, name="1", wait_ms=0)

    prepare(repo)

    answered = context.context(repo.home, codex, wait_ms=0)
    assert read(repo, "codex").partition("\n## ")[2] == str(answered["brief"]).partition("\n## ")[2]
    assert sorted(one.name.split("-")[-1] for one in files()) == ["any.json", "codex.json"]


def test_unknown_agent_is_given_no_file(repo):
    for name in ("vim", "../../x", "any"):
        call = replace(repo.call, origin=f"agent:{name}")
        sessions.session_start(repo.home, call, name="1", wait_ms=0)

    assert files() == []


def test_nothing_new_is_a_new_time_and_no_new_file(repo):
    rule(repo)
    prepare(repo)
    (one,) = files()
    inode = one.stat().st_ino
    os.utime(one, (1, 1))

    prepare(repo)

    assert one.stat().st_ino == inode
    assert one.stat().st_mtime > 1
    prepare(repo, force=True)
    assert one.stat().st_ino != inode


def test_erased_memory_is_in_no_prepared_brief(repo):
    memory = rule(repo, "The vault is behind the painting of the queen")
    prepare(repo)
    assert "painting" in read(repo)

    erasing.erase(repo.home, repo.call, id=memory)

    assert files() == []
    prepare(repo)
    assert "painting" not in read(repo)


def test_removed_project_has_no_prepared_brief(repo):
    rule(repo)
    prepare(repo)

    repo.remove()

    assert files() == []
    context.prepare(repo.home, "nowhere", 1)
    assert files() == []


def test_secret_is_masked(repo):
    rule(repo, f"Never use the token {TOKEN} again")
    prepare(repo)

    (one,) = files()
    assert TOKEN not in one.read_text()
    assert "Never use the token" in one.read_text()


def test_old_briefs_and_too_many_are_deleted(repo, monkeypatch):
    monkeypatch.setattr(context, "FILES_MAX", 3)
    rule(repo)
    folder = Path(places.prepared_briefs())
    folder.mkdir(mode=0o700)
    now = repo.world.clock.now_ns() // 10**9
    for number, age_s in enumerate((8 * 86_400, 30, 20, 10)):
        one = folder / f"0000000{number}-00000000-any.json"
        one.write_text("{}")
        os.utime(one, (now - age_s, now - age_s))

    prepare(repo)

    names = [one.name[:8] for one in files()]
    assert len(names) == 3
    assert {"00000002", "00000003"} < set(names)


def test_folder_that_is_a_link_is_not_written_to(repo, tmp_path):
    """Somebody may have put one there; the check goes on."""
    rule(repo)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Path(places.prepared_briefs()).symlink_to(elsewhere)

    prepare(repo)

    assert list(elsewhere.iterdir()) == []


def test_project_at_which_something_is_stored_meanwhile_is_prepared_again(repo, monkeypatch):
    rule(repo)
    compose = context.compose
    told = []

    def slowly(*args, **more):
        found = compose(*args, **more)
        if not told:
            told.append(rule(repo, "Never push to main"))
        return found

    monkeypatch.setattr(context, "compose", slowly)
    prepare(repo)

    assert "push" in read(repo)


def test_head_is_read_as_git_writes_it(repo):
    root = str(repo.path)
    assert places.work_tree_of(str(repo.path / "src")) == root
    assert places.head_of(root) == "ref: refs/heads/main"
    repo.git("checkout", "-q", "--detach")
    assert places.head_of(root) == repo.head()
    assert places.work_tree_of("/") == ""
