"""pydantic models as arguments and results, for users who have pydantic. Loaded only then.

pydantic reads and writes its own models; the rest of the house sees JSON going in and out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec

from kuniumi.core.result import BadResultError, refuse_infinities
from kuniumi.core.types import is_pydantic, unwrap
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def decode_model(model: Any, value: Any) -> Any:
    """Make a model out of plain JSON data: msgspec's hook for the types it does not know.

    Strict, in JSON's sense: a date is a string, but `true` is no number. What callers send loosely
    was already coerced by the model's schema.
    """
    try:
        body = msgspec.json.encode(value)
    except TypeError:  # a number has more digits than a float
        schema = model_schema(model, "validation", "#/$defs/{name}")
        return _decode_in_full(model, value, *schema)
    return _validated(model, body)


def _decode_in_full(model: Any, value: Any, schema: Any, definitions: Any) -> Any:
    """Give numbers that shall be decimals as text, because pydantic reads all others as floats."""
    try:
        return _validated(model, _write(_in_full(value, schema, {"$defs": definitions})))
    except ValueError:  # another model of the union wants a float there
        return _validated(model, _write(value))


def _validated(model: Any, body: bytes) -> Any:
    from pydantic import ValidationError  # noqa: PLC0415 - present wherever a model is

    try:
        return model.__pydantic_validator__.validate_json(body, strict=True)
    except ValidationError as error:
        raise ValueError(_words(error)) from None


def _in_full(value: Any, schema: Any, root: Any) -> Any:
    """Copy plain data, with the numbers that its schema calls decimals as they were written."""
    from kuniumi.core.coerce import resolved  # noqa: PLC0415 - few numbers need it

    if not isinstance(schema, dict):
        return value
    schema = resolved(schema, root)
    for arm in schema.get("anyOf") or schema.get("oneOf") or ():
        value = _in_full(value, arm, root)
    if isinstance(value, float):
        return getattr(value, "text", value) if schema.get("format") == "decimal" else value
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        return {
            name: _in_full(item, properties.get(name, others), root) for name, item in value.items()
        }
    if isinstance(value, list):
        first, rest = schema.get("prefixItems", ()), schema.get("items")
        return [
            _in_full(item, first[index] if index < len(first) else rest, root)
            for index, item in enumerate(value)
        ]
    return value


_write = msgspec.json.Encoder(enc_hook=lambda number: msgspec.Raw(number.text.encode())).encode


def union_of_models(annotation: Any, where: str) -> type:
    """Give one class for a union of models: msgspec takes it for a model, and so does pydantic."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - present wherever a model is
    from pydantic.errors import PydanticUserError  # noqa: PLC0415

    try:
        adapter: Any = TypeAdapter(annotation)
    except PydanticUserError as error:
        msg = f"{where}: pydantic can't tell its models apart: {str(error).splitlines()[0]}"
        raise DefinitionError(msg) from error
    models = list(dict.fromkeys(_models(annotation)))
    computed = {
        name: field
        for model in models
        for name, field in model.__pydantic_computed_fields__.items()
    }
    members = {
        "__pydantic_fields_set__": None,  # what tells a model from other classes
        "__pydantic_validator__": adapter.validator,
        "__pydantic_computed_fields__": computed,
        "__get_pydantic_core_schema__": lambda _source, handler: handler.generate_schema(
            annotation
        ),
    }
    return _Union("_or_".join(model.__name__ for model in models), (), members)


class _Union(type):
    """A class whose instances are whatever pydantic makes of a union."""

    def __instancecheck__(cls, _instance: Any) -> bool:
        return True


def _models(annotation: Any) -> Iterator[Any]:
    annotation = unwrap(annotation)
    if is_pydantic(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


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

    from kuniumi.core.model_schema import ModelSchema  # noqa: PLC0415

    template = ref_template.replace("{name}", "{model}")
    adapter: Any = TypeAdapter(annotation)
    schema: dict[str, Any] = adapter.json_schema(
        mode=mode, ref_template=template, schema_generator=ModelSchema
    )
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
