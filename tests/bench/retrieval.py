"""Is the right memory found? `python -m tests.bench.retrieval SET.json [--out RUN.json]`.

A set is `{docs: [{id, text}], queries: [{id, text, relevant: [ids]}]}`. Each document becomes a
memory of a fresh store, all equally sure and new, so that only the words count. The run file is
`{query id: [document ids, best first]}`. Printed: Hit@1, nDCG@10, and the CPU time of one recall.
"""

import argparse
import hashlib
import json
import math
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from yaadwatch.core.recall.query import match_expression
from yaadwatch.core.recall.rank import Candidate, rank
from yaadwatch.core.text import subtokens, summarise
from yaadwatch.engine.recall import CANDIDATES_MAX
from yaadwatch.model.nodes import WARM, Node
from yaadwatch.model.settings import Settings
from yaadwatch.store import fulltext, nodes
from yaadwatch.store.sqlite.database import Database

NOW = datetime(2026, 11, 21, tzinfo=UTC)
TOP = 10


def main() -> None:
    """Measure one set."""
    parser = argparse.ArgumentParser(description="is the right memory found?")
    parser.add_argument("set", type=Path)
    parser.add_argument("--out", type=Path, help="write the ranked lists here")
    arguments = parser.parse_args()
    given = json.loads(arguments.set.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="yaad-bench-") as folder:
        db = Database.open(Path(folder) / "yaad.db", role="project", project="bench", create=True)
        try:
            db.write(fill, given["docs"])
            run, costs = ask(db, given["queries"])
        finally:
            db.close()
    if arguments.out:
        arguments.out.write_text(json.dumps(run), encoding="utf-8")
    print(json.dumps(figures(given["queries"], run) | {"documents": len(given["docs"])} | costs))


def fill(conn: apsw.Connection, documents: list[dict[str, Any]]) -> None:
    """Make a memory of each document; texts may repeat, so the id stands in for the text's hash."""
    for document in documents:
        text = document["text"]
        node = Node(
            id=document["id"],
            kind="spec",
            tier=WARM,
            scope="project",
            text=text,
            text_hash=hashlib.sha256(document["id"].encode()).hexdigest(),
            summary=summarise(text),
            origin="import",
            confidence=1.0,
            confirmed_at=NOW,
            created_at=NOW,
            updated_at=NOW,
        )
        num = nodes.insert(conn, node)
        fulltext.index(conn, num, text=text, sub=subtokens(text), tags="")


def ask(
    db: Database, queries: list[dict[str, Any]]
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Return the ranked ids of each query, and the CPU time of a query in milliseconds."""
    run = {}
    costs = []
    for query in queries:
        start = time.process_time()
        run[query["id"]] = db.read(recall, query["text"])[:TOP]
        costs.append((time.process_time() - start) * 1000)
    costs.sort()
    return run, {
        "cpu_ms_median": round(statistics.median(costs), 2),
        "cpu_ms_p95": round(costs[len(costs) * 95 // 100], 2),
    }


def recall(conn: apsw.Connection, question: str) -> list[str]:
    """Return the ids of the memories that answer, best first."""
    expression = match_expression(question)
    found = dict(fulltext.search(conn, expression, CANDIDATES_MAX)) if expression else {}
    known = nodes.many(conn, found)
    candidates = [
        Candidate(
            id=node.id,
            text=node.text,
            bm25=bm25,
            confidence=node.confidence,
            updated_at=node.updated_at,
            tier=node.tier,
        )
        for node, bm25 in ((known[name], bm25) for name, bm25 in found.items())
    ]
    ranked = rank(question, candidates, now=NOW, settings=Settings())
    return [each.candidate.id for each in ranked]


def figures(queries: list[dict[str, Any]], run: dict[str, list[str]]) -> dict[str, float]:
    """Return the means over all queries; relevance is binary."""
    hits, gains = [], []
    for query in queries:
        relevant = set(query["relevant"])
        found = [document in relevant for document in run[query["id"]]]
        gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(found) if hit)
        ideal = sum(1 / math.log2(place + 2) for place in range(min(len(relevant), TOP)))
        hits.append(float(found[:1] == [True]))
        gains.append(gain / ideal)
    return {
        "hit_at_1": round(statistics.mean(hits), 4),
        "ndcg_at_10": round(statistics.mean(gains), 4),
    }


if __name__ == "__main__":
    main()
