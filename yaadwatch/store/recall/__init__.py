"""What a question asks of the store, beside the full-text index."""
