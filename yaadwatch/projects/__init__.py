"""Whole projects: add, status, verify, back up, export, import, erase, upkeep."""
