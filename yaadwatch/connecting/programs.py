"""What agents are told to start: this very program, by its full path."""

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from yaadwatch import places

GUARD: Final = '[ -x "$0" ] && [ -r "$3" ] && "$0" "$@"; exit 0'
"""Run the hook, and exit with 0 whatever happens.

Claude Code and Codex take status 2 for "block this prompt", which is what Python returns for a
missing file. `/bin/sh` is started by its path, so the entry means the same in every shell, and for
an agent that uses none.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How our shim and our hooks are started.

    They are files of their own for an interpreter that reads neither its environment nor its
    packages (`-I -S`): that is quick, and means the same whatever folder or environment an agent
    has.

    Args:
        python: the interpreter.
        client: the folder with both files.
        env: variables without which they would look elsewhere for the daemon.
    """

    python: str
    client: str
    env: Mapping[str, str] = field(default_factory=dict)

    def mcp(self, agent: str, *more: str) -> list[str]:
        """Return the command that an agent starts as its MCP server."""
        return [
            *(self.python, "-I", "-S", os.path.join(self.client, "shim.py")),  # noqa: PTH118
            *("--agent", agent, *more),
        ]

    def hooks(self) -> list[str]:
        """Return how a command that answers a hook begins."""
        return [self.python, "-I", "-S", os.path.join(self.client, "hook.py")]  # noqa: PTH118

    def hook(self, event: str, agent: str) -> list[str]:
        """Return the command that answers a hook; without a guard."""
        return [*self.hooks(), event, "--agent", agent]

    def line(self, event: str, agent: str) -> str:
        """Return the command that answers a hook as one line for a shell; it exits with 0."""
        env = ["/usr/bin/env", *(f"{name}={value}" for name, value in self.env.items())]
        guarded = ["/bin/sh", "-c", GUARD, *self.hook(event, agent)]
        return shlex.join([*env, *guarded] if self.env else guarded)


def this_program() -> Program:
    """Return how the program that runs now is started."""
    given = os.environ.get("YAAD_HOME")
    return Program(
        python=sys.executable,
        client=str(Path(places.__file__).resolve().parent / "client"),
        env={"YAAD_HOME": str(places.home())} if given else {},
    )
