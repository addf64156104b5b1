"""What a person's own agent files say: taken in as memories, each with its places."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from yaadwatch.engine import node_changes
from yaadwatch.engine.agent_files import reading
from yaadwatch.engine.agent_files.reading import AgentFile
from yaadwatch.engine.remember import preparing, verb
from yaadwatch.engine.remember.drafts import NEW, Draft
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.nodes import Provenance
from yaadwatch.store import agent_files as agent_files_known
from yaadwatch.store import anchors, nodes, provenance
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import lookbacks
from yaadwatch.system.git import layout as layouts


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What was read: the files, their statements, the memories made new, those that rest on files.

    Two statements that say the same are one memory. `looking`: of how many is still to be found out
    what they rested on when they were written.
    """

    files: tuple[AgentFile, ...]
    statements: int
    nodes: int
    anchored: int
    looking: int


def read(home: Home, space: Space) -> Baseline:
    """Read the agent files of a work tree and take in what they say; twice makes nothing twice.

    What is new rests on the files as they are now, until `engine.syncing.lookback` is done. What
    could not be compared before is compared again.
    What a file said before and says no more is kept, hidden here: another branch may say it again.
    """
    before = space.db.read(nodes.count)
    head = space.repository.head().commit  # before they are read: what came later is not in it
    found = reading.read_all(home, space)
    drafts = [
        Draft(
            text=statement.text,
            origin=f"file:{file.path}",
            kind=preparing.kind_of(statement),
            headings=statement.headings,
            folder=file.path.rpartition("/")[0],
            baseline=True,
            from_git=True,
        )
        for file in found
        for statement in file.statements
    ]
    admitted = verb.admit(home, space, drafts) if drafts else []
    now = home.clock.now()
    said = iter(admitted)
    rows = {
        file.path: [
            Provenance(
                node=next(said).node.id,
                worktree=space.worktree.id,
                path=file.path,
                position=position,
                line=statement.line,
                since=now,
            )
            for position, statement in enumerate(file.statements)
        ]
        for file in found
        if file.own
    }
    names = reading.formats(home).names
    fresh = tuple(one.node.id for one in admitted if one.decision == NEW)
    is_cut = bool(layouts.cut_at(space.repository.layout))

    def commit(conn: Connection) -> int:
        _note(conn, space.worktree.id, names, found, rows)
        lookback = lookbacks.of_worktree(conn, space.worktree.id)
        again = [*lookback.failed, *(() if is_cut else lookback.cut)]
        lookback.failed, lookback.why = [], ""
        lookback.cut = lookback.cut if is_cut else []
        lookback.add([*again, *fresh], head)
        lookbacks.put(conn, space.worktree.id, lookback)
        return lookback.left

    looking = space.db.write(commit)
    return Baseline(
        files=tuple(found),
        statements=len(drafts),
        nodes=space.db.read(nodes.count) - before,
        anchored=sum(1 for one in admitted if one.anchors),
        looking=looking,
    )


def _note(
    conn: Connection,
    worktree: int,
    names: Collection[str],
    found: Sequence[AgentFile],
    rows: dict[str, list[Provenance]],
) -> None:
    """Write down which place says what now; what cannot be read today says what it said."""
    known = set(names)
    known |= agent_files_known.of_worktree(conn, worktree).keys()
    unread = {file.path for file in found if file.state == "paused"}
    was_hidden = provenance.hidden(conn, worktree)
    for path in sorted(known - unread | rows.keys()):
        places = rows.get(path, [])
        provenance.put_path(conn, worktree, path, places + _hidden(conn, worktree, path, places))
    back = was_hidden - provenance.hidden(conn, worktree)
    for resting in anchors.of_nodes(conn, back).values():
        node_changes.look_again(conn, resting)


def _hidden(
    conn: Connection, worktree: int, path: str, places: Sequence[Provenance]
) -> list[Provenance]:
    """Return the places of what `path` said before, without a line.

    What was remembered by other means too is as it was before the file said it.
    """
    still = {place.node for place in places}
    before = [row for row in provenance.on_path(conn, worktree, path) if row.node not in still]
    said = nodes.many(conn, [row.node for row in before])
    gone = {row.node: row for row in before if said[row.node].origin.startswith("file:")}
    return [
        replace(place, line=None, position=len(places) + number)
        for number, place in enumerate(gone.values())
    ]
