"""Find memories, and compose the brief."""
