"""A stand-in for a service manager: keeps a socket open, and starts the daemon with it."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading

from yaadwatch import places

DAEMON = ("-m", "yaadwatch", "daemon", "--supervised")
AGAIN = 75
PATIENCE_S = 30.0
BECOME = """
import os, sys
for number, given in enumerate(sys.argv[1].split(","), 3):
    os.dup2(int(given), number)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Open descriptors become those from 3 on, as a service manager leaves them."""


class Handing:
    """Holds the socket at the default place, and starts `program` whenever it is told to, or 75."""

    def __init__(self, program=DAEMON, **environ):
        self.statuses = []
        self.said = []
        self._program = program
        self._environ = environ
        path = places.default_socket()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(64)
        self._high = fcntl.fcntl(self._socket.fileno(), fcntl.F_DUPFD, 20)
        self._process = None
        self._ended = threading.Event()
        self._watching = None
        self._stopping = False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()
        self._socket.close()
        os.close(self._high)

    def start(self):
        """Start the daemon; it is started again as often as it ends with 75."""
        self._stopping = False
        self._spawn()
        self._ended.clear()
        self._watching = threading.Thread(target=self._watch)
        self._watching.start()

    def stop(self):
        """Tell it to end, and wait; return the last status. It is not started again."""
        self._stopping = True
        if self._process.poll() is None:
            self._process.terminate()
        assert self._ended.wait(PATIENCE_S)
        self._watching.join()
        return self.statuses[-1]

    def restart(self):
        """End it and start it anew, as `systemctl restart` does."""
        self.stop()
        self.start()

    def wait(self):
        """Wait until it ended with another status than 75; return that."""
        assert self._ended.wait(PATIENCE_S)
        return self.statuses[-1]

    def kill(self):
        self._process.send_signal(signal.SIGKILL)

    def _spawn(self):
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-ISc", BECOME, str(self._high)),
                *(sys.executable, *self._program),
            ],
            env={**os.environ, "LISTEN_FDS": "1", **self._environ},
            pass_fds=[self._high],
            stderr=subprocess.PIPE,
            text=True,
        )

    def _watch(self):
        while True:
            _, err = self._process.communicate()
            self.said.append(err)
            self.statuses.append(self._process.returncode)
            if self._process.returncode != AGAIN or self._stopping:
                self._ended.set()
                return
            self._spawn()
            if self._stopping:
                self._process.terminate()
