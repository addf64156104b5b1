"""Real agents, from npm: what we carry is what they tell their model, without any network."""

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from machine import Checkout, wait_until
from stand_in import StandIn

CLAUDE = "# Rules\n\n- Use tabs in Go files\n"
AGENTS = "# For agents\n\n- Run `make test` first\n"
RULE = "Always use jose for tokens"
INSTALL_S = 100
RUN_S = 60

pytestmark = [pytest.mark.timeout(240), pytest.mark.xdist_group("agents")]


@dataclass(frozen=True)
class Agent:
    """A program on npm, and how it is asked one question of a model that stands in."""

    package: str
    version: str
    program: str
    asked: tuple[str, ...]
    env: dict[str, str]

    def path(self):
        """Return where it is, installed if need be: outside the repository, once for all runs."""
        person = Path(pwd.getpwuid(os.getuid()).pw_dir)
        folder = person / ".cache" / "yaadwatch-tests" / f"{Path(self.package).name}-{self.version}"
        if not folder.exists():
            self._install(folder, person)
        found = next(folder.glob(f"node_modules/{self.program}"), None)
        if found is None:
            pytest.skip(f"{self.package} has no program for this machine")
        return found

    def _install(self, folder, person):
        if shutil.which("npm") is None:
            pytest.skip("there is no npm here")
        folder.parent.mkdir(parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(dir=folder.parent))
        what = f"{self.package}@{self.version}"
        quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0")
        try:
            done = subprocess.run(
                ["npm", "install", *quiet, "--prefix", half, what],
                env=os.environ | {"HOME": str(person)},
                capture_output=True,
                text=True,
                timeout=INSTALL_S,
                check=False,
            )
            if done.returncode:
                pytest.skip(f"{what} cannot be had here: {done.stderr.strip()[-200:]}")
            half.rename(folder)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{what} did not come within {INSTALL_S} s")
        finally:
            shutil.rmtree(half, ignore_errors=True)

    def ask(self, url, checkout, home):
        """Ask it one question in a checkout; whatever is not on loopback cannot be reached."""
        home.mkdir()
        nowhere = "http://127.0.0.1:9"
        done = subprocess.run(
            [self.path(), *(one.format(url=url) for one in self.asked)],
            cwd=checkout.root,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "TERM": "xterm",
                "LANG": "C.UTF-8",
                "HTTP_PROXY": nowhere,
                "HTTPS_PROXY": nowhere,
                "NO_PROXY": "127.0.0.1,localhost",
            }
            | {name: value.format(url=url) for name, value in self.env.items()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert done.returncode == 0, (done.stdout[-500:], done.stderr[-500:])
        assert "OK" in done.stdout


CLAUDE_CODE = Agent(
    package="@anthropic-ai/claude-code",
    version="2.1.330",
    program="@anthropic-ai/claude-code-*/claude",
    asked=("-p", "hello", "--model", "claude-sonnet-5"),
    env={
        "ANTHROPIC_BASE_URL": "{url}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    },
)
PROVIDER = 'model_providers.here={{name="here",base_url="{url}/v1",wire_api="responses"}}'
CODEX = Agent(
    package="@openai/codex",
    version="0.169.0",
    program="@openai/codex-*/vendor/*/bin/codex",
    asked=(
        *("exec", "--skip-git-repo-check", "-c", PROVIDER),
        *("-c", 'model_provider="here"', "-m", "a-model", "hello"),
    ),
    env={},
)


@pytest.fixture
def checkout(machine):
    checkout = Checkout(machine.folder / "api", machine.env)
    checkout.write("CLAUDE.md", CLAUDE)
    checkout.write("AGENTS.md", AGENTS)
    checkout.commit("rules")
    return checkout


def told(agent, checkout, machine):
    """Return what an agent tells its model when it is asked something in a checkout."""
    with StandIn() as model:
        agent.ask(model.url, checkout, machine.folder / "agents-home")
        assert model.asked
        return model.text()


def carry(machine, checkout, mode, path):
    machine.ask("add", checkout.root, "--mode", mode)
    machine.ask("remember", RULE, "--kind", "convention", cwd=checkout.root)
    carrier = checkout.root / path
    wait_until(lambda: carrier.exists() and RULE in carrier.read_text(encoding="utf-8"))


def test_claude_code_reads_the_private_carrier(machine, checkout):
    CLAUDE_CODE.path()
    carry(machine, checkout, "private", ".claude/rules/yaad.md")

    text = told(CLAUDE_CODE, checkout, machine)

    assert text.count(RULE) == 1
    assert "Use tabs in Go files" in text
    assert checkout.git("status", "--porcelain") == ""


def test_claude_code_reads_the_block_and_is_told_to_keep_it(machine, checkout):
    CLAUDE_CODE.path()
    carry(machine, checkout, "inline", "CLAUDE.md")

    text = told(CLAUDE_CODE, checkout, machine)

    assert text.count(RULE) == 1
    assert text.count("keep this block") == 1
    assert "yaad:begin" not in text


def test_claude_code_still_reads_the_teams_file_beside_the_carrier(machine, checkout):
    """A CLAUDE.md of ours would hide AGENTS.md from it."""
    CLAUDE_CODE.path()
    (checkout.root / "CLAUDE.md").unlink()
    checkout.commit("agents only")
    carry(machine, checkout, "private", ".claude/rules/yaad.md")

    text = told(CLAUDE_CODE, checkout, machine)

    assert text.count(RULE) == 1
    assert "Run `make test` first" in text


def test_codex_reads_the_block(machine, checkout):
    CODEX.path()
    carry(machine, checkout, "inline", "AGENTS.md")

    text = told(CODEX, checkout, machine)

    assert text.count(RULE) == 1
    assert text.count("keep this block") == 1
