"""The provider `sentence-transformers`: a folder in that library's form, run by PyTorch."""

from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer

from yaadwatch.system.embedding.sources import Source

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


class SentenceTransformers:
    """Embeds one text at a time."""

    def __init__(self, source: Source) -> None:
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
