"""Compare each statement of an agent file with the code of the day on which it was written.

A rule may be older than the day on which it was read, and false since then. So it rests on the code
of the commit that gave it its words, not on today's. The sync notes the memories; the daemon
compares them afterwards, up to 256 at a time. The rest stays in the store, so a killed daemon loses
nothing. What git cannot compare waits for the next `add`.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from bridges.block import without_markers
from bridges.rules import Statement
from yaadwatch.db import anchors, history, projects
from yaadwatch.db.files import Connection
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.memories import Node
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.remember.write_batch import rest_on
from yaadwatch.repo import layout
from yaadwatch.repo.history import LineOrigin
from yaadwatch.repo.repository import Repository
from yaadwatch.staleness import stale, uncommitted
from yaadwatch.staleness.anchor_search import Source
from yaadwatch.staleness.worktree import look_at
from yaadwatch.text import privacy
from yaadwatch.text.words import text_hash
from yaadwatch.workspace import agent_files, large_jobs
from yaadwatch.workspace.agent_files import Formats, parsed
from yaadwatch.workspace.stores import answers
from yaadwatch.workspace.workspace import Home, Space

COMMITS_MAX: Final = 8
"""Commits in which anchors are looked up for one batch of statements."""
LOOKS_MAX: Final = 32
"""Earlier commits of one file that are searched for the same statement."""
STATEMENTS_MAX: Final = 256
"""Statements compared in one batch: each that names code costs some 50 ms."""

_log: Final = logging.getLogger(__name__)


class Since(NamedTuple):
    """The commits that gave statements their words, by file and hash (`wrote`); those that are read
    in their place (`commits`); and why git failed for a file (`failed`).
    """

    wrote: dict[tuple[str, str], LineOrigin]
    commits: dict[tuple[str, str], str]
    failed: dict[str, YaadError]


def wording_commits(
    repository: Repository,
    formats: Formats,
    head: str,
    said: Iterable[tuple[str, Collection[str]]],
    *,
    statements_max: int = STATEMENTS_MAX,
    commits_max: int = COMMITS_MAX,
) -> Since:
    """Return in which commit each statement got its words.

    Statements that the commit lacks are left out: they count from now. Of more than `commits_max`
    commits some represent older ones: a change in between is not reported, but no false change is.
    Of more than `statements_max` different statements the last are left out: they are for another
    call.

    Args:
        repository: whose files.
        formats: of the agent files.
        head: the commit in which the files are looked at; '' before the first one.
        said: the path of each file, and the hashes of its statements.
    """
    wrote: dict[tuple[str, str], LineOrigin] = {}
    failed: dict[str, YaadError] = {}
    asked: set[str] = set()
    for path, hashes in said if head else ():
        new = [one for one in dict.fromkeys(hashes) if one not in asked]
        wanted = set(hashes) - set(new[max(statements_max - len(asked), 0) :])
        asked |= wanted
        try:
            wrote |= _origins(repository, formats, (head, path), wanted)
        except YaadError as error:
            failed[path] = error
    return Since(wrote, {key: one.commit for key, one in fewer(wrote, commits_max).items()}, failed)


def _origins(
    repository: Repository, formats: Formats, place: tuple[str, str], wanted: Iterable[str]
) -> dict[tuple[str, str], LineOrigin]:
    """Return the origins of the wanted statements of a file; `place` is commit and path.

    A commit that only rewrapped a statement or changed its list marker did not give it its words:
    where the file had the same statement before, the search goes on there.

    Raises:
        YaadError: from git for that place; where git fails for an earlier one, the later commit
            counts.
    """
    found: dict[str, LineOrigin] = {}
    left = {place: list(wanted)}
    for _ in range(LOOKS_MAX + 1):
        if not left:
            break
        here = max(left, key=lambda one: (len(left[one]), one))
        hashes = left.pop(here)
        try:
            newer = _last_commits(repository, formats, here, hashes)
        except YaadError:
            if here == place:
                raise
            break
        found |= newer
        for key, wrote in newer.items():
            if wrote.before[0]:
                left.setdefault(wrote.before, []).append(key)
    return {(place[1], key): wrote for key, wrote in found.items()}


def _last_commits(
    repository: Repository, formats: Formats, place: tuple[str, str], wanted: Collection[str]
) -> dict[str, LineOrigin]:
    """Return the last commit of the lines of each wanted statement of a file.

    Raises:
        YaadError: from git; UNAVAILABLE when the commit does not exist (any more).
    """
    commit, path = place
    blob = repository.blob_at(commit, path)
    if blob is None and not repository.has_commit(commit):
        raise YaadError(
            Code.UNAVAILABLE, f"The commit {commit}, in which it was read, is not there any more."
        )
    data = repository.read_blob(blob, AGENT_FILE_BYTES_MAX) if blob is not None else None
    bridge = formats.of(path) or agent_files.IMPORTED
    statements = parsed(bridge, without_markers(data)).statements if data is not None else ()
    there = [(memory_hash(one), one) for one in statements]
    there = [(key, one) for key, one in there if key in wanted]
    lines = repository.wrote(commit, path) if there else ()
    found: dict[str, LineOrigin] = {}
    for key, statement in there:
        own = lines[statement.line - 1 : statement.end_line]
        if own:
            found.setdefault(key, max(own, key=lambda one: (one.at_s, one.commit)))
    return found


def memory_hash(statement: Statement) -> str:
    """Return the `text_hash` of the memory that a statement becomes."""
    return text_hash(privacy.kept(statement.text).text)


def fewer(
    wrote: Mapping[tuple[str, str], LineOrigin], most: int = COMMITS_MAX
) -> dict[tuple[str, str], LineOrigin]:
    """Return the mapping with at most so many commits, evenly chosen by age, with the newest."""
    every = sorted(set(wrote.values()), key=lambda one: (one.at_s, one.commit))
    count = len(every)
    kept = {
        one: every[-(-(at + 1) * most // count) * count // most - 1] for at, one in enumerate(every)
    }
    return {key: kept[one] for key, one in wrote.items()}


def compare_next(home: Home, project: str) -> bool:
    """Compare the next memories of a project; return whether there were any.

    There are none while its disk does not answer: the next check asks again. A memory that was
    changed, confirmed or archived since it was read is left as it is.

    Args:
        home: the daemon's shared state.
        project: its id.

    Raises:
        YaadError: NOT_FOUND when none of its folders exists; UNAVAILABLE without git; UNAVAILABLE,
            REFUSED from its store.
    """
    found = home.user.read(projects.get, project)
    if found is None or found.removed_at is not None or not answers(found):
        return False
    failed = None
    for worktree in home.stores.look(found, anchors.waiting_lookbacks):
        try:
            with home.tree(project, worktree) as space:
                _compare_batch(home, space)
        except YaadError as error:  # another work tree may exist
            failed = error
        else:
            return True
        finally:
            home.compared.pop((project, worktree), None)
    if failed is not None:
        raise failed
    return False


class _Compared(NamedTuple):
    """A memory, its anchors in the store, and its anchors as of the day it was written."""

    node: Node
    before: Sequence[Anchor]
    after: Sequence[Anchor]


def _compare_batch(home: Home, space: Space) -> None:
    """Compare up to 256 memories of a work tree, and update their flags.

    They are marked as done last: after a kill they are compared again.

    Raises:
        YaadError: git or the folder is missing.
    """
    worktree = space.worktree.id
    pending = space.db.read(anchors.lookback_of, worktree).pending
    if not pending:
        return  # another thread was faster
    read_at = next(iter(pending))
    ids = pending[read_at][:STATEMENTS_MAX]
    found, cut, failed = large_jobs.run(home, space, _compare, read_at, ids)
    for error in failed.values():
        if home.git.closed or not home.git.is_there() or not space.root.is_dir():
            raise error  # git could not run, so nothing is settled
    if found:
        space.db.write(_store_anchors, home, found)
        stale.check_space(home, space, None)
    why = privacy.mask(next(iter(failed.values())).message).text if failed else ""
    if failed:
        fields = {"project": space.project.id, "memories": len(failed), "error": why}
        _log.warning("lookback.not_told", extra=fields)

    def settle(conn: Connection) -> None:
        lookback = anchors.lookback_of(conn, worktree)
        lookback.settle(set(ids), failed=list(failed), cut=set(cut) - failed.keys())
        lookback.why = why or lookback.why
        anchors.put_lookback(conn, worktree, lookback)

    space.db.write(settle)


def _compare(
    home: Home, space: Space, read_at: str, ids: Sequence[str]
) -> tuple[dict[str, _Compared], list[str], dict[str, YaadError]]:
    """Return what memories that were read at a commit rested on when they got their words.

    With the ids of those that may be older than the history, and why git failed for others.
    """
    wanted = space.db.read(anchors.untouched, ids)
    worktree = space.worktree.id
    said = space.db.read(_hashes_by_path, wanted, worktree)
    # Looked up in the commit in which they were read: another one may be checked out by now.
    formats = agent_files.known_formats(home)
    since = wording_commits(space.repository, formats, read_at, said.items())
    cut_at = layout.cut_at(space.repository.layout)
    by_commit: dict[str, list[Node]] = {}
    cut: list[str] = []
    failed: dict[str, YaadError] = {}
    for node in wanted:
        places = [(path, node.text_hash) for path in said if node.text_hash in said[path]]
        known = next((place for place in places if place in since.commits), None)
        if known is None:
            if errors := [since.failed[path] for path, _ in places if path in since.failed]:
                failed[node.id] = errors[0]
            continue
        if since.wrote[known].commit in cut_at:
            cut.append(node.id)
        if since.commits[known] != read_at:
            by_commit.setdefault(since.commits[known], []).append(node)
    return _as_written(home, space, read_at, by_commit, failed), cut, failed


def _hashes_by_path(
    conn: Connection, wanted: Iterable[Node], worktree: int
) -> dict[str, list[str]]:
    """Return the hashes of memories by the files of a work tree that state or stated them."""
    said: dict[str, list[str]] = {}
    for node in wanted:
        rows = history.provenance_of_node(conn, node.id)
        for path in dict.fromkeys(row.path for row in rows if row.worktree == worktree):
            said.setdefault(path, []).append(node.text_hash)
    return said


def _as_written(
    home: Home,
    space: Space,
    read_at: str,
    by_commit: Mapping[str, Sequence[Node]],
    failed: dict[str, YaadError],
) -> dict[str, _Compared]:
    """Return the anchors of memories in the commits that gave them their words, by their ids.

    All commits at once, because that costs less; where git fails, each commit by itself. `failed`
    gets the memories of commits for which git fails.
    """
    some = [node for nodes in by_commit.values() for node in nodes]
    try:
        resting = space.db.read(anchors.of_nodes, [node.id for node in some])
        sources = [
            (commit, Source(text=node.text, folder=space.db.read(_folder, node.id)))
            for commit, nodes in by_commit.items()
            for node in nodes
        ]
        tree, head = look_at(space, (), home.clock.now_ns())
        then = uncommitted.at_commit(head.history, read_at)
        when_read = (tree, head) if head.head.commit == read_at else (then, then)
        found = {}
        for at, before in uncommitted.anchors_as_written(sources, head.history):
            node = some[at]
            own = resting.get(node.id, [])
            after = uncommitted.and_since(before, own, *when_read)
            found[node.id] = _Compared(node, own, [replace(one, node=node.id) for one in after])
            home.count_compared((space.project.id, space.worktree.id))
    except YaadError as error:
        if len(by_commit) == 1:
            failed |= {node.id: error for node in some}
            return {}
        found = {}
        for commit, nodes in by_commit.items():
            found |= _as_written(home, space, read_at, {commit: nodes}, failed)
    return found


def _folder(conn: Connection, node: str) -> str:
    """Return the folder of the first file that states a memory, '' where none does."""
    said = history.provenance_of_node(conn, node)
    return said[0].path.rpartition("/")[0] if said else ""


def _store_anchors(conn: Connection, home: Home, found: Mapping[str, _Compared]) -> None:
    """Store the anchors found, unless the memory or its anchors changed meanwhile."""
    same = {node.id for node in anchors.untouched(conn, list(found))}
    resting = anchors.of_nodes(conn, same)
    for node, before, after in found.values():
        if node.id in same and resting.get(node.id, []) == list(before) != list(after):
            rest_on(conn, home, node, after, home.clock.now())


def retry(space: Space) -> None:
    """Queue again what git could not compare, and once its history is whole, what that cut off."""
    head = space.repository.head().commit
    is_cut = bool(layout.cut_at(space.repository.layout))

    def commit(conn: Connection) -> None:
        lookback = anchors.lookback_of(conn, space.worktree.id)
        again = [*lookback.failed, *(() if is_cut else lookback.cut)]
        lookback.failed, lookback.why = [], ""
        lookback.cut = lookback.cut if is_cut else []
        lookback.add(again, head)
        anchors.put_lookback(conn, space.worktree.id, lookback)

    space.db.write(commit)
