"""Pure functions on text: words, secrets, quoting, editing settings."""
