"""App: the door people come in by. Wiring only: what it does is done in the rooms below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, overload

from kuniumi.core.operation import Operation, Policy, Wording, check_policy, define
from kuniumi.core.registry import About, Registry
from kuniumi.core.service import Service
from kuniumi.env.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kuniumi.core.call import Envelope
    from kuniumi.serve.asgi import AsgiApp

Function = TypeVar("Function", bound="Callable[..., Any]")
EnvelopeStyle = Literal["wrapped", "bare"]


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
        http_format: Literal["json", "tool-result"] = "json",
        limit_concurrency: int = 0,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.version = version
        self.description = description
        self._policy = Policy(envelope=envelope, strict=strict, mask_errors=mask_errors)
        check_policy("the app", self._policy)
        self._asgi: AsgiApp | None = None
        self.service = Service(
            Registry(About(name, version, description)),
            Environment(env),
            timeout=timeout,
            http_format=http_format,
            limit_concurrency=limit_concurrency,
        )

    # ---- registering ---------------------------------------------------------------------------

    @overload
    def function(self, function: Function, /) -> Function: ...

    @overload
    def function(
        self,
        *,
        description: str = "",
        params: Mapping[str, str] | None = None,
        returns: str = "",
        name: str = "",
        operation_id: str = "",
        path: str = "",
        tags: Sequence[str] = (),
        errors: Mapping[int, str] | None = None,
        deprecated: bool = False,
        timeout: float | None = None,
        inline: bool = False,
        envelope: EnvelopeStyle | None = None,
        strict: bool | None = None,
        mask_errors: bool | None = None,
    ) -> Callable[[Function], Function]: ...

    def function(self, function: Any = None, /, **options: Any) -> Any:  # type: ignore[misc]
        """Register a function: `@app.function`, or `@app.function(timeout=5, …)`.

        Gives the function itself back, unchanged.
        """
        if function is not None:
            self.register(function)
            return function

        def decorate(decorated: Function) -> Function:
            self.register(decorated, **options)
            return decorated

        return decorate

    def register(
        self,
        function: Callable[..., Any],
        description: str = "",
        *,
        params: Mapping[str, str] | None = None,
        returns: str = "",
        name: str = "",
        operation_id: str = "",
        path: str = "",
        tags: Sequence[str] = (),
        errors: Mapping[int, str] | None = None,
        deprecated: bool = False,
        timeout: float | None = None,
        inline: bool = False,
        envelope: EnvelopeStyle | None = None,
        strict: bool | None = None,
        mask_errors: bool | None = None,
    ) -> Operation:
        """Register a function with words and options of its own; give its operation."""
        default = self._policy
        operation = define(
            function,
            name=name,
            operation_id=operation_id,
            path=path,
            policy=Policy(
                timeout=timeout,
                inline=inline,
                strict=default.strict if strict is None else strict,
                envelope=default.envelope if envelope is None else envelope,
                mask_errors=default.mask_errors if mask_errors is None else mask_errors,
            ),
            wording=Wording(
                description=description,
                params={} if params is None else params,
                returns=returns,
                tags=tags,  # type: ignore[arg-type] # define sees to it
                errors={} if errors is None else errors,
                deprecated=deprecated,
            ),
        )
        self.service.registry.add(operation)
        return operation

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

    def run(self, argv: Sequence[str] | None = None) -> NoReturn:
        """Do what the command line says: serve, call, cgi, list… This ends the process."""
        from kuniumi.serve.entry import run  # noqa: PLC0415 - it reads the command line

        run(self.service, argv)
