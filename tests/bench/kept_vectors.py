"""Vectors that outlive a run of a benchmark: a file of a digest of each text, and its vector.

What was embedded once, by a run that ended or one that was cut off, is not embedded again.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from yaadwatch.db.vectors import digest
from yaadwatch.model.errors import Code, YaadError

_DIGEST_BYTES: Final = 8


class KeptVectors:
    """A file of vectors of one space; it grows by what is added.

    Args:
        path: made when there is none.
        space: of the vectors.
        dimensions: bytes of each.

    Raises:
        YaadError: BAD_REQUEST when it holds something else, UNAVAILABLE when it cannot be read or
            made; it was left as it is.
    """

    def __init__(self, path: Path, *, space: str, dimensions: int) -> None:
        self._path = path
        self._head = json.dumps({"space": space, "dimensions": dimensions}).encode() + b"\n"
        self._size = _DIGEST_BYTES + dimensions
        self._known = self._read()

    def of(self, texts: Sequence[str]) -> Mapping[str, bytes]:
        """Return the vectors of those of `texts` that were embedded before."""
        known = ((text, self._known.get(digest(text))) for text in texts)
        return {text: vector for text, vector in known if vector is not None}

    def add(self, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors, by their texts.

        Raises:
            YaadError: UNAVAILABLE; the file cannot be written.
        """
        with _told(self._path), self._path.open("ab") as stream:
            for text, vector in vectors.items():
                stream.write(digest(text) + vector)
                self._known[digest(text)] = vector

    def _read(self) -> dict[bytes, bytes]:
        with _told(self._path):
            if not self._path.exists():
                self._path.write_bytes(self._head)
            data = self._path.read_bytes()
            if not data.startswith(self._head):
                raise YaadError(
                    Code.BAD_REQUEST,
                    f"{self._path} does not hold vectors of this model; nothing was embedded.",
                    hint="Name another file, or none.",
                )
            rest = data[len(self._head) :]
            whole = len(rest) - len(rest) % self._size
            if whole < len(rest):  # the run before was ended while it wrote
                with self._path.open("r+b") as stream:
                    stream.truncate(len(self._head) + whole)
        rows = (rest[at : at + self._size] for at in range(0, whole, self._size))
        return {row[:_DIGEST_BYTES]: row[_DIGEST_BYTES:] for row in rows}


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE, f"{path} cannot be read and written ({error.strerror})."
        ) from error
