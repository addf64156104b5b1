"""A memory: its flags, claims, visibility, the changes made to it, and how it is shown."""
