-- The words of a memory once: a version that reads as its memory does now keeps no words of its own.

CREATE TEMP TABLE versions AS SELECT * FROM node_versions;
DROP TABLE node_versions;

-- How a node read after one change. Where `text` is null, it read then as the node does now.
CREATE TABLE node_versions (
    node    TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    change  TEXT NOT NULL,                -- created, confirmed, edited, pinned, unpinned, archived, restored
    actor   TEXT NOT NULL,                -- who: an origin, or 'upkeep'
    reason  TEXT NOT NULL DEFAULT '',
    kind    TEXT NOT NULL,
    tier    INTEGER NOT NULL,
    text    TEXT,                         -- masked
    PRIMARY KEY (node, version)
) STRICT, WITHOUT ROWID;
INSERT INTO node_versions (node, version, at_ms, change, actor, reason, kind, tier, text)
SELECT old.node, old.version, old.at_ms, old.change, old.actor, old.reason, old.kind, old.tier, nullif(old.text, nodes.text)
  FROM versions AS old
  LEFT JOIN nodes ON nodes.id = old.node
 ORDER BY old.node, old.version;
DROP TABLE versions;

-- Before a node gets other words, the versions that read as it did get those that it had.
CREATE TRIGGER nodes_reworded BEFORE UPDATE OF text ON nodes WHEN old.text IS NOT new.text BEGIN
    UPDATE node_versions SET text = old.text WHERE node = old.id AND text IS NULL;
END;
