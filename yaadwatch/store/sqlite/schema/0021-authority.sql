-- Whose words a memory is made of, and which words a person does not want back.

-- 1: the words came with git (a clone, a checkout, a pull); nobody typed them while the file was watched.
ALTER TABLE nodes ADD COLUMN from_git INTEGER NOT NULL DEFAULT 0 CHECK (from_git IN (0, 1));

-- Words that a person dismissed in a review, or forgot: an agent that says them again is refused.
CREATE TABLE dismissals (
    text_hash TEXT PRIMARY KEY,           -- of the words without case, quotes and closing marks
    node      TEXT NOT NULL,              -- the memory that said them; it may be pruned by now
    how       TEXT NOT NULL,              -- 'dismissed', 'forgot', or 'deleted from PATH'
    at_ms     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
