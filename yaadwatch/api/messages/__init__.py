"""The request of each operation: one class per request, see `yaadwatch.api.message`.

The types here are the types on the wire. The command line, the tools of agents and the reference
need no other line for a new field: `option`, `tool` and `help` are declared with it.
"""
