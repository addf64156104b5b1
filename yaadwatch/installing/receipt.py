"""What `install` wrote, so that `uninstall` can take away just that.

It is a part of the receipt in our home; what else stands there is of others, and stays.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from yaadwatch import places
from yaadwatch.client.service import RECEIPT_PART
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import settings_files
from yaadwatch.system.files import private_folder, replace_atomically


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A file with the digest of what was written (SHA-256, hex), or a link and where it leads."""

    path: str
    digest: str = ""
    leads_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A service that was installed.

    Args:
        manager: by name.
        folder: where it looks for units.
        written: files and links, in the order in which they were written.
        folders: those that were made for them, innermost first.
        program: what the units start.
        lingering: whether we had services run without a session, which they did not before.
    """

    manager: str
    folder: str
    written: tuple[Written, ...] = ()
    folders: tuple[str, ...] = ()
    lingering: bool = False
    program: str = ""


@contextmanager
def alone() -> Iterator[None]:
    """Keep other commands from writing the receipt meanwhile."""
    with settings_files.alone(places.receipt().with_suffix(".lock")):
        yield


def load() -> Installed | None:
    """Return what is installed, or None.

    Raises:
        YaadError: UNAVAILABLE when the receipt cannot be read, or makes no sense.
    """
    part = _all().get(RECEIPT_PART)
    try:
        return None if part is None else _installed(part)
    except (TypeError, KeyError, AttributeError) as error:
        raise _unreadable(f"it makes no sense: {error!r}") from error


def save(installed: Installed | None) -> None:
    """Write down what is installed; with None, that nothing is. An empty receipt goes.

    Raises:
        YaadError: UNAVAILABLE when it cannot be written.
    """
    said = _all()
    said.pop(RECEIPT_PART, None)
    if installed is not None:
        said[RECEIPT_PART] = _told(installed)
    path = places.receipt()
    try:
        private_folder(path.parent)
        if said:
            text = json.dumps(said, ensure_ascii=False, indent=1)
            replace_atomically(path, text.encode() + b"\n")
        else:
            path.unlink(missing_ok=True)
    except (OSError, UnicodeEncodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be written ({why}). Nothing else was written, either.",
            hint="Look at the disk and at the permissions of the folder.",
        ) from error


def _all() -> dict[str, Any]:
    try:
        said = json.loads(places.receipt().read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(
            getattr(error, "strerror", None) or f"it makes no sense: {error}"
        ) from error
    if not isinstance(said, dict):
        raise _unreadable("it holds no object")
    return said


def _unreadable(why: str) -> YaadError:
    return YaadError(
        Code.UNAVAILABLE,
        f"{places.receipt()} cannot be read ({why}). Nothing was written.",
        hint="Move it away, then run: yaadwatch install. What is ours is known by its first line.",
    )


def _installed(said: dict[str, Any]) -> Installed:
    return Installed(
        manager=str(said["manager"]),
        folder=str(said["folder"]),
        written=tuple(
            Written(
                path=str(one["path"]),
                digest=str(one.get("digest", "")),
                leads_to=str(one.get("leads_to", "")),
            )
            for one in said["written"]
        ),
        folders=tuple(map(str, said["folders"])),
        lingering=bool(said["lingering"]),
        program=str(said.get("program", "")),
    )


def _told(installed: Installed) -> dict[str, object]:
    return {
        "manager": installed.manager,
        "folder": installed.folder,
        "written": [
            {"path": one.path, "leads_to": one.leads_to}
            if one.leads_to
            else {"path": one.path, "digest": one.digest}
            for one in installed.written
        ],
        "folders": list(installed.folders),
        "lingering": installed.lingering,
        "program": installed.program,
    }
