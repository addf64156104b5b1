"""What the README shows is what happens: its console blocks are one session, and are run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from machine import NET, Checkout
from waiting import wait_until

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "stale-rule.svg").read_text(encoding="utf-8")
ID = r"\b[0-9a-f]{8}(?:[0-9a-f]{2})?\b"
"""An id of a memory, or a commit, as it is printed."""


def steps(text):
    """Return each command of the console blocks, with the lines that are shown below it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


class Shell:
    """Runs the commands of a page; its ids stand for those that this machine made."""

    def __init__(self, checkout, env):
        self._checkout = checkout
        self._env = env
        self._real = {}

    def run(self, command, shown):
        """Run `command` and return what it printed, with the ids and days of the page."""
        for ours, real in self._real.items():
            command = command.replace(ours, real)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._checkout.root,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, (command, done)
        printed = done.stdout
        for ours, real in zip(
            re.findall(ID, "\n".join(shown)), re.findall(ID, printed), strict=False
        ):
            self._real.setdefault(ours, real)
        for ours, real in self._real.items():
            printed = printed.replace(real, ours)
        days = re.findall(r"\d{4}-\d\d-\d\d", "\n".join(shown))
        printed = re.sub(r"\d{4}-\d\d-\d\d", days[0] if days else "", printed)
        printed = re.sub(r"\b\d+ seconds? ago", "just now", printed)
        return printed.splitlines()


@pytest.fixture
def shell(machine, tmp_path):
    checkout = Checkout(machine.home / "code" / "shop", machine.env)
    checkout.write("src/net.py", NET)
    checkout.write("CLAUDE.md", "# Conventions\n\n- Prices are integers, in cents.\n")
    checkout.write("AGENTS.md", "# For agents\n\n- Be brief\n")
    checkout.git("config", "user.name", "Ada")
    checkout.git("config", "user.email", "ada@example.org")
    checkout.commit("first")
    machine.ask("add", checkout.root)
    programs = tmp_path / "bin"
    programs.mkdir()
    command = programs / "yaadwatch"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m yaadwatch "$@"\n')
    editor = programs / "five-tries"
    editor.write_text(
        "#!/bin/sh\n"
        f"{sys.executable} -c 'import pathlib, sys; it = pathlib.Path(sys.argv[1]);"
        ' it.write_text(it.read_text().replace("tries=3", "tries=5"))\' "$1"\n'
    )
    for program in (command, editor):
        program.chmod(0o755)
    path = f"{programs}:{machine.env['PATH']}"
    env = machine.env | {"PATH": path, "EDITOR": str(editor), "COLUMNS": "80"}
    return Shell(checkout, env)


def test_the_session_of_the_readme_goes_as_it_shows(shell):
    told = steps(README)

    assert len(told) >= 8
    for command, shown in told:
        if command.startswith("cat "):
            # It reaches the file by itself, a moment later.
            wait_until(lambda command=command, shown=shown: shell.run(command, shown) == shown)
        else:
            assert shell.run(command, shown) == shown, command


def test_the_picture_shows_what_the_session_remembers():
    words = re.findall(r"<text[^>]*>(.*?)</text>", PICTURE)
    (remembered,) = re.findall(r'^\$ yaadwatch remember "(.*)" ', README, flags=re.MULTILINE)

    assert f'yaad_remember "{remembered}"' in words
    assert f'- changed: "{remembered}" (1f470e3f)' in words
    assert "rests on src/net.py:10 fetch_with_retry" in words


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)[^)]*\)", README))))
def test_what_the_readme_links_to_is_there(link):
    assert (ROOT / link).exists()
