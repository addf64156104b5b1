"""What is asked about a store as a whole, and about what goes out of it and comes into it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """Look for what is wrong in a store; `repair` makes anew what is derived. `user`: the user's
    own store, not that of the project.
    """

    user: bool = False
    repair: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Write a store anew, without the room of what was deleted."""

    user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """Make a dated copy of a store now."""

    user: bool = False
