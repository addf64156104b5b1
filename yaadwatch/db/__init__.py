"""The store: one SQLite database per project and one per user. The only package that knows SQL."""
