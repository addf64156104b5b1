"""Decisions about proposals: whole after a kill, and never about words that changed since."""

import os
import shutil

import pytest
from engine_world import World
from stepping import Stepped, can_step
from test_review import RULE, agent, approve, dismiss, waiting

from yaadwatch.engine.memories import history, mend
from yaadwatch.engine.memories.review import decide, review
from yaadwatch.model.errors import Code, YaadError

YARN = "Use yarn for installs"
BUN = "Use bun for installs"


def proposes(repo, note, text=YARN):
    return mend.update(repo.home, agent(repo), id=note, text=text)


@pytest.fixture
def repo(world):
    repo = world.repo()
    repo.add(mode="read")
    return repo


@pytest.fixture
def note(repo):
    """A rule of the person for which an agent proposes other words."""
    note = repo.remember(RULE)
    proposes(repo, note)
    return note


def killed_at_writes(repo, work, *, most=12):
    """Yield after each run of `work` that was killed before one of its writes to a file."""
    world = repo.world
    template = world.folder.with_name(f"{world.folder.name}-template")
    world.home.close()
    shutil.copytree(world.folder, template, symlinks=True)

    def run():
        work(World(world.folder).tree("repo"))
        os._exit(0)

    writes = []
    with Stepped(run) as child:
        while child.to_call(child.calls):
            if child.name() in ("pwrite64", "fsync", "fdatasync"):
                writes.append(child.calls - 1)
        end = child.calls - 1
    assert len(writes) > most
    for number in [*writes[:: len(writes) // most], *writes[-2:], end]:
        shutil.rmtree(world.folder)
        shutil.copytree(template, world.folder, symlinks=True)
        with Stepped(run) as child:
            child.to_call(number)
            child.kill()
        world.reopen()
        yield number
        world.home.close()
    world.reopen()


@pytest.mark.skipif(not can_step(), reason="no process may be traced here")
@pytest.mark.parametrize("undone", [False, True], ids=["approve", "undo"])
def test_a_kill_leaves_a_proposal_decided_about_or_waiting(repo, note, undone):
    if undone:
        approve(repo, note)
    verdict = "undo" if undone else "approve"

    def work(tree):
        decide(tree.home, tree.call, id=note, verdict=verdict)

    seen = set()
    for number in killed_at_writes(repo, work):
        state = (repo.show(note)["text"], tuple(waiting(repo)))
        assert state in {(RULE, (YARN,)), (YARN, ())}, number
        seen.add(state)
        if state[0] == YARN:
            assert decide(repo.home, repo.call, id=note, verdict="undo")["text"] == RULE
    assert len(seen) == 2


def test_an_edit_of_the_person_drops_the_proposal(repo, note):
    repo.edit(note, BUN)

    assert waiting(repo) == []
    assert "proposed" not in repo.show(note)
    for verdict in ("approve", "dismiss"):
        with pytest.raises(YaadError) as refused:
            decide(repo.home, repo.call, id=note, verdict=verdict)
        assert refused.value.code is Code.REFUSED
    assert repo.show(note)["text"] == BUN


def test_a_proposal_waits_again_when_the_person_takes_the_edit_back(repo, note):
    repo.edit(note, BUN)
    history.restore(repo.home, repo.call, id=note, version=1)

    assert waiting(repo) == [YARN]


@pytest.mark.parametrize("act", ["confirm", "pin"])
def test_a_proposal_still_waits_when_the_words_stay_the_same(repo, note, act):
    getattr(repo, act)(note)

    assert waiting(repo) == [YARN]
    assert approve(repo, note)["text"] == YARN


def test_a_line_edited_in_an_agent_file_drops_the_proposal(world):
    repo = world.repo()
    repo.write("CLAUDE.md", "# Rules\n\n- Run the linter\n")
    repo.commit("rules")
    repo.add(mode="inline")
    note = repo.remember(RULE, kind="convention")
    repo.sync()
    repo.sync()
    proposes(repo, note)
    assert waiting(repo) == [YARN]

    repo.write("CLAUDE.md", repo.read("CLAUDE.md").replace(RULE, BUN))
    repo.sync()

    assert repo.show(note)["text"] == BUN
    assert waiting(repo) == []


def test_a_proposal_made_while_the_person_edits_is_not_approved(repo, note):
    seen = review(repo.home, repo.call)["waiting"][0]
    repo.edit(note, BUN)
    proposes(repo, note, YARN)

    with pytest.raises(YaadError) as refused:
        approve(repo, note, expected_version=seen["version"], proposal=seen["proposal"])

    assert refused.value.code is Code.CONFLICT
    assert repo.show(note)["text"] == BUN


@pytest.mark.parametrize("ended", ["forgotten", "superseded", "forgotten and restored"])
def test_no_proposal_waits_for_a_memory_that_holds_no_more(repo, note, ended):
    if ended == "superseded":
        repo.link(repo.remember(BUN), "supersedes", note)
    else:
        repo.forget(note)
    if ended == "forgotten and restored":
        repo.restore(note)

    assert waiting(repo) == ([YARN] if ended == "forgotten and restored" else [])


def test_undo_of_a_dismissal_is_refused_after_the_words_changed(repo, note):
    dismiss(repo, note)
    repo.edit(note, BUN)

    with pytest.raises(YaadError, match="no decision about memory"):
        decide(repo.home, repo.call, id=note, verdict="undo")
    with pytest.raises(YaadError, match="A person dismissed this"):
        proposes(repo, note)


def test_undo_of_an_edit_to_the_same_words_restores_no_older_version(repo):
    note = repo.remember("Use pip for installs")
    repo.edit(note, RULE)
    proposes(repo, note)
    decide(repo.home, repo.call, id=note, verdict="edit", text=RULE)
    assert waiting(repo) == []

    decide(repo.home, repo.call, id=note, verdict="undo")

    assert repo.show(note)["text"] == RULE
    assert waiting(repo) == [YARN]
