-- A full stop that stands by itself is a word: `eslint .` is not `eslint`, and `go test ./...` is not `go test ./`.

-- Both forms of the hash are given by the program (store/sqlite/hashes.py), as they were when this step was made. A
-- memory that was kept apart from others has a hash of its own, which is neither, and keeps it. The new form tells more
-- texts apart and no fewer, so that no two memories become one.

-- What a person took out of a file stays away, by the words that it had: those of a memory as it is, or as it was.
INSERT OR IGNORE INTO tombstones (worktree, path, text_hash, at_ms)
SELECT taken.worktree, taken.path, hash_14(said.text), taken.at_ms
  FROM tombstones AS taken
  JOIN (SELECT text FROM nodes UNION SELECT text FROM node_versions WHERE text IS NOT NULL) AS said
    ON instr(said.text, '.') > 0 AND taken.text_hash = hash_13(said.text)
 WHERE hash_14(said.text) <> hash_13(said.text)
 ORDER BY taken.worktree, taken.path;

-- So is the number of how a short memory begins; it is worked out anew before the next statement is compared.
UPDATE nodes SET begins = NULL
 WHERE begins IS NOT NULL AND instr(text, '.') > 0 AND hash_14(text) <> hash_13(text);

UPDATE nodes SET text_hash = hash_14(text)
 WHERE instr(text, '.') > 0 AND text_hash = hash_13(text) AND hash_14(text) <> hash_13(text);
