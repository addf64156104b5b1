"""Fault 11: a long run, accelerated: what a daemon holds does not grow with what it has done."""

import shutil
import statistics

import psutil
import pytest
from living_daemon import SOAK, Shop
from waiting import wait_until

WARM_UP = 4
ROUNDS = 400 if SOAK else 12
LOOKS = 5
"""Compared are the middle of so many days at the beginning, and of so many at the end."""
GROWTH_BYTES = 20 * 1024 * 1024
"""Less than if 3 MiB a day were kept, or 52 KiB in a long run."""


def held(machine):
    process = psutil.Process(machine.process.pid)
    return {
        "descriptors": process.num_fds(),
        "threads": process.num_threads(),
        "watches": machine.watches(),
        "children": len(process.children(recursive=True)),
    }


def a_day(machine, shop, number):
    """Somebody works in a repository, has another for a while, and folders come and go."""
    for turn in range(2):
        shop.edit(turn, number % 2 * 7)
        shop.ask("remember", text=f"Queue {number}.{turn} is drained by worker{number}")
        shop.ask("recall", query=f"which worker drains queue {number}")
    shop.git("commit", "-q", "--allow-empty", "-am", f"day {number}")
    for folder in range(10):
        shop.write(f"src/new{folder}/a.py", "a = 1\n")
        shutil.rmtree(shop.root / f"src/new{folder}")
    guest = Shop.new(machine, f"guest{number}", files=1, separate=True)
    guest.edit(0, 7)
    guest.settles()
    machine.call("remove", cwd=guest.root)
    shutil.rmtree(guest.root)
    shop.settles()


@pytest.mark.timeout(3600 if SOAK else 600)
def test_descriptors_threads_watches_children_and_memory_stay_where_they_were(machine, shop):
    for number in range(WARM_UP):
        a_day(machine, shop, number)
    before = wait_until(lambda: _at_rest(machine), "a daemon at rest")
    memory = []
    for number in range(WARM_UP, WARM_UP + ROUNDS):
        a_day(machine, shop, number)
        memory.append(machine.rss_bytes())

    after = {}

    def is_back():
        after.update(held(machine))
        return all(after[name] <= before[name] + slack for name, slack in SLACK.items())

    wait_until(is_back, lambda: f"what was held before, {before}, and not {after}")
    grown = statistics.median(memory[-LOOKS:]) - statistics.median(memory[:LOOKS])
    print({"grown_bytes": grown, "rounds": ROUNDS, "before": before, "after": after})
    assert grown < GROWTH_BYTES
    assert machine.logged("service.crashed") == 0


SLACK = {"descriptors": 6, "threads": 4, "watches": 0, "children": 0}
"""Idle connections to stores and threads of pools that had not been needed before."""


def _at_rest(machine):
    found = held(machine)
    return found if found["children"] == 0 else None
