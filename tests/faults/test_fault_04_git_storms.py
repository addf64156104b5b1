"""Fault 4: git rewrites thousands of files, and moves HEAD again and again.

How few checks that costs is told by the tests of `tests/integration/test_daemon_parts.py`.
"""

from waiting import wait_until

FILES = 5_000
PICKS = 15


def test_after_a_checkout_of_five_thousand_files_every_verdict_is_right(machine, shop):
    shop.git("checkout", "-q", "-b", "large")
    for number in range(FILES):
        shop.write(f"src/d{number % 50}/f{number}.py", f"number = {number}\n")
    shop.edit(0, 7)
    shop.commit("large")
    shop.settles()
    for branch, false in (("main", set()), ("large", {0}), ("main", set())):
        shop.git("checkout", "-q", branch)

        shop.settles()
        assert shop.false == false
    assert machine.logged("service.crashed") == 0


def test_after_cherry_picks_a_rebase_and_one_that_stops_every_verdict_is_right(machine, shop):
    shop.git("checkout", "-q", "-b", "side")
    for number in range(PICKS):
        shop.edit(number % shop.FILES, number + 1)
        shop.commit(f"number {number}")
    shop.git("checkout", "-q", "main")
    shop.settles()
    assert shop.false == set()

    shop.git("cherry-pick", "main..side")
    shop.settles()
    assert shop.false == set(range(shop.FILES))

    shop.git("reset", "-q", "--hard", f"HEAD~{PICKS}")
    shop.edit(1, 99)
    shop.commit("elsewhere")
    shop.git("checkout", "-q", "side")
    stopped = shop.tries("rebase", "main")
    wait_until(lambda: shop.unknown() == {1}, "a conflict that is said to be unknown")
    assert set(shop.flags()) == shop.false - {1}
    assert stopped != 0
    shop.git("rebase", "--abort")
    shop.settles()
    assert shop.false == set(range(shop.FILES))
    assert machine.call("status")["problems"] == []
