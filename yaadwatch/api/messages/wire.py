"""The first frame of a connection, and what is asked of the daemon itself."""

import re

from yaadwatch.api.limits import FOLDER, PATH, Text
from yaadwatch.api.message import Message, field

CLIENT_CHARS_MAX = 128

AGENT_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""How the name of a coding agent looks."""


class Hello(Message):
    """The first line a client sends: which language it speaks, and on whose behalf."""

    protocol: int
    client: str = field(limit=Text(CLIENT_CHARS_MAX))
    cwd: str = field(limit=FOLDER)
    agent: str | None
    speaks: str

    def validate(self) -> None:
        """Raise ValueError unless agent and language have the right form."""
        if self.agent is not None and not AGENT_FORM.fullmatch(self.agent):
            raise ValueError(
                "agent must be 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter"
                f" or digit, got {self.agent!r}"
            )
        if self.speaks not in {"rpc", "mcp"}:
            raise ValueError(f"speaks must be 'rpc' or 'mcp', got {self.speaks!r}")


class Subscribe(Message, answer="Subscribed"):
    """Follow the events after a cursor; without one, those from now on."""

    after: str | None = field(default=None, limit=PATH)


class Config(Message, answer="Config"):
    """Ask which settings hold, and where each is from."""


class Health(Message, answer="Health"):
    """Ask whether all is well; answered from memory, however busy the disk is."""


class Shutdown(Message, answer="Stopped"):
    """End the daemon."""
