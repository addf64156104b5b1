"""A model is enabled, fills in the background, breaks, ends; nothing of it is ever left behind."""

import json
import os
import signal

import extras
import pytest
from machine import alive, wait_until
from tiny_model import build

extras.require("onnxruntime", "tokenizers")

PATIENCE_S = 90.0
MANY = 1_500


@pytest.fixture
def model(tmp_path):
    return build(tmp_path / "tiny")


@pytest.fixture
def watched(machine, checkout):
    machine.ask("add", checkout.root)
    return checkout


def embed(machine, *arguments):
    return machine.ask("embed", *arguments)


def settled(machine):
    """Return the status once questions are answered by vectors of everything."""

    def full():
        answer = embed(machine)
        done = answer["search"] == "vectors" and answer["models"][0]["percent"] == 100
        return answer if done else None

    return wait_until(full, PATIENCE_S)


def worker_of(answer):
    return (answer["models"][0]["worker"] or {}).get("pid")


def inject(machine, checkout, count, name="n"):
    nodes = [
        {
            "id": f"{name}{number}",
            "text": f"We cap the queue of shop {name}{number} at {number} retries",
        }
        for number in range(count)
    ]
    path = checkout.root / "nodes.json"
    checkout.write("nodes.json", json.dumps({"nodes": nodes, "edges": []}))
    machine.ask("inject", path, cwd=checkout.root)


def test_a_model_fills_in_the_background_and_what_comes_later_too(machine, watched, model):
    assert embed(machine)["search"] == "words"

    answer = embed(machine, "enable", model, "--wait")

    assert answer["search"] == "vectors"
    assert machine.ask("status")["search"] == "vectors"
    before = answer["models"][0]["stores"]
    machine.ask("remember", "The red car is in the queue", cwd=watched.root)
    after = settled(machine)["models"][0]["stores"]
    assert sum(row["filled"] for row in after) > sum(row["filled"] for row in before)
    assert embed(machine, "disable")["search"] == "words"


def test_no_worker_outlives_a_daemon_that_is_stopped(machine, watched, model):
    pid = worker_of(embed(machine, "enable", model, "--wait"))
    assert alive(pid)

    machine.run("stop")

    wait_until(lambda: not alive(pid))


def test_no_worker_outlives_a_daemon_that_is_killed_and_the_fill_goes_on(machine, watched, model):
    inject(machine, watched, 4 * MANY)
    pid = worker_of(embed(machine, "enable", model))
    wait_until(lambda: embed(machine)["models"][0]["percent"] > 0, PATIENCE_S)

    machine.kill()

    wait_until(lambda: not alive(pid))
    machine.ask("list")
    answer = settled(machine)
    assert sum(row["filled"] for row in answer["models"][0]["stores"]) >= MANY
    assert answer["models"][0]["state"] == "active"


def test_a_worker_that_is_killed_in_a_fill_is_started_again_and_the_fill_goes_on(
    machine, watched, model
):
    embed(machine, "enable", model, "--wait")
    kills = 0
    while True:  # a fill may be done before the signal comes; then a larger one is cut off
        kills += 1
        inject(machine, watched, kills * MANY, name=f"k{kills}-")
        pid = wait_until(lambda: worker_of(embed(machine)), patience_s=PATIENCE_S)
        os.kill(pid, signal.SIGKILL)
        if embed(machine)["models"][0]["percent"] < 100:
            break

    assert worker_of(settled(machine)) != pid
    log = machine.log()
    assert 1 <= log.count("embedding.broke") <= kills
    assert "embedding.filled" in log


def test_a_worker_ends_when_idle_and_memories_are_found_by_words_meanwhile(machine, watched, model):
    machine.run("stop")
    machine.env["YAAD_VECTORS_IDLE_S"] = "1"
    pid = worker_of(embed(machine, "enable", model, "--wait"))

    wait_until(lambda: not alive(pid), PATIENCE_S)

    found = machine.ask("recall", "prices in cents", cwd=watched.root)
    assert any("cents" in row["text"] for row in found["results"])
