"""Commands about how memories hang together: what they ask, and what a person reads."""

import pytest
from recording import ID, command

OTHER = "0199b1c2-7d3e-7f00-8a11-00000000beef"
RETRY = {
    "id": ID,
    "text": "Retry three times",
    "kind": "decision",
    "weight": 1.0,
    "centrality": 0.6,
    "anchors": [{"path": "src/net.py", "symbol": "fetch", "line": 10}, {"path": "src/net.py"}],
    "via": [],
    "along": [],
    "stale": {"verdict": "changed", "score": 0.7, "level": "warn", "reason": "fetch changed"},
}
ALARM = {
    "id": OTHER,
    "text": "The alarm waits for all retries",
    "kind": "decision",
    "weight": 0.8,
    "centrality": 0.4,
    "anchors": [],
    "via": [ID],
    "along": [{"id": OTHER, "kind": "depends_on", "to": ID, "weight": 1.0}],
    "stale": None,
}
IMPACT = {
    "path": "src/net.py",
    "symbol": None,
    "there": True,
    "symbols": ["fetch"],
    "memories": [RETRY, ALARM],
    "more": 0,
    "checked_at": "2026-11-21T11:59:00.000Z",
}
LINKED = {
    "id": OTHER,
    "kind": "depends_on",
    "to": ID,
    "weight": 0.5,
    "text": "The alarm waits for all retries",
    "to_text": "Retry three times",
    "made": True,
    "changed": False,
    "undo": "yaadwatch unlink 0000beef depends_on f2e4ab37",
}


def test_impact_says_what_rests_on_a_file_how_and_whether_it_is_in_doubt():
    ran = command("impact", "src/net.py", answers={"impact": IMPACT})

    assert ran.calls == [("impact", {"file": "src/net.py", "check": True})]
    assert ran.lines == [
        "f2e4ab37  1.00  Retry three times",
        "                rests on src/net.py:10 fetch",
        "                rests on src/net.py",
        "                in doubt now: changed  (fetch changed)",
        "0000beef  0.80  The alarm waits for all retries",
        "                f2e4ab37 <-depends_on- this",
        "1 memory rests on src/net.py, 1 through links; 1 in doubt now.",
    ]


def test_impact_draws_each_link_as_it_was_made():
    led = ALARM | {"along": [{"id": ID, "kind": "led_to", "to": OTHER, "weight": 1.0}]}

    ran = command("impact", "x", answers={"impact": IMPACT | {"memories": [led]}})

    assert "f2e4ab37 -led_to-> this" in ran.out


def test_a_file_that_nobody_speaks_of_is_said_in_a_line():
    answer = IMPACT | {"memories": [], "symbol": "verify", "more": 0}

    ran = command("impact", "src/net.py:verify", answers={"impact": answer})

    assert (ran.status, ran.lines) == (
        0,
        [
            "No memory rests on src/net.py verify.",
            "In src/net.py, memories rest on: fetch",
        ],
    )


def test_a_file_that_is_gone_and_what_was_left_out_are_said():
    answer = IMPACT | {"there": False, "more": 3}

    ran = command("impact", "x", "--no-check", answers={"impact": answer})

    assert ran.calls == [("impact", {"file": "x", "check": False})]
    assert ran.lines[0] == "src/net.py is not there any more."
    assert "and 3 more, weaker" in ran.lines


def test_link_prints_both_ends_and_how_to_undo_it():
    ran = command(
        *("link", "0000beef", "depends_on", "f2e4ab37", "--weight", "0.5"), answers={"link": LINKED}
    )

    assert ran.calls == [
        ("link", {"id": "0000beef", "kind": "depends_on", "to": "f2e4ab37", "weight": 0.5})
    ]
    assert ran.lines == [
        "Linked  (weight 0.5):",
        "  0000beef  The alarm waits for all retries",
        "    depends_on",
        "  f2e4ab37  Retry three times",
        "Undo: yaadwatch unlink 0000beef depends_on f2e4ab37",
    ]


@pytest.mark.parametrize(
    ("made", "changed", "said"),
    [(False, False, "Linked already"), (False, True, "Weighed anew")],
)
def test_linking_again_says_what_it_did(made, changed, said):
    answer = LINKED | {"made": made, "changed": changed, "undo": None}

    ran = command("link", "a", "b", "c", answers={"link": answer})

    assert ran.lines[0].startswith(said)
    assert "Undo" not in ran.out


def test_a_weight_that_is_no_number_is_refused_before_anything_is_asked():
    ran = command("link", "a", "b", "c", "--weight", "heavy")

    assert (ran.status, ran.calls) == (2, [])
    assert "'heavy' is not a number" in ran.err


def test_unlinking_what_is_not_linked_is_no_error():
    ended = {key: value for key, value in LINKED.items() if key not in {"made", "changed"}}

    ran = command("unlink", "a", "b", "c", answers={"unlink": ended | {"ended": True}})
    assert ran.lines[0] == "Unlinked  (weight 0.5):"

    ran = command(
        "unlink", "a", "b", "c", answers={"unlink": ended | {"ended": False, "undo": None}}
    )
    assert ran.status == 0
    assert ran.lines[0].startswith("Not linked, nothing to do")


@pytest.mark.parametrize("name", ["impact", "link", "unlink"])
def test_programs_get_the_answer_as_it_is(name):
    answer = {"impact": IMPACT, "link": LINKED, "unlink": LINKED | {"ended": True}}[name]
    given = ["x"] if name == "impact" else ["a", "b", "c"]

    assert command(name, *given, "--json", answers={name: answer}).json == answer


def test_a_doubt_that_came_along_links_says_the_way_and_when_it_goes():
    doubt = {
        "id": OTHER,
        "text": "The alarm waits for all retries",
        "verdict": "gone",
        "score": 0.76,
        "level": "suspect",
        "reason": "depends on f2e4ab37 (Retry three times), which is in doubt: src/net.py is gone",
        "since": "2026-11-21T11:59:00.000Z",
        "branch": "main",
        "uncommitted": True,
        "evidence": [
            {"path": "src/net.py", "symbol": None, "commit": None, "summary": "src/net.py is gone"}
        ],
        "via": [ID],
    }

    ran = command(
        "stale", "--all", answers={"stale": {"stale": [doubt], "unknown": [], "checked_at": None}}
    )

    assert ran.lines[0].startswith("in doubt with another (suspect)  0000beef  The alarm waits")
    assert "    by way of f2e4ab37 -> this; goes when f2e4ab37 is settled" in ran.lines
