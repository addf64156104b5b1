"""Run another program for a limited time, and return what it said."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Ran:
    """How it ended: its status (127 when there is no such program, 124 when it took too long)."""

    status: int
    out: str = ""
    err: str = ""

    @property
    def went_well(self) -> bool:
        """Say whether its status is 0."""
        return self.status == 0

    @property
    def reason(self) -> str:
        """Return the last line of what it complained about."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return lines[-1] if lines else f"it ended with status {self.status}"


def run(command: Sequence[str], *, env: Mapping[str, str], limit: timedelta) -> Ran:
    """Run `command` with nothing to read, in the root folder; end it after `limit`."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=env,
            cwd="/",
            timeout=limit.total_seconds(),
            check=False,
        )
    except OSError as error:
        return Ran(127, err=f"{command[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        seconds = limit.total_seconds()
        return Ran(124, err=f"{command[0]} did not end within {seconds:g} s")
    return Ran(done.returncode, done.stdout, done.stderr)
