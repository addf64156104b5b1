"""Which language a file is written in, as its name tells."""

import functools

from yaadwatch.core.truth.language import Language
from yaadwatch.core.truth.languages_curly import (
    C_SHARP,
    JAVA,
    JAVASCRIPT,
    KOTLIN,
    PHP,
    TSX,
    TYPESCRIPT,
)
from yaadwatch.core.truth.languages_native import CPP, GO, RUBY, RUST, SHELL, SWIFT, C

PYTHON = Language(title="Python", module="tree_sitter_python", endings=(".py", ".pyi"))
JSON = Language(
    title="JSON",
    module="tree_sitter_json",
    endings=(".json", ".jsonc", ".webmanifest"),
    is_settings=True,
)
TOML = Language(title="TOML", module="tree_sitter_toml", endings=(".toml",), is_settings=True)
YAML = Language(
    title="YAML",
    module="tree_sitter_yaml",
    endings=(".yaml", ".yml"),
    indents=True,
    is_settings=True,
)

LANGUAGES = (
    *(PYTHON, JAVASCRIPT, TYPESCRIPT, TSX, GO, RUST, JAVA, KOTLIN, C, CPP, C_SHARP, RUBY, PHP),
    *(SWIFT, SHELL, TOML, YAML, JSON),
)


def language_of(path: str) -> Language | None:
    """Return the language of a file; None when its definitions are not known here."""
    name = path.rpartition("/")[2].lower()
    return _by_ending().get(name[name.rfind(".") :] if "." in name else name)


@functools.cache
def _by_ending() -> dict[str, Language]:
    return {ending: language for language in LANGUAGES for ending in language.endings}
