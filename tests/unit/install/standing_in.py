"""Stand-ins for the managers of other machines: they keep what they are told, and obey."""

from dataclasses import dataclass, field

from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.install.managers import Ran


@dataclass
class FakeManager:
    """Answers systemctl and launchctl. `broken`: commands that it does not do;
    `masked`: units that it does not start."""

    unit_path: str = ""
    runs: bool = False
    broken: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    loaded: bool = True
    main_pid: int = 0
    home: str = ""
    told: list[tuple[str, ...]] = field(default_factory=list)

    def __call__(self, command):
        command = tuple(command)
        if command[:2] == ("systemctl", "--user"):
            return self._systemctl(command[2:])
        assert command[0] == "launchctl"
        return self._launchctl(command[1:])

    def _systemctl(self, what):
        if what[0] == "show" and what[1] == "--property=MainPID":
            return Ran(0, f"{self.main_pid}\n")
        if what[0] == "show-environment":
            return Ran(0, f"LANG=C\nHOME={self.home}\nPATH=/bin\n" if self.home else "LANG=C\n")
        if what[0] == "show":
            return Ran(0, self.unit_path) if self.unit_path else Ran(1, err="No medium found\n")
        if what[0] == "is-active":
            return Ran(0 if self.runs else 3)
        if what[0] == "stop" and not self.loaded:
            return Ran(
                5, err="Failed to stop yaadwatch.socket: Unit yaadwatch.socket not loaded.\n"
            )
        return self._do(what)

    def _launchctl(self, what):
        if what[0] == "print":
            return Ran(0 if self.runs or what[1].count("/") == 1 else 113)
        return self._do(what)

    def _do(self, what):
        self.told.append(what)
        if what[0] in self.broken:
            return Ran(1, err="Job failed.\nSee the journal.\n")
        if what[0] in {"start", "restart"} and what[-1] in self.masked:
            return Ran(1, err=f"Failed to start {what[-1]}: Unit {what[-1]} is masked.\n")
        if what[0] in {"start", "bootstrap", "kickstart", "restart"}:
            self.runs = True
        if what[0] in {"stop", "bootout"}:
            self.runs = False
        return Ran(0)


class FakeDaemon:
    """A client of a daemon that runs when the manager says so."""

    def __init__(self, manager):
        self._manager = manager

    def call(self, operation, /, **fields):
        if not self._manager.runs:
            raise DaemonNotRunning
        assert operation == "status"
        return {"daemon": {"running": True, "pid": 4711, "version": "0.1.0"}}

    def close(self):
        """There is no connection."""
