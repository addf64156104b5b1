"""A project as a whole: add, status, verify, back up, export, import, erase, upkeep."""
