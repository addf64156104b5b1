-- A memory was learned, or said again, at this commit. It holds elsewhere once that commit is merged there.
CREATE TABLE learned (
    node      TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    commit_id TEXT NOT NULL,              -- HEAD then, hex
    at_ms     INTEGER NOT NULL,
    PRIMARY KEY (node, commit_id)
) STRICT, WITHOUT ROWID;
