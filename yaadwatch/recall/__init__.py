"""Search memories, and compose the brief."""
