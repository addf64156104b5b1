"""Plan, write and remove the files of the service, and report the state of the service.

A unit says by itself that it is ours, and for which data folder, so nothing else is written down.
"""

import contextlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from yaadwatch import places
from yaadwatch.client import presence
from yaadwatch.install import managers, units
from yaadwatch.install.managers import Manager, Run
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.projects.diagnosis import ServiceFacts
from yaadwatch.system import settings_files
from yaadwatch.system.clock import Clock
from yaadwatch.system.settings_files import SettingsFile

COPIES: Final = "service"
"""The folder of units as people had changed them, beside the backups of projects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What becomes of a file: created, changed, removed, kept or same."""

    found: SettingsFile
    change: str
    after: bytes = b""

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self.found.path

    def row(self, *, with_diff: bool = False) -> dict[str, Any]:
        """Return the row of the file in the answer: a FileChange."""
        before = None if self.found.data is None else self.found.data.decode("utf-8", "replace")
        shown = (before, self.after.decode()) if with_diff else None
        return settings_files.change_row(self.found, self.change, shown)


def require_this_data_folder(path: Path) -> None:
    """Check that a unit of ours was not written for another data folder.

    A trial with another YAAD_HOME, or with a copy of a data folder, would otherwise take the
    service from the memories that it serves.

    Raises:
        YaadError: REFUSED.
    """
    data = presence.unit_at(str(path)) if path.name != presence.SOCKET else None
    if data is None:
        return
    home = presence.data_folder_in(data)
    theirs = Path(home) if home is not None else Path.home() / ".yaad"
    if theirs.resolve() != places.data_folder().resolve():
        as_theirs = "env -u YAAD_HOME" if home is None else f"YAAD_HOME={shlex.quote(home)}"
        raise YaadError(
            Code.REFUSED,
            f"{path} runs the daemon for {theirs}, not for {places.data_folder()}. Nothing was "
            "done.",
            hint=f"Beside it: yaadwatch up. To remove it: {as_theirs} yaadwatch uninstall",
        )


def planned(path: Path, data: bytes) -> Change:
    """Compare what is wanted with what is there.

    Raises:
        YaadError: REFUSED when what is there is not ours, is for another data folder, or is masked.
    """
    if os.path.realpath(path) == os.devnull:  # as `systemctl --user mask` makes it
        raise YaadError(
            Code.REFUSED,
            f"{path} is masked: systemd does not start it; nothing was done.",
            hint=managers.unmask(path.name),
        )
    require_this_data_folder(path)
    found = None
    if not path.is_symlink() and not path.is_dir():
        found = settings_files.read_settings_file(
            path, inside=None, copies=places.backups(COPIES), now=Clock().now()
        )
    there = None if found is None else found.data
    if found is None or (
        there is not None and there != data and presence.unit_at(str(path)) is None
    ):
        raise YaadError(
            Code.REFUSED,
            f"{path} is there and was not written by `yaadwatch install`; nothing was done.",
            hint="Move it away, then run: yaadwatch install",
        )
    change = "created" if there is None else "same" if there == data else "changed"
    return Change(found=found, change=change, after=data)


def write(clock: Clock, manager: Manager, plan: Sequence[Change]) -> dict[Path, Path]:
    """Write the files and the links to them; return the copies of former files.

    Raises:
        YaadError: UNAVAILABLE when a file cannot be written.
    """
    copies = {}
    for one in plan:
        if one.change != "same":
            folder = places.backups(COPIES)
            copy = settings_files.write(
                one.found, one.after, mode=0o644, copies=folder, now=clock.now()
            )
            if copy is not None:
                copies[one.path] = copy
    for link, path in manager.links():
        if not os.path.lexists(link):
            with settings_files.readable_errors(link):
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)
    return copies


def removal(path: Path) -> Change:
    """Return the removal of a unit of ours; another file of that name is kept."""
    found = SettingsFile(path=path, target=path, data=presence.unit_at(str(path)))
    change = "removed" if found.data is not None else "kept" if os.path.lexists(path) else "same"
    return Change(found=found, change=change)


def remove(
    clock: Clock, manager: Manager, plan: Sequence[Change], home: Path, wanted: Sequence[bytes]
) -> dict[Path, Path]:
    """Remove what the plan says, the links to it, and folders below `home` that are empty then.

    Returns:
        The copies of units that are not `wanted`: a person may have changed them.

    Raises:
        YaadError: UNAVAILABLE when something cannot be removed.
    """
    for link, path in manager.links():
        if link.is_symlink() and link.readlink() == path:
            with settings_files.readable_errors(link):
                link.unlink()
            with contextlib.suppress(OSError):  # the folder is not empty
                link.parent.rmdir()
    copies = {}
    for one in reversed(plan):
        if one.change == "removed" and one.found.data not in wanted:
            copies[one.path] = settings_files.remove(
                one.found, made=(), copies=places.backups(COPIES), now=clock.now()
            )
        elif one.change == "removed":
            with settings_files.readable_errors(one.path):
                one.path.unlink(missing_ok=True)
    above = [folder for folder in manager.units()[0].parents if folder.is_relative_to(home)]
    with contextlib.suppress(OSError):  # the folder is not empty
        for folder in above[:-1]:
            folder.rmdir()
    with contextlib.suppress(OSError):
        places.default_socket().parent.rmdir()
    return copies


def service_state(
    home: Path, environ: Mapping[str, str], *, asking: Run = managers.run
) -> ServiceFacts | None:
    """Return the state of the service, or None when none is installed.

    Args:
        home: the person's home folder.
        environ: of the shell.
        asking: runs the commands of managers.
    """
    found = presence.installed(str(home), environ, sys.platform)
    if found is None:
        return None
    manager = managers.by_name(found[0], Path(found[1]), asking=asking)
    is_reached = managers.here(home, environ, asking=asking)[0] is not None
    data = next(filter(None, (presence.unit_at(str(path)) for path in manager.units()[::-1])), b"")
    program = units.program_in(data)
    return ServiceFacts(
        missing=tuple(str(path) for path in manager.units() if not path.is_file()),
        program="" if os.access(program or "/", os.X_OK) else program,
        is_reached=is_reached,
        runs=is_reached and manager.is_running(),
    )
