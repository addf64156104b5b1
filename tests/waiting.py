"""Waiting for what another process does: for a state, never for a time."""

import time

from yaadwatch.api.frames import to_error

PATIENCE_S = 90.0
"""Long enough for a machine that is busy with something else; nobody waits so long otherwise."""

PAUSE_MIN_S, PAUSE_MAX_S = 0.005, 0.05
"""Between two looks, the longer the more there were: a look is a question to a daemon, which would
answer it instead of doing what is waited for."""


def wait_until(met, what="what was waited for", *, patience_s=PATIENCE_S):
    """Return the first true answer of `met`; fail when there is none in time.

    `what` is said then; a function is asked for it.
    """
    end = time.monotonic() + patience_s
    pause_s = PAUSE_MIN_S
    while True:
        answer = met()
        if answer:
            return answer
        assert time.monotonic() < end, f"{what() if callable(what) else what} did not happen"
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, PAUSE_MAX_S)


def events(client, after=None):
    """Subscribe with a client that asks nothing else from then on; yield what happens."""
    connected = client.connect()
    client.call("subscribe", after=after)

    def stream():
        while True:
            frame = client._next(connected, "subscribe", 3600.0)
            if "error" in frame:
                raise to_error(frame["error"])
            yield frame["params"]

    return stream()
