"""How does a store grow? Its size, and what `remember` and `recall` cost, with ever more memories.

    python -m tests.bench.growth [--memories 1000 10000 100000]

A store of its own in a temporary folder is filled by an import; the memories are short, of words of
this project's own pages. Printed are the bytes of a store without slack, and the processor time of
this process for one memory, and one question, in the middle and at the slow end.
"""

import argparse
import base64
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from yaadwatch import places
from yaadwatch.api.messages.memories import Recall, Remember
from yaadwatch.api.messages.store import Add, Import
from yaadwatch.db import migrations
from yaadwatch.model.settings import Settings
from yaadwatch.projects import importing, projects
from yaadwatch.recall import recall
from yaadwatch.remember import remember
from yaadwatch.system import files
from yaadwatch.system.clock import Clock
from yaadwatch.workspace.lookup import open_home
from yaadwatch.workspace.workspace import Call

ROUNDS = 60
WORDS = 14
PAGES = sorted((Path(__file__).parents[2] / "docs").rglob("*.md"))
AT = "2026-01-01T00:00:00.000Z"


def texts(count, chance):
    """Yield short memories, no two alike."""
    words = " ".join(page.read_text(encoding="utf-8") for page in PAGES).split()
    for number in range(count):
        yield f"Note {number}: {' '.join(chance.choices(words, k=WORDS))}"


def fill(home, call, count, chance):
    """Import `count` memories; return the seconds of processor time of the import."""
    head = {"yaadwatch": "bench", "format": 1, "schema": migrations.chain()[-1].version}
    rows = [json.dumps(head | {"role": "project", "at": AT})]
    for number, text in enumerate(texts(count, chance)):
        node = {
            "table": "nodes",
            "id": f"{number:08x}-0000-7000-8000-000000000000",
            "kind": "note",
            "tier": 2,
            "scope": "project",
            "text": text,
            "origin": "import",
            "confidence": 1.0,
            "confirmed_at": AT,
            "created_at": AT,
            "updated_at": AT,
        }
        version = {
            "table": "node_versions",
            "node": node["id"],
            "version": 1,
            "at": AT,
            "change": "created",
            "actor": "import",
            "kind": "note",
            "tier": 2,
            "text": text,
        }
        rows += [json.dumps(node), json.dumps(version)]
    data = ("\n".join(rows) + "\n").encode()
    start, upload = time.process_time(), None
    for at in range(0, len(data), 1024 * 1024):
        piece = base64.b64encode(data[at : at + 1024 * 1024]).decode()
        upload = importing.import_file(
            home, call, Import(format="jsonl", upload=upload, data=piece)
        )["upload"]
    done = importing.import_file(home, call, Import(format="jsonl", upload=upload, last=True))
    assert done["counts"]["nodes"]["new"] == count, done
    return time.process_time() - start


def spent(work, rounds):
    """Return the milliseconds of processor time of each call."""
    found = []
    for number in range(rounds):
        start = time.process_time()
        work(number)
        found.append(1000 * (time.process_time() - start))
    return found


def measure(count):
    """Return size and costs of a store of `count` memories."""
    with tempfile.TemporaryDirectory(prefix="yaad-growth-") as folder:
        os.environ["YAAD_HOME"] = f"{folder}/home"
        files.private_folder(places.data_folder())
        clock = Clock()
        home = open_home(Settings(), clock=clock)
        repo = Path(folder) / "repo"
        subprocess.run(["git", "init", "-q", str(repo)], check=True)
        call = Call(folder=repo, origin="cli")
        projects.add(home, call, Add())
        chance = random.Random(20261122)
        imported = fill(home, call, count, chance)
        with home.space(call) as space:
            copy = Path(folder) / "copy.db"
            space.db.backup(copy)
        size = copy.stat().st_size / 2**20
        asked = [" ".join(text.split()[3:8]) for text in texts(ROUNDS, chance)]
        told = [f"{text} said again" for text in texts(ROUNDS, chance)]
        recall.recall(home, call, Recall(query="warm up"))
        remember.remember(home, call, Remember(text="warm up"))
        recalled = spent(
            lambda number: recall.recall(home, call, Recall(query=asked[number])), ROUNDS
        )
        remembered = spent(
            lambda number: remember.remember(home, call, Remember(text=told[number])), ROUNDS
        )
        home.close()
    return {"MiB": size, "import": imported, "remember": remembered, "recall": recalled}


def main(arguments=None):
    """Print a row for each number of memories."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth")
    parser.add_argument("--memories", type=int, nargs="+", default=[1000, 10_000, 100_000])
    args = parser.parse_args(arguments)
    print(f"{'memories':>9} {'MiB':>8} {'import s':>9} {'remember ms':>17} {'recall ms':>17}")
    for count in args.memories:
        found = measure(count)
        middle = [statistics.median(found[name]) for name in ("remember", "recall")]
        slow = [sorted(found[name])[-ROUNDS // 20] for name in ("remember", "recall")]
        print(
            f"{count:>9} {found['MiB']:>8.2f} {found['import']:>9.2f} "
            f"{middle[0]:>8.2f} ({slow[0]:.2f}) {middle[1]:>8.2f} ({slow[1]:.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
