"""Where tools come from: servers of MCP, OpenAPI and plain REST, other clients; one module a kind."""
