"""The views of pictures in a browser: their numbers are Python's, by pointer and by keyboard."""

import csv
import io
import json
from itertools import pairwise
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
import torch

from look.explorer.conftest import HOSTS
from saccade import AuxOutput, look
from saccade.look import Record, Recording
from saccade.look._explorer.pictures import sheets_of_pictures
from saccade.look._explorer.recordings import sheets_of
from saccade.look._explorer.sheets import Book, MatrixIndex, Sheet
from saccade.look._figure import collected, ramp
from saccade.look._overlays import _HEAT
from saccade.tasks.experts import Taken, draw_taken

pytestmark = pytest.mark.slow
WORDS = "the film is <b>not</b> so \u202egood .".split()  # noqa: SIM905


def drawn(draw):
    """A book of one picture."""
    with collected() as pictures:
        list(draw())
    return Book("A picture", sheets_of_pictures(pictures))


def hashed(**state):
    return "#" + quote(json.dumps(state))


def words(rows=2):
    torch.manual_seed(1)
    return drawn(
        lambda: look.highlights(torch.randn(rows, len(WORDS)), WORDS, "p", names=["one", "two"][:rows], json=True)
    )


def maps(count=3):
    torch.manual_seed(2)
    values, image = torch.rand(count, 4, 5).flatten(1).softmax(-1).unflatten(1, (4, 5)), torch.rand(3, 40, 50)
    names, answers = [f"hop {number + 1}" for number in range(count)], [("yes", 2 / 3), ("no", 0.25)]
    more = {"question": ["is", "it", "?"], "words": torch.tensor([0.5, -0.25, 0.1]), "answers": answers}
    return drawn(
        lambda: look.overlays(
            image, values, "p", captions=names, marks=[(1, 2), None, None], even=0.05, json=True, **more
        )
    )


def path():
    torch.manual_seed(3)
    image, location = torch.randint(256, (1, 28, 28), dtype=torch.uint8), torch.rand(4, 2) * 2 - 1
    shares = torch.randn(4, 10).softmax(-1)
    return drawn(
        lambda: look.glimpses(
            image, location, [6, 12], "p", probabilities=shares, labels="0123456789", said={1: "7"}, json=True
        )
    )


def bands():
    torch.manual_seed(4)
    said = look.Band.along("said", torch.rand(3, 4), torch.tensor([False, False, True, True, True, False]))
    each = [look.Band("input", torch.rand(5, 6), whole=True), said, look.Band("read", torch.randn(8, 6))]
    return drawn(lambda: look.traces(each, "p", steps=list("abcdef"), json=True))


def sound():
    torch.manual_seed(5)
    weights, frames = torch.rand(4, 9).softmax(-1), torch.randn(70, 12)
    return drawn(
        lambda: look.spectrogram(weights, frames, ["one", "two", "six", "⏎"], (0.7, 0.08), "p", start=0.5, json=True)
    )


def curve():
    x = torch.linspace(0, 2, 21).double()
    fit = look.Fit(x, x.sin(), x.sin() - 0.5, x.sin() + 0.5, torch.tensor([[0.5, 0.4], [1.5, 0.9]]))
    weights = torch.tensor([0.25, 0.75])
    return drawn(
        lambda: look.fit(
            fit, look.Prediction(1.0, 0.8, 0.3, 1.3), "p", labels=("x", "y"), title="t", weights=weights, json=True
        )
    )


def bars():
    series = [look.Dots("gradient", [0.5, -0.25, None], [0.1, 0.0, 0.0])]
    return drawn(
        lambda: look.dots(["age of it", "<i>height</i>", "none"], series, "p", label="gradient", title="t", json=True)
    )


BOOKS = {"Words": words, "Maps": maps, "Path": path, "Bands": bands, "Sound": sound, "Curve": curve, "Bars": bars}


def digits(value):
    """A number as the page and Python's format ".6g" write it."""
    return float(f"{float(value):.6g}")


def number(book, row, column, **place):
    """A number of the first sheet as a page has it, in single precision."""
    return digits(torch.as_tensor(book.sheets[0].matrix(MatrixIndex(**place)))[row, column].float())


def readout(opened, value, at=0):
    """Wait until a readout has a number."""

    def is_there():
        text = opened.frame.locator(".readout").nth(at).locator("output")
        return text.count() and float(text.first.inner_text()) == value

    opened.until(is_there)


def waits(opened, name):
    """Wait until a view and its numbers are there."""
    opened.frame.locator(f'section[aria-label="{name}"]').wait_for()
    opened.until("document.querySelector('.panel button[disabled]:not(.steps button)') === null")
    return opened


def over(opened, selector, x, y, at=0):
    """Move the mouse to a place in an element, in shares of its size."""
    element = opened.frame.locator(selector).nth(at)
    element.scroll_into_view_if_needed()
    box = element.bounding_box()
    opened.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])


def saved(opened, form):
    with opened.page.expect_download() as download:
        opened.frame.locator('[aria-label="Save"] button', has_text=form).click()
    return download.value.path().read_bytes()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", BOOKS)
def test_nothing_is_clipped_on_a_narrow_page(show, name, theme):
    opened = waits(show(BOOKS[name](), width=400, theme=theme), name)
    assert opened.frame.evaluate("document.documentElement.scrollWidth <= 400")
    outside = """[...document.querySelectorAll(".panel *")].filter((e) => {
      const box = e.getBoundingClientRect();
      return box.width && !e.closest("svg, .scroll") && (box.left < 0 || box.right > 400.5);
    }).map((e) => e.outerHTML.slice(0, 80))"""
    assert opened.frame.evaluate(outside) == []
    assert opened.frame.locator(".saccade").get_attribute("data-theme") == theme


@pytest.mark.parametrize("name", [name for name in BOOKS if name != "Bars"])
def test_csv_files_hold_the_matrix(show, name):
    book = BOOKS[name]()
    opened = waits(show(book), name)
    head, *rows = csv.reader(io.StringIO(saved(opened, "CSV").decode()))
    sheet = book.sheets[0]
    assert [each.replace("\r\n", "\n") for each in head[1:]] == list(sheet.columns)
    assert [row[0] for row in rows] == list(sheet.rows)
    values = torch.tensor([[float(value) for value in row[1:]] for row in rows])
    torch.testing.assert_close(
        values, torch.as_tensor(sheet.matrix(MatrixIndex())).float(), rtol=1e-7, atol=0, equal_nan=True
    )


@pytest.mark.parametrize("name", BOOKS)
def test_pictures_are_files(show, name):
    opened = waits(show(BOOKS[name]()), name)
    root = ElementTree.fromstring(saved(opened, "SVG").decode())
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and int(root.get("width")) > 0
    assert saved(opened, "PNG").startswith(b"\x89PNG\r\n\x1a\n")


def test_words_are_read_by_pointer_and_by_keyboard(show):
    book = words()
    opened = waits(show(book), "Words")
    buttons = opened.frame.locator(".words").nth(1).locator("button")
    values = [digits(float(each)) for each in buttons.evaluate_all("all => all.map((each) => each.dataset.value)")]
    assert values == [number(book, 1, column) for column in range(len(WORDS))]
    buttons.nth(3).hover()
    readout(opened, number(book, 1, 3))
    assert opened.frame.locator(".readout").inner_text().startswith("two, <b>not</b>: ")
    buttons.nth(3).click()
    opened.waits_for(cursor=[1, 3], locked=True)
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("ArrowUp")
    opened.waits_for(cursor=[0, 4])
    readout(opened, number(book, 0, 4))
    opened.page.keyboard.press("End")
    readout(opened, number(book, 0, len(WORDS) - 1))


def test_arrow_keys_follow_the_eye_from_right_to_left(show):
    tokens = ["فيلم", "جيد", "جدا"]
    book = drawn(lambda: look.highlights(torch.tensor([[0.5, 0.25, -1.0]]), tokens, "p", json=True))
    opened = waits(show(book), "Words")
    opened.frame.locator(".words button").first.focus()
    for key, column in [("ArrowLeft", 1), ("ArrowLeft", 2), ("ArrowRight", 1), ("End", 2)]:
        opened.page.keyboard.press(key)
        opened.waits_for(cursor=[0, column])
    readout(opened, -1.0)


def test_the_largest_words_are_listed(show):
    book = words(1)
    opened = waits(show(book), "Words")
    opened.frame.locator("summary").click()
    order = torch.as_tensor(book.sheets[0].matrix(MatrixIndex()))[0].abs().argsort(descending=True).tolist()
    told = opened.frame.locator(".largest li").all_inner_texts()
    assert [float(text.rpartition(" ")[2]) for text in told] == [number(book, 0, at) for at in order]


def test_maps_are_read_cell_by_cell_and_word_by_word(show):
    book = maps()
    opened = waits(show(book), "Maps")
    for row, column in [(0, 0), (2, 3), (3, 4)]:
        over(opened, "canvas.image", (column + 0.5) / 5, (row + 0.5) / 4)
        readout(opened, number(book, row, column))
    assert opened.frame.locator(".readout").first.inner_text().startswith("hop 1, row 4, column 5: ")
    assert f"({digits(float(book.sheets[0].matrix(MatrixIndex())[3, 4].float()) / 0.05):g} even shares)" in (
        opened.frame.locator(".readout").first.inner_text()
    )
    opened.frame.locator('input[name="map"]').focus()
    opened.page.keyboard.press("ArrowRight")
    opened.waits_for(head=1)
    canvas = opened.frame.locator("canvas.image")
    canvas.focus()
    opened.page.mouse.move(0, 0)
    opened.waits_for(cursor=None)
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        opened.page.keyboard.press(key)
    opened.waits_for(cursor=[1, 1])
    readout(opened, number(book, 1, 1, head=1))
    assert canvas.get_attribute("aria-label").startswith("Map of hop 2 over the image.")


@pytest.mark.parametrize("host", HOSTS)
def test_images_are_seen_in_every_host(show, host):
    book = maps()
    opened = waits(show(book, host), "Maps")
    opened.until("document.querySelector('img.small').naturalWidth === 50")
    over(opened, "canvas.image", 0.5, 0.6)
    readout(opened, number(book, 2, 2))


def test_maps_have_the_question_and_its_answers(show):
    opened = waits(show(maps()), "Maps")
    opened.frame.locator('[aria-label="Question"] button').nth(1).hover()
    readout(opened, -0.25, at=1)
    assert opened.frame.locator('[aria-label="Answers"] .number').all_inner_texts() == ["0.666667", "0.25"]
    assert "Framed: row 2, column 3" in opened.frame.locator("main").inner_text()


def test_an_opacity_of_0_is_the_image_itself(show):
    opened = waits(show(maps(), hash_=hashed(head=1)), "Maps")
    colours = """() => {
      const canvas = document.querySelector("canvas.image");
      const { data } = canvas.getContext("2d").getImageData(canvas.width / 2, canvas.height / 2, 1, 1);
      return [...data];
    }"""
    covered = opened.until(f"(() => {{ const found = ({colours})(); return found[3] && found; }})()")
    slider = opened.frame.locator('input[name="opacity"]')
    slider.focus()
    opened.page.keyboard.press("Home")
    torch.manual_seed(2)
    torch.rand(3, 4, 5)
    expected = (torch.rand(3, 40, 50)[:, 20, 25].double() * 255).round().tolist()
    assert opened.frame.evaluate(colours)[:3] == pytest.approx(expected, abs=1)
    assert covered[:3] != pytest.approx(expected, abs=1)


def test_the_path_of_an_eye_goes_step_by_step(show):
    book = path()
    opened = waits(show(book), "Path")
    assert opened.frame.locator("svg.path circle").count() == 4
    opened.frame.locator('input[name="glimpse"]').focus()
    opened.page.keyboard.press("Home")
    opened.waits_for(cursor=[0, 0])
    opened.page.keyboard.press("ArrowRight")
    opened.waits_for(cursor=[1, 0])
    shares = torch.as_tensor(book.sheets[0].matrix(MatrixIndex()))[1]
    readout(opened, number(book, 1, int(shares.argmax())))
    x, y = (digits(part) for part in book.sheets[0].extra["location"][1])
    assert opened.frame.locator(".readout").first.inner_text().startswith(f"Glimpse 2 at x {x:g}, y {y:g}, says 7")
    boxes = opened.frame.locator("svg.path rect").evaluate_all("all => all.map((each) => +each.getAttribute('width'))")
    assert boxes == [6, 12, 6, 12]
    likeliest = opened.frame.locator('[aria-label="Likeliest"] .number').all_inner_texts()
    assert [float(text) for text in likeliest] == [
        digits(share.float()) for share in shares.sort(descending=True)[0][:5]
    ]


def test_bands_share_a_cursor(show):
    book = bands()
    opened = waits(show(book), "Bands")
    rows = [(band["from"], band["to"]) for band in book.sheets[0].extra["bands"]]
    left = opened.frame.evaluate(
        "document.querySelector('.axis').offsetLeft - document.querySelector('.cells').offsetLeft"
    )
    for band, (first, last) in enumerate(rows):
        width = opened.frame.locator(".cells").nth(band).bounding_box()["width"]
        column, row = 4, last - first - 1
        over(opened, ".cells", (left + (width - left) * (column + 0.5) / 6) / width, (row + 0.5) / (last - first), band)
        readout(opened, number(book, last - 1, column))
    opened.frame.locator(".cells").nth(1).focus()
    opened.page.mouse.move(0, 0)
    opened.waits_for(cursor=None)
    opened.page.keyboard.press("ArrowRight")
    opened.waits_for(cursor=[5, 0])
    opened.until("document.querySelector('.readout').textContent.includes('no number')")
    opened.page.keyboard.press("ArrowUp")
    readout(opened, number(book, 4, 0))
    assert opened.frame.locator(".readout").inner_text().startswith("input 4, step a: ")


def test_sound_has_seconds(show):
    book = sound()
    opened = waits(show(book), "Sound")
    opened.frame.locator(".cells").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        opened.page.keyboard.press(key)
    readout(opened, number(book, 1, 2))
    assert opened.frame.locator(".readout").inner_text().startswith("two at 0.66 to 0.74 s: ")
    ticks = [float(text) for text in opened.frame.locator(".axis span:not(.title)").all_inner_texts()]
    assert ticks == sorted(ticks) and ticks[0] >= 0.5 and ticks[-1] <= 0.5 + 9 * 0.08 + 1e-9
    spectrum = opened.frame.locator(".spectrum img")
    assert spectrum.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [70, 12]
    inside = opened.frame.locator(".spectrum").evaluate("each => each.clientWidth")
    assert spectrum.bounding_box()["width"] == pytest.approx(inside * 0.7 / 0.72, abs=1)


def test_curves_are_read_by_keyboard(show):
    book = curve()
    opened = waits(show(book), "Curve")
    opened.frame.locator('[aria-label^="Curve. Arrow keys"]').focus()
    opened.page.keyboard.press("End")
    opened.page.keyboard.press("ArrowLeft")
    readout(opened, number(book, 0, 19))
    text = opened.frame.locator(".readout").inner_text()
    expected = [f"{number(book, row, 19):g}" for row in (1, 2)]
    assert text.startswith("x 1.9, answer: ")
    assert f"lower {expected[0]}, upper {expected[1]}, weight of the nearest point 0.75" in text
    assert opened.frame.locator("svg.curve circle").count() == 2


def test_bars_have_their_numbers(show):
    opened = waits(show(bars()), "Bars")
    names, numbers = (opened.frame.locator(f".bars {part}").all_inner_texts() for part in ("th", ".number"))
    assert names == ["age of it", "<i>height</i>", "none"] and numbers == ["0.5 ± 0.1", "-0.25", "–"]
    shares = [float(each.bounding_box()["width"]) for each in opened.frame.locator(".bars .bar span").all()]
    assert shares == pytest.approx([2 * shares[1], shares[1], 0], abs=0.1) and shares[1] > 0


def test_experts_have_their_load(show):
    torch.manual_seed(6)
    weights = [torch.randn(6, 4).softmax(-1) * (torch.rand(6, 4) < 0.6) for _ in range(2)]
    parts = [Taken(f"encoder.{layer}", values) for layer, values in enumerate(weights)]

    def draw():
        from pathlib import Path

        return draw_taken(parts, list("abcdef"), Path("p"), "Source", json=True)

    opened = show(drawn(draw), hash_=hashed(layer=1)).ready()
    load = opened.frame.locator('[aria-label="Load of experts"]')
    load.wait_for()
    counts, sums = (load.locator(".bars").nth(at).locator(".number").all_inner_texts() for at in range(2))
    assert [int(text) for text in counts] == (weights[1] > 0).sum(0).tolist()
    assert [float(text) for text in sums] == pytest.approx(weights[1].sum(0).tolist(), rel=1e-5)
    opened.point(2, 1)
    assert float(opened.readout("c", "#2")) == digits(weights[1][2, 1])


def test_draws_of_hard_attention_are_marked(show):
    weights = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    record = Record("read", AuxOutput(weights=weights[None, None], index=torch.tensor([[[1, -1]]])), 0, "cross")
    opened = show(Book("b", sheets_of(Recording([record]), ["x", "y"], ["a", "b"]))).ready()
    opened.point(0, 1)
    opened.until("document.querySelector('.readout').textContent.includes('(taken)')")
    opened.point(1, 1)
    opened.until("document.querySelector('.readout').textContent.includes('y → b')")
    assert "(taken)" not in opened.frame.locator(".readout").inner_text()


def test_colours_over_images_are_those_of_pictures(parts):
    shares = [number / 12 for number in range(13)]
    told = parts("(p, shares) => shares.map(p.images.heatOf)", shares)
    expected = ramp(_HEAT)(shares) * [255, 255, 255, 1]
    assert abs(torch.tensor(told) - torch.tensor(expected)).max() < 1.5  # of a colour map of 256 steps


@pytest.mark.parametrize(("start", "span", "most"), [(0.5, 0.72, 5), (0, 1e-4, 8), (-3.2, 800, 3), (7, 7, 2)])
def test_ticks_are_round_and_few(parts, start, span, most):
    ticks = parts("(p, start, span, most) => p.bands.ticksOf(start, span, most)", start, span, most)
    assert 1 <= len(ticks) <= most + 1 and all(start - 1e-9 <= tick <= start + span + 1e-9 for tick in ticks)
    steps = {float(f"{after - before:.6g}") for before, after in pairwise(ticks)}
    assert len(steps) <= 1 and all(f"{step:.0e}"[0] in "125" for step in steps)


def test_ticks_of_a_logarithmic_axis(parts):
    ticks = parts("(p, low, high) => p.charts.logTicks(low, high)", 0.03, 4.0)
    assert ticks == [0.05, 0.1, 0.2, 0.5, 1, 2]


def test_planes_join_their_tiles(show):
    matrix = torch.randn(300, 520)
    names = [str(number) for number in range(520)]
    extra = {"bands": [{"name": "all", "from": 0, "to": 300, "low": -5.0, "top": 5.0}]}
    book = Book("b", [Sheet("bands", "b", names[:300], names, lambda at: matrix, extra=extra)])
    opened = waits(show(book), "Bands")
    for row, column in [(0, 0), (255, 256), (256, 255), (299, 519)]:
        opened.frame.evaluate(f"history.replaceState(null, '', '{hashed(cursor=[row, column], locked=True)}')")
        opened.frame.evaluate("dispatchEvent(new HashChangeEvent('hashchange'))")
        readout(opened, number(book, row, column))
