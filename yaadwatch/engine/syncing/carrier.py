"""The private carrier: a file of our own with the hot rules, and what is in doubt about them.

It is kept out of git by a line in the exclude file, and never by touching what a person wrote.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from bridges.items import line_of
from yaadwatch.core.sync.budget import fit
from yaadwatch.core.text import text_hash
from yaadwatch.engine import identity
from yaadwatch.engine.syncing import acting
from yaadwatch.engine.syncing.deciding import as_stored
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.agent_files import ABSENT, CARRIER, PAUSED, SYNCED, AgentFileRow
from yaadwatch.model.anchors import Flag
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.nodes import Node
from yaadwatch.store import agent_files, flags, hot, meta, nodes, provenance
from yaadwatch.store.connection import Connection
from yaadwatch.system import files, keys, swapping

EXCLUDED: Final = f"/{CARRIER}"

HEAD: Final = (
    "<!-- Written by yaadwatch, kept out of git. It is written anew whenever a rule changes. -->",
    "",
)
_MAIN: Final = "CLAUDE.md"


def excluded_key(project: str) -> str:
    """Return under which key the user store's meta table has what was appended to the exclude file.

    It is not in the project's own store, because it is needed when that is lost.
    """
    return f"excluded_carrier {project}"


def _folders_key(project: str, root: Path) -> str:
    return f"carrier_folders {project} {root}"


def sync(home: Home, space: Space, row: AgentFileRow, *, key: bytes) -> bool:
    """Bring the carrier up to date; return whether it was written.

    A carrier that somebody else has changed is left alone, and paused.
    """
    swapping.recover(
        space.root / CARRIER, lambda data: acting.keep(home, space, CARRIER, data, key=key)
    )
    wanted = render(*space.db.read(_rules, space.worktree.id))
    seen = files.observe(space.root, CARRIER, bytes_max=1 << 20, now_ns=home.clock.now_ns())
    if seen.kind not in ("file", "absent"):
        _note(space, row, PAUSED, f"is no plain file ({seen.kind}); it was not written")
        return False
    if (seen.data or b"") == wanted:
        _note(space, row, SYNCED, "", keys.keyed(key, wanted) if wanted else "")
        return False
    if seen.data is not None and not _is_ours(row, seen.data, key):
        reason = "was changed by somebody else and not written over; have it written anew: "
        _note(space, row, PAUSED, f"{reason}yaadwatch files adopt {CARRIER}")
        return False
    # Noted before it is written: after a kill in between it is known for ours.
    row = replace(row, block=keys.keyed(key, wanted) if wanted else "")
    space.db.write(agent_files.put, row)
    path = space.root / CARRIER
    _require_inside(space.root, path)
    if not wanted:
        take_away(home, space.project.id, space.root)
    elif seen.data is None:
        _exclude(home, space)
        made = acting.missing_folders(space.root, CARRIER)
        if made:
            folders_key = _folders_key(space.project.id, space.root)
            home.user.write(meta.put, folders_key, json.dumps(made))
        path.parent.mkdir(parents=True, exist_ok=True)
        swapping.create_new(path, wanted)
    else:
        swapping.replace_expected(path, seen.data, wanted)
    _note(space, row, SYNCED, "", keys.keyed(key, wanted) if wanted else "")
    return True


def would_write(home: Home, space: Space) -> tuple[bytes, bytes]:
    """Return what the carrier holds, and what it would hold after a sync."""
    wanted = render(*space.db.read(_rules, space.worktree.id))
    seen = files.observe(space.root, CARRIER, bytes_max=1 << 20, now_ns=home.clock.now_ns())
    return seen.data or b"", wanted


def render(rules: Sequence[Node], doubts: Mapping[str, Flag], said: Collection[str]) -> bytes:
    """Return the carrier's bytes; none when there is no rule to carry.

    Args:
        rules: the hot memories, best first.
        doubts: what is in doubt about them here.
        said: hashes of what the agent reads elsewhere anyway.
    """
    lines = []
    for node in rules:
        line = None if text_hash(node.text) in said else line_of(as_stored(node.text))
        if line is not None:
            lines.append(line + _doubt(doubts.get(node.id)))
    fits = fit((), 0, lines, newline=1)
    shown = [line for line, fitting in zip(lines, fits, strict=True) if fitting]
    return "".join(f"{line}\n" for line in (*HEAD, *shown)).encode() if shown else b""


def remove(home: Home, space: Space, row: AgentFileRow, *, key: bytes) -> bool:
    """Take the carrier away, if it is still ours; return whether it was."""
    seen = files.observe(space.root, CARRIER, bytes_max=1 << 20, now_ns=0)
    is_ours = seen.data is not None and _is_ours(row, seen.data, key)
    if is_ours:
        take_away(home, space.project.id, space.root)
    done = replace(row, state=ABSENT, reason="", digest="")
    if done != row:
        space.db.write(agent_files.put, done)
    return is_ours


def take_away(home: Home, project: str, root: Path) -> None:
    """Remove the file, and the folders that we made for it."""
    key = _folders_key(project, root)
    acting.remove_made(root, CARRIER, json.loads(home.user.read(meta.get, key) or "[]"))
    home.user.write(meta.drop, key)


def _rules(conn: Connection, worktree: int) -> tuple[list[Node], dict[str, Flag], set[str]]:
    hidden = provenance.hidden(conn, worktree)
    rules = [node for node in hot.rules(conn, agents=True) if node.id not in hidden]
    doubts = flags.of_nodes(conn, worktree, [node.id for node in rules])
    places = [row.node for row in provenance.on_path(conn, worktree, _MAIN) if row.line is not None]
    said = {node.text_hash for node in nodes.many(conn, places).values()}
    return rules, doubts, said


def _doubt(flag: Flag | None) -> str:
    if flag is None or flag.level != "warn":
        return ""
    return f" (May be out of date: {' '.join(flag.reason.split())} Check before relying on it.)"


def _is_ours(row: AgentFileRow, data: bytes, key: bytes) -> bool:
    """Tell whether we wrote these bytes, or were about to."""
    return keys.keyed(key, data) in (row.digest, row.block)


def _note(space: Space, row: AgentFileRow, state: str, reason: str, digest: str = "") -> None:
    kept = digest if state == SYNCED else row.digest
    done = replace(row, state=state, reason=reason, digest=kept)
    if done != row:
        space.db.write(agent_files.put, done)


def _exclude(home: Home, space: Space) -> None:
    path = identity.exclude_file(space.project.common_dir)
    lines = path.read_bytes().splitlines() if path.is_file() else []
    if EXCLUDED.encode() in lines:
        return
    # Noted before and after: whoever is killed in between has noted what is to be taken out.
    home.user.write(meta.put, excluded_key(space.project.id), f"{EXCLUDED}\n")
    appended = files.append_line_exact(path, EXCLUDED)
    home.user.write(meta.put, excluded_key(space.project.id), appended)


def _require_inside(root: Path, path: Path) -> None:
    folder = path.parent
    while folder != root:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise YaadError(
                Code.REFUSED,
                f"{folder} is a link or no folder; {CARRIER} was not written.",
                hint="Make it a folder, or: yaadwatch files release",
            )
        folder = folder.parent
