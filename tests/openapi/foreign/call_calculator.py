"""Calls every function of the calculator through the client that was generated for it."""

from __future__ import annotations

import sys

from calculator_client import Client  # type: ignore[import-not-found]
from calculator_client.api.calculator import (  # type: ignore[import-not-found]
    functions_add,
    functions_countdown,
    functions_div_mod,
    functions_divide,
    functions_midpoint,
    functions_slow_sum,
)
from calculator_client.models import (  # type: ignore[import-not-found]
    FunctionsAddBody,
    FunctionsCountdownBody,
    FunctionsDivideBody,
    FunctionsDivideResponse422,
    FunctionsDivModBody,
    FunctionsMidpointBody,
    FunctionsSlowSumBody,
    Point,
)

client = Client(base_url=sys.argv[1])

added = functions_add.sync(client=client, body=FunctionsAddBody(x=5, y=5))
assert added.result == 10

divided = functions_divide.sync(client=client, body=FunctionsDivideBody(x=7.0, y=2.0))
assert divided.result == 3.5

refused = functions_divide.sync(client=client, body=FunctionsDivideBody(x=7.0, y=0.0))
assert isinstance(refused, FunctionsDivideResponse422)
assert refused.error == "Division by zero"

both = functions_div_mod.sync(client=client, body=FunctionsDivModBody(x=7, y=2))
assert (both.result0, both.result1) == (3, 1)

middle = functions_midpoint.sync(
    client=client,
    body=FunctionsMidpointBody(a=Point(x=0.0, y=0.0, label="a"), b=Point(x=2.0, y=4.0, label="b")),
)
assert middle.result == Point(x=1.0, y=2.0, label="a-b")

counted = functions_countdown.sync(client=client, body=FunctionsCountdownBody(start=2))
assert counted.result == [2, 1, 0]
assert functions_countdown.sync(client=client).result == [3, 2, 1, 0]

summed = functions_slow_sum.sync(
    client=client, body=FunctionsSlowSumBody(numbers=[1, 2, 3], delay=0.001)
)
assert summed.result == 6

answer = functions_add.sync_detailed(client=client, body=FunctionsAddBody(x="abc", y=1))
assert answer.status_code == 400
assert "x" in answer.parsed.error
