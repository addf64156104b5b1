-- How an agent file was on each branch when both sides last agreed there: what git brings is compared with that.
CREATE TABLE branch_blocks (
    worktree INTEGER NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    path     TEXT NOT NULL,
    branch   TEXT NOT NULL,                 -- masked
    head     TEXT NOT NULL,                 -- the commit that was checked out
    block    TEXT NOT NULL,                 -- keyed hash of the text of the block; '' without one
    at_ms    INTEGER NOT NULL,
    PRIMARY KEY (worktree, path, branch)
) STRICT, WITHOUT ROWID;

-- The version of a tracked file, as git names it, in which a person asked for the first block; '' for none.
ALTER TABLE agent_files ADD COLUMN adopted TEXT NOT NULL DEFAULT '';
