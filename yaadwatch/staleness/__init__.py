"""Compare what a memory rests on then and now: verdicts, evidence, proposals."""
