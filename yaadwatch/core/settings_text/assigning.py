"""Set one key in a file of settings, or take it out, and leave every other byte alone.

A line is changed or added where it belongs; then the text is read, and unless it says exactly what
it should, nothing is done. So what is written in an unusual way is refused, never damaged.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final

from yaadwatch.core.settings_text.edits import NotUnderstoodError, line_end
from yaadwatch.core.settings_text.toml import read, said

_HEADER: Final = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
"""What TOML takes for one; Python knows more ways to end a line."""
_COMMENT: Final = re.compile(r"""(?:[^#"']|"(?:[^"\\]|\\.)*"|'[^']*')*?(\s+#.*)""")


def assign(text: str, section: str, key: str, value: object) -> str:
    """Return `text` with `section.key` set to `value`.

    Args:
        text: of the settings.
        section: the name of a table at the top.
        key: a name in it.
        value: a text, a number, a truth, or a list of those.

    Raises:
        NotUnderstoodError: the text is no TOML, or says this key in a way that is not understood.
    """
    wanted = read(text)
    inner = wanted.get(section, {})
    if not isinstance(inner, dict):
        raise NotUnderstoodError(f"{section} is not a table there")
    wanted = wanted | {section: inner | {key: value}}
    return _the_one(_with_line(text, section, key, f"{key} = {said(value)}"), wanted, section, key)


def drop(text: str, section: str, key: str) -> str:
    """Return `text` without `section.key`; as it is when it does not say it.

    Args:
        text: of the settings.
        section: the name of a table at the top; "" for what is in none.
        key: a name in it.

    Raises:
        NotUnderstoodError: as for `assign`.
    """
    wanted = read(text)
    inner = wanted.get(section) if section else wanted
    if not isinstance(inner, dict) or key not in inner:
        return text
    left = {name: value for name, value in inner.items() if name != key}
    emptied = [wanted | {section: left} if section else left]
    if section and not left:
        emptied.append({name: value for name, value in wanted.items() if name != section})
    for one in emptied:
        for candidate in _without_line(text, section, key):
            if _says(candidate, one):
                return candidate
    raise _unusual(section, key)


def _with_line(text: str, section: str, key: str, line: str) -> Iterator[str]:
    lines = _LINES.findall(text)
    end = line_end(text)
    for number, name in _lines_of(lines, section, key):
        comment = _COMMENT.match(lines[number].rstrip("\r\n"))
        behind = comment.group(1) if comment else ""
        shown = line if name == key else f"{name}{line.removeprefix(key)}"
        yield "".join([*lines[:number], f"{shown}{behind}{end}", *lines[number + 1 :]])
    for number, one in enumerate(lines):
        if _name_of(one) == section:
            header = one if one.endswith("\n") else one + end
            yield "".join([*lines[:number], header, line + end, *lines[number + 1 :]])
    whole = text if not text or text.endswith("\n") else text + end
    gap = end if whole.strip() else ""
    yield f"{whole}{gap}[{section}]{end}{line}{end}"


def _without_line(text: str, section: str, key: str) -> Iterator[str]:
    lines = _LINES.findall(text)
    for number, _ in _lines_of(lines, section, key):
        yield "".join([*lines[:number], *lines[number + 1 :]])


def _lines_of(lines: list[str], section: str, key: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that may say the key, with the name that they say it by."""
    inside = ""
    for number, line in enumerate(lines):
        header = _name_of(line)
        if header is not None:
            inside = header
        name = key if inside == section else f"{section}.{key}" if not inside else ""
        if name and re.match(rf"\s*{re.escape(name)}\s*=", line):
            yield number, name


def _name_of(line: str) -> str | None:
    found = _HEADER.fullmatch(line.rstrip("\r\n"))
    return found.group(1) if found else None


def _the_one(candidates: Iterator[str], wanted: dict[str, Any], section: str, key: str) -> str:
    for candidate in candidates:
        if _says(candidate, wanted):
            return candidate
    raise _unusual(section, key)


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return read(text) == wanted
    except (NotUnderstoodError, tomllib.TOMLDecodeError):
        return False


def _unusual(section: str, key: str) -> NotUnderstoodError:
    named = f"{section}.{key}" if section else key
    return NotUnderstoodError(f"{named} is written there in a way that is not understood")
