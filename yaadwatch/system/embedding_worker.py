"""The embedding worker: `python -m yaadwatch.system.embedding_worker SOURCE IDLE_S`.

Only this process imports the libraries that run models: onnxruntime for an ONNX model with its
tokenizer.json, PyTorch for a folder of sentence-transformers. It reads a text a line from its
standard input, and writes its vector to its standard output; output of the libraries goes to
standard error. It ends when idle, and when its parent is gone: its input closes then.
"""

import base64
import gzip
import hashlib
import json
import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from yaadwatch.system.embedding_sources import Source

MEMORY_BYTES_MAX: Final = 3 * 1024 * 1024 * 1024
"""Memory limit of the process, where the system has one; PyTorch needs about 1 GB."""


class Provider(Protocol):
    """Runs a model; `weights` is the file that identifies it."""

    weights: Path

    def embed(self, text: str) -> Any:
        """Return the vector of a text, an array of floats."""


def main(arguments: Sequence[str]) -> int:
    """Embed until idle; return the exit status."""
    source, idle_s = Source(**json.loads(arguments[0])), float(arguments[1])
    texts = open(0, "rb", buffering=0)  # noqa: SIM115  (until the end of the process)
    vectors = open(os.dup(1), "wb", buffering=0)  # noqa: PTH123, SIM115
    os.dup2(2, 1)
    _limit_resources()
    provider = load(source)
    dimensions = len(quantised(provider.embed("hello")))
    space = source.space or _space(source, provider.weights)
    vectors.write(json.dumps([space, dimensions]).encode() + b"\n")
    while select.select([texts], [], [], idle_s)[0] and (line := texts.readline()):
        number, text = json.loads(line)
        vector = quantised(provider.embed(text))
        made = vector if len(vector) == dimensions else bytes(dimensions)
        vectors.write(json.dumps([number, base64.b64encode(made).decode()]).encode() + b"\n")
    return 0


def load(source: Source) -> Provider:
    """Return the provider for the model of `source`."""
    if source.provider == "onnx":
        return Onnx(source)

    return SentenceTransformers(source)


def quantised(vector: Any) -> bytes:
    """Return a vector as signed bytes, the largest of them 127 or -127; its direction is kept.

    What has no direction, or is not made of numbers, becomes zeros.
    """
    import numpy as np

    values = np.asarray(vector, dtype=np.float64).reshape(-1)
    largest = float(np.abs(values).max(initial=0.0))
    if not np.isfinite(values).all() or largest == 0.0:
        return bytes(len(values))
    return bytes(np.rint(values * (127.0 / largest)).astype(np.int8).tobytes())


def _limit_resources() -> None:
    """Lower our priority, and limit our memory."""
    os.nice(5)
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))


def _space(source: Source, weights: Path) -> str:
    """Return the name of the space of a model in a folder: that of the folder, and its weights'."""
    with weights.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return f"{Path(source.name).name[:64]}-{digest[:12]}"


class Onnx:
    """Embeds one text at a time, which costs least: nothing is padded."""

    def __init__(self, source: Source) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            source.model, options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {one.name for one in self._session.get_inputs()}
        said = Path(source.tokenizer).read_bytes()
        if source.tokenizer.endswith(".gz"):
            said = gzip.decompress(said)
        self._tokenizer = Tokenizer.from_buffer(said)
        self._tokenizer.no_padding()
        # What comes after does not count; all-MiniLM-L6-v2 was trained to read so much.
        self._tokenizer.enable_truncation(256)
        self.weights = Path(source.model)

    def embed(self, text: str) -> Any:
        """Return the vector of `text`: the mean of the model's token vectors."""
        import numpy as np

        found = self._tokenizer.encode(text)
        ids = np.array([found.ids], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        told = self._session.run(
            None, {name: value for name, value in given.items() if name in self._inputs}
        )[0]
        return np.asarray(told[0]).mean(axis=0) if told.ndim == 3 else np.asarray(told[0])


_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


class SentenceTransformers:
    """Embeds one text at a time."""

    def __init__(self, source: Source) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(1)
        self._model = SentenceTransformer(
            source.model, device="cpu", local_files_only=True, trust_remote_code=False
        )
        folder = Path(source.model)
        found = (path for name in _WEIGHTS for path in (folder / name, *folder.glob(f"*/{name}")))
        self.weights = next(path for path in found if path.is_file())

    def embed(self, text: str) -> Any:
        """Return the vector of `text`."""
        return self._model.encode(text, show_progress_bar=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
