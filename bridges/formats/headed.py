"""Formats whose files say in a header for which files or tasks they hold: one row for each.

Such files stand many in a folder. None of them gets our block: a file of our own beside them, with
the row's preamble on top, says the same and changes nothing of theirs.
"""

from collections.abc import Callable
from typing import Final

from bridges.frontmatter import Fields, patterns
from bridges.reading import for_all_files, headed
from bridges.rules import Bridge

_ABOUT: Final = "Rules of this project, kept true by yaadwatch"


def _claude(said: Fields) -> bool:
    """No paths, or only such as every file has; older files write `globs`."""
    named = _paths_or_globs(said)
    odd = any(isinstance(said.get(key), bool) for key in ("paths", "globs"))
    return not odd and (not named or for_all_files(named))


def _cursor(said: Fields) -> bool:
    """The text "true" is not true, and with globs a rule waits for a file that matches."""
    return said.get("alwaysApply") is True and said.get("globs") in (None, "", ())


def _copilot(said: Fields) -> bool:
    """Without `applyTo`, somebody has to ask for the file."""
    return for_all_files(patterns(said.get("applyTo")))


def _devin(said: Fields) -> bool:
    return said.get("trigger") == "always_on"


def _cline(said: Fields) -> bool:
    """An empty list of paths is one that no file matches."""
    paths = said.get("paths")
    return paths is None or for_all_files(patterns(paths))


def _kiro(said: Fields) -> bool:
    return said.get("inclusion") in (None, "always")


def _paths_or_globs(said: Fields) -> tuple[str, ...]:
    return patterns(said.get("paths")) + patterns(said.get("globs"))


def _by_trigger(said: Fields) -> tuple[str, ...]:
    return patterns(said.get("globs")) if said.get("trigger") == "glob" else ()


def _by_file(said: Fields) -> tuple[str, ...]:
    return patterns(said.get("fileMatchPattern")) if said.get("inclusion") == "fileMatch" else ()


def _headed(
    name: str,
    *paths: str,
    holds: Callable[[Fields], bool],
    files: Callable[[Fields], tuple[str, ...]],
    nested: bool = False,
    header: tuple[str, ...] = (),
) -> Bridge:
    """Return a format by which headers let a file hold everywhere, and what ours say there.

    Args:
        name: of the format.
        paths: where its files are.
        holds: whether a header lets a file hold everywhere.
        files: returns the patterns of the files that a file holds for.
        nested: whether files in folders further down are read, too.
        header: what the header of our file says.
    """
    return Bridge(
        name=name,
        paths=paths,
        parse=headed(holds, files),
        nested=nested,
        block=False,
        preamble="\n".join(["---", *header, "---", "", ""]) if header else "",
    )


HEADED: Final = (
    _headed(
        "claude-rules", ".claude/rules/**/*.md", holds=_claude, files=_paths_or_globs, nested=True
    ),
    _headed(
        "cursor-rules",
        ".cursor/rules/**/*.mdc",
        holds=_cursor,
        files=lambda said: patterns(said.get("globs")),
        nested=True,
        header=(f"description: {_ABOUT}", "alwaysApply: true"),
    ),
    _headed(
        "copilot-rules",
        ".github/instructions/**/*.instructions.md",
        holds=_copilot,
        files=lambda said: patterns(said.get("applyTo")),
        header=('applyTo: "**"',),
    ),
    _headed(
        "devin-rules",
        ".devin/rules/**/*.md",
        ".windsurf/rules/**/*.md",
        holds=_devin,
        files=_by_trigger,
        header=("trigger: always_on",),
    ),
    _headed(
        "cline-rules", ".clinerules/*.md", ".clinerules/*.txt", holds=_cline, files=_paths_or_globs
    ),
    _headed(
        "kiro", ".kiro/steering/*.md", holds=_kiro, files=_by_file, header=("inclusion: always",)
    ),
)
