"""Compare statements of agent files with the code of the day they were written.

A rule may be older than the day on which it was read, and false since. `add` and the sync note the
memories; the daemon compares them afterwards, up to 256 at a time. What is left stands in the
store, so a killed daemon loses nothing. What git cannot compare waits for the next `add`.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from bridges.rules import Statement
from yaadwatch.core import privacy
from yaadwatch.core.text import text_hash
from yaadwatch.engine import stale
from yaadwatch.engine.agent_files import reading, written
from yaadwatch.engine.anchored import uncommitted
from yaadwatch.engine.anchored.anchoring import Source
from yaadwatch.engine.anchored.worktree import look_at
from yaadwatch.engine.remember.write_batch import rest_on
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import YaadError
from yaadwatch.model.nodes import Node
from yaadwatch.store import anchors, projects, provenance
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import lookbacks
from yaadwatch.system.git import layout as layouts

_log: Final = logging.getLogger(__name__)


def go_on(home: Home, project: str) -> bool:
    """Compare the next memories of a project; return whether there were any.

    A memory that was changed, confirmed or archived since it was read is left as it is.

    Args:
        home: what may be reached.
        project: its id.

    Raises:
        YaadError: NOT_FOUND when none of its folders is there; UNAVAILABLE when there is no git to
            ask; UNAVAILABLE, REFUSED from its store.
    """
    found = home.user.read(projects.get, project)
    if found is None or found.removed_at is not None:
        return False
    failed = None
    for worktree in home.stores.look(found, lookbacks.waiting):
        try:
            with home.tree(project, worktree) as space:
                _compare_next(home, space)
        except YaadError as error:  # another work tree may be there
            failed = error
        else:
            return True
        finally:
            home.compared.pop((project, worktree), None)
    if failed is not None:
        raise failed
    return False


class _Found(NamedTuple):
    """A memory, what it rests on in the store, and what it rested on as it was written."""

    node: Node
    before: Sequence[Anchor]
    after: Sequence[Anchor]


def _compare_next(home: Home, space: Space) -> None:
    """Compare up to 256 memories of a work tree, and check the flags that follow.

    They are settled last: after a kill they are compared again.

    Raises:
        YaadError: there is no git to ask, or no folder to ask about.
    """
    worktree = space.worktree.id
    pending = space.db.read(lookbacks.of_worktree, worktree).pending
    if not pending:
        return  # another thread was faster
    read_at = next(iter(pending))
    ids = pending[read_at][: written.STATEMENTS_MAX]
    wanted = space.db.read(lookbacks.untouched, ids)
    said = space.db.read(_said, wanted, worktree)
    # Asked of the commit in which they were read: by now another one may be checked out.
    since = written.since(space.repository, reading.formats(home), read_at, said.items(), _hash)
    cut_at = layouts.cut_at(space.repository.layout)
    by_commit: dict[str, list[Node]] = {}
    cut: list[str] = []
    failed: dict[str, YaadError] = {}
    for node in wanted:
        paths = [path for path, hashes in said.items() if node.text_hash in hashes]
        places = [(path, node.text_hash) for path in paths]
        known = next((place for place in places if place in since.commits), None)
        if known is None:
            if errors := [since.failed[path] for path in paths if path in since.failed]:
                failed[node.id] = errors[0]
            continue
        if since.wrote[known] in cut_at:
            cut.append(node.id)
        if since.commits[known] != read_at:
            by_commit.setdefault(since.commits[known], []).append(node)
    found = _as_written(home, space, read_at, by_commit, failed)
    for error in failed.values():
        if home.git.closed or not home.git.is_there() or not space.root.is_dir():
            raise error  # git was not asked, or not about what is there
    if found:
        space.db.write(_rest, home, found)
        stale.check_space(home, space, None)
    why = privacy.mask(next(iter(failed.values())).message).text if failed else ""
    if failed:
        fields = {"project": space.project.id, "memories": len(failed), "error": why}
        _log.warning("lookback.not_told", extra=fields)

    def settle(conn: Connection) -> None:
        lookback = lookbacks.of_worktree(conn, worktree)
        lookback.settle(set(ids), failed=list(failed), cut=set(cut) - failed.keys())
        lookback.why = why or lookback.why
        lookbacks.put(conn, worktree, lookback)

    space.db.write(settle)


def _as_written(
    home: Home,
    space: Space,
    read_at: str,
    by_commit: Mapping[str, Sequence[Node]],
    failed: dict[str, YaadError],
) -> dict[str, _Found]:
    """Return what memories rested on in the commits that gave them their words, by their ids.

    All commits at once, because that costs less; where git fails, each commit by itself.
    `failed` gets the memories of commits that git cannot tell of.
    """
    try:
        return _looked_up(home, space, read_at, by_commit)
    except YaadError as error:
        if len(by_commit) == 1:
            failed |= {node.id: error for nodes in by_commit.values() for node in nodes}
            return {}
    found: dict[str, _Found] = {}
    for commit, some in by_commit.items():
        found |= _as_written(home, space, read_at, {commit: some}, failed)
    return found


def _looked_up(
    home: Home, space: Space, read_at: str, by_commit: Mapping[str, Sequence[Node]]
) -> dict[str, _Found]:
    nodes = [node for some in by_commit.values() for node in some]
    resting = space.db.read(anchors.of_nodes, [node.id for node in nodes])
    sources = [
        (commit, Source(text=node.text, folder=space.db.read(_folder, node.id)))
        for commit, some in by_commit.items()
        for node in some
    ]
    tree, head = look_at(space, (), home.clock.now_ns())
    then = uncommitted.at_commit(head.history, read_at)
    when_read = (tree, head) if head.head.commit == read_at else (then, then)
    found = {}
    for at, before in uncommitted.as_written(sources, head.history):
        node = nodes[at]
        own = resting.get(node.id, [])
        after = uncommitted.and_since(before, own, *when_read)
        found[node.id] = _Found(node, own, [replace(one, node=node.id) for one in after])
        home.compared[space.project.id, space.worktree.id] += 1
    return found


def _hash(statement: Statement) -> str:
    """Return the `text_hash` of the memory that a statement becomes."""
    return text_hash(privacy.kept(statement.text).text)


def _said(conn: Connection, wanted: Iterable[Node], worktree: int) -> dict[str, list[str]]:
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
    """Have memories rest on what was found, unless they or their anchors changed meanwhile."""
    same = {node.id for node in lookbacks.untouched(conn, list(found))}
    resting = anchors.of_nodes(conn, same)
    for node, before, after in found.values():
        if node.id in same and resting.get(node.id, []) == list(before) != list(after):
            rest_on(conn, home, node, after, home.clock.now())
