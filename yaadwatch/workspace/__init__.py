"""Which project a caller means: identity, open stores, work tree, agent files."""
