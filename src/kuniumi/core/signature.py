"""Reading a function: its parameters, its return type, how it is called.

In: a callable. Out: frozen data. It must not know what is done with the types, and it stays off
`inspect` for plain functions, because a cold start pays for every import.
"""

from __future__ import annotations

import sys
import typing
from typing import TYPE_CHECKING, Any

from msgspec import NODEFAULT, Struct

from kuniumi.core.context import Context
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

_VAR_POSITIONAL, _VAR_KEYWORD = 0x04, 0x08
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200


class Parameter(Struct, frozen=True):
    """One parameter. `injected` ones are filled in by the house and never exposed."""

    name: str
    annotation: Any
    default: Any = NODEFAULT
    keyword_only: bool = False
    injected: bool = False

    @property
    def required(self) -> bool:
        """Whether a caller has to give it."""
        return self.default is NODEFAULT


class Signature(Struct, frozen=True):
    """What a function takes, what it promises to give, and how its body runs."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: Any  # NODEFAULT where nothing was annotated
    is_coroutine: bool
    is_generator: bool
    is_async_generator: bool


def read(function: Callable[..., Any], name: str = "") -> Signature:
    """Read a callable's signature, with its annotations resolved."""
    if not callable(function):
        msg = f"{function!r} is not callable: register a function"
        raise DefinitionError(msg)
    name = name or _name_of(function)
    hints = _hints(function, name)
    code = _plain_code(function)
    parameters = (
        _from_code(function, code, hints, name) if code else _from_inspect(function, hints, name)
    )
    flags = _flags(function)
    return Signature(
        name=name,
        parameters=tuple(parameters),
        returns=hints.get("return", NODEFAULT),
        is_coroutine=bool(flags & _COROUTINE),
        is_generator=bool(flags & _GENERATOR),
        is_async_generator=bool(flags & _ASYNC_GENERATOR),
    )


def _name_of(function: Callable[..., Any]) -> str:
    while hasattr(function, "func"):  # a functools.partial carries its function's name
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    if name == "<lambda>":
        msg = "a lambda has no name to be called by: pass name=…, or write a def"
        raise DefinitionError(msg)
    return str(name)


def _plain_code(function: Callable[..., Any]) -> CodeType | None:
    """Give the code of a def that nothing wraps: its signature is all in there."""
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
        return None
    return None if hasattr(function, "__self__") else code


def _from_code(function: Any, code: CodeType, hints: dict[str, Any], owner: str) -> list[Parameter]:
    if code.co_flags & (_VAR_POSITIONAL | _VAR_KEYWORD):
        total = code.co_argcount + code.co_kwonlyargcount
        raise _variadic(owner, code.co_varnames[total])
    positional = code.co_varnames[: code.co_argcount]
    keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()
    by_name = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
    by_name.update(function.__kwdefaults__ or {})
    names = [(name, False) for name in positional] + [(name, True) for name in keyword_only]
    return [
        _parameter(name, hints.get(name, Any), by_name.get(name, NODEFAULT), keyword_only=only)
        for name, only in names
    ]


def _from_inspect(
    function: Callable[..., Any], hints: dict[str, Any], owner: str
) -> list[Parameter]:
    import inspect  # noqa: PLC0415 - only decorated, bound and callable objects need it

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        msg = f"function {owner!r} tells nothing of its parameters ({error}): wrap it in a def"
        raise DefinitionError(msg) from error
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise _variadic(owner, parameter.name)
        default = NODEFAULT if parameter.default is parameter.empty else parameter.default
        parameters.append(
            _parameter(
                parameter.name,
                hints.get(parameter.name, Any),
                default,
                keyword_only=parameter.kind is parameter.KEYWORD_ONLY,
            )
        )
    return parameters


def _parameter(name: str, annotation: Any, default: Any, *, keyword_only: bool) -> Parameter:
    injected = _is_context(annotation)
    if type(default).__name__ == "FieldInfo":  # `x: int = Field(ge=0)`, as pydantic's users write
        field = default
        annotation = typing.Annotated[annotation, field]
        default = _default_of(field)
    return Parameter(name, annotation, default, keyword_only, injected)


def _default_of(field: Any) -> Any:
    if field.default_factory is not None:
        return field.default_factory()
    return NODEFAULT if field.is_required() else field.default


def _is_context(annotation: Any) -> bool:
    if annotation is Context:
        return True
    return Context in typing.get_args(annotation)  # Context | None, Annotated[Context, …]


def _variadic(owner: str, name: str) -> DefinitionError:
    return DefinitionError(
        f"function {owner!r}: '*{name}' has no name a caller could use: "
        f"take a list or a dict parameter instead"
    )


def _flags(function: Any) -> int:
    """Give the code flags of what really runs, below partials, wrappers and `__call__`."""
    while True:
        if hasattr(function, "func") and not hasattr(function, "__code__"):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif hasattr(function, "__func__"):
            function = function.__func__
        elif not hasattr(function, "__code__") and hasattr(type(function), "__call__"):  # noqa: B004 - the slot itself is wanted
            call = type(function).__call__
            if not hasattr(call, "__code__"):
                return 0
            function = call
        else:
            return int(getattr(getattr(function, "__code__", None), "co_flags", 0))


def _hints(function: Any, owner: str) -> dict[str, Any]:
    target = function
    while hasattr(target, "func") and not hasattr(target, "__annotations__"):
        target = target.func
    if not hasattr(target, "__annotations__") and not isinstance(target, type):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except NameError as first:
        # Types defined inside a function are visible only in the frames that are still running.
        for scope in _scopes_of_definition(getattr(target, "__code__", None)):
            try:
                return typing.get_type_hints(target, localns=scope, include_extras=True)
            except NameError:
                continue
        msg = (
            f"function {owner!r}: the annotation names {first.name!r}, which is not defined here: "
            f"import it or define it above the function"
        )
        raise DefinitionError(msg) from first
    except TypeError:
        return {}


def _scopes_of_definition(code: CodeType | None) -> list[dict[str, Any]]:
    scopes: list[dict[str, Any]] = []
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - there is no other way to the caller's names
    while frame is not None:
        if code is not None and frame.f_code.co_filename == code.co_filename:
            scopes.append(dict(frame.f_locals))
        frame = frame.f_back
    return scopes
