"""Does a verdict cost more in a larger tree? The same memories and changes in trees of three sizes.

    python -m tests.bench.scale [--files 1000 10000 50000] [--rounds 5] [--folder DIR]

Each tree has the same few files that memories rest on, and others that nobody names. One commit
edits, renames and removes some of the few. Printed is the processor time, of this process and of
git, for each step; and how much more it takes in the largest tree than in the smallest.
"""

import argparse
import resource
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tests.bench import verdicts as bench
from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.command import GitRunner
from yaadwatch.repo.layout import Head
from yaadwatch.repo.repository import Repository
from yaadwatch.staleness import anchoring, assessing
from yaadwatch.staleness.anchor_search import Source
from yaadwatch.staleness.commits import AtHead
from yaadwatch.staleness.git_queries import History
from yaadwatch.staleness.worktree import look_at

STANDING = (
    "Retries go through `fetch_with_retry` in src/core/retry.py",
    "The limits are in src/core/limits.py; `requests_per_minute` is the one that matters",
    "Everything below src/core/ is typed",
    "`open_session` is called once per process",
)
"""What stays true: touched files, and files that were renamed."""
LOST = (
    "Set `legacy_transport` for old servers",
    "`parse_legacy_header` is in src/core/legacy.py",
)
"""What names a word or a definition that is gone."""
FEW = {
    "retry.py": "def fetch_with_retry(url):\n    return [url] * 3\n",
    "limits.py": "requests_per_minute = 60\nlegacy_transport = True\n",
    "session.py": "def open_session():\n    return fetch_with_retry('session')\n",
    "legacy.py": "def parse_legacy_header(text):\n    return text.split()\n",
}
EDITED = {
    "retry.py": FEW["retry.py"] + "\n\ndef fetch_once(url):\n    return url\n",
    "limits.py": "requests_per_minute = 60\n",
    "sessions.py": FEW["session.py"],
}


@dataclass
class Place:
    """A work tree, as a check takes it."""

    root: Path
    repository: Repository


def build(folder, count):
    """Make a repository of `count` files with two commits; return these."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    parts = ["commit refs/heads/main\nmark :1\n", _who(1), _data("all")]
    for number in range(count - len(FEW)):
        lines = "".join(f"    value_{number}_{line} = compute({line})\n" for line in range(40))
        text = f"def function_{number}(given):\n{lines}    return given\n"
        place = f"lib/part{number // 1600}/group{number // 40 % 40}/module{number}.py"
        parts.append(f"M 100644 inline {place}\n{_data(text)}")
    parts += [f"M 100644 inline src/core/{name}\n{_data(text)}" for name, text in FEW.items()]
    parts += ["commit refs/heads/main\nmark :2\n", _who(2), _data("change"), "from :1\n"]
    parts += [f"D src/core/{name}\n" for name in FEW.keys() - EDITED.keys()]
    parts += [f"M 100644 inline src/core/{name}\n{_data(text)}" for name, text in EDITED.items()]
    _git(folder, "fast-import", "--quiet", given="".join(parts).encode())
    _git(folder, "repack", "-q", "-a", "-d")
    _git(folder, "reset", "-q", "--hard", "main")
    return _git(folder, "rev-parse", "main~1"), _git(folder, "rev-parse", "main")


def _who(at):
    return f"committer Ada <ada@example.org> {at} +0000\n"


def _data(text):
    return f"data {len(text.encode())}\n{text}\n"


def _git(folder, *arguments, given=None):
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], input=given, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def used():
    """Return the seconds of processor time of this process and the commands it ran."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def memories(texts, commit):
    """Return the texts as they were written at a commit."""
    return [bench.Memory(id=text, text=text, base=commit, doc="NOTES.md") for text in texts]


def judged(layout, head, texts, base, rests_on=None):
    """Return what became of texts at a commit, in a process of its own, which nothing is known to.

    What they rest on may be known already.
    """
    judge = bench.Judge(layout, head, frozenset())
    written = memories(texts, base)
    if rests_on is None:
        rests_on = judge.anchor(written)
    found = [answer.assessed for answer in judge.judge(written, rests_on)]
    judge.close()
    return found


def checked(folder, runner, texts, rests_on):
    """Return what became of texts in the work tree, as a check of the daemon finds it."""
    place = Place(folder, Repository(repo_layout.find(folder), runner))
    tree, head = look_at(place, (), time.time_ns())
    assessing.expect_anchors((anchor for own in rests_on for anchor in own), head)
    return [
        assessing.assess(text, own, tree, head) for text, own in zip(texts, rests_on, strict=True)
    ]


def asked_again(folder, runner, head, texts, rests_on):
    """Return what became of texts at a commit, as a later job of the same daemon finds it."""
    history = History(Repository(repo_layout.find(folder), runner))
    now = AtHead(history=history, head=Head(commit=head, branch=""))
    assessing.expect_anchors((anchor for own in rests_on for anchor in own), now)
    return [
        assessing.assess(text, own, now, now) for text, own in zip(texts, rests_on, strict=True)
    ]


def remembered(folder, runner, texts):
    """Return what texts rest on in the work tree, as `remember` finds it."""
    place = Place(folder, Repository(repo_layout.find(folder), runner))
    tree, head = look_at(place, (), time.time_ns())
    return anchoring.anchor([Source(text=text) for text in texts], tree, head.head.commit)


def measure(folder, base, head, rounds):
    """Return the milliseconds that each step took for one memory, of every round."""
    layout, runner = repo_layout.find(folder), GitRunner(timedelta(seconds=60))
    judge = bench.Judge(layout, base, frozenset())
    lasting, lost = (judge.anchor(memories(texts, base)) for texts in (STANDING, LOST))
    judge.close()
    assert all(own for own in (*lasting, *lost)), "a memory rests on nothing"
    steps = {
        "anchored and judged, commits": (
            STANDING,
            lambda: judged(layout, head, STANDING, base),
        ),
        "remembered in the work tree": (STANDING, lambda: remembered(folder, runner, STANDING)),
        "judged at a commit": (STANDING, lambda: judged(layout, head, STANDING, base, lasting)),
        "judged in the work tree": (STANDING, lambda: checked(folder, runner, STANDING, lasting)),
        "judged at a commit, name is gone": (LOST, lambda: judged(layout, head, LOST, base, lost)),
        "the same, by a later job": (LOST, lambda: asked_again(folder, runner, head, LOST, lost)),
        "judged in the work tree, name is gone": (
            LOST,
            lambda: checked(folder, runner, LOST, lost),
        ),
    }
    found = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name, (texts, step) in steps.items():
            start = used()
            answers = step()
            if number:  # the first round loads grammars and libraries
                found[name].append(1000 * (used() - start) / len(texts))
            if texts is LOST:
                assert all(answer.worst.verdict.value == "gone" for answer in answers), answers
    runner.close()
    return found


def main(arguments=None):
    """Print a row for each step, a column for each size."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale")
    parser.add_argument("--files", type=int, nargs="+", default=[1000, 10_000, 50_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where the repositories are made; removed afterwards")
    args = parser.parse_args(arguments)
    table = {}
    for count in args.files:
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            place = Path(folder) / "repo"
            base, head = build(place, count)
            for name, times in measure(place, base, head, args.rounds).items():
                table.setdefault(name, []).append(statistics.median(times))
    print("ms of processor time a memory, by files:", *args.files, "ratio")
    for name, row in table.items():
        print(f"{name:40}", *(f"{one:9.1f}" for one in row), f"{row[-1] / row[0]:8.1f}")


if __name__ == "__main__":
    main()
