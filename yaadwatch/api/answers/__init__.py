"""The shape of each answer, in modules named like those of the requests in `api/messages`.

A request names its answer (`class Stale(Message, answer="Stale")`). The text below a key says what
it means. docs/contracts.md is made from these classes, and tests hold every answer to them. Nothing
that a command imports imports them. A trailing `_` is not part of a key; a shape whose name begins
with `_` has no heading of its own.
"""
