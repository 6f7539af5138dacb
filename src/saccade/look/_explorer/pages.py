"""The module of the front end, and the pages that hold it."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from itertools import product
from typing import Any

import torch

from saccade.errors import ArgumentError
from saccade.look._explorer.sheets import Book, MatrixIndex
from saccade.look._labels import plain

_PARTS = (
    *("data", "colours", "matrix", "grid", "lines", "saving", "live"),
    *("planes", "words", "images", "bands", "charts", "app"),
)
_HOSTS = ("file", "server")
_LARGEST = 100 << 20  # bytes of numbers in a page
_IMPORT = re.compile(r'^import \{ (.*) \} from "\./(\w+)\.js";$', re.M)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.M)


@cache
def module(*hosts: str) -> str:
    r"""Return the front end as one ES module with `render`, as of anywidget.

    Each part of it is a function with a scope of its own, which returns its exports.

    >>> module().endswith("export default { render: app.render };\n")
    True
    """
    parts = [_linked(name, _read(f"{name}.js")) for name in (*_PARTS, *hosts)]
    library = (
        f"const preact = {{}};\n((exports, module) => {{\n{_read('vendor/standalone.umd.js')}\n}})(preact, {{}});\n"
    )
    return "\n".join([library, *parts, "export default { render: app.render };\n"])


def _linked(name: str, source: str) -> str:
    """Return a part as a constant that holds its exports."""
    imported = _IMPORT.sub(lambda match: f"const {{ {match[1].replace(' as ', ': ')} }} = {match[2]};", source)
    exports = ", ".join(match[2] for match in _EXPORT.finditer(source))
    return f"const {name} = (() => {{\n{_EXPORT.sub(lambda match: match[1], imported)}return {{ {exports} }};\n}})();\n"


def style() -> str:
    """Return the style sheet."""
    return _read("style.css")


def page(body: str, script: str, connect: str, title: str) -> str:
    """Return an HTML page with a script of its own and nothing from elsewhere."""
    rules = _policy(script, connect)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{rules}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(plain(title))}</title>"
        f"<style>body {{ margin: 0; }} #explorer > * {{ min-height: 100vh; }}\n{style()}</style></head>\n"
        f'<body><main id="explorer"></main>{body}<script type="module">{script}</script></body></html>\n'
    )


def _policy(script: str, connect: str) -> str:
    """The Content-Security-Policy of a page: its own script and no other."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; connect-src {connect}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def server_page(title: str) -> str:
    """Return the page of a server, without numbers."""
    return page("", _started("server", "openServer"), "'self'", title)


def server_policy() -> str:
    """Return the Content-Security-Policy of `server_page`, for a header."""
    return _policy(_started("server", "openServer"), "'self'")


def exported(book: Book) -> str:
    """Return a page that holds all numbers of a book and needs no server.

    Raises:
        ArgumentError: more than 100 MiB of numbers.
    """
    return file_page(blocks(book), book.title)


def file_page(content: Mapping[str, str], title: str) -> str:
    """Return the page of `blocks`."""
    held = (f'<script type="application/octet-stream" id="{name}">{text}</script>' for name, text in content.items())
    return page("".join(held), _started("file", "openFile"), "'none'", title)


def blocks(book: Book) -> dict[str, str]:
    """Return the manifest and the numbers of a book, compressed, in Base64.

    Raises:
        ArgumentError: more than 100 MiB of numbers.
    """
    if (size := 4 * book.numbers()) > _LARGEST:
        got = f"{size >> 20:,} MiB"
        raise ArgumentError(
            f"page: expected at most {_LARGEST >> 20} MiB of numbers, got {got}. Record fewer layers or tokens"
        )
    manifest, offset, parts = book.manifest(), 0, list[bytes]()
    for sheet, described in zip(book.sheets, manifest["sheets"], strict=True):
        data: dict[str, Any] = {"lines": {}}
        described |= {"data": data, "measures": sheet.all_measures()}
        readers = [(data["lines"], name, read) for name, read in sheet.lines.items()]
        if sheet.matrix is not None:
            readers.insert(0, (data, "matrix", sheet.matrix))
        for offsets, name, read in readers:
            offsets[name] = offset
            for example, layer, head in product(range(sheet.examples), range(len(sheet.layers)), range(sheet.heads)):
                values = read(MatrixIndex(layer, head, example)).detach().to("cpu", torch.float32).contiguous()
                parts.append(values.numpy().astype("<f4").tobytes())
                offset += values.numel()
    packed = {"manifest": json.dumps(manifest).encode(), "numbers": b"".join(parts)}
    return {name: base64.b64encode(gzip.compress(content, mtime=0)).decode() for name, content in packed.items()}


def _started(host: str, name: str) -> str:
    hosts = _HOSTS[: _HOSTS.index(host) + 1]
    source = module(*hosts).partition("export default")[0]
    element = 'document.getElementById("explorer")'
    return f"{source}{host}.{name}(app.render, {element}).catch((error) => app.failed({element}, error));\n"


@cache
def _read(name: str) -> str:
    return files("saccade.look._explorer").joinpath("page", name).read_text(encoding="utf-8")
