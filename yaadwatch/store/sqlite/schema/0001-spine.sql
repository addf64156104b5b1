-- The spine: what is remembered, where it came from, what it rests on, and whether that still holds.
-- Times are Unix milliseconds, UTC. This file never changes once released; changes are new files.

-- One fact about this store: 'project' (its uuid), 'role' ('user' or 'project'), 'agent_files' (how the files
-- were when last read: JSON rows of path, mode, state, reason).
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- User store only: a repository that is watched, or was (removed_ms) and may come back.
CREATE TABLE projects (
    id          TEXT PRIMARY KEY,
    root        TEXT NOT NULL,            -- main worktree, absolute; of a bare repository the common directory
    common_dir  TEXT NOT NULL,            -- git common directory, absolute, links resolved
    device      INTEGER NOT NULL,         -- st_dev of the common directory
    inode       INTEGER NOT NULL,         -- st_ino of the common directory
    store       TEXT NOT NULL,            -- path of the project's database, absolute
    excluded    TEXT NOT NULL DEFAULT '', -- the text we appended to info/exclude, byte for byte; '' if none
    added_ms    INTEGER NOT NULL,
    removed_ms  INTEGER
) STRICT;
CREATE UNIQUE INDEX projects_by_common_dir ON projects (common_dir) WHERE removed_ms IS NULL;

-- User store only: a job ran. A job that is late after sleep runs once.
CREATE TABLE job_runs (
    job      TEXT PRIMARY KEY,
    start_ms INTEGER NOT NULL,
    end_ms   INTEGER,                     -- null while it runs, or when it was cut off
    error    TEXT,                        -- masked; null when it went well
    runs     INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;

-- A work tree of this project. Verdicts differ between work trees.
CREATE TABLE worktrees (
    id         INTEGER PRIMARY KEY,
    path       TEXT NOT NULL UNIQUE,      -- absolute
    head       TEXT NOT NULL DEFAULT '',  -- commit at the last check, hex; '' before the first commit
    branch     TEXT NOT NULL DEFAULT '',  -- short name; '' when detached
    checked_ms INTEGER                    -- when every anchor was last known to be judged
) STRICT;

-- A memory, or a thing that memories touch (kinds 'file' and 'entity').
CREATE TABLE nodes (
    num            INTEGER PRIMARY KEY,   -- for the full-text index; never shown (VACUUM would renumber a hidden rowid)
    id             TEXT NOT NULL UNIQUE,
    kind           TEXT NOT NULL,
    tier           INTEGER NOT NULL CHECK (tier BETWEEN 1 AND 3),  -- 1 hot, 2 warm, 3 cold
    scope          TEXT NOT NULL CHECK (scope IN ('user', 'project')),
    text           TEXT NOT NULL,         -- masked
    text_hash      TEXT NOT NULL,         -- SHA-256 of the normalised text, hex
    summary        TEXT NOT NULL,
    key            TEXT,                  -- slug, unique within the scope among living nodes
    tags           TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
    attributes     TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(attributes)),
    origin         TEXT NOT NULL,         -- 'cli', 'agent:NAME', 'file:PATH', 'import'
    session        TEXT,
    confidence     REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),  -- as stated; what is left is computed
    confirmed_ms   INTEGER NOT NULL,      -- when it was stated; its age counts from here
    accessed_ms    INTEGER,               -- the last UTC day's access that raised the confidence
    pinned         INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    version        INTEGER NOT NULL DEFAULT 1,
    created_ms     INTEGER NOT NULL,
    updated_ms     INTEGER NOT NULL,
    archived_ms    INTEGER,
    archive_reason TEXT
) STRICT;
CREATE UNIQUE INDEX nodes_by_text ON nodes (scope, kind IN ('file', 'entity'), text_hash) WHERE archived_ms IS NULL;
CREATE UNIQUE INDEX nodes_by_key ON nodes (scope, key) WHERE archived_ms IS NULL AND key IS NOT NULL;

-- How a node read after one change.
CREATE TABLE node_versions (
    node    TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    change  TEXT NOT NULL,                -- created, confirmed, pinned, unpinned, archived, restored
    actor   TEXT NOT NULL,                -- who: an origin, or 'upkeep'
    reason  TEXT NOT NULL DEFAULT '',
    kind    TEXT NOT NULL,
    tier    INTEGER NOT NULL,
    text    TEXT NOT NULL,                -- masked
    PRIMARY KEY (node, version)
) STRICT, WITHOUT ROWID;

-- A place in a person's own file that says this node. Such a node does not age.
CREATE TABLE provenance (
    node     TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    worktree INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path     TEXT NOT NULL,               -- relative to the work tree, '/' on every OS
    position INTEGER NOT NULL,            -- ordinal of the statement in the file, from 0
    line     INTEGER,                     -- from 1; null while the checked-out branch does not say it
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (worktree, path, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX provenance_by_node ON provenance (node);

-- One node relates to another. Intervals are half-open; valid_until_ms null means still.
CREATE TABLE edges (
    id             INTEGER PRIMARY KEY,
    from_node      TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    to_node        TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    kind           TEXT NOT NULL,
    weight         REAL NOT NULL DEFAULT 1.0,
    attributes     TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(attributes)),
    created_ms     INTEGER NOT NULL,
    updated_ms     INTEGER NOT NULL,
    valid_from_ms  INTEGER NOT NULL,
    valid_until_ms INTEGER CHECK (valid_until_ms IS NULL OR valid_until_ms >= valid_from_ms)
) STRICT;
CREATE UNIQUE INDEX edges_open ON edges (from_node, kind, to_node) WHERE valid_until_ms IS NULL;
CREATE INDEX edges_by_start ON edges (from_node, kind);  -- closed ones too, for when a node is erased
CREATE INDEX edges_by_end ON edges (to_node, kind);

-- The words of a living node. `sub` holds identifiers split into their parts; rowid is the node's num.
CREATE VIRTUAL TABLE nodes_fts USING fts5 (
    text, sub, tags,
    tokenize = 'porter unicode61 remove_diacritics 2'
);
-- A num may be given out again; words left behind would then be found under another node.
CREATE TRIGGER nodes_erased AFTER DELETE ON nodes BEGIN
    DELETE FROM nodes_fts WHERE rowid = old.num;
END;

-- An anchor: a node rests on a file, or on a definition in it, as it was when the node was last confirmed.
CREATE TABLE file_watch (
    id          INTEGER PRIMARY KEY,
    node        TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    path        TEXT NOT NULL,            -- relative to the work tree, '/' on every OS
    reference   TEXT NOT NULL AS (iif(symbol = '', 'file', 'symbol')),
    symbol      TEXT NOT NULL DEFAULT '', -- '' for a file
    commit_id   TEXT NOT NULL DEFAULT '', -- HEAD then, hex; '' before the first commit
    blob        TEXT NOT NULL,            -- git's id of the file's bytes then, hex
    method      TEXT NOT NULL CHECK (method IN ('file', 'tree', 'hunks')),  -- how the span is compared
    fingerprint TEXT NOT NULL DEFAULT '', -- SHA-256 of the span without its formatting; '' unless method is 'tree'
    line        INTEGER,                  -- first line of the definition then, from 1
    trust       TEXT NOT NULL CHECK (trust IN ('text', 'given', 'session'))  -- where the reference comes from
) STRICT;
CREATE UNIQUE INDEX file_watch_once ON file_watch (node, path, symbol);
CREATE INDEX file_watch_by_path ON file_watch (path);

-- How an anchored path looked when it was last read in a work tree; spares reading it again.
CREATE TABLE sightings (
    worktree  INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path      TEXT NOT NULL,
    signature TEXT NOT NULL,              -- size:mtime_ns:ctime_ns:inode; '' when it must not be believed; '-' when absent
    blob      TEXT NOT NULL,              -- git's id of its bytes; '' when absent or not readable
    PRIMARY KEY (worktree, path)
) STRICT, WITHOUT ROWID;

-- The present doubt about a node in a work tree. It goes when the reason goes.
CREATE TABLE stale_flags (
    node        TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    worktree    INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    verdict     TEXT NOT NULL CHECK (verdict IN ('moved', 'changed', 'gone', 'unknown')),
    score       REAL NOT NULL CHECK (score BETWEEN 0 AND 1),
    level       TEXT NOT NULL CHECK (level IN ('warn', 'suspect', '')),  -- '' for unknown
    reason      TEXT NOT NULL,
    since_ms    INTEGER NOT NULL,         -- when this verdict was first reached
    branch      TEXT NOT NULL DEFAULT '',
    uncommitted INTEGER NOT NULL CHECK (uncommitted IN (0, 1)),
    evidence    TEXT NOT NULL CHECK (json_valid(evidence)),
    suggestion  TEXT CHECK (suggestion IS NULL OR json_valid(suggestion)),
    PRIMARY KEY (worktree, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX stale_flags_by_node ON stale_flags (node);

-- What happened, in order. A row is written in the transaction of the change it reports.
CREATE TABLE events (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    kind    TEXT NOT NULL,
    at_ms   INTEGER NOT NULL,
    subject TEXT NOT NULL,                -- node id, path of a worktree or of the store, or job name
    body    TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(body))
) STRICT;

-- How far a follower has read; `failed_seq` and `tries` tell of an event that its handler cannot digest.
CREATE TABLE cursors (
    name       TEXT PRIMARY KEY,
    seq        INTEGER NOT NULL,
    failed_seq INTEGER NOT NULL DEFAULT 0,  -- 0 when the last event went well
    tries      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
