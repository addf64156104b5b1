"""What a service manager hands over is taken once, and what it is told arrives."""

import fcntl
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from yaadwatch.daemon import process
from yaadwatch.daemon.process import Manager

sys.path.append(str(Path(__file__).parents[2] / "integration"))
from handing import BECOME

LOOK = """
import json, os, sys
from yaadwatch.model.errors import YaadError
from yaadwatch.daemon import process as supervision
os.environ["LISTEN_PID"] = sys.argv[1] or str(os.getpid())
try:
    manager = supervision.take_over(os.environ)
except YaadError as error:
    print(json.dumps({"error": error.message, "hint": error.hint}))
    sys.exit()
left = sorted(name for name in os.environ if name.startswith(("LISTEN", "WATCHDOG", "NOTIFY")))
path = None if manager.path is None else str(manager.path)
inherits = manager.listening is not None and manager.listening.get_inheritable()
print(json.dumps({"path": path, "left": left, "inherits": inherits}))
"""


def handed(*files, pid=""):
    """What a process makes of open files that it was given from descriptor 3 on."""
    high = [fcntl.fcntl(file.fileno(), fcntl.F_DUPFD, 20) for file in files]
    try:
        ran = subprocess.run(
            [
                *(sys.executable, "-ISc", BECOME, ",".join(map(str, high))),
                *(sys.executable, "-c", LOOK, pid),
            ],
            env={**os.environ, "LISTEN_FDS": str(len(files))},
            pass_fds=high,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        for descriptor in high:
            os.close(descriptor)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture
def listening(tmp_path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "sock"))
        made.listen()
        yield made


def test_the_socket_is_taken_and_nothing_is_left_for_children(listening, tmp_path):
    assert handed(listening) == {
        "path": str(tmp_path / "sock"),
        "left": [],
        "inherits": False,
    }


def test_what_is_meant_for_another_process_is_left_alone(listening):
    assert handed(listening, pid="1")["path"] is None


def test_what_cannot_be_used_is_told_with_the_way_to_mend_it(tmp_path, listening):
    with socket.socket(socket.AF_INET) as other, open(tmp_path / "file", "wb") as file:
        assert "it is no Unix stream socket" in handed(other)["error"]
        assert "descriptor 3 is no socket" in handed(file)["error"]
        assert "there are 2, and one is wanted" in handed(listening, other)["error"]
        assert "Write the units again: yaadwatch install" in handed(file)["hint"]


@pytest.mark.parametrize("count", ["", "x", "-1", "0", "1e3", "٣"])
def test_a_number_of_sockets_that_is_none_means_no_socket(count):
    environ = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": count}

    assert process.take_over(environ) == Manager()


@pytest.mark.parametrize(
    ("environ", "watchdog_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "60000000"}, 60.0),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": str(os.getpid())}, 0.5),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdog_is_ours_or_nobodys(environ, watchdog_s):
    assert process.take_over(dict(environ)).watchdog_s == watchdog_s


@pytest.mark.parametrize("abstract", [False, True])
def test_news_arrive(tmp_path, abstract):
    address = f"@yaad-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    if abstract and sys.platform != "linux":
        pytest.skip("only Linux has addresses without a file")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hearing:
        hearing.bind("\0" + address[1:] if abstract else address)
        manager = process.take_over({"NOTIFY_SOCKET": address})

        assert manager.tell(READY=1, STATUS="Watches.")

        assert hearing.recv(4096) == b"READY=1\nSTATUS=Watches."


def test_nobody_to_tell_is_no_error(tmp_path):
    assert not Manager().tell(READY=1)
    assert not Manager(address=str(tmp_path / "gone")).tell(READY=1)
