"""MCP, without I/O: its revisions, its messages, its headers, both ways."""
