"""What the service is, in the words of systemd and of launchd.

`service-units/` holds the same texts for a program in its usual place, with the reason of each
line; a test keeps them equal.
"""

import plistlib
import re
from dataclasses import dataclass
from typing import Final
from xml.parsers.expat import ExpatError

from yaadwatch.client.service import LABEL, SOCKET
from yaadwatch.model.errors import Code, YaadError

MARK: Final = "Written by `yaadwatch install`"
"""Stands in every file of ours; a file without it is somebody else's."""
ARGUMENTS: Final = ("daemon", "--supervised")
PATHS: Final = ("/usr/local/bin", "/usr/bin", "/bin")
MAC_PATHS: Final = ("/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
_ODD: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Control characters, and bytes of a path that are no UTF-8."""
SOCKET_BYTES_MAX: Final = 103
"""What a path of a Unix socket may have everywhere."""

_SERVICE: Final = """\
# {mark}, which writes it anew when it differs.
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
# {mark}, which writes it anew when it differs.
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
        home: the value of YAAD_HOME; None: our folder is where it always is.
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
    home = "" if service.home is None else f"Environment={_said(f'YAAD_HOME={service.home}')}\n"
    return _SERVICE.format(
        mark=MARK,
        socket=SOCKET,
        command=_command((*service.program, *ARGUMENTS)),
        path=_said(f"PATH={':'.join(service.path)}"),
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
    told = {
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
    text = plistlib.dumps(told, sort_keys=False).decode()
    return text.replace("<plist ", f"<!-- {MARK}, which writes it anew. -->\n<plist ", 1).encode()


def home_in(data: bytes) -> str | None:
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


def listens_in(data: bytes) -> str | None:
    """Return where a socket unit listens, as it stands there; None: it does not say."""
    found = re.search(r"^ListenStream=(.+)$", data.decode("utf-8", "replace"), flags=re.MULTILINE)
    return None if found is None else found[1].replace("%%", "%")


def _command(words: tuple[str, ...]) -> str:
    """Return a command line in which nothing means anything.

    Systemd takes no quotes and no backslash in the name of a program, and no '$' for a variable
    there; in arguments it takes all of them.
    """
    if re.search(r"[\"'\\]", words[0]):
        words = ("/usr/bin/env", *words)
    program, *arguments = words
    return " ".join([_said(program), *(_said(one.replace("$", "$$")) for one in arguments)])


def _said(text: str) -> str:
    """Return `text` as one value of a unit, in quotes where it needs them."""
    text = _percent(text)
    if re.fullmatch(r"[\w@%+=:,./$-]+", text, flags=re.ASCII):
        return text
    inside = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'


def _percent(text: str) -> str:
    """Return `text` with its percent signs doubled, but for the places that systemd fills in."""
    begins = next((place for place in ("%h/", "%t/") if text.startswith(place)), "")
    return begins + text[len(begins) :].replace("%", "%%")
