"""Make a memory true again: give it new words, or accept what a flag proposes.

The memory keeps its id and links; its former text becomes a version. A statement of a person's own
file is corrected in that file, and nowhere else.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from yaadwatch.api.messages.memories import Reanchor, Update
from yaadwatch.db import anchors, authority, nodes
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import View, seen_from
from yaadwatch.memory import changes, contradictions, lessons, views, visibility
from yaadwatch.memory.changes import NOWHERE, Where
from yaadwatch.memory.flags import said_places
from yaadwatch.memory.visibility import view_of
from yaadwatch.model.anchors import Anchor, Flag, Suggestion
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import Node
from yaadwatch.model.projects import Proposal
from yaadwatch.remember import drafts, preparing, proposing
from yaadwatch.remember.drafts import clean
from yaadwatch.remember.write_batch import change_one, require_living
from yaadwatch.staleness import stale
from yaadwatch.text import words
from yaadwatch.text.quoting import places_in_words
from yaadwatch.workspace.lookup import LocatedMemory, Shelf, shelves
from yaadwatch.workspace.workspace import Call, Home, Space, find_node


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A memory before and after an edit, with its new anchors.

    `view`: the view of the caller. Not `stated`: it only follows a move, and no person confirms it.
    """

    before: Node
    after: Node
    anchors: Sequence[Anchor]
    masked: tuple[str, ...] = ()
    entities: Sequence[str] = ()
    view: View | None = None
    stated: bool = True
    where: Where = NOWHERE
    reason: str = ""
    elsewhere: visibility.Elsewhere | None = None


def update(home: Home, call: Call, ask: Update) -> dict[str, object]:
    """Give a memory new words; it rests on what these name, as it is now. The answer is Updated.

    An agent's new words for a memory of a person are a proposal: the memory stays as it is until
    the person decides in `review`.

    Files and definitions that were given by the caller, and not by the old words, are kept where
    they still exist. Its flags go, its age starts again; the next check judges it again.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT when `id` does not name exactly one; BAD_REQUEST
            and TOO_LARGE for the text; CONFLICT, with the version and words it has now, when it is
            not at `expected_version` or was changed meanwhile, and when another memory says the
            same; REFUSED when it is archived, or a person's own file says it.
    """
    return reword(home, call, id=ask.id, text=ask.text, expected_version=ask.expected_version)


def reword(
    home: Home,
    call: Call,
    *,
    id: str,
    text: str,
    expected_version: int | None,
    reason: str = "",
    decides: tuple[Proposal, str] | None = None,
) -> dict[str, object]:
    """Do what `update` does, and record in the same transaction what this decides.

    Args:
        home: the machine's state.
        call: whose work tree.
        id: as for `update`.
        text: as for `update`.
        expected_version: as for `update`.
        reason: of the new version.
        decides: the proposal that a person decides about with these words, and the verdict.

    Raises:
        YaadError: as for `update`; CONFLICT when the proposal does not wait any more.
    """
    with shelves(home, call) as both:
        held = both.find(id)
        space = held.shelf.space
        node, old = held.db.read(_living, held.id)
        version = node.version if expected_version is None else expected_version
        masked = clean(text)
        said = masked.text.strip()
        done = Edited(before=node, after=node, anchors=old, masked=masked.kinds)
        if version != node.version or said != node.text:
            held.db.read(changes.require_not_in_file, node, said)
            if held.db.read(proposing.is_needed, node.id, actor=call.origin):
                held.db.read(nodes.require_version, node.id, version)
                return proposing.propose(
                    both, held, said, home.clock.now(), actor=call.origin, masked=masked.kinds
                )
            worded = with_words(home, replace(node, version=version), said)
            kept = preparing.anchors_named_by(said, old)
            here = drafts.folder_of(call, space) if space is not None else ""
            rests_on = preparing.reanchored(home, space, worded, kept, folder=here)
            done = replace(
                done,
                after=worded,
                anchors=rests_on.anchors,
                entities=preparing.entities_named_in(home, space, said),
                view=view_of(home, held.shelf),
                where=rests_on.where,
                reason=reason,
                elsewhere=visibility.in_stores(both.beside(held), [said], actor=call.origin),
            )

        def commit(conn: Connection) -> None:
            if decides is not None:
                proposing.require_waiting(conn, decides[0])
            if done.after is not node:
                write(conn, home, done, "edited", call.origin)
            if decides is not None:
                proposing.decided(conn, *decides)

        if decides is not None or done.after is not node:
            held.db.write(seen_from, done.view, commit)
        return answer(home, held, done)


def reanchor(home: Home, call: Call, ask: Reanchor) -> dict[str, object]:
    """Accept what flags propose: correct the words, anchor at the new place.

    Where more than the place changed, that stays flagged. The answer is Reanchored.

    Raises:
        YaadError: BAD_REQUEST unless one of `id`, `cause` and `all` is given; NOT_FOUND,
            BAD_REQUEST, CONFLICT when `id` does not name exactly one; NOT_FOUND when no flag has
            that cause; REFUSED when it is archived, its flag
            proposes nothing, or a person's own file says it; CONFLICT as for `update`, and when
            something else is proposed than when it was last checked.
    """
    if [ask.id is not None, ask.cause is not None, ask.all].count(True) != 1:
        raise YaadError(
            Code.BAD_REQUEST,
            "One memory, those of one commit, or all can be reanchored; nothing was changed.",
            hint="One: yaadwatch reanchor ID. All of a commit: yaadwatch reanchor --cause COMMIT. "
            "All that have moved: yaadwatch reanchor --all",
        )
    with home.space(call) as space:
        wanted = None if ask.id is None else find_node(space.db, ask.id)
        before = {
            flag.node: flag for flag in space.db.read(anchors.flags_of_worktree, space.worktree.id)
        }
        stale.check_space(home, space, None)
        found = space.db.read(anchors.flags_of_worktree, space.worktree.id)
        done, skipped = [], []
        how = {"dry_run": ask.dry_run, "accept_change": ask.accept_change}
        if wanted is not None:
            flag = next((flag for flag in found if flag.node == wanted), None)
            space.db.read(_living, wanted)
            places = space.db.read(said_places, space.worktree.id, [wanted]).get(wanted, ())
            proposed = _proposed(wanted, flag, places_in_words(places), before.get(wanted))
            done.append(_accept(home, call, space, proposed, **how))
            found = []
        if ask.cause is not None:
            found = _of_cause(found, ask.cause)
        for flag in found:
            if flag.suggestion is None or not flag.suggestion.can_be_accepted:
                continue
            try:
                _refuse_another(flag, before.get(flag.node))
                done.append(_accept(home, call, space, flag, **how))
            except YaadError as error:
                skipped.append(
                    {"id": flag.node, "reason": error.message, "hint": error.hint or None}
                )
        if not ask.dry_run and not ask.accept_change and any(row["also_changed"] for row in done):
            stale.check_space(home, space, None)
            still = {
                one.node: {"verdict": one.verdict.value, "reason": one.reason}
                for one in space.db.read(anchors.flags_of_worktree, space.worktree.id)
            }
            for row in done:
                row["still_flagged"] = still.get(str(row["id"]))
    return {"dry_run": ask.dry_run, "reanchored": done, "skipped": skipped}


def _of_cause(flags: Sequence[Flag], commit: str) -> list[Flag]:
    """Return the flags whose newest cause is a commit.

    Raises:
        YaadError: NOT_FOUND when there is none; CONFLICT when it may be several commits.
    """
    found = [flag for flag in flags if flag.cause.startswith(commit.lower())]
    causes = {flag.cause for flag in found}
    if len(causes) > 1:
        raise YaadError(
            Code.CONFLICT,
            f"{commit} is the beginning of {len(causes)} commits; nothing was changed.",
            hint="Give more of its id. Flags with their commits: yaadwatch stale",
        )
    if found:
        return found
    raise YaadError(
        Code.NOT_FOUND,
        f"No flag has commit {commit} as its newest cause; nothing was changed.",
        hint="Flags with their commits: yaadwatch stale",
    )


def _refuse_another(now: Flag, before: Flag | None) -> None:
    """Refuse a proposal that is not the one shown before.

    Raises:
        YaadError: CONFLICT.
    """
    if before is None or before.suggestion is None or not before.suggestion.can_be_accepted:
        return
    if now.suggestion is None or now.suggestion == before.suggestion:
        return
    short = short_id(now.node)
    raise YaadError(
        Code.CONFLICT,
        f"The proposal for memory {short} changed meanwhile ({now.reason}). Nothing was changed.",
        hint=f"See the new one: yaadwatch stale. Accept it: yaadwatch reanchor {short}",
    )


def _proposed(node_id: str, flag: Flag | None, where: str, before: Flag | None) -> Flag:
    """Return the flag with its proposal; `where`: a person's files state the memory.

    Args:
        node_id: the memory.
        flag: what is known of it now.
        where: a person's files say it.
        before: what was known of it before the files were looked at.

    Raises:
        YaadError: REFUSED when there is none that does; CONFLICT as for `_refuse_another`.
    """
    if flag is not None and flag.suggestion is not None and flag.suggestion.can_be_accepted:
        _refuse_another(flag, before)
        return flag
    short = short_id(node_id)
    why = f"its flag proposes nothing ({flag.reason})" if flag is not None else "it is not flagged"
    raise YaadError(
        Code.REFUSED,
        f"There is nothing to accept for memory {short}: {why}. Nothing was changed.",
        hint=f"Still true: yaadwatch confirm {short}. New words: "
        + (f"write them {where}" if where else f"yaadwatch edit {short}"),
    )


def _accept(
    home: Home, call: Call, space: Space, flag: Flag, *, dry_run: bool, accept_change: bool
) -> dict[str, object]:
    """Apply the proposal of a flag; return its row."""
    shelf = Shelf(db=space.db, space=space)
    node, old = space.db.read(_living, flag.node)
    proposal = flag.suggestion or Suggestion(path=None, text=None)
    keeps_changes = proposal.also_changed and not accept_change
    masked = clean(proposal.text or proposal.placed_text or node.text)
    said = masked.text.strip()
    if said != node.text:
        space.db.read(changes.require_not_in_file, node, said)
    worded = with_words(home, node, said)
    if keeps_changes:
        worded = replace(worded, confidence=node.confidence, confirmed_at=node.confirmed_at)
    rests_on = preparing.reanchored(home, space, worded, old, keeps_changes=keeps_changes)
    done = Edited(
        before=node,
        after=worded,
        anchors=rests_on.anchors,
        masked=masked.kinds,
        entities=preparing.entities_named_in(home, space, said),
        view=view_of(home, shelf),
        stated=not keeps_changes,
        where=rests_on.where,
    )
    if dry_run:
        space.db.read(changes.refuse_twin, worded)
    else:
        space.db.write(seen_from, done.view, write, home, done, "reanchored", call.origin)
    against = {} if dry_run else contradictions.contradicts_row(home, shelf, node.id)
    whose = space.db.read(authority.of_nodes, [node.id]).get(node.id)
    return (
        against
        | views.by_row(whose)
        | {
            "id": node.id,
            "before": node.text,
            "text": worded.text,
            "reason": flag.reason,
            "path": proposal.path,
            "also_changed": proposal.also_changed,
            "still_flagged": None,
            "anchors": views.anchor_rows(rests_on.anchors),
            "undo": None if dry_run else _undo(done) or None,
        }
    )


def _living(conn: Connection, node_id: str) -> tuple[Node, Sequence[Anchor]]:
    """Return a living memory and its anchors."""
    return require_living(conn, node_id), anchors.of_nodes(conn, [node_id])[node_id]


def with_words(home: Home, node: Node, said: str) -> Node:
    """Return a memory with these words, stated now, at its next version."""
    now = home.clock.now()
    return replace(
        node,
        text=said,
        text_hash=words.text_hash(said),
        summary=words.summarise(said),
        confidence=1.0,
        confirmed_at=now,
        updated_at=now,
        version=node.version + 1,
    )


def write(conn: Connection, home: Home, done: Edited, change: str, actor: str) -> None:
    """Write an edit, inside a transaction; `change`: what the history calls it."""
    before, after = done.before, done.after
    reworded = after.text != before.text or before.archived_at is not None
    if reworded:
        visibility.refuse(conn, after.text, actor=actor, elsewhere=done.elsewhere)
    changes.refuse_twin(conn, after)
    if reworded:
        changes.require_not_in_file(conn, before, after.text)
    change_one(
        conn,
        home,
        after,
        rests_on=done.anchors,
        names=done.entities,
        actor=actor,
        reason=done.reason,
        change=change,
        stated=done.stated,
    )
    changes.settle(conn, after, done.where, after.updated_at, reworded=reworded)
    lessons.around(conn, after.id, after.updated_at)


def answer(home: Home, held: LocatedMemory, done: Edited) -> dict[str, object]:
    """Return the answer Updated, with what contradicts the words."""
    row = views.changed_row(done.after, undo=_undo(done)) | {
        "version": done.after.version,
        "anchors": views.anchor_rows(done.anchors),
        "masked": list(done.masked),
    }
    against = contradictions.contradicts_row(home, held.shelf, done.after.id)
    return held.db.read(views.attributed, [row])[0] | against


def _undo(done: Edited) -> str:
    """Return the command that restores the old words; '' when they are the same."""
    before = done.before
    if before.text == done.after.text:
        return ""
    if len(before.text) > 300 or "\n" in before.text:  # too long for a command line
        return f"yaadwatch restore {short_id(before.id)} --version {before.version}"
    return f"yaadwatch edit {short_id(before.id)} {shlex.quote(before.text)}"
