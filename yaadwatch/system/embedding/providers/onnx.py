"""The provider `onnx`: a sentence model in ONNX with its tokenizer.json, run by onnxruntime."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from yaadwatch.system.embedding.sources import Source

TOKENS_MAX = 256
"""Of a text; what comes after does not count. What all-MiniLM-L6-v2 was trained to read."""


class Onnx:
    """Embeds one text at a time, which costs least: nothing is padded."""

    def __init__(self, source: Source) -> None:
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
        self._tokenizer.enable_truncation(TOKENS_MAX)
        self.weights = Path(source.model)

    def embed(self, text: str) -> Any:
        """Return the vector of `text`: what the model says of its tokens, on average."""
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
