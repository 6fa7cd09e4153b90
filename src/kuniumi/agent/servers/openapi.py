"""An OpenAPI document read as tools: one tool an operation, named by its operation id.

In: a document of version 3, as plain data. Out: tools, each with the way its arguments become a
request. It is pure; others write such documents, so nothing in one is taken for granted. Only
references within the document are followed.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from msgspec import Struct

from kuniumi.agent.tools import Tool
from kuniumi.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Iterator

Place = Literal["path", "query", "header", "cookie"]
Coding = Literal["none", "json", "form", "multipart", "text"]

_METHODS = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
_READS = frozenset({"get", "head", "options", "trace"})
_TWICE_IS_ONCE = _READS | {"put", "delete"}
_PLACES: tuple[Place, ...] = ("path", "query", "header", "cookie")
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
# They say where a request ends and where it goes: no argument may.
_RESERVED_HEADERS = frozenset(
    {"connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade"}
)
_IN_PATH = re.compile(r"\{([^{}/]+)\}")
_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
_MOST_OPERATIONS = 100_000
_MOST_DEFINITIONS = 250  # of one tool
_DEEPEST = 60
_COMPONENT = "#/components/schemas/"


class Parameter(Struct, frozen=True):
    """Where an argument goes, and how it is written there."""

    argument: str
    name: str
    place: Place
    style: str
    explode: bool
    required: bool = False
    reserved: bool = False  # whether reserved characters stay as they are
    as_json: bool = False


class Operation(Struct, frozen=True):
    """A tool, and the request that calls it."""

    tool: Tool
    method: str
    path: str
    parameters: tuple[Parameter, ...] = ()
    coding: Coding = "none"
    media_type: str = ""
    body: str = ""  # the argument that is the whole body; none where its fields are arguments
    fields: frozenset[str] = frozenset()
    servers: Any = None  # where it is called, if that is not where the others are


def read_document(document: Any, settled: frozenset[str] = frozenset()) -> list[Operation]:
    """Give the operations of a document, in its order.

    Headers that are `settled` go with every request: no model is asked for them.
    """
    if not isinstance(document, dict) or not isinstance(document.get("paths", {}), dict):
        raise ServerError("that is no OpenAPI document")
    version = str(document.get("openapi", ""))
    if not version.startswith("3."):
        said = version or document.get("swagger") or "none"
        raise ServerError(f"the OpenAPI version is {said}: only 3.x can be read")
    return _Document(document, settled).operations()


class _Document:
    """One document, while it is read."""

    def __init__(self, document: dict[str, Any], settled: frozenset[str]) -> None:
        self._document = document
        self._nullable = str(document["openapi"]).startswith("3.0")
        self._unasked = _IGNORED_HEADERS | _RESERVED_HEADERS | settled
        self._names: dict[str, str] = {}  # of definitions, by the references to them
        self._taken: set[str] = set()
        # Tools share what they refer to: all operations of a large document may refer to all of it.
        self._definitions: dict[str, tuple[Any, dict[str, None]]] = {}  # with what that refers to
        self._closures: dict[tuple[str, ...], dict[str, Any]] = {}

    def operations(self) -> list[Operation]:
        found: list[Operation] = []
        taken: set[str] = set()
        for path, item in _dict(self._document.get("paths")).items():
            described = _dict(self.follow(item))
            for method in _METHODS:
                operation = described.get(method)
                if isinstance(operation, dict) and len(found) < _MOST_OPERATIONS:
                    found.append(self._read(str(path), described, method, operation, taken))
        return found

    def follow(self, found: Any) -> Any:
        """Follow references within the document."""
        for _ in range(_DEEPEST):
            ref = found.get("$ref") if isinstance(found, dict) else None
            if not isinstance(ref, str) or not ref.startswith("#/"):
                return found
            found = self._at(ref)
        return None

    def _read(
        self,
        path: str,
        item: dict[str, Any],
        method: str,
        operation: dict[str, Any],
        taken: set[str],
    ) -> Operation:
        properties: dict[str, Any] = {}
        required: list[str] = []
        parameters = []
        for sent in self._parameters(path, item, operation):
            parameter, described = self._parameter(sent, properties)
            parameters.append(parameter)
            properties[parameter.argument] = described
            if parameter.required:
                required.append(parameter.argument)
        coding, media_type, body, fields = self._body(operation, properties, required)
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        tool = Tool(
            _name_of(operation, method, path, taken),
            _words(operation),
            self._whole(schema),
            self._output(operation),
            _text(operation.get("summary")),
            {"readOnlyHint": method in _READS, "idempotentHint": method in _TWICE_IS_ONCE},
            operation,
        )
        return Operation(
            tool,
            method.upper(),
            path,
            tuple(parameters),
            coding,
            media_type,
            body,
            fields,
            operation.get("servers") or item.get("servers"),
        )

    # ---- parameters --------------------------------------------------------------------------------

    def _parameters(
        self, path: str, item: dict[str, Any], operation: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """Give the parameters of an operation; its own stand in for those of its path.

        What the path has a place for is one, even if its author forgot to say so.
        """
        known: dict[tuple[str, str], dict[str, Any]] = {}
        for owner in (item, operation):
            for sent in _list(owner.get("parameters")):
                found = self.follow(sent)
                if isinstance(found, dict) and isinstance(found.get("name"), str):
                    known[found["name"], _text(found.get("in"))] = found
        for name in _IN_PATH.findall(path):
            known.setdefault((name, "path"), {"name": name, "in": "path"})
        for (name, place), found in known.items():
            ignored = place == "header" and name.lower() in self._unasked
            if place in _PLACES and not ignored:
                yield found

    def _parameter(
        self, sent: dict[str, Any], taken: dict[str, Any]
    ) -> tuple[Parameter, dict[str, Any]]:
        name, place = sent["name"], sent["in"]
        argument = name
        while argument in taken:
            argument = f"{place}_{argument}"
        content = _dict(sent.get("content"))
        inner = next(iter(content.values()), {}) if content else sent
        schema = dict(_dict(_dict(inner).get("schema")))
        if isinstance(sent.get("description"), str) and "description" not in schema:
            if "$ref" in schema:
                schema = {"allOf": [schema]} if self._nullable else schema
            schema["description"] = sent["description"]
        style = _text(sent.get("style")) or _STYLES[place]
        parameter = Parameter(
            argument,
            name,
            place,
            style,
            bool(sent.get("explode", style in {"form", "cookie"})),
            required=place == "path" or sent.get("required") is True,
            reserved=sent.get("allowReserved") is True,
            as_json=bool(content),
        )
        return parameter, schema

    # ---- bodies ------------------------------------------------------------------------------------

    def _body(
        self, operation: dict[str, Any], properties: dict[str, Any], required: list[str]
    ) -> tuple[Coding, str, str, frozenset[str]]:
        """Add what the body takes: its fields, if they have names of their own, or it as a whole."""
        body = _dict(self.follow(operation.get("requestBody")))
        coding, media_type, media = _choose(_dict(body.get("content")))
        if coding == "none":
            return coding, "", "", frozenset()
        sent = media.get("schema")
        schema = _dict(self.follow(sent))
        fields = _dict(schema.get("properties"))
        must = body.get("required") is True
        if _is_plain(schema) and fields and not fields.keys() & properties.keys():
            properties.update(fields)
            if must:
                wanted = _list(schema.get("required"))
                required.extend(name for name in wanted if isinstance(name, str))
            return coding, media_type, "", frozenset(fields)
        name = "body" if "body" not in properties else "request_body"
        whole = dict(_dict(sent))
        if isinstance(body.get("description"), str):
            whole.setdefault("description", body["description"])
        properties[name] = whole
        if must:
            required.append(name)
        return coding, media_type, name, frozenset()

    def _output(self, operation: dict[str, Any]) -> dict[str, Any] | None:
        responses = _dict(operation.get("responses"))
        for status in ("200", "201", "202", "2XX", "default"):
            response = _dict(self.follow(responses.get(status)))
            coding, _, media = _choose(_dict(response.get("content")))
            if coding == "json" and isinstance(media.get("schema"), dict):
                return self._whole(dict(media["schema"]))
        return None

    # ---- schemas -----------------------------------------------------------------------------------

    def _whole(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Give a schema that stands by itself: what it refers to is among its definitions."""
        wanted: dict[str, None] = {}
        found: dict[str, Any] = _dict(self._standing(schema, wanted, 0))
        if not wanted:
            return found
        key = tuple(wanted)
        definitions = self._closures.get(key)
        if definitions is None:
            definitions = self._closures[key] = self._closure(key)
        return {**found, "$defs": definitions}

    def _closure(self, wanted: tuple[str, ...]) -> dict[str, Any]:
        """Give what is referred to, and all that refers to in turn: the nearest first, up to a limit."""
        definitions: dict[str, Any] = {}
        waiting = deque(wanted)
        while waiting:
            ref = waiting.popleft()
            name = self._name_of(ref)
            if name in definitions:
                continue
            if len(definitions) < _MOST_DEFINITIONS:
                definitions[name], further = self._definition(ref)
                waiting.extend(further)
            else:
                definitions[name] = {}  # no model would read on: anything may be there
        return definitions

    def _definition(self, ref: str) -> tuple[Any, dict[str, None]]:
        """Give what a reference leads to, the same for all that refer to it, and where that leads."""
        found = self._definitions.get(ref)
        if found is None:
            further: dict[str, None] = {}
            # A reference to a reference stays one, so that a circle of them ends.
            found = self._definitions[ref] = self._standing(self._at(ref), further, 0), further
        return found

    def _name_of(self, ref: str) -> str:
        """Give the name of a definition: a component's own, else one made of the way to it."""
        name = self._names.get(ref)
        if name is None:
            own = ref.removeprefix(_COMPONENT)
            named = own != ref and "/" not in own
            wanted = _unescaped(own) if named else re.sub(r"[^A-Za-z0-9]+", "_", own).strip("_")
            name, number = wanted, 2
            while name in self._taken:
                name, number = f"{wanted}_{number}", number + 1
            self._names[ref] = name
            self._taken.add(name)
        return name

    def _at(self, ref: str) -> Any:
        """Give what is at a place of the document."""
        found: Any = self._document
        for step in ref[2:].split("/"):
            key = _unescaped(step)
            if isinstance(found, list) and key.isdigit() and int(key) < len(found):
                found = found[int(key)]
            else:
                found = found.get(key) if isinstance(found, dict) else None
        return {} if found is None else found

    def _standing(self, part: Any, wanted: dict[str, None], depth: int) -> Any:
        if depth > _DEEPEST:
            return {}
        if isinstance(part, list):
            return [self._standing(item, wanted, depth + 1) for item in part]
        if not isinstance(part, dict):
            return part
        ref = part.get("$ref")
        if isinstance(ref, str):
            if not ref.startswith("#/"):
                return {}  # nothing is fetched
            wanted[ref] = None
            rest = {key: value for key, value in part.items() if key != "$ref"}
            return {"$ref": f"#/$defs/{_escaped(self._name_of(ref))}", **rest}
        found = {key: self._standing(value, wanted, depth + 1) for key, value in part.items()}
        if self._nullable and found.pop("nullable", None) is True:
            if isinstance(found.get("type"), str):
                found["type"] = [found["type"], "null"]
            else:
                found = {"anyOf": [found, {"type": "null"}]}
        return found


def _choose(content: dict[str, Any]) -> tuple[Coding, str, dict[str, Any]]:
    """Choose the form of a body that says most, of those that can be written."""
    codings: tuple[tuple[Coding, str], ...] = (
        ("json", r"application/json\b|[\w.+-]+/[\w.-]+\+json\b"),
        ("form", r"application/x-www-form-urlencoded\b"),
        ("multipart", r"multipart/form-data\b"),
        ("text", r"text/(?!event-stream)|\*/\*"),
    )
    for coding, pattern in codings:
        for name, media in content.items():
            if re.match(pattern, str(name).strip().lower()):
                return coding, str(name), _dict(media)
    return "none", "", {}


def _is_plain(schema: dict[str, Any]) -> bool:
    """Whether an object is told by its properties alone, so that they can stand among others."""
    told = schema.keys() - {"title", "description", "type", "properties", "required", "examples"}
    return schema.get("type", "object") == "object" and told <= {"additionalProperties", "example"}


def _name_of(operation: dict[str, Any], method: str, path: str, taken: set[str]) -> str:
    """Give the operation's id, or a name made of its method and path, that no other has."""
    made = re.sub(r"[^A-Za-z0-9]+", "_", f"{method}_{path}").strip("_")
    wanted = _text(operation.get("operationId")) or made
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    taken.add(name)
    return name


def _words(operation: dict[str, Any]) -> str:
    summary, description = _text(operation.get("summary")), _text(operation.get("description"))
    if not description or description.startswith(summary):
        return description or summary
    return f"{summary}\n\n{description}" if summary else description


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _unescaped(step: str) -> str:
    return unquote(step).replace("~1", "/").replace("~0", "~")


def _dict(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""
