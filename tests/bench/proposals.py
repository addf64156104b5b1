"""Lists every text that is proposed on cases with known answers, to see whether it is true.

    python -m tests.bench.proposals --cases CASES --git-root 'DIR/{}' --out PROPOSALS

Each line of PROPOSALS has the case, the old text, the text that was proposed, the text that people
wrote in its place, where the history has one, and a verdict:

- `same`: people wrote the same, apart from white space
- `place`: what people wrote names the proposed path, too
- `other`: people wrote something that does not name it
- `kept`: people left the text as it was
- `open`: the history does not tell

All but `same` is to be read by a person. The texts are of others: the file is for a look, and no
part of this repository.
"""

import argparse
import difflib
import json
import sys
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.bench.stale import git, look

ALIKE = 0.5
"""From which likeness on a new line of a page is what became of an old one."""
LATER_MAX = 400
"""Commits of a page after the judged one in which its new words are looked for."""


def plain(text):
    """Return a text without its line breaks and marks of a list."""
    return " ".join(text.split()).lstrip("-*+ ")


def items(page):
    """Return the lines of a page, and each with those below it that go on with it."""
    lines = [line.strip() for line in page.splitlines()]
    found = [line for line in lines if line]
    for start in range(len(lines)):
        ends = range(start + 2, min(start + 6, len(lines)) + 1)
        found += [" ".join(lines[start:end]) for end in ends if all(lines[start:end])]
    return found


def page_at(folder, commit, doc):
    """Return what a page says at a commit; '' when it is not there."""
    listed = git(folder, "ls-tree", commit, "--", doc).split()
    return git(folder, "cat-file", "blob", listed[2]) if len(listed) > 2 else ""


def written_instead(folder, case):
    """Return what people wrote in place of a text; '' when they deleted it, None: not known."""
    text = plain(case["text"])
    if case["mode"] == "same":
        commits = [case["head"]]
    else:
        later = f"{case['head']}..HEAD"
        order = ("--reverse", "--topo-order", "--format=%H")
        commits = git(folder, "log", *order, later, "--", case["doc"]).split()[:LATER_MAX]
    before = case["base"] if case["mode"] == "same" else case["head"]
    for commit in commits:
        page = page_at(folder, commit, case["doc"])
        if text in plain(page):
            before = commit
            continue
        old = set(map(plain, items(page_at(folder, before, case["doc"]))))
        new = [one for one in map(plain, items(page)) if one not in old]
        best = max(new, key=lambda one: ratio(text, one), default="")
        return best if ratio(text, best) >= ALIKE else ""
    return None


def ratio(one, other):
    """Return how alike two texts are, 0..1."""
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def verdict_of(proposed, path, written, *, label):
    """Return what the words that people wrote say of a proposed text."""
    if written is None:
        return "kept" if not label else "open"
    if plain(proposed) == written:
        return "same"
    return "place" if path and path.rstrip("/") in written else "other"


def proposed_of(repository, cases, folder):
    """Return a row for each case of one repository for which a text, or a place, is proposed."""
    groups = defaultdict(list)
    for case in cases:
        groups[case["mode"], case["head"]].append(case)
    rows = []
    for (_, head), group in sorted(groups.items()):
        answers, _ = look(folder, head, group, {case["doc"] for case in group})
        by_id = {case["id"]: case for case in group}
        for answer in answers:
            found = answer.assessed
            offer = found.suggestion if found else None
            if offer is None or not (offer.text or offer.placed_text):
                continue
            case = by_id[answer.memory.id]
            written = written_instead(folder, case)
            text = offer.text or offer.placed_text
            rows.append(
                {key: case[key] for key in ("id", "mode", "label", "kind", "tier", "text")}
                | {
                    "repo": repository,
                    "level": found.level,
                    "offered": bool(offer.text),
                    "proposed": text,
                    "path": offer.path,
                    "people": written,
                    "reason": found.worst.reason,
                    "machine": verdict_of(text, offer.path, written, label=case["label"]),
                }
            )
    return rows


def main():
    """Write the proposals, and print how many there are of each verdict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--git-root", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    by_repo = defaultdict(list)
    for line in Path(args.cases).read_text("utf-8").splitlines():
        case = json.loads(line)
        by_repo[case["repo"]].append(case)
    with (
        ProcessPoolExecutor(args.workers) as pool,
        Path(args.out).open("w", encoding="utf-8") as out,
    ):
        jobs = {
            repo: pool.submit(
                proposed_of, repo, own, Path(args.git_root.format(repo.replace("/", "+")))
            )
            for repo, own in sorted(by_repo.items(), key=lambda item: len(item[1]))
        }
        count = Counter()
        for repo, job in jobs.items():
            for row in job.result():
                out.write(json.dumps(row) + "\n")
                count["offered" if row["offered"] else "held back", row["machine"]] += 1
            out.flush()
            print(f"{repo}: {len(by_repo[repo])} cases", file=sys.stderr, flush=True)
    for (what, machine), times in sorted(count.items()):
        print(f"{what:9} {machine:6} {times}")


if __name__ == "__main__":
    main()
