"""What each operation is asked with: one frozen dataclass per request, checked when it is made.

A field without a default must be given. The types here are the types on the wire; `api/codec.py`
reads them, so a new field needs no other line.
"""
