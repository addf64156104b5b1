-- Memories rest on more than files and definitions: on folders, patterns, words, commands and values.
-- The checks of a column cannot be changed, so the table is made anew.
CREATE TEMP TABLE anchors AS SELECT * FROM file_watch;
DROP TABLE file_watch;

-- An anchor: a node rests on what its text refers to, as it was when the node was last confirmed.
CREATE TABLE file_watch (
    id          INTEGER PRIMARY KEY,
    node        TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    path        TEXT NOT NULL,            -- relative to the work tree, '/' on every OS; of a folder, or a pattern's start, too
    reference   TEXT NOT NULL AS (CASE method WHEN 'folder' THEN 'directory' WHEN 'tree' THEN 'symbol'
                    WHEN 'hunks' THEN 'symbol' WHEN 'target' THEN 'command' ELSE method END),
    symbol      TEXT NOT NULL DEFAULT '', -- definition, pattern, word, target or value; '' for a file or folder
    commit_id   TEXT NOT NULL DEFAULT '', -- HEAD then, hex; '' before the first commit
    blob        TEXT NOT NULL,            -- git's id of the file's bytes then, hex; '' for what is no file
    method      TEXT NOT NULL CHECK (method IN ('file', 'tree', 'hunks', 'folder', 'glob', 'word', 'target', 'value')),  -- how it is compared
    fingerprint TEXT NOT NULL DEFAULT '', -- 'tree': SHA-256 of the span without its formatting; 'value': the value
    line        INTEGER,                  -- first line of the definition then, from 1
    trust       TEXT NOT NULL CHECK (trust IN ('text', 'given', 'session')),  -- where the reference comes from
    spread      INTEGER NOT NULL DEFAULT 0 CHECK (spread >= 0)  -- files in which its name stood then; 0: not counted
) STRICT;

INSERT INTO file_watch (id, node, path, symbol, commit_id, blob, method, fingerprint, line, trust)
SELECT id, node, path, symbol, commit_id, blob, method, fingerprint, line, trust
  FROM anchors
 ORDER BY id;
DROP TABLE anchors;
CREATE UNIQUE INDEX file_watch_once ON file_watch (node, path, symbol);
CREATE INDEX file_watch_by_path ON file_watch (path);
