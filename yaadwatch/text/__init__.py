"""What can be said of a text alone: its words, its secrets, quoting it, editing settings in it."""
