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


def model_encoder(annotation: Any, encode_plain: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Give a function that encodes values of a type that holds models, checked by pydantic."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415
    from pydantic_core import PydanticSerializationError  # noqa: PLC0415

    adapter: Any = TypeAdapter(annotation)

    def encode(value: Any) -> bytes:
        try:
            checked = adapter.validate_python(value)
            plain = adapter.dump_python(checked, mode="json", by_alias=True, warnings="error")
        except ValidationError as error:
            raise BadResultError(_words(error)) from None
        except (PydanticSerializationError, RecursionError, UnicodeError) as error:
            raise BadResultError(str(error)) from None
        refuse_infinities(plain)
        return encode_plain(plain)

    return encode


def model_schema(
    annotation: Any, mode: Any, ref_template: str, suffix: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the JSON Schema pydantic makes of a type, and the definitions it refers to.

    `suffix` is added to the definitions' names, for when another type has taken them.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415

    template = ref_template.replace("{name}", "{model}" + suffix)
    adapter: Any = TypeAdapter(annotation)
    schema: dict[str, Any] = adapter.json_schema(mode=mode, ref_template=template)
    found = schema.pop("$defs", {})
    definitions = {f"{name}{suffix}": definition for name, definition in found.items()}
    if isinstance(annotation, type) and "$ref" not in schema:
        name = f"{annotation.__name__}{suffix}"
        definitions[name] = schema
        schema = {"$ref": ref_template.format(name=name)}
    return schema, definitions


def _words(error: Any) -> str:
    """Say what pydantic found, on one line and without its links."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{'.'.join(str(step) for step in problem['loc'])}: {problem['msg']}".removeprefix(": ")
        for problem in problems
    )
