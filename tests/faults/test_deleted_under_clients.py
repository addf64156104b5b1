"""Many clients ask and state while a repository is cleaned, or goes away and comes back.

What was acknowledged is in the store; who is not answered is told why.
"""

import random
import threading
import time
from collections import Counter
from contextlib import closing

import apsw
import pytest
from living_daemon import SOAK, Shop
from waiting import wait_until

from yaadwatch.client.connection import Client
from yaadwatch.model.errors import Code, YaadError

CLIENTS = 6
SECONDS = 60 if SOAK else 2
ASKED = ("remember", "remember", "recall", "stale", "context", "tasks", "status")
HONEST = {Code.UNAVAILABLE, Code.NOT_FOUND, Code.REFUSED}
"""What may be said of a repository that is not there, or is just being put back."""


class Crowd:
    """Clients, each in a thread of its own, that ask about some repositories until they are told to
    stop.
    """

    def __init__(self, shops):
        self.shops = shops
        self.stated, self.complaints = [], Counter()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(one,)) for one in range(CLIENTS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, number):
        chance, told = random.Random(number), 0
        while not self._stop.is_set():
            shop, verb = chance.choice(self.shops), chance.choice(ASKED)
            told += 1
            fields = {"recall": {"query": "which rate"}}.get(verb, {})
            if verb == "remember":
                fields = {"text": f"Client {number} says {told}, of shade {chance.random()}"}
            try:
                with closing(Client(cwd=str(shop.root))) as client:
                    client.call(verb, **fields)
                self.stated += [fields["text"]] if verb == "remember" else []
            except YaadError as error:
                self.complaints[error.code] += 1
            except OSError as error:
                self.complaints[type(error)] += 1


def clean(shop):
    shop.git("clean", "-fdxq")


def move_and_back(shop):
    there = shop.root.with_name("elsewhere")
    shop.root.rename(there)
    time.sleep(random.random() / 2)
    there.rename(shop.root)


def kept(stores):
    """Return the texts in stores, each of which is sound."""
    found = set()
    for path in stores:
        with closing(apsw.Connection(str(path))) as conn:
            assert conn.pragma("integrity_check") == "ok", path
            found |= {text for (text,) in conn.execute("SELECT text FROM nodes")}
    return found


@pytest.mark.parametrize("acts", [(clean,), (move_and_back,)])
def test_what_was_acknowledged_is_kept_and_nobody_meets_a_bug(machine, shop, acts):
    shops = [shop, Shop.new(machine, "other", files=1)]
    stores = [one.store for one in shops]
    chance, end = random.Random(len(acts)), time.monotonic() + SECONDS

    with Crowd(shops) as crowd:
        while time.monotonic() < end:
            chance.choice(acts)(shop)
            time.sleep(chance.random() * chance.choice([0.02, 0.2, 1]))
        wanted = len(crowd.stated) + CLIENTS  # it goes on as before
        wait_until(lambda: len(crowd.stated) >= wanted, "more that is acknowledged")

    assert machine.stop() == 0
    assert set(crowd.stated) <= kept(stores)
    assert crowd.complaints.keys() <= HONEST
    assert machine.logged("operation.crashed") == 0
