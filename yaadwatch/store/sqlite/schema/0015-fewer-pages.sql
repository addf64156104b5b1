-- The same with fewer pages to write for each memory: one index of where edges begin instead of two, no table that counts
-- the events, and an index of open sessions that stays as it is while they go on.

-- An edge that holds is there once. Two triggers see to that with the index of where edges begin, which is half as large as
-- one of whole edges.
DROP INDEX edges_open;
CREATE TRIGGER edges_once BEFORE INSERT ON edges
WHEN new.valid_until_ms IS NULL AND EXISTS (
    SELECT 1 FROM edges
     WHERE from_node = new.from_node AND kind = new.kind AND +to_node = new.to_node AND valid_until_ms IS NULL)
BEGIN
    SELECT raise(ABORT, 'the same edge holds already');
END;
CREATE TRIGGER edges_once_changed BEFORE UPDATE OF from_node, kind, to_node, valid_until_ms ON edges
WHEN new.valid_until_ms IS NULL AND EXISTS (
    SELECT 1 FROM edges
     WHERE from_node = new.from_node AND kind = new.kind AND +to_node = new.to_node AND valid_until_ms IS NULL
       AND id <> old.id)
BEGIN
    SELECT raise(ABORT, 'the same edge holds already');
END;

-- Open ones are few: when each last asked is read in its row.
DROP INDEX sessions_open;
CREATE INDEX sessions_open ON sessions (num) WHERE end_ms IS NULL;

-- The number of the last event was kept by AUTOINCREMENT where the event was deleted. What stands for it now is one that
-- says nothing.
CREATE TEMP TABLE happened AS
SELECT seq, kind, at_ms, subject, body
  FROM events
 UNION ALL
SELECT seq, 'job.ran', 0, 'trim', '{"ok":true}'
  FROM sqlite_sequence
 WHERE name = 'events' AND seq > (SELECT coalesce(max(seq), 0) FROM events);
DROP TABLE events;

-- What happened, in order. A row is written in the transaction of the change it reports. The last one is never deleted,
-- because the number of the next one follows from it.
CREATE TABLE events (
    seq     INTEGER PRIMARY KEY,
    kind    TEXT NOT NULL,
    at_ms   INTEGER NOT NULL,
    subject TEXT NOT NULL,                -- node id, path of a worktree or of the store, or job name
    body    TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(body))
) STRICT;
INSERT INTO events (seq, kind, at_ms, subject, body)
SELECT seq, kind, at_ms, subject, body
  FROM happened
 ORDER BY seq;
DROP TABLE happened;
