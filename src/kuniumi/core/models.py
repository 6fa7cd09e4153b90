"""pydantic models as arguments and results, for users who have pydantic. Loaded only then.

pydantic reads and writes its own models; the rest of the house sees JSON going in and out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.result import BadResultError, refuse_infinities

if TYPE_CHECKING:
    from collections.abc import Callable


def decode_model(model: Any, value: Any) -> Any:
    """Make a model out of plain JSON data: msgspec's hook for the types it does not know.

    Strict, in JSON's sense: a date is a string, but `true` is no number. What callers send loosely
    was already coerced by the model's schema.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - present wherever a model is

    try:
        return model.__pydantic_validator__.validate_json(msgspec.json.encode(value), strict=True)
    except ValidationError as error:
        raise ValueError(_words(error)) from None


def check_model(model: Any, value: Any) -> Any:
    """Make a model of what one of its kind has written: with all that it computes."""
    if isinstance(value, dict):
        fields = model.__pydantic_computed_fields__
        computed = {field.alias or name for name, field in fields.items()}
        value = {name: item for name, item in value.items() if name not in computed}
    return decode_model(model, value)


def model_encoder(annotation: Any, encode_plain: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Give a function that encodes values of a type that holds models, checked by pydantic."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415

    adapter: Any = TypeAdapter(annotation)

    def encode(value: Any) -> bytes:
        try:
            checked = adapter.validate_python(value)
            plain = adapter.dump_python(checked, mode="json", by_alias=True, warnings="error")
        except ValidationError as error:
            raise BadResultError(_words(error)) from None
        except Exception as error:  # a computed field or a serializer may raise anything
            msg = f"what JSON can't carry: {type(error).__name__}: {error}"
            raise BadResultError(msg) from error
        body = encode_plain(plain)
        if b"null" in body:
            refuse_infinities(checked)
        return body

    return encode


def model_schema(
    annotation: Any, mode: Any, ref_template: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the JSON Schema pydantic makes of a type, and the definitions it refers to."""
    from pydantic import TypeAdapter  # noqa: PLC0415

    template = ref_template.replace("{name}", "{model}")
    adapter: Any = TypeAdapter(annotation)
    schema: dict[str, Any] = adapter.json_schema(mode=mode, ref_template=template)
    definitions: dict[str, Any] = schema.pop("$defs", {})
    if isinstance(annotation, type) and "$ref" not in schema:
        definitions[annotation.__name__] = schema
        schema = {"$ref": ref_template.format(name=annotation.__name__)}
    return schema, definitions


def _words(error: Any) -> str:
    """Say what pydantic found, on one line and without its links."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{'.'.join(str(step) for step in problem['loc'])}: {problem['msg']}".removeprefix(": ")
        for problem in problems
    )
