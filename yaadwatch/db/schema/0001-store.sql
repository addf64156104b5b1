-- The store: memories, their anchors and flags, agent files, sessions, and what happened.
-- Times are Unix milliseconds, UTC. Hashes are in hex. "Masked" text holds no secrets.
-- Later changes of the schema are files of their own (0002-NAME.sql, ...): this one never changes once released.

-- One fact about this store. docs/contracts.md lists the keys.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- User store only: a repository that is or was watched. A removed one (removed_ms) may come back.
CREATE TABLE projects (
    id          TEXT PRIMARY KEY,
    root        TEXT NOT NULL,            -- main work tree, absolute; the common directory of a bare repository
    common_dir  TEXT NOT NULL,            -- git common directory, absolute, links resolved
    remote      TEXT NOT NULL DEFAULT '', -- address of origin, in a form that can be compared; '' if none
    root_commit TEXT NOT NULL DEFAULT '', -- first commit of its history, hex; '' before there is one
    by_path     INTEGER NOT NULL DEFAULT 0 CHECK (by_path IN (0, 1)),  -- 1: git's configuration could not be written
    added_ms    INTEGER NOT NULL,
    gone_ms     INTEGER,                  -- when it was first seen to be gone; null while it is at its place
    removed_ms  INTEGER                   -- when it was removed; its memories are kept
) STRICT;
CREATE INDEX projects_by_common_dir ON projects (common_dir) WHERE removed_ms IS NULL;

-- User store only: the last run of a job. A job that is overdue after sleep runs once.
CREATE TABLE job_runs (
    job      TEXT PRIMARY KEY,
    start_ms INTEGER NOT NULL,
    end_ms   INTEGER,                     -- null while it runs, or if it was cut off
    error    TEXT,                        -- masked; null after a success
    runs     INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;

-- A work tree of this project. Each work tree has verdicts of its own.
CREATE TABLE worktrees (
    id         INTEGER PRIMARY KEY,
    path       TEXT NOT NULL UNIQUE,      -- absolute
    head       TEXT NOT NULL DEFAULT '',  -- commit at the last check; '' before the first commit
    branch     TEXT NOT NULL DEFAULT '',  -- short name; '' for a detached HEAD
    checked_ms INTEGER,                   -- when all anchors last had a verdict
    lookback   TEXT NOT NULL DEFAULT ''   -- JSON: statements still to be compared with the code of their day
) STRICT;

-- A memory, or a thing that memories mention (kinds 'file' and 'entity').
CREATE TABLE nodes (
    num            INTEGER PRIMARY KEY,   -- for the full-text index; never shown (VACUUM would renumber a hidden rowid)
    id             TEXT NOT NULL UNIQUE,
    kind           TEXT NOT NULL,
    tier           INTEGER NOT NULL CHECK (tier BETWEEN 1 AND 3),  -- 1 hot, 2 warm, 3 cold
    scope          TEXT NOT NULL CHECK (scope IN ('user', 'project')),
    text           TEXT NOT NULL,         -- masked
    text_hash      TEXT NOT NULL,         -- first 128 bits of the SHA-256 of the normalised text
    summary        TEXT NOT NULL,         -- '' where it equals the text
    key            TEXT,                  -- slug, unique within the scope among living nodes
    tags           TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
    attributes     TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(attributes)),
    origin         TEXT NOT NULL,         -- 'cli', 'agent:NAME', 'file:PATH', 'import'
    session        TEXT,
    confidence     REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),  -- as stated; decay is computed when it is read
    confirmed_ms   INTEGER NOT NULL,      -- when it was stated or confirmed; decay counts from here
    accessed_ms    INTEGER,               -- last access that raised the confidence (one counts per UTC day)
    pinned         INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    version        INTEGER NOT NULL DEFAULT 1,
    created_ms     INTEGER NOT NULL,
    updated_ms     INTEGER NOT NULL,
    archived_ms    INTEGER,
    archive_reason TEXT,
    from_git       INTEGER NOT NULL DEFAULT 0 CHECK (from_git IN (0, 1))  -- 1: the words came with a clone, checkout or pull
) STRICT;
CREATE UNIQUE INDEX nodes_by_text ON nodes (scope, kind IN ('file', 'entity'), text_hash) WHERE archived_ms IS NULL;
CREATE UNIQUE INDEX nodes_by_key ON nodes (scope, key) WHERE archived_ms IS NULL AND key IS NOT NULL;

-- How a node read after one change.
CREATE TABLE node_versions (
    node    TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    change  TEXT NOT NULL,                -- created, confirmed, edited, pinned, unpinned, archived, restored
    actor   TEXT NOT NULL,                -- an origin, or 'upkeep'
    reason  TEXT NOT NULL DEFAULT '',
    kind    TEXT NOT NULL,
    tier    INTEGER NOT NULL,
    text    TEXT,                         -- masked; null where it equals the node's text now
    PRIMARY KEY (node, version)
) STRICT, WITHOUT ROWID;
-- Before a node's text changes, its versions that share the old text get a copy of it.
CREATE TRIGGER nodes_reworded BEFORE UPDATE OF text ON nodes WHEN old.text IS NOT new.text BEGIN
    UPDATE node_versions SET text = old.text WHERE node = old.id AND text IS NULL;
END;

-- Full-text index of living nodes; rowid is the node's num. It keeps no copy of the text. `sub` holds the parts of
-- identifiers. Each Chinese, Japanese or Korean letter is a word.
CREATE VIRTUAL TABLE nodes_fts USING fts5 (
    text, sub, tags,
    content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);
-- SQLite may reuse a num; words left behind would then be found under another node.
CREATE TRIGGER nodes_erased AFTER DELETE ON nodes BEGIN
    DELETE FROM nodes_fts WHERE rowid = old.num;
END;

-- A memory was learned, or stated again, at this commit. On other branches it holds once they contain the commit.
CREATE TABLE learned (
    node      TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    commit_id TEXT NOT NULL,              -- HEAD then
    at_ms     INTEGER NOT NULL,
    PRIMARY KEY (node, commit_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX learned_by_commit ON learned (commit_id);

-- A memory rests on uncommitted files of this work tree and branch. The row goes once a commit holds those files.
CREATE TABLE provisional (
    node     TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    worktree INTEGER REFERENCES worktrees (id) ON DELETE SET NULL,  -- null: in none now (stashed, or the work tree is gone)
    branch   TEXT NOT NULL,               -- short name; the commit for a detached HEAD
    base     TEXT NOT NULL,               -- HEAD when it was learned; '' before the first commit
    UNIQUE (node, worktree)
) STRICT;
CREATE INDEX provisional_by_worktree ON provisional (worktree);

-- A place in a person's own file that states this node. Such a node does not decay.
CREATE TABLE provenance (
    node     TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    worktree INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path     TEXT NOT NULL,               -- relative to the work tree, '/' on every OS
    position INTEGER NOT NULL,            -- ordinal of the statement in the file, from 0
    line     INTEGER,                     -- from 1; null while the file of the current branch does not state it
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (worktree, path, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX provenance_by_node ON provenance (node);

-- One node relates to another. Intervals are half-open; a null valid_until_ms means that it still holds.
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
CREATE INDEX edges_by_start ON edges (from_node, kind);
CREATE INDEX edges_by_end ON edges (to_node, kind);
-- Refuse a second open edge that equals an open one. A unique index of whole edges would be twice as large as edges_by_start.
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

-- An anchor: a memory rests on what its text names, as that was when the memory was last confirmed.
CREATE TABLE file_watch (
    id          INTEGER PRIMARY KEY,
    node        TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    path        TEXT NOT NULL,            -- relative to the work tree, '/' on every OS; of a folder or a pattern's fixed start, too
    reference   TEXT NOT NULL AS (CASE method WHEN 'folder' THEN 'directory' WHEN 'tree' THEN 'symbol'
                    WHEN 'lines' THEN 'symbol' WHEN 'target' THEN 'command' ELSE method END),
    symbol      TEXT NOT NULL DEFAULT '', -- definition, pattern, word, target or value; '' for a file or folder
    commit_id   TEXT NOT NULL DEFAULT '', -- HEAD then; '' while it is uncommitted, or before the first commit
    blob        TEXT NOT NULL,            -- git's id of the file's bytes then; '' for anything but a file
    method      TEXT NOT NULL CHECK (method IN ('file', 'tree', 'lines', 'folder', 'glob', 'word', 'target', 'value')),  -- how it is compared
    fingerprint TEXT NOT NULL DEFAULT '', -- 'tree': SHA-256 of the definition without its formatting; 'value': the value
    line        INTEGER,                  -- first line of the definition then, from 1
    trust       TEXT NOT NULL CHECK (trust IN ('text', 'given', 'session')),  -- source of the reference
    spread      INTEGER NOT NULL DEFAULT 0 CHECK (spread >= 0)  -- files that held its name then; 0: not counted
) STRICT;
CREATE UNIQUE INDEX file_watch_once ON file_watch (node, path, symbol);
CREATE INDEX file_watch_by_path ON file_watch (path);

-- A cache: how an anchored path looked when it was last read in a work tree.
CREATE TABLE sightings (
    worktree  INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path      TEXT NOT NULL,
    signature TEXT NOT NULL,              -- size:mtime_ns:ctime_ns:inode; '' if it must be read again; '-' for a missing file
    blob      TEXT NOT NULL,              -- git's id of its bytes; '' for a missing or unreadable file
    PRIMARY KEY (worktree, path)
) STRICT, WITHOUT ROWID;

-- The present flag on a memory in a work tree. It goes when its reason goes.
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

-- How an agent file of a work tree is synced, its state, and what it held when file and store last agreed.
CREATE TABLE agent_files (
    worktree   INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path       TEXT NOT NULL,             -- relative to the work tree; a rules file of ours has a row, too
    mode       TEXT NOT NULL CHECK (mode IN ('inline', 'private', 'read')),
    state      TEXT NOT NULL CHECK (state IN ('synced', 'pending', 'paused', 'absent')),
    reason     TEXT NOT NULL DEFAULT '',  -- why it is paused or pending
    digest     TEXT NOT NULL DEFAULT '',  -- keyed hash of the whole file then; '' before the first agreement
    block      TEXT NOT NULL DEFAULT '',  -- keyed hash of the text of its block then
    head       TEXT NOT NULL DEFAULT '',  -- commit then
    branch     TEXT NOT NULL DEFAULT '',  -- branch then
    written_ms TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(written_ms)),  -- our last writes
    adopted    TEXT NOT NULL DEFAULT '',  -- git's id of the tracked file in which a person asked for the first block; '' for none
    logged     INTEGER NOT NULL DEFAULT 0,  -- bytes of git's log of HEAD then
    personal   INTEGER NOT NULL DEFAULT 0 CHECK (personal IN (0, 1)),  -- git does not share it
    PRIMARY KEY (worktree, path)
) STRICT, WITHOUT ROWID;

-- One rule of a block as agreed: the store's masked text, and a keyed hash of the line in the file.
CREATE TABLE agreements (
    worktree INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path     TEXT NOT NULL,
    block    TEXT NOT NULL,               -- keyed hash of the text of the block that was agreed
    position INTEGER NOT NULL,            -- ordinal of the rule in the block, from 0
    node     TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    text     TEXT NOT NULL,               -- masked
    line     TEXT NOT NULL,               -- keyed hash
    at_ms    INTEGER NOT NULL,
    PRIMARY KEY (worktree, path, block, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX agreements_by_node ON agreements (node);

-- How an agent file was on each branch when file and store last agreed there: changes that git brings are compared with it.
CREATE TABLE branch_blocks (
    worktree INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path     TEXT NOT NULL,
    branch   TEXT NOT NULL,               -- masked
    head     TEXT NOT NULL,               -- the commit that was checked out
    block    TEXT NOT NULL,               -- keyed hash of the text of the block; '' without one
    at_ms    INTEGER NOT NULL,
    PRIMARY KEY (worktree, path, branch)
) STRICT, WITHOUT ROWID;

-- A person removed these words from a block: they stay out until a person types them again.
CREATE TABLE tombstones (
    worktree  INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path      TEXT NOT NULL,              -- the file they were removed from
    text_hash TEXT NOT NULL,
    at_ms     INTEGER NOT NULL,
    PRIMARY KEY (worktree, path, text_hash)
) STRICT, WITHOUT ROWID;

-- A person dismissed these words in a review, or forgot them: an agent that states them again is refused.
CREATE TABLE dismissals (
    text_hash TEXT PRIMARY KEY,           -- of the words without case, quotes and closing punctuation
    node      TEXT NOT NULL,              -- the memory that held them; it may be pruned by now
    how       TEXT NOT NULL,              -- 'dismissed', 'forgot', or 'deleted from PATH'
    at_ms     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A person's file, byte for byte, before a write of ours. The bytes are in a file beside the store.
CREATE TABLE file_snapshots (
    id       INTEGER PRIMARY KEY,
    worktree INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path     TEXT NOT NULL,
    name     TEXT NOT NULL UNIQUE,        -- file in the folder 'snapshots', 0600
    size     INTEGER NOT NULL,            -- bytes
    digest   TEXT NOT NULL,               -- keyed hash
    at_ms    INTEGER NOT NULL
) STRICT;
CREATE INDEX file_snapshots_by_path ON file_snapshots (worktree, path, id);

-- A stretch of work of one agent, or of a person at the command line, in one work tree.
CREATE TABLE sessions (
    num          INTEGER PRIMARY KEY,     -- for the full-text index; never shown
    id           TEXT NOT NULL UNIQUE,    -- UUIDv7; shared with its node, which is made with the first thing learned
    worktree     INTEGER REFERENCES worktrees (id) ON DELETE SET NULL,
    agent        TEXT NOT NULL,           -- origin of its memories: 'agent:NAME', 'cli'
    name         TEXT NOT NULL DEFAULT '',-- the agent's name for it, masked; 'day YYYY-MM-DD' at the command line; '' for none
    start_ms     INTEGER NOT NULL,
    last_ms      INTEGER NOT NULL,        -- its last request
    end_ms       INTEGER,                 -- null while it is open
    ended_by     TEXT NOT NULL DEFAULT '' CHECK (ended_by IN ('', 'asked', 'left', 'idle')),
    branch       TEXT NOT NULL DEFAULT '',-- at its start, masked; '' for a detached HEAD
    start_commit TEXT NOT NULL DEFAULT '',-- HEAD at its start; '' before the first commit
    told_seq     INTEGER NOT NULL DEFAULT 0, -- the last event that it was informed of
    facts        TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(facts)), -- commits and files, from git at its end, masked
    summary      TEXT NOT NULL DEFAULT '' -- masked
) STRICT;
CREATE INDEX sessions_by_start ON sessions (start_ms);
CREATE INDEX sessions_open ON sessions (num) WHERE end_ms IS NULL;

-- A session was shown a node, used it, or learned it.
CREATE TABLE session_nodes (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    node    TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    role    TEXT NOT NULL CHECK (role IN ('shown', 'used', 'learned')),
    at_ms   INTEGER NOT NULL,             -- the first time
    tokens  INTEGER NOT NULL DEFAULT 0,   -- sum over all times it was shown
    PRIMARY KEY (session, node, role)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_nodes_by_node ON session_nodes (node);

-- A note of a session that is not a memory of its own.
CREATE TABLE session_notes (
    id      INTEGER PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    at_ms   INTEGER NOT NULL,
    text    TEXT NOT NULL                 -- masked
) STRICT;
CREATE INDEX session_notes_by_session ON session_notes (session);

-- An agent reported that it touched a file in a session.
CREATE TABLE session_files (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    path    TEXT NOT NULL,                -- relative to the work tree, '/' on every OS
    at_ms   INTEGER NOT NULL,             -- the first time
    told    INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1)), -- 1: it was shown the memories that rest on the file
    PRIMARY KEY (session, path)
) STRICT, WITHOUT ROWID;

-- Full-text index of ended sessions: their summary and notes; rowid is the session's num. It keeps no copy of the text.
CREATE VIRTUAL TABLE sessions_fts USING fts5 (
    summary, notes,
    content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER sessions_erased AFTER DELETE ON sessions BEGIN
    DELETE FROM sessions_fts WHERE rowid = old.num;
END;

-- A memory claims that `subject` has `value` as its `attribute`, from when until when (half-open; null: still).
CREATE TABLE claims (
    id             INTEGER PRIMARY KEY,
    node           TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    subject        TEXT NOT NULL,           -- as compared: lower case, with its qualifiers
    attribute      TEXT NOT NULL,
    value          TEXT NOT NULL,           -- as stated, masked
    sense          TEXT NOT NULL,           -- as compared: units in their base
    place          TEXT NOT NULL DEFAULT '', -- folder it holds for, relative to the project; '' for all of it
    source         TEXT NOT NULL,           -- 'text' if taken from the words of the memory, else who gave it
    evidence       TEXT NOT NULL DEFAULT '', -- the sentence, or the evidence that was given; masked
    evidence_ms    INTEGER,                 -- time of the evidence; null if unknown
    edge           INTEGER REFERENCES edges (id) ON DELETE SET NULL,     -- the relation that it rests on
    supersedes     INTEGER REFERENCES claims (id) ON DELETE SET NULL,    -- the earlier claim of the same memory
    valid_from_ms  INTEGER NOT NULL,
    valid_until_ms INTEGER CHECK (valid_until_ms IS NULL OR valid_until_ms >= valid_from_ms)
) STRICT;
CREATE INDEX claims_by_subject ON claims (subject, attribute, place) WHERE valid_until_ms IS NULL;
CREATE INDEX claims_by_node ON claims (node);
CREATE INDEX claims_by_edge ON claims (edge) WHERE edge IS NOT NULL;
CREATE INDEX claims_by_former ON claims (supersedes) WHERE supersedes IS NOT NULL;

-- The decision about a contradiction. Open contradictions are not stored: they are computed from the claims.
CREATE TABLE contradictions (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,                 -- as it was shown
    kind     TEXT NOT NULL CHECK (kind IN ('values', 'link', 'evidence')),
    claim    INTEGER NOT NULL REFERENCES claims (id) ON DELETE CASCADE,
    other    INTEGER REFERENCES claims (id) ON DELETE CASCADE,  -- of 'values': the opposing claim
    decision TEXT NOT NULL CHECK (decision IN ('kept', 'both', 'none')),
    kept     TEXT,                          -- id of the memory that was kept; null unless 'kept'
    actor    TEXT NOT NULL,
    reason   TEXT NOT NULL DEFAULT '',      -- masked
    at_ms    INTEGER NOT NULL
) STRICT;
CREATE INDEX contradictions_by_claim ON contradictions (claim);
CREATE INDEX contradictions_by_other ON contradictions (other) WHERE other IS NOT NULL;

-- A question that found no good answer. Its words are stored only after a person approves that.
CREATE TABLE gaps (
    hash        TEXT PRIMARY KEY,           -- keyed hash of its normalised words
    asked       INTEGER NOT NULL CHECK (asked > 0),  -- number of times
    first_ms    INTEGER NOT NULL,
    last_ms     INTEGER NOT NULL,
    text        TEXT,                       -- masked; null until it is approved
    approved_ms INTEGER,
    approved_by TEXT,
    reason      TEXT NOT NULL DEFAULT '',   -- why it was approved; masked
    CHECK ((text IS NULL) = (approved_ms IS NULL) AND (text IS NULL) = (approved_by IS NULL))
) STRICT, WITHOUT ROWID;

-- User store only: a model that makes vectors, did, or will. Only vectors of one space are compared.
CREATE TABLE embedding_models (
    space      TEXT PRIMARY KEY,         -- names the set of comparable vectors
    name       TEXT NOT NULL,            -- as a person enabled it: a known name, or a folder
    dimensions INTEGER NOT NULL CHECK (dimensions BETWEEN 8 AND 1024),
    state      TEXT NOT NULL CHECK (state IN ('active', 'filling', 'kept')),  -- in use; becoming so; kept to roll back to
    enabled_ms INTEGER NOT NULL,
    active_ms  INTEGER                   -- when it last became active; null: never
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX embedding_models_active ON embedding_models (state) WHERE state = 'active';
CREATE UNIQUE INDEX embedding_models_filling ON embedding_models (state) WHERE state = 'filling';

-- The text of a living memory as a vector in a space. The row goes when the text changes or the memory is archived.
CREATE TABLE embeddings (
    space  TEXT NOT NULL,
    node   INTEGER NOT NULL REFERENCES nodes (num) ON DELETE CASCADE,
    hash   BLOB NOT NULL CHECK (length(hash) = 8),  -- first 8 bytes of the SHA-256 of the embedded text
    vector BLOB NOT NULL CHECK (length(vector) BETWEEN 8 AND 1024),  -- one signed byte per dimension, scaled so that the largest is 127
    PRIMARY KEY (space, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX embeddings_by_node ON embeddings (node);
CREATE TRIGGER embeddings_outdated AFTER UPDATE OF text, archived_ms ON nodes
WHEN new.text IS NOT old.text OR new.archived_ms IS NOT NULL BEGIN
    DELETE FROM embeddings WHERE node = new.num;
END;

-- An import. What it was made of stays where it was, and is not copied.
CREATE TABLE imports (
    id      TEXT PRIMARY KEY,
    at_ms   INTEGER NOT NULL,
    format  TEXT NOT NULL CHECK (format IN ('jsonl', 'markdown', 'agent-file', 'yaad', 'store')),
    source  TEXT NOT NULL,                -- name of the file or folder, masked
    counts  TEXT NOT NULL CHECK (json_valid(counts))  -- its result
) STRICT;

-- What happened, in order. A row is written in the transaction of the change that it reports. The last row is never
-- deleted: the next number follows from it.
CREATE TABLE events (
    seq     INTEGER PRIMARY KEY,
    kind    TEXT NOT NULL,
    at_ms   INTEGER NOT NULL,
    subject TEXT NOT NULL,                -- node id, path of a work tree or of the store, or job name
    body    TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(body))
) STRICT;

-- What an agent or an import would have a memory of a person say. The memory stays as it is until a person decides.
CREATE TABLE proposals (
    node     TEXT PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    text     TEXT NOT NULL,               -- masked
    actor    TEXT NOT NULL,               -- who proposes it, as in node_versions
    at_ms    INTEGER NOT NULL,
    decision TEXT NOT NULL DEFAULT ''     -- '' while it waits; kept afterwards so that the decision can be undone
        CHECK (decision IN ('', 'approve', 'edit', 'dismiss')),
    version  INTEGER NOT NULL DEFAULT 0   -- of the memory right after the decision
) STRICT, WITHOUT ROWID;
