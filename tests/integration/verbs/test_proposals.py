"""An agent's edit of a person's memory is a proposal: the person's words stay until they decide."""

import pytest
from in_process import command
from refusals import refusal
from test_review import RULE, agent, approve, brief, carried, dismiss, section, states, waiting
from verb_world import prepared

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.queries import GivenNode
from yaadwatch.projects import erasing
from yaadwatch.recall.recall import recall
from yaadwatch.remember import curate, edit, history, inject, links
from yaadwatch.remember.review import decide, review

YARN = "Use yarn for installs"


def proposes(repo, note, text=YARN, name="claude"):
    return edit.update(repo.home, agent(repo, name), id=note, text=text)


@prepared
def claude(world):
    """A watched repository in which Claude Code is at work."""
    repo = world.repo()
    (repo.path / ".claude").mkdir()
    repo.add(mode="private")
    return repo


@pytest.fixture
def note(claude):
    """A rule of the person."""
    return claude.remember(RULE)


@pytest.mark.parametrize("said_by", ["person", "approved agent"])
def test_an_agents_edit_of_a_persons_rule_is_a_proposal(claude, said_by):
    note = claude.remember(RULE) if said_by == "person" else states(claude)["id"]
    if said_by != "person":
        approve(claude, note)
    before = claude.show(note)["version"]

    answer = proposes(claude, note, name="codex")

    assert (answer["text"], answer["version"], answer["waits"]) == (RULE, before, True)
    row = review(claude.home, claude.call)["waiting"][0]
    assert (row["text"], row["by"], row["before"]) == (YARN, "agent codex", RULE)
    assert row["unverified"]
    assert row["said_at"] is not None
    assert RULE in carried(claude)
    assert "yarn" not in carried(claude)
    assert RULE in "".join(section(brief(claude), "## Rules"))
    assert "yarn" not in brief(claude)


def test_recall_and_show_return_the_persons_words_and_quote_the_proposal(claude, note):
    proposes(claude, note)

    found = recall(claude.home, claude.call, query="pnpm installs")["results"][0]
    for row in (found, claude.show(note)):
        assert (row["text"], row["by"], row["unverified"]) == (RULE, "person", False)
        assert (row["proposed"]["text"], row["proposed"]["by"]) == (YARN, "agent claude")
    for line in (("recall", "pnpm installs"), ("show", note)):
        assert f'claude proposes "{YARN}"' in command(claude, *line).out


def test_an_approved_proposal_becomes_the_rule(claude, note):
    proposes(claude, note)

    done = approve(claude, note)

    assert (done["text"], done["by"], done["left"]) == (YARN, "person", 0)
    assert "proposed" not in claude.show(note)
    assert "yarn" in carried(claude)
    assert RULE not in carried(claude)
    last = history.history(claude.home, claude.call, id=note)["versions"][-1]
    assert last["reason"] == "proposed by agent claude"


@pytest.mark.parametrize("times", [1, 3])
def test_a_dismissed_proposal_leaves_the_persons_words_and_is_refused_again(claude, note, times):
    for number in range(times):
        proposes(claude, note, f"Use yarn {number} for installs")
    last = f"Use yarn {times - 1} for installs"
    assert waiting(claude) == [last]

    out = command(claude, "review", "--dismiss", note).out

    assert f"your words stay: {RULE}" in out
    assert claude.show(note)["version"] == 1
    assert RULE in carried(claude)
    assert waiting(claude) == []
    with pytest.raises(YaadError, match="A person dismissed this on"):
        proposes(claude, note, last)
    with pytest.raises(YaadError, match="A person dismissed this on"):
        states(claude, last.upper())


def test_a_person_may_give_a_proposal_other_words(claude, note):
    proposes(claude, note)

    decide(claude.home, claude.call, id=note, verdict="edit", text="Use bun for installs")

    assert "bun" in carried(claude)
    assert waiting(claude) == []


def test_older_words_that_an_agent_restores_are_a_proposal(claude):
    note = states(claude, "Run the linter with npm")["id"]
    claude.edit(note, "Run the linter with bun")

    history.restore(claude.home, agent(claude), id=note, version=1)

    assert waiting(claude) == ["Run the linter with npm"]
    assert "bun" in carried(claude)
    assert "npm" not in carried(claude)


ACTS = {
    "edit": lambda repo, note: proposes(repo, note, "Use npm"),
    "restore": lambda repo, note: history.restore(repo.home, agent(repo), id=note, version=1),
    "confirm": lambda repo, note: curate.confirm(repo.home, agent(repo), id=note),
    "pin": lambda repo, note: curate.pin(repo.home, agent(repo), id=note),
    "unpin": lambda repo, note: curate.unpin(repo.home, agent(repo), id=note),
    "tag": lambda repo, note: curate.tag(repo.home, agent(repo), id=note, add=["old"]),
    "forget": lambda repo, note: curate.forget(repo.home, agent(repo), id=note),
    "delete": lambda repo, note: curate.delete_node(repo.home, agent(repo), id=note),
    "erase": lambda repo, note: erasing.erase(repo.home, agent(repo), id=note),
    "reanchor": lambda repo, note: edit.reanchor(repo.home, agent(repo), all=True),
    "a lower tier": lambda repo, note: states(repo, kind="fact", tier=3),
    "another scope": lambda repo, note: states(repo, scope="user"),
    "its key": lambda repo, note: states(repo, "Use npm", key="installs"),
    "inject": lambda repo, note: inject.inject(
        repo.home, agent(repo), nodes=[GivenNode(id=note, text="Use npm", tier=3)]
    ),
    "supersede": lambda repo, note: links.link(
        repo.home, agent(repo), id=states(repo, "Use npm")["id"], kind="supersedes", to=note
    ),
    "supersede by a person's": lambda repo, note: links.link(
        repo.home, agent(repo), id=repo.remember("Use bun"), kind="supersedes", to=note
    ),
}

REFUSED = {
    "forget": "it was not forgotten",
    "delete": "it was not deleted",
    "erase": "it was not erased",
    "its key": "A person said what is kept under the key installs",
    "supersede by a person's": "only a person can supersede it with another of theirs",
}
WAITS = {
    "edit": ["Use npm"],
    "restore": ["Use pip for installs"],
    "another scope": [RULE],
    "supersede": ["Use npm"],
}
"""What an act leaves in the review; the others leave nothing."""


@pytest.mark.covering
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("is_pinned", [False, True], ids=["hot", "pinned"])
def test_no_act_of_an_agent_takes_a_persons_rule_out_of_the_rules_file(claude, act, is_pinned):
    how = {"kind": "fact", "tier": 2, "pin": True} if is_pinned else {"tier": 1}
    note = claude.remember("Use pip for installs", key="installs", **how)
    claude.edit(note, RULE)
    assert RULE in carried(claude)

    refused = dict(REFUSED)
    if is_pinned:
        refused["unpin"] = "it was not unpinned"

    if act in refused:
        error = refusal(ACTS[act], claude, note)
        assert error.code is Code.REFUSED
        assert refused[act] in error.message
    else:
        ACTS[act](claude, note)

    assert waiting(claude) == WAITS.get(act, [])
    shown = claude.show(note)
    assert (shown["text"], shown["by"], shown["archived_at"]) == (RULE, "person", None)
    assert (shown["tier"], shown["pinned"]) == ((2, True) if is_pinned else (1, act == "pin"))
    assert RULE in carried(claude)


def test_an_agent_does_not_end_that_a_rule_supersedes_another(claude):
    old = claude.remember("Use pip for installs", tier=1)
    new = claude.remember(RULE, kind="fact", tier=2)
    links.link(claude.home, claude.call, id=new, kind="supersedes", to=old)
    assert RULE in carried(claude)
    edges = curate.show(claude.home, claude.call, id=new)["edges"]
    edge = next(one["edge"] for one in edges if one["kind"] == "supersedes")

    for act in (
        lambda: links.unlink(claude.home, agent(claude), id=new, kind="supersedes", to=old),
        lambda: links.close_link(claude.home, agent(claude), edge=edge),
        lambda: links.delete_edge(claude.home, agent(claude), edge=edge),
    ):
        with pytest.raises(YaadError, match="A person said or approved memory"):
            act()

    assert RULE in carried(claude)


def test_an_agent_unpins_what_it_pinned_itself(claude):
    note = claude.remember("The port is 8080", kind="fact", tier=2)
    curate.pin(claude.home, agent(claude), id=note)

    assert not curate.unpin(claude.home, agent(claude), id=note)["pinned"]


@pytest.mark.parametrize("said_by", ["import:rules", "agent:claude"])
def test_an_import_rewords_no_memory_of_a_person(claude, said_by):
    claude.remember(RULE, key="installs")
    page = claude.world.folder / "rules"
    page.mkdir()
    (page / "p.md").write_text("---\ntype: convention\nkey: installs\n---\n\nUse npm\n")

    command(claude, "import", page)

    assert RULE in carried(claude)


@pytest.mark.parametrize("verdict", ["approve", "edit", "dismiss"])
def test_a_decision_about_a_proposal_can_be_undone(claude, note, verdict):
    proposes(claude, note)
    text = "Use bun for installs" if verdict == "edit" else None
    seen = review(claude.home, claude.call)["waiting"][0]["proposal"]
    done = decide(claude.home, claude.call, id=note, verdict=verdict, text=text, proposal=seen)
    assert done["undo"].startswith("yaadwatch review --undo ")

    undone = command(claude, *done["undo"].split()[1:]).out

    assert "waits for review again" in undone
    assert waiting(claude) == [YARN]
    assert RULE in carried(claude)
    assert approve(claude, note)["text"] == YARN


@pytest.mark.parametrize("verdict", ["approve", "edit", "dismiss"])
def test_a_decision_about_a_note_can_be_undone(claude, verdict):
    note = states(claude)["id"]
    text = "Use bun for installs" if verdict == "edit" else None
    decide(claude.home, claude.call, id=note, verdict=verdict, text=text)

    undone = decide(claude.home, claude.call, id=note, verdict="undo")

    assert (undone["verdict"], undone["text"], undone["left"]) == ("undo", RULE, 1)
    assert undone["unverified"]
    assert waiting(claude) == [RULE]
    assert "installs" not in carried(claude)


@pytest.mark.parametrize("changed", ["never decided", "confirmed since", "edited since"])
def test_only_the_last_change_is_undone_and_only_if_it_was_a_decision(claude, changed):
    note = states(claude)["id"]
    if changed != "never decided":
        approve(claude, note)
    if changed == "confirmed since":
        claude.confirm(note)
    if changed == "edited since":
        claude.edit(note, "Use bun for installs")

    with pytest.raises(YaadError, match="no decision about memory"):
        decide(claude.home, claude.call, id=note, verdict="undo")


def test_an_agent_undoes_no_decision(claude):
    note = states(claude)["id"]
    dismiss(claude, note)

    with pytest.raises(YaadError, match="Only a person decides"):
        decide(claude.home, agent(claude), id=note, verdict="undo")


def test_a_proposal_that_changed_meanwhile_is_not_decided_about(claude, note):
    proposes(claude, note)
    seen = review(claude.home, claude.call)["waiting"][0]["proposal"]
    proposes(claude, note, "Use npm for installs", name="codex")

    for verdict in ("approve", "dismiss"):
        error = refusal(decide, claude.home, claude.call, id=note, verdict=verdict, proposal=seen)
        assert error.code is Code.CONFLICT
        assert "Use npm for installs" in error.message
    assert waiting(claude) == ["Use npm for installs"]


def test_a_proposal_for_words_that_changed_meanwhile_is_not_approved(claude, note):
    proposes(claude, note)
    seen = review(claude.home, claude.call)["waiting"][0]["version"]
    claude.edit(note, "Use bun for installs")

    assert refusal(approve, claude, note, expected_version=seen).code is Code.CONFLICT
    assert "bun" in carried(claude)


def test_the_review_shows_what_a_note_would_replace(claude, note):
    other = states(claude, YARN)["id"]
    links.link(claude.home, agent(claude), id=other, kind="supersedes", to=note)

    assert review(claude.home, claude.call)["waiting"][0]["before"] == RULE


def test_erasing_a_memory_erases_its_proposal(claude, note):
    proposes(claude, note, "Use otter-7731 for installs")

    erasing.erase(claude.home, claude.call, id=note)

    assert waiting(claude) == []
    with claude.db() as db:
        assert db.read(lambda conn: conn.execute("SELECT count(*) FROM proposals").get) == 0


def test_erasing_words_erases_a_proposal_that_quotes_them(claude, note):
    proposes(claude, note, "Use the otter-7731 mirror, not npm")
    secret = claude.remember("Use the otter-7731 mirror")

    erasing.erase(claude.home, claude.call, id=secret)

    assert waiting(claude) == []


@pytest.mark.parametrize(
    ("way", "long"),
    [
        ("note", "Check each of these words before you install. " * 100),
        ("proposal", "Check each of these words before you install. " * 100),
        ("note", "Check each of these words before you install. " * 50),
        ("note", "Always confirm this first. " + "必ず確認してください。" * 150),
    ],
    ids=["4 kB", "4 kB proposed", "2.3 kB", "5 kB of 1,700 characters"],
)
def test_a_rule_that_no_file_has_room_for_says_so(claude, note, way, long):
    if way == "note":
        note = states(claude, long)["id"]
    else:
        proposes(claude, note, long)

    listed = review(claude.home, claude.call)["waiting"][0]
    name = f"{note}@{listed['proposal']}" if listed["proposal"] else note
    out = command(claude, "review", "--approve", name).out

    assert (listed["too_long"], listed["files"]) == (True, [])
    assert "too long for a rules file" in out
    assert "goes to" not in out


def test_a_secret_that_a_person_types_in_a_review_is_refused_and_not_repeated(claude):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    note = states(claude)["id"]

    ran = command(claude, "review", "--edit", note, f"Use {token} for installs")

    assert ran.status != 0
    assert "secret" in ran.err
    assert token not in ran.out + ran.err
