"""App: the door people come in by. Wiring only: what it does is done in the rooms below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypedDict, TypeVar, Unpack, overload

from kuniumi.core.operation import (
    EXECUTORS,
    Hints,
    Operation,
    Policy,
    Wording,
    check_choice,
    check_count,
    check_policy,
    choose_executor,
    define,
    may_be_repeated,
)
from kuniumi.core.registry import About, Change, Registry
from kuniumi.core.service import Service
from kuniumi.env.environment import Environment
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kuniumi.core.cache import Cache
    from kuniumi.core.call import Envelope
    from kuniumi.core.content import Annotations, Icon
    from kuniumi.core.offers import Completions
    from kuniumi.core.weave import Weave
    from kuniumi.env.mounts import Mount
    from kuniumi.serve.asgi import AsgiApp

Function = TypeVar("Function", bound="Callable[..., Any]")
EnvelopeStyle = Literal["wrapped", "bare"]
ExecutorName = Literal["inline", "threads", "processes"]


class Options(TypedDict, total=False):
    """The options of `@app.function` and `app.register`."""

    params: Mapping[str, str]
    returns: str
    name: str
    operation_id: str
    path: str
    title: str
    tags: Sequence[str]
    icons: Sequence[Icon]
    meta: Mapping[str, Any]
    headers: Mapping[str, str]
    input_schema: Mapping[str, Any]
    errors: Mapping[int, str]
    deprecated: bool
    timeout: float | None
    executor: ExecutorName | None
    inline: bool
    concurrency: int | None
    queue: int | None
    retries: int
    memory: int | None
    envelope: EnvelopeStyle | None
    strict: bool | None
    mask_errors: bool | None
    cache: float | Cache | None
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


class PromptOptions(TypedDict, total=False):
    """The options of `@app.prompt`."""

    name: str
    title: str
    description: str
    params: Mapping[str, str]
    icons: Sequence[Icon]
    meta: Mapping[str, Any]
    timeout: float | None
    complete: Completions


class ResourceOptions(PromptOptions, total=False):
    """The options of `@app.resource`."""

    mime_type: str
    size: int
    annotations: Annotations
    ttl: float
    private: bool


class App:
    """A named, versioned set of functions, callable on every surface.

    Options given here hold for every function that doesn't say otherwise.
    """

    def __init__(
        self,
        name: str = "Kuniumi",
        version: str = "0.0.0",
        description: str = "",
        *,
        envelope: EnvelopeStyle = "wrapped",
        strict: bool = False,
        mask_errors: bool = False,
        timeout: float | None = None,
        executor: ExecutorName = "threads",
        processes: int = 0,
        http_format: Literal["json", "tool-result"] = "json",
        limit_concurrency: int = 0,
        env: Mapping[str, str] | None = None,
        mounts: Sequence[str | Mount] = (),
        title: str = "",
        instructions: str = "",
        website: str = "",
        icons: Sequence[Icon] = (),
        allow_hosts: Sequence[str] = (),
        allow_origins: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.version = version
        self.description = description
        self._policy = Policy(envelope=envelope, strict=strict, mask_errors=mask_errors)
        check_policy("the app", self._policy)
        check_choice("the app", "executor", executor, EXECUTORS)
        check_count("the app", "processes", processes, 0)
        self._executor: ExecutorName = executor
        self._processes = processes
        self._asgi: AsgiApp | None = None
        self.service = Service(
            Registry(
                About(
                    name,
                    version,
                    description,
                    title=title,
                    instructions=instructions,
                    website=website,
                    icons=tuple(icons) if isinstance(icons, list) else icons,  # type: ignore[arg-type] # it sees to it
                )
            ),
            Environment(env, mounts),
            timeout=timeout,
            http_format=http_format,
            limit_concurrency=limit_concurrency,
            allow_hosts=allow_hosts,  # type: ignore[arg-type] # the service sees to it
            allow_origins=allow_origins,  # type: ignore[arg-type] # …
        )

    # ---- registering ---------------------------------------------------------------------------

    @overload
    def function(self, function: Function, /) -> Function: ...

    @overload
    def function(
        self, *, description: str = "", **options: Unpack[Options]
    ) -> Callable[[Function], Function]: ...

    def function(self, function: Any = None, /, **options: Any) -> Any:  # type: ignore[misc]
        """Register a function: `@app.function`, or `@app.function(timeout=5, …)`.

        Gives the function itself back, unchanged.
        """
        if function is not None:
            self.register(function)
            return function
        return self._decorator(self.register, options)

    def register(
        self, function: Callable[..., Any], description: str = "", **options: Unpack[Options]
    ) -> Operation:
        """Register a function with words and options of its own; give its operation."""
        operation = self._define(function, description=description, **options)
        if may_be_repeated(operation):
            from kuniumi.wire.mcp.headers import check_marks  # noqa: PLC0415 - few repeat anything

            check_marks(operation)
        policy = operation.policy
        if policy.processes or policy.retries or policy.concurrency:
            from kuniumi.execute.placing import place  # noqa: PLC0415 - most run as they are

            operation = place(operation, self.service, self._processes)
        self.service.registry.add(operation)
        return operation

    def resource(
        self, uri: str, **options: Unpack[ResourceOptions]
    ) -> Callable[[Function], Function]:
        """Register what can be read at an address: `@app.resource("notes://{id}")`.

        The parameters of the function are what the address leaves open. It gives text, bytes, or
        data that becomes JSON.
        """
        from kuniumi.core.offers import check_address, define_resource  # noqa: PLC0415 - few have any

        check_address(uri)

        def register(function: Function, **given: Any) -> None:
            policy, wording = self._offered(given)
            given["completions"] = given.pop("complete", None)
            resource = define_resource(uri, function, **given, policy=policy, wording=wording)
            self.service.registry.add_resource(resource)

        return self._decorator(register, dict(options))

    @overload
    def prompt(self, function: Function, /) -> Function: ...

    @overload
    def prompt(self, **options: Unpack[PromptOptions]) -> Callable[[Function], Function]: ...

    def prompt(self, function: Any = None, /, **options: Any) -> Any:  # type: ignore[misc]
        """Register the beginning of a conversation: `@app.prompt`, or `@app.prompt(name=…)`.

        The parameters of the function are what a person fills in. It gives text, or messages.
        """

        def register(prompting: Function, **given: Any) -> None:
            from kuniumi.core.offers import define_prompt  # noqa: PLC0415 - few apps have any

            policy, wording = self._offered(given)
            given["completions"] = given.pop("complete", None)
            prompt = define_prompt(prompting, **given, policy=policy, wording=wording)
            self.service.registry.add_prompt(prompt)

        decorate = self._decorator(register, options)
        return decorate if function is None else decorate(function)

    def enable(self, name: str) -> None:
        """Offer a function again that was disabled; name it, or give its operation id."""
        self.service.registry.switch(name, enabled=True)

    def disable(self, name: str) -> None:
        """Offer a function no longer, on any surface, until it is enabled again."""
        self.service.registry.switch(name, enabled=False)

    def updated(self, uri: str) -> None:
        """Tell whoever subscribed to a resource that its contents have changed."""
        self.service.registry.changed(Change("contents", uri))

    def changed(self, what: Literal["functions", "resources", "prompts"]) -> None:
        """Tell whoever subscribed to a list that it has changed, where this app can't know."""
        check_choice("the app", "changed", what, ("functions", "resources", "prompts"))
        self.service.registry.changed(Change(what))

    @staticmethod
    def _decorator(
        register: Callable[..., object], options: dict[str, Any]
    ) -> Callable[[Function], Function]:
        def decorate(decorated: Function) -> Function:
            register(decorated, **options)
            return decorated

        return decorate

    def _define(
        self,
        function: Callable[..., Any],
        *,
        description: str = "",
        params: Mapping[str, str] | None = None,
        returns: str = "",
        name: str = "",
        operation_id: str = "",
        path: str = "",
        title: str = "",
        tags: Sequence[str] = (),
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        input_schema: Mapping[str, Any] | None = None,
        errors: Mapping[int, str] | None = None,
        deprecated: bool = False,
        timeout: float | None = None,
        executor: ExecutorName | None = None,
        inline: bool = False,
        concurrency: int | None = None,
        queue: int | None = None,
        retries: int = 0,
        memory: int | None = None,
        envelope: EnvelopeStyle | None = None,
        strict: bool | None = None,
        mask_errors: bool | None = None,
        cache: float | Cache | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        idempotent: bool | None = None,
        open_world: bool | None = None,
    ) -> Operation:
        default = self._policy
        where = choose_executor(function, name, executor, self._executor, inline=inline)
        return define(
            function,
            name=name,
            operation_id=operation_id,
            path=path,
            policy=Policy(
                timeout=timeout,
                inline=where == "inline",
                processes=where == "processes",
                memory=memory,
                concurrency=concurrency,
                queue=queue,
                retries=retries,
                strict=default.strict if strict is None else strict,
                envelope=default.envelope if envelope is None else envelope,
                mask_errors=default.mask_errors if mask_errors is None else mask_errors,
                cache=None if cache is None else self._remember(cache, name, function),
            ),
            wording=Wording(
                description=description,
                params={} if params is None else params,
                returns=returns,
                title=title,
                tags=tags,  # type: ignore[arg-type] # define sees to it
                icons=icons,  # type: ignore[arg-type] # …
                meta={} if meta is None else meta,
                headers={} if headers is None else headers,
                schema=input_schema,
                errors={} if errors is None else errors,
                deprecated=deprecated,
                hints=Hints(
                    read_only=read_only,
                    destructive=destructive,
                    idempotent=idempotent,
                    open_world=open_world,
                ),
            ),
        )

    def _offered(self, options: dict[str, Any]) -> tuple[Policy, Wording]:
        """Take the policy and the words of a resource or a prompt out of its options."""
        policy = Policy(timeout=options.pop("timeout", None), mask_errors=self._policy.mask_errors)
        wording = Wording(
            description=options.pop("description", ""),
            params=options.pop("params", {}),
            title=options.pop("title", ""),
            icons=options.pop("icons", ()),
            meta=options.pop("meta", {}),
        )
        return policy, wording

    # ---- what surrounds the calls ----------------------------------------------------------------

    def lifespan(self, function: Function) -> Function:
        """Mark what is opened once, before the first call, and closed after the last.

        A generator, plain or async: what it yields is `ctx.state`; what stands below closes it.
        """
        from kuniumi.core.life import Life, read_lifespan  # noqa: PLC0415 - few apps open anything

        weave = self._weave()
        if weave.life is not None:
            msg = (
                f"lifespan {getattr(function, '__name__', function)!r}: the app has one already, "
                f"{weave.life.lifespan.name!r}: open both in one"
            )
            raise DefinitionError(msg)
        weave.life = Life(read_lifespan(function))
        return function

    def around(self, hook: Function) -> Function:
        """Put a hook around every call, on every surface: `def log(call): answer = yield`.

        A generator, plain or async. The call goes on where it says `yield`, and gives its answer
        there. A hook may yield an answer of its own instead, or raise `FunctionError` to refuse.
        The first one registered is the outermost.
        """
        from kuniumi.core.around import read_hook  # noqa: PLC0415 - few apps have any

        read = read_hook(hook)
        self._weave().hooks.append(read)
        return hook

    def _remember(self, cache: Any, name: str, function: Any) -> Cache:
        from kuniumi.core.around import read_hook  # noqa: PLC0415 - few apps remember anything
        from kuniumi.core.cache import as_cache, remember  # noqa: PLC0415

        weave = self._weave()
        if weave.remembering is None:
            weave.remembering = read_hook(remember())
        return as_cache(cache, f"function {name or getattr(function, '__name__', '?')!r}")

    def _weave(self) -> Weave:
        if self.service.weave is None:
            from kuniumi.core.weave import Weave  # noqa: PLC0415 - most apps need none

            self.service.weave = Weave()
        return self.service.weave

    # ---- surfaces ------------------------------------------------------------------------------

    @property
    def asgi(self) -> AsgiApp:
        """The ASGI application: give it to any ASGI server, or mount it in another app."""
        if self._asgi is None:
            from kuniumi.serve.asgi import AsgiApp  # noqa: PLC0415 - loads asyncio

            self._asgi = AsgiApp(self.service)
        return self._asgi

    def call(self, name: str, arguments: Mapping[str, Any] | bytes = b"") -> Envelope:
        """Call a function in process, by its name or operation id, as any surface would."""
        from kuniumi.execute.alone import answer_named  # noqa: PLC0415 - its imports are for callers

        return answer_named(self.service, name, arguments)

    def close(self) -> None:
        """Close what calls in process have opened; without this, the end of the process does."""
        from kuniumi.execute.alone import close  # noqa: PLC0415 - few apps open anything

        close(self.service)

    def run(self, argv: Sequence[str] | None = None) -> NoReturn:
        """Do what the command line says: serve, call, cgi, list… This ends the process."""
        from kuniumi.serve.entry import run  # noqa: PLC0415 - it reads the command line

        run(self.service, argv)
