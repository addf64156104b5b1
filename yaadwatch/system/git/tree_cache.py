"""Trees that were read last, kept from one job to the next: a checked out commit is asked often."""

import threading
from collections import OrderedDict
from typing import Final

ENTRIES_KEPT: Final = 8_000
"""Entries of trees kept from one job to the next: 2 MiB."""

TREE_ENTRIES_MAX: Final = ENTRIES_KEPT // 4
"""A larger tree is not kept."""

Entry = tuple[bytes, str]
"""Mode and id, as a tree has them; both empty for nothing."""


class TreeCache:
    """The trees that were read last, by folder of objects and id; a tree never changes.

    The tree of a commit is kept as the only entry of another one.
    """

    def __init__(self, entries_max: int = ENTRIES_KEPT) -> None:
        self._entries_max = entries_max
        self._lock = threading.Lock()
        self._trees: OrderedDict[tuple[str, str], dict[bytes, Entry]] = OrderedDict()
        self._entries = 0

    def get(self, folder: str, id: str) -> dict[bytes, Entry] | None:
        """Return a tree; None when it is not kept."""
        with self._lock:
            tree = self._trees.get((folder, id))
            if tree is not None:
                self._trees.move_to_end((folder, id))
            return tree

    def put(self, folder: str, id: str, tree: dict[bytes, Entry]) -> None:
        """Keep a tree, unless it is large."""
        if len(tree) > TREE_ENTRIES_MAX:
            return
        with self._lock:
            if (folder, id) not in self._trees:
                self._trees[folder, id] = tree
                self._entries += 1 + len(tree)
            while self._entries > self._entries_max:
                _, oldest = self._trees.popitem(last=False)
                self._entries -= 1 + len(oldest)

    def forget(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._trees.clear()
            self._entries = 0
