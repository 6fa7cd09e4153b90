"""What can be read at an app's addresses: the index, the list, each function, OpenAPI, health.

In: a service. Out: content type and bytes, rendered once per state of the registry.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kuniumi.core.codec import dumps
from kuniumi.core.describe import described_input, described_output, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service

    Page = Callable[[Service, str], tuple[bytes, bytes]]

_JSON = b"application/json"
_YAML = b"application/yaml"
_HTML = b"text/html; charset=utf-8"


def find(path: str, operation: Operation | None) -> Page | None:
    """Give the page at a path, if there is one to read."""
    if operation is not None:
        return partial(_function, operation) if path.startswith("/functions/") else None
    return _PAGES.get(path)


def describe(operation: Operation) -> dict[str, Any]:
    """Describe one function as data: what `GET /functions/{Name}` and `describe --json` give."""
    words = words_of(operation)
    return {
        "name": operation.name,
        "operationId": operation.operation_id,
        "summary": words.summary,
        "description": words.description,
        "method": "POST",
        "path": operation.path or f"/functions/{operation.name}",
        "tags": list(operation.wording.tags),
        "deprecated": operation.wording.deprecated,
        "inputSchema": described_input(operation),
        "outputSchema": described_output(operation),
    }


def list_functions(service: Service) -> dict[str, Any]:
    """Describe an app and all of its functions as data."""
    about = service.registry.about
    return {
        "name": about.name,
        "version": about.version,
        "functions": [describe(operation) for operation in service.registry],
    }


def _function(operation: Operation, _service: Service, _root: str) -> tuple[bytes, bytes]:
    return _JSON, dumps(describe(operation))


def _functions(service: Service, _root: str) -> tuple[bytes, bytes]:
    return _JSON, dumps(list_functions(service))


def _health(_service: Service, _root: str) -> tuple[bytes, bytes]:
    return _JSON, b'{"status":"ok"}'


def _openapi(service: Service, root: str) -> tuple[bytes, bytes]:
    from kuniumi.wire.openapi import openapi  # noqa: PLC0415 - only who asks pays

    return _JSON, dumps(openapi(service, root))


def _openapi_yaml(service: Service, root: str) -> tuple[bytes, bytes]:
    from kuniumi.wire.openapi import openapi  # noqa: PLC0415
    from kuniumi.wire.yaml import to_yaml  # noqa: PLC0415

    return _YAML, to_yaml(openapi(service, root)).encode()


def _index(service: Service, root: str) -> tuple[bytes, bytes]:
    from kuniumi.wire.index import render  # noqa: PLC0415

    return _HTML, render(service, root).encode()


_PAGES: dict[str, Page] = {
    "/": _index,
    "/functions": _functions,
    "/health": _health,
    "/openapi.json": _openapi,
    "/openapi.yaml": _openapi_yaml,
}
