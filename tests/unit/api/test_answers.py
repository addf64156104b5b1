"""Answers are held to their declared shapes, in both directions."""

import pytest

from tests import answers
from yaadwatch.api.answers import graph, memories, shapes

HEALTH = {"ok": True, "pid": 7, "version": "1", "since": None, "problems": []}


def found(value, shape):
    return list(answers.problems(value, shape, "answer"))


def test_an_answer_as_declared_has_no_problems():
    assert found(HEALTH, shapes.Health) == []
    assert found({"path": "a.py", "line": 3}, shapes.Anchor) == []
    assert found({"from": "a", "reason": "no node b"}, graph.LeftOut) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"uptime": 3}, "answer.uptime is not declared in Health"),
        ({"pid": True}, "answer.pid: True is not int"),
        ({"since": "yesterday"}, "answer.since: 'yesterday' is not Time"),
        ({"problems": [{"what": "full"}]}, "answer.problems[0].mend is missing"),
        ({"problems": {}}, "answer.problems: {} is no list"),
    ],
)
def test_what_differs_from_the_declaration_is_named(change, problem):
    assert found(HEALTH | change, shapes.Health)[0] == problem


def test_a_missing_key_is_named():
    del (left := dict(HEALTH))["version"]
    assert found(left, shapes.Health) == ["answer.version is missing"]


def test_a_value_that_is_none_of_the_words_is_named():
    assert found({"verdict": "odd", "score": 1}, shapes.ShortFlag)[0].startswith("answer.verdict")


def test_an_answer_of_several_shapes_fits_one_of_them():
    with pytest.raises(AssertionError, match=r"restore\.kept is not declared"):
        answers.check("restore", dict.fromkeys(memories.Updated.__annotations__) | {"kept": 1})
