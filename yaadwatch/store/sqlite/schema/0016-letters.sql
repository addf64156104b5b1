-- Words inside Chinese, Japanese and Korean, which are written without spaces, are found: each letter of these is a word of
-- its own in the index.

-- The forms are given by the program (store/sqlite/letters.py), as they were when this step was made. Texts without such
-- letters are indexed as before.
INSERT OR REPLACE INTO nodes_fts (rowid, text, sub, tags)
SELECT num, spaced_16(text), parts_16(spaced_16(text)), spaced_16(named)
  FROM (SELECT num, text, coalesce((SELECT group_concat(value, ' ') FROM json_each(nodes.tags)), '')
                          || ' ' || coalesce(key, '') AS named
          FROM nodes
         WHERE archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session'))
 WHERE spaced_16(text) <> text OR spaced_16(named) <> named
 ORDER BY num;

-- Beside, and not under another name: to rename a table of words takes longer than all else here.
CREATE TEMP TABLE told AS SELECT rowid AS num, summary, notes FROM sessions_fts;
DROP TRIGGER sessions_erased;
DROP TABLE sessions_fts;

-- The words of a session that has ended: of its summary and its notes, which are in `sessions` and `session_notes`; rowid
-- is its num.
CREATE VIRTUAL TABLE sessions_fts USING fts5 (
    summary, notes,
    content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO sessions_fts (rowid, summary, notes)
SELECT num, spaced_16(summary), spaced_16(notes)
  FROM told
 ORDER BY num;
DROP TABLE told;
CREATE TRIGGER sessions_erased AFTER DELETE ON sessions BEGIN
    DELETE FROM sessions_fts WHERE rowid = old.num;
END;
