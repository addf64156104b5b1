"""The shape of each answer, in modules named like those of the requests in `api/messages`.

A request names its answer (`class Stale(Message, answer="Stale")`). The text below a key documents
it. docs/contracts.md is generated from these classes, and tests hold every answer to them. No
command imports these modules. A trailing `_` is not part of a key; a shape whose name begins with
`_` has no heading of its own.
"""
