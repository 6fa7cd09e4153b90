"""Running a call right here, in the thread that asks.

In: a `Ready`. Out: an `Outcome`, whatever the function did: nothing it raises gets past this line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kuniumi.core.call import Outcome

if TYPE_CHECKING:
    from kuniumi.core.call import Ready


def run(ready: Ready) -> Outcome:
    """Run a plain function, or a generator to its end."""
    try:
        value = ready.start()
        if ready.operation.result.layout == "stream":
            value = list(value)
    except BaseException as error:  # noqa: BLE001 - SystemExit in a function must not end the server
        return Outcome(error=error)
    return Outcome(value)
