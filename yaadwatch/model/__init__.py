"""The nouns: memories, anchors, projects, settings. Frozen dataclasses without I/O."""
