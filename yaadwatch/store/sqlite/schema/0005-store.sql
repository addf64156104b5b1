-- How large a store was, and what came into it from outside.

-- How large this store was at the end of a day: what the forecast of its growth is made from.
CREATE TABLE sizes (
    day      INTEGER PRIMARY KEY,         -- since 1970-01-01, UTC
    bytes    INTEGER NOT NULL,            -- of the database, its log left out
    memories INTEGER NOT NULL
) STRICT;

-- Something was imported.
CREATE TABLE imports (
    id      TEXT PRIMARY KEY,
    at_ms   INTEGER NOT NULL,
    format  TEXT NOT NULL CHECK (format IN ('jsonl', 'markdown', 'agent-file', 'yaad', 'store')),
    source  TEXT NOT NULL,                -- name of the file or folder, masked
    counts  TEXT NOT NULL CHECK (json_valid(counts))  -- what became of it
) STRICT, WITHOUT ROWID;

-- A file that was imported, byte for byte. The bytes are in a file beside the store, with the copies of agent files.
CREATE TABLE imported_files (
    import TEXT NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    path   TEXT NOT NULL,                 -- relative to what was imported
    name   TEXT NOT NULL UNIQUE,          -- file in the folder 'snapshots', 0600
    size   INTEGER NOT NULL,              -- bytes
    digest TEXT NOT NULL,                 -- SHA-256 of the bytes, hex
    PRIMARY KEY (import, path)
) STRICT, WITHOUT ROWID;
