"""Where the prepared brief of a work tree is: the daemon writes it, a hook reads it.

One file for each work tree, HEAD and agent, so that a brief of another branch is never found.
Standard library only, and little of it, because hooks import it.
"""
# ruff: noqa: PTH108, PTH113, PTH118, PTH120, PTH208

import os
from binascii import crc32

from yaadwatch import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ANY_AGENT = "any"
"""Stands for agents of which no file was prepared."""
_HEAD_BYTES_MAX = 4096


def work_tree_of(folder: str) -> str:
    """Return the top of the work tree that a folder is in, links resolved; '' when there is none.

    Nothing is run, and no configuration of git is read.
    """
    here = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return ""
        here = above
    return here


def head_of(root: str) -> str:
    """Return the text of a work tree's HEAD: its branch, or its commit; '' when it is not read."""
    git = os.path.join(root, ".git")
    try:
        if os.path.isfile(git):
            named = _text(git).removeprefix("gitdir:").strip()
            git = os.path.join(root, named)
        return _text(os.path.join(git, "HEAD")).strip()
    except OSError:
        return ""


def path_of(root: str, head: str, agent: str) -> str:
    """Return the file of the brief of a work tree at a HEAD."""
    return os.path.join(places.prepared_briefs(), f"{_begin(root)}{_number(head)}-{agent}.json")


def agents_at(root: str) -> set[str]:
    """Return the agents for which briefs of a work tree were prepared, at any HEAD."""
    begin = _begin(root)
    return {name[len(begin) + 9 : -5] for name in _names() if name.startswith(begin)}


def clear() -> None:
    """Delete every prepared brief."""
    _remove(_names())


def _begin(root: str) -> str:
    return f"{_number(root)}-"


def _number(text: str) -> str:
    return f"{crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _names() -> list[str]:
    try:
        return [name for name in os.listdir(places.prepared_briefs()) if name.endswith(".json")]
    except OSError:
        return []


def _remove(names: "Iterable[str]") -> None:
    for name in names:
        try:
            os.unlink(os.path.join(places.prepared_briefs(), name))
        except OSError:  # it is gone already
            continue


def _text(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _HEAD_BYTES_MAX).decode("utf-8", "surrogateescape")
    finally:
        os.close(descriptor)
