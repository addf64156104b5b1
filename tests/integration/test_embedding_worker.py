"""A worker embeds in a process of its own: it is never in the way, and never left behind."""

import os
import signal
import struct
import subprocess
import sys
import time

import extras
import psutil
import pytest
from tiny_model import DIMENSIONS, build
from waiting import wait_until

from yaadwatch.system import embedding_process, embedding_sources
from yaadwatch.system.clock import Clock
from yaadwatch.system.embedding_process import NotEmbedded, Worker, Workers

extras.require("onnxruntime", "tokenizers")

PATIENCE_S = 60.0
LONG_S = 600.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def start(folder):
    """Make workers; all are ended."""
    made = []

    def make(model=folder, idle_s=LONG_S):
        worker = Worker(embedding_sources.find(str(model)), idle_s=idle_s, clock=Clock())
        made.append(worker)
        return worker

    yield make
    for worker in made:
        worker.close()


def gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def cosine(one, other):
    one, other = (struct.unpack(f"{len(v)}b", v) for v in (one, other))
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5


def test_texts_that_say_the_same_in_other_words_have_the_same_direction(start):
    car, automobile, tests = start().embed(
        ["the red car", "the red automobile", "a log of tests"], wait_s=PATIENCE_S
    )

    assert len(car) == DIMENSIONS
    assert max(car, key=lambda byte: min(byte, 256 - byte)) in {127, 129}
    assert cosine(car, automobile) == pytest.approx(1.0, abs=1e-3)
    assert cosine(car, tests) < 0.9


def test_a_model_in_a_folder_names_its_space_after_its_weights(start, tmp_path):
    one, same = start(), start(build(tmp_path / "tiny"))
    other = start(build(tmp_path / "other" / "tiny", seed="two"))

    spaces = [worker.meet(PATIENCE_S) for worker in (one, same, other)]

    assert spaces[0] == spaces[1] != spaces[2]
    assert spaces[0][0].startswith("tiny-")
    assert {size for _, size in spaces} == {DIMENSIONS}


def test_a_cold_worker_is_not_waited_for_but_warmed(start):
    worker = start()

    assert worker.question("the red car", PATIENCE_S) is None

    wait_until(lambda: worker.state == "warm", "warming up")
    assert worker.question("the red car", PATIENCE_S)


def test_a_worker_that_is_idle_ends_and_the_next_one_is_another(start):
    worker = start(idle_s=0.2)
    worker.meet(PATIENCE_S)
    pid = worker.pid

    wait_until(lambda: worker.state == "cold", "the idle end")

    assert gone(pid)
    assert worker.embed(["car"], wait_s=PATIENCE_S)
    assert worker.pid != pid


def test_a_worker_that_is_killed_is_one_line_in_the_log_and_no_answer(start, caplog):
    worker = start()
    worker.meet(PATIENCE_S)

    os.kill(worker.pid, signal.SIGKILL)
    wait_until(lambda: worker.state == "broken", "the end of the worker")

    assert worker.why == "it was ended by signal 9"
    assert worker.question("car", PATIENCE_S) is None
    assert worker.state == "broken"  # not at once again
    with pytest.raises(NotEmbedded, match="signal 9"):
        worker.embed(["car"], wait_s=PATIENCE_S)
    assert [record.message for record in caplog.records] == ["embedding.broke"]


def suspend(pid):
    """Stop a process, and wait until it stands still: what it was reading it may still take in."""
    os.kill(pid, signal.SIGSTOP)
    process = psutil.Process(pid)
    wait_until(lambda: process.status() == psutil.STATUS_STOPPED, "the worker to stand still")


def test_whoever_waits_hears_that_the_worker_was_killed(start):
    worker = start()
    worker.meet(PATIENCE_S)
    suspend(worker.pid)
    pid = worker.pid

    with pytest.raises(NotEmbedded, match="took too long"):
        worker.embed(["car"], wait_s=0.2)
    os.kill(pid, signal.SIGKILL)

    wait_until(lambda: worker.state == "broken", "the end of the worker")


def test_a_worker_that_takes_nothing_in_is_ended_once_its_pipe_is_full(start):
    worker = start()
    worker.meet(PATIENCE_S)
    suspend(worker.pid)

    for _ in range(100):
        with pytest.raises(NotEmbedded) as found:
            worker.embed(["car " * 2_000], wait_s=0.01)
        if "takes nothing in" in str(found.value):
            break

    assert "takes nothing in" in str(found.value)
    wait_until(lambda: worker.state == "broken", "the end of the worker")


@pytest.mark.parametrize("sign", ["\U0001f600", "\udc80 car ", "\x00"])
def test_a_long_text_of_rare_signs_breaks_no_worker(start, sign):
    worker = start()

    assert len(worker.embed([sign * 9_000, "car"], wait_s=PATIENCE_S)) == 2
    assert worker.state == "warm"


def test_a_model_that_cannot_be_loaded_says_why(start, tmp_path):
    folder = build(tmp_path / "bad")
    (folder / "model.onnx").write_bytes(b"no model")

    with pytest.raises(NotEmbedded, match=r"does not run.*[Pp]rotobuf"):
        start(folder).meet(PATIENCE_S)


def test_a_question_waits_for_one_text_at_most_while_many_are_embedded(start):
    import threading

    worker = start()
    worker.meet(PATIENCE_S)
    ends = {}

    def fill():
        worker.embed(["car " * 20_000] * 60, wait_s=PATIENCE_S)
        ends["fill"] = time.monotonic()

    filling = threading.Thread(target=fill)
    filling.start()
    assert worker.question("the red car", PATIENCE_S)
    ends["question"] = time.monotonic()
    filling.join()

    assert ends["question"] < ends["fill"]


def test_closing_ends_the_process_and_starts_no_other(start):
    worker = start()
    worker.meet(PATIENCE_S)
    pid = worker.pid

    worker.close()

    assert gone(pid)
    with pytest.raises(NotEmbedded):
        worker.embed(["car"], wait_s=1.0)
    assert worker.pid is None


def test_one_name_has_one_worker_until_it_is_forgotten(folder):
    workers = Workers(LONG_S, Clock())
    worker = workers.of(str(folder))
    worker.meet(PATIENCE_S)
    pid = worker.pid

    assert workers.of(str(folder)) is worker
    workers.forget(str(folder))

    assert gone(pid)
    assert workers.known(str(folder)) is None
    workers.close()


def test_what_was_asked_goes_with_the_workers_and_the_next_gets_a_new_one(folder):
    workers = Workers(LONG_S, Clock())
    worker = workers.of(str(folder))
    worker.meet(PATIENCE_S)
    assert worker.question("car", PATIENCE_S)
    pid = worker.pid

    workers.forget_all()

    assert gone(pid)
    assert workers.known(str(folder)) is None
    assert workers.of(str(folder)) is not worker
    workers.close()


def test_a_worker_is_modest(start):
    worker = start()
    worker.meet(PATIENCE_S)
    seen = psutil.Process(worker.pid)

    assert seen.nice() >= os.nice(0) + 5
    assert seen.environ()["HF_HUB_OFFLINE"] == "1"
    assert seen.environ()["OMP_NUM_THREADS"] == "1"
    if sys.platform == "linux":
        import resource

        assert seen.rlimit(resource.RLIMIT_DATA)[0] == 3 * 1024**3


PARENT = """
import sys, time
from yaadwatch.system.clock import Clock
from yaadwatch.system import embedding_sources as sources
from yaadwatch.system.embedding_process import Worker
worker = Worker(sources.find(sys.argv[1]), idle_s=600, clock=Clock())
worker.meet(60)
print(worker.pid, flush=True)
if sys.argv[2] == "busy":
    worker.embed(["car " * 20000] * 5000, wait_s=600)
time.sleep(600)
"""


@pytest.mark.parametrize("how", ["idle", "busy"])
def test_a_worker_dies_with_the_one_who_started_it_whatever_it_is_at(folder, how):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(folder), how], stdout=subprocess.PIPE, text=True
    )
    try:
        pid = int(parent.stdout.readline())
        assert not gone(pid)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()

    wait_until(lambda: gone(pid), "the end of the worker")


def test_a_worker_that_is_sent_nonsense_ends_and_says_why(folder):
    worker = subprocess.Popen(
        [
            *(sys.executable, "-m", "yaadwatch.system.embedding_worker"),
            *(embedding_sources.find(str(folder)).to_json(), "600"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _, written = worker.communicate(b"\xff" * 64, timeout=PATIENCE_S)

    assert worker.returncode == 1
    assert b"UnicodeDecodeError" in written


def _pretend(monkeypatch, tmp_path, *sent):
    """Have a process that sends these bytes stand where the worker would."""
    script = tmp_path / "worker.py"
    script.write_text(
        "import sys, time\n"
        f"sys.stdout.buffer.write({b''.join(sent)!r})\n"
        "sys.stdout.flush()\n"
        "sys.stdin.buffer.read()\n"
    )
    whole = subprocess.Popen

    def popen(arguments, **given):
        return whole([sys.executable, str(script)], **given)

    monkeypatch.setattr(embedding_process.subprocess, "Popen", popen)


READY = b'["s", 8]\n'


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff" * 64 + b"\n",
        b"nope\n",
        b"{}\n",
        b"[3, 8]\n",
        READY + b"nope\n",
        READY + b'[1, "c2hvcnQ="]\n',
        READY + b"[1, 7]\n",
    ],
)
def test_a_worker_that_answers_nonsense_is_ended(start, monkeypatch, tmp_path, sent):
    _pretend(monkeypatch, tmp_path, sent)
    worker = start()

    with pytest.raises(NotEmbedded):
        worker.embed(["car"], wait_s=PATIENCE_S)

    wait_until(lambda: worker.state == "broken", "the end of the worker")
    assert worker.pid is None
