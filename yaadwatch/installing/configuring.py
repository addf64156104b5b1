"""The person's file of settings: what it says without a daemon, and how one value in it is set."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from yaadwatch import places
from yaadwatch.core import privacy
from yaadwatch.core.settings_text import toml
from yaadwatch.core.settings_text.edits import NotUnderstoodError
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import Settings
from yaadwatch.system import config, mounts, settings_files
from yaadwatch.system.clock import Clock
from yaadwatch.system.files import private_folder, replace_atomically
from yaadwatch.system.git import layout


def path() -> Path:
    """Return the file."""
    return places.home() / config.FILE


def keys() -> list[str]:
    """Return the names of all settings."""
    return config.keys(Settings())


def listed(environ: Mapping[str, str], folder: Path | None = None) -> dict[str, Any]:
    """Return the settings that the next daemon has if it is started from here; as Config.

    Args:
        environ: the variables that it would be started with.
        folder: in a project; those that hold there.

    Raises:
        YaadError: as `system.config.load`.
    """
    loaded = config.load(path(), environ)
    beside = None if folder is None else _beside(folder)
    if beside is not None:
        own = config.Beside(places.home(), Clock().now_ns)
        found = own.load(beside, loaded.settings, loaded.sources)
        loaded = replace(found, warnings=(*loaded.warnings, *found.warnings))
    usual = Settings()
    return {
        "settings": [
            {
                "key": key,
                "value": config.value_of(loaded.settings, key),
                "from": source,
                "default": config.value_of(usual, key),
            }
            for key, source in loaded.sources.items()
        ],
        "project": None if beside is None else str(beside),
        "warnings": [privacy.mask(warning).text for warning in loaded.warnings],
        "running": False,
    }


def _beside(folder: Path) -> Path | None:
    """Return the folder of a repository that may hold settings of its project, where one is."""
    found = layout.find(folder) if mounts.near([folder]) else None
    if found is None or not layout.project_id(found.common_dir):
        return None
    return (layout.main_root(found) or found.common_dir) / ".yaad"


def known(key: str) -> str:
    """Return `key` if there is such a setting.

    Raises:
        YaadError: BAD_REQUEST when there is none.
    """
    return config.known_key(key)


def put(key: str, text: str) -> object:
    """Write a value into the file; return it.

    Raises:
        YaadError: BAD_REQUEST when there is no such key, it cannot be that, or the file is no
            TOML; UNAVAILABLE when it cannot be written. It is as it was then.
    """
    value = config.understood(key, text)
    section, _, name = key.partition(".")
    _edit(lambda before: toml.assign(before, section, name, value))
    return value


def take(key: str) -> bool:
    """Take a value out of the file, so that the default holds; say whether it was there.

    One that is there need not be a setting: an older version may have had it, or it is misspelt.

    Raises:
        YaadError: as for `put`.
    """
    section, dot, name = key.partition(".")
    if not dot:
        section, name = "", key
    there = _edit(lambda before: toml.drop(before, section, name), by_hand="Delete")
    if not there:
        config.known_key(key)
    return there


def _edit(change: Callable[[str], str], *, by_hand: str = "Write") -> bool:
    file = path()
    private_folder(file.parent)
    with settings_files.alone(file.with_suffix(".lock")):
        target = Path(os.path.realpath(file))
        try:
            data = config.plain_bytes(target) if target.exists() else b""
            before = data.decode()
            after = change(before)
            if after != before:
                mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
                replace_atomically(target, after.encode(), mode)
        except OSError as error:
            raise YaadError(
                Code.UNAVAILABLE,
                f"{file} cannot be changed ({error.strerror}); it is as it was.",
                hint="Look at the disk and at its permissions.",
            ) from error
        except (NotUnderstoodError, UnicodeDecodeError) as error:
            raise YaadError(
                Code.BAD_REQUEST,
                f"{file} was left as it is: {error}.",
                hint=f"{by_hand} the line by hand, then look: yaadwatch config list",
            ) from error
    return after != before
