"""Exceptions of functions, on every surface and in every kind of function: one fault each."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Literal

import pytest

from kuniumi import App, FunctionError
from kuniumi.testing import SURFACES, connect


class Mute(Exception):  # noqa: N818 - its name is part of what is said
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Rude(Exception):  # noqa: N818 - its name is part of what is said
    def __str__(self) -> str:
        raise SystemExit


class Unsayable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Own(BaseException):
    pass


# Each row: what is raised, the HTTP status, and the message.
RAISED: dict[str, tuple[Callable[[], BaseException], int, str]] = {
    "an expected failure": (lambda: FunctionError("Disk is full", status=507), 507, "Disk is full"),
    "one with no status": (lambda: FunctionError("No"), 500, "No"),
    "one of the caller's": (lambda: FunctionError("Which?", status=400), 400, "Which?"),
    "one with no words": (lambda: FunctionError(""), 500, ""),
    "one that can't be said": (lambda: FunctionError(Unsayable()), 500, ""),  # type: ignore[arg-type]
    "any other": (lambda: ValueError("no such file"), 500, "ValueError: no such file"),
    "one with no message": (ValueError, 500, "ValueError"),
    "one with an empty message": (lambda: ValueError(""), 500, "ValueError"),
    "a KeyError": (lambda: KeyError("a"), 500, "KeyError: 'a'"),
    "several words": (lambda: OSError(2, "gone"), 500, "FileNotFoundError: [Errno 2] gone"),
    "a group": (lambda: ExceptionGroup("two", [ValueError("a")]), 500, "ExceptionGroup: two (1 sub-exception)"),
    "one that fails to speak": (Mute, 500, "Mute"),
    "one that ends the process to speak": (Rude, 500, "Rude"),
    "a lone surrogate": (lambda: ValueError("a\ud800b"), 500, "ValueError: a\\ud800b"),
    "line breaks": (lambda: ValueError("a\r\nSet-Cookie: b"), 500, "ValueError: a\r\nSet-Cookie: b"),
    "zero bytes": (lambda: ValueError("a\0b"), 500, "ValueError: a\0b"),
    "a recursion": (RecursionError, 500, "RecursionError"),
    "no memory": (MemoryError, 500, "MemoryError"),
    "a timeout of its own": (TimeoutError, 500, "TimeoutError"),
    "the end of the process": (lambda: SystemExit(3), 500, "SystemExit: 3"),
    "an interruption": (KeyboardInterrupt, 500, "KeyboardInterrupt"),
    "the end of a generator": (lambda: GeneratorExit("x"), 500, "GeneratorExit: x"),
    "a cancellation": (asyncio.CancelledError, 500, "CancelledError"),
    "a root exception": (lambda: Own("x"), 500, "Own: x"),
}  # fmt: skip

KINDS = [
    "plain",
    "inline",
    "coroutine",
    "waiting",
    "generator",
    "late generator",
    "async generator",
    "process",
    "waiting in a process",
    "generator in a process",
]


def function_of(
    kind: str, make: Callable[[], BaseException]
) -> tuple[Callable[..., Any], Literal["inline", "threads", "processes"]]:
    """Give a function of this kind that raises, and where it is to run."""

    def Fail() -> int:
        raise make()

    async def FailLater() -> int:
        raise make()

    async def FailWaiting() -> int:
        await asyncio.sleep(0)
        raise make()

    def FailFirst() -> Iterator[int]:
        raise make()
        yield 1

    def FailSecond() -> Iterator[int]:
        yield 1
        raise make()

    async def FailSecondLater() -> AsyncIterator[int]:
        yield 1
        await asyncio.sleep(0)
        raise make()

    functions = dict(
        zip(
            KINDS,
            [
                *(Fail, Fail, FailLater, FailWaiting, FailFirst, FailSecond, FailSecondLater),
                *(Fail, FailWaiting, FailSecond),
            ],
            strict=True,
        )
    )
    if "process" in kind:
        return functions[kind], "processes"
    return functions[kind], "inline" if kind == "inline" else "threads"


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_raised_is_one_fault_and_the_next_call_works(kind: str, surface: str) -> None:
    app = App()
    for index, (make, _, _) in enumerate(RAISED.values()):
        function, executor = function_of(kind, make)
        app.register(function, name=f"Fail{index}", executor=executor)
    app.register(lambda x: x, name="Same")
    with connect(app, surface) as door:
        for index, (what, (_, status, message)) in enumerate(RAISED.items()):
            reply = door.call(f"Fail{index}")
            assert reply.envelope == {"error": message}, what
            tells_no_status = surface == "shell" or surface.startswith("mcp")
            assert reply.status == (1 if tells_no_status else status), what
            assert b"Traceback" not in reply.body
            assert door.call("Same", x=1).envelope == {"result": 1}, what


@pytest.mark.parametrize("surface", SURFACES)
def test_a_stop_iteration_is_an_error_like_any_other(surface: str) -> None:
    def Stop() -> int:
        raise StopIteration("x")

    async def StopLater() -> int:
        raise StopIteration("x")

    app = App()
    app.register(Stop)
    app.register(StopLater)
    with connect(app, surface) as door:
        assert door.call("Stop").envelope == {"error": "StopIteration: x"}
        assert "RuntimeError" in door.call("StopLater").envelope["error"]  # Python's own doing


@pytest.mark.parametrize("surface", SURFACES)
def test_a_huge_message_is_shortened_in_the_middle(surface: str) -> None:
    def Shout() -> int:
        raise ValueError("a" * 10_000_000 + "z")

    app = App()
    app.register(Shout)
    with connect(app, surface) as door:
        message = door.call("Shout").envelope["error"]
    assert len(message) < 70_000
    assert message.startswith("ValueError: aaa")
    assert message.endswith("aaaz")
    assert "characters left out" in message


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_masked_error_shows_an_incident_that_the_log_explains(
    kind: str, surface: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "kuniumi")
    app = App(mask_errors=True)
    function, executor = function_of(kind, lambda: ValueError("the password is hunter2"))
    app.register(function, name="Fail", executor=executor)
    with connect(app, surface) as door:
        message = door.call("Fail").envelope["error"]
    shown = re.fullmatch(r"Internal error \(incident ([0-9a-f]{12})\)", message)
    assert shown
    assert shown[1] in caplog.text
    assert "ValueError: the password is hunter2" in caplog.text
    assert "Traceback" in caplog.text


def test_each_incident_has_a_number_of_its_own() -> None:
    app = App(mask_errors=True)
    app.register(function_of("plain", ValueError)[0])
    assert len({app.call("Fail").body for _ in range(20)}) == 20


@pytest.mark.parametrize("surface", SURFACES)
def test_what_a_mask_does_not_hide(surface: str) -> None:
    def Give(x: int) -> int:
        raise FunctionError("Disk is full", status=507)

    app = App(mask_errors=True)
    app.register(Give)
    with connect(app, surface) as door:
        assert door.call("Give", x=1).envelope == {"error": "Disk is full"}
        assert "expected an integer" in door.call("Give", x="a").envelope["error"]


def test_a_bad_result_is_masked_too(caplog: pytest.LogCaptureFixture) -> None:
    def Give() -> int:
        return "the password is hunter2"  # type: ignore[return-value]

    app = App()
    app.register(Give, mask_errors=True)
    assert b"Internal error" in app.call("Give").body
    assert "BadResultError" in caplog.text


def test_a_crash_while_arguments_are_made_is_masked_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from dataclasses import dataclass

    @dataclass
    class Odd:
        a: int

        def __post_init__(self) -> None:
            raise LookupError("the password is hunter2")

    def Read(x: Odd) -> None: ...

    app = App(mask_errors=True)
    app.register(Read)
    for surface in SURFACES:
        with connect(app, surface) as door:
            message = door.call("Read", x={"a": 1}).envelope["error"]
        assert message.startswith("Internal error (incident ")
        assert message[-13:-1] in caplog.text


def test_an_expected_failure_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    app = App()
    app.register(function_of("plain", lambda: FunctionError("No", status=404))[0])
    app.call("Fail")
    assert not caplog.records


@pytest.mark.parametrize("status", [200, 399, 600, 0])
def test_a_failure_cannot_have_the_status_of_a_success(status: int) -> None:
    def Fail() -> int:
        raise FunctionError("No", status=status)

    app = App()
    app.register(Fail)
    assert app.call("Fail").body.startswith(b'{"error":"ValueError: FunctionError(status=')
