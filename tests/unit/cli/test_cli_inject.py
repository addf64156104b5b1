"""The command that takes in a file of memories and relations: what it sends, what it prints."""

import json

import pytest
from recording import command

from yaadwatch.model.errors import Code, YaadError

GRAPH = {"nodes": [{"id": "a", "text": "words"}], "edges": []}
COUNTS = {"new": 1, "changed": 0, "same": 2}
ANSWER = {
    "nodes": COUNTS,
    "edges": COUNTS,
    "left_out": [{"from": "a", "kind": "led_to", "to": "b", "reason": "no node b"}],
    "masked": [{"id": "a", "kinds": ["github-token"]}],
}


def test_a_file_is_sent_whole_and_what_became_of_it_is_printed(tmp_path):
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(GRAPH), encoding="utf-8")

    ran = command("inject", path, answers={"inject": ANSWER})

    assert ran.calls == [("inject", {"nodes": GRAPH["nodes"]})]
    assert ran.lines == [
        "a -led_to-> b  no node b",
        "1 memory new, 0 changed, 2 as before.",
        "1 relation new, 0 changed, 2 as before.",
        "Secrets were masked in 1 memory.",
        "Left out: 1. All of them: --json",
    ]


@pytest.mark.parametrize(
    ("given", "status", "told"),
    [
        ("{", 2, "- is not JSON"),
        pytest.param("[" * 100_000, 2, "- is not JSON", id="deep"),
        ("[]", 2, "must hold an object"),
        ('{"nodes": [], "vertices": []}', 2, "must hold an object"),
        (" " * 5_000_000, 1, "has more than 4194304 characters"),
    ],
)
def test_what_is_no_graph_is_refused_before_anything_is_asked(given, status, told):
    ran = command("inject", "-", given=given)

    assert (ran.status, ran.calls) == (status, [])
    assert told in ran.err
    assert "Nothing was stored." in " ".join(ran.err.split())


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_is_not_finite_is_refused_before_anything_is_asked(number):
    node = f'{{"id": "a", "text": "b", "attributes": {{"x": [{number}]}}}}'

    ran = command("inject", "-", given=f'{{"nodes": [{node}]}}')

    assert (ran.status, ran.calls) == (2, [])
    assert "Nothing was stored." in " ".join(ran.err.split())


def test_a_mark_of_the_encoding_is_no_part_of_the_json():
    ran = command(
        "inject", "-", given='\ufeff{"nodes": []}', answers={"inject": YaadError(Code.REFUSED, "")}
    )

    assert ran.calls == [("inject", {})]
