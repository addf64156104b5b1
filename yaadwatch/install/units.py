"""The units of the service for systemd and launchd, and the user's settings file.

`service-units/` holds the same texts for a program in its usual place, with the reason for each
line; a test keeps them equal. The settings are read and changed without a daemon.
"""

import os
import plistlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from xml.parsers.expat import ExpatError

from yaadwatch import places
from yaadwatch.client.presence import LABEL, SOCKET
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo import layout
from yaadwatch.system import config, files, settings_files
from yaadwatch.system.clock import Clock
from yaadwatch.system.files import private_folder, replace_atomically
from yaadwatch.text import privacy, toml
from yaadwatch.text.toml import NotUnderstoodError

MARK: Final = "Written by `yaadwatch install`"
"""In every file of ours; a file without it belongs to others."""
ARGUMENTS: Final = ("daemon", "--supervised")
PATHS: Final = ("/usr/local/bin", "/usr/bin", "/bin")
MAC_PATHS: Final = ("/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
_ODD: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Control characters, and bytes of a path that are no UTF-8."""
SOCKET_BYTES_MAX: Final = 103
"""What a path of a Unix socket may have everywhere."""

_SERVICE: Final = """\
# {mark}, which rewrites it when it differs.
# To change something for good: systemctl --user edit yaadwatch.service
[Unit]
Description=yaadwatch, which keeps the memory of coding agents true
Requires={socket}
After={socket}
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
Environment={path}
{home}Restart=on-failure
RestartSec=1
RestartForceExitStatus=75
SuccessExitStatus=75
WatchdogSec=60
TimeoutStartSec=60
TimeoutStopSec=10
KillMode=mixed
UMask=0077
Nice=5
IOSchedulingClass=best-effort
IOSchedulingPriority=7
OOMScoreAdjust=300
TasksMax=256
LimitNOFILE=8192
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=default.target
"""

_SOCKET: Final = """\
# {mark}, which rewrites it when it differs.
[Unit]
Description=yaadwatch, where its clients reach it

[Socket]
ListenStream={listen}
SocketMode=0600
DirectoryMode=0700
RemoveOnStop=yes
TriggerLimitIntervalSec=0

[Install]
WantedBy=sockets.target
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What is to be run, and where.

    Args:
        program: the command, absolute, without its arguments.
        socket: the path that clients connect to; for systemd it may begin with '%t'.
        path: folders that programs such as git are found in.
        home: the value of YAAD_HOME; None: the default data folder.
        log: for launchd, the file that a start complains to.
    """

    program: tuple[str, ...]
    socket: str
    path: tuple[str, ...] = PATHS
    home: str | None = None
    log: str = ""

    def __post_init__(self) -> None:
        texts = (*self.program, self.socket, *self.path, self.home or "", self.log)
        odd = next((text for text in texts if _ODD.search(text)), None)
        if odd is not None:
            raise YaadError(
                Code.REFUSED,
                f"The path {odd!r} has a character that cannot stand in a unit.",
                hint="Install the program, or set YAAD_HOME, in another folder.",
            )


USUAL: Final = Service(
    program=("%h/.local/bin/yaadwatch",), socket="%t/yaadwatch/daemon.sock", path=PATHS
)
"""As `uv tool install` and `pipx install` leave the program; `service-units/` shows this one."""


def service_unit(service: Service) -> str:
    """Return the text of yaadwatch.service."""
    home = "" if service.home is None else f"Environment={_quoted(f'YAAD_HOME={service.home}')}\n"
    return _SERVICE.format(
        mark=MARK,
        socket=SOCKET,
        command=_command((*service.program, *ARGUMENTS)),
        path=_quoted(f"PATH={':'.join(service.path)}"),
        home=home,
    )


def socket_unit(service: Service) -> str:
    """Return the text of yaadwatch.socket."""
    return _SOCKET.format(mark=MARK, listen=_percent(service.socket))


def launch_agent(service: Service) -> bytes:
    """Return the property list of the launchd agent."""
    variables = {"PATH": ":".join(service.path)}
    if service.home is not None:
        variables["YAAD_HOME"] = service.home
    fields = {
        "Label": LABEL,
        "ProgramArguments": [*service.program, *ARGUMENTS],
        "EnvironmentVariables": variables,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ExitTimeOut": 10,
        "ProcessType": "Background",
        "LowPriorityBackgroundIO": True,
        "LowPriorityIO": True,
        "Nice": 5,
        "Umask": 0o077,
        "SoftResourceLimits": {"NumberOfFiles": 4096},
        "StandardOutPath": service.log,
        "StandardErrorPath": service.log,
    }
    text = plistlib.dumps(fields, sort_keys=False).decode()
    return text.replace("<plist ", f"<!-- {MARK}, which rewrites it. -->\n<plist ", 1).encode()


def data_folder_in(data: bytes) -> str | None:
    """Return the YAAD_HOME in a service unit or a property list; None: there is none."""
    if data.lstrip().startswith(b"<?xml"):
        try:
            home = plistlib.loads(data)["EnvironmentVariables"]["YAAD_HOME"]
        except (ValueError, ExpatError, KeyError, TypeError, IndexError, AttributeError):
            return None
        return home if isinstance(home, str) else None
    found = re.search(
        r'^Environment=(?:YAAD_HOME=(\S*)|"YAAD_HOME=(.*)")$',
        data.decode("utf-8", "replace"),
        flags=re.MULTILINE,
    )
    if found is None:
        return None
    said = re.sub(r"\\(.)", r"\1", found[2]) if found[1] is None else found[1]
    return said.replace("%%", "%")


def _command(words: tuple[str, ...]) -> str:
    """Return a command line in which nothing means anything.

    Systemd takes no quotes and no backslash in the name of a program, and no '$' for a variable
    there; in arguments it takes all of them.
    """
    if re.search(r"[\"'\\]", words[0]):
        words = ("/usr/bin/env", *words)
    program, *arguments = words
    return " ".join([_quoted(program), *(_quoted(one.replace("$", "$$")) for one in arguments)])


def _quoted(text: str) -> str:
    """Return `text` as one value of a unit, quoted where needed."""
    text = _percent(text)
    if re.fullmatch(r"[\w@%+=:,./$-]+", text, flags=re.ASCII):
        return text
    inside = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'


def _percent(text: str) -> str:
    """Return `text` with percent signs doubled, except for systemd's own specifiers."""
    begins = next((place for place in ("%h/", "%t/") if text.startswith(place)), "")
    return begins + text[len(begins) :].replace("%", "%%")


def path() -> Path:
    """Return the file."""
    return places.data_folder() / config.FILE


def list_settings(environ: Mapping[str, str], folder: Path | None = None) -> dict[str, Any]:
    """Return the settings that the next daemon has if it is started from here; as Config.

    Args:
        environ: the variables that it would be started with.
        folder: in a project; those that hold there.

    Raises:
        YaadError: as `system.config.load`.
    """
    loaded = config.load(path(), environ)
    beside = None if folder is None else _repository_above(folder)
    if beside is not None:
        own = config.ProjectSettings(places.data_folder(), Clock().now_ns)
        found = own.load(beside, loaded.settings, loaded.sources)
        loaded = replace(found, warnings=(*loaded.warnings, *found.warnings))
    return {
        "settings": loaded.rows(),
        "project": None if beside is None else str(beside),
        "warnings": [privacy.mask(warning).text for warning in loaded.warnings],
        "running": False,
    }


def _repository_above(folder: Path) -> Path | None:
    """Return the repository folder that may hold settings of its project, if there is one."""
    found = layout.find(folder) if files.near([folder]) else None
    if found is None or not layout.project_id(found.common_dir):
        return None
    return (layout.main_root(found) or found.common_dir) / ".yaad"


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
    """Remove a value from the file, so that the default holds; return whether it was there.

    It need not be a known setting: it may be from an older version, or misspelt.

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
