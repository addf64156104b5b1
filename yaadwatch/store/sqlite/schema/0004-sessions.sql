-- Sessions: who worked here and when, what they were shown, learned and used, and what they left behind.

-- A stretch of work of one agent, or of a person at the command line, in one work tree.
CREATE TABLE sessions (
    num          INTEGER PRIMARY KEY,     -- for the full-text index; never shown
    id           TEXT NOT NULL UNIQUE,    -- UUIDv7; its node, which is made with the first thing learned, has it too
    worktree     INTEGER REFERENCES worktrees (id) ON DELETE SET NULL,
    agent        TEXT NOT NULL,           -- the origin of what it says: 'agent:NAME', 'cli'
    name         TEXT NOT NULL DEFAULT '',-- what the agent calls it, masked; 'day YYYY-MM-DD' at the command line; '' without one
    start_ms     INTEGER NOT NULL,
    last_ms      INTEGER NOT NULL,        -- when it last asked for something
    end_ms       INTEGER,                 -- null while it goes on
    ended_by     TEXT NOT NULL DEFAULT '' CHECK (ended_by IN ('', 'asked', 'left', 'idle')),
    branch       TEXT NOT NULL DEFAULT '',-- at its start, masked; '' when detached
    start_commit TEXT NOT NULL DEFAULT '',-- HEAD at its start, hex; '' before the first commit
    told_seq     INTEGER NOT NULL DEFAULT 0, -- events up to this one are no news to it
    facts        TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(facts)), -- commits and files, as git had them at its end, masked
    summary      TEXT NOT NULL DEFAULT '' -- masked
) STRICT;
CREATE INDEX sessions_by_start ON sessions (start_ms);
CREATE INDEX sessions_open ON sessions (last_ms) WHERE end_ms IS NULL;

-- A session was shown a node, used it, or learned it.
CREATE TABLE session_nodes (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    node    TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    role    TEXT NOT NULL CHECK (role IN ('shown', 'used', 'learned')),
    at_ms   INTEGER NOT NULL,             -- the first time
    tokens  INTEGER NOT NULL DEFAULT 0,   -- what showing it took, all times together
    PRIMARY KEY (session, node, role)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_nodes_by_node ON session_nodes (node);

-- Somebody noted something in a session that is no memory of its own.
CREATE TABLE session_notes (
    id      INTEGER PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    at_ms   INTEGER NOT NULL,
    text    TEXT NOT NULL                 -- masked
) STRICT;
CREATE INDEX session_notes_by_session ON session_notes (session);

-- An agent touched a file in a session, as it said itself.
CREATE TABLE session_files (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    path    TEXT NOT NULL,                -- relative to the work tree, '/' on every OS
    at_ms   INTEGER NOT NULL,             -- the first time
    told    INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1)), -- it was told what rests on it
    PRIMARY KEY (session, path)
) STRICT, WITHOUT ROWID;

-- The words of a session that has ended: its summary and its notes; rowid is its num.
CREATE VIRTUAL TABLE sessions_fts USING fts5 (
    summary, notes,
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER sessions_erased AFTER DELETE ON sessions BEGIN
    DELETE FROM sessions_fts WHERE rowid = old.num;
END;
