"""What happened to an agent file: what came from it, what went into it, which copies are kept."""

from collections.abc import Mapping
from typing import Final

from yaadwatch.api.messages.files import FilesHistory
from yaadwatch.engine.syncing.verbs import named
from yaadwatch.engine.workspace import Call, Home, Space
from yaadwatch.model import events
from yaadwatch.model.agent_files import Snapshot
from yaadwatch.model.events import Event
from yaadwatch.model.nodes import Version
from yaadwatch.store import events as log
from yaadwatch.store import snapshots
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import versions

_TOLD: Final = {
    events.AGENT_FILE_EDITED: "read",
    events.AGENT_FILE_SYNCED: "written",
    events.AGENT_FILE_PAUSED: "paused",
}
_CHANGES: Final = {
    "created": "learned",
    "edited": "changed",
    "demoted": "taken out",
    "moved": "moved",
    "confirmed": "said again",
    "shared": "sent to other agents",
}


def files_history(home: Home, call: Call, ask: FilesHistory) -> dict[str, object]:
    """Return what happened to an agent file in this work tree, newest first.

    The answer is FileHistory.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        path = named(space, call, ask.path)
        return {"path": path, "entries": space.db.read(_entries, space, path, ask.entries_max)}


def _entries(
    conn: Connection, space: Space, path: str, entries_max: int
) -> list[dict[str, object]]:
    worktree = space.worktree.id
    found = [
        *(_of_event(event) for event in log.about(conn, path, tuple(_TOLD), worktree, entries_max)),
        *(_of_copy(copy) for copy in snapshots.of_path(conn, worktree, path)),
        *(_of_version(one) for one in versions.by_actor(conn, f"file:{path}", entries_max)),
    ]
    # Of one instant: the copy, then what was read, then the memories of it.
    found.sort(key=lambda entry: str(entry["at"]), reverse=True)
    return found[:entries_max]


def _of_event(event: Event) -> dict[str, object]:
    return _entry(_TOLD[event.kind], event.at, _in_words(event.kind, event.body))


def _in_words(kind: str, body: Mapping[str, object]) -> str:
    if kind == events.AGENT_FILE_PAUSED:
        return str(body.get("reason", ""))
    if kind == events.AGENT_FILE_SYNCED:
        rules = body.get("rules", 0)
        return f"{rules} rule{'' if rules == 1 else 's'} in its block"
    by = "git" if body.get("from_git") else "a person"
    counts = {
        "new outside the block": body.get("said", 0),
        "gone": body.get("gone", 0),
        "changed in the block": body.get("inside", 0),
    }
    told = ", ".join(f"{number} {words}" for words, number in counts.items() if number)
    return f"by {by}: {told}" if told else f"by {by}"


def _of_copy(copy: Snapshot) -> dict[str, object]:
    words = f"{copy.size} bytes, as it was before a write of ours"
    return _entry("copied", copy.at, words) | {"snapshot": copy.id}


def _of_version(version: Version) -> dict[str, object]:
    what = _CHANGES.get(version.change, version.change)
    words = f"{version.text} ({version.reason})" if version.reason else version.text
    return _entry(what, version.at, words) | {"id": version.node}


def _entry(what: str, at: object, words: str) -> dict[str, object]:
    return {"at": at, "what": what, "text": words}
