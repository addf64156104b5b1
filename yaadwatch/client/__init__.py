"""What agents and people start: connection, hook and MCP shim. Standard library only."""
