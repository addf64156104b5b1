"""The table of agent-file formats, and the lookup of a format by path.

Other packages can add formats with an entry point in the group `yaadwatch.bridges` that resolves to
a Bridge or a tuple of them. Those follow the formats of this package, and cannot replace any.

A format whose header says which files or tasks a rule applies to has one row of its own. Such files
are many in one folder, and never get our block: a separate file of our own, with the preamble of
the row on top, has the same effect and leaves theirs untouched.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata
from typing import Final

from bridges.frontmatter import Fields, patterns
from bridges.reading import STATEMENTS_MAX, for_all_files, headed, parse, parse_part
from bridges.rules import STATEMENT_CHARS_MAX, Bridge, Document, Problem, Statement

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
    """Without `applyTo`, the file must be requested explicitly."""
    return for_all_files(patterns(said.get("applyTo")))


def _devin(said: Fields) -> bool:
    return said.get("trigger") == "always_on"


def _cline(said: Fields) -> bool:
    """An empty list of paths matches no file."""
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
    """Return a format whose files have a header that restricts where they apply.

    Args:
        name: of the format.
        paths: patterns of its files.
        holds: whether a header lets a file apply everywhere.
        files: returns the patterns of the files to which a header restricts it.
        nested: whether files in nested folders are read, too.
        header: the header of our own file.
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


BRIDGES: Final[tuple[Bridge, ...]] = (*PLAIN, *HEADED)
"""The formats that come with this package."""

GROUP: Final = "yaadwatch.bridges"
"""The group of entry points in which other packages name their formats."""

_NO_TEXT = re.compile("[\\0\\r\\n\\ud800-\\udfff]")


def bridges() -> tuple[Bridge, ...]:
    """Return all formats; entry points of other packages are loaded once."""
    return (*BRIDGES, *_added()[0])


def problems() -> tuple[str, ...]:
    """Return why formats of other packages were left out, a sentence for each."""
    return _added()[1]


def for_path(path: str, *, more: Sequence[Bridge] = ()) -> Bridge | None:
    """Return the format of the file at `path` ('/' between folders), None if we know none.

    A name at the top of the project goes before the same name in a folder further down, and a name
    with folders before one without: `web/.claude/rules/CLAUDE.md` is one of those rules.

    Args:
        path: relative to the top of a project.
        more: formats to be asked when none of all the others has such files.
    """
    names, endings = _last_parts()
    name = path.rpartition("/")[2]
    if not more and name not in names and not name.endswith(endings):
        return None  # as almost every file of a tree; patterns take fifty times as long
    known = (*bridges(), *more)
    at_top = next((bridge for bridge in known if bridge.is_at(path)), None)
    if at_top is not None:
        return at_top
    folders = path.split("/")
    below = ("/".join(folders[start:]) for start in range(1, len(folders)))
    return next(
        (bridge for tail in below for bridge in known if bridge.nested and bridge.is_at(tail)), None
    )


@cache
def _last_parts() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the file names of all formats, and the ends of those with stars."""
    last = {path.rpartition("/")[2] for bridge in bridges() for path in bridge.paths}
    starred = {name for name in last if "*" in name}
    return frozenset(last - starred), tuple(name.rpartition("*")[2] for name in starred)


@cache
def _added() -> tuple[tuple[Bridge, ...], tuple[str, ...]]:
    """Return the formats of other packages, and why some of theirs are left out."""
    added: list[Bridge] = []
    told: list[str] = []
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name):
        package = entry.dist.name if entry.dist is not None else "an unknown package"
        where = f"the format {entry.name!r} of {package}"
        try:
            value = entry.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001  (what others wrote may not end us)
            told.append(f"{where} cannot be loaded: {type(error).__name__}: {error}")
            continue
        for bridge in value if isinstance(value, tuple) else (value,):
            reason = _refused(bridge, (*BRIDGES, *added))
            if reason:
                told.append(f"{where} is left out: {reason}")
            else:
                added.append(replace(bridge, parse=_guarded(bridge)))
    return tuple(added), tuple(told)


def _refused(value: object, known: Sequence[Bridge]) -> str:
    """Return why an object cannot be added as a format; empty if it can."""
    if not isinstance(value, Bridge):
        return f"{type(value).__name__} is no Bridge"
    for other in known:
        if value.name == other.name:
            return f"there is a format named {value.name} already"
        for path in value.paths:
            if path in other.paths:
                return f"files at {path} have the format {other.name} already"
    return ""


def _guarded(bridge: Bridge) -> Callable[[bytes], Document]:
    """Wrap a format of another package so that it never raises."""

    def parse(content: bytes) -> Document:
        try:
            document = bridge.parse(content)
            statements = document.statements
            if len(statements) <= STATEMENTS_MAX and all(map(_is_statement, statements)):
                return document
            reason = "made statements of it that are none"
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the code of others, on any bytes)
            reason = f"failed on it with {type(error).__name__}"
        message = f"The file was not read: the format {bridge.name} {reason}."
        return Document(statements=(), problems=(Problem(line=None, message=message),))

    return parse


def _is_statement(value: Statement) -> bool:
    """Return whether a statement is one line of text, of no more than the usual length."""
    return len(value.text) <= STATEMENT_CHARS_MAX and not _NO_TEXT.search(value.text)
