"""Fault 10: ten thousand writes a second into a watched folder.

What that costs of a core is measured by `python -m tests.bench`.
"""

import threading
import time

from living_daemon import SOAK

SECONDS = 60 if SOAK else 3
PAUSE_S = 0.0001


def test_it_answers_and_every_verdict_is_right_in_the_end(machine, shop):
    over = threading.Event()
    written = [0]

    def write():
        paths = [shop.root / "src" / f"noise{number}" for number in range(200)]
        while not over.is_set():
            for path in paths:
                path.write_bytes(b"%d" % written[0])
                written[0] += 1
                time.sleep(PAUSE_S / 2)

    machine.call("status")
    before = machine.call("status")["daemon"]["rss_bytes"]
    writing = threading.Thread(target=write)
    writing.start()
    try:
        until = time.monotonic() + SECONDS
        turns = 0
        while time.monotonic() < until or turns < 2:
            turns += 1
            shop.edit(turns % 3, turns % 2 * 7)
            assert shop.ask("recall", query="which rate is applied")["results"]
    finally:
        over.set()
        writing.join()

    shop.settles()
    assert written[0] > 0
    assert machine.logged("service.crashed") == 0
    assert machine.call("status")["daemon"]["rss_bytes"] < before + 40 * 1024 * 1024
