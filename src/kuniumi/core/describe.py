"""The words of an operation: from its author's options, its annotations and its docstring.

In: an operation. Out: its summary, description, parameter and return descriptions, and its schemas
with them. Made when somebody asks, and once: a cold start that answers a call never pays for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin
from weakref import WeakKeyDictionary

from msgspec import Meta, Struct

from kuniumi.core.schema import input_schema, merge_descriptions, output_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from docstring_parser import DocstringReturns

    from kuniumi.core.operation import Operation


class Words(Struct, frozen=True):
    """What can be said of an operation in plain language."""

    summary: str  # one line
    description: str  # all of it
    params: Mapping[str, str]
    returns: str
    results: tuple[str, ...] = ()  # of each, where several values are given


_ITEM = re.compile(r"\s*(?:[-*+•]|[0-9]+[.)]|>>>)\s")

_cache: WeakKeyDictionary[Operation, Words] = WeakKeyDictionary()


def words_of(operation: Operation) -> Words:
    """Give the words of an operation. Options win over annotations, those over the docstring."""
    found = _cache.get(operation)
    if found is None:
        found = _cache[operation] = _gather(operation)
    return found


def described_input(operation: Operation) -> dict[str, Any]:
    """Give the schema of the arguments, with their descriptions."""
    return describe_input(operation, input_schema(operation))


def described_output(operation: Operation) -> dict[str, Any]:
    """Give the schema of the envelope, with its descriptions."""
    return describe_output(operation, output_schema(operation))


def describe_input(operation: Operation, schema: dict[str, Any]) -> dict[str, Any]:
    """Add the parameters' descriptions to the schema of the arguments."""
    return merge_descriptions(schema, words_of(operation).params.items())


def describe_output(operation: Operation, schema: dict[str, Any]) -> dict[str, Any]:
    """Add the description of what is returned to the schema of the envelope."""
    words = words_of(operation)
    returns = words.returns
    if words.results:
        properties = schema["properties"]
        told = zip(properties, words.results, strict=True)
        schema = merge_descriptions(
            schema, [pair for pair in told if "description" not in properties[pair[0]]]
        )
    if not returns:
        return schema
    if operation.result.layout in {"bare", "values"}:
        return {**schema, "description": returns}
    return merge_descriptions(schema, [("result", returns)])


def _gather(operation: Operation) -> Words:
    wording, signature = operation.wording, operation.signature
    doc = _docstring(operation.function)
    params = {
        parameter.name: (
            wording.params.get(parameter.name)
            or _annotated(parameter.annotation)
            or doc.params.get(parameter.name, "")
        )
        for parameter in operation.parameters
    }
    description = wording.description or doc.description
    several = operation.result.layout == "values" and len(doc.results) > 1
    each = several and len(doc.results) == len(operation.result.types)
    returns = wording.returns or _annotated(signature.returns)
    return Words(
        summary=wording.description.partition("\n")[0] or doc.summary,
        description=description,
        params=params,
        returns=returns or ("" if each else doc.returns),
        results=doc.results if each else (),
    )


def _annotated(annotation: Any) -> str:
    """Give the description that `Annotated[…]` carries, if it does."""
    if get_origin(annotation) is not Annotated:
        return ""
    for item in get_args(annotation)[1:]:
        if isinstance(item, Meta) and item.description:
            return item.description
        if isinstance(item, str):
            return item
        if type(item).__name__ == "Doc":
            return str(item.documentation)
        if type(item).__name__ == "FieldInfo" and item.description:
            return str(item.description)
    return ""


def _docstring(function: Callable[..., Any]) -> Words:
    text = _own_docstring(function)
    if not text:
        return Words("", "", {}, "")
    from docstring_parser import ParseError, parse  # noqa: PLC0415 - see the module's docstring

    try:
        parsed = parse(text)
    except ParseError:
        return Words(text.strip().partition("\n")[0], text.strip(), {}, "")
    params = {
        name.strip(): _one_paragraph(param.description)
        for param in parsed.params
        for name in param.arg_name.split(",")  # NumPy's way to describe several at once
    }
    returns = parsed.returns or next(iter(parsed.many_returns), None)
    summary, long = parsed.short_description or "", parsed.long_description or ""
    if long and not parsed.blank_after_short_description:
        summary, long = _first_paragraph(summary, long)
    summary = _one_paragraph(summary)
    return Words(
        summary=summary,
        description=f"{summary}\n\n{long}".strip(),
        params=params,
        returns=_one_paragraph(_said_of(returns) if returns else ""),
        results=tuple(_one_paragraph(_said_of(each)) for each in parsed.many_returns),
    )


def _first_paragraph(first_line: str, rest: str) -> tuple[str, str]:
    """Give a summary that goes on in the lines below it, and what comes after; a list does."""
    lines = rest.split("\n")
    end = next(
        (index for index, line in enumerate(lines) if not line.strip() or _ITEM.match(line)),
        len(lines),
    )
    return " ".join([first_line, *lines[:end]]), "\n".join(lines[end:]).strip("\n")


def _said_of(returns: DocstringReturns) -> str:
    """Give what was said of the result; in NumPy's style a lone sentence looks like its type."""
    named = returns.type_name or ""
    return returns.description or (named if " " in named else "")


def _own_docstring(function: Callable[..., Any]) -> str:
    """Give the docstring its author wrote: not that of `functools.partial`, nor of a class."""
    while hasattr(function, "func") and not hasattr(function, "__code__"):
        function = function.func
    if not hasattr(function, "__name__"):
        function = type(function).__call__
    return function.__doc__ or ""


def _one_paragraph(text: str | None) -> str:
    return " ".join((text or "").split())
