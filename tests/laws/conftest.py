"""Laws have no deadline: how long a case takes says something about the machine."""

from hypothesis import settings

settings.register_profile("laws", deadline=None)
settings.load_profile("laws")
