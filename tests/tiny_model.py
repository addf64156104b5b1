"""A sentence model small enough to build in a test: a table of words, run by onnxruntime.

It stands in a folder as any model does. Words in one row of `ALIKE` have the same vector, so a
question finds what says the same in other words; every other word has a vector of its own.
"""

import hashlib
import json
import struct
from pathlib import Path

from yaadwatch.recall import vectors
from yaadwatch.workspace.workspace import Home

DIMENSIONS = 16
ALIKE = (
    ("car", "automobile", "vehicle"),
    ("fetch", "download", "retrieve"),
    ("limit", "maximum", "cap"),
    ("colour", "hue", "shade"),
    ("tests", "checks", "specs"),
)
WORDS = (
    *("[UNK]", "the", "a", "of", "is", "in", "we", "red", "blue", "retry", "queue", "log", "port"),
    *(word for row in ALIKE for word in row),
)


def build(folder: Path, seed: str = "one") -> Path:
    """Write the model into `folder`, made when missing; another seed makes another space."""
    folder.mkdir(parents=True, exist_ok=True)
    table = b"".join(_row(word, seed) for word in WORDS)
    (folder / "model.onnx").write_bytes(_model(table))
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(WORDS)},
            "unk_token": "[UNK]",
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return folder


def complete(home: Home) -> None:
    """Make every missing vector, as the daemon does in steps, and activate the model."""
    for model in vectors.wanted(home):
        for store in vectors.stores(home):
            after = 0
            while after := vectors.batch(home, store, model, after):
                pass
        vectors.take_over(home, model.space)


def warm_up(home: Home, wait_s: float) -> bool:
    """Start the worker of the active model and wait for it; return whether it is warm."""
    model = vectors.active(home)
    return model is not None and home.vectors.of(model.name).meet(wait_s)[0] == model.space


def _row(word: str, seed: str) -> bytes:
    said = next((row[0] for row in ALIKE if word in row), word)
    digest = hashlib.sha256(f"{seed} {said}".encode()).digest()
    return struct.pack(f"<{DIMENSIONS}f", *(byte / 127.5 - 1 for byte in digest[:DIMENSIONS]))


def _model(table: bytes) -> bytes:
    """Return an ONNX model with one node: take the rows of a table that the ids name."""
    tensor = (
        _bytes(1, _varint(len(WORDS)) + _varint(DIMENSIONS))
        + _number(2, 1)
        + _bytes(8, b"table")
        + _bytes(9, table)
    )
    gather = (
        _bytes(1, b"table") + _bytes(1, b"input_ids") + _bytes(2, b"told") + _bytes(4, b"Gather")
    )
    graph = (
        _bytes(1, gather)
        + _bytes(2, b"tiny")
        + _bytes(5, tensor)
        + _bytes(11, _value("input_ids", 7, ["batch", "sequence"]))
        + _bytes(12, _value("told", 1, ["batch", "sequence", DIMENSIONS]))
    )
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, b"") + _number(2, 13))


def _value(name: str, kind: int, shape: list[str | int]) -> bytes:
    dims = b"".join(
        _bytes(1, _number(1, dim) if isinstance(dim, int) else _bytes(2, dim.encode()))
        for dim in shape
    )
    tensor = _number(1, kind) + _bytes(2, dims)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
