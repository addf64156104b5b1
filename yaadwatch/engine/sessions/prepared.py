"""Prepare the brief of a work tree for hooks that cannot wait for the daemon.

After each check the brief is written to a file of its own, which a hook reads when the daemon is
late or not running. Its time of change is the time of the check.
"""

import contextlib
import json
import logging
import os
from pathlib import Path
from typing import Final

from bridges.agents import AGENTS
from yaadwatch import places, prepared_briefs
from yaadwatch.core import privacy
from yaadwatch.engine import context
from yaadwatch.engine.context import Budget
from yaadwatch.engine.workspace import AGENT, Home, Space
from yaadwatch.model.errors import YaadError
from yaadwatch.store import events as log
from yaadwatch.system import files

WHOLE: Final = Budget(tokens=2_000, chars=8_000)
"""As hooks ask for when a session starts."""
SHORT: Final = Budget(tokens=500, chars=2_000)
"""As hooks ask for when a sub-agent starts."""
FILES_MAX: Final = 400
AGE_MAX_S: Final = 7 * 86_400.0
"""A brief that was not prepared again for so long is deleted."""
TRIES_MAX: Final = 3
"""A brief during whose preparation something was stored is prepared again, so often at most."""

_log: Final = logging.getLogger(__name__)


def prepare(home: Home, project: str, worktree: int, *, anew: bool = False) -> None:
    """Write the brief of a work tree for each agent that has worked there, and for any other.

    What cannot be written is logged: hooks then have only the daemon to ask.

    Args:
        home: what may be reached.
        project: its id.
        worktree: its id.
        anew: also where nothing was stored since the last time.
    """
    try:
        with home.tree(project, worktree) as space:
            root = str(space.root)
            for agent in sorted(prepared_briefs.agents_at(root) | {prepared_briefs.ANY_AGENT}):
                _prepare(home, space, agent, anew=anew)
        _delete_old(Path(places.prepared_briefs()), home.clock.now_ns() / 1e9 - AGE_MAX_S)
    except (YaadError, OSError) as error:
        _log.info("brief.not_prepared", extra={"project": project, "error": str(error)})


def expect(root: Path, origin: str) -> None:
    """Have briefs prepared for an agent from the next check on: it works in this work tree."""
    agent = next((one.name for one in AGENTS if origin == f"{AGENT}{one.name}"), "")
    if not agent:
        return
    place = Path(prepared_briefs.path_of(str(root), prepared_briefs.head_of(str(root)), agent))
    with contextlib.suppress(OSError, YaadError):
        if not place.exists():
            files.private_folder(place.parent)
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _prepare(home: Home, space: Space, agent: str, *, anew: bool) -> None:
    root = str(space.root)
    for _ in range(TRIES_MAX):
        head = prepared_briefs.head_of(root)
        place = Path(prepared_briefs.path_of(root, head, agent))
        state = _state(home, space)
        if not anew and _state_in(place) == state:
            os.utime(place)
            return
        whole, short = context.compose(
            home,
            space,
            "" if agent == prepared_briefs.ANY_AGENT else f"{AGENT}{agent}",
            [WHOLE, SHORT],
            session="",
            checked=True,
        )
        brief = {
            "root": root,
            "head": head,
            "state": state,
            "brief": privacy.mask(whole.text).text,
            "short": privacy.mask(short.text).text,
        }
        _write(place, json.dumps(brief, ensure_ascii=False).encode("utf-8", "replace"))
        is_current = False
        try:
            is_current = (_state(home, space), prepared_briefs.head_of(root)) == (state, head)
        finally:
            if not is_current:  # what it says may have been erased, or its project removed
                place.unlink(missing_ok=True)
        if is_current:
            return


def _state(home: Home, space: Space) -> str:
    """Return what changes with everything that is stored."""
    return f"{space.db.read(log.last)} {home.user.read(log.last)}"


def _state_in(place: Path) -> str:
    try:
        found = json.loads(place.read_bytes())
    except (OSError, ValueError):
        return ""
    return str(found.get("state", "")) if isinstance(found, dict) else ""


def _write(place: Path, data: bytes) -> None:
    """Write a file that its readers find whole; unlike a store, it need not outlive a power cut."""
    files.private_folder(place.parent)
    new = place.with_name(f".{place.name}.{os.getpid()}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        new.replace(place)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def _delete_old(folder: Path, oldest: float) -> None:
    """Delete briefs that nobody prepares any more, and the oldest of too many."""
    found = sorted(((one.stat().st_mtime, one) for one in folder.glob("*.json")), reverse=True)
    for number, (changed_at, place) in enumerate(found):
        if changed_at < oldest or number >= FILES_MAX:
            place.unlink(missing_ok=True)
