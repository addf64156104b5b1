"""Tell files that are gone from files whose content git never had, or has elsewhere.

What git ignores is built, cleaned and kept by each person for themselves: that it is not there says
nothing of a text about it. A pointer of Git LFS stands for the content it was made from.
"""

import hashlib

from yaadwatch.core.lfs_pointer import object_id
from yaadwatch.core.quoting import as_name
from yaadwatch.core.truth.verdict import Seen, Span
from yaadwatch.engine.anchored.commit import AtHead
from yaadwatch.model.anchors import Anchor, Method

_PLACED = frozenset((Method.FILE, Method.FOLDER))


def of_ignored(anchor: Anchor, seen: Seen, head: AtHead) -> Seen:
    """Return `seen`; as unchanged where what is gone was ignored by git, then and now."""
    is_gone = seen.place is None and not seen.unknown
    if not is_gone or anchor.method is Method.GLOB or not _is_ignored(anchor, head):
        return seen
    span = None if anchor.method in _PLACED else Span.SAME
    return Seen(place=anchor.path, span=span)


def _is_ignored(anchor: Anchor, head: AtHead) -> bool:
    is_folder = anchor.method is Method.FOLDER
    if anchor.commit and head.history.has_commit(anchor.commit):
        had = head.history.has_folder if is_folder else head.history.blob_at
        if had(anchor.commit, anchor.path):
            return False  # git had it: that it is ignored now does not bring it back
    return head.history.is_ignored(f"{anchor.path}/" if is_folder else anchor.path)


def of_pointer(anchor: Anchor, place: str, data: bytes, head: AtHead) -> Seen | None:
    """Return what a pointer in place of a file tells of an anchor; None when it is no pointer."""
    wanted = object_id(data)
    if not wanted:
        return None
    then = head.history.read_blob(anchor.blob) if anchor.blob else None
    if then is not None and wanted in (hashlib.sha256(then).hexdigest(), object_id(then)):
        return Seen(place=place, same_bytes=True, span=Span.SAME, line=anchor.line)
    return Seen(unknown=f"the content of {as_name(place)} is in Git LFS and was not pulled")
