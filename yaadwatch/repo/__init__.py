"""A git repository and its work tree: objects, history, words, watching."""
