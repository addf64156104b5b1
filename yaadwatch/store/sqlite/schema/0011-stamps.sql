-- Whether a copy of the vectors is still what the store has.

-- How many vectors a space has, and a number that is another one after each change of them.
CREATE TABLE embedding_stamps (
    space   TEXT PRIMARY KEY,
    stamp   INTEGER NOT NULL,             -- by chance, so that no backup brings an old one back
    vectors INTEGER NOT NULL CHECK (vectors >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO embedding_stamps (space, stamp, vectors)
SELECT space, random(), count(*)
  FROM embeddings
 GROUP BY space;

CREATE TRIGGER embeddings_added AFTER INSERT ON embeddings BEGIN
    INSERT INTO embedding_stamps (space, stamp, vectors)
    VALUES (new.space, random(), 1)
        ON CONFLICT (space) DO UPDATE SET stamp = random(), vectors = vectors + 1;
END;
CREATE TRIGGER embeddings_changed AFTER UPDATE ON embeddings BEGIN
    UPDATE embedding_stamps SET stamp = random() WHERE space = new.space;
END;
CREATE TRIGGER embeddings_gone AFTER DELETE ON embeddings BEGIN
    UPDATE embedding_stamps SET stamp = random(), vectors = vectors - 1 WHERE space = old.space;
END;
