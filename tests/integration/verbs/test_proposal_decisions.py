"""Decisions about proposals: whole after a kill, and never about words that changed since."""

import os
import shutil

import pytest
from in_process import command
from refusals import refusal
from stepping import Stepped, can_step
from test_review import RULE, agent, approve, dismiss, states, waiting
from verb_world import World, prepared

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.remember import edit, history
from yaadwatch.remember.review import decide, review

YARN = "Use yarn for installs"
BUN = "Use bun for installs"


def proposes(repo, note, text=YARN):
    return edit.update(repo.home, agent(repo), id=note, text=text)


@prepared
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

    def work(tree):
        if undone:
            decide(tree.home, tree.call, id=note, verdict="undo")
        else:
            approve(tree, note)

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
        assert refusal(decide, repo.home, repo.call, id=note, verdict=verdict).code is Code.REFUSED
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
    repo.commit("rules", {"CLAUDE.md": "# Rules\n\n- Run the linter\n"})
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

    error = refusal(
        approve, repo, note, expected_version=seen["version"], proposal=seen["proposal"]
    )

    assert error.code is Code.CONFLICT
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


def listed_as(repo, text):
    """Return the ID that `review` prints before some words."""
    lines = command(repo, "review").out.splitlines()
    return next(line.split()[0] for line in lines if f'"{text}"' in line)


def test_a_note_that_never_changed_is_approved_by_its_id(repo):
    states(repo)

    assert "@" not in listed_as(repo, RULE)
    assert "Approved" in command(repo, "review", "--approve", listed_as(repo, RULE)).out


@pytest.mark.parametrize("times", [1, 3])
def test_a_note_that_an_agent_changed_after_it_was_listed_is_not_approved(repo, times):
    note = states(repo)["id"]
    seen = listed_as(repo, RULE)
    for number in range(times):
        edit.update(repo.home, agent(repo), id=note, text=f"{YARN} {number}")

    refused = command(repo, "review", "--approve", seen)

    assert refused.status != 0
    assert f'now says "{YARN} {times - 1}"' in refused.err
    assert waiting(repo) == [f"{YARN} {times - 1}"]
    again = refused.err.partition("yaadwatch ")[2].split()
    assert "Approved" in command(repo, *again).out


def test_the_listed_id_approves_only_the_listed_words_of_a_note(repo):
    note = states(repo)["id"]
    edit.update(repo.home, agent(repo), id=note, text=YARN)
    seen = listed_as(repo, YARN)
    edit.update(repo.home, agent(repo), id=note, text=BUN)

    assert BUN in command(repo, "review", "--approve", seen).err
    assert "Approved" in command(repo, "review", "--approve", listed_as(repo, BUN)).out


@pytest.mark.parametrize("back", [False, True], ids=["other words", "the first words again"])
def test_the_listed_id_approves_only_the_listed_proposal(repo, note, back):
    seen = listed_as(repo, YARN)
    proposes(repo, note, BUN)
    if back:
        proposes(repo, note, YARN)

    refused = command(repo, "review", "--approve", seen)

    assert refused.status != 0
    assert f'now proposes "{YARN if back else BUN}"' in refused.err
    assert repo.show(note)["text"] == RULE


def test_the_same_proposal_made_again_keeps_its_listed_id(repo, note):
    seen = listed_as(repo, YARN)
    proposes(repo, note)

    assert "Approved" in command(repo, "review", "--approve", seen).out
    assert repo.show(note)["text"] == YARN


def test_a_proposal_is_not_approved_by_the_id_of_its_memory_alone(repo, note):
    refused = command(repo, "review", "--approve", note)

    assert refused.status != 0
    assert f'agent claude proposes "{YARN}"' in refused.err
    assert "Approved" in command(repo, *refused.err.partition("yaadwatch ")[2].split()).out


@pytest.mark.parametrize("given", ["@", "@7", "@p0", "@" + "9" * 200, "@x y"])
def test_an_id_with_something_else_after_it_approves_nothing(repo, note, given):
    refused = command(repo, "review", "--approve", f"{note}{given}")

    assert refused.status != 0
    assert "Traceback" not in refused.err
    assert repo.show(note)["text"] == RULE


def test_undone_decision_is_made_again_in_review(repo, note):
    dismiss(repo, note)

    assert decide(repo.home, repo.call, id=note, verdict="undo")["undo"] == "yaadwatch review"
