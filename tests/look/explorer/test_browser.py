"""The explorer in a browser: numbers, keyboard, URL, files, and no request elsewhere."""

import csv
import io
import json
import random
import re
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from look.explorer.books import HOSTILE, book, calls, encoded, numbers, plane, planes, weighted
from look.explorer.conftest import HOSTS
from saccade import AuxRequest
from saccade.look._explorer.sheets import Book, Sheet
from saccade.look._labels import shortened, visible

TOKENS = "the cat sat on the mat and ate a red fish .".split()  # noqa: SIM905
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def model():
    return book(encoded(), TOKENS)


def hashed(**state):
    return "#" + quote(json.dumps(state))


def near(text, value):
    """Whether a page's six digits are those of Python."""
    return float(text) == float(f"{value:.6g}")


@pytest.mark.parametrize("host", HOSTS)
def test_the_readout_is_the_number_of_python(show, model, host):
    opened = show(model, host).ready()
    for row, column in [(0, 0), (3, 7), (11, 11), (7, 2)]:
        opened.point(row, column)
        assert near(opened.readout(TOKENS[row], TOKENS[column]), plane(model)[row, column])


HOVER = """async (cells) => {
  const canvas = document.querySelector(".matrix canvas");
  const { left, above, row, column, cell } = canvas.dataset;
  const pause = () => new Promise((resolve) => setTimeout(resolve, 0));
  const values = [];
  for (const [r, c] of cells) {
    const box = canvas.getBoundingClientRect();
    const clientX = box.left + Number(left) + (c + 0.5 - column) * cell;
    const clientY = box.top + Number(above) + (r + 0.5 - row) * cell;
    canvas.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, bubbles: true }));
    let text = "";
    do {
      await pause();
      text = document.querySelector(".readout").textContent.trim();
    } while (!text.startsWith(`r${r} → c${c}: `) || text.endsWith("…"));
    values.push(text.split(": ")[1]);
  }
  return values;
}"""


@pytest.mark.slow  # a thousand movements of the pointer
@pytest.mark.parametrize("host", HOSTS)
def test_a_thousand_random_cells_agree_with_python(show, host):
    matrix = torch.randn(40, 60).softmax(-1)
    sheet = Sheet("attention", "", [f"r{at}" for at in range(40)], [f"c{at}" for at in range(60)], lambda place: matrix)
    opened = show(Book("Cells", [sheet]), host).ready()
    draw = random.Random(0)
    cells = sorted((draw.randrange(40), draw.randrange(60)) for _ in range(1000))
    for (row, column), text in zip(cells, opened.frame.evaluate(HOVER, cells), strict=True):
        assert near(text, matrix[row, column])


def test_lines_and_tokens_show_the_numbers_of_python(show, model):
    opened = show(model, hash_=hashed(cursor=[3, 7], layer=1, head=2, example=1)).ready()
    captions = opened.frame.locator("figcaption").all_inner_texts()
    for caption, (name, at) in zip(captions, {"entropy": 3, "received": 7}.items(), strict=True):
        value = numbers(model, piece="line", name=name, layer=1, head=2, example=1)[1][at]
        assert caption.startswith(f"{name} {TOKENS[at]}: ") and near(caption.split(": ")[1], value)
    weights = plane(model, layer=1, head=2, example=1)
    for name, expected in {"Keys": weights[3], "Queries": weights[:, 7]}.items():
        opened.frame.locator(f"[aria-label={name}] button[title]:not([title=''])").first.wait_for()
        titles = opened.frame.locator(f"[aria-label={name}] button").evaluate_all("all => all.map((each) => each.title)")
        assert all(near(text, value) for text, value in zip(titles, expected, strict=True))


def test_heads_show_their_measures(show, model):
    opened = show(model, hash_=hashed(measure="distance", example=1)).ready()
    labels = opened.frame.locator("button.head").evaluate_all("all => all.map((each) => each.ariaLabel)")
    measures = model.sheets[0].measures["distance"][1].flatten()
    assert len(labels) == 12 and all(near(label.split("distance ")[1], value) for label, value in zip(labels, measures, strict=True))
    opened.frame.locator("select[name=order]").select_option("smallest")
    shown = opened.frame.locator("ol.ordered li span").all_inner_texts()
    assert all(near(text, value) for text, value in zip(shown, measures.sort().values, strict=True))


@pytest.mark.parametrize("host", ["file", "server"])
def test_a_difference_shows_signed_numbers(show, model, host):
    opened = show(model, host, hashed(minus=[0, 2, 1], layer=1)).ready()
    opened.point(2, 5)
    expected = plane(model, layer=1)[2, 5] - plane(model, layer=2, head=1)[2, 5]
    assert near(opened.readout("sat", "mat"), expected)
    opened.frame.locator("select[name=compare]").select_option("beside")
    opened.ready()
    texts = opened.frame.locator(".readout output").all_inner_texts()
    assert len(texts) == 2 and opened.frame.locator(".matrix canvas").count() == 2


# The keyboard


def test_tab_reaches_every_control(show, model):
    opened = show(model, hash_=hashed(minus=[0, 1, 0])).ready()
    script = """() => {
      const active = document.activeElement;
      return active === document.body ? -1 : [...document.querySelectorAll("*")].indexOf(active);
    }"""
    reached, before = [], None
    for _ in range(100):
        opened.page.keyboard.press("Tab")
        if (at := opened.frame.evaluate(script)) in (-1, before) or at in reached:
            break
        reached.append(before := at)
    controls = opened.frame.evaluate("""() => {
      const all = [...document.querySelectorAll("*")];
      return all.filter((each) => each.matches("select, button, [tabindex]") && each.tabIndex >= 0).map((each) => all.indexOf(each));
    }""")
    assert set(controls) == set(reached) and reached == sorted(reached)
    rings = opened.frame.evaluate("""() => [...document.querySelectorAll("select, button, canvas")].map((each) => {
      each.focus({ focusVisible: true });
      return getComputedStyle(each).outlineStyle;
    })""")
    assert set(rings) == {"solid"}, "a control without a visible focus"


def test_arrows_enter_and_escape_move_and_lock_the_cursor(show, model):
    opened = show(model).ready()
    opened.frame.locator(".matrix canvas").focus()
    press = opened.page.keyboard.press
    for key, cursor in [
        ("ArrowRight", [0, 0]), ("ArrowRight", [0, 1]), ("ArrowDown", [1, 1]), ("ArrowLeft", [1, 0]), ("ArrowLeft", [1, 0]),
        ("ArrowUp", [0, 0]), ("Shift+ArrowDown", [10, 0]), ("Shift+ArrowDown", [11, 0]),
    ]:  # fmt: skip
        press(key)
        opened.waits_for(cursor=cursor, locked=False)
    assert near(opened.readout(".", "the"), plane(model)[11, 0])
    press("Enter")
    opened.waits_for(locked=True)
    opened.point(3, 3)
    opened.page.mouse.move(1, 1)
    press("ArrowRight")
    opened.waits_for(cursor=[11, 1], locked=True)
    press("Escape")
    opened.waits_for(locked=False)


def test_plus_minus_and_0_zoom_and_keep_the_cursor_in_sight(show, model):
    opened = show(model).ready()
    whole = opened.geometry()["cell"]
    opened.frame.locator(".matrix canvas").focus()
    for key in ("ArrowDown", "+", "+"):
        opened.page.keyboard.press(key)
    opened.until(lambda: opened.geometry()["cell"] > 1.9 * whole)
    for _ in range(11):
        opened.page.keyboard.press("ArrowRight")
    opened.waits_for(cursor=[0, 11])
    opened.ready()
    at, box = opened.geometry(), opened.frame.locator(".matrix canvas").bounding_box()
    assert at["left"] + (12 - at["column"]) * at["cell"] <= box["width"] + 1
    opened.page.keyboard.press("-")
    opened.until(lambda: opened.geometry()["cell"] < at["cell"])
    opened.page.keyboard.press("0")
    opened.waits_for(view=None)
    opened.until(lambda: opened.geometry()["cell"] == whole)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("layer", {"layer": 1}),
        ("head", {"head": 1}),
        ("example", {"example": 1}),
        ("measure", {"measure": "distance"}),
        ("order", {"order": "largest"}),
        ("theme", {"theme": "light"}),
        ("minus", {"minus": [0, 0, 0]}),
    ],
)
def test_menus_by_keyboard(show, model, name, part):
    opened = show(model).ready()
    opened.frame.locator(f"select[name={name}]").focus()
    opened.page.keyboard.press("ArrowDown")
    opened.waits_for(**part)
    opened.ready()


def test_the_grid_the_list_tokens_and_lines_by_keyboard(show, model):
    opened = show(model).ready()
    press, focus = opened.page.keyboard.press, lambda selector: opened.frame.locator(selector).focus()
    focus("table [tabindex='0']")
    for key, place in [("ArrowDown", (1, 0)), ("ArrowRight", (1, 1)), ("ArrowUp", (0, 1)), ("ArrowUp", (0, 1))]:
        press(key)
        opened.waits_for(layer=place[0], head=place[1])
        opened.until("document.activeElement.classList.contains('on')")
    focus("[aria-label=Keys] [tabindex='0']")
    for column in (1, 2):
        press("ArrowRight")
        opened.waits_for(cursor=[0, column])
        opened.until("document.activeElement.closest('[aria-label=Keys]') && document.activeElement.ariaPressed === 'true'")
    focus("[aria-label=Queries] [tabindex='0']")
    press("ArrowRight")
    opened.waits_for(cursor=[1, 2])
    focus("[data-name=received] svg")
    press("ArrowLeft")
    opened.waits_for(cursor=[1, 1])
    opened.frame.locator("select[name=order]").select_option("largest")
    order = model.sheets[0].measures["entropy"][0].flatten().argsort(descending=True).tolist()
    focus("ol [tabindex='0']")
    press("Home")
    at = order.index(1)
    press("ArrowDown" if at + 1 < len(order) else "ArrowUp")
    layer, head = divmod(order[at + 1 if at + 1 < len(order) else at - 1], 4)
    opened.waits_for(layer=layer, head=head)


def test_buttons_by_keyboard(show, model):
    opened = show(model).ready()
    whole = opened.geometry()["cell"]
    opened.frame.get_by_role("button", name="Zoom in").focus()
    opened.page.keyboard.press("Enter")
    opened.until(lambda: opened.geometry()["cell"] > whole)
    opened.frame.get_by_role("button", name="All", exact=True).focus()
    opened.page.keyboard.press("Space")
    opened.until(lambda: opened.geometry()["cell"] == whole)
    opened.frame.get_by_role("button", name="CSV").focus()
    with opened.page.expect_download() as download:
        opened.page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(".csv")


def test_the_mouse_drags_zooms_and_locks(show, model):
    opened = show(model, hash_=hashed(view=[2, 2, 90])).ready()
    at = opened.geometry()
    x, y = at["x"] + at["left"] + 200, at["y"] + at["above"] + 200
    opened.page.mouse.move(x, y)
    opened.page.mouse.down()
    opened.page.mouse.move(x - 45, y - 90, steps=3)
    opened.page.mouse.up()
    opened.until(lambda: abs(opened.geometry()["row"] - at["row"] - 1) < 0.05)
    assert opened.geometry()["column"] == pytest.approx(at["column"] + 0.5, abs=0.05)
    assert not opened.state()["locked"], "a drag is no click"
    opened.page.keyboard.down("Control")
    opened.page.mouse.wheel(0, 200)
    opened.page.keyboard.up("Control")
    opened.until(lambda: opened.geometry()["cell"] < 90)
    opened.page.mouse.click(x, y)
    opened.waits_for(locked=True)


# The URL

FULL = {"layer": 2, "head": 3, "example": 1, "measure": "distance", "order": "largest", "cursor": [4, 5], "locked": True,
        "view": [2, 1, 60], "minus": [0, 1, 1], "compare": "beside", "theme": "dark"}  # fmt: skip


@pytest.mark.parametrize("host", ["file", "server"])
def test_the_url_restores_the_state(show, model, host):
    opened = show(model, host, hashed(**FULL)).ready()

    def holds():
        controls = opened.frame.locator("select").evaluate_all("all => Object.fromEntries(all.map((each) => [each.name, each.value]))")
        assert controls == {"layer": "2", "head": "3", "example": "1", "measure": "distance", "order": "largest",
                            "minus": "0,1,1", "compare": "beside", "theme": "dark"}  # fmt: skip
        assert opened.frame.locator(".saccade").get_attribute("data-theme") == "dark"
        assert "(locked)" in opened.frame.locator(".readout").inner_text()
        assert near(opened.readout("the", "mat"), plane(model, layer=2, head=3, example=1)[4, 5])
        at = opened.geometry()
        assert (at["row"], at["column"], at["cell"]) == (2, 1, 60)

    holds()
    opened.frame.locator("select[name=head]").select_option("2")
    opened.waits_for(head=2)
    opened.frame.locator("select[name=head]").select_option("3")
    opened.waits_for(**FULL)
    opened.page.reload()
    opened.ready()
    holds()
    opened.page.evaluate("location.hash = encodeURIComponent(JSON.stringify({ layer: 1 }))")
    opened.until("document.querySelector('select[name=layer]').value === '1'")


WRONG = [
    "#%", "#{", "#null", "#7", "#%22text%22", "#[1]", "#%7B%22sheet%22%3A9%7D",
    *map(lambda state: "#" + quote(json.dumps(state)), [
        {"sheet": -1, "layer": 99, "head": 0.5, "example": "1"},
        {"layer": None, "head": [1], "cursor": [99, 0], "locked": True},
        {"cursor": "ab", "view": [0, 0, 0], "minus": [0, 0]},
        {"cursor": [0.5, 1], "view": [1e308, -1e308, 1e308], "minus": [0, 99, 0]},
        {"view": [None, 0, 5], "minus": [0, 0, 99], "theme": "red", "measure": "constructor", "order": "toString"},
        {"view": [5, 5, 1e-300], "minus": [9, 0, 0], "compare": 7},
        {"__proto__": {"layer": 1}, "constructor": 1},
    ]),
]  # fmt: skip


def test_a_wrong_url_shows_the_nearest_state(show, model):
    opened = show(model).ready()
    for hash_ in WRONG:
        opened.page.goto("about:blank")
        opened.page.goto(f"{opened.address}{hash_}")
        opened.ready()
        assert opened.frame.locator(".error").count() == 0, hash_
        opened.point(0, 1)
        assert near(opened.readout("the", "cat"), plane(model)[0, 1]), hash_


# Files


def saved(opened, form):
    with opened.page.expect_download() as download:
        opened.frame.get_by_role("button", name=form, exact=True).click()
    return download.value.path().read_bytes()


VIEWS = {"whole": {}, "zoomed": {"view": [3, 5, 80]}, "difference": {"minus": [0, 2, 1]}}


@pytest.mark.parametrize("view", VIEWS)
def test_csv_and_svg_hold_the_numbers_that_are_seen(show, model, view):
    opened = show(model, hash_=hashed(layer=1, head=2, **VIEWS[view])).ready()
    at, box = opened.geometry(), opened.frame.locator(".matrix canvas").bounding_box()
    room = [(box["height"] - at["above"] - 2) / at["cell"], (box["width"] - at["left"] - 2) / at["cell"]]
    rows = slice(int(at["row"]), min(12, int(np.ceil(at["row"] + room[0] - 1e-6))))
    columns = slice(int(at["column"]), min(12, int(np.ceil(at["column"] + room[1] - 1e-6))))
    expected = plane(model, layer=1, head=2)
    if view == "difference":
        expected = expected - plane(model, layer=2, head=1)
    lines = list(csv.reader(io.StringIO(saved(opened, "CSV").decode(), newline="")))
    assert lines[0] == ["", *TOKENS[columns]] and [line[0] for line in lines[1:]] == TOKENS[rows]
    values = np.array([line[1:] for line in lines[1:]], np.float32)
    assert np.array_equal(values, expected[rows, columns])
    root = ElementTree.fromstring(saved(opened, "SVG"))
    cells = [cell for cell in root.iter(f"{SVG}rect") if "data-value" in cell.attrib]
    assert np.array_equal(np.array([cell.get("data-value") for cell in cells], np.float32), values.ravel())
    names = [text.text for text in root.iter(f"{SVG}text")]
    assert names == [*TOKENS[rows], *TOKENS[columns]]
    [title] = cells[1].iter(f"{SVG}title")
    assert title.text.startswith(f"{TOKENS[rows][0]} → {TOKENS[columns][1]}: ") and near(title.text.split(": ")[1], values[0, 1])
    tops = numbers(model, piece="tile", layer=1, head=2, **{k: v for k, v in VIEWS[view].items() if k == "minus"})[0]["top"]
    darkest = cells[int(np.abs(values).argmax())].get("fill")
    assert sum(map(int, re.findall(r"\d+", darkest))) < 765 * (1 - 0.5 * np.abs(values).max() / tops)


def test_png_holds_what_is_seen(show, model):
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    opened = show(model, hash_=hashed(theme="light")).ready()
    picture = image.open(io.BytesIO(saved(opened, "PNG"))).convert("RGBA")
    at, box = opened.geometry(), opened.frame.locator(".matrix canvas").bounding_box()
    assert picture.size == (round(box["width"]), round(box["height"]))
    weights = plane(model)
    darkness = np.array([
        [sum(picture.getpixel((int(at["left"] + (c + 0.5) * at["cell"]), int(at["above"] + (r + 0.5) * at["cell"])))[:3]) for c in range(12)]
        for r in range(12)
    ])  # fmt: skip
    order = weights.ravel().argsort()
    assert (np.diff(darkness.ravel()[order]) <= 0).all(), "a larger number is darker"
    assert picture.getpixel((1, 1))[3] == 255, "a picture has a background"


def test_a_large_svg_is_refused_with_a_way_out(show):
    opened = show(planes(torch.rand(300, 300))).ready()
    opened.frame.get_by_role("button", name="SVG").click()
    error = opened.frame.get_by_role("alert")
    error.wait_for()
    assert error.inner_text() == "SVG: expected at most 40000 cells, got 90000. Zoom in, or save a PNG."


# Tokens that break pages


@pytest.mark.parametrize("host", HOSTS)
def test_hostile_tokens_are_text(show, host):
    made = book(encoded(tokens=len(HOSTILE), layers=1), HOSTILE, title="".join(HOSTILE))
    opened = show(made, host, **({"hash_": hashed(cursor=[0, 0])} if host != "notebook" else {})).ready()
    scripts = opened.frame.locator("script").count()
    opened.frame.locator(".matrix canvas").focus()
    opened.page.keyboard.press("Escape")
    opened.page.keyboard.press("ArrowDown")
    for row, token in enumerate(HOSTILE):
        if row or host in ("widget", "notebook"):
            opened.page.keyboard.press("ArrowDown") if row else None
        expected = shortened(visible(token[:160])) or "·"
        label = opened.frame.locator(".readout bdi").first
        opened.until(lambda: label.inner_text() in (expected, expected.strip()) or label.text_content() == expected)
        if host == "file" and not row:
            opened.page.keyboard.press("ArrowUp")
    assert opened.frame.locator("img, iframe").count() == 0 and opened.frame.locator("script").count() == scripts
    assert opened.frame.evaluate("document.title") != "broken"


def test_hostile_tokens_in_files_are_text(show):
    made = book(encoded(tokens=len(HOSTILE), layers=1), HOSTILE)
    opened = show(made).ready()
    root = ElementTree.fromstring(saved(opened, "SVG"))
    assert {element.tag for element in root.iter()} == {f"{SVG}{name}" for name in ("svg", "title", "rect", "text")}
    names = [text.text for text in root.iter(f"{SVG}text")]
    assert names[: len(HOSTILE)] == [shortened(visible(token[:160])) or "·" for token in HOSTILE]
    lines = list(csv.reader(io.StringIO(saved(opened, "CSV").decode(), newline="")))
    read = [token.replace("\ud800", "\ufffd") for token in HOSTILE]
    assert lines[0][1:] == read and [line[0] for line in lines[1:]] == read


# States without numbers


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
    opened.page.unroute("http://explorer.test/**")
    opened.page.route("http://explorer.test/**", lambda route: route.abort())
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
    assert "500" in alert.inner_text()


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
    path.write_text(page[:start] + page[start:].replace("</script>", "", 1)[40:], encoding="utf-8")
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


# Sizes


def large(tokens, layers, heads):
    """A book whose matrices are made when they are requested."""
    names = [str(at) for at in range(tokens)]
    measures = {"entropy": torch.rand(1, layers, heads)}

    def matrix(place):
        return torch.rand(tokens, tokens, generator=torch.Generator().manual_seed(place.head))

    lines = {"entropy": lambda place: torch.rand(tokens)}
    layers = [f"layer {at}" for at in range(layers)]
    return Book("Large", [Sheet("attention", "", names, names, matrix, layers, heads, 1, measures, lines)])


@pytest.mark.slow
def test_a_model_of_a_thousand_heads_has_a_bounded_page(show):
    opened = show(large(1024, 32, 32), "server").ready()
    assert opened.frame.evaluate("document.querySelectorAll('*').length") < 8000
    tiles = [request for request in opened.asked if request["piece"] == "tile"]
    assert len(tiles) == 4 and len(opened.asked) <= 6
    opened.point(500, 500)
    opened.readout_of_any()
    assert opened.frame.evaluate("document.querySelectorAll('*').length") < 8000


@pytest.mark.slow
def test_sixteen_million_weights_come_by_tiles(show):
    made = large(4096, 1, 1)
    opened = show(made, "server").ready()
    assert len([request for request in opened.asked if request["piece"] == "tile"]) == 4
    assert opened.frame.evaluate("document.querySelectorAll('*').length") < 2000
    opened.frame.locator(".matrix canvas").focus()
    for _ in range(12):
        opened.page.keyboard.press("+")
    opened.ready()
    tiles = [json.dumps(request) for request in opened.asked if request["piece"] == "tile"]
    assert len(tiles) == len(set(tiles)), "no tile twice"
    assert len(tiles) <= 4 + 12 * 9, "at most nine tiles a step"
    at = opened.geometry()
    row, column = int(at["row"] + 2), int(at["column"] + 2)
    opened.point(row, column)
    assert near(opened.readout(str(row), str(column)), plane(made)[row, column])


def test_one_head_has_no_grid(show):
    opened = show(book(calls(weighted(5, 7), kind="cross"))).ready()
    assert opened.frame.locator("table, select[name=layer], select[name=head], select[name=minus]").count() == 0
