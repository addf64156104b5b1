"""Other processes that write all the while: no line of theirs is lost, whoever saves how."""

import os
import random
import subprocess
import sys
import textwrap
from datetime import timedelta

import pytest
from verb_world import prepared

from yaadwatch.model.projects import SYNCED

SOAK = os.environ.get("YAAD_SOAK") == "1"
ROUNDS = 20 if SOAK else 1
SYNCS = 5
LINES_MIN = 8
"""So many lines each writer has to have typed before a round ends."""

CLAUDE = "# Rules\n\n- Use tabs in Go files\n"
AGENTS = "# For agents\n\n- Run `make test` first\n"

WRITER = textwrap.dedent(
    """
    import fcntl, random, sys, time
    from pathlib import Path

    how, path, lock, seed = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    chance = random.Random(seed)
    number = 0
    while not lock.with_name("stop").exists():
        if number == 400:  # a file has room for 2,000 statements
            time.sleep(0.1)
            continue
        line = f"- Line {number} of {how} {seed} is typed by somebody"
        # Only among themselves: two such programs would lose each other's lines without us.
        with lock.open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if how == "appender":
                with path.open("a") as stream:
                    stream.write(line + "\\n")
            else:
                text = path.read_text()
                other = path.with_name(f"saved-{seed}~")
                other.write_text(text + line + "\\n")
                other.replace(path)
            print(line, flush=True)
        number += 1
        time.sleep(chance.choice((0.0, 0.003, 0.03, 0.1)))
    """
)


@prepared
def tree(world):
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS})
    tree.add(mode="inline")
    tree.sync()
    return tree


class Writer:
    """A program that types lines into CLAUDE.md until it is told to stop."""

    def __init__(self, tree, how, seed):
        self._out = tree.world.folder / f"{how}-{seed}"
        arguments = (how, tree.path / "CLAUDE.md", tree.world.folder / "lock", seed)
        with self._out.open("w") as out:
            self._program = subprocess.Popen(
                [sys.executable, "-c", WRITER, *map(str, arguments)], stdout=out
            )

    def said(self):
        """Return the whole lines that it has typed so far."""
        return self._out.read_text().rpartition("\n")[0].splitlines()

    def ended(self):
        """Wait for its end; return all that it typed."""
        assert self._program.wait(timeout=60) == 0
        return self.said()


def copies(tree):
    folder = tree.store.parent / "snapshots"
    found = (one.read_bytes().decode() for one in folder.iterdir())
    return {line for text in found for line in text.splitlines()}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "kinds", [("appender",), ("saver",), ("appender", "saver")][0 if SOAK else 2 :], ids="+".join
)
def test_no_line_is_lost_in_five_syncs(tree, kinds):
    chance = random.Random(7)
    for number in range(ROUNDS):
        writers = [Writer(tree, how, f"{number}") for how in kinds]
        kept = set()
        syncs = 0
        while syncs < SYNCS or any(len(one.said()) < LINES_MIN for one in writers):
            if syncs < SYNCS:
                tree.remember(f"Always obey rule {chance.random()} of {syncs}", kind="convention")
            tree.sync()
            kept |= copies(tree)
            syncs += 1
        (tree.world.folder / "stop").touch()
        said = [line for one in writers for line in one.ended()]
        (tree.world.folder / "stop").unlink()
        # Whoever saves what was read before our block stood there takes it out; nothing is lost,
        # and the file waits for a person, who says here that it was meant.
        tree.world.clock.advance(timedelta(minutes=10))
        for _ in range(5):
            tree.sync(accept=None)

        lines = tree.read("CLAUDE.md").splitlines()
        lost = [line for line in said if line not in lines]
        assert [line for line in lost if line not in kept | copies(tree)] == []
        assert lost == [] or "saver" in kinds
        assert [line for line in said if lines.count(line) > 1] == []
        assert sum("yaad:begin" in line for line in lines) <= 1
        assert {"# Rules", "- Use tabs in Go files"} <= set(lines)
        assert [one.name for one in tree.path.glob(".*.yaad")] == []
        assert tree.read("AGENTS.md").startswith(AGENTS)
        rows = tree.rows()
        assert {rows[path].state for path in ("CLAUDE.md", "AGENTS.md")} == {SYNCED}
        texts = tree.memories()
        assert len(texts) == len(set(texts))
        if not lost:
            assert {line.removeprefix("- ") for line in said} <= set(texts)
        tree.write("CLAUDE.md", CLAUDE)
        tree.sync(accept=None)
