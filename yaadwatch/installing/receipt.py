"""What `install` wrote, so that `uninstall` can take away just that.

It is a part of the receipt in our home; what else stands there is of others, and stays.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from yaadwatch import places
from yaadwatch.client.service import RECEIPT_PART
from yaadwatch.system import receipt_file, settings_files


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
        home: the folder of ours that it serves; '' where an older version did not say.
    """

    manager: str
    folder: str
    written: tuple[Written, ...] = ()
    folders: tuple[str, ...] = ()
    lingering: bool = False
    program: str = ""
    home: str = ""


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
    path = places.receipt()
    part = receipt_file.load(path).get(RECEIPT_PART)
    try:
        return None if part is None else _installed(part)
    except (TypeError, KeyError, AttributeError) as error:
        raise receipt_file.UnreadableError(path, f"it makes no sense: {error!r}") from error


def save(installed: Installed | None) -> None:
    """Write down what is installed; with None, that nothing is. An empty receipt goes.

    Raises:
        YaadError: UNAVAILABLE when it cannot be written.
    """
    path = places.receipt()
    said = receipt_file.load(path)
    said.pop(RECEIPT_PART, None)
    if installed is not None:
        said[RECEIPT_PART] = _told(installed)
    receipt_file.save(path, said)


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
        home=str(said.get("home", "")),
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
        "home": installed.home,
    }
