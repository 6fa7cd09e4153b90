"""What the log says of a failure: the whole story, which no caller ever sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kuniumi.core.call import Envelope
    from kuniumi.core.operation import Operation


def report(operation: Operation, envelope: Envelope) -> Envelope:
    """Log a failure that nobody expected, with its traceback; pass the envelope on."""
    fault = envelope.fault
    if fault is None or fault.cause is None:
        return envelope
    import logging  # noqa: PLC0415 - a cold start rarely fails

    incident = f" (incident {fault.incident})" if fault.incident else ""
    logging.getLogger("kuniumi.call").error(
        "%s failed%s", operation.operation_id, incident, exc_info=fault.cause
    )
    return envelope
