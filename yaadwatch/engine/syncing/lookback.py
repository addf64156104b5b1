"""What a person's rules rested on when they were written, found out after they were taken in.

A rule may be older than the day on which we came, and false since. To look its places up in the
commit that gave it its words, and to judge them over the history since, takes seconds for many
rules; nobody waits for it. What is still to be looked up stands in the store, so that nothing of it
is lost with the process.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final, NamedTuple

from bridges.rules import Statement
from yaadwatch.core import privacy
from yaadwatch.core.text import text_hash
from yaadwatch.engine import node_changes, stale
from yaadwatch.engine.agent_files import reading, written
from yaadwatch.engine.anchored import at_writing
from yaadwatch.engine.anchored.anchoring import Source
from yaadwatch.engine.anchored.commit import AtHead
from yaadwatch.engine.anchored.worktree import View, look_at
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import YaadError
from yaadwatch.model.nodes import Node
from yaadwatch.store import anchors, projects, provenance
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import lookbacks
from yaadwatch.store.truth.lookbacks import Piece
from yaadwatch.system.git import layout as layouts

NOW: Final = timedelta(0)
AGAIN_AFTER: Final = (timedelta(minutes=1), timedelta(minutes=10))
"""What git could not tell is asked again after so long, then it is given up."""

_log: Final = logging.getLogger(__name__)


def go_on(home: Home, project: str) -> timedelta | None:
    """Look up what is next in a project; return when to go on: `NOW`, later, or never (None).

    A memory that was changed, confirmed or archived since is left as it is. What git cannot tell is
    asked again later, three times in all; then it is given up, and `stale` and `status` say so.

    Args:
        home: what may be reached.
        project: its id.

    Raises:
        YaadError: NOT_FOUND when it is not watched, or none of its folders is there; UNAVAILABLE
            when there is no git to ask; UNAVAILABLE, REFUSED from its store.
    """
    failed = None
    later: list[timedelta] = []
    for worktree in _waiting(home, project):
        try:
            home.compared.pop((project, worktree), None)
            again = _next(home, project, worktree)
        except YaadError as error:  # of another work tree there may be something to tell
            failed = error
            continue
        if again == NOW:
            return NOW
        later += [again] if again is not None else []
    if failed is not None:
        raise failed
    return min(later, default=None)


def _waiting(home: Home, project: str) -> list[int]:
    """Return the work trees for which something is left to be looked up."""
    found = home.user.read(projects.get, project)
    if found is None or found.removed_at is not None:
        return []
    return home.stores.look(found, lookbacks.waiting)


def _next(home: Home, project: str, worktree: int) -> timedelta | None:
    """Look up what is next in a work tree: whose commits, then what stood there; and check that.

    Of 256 memories at most: what is known of them is looked at before whose commits the next are.
    It is noted as done last, when what is in doubt is told: after a kill it is done again.

    Raises:
        YaadError: see `go_on`.
    """
    with home.tree(project, worktree) as space:
        pieces = space.db.read(lookbacks.of_worktree, worktree)
        cut = layouts.cut_at(space.repository.layout)
        pieces = [
            _anew(piece) if piece.done and piece.cut not in cut else piece for piece in pieces
        ]
        waits = {piece: _wait(home, piece) for piece in pieces if piece.waits}
        due = [piece for piece, wait in waits.items() if wait == NOW]
        if not due:
            return min(waits.values(), default=None)
        some = _some([piece for piece in due if piece.commit]) or _some(due[:1])
        if some[0].commit:
            found, instead = _as_written(home, space, some)
            if found:
                space.db.write(_rest, home, found)
                stale.check_space(home, space, None)
            instead += _cut_off(some, [node for piece in instead for node in piece.ids])
        else:
            instead = _by_commit(home, space, some[0], cut)
        ids = [node for piece in some for node in piece.ids]
        space.db.write(lookbacks.settle, worktree, ids, instead)
        home.compared.pop((project, worktree), None)
    return NOW


def _some(pieces: Iterable[Piece]) -> list[Piece]:
    """Return of some pieces as many memories as are looked up at a time, the first."""
    some: list[Piece] = []
    room = written.STATEMENTS_MAX
    for piece in pieces:
        if room:
            some.append(replace(piece, ids=piece.ids[:room]))
            room -= len(some[-1].ids)
    return some


def _anew(piece: Piece) -> Piece:
    """Return what is to be done once more, from the beginning."""
    return Piece(ids=piece.ids, read_at=piece.read_at)


def _cut_off(pieces: Iterable[Piece], left: Collection[str]) -> list[Piece]:
    """Return what is to be kept of pieces that are done, but for the memories that are `left`."""
    return [
        replace(
            piece, ids=tuple(one for one in piece.ids if one not in left), done=True, after_ms=0
        )
        for piece in pieces
        if piece.cut
    ]


def _wait(home: Home, piece: Piece) -> timedelta:
    """Return after how long something is to be tried; a clock that went back delays nothing."""
    left = timedelta(milliseconds=piece.after_ms - home.clock.now_ns() // 1_000_000)
    return left if NOW < left <= max(AGAIN_AFTER) else NOW


class _Found(NamedTuple):
    """A memory, what it rests on in the store, and what it rests on as it was written."""

    node: Node
    before: Sequence[Anchor]
    after: Sequence[Anchor]


def _by_commit(home: Home, space: Space, piece: Piece, cut: Collection[str]) -> list[Piece]:
    """Return by which commits memories are to be looked up; not those that count from now.

    It is asked what the files said in the commit that was checked out when they were read: by now
    another one may be, which says other things. What seems to be of one of the commits at which a
    shallow history is `cut` is as old, or older.

    Raises:
        YaadError: there is no git to ask, or no folder to ask about.
    """
    wanted = space.db.read(lookbacks.untouched, piece.ids)
    said = space.db.read(_said, wanted, space.worktree.id)
    formats = reading.formats(home)
    since = written.since(space.repository, formats, piece.read_at, said.items(), _hash)
    by_commit: dict[tuple[str, str], list[str]] = {}
    failed: dict[str, YaadError] = {}
    for node in wanted:
        paths = [path for path, hashes in said.items() if node.text_hash in hashes]
        keys = [(path, node.text_hash) for path in paths if (path, node.text_hash) in since.commits]
        if keys:
            wrote = since.wrote[keys[0]]
            which = (since.commits[keys[0]], wrote if wrote in cut else "")
            by_commit.setdefault(which, []).append(node.id)
        elif errors := [since.failed[path] for path in paths if path in since.failed]:
            failed[node.id] = errors[0]
    found = [
        Piece(
            ids=tuple(ids),
            read_at=piece.read_at,
            commit=commit,
            cut=oldest,
            done=commit == piece.read_at,
        )
        for (commit, oldest), ids in by_commit.items()
        if oldest or commit != piece.read_at
    ]
    if failed:
        left = replace(piece, ids=tuple(failed))
        found.append(_put_off(home, space, left, next(iter(failed.values()))))
    return found


def _as_written(
    home: Home, space: Space, pieces: Sequence[Piece]
) -> tuple[dict[str, _Found], list[Piece]]:
    """Return what memories rested on in the commits that gave them their words, by their ids; and
    what is to be tried again, or was given up.

    All at once: looking into one commit costs less after another one. Where git cannot tell, each
    commit by itself.

    Raises:
        YaadError: there is no git to ask, or no folder to ask about.
    """
    try:
        return _looked_up(home, space, pieces), []
    except YaadError as error:
        if len(pieces) == 1:
            return {}, [_put_off(home, space, pieces[0], error)]
        _refuse_without_git(home, space, error)
    found: dict[str, _Found] = {}
    failed: list[Piece] = []
    for piece in pieces:
        of_one, left = _as_written(home, space, [piece])
        found |= of_one
        failed += left
    return found, failed


def _looked_up(home: Home, space: Space, pieces: Sequence[Piece]) -> dict[str, _Found]:
    """Return the same of commits that git can tell of.

    Raises:
        YaadError: from git.
    """
    of = {node: piece for piece in pieces for node in piece.ids}
    wanted = space.db.read(lookbacks.untouched, list(of))
    resting = space.db.read(anchors.of_nodes, [node.id for node in wanted])
    sources = [
        (of[node.id].commit, Source(text=node.text, folder=space.db.read(_folder, node.id)))
        for node in wanted
    ]
    tree, head = look_at(space, (), home.clock.now_ns())
    when_read: dict[str, tuple[View, AtHead]] = {head.head.commit: (tree, head)}
    for piece in pieces:
        view = at_writing.at_commit(head.history, piece.read_at)
        when_read.setdefault(piece.read_at, (view, view))
    found = {}
    for at, before in at_writing.as_written(sources, head.history):
        node = wanted[at]
        own = resting.get(node.id, [])
        after = at_writing.and_since(before, own, *when_read[of[node.id].read_at])
        found[node.id] = _Found(node, own, [replace(one, node=node.id) for one in after])
        home.compared[space.project.id, space.worktree.id] += 1
    return found


def _put_off(home: Home, space: Space, piece: Piece, error: YaadError) -> Piece:
    """Return what is to be tried again later, or is given up, and say so.

    Raises:
        YaadError: the same, where nothing can be told of any commit.
    """
    _refuse_without_git(home, space, error)
    why = privacy.mask(error.message).text
    failed = replace(piece, tries=piece.tries + 1, why=why)
    effect = "they count from the day on which they were read"
    if not failed.given_up:
        wait = AGAIN_AFTER[failed.tries - 1]
        failed = replace(failed, after_ms=home.clock.now_ns() // 1_000_000 + _ms(wait))
        effect = f"it is tried again in {wait.total_seconds():g} s"
    _log.warning(
        "lookback.not_told",
        extra={
            "project": space.project.id,
            "memories": len(piece.ids),
            "error": why,
            "effect": effect,
        },
    )
    return failed


def _refuse_without_git(home: Home, space: Space, error: YaadError) -> None:
    """See that git was asked, and about what is there: else nothing was learnt of a commit.

    Raises:
        YaadError: the same.
    """
    if home.git.closed or not home.git.is_there() or not space.root.is_dir():
        raise error


def _ms(time: timedelta) -> int:
    return time // timedelta(milliseconds=1)


def _hash(statement: Statement) -> str:
    """Return the `text_hash` of the memory that a statement becomes."""
    return text_hash(privacy.kept(statement.text).text)


def _said(conn: Connection, wanted: Sequence[Node], worktree: int) -> dict[str, list[str]]:
    """Return the hashes of memories by the files of a work tree that say them, or said them."""
    said: dict[str, list[str]] = {}
    for node in wanted:
        rows = provenance.of_node(conn, node.id)
        for path in dict.fromkeys(row.path for row in rows if row.worktree == worktree):
            said.setdefault(path, []).append(node.text_hash)
    return said


def _folder(conn: Connection, node: str) -> str:
    """Return the folder of the first file that says a memory, '' where none does."""
    said = provenance.of_node(conn, node)
    return said[0].path.rpartition("/")[0] if said else ""


def _rest(conn: Connection, home: Home, found: Mapping[str, _Found]) -> None:
    """Have memories rest on what was found.

    One that changed meanwhile, or rests on other things, stays as it is.
    """
    same = {node.id for node in lookbacks.untouched(conn, list(found))}
    resting = anchors.of_nodes(conn, same)
    for node, before, after in found.values():
        if node.id in same and resting.get(node.id, []) == list(before) != list(after):
            node_changes.rest_on(conn, home, node, after, home.clock.now())
