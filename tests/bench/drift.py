"""Counts which statements of projects are flagged once one commit makes them false.

    python -m tests.bench.drift [--page] [NAME...]

Each file of `tests/bench/drift` is a project: what its CLAUDE.md says, its files, a commit that
makes all of it false, and commits that make none of it false. `yaadwatch check` judges each commit
in a process of its own. `--page` writes the table into docs/truth.md.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent / "drift"
PAGE = Path(__file__).parents[2] / "docs" / "truth.md"
BEGINS, ENDS = "<!-- drift: begin -->\n", "<!-- drift: end -->"
NAMES = {
    f"GIT_{who}_{key}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
}


class Project:
    """A repository with the commit `before`, from which each change starts."""

    def __init__(self, top, told):
        self.told, self.root = told, top / "repo"
        (top / "run").mkdir(mode=0o700)
        self.root.mkdir()
        alone = {"HOME": str(top), "XDG_RUNTIME_DIR": str(top / "run"), "GIT_CONFIG_NOSYSTEM": "1"}
        self.env = {**os.environ, **NAMES, **alone}
        self.git("init", "-q", "-b", "main")
        lines = "".join(f"- {one['text']}\n" for one in told["says"])
        self.write({**told["before"], "CLAUDE.md": f"# Project\n\n{lines}"})
        self.git("tag", "before")

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.root, env=self.env, check=True)

    def write(self, files):
        """Commit files; one that is false is deleted."""
        for path, text in files.items():
            target = self.root / path
            if text is False:
                target.unlink()
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text.removeprefix("\n"))
        self.git("add", "-A")
        self.git("commit", "-qm", "a commit")

    def flagged(self, files):
        """Return the statements that `check` flags after a change of these files."""
        self.git("reset", "-q", "--hard", "before")
        self.write(files)
        done = subprocess.run(
            [sys.executable, "-m", "yaadwatch", "check", "--base", "HEAD~1"],
            cwd=self.root,
            env={**self.env, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr)
        found = {int(line) for line in re.findall(r"CLAUDE\.md:(\d+)\b", done.stdout)}
        return [one for at, one in enumerate(self.told["says"], 3) if at in found]


def measure(name):
    """Return for each kind how many statements a project has and how many are found; false ones."""
    with tempfile.TemporaryDirectory(prefix="drift") as top:
        told = tomllib.loads((HERE / f"{name}.toml").read_text("utf-8"))
        project = Project(Path(top), told)
        found = project.flagged(told["drift"])
        false = {
            control: [one["text"] for one in project.flagged(files)]
            for control, files in told["control"].items()
        }
    missed = [one for one in told["says"] if one not in found]
    for one in missed:
        print(f"{name}: missed ({one['kind']}): {one['text']}")
    for control, texts in false.items():
        for text in texts:
            print(f"{name}: false after {control}: {text}")
    said, hit = (Counter(one["kind"] for one in rows) for rows in (told["says"], found))
    return said, hit, sum(map(len, false.values())), len(told["control"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args()
    names = asked.names or sorted(path.stem for path in HERE.glob("*.toml"))
    every, hits, lines, false_all, controls_all = Counter(), Counter(), [], 0, 0
    for name in names:
        said, hit, false, controls = measure(name)
        every, hits = every + said, hits + hit
        false_all, controls_all = false_all + false, controls_all + controls
        lines.append(
            f"| {name} | {hit.total()} of {said.total()} | {false} after {controls} commits |"
        )
    total = (
        f"| all | {hits.total()} of {every.total()} | {false_all} after {controls_all} commits |"
    )
    head = ["| project | found | false |", "|---|---|---|"]
    kinds = ", ".join(f"{kind} {hits[kind]} of {every[kind]}" for kind in sorted(every))
    table = "\n".join([*head, *lines, total, "", f"By kind: {kinds}.", ""])
    print(table)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.1f} s of processor time")
    if asked.page:
        before, rest = PAGE.read_text("utf-8").split(BEGINS)
        PAGE.write_text(f"{before}{BEGINS}{table}{ENDS}{rest.split(ENDS)[1]}", encoding="utf-8")
    return hits.total() < 0.85 * every.total() or bool(false_all)


if __name__ == "__main__":
    sys.exit(main())
