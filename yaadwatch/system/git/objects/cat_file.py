"""Objects as git tells them, where they cannot be read in this process: by one command for a batch.

Those of other formats than SHA-1, and those of repositories that are another user's.
"""

import re
import weakref
from collections.abc import Callable

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git.batch_process import Conversation, Ended
from yaadwatch.system.git.objects.trees import (
    BLOB,
    COMMIT,
    OBJECT_BYTES_MAX,
    TREE,
    Trees,
)
from yaadwatch.system.git.question import Git
from yaadwatch.system.git.tree_cache import TreeCache

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_KINDS = {b"commit": COMMIT, b"tree": TREE, b"blob": BLOB, b"tag": 4}
_NAMES = {COMMIT: "commit", TREE: "tree", BLOB: "blob"}
LIFE_S = 60.0
"""A command that has been running for longer is not asked again; another one is begun."""


_TRIES = 2
"""Conversations that are begun for one question."""


class Asked(Trees):
    """The commits, trees and blobs of one repository, as git tells them.

    A command is begun for the first question, and ended by `close`, or with this object. Where git
    will not be asked so (it is old, or refuses the repository), each question is a command.

    Every method may raise YaadError: TIMEOUT, REFUSED when the repository belongs to another user,
    UNAVAILABLE when git, or an object, cannot be had.
    """

    def __init__(self, git: Git, folder: str, cache: TreeCache) -> None:
        super().__init__(folder, cache)
        self._git = git
        self._talk: Conversation | None = None
        self._end: Callable[[], object] | None = None  # ends it, once
        self._one_by_one = False

    def close(self) -> None:
        """End the command; the next question begins another one."""
        self._talk = None
        if self._end is not None:
            self._end()  # once, and not again when this is collected

    def _look(self, id: str) -> tuple[int | None, int]:
        if not _ID.fullmatch(id):
            return None, 0
        asked = self._ask(b"info", id)
        if asked is not None:
            return asked[1:]
        told = self._git.ask(["cat-file", "--batch-check"], given=id.encode() + b"\n")
        return _kind_and_size(told)

    def _read(self, id: str, kind: int, bytes_max: int = OBJECT_BYTES_MAX) -> bytes | None:
        found, size = self._look(id)
        if found != kind or size > bytes_max:
            return None
        asked = self._ask(b"contents", id)
        if asked is None:
            return self._git.ask(["cat-file", _NAMES[kind], id])
        data, now, _ = asked
        if now != kind or len(data) != size:
            raise YaadError(
                Code.UNAVAILABLE,
                f"Object {id} of {self._folder} cannot be read: git told two things of it.",
                hint="See what git fsck says about this repository.",
            )
        return data

    def _ask(self, what: bytes, id: str) -> tuple[bytes, int | None, int] | None:
        """Return an object (nothing of it for `info`), its kind and its size.

        None: git is not to be asked so, or it ended twice over this object: one that is damaged is
        begun to be told, and ends it. Asked by a command of its own, git says why.
        """
        for _ in range(_TRIES):
            if self._one_by_one:
                break
            talk = self._conversation()
            try:
                kind, size = _kind_and_size(talk.ask(b"%s %s" % (what, id.encode())))
                data = talk.take(size) if what == b"contents" and kind is not None else b""
            except Ended:
                # It may have ended with the thread that began it: then another one does.
                self._one_by_one = not talk.has_answered
                self.close()
            except YaadError as error:
                self._git.learn(error)
                self.close()
                raise
            else:
                return data, kind, size
        return None

    def _conversation(self) -> Conversation:
        if self._talk is not None and self._talk.age_s > LIFE_S:
            self.close()
        if self._talk is None:
            self._talk = self._git.converse(["cat-file", "--batch-command"])
            self._end = weakref.finalize(self, self._talk.end)
        return self._talk


def _kind_and_size(told: bytes) -> tuple[int | None, int]:
    """Return what git says of an object: kind and size; None and 0 when it is not there."""
    _, kind, size = [*told.split(), b"", b""][:3]
    return (_KINDS.get(kind), int(size)) if size.isdigit() else (None, 0)
