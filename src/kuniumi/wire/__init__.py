"""The grammars: bytes in, data out, and back. Pure, no sockets; servers and clients share them."""
