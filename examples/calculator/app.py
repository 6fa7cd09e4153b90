"""A calculator: one typed function after another, callable from anywhere.

python app.py serve | call Add --x 7 --y 3 | openapi | --help, or drop it into cgi-bin.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from kuniumi import App, Context, FunctionError

app = App(name="Calculator", version="1.0.0", description="Sums, quotients and a little patience.")


def Add(x: int, y: int, ctx: Context) -> int:  # noqa: D103 - described where it is registered
    if ctx.env.getenv("DEBUG") == "true":
        note(ctx, f"Adding {x} + {y}")
    return x + y


def note(ctx: Context, line: str) -> None:
    """Log a line, in a file as well if a directory is mounted: --mount DIR:/."""
    ctx.log.warning(line)
    with suppress(PermissionError):  # nothing is mounted there, or only to be read
        ctx.env.write_file("/debug.log", f"{line}\n", append=True)


app.register(
    Add,
    "Adds two integers together",
    params={"x": "First integer to add", "y": "Second integer to add"},
    returns="Sum of x and y",
)


@app.function(errors={422: "The quotient is not a number JSON can carry"})
async def Divide(x: float, y: float) -> float:
    """Divides one number by another.

    Args:
        x: The dividend
        y: The divisor, anything but zero

    Returns:
        The quotient
    """
    if y == 0:
        raise FunctionError("Division by zero", status=422)
    quotient = x / y
    if not math.isfinite(quotient):
        raise FunctionError("The quotient is too large", status=422)
    return quotient


@app.function(errors={422: "The divisor is zero"}, inline=True)
def DivMod(
    x: int, y: int
) -> tuple[Annotated[int, "The quotient"], Annotated[int, "The remainder"]]:
    """Divides with a remainder: two results.

    Args:
        x: The dividend
        y: The divisor, anything but zero

    Returns:
        The quotient and the remainder
    """
    if y == 0:
        raise FunctionError("Division by zero", status=422)
    return divmod(x, y)


@dataclass
class Point:
    """A point in the plane."""

    x: float
    y: float
    label: str = ""


@app.function
def Midpoint(a: Point, b: Point) -> Point:
    """Finds the point halfway between two others.

    Args:
        a: One end
        b: The other end

    Returns:
        The point halfway between
    """
    label = f"{a.label}-{b.label}" if a.label and b.label else ""
    return Point(a.x / 2 + b.x / 2, a.y / 2 + b.y / 2, label)


@app.function
def Countdown(start: Annotated[int, Meta(ge=0, le=1000)] = 3) -> Iterator[int]:
    """Counts down to zero, one number after another.

    Args:
        start: Where to begin

    Returns:
        Every number down to zero
    """
    yield from range(start, -1, -1)


@app.function(timeout=30)
def SlowSum(
    numbers: Annotated[list[int], Meta(max_length=20)],
    ctx: Context,
    delay: Annotated[float, Meta(ge=0, le=0.4)] = 0.1,
) -> int:
    """Adds numbers up, slowly, and tells how far it has come.

    Args:
        numbers: What to add up
        delay: Seconds to rest after each number

    Returns:
        The sum
    """
    total = 0
    for done, number in enumerate(numbers, start=1):
        if ctx.cancelled:
            break
        time.sleep(delay)
        total += number
        ctx.progress(done, len(numbers), f"added {number}")
    return total


if __name__ == "__main__":
    app.run()
