"""Formats whose files say in a header for which files or tasks they hold: one row for each.

Such files stand many in a folder. None of them gets our block: a file of our own beside them, with
the row's preamble on top, says the same and changes nothing of theirs.
"""

from collections.abc import Callable
from typing import Final

from bridges.frontmatter import Fields, patterns
from bridges.reading import ALL_FILES, headed
from bridges.rules import Bridge

_ABOUT: Final = "Rules of this project, kept true by yaadwatch"


def _claude(said: Fields) -> bool:
    """No paths, or only such as every file has; older files write `globs`."""
    named = patterns(said.get("paths")) + patterns(said.get("globs"))
    odd = any(isinstance(said.get(key), bool) for key in ("paths", "globs"))
    return not odd and all(pattern in ALL_FILES for pattern in named)


def _cursor(said: Fields) -> bool:
    """The text "true" is not true, and with globs a rule waits for a file that matches."""
    return said.get("alwaysApply") is True and said.get("globs") in (None, "", ())


def _copilot(said: Fields) -> bool:
    """Without `applyTo`, somebody has to ask for the file."""
    return any(pattern in ALL_FILES for pattern in patterns(said.get("applyTo")))


def _devin(said: Fields) -> bool:
    return said.get("trigger") == "always_on"


def _cline(said: Fields) -> bool:
    """An empty list of paths is one that no file matches."""
    paths = said.get("paths")
    return paths is None or any(pattern in ALL_FILES for pattern in patterns(paths))


def _kiro(said: Fields) -> bool:
    return said.get("inclusion") in (None, "always")


def _headed(
    name: str,
    *paths: str,
    holds: Callable[[Fields], bool],
    nested: bool = False,
    header: tuple[str, ...] = (),
) -> Bridge:
    """Return a format by which headers let a file hold everywhere, and what ours say there."""
    return Bridge(
        name=name,
        paths=paths,
        parse=headed(holds),
        nested=nested,
        block=False,
        preamble="\n".join(["---", *header, "---", "", ""]) if header else "",
    )


HEADED: Final = (
    _headed("claude-rules", ".claude/rules/**/*.md", holds=_claude, nested=True),
    _headed(
        "cursor-rules",
        ".cursor/rules/**/*.mdc",
        holds=_cursor,
        nested=True,
        header=(f"description: {_ABOUT}", "alwaysApply: true"),
    ),
    _headed(
        "copilot-rules",
        ".github/instructions/**/*.instructions.md",
        holds=_copilot,
        header=('applyTo: "**"',),
    ),
    _headed(
        "devin-rules",
        ".devin/rules/**/*.md",
        ".windsurf/rules/**/*.md",
        holds=_devin,
        header=("trigger: always_on",),
    ),
    _headed("cline-rules", ".clinerules/*.md", ".clinerules/*.txt", holds=_cline),
    _headed("kiro", ".kiro/steering/*.md", holds=_kiro, header=("inclusion: always",)),
)
