"""Plan, write and remove the files of the service, and report the state of the service.

The receipt lists a file before it is written, so that an interrupted installation can be removed
too. It is a part of the receipt in our data folder; other parts are kept.
"""

import contextlib
import difflib
import hashlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from yaadwatch import places
from yaadwatch.client.presence import RECEIPT_PART
from yaadwatch.install import managers, units
from yaadwatch.install.managers import Manager, Run, Wanted
from yaadwatch.install.units import Service
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.projects.diagnosis import ServiceFacts
from yaadwatch.system import settings_files
from yaadwatch.system.clock import Clock
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
        home: the data folder that it serves; '' where an older version did not say.
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
    part = settings_files.load(path).get(RECEIPT_PART)
    try:
        return None if part is None else _installed(part)
    except (TypeError, KeyError, AttributeError) as error:
        raise settings_files.UnreadableError(path, f"it makes no sense: {error!r}") from error


def save(installed: Installed | None) -> None:
    """Write down what is installed; with None, that nothing is. An empty receipt goes.

    Raises:
        YaadError: UNAVAILABLE when it cannot be written.
    """
    path = places.receipt()
    said = settings_files.load(path)
    said.pop(RECEIPT_PART, None)
    if installed is not None:
        said[RECEIPT_PART] = _installed_json(installed)
    settings_files.save(path, said)


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


def _installed_json(installed: Installed) -> dict[str, object]:
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


COPIES: Final = "service"
"""The folder of units as people had changed them, beside the backups of projects."""

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What becomes of a file or a link: created, changed, removed, kept or same."""

    wanted: Wanted
    change: str
    before: bytes = b""
    was_edited: bool = False


def require_read(home: Path, manager: Manager) -> None:
    """See that units would be written to where the manager looks for them."""
    if not manager.is_read:
        raise YaadError(
            Code.REFUSED,
            f"The service manager of this user reads no units below {home}; nothing was done.",
            hint="Run it with the HOME and the XDG_CONFIG_HOME of your login. For a trial beside"
            " the service: yaadwatch up",
        )
    # XDG_CONFIG_HOME may lead to where it looks from a HOME that is not its own.
    own = os.environ.get("YAAD_HOME")
    if manager.home is not None and not own and manager.home.resolve() != home.resolve():
        raise YaadError(
            Code.REFUSED,
            f"The service manager of this user runs services for {manager.home}, not for {home};"
            " nothing was done.",
            hint="Run it with the HOME of your login. For a trial beside the service: yaadwatch up",
        )


def require_this_data_folder(path: Path) -> None:
    """Check that a unit of ours was not written for another data folder.

    A trial with another YAAD_HOME, or with a copy of a data folder, would otherwise take the
    service from the memories that it serves.
    """
    is_ours = path.suffix in {".service", ".socket", ".plist"}
    if not is_ours or path.is_symlink() or not path.is_file():
        return
    data = _read(path)
    if units.MARK.encode() not in data:
        return
    if path.suffix == ".socket":
        _require_this_socket(path, data)
        return
    said = units.data_folder_in(data)
    theirs = Path(said) if said is not None else Path.home() / ".yaad"
    if theirs.resolve() != places.data_folder().resolve():
        as_theirs = "env -u YAAD_HOME" if said is None else f"YAAD_HOME={shlex.quote(said)}"
        raise YaadError(
            Code.REFUSED,
            f"{path} runs the daemon for {theirs}, not for {places.data_folder()}. Nothing was "
            "done.",
            hint=f"Beside it: yaadwatch up. To remove it: {as_theirs} yaadwatch uninstall",
        )


def _require_this_socket(path: Path, data: bytes) -> None:
    """Refuse a socket unit that listens for another data folder."""
    said = units.listens_in(data)
    if said is None or path.with_suffix(".service").exists():
        return
    usual = said == units.USUAL.socket
    theirs = Path.home() / ".yaad" if usual else Path(said).parent.parent
    if theirs.resolve() == places.data_folder().resolve():
        return
    raise YaadError(
        Code.REFUSED,
        f"{path} listens on {said}, for {theirs}, not for {places.data_folder()}. Nothing was "
        "done.",
        hint="If its service is gone for good, delete that file. Beside it: yaadwatch up",
    )


def unlisted(home: Path, manager: Manager) -> Path | None:
    """Return a unit that `install` wrote for this data folder and no receipt lists; None: there is
    none.

    Args:
        home: the person's home folder.
        manager: of this machine.

    Raises:
        YaadError: REFUSED when one is for another data folder; UNAVAILABLE when it cannot be read.
    """
    ours = [path for path in manager.units() if path.is_file() and not path.is_symlink()]
    ours = [path for path in ours if units.MARK.encode() in _read(path)]
    if ours:
        require_read(home, manager)
    for path in ours:
        require_this_data_folder(path)
    return next(iter(ours), None)


def planned(wanted: Wanted, known: Installed | None) -> Change:
    """Compare what is wanted with what is there.

    Raises:
        YaadError: REFUSED when what is there is not ours.
    """
    path, ours = wanted.path, _on_receipt(wanted.path, known)
    if wanted.leads_to is not None:
        if path.is_symlink():
            same = os.readlink(path) == str(wanted.leads_to)  # noqa: PTH115
            if same or ours is not None:
                return Change(wanted=wanted, change="same" if same else "changed")
        return _free(wanted)
    if path.is_symlink() or not path.is_file():
        return _free(wanted)
    before = _read(path)
    if before == wanted.data:
        return Change(wanted=wanted, change="same", before=before)
    if ours is None and units.MARK.encode() not in before:
        raise _not_ours(path)
    return Change(
        wanted=wanted,
        change="changed",
        before=before,
        was_edited=ours is None or _digest(before) != ours.digest,
    )


def is_masked(path: Path) -> bool:
    """Return whether a unit leads nowhere, as `systemctl --user mask` makes it."""
    return os.path.realpath(path) == os.devnull


def _free(wanted: Wanted) -> Change:
    if is_masked(wanted.path):
        raise YaadError(
            Code.REFUSED,
            f"{wanted.path} is masked: systemd does not start it; nothing was done.",
            hint=managers.unmask(wanted.path.name),
        )
    if os.path.lexists(wanted.path):
        raise _not_ours(wanted.path)
    return Change(wanted=wanted, change="created")


def _not_ours(path: Path) -> YaadError:
    return YaadError(
        Code.REFUSED,
        f"{path} is there and was not written by `yaadwatch install`; nothing was done.",
        hint="Move it away, then run: yaadwatch install",
    )


def state_of(plan: Sequence[Change], known: Installed | None) -> str:
    """Return what the plan makes of the service: installed, changed or unchanged."""
    if all(one.change == "same" for one in plan):
        return "unchanged"
    return "installed" if known is None else "changed"


def write(
    clock: Clock,
    manager: Manager,
    plan: Sequence[Change],
    known: Installed | None,
    *,
    lingering: bool,
    service: Service,
) -> Iterator[str]:
    """Write the receipt and then the files; yield for each where a copy of it is, or ''."""
    made = {folder for one in plan for folder in settings_files.missing_folders(one.wanted.path)}
    made |= set(known.folders) if known is not None else set()
    save(
        Installed(
            manager=manager.name,
            folder=str(plan[0].wanted.path.parent),
            written=tuple(_written(one.wanted) for one in plan),
            folders=tuple(sorted(made, key=lambda one: (-len(Path(one).parts), one))),
            lingering=lingering or (known is not None and known.lingering),
            program=service.program[0],
            home=str(places.data_folder()),
        )
    )
    for one in plan:
        yield _write_one(clock, one) if one.change != "same" else ""


def _write_one(clock: Clock, one: Change) -> str:
    path, copy = one.wanted.path, ""
    with _os_errors_explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if one.wanted.leads_to is not None:
            path.unlink(missing_ok=True)
            path.symlink_to(one.wanted.leads_to)
            return ""
        if one.was_edited:
            folder = places.backups(COPIES)
            private_folder(folder.parent)
            private_folder(folder)
            kept = folder / f"{clock.now():%Y%m%dT%H%M%S}-{path.name}"
            replace_atomically(kept, one.before)
            copy = str(kept)
        replace_atomically(path, one.wanted.data, 0o644)
    return copy


def removal(written: Written) -> Change:
    """Return the removal of a written file, which is kept if it was changed since."""
    path = Path(written.path)
    leads_to = Path(written.leads_to) if written.leads_to else None
    wanted = Wanted(path=path, leads_to=leads_to)
    if not os.path.lexists(path):
        return Change(wanted=wanted, change="same")
    if leads_to is not None:
        ours = path.is_symlink() and os.readlink(path) == written.leads_to  # noqa: PTH115
        return Change(wanted=wanted, change="removed" if ours else "kept")
    ours = path.is_file() and not path.is_symlink() and _digest(_read(path)) == written.digest
    return Change(wanted=wanted, change="removed" if ours else "kept")


def remove(plan: Sequence[Change], known: Installed) -> None:
    """Take away what the plan says, and the folders that were made for it.

    Raises:
        YaadError: UNAVAILABLE when something cannot be removed.
    """
    for one in reversed(plan):
        if one.change == "removed":
            with _os_errors_explained(one.wanted.path):
                one.wanted.path.unlink(missing_ok=True)
    for folder in known.folders:
        with contextlib.suppress(OSError):  # the folder is not empty
            Path(folder).rmdir()
    with contextlib.suppress(OSError):
        places.default_socket().parent.rmdir()


def row(one: Change, *, diffs: bool = False) -> Answer:
    """Return the row of a file in the answer."""
    row: Answer = {"path": str(one.wanted.path), "change": one.change}
    if one.wanted.leads_to is not None:
        row["target"] = str(one.wanted.leads_to)
    elif diffs and one.change != "same":
        row["diff"] = _diff(str(one.wanted.path), one.before, one.wanted.data)
    return row


def _diff(path: str, before: bytes, after: bytes) -> str:
    old, new = (
        data.decode("utf-8", "replace").splitlines(keepends=True) for data in (before, after)
    )
    return "".join(difflib.unified_diff(old, new, path, path, n=2))


def _written(wanted: Wanted) -> Written:
    if wanted.leads_to is not None:
        return Written(path=str(wanted.path), leads_to=str(wanted.leads_to))
    return Written(path=str(wanted.path), digest=_digest(wanted.data))


def _on_receipt(path: Path, known: Installed | None) -> Written | None:
    rows = known.written if known is not None else ()
    return next((one for one in rows if one.path == str(path)), None)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(path: Path) -> bytes:
    with _os_errors_explained(path, "read"):
        return path.read_bytes()


@contextlib.contextmanager
def _os_errors_explained(path: Path, what: str = "written") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be {what} ({error.strerror}).",
            hint="Look at the disk and at the permissions of the folder, then run it again.",
        ) from error


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
        return None if here is None else _unlisted(home, here)
    masked = tuple(
        one.path for one in known.written if not one.leads_to and is_masked(Path(one.path))
    )
    manager = managers.by_name(known.manager, Path(known.folder), asking=asking)
    is_reached = manager is not None and here is not None
    return ServiceFacts(
        altered=tuple(
            one.path for one in known.written if one.path not in masked and not _stands(one)
        ),
        masked=masked,
        program="" if os.access(known.program or "/", os.X_OK) else known.program,
        is_reached=is_reached,
        runs=is_reached and manager is not None and manager.is_running(),
    )


def _unlisted(home: Path, manager: Manager) -> ServiceFacts | None:
    try:
        path = unlisted(home, manager)
    except YaadError:  # another data folder's, or unreadable: not ours to report
        return None
    return None if path is None else ServiceFacts(unlisted=str(path))


def _stands(written: Written) -> bool:
    path = Path(written.path)
    try:
        if written.leads_to:
            return os.readlink(path) == written.leads_to  # noqa: PTH115
        return hashlib.sha256(path.read_bytes()).hexdigest() == written.digest
    except OSError:
        return False
