"""The vectors of stores, as the worker that embeds holds them: what is near is one product away.

A store that was looked through once costs a question a tenth of a scan in the store itself. What is
here is a copy, known by a stamp that changes with every vector; whoever asks by another stamp hears
that it is not here. The answers are those of the store to the last bit, see `store.vectors.scan`.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

NODE_BYTES: Final = 8
FOUND_BYTES: Final = 12
"""Of a number of a node, and of a number with its distance."""
STOCKS_BYTES_MAX: Final = 96 * 1024 * 1024
"""Of all vectors, as floats; the stores that were asked last stay."""
_DIRECTIONLESS: Final = 2.0


@dataclass(slots=True, kw_only=True)
class _Stock:
    """The vectors of a store: `nodes`, their `vectors` as floats, and the `lengths` of those."""

    stamp: int
    nodes: Any
    vectors: Any
    lengths: Any


@dataclass(slots=True, kw_only=True)
class _Coming:
    """Parts of a stock that is not here as a whole."""

    stamp: int
    parts: list[bytes] = field(default_factory=list)


class Stocks:
    """Holds the vectors of stores by a key; of one thread."""

    def __init__(self, bytes_max: int = STOCKS_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._held: OrderedDict[str, _Stock] = OrderedDict()
        self._coming: dict[str, _Coming] = {}

    def take(self, key: str, stamp: int, rows: bytes, dimensions: int, *, last: bool) -> None:
        """Take in a part of the vectors of a store; what was here of it goes.

        Args:
            key: which store, and space.
            stamp: as it was when its vectors were read.
            rows: for each memory its number, in 8 bytes, and its vector.
            dimensions: bytes of a vector.
            last: whether this is the last part.
        """
        coming = self._coming.get(key)
        if coming is None or coming.stamp != stamp:
            coming = self._coming[key] = _Coming(stamp=stamp)
        coming.parts.append(rows)
        self._held.pop(key, None)
        if last:
            del self._coming[key]
            self._held[key] = _stock(stamp, b"".join(coming.parts), dimensions)
            while len(self._held) > 1 and self._bytes() > self._bytes_max:
                self._held.popitem(last=False)

    def nearest(self, key: str, stamp: int, vector: bytes, limit: int) -> tuple[int, bytes] | None:
        """Return how many are nearest to a vector, at most `limit`, and for each, best first, its
        number in 8 bytes and its distance in 4; None when the store is not here as it is now."""
        import numpy as np

        stock = self._held.get(key)
        if stock is None or stock.stamp != stamp:
            return None
        self._held.move_to_end(key)
        asked = np.frombuffer(vector, np.int8).astype(np.float32)
        if not len(stock.nodes) or stock.vectors.shape[1] != len(asked) or not asked.any():
            return 0, b""
        # In double precision, and rounded once: as sqlite-vec does.
        length = float(np.sqrt(np.float64(asked @ asked)))
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = 1.0 - (stock.vectors @ asked).astype(np.float64) / (stock.lengths * length)
        distances = np.where(stock.lengths > 0, distances, _DIRECTIONLESS).astype(np.float32)
        best = np.arange(len(distances))
        if limit < len(distances):
            best = np.flatnonzero(distances <= np.partition(distances, limit - 1)[limit - 1])
        best = best[np.lexsort((stock.nodes[best], distances[best]))][:limit]
        found = np.empty(len(best), dtype=[("node", "<i8"), ("distance", "<f4")])
        found["node"], found["distance"] = stock.nodes[best], distances[best]
        return len(best), found.tobytes()

    def _bytes(self) -> int:
        return sum(int(stock.vectors.nbytes) for stock in self._held.values())


def _stock(stamp: int, rows: bytes, dimensions: int) -> _Stock:
    import numpy as np

    row = np.dtype([("node", "<i8"), ("vector", np.int8, (dimensions,))])
    found = np.frombuffer(rows, row)
    vectors = found["vector"].astype(np.float32)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    lengths = np.sqrt(squares.astype(np.float64))
    return _Stock(stamp=stamp, nodes=found["node"].copy(), vectors=vectors, lengths=lengths)
