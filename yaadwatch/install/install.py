"""Install, remove, start and stop the service. A composition root beside the daemon."""

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from yaadwatch import places
from yaadwatch.client import autostart, presence
from yaadwatch.client.connection import Client, DaemonNotRunning, DaemonUnresponsive
from yaadwatch.install import managers, plans, units
from yaadwatch.install.managers import Manager, Run
from yaadwatch.install.plans import Installed
from yaadwatch.install.units import Service
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import settings_files
from yaadwatch.system.clock import Clock


def installed(environ: Mapping[str, str], *, python: str = sys.executable) -> tuple[str, ...]:
    """Return the absolute command, without arguments.

    A name on PATH that leads to the program that runs now is best: `~/.local/bin/yaadwatch` stays
    the same when the program is upgraded. Else it is the script beside the interpreter, else the
    interpreter itself.

    Raises:
        YaadError: REFUSED when the program lies in a cache, from where it may vanish.
    """
    folder = Path(python).parent
    script = folder / "yaadwatch"
    _refuse_cache(folder, environ)
    if not os.access(script, os.X_OK):
        return (python, "-I", "-m", "yaadwatch")
    known = shutil.which("yaadwatch", path=environ.get("PATH"))
    if known is not None and Path(known).is_absolute() and Path(known).samefile(script):
        return (known,)
    return (str(script),)


def folders(environ: Mapping[str, str], usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return where programs are found: the folder of this person's git, and the usual ones."""
    git = shutil.which("git", path=environ.get("PATH"))
    found = () if git is None else (str(Path(git).parent),)
    own = tuple(one for one in found if one not in usual and Path(one).is_absolute())
    return own + usual


def _refuse_cache(folder: Path, environ: Mapping[str, str]) -> None:
    real = folder.resolve()
    caches = (
        environ.get("UV_CACHE_DIR"),
        environ.get("XDG_CACHE_HOME"),
        "~/.cache",
        "~/Library/Caches",
    )
    for cache in filter(None, caches):
        if real.is_relative_to(Path(cache).expanduser().resolve()):
            raise YaadError(
                Code.REFUSED,
                f"The program lies in a cache ({folder}), from where it may vanish any day;"
                " no service was installed.",
                hint="Install it first: uv tool install yaadwatch. Then: yaadwatch install",
            )


START_TIME_S: Final = 20.0
STOP_TIME_S: Final = 20.0
_PAUSE_S: Final = 0.05

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the service is installed into.

    Args:
        home: the person's home folder.
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
        known = plans.load()
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


def this_machine(client: Client) -> World:
    """Return the world of this process."""
    return World(home=Path.home(), environ=os.environ, client=client, clock=Clock())


def install(world: World, *, dry_run: bool = False) -> Answer:
    """Install the service, or bring it up to date; the answer is Installed.

    Args:
        world: what to work on.
        dry_run: write nothing, and return what would be written.

    Raises:
        YaadError: REFUSED when something of that name is not ours, or the program may vanish;
            UNAVAILABLE when the manager fails, or the daemon does not answer.
    """
    manager, why = world.manager()
    if manager is None:
        return _on_demand(world, why, dry_run=dry_run)
    with _receipt(dry_run):
        known = _known(manager)
        service = _service(world, manager)
        files = dict(zip(manager.units(), manager.wanted(service), strict=True))
        for path in files:
            plans.require_this_data_folder(path)
        plan = [plans.planned(path, data, known) for path, data in files.items()]
        changed = [one.path for one in plan if one.change != "same"]
        state = "unchanged" if not changed else "installed" if known is None else "changed"
        answer: Answer = {
            "dry_run": dry_run,
            "manager": manager.name,
            "state": state,
            "program": list(service.program),
            "files": [one.row(with_diff=dry_run) for one in plan],
        }
        if dry_run:
            return answer
        made = set(known.folders) if known is not None else set()
        made.update(folder for path in files for folder in settings_files.missing_folders(path))
        installed = Installed(
            manager=manager.name,
            folder=str(next(iter(files)).parent),
            written={str(path): plans.digest(data) for path, data in files.items()},
            folders=sorted(made, key=lambda one: (-len(Path(one).parts), one)),
            program=service.program[0],
            home=str(places.data_folder()),
        )
        copies = plans.write(world.clock, manager, plan, installed)
        for one, row in zip(plan, answer["files"], strict=True):
            if one.path in copies:
                row["backup"] = str(copies[one.path])
    answer["ended"] = _end_other(world, manager)
    answer["daemon"] = _run(world, manager, changed)
    return answer


def uninstall(world: World, *, dry_run: bool = False) -> Answer:
    """Stop the service, and take away what the receipt says was written; the answer is Installed.

    Raises:
        YaadError: REFUSED when it has another data folder, or no receipt says what it consists
            of; UNAVAILABLE when the manager fails.
    """
    with _receipt(dry_run):
        found = world.installed()
        if found is None:
            why = _refuse_unlisted(world)
            absent: Answer = {"dry_run": dry_run, "manager": None, "state": "absent", "files": []}
            return absent | ({"why": why} if why else {})
        known, manager = found
        for path in known.written:
            plans.require_this_data_folder(Path(path))
        plan = [plans.removal(Path(path), digest) for path, digest in known.written.items()]
        answer: Answer = {
            "dry_run": dry_run,
            "manager": manager.name,
            "state": "removed",
            "files": [one.row() for one in plan],
        }
        if dry_run:
            return answer
        reachable, why = world.manager()
        if reachable is not None:
            holder = _holder()
            is_service = holder is not None and manager.runs_as(holder)
            manager.stop()
            if is_service:
                _wait_until_gone()
        else:
            answer["why"] = why
        plans.remove(manager, plan, known)
        if reachable is not None:
            manager.forget()
        plans.save(None)
    return answer


def _receipt(dry_run: bool) -> contextlib.AbstractContextManager[None]:
    """Keep other commands from writing the receipt meanwhile."""
    lock = places.receipt().with_suffix(".lock")
    return contextlib.nullcontext() if dry_run else settings_files.alone(lock)


def _holder() -> int | None:
    """Return the pid of the daemon, when one holds the lock."""
    return places.announced_pid() if presence.daemon_holds_lock() else None


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
    """Stop the service, if the daemon is one; return the name of its manager."""
    manager = _reachable(world)
    if manager is None:
        return None
    manager.stop()
    return manager.name


def restart(world: World) -> Answer:
    """Restart the daemon; requests wait meanwhile.

    Raises:
        YaadError: as for `start`.
    """
    before, manager = _holder(), _reachable(world)
    if manager is not None:
        _end_other(world, manager)
        manager.restart()
        return {"by": manager.name, "daemon": _answering(world, other_than=before)}
    try:
        world.client.call("shutdown")
    except DaemonUnresponsive:
        if presence.daemon_holds_lock():
            raise presence.still_there("does not answer") from None
    except DaemonNotRunning:
        pass
    _wait_until_gone()
    autostart.start()
    return {"by": None, "daemon": _answering(world)}


def _reachable(world: World) -> Manager | None:
    """Return the manager of this data folder's service; None: no service, or out of reach.

    A container that shares the data folder, or a copy of it, has the receipt and no manager.
    """
    found = world.installed() if presence.manager() is not None else None
    return None if found is None or world.manager()[0] is None else found[1]


def _known(manager: Manager) -> Installed | None:
    known = plans.load()
    if known is not None and known.manager != manager.name:
        raise YaadError(
            Code.REFUSED,
            f"The service is installed with {known.manager} ({known.folder}). Nothing was done.",
            hint="Remove it there first: yaadwatch uninstall",
        )
    return known


def _refuse_unlisted(world: World) -> str:
    """Refuse when a service is installed that no receipt lists.

    Returns:
        The service of another data folder, as text; '' when there is none.
    """
    manager, _ = world.manager()
    try:
        path = None if manager is None else plans.unlisted(manager)
    except YaadError as error:
        if error.code is not Code.REFUSED:
            raise
        return error.message
    if path is not None:
        raise YaadError(
            Code.REFUSED,
            f"{path} was written by `yaadwatch install`, and no receipt says so any more; nothing"
            " was done.",
            hint="Write it again, then remove it: yaadwatch install && yaadwatch uninstall",
        )
    return ""


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
        program=installed(world.environ),
        socket=socket,
        path=folders(world.environ, usual),
        home=str(places.data_folder()) if world.environ.get("YAAD_HOME") else None,
        log=str(places.start_log()),
    )


def _end_other(world: World, manager: Manager) -> int | None:
    """End a daemon that runs without the service and holds the lock; return its pid."""
    if manager.is_running() or not presence.daemon_holds_lock():
        return None
    pid = places.announced_pid()
    with contextlib.suppress(DaemonNotRunning):
        world.client.call("shutdown")
    _wait_until_gone()
    return pid


def _run(world: World, manager: Manager, changed: Sequence[Path]) -> Answer:
    before = _holder()
    try:
        manager.take(changed)
        return _answering(world, other_than=before if changed else None)
    except YaadError as error:
        raise YaadError(
            error.code,
            f"The service is installed, and does not run: {error.message}",
            hint=error.hint,
        ) from error


def _answering(world: World, *, other_than: int | None = None) -> Answer:
    """Return the daemon's status once one answers that is not process `other_than`."""
    until = time.monotonic() + START_TIME_S
    while True:
        daemon: Answer = {}
        with contextlib.suppress(DaemonNotRunning):
            daemon = dict(world.client.call("status")["daemon"])
        if daemon and daemon.get("pid") != other_than:
            return daemon
        world.client.close()
        if time.monotonic() >= until:
            raise YaadError(
                Code.UNAVAILABLE,
                f"No daemon answered within {START_TIME_S:g} s of being started.",
                hint="What it wrote: yaadwatch logs, or journalctl --user -u yaadwatch",
            )
        time.sleep(_PAUSE_S)


def _on_demand(world: World, why: str, *, dry_run: bool) -> Answer:
    """Report that there is no service manager, and start the daemon as commands do."""
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


def _wait_until_gone() -> None:
    if not presence.wait_for_exit(STOP_TIME_S):
        raise presence.still_there(f"has not ended after {STOP_TIME_S:g} s")
