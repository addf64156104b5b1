"""Keep agent files and memories in step, in both directions."""
