"""The page's appearance by its geometry, colours and fonts, and by axe."""

from pathlib import Path

import pytest
import torch

from look.explorer.books import HOSTILE, TOKENS, book, calls, encoded, hashed, planes, weighted
from look.explorer.test_parts import channels, contrast
from saccade import AuxRequest
from saccade.look._explorer.sheets import Book

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
WIDTHS = (1400, 900, 400)
STATES = {
    "start": {},
    "cursor": {"cursor": [3, 7], "locked": True},
    "difference": {"cursor": [3, 7], "minus": [0, 2, 1]},
    "beside": {"cursor": [3, 7], "minus": [0, 2, 1], "compare": "beside"},
    "ordered": {"order": "largest", "view": [2, 1, 60]},
}


def failing():
    made = book(encoded(layers=1), TOKENS)
    message = made.message
    made.message = lambda request: message({**request, "layer": 99})
    return made


def foreign():
    made = book(encoded(layers=1), TOKENS)
    made.manifest = lambda: {"format": 7}
    return made


BOOKS = {
    "model": lambda: book(encoded(), TOKENS, title="A model with <some> layers"),
    "many heads": lambda: book(encoded(layers=6, heads=32), TOKENS),
    "long": lambda: book(encoded(tokens=len(HOSTILE), layers=2), HOSTILE, title="A very long title " * 9),
    "lines alone": lambda: book(encoded(aux=AuxRequest(entropy=True)), TOKENS),
    "largest alone": lambda: book(encoded(aux=AuxRequest(top=3)), TOKENS),
    "one head": lambda: book(calls(weighted(5, 7), kind="cross")),
    "one cell": lambda: book(calls(weighted(1, 1))),
    "wide": lambda: planes(torch.rand(3, 900)),
    "tall": lambda: planes(torch.rand(900, 3)),
    "sheets": lambda: Book("Sheets", [*book(encoded(), TOKENS).sheets, *book(encoded(tokens=7)).sheets]),
    "failing": failing,
    "foreign": foreign,
}


def opened_with(show, name, **options):
    host = "widget" if name in ("failing", "foreign") else "file"
    opened = show(BOOKS[name](), host, **options)
    if name in ("failing", "foreign"):
        opened.frame.get_by_role("alert").first.wait_for()
    else:
        opened.ready()
    return opened


CASES = [(name, {}) for name in BOOKS] + [("model", state) for state in STATES.values() if state]
IDS = [*BOOKS, *(f"model, {name}" for name in STATES if name != "start")]
FAST = [
    pytest.param(*case, id=name, marks=[pytest.mark.slow] * (name not in ("long", "failing", "model, beside")))
    for case, name in zip(CASES, IDS, strict=True)
]


@pytest.mark.slow  # axe looks at every element
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("name", "state"), CASES, ids=IDS)
def test_axe_finds_no_violation(show, name, state, theme):
    opened = opened_with(show, name, theme=theme, hash_=hashed(**state))
    opened.frame.evaluate(AXE.read_text(encoding="utf-8"))
    whole = opened.address.startswith("file:")  # a notebook has landmarks and headings of its own
    rules = {name: {"enabled": whole} for name in ("region", "landmark-one-main", "page-has-heading-one")}
    answer = opened.frame.evaluate("(rules) => axe.run(document, { rules })", rules)
    assert answer["passes"]
    violations = [
        f"{each['impact']} {each['id']}: {node['html'][:120]} {node['failureSummary'][:300]}"
        for each in answer["violations"]
        if each["impact"] in ("serious", "critical", "moderate")
        for node in each["nodes"]
    ]
    assert not violations, "\n".join(violations)


GEOMETRY = """() => {
  const shown = (each) => {
    const box = each.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && !each.closest(".hidden") && getComputedStyle(each).visibility !== "hidden";
  };
  const named = (each) => `${each.tagName.toLowerCase()}.${each.className.baseVal ?? each.className} ${each.textContent.trim().slice(0, 30)}`;
  const all = [...document.querySelectorAll(".saccade, .saccade *")].filter(shown);
  const scrolls = (each) => /auto|scroll/.test(getComputedStyle(each).overflow);
  const boxes = new Map();
  const box = (each) => boxes.get(each) ?? boxes.set(each, measured(each)).get(each);
  const measured = (each) => {
    let { left, top, right, bottom } = each.getBoundingClientRect();
    for (let parent = each.parentElement; parent; parent = parent.parentElement)
      if (scrolls(parent)) {
        const around = parent.getBoundingClientRect();
        [left, top] = [Math.max(left, around.left), Math.max(top, around.top)];
        [right, bottom] = [Math.min(right, around.right), Math.min(bottom, around.bottom)];
      }
    return { left, top, right, bottom };
  };
  const faults = [];
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  for (const each of all) {
    const style = getComputedStyle(each);
    const { left, right } = box(each);
    if (right - left > 0 && (left < -0.5 || right > innerWidth + 0.5)) faults.push(`outside the page: ${named(each)}`);
    const text = [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const clipped = each.scrollWidth > each.clientWidth + 1 && style.overflowX === "hidden" && !each.title;
    const spilled = each.scrollWidth > each.clientWidth + 1 && style.overflowX === "visible" && style.display !== "inline";
    if (text && (clipped || spilled) && each.clientWidth) faults.push(`text is wider than its element: ${named(each)}`);
  }
  const leaves = all.filter((each) => each.matches("h1, h2, h3, p, select, input, button, canvas, svg, figcaption, th, td, caption, .bar, .scale > span, li > span"));
  for (let i = 0; i < leaves.length; i++)
    for (let j = i + 1; j < leaves.length; j++) {
      const [a, b] = [leaves[i], leaves[j]];
      if (a.contains(b) || b.contains(a)) continue;
      const [p, q] = [box(a), box(b)];
      const width = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const height = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (width > 1 && height > 1) faults.push(`overlap: ${named(a)} and ${named(b)}`);
    }
  for (const label of document.querySelectorAll(".saccade label")) {
    const range = document.createRange();
    range.selectNode(label.firstChild);
    const [text, control] = [range.getBoundingClientRect(), label.querySelector("select, input").getBoundingClientRect()];
    const beside = control.left - text.right >= 0 && control.left - text.right <= 12 && text.top < control.bottom && text.bottom > control.top;
    if (!beside) faults.push(`a label is not beside its control: ${named(label)}`);
  }
  return faults;
}"""


@pytest.mark.parametrize(("name", "state"), FAST)
def test_nothing_is_clipped_or_overlaps(show, name, state):
    opened = opened_with(show, name, hash_=hashed(**state))
    for width in WIDTHS:
        opened.page.set_viewport_size({"width": width, "height": 1000})
        opened.until(f"innerWidth === {width}")
        if name not in ("failing", "foreign"):
            opened.ready()
        assert opened.frame.evaluate(GEOMETRY) == [], width


DRAWN = """
  const drawn = (globalThis.drawn = []);
  const fillText = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, room) {
    drawn.push({ font: this.font, colour: this.fillStyle, squeezed: room !== undefined && this.measureText(text).width > room + 0.5 });
    return fillText.call(this, text, x, y, room);
  };
"""
TYPES = """() => {
  const elements = [...document.querySelectorAll(".saccade *")].filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  return { sizes: [...new Set(elements.map((each) => getComputedStyle(each).fontSize))], families: [...new Set(elements.map((each) => getComputedStyle(each).fontFamily))], drawn: globalThis.drawn };
}"""


@pytest.mark.parametrize(("name", "state"), FAST)
def test_there_is_one_scale_of_type(show, name, state):
    opened = opened_with(show, name, hash_=hashed(**state), script=DRAWN)
    types = opened.frame.evaluate(TYPES)
    assert set(types["sizes"]) <= {"12px", "14px", "18px"} and types["sizes"]
    assert len(types["families"]) == 1
    assert {each["font"] for each in types["drawn"]} <= {"12px system-ui, sans-serif"}


COLOURS = """() => {
  const parsed = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const data = ".head, .token, .bar, canvas";
  const elements = [...document.querySelectorAll(".saccade, .saccade *")];
  const ground = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const texts = elements.filter((each) => each.getBoundingClientRect().width && !each.closest(".hidden") && [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  const names = ["color", "backgroundColor", "borderTopColor", "borderLeftColor", "outlineColor", "stroke", "fill"];
  const colours = elements.filter((each) => !each.closest(data)).flatMap((each) => names.map((name) => getComputedStyle(each)[name]));
  const root = getComputedStyle(document.querySelector(".saccade"));
  return {
    pairs: texts.map((each) => [parsed(getComputedStyle(each).color).slice(0, 3), ground(each), each.textContent.trim().slice(0, 30)]),
    borders: elements.filter((each) => each.matches("select, input, .controls button, .tools button")).map((each) => [parsed(getComputedStyle(each).borderTopColor).slice(0, 3), ground(each.parentElement), each.tagName]),
    colours: [...new Set(colours)].map(parsed).filter((colour) => colour.length === 3 || colour[3] > 0),
    named: Object.fromEntries(["ink", "accent", "wrong", "raised"].map((name) => [name, root.getPropertyValue(`--${name}`).trim()])),
    canvas: globalThis.drawn.map((each) => each.colour),
  };
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("name", "state"), FAST)
def test_text_is_readable_and_one_colour_accents(show, name, state, theme):
    opened = opened_with(show, name, theme=theme, hash_=hashed(**state), script=DRAWN)
    page = opened.frame.evaluate(COLOURS)
    assert page["pairs"]
    for text, ground, words in page["pairs"]:
        assert contrast(text, ground) >= 4.5, words
    for border, ground, tag in page["borders"]:
        assert contrast(border, ground) >= 3, f"{tag} without a visible border"  # WCAG 2.2, 1.4.11
    named = {key: channels(value) for key, value in page["named"].items()}
    for colour in set(page["canvas"]):
        assert contrast(channels(colour), named["raised"]) >= 4.5
    vivid = [colour[:3] for colour in page["colours"] if max(colour[:3]) - min(colour[:3]) > 64]
    assert [colour for colour in vivid if colour not in (named["accent"], named["wrong"])] == []


def test_the_theme_follows_the_system_and_the_menu(show):
    opened = opened_with(show, "model", theme="dark")
    saccade = opened.frame.locator(".saccade")
    assert saccade.get_attribute("data-theme") == "dark"
    opened.page.emulate_media(color_scheme="light")
    opened.until(lambda: saccade.get_attribute("data-theme") == "light")
    opened.frame.locator("select[name=theme]").select_option("dark")
    opened.until(lambda: saccade.get_attribute("data-theme") == "dark")
    edge = opened.page.screenshot(clip={"x": 1396, "y": 996, "width": 4, "height": 4})
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    import io

    assert max(image.open(io.BytesIO(edge)).convert("RGB").getpixel((1, 1))) < 64, "the page is dark to its edges"


def test_the_page_fits_a_narrow_notebook_cell(show):
    opened = show(BOOKS["model"](), "widget", width=1400).ready()
    opened.page.evaluate("document.getElementById('cell').style.width = '420px'")
    opened.until("document.querySelector('.split').getBoundingClientRect().width < 420")
    opened.until("document.querySelectorAll('.split > *')[1].getBoundingClientRect().left < 60")
    opened.ready()
    widths = "[...document.querySelectorAll('.saccade *')].map((each) => each.getBoundingClientRect().right)"
    assert max(opened.frame.evaluate(widths)) <= 420
