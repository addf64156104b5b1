"""Carry out at once what a command means for the agent files, and return what was written.

Without that, the daemon would write them a moment later, and the command could not say so.
"""

from datetime import datetime

from yaadwatch.engine.agent_files.reading import is_refused
from yaadwatch.engine.syncing import tree
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model import events
from yaadwatch.model.agent_files import INLINE
from yaadwatch.model.errors import YaadError
from yaadwatch.store import agent_files
from yaadwatch.store import events as log


def announced(home: Home, call: Call, since: datetime) -> dict[str, object]:
    """Return `{wrote: [path]}` for the agent files that were written since a command began.

    `{}` where there are none. While an agent is at work, its files are left alone. What cannot be
    written now is written by the daemon later.
    """
    try:
        with home.space(call) as space:
            rows = space.db.read(agent_files.of_worktree, space.worktree.id).values()
            if not any(row.mode == INLINE and row.digest and not is_refused(row) for row in rows):
                return {}
            tree.sync_space(home, space, patient=True)
            # The daemon may have been faster, so its writes count, too.
            wrote = space.db.read(log.written, events.AGENT_FILE_SYNCED, space.worktree.id, since)
    except YaadError:
        return {}
    return {"wrote": wrote} if wrote else {}
