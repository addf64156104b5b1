"""How people see an id, and type it."""

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/@%+=,-")
"""Of these a shell makes nothing else."""


def called(identity: str) -> str:
    """Return what people see of an id, and may type: of ours the last eight characters.

    One that a caller gave is told whole, as a shell takes it: its end may be that of another one,
    or look like an option.
    """
    marks = (identity[8:9], identity[13:14], identity[18:19], identity[23:24])
    if len(identity) == 36 and marks == ("-", "-", "-", "-"):
        return identity[-8:]
    if _SAFE.issuperset(identity):
        return identity
    import shlex

    return shlex.quote(identity)
