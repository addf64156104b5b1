"""What a person's rules rested on when they were written, found out after they were taken in.

A rule may be older than the day on which we came, and false since. To look its places up in the
commit that gave it its words, and to judge them over the history since, takes seconds for many
rules; nobody waits for it. What is still to be looked up stands in the store, so that nothing of it
is lost with the process.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from bridges.rules import Statement
from yaadwatch.core import privacy
from yaadwatch.core.text import text_hash
from yaadwatch.engine import stale, writing
from yaadwatch.engine.agent_files import reading, written
from yaadwatch.engine.anchored import then
from yaadwatch.engine.anchored.anchoring import Source
from yaadwatch.engine.anchored.worktree import look_at
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import YaadError
from yaadwatch.model.nodes import Node
from yaadwatch.store import anchors, nodes, projects, provenance
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import lookbacks
from yaadwatch.store.truth.lookbacks import Todo

_log: Final = logging.getLogger(__name__)


def go_on(home: Home, project: str) -> bool:
    """Look up what is next in a project; return whether there was anything.

    A memory that was changed, confirmed or archived since is left as it is, and so are those of
    which git cannot tell: they count from the day on which they were read.

    Args:
        home: what may be reached.
        project: its id.

    Raises:
        YaadError: NOT_FOUND when it is not watched, or none of its folders is there; UNAVAILABLE,
            REFUSED from its store.
    """
    failed = None
    for worktree in _waiting(home, project):
        try:
            _next(home, project, worktree)
        except YaadError as error:  # of another work tree there may be something to tell
            failed = error
            continue
        return True
    if failed is not None:
        raise failed
    return False


def _waiting(home: Home, project: str) -> list[int]:
    """Return the work trees for which something is left to be looked up."""
    found = home.user.read(projects.get, project)
    if found is None or found.removed_at is not None:
        return []
    return home.stores.look(found, lookbacks.waiting)


def _next(home: Home, project: str, worktree: int) -> None:
    """Look up what is next in a work tree: whose commits, then what stood there; and check that.

    Raises:
        YaadError: see `go_on`.
    """
    with home.tree(project, worktree) as space:
        left = space.db.read(lookbacks.of_worktree, worktree)
        unknown = left.get(lookbacks.UNKNOWN, ())
        todo = _by_commit(home, space, unknown) if unknown else {}
        found = {} if unknown else _as_written(home, space, left)

        def commit(conn: Connection) -> None:
            _rest(conn, home, found)
            for done in [lookbacks.UNKNOWN] if unknown else left:
                lookbacks.done(conn, worktree, done, left[done])
            lookbacks.add(conn, worktree, todo)

        space.db.write(commit)
        if not unknown:
            stale.check_space(home, space, None)


class _Found(NamedTuple):
    """A memory, what it rests on in the store, and what it rests on as it was written."""

    node: Node
    before: Sequence[Anchor]
    after: Sequence[Anchor]


def _by_commit(home: Home, space: Space, ids: Sequence[str]) -> Todo:
    """Return which commits gave memories their words, without those that count from now."""
    nodes_of = {node.text_hash: node.id for node in space.db.read(_untouched, ids)}
    said = [
        (file.path, [one for one in file.statements if _hash(one) in nodes_of])
        for file in reading.read_all(home, space)
    ]
    try:
        since = written.since(space.repository, reading.formats(home), said)
        head = space.repository.head().commit
    except YaadError as error:
        _count_from_now(space, ids, error)
        return {}
    todo: Todo = {}
    for path, statements in said:
        for statement in statements:
            node = nodes_of.pop(_hash(statement), None)
            commit = since.get((path, text_hash(statement.text)), head)
            if node is not None and commit != head:
                todo.setdefault(commit, []).append(node)
    return todo


def _as_written(home: Home, space: Space, todo: Todo) -> dict[str, _Found]:
    """Return what memories rested on in the commits that gave them their words, by their ids.

    All at once: looking into one commit costs less after another one. Where git cannot tell, each
    commit by itself, and those that it cannot tell of are left out.
    """
    try:
        return _looked_up(home, space, todo)
    except YaadError as error:
        if len(todo) == 1:
            _count_from_now(space, next(iter(todo.values())), error)
            return {}
    found: dict[str, _Found] = {}
    for commit, ids in todo.items():
        found |= _as_written(home, space, {commit: ids})
    return found


def _looked_up(home: Home, space: Space, todo: Todo) -> dict[str, _Found]:
    """Return the same of commits that git can tell of.

    Raises:
        YaadError: from git.
    """
    commits = {node: commit for commit, own in todo.items() for node in own}
    wanted = space.db.read(_untouched, list(commits))
    resting = space.db.read(anchors.of_nodes, [node.id for node in wanted])
    sources = [
        (commits[node.id], Source(text=node.text, folder=space.db.read(_folder, node.id)))
        for node in wanted
    ]
    tree, head = look_at(space, (), home.clock.now_ns())
    found = {}
    for at, before in then.as_written(sources, head):
        node = wanted[at]
        own = resting.get(node.id, [])
        after = [replace(one, node=node.id) for one in then.and_since(before, own, tree, head)]
        found[node.id] = _Found(node, own, after)
    return found


def _count_from_now(space: Space, ids: Sequence[str], error: YaadError) -> None:
    """Say that git could not tell what memories rested on."""
    _log.warning(
        "lookback.not_told",
        extra={
            "project": space.project.id,
            "memories": len(ids),
            "error": error.message,
            "effect": "they count from the day on which they were read",
        },
    )


def _hash(statement: Statement) -> str:
    """Return the `text_hash` of the memory that a statement becomes."""
    return text_hash(privacy.mask(statement.text).text)


def _untouched(conn: Connection, ids: Sequence[str]) -> list[Node]:
    """Return those of some memories that live and are as they were read."""
    known = nodes.many(conn, ids).values()
    return [node for node in known if node.archived_at is None and node.version == 1]


def _folder(conn: Connection, node: str) -> str:
    """Return the folder of the first file that says a memory, '' where none does."""
    said = provenance.of_node(conn, node)
    return said[0].path.rpartition("/")[0] if said else ""


def _rest(conn: Connection, home: Home, found: Mapping[str, _Found]) -> None:
    """Have memories rest on what was found.

    One that changed meanwhile, or rests on other things, stays as it is.
    """
    same = {node.id for node in _untouched(conn, list(found))}
    resting = anchors.of_nodes(conn, same)
    for node, before, after in found.values():
        if node.id in same and resting.get(node.id, []) == list(before) != list(after):
            writing.rest_on(conn, home, node, after, home.clock.now())
