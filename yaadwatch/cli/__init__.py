"""The command line: parse, ask the daemon, print."""
