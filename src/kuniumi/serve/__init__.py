"""The surfaces: the only rooms with sockets, streams, arguments and environment variables."""
