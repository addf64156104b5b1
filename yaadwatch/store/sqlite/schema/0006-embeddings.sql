-- Vectors: what memories mean, so that a question also finds those that use other words.

-- User store only: a model of which vectors are made, were, or will be. Only vectors of one space are compared.
CREATE TABLE embedding_models (
    space      TEXT PRIMARY KEY,         -- names what its vectors can be compared with
    name       TEXT NOT NULL,            -- what a person enabled: a known name, or a folder
    dimensions INTEGER NOT NULL CHECK (dimensions BETWEEN 8 AND 1024),
    state      TEXT NOT NULL CHECK (state IN ('active', 'filling', 'kept')),  -- searched by; becoming so; to go back to
    enabled_ms INTEGER NOT NULL,
    active_ms  INTEGER                   -- when it was last made active; null: never
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX embedding_models_active ON embedding_models (state) WHERE state = 'active';
CREATE UNIQUE INDEX embedding_models_filling ON embedding_models (state) WHERE state = 'filling';

-- The text of a living memory as a vector in a space. It goes when the text is another one, or archived.
CREATE TABLE embeddings (
    space  TEXT NOT NULL,
    node   INTEGER NOT NULL REFERENCES nodes (num) ON DELETE CASCADE,
    hash   BLOB NOT NULL CHECK (length(hash) = 8),  -- SHA-256 of the text that was embedded, its first 8 bytes
    vector BLOB NOT NULL CHECK (length(vector) BETWEEN 8 AND 1024),  -- a signed byte for each dimension; the largest is 127
    PRIMARY KEY (space, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX embeddings_by_node ON embeddings (node);

CREATE TRIGGER embeddings_outdated AFTER UPDATE OF text, archived_ms ON nodes
WHEN new.text IS NOT old.text OR new.archived_ms IS NOT NULL BEGIN
    DELETE FROM embeddings WHERE node = new.num;
END;
