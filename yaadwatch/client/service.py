"""Is the daemon a service on this machine? Then its manager is asked to start it.

What `yaadwatch install` wrote stands on the receipt; a manager that cannot be reached, as in a
container that shares the home folder, is as good as none.
"""

import os
import sys

from yaadwatch import places

SERVICE = "yaadwatch.service"
SOCKET = "yaadwatch.socket"
LABEL = "dev.yaadwatch.daemon"
"""Of the launchd agent."""
RECEIPT_PART = "service"
"""The key under which the receipt tells of the service."""
ASK_TIME_S = 10.0


def manager() -> str | None:
    """Return the name of the manager that the service was installed with, or None.

    The receipt in a copy of a home tells of the service of another one.
    """
    import json

    try:
        said = json.loads(places.receipt().read_bytes())[RECEIPT_PART]
        found, home = said["manager"], said.get("home")
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if not isinstance(found, str) or not _is_ours(home):
        return None
    return found


def _is_ours(home: object) -> bool:
    if not isinstance(home, str) or not home:
        return True  # an older version did not say
    return os.path.realpath(home) == os.path.realpath(places.home())


def environment() -> dict[str, str]:
    """Return the variables to ask a manager with; a shell by `su` or cron does not have all."""
    found = dict(os.environ)
    runtime = f"/run/user/{os.getuid()}"
    if sys.platform != "darwin" and not found.get("XDG_RUNTIME_DIR") and os.path.isdir(runtime):  # noqa: PTH112
        found["XDG_RUNTIME_DIR"] = runtime
    return found


def ask_to_start() -> bool:
    """Ask the manager to start the service, if there is one; say whether it said that it would."""
    named = manager()
    if named == "systemd":
        # Both: a socket whose file was deleted looks well to the manager, and nobody finds it until
        # the daemon has made it anew.
        return _ran("systemctl", "--user", "start", "--no-block", SOCKET, SERVICE)
    if named == "launchd":
        domain = f"gui/{os.getuid()}"
        plist = os.path.expanduser(f"~/Library/LaunchAgents/{LABEL}.plist")  # noqa: PTH111
        return _ran("launchctl", "kickstart", f"{domain}/{LABEL}") or _ran(
            "launchctl", "bootstrap", domain, plist
        )
    return False


def _ran(*command: str) -> bool:
    import subprocess

    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
            cwd="/",
            timeout=ASK_TIME_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
