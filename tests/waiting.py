"""Waiting for what another process does: for a state, never for a time."""

import time

PATIENCE_S = 90.0
"""Long enough for a machine that is busy with something else; nobody waits so long otherwise."""


def wait_until(met, what="what was waited for", *, patience_s=PATIENCE_S):
    """Return the first true answer of `met`; fail when there is none in time.

    `what` is said then; a function is asked for it.
    """
    end = time.monotonic() + patience_s
    while True:
        answer = met()
        if answer:
            return answer
        assert time.monotonic() < end, f"{what() if callable(what) else what} did not happen"
        time.sleep(0.01)
