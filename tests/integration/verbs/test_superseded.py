"""What stands in the place of a rule is told instead of it, until somebody says the rule again."""

from contextlib import closing
from datetime import timedelta

import pytest
from refusals import refusal
from verb_world import prepared

from yaadwatch import places
from yaadwatch.db import edges, nodes
from yaadwatch.db.database import Database
from yaadwatch.memory import claims, contradictions, flags
from yaadwatch.model import events
from yaadwatch.model.errors import Code
from yaadwatch.model.queries import GivenEdge, GivenNode
from yaadwatch.projects import erasing
from yaadwatch.recall import recall
from yaadwatch.remember import curate, edit, inject, links, remember
from yaadwatch.sessions import context
from yaadwatch.workspace.workspace import Call

YARN, PNPM, NPM = "Install with yarn", "Install with pnpm", "Install with npm"
THREE, FIVE = "The client retries 3 times", "The client retries 5 times"
CLAUDE = "CLAUDE.md"
PRIVATE = ".claude/rules/yaad.md"


@prepared
def tree(world):
    """A repository with a rule of a person's own, whose agent file is inline."""
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("rules", {CLAUDE: "# Rules\n\n- Keep functions short\n"})
    tree.add(mode="inline")
    return tree


def said(rows):
    """Return the ids and texts of memories in an answer."""
    return [{"id": row["id"], "text": row["text"]} for row in rows]


def agent(tree):
    return Call(folder=tree.path, origin="agent:claude")


def rule(tree, text, **fields):
    return tree.remember(text, kind="convention", **fields)


def by_agent(tree, text, **fields):
    fields.setdefault("kind", "convention")
    return remember.remember(tree.home, agent(tree), text=text, **fields)


def brief(tree, call=None):
    return context.context(tree.home, call or tree.call)["brief"]


def block(tree, path=CLAUDE):
    """Return the rules in the block of a file after a sync."""
    tree.sync()
    _, found, inner = tree.read(path).partition("yaad:begin")
    lines = inner.split("<!-- yaad:end")[0].splitlines() if found else []
    return [line[2:] for line in lines if line.startswith("- ")]


def type_in(tree, old, new, path=CLAUDE):
    tree.write(path, tree.read(path).replace(old, new))
    tree.sync()


def retrying(tree, memory, value, **fields):
    """Let a memory claim how often the client retries; return its id."""
    tree.claim(memory, "client", "retries", value, **fields)
    return memory


def listed(tree):
    return contradictions.contradictions(tree.home, tree.call)["contradictions"]


def settle(tree, keep=None, call=None, **fields):
    (one,) = listed(tree)
    return claims.resolve(tree.home, call or tree.call, id=one["id"], keep=keep, **fields)


def _restored(tree, memory):
    curate.forget(tree.home, tree.call, id=memory)
    curate.restore(tree.home, tree.call, id=memory)


SAYINGS = {
    "remembered": lambda tree, memory: rule(tree, YARN),
    "edited": lambda tree, memory: edit.update(tree.home, tree.call, id=memory, text=YARN + " 4"),
    "confirmed": lambda tree, memory: curate.confirm(tree.home, tree.call, id=memory),
    "pinned": lambda tree, memory: curate.pin(tree.home, tree.call, id=memory),
    "restored": _restored,
}
"""Each way in which a person says a memory anew."""


SAYINGS_SAME = {
    "remembered": lambda tree, memory: tree.remembered(THREE, kind="convention"),
    "confirmed": lambda tree, memory: tree.confirm(memory),
    "pinned": lambda tree, memory: tree.pin(memory),
    "restored": lambda tree, memory: (tree.forget(memory), tree.restore(memory))[1],
}
"""Each way in which a person says THREE anew and is told what that contradicts."""


def claimed(tree, **fields):
    rows = claims.claims(tree.home, tree.call, subject="client", **fields)["claims"]
    return sorted((row["value"], row["holds"]) for row in rows)


def _number(tree, later, earlier):
    return next(one["edge"] for one in over(tree, earlier) if one["from"] == later)


def _closed(tree, later, earlier):
    links.close_link(tree.home, tree.call, edge=_number(tree, later, earlier))


def _deleted(tree, later, earlier):
    links.delete_edge(tree.home, tree.call, edge=_number(tree, later, earlier))


ENDINGS = {
    "unlinked": lambda tree, later, earlier: tree.unlink(later, "supersedes", earlier),
    "closed": _closed,
    "deleted": _deleted,
}
"""Each way in which a relation is ended."""


def confidence_in_half_a_year(tree, memory):
    with tree.home.space(tree.call) as space:
        node = space.db.read(nodes.get, memory)
        later = tree.home.clock.now() + timedelta(days=180)
        settings = tree.home.settings
        return space.db.read(flags.confidences, [node], settings, later)[memory]


def over(tree, memory):
    """Return the open edges by which something stands in the place of a memory."""
    edges = tree.show(memory)["edges"]
    return [one for one in edges if one["kind"] == "supersedes" and one["to"] == memory]


class TestRules:
    def test_only_what_stands_in_its_place_is_told_and_written(self, tree):
        yarn, pnpm = rule(tree, YARN), rule(tree, PNPM)
        assert block(tree) == [YARN, PNPM]

        tree.link(pnpm, "supersedes", yarn)

        assert block(tree) == [PNPM]
        type_in(tree, f"- {PNPM}\n", "")  # out of the block, so that the brief tells it
        assert YARN not in brief(tree)

    def test_the_brief_tells_it_no_more(self, repo):
        yarn, pnpm = rule(repo, YARN), rule(repo, PNPM)
        repo.link(pnpm, "supersedes", yarn)

        told = context.context(repo.home, repo.call)

        assert PNPM in told["brief"]
        assert YARN not in told["brief"]

    def test_a_private_file_has_only_the_later_one(self, world):
        tree = world.repo()
        tree.add(mode="private")
        yarn, pnpm = rule(tree, YARN), rule(tree, PNPM)
        tree.sync()
        assert YARN in tree.read(PRIVATE)

        tree.link(pnpm, "supersedes", yarn)
        tree.sync()

        assert PNPM in tree.read(PRIVATE)
        assert YARN not in tree.read(PRIVATE)

    def test_it_is_a_rule_again_when_the_relation_ends_or_the_other_one_is_forgotten(self, tree):
        yarn, pnpm = rule(tree, YARN), rule(tree, PNPM)
        tree.link(pnpm, "supersedes", yarn)
        tree.unlink(pnpm, "supersedes", yarn)
        assert sorted(block(tree)) == [PNPM, YARN]

        tree.link(pnpm, "supersedes", yarn)
        tree.forget(pnpm)

        assert block(tree) == [YARN]

    def test_whoever_tidies_up_the_second_of_three_does_not_bring_back_the_first(self, tree):
        yarn, npm, pnpm = rule(tree, YARN), rule(tree, NPM), rule(tree, PNPM)
        tree.link(npm, "supersedes", yarn)
        tree.link(pnpm, "supersedes", npm)

        tree.forget(npm)

        assert block(tree) == [PNPM]

    @pytest.mark.parametrize("gone", [erasing.erase, curate.delete_node])
    def test_nor_does_whoever_takes_it_away_for_good(self, tree, gone):
        yarn, npm, pnpm = rule(tree, YARN), rule(tree, NPM), rule(tree, PNPM)
        tree.link(npm, "supersedes", yarn)
        tree.link(pnpm, "supersedes", npm)

        gone(tree.home, tree.call, id=npm)

        assert block(tree) == [PNPM]
        assert [one["from"] for one in over(tree, yarn)] == [pnpm]

    def test_nor_does_it_in_a_backup(self, tree):
        yarn, npm, pnpm = rule(tree, YARN), rule(tree, NPM), rule(tree, PNPM)
        tree.link(npm, "supersedes", yarn)
        tree.link(pnpm, "supersedes", npm)
        backup = places.backups(tree.project) / "20260101T000000000000.db"
        with tree.db() as db:
            db.backup(backup)

        erasing.erase(tree.home, tree.call, id=npm)

        with closing(Database.open(backup, role="project")) as copy:
            assert copy.read(edges.successors, [yarn]) == {yarn: {pnpm}}

    def test_what_takes_the_place_of_a_rule_is_one(self, tree):
        yarn = rule(tree, YARN)
        fact = tree.remember("pnpm came with the move to Node 22", kind="fact", tier=2)

        tree.link(fact, "supersedes", yarn)

        assert block(tree) == ["pnpm came with the move to Node 22"]

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["the last first", "the first first"])
    @pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
    def test_whoever_ends_that_takes_it_back(self, tree, end, order):
        yarn, npm = rule(tree, YARN), rule(tree, NPM)
        fact = tree.remember("pnpm came with the move to Node 22", kind="fact", tier=3)
        tree.link(fact, "supersedes", yarn)
        tree.link(fact, "supersedes", npm)

        first, last = ((npm, yarn)[number] for number in order)
        end(tree, fact, first)
        assert tree.show(fact)["tier"] == 1
        end(tree, fact, last)

        assert tree.show(fact)["tier"] == 3
        assert block(tree) == [YARN, NPM]

    def test_so_is_what_a_batch_puts_there_unless_it_says_the_tier(self, tree):
        yarn, npm = rule(tree, YARN), rule(tree, NPM)
        batch = {
            "nodes": [
                GivenNode(id="later-1", text="pnpm came with Node 22", kind="fact"),
                GivenNode(id="later-2", text="bun came with Node 24", kind="fact", tier=2),
            ],
            "edges": [
                GivenEdge(from_="later-1", kind="supersedes", to=yarn),
                GivenEdge(from_="later-2", kind="supersedes", to=npm),
            ],
        }

        inject.inject(tree.home, tree.call, **batch)

        assert block(tree) == ["pnpm came with Node 22"]
        again = inject.inject(tree.home, tree.call, **batch)
        assert (again["nodes"]["same"], again["edges"]["same"]) == (2, 2)

    def test_what_takes_the_place_of_a_pinned_memory_is_a_rule_too(self, tree):
        fact = tree.remember("yarn came with Node 18", kind="fact", tier=2)
        tree.pin(fact)
        later = tree.remember("pnpm came with Node 22", kind="fact", tier=2)

        tree.link(later, "supersedes", fact)

        assert block(tree) == ["pnpm came with Node 22"]


class TestPeopleAndAgents:
    def test_an_agent_does_not_silence_what_a_person_said(self, tree):
        yarn = rule(tree, YARN)
        pnpm = by_agent(tree, PNPM)["id"]

        links.link(tree.home, agent(tree), id=pnpm, kind="supersedes", to=yarn)

        assert block(tree) == [YARN]
        assert tree.show(pnpm)["version"] == 1

    @pytest.mark.parametrize(
        "say",
        [
            lambda tree, memory: tree.confirm(memory),
            lambda tree, memory: tree.pin(memory),
            lambda tree, memory: tree.remembered(PNPM),
        ],
        ids=["confirmed", "pinned", "remembered"],
    )
    def test_a_person_who_vouches_for_what_an_agent_put_there_hears_in_whose_place(self, tree, say):
        yarn = rule(tree, YARN)
        pnpm = by_agent(tree, PNPM)["id"]
        links.link(tree.home, agent(tree), id=pnpm, kind="supersedes", to=yarn)
        assert "stands_for" not in curate.confirm(tree.home, agent(tree), id=pnpm)

        answer = say(tree, pnpm)

        assert said(answer["stands_for"]) == [{"id": yarn, "text": YARN}]
        assert block(tree) == [PNPM]

    def test_an_agent_puts_nothing_that_a_person_said_in_the_place_of_another_such_thing(
        self, tree
    ):
        yarn, pnpm = rule(tree, YARN), rule(tree, PNPM)

        error = refusal(links.link, tree.home, agent(tree), id=pnpm, kind="supersedes", to=yarn)
        edge = GivenEdge(from_=pnpm, kind="supersedes", to=yarn)
        (left_out,) = inject.inject(tree.home, agent(tree), edges=[edge])["left_out"]

        assert error.code is Code.REFUSED
        assert "a person said both" in left_out["reason"]
        assert block(tree) == [YARN, PNPM]
        tree.link(pnpm, "supersedes", yarn)
        again = inject.inject(tree.home, agent(tree), edges=[edge])
        assert (again["edges"]["same"], again["left_out"]) == (1, [])
        assert not links.link(tree.home, agent(tree), id=pnpm, kind="supersedes", to=yarn)["made"]

    def test_an_agent_hides_no_contradiction_by_its_own_words(self, tree):
        three = retrying(tree, rule(tree, THREE), "3")
        five = by_agent(tree, FIVE, kind="fact")["id"]
        retrying(tree, five, "5", call=agent(tree))
        before = confidence_in_half_a_year(tree, three)

        links.link(tree.home, agent(tree), id=five, kind="supersedes", to=three)

        (one,) = listed(tree)
        assert {side["node"] for side in one["sides"]} == {three, five}
        assert tree.show(three)["superseded_by"] is None
        found = recall.recall(tree.home, tree.call, query="client retries")["results"]
        assert [row["superseded_by"] for row in found] == [None, None]
        now = events.time_text(tree.home.clock.now())
        then = recall.recall(tree.home, tree.call, query="client retries", at=now)["results"]
        assert {row["id"] for row in then} == {three, five}
        assert confidence_in_half_a_year(tree, three) > before

    def test_a_person_who_puts_an_agents_words_in_a_place_vouches_for_them(self, tree):
        yarn = rule(tree, YARN)
        pnpm = by_agent(tree, PNPM)["id"]

        tree.link(pnpm, "supersedes", yarn)

        assert block(tree) == [PNPM]

    @pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
    def test_whoever_ends_that_takes_the_vouching_back(self, tree, end):
        yarn = rule(tree, YARN)
        pnpm = by_agent(tree, PNPM)["id"]
        tree.link(pnpm, "supersedes", yarn)

        end(tree, pnpm, yarn)

        assert block(tree) == [YARN]
        links.link(tree.home, agent(tree), id=pnpm, kind="supersedes", to=yarn)
        assert block(tree) == [YARN]

    def test_an_agent_cannot_take_back_what_a_person_decided_and_is_told_so(self, tree):
        yarn, pnpm = rule(tree, YARN), rule(tree, PNPM)
        tree.link(pnpm, "supersedes", yarn)

        answer = by_agent(tree, YARN)

        assert answer["decision"] == "same"
        assert said(answer["superseded_by"]) == [{"id": pnpm, "text": PNPM}]
        assert block(tree) == [PNPM]


class TestSaidAgain:
    def test_what_a_person_says_again_holds_again_and_contradicts(self, tree):
        three = retrying(tree, tree.remember(THREE), "3")
        five = retrying(tree, tree.remember(FIVE), "5")
        settle(tree, five)
        assert listed(tree) == []

        answer = tree.remembered(THREE)

        assert answer["id"] == three
        assert [one["value"] for one in answer["contradicts"]] == ["3"]
        assert over(tree, three) == []
        assert len(listed(tree)) == 1

    @pytest.mark.parametrize("say", SAYINGS_SAME.values(), ids=SAYINGS_SAME)
    def test_so_does_each_way_in_which_it_is_said_after_it_was_settled(self, tree, say):
        three = retrying(tree, rule(tree, THREE), "3")
        five = retrying(tree, rule(tree, FIVE), "5")
        settle(tree, five)

        answer = say(tree, three)

        assert [one["value"] for one in answer["contradicts"]] == ["3"]
        (one,) = listed(tree)
        assert {side["node"] for side in one["sides"]} == {three, five}

    @pytest.mark.parametrize(
        "again",
        [
            lambda tree, memory: tree.edit(memory, "The client retries 7 times"),
            lambda tree, memory: tree.confirm(memory),
            lambda tree, memory: tree.pin(memory),
            lambda tree, memory: (tree.forget(memory), tree.restore(memory)),
        ],
        ids=["edited", "confirmed", "pinned", "restored"],
    )
    def test_whatever_states_it_anew_does_that(self, tree, again):
        three = retrying(tree, tree.remember(THREE), "3")
        five = retrying(tree, tree.remember(FIVE), "5")
        settle(tree, five)

        again(tree, three)

        assert over(tree, three) == []
        history = tree.show(three, view="all")["edges"]
        assert [one for one in history if one["kind"] == "supersedes" and one["until"]]

    @pytest.mark.parametrize("say", [curate.confirm, curate.pin])
    def test_who_states_it_anew_hears_what_it_contradicts(self, tree, say):
        three = retrying(tree, tree.remember(THREE), "3")
        five = retrying(tree, tree.remember(FIVE), "5")
        tree.link(five, "supersedes", three)

        answer = say(tree.home, tree.call, id=three)

        assert [one["value"] for one in answer["contradicts"]] == ["3"]

    @pytest.mark.parametrize("say", [curate.confirm, curate.pin])
    def test_an_agent_that_states_it_anew_hears_what_stands_there(self, tree, say):
        yarn, pnpm = rule(tree, YARN), rule(tree, PNPM)
        tree.link(pnpm, "supersedes", yarn)

        answer = say(tree.home, agent(tree), id=yarn)

        assert said(answer["superseded_by"]) == [{"id": pnpm, "text": PNPM}]


class TestFiles:
    def test_a_line_typed_over_before_it_went_is_kept_as_a_rule(self, tree):
        yarn, pnpm = rule(tree, YARN), rule(tree, PNPM)
        block(tree)
        tree.link(pnpm, "supersedes", yarn)

        type_in(tree, YARN, "Install with yarn 4")

        assert sorted(block(tree)) == ["Install with pnpm", "Install with yarn 4"]
        assert over(tree, yarn) == []

    def test_a_line_typed_again_is_a_rule_again(self, tree):
        yarn, pnpm = rule(tree, YARN), rule(tree, PNPM)
        tree.link(pnpm, "supersedes", yarn)
        assert block(tree) == [PNPM]

        type_in(tree, f"- {PNPM}\n", f"- {PNPM}\n- {YARN}\n")

        assert sorted(block(tree)) == [PNPM, YARN]
        assert over(tree, yarn) == []

    def test_an_old_branch_does_not_bring_it_back(self, tree):
        yarn, pnpm = rule(tree, YARN), rule(tree, PNPM)
        block(tree)
        tree.commit("both rules")
        tree.git("branch", "old")
        tree.link(pnpm, "supersedes", yarn)
        block(tree)
        tree.commit("the later one")

        for branch in ("old", "main", "old"):
            tree.git("checkout", "-q", "--force", branch)
            assert sorted(block(tree)) == ([PNPM] if branch == "main" else [PNPM, YARN])

        assert len(over(tree, yarn)) == 1

    def test_what_a_persons_file_says_stays_there_and_the_brief_tells_what_stands_instead(
        self, tree
    ):
        type_in(tree, "- Keep functions short\n", f"- Keep functions short\n- {THREE}\n")
        three = tree.remembered(THREE)["id"]
        retrying(tree, three, "3")
        five = retrying(tree, tree.remember(FIVE), "5")
        before = tree.read(CLAUDE)

        done = settle(tree, five)

        assert done["still_said"] == [{"id": three, "path": CLAUDE, "line": 4}]
        assert tree.read(CLAUDE).startswith(before)
        assert f"superseded: {THREE}" in brief(tree).replace('"', "")
        assert FIVE in brief(tree)

    def test_new_words_and_old_ones_back_and_forth_make_no_circle(self, tree):
        tree.commit("agents", {"AGENTS.md": "# For agents\n"})
        tree.add(mode="inline")
        type_in(tree, "# Rules\n", f"# Rules\n\n- {YARN}\n")
        block(tree, "AGENTS.md")
        texts = ["Install with yarn 4", YARN, "Install with yarn 4", "Install with yarn 5", YARN]

        for old, new in zip([YARN, *texts], texts, strict=False):
            type_in(tree, old, new, "AGENTS.md")
            assert new in tree.read("AGENTS.md")


class TestBranches:
    @pytest.fixture
    def feature(self, world):
        """A work tree on a branch that put a rule in the place of one of main; and both ids."""
        tree = world.repo()
        tree.add(mode="private")
        yarn = rule(tree, YARN)
        tree.git("switch", "-q", "-c", "feature")
        tree.commit("feature")
        pnpm = rule(tree, PNPM)
        tree.link(pnpm, "supersedes", yarn)
        tree.sync()
        assert YARN not in tree.read(PRIVATE)
        return tree, yarn, pnpm

    def test_who_says_it_on_another_branch_is_not_told_of_what_is_not_there(self, feature):
        tree, _, pnpm = feature
        assert said(by_agent(tree, YARN)["superseded_by"]) == [{"id": pnpm, "text": PNPM}]

        tree.git("switch", "-q", "main")

        assert "superseded_by" not in by_agent(tree, YARN)

    def test_on_a_branch_that_lacks_the_later_one_the_earlier_one_counts(self, feature):
        tree, _, _ = feature
        tree.git("switch", "-q", "main")
        tree.sync()

        assert YARN in tree.read(PRIVATE)
        assert PNPM not in tree.read(PRIVATE)

    @pytest.mark.parametrize("say", SAYINGS.values(), ids=SAYINGS)
    def test_who_says_it_anew_on_another_branch_changes_nothing_on_this_one(self, feature, say):
        tree, yarn, _ = feature
        tree.git("switch", "-q", "main")
        tree.sync()

        say(tree, yarn)

        tree.git("switch", "-q", "feature")
        tree.sync()
        assert len(over(tree, yarn)) == 1
        assert YARN not in tree.read(PRIVATE)

    @pytest.mark.parametrize("say", SAYINGS.values(), ids=SAYINGS)
    def test_who_says_it_anew_here_brings_it_back_here(self, feature, say):
        tree, yarn, _ = feature

        say(tree, yarn)

        assert over(tree, yarn) == []


class TestClaims:
    @pytest.mark.parametrize("how", ["keeps its own", "keeps none"])
    def test_an_agent_ends_for_its_own_words_nothing_that_a_person_said(self, tree, how):
        retrying(tree, rule(tree, THREE), "3")
        five = by_agent(tree, FIVE, kind="fact")["id"]
        retrying(tree, five, "5", call=agent(tree))
        decision = {"keep": five} if how == "keeps its own" else {"keep": None, "none": True}

        assert refusal(settle, tree, call=agent(tree), **decision).code is Code.REFUSED
        assert block(tree) == [THREE]
        assert len(listed(tree)) == 1
        assert contradictions.contradictions(tree.home, tree.call, settled=True)["settled"] == []

    def test_what_an_agent_put_in_vain_in_the_place_of_what_is_kept_is_in_nobodys_way(self, tree):
        three = retrying(tree, rule(tree, THREE), "3")
        five = by_agent(tree, FIVE)["id"]
        retrying(tree, five, "5", call=agent(tree))
        links.link(tree.home, agent(tree), id=five, kind="supersedes", to=three)

        done = settle(tree, three)

        assert done["superseded"] == [five]
        assert over(tree, three) == []
        assert block(tree) == [THREE]

    def test_what_is_superseded_claims_nothing_now_and_again_without_what_stands_there(self, tree):
        three = retrying(tree, rule(tree, THREE), "3")
        five = retrying(tree, rule(tree, FIVE), "5")
        done = settle(tree, five)
        assert (done["superseded"], done["ended"]) == ([three], [])
        assert claimed(tree) == [("5", True)]
        assert claimed(tree, all=True) == [("3", False), ("5", True)]

        tree.forget(five)

        assert claimed(tree) == [("3", True)]
        seven = tree.remember("The client retries 7 times")
        answer = tree.claim(seven, "client", "retries", "7")
        assert [one["value"] for one in answer["contradicts"]] == ["7"]

    def test_on_a_branch_without_what_is_kept_the_other_one_claims_still(self, tree):
        three = retrying(tree, rule(tree, THREE), "3")
        tree.git("switch", "-q", "-c", "feature")
        tree.commit("feature")
        settle(tree, retrying(tree, rule(tree, FIVE), "5"))

        tree.git("switch", "-q", "main")

        assert claimed(tree) == [("3", True)]
        seven = tree.remember("The client retries 7 times")
        answer = tree.claim(seven, "client", "retries", "7")
        assert [one["id"] for one in answer["contradicts"][0]["against"]] == [three]

    def test_what_another_branch_superseded_loses_here_the_claim_alone_if_it_says_more(self, tree):
        more = retrying(tree, rule(tree, f"{THREE}. The API port is 8080."), "3")
        tree.claim(more, "api", "port", "8080")
        tree.git("switch", "-q", "-c", "feature")
        tree.commit("feature")
        tree.link(rule(tree, "The client was rewritten"), "supersedes", more)
        tree.git("switch", "-q", "main")

        done = settle(tree, retrying(tree, rule(tree, FIVE), "5"))

        assert (done["superseded"], len(done["ended"])) == ([], 1)
        assert more in {one["id"] for one in done["still_rules"]}

    def test_rules_that_say_still_what_is_not_kept_are_told(self, tree):
        more = retrying(tree, rule(tree, f"{THREE}. The API port is 8080."), "3")
        tree.claim(more, "api", "port", "8080")
        five = retrying(tree, rule(tree, FIVE), "5")

        assert said(settle(tree, five)["still_rules"]) == [{"id": more, "text": f"{THREE}."}]
        seven = retrying(tree, rule(tree, "The client retries 7 times"), "7")
        done = settle(tree, None, none=True)

        assert {one["id"] for one in done["still_rules"]} == {five, seven}

    def test_a_persons_file_that_says_more_than_what_is_not_kept_is_told(self, tree):
        words = f"{THREE}. The API port is 8080."
        type_in(tree, "- Keep functions short\n", f"- {words}\n")
        more = retrying(tree, tree.remember(words), "3")
        tree.claim(more, "api", "port", "8080")
        five = retrying(tree, rule(tree, FIVE), "5")

        done = settle(tree, five)

        assert [(one["path"], one["line"]) for one in done["still_said"]] == [(CLAUDE, 3)]
        assert done["still_rules"] == []
