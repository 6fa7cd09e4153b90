"""Benchmarks: what a call costs through Kuniumi, beside its peers and the bare server.

`python -m bench [http|mcp|cgi|files|agent|all]` prints the tables; `bench.__main__` has the options.
The budgets are ratios measured in one run, so they mean the same on any machine:

- `servers` starts a process, waits until it listens, reads its CPU clock, stops it.
- `load` drives it with `wrk`.
- `cold` runs a program from start to exit and says what it cost.
- `report` holds samples, compares them with budgets, and prints tables.
- `http_calls`, `mcp_http`, `mcp_stdio`, `cgi_cold` and `agent_answers` are the benchmarks; `contenders` says who takes part.
- `apps/` holds the programs under test, one small file each.
"""
