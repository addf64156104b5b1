"""How many files name a file is counted in the commit, once some no longer do; never before."""

from dataclasses import replace

import pytest
from verb_world import prepared

from yaadwatch.db import anchors
from yaadwatch.model.anchors import Method
from yaadwatch.model.settings import WORD_FILES_MAX
from yaadwatch.staleness import anchoring, assessing
from yaadwatch.staleness.anchor_search import Source
from yaadwatch.staleness.commits import FILES_MAX
from yaadwatch.staleness.git_queries import History
from yaadwatch.staleness.uncommitted import at_commit

TEXT = "Start with `node bin/tool.js`"


@prepared
def site(world):
    repo = world.watched()
    repo.write("bin/tool.js", "run()\n")
    repo.write("bin/odd.js", "APP_TOKEN_FILE\n")
    repo.write("bin/start.py", "def launch():\n    return 1\n")
    return repo


def steps(site, count, says, first=0):
    """Write so many steps, four lines each, and commit them."""
    for number in range(first, first + count):
        lines = (f"step {number}.{line}: {says} go{line}\n" for line in range(4))
        site.write(f"steps/{number}.txt", "".join(lines))
    return site.commit(says)


def resting(site, memory):
    with site.db() as db:
        return db.read(anchors.of_nodes, [memory])[memory]


@pytest.mark.parametrize(
    ("text", "searches"),
    [
        (TEXT, 0),
        ("Tools live in `bin/`", 0),
        ("`launch()` in bin/start.py starts them", 0),
        ("APP_TOKEN_FILE comes last", 1),
    ],
    ids=["file", "folder", "definition in a file", "word"],
)
def test_only_a_statement_that_names_a_word_alone_is_searched_for(
    site, monkeypatch, text, searches
):
    steps(site, 6, "node bin/tool.js")
    commands, run = [], site.home.git.run
    monkeypatch.setattr(
        site.home.git, "run", lambda asked, **how: commands.append(asked[0]) or run(asked, **how)
    )

    memory = site.remembered(text)["id"]

    assert commands.count("grep") == searches
    assert searches or {anchor.spread for anchor in resting(site, memory)} == {0}


def test_a_file_that_others_no_longer_name_is_flagged(site):
    steps(site, 6, "node bin/tool.js")
    memory = site.remember(TEXT)
    steps(site, 6, "taskly")

    assert "6 files no longer name it; taskly is in its place" in site.flag_of(memory)["reason"]


AFTER = {
    "most of them": (12, 8, 0),
    "a few": (40, 3, 0),
    "as many name it now": (40, 3, 3),
    "none": (6, 0, 0),
    "too many to tell anything": (WORD_FILES_MAX + 1, 300, 0),
}


@pytest.mark.parametrize("what", AFTER)
def test_a_verdict_does_not_depend_on_when_they_were_counted(site, what):
    named, lost, gained = AFTER[what]
    then = steps(site, named, "node bin/tool.js")
    now = steps(site, lost, "taskly") if lost else site.commit("nothing")
    if gained:
        now = steps(site, gained, "node bin/tool.js", first=named)
    with site.home.space(site.call) as space:
        history = History(space.repository)
        view = at_commit(history, then)
        counted = anchoring.anchor([Source(text=TEXT)], view, then)[0]
        head = at_commit(history, now)

        judged = assessing.assess(TEXT, counted, head, head)
        later = [replace(one, spread=0) for one in counted]
        again = assessing.assess(TEXT, later, head, head)

    assert [(one.method, one.spread) for one in counted] == [(Method.FILE, named)]
    assert (again.score, again.level, again.features) == (
        judged.score,
        judged.level,
        judged.features,
    )
    assert [one.seen for one in again.observations] == [one.seen for one in judged.observations]


def test_of_a_great_change_only_what_is_named_anywhere_may_be_stirred(site):
    then = steps(site, 6, "node bin/tool.js")
    for number in range(FILES_MAX + 1):
        site.write(f"zeal/{number}.txt", "x odd.js\n")
    now = site.commit("great")
    with site.home.space(site.call) as space:
        window = at_commit(History(space.repository), now).window(then)

        stirred = window.stirred(["gone.js"], ["gone.js", "tool.js", "odd.js", "nowhere.js"])

    assert stirred == {"gone.js", "tool.js", "odd.js"}


def test_of_a_small_change_what_it_names_is_stirred(site):
    then = steps(site, 6, "node bin/tool.js")
    now = steps(site, 1, "node bin/odd.js")
    with site.home.space(site.call) as space:
        window = at_commit(History(space.repository), now).window(then)

        assert window.stirred(["gone.js"], ["tool.js", "odd.js", "nowhere.js"]) == {
            "tool.js",
            "odd.js",
        }
