"""Description of a server: an OpenAPI document, and a page for people."""

import json
from collections.abc import Mapping
from dataclasses import fields
from html import escape
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from saccade import __version__
from saccade._definitions.argument_hints import help_texts
from saccade.runs import Run
from saccade.serve.inputs import COSTLY, example_input, file_columns
from saccade.serve.limits import Limits

__all__ = ["describe", "page"]

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_ERRORS = {
    "400": "the body is no JSON, or does not arrive in time",
    "413": "the body, a text or the list of inputs is too large",
    "422": "an option or an input has no meaning for the run",
    "503": "too many requests wait, or the server stops; Retry-After has the seconds",
}
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 16px sans-serif; max-width: 50em; margin: 2em auto; }} pre {{ overflow: auto; }}
td {{ padding: 0.2em 1em 0.2em 0; vertical-align: top; }}</style>
<h1>{title}</h1>
<p>{summary}</p>
<pre>{example}</pre>
<p>The answers are those of <code>saccade predict --json</code>. Each input is {inputs}
<table><tr><th>option</th><th>type</th><th>default</th><th>meaning</th></tr>{rows}</table>
<p><a href="openapi.json">openapi.json</a> describes requests, <a href="health">health</a> counts them.</p>
</html>
"""


def describe(run: Run, limits: Limits) -> dict[str, Any]:
    """Return an OpenAPI 3.1 document of a server."""
    errors = {status: _response(text, {"error": {"type": "string"}}) for status, text in _ERRORS.items()}
    answers = _list({"type": "object"}, "an answer for each input, as `saccade predict --json` writes it")
    notes = _list({"type": "string"}, "remarks on the inputs, for example that one was cut; often left out")
    body = {
        "type": "object",
        "required": ["inputs"],
        "additionalProperties": False,
        "properties": {
            "inputs": {**_list(_input(run), _meaning(run)), "maxItems": limits.max_inputs},
            **_options(run),
        },
    }
    post = {
        "summary": "Answer inputs",
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": _response("the answers", {"answers": answers, "notes": notes}), **errors},
    }
    counts = {name: {"type": "integer"} for name in ("waiting", "requests", "batches")}
    health = {"status": {"const": "ok"}, "task": {"type": "string"}, "model": {"type": "string"}, **counts}
    return {
        "openapi": "3.1.0",
        "info": {"title": _title(run), "version": __version__, "description": run.task.task.summary},
        "paths": {
            "/predict": {"post": post},
            "/health": {"get": {"summary": "State", "responses": {"200": _response("the server answers", health)}}},
        },
    }


def page(run: Run) -> str:
    """Return a page about the server as HTML."""
    options = _options(run)
    rows = "".join(
        f"<tr><td>{name}<td>{escape(_words(option))}<td>{escape(json.dumps(option['default']))}"
        f"<td>{escape(option['description'])}"
        for name, option in options.items()
    )
    example = f"""curl http://localhost:8000/predict -d '{json.dumps({"inputs": [example_input(run.task)]})}'"""
    return _PAGE.format(
        title=escape(_title(run)),
        summary=escape(run.task.task.summary),
        example=escape(example),
        inputs=escape(_meaning(run)),
        rows=rows,
    )


def _title(run: Run) -> str:
    return f"{run.folder.resolve().name}: {run.task.name} by {run.trained.options.model}"


def _options(run: Run) -> dict[str, dict[str, Any]]:
    """Schema of each option of `saccade predict` with this run."""
    kind = run.task.requests["predict"]
    types, texts = get_type_hints(kind), help_texts(kind.__mro__)
    return {
        option.name: {
            **_schema(types[option.name]),
            **({"maximum": COSTLY[option.name]} if option.name in COSTLY else {}),
            "default": option.default,
            "description": texts[option.name].replace("With --", "with "),
        }
        for option in fields(kind)
    }


def _schema(kind: Any) -> dict[str, Any]:
    """JSON schema of the type of an option.

    >>> _schema(int | None), _schema(Literal["a", "b"])
    ({'type': ['integer', 'null']}, {'enum': ['a', 'b']})
    """
    if get_origin(kind) is Literal:
        return {"enum": list(get_args(kind))}
    parts = get_args(kind) or (kind,)
    if words := [word for part in parts for word in get_args(part)]:
        return {"enum": [*words, *([None] if NoneType in parts else [])]}
    names = [_TYPES[part] for part in parts]
    return {"type": names[0] if len(names) == 1 else names}


def _input(run: Run) -> dict[str, Any]:
    """JSON schema of an input."""
    columns, files = [column.names for column in run.task.columns], file_columns(run.task)
    cells: dict[str, Any] = {names[0]: {} for names in columns}
    if not files:
        return {"anyOf": [{"type": "string"}, {"type": "object", "properties": cells}, {"type": "array"}]}
    encoded = {"type": "string", "contentEncoding": "base64"}
    cells |= {files[0]: encoded, "name": {"type": "string"}}
    objects = {"type": "object", "properties": cells, "required": [name for name in cells if name != "name"]}
    return {"anyOf": [encoded, objects]} if len(columns) < 2 else objects


def _meaning(run: Run) -> str:
    """An input in a sentence."""
    files, columns = file_columns(run.task), [column.names for column in run.task.columns]
    if not files:
        return "a line as `saccade predict` reads it, or an object whose cells have the names of columns."
    others = "".join(f', "{names[0]}"' for names in columns if names != files)
    return f'an object: "{files[0]}" is a file in base64{others}, and perhaps "name", which its answer and errors have.'


def _words(option: Mapping[str, Any]) -> str:
    kind = option.get("type", option.get("enum"))
    return kind if isinstance(kind, str) else " or ".join(map(str, kind))


def _list(items: dict[str, Any], text: str) -> dict[str, Any]:
    return {"type": "array", "items": items, "description": text}


def _response(text: str, properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"description": text, "content": {"application/json": {"schema": schema}}}
