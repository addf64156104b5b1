"""Should this process make room for another one? After an upgrade, above its own memory limit, when
the user store is not the one any more that it began with, and when another daemon took its place.

It ends with status 75, which means "start me again"; whoever supervises it does, and clients wait
in the queue of the socket meanwhile. What is being answered is answered first.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from yaadwatch.daemon.health import Health
from yaadwatch.daemon.supervisor import Fatal
from yaadwatch.model.errors import YaadError

AGAIN: Final = 75
"""Exit status; sysexits.h calls it "temporary failure"."""
DISPLACED: Final = 4
"""Exit status: another daemon runs, and this one has nothing left to do."""
LOOKS_DISPLACED: Final = 2
"""So many looks in a row: one that starts beside us holds the lock until it has seen that we
answer, and then ends."""
PART: Final = "memory"
LOCK: Final = "lock"
"""Under these names `status` is told."""
LOOK_S: Final = 5.0
LOOKS_ABOVE: Final = 3
"""So many looks in a row above the limit: what one large question takes is given back by then."""
BUSY_S: Final = 60.0
"""We wait so long for a moment in which nothing is being done; a disk may keep it from ending."""
SPACING_S: Final = 600.0
"""After it began again because of its memory, it does not do so for that reason for so long."""
MIB: Final = 1024 * 1024


class Renewal:
    """Looks at the program on disk and at the memory of this process.

    Args:
        replaced: says whether another program is installed than the one that runs.
        holds_lock: says whether this is still the daemon: the file of its lock may be deleted, and
            another one made.
        stale_store: says why the user store should be opened anew; '' when it need not.
        rss_bytes: what this process takes.
        memory_mib: its limit; 0: none.
        busy: says whether something is being done that somebody asked for.
        health: is told when to begin again does not help.
        now: the present time.
        mark: the file that tells the next process when one ended because of its memory.
        sleep: waits between two looks.
    """

    def __init__(
        self,
        *,
        replaced: Callable[[], bool],
        holds_lock: Callable[[], bool],
        stale_store: Callable[[], str],
        rss_bytes: Callable[[], int],
        memory_mib: int,
        busy: Callable[[], bool],
        health: Health,
        mark: Path,
        now: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._replaced = replaced
        self._holds_lock = holds_lock
        self._stale_store = stale_store
        self._rss_bytes = rss_bytes
        self._memory_mib = memory_mib
        self._busy = busy
        self._health = health
        self._mark = mark
        self._now = now
        self._sleep = sleep

    async def run(self) -> None:
        """Look until there is a reason to begin again.

        Raises:
            Fatal: with AGAIN as its status, when there is one; with DISPLACED, when another process
                is the daemon now.
        """
        above = displaced = 0
        while True:
            await self._sleep(LOOK_S)
            if self._replaced():
                await self._quiet()
                raise Fatal("another version of the program was installed", AGAIN)
            displaced = 0 if await self._is_the_daemon() else displaced + 1
            if displaced == LOOKS_DISPLACED:
                raise Fatal("its lock was deleted, and another daemon runs now", DISPLACED)
            if why := await asyncio.to_thread(self._stale_store):
                await self._quiet()
                raise Fatal(why, AGAIN)
            rss_mib = self._rss_bytes() / MIB if self._memory_mib else 0.0
            above = above + 1 if rss_mib > self._memory_mib else 0
            if above == 0:
                self._health.well(PART)
            if above < LOOKS_ABOVE:
                continue
            limit = f"{self._memory_mib} MiB (daemon.memory_mib)"
            if self._has_just_renewed():
                if above == LOOKS_ABOVE:
                    self._complain(rss_mib, limit)
            else:
                await self._quiet()
                self._mark.touch(mode=0o600)
                raise Fatal(f"it takes {rss_mib:.0f} MiB, and its limit is {limit}", AGAIN)

    async def _is_the_daemon(self) -> bool:
        try:
            is_held = await asyncio.to_thread(self._holds_lock)
        except YaadError as error:
            what = f"The file of the daemon's lock is gone and cannot be made anew: {error.message}"
            self._health.degraded(LOCK, what, mend=error.hint)
            return True
        self._health.well(LOCK)
        return is_held

    def _has_just_renewed(self) -> bool:
        try:
            age_s = self._now().timestamp() - self._mark.stat().st_mtime
        except FileNotFoundError:
            return False
        return 0.0 <= age_s < SPACING_S

    def _complain(self, rss_mib: float, limit: str) -> None:
        self._health.degraded(
            PART,
            f"The daemon takes {rss_mib:.0f} MiB soon after it began again; its limit is {limit}",
            mend=f"yaadwatch config set daemon.memory_mib {2 * math.ceil(rss_mib)} && yaadwatch"
            " restart",
        )

    async def _quiet(self) -> None:
        """Wait for a moment in which nothing is being answered, but not for ever."""
        for _ in range(int(BUSY_S)):
            if not self._busy():
                return
            await self._sleep(1.0)
