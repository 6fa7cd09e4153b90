"""JSON-RPC: rows of bytes and the messages they are, both ways."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from kuniumi.wire.jsonrpc import (
    INVALID_REQUEST,
    MALFORMED,
    Message,
    Notification,
    Request,
    Response,
    RpcError,
    read,
    write_error,
    write_notification,
    write_request,
    write_result,
)

MESSAGES: list[tuple[bytes, Message]] = [
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Request(b"1", "ping")),
    (b'{"method":"ping","id":1,"jsonrpc":"2.0"}', Request(b"1", "ping")),
    (b' { "jsonrpc" : "2.0" , "id" : 1 , "method" : "ping" } ', Request(b"1", "ping")),
    (b'{"jsonrpc":"2.0","id":-7,"method":"ping"}', Request(b"-7", "ping")),
    (b'{"jsonrpc":"2.0","id":"","method":"ping"}', Request(b'""', "ping")),
    (b'{"jsonrpc":"2.0","id":"a\\n","method":"ping"}', Request(b'"a\\n"', "ping")),
    (
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x": [1]}}',
        Request(b"1", "m", Raw(b'{"x": [1]}')),
    ),
    (b'{"jsonrpc":"2.0","id":1,"method":"m","extra":{}}', Request(b"1", "m")),
    (b'{"jsonrpc":"2.0","method":"m"}', Notification("m")),
    (b'{"jsonrpc":"2.0","method":"m","params":[]}', Notification("m", Raw(b"[]"))),
    (b'{"jsonrpc":"2.0","id":1,"result":{}}', Response(b"1", Raw(b"{}"))),
    (b'{"jsonrpc":"2.0","id":1,"result":null}', Response(b"1", Raw(b"null"))),
    (b'{"jsonrpc":"2.0","id":"a","error":{"code":1}}', Response(b'"a"', error=Raw(b'{"code":1}'))),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xc3\xbc"}', Request(b"1", "ü")),
]

ERRORS: list[tuple[bytes, int, bytes]] = [
    (b"", MALFORMED, b""),
    (b"{", MALFORMED, b""),
    (b"nonsense", MALFORMED, b""),
    (b'{"jsonrpc":"2.0","id":1,"method":"m"} x', MALFORMED, b""),
    (b'{"jsonrpc":"2.0","id":1,"method":"m","x":"\xff"}', MALFORMED, b""),
    (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', MALFORMED, b""),
    (b"[" * 100_000, MALFORMED, b""),
    (b"[]", INVALID_REQUEST, b""),
    (b'[{"jsonrpc":"2.0","id":1,"method":"m"}]', INVALID_REQUEST, b""),
    (b"7", INVALID_REQUEST, b""),
    (b"null", INVALID_REQUEST, b""),
    (b"{}", INVALID_REQUEST, b""),
    (b'{"id":1,"method":"m"}', INVALID_REQUEST, b"1"),
    (b'{"jsonrpc":"1.0","id":1,"method":"m"}', INVALID_REQUEST, b"1"),
    (b'{"jsonrpc":2,"id":"a","method":"m"}', INVALID_REQUEST, b'"a"'),
    (b'{"id":1,"result":{}}', INVALID_REQUEST, b""),  # its id is one of ours
    (b'{"id":1,"error":{"code":1,"message":"no"}}', INVALID_REQUEST, b""),
    (b'{"jsonrpc":"2.0","id":1}', INVALID_REQUEST, b"1"),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', INVALID_REQUEST, b"1"),
    (b'{"jsonrpc":"2.0","id":{},"method":7}', INVALID_REQUEST, b""),
    (b'{"jsonrpc":"2.0","id":null,"method":"m"}', INVALID_REQUEST, b""),
    (b'{"jsonrpc":"2.0","id":1.0,"method":"m"}', INVALID_REQUEST, b""),
    (b'{"jsonrpc":"2.0","id":true,"method":"m"}', INVALID_REQUEST, b""),
    (b'{"jsonrpc":"2.0","id":[],"method":"m"}', INVALID_REQUEST, b""),
    (b'{"jsonrpc":"2.0","id":' + b"1" * 21 + b',"method":"m"}', INVALID_REQUEST, b""),
]


@pytest.mark.parametrize(("raw", "message"), MESSAGES)
def test_a_message_is_read_as_what_it_is(raw: bytes, message: Message) -> None:
    assert read(raw) == message


@pytest.mark.parametrize(("raw", "message"), MESSAGES)
def test_a_message_that_was_cut_off_is_malformed(raw: bytes, message: Message) -> None:
    whole = raw.rstrip()
    for end in range(len(whole)):
        found = read(whole[:end])
        assert isinstance(found, RpcError)
        assert found.code == MALFORMED, whole[:end]


@pytest.mark.parametrize(
    ("raw", "code", "about"), ERRORS, ids=[repr(row[0][:50]) for row in ERRORS]
)
def test_what_is_no_message_is_an_error(raw: bytes, code: int, about: bytes) -> None:
    found = read(raw)
    assert isinstance(found, RpcError)
    assert (found.code, found.id) == (code, about)


WRITTEN: list[tuple[bytes, bytes]] = [
    (write_result(b"1", b"{}"), b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    (write_notification("m", b"{}"), b'{"jsonrpc":"2.0","method":"m","params":{}}'),
    (write_request(b'"a"', "m", b"{}"), b'{"jsonrpc":"2.0","id":"a","method":"m","params":{}}'),
    (
        write_error(b"1", RpcError(-1, "no")),
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}',
    ),
    (write_error(b"", RpcError(-1, "no")), b'{"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}'),
    (
        write_error(b"1", RpcError(-1, 'a"\n', {"x": 1})),
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"a\\"\\n","data":{"x":1}}}',
    ),
]


@pytest.mark.parametrize(("written", "expected"), WRITTEN)
def test_what_is_written(written: bytes, expected: bytes) -> None:
    assert written == expected
    assert b"\n" not in written


_ids = st.integers(-(2**53), 2**53) | st.text(max_size=20)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
_params = st.dictionaries(st.text(), _values, max_size=3)


@given(
    _ids, st.text(min_size=1).filter(lambda text: text.isascii() and text.isprintable()), _params
)
def test_what_one_side_writes_the_other_reads(key: Any, method: str, params: Any) -> None:
    method = method.replace('"', "").replace("\\", "") or "m"
    raw_id, raw = msgspec.json.encode(key), msgspec.json.encode(params)
    asked = read(write_request(raw_id, method, raw))
    assert asked == Request(raw_id, method, Raw(raw))
    assert isinstance(asked, Request)
    assert asked.key == key
    assert read(write_notification(method, raw)) == Notification(method, Raw(raw))
    assert read(write_result(raw_id, raw)) == Response(raw_id, Raw(raw))


@given(st.binary() | _values.map(lambda value: json.dumps(value).encode()))
def test_whatever_comes_is_a_message_or_an_error(raw: bytes) -> None:
    assert isinstance(read(raw), (Request, Notification, Response, RpcError))
