"""A sentence model that multiplies whole numbers: its weights are kept as bytes, and stay bytes.

Models are shipped with weights of signed bytes and a scale for each column, which a graph turns
into floats before anything is done with them; the library then keeps the floats, four times as
large. Here such a graph is rewritten as it is loaded: what goes into a product is brought to bytes
as well, one scale for a text, and bytes are multiplied by bytes. Vectors of the two have a cosine
of 0.995. A table of words gives its rows as bytes, and only those are turned into floats.

The file format is protocol buffers; only the few fields that are needed are read, and everything
else is passed on byte by byte.
"""

import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_GRAPH, _OPSET = 7, 8  # of a model
_NODE, _WEIGHTS, _OUTPUT = 1, 5, 12  # of a graph
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FLOAT, _SIGNED_BYTE = 1, 3  # types of numbers
_OPSET_MIN: Final = 11  # the first that brings numbers to bytes
_WITH_PRODUCTS: Final = frozenset({"avx_vnni", "avx512_vnni", "asimddp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """A step of a graph; `raw`: as it stood in the file, b'' for a new one."""

    kind: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    raw: bytes = b""
    attributes: bytes = b""

    def encoded(self) -> bytes:
        """Return the step as a field of a graph."""
        if self.raw:
            return _part(_NODE, self.raw)
        said = [_part(1, name.encode()) for name in self.takes]
        said += [_part(2, name.encode()) for name in self.gives]
        said += [_part(3, self.gives[0].encode()), _part(4, self.kind.encode()), self.attributes]
        return _part(_NODE, b"".join(said))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Graph:
    """What is looked at of a graph; `rest`: its other fields, as they stood in the file."""

    nodes: list[_Node] = field(default_factory=list)
    weights: dict[str, tuple[int, list[int]]] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    rest: list[bytes] = field(default_factory=list)


def multiplies_bytes() -> bool:
    """Tell whether this processor multiplies bytes without losing any: older ones may overflow."""
    if platform.machine() == "arm64":
        return True
    try:
        told = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return False
    return not _WITH_PRODUCTS.isdisjoint(told.split())


def rewritten(model: bytes) -> bytes:
    """Return a model that gives about the same vectors with whole numbers.

    One without weights of scaled bytes comes back as it is.

    Raises:
        ValueError: it is no model.
    """
    try:
        parts = [(number, raw, value) for number, _, raw, value in _fields(model)]
        versions = [_first(value, 2) for number, _, value in parts if number == _OPSET]
        if max((one for one in versions if isinstance(one, int)), default=0) < _OPSET_MIN:
            return model
        found = [
            (number, raw, _read(value) if number == _GRAPH else None)
            for number, raw, value in parts
        ]
    except (IndexError, UnicodeDecodeError, TypeError) as error:
        raise ValueError(f"it is no ONNX model ({error})") from None
    told = []
    for _, raw, graph in found:
        told.append(raw if graph is None else _with_bytes(graph, raw))
    return b"".join(told)


def _with_bytes(graph: _Graph, raw: bytes) -> bytes:
    """Return a graph, as a field of a model, with its products rewritten; `raw` without any."""
    scaled = _scaled(graph)
    nodes: list[_Node] = []
    in_bytes: set[str] = set()
    changed = False
    for node in graph.nodes:
        new = _rewrite(node, scaled, graph.weights, in_bytes)
        changed = changed or new != [node]
        nodes += new
    if not changed:
        return raw
    wanted = _needed(nodes, graph.outputs)
    return _part(_GRAPH, b"".join([*(node.encoded() for node in wanted), *graph.rest]))


def _scaled(graph: _Graph) -> dict[str, tuple[str, str]]:
    """Return what is bytes turned into floats and scaled, with the names of both."""
    floats = {
        node.gives[0]: node.takes[0]
        for node in graph.nodes
        if node.kind == "Cast" and graph.weights.get(node.takes[0], (0, []))[0] == _SIGNED_BYTE
    }
    return {
        node.gives[0]: (floats[node.takes[0]], node.takes[1])
        for node in graph.nodes
        if node.kind == "Mul" and node.takes[0] in floats and node.takes[1] in graph.weights
    }


def _rewrite(
    node: _Node,
    scaled: Mapping[str, tuple[str, str]],
    weights: Mapping[str, tuple[int, list[int]]],
    in_bytes: set[str],
) -> list[_Node]:
    """Return what does the same as `node` on bytes, or `node`; `in_bytes` have been brought there
    before."""
    if node.kind == "MatMul" and node.takes[1] in scaled:
        weight, scale = scaled[node.takes[1]]
        if weights[scale][1] == [1, weights[weight][1][-1]]:
            return _product(node, weight, scale, in_bytes)
    if node.kind == "Gather" and node.takes[0] in scaled and _of_rows(node.attributes):
        weight, scale = scaled[node.takes[0]]
        if weights[scale][1] == [weights[weight][1][0], 1]:
            return _rows(node, weight, scale)
    return [node]


def _product(node: _Node, weight: str, scale: str, in_bytes: set[str]) -> list[_Node]:
    taken, out = node.takes[0], node.gives[0]
    small, by, zero = (f"{taken}/{end}" for end in ("small", "by", "zero"))
    steps = [
        _Node(kind="MatMulInteger", takes=(small, weight, zero), gives=(f"{out}/whole",)),
        _to_float(f"{out}/whole", f"{out}/float"),
        _Node(kind="Mul", takes=(by, scale), gives=(f"{out}/scale",)),
        _Node(kind="Mul", takes=(f"{out}/float", f"{out}/scale"), gives=(out,)),
    ]
    if taken not in in_bytes:
        in_bytes.add(taken)
        bring = _Node(kind="DynamicQuantizeLinear", takes=(taken,), gives=(small, by, zero))
        steps.insert(0, bring)
    return steps


def _rows(node: _Node, weight: str, scale: str) -> list[_Node]:
    which, out = node.takes[1], node.gives[0]
    return [
        _Node(kind="Gather", takes=(weight, which), gives=(f"{out}/bytes",)),
        _to_float(f"{out}/bytes", f"{out}/float"),
        _Node(kind="Gather", takes=(scale, which), gives=(f"{out}/scale",)),
        _Node(kind="Mul", takes=(f"{out}/float", f"{out}/scale"), gives=(out,)),
    ]


def _of_rows(attributes: bytes) -> bool:
    """Tell whether what is gathered are rows, by the only attribute there may be."""
    said = [value for _, _, _, value in _fields(attributes)]
    return all(_first(one, 1) == b"axis" and not _first(one, 3) for one in said)


def _to_float(taken: str, given: str) -> _Node:
    to = _part(1, b"to") + _number(3, _FLOAT) + _number(20, 2)
    return _Node(kind="Cast", takes=(taken,), gives=(given,), attributes=_part(5, to))


def _needed(nodes: Iterable[_Node], outputs: Iterable[str]) -> list[_Node]:
    """Return the steps that lead to an output, in their order."""
    wanted, kept = set(outputs), []
    for node in reversed(list(nodes)):
        if not wanted.isdisjoint(node.gives):
            kept.append(node)
            wanted.update(node.takes)
    return kept[::-1]


def _read(graph: bytes) -> _Graph:
    found = _Graph()
    for number, _, raw, value in _fields(graph):
        if number == _NODE:
            found.nodes.append(_node(value))
            continue
        found.rest.append(raw)
        if number == _WEIGHTS:
            name, kind, size = _weights(value)
            found.weights[name] = (kind, size)
        elif number == _OUTPUT:
            found.outputs.append(bytes(_first(value, 1) or b"").decode())
    return found


def _node(data: bytes) -> _Node:
    takes, gives, kind, attributes = [], [], "", []
    for number, _, raw, value in _fields(data):
        match number:
            case 1:
                takes.append(value.decode())
            case 2:
                gives.append(value.decode())
            case 4:
                kind = value.decode()
            case 5:
                attributes.append(raw)
    return _Node(
        kind=kind,
        takes=tuple(takes),
        gives=tuple(gives),
        raw=data,
        attributes=b"".join(attributes),
    )


def _weights(data: bytes) -> tuple[str, int, list[int]]:
    """Return the name, the type and the size of the weights in a tensor."""
    name, kind, size = "", 0, []
    for number, wire, _, value in _fields(data):
        if number == 1 and wire == _VARINT:
            size.append(_varint(value, 0)[0])
        elif number == 1:
            at = 0
            while at < len(value):
                one, at = _varint(value, at)
                size.append(one)
        elif number == 2:
            kind = _varint(value, 0)[0]
        elif number == 8:
            name = value.decode()
    return name, kind, size


def _first(data: bytes, wanted: int) -> bytes | int | None:
    """Return the first field of this number; a number as one."""
    for number, wire, _, value in _fields(data):
        if number == wanted:
            return _varint(value, 0)[0] if wire == _VARINT else value
    return None


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Yield the fields of a message: number, wire type, the whole field, and its value in bytes.

    Raises:
        IndexError, TypeError: it is no message.
    """
    at = 0
    while at < len(data):
        start = at
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == _VARINT:
            begin = at
            _, at = _varint(data, at)
        elif wire == _BYTES:
            length, begin = _varint(data, at)
            at = begin + length
        elif wire in {_FIXED32, _FIXED64}:
            begin, at = at, at + (4 if wire == _FIXED32 else 8)
        else:
            raise TypeError(f"a field of the type {wire}")
        if at > len(data):
            raise IndexError("a field goes beyond the end")
        yield tag >> 3, wire, data[start:at], data[begin:at]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _part(number: int, value: bytes) -> bytes:
    return _encoded(number << 3 | _BYTES) + _encoded(len(value)) + value


def _number(number: int, value: int) -> bytes:
    return _encoded(number << 3) + _encoded(value)


def _encoded(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
