"""Reading a function: its parameters, its return type, how it is called.

In: a callable. Out: frozen data. It must not know what is done with the types, and it stays off
`inspect` for plain functions, because a cold start pays for every import.
"""

from __future__ import annotations

import sys
import typing
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal

from msgspec import NODEFAULT, Struct

from kuniumi.core.context import Context
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

    Kind = Literal["plain", "coroutine", "generator", "async generator"]

_VAR_POSITIONAL, _VAR_KEYWORD = 0x04, 0x08
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
_SPECIAL = _GENERATOR | _COROUTINE | _ASYNC_GENERATOR
_COPIED = (list, dict, set, bytearray)


class Provide(Struct, frozen=True):
    """Has a parameter filled in for each call: `db: Annotated[Pool, Provide(get_pool)]`."""

    provider: Callable[..., Any]


class Parameter(Struct, frozen=True):
    """One parameter. `injected` ones are filled in by the house and never exposed."""

    name: str
    annotation: Any
    default: Any = NODEFAULT
    make_default: Callable[[], Any] | None = None  # where each call gets a fresh one
    keyword_only: bool = False
    injected: bool = False
    provided: Provide | None = None  # an injected one without it gets the context

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
    kind = kind_of(function)
    return Signature(
        name=name,
        parameters=tuple(parameters),
        returns=hints.get("return", NODEFAULT),
        is_coroutine=kind == "coroutine",
        is_generator=kind == "generator",
        is_async_generator=kind == "async generator",
    )


def kind_of(function: Callable[..., Any]) -> Kind:
    """Tell how a function's body runs, below decorators that pass on what it gives."""
    flags = _flags(function)
    if flags & _COROUTINE:
        return "coroutine"
    if flags & _ASYNC_GENERATOR:
        return "async generator"
    return "generator" if flags & _GENERATOR else "plain"


def count_positional(function: Any) -> int | None:
    """Count what a def takes by position; None for what is no def, nor wraps one."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & _VAR_POSITIONAL:
        return None
    return int(code.co_argcount) - hasattr(function, "__self__")


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
        parameters.append(
            _parameter(
                parameter.name,
                hints.get(parameter.name, _written(parameter.annotation, parameter.empty)),
                NODEFAULT if parameter.default is parameter.empty else parameter.default,
                keyword_only=parameter.kind is parameter.KEYWORD_ONLY,
            )
        )
    return parameters


def _written(annotation: Any, empty: Any) -> Any:
    """Give the annotation of a `__signature__` that a decorator made up."""
    return Any if annotation is empty or isinstance(annotation, str) else annotation


def _parameter(name: str, annotation: Any, default: Any, *, keyword_only: bool) -> Parameter:
    provided = _provided(annotation)
    injected = provided is not None or _is_context(annotation)
    make_default = None
    if type(default).__name__ == "FieldInfo":  # `x: int = Field(ge=0)`, as pydantic's users write
        field = default
        annotation = typing.Annotated[annotation, field]
        default = NODEFAULT if field.is_required() else field.default
        make_default = field.default_factory
        if make_default is not None:  # what it gives may differ each time: no schema shows it
            default = make_default() if make_default in _COPIED else make_default
    elif type(default) in _COPIED:
        make_default = _copies_of(default)
    return Parameter(name, annotation, default, make_default, keyword_only, injected, provided)


def _copies_of(default: Any) -> Callable[[], Any]:
    def copy() -> Any:
        from copy import deepcopy  # noqa: PLC0415 - few functions have such a default

        try:
            return deepcopy(default)
        except Exception:  # noqa: BLE001 - what can't be copied is shared, as Python does it
            return default

    return copy


def _is_context(annotation: Any) -> bool:
    if annotation is Context:
        return True
    if typing.get_origin(annotation) not in {typing.Union, UnionType, typing.Annotated}:
        return False
    return any(_is_context(part) for part in typing.get_args(annotation))


def _provided(annotation: Any) -> Provide | None:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        for said in annotation.__metadata__:
            if said is Provide:  # planning it tells what is missing
                return Provide(None)  # type: ignore[arg-type]
            if isinstance(said, Provide):
                return said
    elif origin not in {typing.Union, UnionType}:
        return None
    return next(filter(None, map(_provided, typing.get_args(annotation))), None)


def _variadic(owner: str, name: str) -> DefinitionError:
    return DefinitionError(
        f"function {owner!r}: '*{name}' has no name a caller could use: "
        f"take a list or a dict parameter instead"
    )


def _flags(function: Any) -> int:
    """Give the code flags of what runs, below partials and `__call__`.

    A wrapper that is a coroutine or a generator itself says it all. Any other passes on what the
    function in it gives.
    """
    while True:
        code = getattr(function, "__code__", None)
        wrapped = getattr(function, "__wrapped__", None)
        if code is not None and (wrapped is None or code.co_flags & _SPECIAL):
            return int(code.co_flags)
        if wrapped is not None:
            function = wrapped
        elif hasattr(function, "func"):
            function = function.func
        elif hasattr(function, "__func__"):
            function = function.__func__
        else:
            call = type(function).__call__
            if not hasattr(call, "__code__"):
                return 0
            function = call


def _hints(function: Any, owner: str) -> dict[str, Any]:
    target = function
    while hasattr(target, "func") and not hasattr(target, "__annotations__"):
        target = target.func
    if not hasattr(target, "__annotations__") and not isinstance(target, type):
        target = type(target).__call__
    if not hasattr(target, "__annotations__"):  # written in C
        return {}
    innermost = target
    while hasattr(innermost, "__wrapped__"):
        innermost = innermost.__wrapped__
    code = getattr(innermost, "__code__", None)
    try:
        return _resolve(target, getattr(code, "co_filename", None))
    except NameError as error:
        msg = (
            f"function {owner!r}: the annotation names {error.name!r}, which is not defined here: "
            f"import it or define it above the function"
        )
        raise DefinitionError(msg) from error
    except (TypeError, SyntaxError, AttributeError) as error:
        msg = f"function {owner!r}: an annotation is no type ({error}): correct it"
        raise DefinitionError(msg) from error


def _resolve(target: Any, file: str | None) -> dict[str, Any]:
    try:
        return typing.get_type_hints(target, include_extras=True)
    except NameError as first:
        # Types defined inside a function are visible only in the frames that are still running.
        for scope in scopes_of(file):
            try:
                return typing.get_type_hints(target, localns=scope, include_extras=True)
            except NameError:
                continue
        raise first from None


def scopes_of(file: str | None) -> Iterator[dict[str, Any]]:
    """Give the local names of the functions in this file that are running, the innermost first."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - there is no other way to the caller's names
    while frame is not None:
        if file is not None and frame.f_code.co_filename == file:
            yield dict(frame.f_locals)
        frame = frame.f_back
