"""What do we remember about this? Best first, within a budget of tokens."""
