"""Registering: what is taken as a function, and how a mistake in a definition is told."""

import asyncio
import functools
from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum, Flag
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import annotated_types as at
import msgspec
import pydantic
import pydantic.dataclasses
import pytest

from kuniumi import App, Context, DefinitionError

Function = Callable[..., Any]


def Add(x: int, y: int = 5) -> int:
    """Adds two integers."""
    return x + y


async def AddLater(x: int, y: int = 5) -> int:
    await asyncio.sleep(0)
    return x + y


def called(function: Function, arguments: dict[str, Any], **options: Any) -> Any:
    """Register a function in an app of its own, and give the envelope of one call."""
    app = App()
    name = app.register(function, **options).name
    return msgspec.json.decode(app.call(name, arguments).body)


def refusal(function: Any, **options: Any) -> str:
    """Give the words with which a function is refused."""
    with pytest.raises(DefinitionError) as refused:
        App().register(function, **options)
    return str(refused.value)


# ---- what a decorator gives back -----------------------------------------------------------------


def test_the_bare_decorator_gives_the_function_itself_back() -> None:
    assert App().function(Add) is Add


def test_the_decorator_with_options_gives_the_function_itself_back() -> None:
    assert App().function(timeout=5, name="Plus")(Add) is Add


def test_register_gives_the_operation() -> None:
    operation = App().register(Add, "Adds", params={"x": "First"}, returns="Sum", name="Plus")
    assert (operation.name, operation.operation_id) == ("Plus", "functions.Plus")
    assert operation.function is Add


def test_a_function_answers_to_its_name_and_to_its_operation_id() -> None:
    app = App()
    app.register(Add, operation_id="math.add")
    assert app.call("Add", {"x": 1}).body == app.call("math.add", {"x": 1}).body == b'{"result":6}'


def test_one_function_may_be_registered_under_two_names() -> None:
    app = App()
    app.register(Add)
    app.register(Add, name="Plus")
    assert app.call("Plus", {"x": 1}).body == b'{"result":6}'


def test_a_refused_function_leaves_nothing_behind() -> None:
    app = App()
    app.register(Add, path="/add")
    for options in ({"name": "Add"}, {"name": "B", "operation_id": "functions.Add"}):
        with pytest.raises(DefinitionError):
            app.register(Add, path="/other", **options)  # type: ignore[arg-type]
    app.register(Add, name="Plus", path="/other")


# ---- what counts as a function -------------------------------------------------------------------


class Adder:
    def method(self, x: int, y: int = 5) -> int:
        return x + y

    async def later(self, x: int, y: int = 5) -> int:
        return x + y

    @classmethod
    def of_class(cls, x: int, y: int = 5) -> int:
        return x + y

    @staticmethod
    def static(x: int, y: int = 5) -> int:
        return x + y

    def __call__(self, x: int, y: int = 5) -> int:
        return x + y


class LaterAdder:
    async def __call__(self, x: int, y: int = 5) -> int:
        return x + y


def passing_on(function: Function) -> Function:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def awaiting(function: Function) -> Function:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await function(*args, **kwargs)

    return wrapper


def made_async(function: Function) -> Function:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(0)
        return function(*args, **kwargs)

    return wrapper


def AddKeywords(*, x: int, y: int = 5) -> int:
    return x + y


def AddPositions(x: int, y: int = 5, /) -> int:
    return x + y


CALLABLES: dict[str, Function] = {
    "a function": Add,
    "a coroutine function": AddLater,
    "a bound method": Adder().method,
    "a bound coroutine method": Adder().later,
    "a class method": Adder.of_class,
    "a static method": Adder.static,
    "a static method of an instance": Adder().static,
    "an object with __call__": Adder(),
    "an object with async __call__": LaterAdder(),
    "a partial": functools.partial(Add, y=5),
    "a partial of a partial": functools.partial(functools.partial(Add), y=5),
    "a partial of a coroutine function": functools.partial(AddLater, y=5),
    "a partial of a method": functools.partial(Adder().method, y=5),
    "a wrapper around a function": passing_on(Add),
    "a wrapper around a coroutine function": passing_on(AddLater),
    "an async wrapper around a coroutine function": awaiting(AddLater),
    "an async wrapper around a function": made_async(Add),
    "a wrapper around a method": passing_on(Adder().method),
    "wrappers around wrappers": passing_on(awaiting(passing_on(AddLater))),
    "a cached function": functools.cache(Add),
    "a function with keyword-only parameters": AddKeywords,
    "a function with positional-only parameters": AddPositions,
}


@pytest.mark.parametrize("what", CALLABLES)
def test_anything_callable_with_a_signature_can_be_registered(what: str) -> None:
    assert called(CALLABLES[what], {"x": "7"}, name="Add") == {"result": 12}


def test_a_partial_takes_what_is_left() -> None:
    assert called(functools.partial(Add, 3), {"y": 4}) == {"result": 7}
    assert called(functools.partial(Add, y=1), {"x": 3, "y": 4}) == {"result": 7}


def test_a_partial_goes_by_the_name_of_its_function() -> None:
    assert App().register(functools.partial(functools.partial(Add), y=1)).name == "Add"


def test_what_a_decorator_passes_on_from_a_generator_is_a_stream() -> None:
    def Count(n: int) -> Iterator[int]:
        yield from range(n)

    assert called(passing_on(Count), {"n": 3}) == {"result": [0, 1, 2]}


def test_a_signature_that_a_decorator_made_up_counts() -> None:
    import inspect

    def Call(*args: Any, **kwargs: Any) -> Any:
        return Add(*args, **kwargs)

    Call.__signature__ = inspect.signature(Add)  # type: ignore[attr-defined]
    assert called(Call, {"x": "7"}) == {"result": 12}
    assert called(Call, {"x": "a"})["error"].startswith("Argument 'x': expected an integer")


# ---- the context ---------------------------------------------------------------------------------


def first(ctx: Context, x: int) -> str:
    return f"{ctx.operation_id} {x}"


def last(x: int, ctx: Context) -> str:
    return f"{ctx.operation_id} {x}"


def keyword_only(x: int, *, ctx: Context) -> str:
    return f"{ctx.operation_id} {x}"


def positional_only(ctx: Context, /, x: int) -> str:
    return f"{ctx.operation_id} {x}"


def maybe(x: int, ctx: Context | None = None) -> str:
    return f"{ctx.operation_id} {x}" if ctx else "none"


def optional(x: int, ctx: Optional[Context] = None) -> str:  # noqa: UP045 - as some still write it
    return f"{ctx.operation_id} {x}" if ctx else "none"


def annotated(x: int, ctx: Annotated[Context, "the call"]) -> str:
    return f"{ctx.operation_id} {x}"


def quoted(x: int, ctx: "Context") -> str:
    return f"{ctx.operation_id} {x}"


def between(x: int = 1, *, ctx: Context, y: int = 2) -> str:
    return f"{ctx.operation_id} {x}"


@pytest.mark.parametrize(
    "function",
    [first, last, keyword_only, positional_only, maybe, optional, annotated, quoted, between],
    ids=lambda function: function.__name__,
)
def test_a_context_is_injected_wherever_it_stands(function: Function) -> None:
    assert called(function, {"x": 1}, operation_id="op") == {"result": "op 1"}


def test_a_context_is_no_argument() -> None:
    envelope = called(last, {"x": 1, "ctx": {}})
    assert envelope == {"error": "Unknown argument 'ctx': last takes x"}


def test_a_list_of_contexts_is_not_a_context() -> None:
    def Odd(x: list[Context]) -> None: ...

    assert "Context, which has no JSON form" in refusal(Odd)


# ---- defaults ------------------------------------------------------------------------------------


def test_a_mutable_default_is_fresh_for_each_call() -> None:
    def Collect(x: list[int] = [], y: dict[str, list[int]] = {"a": []}) -> int:  # noqa: B006 - what users write
        x.append(1)
        y["a"].append(1)
        return len(x) + len(y["a"])

    app = App()
    app.register(Collect)
    assert [app.call("Collect").body for _ in range(3)] == [b'{"result":2}'] * 3


def test_a_default_that_json_cannot_show_is_passed_as_it_is() -> None:
    nothing = object()

    def Given(x: Any = nothing) -> bool:
        return x is not nothing

    assert called(Given, {}) == {"result": False}
    assert called(Given, {"x": None}) == {"result": True}


def test_a_default_may_stand_in_a_field_of_pydantic() -> None:
    def Count(x: int = pydantic.Field(default=3, ge=0)) -> int:
        return x

    assert called(Count, {}) == {"result": 3}
    assert called(Count, {"x": "4"}) == {"result": 4}
    assert called(Count, {"x": -1}) == {"error": "Argument 'x': expected an integer >= 0"}


def test_a_field_of_pydantic_without_a_default_is_required() -> None:
    def Count(x: int = pydantic.Field(ge=0)) -> int:
        return x

    assert called(Count, {}) == {"error": "Missing argument 'x' (an integer)"}


def test_a_default_factory_is_asked_for_each_call() -> None:
    def Collect(x: list[int] = pydantic.Field(default_factory=list)) -> int:  # noqa: B008 - what users write
        x.append(1)
        return len(x)

    app = App()
    app.register(Collect)
    assert [app.call("Collect").body for _ in range(2)] == [b'{"result":1}'] * 2


# ---- mistakes ------------------------------------------------------------------------------------


class Engine:
    pass


@dataclass
class Car:
    engine: list[Engine]


@dataclass
class Cat:
    purrs: bool


@dataclass
class Dog:
    barks: bool


@dataclass
class Total:
    amount: int
    doubled: int = field(init=False)


@dataclass
class Seeded:
    seed: InitVar[int]


@pydantic.dataclasses.dataclass
class Strange:
    x: int


class Model(pydantic.BaseModel):
    x: int


class Other(pydantic.BaseModel):
    y: int


class Half(Enum):
    ONE = 0.5


class Rights(Flag):
    READ = 1
    WRITE = 2


class Loose(TypedDict):
    engine: NotRequired[Engine]


class Narrow(msgspec.Struct):
    x: Annotated[int, at.Ge(0)]


BAD_TYPES = {
    "a class of nobody's": (Engine, "Engine", "use scalars"),
    "one in a list": (list[Engine], "Engine", "use scalars"),
    "one in a union": (int | Engine, "Engine", "use scalars"),
    "one in a field": (Car, "Engine", "use scalars"),
    "one in a dict of fields": (dict[str, Car], "Engine", "use scalars"),
    "one in a TypedDict": (Loose, "Engine", "use scalars"),
    "a function": (Callable[[], int], "Callable", "use scalars"),
    "a complex number": (complex, "complex", "use scalars"),
    "a set of flags": (Rights, "Rights", "use scalars"),
    "two dataclasses in one union": (Cat | Dog, "Cat | ", "tag=True"),
    "two lists in one union": (list[int] | list[str], "union", "tag=True"),
    "an enum of fractions": (Half, "Enums", "all text or all integers"),
    "a Literal of an enum": (Literal[Half.ONE], "Literal", "write values that are text"),
    "an InitVar": (Seeded, "InitVar", "ordinary field"),
    "a field its class fills in": (Total, "'doubled' of Total", "give it a default"),
    "a dataclass of pydantic's": (Strange, "Strange", "plain dataclass"),
    "a bound on text": (Annotated[str, at.Ge(0)], "Can only set ge", "drop the constraint"),
    "a length of a number": (Annotated[int, at.MinLen(1)], "min_length", "drop the constraint"),
    "a bound on a decimal": (Annotated[Decimal, at.Ge(0)], "Can only set ge", "drop"),
    "a bound that is a date": (Annotated[date, at.Ge(date(2020, 1, 1))], "ge must be", "drop"),
    "a bound no arm can have": (Annotated[str | None, at.Ge(0)], "can be constrained", "drop"),
    "two lower bounds": (Annotated[int, at.Ge(0), at.Gt(0)], "both gt and ge", "drop"),
    "a condition in Python": (Annotated[int, at.Predicate(bool)], "Predicate", "in the function"),
    "a validator of pydantic's": (
        Annotated[int, pydantic.AfterValidator(abs)],
        "AfterValidator",
        "pydantic model",
    ),
    "a constraint that a Struct ignores": (Narrow, "field 'x' of the Struct Narrow", "write"),
    "a dict with true and false as keys": (dict[bool, int], "keys of type bool", "as keys"),
    "a dict with tuples as keys": (dict[tuple[int, int], int], "type tuple", "as keys"),
    "a dict with objects as keys": (dict[Cat, int], "keys of type Cat", "as keys"),
    "a dict with null as a key": (dict[str | None, int], "keys of type NoneType", "as keys"),
    "a model or something else": (Model | int, "union", "other models and None only"),
    "a model or a dataclass": (Model | Dog, "union", "other models and None only"),
    "models pydantic can't tell apart": (
        Annotated[Model | Other, pydantic.Field(discriminator="kind")],
        "can't tell its models apart",
        "needs a discriminator field",
    ),
}


@pytest.mark.parametrize("what", BAD_TYPES)
def test_a_type_that_cannot_be_offered_is_refused_by_name(what: str) -> None:
    annotation, told, remedy = BAD_TYPES[what]

    def Drive(speed: int, vehicle: Any) -> None: ...

    Drive.__annotations__["vehicle"] = annotation
    words = refusal(Drive)
    assert "'Drive'" in words
    assert "'vehicle'" in words
    assert told.partition(" | ")[0] in words or "union" in words
    assert remedy in words


@pytest.mark.parametrize("annotation", [Engine, list[Car], Cat | Dog, Half, dict[bool, int]])
def test_a_result_that_cannot_be_offered_is_refused_by_name(annotation: Any) -> None:
    def Build() -> Any: ...

    Build.__annotations__["return"] = annotation
    assert "the result of function 'Build'" in refusal(Build)


def test_a_parameter_without_a_name_of_its_own_is_refused() -> None:
    def Sum(*numbers: int) -> int: ...  # type: ignore[empty-body]

    def Set(**values: int) -> None: ...

    assert "'Sum': '*numbers'" in refusal(Sum)
    assert "take a list" in refusal(Sum)
    assert "'Set': '*values'" in refusal(Set)
    assert "'*numbers'" in refusal(passing_on(Sum))


def test_a_lambda_is_refused_unless_it_is_given_a_name() -> None:
    assert "name=" in refusal(lambda x: x)
    assert called(lambda x: x, {"x": 1}, name="Same") == {"result": 1}


@pytest.mark.parametrize("what", [5, None, "Add", vars(Adder)["of_class"]])
def test_what_is_not_callable_is_refused(what: Any) -> None:
    assert "not callable" in refusal(what)


def test_a_builtin_that_tells_nothing_of_its_parameters_is_refused() -> None:
    assert "wrap it in a def" in refusal(int)


def test_a_name_that_is_not_defined_is_refused() -> None:
    def Find(x: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    words = refusal(Find)
    assert "'Find'" in words
    assert "'Nowhere'" in words
    assert "define it" in words


@pytest.mark.parametrize("annotation", ["list[", "int.nothing", "5", "[int]"])
def test_an_annotation_that_is_no_type_is_refused(annotation: str) -> None:
    def Find(x: Any) -> None: ...

    Find.__annotations__["x"] = annotation
    assert "'Find'" in refusal(Find)


BAD_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "a name with a space": ({"name": "A b"}, "name="),
    "a name beyond ASCII": ({"name": "Größe"}, "name="),
    "a name with a slash": ({"name": "a/b"}, "name="),
    "a name that starts with a digit": ({"name": "1a"}, "name="),
    "a name with a line break at its end": ({"name": "Add\n"}, "name="),
    "a name that is no text": ({"name": 5}, "name"),
    "an operation id with a slash": ({"operation_id": "a/b"}, "operation_id="),
    "an operation id of 129 letters": ({"operation_id": "a" * 129}, "operation_id="),
    "an operation id that is no text": ({"operation_id": 5}, "operation_id"),
    "a path without a slash": ({"path": "weather"}, "'/weather'"),
    "a path with a space": ({"path": "/a b"}, "path="),
    "a path that climbs": ({"path": "/../a"}, "path="),
    "a path that ends in a slash": ({"path": "/a/"}, "path="),
    "a path with a query": ({"path": "/a?b"}, "path="),
    "a path of the app's": ({"path": "/health"}, "path="),
    "a path among the functions": ({"path": "/functions/x"}, "path="),
    "a path that is no text": ({"path": 5}, "path"),
    "no time at all": ({"timeout": 0}, "timeout=0"),
    "negative time": ({"timeout": -1}, "timeout=-1"),
    "time that is not a number": ({"timeout": float("nan")}, "timeout=nan"),
    "time without end": ({"timeout": float("inf")}, "timeout=inf"),
    "time as text": ({"timeout": "5"}, "timeout='5'"),
    "time that is true": ({"timeout": True}, "timeout=True"),
    "an unknown envelope": ({"envelope": "round"}, "'wrapped' or 'bare'"),
    "words for an unknown parameter": ({"params": {"z": "?"}}, "'z'"),
    "words that are no text": ({"params": {"x": 5}}, "x"),
    "a description that is no text": ({"description": 5}, "description"),
    "an error that is a success": ({"errors": {200: "fine"}}, "400 to 599"),
    "an error that is no number": ({"errors": {"x": "?"}}, "400 to 599"),
    "an error whose words are no text": ({"errors": {404: 5}}, "errors: 404=5 must be text"),
    "words in a list": ({"params": ["x"]}, "params=['x'] must be a dict, like {'x': 'What it is'}"),
    "no words, but false": ({"params": False}, "params=False must be a dict"),
    "errors in a list": ({"errors": [404]}, "errors=[404] must be a dict, like {404: "),
    "a number of tags": ({"tags": 5}, "tags=5 must be a list of texts"),
    "tags in one text": ({"tags": "abc"}, "tags='abc' must be a list of texts"),
    "a tag that is no text": ({"tags": ["a", 5]}, "tags: one=5 must be text"),
    "what is given back as no text": ({"returns": 5}, "returns=5 must be text"),
    "an envelope that is a list": ({"envelope": []}, "'wrapped' or 'bare'"),
    "strictness in words": ({"strict": "no"}, "strict='no' must be True or False"),
    "inline by number": ({"inline": 1}, "inline=1 must be True or False"),
    "masks in words": ({"mask_errors": "yes"}, "mask_errors='yes' must be True or False"),
    "deprecation in words": ({"deprecated": "soon"}, "deprecated='soon' must be True or False"),
}


@pytest.mark.parametrize("what", BAD_OPTIONS)
def test_an_option_that_makes_no_sense_is_refused(what: str) -> None:
    options, told = BAD_OPTIONS[what]
    words = refusal(Add, **options)
    assert told in words
    assert "function" in words


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ({}, "name 'Add'"),
        ({"name": "B", "operation_id": "functions.Add"}, "operation id 'functions.Add'"),
        ({"name": "B", "path": "/add"}, "path '/add'"),
    ],
)
def test_what_is_taken_is_told_with_who_took_it(options: dict[str, str], taken: str) -> None:
    app = App()
    app.register(Add, path="/add")
    with pytest.raises(DefinitionError, match="another") as refused:
        app.register(AddLater, **{"name": "Add", **options})  # type: ignore[arg-type]
    assert taken in str(refused.value)
    assert f"{__name__}.Add" in str(refused.value)


def test_no_name_is_anothers_operation_id() -> None:
    app = App()
    app.register(Add)
    with pytest.raises(DefinitionError, match=r"name 'functions\.Add' is taken"):
        app.register(AddLater, name="functions.Add")
    with pytest.raises(DefinitionError, match="operation id 'Add' is taken"):
        app.register(AddLater, operation_id="Add")
    assert app.register(AddLater, name="Both", operation_id="Both").name == "Both"


def test_words_are_copied_when_a_function_is_registered() -> None:
    params, tags = {"x": "First"}, ["sums"]
    operation = App().register(Add, params=params, tags=tags)
    params["y"] = "Second"
    tags.append("more")
    assert (operation.wording.params, operation.wording.tags) == ({"x": "First"}, ("sums",))


BAD_APPS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": None}, "name=None must be text"),
    "a version that is a number": ({"version": 1.0}, "version=1.0 must be text"),
    "a description that is no text": ({"description": 5}, "description=5 must be text"),
    "negative time": ({"timeout": -1}, "timeout=-1 must be a positive number of seconds"),
    "no time at all": ({"timeout": 0}, "timeout=0 must be a positive number"),
    "time as text": ({"timeout": "5"}, "timeout='5' must be a positive number"),
    "less than no calls": ({"limit_concurrency": -1}, "limit_concurrency=-1 must be a number"),
    "a limit as text": ({"limit_concurrency": "5"}, "limit_concurrency='5' must be a number"),
    "a limit that is true": ({"limit_concurrency": True}, "limit_concurrency=True must be"),
    "a misspelt format": ({"http_format": "tool_result"}, "must be 'json' or 'tool-result'"),
    "an unknown envelope": ({"envelope": "round"}, "must be 'wrapped' or 'bare'"),
    "strictness in words": ({"strict": "no"}, "strict='no' must be True or False"),
    "masks in words": ({"mask_errors": "no"}, "mask_errors='no' must be True or False"),
    "variables in a list": ({"env": ["A=1"]}, "env=['A=1'] must be a dict of texts"),
    "a variable that is a number": ({"env": {"A": 1}}, "env={'A': 1} must be a dict of texts"),
}


@pytest.mark.parametrize("what", BAD_APPS)
def test_an_option_of_the_app_that_makes_no_sense_is_refused_at_once(what: str) -> None:
    options, told = BAD_APPS[what]
    with pytest.raises(DefinitionError) as refused:
        App(**options)
    assert str(refused.value).startswith("the app: ")
    assert told in str(refused.value)


def test_a_generator_cannot_run_inline() -> None:
    def Count() -> Iterator[int]:
        yield 1

    assert "inline=True" in refusal(Count, inline=True)
