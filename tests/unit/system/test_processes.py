"""What we cost, and whom we have started."""

import mmap
import subprocess
import sys

import pytest

from yaadwatch.system import processes


def test_memory_is_told_in_bytes():
    # Pages of their own: an allocator may hand out memory again that is resident already.
    with mmap.mmap(-1, 32 * 1024 * 1024) as held:
        before = processes.rss_bytes()
        for page in range(0, len(held), mmap.PAGESIZE):
            held[page] = 1

        assert processes.rss_bytes() - before > len(held) // 2


def test_asking_for_nothing_loads_nothing():
    code = "import sys, yaadwatch.system.processes, yaadwatch.system.files; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "yaadwatch.system.files" in loaded
    assert "psutil" not in loaded


@pytest.mark.skipif(sys.platform != "linux", reason="only there is free memory given back")
def test_what_a_large_piece_of_work_took_is_given_back():
    """Freed, and below something that is not, as most of it is."""
    code = """if True:
        from yaadwatch.system import processes
        processes.give_back()
        small = processes.own_rss_bytes()
        work = [bytes([n % 256]) * 4000 for n in range(20_000)]
        last = bytes(4000)
        large = processes.own_rss_bytes()
        del work
        print(large - small, processes.give_back(), processes.own_rss_bytes() - small)
    """
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    took, given_back, left = told.split()

    assert int(took) > 60_000_000
    assert given_back == "True"
    assert int(left) < 8_000_000
