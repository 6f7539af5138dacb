"""States without numbers: errors are drawn in their place."""

import pytest

from look.explorer.books import TOKENS, book, encoded, near, numbers, plane
from look.explorer.conftest import ORIGIN
from saccade import AuxRequest


def test_a_recording_without_weights_shows_its_lines_and_says_so(show):
    made = book(encoded(aux=AuxRequest(entropy=True)), TOKENS)
    opened = show(made).ready()
    assert opened.frame.locator(".matrix").count() == 0 and opened.frame.locator("figure.line").count() == 1
    assert "no weights" in opened.frame.locator(".panel").last.inner_text().lower()
    opened.frame.locator("figure.line svg").focus()
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("ArrowRight")
    caption = opened.frame.locator("figcaption")
    opened.until(lambda: caption.inner_text().startswith("entropy cat: "))
    assert near(caption.inner_text().split(": ")[1], numbers(made, piece="line", name="entropy")[1][1])


@pytest.mark.parametrize("host", ["server", "widget"])
def test_a_piece_that_fails_is_reported_in_its_place(show, host):
    made = book(encoded(layers=1), TOKENS)
    message = made.message

    def broken(request):
        return message({**request, "layer": 99} if request.get("piece") == "tile" else request)

    made.message = broken
    opened = show(made, host)
    alert = opened.frame.get_by_role("alert")
    alert.wait_for()
    assert alert.inner_text() == "layer: expected a number below 1, got 99"


def test_a_server_that_is_gone_is_reported(show, model):
    opened = show(model, "server", errors=True).ready()
    opened.page.unroute(f"{ORIGIN}**")
    opened.page.route(f"{ORIGIN}**", lambda route: route.abort())
    opened.frame.locator("select[name=layer]").select_option("1")
    alert = opened.frame.get_by_role("alert").first
    alert.wait_for()
    assert "The explorer's server does not answer" in alert.inner_text() and "Start it again" in alert.inner_text()


def test_a_server_without_a_manifest_is_reported(show, model):
    model_ = book(encoded(layers=1))
    model_.manifest = None
    opened = show(model_, "server", errors=True)
    alert = opened.frame.get_by_role("alert")
    alert.wait_for()
    assert alert.inner_text() == "the explorer failed (TypeError). Its standard error has the cause"


@pytest.mark.parametrize("host", ["file", "server", "widget"])
def test_another_format_is_reported(show, host):
    made = book(encoded(layers=1))
    manifest = made.manifest
    made.manifest = lambda: {**manifest(), "format": 7}
    opened = show(made, host)
    alert = opened.frame.get_by_role("alert")
    alert.wait_for()
    assert alert.inner_text() == "Expected a page of format 1, got 7. Write it again with this version."


@pytest.mark.parametrize("part", ["manifest", "numbers"])
def test_a_damaged_file_is_reported(show, model, part):
    opened = show(model, errors=True).ready()
    path = opened.path
    page = path.read_text(encoding="utf-8")
    start = page.index(f'id="{part}">') + len(f'id="{part}">')
    path.write_text(page[:start] + page[start + 40 :], encoding="utf-8")
    opened.page.goto("about:blank")
    opened.page.goto(path.as_uri())
    alert = opened.frame.get_by_role("alert")
    alert.wait_for()
    assert "The file is damaged" in alert.inner_text()


def test_a_piece_that_failed_comes_with_the_next_try(show):
    made = book(encoded(layers=1, heads=4), TOKENS)
    message, failing = made.message, [True]
    made.message = lambda request: message({**request, "layer": 99} if failing[0] else request)
    opened = show(made, "widget")
    opened.frame.get_by_role("alert").first.wait_for()
    failing[0] = False
    opened.frame.locator("select[name=head]").select_option("1")
    opened.ready()
    opened.until("!document.querySelector('[role=alert]')")
    opened.point(1, 1)
    assert near(opened.readout("cat", "cat"), plane(made, head=1)[1, 1])


def test_the_end_of_a_widget_leaves_nothing(show, model):
    opened = show(model, "widget").ready()
    opened.page.evaluate("ended()")
    assert opened.frame.locator("#cell").inner_html() == ""
