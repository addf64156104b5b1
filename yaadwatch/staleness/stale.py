"""Check the memories of a work tree against its files, and update their flags.

A check is a function of the store and the tree: running it twice, late, or after a loss of events
gives the same flags. Events only decide when it runs and which memories it checks first.

Also lists the work trees and files that the daemon watches; the daemon asks for them before
anything that judges is loaded.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from yaadwatch.api.messages.memories import Stale
from yaadwatch.db import anchors, authority, history, nodes, projects, visibility
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection, is_unwritable
from yaadwatch.db.visibility import by_work, of_other_branches, seen_from
from yaadwatch.memory import changes, flags, views
from yaadwatch.memory.flags import Checked, Gathered, said_places
from yaadwatch.memory.visibility import checkout_of, uncommitted_rows, view_of
from yaadwatch.model.anchors import Anchor, Evidence, Flag, Method, Sighting, Verdict
from yaadwatch.model.errors import YaadError
from yaadwatch.model.memories import Node
from yaadwatch.model.projects import Authority, Settled, Worktree
from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.layout import Layout
from yaadwatch.staleness import anchor_state, assessing, commit_evidence
from yaadwatch.staleness.commits import AtHead
from yaadwatch.staleness.uncommitted import Settler, with_bases
from yaadwatch.staleness.worktree import WorkTree, look_at
from yaadwatch.system import files
from yaadwatch.system.clock import Patience
from yaadwatch.text import privacy
from yaadwatch.workspace import agent_files, large_jobs
from yaadwatch.workspace.lookup import Shelf
from yaadwatch.workspace.stores import answers, is_of
from yaadwatch.workspace.workspace import Call, Home, Space

PRESENT = "stands"
"""The signature of a folder that exists; no file has it."""
JUDGED_MAX = 64
"""More memories of a large repository are judged in another process; so are any when HEAD moved, or
all files are looked at.
"""
TRIES_MAX = 3
"""Attempts of a check that starts over because HEAD moved; the next hint starts another."""


def stale(home: Home, call: Call, ask: Stale) -> dict[str, object]:
    """Return the flagged memories, highest score first; the answer is Stale.

    Only counted: memories of branches that are not merged here; without `all`, those that other
    memories supersede (`superseded`); rules whose code at the time of writing is still being
    compared (`looking`), could not be compared (`not_looked`, with why), or is older than a
    `shallow` history. Where the store cannot be written, the answer is the last known one, with the
    reason (`unchecked`).

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        unchecked = check_if_writable(home, space) if ask.check else None
        found = space.db.read(flags.spread_flags, space.worktree.id)
        known = space.db.read(nodes.many, [flag.node for flag in found])
        places = space.db.read(said_places, space.worktree.id, known)
        checked_at = space.db.read(flags.worktree_row, space.worktree.id).checked_at
        looking = space.db.read(anchors.lookback_of, space.worktree.id).left
        comparing = views.comparing_row(home, space)
        shallow = views.shallow_row(space)
        not_looked, why = space.db.read(
            views.not_compared, space.worktree.id, is_whole=shallow is None
        )
        view = view_of(home, space, all_branches=ask.all_branches, ask_again=ask.check)
        hidden_ids = space.db.read(seen_from, view, of_other_branches)
        elsewhere = space.db.read(seen_from, view, by_work)
        shelf = Shelf(db=space.db, space=space)
        later = changes.here(home, shelf, known, everywhere=ask.all_branches)
        newer = space.db.read(nodes.many, {one for ids in later.values() for one in ids})
        whose = space.db.read(authority.of_nodes, known.keys() | newer.keys())
    every = [flag for flag in found if flag.node in known]
    asked = [
        flag for flag in every if flag.level == "warn" or ask.all or flag.verdict is Verdict.UNKNOWN
    ]
    # What a file of a person says still counts: agents load it, superseded or not.
    former = later.keys() - places.keys()
    unlikely = {flag.node for flag in every} - {flag.node for flag in asked} - former - hidden_ids
    here = [flag for flag in asked if flag.node not in hidden_ids]
    living = [flag for flag in here if ask.all or flag.node not in former]
    shown = sorted(
        (flag for flag in living if flag.level == "warn" or flag.verdict is not Verdict.UNKNOWN),
        key=lambda flag: (-flag.score, flag.node),
    )
    return {
        "stale": [
            views.flag_row(flag, known[flag.node], places.get(flag.node, ()))
            | views.by_row(whose.get(flag.node))
            | _superseded([newer[one] for one in later.get(flag.node, ()) if one in newer], whose)
            for flag in shown
        ],
        "unknown": [
            {"id": flag.node, "text": known[flag.node].text, "reason": flag.reason}
            for flag in living
            if flag.verdict is Verdict.UNKNOWN
        ],
        "hidden": len(asked) - len(here),
        "unlikely": len(unlikely),
        "superseded": len(here) - len(living),
        "uncommitted": uncommitted_rows(elsewhere),
        "looking": looking,
        "comparing": comparing,
        "not_looked": {"memories": not_looked, "why": why} if not_looked else None,
        "shallow": shallow,
        "checked_at": checked_at,
        "unchecked": unchecked,
    }


def _superseded(later: Iterable[Node], whose: Mapping[str, Authority]) -> dict[str, object]:
    """Return the answer's part with the memories that supersede a flagged one; mostly empty."""
    rows = [{"id": one.id, "text": one.summary} | views.by_row(whose.get(one.id)) for one in later]
    return {"superseded_by": rows} if rows else {}


def check_if_writable(home: Home, space: Space) -> str | None:
    """Check a work tree; return why that failed or could not be stored, else None.

    Raises:
        YaadError: as for `check`, unless the store cannot be written.
    """
    if not space.db.is_writable:
        return "without the daemon the files were not compared"
    try:
        check_space(home, space, None)
    except YaadError as error:
        if not is_unwritable(error):
            raise
        return error.message
    return None


def check(home: Home, call: Call) -> dict[str, object]:
    """Check every memory of this work tree now; the answer is Checked.

    It counts the memories that rest on files; those whose files are unchanged keep their verdict.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        done = check_space(home, space, None)
        resting = {anchor.node for anchor in space.db.read(anchors.everything)}
    return {
        "checked": len(resting),
        "raised": done.raised,
        "cleared": done.cleared,
        "checked_at": done.at,
    }


def check_tree(home: Home, project: str, worktree: int, paths: frozenset[str] | None) -> Checked:
    """Bring the flags of a work tree up to date.

    Args:
        home: the machine's state.
        project: its id.
        worktree: its id.
        paths: files that may have changed, relative; None: check all anchored files.

    Raises:
        YaadError: NOT_FOUND when it is gone or not watched; UNAVAILABLE, REFUSED from its store.
    """
    with home.tree(project, worktree) as space:
        return check_space(home, space, paths)


def check_space(home: Home, space: Space, paths: frozenset[str] | None) -> Checked:
    """Bring the flags of the work tree in `space` up to date; see `check_tree`."""
    with home.stores.checking(space.project.id, space.worktree.id):
        for _ in range(TRIES_MAX):
            gathered = _gather(home, space, paths)
            if space.repository.head().commit == gathered.commit:
                break
        return flags.write(home, space, gathered)


def _gather(home: Home, space: Space, paths: frozenset[str] | None) -> Gathered:
    """Judge the memories that a change of these paths, or of HEAD, may affect; store nothing.

    `hidden`: git hides the files that state them; `loose`: they are about uncommitted work.
    """
    db, worktree = space.db, space.worktree.id
    row = db.read(flags.worktree_row, worktree)
    known = db.read(anchors.sightings_of_worktree, worktree)
    flagged = {flag.node: flag for flag in db.read(anchors.flags_of_worktree, worktree)}
    hidden, loose = db.read(history.hidden_by_git, worktree), db.read(visibility.all_provisional)
    tree, head = look_at(space, known.values(), home.clock.now_ns())
    is_same_head = (head.head.commit, head.head.branch) == (row.head, row.branch)
    full = paths is None or not is_same_head
    changed = _changed(space, None if full else paths, known, tree.now_ns)
    resting = db.read(anchors.folders)
    folders = _folders(resting, changed, tree)
    # A flag may stem from a moment without the folder, while the hint was about another file.
    affected = {one.node for one in resting if one.path in folders and one.node in flagged}
    if is_same_head:
        changed -= {path for path, now in folders.items() if now and known.get(path) == now}
    affected |= {node for _, node in db.read(anchors.nodes_resting_on, changed)}
    is_much = full and bool(affected or flagged or (known and not is_same_head))
    if _has_process(home, space, affected, head, is_much=is_much):
        return large_jobs.run(home, space, _gather, paths)
    head_was = head.head.commit if is_same_head else _grown_from(row.head if flagged else "", head)
    if row.head and not is_same_head:
        affected |= _stirred(db.read(anchors.named_elsewhere), row.head, head)
    affected |= flagged.keys() & hidden
    affected |= loose.keys() if full else set()
    affected |= {
        flag.node
        for flag in flagged.values()
        if (full and not _stays(flag, head, head_was)) or changed & _places(flag)
    }
    anchored, texts = db.read(anchors.of_nodes, affected), db.read(nodes.texts, affected)
    pages = defaultdict[str, set[str]](set)  # the files that state each memory now
    for stating in db.read(history.places_saying, affected):
        pages[stating.node].add(stating.path)
    every = [anchor for own in anchored.values() for anchor in own]
    assessing.expect_anchors(every, head)
    judged: dict[str, tuple[tuple[Anchor, ...], Flag | None]] = {}
    settled: dict[str, Settled] = {}
    settler = Settler(tree=tree, head=head, here=checkout_of(space, head.head))
    held = set()
    now = home.clock.now()

    def flag_of(node_id: str, rests_on: tuple[Anchor, ...]) -> Flag | None:
        return _flag_of(
            texts[node_id],
            with_bases(rests_on, head),
            tree,
            head,
            worktree=worktree,
            before=flagged.get(node_id),
            head_was=head_was,
            now=now,
            pages=pages[node_id],
        )

    # Memories of one commit together: of what differs since then, `History` keeps the last.
    for node_id in sorted(affected, key=lambda one: (_commits(anchored[one]), one)):
        own = tuple(anchored[node_id])
        flag = None
        found = settler.settle(own, *loose[node_id]) if own and node_id in loose else None
        if found is not None:
            settled[node_id] = found
        is_here = node_id not in hidden and (found is None or found.is_here)
        if own and node_id in texts and is_here:
            flag = flag_of(node_id, found.judged if found is not None else own)
            if flag is None and _held(own, tree, known):
                held.add(node_id)
        judged[node_id] = (own, flag)
    for node_id, found in _stray(db, settler, judged, settled).items():
        settled[node_id] = found
        flag = flag_of(node_id, found.judged) if found.is_here else None
        judged[node_id] = (tuple(anchored[node_id]), flag)
    tree.seen |= {
        path: now or Sighting(path=path, signature=files.UNBELIEVED, blob="")
        for path, now in folders.items()
        if path in changed
    }
    return Gathered(
        branch=head.head.branch,
        commit=head.head.commit,
        full=full,
        judged=judged,
        provisional=settled,
        held=frozenset(held),
        seen=tuple(one for path, one in tree.seen.items() if one != known.get(path)),
    )


def _has_process(
    home: Home, space: Space, affected: Collection[str], head: AtHead, *, is_much: bool
) -> bool:
    """Return whether another process judges the affected memories.

    They are much if they are many, or rest on several commits, with each of which HEAD is compared.
    """
    if home.job_processes is None or not (is_much or affected):
        return False
    own = () if len(affected) > JUDGED_MAX else space.db.read(anchors.of_nodes, affected).values()
    commits = {anchor.commit for anchors in own for anchor in anchors} - {"", head.head.commit}
    is_small = not is_much and len(affected) <= JUDGED_MAX and len(commits) <= 1
    return large_jobs.has_process(home, space, small=is_small)


def _commits(own: Iterable[Anchor]) -> list[str]:
    """Return the commits of anchors, sorted."""
    return sorted({anchor.commit for anchor in own})


def _stray(
    db: Database,
    settler: Settler,
    judged: Mapping[str, tuple[tuple[Anchor, ...], Flag | None]],
    settled: Collection[str],
) -> dict[str, Settled]:
    """Return the outcome for flagged memories that only commits on no branch hold."""
    head = settler.head
    flagged = [
        node
        for node, (_, flag) in judged.items()
        if flag is not None and flag.verdict is not Verdict.UNKNOWN and node not in settled
    ]
    where = db.read(visibility.learned_of_nodes, flagged) if flagged else {}
    branch = head.head.branch
    try:
        stray = head.history.stray(frozenset().union(*where.values()) - {head.head.commit})
        rewritten = head.history.rewritten(stray, branch) if branch else frozenset()
    except YaadError:  # then the flags stand
        return {}
    strays: dict[str, Settled] = {}
    for node, commits in where.items():
        if stray.issuperset(commits):
            found = settler.settle_stray(judged[node][0], min(commits))
            if found is None:
                continue
            # What this branch had and no longer has is lost, unless it is uncommitted again, or
            # the history that took the place of its own had it, too.
            is_lost = not rewritten.isdisjoint(commits) or _is_replaced(found, min(commits), head)
            if not is_lost or (found.is_here and (found.checkouts or not found.base)):
                strays[node] = found
    return strays


def _is_replaced(found: Settled, commit: str, head: AtHead) -> bool:
    """Return whether the history of HEAD took the place of the one that a stray commit is in.

    Unknown counts as yes: then a flag that was reached by comparing with it stands.
    """
    if found.base or not head.head.commit:
        return False
    try:
        return head.history.is_replaced_by(commit, head.head.commit)
    except YaadError:
        return True


def _folders(
    anchored: Iterable[Anchor], paths: Collection[str], tree: WorkTree
) -> dict[str, Sighting | None]:
    """Return the given paths at which only folders and patterns are anchored.

    Each with the sighting to record where everything anchored there exists, else with None. Files
    in a folder matter only when HEAD changes: until then, a folder that existed at the last check
    and exists now is not judged again.
    """
    found: dict[str, Sighting | None] = {}
    for anchor in anchored:
        path = anchor.path
        if path not in paths or found.get(path, _present(path)) is None:
            continue
        try:
            found[path] = _present(path) if tree.stands(anchor) else None
        except YaadError:  # reported when it is judged
            found[path] = None
    return found


def _present(path: str) -> Sighting:
    return Sighting(path=path, signature=PRESENT, blob="")


def _stirred(named: Sequence[Anchor], former: str, head: AtHead) -> set[str]:
    """Return the memories whose names came into or out of use by commits.

    Their own files may be unchanged: a replacement shows in other files. Only commits count, so it
    is computed when HEAD moved.

    Args:
        named: anchors on what other files may name.
        former: HEAD at the last check.
        head: HEAD.
    """
    words = {(anchor.node, word) for anchor in named if (word := anchor_state.word_of(anchor))}
    if not words or not head.head.commit or former == head.head.commit:
        return set()
    every = {word for _, word in words}
    counted = {anchor_state.word_of(anchor) for anchor in named if anchor.spread}
    try:
        known = head.history.has_commit(former)
        stirred = head.window(former).stirred(every & counted, every) if known else every
    except YaadError:  # an unknown state neither flags nor clears
        return {node for node, _ in words}
    return {node for node, word in words if word in stirred}


def _still_explains(flag: Flag, places: Iterable[str], head: AtHead, head_was: str) -> bool:
    """Return whether the evidence of a flag, searched at `head_was`, holds at HEAD.

    `places`: the files it is about.
    """
    if any(row.is_open for row in flag.evidence):
        return False
    if head_was == head.head.commit:
        return True
    if not head_was or flag.uncommitted or all(row.commit is None for row in flag.evidence):
        return False
    try:
        return head.untouched_since(head_was, places)
    except YaadError:  # then it is searched again
        return False


def _grown_from(former: str, head: AtHead) -> str:
    """Return the former HEAD if HEAD's history contains all of its history, else ''."""
    commit = head.head.commit
    try:
        if former and commit and head.history.has_commit(former):
            return "" if head.history.changes(["."], commit, former) else former
    except YaadError:  # then all evidence is searched again
        return ""
    return ""


def _stays(flag: Flag, head: AtHead, head_was: str) -> bool:
    """Return whether a flag stays as it is while the memory's own files are unchanged."""
    return (
        flag.verdict is Verdict.CHANGED
        and flag.branch == head.head.branch
        and _still_explains(flag, _places(flag), head, head_was)
    )


def _places(flag: Flag) -> set[str]:
    """Return the files that a flag is about."""
    places = {evidence.path for evidence in flag.evidence}
    if flag.suggestion is not None and flag.suggestion.path is not None:
        places.add(flag.suggestion.path)
    return places


def _flag_of(
    text: str,
    own: tuple[Anchor, ...],
    tree: WorkTree,
    head: AtHead,
    *,
    worktree: int,
    before: Flag | None,
    head_was: str,
    now: datetime,
    pages: Collection[str],
) -> Flag | None:
    """Return the flag of a memory that says `text` in this work tree, or None.

    `before`: its flag so far. `pages`: the files that state it now.

    `head_was`: the HEAD of `before`, when HEAD is unchanged or has only grown: where no newer
    commit touched the files of the flag, its evidence is kept.
    """
    assessed = assessing.assess(text, own, tree, head, pages=pages)
    worst = assessed.worst
    known = before if before is not None and before.verdict is not Verdict.UNKNOWN else None
    if known is not None and worst.verdict is Verdict.UNKNOWN and known.branch == head.head.branch:
        return known  # an unknown state clears nothing
    if worst.verdict in (Verdict.FRESH, Verdict.TOUCHED):
        return None
    reason = privacy.mask(worst.reason).text
    same = before if before is not None and before.verdict is worst.verdict else None
    evidence: tuple[Evidence, ...] = ()
    uncommitted = False
    places = {worst.anchor.path, worst.place or worst.anchor.path}
    if same is not None and same.reason == reason and _still_explains(same, places, head, head_was):
        evidence, uncommitted = same.evidence, same.uncommitted
    elif worst.verdict is not Verdict.UNKNOWN:
        committed = assessing.committed(worst, head)
        evidence, uncommitted = commit_evidence.explain(worst, committed, head)
    return Flag(
        node=own[0].node,
        worktree=worktree,
        verdict=worst.verdict,
        score=assessed.score,
        level=assessed.level,
        reason=reason,
        since=same.since if same is not None else now,
        branch=head.head.branch,
        uncommitted=uncommitted,
        evidence=evidence,
        suggestion=assessed.suggestion,
    )


def _held(own: tuple[Anchor, ...], tree: WorkTree, known: dict[str, Sighting]) -> bool:
    """Return whether a definition still holds in a file that changed around it.

    An existing file proves nothing about statements on it.
    """
    for anchor in own:
        before, now = known.get(anchor.path), tree.seen.get(anchor.path)
        if anchor.method is Method.FILE or before is None or now is None:
            continue
        if before.blob and now.blob and now.blob not in {before.blob, anchor.blob}:
            return True
    return False


def _changed(
    space: Space, paths: Collection[str] | None, known: dict[str, Sighting], now_ns: int
) -> set[str]:
    """Return the anchored paths that may have changed; `paths` None: compare all of them.

    One has changed whose signature is not the recorded one, or is too fresh to trust.
    """
    changed = set(paths or ())
    if paths is None:
        for path in set(space.db.read(anchors.paths)) | known.keys():
            believed = known[path].signature if path in known else ""
            if not believed or files.signature_of(space.root, path, now_ns) != believed:
                changed.add(path)
    return changed | set(space.db.read(anchors.above, changed))


_patience: Final[Patience[Layout]] = Patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedTree:
    """A work tree and its files (relative paths) whose changes matter.

    `registered` is the git folder of the project's registration; a copy has another one.

    A path that ends in '/*' stands for whatever is in that folder.
    """

    project: str
    worktree: int
    root: Path
    git_dir: Path
    common_dir: Path
    registered: Path
    paths: frozenset[str]


def watched(home: Home, project: str | None = None) -> list[WatchedTree]:
    """Return the work trees of one project, or of all (None), with the files that matter there.

    Omits projects whose store or folder is unavailable; `status` names them.
    """
    found = []
    always = agent_files.known_formats(home).places
    for row in home.user.read(projects.everything):
        if project is not None and row.id != project:
            continue
        if row.gone_at is not None or not answers(row):
            continue
        try:
            trees = home.stores.look(row, _mattering)
            for tree, paths in trees:
                # A disk that does not answer soon has no repository.
                find = partial(repo_layout.find, tree.path)
                near = files.near([tree.path])
                layout = find() if near else _patience.ask(tree.path, find)
                if layout is None or not is_of(row, layout):
                    continue
                found.append(
                    WatchedTree(
                        project=row.id,
                        worktree=tree.id,
                        root=tree.path,
                        git_dir=layout.git_dir,
                        common_dir=layout.common_dir,
                        registered=row.common_dir,
                        paths=frozenset(paths | always),
                    )
                )
        except YaadError:  # reported by `status`, which asks each project by itself
            continue
    return found


def _mattering(conn: Connection) -> list[tuple[Worktree, set[str]]]:
    """Return the work trees of a store, and the files that matter in each."""
    resting = set(anchors.paths(conn))
    return [
        (
            tree,
            resting
            | anchors.flagged_places(conn, tree.id)
            | projects.agent_files_of_worktree(conn, tree.id).keys(),
        )
        for tree in projects.all_worktrees(conn)
    ]
