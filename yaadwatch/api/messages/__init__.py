"""What each operation is asked with: one class per request, see `yaadwatch.api.message`.

The types here are the types on the wire. A new field needs no other line for the command line, the
tools of agents and the reference: `option`, `tool` and `help` stand beside it.
"""
