"""The socket of a daemon is made anew however often that goes wrong."""

import asyncio

import pytest

from yaadwatch.daemon.supervisor import RESTARTS_MAX, Health
from yaadwatch.daemon.wiring import keeper


class Over(BaseException):
    """Ends the story."""


def test_a_socket_that_cannot_be_made_for_long_is_told_and_made_in_the_end():
    told = []
    health = Health()
    outcomes = [OSError(20, "Not a directory")] * (3 * RESTARTS_MAX) + [None, Over()]

    async def renew():
        told.append([problem.what for problem in health.problems()])
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome

    async def sleep(seconds):
        assert seconds > 0

    with pytest.raises(Over):
        asyncio.run(keeper(renew, health, sleep)())

    assert told[0] == []
    assert all("The socket is gone" in what for (what,) in told[1:-1])
    assert told[-1] == []
