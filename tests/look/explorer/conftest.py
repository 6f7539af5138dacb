"""A browser for the tests of the explorer, and the hosts of its page."""

import base64
import json
import os
import re
import shutil
from dataclasses import dataclass, field

import pytest

from look.explorer.books import TOKENS, book, calls, encoded, weighted
from saccade.look import Explorer
from saccade.look._explorer.answers import Answers
from saccade.look._explorer.pages import _PARTS, exported, module, style

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PORT = 8123
PATIENCE = int(os.environ.get("EXPLORER_PATIENCE", "60"))  # seconds until a test fails, as a machine may be busy
ORIGIN = f"http://127.0.0.1:{PORT}/"
HOSTS = ("file", "server", "widget", "notebook")
_ARRIVED = """[...document.querySelectorAll(".matrix canvas")].every((canvas) => canvas.dataset.missing === "0")
  && [...document.querySelectorAll(".line")].every((line) => !line.textContent.endsWith("…"))"""
_WIDGET = """
const waiting = [];
globalThis.model = {
  values: { manifest: %s, state: {} },
  get(name) { return this.values[name]; },
  set(name, value) { this.values[name] = value; },
  save_changes() {},
  on(name, listener) { if (name === "msg:custom") waiting.push(listener); },
  off() {},
  send(message) {
    answer(JSON.stringify(message)).then((text) => {
      const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
      for (const listener of waiting) listener({ id: message.id }, [new DataView(bytes.buffer)]);
    });
  },
};
"""


@pytest.fixture(scope="package")
def browser():
    """A browser for the tests of this folder. It ends with them, as its event loop would be in the way of others."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    programs = [path for name in BROWSERS if (path := shutil.which(name))]
    if not programs:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    with api.sync_playwright() as playwright:
        options = ["--force-color-profile=srgb", "--font-render-hinting=none"]
        opened = playwright.chromium.launch(executable_path=programs[0], args=options)
        yield opened
        opened.close()


@dataclass
class Opened:
    """A page that is open: `frame` holds the explorer, `asked` the requests of pieces that left it."""

    page: object
    frame: object = None
    path: object = None
    address: str = ""
    answers: object = None
    asked: list = field(default_factory=list)
    outside: list = field(default_factory=list)
    errors: list = field(default_factory=list)

    def until(self, condition, *arguments):
        """Wait until a function of Python, or an expression of the page, is true."""
        for _ in range(100 * PATIENCE):
            value = condition(*arguments) if callable(condition) else self.frame.evaluate(condition, *arguments)
            if value:
                return value
            self.page.wait_for_timeout(10)
        raise AssertionError(f"never true: {condition}")

    def ready(self):
        """Wait until the numbers that are seen have arrived."""
        self.frame.locator(".saccade").wait_for()
        self.until(_ARRIVED)
        return self

    def state(self):
        """The state in the URL."""
        return json.loads(self.page.evaluate("decodeURIComponent(location.hash.slice(1)) || '{}'"))

    def waits_for(self, **parts):
        """Wait until the state in the URL has these parts."""
        self.until(lambda: parts.items() <= self.state().items())

    def geometry(self):
        """Where the cells of the matrix are on the screen."""
        canvas = self.frame.locator(".matrix canvas").first
        about = canvas.evaluate("canvas => ({ ...canvas.dataset })")
        box = canvas.bounding_box()
        return {name: float(value) for name, value in about.items()} | {"x": box["x"], "y": box["y"]}

    def point(self, row, column):
        """Move the mouse over a cell."""
        at = self.geometry()
        x = at["x"] + at["left"] + (column + 0.5 - at["column"]) * at["cell"]
        y = at["y"] + at["above"] + (row + 0.5 - at["row"]) * at["cell"]
        self.page.mouse.move(x, y)

    def readout(self, row, column):
        """The number of a cell, by the names of its row and column, once it is there."""
        pattern = re.compile(rf"^\s*{re.escape(row)} → {re.escape(column)}: (?!…)")
        return self.frame.locator(".readout", has_text=pattern).locator("output").first.inner_text()


def _of_file(opened, book, path, hash_):
    opened.path = path / f"{len(list(path.iterdir()))}.html"
    opened.path.write_text(exported(book), encoding="utf-8")
    opened.page.context.set_offline(True)
    opened.address = opened.path.as_uri()
    opened.page.goto(opened.address + hash_)
    opened.frame = opened.page.main_frame


def _of_server(opened, book, path, hash_):
    testing = pytest.importorskip("starlette.testclient", reason="starlette or httpx2 is not installed")
    from saccade.look._explorer.server import application

    answers = opened.answers = Answers(book)
    client = testing.TestClient(application(answers, book.title, "secret", PORT), ORIGIN, raise_server_exceptions=False)

    def answer(route):
        request = route.request
        if request.url == f"{ORIGIN}piece":
            opened.asked.append(request.post_data_json)
        headers = {
            name: value for name, value in request.headers.items() if not name.startswith(("host", "content-length"))
        }
        response = client.request(request.method, request.url, headers=headers, content=request.post_data_buffer)
        return route.fulfill(status=response.status_code, headers=dict(response.headers), body=response.content)

    opened.page.route(f"{ORIGIN}**", answer)
    opened.address = f"{ORIGIN}?token=secret"
    opened.page.goto(opened.address + hash_)
    opened.frame = opened.page.main_frame


def _of_widget(opened, book, path, hash_):
    def answer(message):
        opened.asked.append(json.loads(message))
        return base64.b64encode(book.message(json.loads(message))).decode()

    script = _WIDGET % json.dumps(book.manifest()).replace("</", "<\\/")
    script += f"{module().replace('export default', 'const front =')}\n"
    script += "globalThis.ended = front.render({ model, el: document.getElementById('cell') });"
    opened.page.expose_function("answer", answer)
    opened.page.set_content(
        f'<!doctype html><html lang="en"><title>Notebook</title><style>{style()}</style>'
        f'<div id="cell"></div><script type="module">{script}</script></html>'
    )
    opened.frame = opened.page.main_frame


def _of_notebook(opened, book, path, hash_):
    explorer = Explorer(calls(weighted(1, 1, 2, 2)))
    explorer.book = book
    opened.page.set_content(f'<!doctype html><html lang="en"><title>Notebook</title>{explorer._html()}</html>')
    opened.page.locator("iframe").wait_for()
    [opened.frame] = [frame for frame in opened.page.frames if frame != opened.page.main_frame]


_OPEN = {"file": _of_file, "server": _of_server, "widget": _of_widget, "notebook": _of_notebook}


@pytest.fixture
def show(browser, tmp_path):
    """Open a book in a host. At the end: no request has left the page, and the console has no error."""
    pages = []

    def opening(book, host="file", hash_="", width=1400, height=1000, theme="light", errors=False, script=""):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
        )
        context.set_default_timeout(1000 * PATIENCE)
        if script:
            context.add_init_script(script)
        page = context.new_page()
        opened = Opened(page)
        allowed = ("file:", "data:", "blob:", "about:", ORIGIN)
        page.on("request", lambda request: request.url.startswith(allowed) or opened.outside.append(request.url))
        page.on("console", lambda message: message.type == "error" and opened.errors.append(message.text))
        page.on("pageerror", lambda error: opened.errors.append(str(error)))
        pages.append((opened, errors))
        _OPEN[host](opened, book, tmp_path, hash_)
        return opened

    yield opening
    for opened, errors in pages:
        opened.page.context.close()
        assert not opened.outside
        assert errors or not opened.errors, opened.errors


@pytest.fixture
def parts(show):
    """Calls of functions of the front end: `parts("(p, x) => p.data.visible(x)", x)`, p the parts."""
    opened = show(book(calls(weighted(1, 1, 2, 2))))
    opened.page.goto("about:blank")
    source = module("file").partition("export default")[0] + f"export default {{ {', '.join((*_PARTS, 'file'))} }};"
    script = """async (source) => {
      const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      globalThis.parts = (await import(url)).default;
    }"""
    opened.page.evaluate(script, source)
    return lambda script, *values: opened.page.evaluate(f"(values) => ({script})(globalThis.parts, ...values)", values)


@pytest.fixture(scope="module")
def model():
    """A book of an encoder of three layers of four heads, with a batch of two."""
    return book(encoded(), TOKENS)
