"""What is still to be looked up of rules that are older than the day on which they were read.

It stands in `meta`, for each work tree: the ids of memories, the commit in which their rules were
read, and the one that gave these their words, once that is known.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Final

import apsw

from yaadwatch.model.nodes import Node
from yaadwatch.store import meta, nodes, worktrees

TRIES_MAX: Final = 3
"""What went wrong so often is not tried again by itself."""
_PREFIX: Final = "lookback "


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Memories of which is to be looked up what their rules rested on, some of them at a time.

    Args:
        ids: the memories.
        read_at: HEAD when the rules were read; '' before the first commit.
        commit: the one that gave them their words; '' while it is not known.
        tries: how often it went wrong.
        after_ms: it is not tried again before then, Unix milliseconds.
        why: what went wrong the last time, in words.
        cut: the oldest commit that a shallow history has, if that is all that is known of who gave
            them their words; '' else.
        done: they were looked up as far as that history goes; kept, so that it can be told, and
            done again when there is more history.
    """

    ids: tuple[str, ...]
    read_at: str
    commit: str = ""
    tries: int = 0
    after_ms: int = 0
    why: str = ""
    cut: str = ""
    done: bool = False

    @property
    def given_up(self) -> bool:
        """Return whether it is not tried again by itself."""
        return self.tries >= TRIES_MAX

    @property
    def waits(self) -> bool:
        """Return whether it is still to be looked up."""
        return not self.done and not self.given_up


def of_worktree(conn: apsw.Connection, worktree: int) -> list[Piece]:
    """Return what is to be looked up for the files of a work tree, and what was given up."""
    return _parsed(meta.get(conn, _key(worktree)))


def waiting(conn: apsw.Connection) -> list[int]:
    """Return the work trees for which something is to be looked up, sooner or later.

    What was done as far as a shallow history goes is, once there is more of that.
    """
    rows = conn.execute(
        """
        SELECT worktrees.id, value
          FROM worktrees
          JOIN meta ON key = ? || worktrees.id
         ORDER BY worktrees.id
        """,
        (_PREFIX,),
    )
    return [tree for tree, said in rows if any(not piece.given_up for piece in _parsed(said))]


def left(conn: apsw.Connection, worktree: int) -> int:
    """Return how many memories are still to be looked up."""
    pieces = of_worktree(conn, worktree)
    return sum(len(piece.ids) for piece in pieces if piece.waits)


def progress(conn: apsw.Connection, worktree: int) -> tuple[int, int]:
    """Return how many memories are still to be looked up, and of how many."""
    waiting = left(conn, worktree)
    return waiting, max(waiting, _total(conn, worktree)) if waiting else 0


def _total(conn: apsw.Connection, worktree: int) -> int:
    said = meta.get(conn, _total_key(worktree)) or ""
    return int(said) if said.isdecimal() else 0


def cut_off(conn: apsw.Connection, worktree: int) -> int:
    """Return how many memories that are as they were read are older than a shallow history."""
    pieces = [piece for piece in of_worktree(conn, worktree) if piece.done]
    return len(untouched(conn, [node for piece in pieces for node in piece.ids]))


def given_up(conn: apsw.Connection, worktree: int) -> tuple[int, str]:
    """Return of how many memories that are as they were read it was given up, and why, in words."""
    pieces = [piece for piece in of_worktree(conn, worktree) if piece.given_up]
    living = untouched(conn, [node for piece in pieces for node in piece.ids])
    return len(living), pieces[-1].why if living else ""


def untouched(conn: apsw.Connection, ids: Iterable[str]) -> list[Node]:
    """Return those of some memories that live and are as they were read."""
    known = nodes.many(conn, ids).values()
    return [node for node in known if node.archived_at is None and node.version == 1]


def add(conn: apsw.Connection, worktree: int, piece: Piece) -> None:
    """Note more that is to be looked up; before the first commit there is nothing to look into."""
    if piece.ids and piece.read_at:
        before = progress(conn, worktree)[1]
        meta.put(conn, _total_key(worktree), str(before + len(piece.ids)))
        _put(conn, worktree, [*of_worktree(conn, worktree), piece])


def settle(
    conn: apsw.Connection, worktree: int, ids: Collection[str], instead: Iterable[Piece] = ()
) -> None:
    """Note that some memories were looked up, and what is to be looked up of them next."""
    were = set(ids)
    kept = [
        replace(piece, ids=tuple(one for one in piece.ids if one not in were))
        for piece in of_worktree(conn, worktree)
    ]
    _put(conn, worktree, [*kept, *instead])


def try_again(conn: apsw.Connection) -> None:
    """Have what went wrong be tried anew, now, for every work tree."""
    for worktree in worktrees.everything(conn):
        pieces = of_worktree(conn, worktree.id)
        anew = [one if one.done else replace(one, tries=0, after_ms=0, why="") for one in pieces]
        if anew != pieces:
            _put(conn, worktree.id, anew)


def drop(conn: apsw.Connection, worktree: int) -> None:
    """Look nothing up any more for a work tree."""
    meta.drop(conn, _key(worktree))
    meta.drop(conn, _total_key(worktree))


def _put(conn: apsw.Connection, worktree: int, pieces: Iterable[Piece]) -> None:
    wanted = [asdict(piece) for piece in pieces if piece.ids]
    if wanted:
        meta.put(conn, _key(worktree), json.dumps(wanted, separators=(",", ":")))
    else:
        drop(conn, worktree)


def _parsed(said: str | None) -> list[Piece]:
    """Return what was noted; nothing where it is not as we write it: a store from elsewhere."""
    try:
        rows = json.loads(said or "[]")
        pieces = [Piece(**{**row, "ids": tuple(map(str, row["ids"]))}) for row in rows]
    except (ValueError, TypeError, KeyError):
        return []
    return pieces if all(map(_is_as_written, pieces)) else []


def _is_as_written(piece: Piece) -> bool:
    texts = (piece.read_at, piece.commit, piece.why, piece.cut)
    numbers = (piece.tries, piece.after_ms)
    return all(isinstance(one, str) for one in texts) and all(
        isinstance(one, int) for one in numbers
    )


def _total_key(worktree: int) -> str:
    return f"{_PREFIX}total {worktree}"


def _key(worktree: int) -> str:
    return f"{_PREFIX}{worktree}"
