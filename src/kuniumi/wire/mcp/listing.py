"""What an app offers, as MCP lists it: tools, resources, templates, prompts, page by page.

In: a registry. Out: the bytes of each page, made once for each revision and kept until the registry
changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kuniumi.core.codec import dumps
from kuniumi.core.describe import described_input, described_output, words_of
from kuniumi.wire.mcp.results import known_annotations, write_caching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kuniumi.core.offers import Prompt, Resource
    from kuniumi.core.operation import Operation, Wording
    from kuniumi.core.registry import Registry
    from kuniumi.wire.mcp.results import Stamp
    from kuniumi.wire.mcp.revisions import Revision

    Entry = dict[str, Any]

PAGE = 1000
"""Entries on a page: many clients never ask for a second one."""

FRESH = 60.0
"""Seconds for which a list may be kept; who subscribes hears of changes at once."""


class Lists:
    """The lists of one app."""

    def __init__(self, registry: Registry, page: int = PAGE) -> None:
        self._registry = registry
        self._page = page
        self._version = -1
        self._entries: dict[tuple[str, str], list[bytes]] = {}
        self._pages: dict[tuple[str, str, int], bytes] = {}

    def page(
        self, key: str, cursor: str | None, revision: Revision, stamped: Stamp
    ) -> bytes | None:
        """Give the page of a list that a cursor stands for, or nothing if it stands for none."""
        if self._version != self._registry.version:
            self._version = self._registry.version
            self._entries.clear()
            self._pages.clear()
        start = _start_of(cursor)
        found = self._pages.get((key, revision.name, start))
        if found is None:
            entries = self._entries_of(key, revision)
            if start and (start >= len(entries) or start % self._page):
                return None
            if start < 0:
                return None
            found = self._write(key, entries, start, revision, stamped)
            self._pages[key, revision.name, start] = found
        return found

    def _write(
        self, key: str, entries: list[bytes], start: int, revision: Revision, stamped: Stamp
    ) -> bytes:
        end = start + self._page
        following = b',"nextCursor":"%d"' % end if end < len(entries) else b""
        listed = b",".join(entries[start:end])
        caching = write_caching(revision, FRESH)
        return stamped.around(b'"%b":[%b]%b%b' % (key.encode(), listed, following, caching))

    def _entries_of(self, key: str, revision: Revision) -> list[bytes]:
        found = self._entries.get((key, revision.name))
        if found is None:
            found = [dumps(entry) for entry in _LISTED[key](self._registry, revision)]
            self._entries[key, revision.name] = found
        return found


def _start_of(cursor: str | None) -> int:
    if cursor is None:
        return 0
    return int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 10 else -1


# ---- entries ---------------------------------------------------------------------------------------


def tool(operation: Operation, revision: Revision) -> Entry:
    """Describe a function as a tool."""
    entry = _named(operation.operation_id, operation, revision)
    schema = operation.wording.schema or described_input(operation)
    entry["inputSchema"] = _with_headers(schema, operation.wording.headers)
    if revision.structured and not operation.result.for_people:
        entry["outputSchema"] = {"type": "object", **described_output(operation)}
    hints = operation.wording.hints
    said = {
        "title": None if revision.structured else operation.wording.title or None,
        "readOnlyHint": hints.read_only,
        "destructiveHint": hints.destructive,
        "idempotentHint": hints.idempotent,
        "openWorldHint": hints.open_world,
    }
    annotations = {name: value for name, value in said.items() if value is not None}
    if annotations and revision.annotations:
        entry["annotations"] = annotations
    return entry


def _with_headers(schema: Mapping[str, Any], headers: Mapping[str, str]) -> Mapping[str, Any]:
    if not headers:
        return schema
    properties = dict(schema["properties"])
    for name, header in headers.items():
        properties[name] = {**properties[name], "x-mcp-header": header}
    return {**schema, "properties": properties}


def _resource(resource: Resource, revision: Revision) -> Entry:
    entry = _named(resource.operation.name, resource.operation, revision)
    entry["uriTemplate" if resource.is_template else "uri"] = resource.uri
    if resource.mime_type:
        entry["mimeType"] = resource.mime_type
    if resource.size is not None and not resource.is_template:
        entry["size"] = resource.size
    if resource.annotations is not None:
        entry["annotations"] = known_annotations(resource.annotations, revision)
    return entry


def _prompt(prompt: Prompt, revision: Revision) -> Entry:
    entry = _named(prompt.name, prompt.operation, revision)
    said = words_of(prompt.operation).params
    entry["arguments"] = [
        {
            "name": parameter.name,
            **({"description": said[parameter.name]} if said.get(parameter.name) else {}),
            "required": parameter.required,
        }
        for parameter in prompt.operation.parameters
    ]
    return entry


def _named(name: str, operation: Operation, revision: Revision) -> Entry:
    wording: Wording = operation.wording
    words = words_of(operation)
    entry: Entry = {"name": name}
    if revision.structured and wording.title:
        entry["title"] = wording.title
    if words.description:
        entry["description"] = words.description
    if revision.icons and wording.icons:
        entry["icons"] = wording.icons
    meta = {**({"tags": wording.tags} if wording.tags else {}), **wording.meta}
    if revision.structured and meta:
        entry["_meta"] = meta
    return entry


_LISTED: dict[str, Callable[[Registry, Revision], Iterable[Entry]]] = {
    "tools": lambda registry, revision: (tool(each, revision) for each in registry),
    "prompts": lambda registry, revision: (
        _prompt(each, revision) for each in registry.prompts.values()
    ),
    "resources": lambda registry, revision: (
        _resource(each, revision) for each in registry.resources.values() if not each.is_template
    ),
    "resourceTemplates": lambda registry, revision: (
        _resource(each, revision) for each in registry.resources.values() if each.is_template
    ),
}
