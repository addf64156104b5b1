"""Load settings from config.toml; a project's own file and `YAAD_*` variables override them."""

import difflib
import math
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import Settings
from yaadwatch.plain_files import read_plain
from yaadwatch.system.files import ABSENT, observe, signature_of

DEFAULT: Final = "default"
PREFIX: Final = "YAAD_"
"""What the names of variables begin with that set something."""
OF_PROJECTS: Final = ("memory.half_life_days", "memory.half_lives", "store.budget_mib")
"""Settings allowed in a project's own file: it is untrusted, and affects only that project."""
FILE: Final = "config.toml"
ALSO: Final = "agent_files.also"
"""Settings with patterns; the package that knows agent files validates them."""
FILE_BYTES_MAX: Final = 2 * 1024
"""Of a file in a repository: the parser takes time with the square of what is on a line, and with
so many bytes 30 ms at worst."""
BUDGET_MIB_MIN: Final = 16
HALF_LIFE_MIN: Final = timedelta(days=1)
_KINDS: Final = {float: "a number", int: "a whole number", tuple: "a list of texts", str: "a text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The settings; the source of each key ('default', file, variable); warnings."""

    settings: Settings
    sources: dict[str, str]
    warnings: tuple[str, ...]

    def rows(self) -> list[dict[str, object]]:
        """Return each setting with its value, its source and its default, for answers."""
        usual = Settings()
        return [
            {
                "key": key,
                "value": value_of(self.settings, key),
                "from": source,
                "default": value_of(usual, key),
            }
            for key, source in self.sources.items()
        ]

    def without(self, key: str, why: str) -> "Loaded":
        """Return this with the default for `key`, and a warning with the reason."""
        section, _, name = key.partition(".")
        usual = {name: getattr(getattr(Settings(), section), name)}
        settings: Any = replace(getattr(self.settings, section), **usual)
        return Loaded(
            settings=replace(self.settings, **{section: settings}),
            sources=self.sources | {key: DEFAULT},
            warnings=(*self.warnings, why),
        )


def load(path: Path, environ: Mapping[str, str]) -> Loaded:
    """Return the settings of the file at `path` (none is fine) and of the environment.

    An invalid value is reported in `warnings`, with file or variable and key, and ignored; the next
    weaker source applies, finally the default.

    Raises:
        YaadError: BAD_REQUEST when the file is not TOML. UNAVAILABLE when it exists and cannot be
            read.
    """
    return _loaded(_in_file(path), path, environ)


def load_or_usual(path: Path, environ: Mapping[str, str]) -> Loaded:
    """Like `load`, but a file that cannot be used is ignored with a warning. Never raises."""
    try:
        return load(path, environ)
    except YaadError as error:
        usual = _loaded((), path, environ)
        return replace(usual, warnings=(error.message, *usual.warnings))


def _loaded(rows: Iterable[tuple[str, object]], path: Path, environ: Mapping[str, str]) -> Loaded:
    settings = Settings()
    sources = dict.fromkeys(keys(settings), DEFAULT)
    warnings = []
    variables = {PREFIX + key.upper().replace(".", "_"): key for key in sources}
    given = [(key, value, str(path), f"{path}: {key}") for key, value in rows]
    for name in sorted(environ):
        if name in variables:
            key = variables[name]
            given.append((key, _written(environ[name], settings, key), name, name))
        elif name.startswith(PREFIX) and name not in {"YAAD_HOME", "YAAD_REQUIRE", "YAAD_SOAK"}:
            warnings.append(f"{name} is not a setting.{_nearest_variable(name, variables)}")
    for key, value, source, where in given:
        if key not in sources:
            warnings.append(f"{where} is not a setting.{_nearest(key, sources)}")
            continue
        try:
            settings = _with(settings, key, value, where)
            sources[key] = source
        except YaadError as error:
            warnings.append(error.message)
    return Loaded(settings=settings, sources=sources, warnings=tuple(warnings))


class ProjectSettings:
    """The settings files of projects; each is read again after a change. Any thread.

    Args:
        home: the data folder, whose own settings file is not read a second time.
        now_ns: the time: a file written just now may be written again in the same instant.
    """

    def __init__(self, home: Path, now_ns: Callable[[], int]) -> None:
        self._home = home
        self._now_ns = now_ns
        self._read: dict[Path, tuple[str, Settings, Loaded]] = {}

    def forget(self, folder: Path) -> None:
        """Keep nothing of a folder that is not asked about any more."""
        self._read.pop(folder, None)

    def load(self, folder: Path, settings: Settings, sources: Mapping[str, str]) -> Loaded:
        """Return `settings` with what the file in `folder` may change of them. Never raises.

        Args:
            folder: that the file is in.
            settings: what the person set.
            sources: the source of each setting; values of variables are kept.
        """
        now_ns = self._now_ns()
        signature = ABSENT if folder == self._home else signature_of(folder, FILE, now_ns)
        known = self._read.get(folder)
        if known is not None and signature and known[:2] == (signature, settings):
            return known[2]
        every = dict.fromkeys(keys(settings), DEFAULT) | dict(sources)
        loaded = Loaded(settings=settings, sources=every, warnings=())
        if signature != ABSENT:
            loaded = _overridden_by(loaded, folder / FILE)
        self._read[folder] = signature, settings, loaded
        return loaded


def _overridden_by(loaded: Loaded, path: Path) -> Loaded:
    """Return the settings overridden by the file at `path`; invalid values become warnings."""
    seen = observe(path.parent, path.name, bytes_max=FILE_BYTES_MAX, now_ns=0)
    if seen.data is None:
        warning = f"{path} is no plain file of at most {FILE_BYTES_MAX} bytes; it was not used."
        return Loaded(settings=loaded.settings, sources=loaded.sources, warnings=(warning,))
    settings, sources, warnings = loaded.settings, dict(loaded.sources), list[str]()
    try:
        rows = list(_rows(seen.data, path))
    except YaadError as error:
        rows, warnings = [], [error.message]
    for key, value in rows:
        if key not in OF_PROJECTS:
            near = _nearest(key, dict.fromkeys(OF_PROJECTS, ""))
            warnings.append(f"{path}: {key} cannot be set by a project; it was not used.{near}")
        elif not sources[key].startswith(PREFIX):
            try:
                changed = _with(settings, key, value, f"{path}: {key}")
                _refuse_reach(loaded.settings, changed, f"{key} of {path}")
                settings = changed
                sources[key] = str(path)
            except YaadError as error:
                warnings.append(error.message)
    return Loaded(settings=settings, sources=sources, warnings=tuple(warnings))


def _refuse_reach(own: Settings, changed: Settings, where: str) -> None:
    """Refuse what would have a person's memories archived soon, or a store without a limit.

    Raises:
        YaadError: BAD_REQUEST.
    """
    limit, budget = own.store.budget_mib, changed.store.budget_mib
    least = min(BUDGET_MIB_MIN, limit or BUDGET_MIB_MIN)
    if budget != limit and (budget < least or (limit and budget > limit)):
        within = f"within {least} and {limit}" if limit else f"at least {least}"
        raise _bad(f"{where} is refused:", f"a project's must be {within}, got {budget}")
    kinds = sorted(own.memory.kinds() | changed.memory.kinds())
    for kind in ("", *kinds):  # what has no row of its own first
        usual, asked = own.memory.half_life(kind), changed.memory.half_life(kind)
        # A repository may shorten what the person set to a tenth, not below HALF_LIFE_MIN.
        floor = min(usual, max(usual / 10, HALF_LIFE_MIN))
        if asked < floor:
            days = timedelta(days=1)
            raise _bad(
                f"{where} is refused:",
                f"memories{f' of the kind {kind}' if kind else ''} must keep a half-life of at "
                f"least {floor / days:g} days, got {asked / days:g}",
            )


def value_of(settings: Settings, key: str) -> object:
    """Return the value of a key; a list for several texts."""
    section, _, name = key.partition(".")
    value = getattr(getattr(settings, section), name)
    return list(value) if isinstance(value, tuple) else value


def known_key(key: str) -> str:
    """Return `key` if there is such a setting.

    Raises:
        YaadError: BAD_REQUEST when there is none; with the nearest name.
    """
    known = dict.fromkeys(keys(Settings()), "")
    if key not in known:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{key or 'An empty name'} is not a setting; nothing was done.{_nearest(key, known)}",
            "All settings: yaadwatch config list",
        )
    return key


def understood(key: str, text: str) -> object:
    """Return the value that `text` writes for a setting; a list with commas between, or as TOML.

    Raises:
        YaadError: BAD_REQUEST when there is no such key, or it cannot be that.
    """
    value = _written(text, Settings(), known_key(key))
    try:
        return value_of(_with(Settings(), key, value, key), key)
    except YaadError as error:
        why = error.message.removesuffix("it was not used.")
        raise YaadError(
            Code.BAD_REQUEST,
            f"{why}nothing was changed.",
            f"What it is now: yaadwatch config get {key}",
        ) from error


def keys(settings: Settings) -> list[str]:
    """Return the names of all settings, as files and `config` have them."""
    return [
        f"{section.name}.{row.name}"
        for section in fields(settings)
        for row in fields(getattr(settings, section.name))
    ]


def plain_bytes(path: Path) -> bytes:
    """Return the bytes of a file of settings.

    Raises:
        OSError: it cannot be read, or is a pipe or another thing that may keep us waiting for ever.
    """
    return read_plain(path, 1024 * 1024, links=True)


def _in_file(path: Path) -> Iterator[tuple[str, object]]:
    """Yield the keys of the file, written `section.key`, with their values, in its order."""
    try:
        data = plain_bytes(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be read ({error.strerror}); no setting was used.",
            f"Look at it: ls -ld {shlex.quote(str(path))}",
        ) from error
    yield from _rows(data, path)


def _rows(data: bytes, path: Path) -> Iterator[tuple[str, object]]:
    try:
        document = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:  # a number of many digits is a ValueError too
        raise YaadError(
            Code.BAD_REQUEST,
            f"{path} is not TOML ({error}); no setting was used.",
            "Fix that line, or remove it.",
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
    # Of a whole number; one with more is no float, and cannot be written in digits.
    if isinstance(value, int) and value.bit_length() > 1_000:
        raise _bad(where, f"must be {_KINDS[type(default)]}, got one of more than 300 digits")
    if isinstance(default, float) and type(value) is int:
        value = float(value)
    if isinstance(default, tuple) and isinstance(value, list):
        value = tuple(value)
    if (
        type(value) is not type(default)
        or (isinstance(value, float) and not math.isfinite(value))
        or (isinstance(value, tuple) and not all(isinstance(part, str) for part in value))
    ):
        raise _bad(where, f"must be {_KINDS[type(default)]}, got {_quoted(value)}")
    try:
        section = replace(section, **{name: value})
    except ValueError as error:
        raise _bad(where, str(error).removeprefix(f"{name} ")) from error
    return replace(settings, **{section_name: section})


def _written(text: str, settings: Settings, key: str) -> object:
    """Return the value in a variable; text if it is not of the right kind."""
    section, _, name = key.partition(".")
    if isinstance(getattr(getattr(settings, section), name), tuple):
        # A list as TOML writes it; a pattern may begin with a bracket, too.
        if re.match(r"""\s*\[\s*(?:["']|\]\s*$)""", text):  # as `config list` and the file have it
            try:
                return tomllib.loads(f"is = {text}")["is"]
            except (ValueError, RecursionError):
                return text
        return tuple(part.strip() for part in text.split(",") if part.strip())
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _quoted(value: object) -> str:
    """Return a value for a message: whole or not at all, because half a secret is not masked."""
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # a number of many digits inside, or too deep
        shown = ""
    return shown if 0 < len(shown) <= 80 else f"a long {type(value).__name__}"


def _bad(where: str, why: str) -> YaadError:
    message = f"{where} {why}; it was not used."
    return YaadError(Code.BAD_REQUEST, message, "Change it, or remove it.")


def _nearest_variable(name: str, known: Mapping[str, str]) -> str:
    """Return the variable that was probably meant, compared without the common prefix."""
    ends = {one.removeprefix(PREFIX): one for one in (*known, "YAAD_HOME")}
    near = difflib.get_close_matches(name.removeprefix(PREFIX), ends, n=1, cutoff=0.7)
    return f" Did you mean {ends[near[0]]}?" if near else ""


def _nearest(name: str, known: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]}?" if near else ""
