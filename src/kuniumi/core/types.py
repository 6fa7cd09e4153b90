"""Making any supported annotation one that msgspec reads whole, or saying why it can't be.

In: a type as its author wrote it. Out: the same type, with the constraints of annotated-types and
pydantic's `Field` spelled as msgspec's `Meta` beside them. It must not know about calls.
"""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import enum
import sys
import types
import typing
import uuid
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from kuniumi.core.signature import scopes_of
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable

_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_COLLECTIONS = (
    *(list, tuple, set, frozenset, collections.abc.Set, collections.abc.MutableSet),
    *(collections.abc.Collection, collections.abc.Sequence, collections.abc.MutableSequence),
)
_LEAVES = frozenset(
    {
        *(type(None), bool, int, float, str, bytes, bytearray, memoryview),
        *(*_COLLECTIONS, *_MAPPINGS),
        *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta),
        *(decimal.Decimal, uuid.UUID, msgspec.Raw, msgspec.UnsetType),
    }
)
_NO_KEYS = frozenset({bool, type(None), list, tuple, set, frozenset, *_MAPPINGS})
_BOUNDS = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")
_NUMBERS = frozenset({bool, int, float, decimal.Decimal})
_UNHEARD = frozenset(
    {
        *("Predicate", "AfterValidator", "BeforeValidator", "PlainValidator", "WrapValidator"),
        *("PlainSerializer", "WrapSerializer"),
    }
)
_FIELD_MARKS = ("__dataclass_fields__", "__attrs_attrs__", "_fields", "__total__")


def adapt(annotation: Any, where: str, *, incoming: bool = False) -> Any:
    """Give the type msgspec shall read; `where` names the place in an error.

    `incoming` is for what callers send: all of it must be theirs to give.
    """
    adapter = _Adapter(where, incoming=incoming)
    adapted = adapter.adapt(annotation)
    _teach_defaults(adapter.seen, adapted)
    return adapted


def is_pydantic(annotation: Any) -> bool:
    """Whether this is a pydantic model (without importing pydantic)."""
    return isinstance(annotation, type) and hasattr(annotation, "__pydantic_fields_set__")


def is_made_of_models(annotation: Any) -> bool:
    """Whether pydantic can speak for the whole type: models, and what holds nothing but models."""
    annotation = unwrap(annotation)
    if is_pydantic(annotation):
        return True
    parts = [part for part in get_args(annotation) if part not in {Ellipsis, type(None)}]
    origin = get_origin(annotation)
    if origin in _MAPPINGS:
        parts = parts[1:]
    elif not is_union(annotation) and origin not in _COLLECTIONS:
        return False
    return bool(parts) and all(map(is_made_of_models, parts))


def is_union_of_models(annotation: Any) -> bool:
    """Whether this is a union of several models, which pydantic alone can tell apart."""
    arms = [arm for arm in get_args(annotation) if arm is not type(None)]
    return is_union(annotation) and len(arms) > 1 and is_made_of_models(annotation)


def is_union(annotation: Any) -> bool:
    """Whether this is `A | B` or `Union[A, B]`."""
    return get_origin(annotation) in {typing.Union, types.UnionType}


def parts_of(annotation: Any) -> set[Any]:
    """Give the type, and those it is made of: `list[int]` is made of `list` and `int`."""
    found: set[Any] = set()
    holds(annotation, lambda part: found.add(part) or False)  # type: ignore[func-returns-value]
    return found


def holds(annotation: Any, wanted: Callable[[Any], bool]) -> bool:
    """Whether the type, or one it is made of, is wanted; the fields of classes are looked into."""
    return _holds(annotation, wanted, set())


def _holds(annotation: Any, wanted: Callable[[Any], bool], seen: set[Any]) -> bool:
    annotation = unwrap(annotation)
    cls = get_origin(annotation) or annotation
    if wanted(cls):
        return True
    parts: list[Any] = list(get_args(annotation)) if cls is not typing.Literal else []
    if isinstance(cls, type) and has_fields(cls) and cls not in seen:
        seen.add(cls)
        parts += get_type_hints(cls, include_extras=True).values()
    return any(_holds(part, wanted, seen) for part in parts)


def has_fields(cls: type) -> bool:
    """Whether this is a dataclass, a Struct, a TypedDict, a NamedTuple or an attrs class."""
    return issubclass(cls, msgspec.Struct) or any(hasattr(cls, mark) for mark in _FIELD_MARKS)


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

    def __init__(self, where: str, *, incoming: bool) -> None:
        self.where = where
        self.incoming = incoming
        self.seen: set[type] = set()

    def adapt(self, annotation: Any) -> Any:
        origin = get_origin(annotation)
        if origin is Annotated:
            return self._annotated(annotation)
        if origin in {typing.Required, typing.NotRequired}:
            return origin[self.adapt(get_args(annotation)[0])]
        if hasattr(annotation, "__value__") or hasattr(annotation, "__supertype__"):
            inner = getattr(annotation, "__value__", None) or annotation.__supertype__
            adapted = self.adapt(inner)
            return annotation if adapted is inner else adapted
        if is_union(annotation):
            return self._union(annotation)
        if origin is typing.Literal or isinstance(annotation, typing.TypeVar) or annotation is Any:
            return annotation
        if annotation is object:
            return Any
        if (origin or annotation) is collections.abc.Iterable:
            item = (*get_args(annotation), Any)[0]
            collection: Any = collections.abc.Collection
            return self.adapt(collection[item])
        if origin is not None:
            self._class(origin)
            if origin in _MAPPINGS and get_args(annotation):
                self._key(get_args(annotation)[0])
            return self._rebuilt(annotation, lambda args: origin[args])
        self._class(annotation)
        return annotation

    def _rebuilt(self, annotation: Any, build: Any) -> Any:
        before = get_args(annotation)
        after = tuple(arg if arg is Ellipsis or arg == () else self.adapt(arg) for arg in before)
        if all(new is old for new, old in zip(after, before, strict=True)):
            return annotation
        return build(after)

    def _union(self, annotation: Any) -> Any:
        if is_union_of_models(annotation):
            return self._union_of_models(annotation, [])
        return self._rebuilt(annotation, lambda args: typing.Union[args])  # noqa: UP007 - made at run time

    def _union_of_models(self, union: Any, metadata: list[Any]) -> Any:
        """Make one model of several; whether there may be none of them, msgspec sees to."""
        from kuniumi.core.models import union_of_models  # noqa: PLC0415 - pydantic is the user's choice

        arms = tuple(arm for arm in get_args(union) if arm is not type(None))
        models: Any = typing.Union[arms]  # noqa: UP007 - made at run time
        if metadata:
            models = Annotated[(models, *metadata)]
        one = union_of_models(models, self.where)
        return one if len(arms) == len(get_args(union)) else typing.Optional[one]  # noqa: UP045 - made at run time

    def _annotated(self, annotation: Any) -> Any:
        base, *metadata = get_args(annotation)
        if is_union_of_models(unwrap(base)):
            adapted = self._union_of_models(unwrap(base), metadata)
        else:
            adapted = self.adapt(base)
        found = self._gathered(metadata)
        if is_union(adapted) and any(bound in found for bound in _BOUNDS):
            return self._constrained_union(adapted, metadata, found)
        extra = self._meta(found)
        if extra is None or extra in metadata:  # the class was adapted before
            return annotation if adapted is base else Annotated[(adapted, *metadata)]
        return Annotated[(adapted, *metadata, extra)]

    def _constrained_union(self, union: Any, metadata: list[Any], found: dict[str, Any]) -> Any:
        """Constrain those arms of a union that the constraints are about: not the `None`."""
        bounds = self._meta({key: found.pop(key) for key in _BOUNDS if key in found})
        arms = [
            Annotated[arm, bounds] if _can_be(arm, bounds) and bounds not in get_args(arm) else arm
            for arm in get_args(union)
        ]
        if not any(_can_be(arm, bounds) for arm in arms):
            msg = f"{self.where}: no type of {union} can be constrained by {bounds}: drop it"
            raise DefinitionError(msg)
        words = self._meta(found)
        others = [item for item in metadata if not isinstance(item, msgspec.Meta)]
        constrained: Any = typing.Union[tuple(arms)]  # noqa: UP007 - made at run time
        return Annotated[(constrained, *others, *([words] if words else []))]

    def _gathered(self, metadata: list[Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for item in metadata:
            if type(item).__name__ in _UNHEARD:
                msg = (
                    f"{self.where}: {type(item).__name__} in its annotation would not be obeyed: "
                    f"check the value in the function, or take a pydantic model"
                )
                raise DefinitionError(msg)
            _gather(item, found)
        if any(isinstance(item, msgspec.Meta) and item.description for item in metadata):
            found.pop("description", None)
        return found

    def _meta(self, found: dict[str, Any]) -> msgspec.Meta | None:
        try:
            return msgspec.Meta(**found) if found else None
        except (TypeError, ValueError) as error:
            said = str(error).replace("`", "")
            msg = f"{self.where}: its constraints can't be checked ({said}): change or drop them"
            raise DefinitionError(msg) from error

    def _key(self, annotation: Any) -> None:
        for arm in get_args(annotation) if is_union(annotation) else (annotation,):
            key = unwrap(arm)
            cls = get_origin(key) or key
            choices = get_args(key) if cls is typing.Literal else ()
            if (
                cls in _NO_KEYS
                or cls is None
                or any(choice is None or isinstance(choice, bool) for choice in choices)
                or (isinstance(cls, type) and (has_fields(cls) or is_pydantic(cls)))
            ):
                shown = cls.__qualname__ if isinstance(cls, type) else cls
                msg = (
                    f"{self.where} has a dict with keys of type {shown}, which JSON can't carry: "
                    f"use text, numbers, dates or enums as keys"
                )
                raise DefinitionError(msg)

    def _class(self, cls: Any) -> None:
        """Accept a class msgspec can carry; look into the fields of those that have some."""
        if cls is None or is_pydantic(cls):
            return
        if not isinstance(cls, type) or issubclass(cls, enum.Flag):
            raise self._refused(cls)
        if cls in _LEAVES:
            return
        if hasattr(cls, "__is_pydantic_dataclass__"):
            msg = (
                f"{self.where}: {cls.__name__} is a dataclass of pydantic's, whose validators "
                f"would not run: make it a pydantic BaseModel, or a plain dataclass"
            )
            raise DefinitionError(msg)
        if cls in self.seen or issubclass(cls, enum.Enum):
            return
        if not has_fields(cls):
            raise self._refused(cls)
        self.seen.add(cls)
        self._fields(cls)

    def _fields(self, cls: type) -> None:
        """Spell the constraints of a class's fields as `Meta`, beside what its author wrote."""
        hints = self._hints(cls)
        if self.incoming:
            self._refuse_own_fields(cls)
        done: set[str] = set()
        for owner in cls.__mro__:
            own = getattr(owner, "__annotations__", {})
            for name in own.keys() - done:
                done.add(name)
                hint = hints.get(name)
                if get_origin(hint) is typing.ClassVar or type(hint).__name__ == "InitVar":
                    continue
                adapted = self.adapt(hint)
                was_text = isinstance(own[name], (str, typing.ForwardRef))
                if adapted is hint or adapted == hint:
                    if was_text and _is_local(cls):
                        own[name] = hint  # msgspec could not see what it names
                    continue
                if issubclass(cls, msgspec.Struct):
                    msg = (
                        f"{self.where}: msgspec does not understand {hint}, the type of field "
                        f"{name!r} of the Struct {cls.__name__}: write {adapted}"
                    )
                    raise DefinitionError(msg)
                own[name] = adapted
                if "__msgspec_cache__" in cls.__dict__:  # msgspec read it before we did
                    del cls.__msgspec_cache__  # type: ignore[attr-defined]

    def _hints(self, cls: type) -> dict[str, Any]:
        try:
            return get_type_hints(cls, include_extras=True)
        except NameError as first:
            module = sys.modules.get(cls.__module__)
            for scope in scopes_of(getattr(module, "__file__", None)):
                try:
                    return get_type_hints(cls, localns=scope, include_extras=True)
                except NameError:
                    continue
            msg = (
                f"{self.where}: a field of {cls.__name__} names {first.name!r}, which is not "
                f"defined in its module: define {cls.__name__} and {first.name} at the top level"
            )
            raise DefinitionError(msg) from first
        except (TypeError, SyntaxError, AttributeError) as error:
            msg = f"{self.where}: the fields of {cls.__name__} can't be read: {error}"
            raise DefinitionError(msg) from error

    def _refuse_own_fields(self, cls: type) -> None:
        """Refuse fields that a class fills in itself, yet that its callers would have to give."""
        fields = getattr(cls, "__dataclass_fields__", {})
        for name, field in fields.items():
            is_own = not field.init and field._field_type.name == "_FIELD"  # noqa: SLF001
            if is_own and _is_missing(field.default) and _is_missing(field.default_factory):
                msg = (
                    f"{self.where}: field {name!r} of {cls.__name__} has init=False and no "
                    f"default, so that callers would have to send it: give it a default"
                )
                raise DefinitionError(msg)

    def _refused(self, annotation: Any) -> DefinitionError:
        shown = annotation.__qualname__ if isinstance(annotation, type) else annotation
        return DefinitionError(
            f"{self.where} has type {shown}, which has no JSON form: use scalars, lists, dicts, "
            f"dataclasses, TypedDicts, Structs, attrs classes or pydantic models"
        )


def _teach_defaults(classes: set[type], annotation: Any) -> None:
    """Have msgspec set the defaults of dataclasses on the instances it makes.

    It leaves a plain default to the class, and then, writing the instance, leaves it out. But it
    runs `__post_init__`, and remembers the one it saw when it first read a class.
    """
    taught = {cls: defaults for cls in classes if (defaults := _plain_defaults(cls))}
    before = {cls: getattr(cls, "__post_init__", None) for cls in taught}
    own = {cls: cls.__dict__.get("__post_init__") for cls in taught}
    try:
        for cls, defaults in taught.items():
            cls.__post_init__ = _completing(defaults, before[cls])  # type: ignore[attr-defined]
            if "__msgspec_cache__" in cls.__dict__:  # msgspec read it before we did
                del cls.__msgspec_cache__  # type: ignore[attr-defined]
        if taught:
            msgspec.json.Decoder(annotation, dec_hook=lambda _, value: value)
    except (TypeError, ValueError, NameError, AttributeError):
        return  # whoever builds the decoder to use it will say what is wrong
    finally:
        for cls, post_init in own.items():
            if post_init is None:
                del cls.__post_init__  # type: ignore[attr-defined]
            else:
                cls.__post_init__ = post_init  # type: ignore[attr-defined]


def _plain_defaults(cls: type) -> dict[str, Any]:
    fields = getattr(cls, "__dataclass_fields__", {})
    return {
        name: field.default
        for name, field in fields.items()
        if field._field_type.name == "_FIELD" and not _is_missing(field.default)  # noqa: SLF001
    }


def _completing(defaults: dict[str, Any], then: Callable[[Any], None] | None) -> Any:
    def complete(instance: Any) -> None:
        given = getattr(instance, "__dict__", None)
        if given is not None:  # it has no slots
            for name, default in defaults.items():
                given.setdefault(name, default)
        if then is not None:
            then(instance)

    return complete


def _is_missing(default: Any) -> bool:
    return type(default).__name__ == "_MISSING_TYPE"  # dataclasses.MISSING, without the import


def _is_local(cls: type) -> bool:
    return "<locals>" in cls.__qualname__


def _can_be(annotation: Any, bounds: msgspec.Meta | None) -> bool:
    """Whether a type can be constrained so."""
    kind = unwrap(annotation)
    kind = get_origin(kind) or kind
    if bounds is None or kind is None or kind is type(None):
        return False
    if bounds.pattern is not None:
        return kind is str
    if bounds.min_length is not None or bounds.max_length is not None:
        return kind in _LEAVES and kind not in _NUMBERS
    return kind in {int, float}


def _gather(item: Any, found: dict[str, Any]) -> None:
    """Add what one item of `Annotated` says: annotated-types, pydantic, or plain text."""
    module = type(item).__module__.partition(".")[0]
    if isinstance(item, str):
        found.setdefault("description", item)
    elif type(item).__name__ == "Doc" and module in {"typing_extensions", "annotated_doc"}:
        found.setdefault("description", item.documentation)
    elif module in {"annotated_types", "pydantic"}:
        for bound in _BOUNDS:
            value = getattr(item, bound, None)
            if value is not None and not (bound == "min_length" and value == 0):
                found[bound] = getattr(value, "pattern", value)
        for text in ("title", "description"):
            if isinstance(getattr(item, text, None), str):
                found.setdefault(text, getattr(item, text))
        if isinstance(getattr(item, "examples", None), list):
            found.setdefault("examples", item.examples)
        for part in getattr(item, "metadata", ()) or ():  # a FieldInfo keeps its constraints there
            _gather(part, found)
