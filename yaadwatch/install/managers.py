"""The service managers: systemd's user manager, and launchd.

Each knows the places of its files and its commands. Neither writes a file.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from yaadwatch import places
from yaadwatch.client import presence
from yaadwatch.install import units
from yaadwatch.install.units import Service
from yaadwatch.model.errors import Code, YaadError


@dataclass(frozen=True, slots=True)
class Ran:
    """How it ended: its status (127 when there is no such program, 124 when it took too long)."""

    status: int
    out: str = ""
    err: str = ""

    @property
    def went_well(self) -> bool:
        """Say whether its status is 0."""
        return self.status == 0

    @property
    def reason(self) -> str:
        """Return the last line of what it complained about."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return lines[-1] if lines else f"it ended with status {self.status}"


LIMIT_S: Final = 30.0
"""A manager has so long for one command; to end the daemon it takes two seconds."""

Run = Callable[[Sequence[str]], Ran]


class Systemd:
    """The user manager of systemd.

    Args:
        folder: where it looks for the units of this person.
        run: runs a command.

    Commands raise YaadError, UNAVAILABLE.
    """

    name = "systemd"

    def __init__(self, folder: Path, run: Run) -> None:
        self.folder = folder
        self._run = run

    def units(self) -> list[Path]:
        """Return the files of the service: the socket, and the unit."""
        return [self.folder / presence.SOCKET, self.folder / presence.SERVICE]

    def links(self) -> list[tuple[Path, Path]]:
        """Return the links that have both units started with the session, and where they lead."""
        socket, unit = self.units()
        return [
            (self.folder / "sockets.target.wants" / presence.SOCKET, socket),
            (self.folder / "default.target.wants" / presence.SERVICE, unit),
        ]

    def wanted(self, service: Service) -> list[bytes]:
        """Return what the files must hold."""
        return [units.socket_unit(service).encode(), units.service_unit(service).encode()]

    def socket(self) -> str:
        """Return the usual place in the runtime folder, or the one in a home of its own."""
        if os.environ.get("YAAD_HOME"):
            return str(places.default_socket())
        return units.USUAL.socket

    def take(self, changed: Sequence[Path]) -> None:
        """Reload the units; a changed unit applies to what starts after it."""
        if changed:
            self._do("daemon-reload")
        if any(path.name == presence.SOCKET for path in changed):
            self.stop()
        elif changed:
            self._do("try-restart", presence.SERVICE)
        self.start()

    def start(self) -> None:
        """Start both units."""
        self._do("start", presence.SOCKET)
        self._do("start", "--no-block", presence.SERVICE)

    def stop(self) -> None:
        """Stop both units: with the socket alone, the next request would start the daemon."""
        command = ("systemctl", "--user", "stop", presence.SOCKET, presence.SERVICE)
        ran = self._run(command)
        # 5: what it does not know, because the files are gone, does not run.
        if ran.status != 5:
            _require(ran, command)

    def restart(self) -> None:
        """Restart the service under its socket."""
        self._do("start", presence.SOCKET)
        self._do("restart", "--no-block", presence.SERVICE)

    def forget(self) -> None:
        """Reload the units, and reset their failures."""
        self._do("daemon-reload")
        # It may never have failed; then there is nothing to forget, and that is an error to it.
        self._run(("systemctl", "--user", "reset-failed", presence.SERVICE, presence.SOCKET))

    def is_running(self) -> bool:
        """Say whether the socket is there for the next request."""
        command = ("systemctl", "--user", "is-active", "--quiet", presence.SOCKET)
        return self._run(command).went_well

    def runs_as(self, pid: int) -> bool:
        """Say whether process `pid` is the main process of the service."""
        command = ("systemctl", "--user", "show", "--property=MainPID", "--value", presence.SERVICE)
        said = self._run(command).out.strip()
        return said == str(pid) or not said.isdecimal()

    def _do(self, *what: str) -> None:
        _require(self._run(("systemctl", "--user", *what)), ("systemctl", "--user", *what))


class Launchd:
    """launchd, as it runs in the session of a person.

    Args:
        folder: LaunchAgents.
        domain: of the session, such as gui/501.
        run: runs a command.
    """

    name = "launchd"

    def __init__(self, folder: Path, domain: str, run: Run) -> None:
        self.folder = folder
        self._domain = domain
        self._run = run

    @property
    def _plist(self) -> Path:
        return self.folder / f"{presence.LABEL}.plist"

    @property
    def _target(self) -> str:
        return f"{self._domain}/{presence.LABEL}"

    def units(self) -> list[Path]:
        """Return the one property list."""
        return [self._plist]

    def links(self) -> list[tuple[Path, Path]]:
        """Return none: what lies in that folder is started with the session."""
        return []

    def wanted(self, service: Service) -> list[bytes]:
        """Return what the file must hold."""
        return [units.launch_agent(service)]

    def socket(self) -> str:
        """Return where the daemon makes its own socket."""
        return str(places.default_socket())

    def take(self, changed: Sequence[Path]) -> None:
        """Reload a changed agent."""
        if changed and self.is_running():
            self._do("bootout", self._target)
        self.start()

    def start(self) -> None:
        """Load the agent, which starts it; start an agent that is loaded."""
        if self.is_running():
            self._do("kickstart", self._target)
        else:
            self._do("bootstrap", self._domain, str(self._plist))

    def stop(self) -> None:
        """Unload the agent; otherwise it would be started again."""
        if self.is_running():
            self._do("bootout", self._target)

    def restart(self) -> None:
        """Restart the daemon."""
        if self.is_running():
            self._do("kickstart", "-k", self._target)
        else:
            self.start()

    def forget(self) -> None:
        """Do nothing: what was unloaded and has no file is forgotten."""

    def is_running(self) -> bool:
        """Say whether the agent is loaded."""
        return self._run(("launchctl", "print", self._target)).went_well

    def runs_as(self, pid: int) -> bool:
        """Say whether process `pid` is the agent's."""
        said = re.search(
            r"^\s*pid = (\d+)$",
            self._run(("launchctl", "print", self._target)).out,
            flags=re.MULTILINE,
        )
        return self.is_running() if said is None else said[1] == str(pid)

    def _do(self, *what: str) -> None:
        _require(self._run(("launchctl", *what)), ("launchctl", *what))


Manager = Systemd | Launchd


def run(command: Sequence[str]) -> Ran:
    """Run a command of a manager with nothing to read, in the root folder."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=presence.environment(),
            cwd="/",
            timeout=LIMIT_S,
            check=False,
        )
    except OSError as error:
        return Ran(127, err=f"{command[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return Ran(124, err=f"{command[0]} did not end within {LIMIT_S:g} s")
    return Ran(done.returncode, done.stdout, done.stderr)


def here(
    home: Path, environ: Mapping[str, str], *, platform: str = sys.platform, asking: Run = run
) -> tuple[Manager | None, str]:
    """Return the manager of this machine, or None and why there is none.

    Args:
        home: the person's home folder.
        environ: for XDG_CONFIG_HOME.
        platform: as in `sys.platform`.
        asking: runs a command.
    """
    if platform == "darwin":
        domain = f"gui/{os.getuid()}"
        found = asking(("launchctl", "print", domain))
        if not found.went_well:
            return None, f"launchd has no session {domain} ({found.reason})"
        return Launchd(home / "Library" / "LaunchAgents", domain, asking), ""
    if shutil.which("systemctl") is None and asking is run:
        return None, "there is no systemd on this machine"
    # Which folders it reads depends on its variables, not on those of this shell.
    found = asking(("systemctl", "--user", "show", "--property=UnitPath", "--value"))
    if not found.went_well or not found.out.strip():
        return None, f"no systemd runs for this user ({found.reason})"
    config = environ.get("XDG_CONFIG_HOME") or str(home / ".config")
    folders = [f"{config}/systemd/user", f"{home}/.config/systemd/user"]
    read = next((one for one in folders if _is_among(one, found.out)), None)
    if read is None:
        return None, f"the service manager of this user reads no units below {home}"
    # XDG_CONFIG_HOME may lead to where it looks from a HOME that is not its own.
    said = asking(("systemctl", "--user", "show-environment")).out
    its = re.search(r"^HOME=([^$\n]+)$", said, flags=re.MULTILINE)
    if its and not environ.get("YAAD_HOME") and Path(its[1]).resolve() != home.resolve():
        return None, f"the service manager of this user runs services for {its[1]}, not for {home}"
    return Systemd(Path(read), asking), ""


def _is_among(folder: str, said: str) -> bool:
    """Return whether `folder` is one of those that systemd names, links resolved."""
    if any(letter.isspace() for letter in folder):
        return folder in said
    return os.path.realpath(folder) in {os.path.realpath(one) for one in said.split()}


def by_name(name: str, folder: Path, *, asking: Run = run) -> Manager | None:
    """Return the manager that wrote into `folder` once; None when we know none of that name."""
    if name == Systemd.name:
        return Systemd(folder, asking)
    if name == Launchd.name:
        return Launchd(folder, f"gui/{os.getuid()}", asking)
    return None


def unmask(unit: str) -> str:
    """Return the hint for a unit that is masked."""
    return f"systemctl --user unmask {unit}, then: yaadwatch install"


def _require(ran: Ran, command: Sequence[str]) -> None:
    if not ran.went_well:
        masked = re.search(r"\bUnit (\S+) is masked", ran.reason)
        again = "Try it by hand, then run this command again."
        raise YaadError(
            Code.UNAVAILABLE,
            f"`{' '.join(command)}` did not succeed: {ran.reason.rstrip('.')}.",
            hint=f"What it did before that stays. {again}" if masked is None else unmask(masked[1]),
        )
