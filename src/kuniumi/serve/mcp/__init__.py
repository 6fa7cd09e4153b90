"""The MCP surface: one desk that answers requests, reached over stdio and over HTTP."""
