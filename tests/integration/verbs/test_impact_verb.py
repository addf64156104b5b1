"""Flag goes along links: what `stale` says of it, and what `impact` says beforehand."""

from dataclasses import replace
from datetime import timedelta

import pytest
from refusals import refusal_with_hint as refusal
from verb_world import FIVE_TRIES, NET, RETRY, Tree, table

from yaadwatch.db import nodes
from yaadwatch.model.errors import Code
from yaadwatch.model.settings import IMPACT_NODES_MAX
from yaadwatch.recall import recall
from yaadwatch.sessions import context

ALARM = "The night alarm waits for as long as all retries take"
PAGER = "Pagers are off until the night alarm was heard"


@pytest.fixture
def retry(repo):
    return repo.remember()


@pytest.fixture
def alarm(repo, retry):
    """A memory without a file of its own, which depends on the retries."""
    found = repo.remember(ALARM)
    repo.link(found, "depends_on", retry)
    return found


class TestStale:
    def test_what_depends_on_a_flagged_memory_is_suspect_with_the_way_it_came(
        self, repo, retry, alarm
    ):
        repo.write("src/net.py", FIVE_TRIES)

        flag = repo.flag_of(alarm)

        assert (flag["verdict"], flag["level"], flag["via"]) == ("changed", "suspect", [retry])
        assert flag["score"] == pytest.approx(repo.flag_of(retry)["score"] * 0.8, abs=1e-3)
        assert flag["reason"].startswith(f'depends on {retry[-8:]} ("The retry limit lives')
        assert flag["evidence"] == repo.flag_of(retry)["evidence"]
        assert "via" not in repo.flag_of(retry)
        assert alarm not in [row["id"] for row in repo.stale()["stale"]]

    def test_a_strong_link_to_what_is_gone_is_a_warning(self, repo, retry, alarm):
        repo.commit("drop it", gone=["src/net.py"])

        assert [row["id"] for row in repo.stale()["stale"]] == [retry, alarm]
        assert repo.flag_of(alarm)["level"] == "warn"
        assert repo.flag_of(alarm)["score"] == pytest.approx(
            repo.flag_of(retry)["score"] * 0.8, abs=1e-3
        )
        told = recall.recall(repo.home, repo.call, query="night alarm")["results"]
        assert told[0]["stale"] == {"verdict": "gone", "score": repo.flag_of(alarm)["score"]}
        assert ALARM in context.context(repo.home, repo.call)["brief"]
        assert repo.show(alarm)["stale"]["via"] == [retry]

    def test_what_only_moved_spreads_less(self, repo, retry, alarm):
        repo.move("src/net.py", "src/http.py")

        assert repo.flag_of(alarm)["score"] == pytest.approx(
            repo.flag_of(retry)["score"] * 0.5 * 0.8, abs=1e-3
        )

    def test_flag_goes_three_links_far_and_says_each(self, repo, retry, alarm):
        chain = [retry, alarm]
        for number in range(3):
            chain.append(repo.remember(f"Rule {number} of the night shift holds"))
            repo.link(chain[-1], "depends_on", chain[-2])
        repo.git("rm", "-q", "src/net.py")

        assert repo.flag_of(chain[3])["via"] == chain[:3]
        assert "through" in repo.flag_of(chain[3])["reason"]
        assert repo.flag_of(chain[4]) is None

    def test_it_goes_when_the_file_is_as_it_was(self, repo, alarm):
        repo.write("src/net.py", FIVE_TRIES)
        assert repo.flag_of(alarm)

        repo.write("src/net.py", NET)

        assert repo.flag_of(alarm) is None

    def test_it_goes_when_its_source_is_confirmed_or_forgotten(self, repo, retry, alarm):
        repo.write("src/net.py", FIVE_TRIES)
        repo.confirm(retry)
        assert repo.flag_of(alarm) is None

        repo.write("src/net.py", NET)
        assert repo.flag_of(alarm)
        repo.forget(retry)
        assert repo.flag_of(alarm) is None

    def test_it_goes_when_the_link_is_ended_and_comes_with_a_new_one(self, repo, retry, alarm):
        repo.write("src/net.py", FIVE_TRIES)
        repo.unlink(alarm, "depends_on", retry)
        assert repo.flag_of(alarm) is None

        repo.link(alarm, "depends_on", retry)
        assert repo.flag_of(alarm)

    def test_confirming_what_it_reached_settles_it_there_and_behind(self, repo, retry, alarm):
        pager = repo.remember(PAGER)
        repo.link(pager, "depends_on", alarm)
        repo.git("rm", "-q", "src/net.py")
        assert repo.flag_of(pager)["via"] == [retry, alarm]

        repo.confirm(alarm)

        assert repo.flag_of(alarm) is None
        assert repo.flag_of(pager) is None
        assert repo.flag_of(retry)

    def test_a_new_reason_after_that_flags_it_again(self, repo, retry, alarm):
        repo.write("src/net.py", FIVE_TRIES)
        assert repo.flag_of(alarm)
        repo.confirm(alarm)
        repo.world.clock.advance(timedelta(minutes=1))

        repo.git("rm", "-q", "--cached", "src/net.py")
        (repo.path / "src/net.py").unlink()

        assert repo.flag_of(alarm)["verdict"] == "gone"

    def test_its_own_reason_stands_before_a_borrowed_one(self, repo, retry):
        own = repo.remember("open_url is called in src/net.py, by fetch_with_retry only")
        repo.link(own, "depends_on", retry)
        repo.write("src/net.py", FIVE_TRIES)

        assert "via" not in repo.flag_of(own)

    def test_two_memories_of_one_file_do_not_flag_each_other(self, repo, retry):
        other = repo.remember("`last` in src/net.py takes one away")
        repo.write("src/net.py", FIVE_TRIES)

        assert repo.flag_of(retry)
        assert repo.flag_of(other) is None

    def test_what_is_unknown_spreads_nothing(self, repo, retry, alarm):
        repo.write("src/net.py", "def (")

        assert repo.verdict(retry) == "unknown"
        assert repo.verdict(alarm) == "fresh"

    def test_an_archived_memory_neither_has_it_nor_hands_it_on(self, repo, alarm):
        pager = repo.remember(PAGER)
        repo.link(pager, "depends_on", alarm)
        repo.forget(alarm)
        repo.git("rm", "-q", "src/net.py")

        assert [row["verdict"] for row in repo.stale(all=True)["stale"]] == ["gone"]

    def test_each_work_tree_has_its_own(self, repo, alarm, world):
        repo.git("worktree", "add", "-q", str(world.folder / "linked"), "-b", "side")
        linked = Tree(world, world.folder / "linked")
        linked.write("src/net.py", FIVE_TRIES)

        assert linked.flag_of(alarm)
        assert repo.flag_of(alarm) is None

    def test_nothing_of_it_is_written_down(self, repo, retry, alarm):
        repo.write("src/net.py", FIVE_TRIES)
        repo.check()

        with repo.db() as db:
            assert [row[0] for row in table(db, "stale_flags")] == [retry]
            raised = [row[3] for row in table(db, "events") if row[1] == "stale.raised"]
        assert raised == [retry]


class TestImpact:
    def test_it_names_what_rests_on_a_file_directly_and_through_links(self, repo, retry, alarm):
        other = repo.remember("`last` in src/net.py takes one away")
        repo.remember("Notes are kept in notes.md")

        answer = repo.impact("src/net.py")

        assert (answer["path"], answer["symbol"], answer["there"]) == ("src/net.py", None, True)
        assert answer["symbols"] == ["fetch_with_retry", "last"]
        rows = {row["id"]: row for row in answer["memories"]}
        assert rows.keys() == {retry, other, alarm}
        assert [row["weight"] for row in answer["memories"]] == [1.0, 1.0, 0.8]
        assert {(a["path"], a.get("symbol")) for a in rows[retry]["anchors"]} == {
            ("src/net.py", None),
            ("src/net.py", "fetch_with_retry"),
        }
        assert (rows[retry]["via"], rows[retry]["along"]) == ([], [])
        assert rows[alarm]["via"] == [retry]
        assert rows[alarm]["along"] == [
            {"id": alarm, "kind": "depends_on", "to": retry, "weight": 1.0}
        ]
        assert all(row["stale"] is None for row in rows.values())

    def test_of_equals_the_one_that_more_rests_on_comes_first(self, repo, retry, alarm):
        repo.remember("`last` in src/net.py takes one away")

        memories = repo.impact("src/net.py")["memories"]

        assert memories[0]["id"] == retry
        assert memories[0]["centrality"] > memories[1]["centrality"]
        assert sum(row["centrality"] for row in memories) == pytest.approx(1.0, abs=1e-3)

    def test_it_says_what_is_flagged_already(self, repo, retry, alarm):
        repo.write("src/net.py", FIVE_TRIES)

        rows = {row["id"]: row["stale"] for row in repo.impact("src/net.py")["memories"]}

        assert rows[retry]["level"] == "warn"
        assert (rows[alarm]["level"], rows[alarm]["verdict"]) == ("suspect", "changed")

    def test_one_definition_is_less_than_its_file(self, repo, retry):
        repo.remember("`last` in src/net.py takes one away")

        answer = repo.impact("src/net.py:fetch_with_retry")

        assert (answer["path"], answer["symbol"]) == ("src/net.py", "fetch_with_retry")
        assert [row["id"] for row in answer["memories"]] == [retry]

    def test_a_definition_that_nothing_rests_on_says_which_ones_do(self, repo, retry):
        answer = repo.impact("src/net.py:open_url")

        assert answer["memories"] == []
        assert answer["symbols"] == ["fetch_with_retry"]

    def test_a_name_inside_a_type_is_found_by_its_last_part(self, repo):
        repo.commit("a box", {"box.py": "class Box:\n    def weigh(self):\n        return 1\n"})
        found = repo.remember("`Box.weigh` in box.py counts in grams")

        for asked in ("box.py:Box.weigh", "box.py:weigh"):
            assert [row["id"] for row in repo.impact(asked)["memories"]] == [found]

    def test_a_file_with_a_colon_in_its_name_is_a_file(self, repo):
        repo.write("a:b.txt", "x\n")
        found = repo.remember("The list is kept there", files=["a:b.txt"])

        assert repo.impact("a:b.txt")["path"] == "a:b.txt"
        assert [row["id"] for row in repo.impact("a:b.txt")["memories"]] == [found]

    def test_a_folder_is_all_that_is_below_it(self, repo, retry):
        assert [row["id"] for row in repo.impact("src")["memories"]] == [retry]
        assert [row["id"] for row in repo.impact("src/")["memories"]] == [retry]
        assert [row["id"] for row in repo.impact(".")["memories"]] == [retry]
        assert repo.impact(str(repo.path))["path"] == "."

    def test_paths_start_where_one_is(self, repo, retry):
        inside = Tree(repo.world, repo.path / "src")

        for path in ("net.py", "src/net.py", str(repo.path / "src/net.py")):
            assert inside.impact(path)["path"] == "src/net.py"

    def test_a_file_that_is_gone_still_has_its_memories(self, repo, retry):
        repo.git("rm", "-q", "src/net.py")

        answer = repo.impact("src/net.py")

        assert answer["there"] is False
        assert [row["stale"]["verdict"] for row in answer["memories"]] == ["gone"]

    def test_a_file_that_moved_is_found_at_both_places(self, repo, retry):
        repo.git("mv", "src/net.py", "src/http.py")

        for path in ("src/net.py", "src/http.py"):
            assert [row["id"] for row in repo.impact(path)["memories"]] == [retry]

    def test_a_file_that_nobody_speaks_of_has_none(self, repo):
        assert repo.impact("notes.md")["memories"] == []

    def test_what_is_nowhere_is_an_error_and_so_is_what_is_outside(self, repo):
        assert refusal(repo.impact, "src/nett.py").code is Code.NOT_FOUND
        assert refusal(repo.impact, "src/nett.py:last").code is Code.NOT_FOUND
        assert "outside" in refusal(repo.impact, "../elsewhere.py").message

    def test_it_looks_first_unless_told_otherwise(self, repo, retry):
        repo.write("src/net.py", FIVE_TRIES)

        assert repo.impact("src/net.py", check=False)["memories"][0]["stale"] is None
        assert repo.impact("src/net.py")["memories"][0]["stale"]

    def test_above_the_limit_it_says_how_many_more(self, repo, retry):
        with repo.db() as db:
            first = db.read(nodes.get, retry)
            for number in range(IMPACT_NODES_MAX + 5):
                copy = replace(first, id=f"copy-{number:04}", text_hash=f"copy {number}")
                db.write(nodes.insert, copy)
        for number in range(IMPACT_NODES_MAX + 5):
            repo.link(f"copy-{number:04}", "depends_on", retry)

        answer = repo.impact("src/net.py")

        assert len(answer["memories"]) == IMPACT_NODES_MAX
        assert answer["more"] == 6


class TestLink:
    def test_it_tells_both_ends_and_how_to_undo_it(self, repo, retry):
        other = repo.remember(ALARM)

        answer = repo.link(other[-8:], "Depends On", retry[-8:], weight=0.5)

        stored = repo.show(other)["edges"][-1]
        whose = ("by", "said_at", "approved_at", "unverified", "reach")
        both = {*whose, "to_by", "to_unverified", "to_reach"}
        assert both < answer.keys()
        assert (answer["by"], answer["to_by"]) == ("person", "person")
        assert {name: value for name, value in answer.items() if name not in both} == {
            "id": other,
            "edge": stored["edge"],
            "from": other,
            "kind": "depends_on",
            "to": retry,
            "weight": 0.5,
            "attributes": {},
            "since": stored["since"],
            "until": None,
            "text": ALARM,
            "to_text": RETRY,
            "made": True,
            "changed": False,
            "masked": [],
            "undo": f"yaadwatch unlink {other[-8:]} depends_on {retry[-8:]}",
        }
        (shown,) = [row for row in repo.show(other)["edges"] if row["kind"] == "depends_on"]
        assert (shown["from"], shown["to"], shown["weight"]) == (other, retry, 0.5)
        assert shown["text"] == RETRY
        assert repo.show(retry)["edges"][-1]["text"] == ALARM

    def test_unlinking_tells_how_it_was_and_twice_is_no_error(self, repo, retry, alarm):
        repo.link(alarm, "depends_on", retry, weight=0.25)

        ended = repo.unlink(alarm, "depends_on", retry)
        again = repo.unlink(alarm, "depends_on", retry)

        assert ended["ended"] is True
        assert ended["undo"] == f"yaadwatch link {alarm[-8:]} depends_on {retry[-8:]} --weight 0.25"
        assert (again["ended"], again["undo"]) == (False, None)

    def test_both_are_in_the_log(self, repo, retry, alarm):
        repo.unlink(alarm, "depends_on", retry)

        with repo.db() as db:
            told = [row[1:] for row in sorted(table(db, "events")) if '"depends_on"' in row[4]]
        assert [(row[0], row[2]) for row in told] == [
            ("edge.created", alarm),
            ("edge.closed", alarm),
        ]

    def test_a_circle_is_refused_with_the_way_that_would_close_it(self, repo, retry, alarm):
        pager = repo.remember(PAGER)
        repo.link(retry, "led_to", alarm)
        repo.link(alarm, "led_to", pager)

        refused = refusal(repo.link, pager, "led_to", retry)

        assert refused.code is Code.REFUSED
        way = " -> ".join(node[-8:] for node in (pager, retry, alarm, pager))
        assert way in refused.message
        led = [row for row in repo.show(pager)["edges"] if row["kind"] == "led_to"]
        assert [(row["from"], row["to"]) for row in led] == [(alarm, pager)]
        assert repo.link(pager, "relates_to", retry)["made"]

    @pytest.mark.parametrize("kind", ["touches", "learned_in", "Learned In"])
    def test_what_we_make_ourselves_is_refused(self, repo, retry, alarm, kind):
        assert refusal(repo.link, alarm, kind, retry).code is Code.REFUSED
        assert refusal(repo.unlink, alarm, kind, retry).code is Code.REFUSED

    def test_a_memory_cannot_be_linked_with_itself_or_with_an_archived_one(
        self, repo, retry, alarm
    ):
        assert refusal(repo.link, retry, "depends_on", retry).code is Code.BAD_REQUEST
        repo.forget(alarm)
        assert refusal(repo.link, alarm, "part_of", retry).code is Code.REFUSED
        assert repo.unlink(alarm, "depends_on", retry)["ended"]

    def test_files_and_unknown_ids_are_not_found(self, repo, retry):
        thing = next(row["to"] for row in repo.show(retry)["edges"])

        assert refusal(repo.link, retry, "depends_on", thing).code is Code.NOT_FOUND
        assert refusal(repo.link, retry, "depends_on", "nothing-like-it").code is Code.NOT_FOUND

    def test_anchors_taken_anew_leave_links_alone(self, repo, retry, alarm):
        repo.confirm(alarm)
        repo.confirm(retry)

        kinds = sorted(row["kind"] for row in repo.show(alarm)["edges"])
        assert kinds == ["depends_on", "learned_in"]
