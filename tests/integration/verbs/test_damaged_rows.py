"""A bad row is one bad row: the rest is answered, `verify` names it, `--repair` mends it."""

import contextlib
import os
import random
import shutil
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest
from verb_world import prepared

from yaadwatch import places
from yaadwatch.api.messages import graph as graph_asks
from yaadwatch.api.messages import memories as asks
from yaadwatch.api.messages import store as store_asks
from yaadwatch.daemon.dispatch import VERBS
from yaadwatch.db import checks
from yaadwatch.model.errors import YaadError

SOAK = os.environ.get("YAAD_SOAK") == "1"
BAD, GOOD = "The cache of the shop holds 300 entries", "The queue is drained by worker 7"


@prepared
def shop(world):
    repo = world.watched()
    repo.remember(BAD)
    repo.remember(GOOD, tags=("queue",))
    repo.remember("`fetch_with_retry` in src/net.py tries three times")
    ask(repo, "session_start", store_asks.SessionStart())
    ask(repo, "backup", store_asks.Backup())
    ask(repo, "backup", store_asks.Backup(user=True))
    return repo


def ask(repo, name, message=None):
    return VERBS[name](repo.home, repo.call, *([] if message is None else [message]))


def tamper(repo, world, sql):
    """Change the closed store as a broken disk, or another program, may."""
    world.close()
    with closing(apsw.Connection(str(store_of(repo)))) as conn:
        conn.pragma("ignore_check_constraints", 1)
        conn.execute(sql)


def store_of(repo):
    (path,) = (places.data_folder() / "projects").glob("*/yaad.db")
    return path


def texts(repo):
    return [row["text"] for row in ask(repo, "recall", asks.Recall(query="cache queue"))["results"]]


ONLY = f"WHERE text = '{BAD}'"
DAMAGE = {
    "not UTF-8": f"UPDATE nodes SET text = CAST(x'61E67A' AS TEXT) {ONLY}",
    "another letter": f"UPDATE nodes SET text = replace(text, '300', '700') {ONLY}",
    "endless": f"UPDATE nodes SET text = printf('%.*c', 68000000, 'x') {ONLY}",
    "half of a list": f"UPDATE nodes SET tags = '[\"a' {ONLY}",
    "a tier of its own": f"UPDATE nodes SET tier = 9 {ONLY}",
    "a time after all": f"UPDATE nodes SET confirmed_ms = 9e17 {ONLY}",
    "a name in the index": f"UPDATE nodes SET origin = CAST(x'FF' AS TEXT) {ONLY}",
    "a trigger": "CREATE TRIGGER evil AFTER INSERT ON nodes BEGIN DELETE FROM nodes; END",
    "a view": "CREATE VIEW evil AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n)"
    " SELECT x FROM n",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_one_bad_row_keeps_nothing_else_from_being_answered(shop, world, damage):
    tamper(shop, world, DAMAGE[damage])
    assert checks.inspect_store(store_of(shop), "project").state == "unsound"  # as doctor sees it

    assert GOOD in texts(shop)
    shop.remember("Something new about the moon")
    found = ask(shop, "verify", store_asks.Verify())
    assert not found["sound"]
    if damage == "not UTF-8":
        with pytest.raises(YaadError, match="no backup was made"):
            ask(shop, "backup", store_asks.Backup())

    repaired = ask(shop, "verify", store_asks.Verify(repair=True))

    assert repaired["sound"], repaired["findings"]
    assert repaired["repaired"]
    assert {GOOD, "Something new about the moon"} <= set(shop.memories())
    if damage in ("not UTF-8", "another letter", "endless", "half of a list", "a trigger"):
        assert BAD in shop.memories()  # taken from the backup, where it was lost
    assert ask(shop, "backup", store_asks.Backup())["made"]
    assert checks.inspect_store(store_of(shop), "project").state == "ok"


def test_the_newest_sound_backup_comes_back_or_that_of_a_day(shop, world):
    world.clock.advance(timedelta(days=2))
    shop.remember("Said two days later")
    newest = Path(ask(shop, "backup", store_asks.Backup())["path"])
    first = min(newest.parent.glob("*.db")).name
    day = f"{first[:4]}-{first[4:6]}-{first[6:8]}"
    with pytest.raises(YaadError) as caught:  # its memories are not replaced
        ask(shop, "add", store_asks.Add(restore=True))
    assert day in caught.value.hint

    def restored(**fields):
        world.close()
        store_of(shop).unlink()
        ask(shop, "add", store_asks.Add(restore=True, **fields))
        return "Said two days later" in shop.memories()

    assert restored()
    assert not restored(date=day)
    newest.write_bytes(newest.read_bytes().replace(b"two days later", b"two d\xe1ys later"))
    assert not restored()
    with pytest.raises(YaadError) as caught:
        restored(date="2020-01-01")
    assert day in caught.value.hint


ASKED = (
    *(("recall", asks.Recall(query="cache queue net")), ("stale", asks.Stale())),
    *(("status", None), ("projects", None), ("sessions", store_asks.Sessions())),
    *(
        ("remember", asks.Remember(text="The port of the shop is 8080")),
        ("review", graph_asks.Review()),
    ),
    *(("context", asks.Context()), ("upkeep", asks.Upkeep()), ("files", None)),
    *(("export", store_asks.Export()), ("verify", store_asks.Verify())),
    *(("verify", store_asks.Verify(repair=True)), ("backup", store_asks.Backup())),
    *(("verify", store_asks.Verify(user=True, repair=True)),),
)


@pytest.mark.parametrize("flips", [1, 4, 20, 200])
@pytest.mark.parametrize("which", ["project", "user"])
def test_a_store_with_flipped_bits_answers_each_command_and_a_sound_copy_comes_back(
    shop, world, which, flips
):
    """An answer, or an error in words; never a fault of ours."""
    path = places.user_store() if which == "user" else store_of(shop)
    world.close()
    whole = path.read_bytes()
    for seed in range(100 if SOAK else 1):
        chance = random.Random(1_000 * flips + seed)
        data = bytearray(whole)
        for _ in range(flips):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        for name, message in ASKED:
            with contextlib.suppress(YaadError):
                ask(shop, name, message)
        if which == "project" and checks.inspect_store(path, "project").state == "damaged":
            world.close()
            path.unlink()
            assert ask(shop, "add", store_asks.Add(restore=True))["adopted"], seed
            assert GOOD in shop.memories(), seed
        world.close()
        for left in path.parent.glob(f"{path.name}-*"):
            left.unlink()
        shutil.rmtree(path.parent / "damaged", ignore_errors=True)
