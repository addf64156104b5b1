"""What we cost, and whom we have started."""

import os
import subprocess
import sys

from yaadwatch.system import processes


def test_memory_is_told_in_bytes():
    before = processes.rss_bytes()
    held = bytearray(os.urandom(1)) * (32 * 1024 * 1024)

    assert processes.rss_bytes() - before > len(held) // 2


def test_a_child_is_listed_while_it_runs():
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    ) as child:
        assert child.pid in processes.children()
        child.stdin.close()
    assert child.pid not in processes.children()


def test_asking_for_nothing_loads_nothing():
    code = "import sys, yaadwatch.system.processes, yaadwatch.system.files; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "yaadwatch.system.files" in loaded
    assert "psutil" not in loaded
