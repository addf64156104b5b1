"""Install the service and remove it, start and stop it: look first, decide, then write.

A composition root beside the daemon. What will be written stands on the receipt before it is, so
that an installation that was cut off can be taken back, too.
"""

import contextlib
import difflib
import hashlib
import os
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from yaadwatch import places
from yaadwatch.client import autostart, presence
from yaadwatch.client.connection import Client, NobodyListens
from yaadwatch.installing import managers, program, receipt, units
from yaadwatch.installing.managers import Manager, Run, Wanted
from yaadwatch.installing.receipt import Installed, Written
from yaadwatch.installing.units import Service
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import settings_files
from yaadwatch.system.clock import Clock
from yaadwatch.system.files import private_folder, replace_atomically

START_TIME_S: Final = 20.0
STOP_TIME_S: Final = 20.0
COPIES: Final = "service"
"""The folder of units as people had changed them, beside the backups of projects."""
_PAUSE_S: Final = 0.05
_CONTEXT_LINES: Final = 2

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the service is installed into.

    Args:
        home: of the person.
        environ: of the shell.
        client: asks the daemon, and starts none.
        clock: names copies.
        platform: as in `sys.platform`.
        asking: runs the commands of managers.
    """

    home: Path
    environ: Mapping[str, str]
    client: Client
    clock: Clock
    platform: str = sys.platform
    asking: Run = managers.run

    def manager(self) -> tuple[Manager | None, str]:
        """Return the manager of this machine, or None and why there is none."""
        return managers.here(self.home, self.environ, platform=self.platform, asking=self.asking)

    def installed(self) -> tuple[Installed, Manager] | None:
        """Return what is installed here, and its manager."""
        known = receipt.load()
        if known is None:
            return None
        manager = managers.by_name(known.manager, Path(known.folder), asking=self.asking)
        if manager is None:
            raise YaadError(
                Code.UNAVAILABLE,
                f"The service was installed with {known.manager!r}, which this version does not"
                " know. Nothing was done.",
                hint=f"What was written stands in {places.receipt()}",
            )
        return known, manager


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What becomes of a file or a link: created, changed, removed, kept or same."""

    wanted: Wanted
    change: str
    before: bytes = b""
    was_edited: bool = False


def this_machine(client: Client) -> World:
    """Return the world of this process."""
    return World(home=Path.home(), environ=os.environ, client=client, clock=Clock())


def install(world: World, *, dry_run: bool = False, linger: bool = False) -> Answer:
    """Install the service, or bring it up to date; the answer is Installed.

    Args:
        world: what to work on.
        dry_run: write nothing, and tell what would be.
        linger: have it run without a session, too.

    Raises:
        YaadError: REFUSED when something of that name is not ours, or the program may vanish;
            UNAVAILABLE when the manager does not do what it is told, or the daemon does not answer.
    """
    manager, why = world.manager()
    if manager is None:
        return _on_demand(world, why, dry_run=dry_run, linger=linger)
    with contextlib.nullcontext() if dry_run else receipt.alone():
        known = _known(manager)
        _require_read(world, manager)
        service = _service(world, manager)
        wanted = manager.wanted(service)
        for row in wanted:
            _require_this_home(row.path)
        plan = [_planned(one, known) for one in wanted]
        lingers = managers.lingers(world.asking) if linger else None
        answer: Answer = {
            "dry_run": dry_run,
            "manager": manager.name,
            "state": _state(plan, known),
            "program": list(service.program),
            "files": [_row(one, diffs=dry_run) for one in plan],
        }
        if linger and lingers is None:
            raise YaadError(
                Code.UNAVAILABLE,
                "This machine has no loginctl that answers, so that services end with the session."
                " Nothing was done.",
                hint="Without it: yaadwatch install",
            )
        if dry_run:
            return answer
        asks_to_linger = linger and not lingers
        for one, copy in zip(
            plan,
            _write(world, manager, plan, known, lingering=asks_to_linger, service=service),
            strict=True,
        ):
            if copy:
                answer["files"][plan.index(one)]["backup"] = copy
        if asks_to_linger:
            managers.linger(True, world.asking)
    answer["ended"] = _end_other(world, manager)
    answer["daemon"] = _run(world, manager, [one for one in plan if one.change != "same"])
    return answer


def uninstall(world: World, *, dry_run: bool = False) -> Answer:
    """Stop the service, and take away what the receipt says was written; the answer is Installed.

    Raises:
        YaadError: REFUSED when the service is another home's; UNAVAILABLE when the manager does not
            do what it is told.
    """
    with contextlib.nullcontext() if dry_run else receipt.alone():
        found = world.installed()
        if found is None:
            return {"dry_run": dry_run, "manager": None, "state": "absent", "files": []}
        known, manager = found
        for one in known.written:
            _require_this_home(Path(one.path))
        plan = [_removal(one) for one in known.written]
        answer: Answer = {
            "dry_run": dry_run,
            "manager": manager.name,
            "state": "removed",
            "files": [_row(one) for one in plan],
        }
        if dry_run:
            return answer
        reachable, why = world.manager()
        if reachable is not None:
            holder = places.announced_pid() if presence.daemon_holds_lock() else None
            is_service = holder is not None and manager.runs_as(holder)
            manager.stop()
            if is_service:
                _wait_until_gone()
        else:
            answer["why"] = why
        _remove(plan, known)
        if reachable is not None:
            manager.forget()
        if known.lingering:
            managers.linger(False, world.asking)
        receipt.save(None)
    return answer


def start(world: World) -> Answer:
    """Start the daemon as a service, or in the background where it is none.

    Raises:
        YaadError: UNAVAILABLE when it does not answer, with the reason where one is known.
    """
    ran = presence.daemon_holds_lock()
    manager = _reachable(world)
    if manager is None:
        autostart.start()
    else:
        manager.start()
    by = None if manager is None else manager.name
    return {"started": not ran, "by": by, "daemon": _answering(world)}


def stop(world: World) -> str | None:
    """Stop the service, if the daemon is one; return the name of the manager that was told."""
    manager = _reachable(world)
    if manager is None:
        return None
    manager.stop()
    return manager.name


def restart(world: World) -> Answer:
    """End the daemon and start it anew; who asks meanwhile waits.

    Raises:
        YaadError: as for `start`.
    """
    before = places.announced_pid() if presence.daemon_holds_lock() else None
    manager = _reachable(world)
    if manager is not None:
        _end_other(world, manager)
        manager.restart()
        return {"by": manager.name, "daemon": _answering(world, other_than=before)}
    with contextlib.suppress(NobodyListens):
        world.client.call("shutdown")
    _wait_until_gone()
    autostart.start()
    return {"by": None, "daemon": _answering(world)}


def _reachable(world: World) -> Manager | None:
    """Return the manager of the service; None: there is no service, or it cannot be asked.

    A container that shares the home has the receipt, and no manager.
    """
    found = world.installed()
    return None if found is None or world.manager()[0] is None else found[1]


def _require_read(world: World, manager: Manager) -> None:
    """See that units would be written to where the manager looks for them."""
    if not manager.is_read:
        raise YaadError(
            Code.REFUSED,
            f"The service manager of this user reads no units below {world.home}; nothing was"
            " done.",
            hint="Run it with the HOME and the XDG_CONFIG_HOME of your login. For a trial beside"
            " the service: yaadwatch up",
        )


def _require_this_home(path: Path) -> None:
    """See that a unit of ours was not written for another home.

    A trial with a YAAD_HOME of its own, or with a copy of a home, would otherwise take the service
    from the memories that it serves.
    """
    if path.suffix not in {".service", ".plist"} or path.is_symlink() or not path.is_file():
        return
    data = _read(path)
    if units.MARK.encode() not in data:
        return
    said = units.home_in(data)
    theirs = Path(said) if said is not None else Path.home() / ".yaad"
    if theirs.resolve() != places.home().resolve():
        as_theirs = "env -u YAAD_HOME" if said is None else f"YAAD_HOME={shlex.quote(said)}"
        raise YaadError(
            Code.REFUSED,
            f"{path} runs the daemon for {theirs}, not for {places.home()}. Nothing was done.",
            hint=f"Beside it: yaadwatch up. To remove it: {as_theirs} yaadwatch uninstall",
        )


def _known(manager: Manager) -> Installed | None:
    known = receipt.load()
    if known is not None and known.manager != manager.name:
        raise YaadError(
            Code.REFUSED,
            f"The service is installed with {known.manager} ({known.folder}). Nothing was done.",
            hint="Remove it there first: yaadwatch uninstall",
        )
    return known


def _service(world: World, manager: Manager) -> Service:
    usual = units.MAC_PATHS if world.platform == "darwin" else units.PATHS
    socket = manager.socket()
    if len(os.fsencode(socket)) > units.SOCKET_BYTES_MAX:
        raise YaadError(
            Code.REFUSED,
            f"The path of the socket, {socket}, has more than {units.SOCKET_BYTES_MAX} bytes;"
            " no service was installed.",
            hint="Set YAAD_HOME to a folder with a shorter path.",
        )
    return Service(
        program=program.installed(world.environ),
        socket=socket,
        path=program.folders(world.environ, usual),
        home=str(places.home()) if world.environ.get("YAAD_HOME") else None,
        log=str(places.start_log()),
    )


def _planned(wanted: Wanted, known: Installed | None) -> _Change:
    """Compare what is wanted with what is there.

    Raises:
        YaadError: REFUSED when what is there is not ours.
    """
    path, ours = wanted.path, _on_receipt(wanted.path, known)
    if wanted.leads_to is not None:
        if path.is_symlink():
            same = os.readlink(path) == str(wanted.leads_to)  # noqa: PTH115
            if same or ours is not None:
                return _Change(wanted=wanted, change="same" if same else "changed")
        return _free(wanted)
    if path.is_symlink() or not path.is_file():
        return _free(wanted)
    before = _read(path)
    if before == wanted.data:
        return _Change(wanted=wanted, change="same", before=before)
    if ours is None and units.MARK.encode() not in before:
        raise _not_ours(path)
    return _Change(
        wanted=wanted,
        change="changed",
        before=before,
        was_edited=ours is None or _digest(before) != ours.digest,
    )


def _free(wanted: Wanted) -> _Change:
    if os.path.lexists(wanted.path):
        raise _not_ours(wanted.path)
    return _Change(wanted=wanted, change="created")


def _not_ours(path: Path) -> YaadError:
    return YaadError(
        Code.REFUSED,
        f"{path} is there and was not written by `yaadwatch install`; nothing was done.",
        hint="Move it away, then run: yaadwatch install",
    )


def _state(plan: Sequence[_Change], known: Installed | None) -> str:
    if all(one.change == "same" for one in plan):
        return "unchanged"
    return "installed" if known is None else "changed"


def _write(
    world: World,
    manager: Manager,
    plan: Sequence[_Change],
    known: Installed | None,
    *,
    lingering: bool,
    service: Service,
) -> Iterator[str]:
    """Write the receipt and then the files; yield for each where a copy of it is, or ''."""
    made = {folder for one in plan for folder in settings_files.missing_folders(one.wanted.path)}
    made |= set(known.folders) if known is not None else set()
    receipt.save(
        Installed(
            manager=manager.name,
            folder=str(plan[0].wanted.path.parent),
            written=tuple(_written(one.wanted) for one in plan),
            folders=tuple(sorted(made, key=lambda one: (-len(Path(one).parts), one))),
            lingering=lingering or (known is not None and known.lingering),
            program=service.program[0],
        )
    )
    for one in plan:
        yield _write_one(world, one) if one.change != "same" else ""


def _write_one(world: World, one: _Change) -> str:
    path, copy = one.wanted.path, ""
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if one.wanted.leads_to is not None:
            path.unlink(missing_ok=True)
            path.symlink_to(one.wanted.leads_to)
            return ""
        if one.was_edited:
            folder = places.backups(COPIES)
            private_folder(folder.parent)
            private_folder(folder)
            kept = folder / f"{world.clock.now():%Y%m%dT%H%M%S}-{path.name}"
            replace_atomically(kept, one.before)
            copy = str(kept)
        replace_atomically(path, one.wanted.data, 0o644)
    return copy


def _end_other(world: World, manager: Manager) -> int | None:
    """End a daemon that runs by itself and holds the lock; return its pid."""
    if manager.is_running() or not presence.daemon_holds_lock():
        return None
    pid = places.announced_pid()
    with contextlib.suppress(NobodyListens):
        world.client.call("shutdown")
    _wait_until_gone()
    return pid


def _run(world: World, manager: Manager, changed: Sequence[_Change]) -> Answer:
    before = places.announced_pid() if presence.daemon_holds_lock() else None
    replaces = bool(changed) and before is not None
    try:
        manager.take([one.wanted.path for one in changed])
        return _answering(world, other_than=before if replaces else None)
    except YaadError as error:
        raise YaadError(
            error.code,
            f"The service is installed, and does not run: {error.message}",
            hint=error.hint,
        ) from error


def _answering(world: World, *, other_than: int | None = None) -> Answer:
    """Return what the daemon says of itself, once one answers that is not process `other_than`."""
    until = time.monotonic() + START_TIME_S
    while True:
        told: Answer = {}
        with contextlib.suppress(NobodyListens):
            told = dict(world.client.call("status")["daemon"])
        if told and told.get("pid") != other_than:
            return told
        world.client.close()
        if time.monotonic() >= until:
            raise YaadError(
                Code.UNAVAILABLE,
                f"No daemon answered within {START_TIME_S:g} s of being started.",
                hint="What it wrote: yaadwatch logs, or journalctl --user -u yaadwatch",
            )
        time.sleep(_PAUSE_S)


def _on_demand(world: World, why: str, *, dry_run: bool, linger: bool) -> Answer:
    """Say that there is nothing to install into, and start the daemon as commands do."""
    if linger:
        raise YaadError(
            Code.REFUSED,
            f"No service manager runs here: {why}. Nothing was done.",
            hint="Commands and agents start the daemon when they need it.",
        )
    answer: Answer = {
        "dry_run": dry_run,
        "manager": None,
        "state": "on_demand",
        "why": why,
        "files": [],
    }
    if not dry_run:
        if not presence.daemon_holds_lock():
            autostart.start()
        answer["daemon"] = _answering(world)
    return answer


def _removal(written: Written) -> _Change:
    """Return what becomes of what was written: it goes, unless somebody has changed it."""
    path = Path(written.path)
    leads_to = Path(written.leads_to) if written.leads_to else None
    wanted = Wanted(path=path, leads_to=leads_to)
    if not os.path.lexists(path):
        return _Change(wanted=wanted, change="same")
    if leads_to is not None:
        ours = path.is_symlink() and os.readlink(path) == written.leads_to  # noqa: PTH115
        return _Change(wanted=wanted, change="removed" if ours else "kept")
    ours = path.is_file() and not path.is_symlink() and _digest(_read(path)) == written.digest
    return _Change(wanted=wanted, change="removed" if ours else "kept")


def _remove(plan: Sequence[_Change], known: Installed) -> None:
    for one in reversed(plan):
        if one.change == "removed":
            with _told(one.wanted.path):
                one.wanted.path.unlink(missing_ok=True)
    for folder in known.folders:
        with contextlib.suppress(OSError):  # somebody has put something there
            Path(folder).rmdir()
    with contextlib.suppress(OSError):
        places.default_socket().parent.rmdir()


def _wait_until_gone() -> None:
    if not presence.wait_until_gone(STOP_TIME_S):
        raise YaadError(
            Code.UNAVAILABLE,
            f"Process {places.announced_pid()} holds the daemon's lock and has not ended after"
            f" {STOP_TIME_S:g} s; it was left alone.",
            hint=f"Its log says what it does. To end it: kill {places.announced_pid()}",
        )


def _row(one: _Change, *, diffs: bool = False) -> Answer:
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
    return "".join(difflib.unified_diff(old, new, path, path, n=_CONTEXT_LINES))


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
    with _told(path, "read"):
        return path.read_bytes()


@contextlib.contextmanager
def _told(path: Path, what: str = "written") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be {what} ({error.strerror}).",
            hint="Look at the disk and at the permissions of the folder, then run it again.",
        ) from error
