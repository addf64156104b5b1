"""What agents and people start: connection, hook, MCP shim. Standard library only."""
