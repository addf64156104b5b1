"""recall with a model active: words and meaning together, with a real model in a real process."""

from dataclasses import replace

import extras
import pytest
from tiny_model import build, complete, warm_up
from verb_world import World

from yaadwatch.db import vectors as db_vectors
from yaadwatch.model.queries import GivenNode, Model
from yaadwatch.model.settings import Recall, Settings
from yaadwatch.recall import recall, vectors
from yaadwatch.recall.gathering import HOLDERS_MAX, RARE_AMONG
from yaadwatch.remember import inject

extras.require("onnxruntime", "tokenizers")

PATIENCE_S = 60.0
CAR, PORT, TESTS = "the red car", "the colour of a port", "retry the tests in the queue"
TEXTS = {"car": CAR, "port": PORT, "tests": TESTS, "log": "a blue log"}


@pytest.fixture
def world(environment, tmp_path):
    world = World(tmp_path / "work")
    yield world
    world.close()


@pytest.fixture
def tree(world, tmp_path):
    """A project with four memories, each with its vector, and a warm worker."""
    tree = world.repo()
    tree.add()
    inject.inject(
        tree.home,
        tree.call,
        nodes=[GivenNode(id=name, text=text, kind="spec") for name, text in TEXTS.items()],
    )
    folder = build(tmp_path / "tiny")
    space, dimensions = tree.home.vectors.of(str(folder)).meet(PATIENCE_S)
    model = Model(
        space=space,
        name=str(folder),
        dimensions=dimensions,
        state="filling",
        enabled_at=tree.home.clock.now(),
    )
    tree.home.user.write(db_vectors.put_model, model)
    complete(tree.home)
    assert warm_up(tree.home, PATIENCE_S)
    return tree


def asked(tree, query, **fields):
    """Ask until the worker was quick enough."""
    for _ in range(50):
        answer = recall.recall(tree.home, tree.call, query=query, **fields)
        if answer["search"] == "hybrid":
            return answer
    raise AssertionError("the worker never answered in time")


def found(tree, query, **fields):
    return [row["id"] for row in asked(tree, query, **fields)["results"]]


def test_what_says_the_same_in_other_words_is_found(tree):
    assert recall.recall(tree.home, tree.call, query="automobile", strategy="bm25")["results"] == []

    assert found(tree, "the red automobile")[0] == "car"
    assert found(tree, "automobile hue")
    assert found(tree, "hue", kinds=["bug"]) == []


def test_both_lists_are_merged(tree):
    answer = found(tree, "checks in the queue")

    assert answer[0] == "tests"
    assert len(answer) == len(set(answer)) > 1


def test_no_look_alike_is_ahead_of_the_only_memory_with_a_word_of_the_question(tree):
    """The model knows no `zq...x`: to it, what is about another one says the same."""
    texts = [f"the queue log {number} is in a port" for number in range(HOLDERS_MAX * RARE_AMONG)]
    texts += [f"retry zq{number:04}x" for number in range(50, 110)]
    texts += ["a blue log is the maximum of zq0042x"]
    nodes = [GivenNode(id=text, text=text, kind="spec") for text in texts]
    inject.inject(tree.home, tree.call, nodes=nodes)
    complete(tree.home)

    answer = asked(tree, "retry zq0042x")["results"]

    assert answer[0]["id"] == texts[-1]
    assert answer[1]["id"].startswith("retry")
    assert found(tree, "retry zq0042x", semantic_weight=1.0)[0] != texts[-1]


def test_how_much_the_meaning_counts_is_a_setting(tree):
    """The words say the log, the meaning says the car."""
    query = "red automobile log"
    order = {}
    for weight in (0.0, 1.0):
        tree.home.settings = replace(Settings(), recall=Recall(semantic_weight=weight))
        order[weight] = [
            row["id"] for row in recall.recall(tree.home, tree.call, query=query)["results"]
        ]
        assert found(tree, query, semantic_weight=0.9)[0] == "car"

    assert order[1.0][0] == "car"
    assert order[0.0] != order[1.0]
    answer = recall.recall(tree.home, tree.call, query=query, semantic_weight=0.0)
    assert answer["search"] == "words"


def test_a_question_that_nothing_is_about_finds_nothing(tree, monkeypatch):
    """Something is always the nearest; it is told only when it is nearer than by chance."""
    near = vectors.nearest
    how_near = {"cosine": 0.2}

    def as_near_as_that(home, db, text, *, limit):
        rows = near(home, db, text, limit=limit)
        return rows and [(num, how_near["cosine"]) for num, _ in rows[:1]]

    monkeypatch.setattr(vectors, "nearest", as_near_as_that)

    assert asked(tree, "qwertz asdf")["results"] == []
    how_near["cosine"] = 0.35
    (lone,) = asked(tree, "qwertz asdf")["results"]
    assert lone["score"] == pytest.approx(0.5)
    assert asked(tree, "qwertz asdf", min_score=0.6)["results"] == []
    assert max(row["score"] for row in asked(tree, "port")["results"]) == 1.0


def test_a_copy_is_of_the_vectors_as_they_are_now(tree):
    assert found(tree, "a shade")[0] == "port"

    tree.forget("port")

    assert "port" not in found(tree, "a shade")
    with tree.db() as db:
        before = [num for num, _ in vectors.nearest(tree.home, db, "a vehicle", limit=9)]
    tree.restore("port")
    complete(tree.home)
    with tree.db() as db:
        after = [num for num, _ in vectors.nearest(tree.home, db, "a vehicle", limit=9)]
    assert len(after) == len(before) + 1
