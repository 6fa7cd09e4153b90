"""The JSON Schema of pydantic models, made to hold for what is taken and for what is given.

In: pydantic's own description of a type. Out: its schema, mended as `forms` mends msgspec's.
Loaded only where there are models, because it imports pydantic.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from kuniumi.core.forms import DECIMAL, WRITTEN_MOMENT, WRITTEN_TIME

Schema = dict[str, Any]


class ModelSchema(GenerateJsonSchema):
    """pydantic's generator of schemas, which promises less and tells more."""

    def decimal_schema(self, schema: Any) -> Schema:
        """Tell text that is a decimal from other text."""
        told = super().decimal_schema(schema)
        for arm in told.get("anyOf", [told]):
            if arm.get("type") == "string":
                arm["format"] = "decimal"
                if self.mode == "validation":
                    arm.setdefault("pattern", DECIMAL)
        return told

    def datetime_schema(self, schema: Any) -> Schema:
        """Promise an offset only where one is demanded."""
        return self._moment(schema, super().datetime_schema(schema), WRITTEN_MOMENT)

    def time_schema(self, schema: Any) -> Schema:
        """Promise an offset only where one is demanded."""
        return self._moment(schema, super().time_schema(schema), WRITTEN_TIME)

    def set_schema(self, schema: Any) -> Schema:
        """Let doubles in: they are taken, and are one."""
        return self._doubled(schema, super().set_schema(schema))

    def frozenset_schema(self, schema: Any) -> Schema:
        """Let doubles in: they are taken, and are one."""
        return self._doubled(schema, super().frozenset_schema(schema))

    def _moment(self, schema: Any, told: Schema, pattern: str) -> Schema:
        if self.mode == "serialization" and schema.get("tz_constraint") != "aware":
            told.pop("format", None)
            told["pattern"] = pattern
        return told

    def _doubled(self, schema: Any, told: Schema) -> Schema:
        if self.mode == "validation" and schema.get("min_length", 0) < 2:
            told.pop("uniqueItems", None)
        return told
