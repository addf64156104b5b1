"""Count the answers that the hook log says were not sent.

Apart from `hook_agents`, because every hook imports that, and what this imports takes longer than
the daemon's answer.
"""

import json
import os
import stat
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

_BYTES_MAX: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCounts:
    """Hooks within a day.

    Args:
        failed: sent the agent nothing, because something is wrong.
        late: sent it nothing, because the daemon did not answer in time.
        last_failure: why the last one failed.
    """

    failed: int = 0
    late: int = 0
    last_failure: str = ""

    def in_words(self) -> str:
        """Return how many hooks sent nothing, and why; '' when each sent what it had to."""
        if not self.failed + self.late:
            return ""
        number = self.failed + self.late
        total = "1 hook" if number == 1 else f"{number} hooks"
        parts = [f"{self.late} came too late" if self.late else ""]
        parts.append(f"{self.failed} failed, the last: {self.last_failure}" if self.failed else "")
        return f"Within a day, {total} sent the agent nothing: {'; '.join(filter(None, parts))}"


def count(path: str, now: datetime) -> HookCounts:
    """Return what the log of hooks says of the last day; nothing where there is no plain file."""
    failed = late = 0
    last = ""
    for line in _lines(path):
        try:
            entry = json.loads(line)
            at, why = datetime.fromisoformat(entry["at"]), str(entry["why"])
            is_recent = now - at <= timedelta(days=1)
        except (ValueError, KeyError, TypeError):
            continue  # the first line that was read may be half a line
        if not is_recent or entry.get("sent") is True:  # the prepared brief
            continue
        if entry.get("event") == "hook.late":
            late += 1
        else:
            failed, last = failed + 1, why
    return HookCounts(failed=failed, late=late, last_failure=last)


def _lines(path: str) -> list[bytes]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            found = os.fstat(stream.fileno())
            if not stat.S_ISREG(found.st_mode):
                return []
            stream.seek(max(0, found.st_size - _BYTES_MAX))
            return stream.read(_BYTES_MAX).splitlines()
    except OSError:
        return []
