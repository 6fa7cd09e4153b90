"""The core: what an operation is, and what happens to a call. No I/O, no asyncio, no protocol."""
