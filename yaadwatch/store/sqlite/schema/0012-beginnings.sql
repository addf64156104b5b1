-- With which words a memory begins, so that what a statement goes on with is found at once.

-- A number that memories share whose first three telling words are the same; 0 where there are fewer, null until it is
-- worked out. Another way to work it out needs a step that makes all of them null.
ALTER TABLE nodes ADD COLUMN begins INTEGER;
CREATE INDEX nodes_by_beginning ON nodes (begins)
 WHERE begins > 0 AND archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session');
CREATE INDEX nodes_to_begin ON nodes (num)
 WHERE begins IS NULL AND archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session');

CREATE TRIGGER nodes_begun_anew AFTER UPDATE OF text ON nodes WHEN old.text IS NOT new.text BEGIN
    UPDATE nodes SET begins = NULL WHERE num = new.num;
END;
