"""The provider `sentence-transformers`: a model of that library, made here, run by a worker."""

import struct

import extras
import pytest

from yaadwatch.system import embedding_sources
from yaadwatch.system.clock import Clock
from yaadwatch.system.embedding_process import Worker

extras.require(
    "sentence_transformers",
    reason="sentence-transformers (with PyTorch) is not installed: "
    "pip install 'yaadwatch[sentence-transformers]'",
)

PATIENCE_S = 100.0
DIMENSIONS = 4
WORDS = ("[UNK]", "retry", "limit", "fetch", "download", "colour")
VECTORS = ((0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 1, 0), (0, 0.6, 0, 0.8))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import numpy
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(
        WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = Whitespace()
    weights = numpy.array(VECTORS, dtype="float32")
    model = SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu"
    )
    folder = tmp_path_factory.mktemp("tiny")
    model.save(str(folder))
    return folder


@pytest.fixture
def worker(folder):
    worker = Worker(embedding_sources.find(str(folder)), idle_s=600, clock=Clock())
    yield worker
    worker.close()


def numbers(vector):
    return struct.unpack(f"{len(vector)}b", vector)


def test_a_folder_of_the_library_is_taken_for_what_it_is(folder):
    assert embedding_sources.find(str(folder)).provider == "sentence-transformers"


def test_a_worker_tells_the_space_and_embeds_what_means_the_same_alike(worker):
    space, dimensions = worker.meet(PATIENCE_S)
    fetch, download, retry, both = worker.embed(
        ["fetch", "download", "retry", "retry fetch"], wait_s=PATIENCE_S
    )

    assert (bool(space), dimensions) == (True, DIMENSIONS)
    assert fetch == download != retry
    assert numbers(fetch)[2] == max(numbers(fetch)) > 0
    assert numbers(both)[0] == numbers(both)[2] > 0


def test_the_same_folder_is_the_same_space_again(folder, worker):
    other = Worker(embedding_sources.find(str(folder)), idle_s=600, clock=Clock())
    try:
        assert other.meet(PATIENCE_S) == worker.meet(PATIENCE_S)
    finally:
        other.close()
