"""Runs a `systemd --user` where no systemd runs, in namespaces that end with it. A program.

`unshare --mount --propagation private python keeper.py UID`, with HOME and XDG_RUNTIME_DIR in the
environment; it says "ready" on standard output, and ends the manager at the end of its input.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HIERARCHIES = ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
PATIENCE_S = 60.0


def groups():
    """Return a control group of our own in each hierarchy that a user manager needs."""
    found = []
    for hierarchy in map(Path, HIERARCHIES):
        if (hierarchy / "cgroup.procs").exists():
            own = hierarchy / f"yaadwatch-test-{os.getpid()}"
            with contextlib.suppress(OSError):
                own.mkdir(exist_ok=True)
                found.append(own)
    return found


def enter(own, uid):
    """Move this process into `own`, and give it to `uid`."""
    (own / "cgroup.procs").write_text(str(os.getpid()))
    for path in (own, *own.iterdir()):
        with contextlib.suppress(OSError):
            os.chown(path, uid, uid)


def leave(own):
    """Remove `own` and what is below it; nothing runs there any more."""
    with contextlib.suppress(OSError):
        (own.parent / "cgroup.procs").write_text(str(os.getpid()))
    for folder, _, _ in os.walk(own, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def main():
    uid = int(sys.argv[1])
    # What says that systemd is this machine's first process; only in here.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"], check=True)
    Path("/run/systemd/system").mkdir(parents=True)
    own = groups()
    for group in own:
        enter(group, uid)
    manager = subprocess.Popen(
        ["/lib/systemd/systemd", "--user", "--log-target=console"],
        stdin=subprocess.DEVNULL,
        user=uid,
        group=uid,
        extra_groups=[],
    )
    private = Path(os.environ["XDG_RUNTIME_DIR"], "systemd", "private")
    until = time.monotonic() + PATIENCE_S
    while not private.exists() and manager.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    print("ready" if private.exists() else "failed", flush=True)
    sys.stdin.read()
    if manager.poll() is None:
        # As `systemctl --user exit`: it stops its units first.
        manager.send_signal(signal.SIGRTMIN + 24)
        try:
            manager.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            manager.kill()
            manager.wait()
    for group in own:
        leave(group)


if __name__ == "__main__":
    main()
