-- Truth beyond files: what memories claim, where claims contradict each other, and what was asked in vain.

-- A memory says that `subject` has `value` as its `attribute`, from when until when (half-open; null: still).
CREATE TABLE claims (
    id             INTEGER PRIMARY KEY,
    node           TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    subject        TEXT NOT NULL,           -- as it is compared: lower case, with what qualifies it
    attribute      TEXT NOT NULL,
    value          TEXT NOT NULL,           -- as it was said, masked
    sense          TEXT NOT NULL,           -- as it is compared: units in their base
    place          TEXT NOT NULL DEFAULT '', -- folder it holds for, from the top of the project; '' for all of it
    source         TEXT NOT NULL,           -- 'text' when taken from the words of the memory, else who gave it
    evidence       TEXT NOT NULL DEFAULT '', -- the sentence, or what the giver named; masked
    evidence_ms    INTEGER,                 -- when the evidence is from; null when that is not known
    edge           INTEGER REFERENCES edges (id) ON DELETE SET NULL,     -- the relation that it rests on
    supersedes     INTEGER REFERENCES claims (id) ON DELETE SET NULL,    -- what the same memory claimed before
    valid_from_ms  INTEGER NOT NULL,
    valid_until_ms INTEGER CHECK (valid_until_ms IS NULL OR valid_until_ms >= valid_from_ms)
) STRICT;
CREATE INDEX claims_by_subject ON claims (subject, attribute, place) WHERE valid_until_ms IS NULL;
CREATE INDEX claims_by_node ON claims (node);
CREATE INDEX claims_by_edge ON claims (edge) WHERE edge IS NOT NULL;
CREATE INDEX claims_by_former ON claims (supersedes) WHERE supersedes IS NOT NULL;

-- Somebody settled a contradiction. Open ones stand nowhere: they are what the claims say now.
CREATE TABLE contradictions (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,                 -- how it was shown
    kind     TEXT NOT NULL CHECK (kind IN ('values', 'link', 'evidence')),
    claim    INTEGER NOT NULL REFERENCES claims (id) ON DELETE CASCADE,
    other    INTEGER REFERENCES claims (id) ON DELETE CASCADE,  -- of 'values': the claim against it
    decision TEXT NOT NULL CHECK (decision IN ('kept', 'both', 'none')),
    kept     TEXT,                          -- id of the memory that was kept; null unless 'kept'
    actor    TEXT NOT NULL,
    reason   TEXT NOT NULL DEFAULT '',      -- masked
    at_ms    INTEGER NOT NULL
) STRICT;
CREATE INDEX contradictions_by_claim ON contradictions (claim);
CREATE INDEX contradictions_by_other ON contradictions (other) WHERE other IS NOT NULL;

-- A question that was answered poorly. Its words are not kept until somebody approves that.
CREATE TABLE gaps (
    hash        TEXT PRIMARY KEY,           -- keyed hash of its words in the form that is compared, hex
    asked       INTEGER NOT NULL CHECK (asked > 0),  -- how often
    first_ms    INTEGER NOT NULL,
    last_ms     INTEGER NOT NULL,
    text        TEXT,                       -- masked; null until it is approved
    approved_ms INTEGER,
    approved_by TEXT,
    reason      TEXT NOT NULL DEFAULT '',   -- why it was approved; masked
    CHECK ((text IS NULL) = (approved_ms IS NULL) AND (text IS NULL) = (approved_by IS NULL))
) STRICT, WITHOUT ROWID;
