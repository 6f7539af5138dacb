"""The explorer in a browser: the numbers of Python on every host."""

import random

import pytest
import torch

from look.explorer.books import TOKENS, hashed, near, numbers, plane
from look.explorer.conftest import HOSTS
from saccade.look._explorer.sheets import Book, Sheet


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


@pytest.mark.slow  # a thousand movements of the pointer in four hosts
@pytest.mark.parametrize("host", HOSTS)
def test_random_cells_agree_with_python(show, host):
    matrix = torch.randn(40, 60).softmax(-1)
    sheet = Sheet("attention", "", [f"r{at}" for at in range(40)], [f"c{at}" for at in range(60)], lambda place: matrix)
    opened = show(Book("Cells", [sheet]), host).ready()
    draw = random.Random(host)
    cells = sorted((draw.randrange(40), draw.randrange(60)) for _ in range(250))
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
        titles = opened.frame.locator(f"[aria-label={name}] button").evaluate_all(
            "all => all.map((each) => each.title)"
        )
        assert all(near(text, value) for text, value in zip(titles, expected, strict=True))


def test_heads_show_their_measures(show, model):
    opened = show(model, hash_=hashed(measure="distance", example=1)).ready()
    labels = opened.frame.locator("button.head").evaluate_all("all => all.map((each) => each.ariaLabel)")
    measures = model.sheets[0].measures["distance"][1].flatten()
    assert len(labels) == 12 and all(
        near(label.split("distance ")[1], value) for label, value in zip(labels, measures, strict=True)
    )
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
