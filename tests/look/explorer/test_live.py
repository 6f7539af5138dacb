"""A server in a browser: late measures, texts of the reader, the page as a file."""

import socket
import threading

import pytest

from look.explorer.books import book, encoded, plane
from look.explorer.test_answers import of_text
from saccade.errors import ArgumentError
from saccade.look._explorer.answers import Answers

uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install -e '.[serve]'")

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(browser):
    """Open answers by a server of its own, with its policy and token."""
    from saccade.look._explorer.server import application

    ends = []

    def opening(answers):
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        config = uvicorn.Config(application(answers, "A model", "a-secret", port), log_config=None, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        context = browser.new_context()
        context.set_default_timeout(60_000)
        page = context.new_page()
        errors = []
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        ends.append((context, server, thread, errors))
        page.goto(f"http://127.0.0.1:{port}/?token=a-secret")
        return page

    yield opening
    for context, server, thread, errors in ends:
        context.close()
        server.should_exit = True
        thread.join()
        assert errors == []


def ready(page):
    page.locator('.matrix canvas[data-missing="0"]').wait_for()


def test_late_measures_fill_the_heads(opened, monkeypatch):
    recording = encoded()
    expected = book(recording).manifest()["sheets"][0]["measures"]["entropy"]
    monkeypatch.setattr("saccade.look._explorer.recordings._AT_ONCE", 0)
    page = opened(Answers(book(recording)))
    ready(page)
    for example in range(2):
        page.locator("select[name=example]").select_option(str(example))
        for layer in range(3):
            for head in range(4):
                number = f"{expected[example][layer][head]:.6g}"
                page.locator(f".heads button[aria-label='layers.{layer}, head {head}, entropy {number}']").wait_for()
    page.get_by_text("to come").wait_for(state="detached")


def test_a_text_opens_its_sheet_and_an_error_is_a_line(opened):
    def reading(text):
        if text == "bad":
            raise ArgumentError("inputs: expected another text, got bad. Type one")
        return of_text(text)

    page = opened(Answers(book(encoded()), reading))
    ready(page)
    field = page.locator("input[name=live]")
    for text, sheets in [("four", 2), ("seven..", 3)]:
        field.fill(text)
        field.press("Enter")
        page.locator("select[name=sheet] option").nth(sheets - 1).wait_for(state="attached")
        ready(page)
        page.locator(".matrix canvas").focus()
        page.keyboard.press("ArrowDown")
        page.locator(".readout output", has_text=str(len(text))).wait_for()
        assert page.locator("select[name=sheet]").input_value() == str(sheets - 1)
    for text, words in [
        ("bad", "inputs: expected another text, got bad. Type one"),
        ("x" * 2001, "text: expected at most 2,000 characters, got 2,001. Shorten it"),
    ]:
        field.fill(text)
        page.get_by_role("button", name="Show").click()
        page.locator(".live [role=alert]", has_text=words).wait_for()
    page.reload()
    ready(page)
    assert page.locator("select[name=sheet] option").count() == 3


def test_the_page_saves_itself_from_a_server_and_from_a_file(opened, tmp_path):
    made, sizes = book(encoded(layers=1)), []
    weight = plane(made)[0, 0]
    page = opened(Answers(made, of_text))
    ready(page)
    for number in range(3):
        with page.expect_download() as download:
            page.get_by_role("button", name="Save HTML").click()
        path = tmp_path / f"{number}.html"
        download.value.save_as(path)
        sizes.append(path.stat().st_size)
        page.context.set_offline(True)
        page.goto(path.as_uri())
        ready(page)
        assert page.locator("input[name=live]").count() == 0
        page.locator(".matrix canvas").focus()
        page.keyboard.press("ArrowDown")
        page.locator(".readout output", has_text=f"{weight:.6g}").wait_for()
    assert max(sizes) - min(sizes) < 100
