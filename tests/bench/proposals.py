"""Lists every text that is proposed on cases with known answers, and counts renames.

    python -m tests.bench.proposals --cases CASES --git-root 'DIR/{}' --out PROPOSALS

Each line of PROPOSALS has a case, the old text, the proposed text, the text that people wrote in
its place where the history has one, and a verdict: `same` (people wrote the same), `place` (what
people wrote names the proposed path, too), `other`, `kept` (people left the text) or `open` (the
history does not tell). All but `same` is to be read by a person. The texts are of others.
"""

import argparse
import difflib
import json
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.bench.stale import git, look
from tests.bench.verdicts import suggested


def plain(text):
    """Return a text without its line breaks and marks of a list."""
    return " ".join(text.split()).lstrip("-*+ ")


def items(page):
    """Return the lines of a page, and each with up to five below it that continue it."""
    lines = [line.strip() for line in page.splitlines()]
    found = [line for line in lines if line]
    for start in range(len(lines)):
        ends = range(start + 2, min(start + 6, len(lines)) + 1)
        found += [" ".join(lines[start:end]) for end in ends if all(lines[start:end])]
    return found


def written_instead(folder, case):
    """Return what people wrote in place of a text; '' when they deleted it, None: not known."""

    def page_at(commit):
        listed = git(folder, "ls-tree", commit, "--", case["doc"]).split()
        return git(folder, "cat-file", "blob", listed[2]) if len(listed) > 2 else ""

    def alike(one):
        return difflib.SequenceMatcher(None, text, one, autojunk=False).ratio()

    text, before, commits = plain(case["text"]), case["base"], [case["head"]]
    if case["mode"] == "lagged":
        order = ("--reverse", "--topo-order", "--format=%H", f"{case['head']}..HEAD")
        before, commits = case["head"], git(folder, "log", *order, "--", case["doc"]).split()[:400]
    for commit in commits:
        page = page_at(commit)
        if text in plain(page):
            before = commit
            continue
        old = set(map(plain, items(page_at(before))))
        new = [one for one in map(plain, items(page)) if one not in old]
        best = max(new, key=alike, default="")
        return best if alike(best) >= 0.5 else ""
    return None


def rows_of(repository, cases, folder):
    """Return a row for each case of a repository with a proposed text, and for each rename."""
    groups = defaultdict(list)
    for case in cases:
        groups[case["mode"], case["head"]].append(case)
    rows = []
    for (_, head), group in sorted(groups.items()):
        answers, _ = look(folder, head, group, {case["doc"] for case in group})
        by_id = {case["id"]: case for case in group}
        for answer in answers:
            found, case = answer.assessed, by_id[answer.memory.id]
            offer = found.suggestion if found else None
            text = offer.text if offer else ""
            new = (case["true_new_path"] or "").rstrip("/") if case["label"] else ""
            is_rename = bool(new) and case["kind"] == "path-renamed" and case["tier"] == "core"
            if not text and not is_rename:
                continue
            row = {key: case[key] for key in ("id", "mode", "label", "kind", "tier", "text")}
            row |= {"repo": repository, "proposed": text, "verdict": "", "rename": {}}
            if text:
                people = written_instead(folder, case)
                path = (offer.path or "").rstrip("/")
                verdict = "place" if people and path and path in people else "other"
                verdict = "same" if people == plain(text) else verdict
                if people is None:
                    verdict = "open" if case["label"] else "kept"
                row |= {"people": people, "verdict": verdict}
            if is_rename:
                own = (suggested(found) or "").rstrip("/") if found else ""
                there = bool(git(folder, "ls-tree", head, "--", new))
                row["rename"] = {"proposed": own, "people": new, "there": there}
            rows.append(row)
    return rows


def main():
    """Write the proposals, and print how many there are of each verdict, and the renames."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.proposals")
    parser.add_argument("--cases", required=True)
    parser.add_argument("--git-root", required=True, help="a git directory; {} is owner+name")
    parser.add_argument("--out", required=True)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    by_repo = defaultdict(list)
    for line in Path(args.cases).read_text("utf-8").splitlines():
        case = json.loads(line)
        by_repo[case["repo"]].append(case)
    rows = []
    with ProcessPoolExecutor(args.workers) as pool:
        jobs = [
            pool.submit(rows_of, repo, own, Path(args.git_root.format(repo.replace("/", "+"))))
            for repo, own in by_repo.items()
        ]
        for job in jobs:
            rows += job.result()
    Path(args.out).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    for verdict, times in sorted(
        Counter(row["verdict"] for row in rows if row["proposed"]).items()
    ):
        print(f"texts proposed, {verdict}: {times}")
    renames = [row["rename"] for row in rows if row["rename"]]
    there = [one for one in renames if one["there"]]
    for what, some in (("all", renames), ("whose new path was there", there)):
        right = sum(one["proposed"] == one["people"] for one in some)
        print(f"renames, {what}: {right} of {len(some)} right ({right / max(len(some), 1):.2f})")


if __name__ == "__main__":
    main()
