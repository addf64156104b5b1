"""What is wrong here, and what mends it? Asked of the machine itself, so that it needs no daemon.

A composition root beside the daemon: for the day on which that cannot be started.
"""

import os
from typing import Any

from yaadwatch.core import diagnosis
from yaadwatch.doctor import gathering
from yaadwatch.doctor.gathering import Ask
from yaadwatch.system.clock import Clock


def examine(ask: Ask) -> dict[str, Any]:
    """Return what is wrong on this machine; the answer is Examined.

    Args:
        ask: asks the daemon for an operation; raises as `Client.call`.

    Raises:
        RuntimeError: nobody knows where our home is.
    """
    facts = gathering.gather(ask, Clock().now(), os.environ)
    found = diagnosis.judge(facts)
    return {
        "sound": not any(one.level == "problem" for one in found),
        "checks": [name for name, _ in diagnosis.CHECKS],
        "findings": [
            {
                "check": one.check,
                "level": one.level,
                "what": one.what,
                "mend": one.mend or None,
                "advice": one.advice or None,
            }
            for one in found
        ],
        "agents": [
            {"agent": one.agent, "title": one.title, "state": one.state, "todo": one.todo or None}
            for one in facts.agents
        ],
    }
