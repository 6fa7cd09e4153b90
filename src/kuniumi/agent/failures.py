"""What the words of an error say: its code, its message, the tool it is about.

In: the text, or the JSON, that came with an error or only looks like one. Out: a `Failure`, or
None for what does not look like one. It must not know whether an error was declared.

Errors get wrapped on their way: a server says `MCP error -32602: no such tool`, its SDK puts the
code in front once more, a client adds `Error:` and a code of its own behind. The innermost code is
the cause. Numbers of HTTP are no codes of MCP.
"""

from __future__ import annotations

import re
from typing import Any

from kuniumi.agent.answer import Failure
from kuniumi.agent.json_text import ABSENT, parse, write

_I = re.IGNORECASE
_MAX_LAYERS = 20
_DIGITS = re.compile(r"-?\d{1,6}")
_HEAD = 400

_KINDS_OF_ERROR = (
    r"mcp|(?:json-?)?rpc|tool|fatal|critical|internal|server|internal\sserver|unexpected|unhandled"
    r"|unknown|api|http|network|connection|database|request|protocol|runtime|execution|validation"
    r"|input\svalidation|output\svalidation|syntax|type|permission|authentication|authorization"
)
_RPC_ERROR = r"(?:mcp|(?:json-?)?rpc)[ _-]?error"
_CODE = r"[(\[]?(?:code:?\s*)?(-\d{1,6})\b[)\]]?"
_BEHIND_CODE = r"(?:\s*(?:[:\uff1a]|-(?=\s)|$)\s*|\s+)"
_CODE_PREFIXES = (
    # A code in front: "MCP error -32602:", "Mcp error: -32602:", "JSON-RPC error (-32601):".
    re.compile(rf"{_RPC_ERROR}\s*:?\s*{_CODE}{_BEHIND_CODE}", _I),
    # The same, once another layer was taken off: "-32602: …", "[-32602] …".
    re.compile(r"\[?(-32\d{3})\]?\s*(?::|$|(?<=\])\s)\s*"),
    # A code of JSON-RPC behind the words for any error: "Server error: -32000: …".
    re.compile(
        rf"(?:(?:{_KINDS_OF_ERROR})\s)?error\s*:?\s*[(\[]?(?:code\s*:?\s*)?(-32\d{{3}})\b[)\]]?"
        rf"{_BEHIND_CODE}",
        _I,
    ),
)
_TOOL_PREFIX = re.compile(
    r"error\s+(?:executing|calling|running|invoking)\s+(?:the\s+)?(?:mcp\s+)?(?:tool|function)\s*:?\s*"
    r"['\"`]?([\w.\-/]+?)['\"`]?\s*:\s+",
    _I,
)
_DECORATION = re.compile(r"\A(?:[^\w{}\[\]()\"'<]|_){1,4}(?=(?:mcp |tool )?error\b)", _I)
_PLAIN_PREFIX = re.compile(
    r"(?:uncaught\s+)?(?:(?:\w{1,40}\.){0,5}(?:mcp|tool)|(?:json-?)?rpc)?[ _]?error\**\s*[:\uff1a]\**\s*",
    _I,
)
# What only says on what way an error came: it is taken off if a code or a JSON error is behind it.
_WAY_PREFIX = re.compile(
    r"error\s+(?:executing|calling|invoking)\s+(?:the\s+)?(?:mcp\s+)?tool\s*:\s*"
    r"|error\s+invoking\s+remote\s+method\s+'[^'\n]{0,100}'\s*:\s*"
    r"|error\s+posting\s+to\s+endpoint\s*(?:\(http\s+\d+\))?\s*:\s*",
    _I,
)
_LATER_CODE = re.compile(rf"(?<=[:(]\s){_RPC_ERROR}\s*:?\s*{_CODE}\s*:\s*", _I)
_SUFFIX = re.compile(r"\s*\((?:error\s+)?code:?\s*(-\d{1,6})\)\s*\Z", _I)

_TOOL = re.compile(
    r"\b(?:for|in|from) (?:tool|function):? ['\"`]?([\w\-/]+(?:\.[\w\-/]+)*)"
    r"|\b(?:tool|function) ['\"`]?([\w\-/]+(?:\.[\w\-/]+)*)['\"`]? (?:was )?(?:not found|does not exist)"
    r"|\b(?:unknown|no such) (?:tool|function):? ['\"`]?([\w\-/]+(?:\.[\w\-/]+)*)"
    r"|\b(?:tool|function) not found: ['\"`]?([\w\-/]+(?:\.[\w\-/]+)*)",
    _I,
)

_LOOKS_FAILED = re.compile(
    rf"""[\W_]{{0,4}}(?:
        {_RPC_ERROR}\s*:?\s*[(\[]?(?:code:?\s*)?-32\d\d\d\b
      | (?:(?:{_KINDS_OF_ERROR})\s)? error \**\s*[:\uff1a]\s* (?P<rest>[^\n]*)
      | {_RPC_ERROR}\s*:?\s*[(\[]?(?:code:?\s*)?-?\d
      | error\s\[[^\]\n]{{1,60}}\]\s*:
      | (?:(?:{_KINDS_OF_ERROR})\s)? error\s+\(?(?:code\s*:?\s*)?(?:-32\d\d\d|[45]\d\d)\b
      | error\s+(?:executing|calling|running|invoking|posting)\s
      | an\s(?:(?:{_KINDS_OF_ERROR})\s)?error\s(?:has\s)?occurred\b
      | (?-i:(?:[a-z_]\w*\.)*(?:[A-Z]\w*)?(?:Error|Exception))
        (?:\s\[[^\]\n]*\]|\(\w*\))? :\s*\S
      | traceback\s\(most\srecent\scall\slast\)
      | unknown\stool:\s
    )""",
    _I | re.VERBOSE,
)
_LATER_MCP = re.compile(r"(?:[^\n:]{1,80}:\s+){1,4}mcp[ _]?error\s*:?\s*\(?-\d{1,6}\)?\s*:", _I)
_NO_ERROR = re.compile(
    r"(?:none|null|nil|no|false|n/?a|ok|nothing|undefined|zero|-+|\[\]|\{\}|''|\"\")?[.,;!\s]*"
    r"|(?:none|no errors?)(?:\s(?:found|detected|reported|occurred|so far|at all))?(?:[.,;!(].*)?"
    r"|[+±-]?\s*(?!(?:4|5)\d\d\s*\Z)\d[\d.,]*(?:e[+-]?\d+)?\s*(?:%|[a-zµ]{1,4}\b)?[.,;!]?",
    _I,
)

_STATUS_KEYS = ("status", "statusCode", "status_code")
_FAILED_WORDS = frozenset({"error", "fail", "failed", "failure"})
_MESSAGE_KEYS = (
    *("message", "msg", "detail", "error_description", "errorMessage", "description", "reason"),
    *("title", "errors", "details"),
)
_ERROR_KEYS = frozenset(
    [
        "error",
        "errors",
        "code",
        "message",
        "msg",
        "status",
        "statusCode",
        "status_code",
        "success",
        "ok",
        "type",
        "name",
        "detail",
        "details",
        "data",
        "errorCode",
        "error_code",
        "error_description",
        "errorMessage",
        "description",
        "reason",
        "traceback",
        "timestamp",
        "time",
        "path",
        "instance",
        "title",
        "requestId",
        "request_id",
        "traceId",
        "trace_id",
        "hint",
        "help",
        "suggestion",
        "suggestions",
        "originalText",
        "retryable",
        "retry_after",
        "isError",
        "is_error",
        "jsonrpc",
        "id",
        "stack",
    ]
)


def suspect(text: str) -> Failure | None:
    """Read text that nobody declared an error; None unless it starts like one."""
    head = text[:_HEAD].lstrip("\ufeff \t\r\n")
    if "rror" not in head and "rror" not in head.lower() and not head.startswith("Trace"):
        lowered = head.lower()
        if "exception" not in lowered and not lowered.startswith(("unknown tool", "traceback")):
            return None
    found = _LOOKS_FAILED.match(head)
    if found is None:
        return explain(text) if _LATER_MCP.match(head) else None
    rest = found["rest"]
    if rest is not None and _NO_ERROR.fullmatch(rest.strip()) and "\n" not in text.strip():
        return None
    return explain(text)


def suspect_value(value: Any) -> Failure | None:
    """Read JSON that nobody declared an error; None unless it is about an error and nothing else."""
    if not isinstance(value, dict):
        return None
    for key, item in value.items():
        if key not in _ERROR_KEYS and item and isinstance(item, (dict, list)):
            return None  # it brings something, whatever went wrong beside
    if is_failure(value.get("error")):
        return explain_value(value)
    if value.keys() <= _ERROR_KEYS and _says_it_failed(value) and _message_of(value):
        return explain_value(value)
    return None


def is_failure(error: Any) -> bool:
    """Whether what is called an error says that there is one: in words, or as an object."""
    if isinstance(error, str):
        return bool(error) and not _NO_ERROR.fullmatch(error.strip())
    return isinstance(error, dict) and bool(error)


def _says_it_failed(value: dict[str, Any]) -> bool:
    """Whether JSON says of itself that it is about a failure, in one of the usual ways."""
    if value.get("success") is False or value.get("ok") is False:
        return True
    if any(value.get(key) is True for key in ("error", "isError", "is_error")):
        return True
    status = next((value[key] for key in _STATUS_KEYS if key in value), None)
    if isinstance(status, str):
        return status.lower() in _FAILED_WORDS
    if isinstance(status, int) and 400 <= status <= 599:
        return True
    code = read_code(value.get("code"))
    if code is not None and -32999 <= code <= -32000:
        return True
    errors = value.get("errors")
    return isinstance(errors, list) and bool(errors) and not value.get("data")


def explain(text: str) -> Failure:
    """Take the layers off an error's text: codes, tool, message."""
    rest = text.strip("\ufeff \t\r\n")
    codes: list[int] = []
    outer = _SUFFIX.search(rest[-60:])
    if outer:
        codes.append(int(outer[1]))
        rest = rest[: len(rest) - len(outer[0])]
    rest = _DECORATION.sub("", rest, count=1)
    known = len(codes)
    plain, rest, tool = _peel(rest, codes)
    if rest.startswith("{") and (value := parse(rest)) is not ABSENT and _message_of(value):
        return _within(value, codes, tool)
    if len(codes) == known:
        rest = plain
    if rest.startswith("Traceback (most recent call last)"):
        rest = rest.rpartition("\n")[2].strip() or rest
    return _make(rest or text.strip(), codes, tool, None)


def _peel(rest: str, codes: list[int]) -> tuple[str, str, str | None]:
    """Take off what stands in front of the message: the plain words `Error:`, then all the rest.

    Give what is left after the former and after the latter, and the tool if one is named.
    """
    tool = plain = None
    for _ in range(_MAX_LAYERS):
        before = rest
        for prefix in _CODE_PREFIXES:
            if found := prefix.match(rest):
                codes.append(int(found[1]))
                rest = rest[found.end() :]
        if found := _PLAIN_PREFIX.match(rest):
            rest = rest[found.end() :]
        if found := _TOOL_PREFIX.match(rest) or _WAY_PREFIX.match(rest):
            plain = rest if plain is None else plain
            tool = tool or (found[1] if found.re is _TOOL_PREFIX else None)
            rest = rest[found.end() :]
        if rest is before and (found := _LATER_CODE.search(rest[:_HEAD])):
            plain = rest if plain is None else plain
            codes.append(int(found[1]))
            rest = rest[found.end() :]
        if rest is before:
            break
    return (rest if plain is None else plain).strip(), rest.strip(), tool


def explain_value(value: Any) -> Failure:
    """Read an error that is JSON: an envelope, a JSON-RPC error, what web frameworks send."""
    return _within(value, [], None)


def _within(value: Any, codes: list[int], tool: str | None) -> Failure:
    error = value.get("error")
    inner = error if isinstance(error, dict) else value
    for holder in (value, inner) if inner is not value else (value,):
        code = read_code(holder.get("code"))
        if code is not None and code < 0:
            codes.append(code)
    told = _message_of(value)
    below = explain(told) if told else Failure("")
    if below.outer_code is not None:
        codes.append(below.outer_code)
    if below.code is not None:
        codes.append(below.code)
    data = next((inner[key] for key in ("data", "details") if inner.get(key) is not None), None)
    return _make(below.message, codes, tool or below.tool, data if data is not None else below.data)


def _make(message: str, codes: list[int], tool: str | None, data: Any) -> Failure:
    code = codes[-1] if codes else None
    outer = codes[0] if codes and codes[0] != code else None
    if tool is None and (found := _TOOL.search(message[:_HEAD])):
        tool = next(name for name in found.groups() if name)
    return Failure(message, code, outer, tool, data)


def read_code(code: Any) -> int | None:
    """Give a code that is a whole number, however it was spelled."""
    if isinstance(code, str) and _DIGITS.fullmatch(code):
        return int(code)
    if isinstance(code, float) and code.is_integer():
        return int(code)
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _message_of(value: Any) -> str:
    """Give the message of an error that is JSON; "" if it has none."""
    if not isinstance(value, dict):
        return ""
    error = value.get("error")
    if isinstance(error, str) and error:
        # Some say what kind of error it is, and beside it what went wrong.
        message = value.get("message") or value.get("error_description")
        return message if isinstance(message, str) and message and " " not in error else error
    for holder in (error, value):
        if isinstance(holder, dict):
            for key in _MESSAGE_KEYS:
                if told := _words_of(holder.get(key)):
                    return told
    mute = isinstance(error, (dict, list)) and error and "message" not in error
    return write(error, [])[1] if mute else ""


def _words_of(message: Any) -> str:
    """Give a message, or those of a list of errors."""
    if isinstance(message, str):
        return message
    if not isinstance(message, list):
        return ""
    told = []
    for each in message[:_MAX_LAYERS]:
        words = each.get("message") or each.get("msg") if isinstance(each, dict) else each
        if isinstance(words, str) and words:
            told.append(words)
    return "; ".join(told)
