"""Real agents, from npm, and how each is asked one question of a model that stands in."""

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

INSTALL_S = 100
RUN_S = 90
NOWHERE = "http://127.0.0.1:9"


def are_required():
    """Return whether this run is to install real agents and to fail without them."""
    return "npm" in os.environ.get("YAAD_REQUIRE", "").split(",")


needs_agents = pytest.mark.skipif(
    not are_required(), reason="real agents run in `make test-agents`"
)


def lacking(reason):
    """Skip a test for want of something: where agents from npm are required, that is a failure."""
    if are_required():
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass(frozen=True)
class Agent:
    """A program on npm.

    Args:
        name: what we call it.
        package: on npm.
        version: of it.
        program: below `node_modules`; a script is run by node.
        asked: arguments for one question; `{url}` is where the model is.
        env: variables, likewise.
        free: arguments with which it asks nobody before it calls a tool of ours.
        tool: how it calls our tool `yaad_remember`: the name, and the namespace if there is one.
        prepare: makes a home folder ready for it.
    """

    name: str
    package: str
    version: str
    program: str
    asked: tuple[str, ...]
    env: dict[str, str]
    free: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    prepare: Callable[[Path], None] = field(default=lambda home: None)

    def path(self):
        """Return where it is, installed if need be: outside the repository, once for all runs."""
        person = Path(pwd.getpwuid(os.getuid()).pw_dir)
        folder = person / ".cache" / "yaadwatch-tests" / f"{Path(self.package).name}-{self.version}"
        if not folder.exists():
            self._install(folder, person)
        found = next(folder.glob(f"node_modules/{self.program}"), None)
        if found is None:
            lacking(f"{self.package} has no program for this machine")
        return found

    def _install(self, folder, person):
        if not are_required():
            lacking("agents are installed by `make test-agents` only")
        if shutil.which("npm") is None:
            lacking("there is no npm here")
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
                lacking(f"{what} cannot be had here: {done.stderr.strip()[-200:]}")
            half.rename(folder)
        except subprocess.TimeoutExpired:
            lacking(f"{what} did not come within {INSTALL_S} s")
        finally:
            shutil.rmtree(half, ignore_errors=True)

    def ask(self, url, checkout, home, *more):
        """Ask it one question in a checkout; whatever is not on loopback cannot be reached."""
        home.mkdir(exist_ok=True)
        self.prepare(home)
        program = self.path()
        start = ["node", program] if program.suffix == ".js" else [program]
        done = subprocess.run(
            [*start, *(one.format(url=url) for one in self.asked), *more],
            cwd=checkout.root,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "TERM": "xterm",
                "LANG": "C.UTF-8",
                "HTTP_PROXY": NOWHERE,
                "HTTPS_PROXY": NOWHERE,
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


def _with_a_key(home):
    """Say in Gemini's settings how it signs in; beside ours, as a person would."""
    path = home / ".gemini" / "settings.json"
    text = path.read_text(encoding="utf-8") if path.exists() else "{\n}"
    if "selectedType" not in text:
        path.parent.mkdir(exist_ok=True)
        auth = '{\n  "security": {"auth": {"selectedType": "gemini-api-key"}}'
        more = "," if text.strip("{} \n") else ""
        path.write_text(auth + more + text.lstrip()[1:], encoding="utf-8")


CLAUDE_CODE = Agent(
    name="claude",
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
    free=("--allowedTools", "mcp__yaad__yaad_remember"),
    tool=("mcp__yaad__yaad_remember",),
)
PROVIDER = 'model_providers.here={{name="here",base_url="{url}/v1",wire_api="responses"}}'
CODEX = Agent(
    name="codex",
    package="@openai/codex",
    version="0.169.0",
    program="@openai/codex-*/vendor/*/bin/codex",
    asked=(
        *("exec", "--skip-git-repo-check", "-c", PROVIDER),
        *("-c", 'model_provider="here"', "-m", "a-model", "hello"),
    ),
    env={},
    free=("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"),
    tool=("yaad_remember", "mcp__yaad"),
)
GEMINI = Agent(
    name="gemini",
    package="@google/gemini-cli",
    version="0.61.0",
    program="@google/gemini-cli/bundle/gemini.js",
    asked=("-p", "hello", "-m", "gemini-2.5-pro", "--skip-trust"),
    env={"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "none"},
    free=("--approval-mode", "yolo"),
    tool=("mcp_yaad_yaad_remember",),
    prepare=_with_a_key,
)
COPILOT = Agent(
    name="copilot",
    package="@github/copilot",
    version="1.0.102",
    program="@github/copilot-*/copilot",
    asked=("-p", "hello", "--model", "a-model"),
    env={
        "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_MODEL": "a-model",
        "COPILOT_OFFLINE": "true",
    },
    free=("--allow-all-tools",),
    tool=("yaad-yaad_remember",),
)
MODELS = {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": "HERE/v1", "apiKey": "none"},
    "models": {"a-model": {}},
}
OPENCODE = Agent(
    name="opencode",
    package="opencode-ai",
    version="1.18.33",
    program="opencode-*/bin/opencode",
    asked=("run", "hello"),
    env={
        "OPENCODE_CONFIG_CONTENT": json.dumps(
            {"provider": {"here": MODELS}, "model": "here/a-model", "small_model": "here/a-model"}
        )
        .replace("{", "{{")
        .replace("}", "}}")
        .replace("HERE", "{url}"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        # Where there are plugins it fetches a package of types for them, and waits for it.
        "npm_config_offline": "true",
    },
    tool=("yaad_yaad_remember",),
)
