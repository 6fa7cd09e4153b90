"""An answer's value as a typed one.

In: an answer and a type. Out: a value of it, or an `AnswerError` that says what is in the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_origin

import msgspec

from kuniumi.core.types import is_pydantic
from kuniumi.errors import AnswerError

if TYPE_CHECKING:
    from kuniumi.agent.answer import Answer


def as_type(answer: Answer, expected: Any) -> Any:
    """Give the answer's value as this type; an envelope is opened where the type is inside."""
    if answer.declared_error and answer.error is not None:
        raise AnswerError(f"the tool failed: {answer.error.message or answer.text}")
    if not answer.has_value:
        if answer.kind == "text" and expected is str:
            return answer.text
        raise AnswerError(f"the answer is {answer.kind}, and has no value")
    try:
        return _convert(answer.value, expected)
    except (msgspec.ValidationError, ValueError) as error:
        refusal = error
    for inner in _inside(answer.value, expected):
        try:
            return _convert(inner, expected)
        except (msgspec.ValidationError, ValueError):
            continue
    raise AnswerError(f"the value is no {getattr(expected, '__name__', expected)}: {refusal}")


def _convert(value: Any, expected: Any) -> Any:
    if is_pydantic(expected):
        return expected.model_validate(value)
    return msgspec.convert(value, expected, strict=True)


def _inside(value: Any, expected: Any) -> list[Any]:
    """Give what an envelope holds: one result, several, or none."""
    if not isinstance(value, dict):
        return []
    if value.keys() == {"result"}:
        return [value["result"]]
    if not value:
        return [None]
    several = [f"result{index}" for index in range(len(value))]
    if value.keys() == set(several) and (get_origin(expected) or expected) is tuple:
        return [[value[name] for name in several]]
    return []
