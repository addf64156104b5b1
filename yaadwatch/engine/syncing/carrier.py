"""Private carriers: files of our own with the hot rules, and what is in doubt about them.

It is kept out of git by a line in the exclude file, and never by touching what a person wrote.
"""

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from bridges.items import line_of
from bridges.registry import for_path
from yaadwatch.core.quoting import as_line
from yaadwatch.core.sync.budget import Rule, fit
from yaadwatch.core.text import text_hash
from yaadwatch.core.truth.claiming.statements import HOLDS_IN
from yaadwatch.core.wording import addresses_agents
from yaadwatch.engine import identity
from yaadwatch.engine.stores.open_stores import exclude_file
from yaadwatch.engine.syncing import acting
from yaadwatch.engine.syncing.deciding import as_stored, gravest_first
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.agent_files import ABSENT, PAUSED, SYNCED, AgentFileRow
from yaadwatch.model.anchors import Flag
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.nodes import Node
from yaadwatch.model.settings import ALWAYS
from yaadwatch.store import agent_files, flags, hot, meta, visibility
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import authority
from yaadwatch.store.visibility import View, seen_from
from yaadwatch.system import files, keys
from yaadwatch.system.safe_write import replacing

HEAD: Final = (
    "<!-- Written by yaadwatch, kept out of git. It is rewritten whenever a rule changes. -->",
    "",
)
DOUBTED: Final = " (May be out of date: "
"""What stands behind a rule that is in doubt begins so."""
DOUBTED_END: Final = "; check before relying on it.)"
_HEAD_BYTES: Final = 1024
"""The first line of ours is within so many bytes: front matter may stand above it."""


def excluded_key(project: str, path: str) -> str:
    """Return under which key the user store's meta table has what was appended to the exclude file.

    It is not in the project's own store, because it is needed when that is lost.
    """
    return f"excluded_carrier {project} {path}"


def _folders_key(project: str, root: Path, path: str) -> str:
    return f"carrier_folders {project} {root} {path}"


def sync(
    home: Home,
    space: Space,
    row: AgentFileRow,
    *,
    said: Collection[str],
    view: View,
    key: bytes,
) -> bool:
    """Bring a carrier up to date; return whether it was written.

    One that somebody else has changed is left alone, and paused.

    Args:
        home: what may be reached.
        space: the work tree.
        row: which carrier, and what it held.
        said: hashes of what its agents read elsewhere anyway.
        view: from where; it carries no memory of other branches.
        key: of this home's hashes.

    Raises:
        replacing.ChangedUnderneathError: somebody wrote it meanwhile.
        YaadError: REFUSED when a link is in its way, UNAVAILABLE when it cannot be written.
    """
    path = row.path
    replacing.recover(space.root / path, lambda data: acting.keep(home, space, path, data, key=key))
    agents = home.settings.agents.rules == ALWAYS
    rules = space.db.read(seen_from, view, _rules, space.worktree.id, agents=agents)
    wanted = render(path, *rules, said)
    seen = files.observe(space.root, path, bytes_max=1 << 20, now_ns=home.clock.now_ns())
    if seen.kind not in ("file", "absent"):
        _note(space, row, PAUSED, f"is no plain file ({seen.kind}); it was not written")
        return False
    if (seen.data or b"") == wanted:
        _note_as(space, row, wanted, key)
        return False
    if seen.data is not None and not _is_ours(row, seen.data, key):
        reason = "was edited and was not overwritten; to write it again: "
        _note(space, row, PAUSED, f"{reason}yaadwatch files adopt {shlex.quote(path)}")
        return False
    # Noted before it is written: after a kill in between it is known for ours.
    row = replace(row, block=keys.keyed(key, wanted) if wanted else "")
    space.db.write(agent_files.put, row)
    place = space.root / path
    _require_inside(space.root, place, path)
    if not wanted:
        take_away(home, space.project.id, space.root, path)
    elif seen.data is None:
        _exclude(home, space, path)
        made = acting.missing_folders(space.root, path)
        if made:
            folders_key = _folders_key(space.project.id, space.root, path)
            home.user.write(meta.put, folders_key, json.dumps(made))
        place.parent.mkdir(parents=True, exist_ok=True)
        replacing.create_new(place, wanted)
    else:
        replacing.replace_expected(place, seen.data, wanted)
    _note_as(space, row, wanted, key)
    return True


def would_write(
    home: Home, space: Space, path: str, *, said: Collection[str], view: View
) -> tuple[bytes, bytes]:
    """Return what a carrier holds, and what it would hold after a sync."""
    agents = home.settings.agents.rules == ALWAYS
    rules = space.db.read(seen_from, view, _rules, space.worktree.id, agents=agents)
    wanted = render(path, *rules, said)
    seen = files.observe(space.root, path, bytes_max=1 << 20, now_ns=home.clock.now_ns())
    return seen.data or b"", wanted


def is_ours(data: bytes) -> bool:
    """Return whether a file begins as our carriers do."""
    return HEAD[0].encode() in data[:_HEAD_BYTES]


def render(
    path: str, rules: Sequence[Node], doubts: Mapping[str, Flag], said: Collection[str]
) -> bytes:
    """Return a carrier's bytes; none when there is no rule to carry.

    Args:
        path: which carrier.
        rules: the hot memories, best first.
        doubts: what is in doubt about them here.
        said: hashes of what its agents read elsewhere anyway.
    """
    ranks = {node.id: rank for rank, node in enumerate(sorted(rules, key=gravest_first))}
    lines = []
    for node in rules:
        line = None if text_hash(node.text) in said else line_of(as_stored(node.text))
        if line is not None:
            first, *body = line.split("\n")
            first += _doubt(doubts.get(node.id))
            lines.append(Rule(line="\n".join((first, *body)), rank=ranks[node.id]))
    fits = fit((), 0, lines, newline=1)
    shown = [rule.line for rule, fitting in zip(lines, fits, strict=True) if fitting]
    if not shown:
        return b""
    bridge = for_path(path)
    preamble = bridge.preamble if bridge is not None else ""
    return (preamble + "".join(f"{line}\n" for line in (*HEAD, *shown))).encode()


def remove(home: Home, space: Space, row: AgentFileRow, *, key: bytes) -> bool:
    """Take a carrier away, if it is still as we wrote it; return whether it was."""
    seen = files.observe(space.root, row.path, bytes_max=1 << 20, now_ns=0)
    is_as_written = seen.data is not None and _is_ours(row, seen.data, key)
    if is_as_written:
        take_away(home, space.project.id, space.root, row.path)
    _put(space, row, replace(row, state=ABSENT, reason="", digest=""))
    return is_as_written


def take_away(home: Home, project: str, root: Path, path: str) -> None:
    """Remove the file, and the folders that we made for it."""
    key = _folders_key(project, root, path)
    acting.remove_made(root, path, json.loads(home.user.read(meta.get, key) or "[]"))
    home.user.write(meta.drop, key)


def _rules(conn: Connection, worktree: int, *, agents: bool) -> tuple[list[Node], dict[str, Flag]]:
    """Return the rules that a private file carries, and what is in doubt about them.

    Those of agents are among them only where a person has opened that by the setting, and not if
    they read as if they wanted to steer whoever reads them.
    """
    hidden = visibility.hidden(conn)
    rules = [
        node
        for node in hot.rules(conn, agents=agents)
        if node.id not in hidden and HOLDS_IN not in node.attributes
    ]
    if agents:
        approved = authority.approved(conn, [node.id for node in rules])
        rules = [node for node in rules if node.id in approved or not addresses_agents(node.text)]
    return rules, flags.of_nodes(conn, worktree, [node.id for node in rules])


def _doubt(flag: Flag | None) -> str:
    if flag is None or flag.level != "warn":
        return ""
    return f"{DOUBTED}{as_line(flag.reason)}{DOUBTED_END}"


def _is_ours(row: AgentFileRow, data: bytes, key: bytes) -> bool:
    """Tell whether we wrote these bytes, or were about to."""
    return keys.keyed(key, data) in (row.digest, row.block)


def _note_as(space: Space, row: AgentFileRow, wanted: bytes, key: bytes) -> None:
    """Note that a carrier is as it is to be; one that has nothing to carry is not there."""
    digest = keys.keyed(key, wanted) if wanted else ""
    _put(space, row, replace(row, state=SYNCED if wanted else ABSENT, reason="", digest=digest))


def _note(space: Space, row: AgentFileRow, state: str, reason: str) -> None:
    _put(space, row, replace(row, state=state, reason=reason))


def _put(space: Space, row: AgentFileRow, done: AgentFileRow) -> None:
    if done != row:
        space.db.write(agent_files.put, done)


def _exclude(home: Home, space: Space, path: str) -> None:
    file = exclude_file(space.repository.layout.common_dir)
    line = f"/{path}"
    if identity.excludes(file, line):
        return
    # Noted before and after: whoever is killed in between has noted what is to be taken out.
    key = excluded_key(space.project.id, path)
    home.user.write(meta.put, key, f"{line}\n")
    home.user.write(meta.put, key, files.append_line_exact(file, line))


def _require_inside(root: Path, place: Path, path: str) -> None:
    folder = place.parent
    while folder != root:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise YaadError(
                Code.REFUSED,
                f"{folder} is a link or no folder; {path} was not written.",
                hint="Make it a folder, or: yaadwatch files release",
            )
        folder = folder.parent
