"""Running a prepared call: in this thread, on an event loop, in a thread of a pool."""
