"""Which packages does a project say that it uses: npm, Python, Go and Cargo."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from yaadwatch.core.text_cache import kept

NPM: Final = "npm"
PIP: Final = "pip"
GO: Final = "go"
CARGO: Final = "cargo"

NAMES: Final = ("package.json", "pyproject.toml", "requirements.txt", "go.mod", "Cargo.toml")
"""What files that say so are called."""

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]{0,100})")
_MODULE = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+(?:/[\w.~-]+)+)\s+v\d", re.MULTILINE)


def plain_name(name: str) -> str:
    """Return a package's name in the one form that all of its spellings have."""
    return re.sub(r"[-_.]+", "-", name).lower() if "/" not in name else name


@kept(64)
def packages(name: str, text: str) -> Mapping[str, str]:
    """Return the packages that a file of this name names, plain name to ecosystem.

    What cannot be read as such a file names none.
    """
    try:
        sort, found = _READERS[name]
        return {plain_name(one): sort for one in islice(found(text), 2_000)}
    except (ValueError, RecursionError):
        return {}


def _of_npm(text: str) -> Iterator[str]:
    read = json.loads(text)
    for part in ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies"):
        yield from _keys(read, part)


def _of_python(text: str) -> Iterator[str]:
    read = tomllib.loads(text)
    project = _part(read, "project")
    yield from _requirements(project.get("dependencies"))
    for groups in (_part(project, "optional-dependencies"), _part(read, "dependency-groups")):
        for group in groups.values():
            yield from _requirements(group)
    poetry = _part(_part(read, "tool"), "poetry")
    yield from (name for name in _keys(poetry, "dependencies") if name != "python")
    for group in _part(poetry, "group").values():
        yield from _keys(group, "dependencies")


def _of_requirements(text: str) -> Iterator[str]:
    yield from _requirements(line for line in text.splitlines() if line[:1] not in ("#", "-"))


def _of_go(text: str) -> Iterator[str]:
    yield from _MODULE.findall(text)


def _of_cargo(text: str) -> Iterator[str]:
    read = tomllib.loads(text)
    for place in (read, _part(read, "workspace"), *_part(read, "target").values()):
        for part in ("dependencies", "dev-dependencies", "build-dependencies"):
            yield from _keys(place, part)


def _requirements(lines: object) -> Iterator[str]:
    if isinstance(lines, str) or not isinstance(lines, Iterable):
        return
    for line in lines:
        found = _REQUIREMENT.match(line) if isinstance(line, str) else None
        if found is not None:
            yield found.group(1)


def _part(read: object, name: str) -> dict[str, object]:
    found = read.get(name) if isinstance(read, dict) else None
    return found if isinstance(found, dict) else {}


def _keys(read: object, name: str) -> Iterator[str]:
    yield from (str(key) for key in _part(read, name))


_READERS: Final = {
    "package.json": (NPM, _of_npm),
    "pyproject.toml": (PIP, _of_python),
    "requirements.txt": (PIP, _of_requirements),
    "go.mod": (GO, _of_go),
    "Cargo.toml": (CARGO, _of_cargo),
}
