"""Which memories are rules for every agent; and what the words of a file once stood for."""

from collections.abc import Collection, Iterable

import apsw

from yaadwatch.model.nodes import Node
from yaadwatch.store import nodes
from yaadwatch.store.codec import json_list
from yaadwatch.store.graph import supersession
from yaadwatch.store.graph.supersession import said_by_person
from yaadwatch.store.truth.authority import persons_word


def rules(
    conn: apsw.Connection,
    *,
    agents: bool = False,
    inside: Collection[str] = (),
    agreed: Collection[str] = (),
) -> list[Node]:
    """Return the living hot or pinned memories, pinned first, then the oldest first.

    Those that have given way to another are left out; see `store.graph.supersession`.

    Args:
        conn: a snapshot.
        agents: those too of agents and imports that no person has approved.
        inside: hashes of words that a block holds: what came with git stays where it is, and goes
            nowhere else before a person approves it.
        agreed: memories that have a line in a block: where git gave one other words elsewhere, the
            line follows.
    """
    rows = conn.execute(
        f"""
        SELECT id
          FROM nodes
         WHERE archived_ms IS NULL AND scope = 'project' AND kind NOT IN ('file', 'entity')
           AND (tier = 1 OR pinned)
           AND ((?1 AND from_git = 0) OR {persons_word("nodes")}
                OR (from_git = 1 AND (text_hash IN (SELECT value FROM json_each(?2))
                                      OR id IN (SELECT value FROM json_each(?3)))))
         ORDER BY pinned DESC, created_ms, id
        """,  # noqa: S608
        (int(agents), json_list(inside), json_list(agreed)),
    )
    order = [node for (node,) in rows]
    gone = supersession.successors(conn, order)
    found = nodes.many(conn, [node for node in order if node not in gone])
    return [found[node] for node in order if node in found]


def is_persons(conn: apsw.Connection, id: str) -> bool:
    """Return whether a person said a memory, or has confirmed, pinned or typed it since."""
    return bool(persons(conn, [id]))


def persons(conn: apsw.Connection, ids: Iterable[str]) -> set[str]:
    """Return those of `ids` that a person said, or has confirmed, pinned or typed since."""
    rows = conn.execute(
        f"""
        SELECT id
          FROM nodes
         WHERE id IN (SELECT value FROM json_each(?)) AND {said_by_person("nodes")}
         ORDER BY id
        """,  # noqa: S608
        (json_list(ids),),
    )
    return {node for (node,) in rows}


def archived(conn: apsw.Connection, hashes: Iterable[str]) -> dict[str, Node]:
    """Return by hash the memory last archived that said these words, where no living one does."""
    rows = conn.execute(
        """
        SELECT text_hash, id
          FROM nodes AS old
         WHERE text_hash IN (SELECT value FROM json_each(?)) AND archived_ms IS NOT NULL
           AND scope = 'project' AND kind NOT IN ('file', 'entity')
           AND NOT EXISTS (
               SELECT 1
                 FROM nodes AS living
                WHERE living.text_hash = old.text_hash AND living.scope = 'project'
                  AND living.archived_ms IS NULL AND living.kind NOT IN ('file', 'entity'))
         ORDER BY archived_ms, id
        """,
        (json_list(hashes),),
    )
    newest = dict(iter(rows))
    found = nodes.many(conn, newest.values())
    return {key: found[node] for key, node in newest.items()}


def former(conn: apsw.Connection) -> dict[str, str]:
    """Return the words that archived memories had before they had others, and which memory had."""
    rows = conn.execute(
        """
        SELECT DISTINCT node_versions.text, nodes.id
          FROM node_versions
          JOIN nodes ON nodes.id = node_versions.node
         WHERE nodes.archived_ms IS NOT NULL AND nodes.scope = 'project'
           AND nodes.kind NOT IN ('file', 'entity') AND nodes.text <> node_versions.text
         ORDER BY node_versions.text, nodes.id
        """
    )
    return dict(iter(rows))


def living(conn: apsw.Connection, hashes: Iterable[str]) -> list[Node]:
    """Return the living memories that say these words, by id."""
    rows = conn.execute(
        """
        SELECT id
          FROM nodes
         WHERE text_hash IN (SELECT value FROM json_each(?)) AND archived_ms IS NULL
           AND scope = 'project' AND kind NOT IN ('file', 'entity')
         ORDER BY id
        """,
        (json_list(hashes),),
    )
    return list(nodes.many(conn, [node for (node,) in rows]).values())


def texts(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, list[str]]:
    """Return what each node says and said before, newest first, each text once."""
    wanted = json_list(ids)
    rows = conn.execute(
        """
        SELECT old.node, coalesce(old.text, nodes.text)
          FROM node_versions AS old
          JOIN nodes ON nodes.id = old.node
         WHERE old.node IN (SELECT value FROM json_each(?))
         ORDER BY old.node, old.version DESC
        """,
        (wanted,),
    )
    found: dict[str, dict[str, None]] = {}
    for node, text in rows:
        found.setdefault(node, {})[text] = None
    return {node: list(said) for node, said in found.items()}
