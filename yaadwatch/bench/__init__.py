"""Answers the contracts of benchmarks, with the functions that the daemon uses."""
