-- The same in less room: words once in the index, not a second time beside it; half of each hash; a summary only where
-- it is not the text.

-- Beside, and not under another name: to rename a table of words takes longer than all else here.
CREATE TEMP TABLE words AS SELECT rowid AS num, text, sub, tags FROM nodes_fts;
DROP TRIGGER nodes_erased;
DROP TABLE nodes_fts;

-- The words of a living node, without the text that they are of: that is in `nodes`. `sub` holds identifiers split into
-- their parts; rowid is the node's num.
CREATE VIRTUAL TABLE nodes_fts USING fts5 (
    text, sub, tags,
    content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO nodes_fts (rowid, text, sub, tags)
SELECT num, text, sub, tags
  FROM words
 ORDER BY num;
DROP TABLE words;
-- A num may be given out again; words left behind would then be found under another node.
CREATE TRIGGER nodes_erased AFTER DELETE ON nodes BEGIN
    DELETE FROM nodes_fts WHERE rowid = old.num;
END;

-- 128 bits tell texts apart as well as 256 do.
UPDATE nodes SET text_hash = substr(text_hash, 1, 32), summary = iif(summary = text, '', summary);
UPDATE tombstones SET text_hash = substr(text_hash, 1, 32);
