"""Fault 1: the daemon is killed at any moment, and files change while it is dead."""

import os
import random
import subprocess
import time

import pytest
from living_daemon import SOAK, Shop, source
from waiting import wait_until

KILLS = 100 if SOAK else 6
BLOCK_OPENS = "<!-- yaad:begin"


class Life:
    """Somebody who works in a repository: saves, reverts, deletes, commits, changes branches."""

    def __init__(self, shop, chance):
        self.shop = shop
        self.chance = chance
        self.count = 0

    def act(self):
        number = self.chance.randrange(Shop.FILES)
        self.count += 1
        saves = (self.save, self.save_whole, self.save_without_a_trace)
        self.chance.choice((*saves, self.revert, self.delete, self.commit, self.switch))(number)

    def save(self, number):
        self.shop.edit(number, self.count)

    def save_whole(self, number):
        """As editors do: a new file takes the place of the old one."""
        path = self.shop.root / f"src/m{number}.py"
        fresh = path.with_suffix(".tmp")
        fresh.write_text(source(number, self.count))
        fresh.replace(path)

    def save_without_a_trace(self, number):
        """The same size, and the time of the file as it was."""
        path = self.shop.root / f"src/m{number}.py"
        if path.exists():
            before = path.stat()
            text = path.read_text()
            path.write_text(text[:-2] + ("1" if text[-2] == "2" else "2") + "\n")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def revert(self, number):
        self.shop.edit(number, 0)

    def delete(self, number):
        (self.shop.root / f"src/m{number}.py").unlink(missing_ok=True)

    def commit(self, number):
        self.shop.git("add", "-A")
        self.shop.git("commit", "-q", "--allow-empty", "-m", f"number {self.count}")

    def switch(self, number):
        try:
            self.shop.git("checkout", "-q", self.chance.choice(["main", "side"]))
        except subprocess.CalledProcessError:
            self.shop.git("checkout", "-q", "--", "src")  # what is not committed is given up


@pytest.mark.timeout(3600 if SOAK else 600)
def test_after_each_kill_nothing_acknowledged_is_lost_and_every_verdict_is_right(machine, shop):
    """0 lost, 0 false: memories, verdicts, the store, the person's words in their own file."""
    chance = random.Random(20261122)
    shop.git("branch", "side")
    life = Life(shop, chance)
    acknowledged = {}
    machine.ask("files", "adopt", "CLAUDE.md", "--mode", "inline", cwd=shop.root)
    for kill in range(KILLS):
        for _ in range(chance.randrange(1, 12)):
            life.act()
            if chance.random() < 0.4:
                text = f"Queue {life.count} of round {kill} is drained by worker{life.count}"
                acknowledged[shop.ask("remember", text=text)["id"]] = text
        time.sleep(chance.uniform(0.0, 0.3))
        machine.kill()

        written = (shop.root / "CLAUDE.md").read_text()
        assert "- Prices are integers, in cents.\n" in written
        assert written.count(BLOCK_OPENS) == written.count("<!-- yaad:end") <= 1
        for _ in range(chance.randrange(0, 6)):
            life.act()
        machine.live()

        shop.settles()
        kept = {node: shop.ask("show", id=node)["text"] for node in acknowledged}
        assert kept == acknowledged

    print({"kills": KILLS, "changes": life.count, "acknowledged": len(acknowledged)})
    assert machine.stop() == 0
    assert shop.is_sound() == "ok"
    machine.live()
    wait_until(lambda: set(shop.flags(check=True)) == shop.false, "the same verdicts when asked")
