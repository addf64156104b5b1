"""Models are enabled, switched, gone back to and done without, each in one step."""

import json

import extras
import pytest
from tiny_model import build, complete
from verb_world import World

from yaadwatch.api import frames
from yaadwatch.db import vectors as db_vectors
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.projects import projects
from yaadwatch.recall import vectors
from yaadwatch.system import embedding_sources

extras.require("onnxruntime", "tokenizers")

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
    tree.remember(CAR)
    return tree


@pytest.fixture
def one(tmp_path):
    return str(build(tmp_path / "one"))


@pytest.fixture
def two(tmp_path):
    return str(build(tmp_path / "two", seed="two"))


def enable(tree, folder, *, fill=True):
    answer = vectors.embed_enable(tree.home, tree.call, model=folder)
    if fill:
        complete(tree.home)
    return answer


def states(answer):
    return {model["name"].rpartition("/")[2]: model["state"] for model in answer["models"]}


def status(tree):
    return vectors.embed_status(tree.home, tree.call)


def stored(tree):
    with tree.db() as db:
        return db.read(db_vectors.spaces)


def test_without_a_model_the_status_says_so_and_what_could_be_enabled(tree):
    answer = status(tree)

    assert answer["search"] == "words"
    assert "no model is enabled" in answer["why"]
    assert answer["models"] == []
    assert {one["name"] for one in answer["known"]} == {"minilm", "minilm-torch"}


def test_a_model_is_filling_until_every_memory_has_a_vector(tree, one):
    answer = enable(tree, one, fill=False)

    assert states(answer) == {"one": "filling"}
    assert (answer["search"], answer["models"][0]["percent"]) == ("words", 0)
    assert answer["why"].endswith("is 0 % filled")

    complete(tree.home)

    answer = status(tree)
    assert states(answer) == {"one": "active"}
    assert (answer["search"], answer["models"][0]["percent"]) == ("vectors", 100)
    assert answer["models"][0]["worker"]["state"] == "warm"
    assert answer["models"][0]["worker"]["rss_bytes"] > 0
    whole = projects.status(tree.home, tree.call)
    assert (whole["search"], whole["search_why"]) == ("vectors", answer["models"][0]["space"])


def test_a_model_that_is_not_here_is_told_of_and_nothing_is_fetched(tree, monkeypatch):
    monkeypatch.setattr(embedding_sources, "_folder_of", lambda module: None)

    with pytest.raises(YaadError, match=r"nothing was fetched\. Installing it fetches") as refused:
        enable(tree, None)

    assert refused.value.code is Code.NOT_FOUND
    assert "pip install 'yaadwatch[onnx]'" in refused.value.hint
    assert tree.home.user.read(db_vectors.everything) == []


@pytest.mark.parametrize("name", ["nothing-known", "relative/folder", "/nowhere/at/all"])
def test_what_is_no_model_is_refused(tree, name):
    with pytest.raises(YaadError, match="no known model and no folder") as refused:
        enable(tree, name)

    assert refused.value.code is Code.NOT_FOUND


def test_a_folder_without_a_model_is_refused(tree, tmp_path):
    with pytest.raises(YaadError, match="holds no model"):
        enable(tree, str(tmp_path))


def test_a_model_that_does_not_run_changes_nothing(tree, one, tmp_path):
    enable(tree, one)
    (tmp_path / "two").mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / "two" / name).write_text("{}")

    with pytest.raises(YaadError, match="does not run"):
        enable(tree, str(tmp_path / "two"))

    assert states(status(tree)) == {"one": "active"}


def test_switching_answers_by_the_old_model_until_the_new_one_is_full(tree, one, two):
    enable(tree, one)

    answer = enable(tree, two, fill=False)

    assert states(answer) == {"one": "active", "two": "filling"}
    assert (answer["search"], answer["why"].count("0 % filled")) == ("vectors", 1)
    assert len(stored(tree)) == 1

    complete(tree.home)

    assert states(status(tree)) == {"one": "kept", "two": "active"}
    assert len(stored(tree)) == 2


def test_a_kept_model_is_enabled_again_with_the_vectors_that_it_has(tree, one, two):
    enable(tree, one)
    enable(tree, two)

    answer = enable(tree, one, fill=False)

    assert states(answer) == {"one": "filling", "two": "active"}
    assert {model["percent"] for model in answer["models"]} == {100}
    complete(tree.home)
    assert states(status(tree)) == {"one": "active", "two": "kept"}


def test_enabling_the_active_model_gives_up_the_one_that_is_being_filled(tree, one, two):
    enable(tree, one)
    enable(tree, two, fill=False)

    assert states(enable(tree, one, fill=False)) == {"one": "active"}
    assert not vectors.take_over(tree.home, status(tree)["models"][0]["space"])


def test_only_one_step_back_is_kept_and_the_rest_is_tidied_away(tree, one, two, tmp_path):
    three = str(build(tmp_path / "three", seed="three"))
    for folder in (one, two, three):
        enable(tree, folder)
    assert states(status(tree)) == {"two": "kept", "three": "active"}

    with tree.home.space(tree.call) as space:
        project = space.project.id
    assert vectors.tidy(tree.home, project) > 0

    assert len(stored(tree)) == 2
    assert vectors.tidy(tree.home, project) == 0


def test_a_store_at_rest_of_which_nothing_is_missing_stays_at_rest(tree, one):
    enable(tree, one)
    with tree.home.space(tree.call) as space:
        project = space.project.id
    complete(tree.home)
    tree.home.stores.close_one(project)
    (model,) = vectors.wanted(tree.home)

    assert vectors.stores(tree.home) == [vectors.USER, project]
    assert vectors.tidy(tree.home, project) == 0
    assert vectors.batch(tree.home, project, model) == 0
    assert not tree.home.stores.is_open(project)


def test_doing_without_keeps_the_vectors_unless_told_otherwise(tree, one):
    enable(tree, one)

    answer = vectors.embed_disable(tree.home, tree.call)

    assert (answer["search"], states(answer)) == ("words", {"one": "kept"})
    assert len(stored(tree)) == 1
    assert vectors.active(tree.home) is None
    enable(tree, one, fill=False)
    assert status(tree)["models"][0]["percent"] == 100

    answer = vectors.embed_disable(tree.home, tree.call, erase=True)

    assert (answer["models"], stored(tree)) == ([], [])


def test_the_same_space_from_another_place_needs_no_new_vectors(tree, one, tmp_path):
    enable(tree, one)
    copy = str(build(tmp_path / "elsewhere" / "one"))

    answer = enable(tree, copy, fill=False)

    assert [(model["name"], model["state"]) for model in answer["models"]] == [(copy, "active")]
    assert answer["models"][0]["percent"] == 100


def test_a_fill_that_was_cut_off_goes_on_where_it_stopped(tree, one):
    for number in range(40):
        tree.remember(f"We cap the queue at {number} retries in case {number}")
    enable(tree, one, fill=False)
    model = tree.home.user.read(db_vectors.in_state, "filling")
    with tree.home.space(tree.call) as space:
        project = space.project.id

    last = vectors.batch(tree.home, project, model)
    tree.world.reopen()

    left = vectors.coverage(tree.home, project, model.space)
    assert left.filled == 16
    assert vectors.skip(tree.home, project, model, 0) > last
    complete(tree.home)
    done = vectors.coverage(tree.home, project, model.space)
    assert done.filled == done.memories == left.memories


def test_a_crash_before_the_flip_leaves_the_old_model_and_after_it_the_new_one(tree, one, two):
    enable(tree, one)
    enable(tree, two, fill=False)
    before = vectors.active(tree.home)
    with pytest.raises(ZeroDivisionError):
        tree.home.user.write(_take_over_and_crash)
    tree.world.reopen()

    assert vectors.active(tree.home) == before
    assert states(status(tree)) == {"one": "active", "two": "filling"}

    complete(tree.home)
    tree.world.reopen()

    assert vectors.active(tree.home).name == two


def _take_over_and_crash(conn):
    vectors._take_over(
        conn, db_vectors.in_state(conn, "filling").space, db_vectors.everything(conn)[0].enabled_at
    )
    assert db_vectors.in_state(conn, "filling") is None
    raise ZeroDivisionError


def test_the_answer_can_be_sent(tree, one):
    assert json.loads(frames.encode(frames.answer(1, enable(tree, one))))["result"]["models"]
