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
