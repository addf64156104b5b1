-- How large a store was, and what came into it from outside.

-- How large this store was at the end of a day: what the forecast of its growth is made from.
CREATE TABLE sizes (
    day      INTEGER PRIMARY KEY,         -- since 1970-01-01, UTC
    bytes    INTEGER NOT NULL,            -- of the database, its log left out
    memories INTEGER NOT NULL
) STRICT;

-- Something was imported. Files that came are kept as they came, in the file 'imports/ID.files' beside the store.
CREATE TABLE imports (
    id      TEXT PRIMARY KEY,
    at_ms   INTEGER NOT NULL,
    format  TEXT NOT NULL CHECK (format IN ('jsonl', 'markdown', 'agent-file', 'yaad', 'store')),
    source  TEXT NOT NULL,                -- name of the file or folder, masked
    counts  TEXT NOT NULL CHECK (json_valid(counts)),  -- what became of it
    size    INTEGER NOT NULL DEFAULT 0,   -- bytes of the file that keeps what came; 0 when none does
    digest  TEXT NOT NULL DEFAULT ''      -- SHA-256 of these, hex
) STRICT;
