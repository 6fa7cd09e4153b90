"""An operation: one registered function, frozen, with the decoder and encoder made for it.

In: a function and the options its author gave. Out: an `Operation`, or a `DefinitionError` that
names the function, the place and the remedy. It must not know who will call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from kuniumi.core.codec import arguments_decoder, decoder
from kuniumi.core.keys import misused
from kuniumi.core.result import Result, is_async_stream, result_of
from kuniumi.core.signature import Parameter, Signature, read
from kuniumi.core.types import adapt
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kuniumi.core.cache import Cache
    from kuniumi.core.content import Icon

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_OPERATION_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z")
_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+\Z")
_WHERE_ICONS_ARE = ("https://", "http://", "data:")
_LONGEST_TIMEOUT = 10 * 365 * 86_400
_UNREADABLE = (TypeError, ValueError, NameError, AttributeError, SyntaxError, RecursionError)
_REMEDIES = {
    "custom type": "let a pydantic model share its union with other models and None only",
    "Type unions": "make them msgspec Structs with tag=True, or take only one of them",
    "Can only set": "drop the constraint, or constrain another type",
    "Enums must": "give its members values that are all text or all integers",
    "Literal may": "write values that are text, integers, true, false or None",
    "Unbound TypeVar": "write the type itself",
    "InitVar": "make it an ordinary field",
}
EXECUTORS = ("inline", "threads", "processes")
_IMMUTABLE = (bool, int, float, str, bytes, type(None))


class Policy(Struct, frozen=True, kw_only=True):
    """How calls of an operation are treated. What is left unset, the app decides."""

    timeout: float | None = None  # seconds
    inline: bool = False  # run a plain function on the event loop itself: tiny pure ones only
    processes: bool = False  # run it in a process that its end harms no other call
    memory: int | None = None  # bytes that one call may take, in a process
    concurrency: int | None = None  # calls of it at once, in one process of the server
    queue: int | None = None  # calls that may wait for their turn; None for as many as may run
    retries: int = 0  # how often it is begun anew where it failed unexpectedly
    strict: bool = False  # no coercion of arguments
    envelope: Literal["wrapped", "bare"] = "wrapped"
    mask_errors: bool = False
    cache: Cache | None = None  # how long, and by what, its answers are remembered


class Hints(Struct, frozen=True, kw_only=True):
    """What calling a function may do to the world, as far as its author says. `None` is silence."""

    read_only: bool | None = None  # it changes nothing
    destructive: bool | None = None  # it may delete or overwrite
    idempotent: bool | None = None  # calling it twice is like calling it once
    open_world: bool | None = None  # it reaches beyond this app


class Wording(Struct, frozen=True, kw_only=True):
    """What the author says of a function in so many words; the docstring fills the gaps."""

    description: str = ""
    params: Mapping[str, str] = {}
    returns: str = ""
    tags: tuple[str, ...] = ()
    errors: Mapping[int, str] = {}  # the statuses of its FunctionErrors, and when they happen
    deprecated: bool = False
    title: str = ""  # for people, as the name is for programs
    icons: tuple[Icon, ...] = ()
    meta: Mapping[str, Any] = {}
    schema: Mapping[str, Any] | None = None  # of the arguments, where the types don't say it all
    headers: Mapping[str, str] = {}  # parameters that clients repeat in a header of this name
    hints: Hints = Hints()


class Operation(Struct, frozen=True, eq=False, weakref=True):
    """One function, ready to be called by its operation id from any surface."""

    name: str
    operation_id: str
    path: str  # a route of its own, besides /functions/{name}; "" for none
    function: Callable[..., Any]
    signature: Signature
    policy: Policy
    wording: Wording
    parameters: tuple[Parameter, ...]  # those a caller gives
    arguments: type[Struct]
    decode: Callable[[bytes], Any]
    run: Callable[..., Any]  # the function, or what fills in the rest of its parameters around it
    bind: Callable[[Any, Any], tuple[tuple[Any, ...], dict[str, Any] | None]]
    result: Result
    wants_context: bool
    is_async: bool
    needs_loop: bool  # it is, or something that it is provided with
    beneath: Operation | None = None  # as it was defined, where its calls run elsewhere
    turns: Any = None  # where a plain function's calls wait for each other, if they have to
    surround: Any = None  # what puts its retries and its limit around another way to run it


def define(
    function: Callable[..., Any],
    *,
    name: str = "",
    operation_id: str = "",
    path: str = "",
    policy: Policy,
    wording: Wording,
    result: Result | None = None,
) -> Operation:
    """Make an operation of a function. `result` is how its values go out, if not as a call's do."""
    check_text(f"function {name!r}", "name", name)
    signature = read(function, name)
    name = signature.name
    operation_id = operation_id or f"functions.{name}"
    _check_names(name, operation_id, path)
    check_policy(f"function {name!r}", policy)
    streams = _streams(signature)
    if policy.inline and streams:
        msg = f"function {name!r}: inline=True is for plain functions, not for generators"
        raise DefinitionError(msg)
    if policy.retries and streams:
        msg = f"function {name!r}: retries=… is not for generators: their items are out already"
        raise DefinitionError(msg)
    if policy.retries and not wording.hints.idempotent:
        msg = (
            f"function {name!r}: retries={policy.retries} may run it several times: if that does "
            f"no harm, pass idempotent=True as well"
        )
        raise DefinitionError(msg)
    wording = _checked(f"function {name!r}", wording)
    exposed = tuple(
        _adapted(parameter, name) for parameter in signature.parameters if not parameter.injected
    )
    _check_named(name, wording, {parameter.name for parameter in exposed})
    try:
        arguments = _arguments_type(name, exposed)
        decode = arguments_decoder(arguments, [part.annotation for part in exposed])
    except _UNREADABLE as error:
        raise _unreadable(name, exposed, error) from error
    try:
        result = result or result_of(signature, policy.envelope)
    except _UNREADABLE as error:
        raise DefinitionError(_mended(f"the result of function {name!r}", error)) from error
    is_async = (
        signature.is_coroutine or signature.is_async_generator or is_async_stream(signature.returns)
    )
    operation = Operation(
        name=name,
        operation_id=operation_id,
        path=path,
        function=function,
        signature=signature,
        policy=policy,
        wording=wording,
        parameters=exposed,
        arguments=arguments,
        decode=decode,
        run=function,
        bind=_binder(signature),
        result=result,
        wants_context=any(parameter.injected for parameter in signature.parameters),
        is_async=is_async,
        needs_loop=is_async,
    )
    if any(parameter.provided is not None for parameter in signature.parameters):
        from kuniumi.core.provide import provided  # noqa: PLC0415 - most functions need nothing

        operation = provided(operation)
    if policy.cache is not None:
        from kuniumi.core.cache import check_cache  # noqa: PLC0415 - few are remembered

        check_cache(operation)
    return operation


def may_be_repeated(operation: Operation) -> bool:
    """Whether parameters might be meant for headers as well: `headers=…`, or a mark in a schema."""
    return bool(operation.wording.headers or operation.wording.schema) or any(
        isinstance(item, msgspec.Meta) and item.extra_json_schema
        for parameter in operation.parameters
        for item in getattr(parameter.annotation, "__metadata__", ())
    )


def _streams(signature: Signature) -> bool:
    return signature.is_generator or signature.is_async_generator


def check_text(owner: str, option: str, text: Any) -> None:
    """Refuse what is no text; the owner is the function, or the app."""
    if not isinstance(text, str):
        msg = f"{owner}: {option}={text!r} must be text"
        raise DefinitionError(msg)


def check_timeout(owner: str, timeout: Any) -> None:
    """Refuse what is no time to wait."""
    if timeout is not None and not (
        isinstance(timeout, (int, float))
        and not isinstance(timeout, bool)
        and 0 < timeout <= _LONGEST_TIMEOUT
    ):
        msg = f"{owner}: timeout={timeout!r} must be a positive number of seconds"
        raise DefinitionError(msg)


def check_choice(owner: str, option: str, given: Any, choices: tuple[str | bool, ...]) -> None:
    """Refuse what is none of the choices; 1 is not True, either."""
    if not any(type(given) is type(choice) and given == choice for choice in choices):
        msg = f"{owner}: {option}={given!r} must be {' or '.join(map(repr, choices))}"
        raise DefinitionError(msg)


def check_policy(owner: str, policy: Policy) -> None:
    """Refuse a policy that could not be followed."""
    check_timeout(owner, policy.timeout)
    check_choice(owner, "envelope", policy.envelope, ("wrapped", "bare"))
    for option in ("inline", "strict", "mask_errors"):
        check_choice(owner, option, getattr(policy, option), (True, False))
    check_count(owner, "retries", policy.retries, 0)
    for option, least in (("concurrency", 1), ("queue", 0), ("memory", 1)):
        if getattr(policy, option) is not None:
            check_count(owner, option, getattr(policy, option), least)
    if policy.memory is not None and not policy.processes:
        msg = f"{owner}: memory={policy.memory} can be held to in a process: pass executor='processes'"
        raise DefinitionError(msg)
    if policy.queue is not None and policy.concurrency is None:
        msg = f"{owner}: queue={policy.queue} is for calls beyond a limit: pass concurrency=…"
        raise DefinitionError(msg)
    if policy.concurrency is not None and policy.inline:
        msg = f"{owner}: inline functions run one at a time anyway: drop concurrency=…"
        raise DefinitionError(msg)


def choose_executor(
    function: Callable[..., Any], name: str, own: Any, common: str, *, inline: bool
) -> str:
    """Tell where a function runs: as it says itself, or else as the app has it for what can."""
    owner = f"function {name or getattr(function, '__name__', '')!r}"
    check_choice(owner, "inline", inline, (True, False))
    if own is not None:
        check_choice(owner, "executor", own, EXECUTORS)
    if inline and own not in {None, "inline"}:
        msg = f"{owner}: inline=True and executor={own!r} contradict each other: pass one of them"
        raise DefinitionError(msg)
    if inline or own is not None:
        return "inline" if inline else str(own)
    if common == "inline" and _streams(read(function, name)):
        return "threads"
    return common


def check_count(owner: str, option: str, given: Any, least: int) -> None:
    """Refuse what is no number of things."""
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        msg = f"{owner}: {option}={given!r} must be a whole number, {least} or more"
        raise DefinitionError(msg)


def _checked(owner: str, wording: Wording) -> Wording:
    """Give the words, whose parts may have come as what they are not, as copies of their own."""
    check_text(owner, "description", wording.description)
    check_text(owner, "returns", wording.returns)
    check_choice(owner, "deprecated", wording.deprecated, (True, False))
    params = _check_mapping(owner, "params", wording.params, "{'x': 'What it is'}")
    errors = _check_mapping(owner, "errors", wording.errors, "{404: 'When it happens'}")
    tags: Any = wording.tags
    if not isinstance(tags, (list, tuple, set, frozenset)):
        msg = f"{owner}: tags={tags!r} must be a list of texts, like ['weather']"
        raise DefinitionError(msg)
    for tag in tags:
        check_text(owner, "tags: one", tag)
    for status in errors:
        if not isinstance(status, int) or not 400 <= status <= 599:
            msg = f"{owner}: errors names status {status!r}: give one from 400 to 599"
            raise DefinitionError(msg)
    check_text(owner, "title", wording.title)
    _check_hints(owner, wording.hints)
    icons, meta, schema = wording.icons, wording.meta, wording.schema
    return msgspec.structs.replace(
        wording,
        params=params,
        errors=errors,
        tags=tuple(tags),
        icons=icons if icons == () else check_icons(owner, icons),
        meta=_check_meta(owner, meta),
        schema=None if schema is None else _check_schema(owner, schema),
        headers=_check_mapping(owner, "headers", wording.headers, "{'region': 'Region'}"),
    )


def _check_hints(owner: str, hints: Hints) -> None:
    for hint in hints.__struct_fields__:
        if getattr(hints, hint) is not None:
            check_choice(owner, hint, getattr(hints, hint), (True, False))
    if hints.read_only and hints.destructive:
        msg = f"{owner}: read_only=True and destructive=True contradict each other: drop one"
        raise DefinitionError(msg)


def check_icons(owner: str, icons: Any) -> tuple[Icon, ...]:
    """Refuse what are no icons; the owner is the function, or the app."""
    from kuniumi.core.content import Icon, is_valid  # noqa: PLC0415 - who has icons has loaded it

    listed = icons if isinstance(icons, (list, tuple)) else [None]
    if not all(
        isinstance(icon, Icon) and is_valid(icon, Icon) and icon.src.startswith(_WHERE_ICONS_ARE)
        for icon in listed
    ):
        msg = f"{owner}: icons={icons!r} must be a list like [Icon('https://example.com/icon.png')]"
        raise DefinitionError(msg)
    return tuple(listed)


def _check_schema(owner: str, given: Any) -> dict[str, Any]:
    schema = _check_json(owner, "input_schema", given, "{'type': 'object', 'properties': {}}")
    if schema.get("type") != "object" or not isinstance(schema.get("properties", {}), Mapping):
        msg = f"{owner}: input_schema describes the arguments: its type must be 'object'"
        raise DefinitionError(msg)
    return {"properties": {}, **schema}


def _check_meta(owner: str, given: Any) -> dict[str, Any]:
    meta = _check_json(owner, "meta", given, "{'example.com/owner': 'me'}")
    for key in meta:
        if why := misused(key):
            raise DefinitionError(f"{owner}: meta has {why}")
    return meta


def _check_json(owner: str, option: str, given: Any, example: str) -> dict[str, Any]:
    try:
        if isinstance(given, Mapping) and all(isinstance(key, str) for key in given):
            msgspec.json.encode(given)
            return dict(given)
    except (TypeError, ValueError, RecursionError):
        pass
    msg = f"{owner}: {option}={given!r} must be a dict that JSON can hold, like {example}"
    raise DefinitionError(msg)


def _check_named(name: str, wording: Wording, names: set[str]) -> None:
    """Refuse words about parameters that there are not."""
    for option, given in (("params", wording.params), ("headers", wording.headers)):
        for described in given:
            if described not in names:
                msg = (
                    f"function {name!r}: {option} names {described!r}, which is no parameter of it"
                )
                raise DefinitionError(msg)
    for described in (wording.schema or {}).get("properties", ()):
        if described not in names:
            msg = f"function {name!r}: input_schema has {described!r}, which is no parameter of it"
            raise DefinitionError(msg)
    for repeated in wording.headers:
        if wording.schema and repeated not in wording.schema["properties"]:
            msg = f"function {name!r}: headers names {repeated!r}, which input_schema leaves out"
            raise DefinitionError(msg)


def _check_mapping(owner: str, option: str, given: Any, example: str) -> dict[Any, str]:
    if not isinstance(given, Mapping):
        msg = f"{owner}: {option}={given!r} must be a dict, like {example}"
        raise DefinitionError(msg)
    for key, text in given.items():
        check_text(owner, f"{option}: {key}", text)
    return dict(given)


def _check_names(name: str, operation_id: str, path: str) -> None:
    check_text(f"function {name!r}", "operation_id", operation_id)
    check_text(f"function {name!r}", "path", path)
    if not _NAME.match(name):
        msg = (
            f"function {name!r}: its name becomes part of URLs, so it may hold ASCII letters, "
            f"digits, '_', '-' and '.' only: pass name=…"
        )
        raise DefinitionError(msg)
    if not _OPERATION_ID.match(operation_id):
        msg = (
            f"function {name!r}: operation id {operation_id!r} may hold 1 to 128 of "
            f"A-Z a-z 0-9 '_' '-' '.' only: pass operation_id=…"
        )
        raise DefinitionError(msg)
    if path and not _PATH.match(path):
        msg = (
            f"function {name!r}: path={path!r} is no plain path: write it like '/weather', with "
            f"letters, digits, '-', '_', '.' and '~' between the slashes"
        )
        raise DefinitionError(msg)


def _adapted(parameter: Parameter, owner: str) -> Parameter:
    where = f"parameter {parameter.name!r} of function {owner!r}"
    annotation = adapt(parameter.annotation, where, incoming=True)
    return msgspec.structs.replace(parameter, annotation=annotation)


def _arguments_type(name: str, parameters: tuple[Parameter, ...]) -> type[Struct]:
    """Build the Struct that one call's arguments are decoded into.

    Its fields are numbered, so that a parameter may have any name.
    """
    fields = [
        (f"p{index}", parameter.annotation, _field(parameter))
        for index, parameter in enumerate(parameters)
    ]
    return msgspec.defstruct(
        f"{name}Arguments", fields, forbid_unknown_fields=True, kw_only=True, eq=False
    )


def _field(parameter: Parameter) -> Any:
    default = parameter.default
    if parameter.required:
        return msgspec.field(name=parameter.name)
    if parameter.make_default is not None:
        return msgspec.field(name=parameter.name, default_factory=parameter.make_default)
    if isinstance(default, _IMMUTABLE):
        return msgspec.field(name=parameter.name, default=default)
    return msgspec.field(name=parameter.name, default_factory=lambda: default)


def _unreadable(name: str, parameters: tuple[Parameter, ...], error: Exception) -> DefinitionError:
    """Find the parameter msgspec stumbled over, so that the message can name it."""
    for parameter in parameters:
        try:
            decoder(parameter.annotation)
        except _UNREADABLE as found:
            where = f"parameter {parameter.name!r} of function {name!r}"
            return DefinitionError(_mended(where, found))
    return DefinitionError(_mended(f"function {name!r}", error))


def _mended(where: str, error: Exception) -> str:
    """Say what msgspec can't do with a type, and what to write instead."""
    said = str(error).partition(" - type `")[0].replace("`", "").rstrip(".")
    remedy = next(
        (remedy for words, remedy in _REMEDIES.items() if words in said),
        "write a type that JSON can tell from others",
    )
    return f"{where}: {said}: {remedy}"


def _binder(
    signature: Signature,
) -> Callable[[Any, Any], tuple[tuple[Any, ...], dict[str, Any] | None]]:
    """Give the function that turns decoded arguments and a context into a Python call."""
    parameters = signature.parameters
    astuple = msgspec.structs.astuple
    if not any(parameter.injected or parameter.keyword_only for parameter in parameters):
        return lambda arguments, _context: (astuple(arguments), None)

    def bind(arguments: Any, context: Any) -> tuple[tuple[Any, ...], dict[str, Any] | None]:
        values = iter(astuple(arguments))
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for parameter in parameters:
            value = context if parameter.injected else next(values)
            if parameter.keyword_only:
                keywords[parameter.name] = value
            else:
                positional.append(value)
        return tuple(positional), keywords

    return bind
