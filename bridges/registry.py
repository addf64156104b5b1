"""Which agent-file formats there are, and which one a path has.

Other packages can add formats: an entry point in the group `yaadwatch.bridges` that leads to a
Bridge, or to a tuple of them. They come after those of this package, and can replace none of them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata
from typing import Final

from bridges.formats.headed import HEADED
from bridges.formats.plain import PLAIN
from bridges.reading import STATEMENTS_MAX
from bridges.rules import STATEMENT_CHARS_MAX, Bridge, Document, Problem, Statement

BRIDGES: Final[tuple[Bridge, ...]] = (*PLAIN, *HEADED)
"""The formats that come with this package."""

GROUP: Final = "yaadwatch.bridges"
"""The group of entry points in which other packages name their formats."""

_NO_TEXT = re.compile("[\\0\\r\\n\\ud800-\\udfff]")


def bridges() -> tuple[Bridge, ...]:
    """Return every format there is; what other packages add is looked for the first time only."""
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
    """Return why something cannot be a further format; empty if it can."""
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
    """Return how files of another package's format are read: as it does, but never raising."""

    def parse(content: bytes) -> Document:
        try:
            document = bridge.parse(content)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the code of others, on any bytes)
            reason = f"the format {bridge.name} failed on it with {type(error).__name__}"
        else:
            if not isinstance(document, Document):
                reason = f"the format {bridge.name} made {type(document).__name__} of it"
            elif _is_sound(document):
                return document
            else:
                reason = f"the format {bridge.name} made statements of it that are none"
        problem = Problem(line=None, message=f"The file was not read: {reason}.")
        return Document(statements=(), problems=(problem,))

    return parse


def _is_sound(document: Document) -> bool:
    """Tell whether a document holds what its types say; statements are one line of text each."""
    return (
        isinstance(document.statements, tuple)
        and isinstance(document.problems, tuple)
        and len(document.statements) <= STATEMENTS_MAX
        and all(map(_is_statement, document.statements))
        and all(
            isinstance(one, Problem) and isinstance(one.message, str) for one in document.problems
        )
    )


def _is_statement(value: object) -> bool:
    return (
        isinstance(value, Statement)
        and isinstance(value.text, str)
        and len(value.text) <= STATEMENT_CHARS_MAX
        and not _NO_TEXT.search(value.text)
        and isinstance(value.line, int)
        and isinstance(value.end_line, int)
        and isinstance(value.headings, tuple)
        and all(isinstance(one, str) for one in value.headings)
        and (value.kind is None or isinstance(value.kind, str))
        and isinstance(value.lead, str)
        and isinstance(value.stays, str)
    )
