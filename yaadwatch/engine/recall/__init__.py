"""What do we remember about this? Best first, within a budget of tokens; reading writes nothing."""

from yaadwatch.engine.recall.verb import recall

__all__ = ["recall"]
