"""What happens when a part of the daemon crashes? It is restarted; the others live on.

Three kinds of error: any exception means "restart me", `Hopeless` means "do not", `Fatal` ends the
process. Here everything may be caught, so that nobody else needs to.
"""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from yaadwatch.daemon.health import Health
from yaadwatch.model.errors import YaadError

_log: Final = logging.getLogger(__name__)

RESTARTS_MAX: Final = 5
"""A service that crashes more often than this, without a healthy time in between, is given up."""
HEALTHY_AFTER_S: Final = 60.0
BACK_OFF_MAX_S: Final = 60.0


class Hopeless(Exception):
    """A service cannot work here, and restarting it would not help. The message says why."""


class Fatal(Exception):
    """The process must end, with exit status `status`. The message says why."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A loop meant to run for as long as the daemon; `run` is called again after a crash."""

    name: str
    run: Callable[[], Awaitable[None]]


async def attempt(work: Awaitable[object]) -> Exception | None:
    """Do `work`; return what it raised, None when it went well. `Fatal` passes through."""
    try:
        await work
    except Fatal:
        raise
    except Exception as error:  # noqa: BLE001  (this module is the one place that may)
        return error
    return None


def in_words(error: Exception) -> str:
    """Return `error` in one line for people."""
    if isinstance(error, YaadError):
        return error.message
    return f"{type(error).__name__}: {error}".rstrip(": ")


def log_crash(event: str, error: Exception, **fields: object) -> None:
    """Log `error` under the name `event`; with its traceback unless such things are expected."""
    if not isinstance(error, YaadError):
        fields["traceback"] = "".join(traceback.format_exception(error))
    _log.error(event, extra={**fields, "error": in_words(error)})


async def supervise(
    services: Sequence[Service],
    *,
    health: Health,
    monotonic_s: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Keep `services` running until cancelled.

    Raises:
        Fatal: from a service; the others are ended first.
    """
    tasks = [
        asyncio.create_task(_keep(service, health, monotonic_s, sleep), name=service.name)
        for service in services
    ]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _keep(
    service: Service,
    health: Health,
    monotonic_s: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    crashes = 0
    while True:
        started = monotonic_s()
        error = await attempt(service.run()) or RuntimeError("it ended without being asked to")
        log_crash("service.crashed", error, service=service.name)
        if monotonic_s() - started >= HEALTHY_AFTER_S:
            crashes = 0
        crashes += 1
        if isinstance(error, Hopeless) or crashes > RESTARTS_MAX:
            tried = "" if isinstance(error, Hopeless) else f" after {RESTARTS_MAX} restarts"
            health.degraded(
                f"service {service.name}",
                f"The part `{service.name}` of the daemon was given up{tried}: {in_words(error)}.",
                mend="yaadwatch stop",
            )
            return
        await sleep(min(2.0 ** (crashes - 1), BACK_OFF_MAX_S))
