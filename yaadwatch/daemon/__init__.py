"""The daemon process: socket, dispatch, MCP, watching, scheduler and supervision."""
