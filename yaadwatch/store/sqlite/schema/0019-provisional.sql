-- A memory rests on uncommitted files of this work tree and branch. Its rows go once a commit holds what it rests on.
CREATE TABLE provisional (
    node     TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    worktree INTEGER REFERENCES worktrees (id) ON DELETE SET NULL,  -- null: in none now (stashed, or the work tree is gone)
    branch   TEXT NOT NULL,               -- short name; the commit when HEAD is detached
    base     TEXT NOT NULL,               -- HEAD when it was learned, hex; '' before the first commit
    UNIQUE (node, worktree)
) STRICT;

CREATE INDEX provisional_by_worktree ON provisional (worktree);
