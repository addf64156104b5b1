"""What does a question cost, by words and with vectors, and where does that go?

    python -m tests.bench.recall [--memories 10000] [--vectors MODEL] [--kept FILE]

A store of its own is filled with short memories, of words of this project's own pages; one in fifty
has a word that no other has. Printed are how often a question with such a word found its memory
first, and processor time in milliseconds, in the middle and at the slow end: of this process and
the worker together for a question, and for its parts alone. `--kept` keeps vectors from run to run.
"""

import argparse
import random
import statistics
import time
from pathlib import Path

from tests.bench import growth, retrieval
from tests.bench.retrieval import Query
from yaadwatch.recall import vectors as recall_vectors
from yaadwatch.system import processes

EVERY = 50
NEAREST = 200


def questions(count):
    """Return short memories, and questions with the words that only one of them has."""
    chance = random.Random(20261122)
    documents, queries = [], []
    for number, words in enumerate(growth.texts(count, chance)):
        name, text = f"memory-{number}", words
        if number % EVERY == 0:
            word = f"zq{number:06}x"
            said = words.split()
            queries.append(
                Query(
                    id=f"question-{number}",
                    text=f"what about {said[3]} {said[5]} {said[6]} and {word}",
                    relevant=frozenset({name}),
                )
            )
            text = f"{words} {word}"
        documents.append((name, text))
    return documents, queries


def spent(costs):
    """Return milliseconds in words: the median, and the slowest twentieth."""
    ordered = sorted(costs)
    return f"{statistics.median(ordered):.1f} ({ordered[len(ordered) * 95 // 100]:.1f})"


def ask(home, call, queries, *, meant):
    """Print how well and at what cost questions are answered, after a round that warms up."""
    retrieval.ask(home, call, queries[:20], meant=meant)
    run, costs = retrieval.ask(home, call, queries, meant=meant)
    found = retrieval.figures(queries, run)["hit_at_1"]
    print(f"{'words and vectors' if meant else 'words'}: hit@1 {found:.3f}, {spent(costs)} ms")


def parts(home, call, queries):
    """Print what the vector of a question costs, and what is near it.

    The vectors of the questions are known by then to nobody.
    """
    model = recall_vectors.active(home)
    worker = home.vectors.of(model.name)
    costs = []
    for query in queries:
        before = time.process_time() + processes.cpu_s(worker.pid)
        worker.embed([f"{query.text}?"], wait_s=60)
        costs.append(1000 * (time.process_time() + processes.cpu_s(worker.pid) - before))
    print(f"  the vector of a question: {spent(costs)} ms")
    rss = processes.rss_bytes(worker.pid) / 2**20
    with home.space(call) as space:
        costs = []
        for query in queries:
            before = time.process_time() + processes.cpu_s(worker.pid)
            recall_vectors.nearest(home, space.db, query.text, limit=NEAREST)
            costs.append(1000 * (time.process_time() + processes.cpu_s(worker.pid) - before))
        print(f"  the nearest {NEAREST}, question known or not: {spent(costs)} ms")
    print(f"  the worker: {rss:.0f} MiB")


def main():
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--vectors", metavar="MODEL", nargs="?", const="minilm")
    parser.add_argument("--kept", type=Path)
    given = parser.parse_args()
    documents, queries = questions(given.memories)
    with retrieval.world() as (home, call):
        retrieval.fill(home, call, documents)
        ask(home, call, queries, meant=False)
        if given.vectors:
            retrieval.embed(home, call, given.vectors, given.kept)
            ask(home, call, queries, meant=True)
            parts(home, call, queries)


if __name__ == "__main__":
    main()
