"""Formats that are markdown and nothing else: one table, one way to read them."""

from typing import Final

from bridges.reading import parse, parse_part
from bridges.rules import Bridge

#: Name, where such files are, and whether those in folders further down are read too.
_FORMATS: Final = (
    ("claude", ("CLAUDE.md", ".claude/CLAUDE.md"), True),
    ("claude-local", ("CLAUDE.local.md",), True),
    ("agents", ("AGENTS.md",), True),
    ("cursorrules", (".cursorrules",), False),
    ("gemini", ("GEMINI.md",), True),
    ("copilot", (".github/copilot-instructions.md",), False),
    ("windsurf", (".windsurfrules",), False),
    ("cline", (".clinerules",), False),
)

PLAIN: Final = tuple(
    Bridge(name=name, paths=paths, parse=parse, nested=nested) for name, paths, nested in _FORMATS
)


def listed(paths: tuple[str, ...]) -> Bridge:
    """Return the format of files that no agent reads by itself, such as CONVENTIONS.md.

    Args:
        paths: where they are, as a person has named them: relative to the top of the project, with
            '/', '*' for anything in a name and '**/' for any folders.

    Raises:
        ValueError: there are none, or one of them is no such pattern.
    """
    return Bridge(name="conventions", paths=paths, parse=parse_part)
