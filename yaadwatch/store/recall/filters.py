"""Which memories a question is about: the filter of a question, in SQL."""

import json
from typing import Final

from yaadwatch.model.recall import Filter
from yaadwatch.store.codec import json_list, to_ms_or_null
from yaadwatch.store.graph.supersession import said_by_person

LIVES: Final = "nodes.archived_ms IS NULL AND nodes.kind NOT IN ('file', 'entity')"
"""A condition on a row of `nodes`: a memory, and not an archived one."""
FITS: Final = f"""
{LIVES}
AND (:kinds = '[]' OR nodes.kind IN (SELECT value FROM json_each(:kinds)))
AND (:scope IS NULL OR nodes.scope = :scope)
AND (:agent IS NULL OR nodes.origin = 'agent:' || :agent)
AND (:session IS NULL OR nodes.session = :session)
AND NOT EXISTS (SELECT 1
                  FROM json_each(:tags) AS wanted
                 WHERE wanted.value NOT IN (SELECT value FROM json_each(nodes.tags)))
AND (:path IS NULL
     OR EXISTS (SELECT 1
                  FROM file_watch
                 WHERE node = nodes.id
                   AND (path = :path OR substr(path, 1, length(:path) + 1) = :path || '/'))
     OR EXISTS (SELECT 1
                  FROM provenance
                 WHERE node = nodes.id
                   AND (path = :path OR substr(path, 1, length(:path) + 1) = :path || '/')))
AND (:at IS NULL
     OR (nodes.created_ms <= :at
         AND NOT EXISTS (SELECT 1
                           FROM edges
                           JOIN nodes AS later ON later.id = edges.from_node
                          WHERE edges.to_node = nodes.id AND edges.kind = 'supersedes'
                            AND edges.valid_from_ms <= :at
                            AND (edges.valid_until_ms IS NULL OR edges.valid_until_ms > :at)
                            AND ({said_by_person("later")} OR NOT {said_by_person("nodes")}))))
"""  # noqa: S608  (a constant of ours)
"""A condition on a row of `nodes`; the values come from `bindings`."""


def bindings(wanted: Filter) -> dict[str, str | int | None]:
    """Return the values that `FITS` is about."""
    return {
        "kinds": json_list(wanted.kinds),
        "scope": wanted.scope,
        "agent": wanted.agent,
        "session": wanted.session,
        "tags": json.dumps(wanted.tags),
        "path": wanted.path,
        "at": to_ms_or_null(wanted.at),
    }
