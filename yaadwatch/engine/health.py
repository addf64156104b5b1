"""Is the daemon well? Told from memory: it costs nothing to ask, and no disk keeps it waiting."""

import os

from yaadwatch import places
from yaadwatch.engine.workspace import Call, Home


def health(home: Home, call: Call) -> dict[str, object]:  # noqa: ARG001
    """Return whether all is well, since when, and what is not; the answer is Health."""
    pulse = home.pulse
    told = pulse.problems() if pulse is not None else []
    problems = [{"what": one["what"], "mend": one["mend"]} for one in told]
    return {
        "ok": not problems,
        "pid": os.getpid(),
        "version": places.VERSION,
        "since": pulse.since() if pulse is not None else None,
        "problems": problems,
    }
