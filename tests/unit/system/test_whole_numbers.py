"""A model of scaled bytes gives about the same vectors when bytes are multiplied; others stay."""

import contextlib
import random
import struct

import pytest
import tiny_model
from hypothesis import given
from hypothesis import strategies as st
from tiny_model import _bytes, _number, _value

from yaadwatch.system.embedding.providers import whole_numbers

ROWS, SIZE = 40, 24
FLOAT, SIGNED_BYTE = 1, 3


def tensor(name, kind, size, data):
    dims = b"".join(_number(1, one) for one in size)
    return _bytes(5, dims + _number(2, kind) + _bytes(8, name) + _bytes(9, data))


def step(kind, takes, gives, *attributes):
    named = b"".join(_bytes(1, one) for one in takes) + _bytes(2, gives)
    return _bytes(1, named + _bytes(4, kind) + b"".join(_bytes(5, one) for one in attributes))


def scaled(chance, name, rows, columns, *, by):
    """Return weights of bytes, and a scale for each row or column.

    They are of seven bits: products of larger ones overflow on processors that add them up in pairs
    of 16 bits, where such a model is not used (`multiplies_bytes`).
    """
    data = bytes(chance.randrange(-64, 64) & 0xFF for _ in range(rows * columns))
    size = [rows, 1] if by == "row" else [1, columns]
    scales = [chance.uniform(0.001, 0.02) for _ in range(max(size))]
    return tensor(name + b"_q", SIGNED_BYTE, [rows, columns], data) + tensor(
        name + b"_s", FLOAT, size, struct.pack(f"<{len(scales)}f", *scales)
    )


TO_FLOAT = _bytes(1, b"to") + _number(3, FLOAT) + _number(20, 2)


def in_floats(name):
    return step(b"Cast", [name + b"_q"], name + b"_f", TO_FLOAT) + step(
        b"Mul", [name + b"_f", name + b"_s"], name
    )


def model(opset=17, table_by="row"):
    """Return a model: rows of a table, times weights; twice, and added."""
    chance = random.Random(1)
    graph = (
        in_floats(b"table")
        + in_floats(b"one")
        + in_floats(b"two")
        + step(b"Gather", [b"table", b"input_ids"], b"words", _bytes(1, b"axis") + _number(20, 2))
        + step(b"MatMul", [b"words", b"one"], b"left")
        + step(b"MatMul", [b"words", b"two"], b"right")
        + step(b"Add", [b"left", b"right"], b"told")
        + _bytes(2, b"scaled")
        + scaled(chance, b"table", ROWS, SIZE, by=table_by)
        + scaled(chance, b"one", SIZE, SIZE, by="column")
        + scaled(chance, b"two", SIZE, SIZE, by="column")
        + _bytes(11, _value("input_ids", 7, ["batch", "sequence"]))
        + _bytes(12, _value("told", FLOAT, ["batch", "sequence", SIZE]))
    )
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, b"") + _number(2, opset))


def vectors(built):
    np = pytest.importorskip("numpy")
    runtime = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    session = runtime.InferenceSession(built, providers=["CPUExecutionProvider"])
    ids = np.arange(ROWS, dtype=np.int64).reshape(4, 10)
    return session.run(None, {"input_ids": ids})[0].reshape(-1, SIZE)


def test_vectors_keep_their_direction():
    np = pytest.importorskip("numpy")
    new = whole_numbers.rewritten(model())

    before, after = vectors(model()), vectors(new)

    assert b"MatMulInteger" in new
    assert new.count(b"DynamicQuantizeLinear") == 1  # both products take the same
    assert b"one_f" not in new
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    assert ((before * after).sum(axis=1) / norms).min() > 0.99


@pytest.mark.parametrize("built", [model(opset=10), b""])
def test_a_model_too_old_for_it_stays_as_it_is(built):
    assert whole_numbers.rewritten(built) == built


def test_a_table_scaled_otherwise_stays_a_table_of_floats():
    new = whole_numbers.rewritten(model(table_by="column"))

    assert b"table_f" in new
    assert b"words/bytes" not in new


def test_a_model_without_scaled_bytes_stays_as_it_is(tmp_path):
    built = (tiny_model.build(tmp_path / "tiny") / "model.onnx").read_bytes()

    assert whole_numbers.rewritten(built) == built


@given(st.binary(max_size=200), st.integers(0, 400))
def test_what_is_no_model_is_refused_or_passed_on(data, cut):
    for given_bytes in (data, model()[:cut], model()[:cut] + data):
        with contextlib.suppress(ValueError):
            whole_numbers.rewritten(given_bytes)
