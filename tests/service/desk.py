"""A person with a user manager of their own, and the program installed as `uv tool` does it."""

import contextlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
from pathlib import Path

from yaadwatch import places

ROOT = Path(__file__).parents[2]
KEEPER = Path(__file__).with_name("keeper.py")
NOBODY = 65534


def why_not():
    """Return why no user manager can be had here; '' when one can."""
    if sys.platform != "linux":
        return "only Linux has systemd"
    if os.geteuid() != 0:
        return "a manager of one's own needs root, for its control group"
    for program in ("unshare", "systemctl", "systemd-analyze"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    if not Path("/lib/systemd/systemd").exists():
        return "there is no /lib/systemd/systemd"
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
    return "" if tried.returncode == 0 else f"no namespaces: {tried.stderr.strip()}"


def whom():
    """Return a plain user if one can run our interpreter, else root."""
    try:
        tried = subprocess.run(
            [sys.executable, "-c", "import apsw, yaadwatch.places"],
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            cwd="/",
        )
    except PermissionError:
        return 0
    return NOBODY if tried.returncode == 0 else 0


class Desk:
    """A home, a runtime folder, a manager, and the program."""

    def __init__(self):
        self.uid = whom()
        self.folder = Path(tempfile.mkdtemp(prefix="yaad-desk-"))
        self.home = self.folder / "home"
        self.run_folder = self.folder / "run"
        self.home.mkdir()
        self.run_folder.mkdir(mode=0o700)
        self._install_program()
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, self.uid, self.uid, follow_symlinks=False)
        self.env = {
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.run_folder),
            "PATH": f"{self.home}/.local/bin:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "COLUMNS": "200",
        }
        self._keeper = subprocess.Popen(
            [
                "unshare",
                "--mount",
                "--propagation",
                "private",
                sys.executable,
                str(KEEPER),
                str(self.uid),
            ],
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self.folder / "manager.log").open("wb"),
            text=True,
        )
        if self._keeper.stdout.readline().strip() != "ready":
            said = (self.folder / "manager.log").read_text(errors="replace")
            self.close()
            raise AssertionError(f"systemd --user did not start: {said[-2000:]}")

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self._keeper.stdin.close()
        self._keeper.wait(120)
        shutil.rmtree(self.folder, ignore_errors=True)

    # The program.

    def _install_program(self):
        """Make an environment of its own, so that an upgrade in it is nobody else's."""
        tool = self.home / ".local" / "share" / "uv" / "tools" / "yaadwatch"
        base = getattr(sys, "_base_executable", sys.executable)
        subprocess.run([base, "-m", "venv", "--without-pip", tool], check=True)
        (self.site,) = tool.glob("lib/python*/site-packages")
        for package in ("yaadwatch", "bridges"):
            shutil.copytree(ROOT / package, self.site / package)
        # What it depends on stays where it is; an editable installation beside it is not followed.
        (self.site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.install_version(places.VERSION)
        script = tool / "bin" / "yaadwatch"
        script.write_text(
            f"#!{tool}/bin/python\nimport sys\nfrom yaadwatch.cli.main import main\n"
            "sys.exit(main())\n"
        )
        script.chmod(0o755)
        self.python = tool / "bin" / "python"
        self.program = self.home / ".local" / "bin" / "yaadwatch"
        self.program.parent.mkdir(parents=True)
        self.program.symlink_to(script)

    def install_version(self, version):
        """Replace the program as an installer does: its metadata goes, its files, new metadata."""
        for old in self.site.glob("yaadwatch-*.dist-info"):
            shutil.rmtree(old)
        module = self.site / "yaadwatch" / "places.py"
        text = module.read_text().replace(f'VERSION = "{places.VERSION}"', f'VERSION = "{version}"')
        module.write_text(text)
        metadata = self.site / f"yaadwatch-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.1\nName: yaadwatch\nVersion: {version}\n")
        assert importlib.metadata.PathDistribution(metadata.parent).version == version

    def ran(self, *command, cwd=None, timeout=120, given=None):
        return subprocess.run(
            [str(part) for part in command],
            env=self.env,
            user=self.uid,
            group=self.uid,
            extra_groups=[],
            cwd=cwd or self.home,
            capture_output=True,
            text=True,
            timeout=timeout,
            input=given,
        )

    def yaadwatch(self, *arguments, cwd=None):
        """Run the command; return status, output and complaints."""
        return self.ran(self.program, *arguments, cwd=cwd)

    def ask(self, *arguments, cwd=None):
        """Run a command that must go well; return its answer."""
        ran = self.yaadwatch(*arguments, "--json", cwd=cwd)
        assert ran.returncode == 0, (arguments, ran.stdout, ran.stderr, self.said())
        return json.loads(ran.stdout)

    def python_script(self, text, *arguments):
        """Run a script with the program's own interpreter; return what it printed."""
        ran = self.ran(self.python, "-c", textwrap.dedent(text), *arguments)
        assert ran.returncode == 0, (ran.stdout, ran.stderr, self.said())
        return ran.stdout

    def pid(self):
        """Return the pid of the daemon that answers; commands that need it start it."""
        self.ask("list")
        return self.ask("status")["daemon"]["pid"]

    # Its manager.

    def systemctl(self, *arguments):
        return self.ran("systemctl", "--user", *arguments)

    def show(self, name, unit="yaadwatch.service"):
        """Return a property of a unit."""
        return self.systemctl("show", f"--property={name}", "--value", unit).stdout.strip()

    def set(self, **options):
        """Change the service as a person would, with a file of their own beside the unit."""
        path = self.home / ".config" / "systemd" / "user" / "yaadwatch.service.d" / "mine.conf"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{name}={value}\n" for name, value in options.items())
        path.write_text(f"[Service]\n{rows}")
        self.systemctl("daemon-reload")

    def unset(self):
        shutil.rmtree(self.home / ".config/systemd/user/yaadwatch.service.d", ignore_errors=True)
        self.systemctl("daemon-reload")

    def said(self):
        """Return the end of what the manager and the daemon wrote, for whoever must find out."""
        daemon = self.home / ".yaad" / "log" / "daemon.log"
        manager = (self.folder / "manager.log").read_text(errors="replace")
        return manager[-3000:] + (daemon.read_text()[-3000:] if daemon.exists() else "")

    def tree(self):
        """Return all that is in the folders that services are in, to the byte."""
        found = {}
        for top in (self.home / ".config", self.home / "Library", self.run_folder / "yaadwatch"):
            for path in (top, *sorted(top.rglob("*"))):
                if path.is_symlink():
                    found[str(path)] = os.readlink(path)
                elif path.is_file():
                    found[str(path)] = path.read_bytes()
                elif path.exists():
                    found[str(path)] = oct(path.stat().st_mode)
        return found
