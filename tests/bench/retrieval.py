"""Answers a set of questions from a store made for it, and scores the answers.

    python -m tests.bench.retrieval SET.json [--out RUN.json] [--vectors [MODEL]] [--kept FILE]

A set is `{docs: [{id, text}], queries: [{id, text, relevant: [ids]}]}`. All documents become
memories of one fresh project, under their own ids, all of one kind, so that nothing but their words
(and, with vectors, their meaning) counts. Home, repository and store are in a folder of their own,
which is removed.
"""

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tests.bench.kept_vectors import KeptVectors
from tests.tiny_model import complete, warm_up
from yaadwatch import places
from yaadwatch.api.messages.graph import Inject
from yaadwatch.api.messages.memories import Recall
from yaadwatch.api.messages.store import Add
from yaadwatch.db import vectors as db_vectors
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import HYBRID
from yaadwatch.model.queries import GivenNode, Model
from yaadwatch.model.settings import FILL_BATCH, Settings
from yaadwatch.projects import projects
from yaadwatch.recall import recall
from yaadwatch.recall import vectors as recall_vectors
from yaadwatch.remember import inject
from yaadwatch.system import files, processes
from yaadwatch.workspace.lookup import open_home
from yaadwatch.workspace.workspace import PERSON, Call, Home

TOP = 10
"""Answers to each question that count."""
_KIND = "spec"
_FORM = "It is {docs: [{id, text}], queries: [{id, text, relevant: [ids]}]}."
_BATCH = 1_000
_TOKENS_MAX = 100_000
_PATIENCE_S = 120.0
_TRIES = 20
_TIMEOUT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question, and the documents that answer it; unknown when empty."""

    id: str
    text: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Set:
    """Documents (id and text) and questions."""

    documents: Sequence[tuple[str, str]]
    queries: Sequence[Query]


def retrieval(
    given: str, out: str | None, model: str | None = None, kept: str | None = None
) -> dict[str, object]:
    """Answer a set's questions; return how well and at what cost.

    Args:
        given: the file with the set.
        out: where `{query id: [document ids, best first]}` is written; None: nowhere.
        model: by whose vectors the meaning counts too: a known name, or a folder; None: words.
        kept: a file that keeps vectors from run to run; None: all are made anew.

    Raises:
        YaadError: BAD_REQUEST when a file is not what it should be, UNAVAILABLE when `out` or
            `kept` cannot be written.
    """
    asked = load(given)
    with world() as (home, call):
        start = time.process_time()
        fill(home, call, asked.documents)
        filled_s = time.process_time() - start
        if model is not None:
            embed(home, call, model, None if kept is None else Path(kept))
        run, costs = ask(home, call, asked.queries, meant=model is not None)
    if out is not None:
        try:
            Path(out).write_text(json.dumps(run), "utf-8")
        except OSError as error:
            raise YaadError(
                Code.UNAVAILABLE, f"{out} cannot be written ({error.strerror})."
            ) from error
    costs.sort()
    return {
        **figures(asked.queries, run),
        "documents": len(asked.documents),
        "queries": len(asked.queries),
        "cpu_ms_median": round(statistics.median(costs), 2),
        "cpu_ms_p95": round(costs[len(costs) * 95 // 100], 2),
        "filled_cpu_s": round(filled_s, 2),
    }


def load(path: str) -> Set:
    """Return the set in a file.

    Raises:
        YaadError: BAD_REQUEST; it cannot be read, or is not as it should be.
    """
    try:
        found = json.loads(Path(path).read_text("utf-8"))
        documents = [(str(row["id"]), str(row["text"])) for row in found["docs"]]
        queries = [
            Query(id=str(row["id"]), text=str(row["text"]), relevant=frozenset(row["relevant"]))
            for row in found["queries"]
        ]
    except OSError as error:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{path} cannot be read ({error.strerror}); nothing was asked.",
            hint="Name a file of JSON.",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{path} is no set of documents and questions ({type(error).__name__}: {error}); "
            "nothing was asked.",
            hint=_FORM,
        ) from error
    if not documents or not queries:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{path} has no documents or no questions; nothing was asked.",
            hint=_FORM,
        )
    return Set(documents=documents, queries=queries)


def fill(home: Home, call: Call, documents: Sequence[tuple[str, str]]) -> None:
    """Make a memory of each document."""
    for start in range(0, len(documents), _BATCH):
        batch = documents[start : start + _BATCH]
        nodes = tuple(GivenNode(id=name, text=text, kind=_KIND) for name, text in batch)
        inject.inject(home, call, Inject(nodes=nodes))


def embed(home: Home, call: Call, name: str, kept: Path | None = None) -> None:
    """Give every memory a vector, and have the model answer from now on.

    Args:
        home: what may be reached.
        call: whose project.
        name: of the model, or its folder.
        kept: vectors of earlier runs; those that it lacks are added as they are made.

    Raises:
        YaadError: the model is not on this machine, or does not start; `kept` is no such file.
    """
    worker = home.vectors.of(name)
    space, dimensions = worker.meet(_PATIENCE_S)
    enabled = home.clock.now()
    model = Model(
        space=space, name=name, dimensions=dimensions, state="filling", enabled_at=enabled
    )
    home.user.write(db_vectors.put_model, model)
    if kept is not None:
        known = KeptVectors(kept, space=space, dimensions=dimensions)
        with home.space(call) as place:
            after = 0
            while rows := place.db.read(db_vectors.missing, space, after=after, limit=FILL_BATCH):
                texts = [row.text for row in rows]
                lacking = [text for text in texts if text not in known.of(texts)]
                if lacking:
                    made = worker.embed(lacking, wait_s=_PATIENCE_S)
                    known.add(dict(zip(lacking, made, strict=True)))
                vectors = known.of(texts)
                place.db.write(db_vectors.put, space, rows, [vectors[text] for text in texts])
                after = rows[-1].num
    complete(home)
    warm_up(home, _PATIENCE_S)


def ask(
    home: Home, call: Call, queries: Sequence[Query], *, meant: bool = False
) -> tuple[dict[str, list[str]], list[float]]:
    """Return the ranked ids of each question, and what each cost, in milliseconds of CPU.

    The cost is that of this process and of the worker that embeds.

    Args:
        home: what may be reached.
        call: whose project.
        queries: the questions.
        meant: their meaning has to count; one that the worker was too slow for is asked again.

    Raises:
        YaadError: UNAVAILABLE; a question was not embedded in many tries.
    """
    run: dict[str, list[str]] = {}
    costs = []
    worker = _worker(home)
    for query in queries:
        for _ in range(_TRIES):
            start = _spent_s(worker)
            answer = recall.recall(
                home,
                call,
                Recall(query=query.text, top_k=TOP, tokens_max=_TOKENS_MAX, depth="summary"),
            )
            cost = _spent_s(worker) - start
            if not meant or answer["search"] == HYBRID:
                break
        else:
            raise YaadError(
                Code.UNAVAILABLE, f"Question {query.id} could not be embedded; nothing was written."
            )
        costs.append(cost * 1000)
        results = answer["results"]
        run[query.id] = [str(row["id"]) for row in results] if isinstance(results, list) else []
    return run, costs


def _worker(home: Home) -> int | None:
    """Return the process that embeds questions, if there is one."""
    model = recall_vectors.active(home)
    worker = None if model is None else home.vectors.known(model.name)
    return None if worker is None else worker.pid


def _spent_s(worker: int | None) -> float:
    return time.process_time() + (0.0 if worker is None else processes.cpu_s(worker))


def figures(queries: Sequence[Query], run: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the means over all questions, relevance is binary: Hit@1, Hit@3, MRR, nDCG, of ten."""
    rows = []
    for query in queries:
        found = [document in query.relevant for document in run[query.id][:TOP]]
        gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(found) if hit)
        ideal = sum(1 / math.log2(place + 2) for place in range(min(len(query.relevant), TOP)))
        rows.append(
            (
                float(found[:1] == [True]),
                float(any(found[:3])),
                next((1 / place for place, hit in enumerate(found, start=1) if hit), 0.0),
                gain / ideal if ideal else 0.0,
            )
        )
    names = ("hit_at_1", "hit_at_3", "mrr_at_10", "ndcg_at_10")
    return {
        name: round(statistics.fmean(row[place] for row in rows), 4)
        for place, name in enumerate(names)
    }


@contextlib.contextmanager
def world() -> Iterator[tuple[Home, Call]]:
    """Lend a home and a watched, empty repository in a folder of their own."""
    before = os.environ.get("YAAD_HOME")
    with tempfile.TemporaryDirectory(prefix="yaad-bench-") as folder:
        os.environ["YAAD_HOME"] = f"{folder}/home"
        repository = Path(folder, "repository")
        subprocess.run(
            ["git", "init", "-q", str(repository)],
            check=True,
            capture_output=True,
        )
        files.private_folder(places.data_folder())
        home = open_home(Settings())
        try:
            call = Call(folder=repository, origin=PERSON)
            projects.add(home, call, Add())
            yield home, call
        finally:
            home.close()
            if before is None:
                del os.environ["YAAD_HOME"]
            else:
                os.environ["YAAD_HOME"] = before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set")
    parser.add_argument("--out", help="write the ranked ids here")
    parser.add_argument("--vectors", nargs="?", const="minilm", help="search by meaning as well")
    parser.add_argument("--kept", help="keep the vectors in this file between runs")
    given = parser.parse_args()
    try:
        found = retrieval(given.set, given.out, given.vectors, given.kept)
    except YaadError as error:
        print(f"{error.message}\n  {error.hint}", file=sys.stderr)
        return 2
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
