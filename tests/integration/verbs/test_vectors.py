"""Memories are found by what they mean, with a real model in a real process."""

import subprocess
import sys
from dataclasses import replace

import extras
import pytest
from tiny_model import build, complete, warm_up
from verb_world import World

from yaadwatch.db import vectors as db_vectors
from yaadwatch.model.queries import Model
from yaadwatch.recall import vectors

extras.require("onnxruntime", "tokenizers")

PATIENCE_S = 60.0
CAR = "The red car is in the queue"
TESTS = "We log the tests"


@pytest.fixture
def world(environment, tmp_path):
    world = World(tmp_path / "work")
    yield world
    world.close()


@pytest.fixture
def tree(world):
    tree = world.repo()
    tree.add()
    return tree


def enable(home, folder, state="filling"):
    space, dimensions = home.vectors.of(str(folder)).meet(PATIENCE_S)
    model = Model(
        space=space,
        name=str(folder),
        dimensions=dimensions,
        state=state,
        enabled_at=home.clock.now(),
    )
    home.user.write(db_vectors.put_model, model)
    return model


@pytest.fixture
def model(world, tmp_path):
    return enable(world.home, build(tmp_path / "tiny"))


def nearest(tree, text, limit=10):
    """Return the ids of the nearest memories, with their cosine; None while words have to do."""
    with tree.db() as db:
        found = vectors.nearest(tree.home, db, text, limit=limit)
        names = db.read(lambda conn: dict(iter(conn.execute("SELECT num, id FROM nodes"))))
    return None if found is None else [(names[num], cosine) for num, cosine in found]


def test_without_a_model_words_have_to_do(tree):
    tree.remember(CAR)

    assert nearest(tree, "automobile") is None


def test_a_model_answers_once_every_memory_has_a_vector(tree, model):
    car, tests = tree.remember(CAR), tree.remember(TESTS)
    assert nearest(tree, "the automobile in the queue") is None

    complete(tree.home)

    found = nearest(tree, "The red automobile is in the queue")
    assert [name for name, _ in found] == [car, tests]
    assert found[0][1] == pytest.approx(1.0, abs=1e-3)
    assert found[1][1] < found[0][1]
    assert nearest(tree, "The red automobile is in the queue", limit=1) == found[:1]


def test_the_user_store_is_searched_in_the_same_way(tree, model):
    complete(tree.home)

    assert vectors.nearest(tree.home, tree.home.user, "automobile", limit=5) == []


def test_a_cold_worker_is_not_waited_for(tree, model):
    tree.remember(CAR)
    complete(tree.home)
    tree.home.vectors.forget(model.name)

    assert nearest(tree, "automobile") is None

    assert warm_up(tree.home, PATIENCE_S)
    assert nearest(tree, "automobile")


def test_what_is_not_remembered_any_more_is_not_found(tree, model):
    car, tests = tree.remember(CAR), tree.remember(TESTS)
    complete(tree.home)

    tree.forget(car)
    assert [name for name, _ in nearest(tree, "automobile")] == [tests]

    tree.restore(car)
    complete(tree.home)
    assert {name for name, _ in nearest(tree, "automobile")} == {car, tests}


def test_new_words_are_embedded_anew(tree, model):
    car = tree.remember(CAR)
    complete(tree.home)

    tree.edit(car, "The blue port")
    assert nearest(tree, "automobile") == []

    complete(tree.home)
    assert nearest(tree, "the blue port")[0][1] == pytest.approx(1.0, abs=1e-3)


def test_another_model_takes_over_only_when_it_is_full(tree, model, tmp_path):
    car = tree.remember(CAR)
    complete(tree.home)
    other = enable(tree.home, build(tmp_path / "other", seed="two"))

    assert vectors.active(tree.home).space == model.space
    assert nearest(tree, "automobile")[0][0] == car

    complete(tree.home)

    assert vectors.active(tree.home).space == other.space
    assert warm_up(tree.home, PATIENCE_S)
    assert nearest(tree, "a vehicle")[0][0] == car
    assert tree.home.user.read(db_vectors.in_state, "kept").space == model.space


def test_a_model_that_is_another_one_now_is_not_believed(tree, model, tmp_path):
    tree.remember(CAR)
    complete(tree.home)
    build(tmp_path / "tiny", seed="two")
    tree.home.vectors.forget(model.name)
    tree.home.vectors.of(model.name).meet(PATIENCE_S)

    assert nearest(tree, "automobile") is None

    tree.remember(TESTS)
    with pytest.raises(Exception, match="holds another model"):
        complete(tree.home)


def test_a_model_that_is_gone_leaves_words(tree, model):
    tree.home.user.write(db_vectors.put_model, replace(model, state="active", name="/nowhere"))

    assert nearest(tree, "automobile") is None


def test_the_daemon_imports_no_numerics():
    program = (
        "import sys\n"
        "import yaadwatch.daemon.wiring, yaadwatch.recall.vectors\n"
        "import yaadwatch.recall.vectors\n"
        "print({'numpy', 'onnxruntime', 'tokenizers', 'torch', 'sqlite3'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "set()"


def test_without_sqlite_vec_words_answer_and_status_says_so(tree, model, monkeypatch):
    tree.remember(CAR)
    complete(tree.home)
    assert vectors.how(tree.home)[0] == "vectors"

    monkeypatch.setattr(db_vectors, "can_compare", lambda: False)

    by, why = vectors.how(tree.home)
    assert by == "words"
    assert "sqlite-vec" in why
    assert nearest(tree, CAR) is None
