"""Making any supported annotation one that msgspec reads whole, or saying why it can't be.

In: a type as its author wrote it. Out: the same type, with the constraints of annotated-types and
pydantic's `Field` spelled as msgspec's `Meta` beside them. It must not know about calls.
"""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import enum
import types
import typing
import uuid
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from kuniumi.errors import DefinitionError

_LEAVES = frozenset(
    {
        *(object, type(None), bool, int, float, str, bytes, bytearray, memoryview),
        *(list, dict, tuple, set, frozenset),
        *(collections.abc.Collection, collections.abc.Sequence, collections.abc.MutableSequence),
        *(collections.abc.Set, collections.abc.MutableSet),
        *(collections.abc.Mapping, collections.abc.MutableMapping),
        *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta),
        *(decimal.Decimal, uuid.UUID, msgspec.Raw),
    }
)
_BOUNDS = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")
_CLASSES_WITH_FIELDS = ("__dataclass_fields__", "__attrs_attrs__", "_fields", "__total__")


def adapt(annotation: Any, where: str) -> Any:
    """Give the type msgspec shall read; `where` names the place in an error."""
    return _Adapter(where).adapt(annotation)


def is_pydantic(annotation: Any) -> bool:
    """Whether this is a pydantic model (without importing pydantic)."""
    return isinstance(annotation, type) and hasattr(annotation, "__pydantic_validator__")


def unwrap(annotation: Any) -> Any:
    """Take `Annotated` and type aliases off, down to the type itself."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        else:
            return annotation


class _Adapter:
    """One walk over one annotation; it remembers the classes it has been in."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.seen: set[type] = set()

    def adapt(self, annotation: Any) -> Any:
        origin = get_origin(annotation)
        if origin is Annotated:
            return self._annotated(annotation)
        if origin in {typing.Required, typing.NotRequired}:
            return origin[self.adapt(get_args(annotation)[0])]
        if hasattr(annotation, "__value__") or hasattr(annotation, "__supertype__"):
            return self.adapt(unwrap(annotation))
        if origin in {typing.Union, types.UnionType}:
            return self._rebuilt(annotation, lambda args: typing.Union[args])  # noqa: UP007 - made at run time
        if origin is typing.Literal or isinstance(annotation, typing.TypeVar) or annotation is Any:
            return annotation
        if origin is not None:
            self._class(origin)
            return self._rebuilt(annotation, lambda args: origin[args])
        self._class(annotation)
        return annotation

    def _rebuilt(self, annotation: Any, build: Any) -> Any:
        before = get_args(annotation)
        after = tuple(arg if arg is Ellipsis or arg == () else self.adapt(arg) for arg in before)
        if all(new is old for new, old in zip(after, before, strict=True)):
            return annotation
        return build(after)

    def _annotated(self, annotation: Any) -> Any:
        base, *metadata = get_args(annotation)
        adapted = self.adapt(base)
        extra = _as_meta(metadata)
        if extra is None or extra in metadata:  # the class was adapted before
            return annotation if adapted is base else Annotated[(adapted, *metadata)]
        return Annotated[(adapted, *metadata, extra)]

    def _class(self, cls: Any) -> None:
        """Accept a class msgspec can carry; look into the fields of those that have some."""
        if cls in _LEAVES or cls is None or is_pydantic(cls):
            return
        if not isinstance(cls, type):
            raise self._refused(cls)
        if cls in self.seen or issubclass(cls, enum.Enum):
            return
        if issubclass(cls, msgspec.Struct):
            self.seen.add(cls)
            self._fields(cls, may_add=False)
        elif any(hasattr(cls, mark) for mark in _CLASSES_WITH_FIELDS):
            self.seen.add(cls)
            self._fields(cls, may_add=True)
        else:
            raise self._refused(cls)

    def _fields(self, cls: type, *, may_add: bool) -> None:
        """Spell the constraints of a class's fields as `Meta`, beside what its author wrote."""
        try:
            hints = get_type_hints(cls, include_extras=True)
        except NameError as error:
            msg = (
                f"{self.where}: a field of {cls.__name__} names {error.name!r}, which is not "
                f"defined in its module: define {cls.__name__} and {error.name} at the top level"
            )
            raise DefinitionError(msg) from error
        for owner in cls.__mro__:
            own = owner.__dict__.get("__annotations__", {})
            for name in own:
                hint = hints.get(name)
                if get_origin(hint) is typing.ClassVar or type(hint).__name__ == "InitVar":
                    continue
                adapted = self.adapt(hint)
                if adapted is hint or adapted == hint:
                    continue
                if not may_add:
                    msg = (
                        f"{self.where}: field {name!r} of the Struct {cls.__name__} is "
                        f"constrained by {hint}, which msgspec ignores: "
                        f"write the constraint as msgspec.Meta(…)"
                    )
                    raise DefinitionError(msg)
                own[name] = adapted
                if "__msgspec_cache__" in cls.__dict__:  # msgspec read it before we did
                    del cls.__msgspec_cache__  # type: ignore[attr-defined]

    def _refused(self, annotation: Any) -> DefinitionError:
        shown = annotation.__qualname__ if isinstance(annotation, type) else annotation
        return DefinitionError(
            f"{self.where} has type {shown}, which has no JSON form: use scalars, lists, dicts, "
            f"dataclasses, TypedDicts, Structs, attrs classes or pydantic models"
        )


def _as_meta(metadata: list[Any]) -> msgspec.Meta | None:
    """Gather what annotated-types, pydantic and plain strings say into one `Meta`."""
    found: dict[str, Any] = {}
    for item in metadata:
        _gather(item, found)
    if any(isinstance(item, msgspec.Meta) and item.description for item in metadata):
        found.pop("description", None)
    return msgspec.Meta(**found) if found else None


def _gather(item: Any, found: dict[str, Any]) -> None:
    module = type(item).__module__.partition(".")[0]
    if isinstance(item, str):
        found.setdefault("description", item)
    elif type(item).__name__ == "Doc" and module in {"typing_extensions", "annotated_doc"}:
        found.setdefault("description", item.documentation)
    elif module in {"annotated_types", "pydantic"}:
        for bound in _BOUNDS:
            value = getattr(item, bound, None)
            if value is not None and not (bound == "min_length" and value == 0):
                found[bound] = value
        for text in ("title", "description"):
            if isinstance(getattr(item, text, None), str):
                found.setdefault(text, getattr(item, text))
        if isinstance(getattr(item, "examples", None), list):
            found.setdefault("examples", item.examples)
        for part in getattr(item, "metadata", ()) or ():  # a FieldInfo keeps its constraints there
            _gather(part, found)
