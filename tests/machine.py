"""The program as people meet it: the real command, a real daemon process, a home of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Benchmarks import this without pytest, which would add the folder.
sys.path.append(str(Path(__file__).parent))

from plain_git import GIT, head_of
from waiting import wait_until


@dataclass
class Ran:
    """What a command answered."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Machine:
    """A person's machine: a home folder, the command, and the daemon that it starts."""

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = keep | {
            "HOME": str(self.home),
            "YAAD_HOME": str(self.home / "yaad"),
            "XDG_RUNTIME_DIR": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self, *arguments, cwd=None, given=None, env=None, timeout=60):
        done = subprocess.run(
            [sys.executable, "-m", "yaadwatch", *map(str, arguments)],
            cwd=cwd or self.home,
            env=self.env | (env or {}),
            input=given,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def ask(self, *arguments, cwd=None, **kw):
        """Run a command with --json that must go well; return its answer."""
        ran = self.run(*arguments, "--json", cwd=cwd, **kw)
        assert ran.status == 0, (arguments, ran)
        return ran.json

    def start(self, *arguments, cwd=None):
        return subprocess.Popen(
            [sys.executable, "-u", "-m", "yaadwatch", *map(str, arguments)],
            cwd=cwd or self.home,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def pid(self):
        daemon = self.ask("status")["daemon"]
        return daemon["pid"] if daemon["running"] else None

    def kill(self):
        """Kill the daemon the hard way; return when it is gone."""
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid))
        return pid

    def log(self):
        """Return the daemon's log, for whoever has to find out why a story went wrong."""
        path = self.home / "yaad" / "log" / "daemon.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def end(self):
        """Kill the daemon that may be left; how one ends in good order is for tests to ask."""
        lock = self.home / "yaad" / "daemon.lock"
        if lock.exists():
            pid = int((lock.read_text().split() or ["0"])[0])
            if pid and alive(pid) and _is_ours(pid):
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda: not alive(pid))


def _is_ours(pid):
    with contextlib.suppress(OSError):
        return b"yaadwatch" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


class Checkout:
    """A git repository and the person who works in it."""

    def __init__(self, root, env):
        self.root = root
        self.env = env
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments):
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        return subprocess.run(
            [*GIT, *who, *arguments],
            cwd=self.root,
            env=self.env,
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
        ).stdout.strip()

    def tries(self, *arguments):
        """Run git, which may refuse; return its status."""
        try:
            self.git(*arguments)
        except subprocess.CalledProcessError as error:
            return error.returncode
        return 0

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def commit(self, subject, files=None):
        """Write `files`, commit all that is there, and return the commit's id."""
        for path, text in (files or {}).items():
            self.write(path, text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)
        return head_of(self.root) or self.git("rev-parse", "HEAD")


NET = '''"""Talk to the network."""

import time


def ping(host):
    return host.upper()


def fetch_with_retry(url, tries=3):
    for attempt in range(tries):
        try:
            return ping(url)
        except OSError:
            time.sleep(2**attempt)
    raise TimeoutError(url)
'''
