"""Units and synonyms of values, so that claims in different words can be compared."""

from typing import Final


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _units() -> dict[str, tuple[str, float]]:
    table = (
        ("ms", 1, "ms millisecond milliseconds msec msecs"),
        ("ms", 1e3, "s sec secs second seconds"),
        ("ms", 6e4, "m min mins minute minutes"),
        ("ms", 3.6e6, "h hr hrs hour hours"),
        ("ms", 8.64e7, "d day days"),
        ("ms", 6.048e8, "w week weeks"),
        ("bytes", 1, "b byte bytes"),
        ("bytes", 1e3, "kb kilobyte kilobytes"),
        ("bytes", 1e6, "mb megabyte megabytes"),
        ("bytes", 1e9, "gb gigabyte gigabytes"),
        ("bytes", 1024, "kib"),
        ("bytes", 1024**2, "mib"),
        ("bytes", 1024**3, "gib"),
        ("percent", 1, "% percent"),
        ("characters", 1, "char chars character characters column columns"),
        ("spaces", 1, "space spaces"),
        ("times", 1, "time times attempt attempts try tries retry retries"),
        ("lines", 1, "line lines"),
        ("requests", 1, "request requests"),
        ("connections", 1, "connection connections"),
        ("items", 1, "item items entry entries row rows"),
        ("px", 1, "px pixel pixels"),
    )
    return {name: (base, factor) for base, factor, names in table for name in _words(names)}


UNITS: Final = _units()
"""A unit, the base it is compared in, and how many of these it is."""
SAME: Final = {
    "postgres": "postgresql",
    "node.js": "node",
    "nodejs": "node",
    "tab": "tabs",
    "warn": "warning",
    "etc/utc": "utc",
    "gmt": "utc",
    **dict.fromkeys(("yes", "on", "enabled"), "true"),
    **dict.fromkeys(("no", "off", "disabled"), "false"),
}
"""Values that are others in other words."""
