"""The table of the merge, row by row, and what a person would be surprised by."""

from dataclasses import replace

import pytest

from bridges.block import NOTICE
from yaadwatch.model.projects import Agreed, Agreement
from yaadwatch.sync.inventory import Paused
from yaadwatch.sync.plan import New, Plan, Superseded, plan
from yaadwatch.sync.reconcile import Commits, File, Graph, Known, Terms, Words
from yaadwatch.text.words import text_hash

TERMS = Terms(
    as_stored=lambda text: text.replace("hunter2", "[masked:password]").strip(),
    hashed=lambda line: f"#{line}",
)
TABS, JOSE, TEST = "Use tabs in Go files", "Use jose, not jsonwebtoken", "Run `make test` first"


def graph(*texts, **options):
    """Hot memories named by their order: n0, n1, ...; None is one that is gone."""
    memories = (Known(node=f"n{i}", text=text) for i, text in enumerate(texts) if text is not None)
    return Graph(memories=tuple(memories), **options)


def block(*texts, **options):
    return File(lines=tuple(f"- {text}" for text in texts), **options)


def agreed(*texts):
    rows = (
        Agreed(position=i, node=f"n{i}", graph=text, file=f"#- {text}")
        for i, text in enumerate(texts)
    )
    return Agreement(digest="", items=tuple(rows))


def made(agreement, graph, file, **options):
    result = plan(agreement, graph, file, TERMS, **options)
    assert isinstance(result, Plan)
    return result


def said(plan):
    return [line.removeprefix("- ") for line in plan.lines]


def test_nothing_new_changes_nothing():
    result = made(agreed(TABS, JOSE), graph(TABS, JOSE), block(TABS, JOSE))

    assert not result.changes_graph
    assert not result.writes
    assert result.agreement([], "d") == replace(agreed(TABS, JOSE), digest="d")


def test_new_words_in_the_graph_are_rendered_in_their_place():
    result = made(agreed(TABS, JOSE), graph("Use spaces", JOSE), block(TABS, JOSE))

    assert said(result) == ["Use spaces", JOSE]
    assert result.writes
    assert not result.changes_graph


def test_new_words_in_the_file_supersede_the_memory():
    new = "Use tabs in Go and Makefiles"

    result = made(agreed(TABS, JOSE), graph(TABS, JOSE), block(new, JOSE))

    assert result.superseded == (Superseded(node="n0", text=new),)
    assert not result.writes
    assert [row.node for row in result.agreement([], "").items] == ["n0", "n1"]


def test_of_two_new_words_the_files_win_and_the_graphs_are_kept():
    result = made(agreed(TABS), graph("Use tabs in Go"), block("Use tabs in all Go files"))

    assert result.superseded == (
        Superseded(node="n0", text="Use tabs in all Go files", over="Use tabs in Go"),
    )


def test_a_new_line_is_a_memory_and_stays_where_it_is():
    result = made(agreed(TABS, JOSE), graph(TABS, JOSE), block(TABS, TEST, JOSE))

    assert result.new == (New(text=TEST),)
    assert not result.writes
    assert [row.node for row in result.agreement(["n9"], "").items] == ["n0", "n9", "n1"]


def test_a_deleted_line_is_demoted_and_stays_away():
    result = made(agreed(TABS, JOSE), graph(TABS, JOSE), block(JOSE))

    assert result.demoted == ("n0",)
    assert result.tombstones == (text_hash(TABS),)
    assert not result.writes


def test_a_deleted_line_that_the_graph_changed_is_demoted_with_its_new_words():
    result = made(agreed(TABS, JOSE), graph("Use spaces", JOSE), block(JOSE))

    assert result.demoted == ("n0",)
    assert result.superseded == ()
    assert set(result.tombstones) == {text_hash(TABS), text_hash("Use spaces")}


def test_the_line_of_an_archived_memory_goes():
    result = made(agreed(TABS, JOSE), graph(None, JOSE), block(TABS, JOSE))

    assert said(result) == [JOSE]
    assert not result.changes_graph


def test_the_last_line_takes_the_block_with_it():
    result = made(agreed(TABS), graph(None), File(lines=(NOTICE, f"- {TABS}", "")))

    assert result.lines == ()
    assert result.writes


def test_new_words_for_an_archived_memory_are_a_memory_again():
    result = made(agreed(TABS), graph(None), block("Use tabs in all Go files"))

    assert result.new == (New(text="Use tabs in all Go files"),)


def test_new_words_for_a_demoted_memory_make_it_hot_again():
    cold = Graph(memories=(Known(node="n0", text=TABS, hot=False),))

    result = made(agreed(TABS), cold, block("Use tabs in all Go files"))

    assert result.superseded == (Superseded(node="n0", text="Use tabs in all Go files"),)


def test_a_memory_that_a_persons_file_says_keeps_its_words_and_the_new_ones_are_another():
    own = Graph(memories=(Known(node="n0", text=TABS, is_said=True),))

    result = made(agreed(TABS), own, block("Use tabs in all Go files"))

    assert result.superseded == ()
    assert result.new == (New(text="Use tabs in all Go files", supersedes="n0"),)
    assert result.demoted == ("n0",)


def test_words_of_another_memory_are_no_edit():
    """Then two memories would say the same."""
    result = made(agreed(TABS), graph(TABS, "Use tabs in Go"), block("Use tabs in Go"))

    assert result.superseded == ()
    assert result.demoted == ("n0",)
    assert [row.node for row in result.agreement([], "").items] == ["n1"]


def test_a_line_replaced_by_something_quite_different_is_two_changes():
    result = made(agreed(TABS, JOSE), graph(TABS, JOSE), block("Ask before adding one", JOSE))

    assert result.superseded == ()
    assert result.demoted == ("n0",)
    assert result.new == (New(text="Ask before adding one"),)


def test_two_lines_that_are_equally_like_an_old_one_are_both_new():
    result = made(agreed("Use tabs"), graph("Use tabs"), block("Use tabs A", "Use tabs B"))

    assert result.superseded == ()
    assert [new.text for new in result.new] == ["Use tabs A", "Use tabs B"]


def test_moved_lines_are_the_same_rules():
    result = made(agreed(TABS, JOSE, TEST), graph(TABS, JOSE, TEST), block(TEST, JOSE, TABS))

    assert not result.changes_graph
    assert not result.writes
    assert [row.node for row in result.agreement([], "").items] == ["n2", "n1", "n0"]


def test_dots_and_blanks_are_no_new_words():
    result = made(agreed(TABS), graph(TABS), File(lines=(f"*   {TABS}.",)))

    assert not result.changes_graph
    assert not result.writes


def test_a_secret_stays_in_the_file_and_out_of_the_plan():
    raw, masked = "The password is hunter2", "The password is [masked:password]"

    result = made(agreed(TABS), graph(TABS), block(TABS, raw))

    assert result.new == (New(text=masked),)
    assert "hunter2" not in repr((result.new, result.superseded, result.tombstones))
    assert said(result) == [TABS, raw]


def test_new_words_of_the_graph_never_overwrite_a_secret():
    raw, masked = "The password is hunter2", "The password is [masked:password]"
    before = Agreement(
        digest="",
        items=(Agreed(position=0, node="n0", graph=masked, file=f"#- {raw}"),),
    )

    result = made(before, graph("Ask Ann for the password"), block(raw))

    assert not result.writes
    assert result.agreement([], "").items[0].graph == "Ask Ann for the password"


def test_a_rule_that_the_file_says_itself_is_not_repeated():
    outside = frozenset({text_hash(TABS)})

    fresh = made(None, graph(TABS, JOSE), File(lines=None, outside=outside))
    later = made(agreed(TABS, JOSE), graph(TABS, JOSE), block(TABS, JOSE, outside=outside))

    assert said(fresh) == said(later) == [JOSE]
    assert not later.changes_graph


def test_a_line_moved_out_of_the_block_is_not_deleted():
    outside = frozenset({text_hash(TABS)})

    result = made(agreed(TABS, JOSE), graph(TABS, JOSE), block(JOSE, outside=outside))

    assert not result.changes_graph
    assert not result.writes


def test_old_words_moved_out_while_the_graph_changed_leave_the_new_ones_in():
    outside = frozenset({text_hash(TABS)})

    result = made(agreed(TABS, JOSE), graph("Use spaces", JOSE), block(JOSE, outside=outside))

    assert result.demoted == ()
    assert said(result) == [JOSE, "Use spaces"]


def test_a_person_who_types_the_graphs_new_words_is_not_asked_to_delete_the_old_ones():
    result = made(agreed(TABS), graph("Use spaces"), block(TABS, "Use spaces"))

    assert said(result) == ["Use spaces"]
    assert not result.changes_graph


def test_two_rules_that_became_one_are_one():
    both = "Use tabs in all files"

    result = made(
        agreed("Use tabs in Go files", JOSE, "Use tabs in C files"),
        graph("Use tabs in Go files", JOSE, "Use tabs in C files"),
        block(both, JOSE, both),
    )

    assert result.superseded == (Superseded(node="n0", text=both),)
    assert result.demoted == ("n2",)
    assert not result.writes


def test_a_memory_that_was_forgotten_and_told_again_keeps_its_line():
    again = Graph(memories=(Known(node="n1", text=JOSE), Known(node="n5", text=TABS)))

    result = made(agreed(TABS, JOSE), again, block(TABS, JOSE))

    assert not result.writes
    assert [row.node for row in result.agreement([], "").items] == ["n5", "n1"]


def test_a_memory_has_one_line_when_it_says_what_a_forgotten_one_said():
    result = made(agreed(TABS, JOSE), graph(None, TABS), block(TABS, JOSE, TABS))

    assert said(result) == [TABS]


def test_a_rule_said_twice_is_one_rule():
    result = made(agreed(TABS), graph(TABS), block(TABS, TABS))

    assert not result.changes_graph
    assert not result.writes
    assert len(result.agreement([], "").items) == 1


def test_a_copy_goes_with_its_rule():
    result = made(agreed(TABS, JOSE), graph(None, JOSE), block(TABS, JOSE, TABS))

    assert said(result) == [JOSE]
    assert result.new == ()


def test_a_rule_that_the_file_says_itself_may_be_typed_in_the_block_too():
    result = made(agreed(), graph(TABS), block(TABS, outside=frozenset({text_hash(TABS)})))

    assert not result.changes_graph
    assert not result.writes


def test_two_memories_of_the_same_words_have_one_line():
    assert said(made(None, graph(TABS, TABS), File(lines=None))) == [TABS]


def test_words_that_another_memory_says_by_now_are_not_buried_with_the_one_that_said_them():
    memories = Graph(
        memories=(
            Known(node="n0", text=JOSE),
            Known(node="n1", text=TEST),
            Known(node="n2", text=TABS),
        )
    )

    result = made(agreed(TABS, TEST), memories, block(TEST))

    assert result.demoted == ("n0",)
    assert result.tombstones == (text_hash(JOSE),)
    assert said(result) == [TEST, TABS]


def test_new_rules_come_below_what_is_nested_in_the_last_one():
    lines = (f"- {TABS}", "  ```", "", "  - code", "  ```", "The end.")

    result = made(agreed(TABS), graph(TABS, JOSE), File(lines=lines))

    assert result.lines == (*lines[:5], f"- {JOSE}", "The end.")


def test_what_is_no_rule_is_carried_at_its_place():
    lines = (
        NOTICE,
        "## Style",
        f"- {TABS}",
        "",
        "Some prose.",
        "```",
        "- code",
        "```",
        f"- {JOSE}",
        "",
        "The end.",
    )

    result = made(agreed(TABS, JOSE), graph(None, "Use jose", TEST), File(lines=lines))

    assert result.new == ()
    assert result.lines == (
        *lines[:2],
        *lines[3:8],
        "- Use jose",
        f"- {TEST}",
        "",
        "The end.",
    )


def test_a_rule_over_two_lines_is_one_rule_and_is_rendered_on_one():
    lines = ("1. [ ] Use tabs", "   in Go files", f"- {JOSE}")

    known = made(None, graph(TABS, JOSE), File(lines=lines))
    changed = made(known.agreement([], ""), graph("Use spaces", JOSE), File(lines=lines))

    assert known.new == ()
    assert changed.lines == ("1. [ ] Use spaces", f"- {JOSE}")


def test_what_stays_in_the_block_is_not_typed_again():
    result = made(agreed(TABS), graph(TABS, buried={text_hash(TABS)}), block(TABS))

    assert result.lifted == ()


def test_a_new_line_that_turns_out_to_be_a_known_memory_is_agreed_once():
    result = made(agreed(TABS), graph(TABS), block(TABS, TEST, JOSE))

    rows = result.agreement(["n0", "n5"], "").items

    assert [(row.position, row.node, row.graph) for row in rows] == [
        (0, "n0", TABS),
        (1, "n5", JOSE),
    ]


def test_an_empty_hot_tier_writes_no_block():
    result = made(None, graph(), File(lines=None))

    assert result == Plan()


def test_a_first_block_says_the_hot_tier_in_its_order():
    result = made(None, graph(TABS, JOSE), File(lines=None))

    assert said(result) == [TABS, JOSE]
    assert result.writes


def test_a_text_of_many_lines_keeps_its_lines():
    result = made(None, graph("Use tabs\n\n- in Go"), File(lines=None))

    assert result.lines == ("- Use tabs", "", "  - in Go")


@pytest.mark.parametrize("text", ["---", "nul \0 byte", "\ud800"])
def test_what_no_line_can_say_is_left_out_and_said_so(text):
    result = made(None, graph(text, TABS), File(lines=None))

    assert said(result) == [TABS]
    assert result.unsayable == ("n0",)
    assert result.left_out == ()


def test_an_unknown_block_is_a_union():
    result = made(None, graph(TABS, JOSE), block(JOSE, TEST))

    assert said(result) == [JOSE, TEST, TABS]
    assert result.new == (New(text=TEST),)
    assert result.demoted == ()


def test_old_bytes_bring_nothing_back_that_a_person_took_out():
    result = made(None, graph(JOSE, buried={text_hash(TABS)}), block(TABS, JOSE, from_git=True))

    assert said(result) == [JOSE]
    assert not result.changes_graph


def test_a_person_who_types_it_again_has_it_back():
    result = made(agreed(JOSE), graph(JOSE, buried={text_hash(TABS)}), block(JOSE, TABS))

    assert result.new == (New(text=TABS),)
    assert result.lifted == (text_hash(TABS),)


def test_old_bytes_with_former_words_get_the_present_ones():
    former = {text_hash("Use tabs"): "n0", text_hash("Use npm"): "n9"}

    result = made(None, graph(TABS, former=former), block("Use tabs", "Use npm", from_git=True))

    assert said(result) == [TABS]
    assert result.new == ()


def test_of_an_old_line_and_its_new_one_the_new_one_stays():
    former = {text_hash("Use tabs"): "n0"}

    result = made(None, graph(TABS, former=former), block("Use tabs", TABS, from_git=True))

    assert said(result) == [TABS]


def test_an_old_line_with_another_dot_gets_the_new_words_in_its_place():
    before = agreed(TABS, JOSE)

    result = made(before, graph("Use spaces", JOSE), block(f"{TABS}.", JOSE, from_git=True))

    assert said(result) == ["Use spaces", JOSE]


def test_git_never_deletes_or_changes():
    result = made(
        agreed(TABS, JOSE, TEST),
        graph(TABS, JOSE, TEST),
        block("Use tabs in all Go files", JOSE, from_git=True),
    )

    assert result.superseded == result.demoted == result.tombstones == ()
    assert result.new == (New(text="Use tabs in all Go files"),)
    assert said(result) == ["Use tabs in all Go files", JOSE, TABS, TEST]


def test_a_branch_without_the_block_gets_it_back():
    result = made(agreed(TABS, JOSE), graph(TABS, JOSE), File(lines=None, from_git=True))

    assert said(result) == [TABS, JOSE]
    assert not result.changes_graph


def test_a_block_that_is_gone_pauses_the_file():
    paused = plan(agreed(TABS, JOSE), graph(TABS, JOSE), File(lines=None), TERMS)

    assert isinstance(paused, Paused)
    assert (paused.lost, paused.total) == (2, 2)


def test_a_block_that_is_gone_with_nothing_to_say_pauses_nothing():
    assert made(agreed(TABS), graph(None), File(lines=None)) == Plan()


def test_a_mass_deletion_pauses_the_file_until_a_person_says_it_was_meant():
    rules = [f"Rule number {number}" for number in range(5)]
    sides = agreed(*rules), graph(*rules), block(*rules[3:])

    assert isinstance(plan(*sides, TERMS), Paused)
    assert made(*sides, accept_deletions=True).demoted == ("n0", "n1", "n2")


def test_the_limits_bind_what_is_added_and_not_what_a_person_typed():
    rules = [f"Rule number {number}" for number in range(30)]

    first = made(None, graph(*rules), File(lines=None))
    typed = made(agreed(), graph(*rules), block(*(f"Typed {number}" for number in range(27))))

    assert said(first) == rules[:25]
    assert first.left_out == tuple(f"n{number}" for number in range(25, 30))
    assert len(typed.new) == len(typed.lines) == 27
    assert len(typed.left_out) == 30


def test_a_rule_too_long_for_the_block_leaves_room_for_the_others():
    result = made(None, graph("word " * 1000, TABS), File(lines=None))

    assert said(result) == [TABS]
    assert result.unsayable == ("n0",)


def test_new_words_that_do_not_fit_take_the_old_ones_out():
    result = made(agreed(TABS, JOSE), graph("word " * 1000, JOSE), block(TABS, JOSE))

    assert said(result) == [JOSE]
    assert result.unsayable == ("n0",)
    assert [row.node for row in result.agreement([], "").items] == ["n1"]


def keys(*texts):
    return frozenset(map(text_hash, texts))


class TestBlocksThatDifferInHead:
    """Git merged each file by itself: what HEAD's blocks have together is known."""

    def test_rule_that_another_block_keeps_is_not_deleted(self):
        file = block(JOSE, kept=keys(TABS))

        result = made(agreed(TABS, JOSE), graph(TABS, JOSE), file)

        assert result.demoted == ()
        assert said(result) == [JOSE, TABS]

    def test_rule_that_another_block_keeps_is_not_edited_into_the_line_in_its_place(self):
        new = "Use tabs in C files"

        result = made(agreed(TABS), graph(TABS), block(new, kept=keys(TABS)))

        assert result.superseded == ()
        assert result.new == (New(text=new),)
        assert said(result) == [new, TABS]

    def test_new_words_of_a_memory_that_another_block_has_are_not_deleted_with_the_old_ones(self):
        file = block(JOSE, kept=keys(TEST))

        result = made(agreed(TABS, JOSE), graph(TEST, JOSE), file)

        assert result.demoted == ()
        assert said(result) == [JOSE, TEST]

    def test_rule_that_another_block_changed_waits_for_its_new_words(self):
        became = {text_hash(TABS): text_hash(TEST)}

        result = made(agreed(TABS, JOSE), graph(TABS, JOSE), block(JOSE, became=became))

        assert result.demoted == ()
        assert said(result) == [JOSE]

    def test_line_with_the_words_that_a_commit_gave_a_rule_is_that_rule(self):
        became = {text_hash(TABS): text_hash(TEST)}

        result = made(agreed(TABS, JOSE), graph(TABS, JOSE), block(JOSE, TEST, became=became))

        assert result.superseded == (Superseded(node="n0", text=TEST),)

    def test_rules_that_commits_took_out_are_no_accident(self):
        texts = [f"Rule {number}" for number in range(6)]

        result = made(agreed(*texts), graph(*texts), block(texts[0], stood=keys(texts[0])))

        assert len(result.demoted) == 5

    def test_former_words_that_a_commit_has_beside_the_new_ones_are_a_rule(self):
        known = graph(TEST, former={text_hash(TABS): "n0"})
        commits = Commits(kept=Words(some=keys(TEST, TABS)))
        file = block(TEST, TABS, stood=keys(TEST, TABS), from_git=True, commits=commits)

        result = made(agreed(TEST), known, file)

        assert result.new == (New(text=TABS),)
        assert said(result) == [TEST, TABS]
