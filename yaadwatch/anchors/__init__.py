"""What a text names, and what a definition means in each language. Pure."""
