"""Which parts of a memory are false for certain, whatever anybody confirms?

A file, folder, command or definition that the text names is not there, or a value that it gives is
another one. That a definition has a new body proves nothing: its text may be true of it, too.
"""

from collections.abc import Sequence

from yaadwatch.engine.anchored import assessing
from yaadwatch.engine.anchored.worktree import expect, look_at
from yaadwatch.engine.doubts.places import said_in
from yaadwatch.engine.store_lookup import Held
from yaadwatch.engine.workspace import Home
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import Node

SHOWN_MAX = 3
"""Reasons named in a refusal, the first."""


def refuse_false(
    home: Home, held: Held, node: Node, anchors: Sequence[Anchor], *, anyway: bool
) -> None:
    """Refuse to confirm what is false for certain.

    Args:
        home: what may be reached.
        held: where the memory is.
        node: the memory.
        anchors: what it rests on.
        anyway: the caller was told, and confirms it all the same. What `yaadwatch check` finds
            false in a person's own file is refused even so, because it would go on finding it.

    Raises:
        YaadError: REFUSED, with what is false and what to do.
    """
    space = held.shelf.space
    if space is None or not anchors:
        return
    tree, head = look_at(space, (), home.clock.now_ns())
    expect(tree, anchors)
    assessing.expect(anchors, head)
    found = assessing.assess(node.text, anchors, tree, head)
    reasons = [one.judgement.reason for one in found.sights if assessing.is_false(one, node.text)]
    if not reasons:
        return
    why = "; ".join(dict.fromkeys(reasons[:SHOWN_MAX]))
    short = called(node.id)
    said = held.db.read(said_in, space.worktree.id, [node.id]).get(node.id, ())
    if said and found.level:
        place = f"{said[0].path} (line {said[0].line})"
        raise YaadError(
            Code.REFUSED,
            f"What memory {short} says is false: {why}. It was not confirmed, because "
            f"`yaadwatch check` finds it false in {place}, too.",
            hint=f"Correct or delete it there: {place}",
        )
    if anyway:
        return
    offer = found.suggestion
    correct = f"yaadwatch {'reanchor' if offer is not None and offer.text else 'edit'} {short}"
    raise YaadError(
        Code.REFUSED,
        f"What memory {short} says is false: {why}. It was not confirmed.",
        hint=f"Correct it: {correct}. If it is true all the same: yaadwatch confirm {short} --yes"
        " (in a request: anyway true)",
    )
