"""The answers that every contender converts, and how long a conversion takes."""

# mypy: ignore-errors
# Runs by its path, in the environment of those it measures.

import json
import sys
import time

_VALUE = {"rows": [{"id": n, "name": f"row {n}", "score": n / 7} for n in range(2000)]}
_PICTURE = "iVBORw0KGgo" + "A" * 99_989

RESULTS = {
    "small": {
        "content": [{"type": "text", "text": '{"result":10}'}],
        "structuredContent": {"result": 10},
        "isError": False,
    },
    "data": {
        "content": [{"type": "text", "text": json.dumps(_VALUE)}],
        "structuredContent": _VALUE,
        "isError": False,
    },
    "picture": {
        "content": [{"type": "image", "data": _PICTURE, "mimeType": "image/png"}],
        "isError": False,
    },
}


def measure(contenders):
    """Run every contender on every answer, in rounds; print microseconds of CPU as JSON."""
    rounds = int(sys.argv[1])
    found = {name: {kind: [] for kind in RESULTS} for name in contenders}
    for _ in range(rounds):
        for name, makers in contenders.items():
            for kind, act in makers.items():
                found[name][kind].append(cost(act))
    print(json.dumps(found))


def cost(act):
    """Give the microseconds of CPU that it takes, at best."""
    act()
    times = 1
    best = None
    until = time.perf_counter() + 0.15
    while time.perf_counter() < until:
        started = time.process_time()
        for _ in range(times):
            act()
        spent = (time.process_time() - started) / times
        if spent * times < 0.002:
            times *= 2
        else:
            best = spent if best is None else min(best, spent)
    return (best or spent) * 1e6
