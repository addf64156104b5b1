"""What git said of commits that it compared, kept from one job to the next: none of them changes.

To find what was renamed git reads every file that is new or gone, for each check again.
"""

import threading
import zlib
from collections import OrderedDict
from pathlib import Path
from typing import Final

BYTES_MAX: Final = 1024 * 1024
"""Of all answers together, packed: about ten times as much as git prints."""
_SHARE: Final = 4
"""An answer that takes more than one of so many parts of it is not kept."""

Question = tuple[str, ...]


class Compared:
    """The last answers about commits; those that were not used for longest go first."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Path, Question], bytes] = OrderedDict()
        self._bytes = 0

    def known(self, folder: Path, question: Question) -> bytes | None:
        """Return what git said, None where it was not asked.

        Args:
            folder: of the repository, common to its work trees.
            question: the whole command, the commits too.
        """
        with self._lock:
            packed = self._kept.get((folder, question))
            if packed is None:
                return None
            self._kept.move_to_end((folder, question))
        return zlib.decompress(packed)

    def keep(self, folder: Path, question: Question, answer: bytes) -> None:
        """Keep what git said, in the place of what it said before."""
        packed = zlib.compress(answer, 1)
        size = _size(question, packed)
        with self._lock:
            before = self._kept.pop((folder, question), None)
            self._bytes -= _size(question, before) if before is not None else 0
            if size > self._bytes_max // _SHARE:
                return
            self._kept[folder, question] = packed
            self._bytes += size
            while self._bytes > self._bytes_max:
                (_, asked), gone = self._kept.popitem(last=False)
                self._bytes -= _size(asked, gone)


def _size(question: Question, packed: bytes) -> int:
    return len(packed) + sum(map(len, question))
