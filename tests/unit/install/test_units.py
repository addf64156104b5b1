"""The texts of the service: as they are shown, as systemd and launchd take them, any path."""

import os
import plistlib
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from refusals import refusal

from yaadwatch.install import units
from yaadwatch.install.units import USUAL, Service
from yaadwatch.model.errors import Code

SHOWN = Path(__file__).parents[3] / "service-units"
README = (SHOWN / "README.md").read_text(encoding="utf-8")
MAC = Service(
    program=("/Users/ada/.local/bin/yaadwatch",),
    socket="/Users/ada/.yaad/run/daemon.sock",
    path=units.MAC_PATHS,
    log="/Users/ada/.yaad/log/start.log",
)
ODD = '/srv/a b/100%/$HOME/"x"/it\'s\\n/yaadwatch'


def test_what_is_shown_is_what_is_installed():
    assert (SHOWN / "yaadwatch.service").read_text() == units.service_unit(USUAL)
    assert (SHOWN / "yaadwatch.socket").read_text() == units.socket_unit(USUAL)
    assert (SHOWN / "dev.yaadwatch.daemon.plist").read_bytes() == units.launch_agent(MAC)


def _said():
    lines = units.service_unit(USUAL) + units.socket_unit(USUAL)
    systemd = re.findall(r"^(\w+)=", lines, flags=re.MULTILINE)
    return sorted({*systemd, *plistlib.loads(units.launch_agent(MAC))})


@pytest.mark.parametrize("name", _said())
def test_every_line_has_its_reason(name):
    assert re.search(rf"`{name}[=`]", README)


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None
    and "systemd" not in os.environ.get("YAAD_REQUIRE", "").split(","),
    reason="there is no systemd-analyze",
)
@pytest.mark.parametrize("odd", ["", ODD, "/a $HOME/100%/yaadwatch", "/it's/yaadwatch"])
def test_systemd_has_nothing_to_say_against_the_units(tmp_path, odd):
    program = tmp_path / (odd[1:] or ".local/bin/yaadwatch")
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    service = USUAL
    if odd:
        service = replace(
            USUAL,
            program=(str(program),),
            socket=str(tmp_path / "100% of it" / "sock"),
            home=odd,
        )
    (tmp_path / "yaadwatch.service").write_text(units.service_unit(service))
    (tmp_path / "yaadwatch.socket").write_text(units.socket_unit(service))
    (tmp_path / "run").mkdir(mode=0o700)

    ran = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", "--recursive-errors=yes"]
        + [str(tmp_path / name) for name in ("yaadwatch.service", "yaadwatch.socket")],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )

    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_home_of_its_own_is_told_to_the_daemon():
    text = units.service_unit(replace(USUAL, home="/srv/my yaad"))

    assert 'Environment="YAAD_HOME=/srv/my yaad"\n' in text
    assert "YAAD_HOME" not in units.service_unit(USUAL)
    variables = plistlib.loads(units.launch_agent(replace(MAC, home="/x y")))[
        "EnvironmentVariables"
    ]
    assert variables["YAAD_HOME"] == "/x y"


def test_nothing_in_a_path_means_anything_to_systemd():
    (line,) = re.findall(
        r"^ExecStart=.*$", units.service_unit(replace(USUAL, program=(ODD,))), re.M
    )

    assert line.startswith("ExecStart=/usr/bin/env ")
    assert "$$HOME" in line
    assert "100%%/" in line
    assert '\\"x\\"' in line
    assert "\\\\n/" in line


@pytest.mark.parametrize("path", ["/a\nExecStartPre=/bin/x", "/a\tb", "/a\x7f", "/a\0b", "/\udcff"])
def test_a_path_that_would_end_the_line_is_refused(path):
    error = refusal(Service, program=(path,), socket="/s")

    assert error.code is Code.REFUSED
    assert "another folder" in error.hint


LAUNCHD = {
    "Label": str,
    "ProgramArguments": list,
    "EnvironmentVariables": dict,
    "RunAtLoad": bool,
    "KeepAlive": dict,
    "ThrottleInterval": int,
    "ExitTimeOut": int,
    "ProcessType": str,
    "LowPriorityBackgroundIO": bool,
    "LowPriorityIO": bool,
    "Nice": int,
    "Umask": int,
    "SoftResourceLimits": dict,
    "StandardOutPath": str,
    "StandardErrorPath": str,
}
"""Keys of launchd.plist(5) that we use, and the kind of their values."""
KEEP_ALIVE = {"SuccessfulExit": bool, "Crashed": bool}


def wrong(data):
    """What launchd would not take, or would take in another sense than we mean."""
    said = plistlib.loads(data)
    found = [key for key, value in said.items() if type(value) is not LAUNCHD.get(key)]
    found += [
        key for key, value in said["KeepAlive"].items() if type(value) is not KEEP_ALIVE.get(key)
    ]
    if said["ProcessType"] not in {"Background", "Standard", "Adaptive", "Interactive"}:
        found.append("ProcessType")
    paths = (said["ProgramArguments"][0], said["StandardOutPath"], said["StandardErrorPath"])
    found += [path for path in paths if not path.startswith("/")]
    texts = (*said["ProgramArguments"], *said["EnvironmentVariables"].values(), *paths)
    # launchd expands neither.
    return found + [text for text in texts if not isinstance(text, str) or text.startswith("~")]


def test_the_agent_says_only_what_launchd_understands():
    assert wrong(units.launch_agent(MAC)) == []
    assert plistlib.loads(units.launch_agent(MAC))["ProgramArguments"][1:] == [
        "daemon",
        "--supervised",
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"KeepAlive": {"SuccesfulExit": False}},
        {"Nice": "5"},
        {"Sleep": 5},
        {"ProcessType": "Lazy"},
        {"ProgramArguments": ["~/bin/yaadwatch"]},
        {"StandardOutPath": "log"},
    ],
)
def test_what_launchd_would_not_take_is_found(change):
    said = plistlib.loads(units.launch_agent(MAC)) | change

    assert wrong(plistlib.dumps(said)) != []


def test_an_agent_with_an_odd_path_says_just_that_path():
    said = plistlib.loads(units.launch_agent(replace(MAC, program=(ODD,))))

    assert said["ProgramArguments"][0] == ODD


def test_every_file_says_who_wrote_it():
    for text in (units.service_unit(USUAL), units.socket_unit(USUAL)):
        assert units.MARK in text.splitlines()[0]
    assert units.MARK.encode() in units.launch_agent(MAC)
