"""The index page: what an app offers, for a person with a browser. No script, no outside link."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from kuniumi.core.codec import dumps
from kuniumi.core.coerce import form_of, resolved
from kuniumi.wire.pages import describe

if TYPE_CHECKING:
    from kuniumi.core.service import Service

_STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
h1 small { font-weight: normal; opacity: .6 }
article { border-top: 1px solid var(--line); padding: .8rem 0 }
h2 { font: 600 1.1rem ui-monospace, monospace; margin: .3rem 0 }
pre { overflow-x: auto; padding: .7rem; border: 1px solid var(--line); border-radius: .4rem }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0 }
code { font-size: .95em } .quiet { opacity: .65 }
""".strip()


def render(service: Service, root_path: str) -> str:
    """Write the page. Its links begin with `root_path`, which the outer app or the proxy chose."""
    root_path = escape(root_path)
    about = service.registry.about
    functions = [describe(operation) for operation in service.registry]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(about.name)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(about.name)} <small>v{escape(about.version)}</small></h1>
<p>{escape(about.description)}</p>
<p><a href="{root_path}/openapi.json">OpenAPI</a> ·
<a href="{root_path}/openapi.yaml">as YAML</a> ·
<a href="{root_path}/functions">functions as JSON</a> ·
<a href="{root_path}/health">health</a></p>
{"".join(_function(function, root_path) for function in functions) or "<p>No functions yet.</p>"}
</body>
</html>
"""


def _function(function: dict[str, Any], root_path: str) -> str:
    path = root_path + escape(function["path"])
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind_of(schema))}</td>"
        f"<td>{escape(schema.get('description', ''))}</td></tr>"
        for name, schema in function["inputSchema"]["properties"].items()
    )
    table = f"<table>{rows}</table>" if rows else '<p class="quiet">Takes no arguments.</p>'
    data = dumps(sample(function["inputSchema"])).decode().replace("'", "'\\''")
    command = escape(f"curl -X POST -H 'Content-Type: application/json' -d '{data}' $ORIGIN") + path
    return f"""<article id="{escape(function["name"])}">
<h2>{escape(function["name"])} <span class="quiet">POST {path}</span></h2>
<p>{escape(function["description"]).replace(chr(10) * 2, "</p><p>")}</p>
{table}
<pre>{command}</pre>
</article>
"""


def kind_of(schema: dict[str, Any]) -> str:
    """Say in a few words what a schema takes."""
    arms = schema.get("anyOf") or schema.get("oneOf")
    if arms:
        return " | ".join(dict.fromkeys(kind_of(arm) for arm in arms))
    if "enum" in schema:
        return " | ".join(dumps(choice).decode() for choice in schema["enum"])
    if "const" in schema:
        return dumps(schema["const"]).decode()
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    kind = str(schema.get("type", "any"))
    if kind == "array" and schema.get("items"):
        return f"array of {kind_of(schema['items'])}"
    return form_of(schema) or str(schema.get("title", kind))


def sample(schema: dict[str, Any]) -> dict[str, Any]:
    """Make arguments that show what a call looks like."""
    return _sample_object(schema, schema, frozenset())


def _sample_object(
    schema: dict[str, Any], root: dict[str, Any], above: frozenset[str]
) -> dict[str, Any]:
    properties = schema["properties"]
    required = schema.get("required", ())
    return {name: _sample_value(properties[name], root, above) for name in required}


_SAMPLES: dict[str, Any] = {
    "integer": 7,
    "number": 1.5,
    "boolean": True,
    "string": "text",
    "array": [],
    "object": {},
    "null": None,
}
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00",
    "decimal": "1.50",
}


def _sample_value(schema: dict[str, Any], root: dict[str, Any], above: frozenset[str]) -> Any:
    ref = schema.get("$ref", "")
    if ref in above:
        return None  # it is recursive, and shown once
    if ref:
        above |= {ref}
        schema = {**resolved(schema, root), **schema}
    if "examples" in schema:
        return schema["examples"][0]
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    arms = schema.get("anyOf") or schema.get("oneOf")
    if arms:
        new = [arm for arm in arms if arm.get("$ref") not in above]
        return _sample_value((new or arms)[0], root, above)
    if schema.get("properties"):
        return _sample_object(schema, root, above)
    if form_of(schema) in _FORMATS:
        return _FORMATS[form_of(schema)]
    return _SAMPLES.get(schema.get("type", ""))
