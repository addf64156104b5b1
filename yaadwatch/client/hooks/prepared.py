"""Reads the brief that the daemon prepared, for a hook that got no answer in time."""

import json
import os
import time

from yaadwatch import prepared_briefs

AGE_MAX_S = 7 * 86_400
"""An older brief says nothing about the work tree of today."""
_BYTES_MAX = 256 * 1024


def read(folder: str, agent: str, *, is_short: bool) -> tuple[str, str]:
    """Return the prepared brief for an agent in a folder, and its age in words; '' for none.

    Args:
        folder: that the agent works on.
        agent: its name.
        is_short: whether it is for a sub-agent.
    """
    root = prepared_briefs.work_tree_of(folder)
    head = prepared_briefs.head_of(root) if root else ""
    for one in (agent, prepared_briefs.ANY_AGENT) if head else ():
        found, age_s = _read(prepared_briefs.path_of(root, head, one))
        # Two work trees, or branches, may have the same number in the name of the file.
        if found.get("root") == root and found.get("head") == head and age_s < AGE_MAX_S:
            return str(found.get("short" if is_short else "brief") or ""), _in_words(age_s)
    return "", ""


def with_age(brief: str, age: str) -> str:
    """Return a brief with a line about its age before it."""
    said = "The daemon did not answer in time, so this brief may miss the latest changes"
    return f"{said}; it was prepared {age} ago. Now: yaadwatch stale\n{brief}"


def _read(path: str) -> tuple[dict[str, object], float]:
    """Return what a file of our own user says, and its age in seconds."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return {}, 0.0
    try:
        state = os.fstat(descriptor)
        if state.st_uid != os.geteuid():
            return {}, 0.0
        data = bytearray()
        while len(data) < _BYTES_MAX and (chunk := os.read(descriptor, _BYTES_MAX)):
            data += chunk
    finally:
        os.close(descriptor)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}, 0.0
    age_s = time.clock_gettime(time.CLOCK_REALTIME) - state.st_mtime
    return (found if isinstance(found, dict) else {}), max(0.0, age_s)


def _in_words(age_s: float) -> str:
    for unit, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if age_s >= seconds:
            count = int(age_s // seconds)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"
