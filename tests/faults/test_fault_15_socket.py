"""Fault 15: clients that are many, slow, loud, rude or somebody else.

Each limit by itself is tested in `tests/integration/test_socket.py`; here is what a real daemon,
with its real limits, goes through while it goes on working.
"""

import contextlib
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from living_daemon import Living, Shop, required
from waiting import wait_until

from yaadwatch import places
from yaadwatch.model.errors import Code, YaadError

CONNECTIONS = 1_000
MIB = 1024 * 1024
LOUD = 16
LOUD_BYTES = 10 * MIB
GROWTH_BYTES = 100 * MIB
"""Less than what the loud ones sent, or than 128 KiB for each connection."""
HELLO = {"protocol": 1, "client": "rude/1", "cwd": "/", "agent": None, "speaks": "rpc"}
LOOK = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
with socket.socket(socket.AF_UNIX) as other:
    other.connect(sys.argv[1])
    sys.stdout.write(other.recv(4096).decode())
"""


def connected():
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(100)
    one.connect(str(places.default_socket()))
    return one


def said_to(one, data):
    """Send bytes, as far as somebody takes them; return the first line of the answer."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        one.sendall(data)
    with one.makefile("rb") as lines:
        return json.loads(lines.readline())


def is_too_loud():
    """Send a line that is far too long, and see it refused."""
    with contextlib.closing(connected()) as loud:
        told = said_to(loud, b"x" * LOUD_BYTES + b"\n")
    assert told["error"]["code"] == "too_large"


def has_room(machine):
    """Say whether a client more is served; until the last ones have left, none is."""
    try:
        return machine.answers()
    except YaadError as error:
        if error.code is Code.UNAVAILABLE:
            return False
        raise


def test_a_thousand_connections_slow_and_loud_ones_and_it_works_on(machine, shop):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS * 2 + 200
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"only {hard} open files are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    is_too_loud()
    before = machine.rss_bytes()
    many = []
    try:
        for _ in range(CONNECTIONS):
            with contextlib.suppress(BlockingIOError):
                many.append(connected())
        for one in many[::2]:
            with contextlib.suppress(OSError):
                one.sendall(b'{"protocol"')  # half a line, and then nothing
    finally:
        for one in many:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    wait_until(lambda: has_room(machine), "room after them")
    for _ in range(LOUD):
        is_too_loud()
    with contextlib.closing(connected()) as garbage:
        told = said_to(garbage, b"\xff\x00 what is this\n")
    assert told["error"]["code"] == "bad_request"
    with contextlib.closing(connected()) as slow:
        assert said_to(slow, json.dumps(HELLO).encode() + b"\n")
        slow.sendall(b'{"jsonrpc": "2.0", "id": 1, "met')
        shop.edit(0, 7)
        shop.settles()
    grown = machine.rss_bytes() - before
    print({"grown_bytes": grown})
    assert grown < GROWTH_BYTES
    assert machine.logged("service.crashed") == 0


def test_the_socket_file_of_a_daemon_that_was_killed_is_replaced(machine, shop):
    machine.kill()
    assert places.default_socket().is_socket()
    assert not machine.answers()

    machine.live()

    shop.edit(0, 7)
    shop.settles()


@pytest.fixture
def open_folder():
    """A folder that other users can enter."""
    folder = Path(tempfile.mkdtemp(prefix="yaad-uid-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_another_user_is_answered_nothing_whatever_the_modes_are(open_folder, monkeypatch):
    """Somebody has opened the folder and the socket to all; the kernel says who asks."""
    if os.geteuid() != 0:
        required("uid", "only root can become another user")
    machine = Living(open_folder, monkeypatch)
    try:
        machine.live()
        path = places.default_socket()
        for folder in path.parents:
            if folder.is_relative_to(open_folder):
                folder.chmod(0o755)
        path.chmod(0o666)

        ran = subprocess.run(
            [sys.executable, "-ISc", LOOK, str(path)], capture_output=True, text=True, cwd="/"
        )

        if not ran.stdout and "Permission" in ran.stderr:
            required("uid", f"another user cannot get there: {ran.stderr[-200:]}")
        told = json.loads(ran.stdout)
        assert told["error"]["code"] == "refused"
        assert "65534" in told["error"]["message"]
        assert machine.logged("socket.refused_client") == 1
        assert machine.answers()
    finally:
        machine.end()


def test_a_home_whose_path_is_too_long_for_a_socket_is_served_all_the_same(tmp_path, monkeypatch):
    machine = Living(tmp_path / ("deep" * 20) / ("er" * 40), monkeypatch)
    try:
        machine.live()
        assert len(str(places.default_socket())) > 108

        assert machine.ask("list") == {"projects": []}
        shop = Shop.new(machine, files=1)
        shop.edit(0, 7)
        shop.settles()
    finally:
        machine.end()


def test_it_listens_on_no_port_that_a_web_page_could_reach(machine, shop):
    assert shop.ask("status")["daemon"]["running"]
    proc = Path(f"/proc/{machine.process.pid}")
    links = []
    for entry in (proc / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # one that was just closed
            links.append(os.readlink(entry))
    own = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}

    ports = {
        fields[1]
        for table in ("tcp", "tcp6", "udp", "udp6")
        for line in (proc / "net" / table).read_text().splitlines()[1:]
        if (fields := line.split())[9] in own
    }

    assert own
    assert ports == set()
