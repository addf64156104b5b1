"""The process: socket, dispatch, MCP, watching, scheduler, supervision."""
