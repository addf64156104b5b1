"""Tells whether a coding agent runs this command, by the variables that agents set in shells."""

from collections.abc import Mapping

SIGNS = (
    ("CLAUDECODE", "claude"),
    ("CLAUDE_CODE_ENTRYPOINT", "claude"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex"),
    ("CODEX_THREAD_ID", "codex"),
    ("CODEX_CI", "codex"),
    ("GEMINI_CLI", "gemini"),
    ("CURSOR_AGENT", "cursor"),
    ("OPENCODE", "opencode"),
    ("OPENCODE_CLIENT", "opencode"),
    ("CLINE_ACTIVE", "cline"),
    ("COPILOT_CLI", "copilot"),
    ("COPILOT_AGENT", "copilot"),
    ("QWEN_CODE", "qwen"),
    ("AUGMENT_AGENT", "augment"),
    ("GOOSE_TERMINAL", "goose"),
    ("ANTIGRAVITY_AGENT", "antigravity"),
)
"""Variables that an agent sets for the commands it runs, and its name."""
NAMED = ("AI_AGENT", "AGENT")
"""Variables that some agents set to their own name."""
_UNSET = frozenset({"", "0", "false", "no"})
_NAME_CHARS_MAX = 64


def agent_of(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the agent that runs us and the variable that says so; None for a person or a script.

    What an agent types in a shell of its own is its word, and not a person's.
    """
    for variable, name in SIGNS:
        if environ.get(variable, "").strip().lower() not in _UNSET:
            return name, variable
    for variable in NAMED:
        given = environ.get(variable, "").strip().lower()
        if given not in _UNSET:
            return _plain(given), variable
    return None


def _plain(given: str) -> str:
    """Return a name in the form that an agent's name has."""
    name = "".join(one if one.isascii() and one.isalnum() else "-" for one in given).strip("-")
    return name[:_NAME_CHARS_MAX].strip("-") or "agent"
