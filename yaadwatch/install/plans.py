"""Plan, write and remove the files of the service, and report the state of the service.

The receipt lists a file before it is written, so that an interrupted installation can be removed
too. It is a part of the receipt in our data folder; other parts are kept.
"""

import contextlib
import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from yaadwatch import places
from yaadwatch.client.presence import RECEIPT_PART
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
class Installed:
    """A service that was installed.

    Args:
        manager: by name.
        folder: where it looks for units.
        written: the SHA-256 digest of each file, by its path, in the order of writing.
        folders: those that were made for them, innermost first.
        program: what the units start.
        home: the data folder that it serves; '' where an older version did not say.
    """

    manager: str
    folder: str
    written: dict[str, str]
    folders: Sequence[str] = ()
    program: str = ""
    home: str = ""


def load() -> Installed | None:
    """Return what is installed, or None.

    Raises:
        YaadError: UNAVAILABLE when the receipt cannot be read, or makes no sense.
    """
    path = places.receipt()
    part = settings_files.load(path).get(RECEIPT_PART)
    try:
        found = None if part is None else Installed(**part)
        if found is not None:  # join raises where one is no text
            texts = (found.manager, found.folder, found.program, found.home, *found.folders)
            "".join((*texts, *found.written, *found.written.values()))
        return found
    except (TypeError, AttributeError) as error:
        raise settings_files.UnreadableError(
            path, "it makes no sense: what it says of the service is incomplete, or no text"
        ) from error


def save(installed: Installed | None) -> None:
    """Write down what is installed; with None, that nothing is. An empty receipt goes.

    Raises:
        YaadError: UNAVAILABLE when it cannot be written.
    """
    path = places.receipt()
    receipt = settings_files.load(path)
    receipt.pop(RECEIPT_PART, None)
    part = {} if installed is None else {RECEIPT_PART: asdict(installed)}
    settings_files.save(path, receipt | part)


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


def _read(path: Path) -> SettingsFile:
    copies = places.backups(COPIES)
    return settings_files.read_settings_file(path, inside=None, copies=copies, now=Clock().now())


def digest(data: bytes) -> str:
    """Return the digest of a file, as in the receipt."""
    return hashlib.sha256(data).hexdigest()


def require_this_data_folder(path: Path) -> None:
    """Check that a unit of ours was not written for another data folder.

    A trial with another YAAD_HOME, or with a copy of a data folder, would otherwise take the
    service from the memories that it serves.

    Raises:
        YaadError: REFUSED.
    """
    if path.suffix not in {".service", ".plist"} or path.is_symlink() or not path.is_file():
        return
    data = _read(path).data or b""
    if units.MARK.encode() not in data:
        return
    home = units.data_folder_in(data)
    theirs = Path(home) if home is not None else Path.home() / ".yaad"
    if theirs.resolve() != places.data_folder().resolve():
        as_theirs = "env -u YAAD_HOME" if home is None else f"YAAD_HOME={shlex.quote(home)}"
        raise YaadError(
            Code.REFUSED,
            f"{path} runs the daemon for {theirs}, not for {places.data_folder()}. Nothing was "
            "done.",
            hint=f"Beside it: yaadwatch up. To remove it: {as_theirs} yaadwatch uninstall",
        )


def unlisted(manager: Manager) -> Path | None:
    """Return a unit that `install` wrote for this data folder and no receipt lists; None: there is
    none.

    Raises:
        YaadError: REFUSED when one is for another data folder; UNAVAILABLE when it cannot be read.
    """
    plain = [path for path in manager.units() if path.is_file() and not path.is_symlink()]
    ours = [path for path in plain if units.MARK.encode() in (_read(path).data or b"")]
    for path in ours:
        require_this_data_folder(path)
    return next(iter(ours), None)


def planned(path: Path, data: bytes, known: Installed | None) -> Change:
    """Compare what is wanted with what is there.

    Raises:
        YaadError: REFUSED when what is there is not ours, or is masked.
    """
    if is_masked(path):
        raise YaadError(
            Code.REFUSED,
            f"{path} is masked: systemd does not start it; nothing was done.",
            hint=managers.unmask(path.name),
        )
    found = None if path.is_symlink() or path.is_dir() else _read(path)
    there = None if found is None else found.data
    is_listed = known is not None and str(path) in known.written
    is_ours = there is not None and (is_listed or units.MARK.encode() in there)
    if found is None or (there is not None and not is_ours and there != data):
        raise YaadError(
            Code.REFUSED,
            f"{path} is there and was not written by `yaadwatch install`; nothing was done.",
            hint="Move it away, then run: yaadwatch install",
        )
    change = "created" if there is None else "same" if there == data else "changed"
    return Change(found=found, change=change, after=data)


def is_masked(path: Path) -> bool:
    """Return whether a unit leads nowhere, as `systemctl --user mask` makes it."""
    return os.path.realpath(path) == os.devnull


def write(
    clock: Clock, manager: Manager, plan: Sequence[Change], installed: Installed
) -> dict[Path, Path]:
    """Write the receipt, then the files and the links to them; return the copies of former files.

    Raises:
        YaadError: UNAVAILABLE when a file cannot be written.
    """
    save(installed)
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


def removal(path: Path, written: str) -> Change:
    """Return the removal of a written file, which is kept if it was changed since."""
    if path.is_symlink() or path.is_dir():
        return Change(found=SettingsFile(path=path, target=path, data=None), change="kept")
    found = _read(path)
    ours = found.data is not None and digest(found.data) == written
    change = "same" if found.data is None else "removed" if ours else "kept"
    return Change(found=found, change=change)


def remove(manager: Manager, plan: Sequence[Change], known: Installed) -> None:
    """Take away what the plan says, the links to it, and the folders that were made for it.

    Raises:
        YaadError: UNAVAILABLE when something cannot be removed.
    """
    for link, path in manager.links():
        if link.is_symlink() and link.readlink() == path:
            with settings_files.readable_errors(link):
                link.unlink()
            with contextlib.suppress(OSError):  # the folder is not empty
                link.parent.rmdir()
    for one in reversed(plan):
        if one.change == "removed":
            with settings_files.readable_errors(one.path):
                one.path.unlink(missing_ok=True)
    for folder in (*known.folders, str(places.default_socket().parent)):
        with contextlib.suppress(OSError):  # the folder is not empty
            Path(folder).rmdir()


def service_state(
    home: Path, environ: Mapping[str, str], *, asking: Run = managers.run
) -> ServiceFacts | None:
    """Return the state of the service, or None when none is installed.

    Args:
        home: the person's home folder.
        environ: of the shell.
        asking: runs the commands of managers.

    Raises:
        YaadError: UNAVAILABLE when the receipt cannot be read.
    """
    known = load()
    here, _ = managers.here(home, environ, asking=asking)
    if known is None:
        with contextlib.suppress(YaadError):  # another data folder's, or unreadable: not ours
            path = None if here is None else unlisted(here)
            return None if path is None else ServiceFacts(unlisted=str(path))
        return None
    manager = managers.by_name(known.manager, Path(known.folder), asking=asking)
    is_reached = manager is not None and here is not None
    masked = tuple(path for path in known.written if is_masked(Path(path)))
    return ServiceFacts(
        altered=tuple(
            path
            for path, written in known.written.items()
            if path not in masked and not _is_as_written(Path(path), written)
        ),
        masked=masked,
        program="" if os.access(known.program or "/", os.X_OK) else known.program,
        is_reached=is_reached,
        runs=is_reached and manager is not None and manager.is_running(),
    )


def _is_as_written(path: Path, written: str) -> bool:
    try:
        return digest(path.read_bytes()) == written
    except OSError:
        return False
