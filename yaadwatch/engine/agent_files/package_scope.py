"""Decide in which package of a repository a memory holds, and whether it is told in another one.

A rule that is stated in `packages/web` holds there. It is told at the top of the repository, with
its package, and in `packages/web`, but not in `packages/api`.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from yaadwatch.core.quoting import as_name
from yaadwatch.core.truth.claiming.statements import HOLDS_IN, holds_in, place_of
from yaadwatch.model.nodes import HOT, Node, tier_of
from yaadwatch.store import provenance
from yaadwatch.store.connection import Connection

_PARENTS: Final = frozenset(
    {"packages", "apps", "services", "libs", "modules", "crates", "plugins", "projects", "clients"}
)
"""Folders whose subfolders are packages."""
_MANIFESTS: Final = (
    *("package.json", "pyproject.toml", "setup.py", "Cargo.toml", "go.mod", "pom.xml"),
    *("build.gradle", "build.gradle.kts", "composer.json", "Gemfile", "mix.exs", "pubspec.yaml"),
)


def package_of(root: Path, folder: str) -> str:
    """Return the outermost package that a folder is in; '' when it is in none.

    Args:
        root: the work tree.
        folder: relative to it, with '/'.
    """
    parts = folder.split("/") if folder else []
    for count in range(1, len(parts) + 1):
        place = "/".join(parts[:count])
        is_listed = count > 1 and parts[count - 2] in _PARENTS
        if is_listed or any(os.path.lexists(root / place / name) for name in _MANIFESTS):
            return place
    return ""


def in_package(node: Node, words: str) -> str:
    """Return words of a memory with the package that it was stated in, if it was in one."""
    package = node.attributes.get(HOLDS_IN)
    return f"In {as_name(package)}: {words}" if isinstance(package, str) and package else words


def other_packages(conn: Connection, memories: Iterable[Node], folder: str) -> set[str]:
    """Return those of some memories that are rules of folders beside the one that is asked from.

    Args:
        conn: a snapshot of their store.
        memories: which.
        folder: where somebody works, relative to the work tree; '' at its top, where all are told.
    """
    if not folder:
        return set()
    apart = {
        node.id
        for node in memories
        if tier_of(node.kind) == HOT and _is_beside(holds_in(node), folder)
    }
    # A sentence that several files say holds for the folders of all of them.
    near = {
        place.node
        for place in provenance.saying(conn, apart)
        if not _is_beside(place_of(f"file:{place.path}"), folder)
    }
    return apart - near


def widened(known: Node, package: object) -> dict[str, object]:
    """Return what changes in a memory that is stated again: said in two packages, it holds in all.

    Args:
        known: the memory.
        package: where it is stated now; None for the whole project.
    """
    before = known.attributes.get(HOLDS_IN)
    return {HOLDS_IN: None} if before != package else {}


def _is_beside(one: str, other: str) -> bool:
    """Tell whether neither of two folders is in the other."""
    one_, other_ = f"{one}/", f"{other}/"
    return bool(one) and not one_.startswith(other_) and not other_.startswith(one_)
