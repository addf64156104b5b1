"""What a function that looks at a store, or changes it, is given: one connection of the driver."""

from apsw import Connection, ConstraintError

__all__ = ["Connection", "ConstraintError"]
