"""The verb `facts`: what a project is made of, where that is declared, and what rests on it."""

from collections import defaultdict
from dataclasses import dataclass

from yaadwatch.anchors import declarations
from yaadwatch.anchors.declarations import COMMANDS, PACKAGE, Declaration
from yaadwatch.anchors.facts import plain_name, short_names
from yaadwatch.api.messages.memories import Facts
from yaadwatch.db import anchors, authority, nodes, visibility
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import seen_from
from yaadwatch.memory import views
from yaadwatch.memory.visibility import view_of
from yaadwatch.model.anchors import Anchor, Method
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.memories import THINGS, Node
from yaadwatch.model.projects import Authority
from yaadwatch.remember.drafts import folder_of, place_of
from yaadwatch.staleness import file_state
from yaadwatch.staleness.worktree import WorkTree, look_at
from yaadwatch.text import privacy
from yaadwatch.workspace.workspace import Call, Home, Space

FILES_MAX = 400
"""Files that are read, those nearest the top first."""
FACTS_MAX = 500
"""Facts in one answer."""


@dataclass(frozen=True, slots=True)
class _Resting:
    """The memories that are shown here, and what they rest on."""

    nodes: dict[str, Node]
    whose: dict[str, Authority]
    by_name: dict[str, list[Anchor]]
    by_path: dict[str, list[Anchor]]


def facts(home: Home, call: Call, ask: Facts) -> dict[str, object]:
    """Return what the project is made of; the answer is Facts.

    Raises:
        YaadError: NOT_FOUND when no watched project is here, or `path` is outside of it.
    """
    with home.space(call) as space:
        place = _folder(ask.path, call, space)
        tree, _ = look_at(space, (), home.clock.now_ns())
        paths = _files(tree, place)
        view = view_of(home, space, all_branches=False)
        resting = space.db.read(seen_from, view, _resting)
        rows, invalid = [], []
        for path in paths[:FILES_MAX]:
            needs_text = declarations.needs_text(path)
            text = (tree.read(path) or b"").decode("utf-8", "replace") if needs_text else ""
            found = declarations.declarations(path, text)
            if found is None:
                invalid.append(path)
            rows += [(path, one) for one in found or ()]
    known = [(path, one, _memories(path, one, resting)) for path, one in rows]
    shown = [row for row in known if ask.all or row[2] or row[1].slot != PACKAGE]
    return {
        "facts": [
            {
                "slot": one.slot,
                "name": privacy.mask(one.name).text,
                "value": privacy.mask(one.value).text or None,
                "path": path,
                "line": one.line,
                "memories": [
                    {
                        "id": node.id,
                        "text": node.summary,
                        **views.by_row(resting.whose.get(node.id)),
                    }
                    for node in said
                ],
            }
            for path, one, said in shown[:FACTS_MAX]
        ],
        "invalid": invalid,
        "packages": sum(one.slot == PACKAGE for _, one, _ in known),
        "more": max(0, len(shown) - FACTS_MAX),
        "not_read": max(0, len(paths) - FILES_MAX),
    }


def _folder(path: str | None, call: Call, space: Space) -> str:
    """Return the folder or file that is asked for; '' for all of the work tree."""
    place = place_of(path, folder_of(call, space), space) if path else "."
    if place is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"{path} is outside of {space.root}; nothing was listed.",
            hint="Name a folder of this work tree, or another project with --project DIR",
        )
    return "" if place == "." else place


def _files(tree: WorkTree, place: str) -> list[str]:
    """Return the files that may declare something, nearest the top first."""
    found = [
        path
        for path in {*tree.listing().every(), *tree.new_files().every()}
        if declarations.is_declaring(path.rpartition("/")[2])
        and (not place or path == place or path.startswith(f"{place}/"))
        and not file_state.is_no_project(path)
        and tree.has_file(path)
    ]
    return sorted(found, key=lambda path: (path.count("/"), path))


def _resting(conn: Connection) -> _Resting:
    hidden = visibility.of_other_branches(conn) | visibility.hidden(conn, visibility.FILE)
    every = [anchor for anchor in anchors.everything(conn) if anchor.node not in hidden]
    living = {
        id_: node
        for id_, node in nodes.many(conn, {anchor.node for anchor in every}).items()
        if node.archived_at is None and node.kind not in THINGS
    }
    by_name, by_path = defaultdict(list), defaultdict(list)
    for anchor in every:
        if anchor.node in living:
            by_path[anchor.path].append(anchor)
            if anchor.is_declared:
                by_name[anchor.name].append(anchor)
    return _Resting(living, authority.of_nodes(conn, living), by_name, by_path)


def _memories(path: str, one: Declaration, resting: _Resting) -> list[Node]:
    """Return the memories that rest on a declaration: on its name, or on its value there."""
    names = (one.name, *short_names(one.name))
    found = {anchor.node for name in names for anchor in resting.by_name.get(name, ())}
    found |= {anchor.node for anchor in resting.by_path.get(path, ()) if _is_on(anchor, one)}
    return [resting.nodes[id_] for id_ in sorted(found)]


def _is_on(anchor: Anchor, one: Declaration) -> bool:
    """Return whether an anchor in the file of a declaration is on that declaration."""
    if one.slot == COMMANDS:
        return anchor.method is Method.TARGET
    names = {one.name, f"{one.name}:{one.value}"}
    if anchor.method is Method.WORD:
        return anchor.symbol in names
    if anchor.method is not Method.VALUE or anchor.is_declared:
        return False
    return anchor.value in names or plain_name(anchor.name.removesuffix(".js").lower()) == one.name
