"""What the person set: HOME/config.toml, and over it the `YAAD_*` variables."""

import difflib
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import Settings

DEFAULT: Final = "default"
_PREFIX: Final = "YAAD_"
_NO_SETTINGS: Final = frozenset({"YAAD_HOME", "YAAD_REQUIRE", "YAAD_SOAK"})
"""Where everything is; and two that the tests read."""
_KINDS: Final = {float: "a number", int: "a whole number", tuple: "a list of texts"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The settings; where each key's value is from ('default', file, variable); what is odd."""

    settings: Settings
    sources: dict[str, str]
    warnings: tuple[str, ...]


def load(path: Path, environ: Mapping[str, str]) -> Loaded:
    """Return the settings of the file at `path` (none is fine) and of the environment.

    Raises:
        YaadError: BAD_REQUEST when the file is no TOML or a value makes no sense; the message names
            file or variable, and key. UNAVAILABLE when the file is there and cannot be read.
    """
    settings = Settings()
    sources = dict.fromkeys(_keys(settings), DEFAULT)
    warnings = []
    for key, value in _in_file(path):
        if key in sources:
            settings = _with(settings, key, value, f"{path}: {key}")
            sources[key] = str(path)
        else:
            warnings.append(f"{path}: {key} is not a setting.{_nearest(key, sources)}")
    variables = {_PREFIX + key.upper().replace(".", "_"): key for key in sources}
    for name in sorted(environ):
        if name in variables:
            key = variables[name]
            settings = _with(settings, key, _written(environ[name], settings, key), name)
            sources[key] = name
        elif name.startswith(_PREFIX) and name not in _NO_SETTINGS:
            warnings.append(f"{name} is not a setting.{_nearest(name, variables)}")
    return Loaded(settings=settings, sources=sources, warnings=tuple(warnings))


def _keys(settings: Settings) -> list[str]:
    return [
        f"{section.name}.{row.name}"
        for section in fields(settings)
        for row in fields(getattr(settings, section.name))
    ]


def _in_file(path: Path) -> Iterator[tuple[str, object]]:
    """Yield the keys of the file, written `section.key`, with their values, in its order."""
    try:
        text = path.read_bytes().decode()
        document = tomllib.loads(text)
    except FileNotFoundError:
        return
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be read ({error.strerror}); no setting was used.",
            "Look at its permissions.",
        ) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{path} is not TOML ({error}); no setting was used.",
            "Mend that line, or take it out.",
        ) from error
    for section, rows in document.items():
        if isinstance(rows, dict):
            yield from ((f"{section}.{key}", value) for key, value in rows.items())
        else:
            yield section, rows


def _with(settings: Settings, key: str, value: object, where: str) -> Settings:
    """Return `settings` with one value put in, if it is a number of the right kind and range."""
    section_name, _, name = key.partition(".")
    section: Any = getattr(settings, section_name)
    default = getattr(section, name)
    if isinstance(default, float) and type(value) is int:
        value = float(value)
    if isinstance(default, tuple) and isinstance(value, list):
        value = tuple(value)
    if (
        type(value) is not type(default)
        or (isinstance(value, float) and not math.isfinite(value))
        or (isinstance(value, tuple) and not all(isinstance(part, str) for part in value))
    ):
        raise _bad(where, f"must be {_KINDS[type(default)]}, got {value!r}")
    try:
        section = replace(section, **{name: value})
    except ValueError as error:
        raise _bad(where, str(error).removeprefix(f"{name} ")) from error
    return replace(settings, **{section_name: section})


def _written(text: str, settings: Settings, key: str) -> object:
    """Return the value that a variable writes; what is none of its kind stays text."""
    section, _, name = key.partition(".")
    if isinstance(getattr(getattr(settings, section), name), tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _bad(where: str, why: str) -> YaadError:
    return YaadError(
        Code.BAD_REQUEST, f"{where} {why}; it was not used.", "Change it, or take it out."
    )


def _nearest(name: str, known: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]}?" if near else ""
