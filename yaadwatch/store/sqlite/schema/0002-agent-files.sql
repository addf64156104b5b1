-- Agent files both ways: what a person's file and the graph last agreed on. A new file, as every change of the schema.

-- How an agent file of a work tree takes part, how it is, and what it held when both sides last agreed.
CREATE TABLE agent_files (
    worktree   INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path       TEXT NOT NULL,             -- relative to the work tree; a carrier of ours has a row too
    mode       TEXT NOT NULL CHECK (mode IN ('inline', 'private', 'read')),
    state      TEXT NOT NULL CHECK (state IN ('synced', 'pending', 'paused', 'absent')),
    reason     TEXT NOT NULL DEFAULT '',  -- why it is paused or pending
    digest     TEXT NOT NULL DEFAULT '',  -- keyed hash of the whole file then, hex; '' when it was never agreed on
    block      TEXT NOT NULL DEFAULT '',  -- keyed hash of the text of its block then
    head       TEXT NOT NULL DEFAULT '',  -- commit then
    branch     TEXT NOT NULL DEFAULT '',  -- branch then
    written_ms TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(written_ms)),  -- when we wrote it lately
    PRIMARY KEY (worktree, path)
) STRICT, WITHOUT ROWID;

-- One rule of a block as it was agreed: the graph's masked text, and a keyed hash of the line of the file.
CREATE TABLE agreements (
    worktree INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path     TEXT NOT NULL,
    block    TEXT NOT NULL,               -- keyed hash of the text of the block that was agreed
    position INTEGER NOT NULL,            -- place among the rules of the block, from 0
    node     TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    text     TEXT NOT NULL,               -- masked
    line     TEXT NOT NULL,               -- keyed hash, hex
    at_ms    INTEGER NOT NULL,
    PRIMARY KEY (worktree, path, block, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX agreements_by_node ON agreements (node);

-- A person took these words out of a block: they stay away until a person types them again.
CREATE TABLE tombstones (
    worktree  INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path      TEXT NOT NULL,              -- where they were taken out
    text_hash TEXT NOT NULL,
    at_ms     INTEGER NOT NULL,
    PRIMARY KEY (worktree, path, text_hash)
) STRICT, WITHOUT ROWID;

-- A person's file, byte for byte, as it was before a write of ours. The bytes are in a file beside the store.
CREATE TABLE file_snapshots (
    id       INTEGER PRIMARY KEY,
    worktree INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path     TEXT NOT NULL,
    name     TEXT NOT NULL UNIQUE,        -- file in the folder 'snapshots', 0600
    size     INTEGER NOT NULL,            -- bytes
    digest   TEXT NOT NULL,               -- keyed hash, hex
    at_ms    INTEGER NOT NULL
) STRICT;
CREATE INDEX file_snapshots_by_path ON file_snapshots (worktree, path, id);

-- What was told of the files before is in the table above from the next look at them on.
DELETE FROM meta WHERE key = 'agent_files';
