"""The gate: how often the right memory is found, on notes and questions of our own.

Half of the questions use the words of the answer, the other half say it in others. The floors stand
slightly under what was measured; whoever lowers one has to say why.
"""

from pathlib import Path

import pytest

from tests.bench import retrieval
from tests.bench.retrieval import Query

NOTES = Path(__file__).with_name("shop_memories.txt")
HIT_AT_1, HIT_AT_3, MRR = 0.48, 0.74, 0.62


def notes():
    """Return the memories (id, text) of the file, and its questions."""
    documents, queries = [], []
    for line in NOTES.read_text(encoding="utf-8").splitlines():
        if line.startswith("? "):
            relevant = frozenset({documents[-1][0]})
            queries.append(Query(id=str(len(queries)), text=line[2:], relevant=relevant))
        elif line and not line.startswith("#"):
            name, _, text = line.partition(" ")
            documents.append((name, text))
    return documents, queries


@pytest.fixture
def answered(repo):
    """Return the questions and what was answered to each."""
    documents, queries = notes()
    retrieval.fill(repo.home, repo.call, documents)
    return queries, retrieval.ask(repo.home, repo.call, queries)[0]


def test_the_right_memory_is_found_by_words_alone(answered):
    queries, run = answered

    measured = retrieval.figures(queries, run)

    assert len(queries) >= 75
    assert measured["hit_at_1"] >= HIT_AT_1
    assert measured["hit_at_3"] >= HIT_AT_3
    assert measured["mrr_at_10"] >= MRR


def test_a_worse_ranking_would_be_noticed(answered):
    queries, run = answered

    shuffled = {name: found[1:] + found[:1] for name, found in run.items()}

    assert retrieval.figures(queries, shuffled)["hit_at_1"] < HIT_AT_1
