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
    meta = b',"_meta":%b' % envelope.meta if envelope.meta else b""
    return b"{%b%b}" % (tool_result_fields(envelope), meta)


def tool_result_fields(
    envelope: Envelope, content: bytes = b"", *, structured: bool = True
) -> bytes:
    """Write what stands between the braces of a tool result.

    `content` is the function's own, where it must be told otherwise than the function did.
    """
    blocks = content or envelope.content
    if not blocks:
        blocks = b'[{"type":"text","text":%b}]' % dumps(envelope.body.decode())
    if envelope.fault is not None:
        return b'"content":%b,"isError":true' % blocks
    if envelope.for_people or not structured:
        return b'"content":%b,"isError":false' % blocks
    return b'"content":%b,"structuredContent":%b,"isError":false' % (blocks, envelope.body)
