"""Fits and measures the verdicts on cases with known answers: features, fit, replay.

    python -m tests.bench.stale features --cases CASES --git-root 'DIR/{}' --out FEATURES
    python -m tests.bench.stale fit --features FEATURES [--against PREDICTIONS]
    python -m tests.bench.stale replay REPOSITORY...

`features` judges all cases once; `fit` prints the table `WEIGHTS` of `staleness.verdict`
and its figures: `cv` leaves one repository out at a time and uses the threshold of that table,
`nested` chooses the threshold anew without that repository, `fit` is the table on what it was
fitted on. The tier `unfixed` (what is named is gone, and people left the text) is fitted to by
nothing and counted apart. numpy is in the dependency group `bench`.
"""

import argparse
import itertools
import json
import re
import resource
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bridges.registry import BRIDGES, for_path
from tests.bench import verdicts as bench
from yaadwatch.model.errors import YaadError
from yaadwatch.repo import layout
from yaadwatch.staleness import verdict

INSTRUCTIONS = re.compile(
    r"(^|/)(CLAUDE(\.local)?\.md|AGENTS?\.md|GEMINI\.md|CRUSH\.md|\.cursorrules|\.windsurfrules"
    r"|\.clinerules|\.rules|copilot-instructions\.md)$"
    r"|(^|/)\.cursor/rules/.*\.mdc?$|(^|/)\.github/instructions/.*\.md$"
    r"|(^|/)\.claude/rules/.*\.md$|(^|/)\.clinerules/.*\.md$"
    r"|^(docs/|\.github/|doc/|dev/|docs/dev/|docs/development/)?"
    r"(?i:CONTRIBUTING|ARCHITECTURE|DEVELOPMENT|DEVELOPING|HACKING|DEVELOPER|INTERNALS)\.(md|rst)$"
)
RIDGE = 10.0
"""Strength of the penalty on standardised weights."""
RESAMPLES = 1000


def git(folder, *arguments):
    """Return what a git command prints."""
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def used():
    """Return the seconds of processor time of this process and the commands it ran."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def look(folder, head, memories, docs):
    """Return what a check says of memories (rows with id, text, base, doc).

    And the processor time it took, in seconds: to anchor them, and to judge them.
    """
    listed = git(folder, "ls-tree", "-r", "--name-only", head).splitlines()
    hidden = frozenset({path for path in listed if INSTRUCTIONS.search(path)} | set(docs))
    wanted = [
        bench.Memory(id=row["id"], text=row["text"], base=row["base"], doc=row["doc"])
        for row in memories
    ]
    judge = bench.Judge(layout.find(folder), head, hidden)
    start = used()
    rests_on = judge.anchor(wanted)
    anchored = used()
    answers = list(judge.judge(wanted, rests_on))
    judge.close()
    return answers, (anchored - start, used() - anchored)


def features_of(repository, cases, folder):
    """Return a row for each case of one repository: what is known, and what the check found."""
    groups = defaultdict(list)
    for case in cases:
        groups[case["mode"], case["head"]].append(case)
    rows = []
    for (_, head), group in sorted(groups.items()):
        try:
            answers, seconds = look(folder, head, group, {case["doc"] for case in group})
        except YaadError as error:  # it cannot be sent from one process to another as it is
            raise RuntimeError(f"{repository} {head}: {error.message}") from None
        by_id = {case["id"]: case for case in group}
        for answer in answers:
            case = by_id[answer.memory.id]
            found = answer.assessed
            row = {key: case[key] for key in ("id", "mode", "label", "kind", "tier")}
            row |= {
                "repo": repository,
                "new": case["true_new_path"],
                "ms": [1000 * part / len(group) for part in seconds],
            }
            row["features"] = found.features if found else {}
            row["path"] = bench.suggested(found) if found else None
            row["verdict"] = found.worst.verdict.value if found else ""
            row["sights"] = _sights(found) if found else []
            rows.append(row)
    return rows


def _sights(found):
    """Return of each anchor of what was found: method, path, symbol and verdict."""
    judged = found.observations
    return [
        [one.anchor.method.value, one.anchor.path, one.anchor.symbol, one.verdict.value]
        for one in judged
    ]


def features(args):
    """Judge all cases and write what was found, a line of JSON each."""
    cases = [json.loads(line) for line in Path(args.cases).read_text("utf-8").splitlines()]
    by_repo = defaultdict(list)
    for case in cases:
        by_repo[case["repo"]].append(case)
    rows = []
    with ProcessPoolExecutor(args.workers) as pool:
        jobs = {
            repo: pool.submit(
                features_of,
                repo,
                own,
                Path(args.git_root.format(repo.replace("/", "+"))),
            )
            for repo, own in sorted(by_repo.items(), key=lambda item: -len(item[1]))
        }
        for repo, job in jobs.items():
            rows += job.result()
            print(f"{repo}: {len(by_repo[repo])} cases", file=sys.stderr, flush=True)
    Path(args.out).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    for part, name in enumerate(("anchored", "judged")):
        times = sorted(row["ms"][part] for row in rows)
        p50, p90 = times[len(times) // 2], times[len(times) * 9 // 10]
        print(f"{name}: p50 {p50:.0f} ms, p90 {p90:.0f} ms of processor time a case")


def regress(np, table, labels):
    """Return raw weights (intercept first) of a ridge logistic regression, by Newton's method."""
    mean, spread = table.mean(0), table.std(0)
    spread[spread == 0] = 1.0
    scaled = np.hstack([np.ones((len(table), 1)), (table - mean) / spread])
    found = np.zeros(scaled.shape[1])
    penalty = np.full(scaled.shape[1], RIDGE)
    penalty[0] = 0.0
    for _ in range(50):
        likely = 1 / (1 + np.exp(-scaled @ found))
        slope = scaled.T @ (labels - likely) - penalty * found
        curve = (scaled * (likely * (1 - likely))[:, None]).T @ scaled + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        found += step
        if np.abs(step).max() < 1e-8:
            break
    raw = found[1:] / spread
    return np.concatenate([[found[0] - (raw * mean).sum()], raw])


def scored(np, table, raw):
    """Return the score of each row; 0 for one without features."""
    scores = 1 / (1 + np.exp(-(raw[0] + table @ raw[1:])))
    scores[np.abs(table).sum(1) == 0] = 0.0
    return scores


def average_precision(labels, scores):
    """Return it with ties as one step, as the set's own scorer has it."""
    steps = defaultdict(lambda: [0, 0])
    for label, score in zip(labels, scores, strict=True):
        steps[round(float(score), 4)][0 if label else 1] += 1
    positives = sum(labels)
    right = wrong = 0
    total = 0.0
    for score in sorted(steps, reverse=True):
        hits, misses = steps[score]
        right, wrong = right + hits, wrong + misses
        total += hits / positives * right / (right + wrong)
    return total


def figures(labels, scores, stale):
    """Return F1, false positive rate, average precision, precision and recall."""
    hits = sum(1 for a, b in zip(labels, stale, strict=True) if a and b)
    false = sum(1 for a, b in zip(labels, stale, strict=True) if not a and b)
    positives, negatives = sum(labels), len(labels) - sum(labels)
    return {
        "F1": 2 * hits / max(1, hits + false + positives),
        "FPR": false / max(1, negatives),
        "AP": average_precision(labels, scores),
        "P": hits / max(1, hits + false),
        "R": hits / max(1, positives),
    }


def threshold(rows, scores, *, rate, mode):
    """Return the score of best F1 at a false positive rate of at most `rate` in `mode`."""
    pairs = [(s, r["label"]) for r, s in zip(rows, scores, strict=True) if r["mode"] == mode]
    negatives = sum(1 for _, label in pairs if not label)
    positives = len(pairs) - negatives
    best = (0.0, 0.99)
    for candidate in sorted({round(float(score), 3) for score, _ in pairs if score > 0.05}):
        hits = sum(1 for score, label in pairs if label and score >= candidate)
        false = sum(1 for score, label in pairs if not label and score >= candidate)
        if false <= rate * negatives:
            best = max(best, (2 * hits / max(1, hits + false + positives), candidate))
    return best[1]


def resampled(np, rows, measure, seed=7):
    """Return the 95 % interval of a measure of rows, resampling whole repositories."""
    by_repo = defaultdict(list)
    for row in rows:
        by_repo[row["repo"]].append(row)
    repos, random = sorted(by_repo), np.random.default_rng(seed)
    found = []
    for _ in range(RESAMPLES):
        drawn = [
            row for i in random.integers(0, len(repos), len(repos)) for row in by_repo[repos[i]]
        ]
        if 0 < sum(row["label"] for row in drawn) < len(drawn):
            found.append(measure(drawn))
    found.sort()
    return found[int(0.025 * len(found))], found[int(0.975 * len(found))]


def fit(args):
    """Print the fitted table, and figures by leaving out one repository at a time."""
    import numpy as np

    rows = [json.loads(line) for line in Path(args.features).read_text("utf-8").splitlines()]
    unfixed = [row for row in rows if row["tier"] == "unfixed" and not row["label"]]
    rows = [row for row in rows if row["tier"] == "core"]
    names = sorted({name for row in rows for name in row["features"]})
    table = np.array([[row["features"].get(name, 0.0) for name in names] for row in rows])
    labels = np.array([float(row["label"]) for row in rows])
    repos = np.array([row["repo"] for row in rows])
    whole = regress(np, table, labels)
    inside = scored(np, table, whole)
    best = threshold(rows, inside, rate=args.rate, mode="lagged")
    left_out = {}
    for repo in sorted(set(repos)):
        left, rest = repos == repo, repos != repo
        raw = left_out[repo] = regress(np, table[rest], labels[rest])
        kept = [row for row, keep in zip(rows, rest, strict=True) if keep]
        limit = threshold(kept, scored(np, table[rest], raw), rate=args.rate, mode="lagged")
        out = scored(np, table[left], raw)
        for index, score in zip(np.flatnonzero(left), out, strict=True):
            shipped, chosen = bool(score >= verdict.WARN), bool(score >= limit)
            rows[index] |= {"cv": float(score), "cv_stale": shipped}
            rows[index] |= {"nested": float(score), "nested_stale": chosen}
    for row, score in zip(rows, inside, strict=True):
        row |= {"fit": float(score), "fit_stale": bool(score >= verdict.WARN)}
    print("WEIGHTS = {")
    for name, value in zip(["intercept", *names], whole, strict=True):
        print(f'    "{name}": {value:.3f},')
    print(f"}}\nbest threshold for these rows: {best:.3f}")
    _calibration(rows)
    for mode in ("lagged", "same"):
        own = [row for row in rows if row["mode"] == mode]
        for kind in ("cv", "nested", "fit"):
            _report(np, mode, kind, own)
        _renames(np, mode, own)
        if args.against:
            _against(np, mode, own, Path(args.against))
    _unfixed(np, unfixed, names, left_out, whole)
    if args.out:
        kept = (
            "id",
            "repo",
            "mode",
            "label",
            "kind",
            "tier",
            "cv",
            "cv_stale",
            "verdict",
            "sights",
        )
        lines = (json.dumps({key: row[key] for key in kept}) + "\n" for row in rows)
        Path(args.out).write_text("".join(lines), "utf-8")


def _unfixed(np, rows, names, left_out, whole):
    """Print how many sentences are flagged that people left though what they name was gone.

    They are no mistakes by themselves, and nothing is fitted to them: they are to be read.
    """
    found = []
    for row in rows:
        values = np.array([[row["features"].get(name, 0.0) for name in names]])
        found.append(float(scored(np, values, left_out.get(row["repo"], whole))[0]))
    shown = sum(score >= verdict.WARN for score in found)
    print(f"unfixed, left out: {shown} flagged of {len(rows)}")


def _calibration(rows):
    """Print how many are stale of those with a score, left out, and what each level would show."""
    limits = (0.0, 0.2, 0.5, verdict.WARN, 0.9, 1.01)
    for low, high in itertools.pairwise(limits):
        own = [row["label"] for row in rows if low <= row["cv"] < high]
        print(f"score {low:.2f} to {min(high, 1):.2f}: {sum(own)} stale of {len(own)}")
    for limit in (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95):
        for mode in ("lagged", "same"):
            own = [row for row in rows if row["mode"] == mode]
            found = figures(
                [r["label"] for r in own], [r["cv"] for r in own], [r["cv"] >= limit for r in own]
            )
            shown = "  ".join(f"{name} {found[name]:.3f}" for name in ("P", "R", "FPR"))
            print(f"at {limit:.2f} {mode}: {shown}")


def _report(np, mode, kind, rows):
    def of(name):
        return lambda some: figures(
            [r["label"] for r in some], [r[kind] for r in some], [r[f"{kind}_stale"] for r in some]
        )[name]

    parts = []
    for name in ("F1", "FPR", "AP"):
        low, high = resampled(np, rows, of(name))
        parts.append(f"{name} {of(name)(rows):.3f} ({low:.3f}..{high:.3f})")
    new = [row for row in rows if row["kind"] == "replaced-by-new"]
    recall = sum(row[f"{kind}_stale"] for row in new) / max(1, len(new))
    precision, found = of("P")(rows), of("R")(rows)
    print(
        f"{mode} {kind}: {'  '.join(parts)}  P {precision:.3f} R {found:.3f}  "
        f"replaced-by-new {recall:.2f} of {len(new)}"
    )


def _renames(np, mode, rows):
    own = [row for row in rows if row["kind"] == "path-renamed" and row["new"]]

    def right(some):
        some = [row for row in some if row["kind"] == "path-renamed" and row["new"]]
        hits = sum((row["path"] or "").rstrip("/") == row["new"].rstrip("/") for row in some)
        return hits / max(1, len(some))

    low, high = resampled(np, rows, right)
    print(
        f"{mode}: {right(own):.2f} of {len(own)} renames right ({low:.2f}..{high:.2f}), "
        f"{sum(bool(row['path']) for row in own)} suggested"
    )


def _against(np, mode, rows, path):
    """Print how far ahead of another tool's predictions the cross-validated ones are."""
    other = {row["id"]: row for row in map(json.loads, path.read_text("utf-8").splitlines())}
    for name in ("F1", "AP"):

        def ahead(some, name=name):
            labels = [row["label"] for row in some]
            theirs = [other.get(row["id"], {}) for row in some]
            ours = figures(labels, [r["cv"] for r in some], [r["cv_stale"] for r in some])
            its = figures(
                labels,
                [float(t.get("score") or 0) for t in theirs],
                [bool(t.get("stale")) for t in theirs],
            )
            return ours[name] - its[name]

        low, high = resampled(np, rows, ahead)
        print(f"{mode}: {name} ahead by {ahead(rows):.3f} ({low:.3f}..{high:.3f})")


def replay(args):
    """Play a year of each repository's instruction files, and count the warnings.

    Twelve times a month apart, the memories that the files then hold are judged against the commit
    at which each was first seen. A warning is false when the file still says the same a year on.
    """
    every, months = [], 0
    for folder in args.repositories:
        own, warned = _year(Path(folder), args.until)
        months, every = months + own, every + [(row["score"], row["stays"]) for row in warned]
        _warnings(folder, own, [(row["score"], row["stays"]) for row in warned])
        if args.out:
            with Path(args.out).open("a", encoding="utf-8") as out:
                for row in warned:
                    out.write(json.dumps(row | {"repo": folder}) + "\n")
    _warnings("all", months, every)


def _warnings(name, months, warned):
    """Print how many warnings there would be from each score on."""
    for limit in sorted({0.75, verdict.WARN, 0.85, 0.9}):
        false = sum(score >= limit and stays for score, stays in warned)
        true = sum(score >= limit and not stays for score, stays in warned)
        print(
            f"{name}: from {limit:.2f} on: {months} memory-months, {false} false, {true} edited "
            f"later; {100 * false / max(1, months):.2f} false per 100 memories and month",
            flush=True,
        )


def _year(folder, until):
    """Return how many memory-months there were, and of each flagged memory its worst month.

    A row has score, stays (the file still says the same at the end), doc, text, base, head, reason,
    and sights: what was found of each anchor.
    """
    listed = git(folder, "log", "--first-parent", "--format=%H %ct", until).split()
    commits = list(zip(listed[0::2], map(int, listed[1::2]), strict=True))
    end, month = commits[0][1], 30 * 86_400
    points = []
    for ago in range(12, -1, -1):
        before = [commit for commit, at in commits if at <= end - ago * month]
        if before and before[0] not in points:
            points.append(before[0])
    first, warned = {}, {}
    months = 0
    last = set(_said(folder, points[-1]))
    for point in points:
        said = _said(folder, point)
        first = {key: first.get(key, point) for key in said}
        old = [key for key in said if first[key] != point]
        months += len(old)
        rows = [
            {"id": str(index), "text": key[1], "base": first[key], "doc": key[0]}
            for index, key in enumerate(old)
        ]
        if not rows:
            continue
        answers, _ = look(folder, point, rows, {key[0] for key in old})
        for key, answer in zip(old, answers, strict=True):
            found = answer.assessed
            if not found or not found.level:
                continue
            row = {"score": found.score, "stays": key in last, "doc": key[0], "text": key[1]}
            row |= {"base": first[key], "head": point, "reason": found.worst.reason}
            row["sights"] = _sights(found)
            kept = warned.get((key, first[key]))
            warned[key, first[key]] = row if not kept or row["score"] > kept["score"] else kept
    return months, list(warned.values())


def _said(folder, commit):
    """Return what the instruction files of a commit say: path and text of each statement."""
    said = []
    for path in git(folder, "ls-tree", "-r", "--name-only", commit).splitlines():
        if INSTRUCTIONS.search(path):
            bridge = for_path(path) or BRIDGES[0]
            text = git(folder, "show", f"{commit}:{path}").encode()
            said += [(path, statement.text) for statement in bridge.parse(text).statements]
    return list(dict.fromkeys(said))


def main(arguments=None):
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.stale")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("features", help="judge all cases")
    one.add_argument("--cases", required=True)
    one.add_argument("--git-root", required=True, help="a git directory; {} is owner+name")
    one.add_argument("--out", required=True)
    one.add_argument("--workers", type=int, default=1)
    one.set_defaults(run=features)
    two = commands.add_parser("fit", help="fit the weights and print what they are worth")
    two.add_argument("--features", required=True)
    two.add_argument("--rate", type=float, default=0.03, help="false positives allowed, lagged")
    two.add_argument("--against", help="predictions of another tool")
    two.add_argument("--out", help="write the cross-validated scores")
    two.set_defaults(run=fit)
    three = commands.add_parser("replay", help="count the warnings of a year")
    three.add_argument("repositories", nargs="+")
    three.add_argument("--until", default="HEAD")
    three.add_argument("--out", help="write what was flagged, a line of JSON each, at its end")
    three.set_defaults(run=replay)
    args = parser.parse_args(arguments)
    args.run(args)


if __name__ == "__main__":
    main()
