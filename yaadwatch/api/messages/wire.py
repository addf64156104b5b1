"""The first frame of a connection, and what is asked of the daemon itself."""

import re
from dataclasses import dataclass
from typing import Final

from yaadwatch.api.messages.checks import NAME_CHARS_MAX, check_folder, check_text

CLIENT_CHARS_MAX: Final = 128

AGENT_FORM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""How the name of a coding agent looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The first line a client sends: which language it speaks, and on whose behalf."""

    protocol: int
    client: str
    cwd: str
    agent: str | None
    speaks: str

    def __post_init__(self) -> None:
        check_text("client", self.client, CLIENT_CHARS_MAX)
        check_folder("cwd", self.cwd)
        if self.agent is not None and not AGENT_FORM.fullmatch(self.agent):
            raise ValueError(
                "agent must be 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter"
                f" or digit, got {self.agent!r}"
            )
        if self.speaks not in {"rpc", "mcp"}:
            raise ValueError(f"speaks must be 'rpc' or 'mcp', got {self.speaks!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe:
    """Follow the events after a cursor; without one, those from now on."""

    after: str | None = None

    def __post_init__(self) -> None:
        if self.after is not None:
            check_text("after", self.after, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Ask which settings hold, and where each is from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Ask whether all is well; answered from memory, however busy the disk is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """End the daemon."""
