"""The answer of a tool: `content` for a model, `structuredContent` for a program, `isError`.

In: an envelope. Out: the bytes of a tool result, as MCP and the plain REST tool protocol write it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kuniumi.core.codec import dumps

if TYPE_CHECKING:
    from kuniumi.core.call import Envelope


def encode_tool_result(envelope: Envelope) -> bytes:
    """Write an envelope as a tool result: its JSON is the text, and the structured content."""
    text = dumps(envelope.body.decode())
    content = b'{"content":[{"type":"text","text":%b}],' % text
    if envelope.fault is not None:
        return content + b'"isError":true}'
    return content + b'"structuredContent":%b,"isError":false}' % envelope.body
