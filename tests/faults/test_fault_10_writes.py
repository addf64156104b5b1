"""Fault 10: ten thousand writes a second into a watched folder.

What that costs of a core is measured by `python -m tests.bench`.
"""

import threading
import time

from living_daemon import SOAK

ROUNDS = 60 if SOAK else 3
WRITES = 5_000
"""In each round, after one that is not counted."""
PAUSE_S = 0.00005
GROWTH_BYTES = 40 * 1024 * 1024
"""Less than if 3 KiB were kept of each write."""


def test_it_answers_and_every_verdict_is_right_in_the_end(machine, shop):
    over = threading.Event()
    written = [0]

    def write():
        paths = [shop.root / "src" / f"noise{number}" for number in range(200)]
        while not over.is_set():
            for path in paths:
                path.write_bytes(b"%d" % written[0])
                written[0] += 1
                time.sleep(PAUSE_S)

    def a_round():
        end, turns = written[0] + WRITES, 0
        while (written[0] < end and writing.is_alive()) or turns < 2:
            turns += 1
            shop.edit(turns % 3, turns % 2 * 7)
            assert shop.ask("recall", query="which rate is applied")["results"]

    writing = threading.Thread(target=write)
    writing.start()
    try:
        a_round()
        before = machine.rss_bytes()
        for _ in range(ROUNDS):
            a_round()
    finally:
        over.set()
        writing.join()

    shop.settles()
    assert written[0] >= (ROUNDS + 1) * WRITES
    assert machine.logged("service.crashed") == 0
    grown = machine.rss_bytes() - before
    print({"grown_bytes": grown, "writes": written[0]})
    assert grown < GROWTH_BYTES
