"""Keep agent files and memories the same, both ways."""
